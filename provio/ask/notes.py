"""Notes of users. In: a store and the IRIs of runs, Tasks or versions. Out: the notes about them, and as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from urllib.parse import unquote

from provio.ask.document import LineageDocument, Note
from provio.base.text import folded, moment, printable, sortable
from provio.base.vocab import RUN_BASE, local_name
from provio.store import Reader

FEW = 200  # IRIs that are looked up; for more, all notes are read
TOGETHER = 1_000  # notes of one query
MOST_LINES = 3  # of a note on a terminal
FACTS = """SELECT DISTINCT ?n ?about ?time ?text ?user {{ VALUES ?{name} {{ {iris} }} ?n provio:noteOn ?about ;
    provio:text ?text ; prov:startedAtTime ?time . OPTIONAL {{ ?n prov:wasAssociatedWith ?user }} }}"""


def of(reader: Reader, iris: Iterable[str]) -> list[Note]:
    """Return the notes about these nodes, oldest first."""
    wanted = set(iris)
    if len(wanted) <= FEW:
        rows = reader.rows(_query("about", wanted)) if wanted else iter(())
        return _sorted(rows)
    named = reader.table("SELECT ?n ?about { ?n provio:noteOn ?about }")
    return _read(reader, [note for note, about in named if about in wanted])


def add(reader: Reader, document: LineageDocument) -> None:
    """Add to a document the notes about its nodes and their runs, if there are any."""
    if next(iter(reader.rows("SELECT ?n { ?n provio:noteOn ?about } LIMIT 1")), None) is None:
        return
    nodes = document["nodes"]
    if found := of(reader, {iri for one in nodes for iri in (one["iri"], one.get("task"), one.get("run")) if iri}):
        document["notes"] = found


def every(reader: Reader) -> list[Note]:
    """Return all notes, oldest first."""
    return _read(reader, [note for (note,) in reader.table("SELECT DISTINCT ?n { ?n provio:noteOn ?about }")])


def of_runs(reader: Reader) -> dict[str, list[Note]]:
    """Return the notes about runs, by the id of the run."""
    found: dict[str, list[Note]] = {}
    for note in every(reader):
        if is_on_run(note):
            found.setdefault(local_name(note["about"]), []).append(note)
    return found


def is_on_run(note: Note) -> bool:
    """Return whether a note is about a run, and not about a Task or a version."""
    return local_name(note["about"]) == note["about"].removeprefix(RUN_BASE)


def matches(text: str, glob: str) -> bool:
    """Return whether a text matches a pattern, without regard to case; a pattern without `*`, `?` and `[` may occur
    anywhere in the text."""
    lower, wanted = text.lower(), glob.lower()
    return fnmatchcase(lower, wanted) if set(wanted) & set("*?[") else wanted in lower


def line(note: Note) -> str:
    """Return a note as text: `2026-11-27 13:20:05 UTC ada: the detector was off`."""
    who = f" {note['user']}" if "user" in note else ""
    return f"{moment(note['time'])}{who}: {note['text']}"


def lines(found: Iterable[str], width: int | None, unicode: bool) -> list[str]:
    """Return the lines of notes as facts of a page; on a terminal of `width` columns at most some of each note."""
    page = []
    for text in found:
        flat = printable(" ".join(text.split()), unicode)
        parts = [flat] if width is None else folded(flat, max(width - 9, 20), unicode, most=MOST_LINES)
        page += [f"{'' if place else 'note':8} {part}" for place, part in enumerate(parts)]
    return page


def _query(name: str, iris: Iterable[str]) -> str:
    return FACTS.format(name=name, iris=" ".join(f"<{iri}>" for iri in sorted(iris)))


def _read(reader: Reader, iris: Sequence[str]) -> list[Note]:
    groups = (iris[place : place + TOGETHER] for place in range(0, len(iris), TOGETHER))
    return _sorted(row for group in groups for row in reader.rows(_query("n", group)))


def _sorted(rows: Iterable[dict[str, str]]) -> list[Note]:
    found = []
    for row in rows:
        note = Note(iri=row["n"], about=row["about"], time=row["time"], text=row["text"])
        if "user" in row:
            note["user"] = unquote(local_name(row["user"]))
        found.append(note)
    return sorted(found, key=lambda note: (sortable(note["time"]), note["iri"]))
