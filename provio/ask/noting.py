"""Adds and removes notes. In: the name of a run, Task or file, and a text. Out: a file in `.provio/notes`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from provio.ask import notes as ask_notes
from provio.ask import run_uses, things
from provio.ask.document import Note
from provio.ask.suggestions import relative
from provio.ask.things import Kind
from provio.base.errors import NotAllowed, NothingKnown, ProvioError
from provio.base.vocab import RUN_BASE, local_name
from provio.settings.home import Home
from provio.store import Store
from provio.trace import notes, run_source

if TYPE_CHECKING:
    from provio.settings.schema import Config


@dataclass(frozen=True)
class NoteTarget:
    """The target of a note: its IRI, the id of the run that keeps the note, and its title in messages."""

    iri: str
    run: str
    title: str


def target(reader: Store, name: str, kind: Kind | None = None) -> NoteTarget:
    """Return the run, Task, or version of a file that a name refers to; raises NothingKnown."""
    one = things.named(reader, name, kind)
    if one.run:
        return NoteTarget(RUN_BASE + one.run, one.run, f"run {one.run}")
    if one.task:
        return NoteTarget(one.task, run_uses.run_of(one.task), f"task {name}")
    if one.file is None:
        raise NothingKnown(f"no run, task or file {name!r} is recorded: provio runs lists the runs")
    if one.file.equal:
        raise NothingKnown(f"{name} is not recorded, {one.file.equal} has the same content: name that file")
    iri = one.file.iri
    title = relative(one.file.path) if one.file.path else iri
    run = _keeper(reader, iri)
    if not run:
        raise NothingKnown(f"no run knows {title}: name a run, a task, or a file that a run read or wrote")
    return NoteTarget(iri, run, f"{title} ({one.file.changed})" if one.file.changed else title)


def _keeper(reader: Store, iri: str) -> str:
    """Return the id of the newest run that made a version or, if there is none, of the newest that knows it."""
    query = f"SELECT ?a {{ <{iri}> prov:wasGeneratedBy ?a }}"
    made = {run_uses.run_of(row["a"]) for row in reader.rows(query)} - {""}
    if made:
        return max(made)
    whole = iri.partition("#")[0]
    found = run_uses.runs(reader, {iri, whole})
    return max((found.get(iri, set()) | found.get(whole, set())) - {""}, default="")


def of(reader: Store, one: NoteTarget) -> list[Note]:
    """Return the notes about a target, oldest first."""
    return ask_notes.of(reader, [one.iri])


def add(one: NoteTarget, text: bytes, home: Home, settings: Config) -> None:
    """Write a note; the next query has it. Raises ProvioError for an empty or too large text, NotAllowed if the record
    cannot be written, or the run belongs to another record."""
    if settings.stores and not run_source.exists(home.runs / one.run):
        raise NotAllowed(f"run {one.run} is not in {home.path}: add the note in the record that has the run")
    notes.write(home, one.run, one.iri, notes.cleaned(text), settings)


def remove(one: NoteTarget, note: Note, home: Home) -> None:
    """Delete the file of a note; the next `provio merge` removes its words from the store's tables."""
    path = notes.place(home, note["iri"])
    try:
        path.unlink()
        home.words_left.touch()
    except FileNotFoundError:
        known = local_name(note["iri"])
        raise NothingKnown(f"note {known} of {one.title} is not in {home.notes}: remove it in its own record") from None
    except OSError as error:
        raise ProvioError(f"cannot remove {path} ({error.strerror}): check its permissions") from error
