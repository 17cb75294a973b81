"""The paths of a lineage document (`paths`) as text, one per line.

    fig3.h5 ← plot.py ← xcorr.h5 ← xcorr.py (carried) ← WestSac.h5

Each line has the files and the programs between them, the target first; forward, the arrows point the other way.
Lines are never cut, so that `grep` and `sort` can process them.
"""

from __future__ import annotations

from collections.abc import Iterator

from provio.ask.document import ACTIVITIES, Lineage, LineageDocument, named_reason, only_launched
from provio.ask.housekeeping import between
from provio.base.table import align
from provio.base.text import plural, printable, shorter_path

_MARKS = {"carriedFrom": "carried", "launchedBy": "control"}


def render(document: LineageDocument, *, unicode: bool = True, folder: str | None = None, plain: bool = True) -> str:
    """Return a line for each path, and notes about omitted data; paths that differ only in phases of a process are one
    line. `plain` leaves out plumbing (`provio.ask.works`)."""
    lines = dict.fromkeys(_lines(document, unicode, folder, plain))
    return "".join(printable(line, unicode) + "\n" for line in [*lines, *_notes(document)])


def table(
    document: LineageDocument,
    *,
    width: int | None,
    unicode: bool = True,
    folder: str | None = None,
    plain: bool = True,
) -> str:
    """Return the paths as rows, each with its number of steps from file to file."""
    lineage = Lineage(document)
    lines = _lines(document, unicode, folder, plain)
    omitted = between(lineage) if plain else set()
    files = {iri for iri, node in lineage.node.items() if node["type"] not in ACTIVITIES} - omitted
    steps = [sum(iri in files for iri in way) - 1 for way in document["paths"]]
    numbered = dict.fromkeys(zip(map(str, steps), lines, strict=True))
    rows = [(str(place), *row) for place, row in enumerate(numbered, start=1)]
    aligned = align(("way", "steps", "path"), rows, width=width, unicode=unicode, right={"way", "steps"})
    return aligned + "".join(printable(note, unicode) + "\n" for note in _notes(document))


def _lines(document: LineageDocument, unicode: bool, folder: str | None, plain: bool) -> list[str]:
    lineage = Lineage(document)
    omitted = between(lineage) if plain else set()
    arrow = {"backward": ("←", "<-"), "forward": ("→", "->")}[document["direction"]][not unicode]
    return [
        f" {arrow} ".join(_words(lineage, [iri for iri in way if iri not in omitted], folder))
        for way in document["paths"]
    ]


def _notes(document: LineageDocument) -> list[str]:
    node = {node["iri"]: node for node in document["nodes"]}
    about = [(node[gap["about"]]["label"], gap["reason"]) for gap in document["gaps"] if gap["about"] in node]
    lines = [f"! {named_reason(*one)}" for one in about]
    left = document.get("ways", 0) - len(document["paths"])
    if left > 0:
        lines.append(f"{left:,} more {'ways' if left > 1 else 'way'} (--most)")
    if document["hidden"]:
        lines.append(f"{plural(document['hidden'], 'system file')} hidden (--all)")
    if started := only_launched(document):
        lines.append(f"{started} (--via control)")
    return lines


def _words(lineage: Lineage, way: list[str], folder: str | None) -> Iterator[str]:
    """Yield the name of each file, and of each program on the path, with the tie of its phases."""
    run: list[str] = []
    for iri in [*way, ""]:
        node = lineage.node.get(iri)
        if node and node["type"] in ACTIVITIES:
            run.append(iri)
            continue
        yield from _programs(lineage, run)
        run = []
        if node and not iri.endswith("/result"):  # that of a task, which is named
            code = " (code)" if node.get("via") == "code" else ""
            yield shorter_path(node.get("path") or node["label"], folder) + code


def _programs(lineage: Lineage, run: list[str]) -> list[str]:
    """Return the programs of successive phases; phases of one process, or of a fork of one program, are one name."""
    words: list[tuple[str, str]] = []
    last = None
    for place, iri in enumerate(run):
        how = _how(lineage, run[place - 1], iri) if place else ""
        node = lineage.node[iri]
        label = node["label"]
        process = node.get("task") or node.get("process", iri)
        if words and (process == last or (how != "control" and words[-1][0] == label)):
            words[-1] = label, max(how, words[-1][1], key=("", "carried", "control").index)
        else:
            words.append((label, how))
        last = process
    return [f"{label} ({how})" if how else label for label, how in words]


def _how(lineage: Lineage, one: str, other: str) -> str:
    """Return the tie of a phase to the next one on the path: data (empty), `carried` or `control`."""

    def tied(name: str) -> bool:
        return other in lineage.objects(one, name) or other in lineage.subjects(one, name)

    return "" if tied("continuedFrom") else next((mark for name, mark in _MARKS.items() if tied(name)), "")
