"""Drops clients that ask and do not read: a server of waitress's in, which lets go of them.

What is answered waits for who reads it, and holds one of the few places of queries meanwhile.
"""

from __future__ import annotations

import contextlib
import socket
from typing import Any

STALLED = 10  # seconds in which a client takes nothing of what there is for it
LOOKS = 2  # seconds between two looks


def drop(server: Any) -> None:
    """Have a server cut the connections of those who take nothing for so long, whenever it looks for idle ones."""
    usual = server.maintenance

    def maintenance(now: float) -> None:
        usual(now)
        for channel in list(server.active_channels.values()):
            if channel.requests and channel.total_outbufs_len and channel.last_activity < now - STALLED:
                channel.will_close = True
                with contextlib.suppress(OSError):  # which wakes the loop: it closes what is to be closed
                    channel.socket.shutdown(socket.SHUT_RDWR)

    server.maintenance = maintenance
