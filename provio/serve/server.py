"""The server as a whole: a record, an address and a token in; it answers until it is told to end, then cleans up."""

from __future__ import annotations

import contextlib
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from provio.base.errors import ProvioError
from provio.serve import MISSING, oxigraph
from provio.serve.access import Address, Guard
from provio.serve.routes import LARGEST, Front
from provio.serve.snapshot_holder import Keeper

# Drops clients that ask and do not read: a server of waitress's in, which lets go of them.


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


THREADS = 24
CONNECTIONS = 200
ENDS = (signal.SIGTERM, signal.SIGHUP)


def serve(
    what: str, place: Address, secret: str, keeper_of: Callable[[], Keeper], begun: Callable[[str], None]
) -> None:
    """Serve a record until KeyboardInterrupt or SIGTERM, under the name `what`; `begun` is told the page's address when
    it answers.

    Raises ProvioError where the address is taken, nothing is merged, or what it needs is not installed.
    """
    listen = _waitress()
    oxigraph.find()
    with _ended():
        keeper = None
        server = _listening(listen, place)
        try:
            host, port = str(server.effective_host), int(server.effective_port)
            found = Address(place.host or host, port, place.own)
            keeper = keeper_of()
            server.application = Front(keeper, Guard(place.own, secret, str(port)), keeper.seconds, what)
            with contextlib.suppress(KeyboardInterrupt):  # which may come before the server waits for it
                begun(found.url)
                server.run()
        finally:
            server.close()
            if keeper:
                keeper.close()


def _waitress() -> Any:
    try:
        import waitress
    except ImportError:
        raise ProvioError(MISSING) from None
    log = logging.getLogger("waitress")
    log.addHandler(logging.NullHandler())
    log.propagate = False  # who asked what is nobody's business
    return waitress


def _listening(waitress: Any, place: Address) -> Any:
    try:
        server = waitress.create_server(
            lambda *_: [], host=place.host, port=place.port, threads=THREADS, connection_limit=CONNECTIONS,
            max_request_body_size=LARGEST, max_request_header_size=1 << 16, ident=None,
            clear_untrusted_proxy_headers=True, cleanup_interval=LOOKS,
        )  # fmt: skip
    except OSError as error:
        where, free = f"{place.host}:{place.port}", "--bind 127.0.0.1:0: any that is free"
        raise ProvioError(f"cannot listen at {where} ({error.strerror}): name another ({free})") from None
    drop(server)
    return server


@contextlib.contextmanager
def _ended() -> Iterator[None]:
    """A signal to end is as Ctrl-C, so that all is cleaned up."""

    def end(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in ENDS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
