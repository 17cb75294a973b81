"""`provio view`: a file or a run in, a page out."""

from __future__ import annotations

import os
from typing import Any

import click

from provio import asking, terminal
from provio.reports.text import plural
from provio.verbs import VIA


@click.command("view", short_help="Draw the graph as one HTML page.")
@click.argument("what", required=False)
@click.option("-o", "--output", type=click.Path(dir_okay=False), required=True, help="The page to write.")
@click.option("--forward", is_flag=True, help="What was made from it, instead of where it came from.")
@click.option("--via", type=VIA, default="carried", show_default=True, help="Show what is tied at least this strongly.")
@click.option("--all", "everything", is_flag=True, help="Show system files too.")
def command(what: str | None, output: str, forward: bool, via: Any, everything: bool) -> int:
    """Draw the lineage of a file, or a whole RUN (default: the last), as one HTML page that needs no network.

    Example: provio view xcorr.h5 -o lineage.html
    """
    from provio import runs, view
    from provio.ancestry import lineage, run_document
    from provio.target import find_target

    is_path = what is not None and (os.path.lexists(what) or "/" in what)
    reader = asking.reader(what if is_path else None)
    run = None if is_path else runs.find(reader, what or "last")
    if run:
        document, title = run_document(reader, run, everything=everything), runs.title(reader, run)
    else:
        target = find_target(reader, what or "")
        document, title = lineage(reader, target, forward=forward, via=via, everything=everything), str(what)
    terminal.write(output, view.render(document, title).encode())
    terminal.note(f"{output}: {plural(len(document['nodes']), 'node')}")
    return 0
