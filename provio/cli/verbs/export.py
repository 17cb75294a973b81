"""`provio export`: prints the graph of a run, or of all runs, as RDF."""

from __future__ import annotations

import click

from provio.ask import session
from provio.base import terminal
from provio.cli.verbs import Form, OutputFile, stoppable, store_option


@click.command("export", short_help="Print the graph for other tools.")
@click.argument("run", required=False)
@click.option("--as", "form", cls=Form, default="trig", show_default=True, help="trig, nquads or ttl.")
@click.option("-o", "--output", type=OutputFile(), help="Write to a file.")
@store_option
@stoppable
def command(run: str | None, form: str, output: str | None) -> int:
    """Print the graph of RUN, or of all runs, for other tools.

    Example: provio export --as nquads > all.nq
    """
    from provio.base.turtle import inert
    from provio.base.vocab import RUN_BASE
    from provio.graph.lines import bundle_iri
    from provio.render import exports
    from provio.settings.types import among

    if form not in exports.FORMATS:
        raise click.BadParameter(f"{form!r} is not allowed{among(form, exports.FORMATS)}", param_hint="'--as'")
    reader = session.reader(None)
    graph = bundle_iri(RUN_BASE + session.run_id(reader, run)) if run is not None else None
    data = inert(exports.FORMATS[form](reader, graph))
    if output:
        terminal.write(output, data)
    else:
        terminal.out(data)
    return 0
