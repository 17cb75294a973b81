"""`provio serve`: a record in, an explorer and a SPARQL endpoint on a port out, until Ctrl-C."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from provio.ask import session
from provio.base import terminal
from provio.base.errors import ProvioError
from provio.base.records import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from provio.serve.snapshot_holder import Keeper

SECONDS = 60.0


@click.command("serve", short_help="Explore in a browser; a SPARQL endpoint.")
@click.option("--bind", default="127.0.0.1:7878", show_default=True, metavar="HOST:PORT",
              help="Where to listen; port 0: any that is free.")  # fmt: skip
@click.option("--token", type=click.Path(dir_okay=False), metavar="FILE",
              help="Answer who knows the token in FILE (made where there is none); or set PROVIO_TOKEN.")  # fmt: skip
@click.option("--open", "opened", is_flag=True, help="Open the page in a browser.")
@click.option("--timeout", "longest", type=click.FloatRange(min=0), metavar="SECONDS",
              help="How long an answer may take; 0: as it may [default: what is set, else 60].")  # fmt: skip
def command(bind: str, token: str | None, opened: bool, longest: float | None) -> int:
    """Serve what is recorded to a browser, and to any client of SPARQL 1.1 at /query; nothing can be changed.

    What is pending is merged first; what is merged later is seen without a new start. An address that others can reach
    wants a token. Ctrl-C ends it.

    \b
    Example: provio serve --open
             provio serve --bind 127.0.0.1:0
             provio serve --bind 0.0.0.0:7878 --token ~/.config/provio/token
    """
    from provio.serve import access, server

    try:
        place = access.address(bind)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--bind") from None
    secret = access.token(token)
    if not place.own and not secret:
        raise click.UsageError(f"others can reach {bind}: say --token FILE, so that not everybody is answered")
    what, keeper_of = _merged(longest)
    server.serve(what, place, secret, keeper_of, lambda url: _begun(url, opened))
    return 0


def _merged(timeout: float | None) -> tuple[str, Callable[[], Keeper]]:
    """The name of the record that is served, and what keeps it, all merged that has ended."""
    from provio.settings import home as homes

    home, configured = homes.find(), session.settings()
    if configured.store and not configured.stores:
        raise ProvioError(
            f"the record is kept by {configured.store}, which answers SPARQL itself: ask it there, or say "
            "PROVIO_STORE= before provio serve to serve what is kept in the folder"
        )
    what = " and ".join(filter(None, (str(home.project), ", ".join(configured.stores))))
    home, configured, _ = session.merged(home, configured, terminal.complain, terminal.steady_progress)
    seconds = timeout if timeout is not None else configured.timeout or SECONDS
    from provio.serve.snapshot_holder import Keeper

    configured = replace(configured, store="")
    return what, lambda: Keeper(home, seconds, configured, lambda: session.unmerged(home, configured))


def _begun(url: str, opened: bool) -> None:
    terminal.note(f"{url} (SPARQL: {url}query); Ctrl-C ends it")
    if opened:
        import webbrowser

        if not webbrowser.open(url):
            terminal.complain(f"no browser could be opened: open {url} yourself")
