"""`provio show`: shows the record of a run, a Task, a file, or an object inside a file."""

from __future__ import annotations

from pathlib import Path

import click

from provio.ask import run_summary, session, tasks, things
from provio.ask.nodes import is_member
from provio.base import terminal
from provio.cli.option_types import TEXT_FORMS, Form, OutputFile
from provio.cli.options import fold_option, stoppable, store_option

INDENT = 22  # columns before a value of the environment
MOST = 60  # lines of it


@click.command("show", short_help="Show one run, task, file or dataset.")
@click.argument("what", metavar="RUN|TASK|FILE[#/DATASET]")
@click.option("--run", "kind", flag_value="run", help="It is a run.")
@click.option("--task", "kind", flag_value="task", help="It is a task.")
@click.option("--file", "kind", flag_value="file", help="It is a file.")
@click.option("--as", "form", cls=Form, type=TEXT_FORMS, default="text", show_default=True)
@click.option("--content", "run", metavar="RUN", help="Print the kept content of FILE as RUN used it (record.keep).")
@click.option("--environment", is_flag=True, help="Show the hardware, the system, the job and the software of RUN.")
@click.option("-o", "--output", type=OutputFile(), help="Write the content to a file.")
@fold_option
@store_option
@stoppable
def command(
    what: str, kind: things.Kind | None, form: str, run: str | None, environment: bool, output: str | None, fold: bool
) -> int:
    """Show one thing: a run (its programs, the files that it read and wrote), a task, a file (as provio why), or a
    dataset, attribute or group inside a file. A task of Dask is shown with its graph, the tasks before and after it,
    attempts, states, result, transfers, arguments, error and I/O.

    It is looked up in this order: the id of a run or the start of one, `last` or `last~1` (the run before), the name of
    a run, the name of a task, a file, the start of the name of a task. --run, --task and --file select one of them.

    \b
    Example: provio show last
             provio show results/fig3.h5
             provio show xcorr.h5#/stack
             provio show "('load-7', 0)"
             provio show last --environment
             provio show params.yaml --content last~1 -o old.yaml
    """
    if run is not None and form != "text":
        raise click.UsageError("--content and --as: the content is printed as it is; give one of them")
    if run is not None:
        return _content(what, run, output)
    if environment:
        return _environment(what, form)
    if output is not None:
        raise click.UsageError("-o belongs to --content")
    from provio.ask.why import why
    from provio.cli.verbs.why import shown

    # A path belongs to the record above it; a name to the record here.
    reader = session.reader(what if "/" in what else None)
    text, unicode = form == "text", terminal.unicode()
    one = things.named(reader, what, kind)
    if one.run:
        page = (
            run_summary.show(reader, one.run, terminal.width(), unicode, fold)
            if text
            else _rows(run_summary.facts(reader, one.run), form)
        )
    elif one.task:
        page = (
            tasks.show(reader, one.task, one.same, unicode, fold, terminal.width())
            if text
            else _rows(tasks.facts(reader, one.task), form)
        )
    elif one.file and not is_member(one.file.iri):
        page = shown(why(reader, one.file), form, fold)
    elif one.file:
        page = (
            things.show(reader, one.file, unicode, terminal.width())
            if text
            else _rows(things.facts(reader, one.file), form)
        )
    terminal.out(page)
    return 0


def _environment(name: str, form: str) -> int:
    """Show the environment of a run in layers."""
    from provio.ask import environment
    from provio.base.text import printable
    from provio.settings import home as homes

    reader = session.reader(None)
    facts = environment.of_run(reader, homes.find(), session.run_id(reader, name))
    if form != "text":
        from provio.render import records

        terminal.out(records.render("show --environment", facts, form))
        return 0
    lines, last, room = list[str](), "", (terminal.width() or 1_000_000) - INDENT
    for layer, key, value in facts:
        lines += [layer] if layer != last else []
        text = _lines("not available" if value is None else value, max(room, INDENT))
        lines += [f"  {printable(key):{INDENT - 3}} {text[0]}", *(" " * INDENT + line for line in text[1:])]
        last = layer
    terminal.out("".join(line + "\n" for line in lines))
    return 0


def _lines(value: str, room: int) -> list[str]:
    """Return a value as lines; of a long text the first ones."""
    from provio.base.text import folded, printable

    lines = value.rstrip("\n").split("\n")
    more = [f"({len(lines) - MOST} more lines: --as json has all)"] if len(lines) > MOST else []
    return [line for one in lines[:MOST] for line in folded(printable(one, terminal.unicode()), room, most=MOST)] + more


def _content(name: str, run: str, output: str | None) -> int:
    from provio.ask import kept_content
    from provio.settings import home as homes

    reader = session.reader(name if "/" in name else None)
    data = kept_content.content(reader, homes.find(Path(name).parent), name, run)
    if output is not None:
        terminal.write(output, data)
    else:
        terminal.out(data)
    return 0


def _rows(rows: list[tuple[str, str, int | None]], form: str) -> str:
    from provio.render import records

    return records.render("show", rows, form)
