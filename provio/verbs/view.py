"""`provio view`: a file or a run in, a page out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from provio import asking, terminal
from provio.errors import NothingKnown
from provio.reports.text import plural
from provio.verbs import level_option, stoppable, store_option, walk_options

if TYPE_CHECKING:
    from provio.document import LineageDocument

OF_FILES = ("at", "run", "forward", "depth", "until", "roots", "stale", "level")


@click.command("view", short_help="Draw the graph as one HTML page.")
@click.argument("what", metavar="[FILE... | RUN]", nargs=-1)
@click.option("-o", "--output", type=click.Path(dir_okay=False), required=True, help="The page to write.")
@walk_options
@level_option
@store_option
@stoppable
def command(what: tuple[str, ...], output: str, **options: Any) -> int:
    """Draw the lineage of files, or a whole RUN (default: the last), as one HTML page that needs no network.

    \b
    Example: provio view xcorr.h5 -o lineage.html
             provio view last -o run.html
    """
    from provio import view

    document, title, code = _of_files(what, options) if _are_files(what) else _of_run(what, options)
    terminal.write(output, view.render(document, title).encode())
    terminal.note(f"{output}: {plural(len(document['nodes']), 'node')}")
    return code


def _are_files(what: tuple[str, ...]) -> bool:
    return len(what) > 1 or (bool(what) and ("/" in what[0] or "#" in what[0] or os.path.lexists(what[0])))


def _of_files(what: tuple[str, ...], options: dict[str, Any]) -> tuple[LineageDocument, str, int]:
    from provio.verbs.lineage import answer

    which = asking.Which(*(options.pop(name) for name in ("at", "run", "campaign", "name")))
    roots, stale = options.pop("roots"), options.pop("stale")
    asked = asking.files(what, which)
    document = answer(asked, options, roots=roots, stale=stale)
    return document, ", ".join(asked.texts), 3 if asked.unknown else 0


def _of_run(what: tuple[str, ...], options: dict[str, Any]) -> tuple[LineageDocument, str, int]:
    from provio import runs
    from provio.ancestry import run_document

    reader = asking.reader(None)
    chosen = runs.chosen(reader, options["campaign"], options["name"])
    run = chosen[-1] if chosen and not what else runs.find(reader, what[0] if what else "last")
    if run is None and what:
        return _of_files(what, options)  # a name that is gone
    if run is None:
        raise NothingKnown("no run is recorded: record one first (provio run -- COMMAND)")
    asked = [f"--{name}" for name in OF_FILES if options[name]]
    if asked:
        raise click.UsageError(f"a run is drawn whole: {' and '.join(asked)} would say which part of a file's lineage")
    return run_document(reader, run, everything=options["everything"]), runs.title(reader, run), 0
