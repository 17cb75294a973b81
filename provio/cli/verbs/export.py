"""`provio export`: prints the graph of a run, of all runs, or of the lineage of files, as RDF; or writes the
events of a run of Dask as tables, or those of runs as JSON lines or into a Redis Stream."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from provio.ask import session
from provio.base import terminal, time_limit
from provio.base.errors import NothingKnown
from provio.base.text import plural
from provio.cli.option_types import Choice, Form, OutputFile
from provio.cli.options import chosen_runs, follow_option, stoppable, store_option

if TYPE_CHECKING:
    from provio.ask.things import Thing
    from provio.exchange.formats import Format
    from provio.exchange.subject import Subject
    from provio.store import Store


DASK_MOFKA, EVENTS = "dask-mofka", "events"
DASK = 'SELECT ?t { ?t a provio:Task ; provio:kind "dask" } LIMIT 1'


def forms() -> list[str]:
    """Return the names of all forms."""
    from provio.exchange import formats

    return [*formats.names(), DASK_MOFKA, EVENTS]


def is_folder(form: str) -> bool:
    """Return whether a form is written as a folder."""
    from provio.exchange import formats

    return form == DASK_MOFKA or (form in formats.names() and formats.load(form).FOLDER)


class Output(OutputFile):
    """The name of a file to write; of a new folder, if the form has several files."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name; reject a folder that exists."""
        if ctx is None or not is_folder(ctx.params.get("form", "")) or not value:
            return super().convert(value, param, ctx)
        if os.path.lexists(value):
            self.fail(f"{value} exists: name a folder that does not exist yet", param, ctx)
        return value


@click.command("export", short_help="Print the graph for other tools.")
@click.argument("names", metavar="[RUN... | FILE...]", nargs=-1)
@click.option(
    "--as",
    "form",
    cls=Form,
    default="trig",
    show_default=True,
    is_eager=True,
    help="The form: one of those below.",
)
@click.option("--to", metavar="URL", help="With events: add them to this stream, redis://HOST:PORT/DB?stream=NAME.")
@follow_option
@click.option(
    "-o", "--output", type=Output(), help="Write to a file; with ro-crate, deposit and dask-mofka, to a new folder."
)
@click.option("--redact", metavar="KINDS", help="Replace names by pseudonyms: user, host, path, argv, with commas.")
@click.option("--campaign", metavar="C", help="The runs of this campaign.")
@click.option("--with-data", is_flag=True, help="With ro-crate: copy the files, too.")
@click.option(
    "--level",
    type=Choice(["folder", "file", "dataset"]),
    help="Describe folders, files, or also objects in files.",
)
@click.option(
    "--steps",
    type=Choice(["process", "task", "io"]),
    help="Describe processes, also tasks, or also I/O activities.",
)
@click.option(
    "--profile",
    type=Choice(["process", "workflow", "provenance"]),
    help="That of a crate [default: provenance].",
)
@click.option("--anyway", is_flag=True, help="Also a record with gaps, or without some of the data.")
@store_option
@stoppable
def command(
    names: tuple[str, ...],
    form: str,
    to: str | None,
    follow: bool,
    output: str | None,
    redact: str | None,
    campaign: str | None,
    **options: str | bool | None,
) -> int:
    """Print the graph of RUNs, of the lineage of files, or of all runs, for other tools.

    The lineage has the nodes of `provio lineage FILE --as json`, with all that is recorded about each. A name is first
    looked up as that of a run.

    --as events prints the events of RUNs, or of all runs, in their order; with --follow also those to come. --to adds
    those that a stream of a Redis server lacks (docs/live.md).

    \b
    trig, nquads, ttl              RDF: all that is recorded
    prov-json, prov-n, prov-jsonld W3C PROV
    ro-crate, deposit              a folder to hand on (docs/crate.md)
    script, make, snakemake, dvc   the commands, to run them again
    datacite                       the description of the project
    wfformat                       an instance of WfCommons
    dot, mermaid                   a diagram
    events, dask-mofka             events of runs; those of Dask as tables

    \b
    Example: provio export --as nquads > all.nq
             provio export fig3.h5 --as ttl -o fig3.ttl
             provio export last --as ro-crate --with-data -o crate
             provio export last --as prov-json -o run.json
             provio export last --as dask-mofka -o tables
             provio export --campaign trials --as ro-crate -o crate
             provio export --as events --follow --to redis://localhost
    """
    from provio.ask.target import check_project
    from provio.exchange import formats
    from provio.exchange.hidden import Hidden
    from provio.exchange.subject import Subject
    from provio.settings import home as homes
    from provio.settings.types import among

    if form not in forms():
        raise click.BadParameter(
            f"{form!r} is not allowed{among(form, forms(), 'provio export --help lists')}", param_hint="'--as'"
        )
    hidden, chosen = _kinds(redact, form), _options(options, form)
    if campaign and (names or form in (EVENTS, DASK_MOFKA)):
        reason = "--campaign selects runs: omit the names" if names else f"--as {form} has no --campaign: omit it"
        raise click.UsageError(reason)
    if form == EVENTS:
        return _events(names, to, follow, output)
    if to or follow:
        raise click.UsageError(f"{'--to' if to else '--follow'} is about events: add --as events")
    if form == DASK_MOFKA:
        return _dask_mofka(names, output)
    check_project(names)
    place = next((name for name in names if "/" in name), None)
    reader = session.reader(place)
    found, code = _found(reader, names)
    runs = chosen_runs(reader, (), campaign, None, None) or [one.run for one in found if one.run]
    home = homes.find(Path(place).parent) if place else homes.find()
    subject = Subject(
        reader,
        home,
        runs=tuple(runs),
        files=tuple(one.file for one in found if one.file),
        **chosen,
        hide=Hidden(hidden, reader, tuple(os.fsdecode(folder) for folder in home.projects)),
    )
    _write(formats.load(form), subject, output)
    return code


def _options(options: Mapping[str, str | bool | None], form: str) -> dict[str, Any]:
    """Return the options that were given; raises UsageError for one that the form does not have."""
    from provio.exchange import formats

    given = {name: value for name, value in options.items() if value}
    known = getattr(formats.load(form), "OPTIONS", ()) if form in formats.names() else ()
    for name in given.keys() - set(known):
        raise click.UsageError(f"--as {form} has no --{name.replace('_', '-')}: omit it")
    return given


def _kinds(redact: str | None, form: str) -> frozenset[str]:
    """Return the kinds of values to replace; raises UsageError for a form that cannot replace them."""
    from provio.exchange.hidden import KINDS
    from provio.settings.types import among

    kinds = frozenset(redact.split(",") if redact else ())
    if kinds and form in (DASK_MOFKA, EVENTS):
        raise click.UsageError(f"--as {form} writes recorded events as they are: omit --redact, or use another form")
    for kind in sorted(kinds - {*KINDS}):
        raise click.BadParameter(f"{kind!r} is not allowed{among(kind, KINDS)}", param_hint="'--redact'")
    return kinds


def _write(form: Format, subject: Subject, output: str | None) -> None:
    """Write an export to a file, to a new folder, or to the standard output."""
    if form.FOLDER:
        if output is None:
            raise click.UsageError("this form writes several files: name a new folder with -o")
        time_limit.may_print()
        form.write(subject, Path(output))
    elif output:
        with terminal.written(output) as file:
            form.write(subject, file)
    else:
        time_limit.may_print()
        sys.stdout.flush()
        form.write(subject, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _found(reader: Store, names: tuple[str, ...]) -> tuple[list[Thing], int]:
    """Return the runs, or the files that are known, and the exit code; raises NothingKnown if none is known, UsageError
    for a Task, and for a run among files."""
    from provio.ask import things

    found: list[Thing] = []
    unknown, run = None, ""
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
        run = name if one.run else run
        found.append(one)
        if run and not all(other.run for other in found):
            raise click.UsageError(f"{run} is a run: export runs, or files, but not both at once")
    if unknown and not found:
        raise unknown
    return found, unknown.exit_code if unknown else 0


def _events(names: tuple[str, ...], to: str | None, follow: bool, output: str | None) -> int:
    """Print the events of runs as lines of JSON, write them to a file, or add them to a stream."""
    import json

    from provio.cli import following

    if to and output:
        raise click.UsageError("--to adds events to a stream: leave out -o")
    runs = None
    if names:
        reader = session.reader(None, notices=False, as_of=False)
        runs = list(dict.fromkeys(session.run_id(reader, name) for name in names))
    if to:
        return _to_redis(to, runs, follow)
    with following.sink(output) as write:
        for event in following.of_runs(runs, after=0, follow=follow):
            if event:
                write(json.dumps(event) + "\n")
    return 0


def _to_redis(url: str, runs: list[str] | None, follow: bool) -> int:
    from provio.cli import following
    from provio.exchange import redis_stream

    address = redis_stream.Address(url)
    stream = redis_stream.RedisStream(address, terminal.warn, waits=follow)
    count = redis_stream.export(
        stream, lambda after: following.of_runs(runs, after, follow), lambda: following.first_of(runs)
    )
    terminal.note(f"{address}: {plural(count, 'event')} added to {address.stream}")
    return 0


def _dask_mofka(names: tuple[str, ...], output: str | None) -> int:
    """Write the events of one run of Dask into a new folder; raises NothingKnown if there is none."""
    from provio.ask import task_list
    from provio.render import dask_mofka
    from provio.settings import home as homes
    from provio.trace import events, read, run_source
    from provio.trace.run_facts import Damage

    if output is None:
        raise click.UsageError("--as dask-mofka writes several files: name a new folder with -o")
    if len(names) > 1:
        raise click.UsageError("--as dask-mofka writes one run: name one")
    store, home = session.reader(None), homes.find()
    run = session.run_id(store, names[0]) if names else _newest(store)
    folder = home.runs / run
    damages: list[Damage] = []
    exists = run_source.exists(folder)
    files = events.read(folder, read.read_head(folder), damages) if exists else []
    for damage in damages:
        terminal.warn(f"{damage.path} {damage.reason}")
    if not any(file.part in events.PARTS for file in files):
        reason = "no process of it used Dask" if exists else "its run folder was removed"
        raise NothingKnown(f"run {run} has no events of Dask ({reason}): name a run of a program that uses Dask")
    tasks = task_list.listed(store, home, [run], "dask").rows
    time_limit.may_print()
    counts = dask_mofka.write(Path(output), files, tasks)
    terminal.note(f"{output}: {', '.join(f'{name} {count}' for name, count in counts.items())} (rows)")
    return 0


def _newest(store: Store) -> str:
    """Return the newest run with tasks of Dask."""
    from provio.ask import runs
    from provio.base.vocab import RUN_BASE
    from provio.graph.lines import bundle_iri
    from provio.store import Confined

    for row in reversed(list(store.rows(runs.LISTING))):
        if next(Confined(store, [bundle_iri(RUN_BASE + row["run"])]).table(DASK), None):
            return row["run"]
    raise NothingKnown("no run with tasks of Dask is recorded: record one with provio run -- COMMAND")
