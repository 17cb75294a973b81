"""`provio packages`: lists the packages that runs used, by the files that they opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from provio.ask import session
from provio.base import terminal
from provio.cli.option_types import Choice, Form, OutputFile
from provio.cli.options import stoppable, store_option

if TYPE_CHECKING:
    from provio.ask.packages import Used

FORMS = Choice(["table", "json", "csv", "tsv", "cyclonedx"])


@click.command("packages", short_help="Which packages were used?")
@click.argument("name", metavar="[RUN | FILE]", required=False)
@click.option("--as", "form", cls=Form, type=FORMS, default="table", show_default=True)
@click.option("-o", "--output", type=OutputFile(), help="Write to a file.")
@store_option
@stoppable
def command(name: str | None, form: str, output: str | None) -> int:
    """List the packages whose files were opened by RUN, by the programs that made FILE and its sources, or by all runs:
    of dpkg, RPM, pip, conda, Spack, EasyBuild and R, with version and origin.

    They are looked up after a run, before they are upgraded. Software of no package is listed by its folder. --as json
    adds the files with their build ids; --as cyclonedx is a software bill of materials.

    \b
    Example: provio packages last
             provio packages fig3.png --as cyclonedx -o fig3.cdx.json
    """
    from provio.ask import packages
    from provio.base.errors import BadQuery
    from provio.exchange import cyclonedx

    reader = session.reader(name if name and "/" in name else None)
    try:
        found, subject = packages.named(reader, name)
    except BadQuery as error:
        raise click.UsageError(str(error)) from None
    text = cyclonedx.document(found, subject) if form == "cyclonedx" else _table(found, form)
    if output:
        terminal.write(output, text.encode("utf-8", "surrogateescape"))
    else:
        terminal.out(text)
    return 0


def _table(found: Sequence[Used], form: str) -> str:
    from provio.ask.packages import paths
    from provio.base.table import align, filled
    from provio.render import records

    rows = [one.row() for one in found]
    if form == "table":
        names = ["type", "name", "version", "origin", "opened"]
        names, cells = filled(names, [list(map(str, row[:5])) for row in rows], {"type", "name"})
        return align(names, cells, width=terminal.width(), unicode=terminal.unicode(), right={"opened"})
    if form != "json":
        rows = [[*row[:6], paths(row), row[7]] for row in rows]
    return records.render("packages", rows, form)
