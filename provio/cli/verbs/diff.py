"""`provio diff`: lists the differences of two runs, or where they part first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from provio.base import terminal
from provio.cli.option_types import Choice, Form, OutputFile
from provio.cli.options import stoppable, store_option, tolerance_option

if TYPE_CHECKING:
    from provio.compare.answer import Answer

KINDS = ("environment", "code", "parameters", "inputs", "graph", "results", "files", "schedule", "time")
FORMS = ("text", "json", "csv", "tsv", "html")


@click.command("diff", short_help="Where do two runs differ?")
@click.argument("first", metavar="RUN")
@click.argument("second", metavar="RUN")
@click.option(
    "--first", "only_first", is_flag=True, help="Where they differ first, why, and the files that it reached."
)
@click.option(
    "--only", metavar="KIND", type=Choice(KINDS), multiple=True, help="Only differences of this kind; several times."
)
@click.option("--deep", is_flag=True, help="Compare the values of results that are still there.")
@tolerance_option
@click.option(
    "--fail-on",
    metavar="KIND",
    type=Choice(KINDS),
    multiple=True,
    help="Exit code 1 only for differences of this kind.",
)
@click.option("--as", "form", cls=Form, type=Choice(FORMS), default="text", show_default=True)
@click.option("-o", "--output", type=OutputFile(), help="Write to a file.")
@store_option
@stoppable
def command(
    first: str, second: str, only_first: bool, only: tuple[str, ...], deep: bool,
    tolerance: tuple[tuple[str, float], ...], fail_on: tuple[str, ...], form: str, output: str | None,
) -> int:  # fmt: skip
    """List the differences of two runs: environment, code, parameters, inputs, graph, results, files, schedule, time.

    Each of these is a KIND. A RUN is `last`, `last~1`, an id, the start of an id, a name, or a campaign (its newest
    run). Activities correspond by their programs, arguments and places in the graph, not by ids or times. Differences
    that are expected (times, ids, temporary names, and those of provio-diff.toml) are only counted. Exit code 1 for an
    unexpected difference (docs/compare.md).

    \b
    Example: provio diff last~1 last
             provio diff last~1 last --first
             provio diff old new --only parameters --only results
    """
    from provio.ask import session
    from provio.compare import answer
    from provio.compare.tolerances import Tolerances
    from provio.rerun.outcome import complete_hashes

    if only_first and form in ("csv", "tsv"):
        raise click.UsageError(f"--first has no table: omit --as {form}, or use --as json")
    if tolerance and not deep:
        raise click.UsageError("--tolerance compares values: add --deep")
    if only and fail_on and not set(fail_on) & set(only):
        raise click.UsageError(f"--fail-on {fail_on[0]} is not compared: add --only {fail_on[0]}, or omit --only")
    own, configured = session.project(None)
    complete_hashes(own, configured)
    store, home = session.reader_and_home(None)
    ids = [session.run_or_campaign(store, name) for name in (first, second)]
    found = answer.of_runs(store, home, ids, own.project, configured.diff_expected, only, deep, Tolerances(tolerance))
    if form in ("json", "csv", "tsv"):
        for line in found.notes:
            terminal.note(line)
    text = _text(found, form, only_first, output is not None)
    if output is None:
        terminal.out(text)
    else:
        terminal.write(output, text.encode("utf-8", "surrogateescape"))
    unexpected = {row.kind for row in found.unexpected}
    return int(bool(unexpected & set(fail_on or KINDS)))


def _text(found: Answer, form: str, only_first: bool, is_file: bool) -> str:
    """Return the answer in a form; `is_file`: nothing in it is cut to the terminal."""
    if form == "html":
        from provio.render.page import comparison

        return comparison.render(found)
    from provio.render import diff

    width, unicode = (None, True) if is_file else (terminal.width(), terminal.unicode())
    return diff.rendered(found, form, only_first, width=width, unicode=unicode)
