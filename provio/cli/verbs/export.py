"""`provio export`: prints the graph of a run, of all runs, or of the lineage of files, as RDF."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from provio.ask import session
from provio.base import terminal
from provio.base.errors import NothingKnown
from provio.cli.verbs import Form, OutputFile, stoppable, store_option

if TYPE_CHECKING:
    from provio.ask.things import Thing
    from provio.store import Store


@click.command("export", short_help="Print the graph for other tools.")
@click.argument("names", metavar="[RUN | FILE...]", nargs=-1)
@click.option("--as", "form", cls=Form, default="trig", show_default=True, help="trig, nquads or ttl.")
@click.option("-o", "--output", type=OutputFile(), help="Write to a file.")
@store_option
@stoppable
def command(names: tuple[str, ...], form: str, output: str | None) -> int:
    """Print the graph of RUN, of the lineage of files, or of all runs, for other tools.

    The lineage has the nodes of `provio lineage FILE --as json`, with all that is recorded about each. A name is first
    looked up as that of a run.

    \b
    Example: provio export --as nquads > all.nq
             provio export fig3.h5 --as ttl -o fig3.ttl
    """
    from provio.ask.lineage import Scope, lineage
    from provio.ask.target import check_project
    from provio.base.turtle import inert
    from provio.base.vocab import RUN_BASE
    from provio.graph.lines import bundle_iri
    from provio.render import exports
    from provio.settings.types import among

    if form not in exports.FORMATS:
        raise click.BadParameter(f"{form!r} is not allowed{among(form, exports.FORMATS)}", param_hint="'--as'")
    check_project(names)
    reader = session.reader(next((name for name in names if "/" in name), None))
    found, code = _found(reader, names)
    if found and found[0].file:
        targets = [one.file for one in found if one.file]
        data = exports.lineage(reader, lineage(reader, targets, Scope()), form)
    else:
        data = exports.FORMATS[form](reader, bundle_iri(RUN_BASE + found[0].run) if found else None)
    if output:
        terminal.write(output, inert(data))
    else:
        terminal.out(inert(data))
    return code


def _found(reader: Store, names: tuple[str, ...]) -> tuple[list[Thing], int]:
    """Return one run, or the files that are known, and the exit code; raises NothingKnown if none is known, UsageError
    for a Task and for a run among several names."""
    from provio.ask import things

    found, unknown = [], None
    for name in names:
        try:
            one = things.named(reader, name)
        except NothingKnown as error:
            unknown = error
            if len(names) == 1:
                raise
            terminal.complain(str(error))
            continue
        if one.task:
            raise click.UsageError(f"{name} is a task: export its run, or files")
        if one.run and len(names) > 1:
            raise click.UsageError(f"{name} is a run: export it alone, or only files")
        found.append(one)
    if unknown and not found:
        raise unknown
    return found, unknown.exit_code if unknown else 0
