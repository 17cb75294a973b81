"""Runs the server for a record at an address until it is interrupted, then cleans up."""

from __future__ import annotations

import contextlib
import logging
import signal
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from provio.base.errors import ProvioError
from provio.serve import event_feed, oxigraph
from provio.serve.access import Address, Guard
from provio.serve.connections import ALL, LOOKS, Connections
from provio.serve.event_feed import EventFeed
from provio.serve.routes import LARGEST, Front
from provio.serve.snapshot_holder import SnapshotHolder
from provio.system import installation

THREADS = 24 + event_feed.MOST  # each client that follows events has one
UNREAD = 1 << 20  # bytes that wait for a client that reads slowly
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def serve(
    name: str,
    place: Address,
    secret: str,
    holder_of: Callable[[], SnapshotHolder],
    feed: EventFeed,
    started: Callable[[str], None],
) -> None:
    """Serve a record under a name until KeyboardInterrupt or SIGTERM; call `started` with the URL once it responds.

    Raises ProvioError if the address is in use, nothing is merged, or a requirement is not installed.
    """
    listen = _waitress()
    oxigraph.find()
    with _signals_as_interrupts(feed):
        holder = None
        server = _listening(listen, place)
        try:
            host, port = str(server.effective_host), int(server.effective_port)
            found = Address(place.host or host, port, place.own)
            holder = holder_of()
            server.application = Front(holder, Guard(place.own, secret, str(port)), holder.seconds, name, feed)
            with contextlib.suppress(KeyboardInterrupt):  # it may arrive before the server handles it
                started(found.url)
                server.run()
        finally:
            feed.close()
            server.close()
            if holder:
                holder.close()


def _waitress() -> Any:
    try:
        import waitress
    except ImportError:
        raise installation.missing("waitress", "provio serve needs") from None
    log = logging.getLogger("waitress")
    log.addHandler(logging.NullHandler())
    log.propagate = False  # requests are private
    return waitress


def _listening(waitress: Any, place: Address) -> Any:
    try:
        server = waitress.create_server(
            lambda *_: [], host=place.host, port=place.port, threads=THREADS, connection_limit=2 * ALL,
            max_request_body_size=LARGEST, max_request_header_size=1 << 16, ident=None,
            clear_untrusted_proxy_headers=True, cleanup_interval=LOOKS, outbuf_high_watermark=UNREAD,
        )  # fmt: skip
    except OSError as error:
        where, free = f"{place.host}:{place.port}", "--bind 127.0.0.1:0: any free port"
        raise ProvioError(f"cannot listen on {where} ({error.strerror}): name another ({free})") from None
    Connections(server, place.own)
    return server


@contextlib.contextmanager
def _signals_as_interrupts(feed: EventFeed) -> Iterator[None]:
    """Handle signals to end, like Ctrl-C, so that everything is cleaned up. Clients that follow events end first:
    waitress waits for them."""

    def end(*_: object) -> NoReturn:
        feed.end()
        raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in ENDS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
