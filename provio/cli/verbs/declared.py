"""`provio declared`: compares the declarations of a workflow with the files that its steps used."""

from __future__ import annotations

import click

from provio.ask import session
from provio.base import terminal
from provio.cli.option_types import Choice
from provio.cli.options import form_option, stoppable, store_option

TOOLS = Choice(["snakemake", "make", "dvc"])


@click.command("declared", short_help="Do the steps of a workflow use the files that it declares?")
@click.argument("tool", type=TOOLS)
@click.argument("run", metavar="[RUN]", required=False)
@form_option
@store_option
@stoppable
def command(tool: str, run: str | None, form: str) -> int:
    """Compare the files that the rules of a workflow declare with those that its steps read and wrote in RUN, or in the
    newest run of that tool: undeclared inputs and outputs, declared inputs that were never read, declared outputs that
    were never written. Exit code 1 if there is a difference.

    The declarations are those of the recorded jobs (snakemake), of dvc.lock and dvc.yaml (dvc), and of the Makefile,
    which make itself reads for this (make -npk): it executes $(shell …) and lines with + in it.

    \b
    Example: provio declared make
             provio declared snakemake last
             provio declared dvc --as json
    """
    from provio.ask.declared import answer
    from provio.render import declared as report
    from provio.settings import home as homes

    found = answer.of(session.reader(None), homes.find(), tool, run)
    width, unicode, folder = terminal.width(), terminal.unicode(), terminal.folder()
    terminal.out(report.render(found, form, width=width, unicode=unicode, folder=folder))
    return 1 if found.differences else 0
