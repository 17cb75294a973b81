"""Limits the connections of a waitress server, so that no client locks out others.

A request must arrive within a deadline, and a client must read its answer. If a client has too many connections, or
all have, the one that has waited longest without a complete request is closed: clients that send their request at once
are always answered. waitress has only limits of idle time and of all connections; docs/serve.md has the reason for it.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from typing import Any
from weakref import WeakKeyDictionary

ARRIVED = 15  # seconds from the first byte of a request to its last
STALLED = 10  # seconds without progress after which a client that does not read is disconnected
LOOKS = 2  # seconds between two checks
ALL, EACH = 200, 50  # connections, and those of one client; on this machine all clients have the same address


class Connections:
    """The connections of a server; `own` means that only this machine can reach it."""

    def __init__(self, server: Any, own: bool) -> None:
        self.server, self.each = server, ALL if own else EACH
        self.begun: WeakKeyDictionary[Any, float] = WeakKeyDictionary()  # of incomplete requests
        self.stalled: WeakKeyDictionary[Any, float] = WeakKeyDictionary()  # the last activity of clients with an answer
        self.usual = server.maintenance, server.handle_accept
        server.maintenance, server.handle_accept = self.check, self.accept

    def check(self, now: float) -> None:
        """Close connections that have been idle or are too slow."""
        self.usual[0](now)
        for channel in self._open():
            if self._does_not_read(channel, now) or (
                _waits(channel) and channel.request and self._since(channel) < now - ARRIVED
            ):
                _close(channel)

    def _does_not_read(self, channel: Any, now: float) -> bool:
        """Return whether a client has read nothing of its answer for too long, also not since an earlier check: an
        answer that took long may be new."""
        if not channel.total_outbufs_len or channel.last_activity >= now - STALLED:
            self.stalled.pop(channel, None)
            return False
        before, self.stalled[channel] = self.stalled.get(channel), channel.last_activity
        return bool(before == channel.last_activity)

    def accept(self) -> None:
        """Accept a connection, and close another one if there are too many."""
        self.usual[1]()
        found = self._open()
        clients: dict[str, list[Any]] = {}
        for channel in found:
            clients.setdefault(_client(channel), []).append(channel)
        most = max(clients.values(), key=len, default=[])
        if len(found) > ALL or len(most) > self.each:
            waiting = [channel for channel in most if _waits(channel)]
            _close(min(waiting, key=self._since) if waiting else max(most, key=lambda one: one.creation_time))

    def _open(self) -> list[Any]:
        return [channel for channel in list(self.server.active_channels.values()) if not channel.will_close]

    def _since(self, channel: Any) -> float:
        """Return when the present request of a connection began, or its last one ended."""
        request = channel.request
        return float(self.begun.setdefault(request, channel.last_activity) if request else channel.last_activity)


def _waits(channel: Any) -> bool:
    """Return whether a connection waits for its client to send a request."""
    return not channel.requests and not channel.total_outbufs_len


def _client(channel: Any) -> str:
    """Return the address of a client; of IPv6 the network, in which one client can have any address."""
    host = str(channel.addr[0]).partition("%")[0]
    return str(ipaddress.ip_network((host, 64), strict=False)) if ":" in host else host


def _close(channel: Any) -> None:
    channel.will_close = True
    with contextlib.suppress(OSError):  # this wakes the loop, which closes the channel
        channel.socket.shutdown(socket.SHUT_RDWR)
