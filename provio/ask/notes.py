"""Notes of users. In: a store and the IRIs of runs, Tasks or versions. Out: the notes about them, and as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from urllib.parse import unquote

from provio.ask.document import LineageDocument, Note
from provio.base.text import folded, moment, plural, printable, sortable
from provio.base.vocab import is_run, local_name
from provio.store import Reader

FEW = 200  # IRIs that are looked up; for more, all notes are read
MOST = 10  # notes on one thing that a text shows
MOST_LINES = 3  # of a note on a terminal
FACTS = """SELECT ?n ?about ?time ?text ?user { %s ?n provio:noteOn ?about ; provio:text ?text ;
    prov:startedAtTime ?time . %s OPTIONAL { ?n prov:wasAssociatedWith ?user } }"""


def of(reader: Reader, iris: Iterable[str]) -> list[Note]:
    """Return the notes about these nodes, oldest first."""
    wanted = set(iris)
    if len(wanted) > FEW:
        return [note for note in every(reader) if note["about"] in wanted]
    values = f"VALUES ?about {{ {' '.join(f'<{iri}>' for iri in sorted(wanted))} }}"
    return _read(reader, FACTS % (values, "")) if wanted else []


def add(reader: Reader, document: LineageDocument) -> None:
    """Add to a document the notes about its nodes and their runs, if there are any."""
    if next(iter(reader.rows("SELECT ?n { ?n provio:noteOn ?about } LIMIT 1")), None) is None:
        return
    nodes = document["nodes"]
    if found := of(reader, {iri for one in nodes for iri in (one["iri"], one.get("task"), one.get("run")) if iri}):
        document["notes"] = found


def every(reader: Reader, only: str = "") -> list[Note]:
    """Return all notes, oldest first; `only` is a SPARQL filter of their `?text`."""
    return _read(reader, FACTS % ("", only))


def of_runs(reader: Reader) -> dict[str, list[Note]]:
    """Return the notes about runs, by the id of the run."""
    found: dict[str, list[Note]] = {}
    for note in every(reader):
        if is_on_run(note):
            found.setdefault(local_name(note["about"]), []).append(note)
    return found


def is_on_run(note: Note) -> bool:
    """Return whether a note is about a run, and not about a Task or a version."""
    return is_run(note["about"])


def matches(text: str, glob: str) -> bool:
    """Return whether a text matches a pattern, without regard to case; a pattern without `*`, `?` and `[` may occur
    anywhere in the text."""
    lower, wanted = text.lower(), glob.lower()
    return fnmatchcase(lower, wanted) if set(wanted) & set("*?[") else wanted in lower


def line(note: Note) -> str:
    """Return a note as text: `2026-11-27 13:20:05 UTC ada: the detector was off`."""
    who = f" {note['user']}" if "user" in note else ""
    return f"{moment(note['time'])}{who}: {note['text']}"


def newest(found: Sequence[str]) -> tuple[Sequence[str], str]:
    """Return the newest of the notes on one thing, oldest first, and a text about the others; empty if there are
    none."""
    left = len(found) - MOST
    return found[-MOST:], f"and {plural(left, 'earlier note')}" if left > 0 else ""


def lines(found: Iterable[str], width: int | None, unicode: bool) -> list[str]:
    """Return the lines of notes as facts of a page: of the newest, on a terminal of `width` columns at most some of
    each note."""
    page = []
    shown, others = newest([*found])
    for text in shown:
        flat = printable(" ".join(text.split()), unicode)
        parts = [flat] if width is None else folded(flat, max(width - 9, 20), unicode, most=MOST_LINES)
        page += [f"{'' if place else 'note':8} {part}" for place, part in enumerate(parts)]
    return page + [f"{'':8} {others}"] * bool(others)


def _read(reader: Reader, query: str) -> list[Note]:
    found = []
    for iri, about, time, text, user in reader.table(query):
        note = Note(iri=iri, about=about, time=time, text=text)
        if user:
            note["user"] = unquote(local_name(user))
        found.append(note)
    return sorted(found, key=lambda note: (sortable(note["time"]), note["iri"]))
