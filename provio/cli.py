"""The verbs of `provio`: thin commands, one each; the only place that prints errors, in one line with the remedy.

Exit codes: 0 done; 1 an error or a finding (a damaged trace); 2 a wrong call; 3 nothing recorded answers; of `run`, the
command's own, or 125 for a wrong call, 126 not executable, 127 not found.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from provio import __version__
from provio.errors import CannotRecord, NothingKnown, ProvioError

if TYPE_CHECKING:
    from provio.document import LineageDocument
    from provio.home import Home
    from provio.store.embedded import StoreReader

FORMS = click.Choice(["table", "json", "csv", "tsv"])
VIA = click.Choice(["data", "carried", "control"])


def main() -> NoReturn:
    """Run the command line and exit."""
    _have_streams()
    try:
        code = cli.main(args=sys.argv[1:] or ["--help"], standalone_mode=False)
        sys.stdout.flush()
    except (click.exceptions.Abort, KeyboardInterrupt):
        code = 130
    except click.ClickException as error:
        _complain(error.format_message(), getattr(error, "ctx", None))
        code = 125 if sys.argv[1:2] == ["run"] else error.exit_code
    except ProvioError as error:
        _complain(str(error))
        code = error.exit_code
    except BrokenPipeError:
        code = 141
    except OSError as error:
        _complain(f"{error.filename or 'the output'}: {error.strerror or error}: see who may write there, and its room")
        code = 1
    _drop_output()
    sys.exit(code if isinstance(code, int) else 0)


def _have_streams() -> None:
    """Give a stream that was closed a place to write to, on a descriptor that a command does not inherit as 1 or 2."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            fd = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            setattr(sys, name, os.fdopen(fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10), "w", encoding="utf-8"))
            os.close(fd)


def _drop_output() -> None:
    """What could not be written must not be tried again by the interpreter's own end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="provio %(version)s")
def cli() -> None:
    """Where did this data come from, and what was it made into?

    \b
      provio run -- python3 decimate.py in.h5 out.h5     watch a command
      provio lineage out.h5                              where did it come from?
      provio lineage --forward in.h5                     what was it made into?
    """


@cli.command(
    "run",
    short_help="Watch a command.",
    context_settings={"allow_interspersed_args": False},
)
@click.option("--name", help="Name the run, to find it again.")
@click.option("--campaign", help="The campaign that the run belongs to.")
@click.option(
    "--detail",
    type=click.Choice(["file", "op", "call"]),
    help="Who touched what; counters for each function (op, the default); every single call.",
)
@click.option(
    "--record",
    multiple=True,
    type=click.Choice(["stat", "list"]),
    help="Record this class too: looks at a file's facts, or listings of folders.",
)
@click.option("--quiet", is_flag=True, help="Say nothing on stderr.")
@click.option("--no-merge", is_flag=True, help="Leave the run pending; the next question merges it.")
@click.option("--strict", is_flag=True, help="Do not start the command (125) where it cannot be recorded.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True)
def run_command(
    name: str | None,
    campaign: str | None,
    detail: str | None,
    record: tuple[str, ...],
    quiet: bool,
    no_merge: bool,
    strict: bool,
    command: tuple[str, ...],
) -> int:
    """Watch COMMAND: record which files its processes read and wrote.

    Its output, exit code and signals are its own. What provio.toml sets, the options are over. Example: provio run --
    make -j4
    """
    from provio import config, run
    from provio import home as homes

    arguments = [os.fsencode(argument) for argument in command]
    flags = {"name": name, "campaign": campaign, "detail": detail, "record": record or None}
    forgive = None if strict else (lambda _: None) if quiet else _complain
    try:
        settings = config.load(homes.project_folders(), flags, forgive)
        detailed = run.Detail(settings.detail, frozenset(settings.record))
        recording = run.prepare(arguments, settings.name or None, detailed, settings.campaign or None)
    except Exception as error:
        if strict:
            raise CannotRecord(str(error)) from error
        if not quiet:
            _complain(f"not recording: {error}")
        recording = None
    end = run.watch(arguments, recording, (lambda _: None) if quiet else _complain)
    if recording:
        _apart(lambda: _finish(recording, end, no_merge), quiet, recording.run_id)
    return run.end_as(end)


def _apart(work: Callable[[], str], quiet: bool, run_id: str) -> None:
    """Do what comes after the command in a process of its own: however it ends, the command's end is passed on."""
    child = os.fork()
    if child == 0:
        try:
            word = work()
        except BaseException as error:
            word = f"run {run_id} is kept, but: {str(error) or type(error).__name__}"
        if not quiet:
            _complain(word)
        os._exit(0)
    try:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except KeyboardInterrupt:
        status = 130
    if status and not quiet:
        _complain(f"run {run_id} is kept; merging it failed (it ended with {status}): provio merge tries again")


def _finish(recording: Any, end: Any, no_merge: bool) -> str:
    """Settle and merge a run that ended; return the line to say of it."""
    from provio import environment, run, settle, turtle
    from provio.merge import merge
    from provio.store.embedded import Busy
    from provio.trace import content_hash, read_run

    run.write_run(recording, end)
    trace = read_run(recording.folder)
    settle.settle(trace, turtle.segment(environment.system_facts()["host"]))
    trace.content_hash = content_hash(trace.folder, trace.run)
    count = f"{_count(len(trace.processes), 'process', 'processes')}, {_count(_files(trace), 'file')}"
    if not trace.processes:
        count = "no process that read or wrote a file"
    what = f"run {recording.run_id}: {count}"
    if no_merge or environment.job_id():
        return f"{what}, pending in {recording.home.path}"
    try:
        outcome = merge(recording.home, [recording.folder], wait=False)
    except Busy:
        return f"{what}, pending in {recording.home.path} (the store is busy)"
    damaged = f"; {outcome.damages[0]}" if outcome.damages else ""
    return f"{what}, recorded in {recording.home.path}{damaged}"


def _files(trace: Any) -> int:
    return len({o.path for o in trace.openings() if o.kind == "FileVersion" and o.path})


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


@cli.command("merge", short_help="Bring recorded runs into the store.")
@click.argument("runs", nargs=-1)
@click.option("--quiet", is_flag=True, help="Say nothing but what is wrong.")
def merge_command(runs: tuple[str, ...], quiet: bool) -> int:
    """Bring recorded runs into the store (all that are new or changed, or the RUNS named).

    Merging again changes nothing. A damaged file is named with its line, and costs only itself; the exit code is then
    1.
    """
    from provio import home as homes
    from provio.merge import merge

    home = homes.find()
    folders = [_run_folder(home, name) for name in runs] if runs else None
    note = _progress() if not quiet else lambda _: None
    outcome = merge(home, folders, progress=note)
    for damage in outcome.damages:
        _complain(f"damaged: {damage}")
    if not quiet:
        click.echo(f"{_count(len(outcome.merged), 'run')} merged, {outcome.unchanged} unchanged", err=True)
    return 1 if outcome.damages else 0


def _progress() -> Callable[[str], None]:
    if not sys.stderr.isatty():
        return lambda _: None
    return lambda run: click.echo(f"merging {run}", err=True)


@cli.command("lineage", short_help="Where did a file come from, what is it in?")
@click.argument("path")
@click.option("--forward", is_flag=True, help="What was made from it, instead of where it came from.")
@click.option("--depth", type=click.IntRange(min=1), help="At most so many steps from file to file.")
@click.option("--via", type=VIA, default="carried", show_default=True, help="Show what is tied at least this strongly.")
@click.option("--all", "everything", is_flag=True, help="Show system files too.")
@click.option(
    "--as", "form", type=click.Choice(["tree", "table", "json", "dot", "ttl"]), default="tree", show_default=True
)
def lineage_command(path: str, forward: bool, depth: int | None, via: Any, everything: bool, form: str) -> int:
    """Where did PATH come from, and (with --forward) what was it made into?

    PATH is asked as the content it has now. Example: provio lineage results/fig3.h5
    """
    from provio.ancestry import lineage
    from provio.target import find_target

    reader = _reader(path)
    target = find_target(reader, path)
    document = lineage(reader, target, forward=forward, depth=depth, via=via, everything=everything)
    if target.changed and form not in ("tree", "json"):
        _complain(f"{path}: {target.changed}")
    _out(_shown(document, form))
    return 0


def _shown(document: LineageDocument, form: str) -> str:
    from provio.reports import document_json, dot, table, tree, ttl

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    if form == "tree":
        return tree.render(document, width=width, color=_color(), unicode=_unicode(), folder=_folder())
    if form == "table":
        return table.render(document, width=width, unicode=_unicode())
    plain = {"json": document_json.render, "dot": dot.render, "ttl": ttl.render}
    return plain[form](document)


@cli.command("query", short_help="Ask a SPARQL question.")
@click.argument("question")
@click.option("--as", "form", type=FORMS, default=None, help="table on a terminal, else tsv.  [table|json|csv|tsv]")
def query_command(question: str, form: str | None) -> int:
    """Ask the union of all runs a SPARQL QUESTION: the text, a file, or - for standard input.

    The prefixes provio, prov, xsd, rdf, rdfs are known. CONSTRUCT and DESCRIBE print Turtle. Where several runs saw
    one file, what they all say of it is found once for each: say DISTINCT.

    Example: provio query 'SELECT ?file WHERE { ?file a provio:File }'
    """
    import pyoxigraph as ox

    from provio.query import ask, text_of
    from provio.reports import rows

    sparql = text_of(question)
    answer = ask(_reader(None), sparql)
    form = form or ("table" if sys.stdout.isatty() else "tsv")
    if isinstance(answer, ox.QueryTriples):
        from provio.vocab import PREFIXES

        _out((ox.serialize(answer, format=ox.RdfFormat.TURTLE, prefixes=PREFIXES) or b"").decode())
    elif isinstance(answer, ox.QueryBoolean):
        _out(rows.boolean(bool(answer), form))
    else:
        names = [variable.value for variable in answer.variables]
        found = ([solution[name] for name in names] for solution in answer)
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        _out(rows.render(names, found, form, width=width, unicode=_unicode()))
    return 0


@cli.command("export", short_help="Print the graph for other tools.")
@click.argument("run", required=False)
@click.option("--as", "form", default="trig", show_default=True, help="trig, nquads or ttl.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write to a file.")
def export_command(run: str | None, form: str, output: str | None) -> int:
    """Print the graph of RUN, or of all runs, for other tools.

    Example: provio export --as nquads > all.nq
    """
    from provio import exports
    from provio.facts import RUN_BASE
    from provio.graph import bundle_iri

    if form not in exports.formats():
        raise click.BadParameter(f"{form!r} is not one of {', '.join(exports.formats())}", param_hint="--as")
    reader = _reader(None)
    graph = bundle_iri(RUN_BASE + _run_id(reader, run)) if run else None
    data = exports.exporter(form).export(reader, graph)
    if output:
        _write(output, data)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
    return 0


@cli.command("runs", short_help="List what is recorded.")
@click.option("--as", "form", type=FORMS, default="table", show_default=True)
def runs_command(form: str) -> int:
    """List what is recorded, oldest first; the table shows as much of an id as tells the runs apart."""
    from pyoxigraph import Literal

    from provio import runs
    from provio.reports import rows

    reader = _reader(None)
    names, found = runs.listing(reader)
    if form == "table":
        enough = runs.shortest(reader)
        found = [[Literal(run.value[:enough]) if run else None, *rest] for run, *rest in found]
        names, found = rows.without_empty("campaign", names, found)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    _out(rows.render(names, found, form, width=width, unicode=_unicode()))
    return 0


@cli.command("show", short_help="Show one run.")
@click.argument("run")
def show_command(run: str) -> int:
    """Show one RUN (its id, the beginning of it, its name, or `last`): what ran, what it read and wrote."""
    from provio import runs

    reader = _reader(None)
    _out(runs.show(reader, _run_id(reader, run), unicode=_unicode()))
    return 0


@cli.command("view", short_help="Draw the graph as one HTML page.")
@click.argument("what", required=False)
@click.option("-o", "--output", type=click.Path(dir_okay=False), required=True, help="The page to write.")
@click.option("--forward", is_flag=True, help="What was made from it, instead of where it came from.")
@click.option("--via", type=VIA, default="carried", show_default=True, help="Show what is tied at least this strongly.")
@click.option("--all", "everything", is_flag=True, help="Show system files too.")
def view_command(what: str | None, output: str, forward: bool, via: Any, everything: bool) -> int:
    """Draw the lineage of a file, or a whole RUN (default: the last), as one HTML page that needs no network.

    Example: provio view xcorr.h5 -o lineage.html
    """
    from provio import runs, view
    from provio.ancestry import lineage, run_document
    from provio.target import find_target

    is_path = what is not None and (os.path.lexists(what) or "/" in what)
    reader = _reader(what if is_path else None)
    run = None if is_path else runs.find(reader, what or "last")
    if run:
        document, title = run_document(reader, run, everything=everything), runs.title(reader, run)
    else:
        target = find_target(reader, what or "")
        document, title = lineage(reader, target, forward=forward, via=via, everything=everything), str(what)
    _write(output, view.render(document, title).encode())
    click.echo(f"{output}: {_count(len(document['nodes']), 'node')}", err=True)
    return 0


def _reader(target: str | None) -> StoreReader:
    """The store that answers for a target, after what is pending was merged."""
    from provio import home as homes
    from provio.store.embedded import Damaged, StoreReader

    path = Path(target) if target and not target.startswith(("https:", "http:", "file:")) else None
    home = homes.find(path.parent if path else None)
    _merge_pending(home, home.pending())
    try:
        return StoreReader(home)
    except Damaged as error:
        _complain(f"{error}; making it anew")
        shutil.rmtree(home.snapshots)
        _merge_pending(home, home.run_folders())
        return StoreReader(home)


def _merge_pending(home: Home, folders: list[Path]) -> None:
    if not folders:
        return
    from provio.merge import merge

    try:
        for damage in merge(home, folders, progress=_progress()).damages:
            _complain(f"damaged: {damage}")
    except ProvioError as error:
        _complain(f"{_count(len(folders), 'run')} pending: {error}")


def _run_id(reader: StoreReader, name: str) -> str:
    from provio import runs

    found = runs.find(reader, name)
    if found is None:
        raise NothingKnown(f"no run {name!r} is recorded (provio runs lists them)")
    return found


def _run_folder(home: Home, name: str) -> Path:
    found = [folder for folder in home.run_folders() if folder.name.startswith(name)]
    if len(found) != 1:
        raise NothingKnown(f"{'no run' if not found else 'more than one run'} begins with {name!r} in {home.runs}")
    return found[0]


def _write(output: str, data: bytes) -> None:
    try:
        Path(output).write_bytes(data)
    except OSError as error:
        raise ProvioError(f"cannot write {output} ({error.strerror}): name another file with -o") from error


def _out(text: str) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode(sys.stdout.encoding if _unicode() else "ascii", "backslashreplace"))
    sys.stdout.buffer.flush()


def _complain(message: str, context: click.Context | None = None) -> None:
    hint = f" (see {context.command_path} --help)" if context else ""
    line = " ".join(message.split())
    safe = line.encode("ascii" if not _unicode() else "utf-8", "backslashreplace").decode("utf-8")
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in safe)
    with contextlib.suppress(OSError, ValueError):
        print(f"provio: {text}{hint}", file=sys.stderr, flush=True)


def _unicode() -> bool:
    return (sys.stdout.encoding or "ascii").lower().replace("-", "") == "utf8"


def _color() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def _folder() -> str | None:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return None
