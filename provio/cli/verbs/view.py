"""`provio view`: writes the graph of files or of a run as one HTML page."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from provio.ask import session
from provio.base import terminal
from provio.base.errors import NothingKnown
from provio.base.text import plural
from provio.cli.option_types import Choice, Count, OutputFile
from provio.cli.options import stoppable, store_option, walk_options

if TYPE_CHECKING:
    from provio.ask.document import LineageDocument
    from provio.ask.target import Targets
    from provio.store import Reader

OF_FILES = ("at", "run", "forward", "depth", "until", "roots", "stale")
LEVELS = Choice(["folder", "file", "dataset", "process", "io"])  # process and io: aliases of --steps
FOLDED = "Above this number, fold nodes by folder, program and rank."
PREVIEW = "Include small pictures, and the first rows or lines of tables, texts and JSON."
OPERATIONS = 5_000  # operations on files in a page, unless --level io requests more


class Drawn(NamedTuple):
    """A graph to draw, its title, the exit code, and the store that it came from."""

    document: LineageDocument
    title: str
    code: int
    reader: Reader


@click.command("view", short_help="Draw the graph as one HTML page.")
@click.argument("arguments", metavar="[FILE... | RUN]", nargs=-1)
@click.option("-o", "--output", type=OutputFile(), help="The page to write [default: a temporary file, opened].")
@click.option(
    "--level",
    type=LEVELS,
    metavar="[folder|file|dataset]",
    help="The level shown first; the page can switch [default: file]. folder: each folder once, and no other level.",
)
@click.option(
    "--steps",
    type=Choice(["process", "task", "io"]),
    help="Show first the processes, each with its tasks as one; or processes and tasks; or operations on files.",
)
@click.option("--max-nodes", "most", type=Count(min=20), default=60, show_default=True, help=FOLDED)
@click.option("--preview/--no-preview", default=True, show_default=True, help=PREVIEW)
@click.option("--open", "show", is_flag=True, help="Open the page in a browser.")
@walk_options
@store_option
@stoppable
def command(
    arguments: tuple[str, ...],
    output: str | None,
    most: int,
    preview: bool,
    show: bool,
    steps: str | None,
    **options: Any,
) -> int:
    """Draw the lineage of files, or a whole RUN (default: the last), as one HTML page that needs no network.

    Without -o, the page is a temporary file, and a browser opens it; without a browser, its name is printed.

    \b
    Example: provio view xcorr.h5
             provio view last -o run.html --steps process
    """
    if steps and options["level"]:
        raise click.UsageError("--level and --steps both select the first view: give one of them")
    options["level"] = "process" if steps == "task" else steps or options["level"]
    gc.disable()  # the process ends before a collection pays off
    drawn = (_of_files if _are_files(arguments) else _of_run)(arguments, {**options})
    _add_marks(drawn, options["level"], preview)
    drawn = drawn._replace(document=_drawn(drawn, options["level"], options["everything"]))
    if steps == "process":
        from provio.ask.merged_tasks import merged

        drawn = drawn._replace(document=merged(drawn.document))
    page, nodes = _page(drawn, options["level"], most).encode(), plural(len(drawn.document["nodes"]), "node")
    if output is None:
        _show_temporary(page, nodes)
        return drawn.code
    terminal.write(output, page)
    terminal.note(f"{output}: {nodes}")
    if show and not _opened(output):
        terminal.complain(f"no browser was found: open {Path(output).absolute().as_uri()}")
    return drawn.code


def _add_marks(drawn: Drawn, level: str | None, preview: bool) -> None:
    """Add the parts of a document that only a page shows: failed steps, stale files, names of runs, previews."""
    from provio.ask import marks, previews
    from provio.trace.redact import Redaction

    if level == "folder":
        return
    marks.add(drawn.reader, drawn.document)
    if preview:
        settings = session.settings()
        previews.add(drawn.reader, drawn.document, Redaction(settings.redact_add, settings.redact_keep))


def _drawn(drawn: Drawn, level: str | None, everything: bool) -> LineageDocument:
    """Return the document with its operations, and without pipes and forks unless `everything` is drawn."""
    from provio.ask import whole_run, works

    document = drawn.document if everything else works.drawn(drawn.document)
    document.pop("runs", None)
    if level != "folder":
        whole_run.add_operations(drawn.reader, document, None if level == "io" else OPERATIONS)
    return document if everything else works.without_forks(document)


def _page(drawn: Drawn, level: str | None, most: int) -> str:
    from provio.render import page

    first = "file" if level == "folder" else level or _first_level(drawn.document)
    return page.render(drawn.document, drawn.title, level=first, most=most)


def _first_level(document: LineageDocument) -> str:
    """Return `dataset` if the target is an object inside a file."""
    from provio.ask.nodes import is_member

    return "dataset" if is_member(document["target"]) else "file"


def _show_temporary(page: bytes, nodes: str) -> None:
    """Write a page to a temporary file that only this user can read; open it, or print its name."""
    import tempfile

    file, name = tempfile.mkstemp(prefix="provio-", suffix=".html")
    with os.fdopen(file, "wb") as stream:
        stream.write(page)
    if _opened(name):
        terminal.note(f"{name}: {nodes}, opened in the browser")
    else:
        terminal.note(f"no browser was found: open {name} ({nodes})")


def _opened(output: str) -> bool:
    """Open a page in a browser with a window; return whether there is one."""
    import webbrowser

    has_window = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    return has_window and webbrowser.open(Path(output).absolute().as_uri())


def _are_files(arguments: tuple[str, ...]) -> bool:
    """Return whether the arguments are files; raise UsageError if a run is among several."""
    from provio.ask.runs import LAST
    from provio.settings.home import RUN_ID

    for name in arguments if len(arguments) > 1 else ():
        if (LAST.fullmatch(name) or RUN_ID.fullmatch(name)) and not os.path.lexists(name):
            raise click.UsageError(f"a run is drawn without files: omit them, or name the file ./{name}")
    return len(arguments) > 1 or any("/" in name or "#" in name or os.path.lexists(name) for name in arguments)


def _of_files(arguments: tuple[str, ...], options: dict[str, Any]) -> Drawn:
    from provio.ask.lineage import answer
    from provio.ask.target import Selection, find_targets

    which = Selection(*(options.pop(name) for name in ("at", "run", "campaign", "name", "between")))
    roots, stale, level = options.pop("roots"), options.pop("stale"), options.pop("level")
    request = find_targets(arguments, which)
    walked = level if level in (None, "dataset", "folder") else "file"
    document = answer(request, {**options, "level": walked}, roots=roots, stale=stale)
    if not (roots or stale or options["until"]) and walked not in ("dataset", "folder") and _hold_objects(request):
        inside = answer(request, {**options, "level": "dataset"}, roots=False, stale=False)
        document = _both(document, inside)
    return Drawn(
        document, ", ".join(request.texts), request.unknown.exit_code if request.unknown else 0, request.reader
    )


def _hold_objects(request: Targets) -> bool:
    """Return whether objects inside the requested files are recorded."""
    from provio.ask.lineage import leveled
    from provio.ask.nodes import is_member

    if any(is_member(target.iri) for target in request.targets):
        return False
    return any(is_member(target.iri) for target in leveled(request, "dataset")[0].targets)


def _both(whole: LineageDocument, inside: LineageDocument) -> LineageDocument:
    """Return the lineage of files and of the objects inside them as one document; a page shows one of them."""
    from provio.ask.document import targets

    known = {node["iri"] for node in whole["nodes"]}
    nodes = [*whole["nodes"], *(node for node in inside["nodes"] if node["iri"] not in known)]
    edges_seen = {tuple(edge.values()) for edge in whole["edges"]}
    edges = [*whole["edges"], *(edge for edge in inside["edges"] if tuple(edge.values()) not in edges_seen)]
    return {**whole, "nodes": nodes, "edges": edges, "targets": [*targets(whole), *targets(inside)]}


def _of_run(arguments: tuple[str, ...], options: dict[str, Any]) -> Drawn:
    from provio.ask import runs, whole_run

    reader = session.reader(None)
    chosen = runs.chosen(reader, options["campaign"], options["name"], options["between"])
    run = chosen[-1] if chosen and not arguments else runs.find(reader, arguments[0] if arguments else "last")
    if run is None and arguments:
        return _of_files(arguments, options)  # the name of a file that was removed
    if run is None:
        raise NothingKnown("no run is recorded: record one first (provio run -- COMMAND)")
    unused = [f"--{name}" for name in OF_FILES if options[name]]
    if unused:
        raise click.UsageError(f"a run is drawn as a whole: omit {' and '.join(unused)}, or name files")
    document = whole_run.document(reader, run, everything=options["everything"])
    if options["level"] == "folder":
        from provio.ask.folders import folded

        document = folded(document, plain=not options["everything"])
    return Drawn(document, runs.title(reader, run), 0, reader)
