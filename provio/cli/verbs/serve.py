"""`provio serve`: serves the explorer and a SPARQL endpoint until Ctrl-C."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from provio.ask import session
from provio.base import terminal
from provio.base.errors import ProvioError
from provio.base.records import replace
from provio.cli.option_types import Seconds
from provio.cli.options import memory_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from provio.serve.event_feed import EventFeed
    from provio.serve.snapshot_holder import SnapshotHolder

SECONDS = 60.0


@click.command("serve", short_help="Serve the explorer and a SPARQL endpoint.")
@click.option("--bind", metavar="HOST:PORT",
              help="Address to listen on; port 0: any free port [default: 127.0.0.1:7878].")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), metavar="PORT", help="Short for --bind 127.0.0.1:PORT.")
@click.option("--token", type=click.Path(dir_okay=False), metavar="FILE",
              help="Require the token in FILE (created if missing); or set PROVIO_TOKEN.")  # fmt: skip
@click.option("--open", "opened", is_flag=True, help="Open the page in a browser.")
@click.option("--timeout", "longest", type=Seconds(), metavar="SECONDS",
              help="Time limit of a query; 0: none [default: the setting, or 60].")  # fmt: skip
@memory_option
def command(
    bind: str | None, port: int | None, token: str | None, opened: bool, longest: float | None, max_memory: str | None
) -> int:
    """Serve the record to a browser, and to any SPARQL 1.1 client at /query; clients cannot change it.

    Pending runs are merged first; later merges become visible without a restart. An address that other users can reach
    requires a token. Ctrl-C ends it.

    \b
    Example: provio serve --open
             provio serve --port 0
             provio serve --bind 0.0.0.0:7878 --token ~/.config/provio/token
    """
    from provio.serve import access, server

    if bind and port is not None:
        raise click.UsageError("--bind has a port of its own: give --bind or --port")
    bind = bind or f"127.0.0.1:{access.PORT if port is None else port}"
    try:
        place = access.address(bind)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--bind") from None
    secret = access.token(token)
    if not place.own and not secret:
        raise click.UsageError(f"other users can reach {bind}: use --token FILE to restrict access")
    name, holder_of, feed = merged(longest, max_memory)
    server.serve(name, place, secret, holder_of, feed, lambda url: _started(url, opened))
    return 0


def merged(timeout: float | None, memory: str | None) -> tuple[str, Callable[[], SnapshotHolder], EventFeed]:
    """Merge all ended runs; return the name of the record, a function that opens its snapshot, and its events."""
    from provio.settings import home as homes
    from provio.settings.types import number_of_bytes

    home, configured = homes.find(), session.settings(flags={"max_memory": memory})
    if configured.store and not configured.stores:
        raise ProvioError(
            f"the record is on the SPARQL server {configured.store}: query that server, or set PROVIO_STORE= to "
            "serve the record in the folder"
        )
    name = " and ".join(filter(None, (str(home.project), ", ".join(configured.stores))))
    from provio.serve.event_feed import EventFeed

    feed = EventFeed(home, configured)
    home, configured, _ = session.merge_and_open(home, configured, terminal.warn, terminal.steady_progress)
    seconds = timeout if timeout is not None else configured.timeout or SECONDS
    from provio.serve.snapshot_holder import SnapshotHolder

    configured, bytes_ = replace(configured, store=""), number_of_bytes(configured.max_memory)
    unmerged = partial(session.unmerged_runs, home, configured)
    return name, lambda: SnapshotHolder(home, seconds, bytes_, configured, unmerged), feed


def _started(url: str, opened: bool) -> None:
    terminal.note(f"{url} (SPARQL: {url}query); Ctrl-C ends it")
    if opened:
        import webbrowser

        if not webbrowser.open(url):
            terminal.warn(f"no browser was found: open {url}")
