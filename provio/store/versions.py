"""An index of the versions of each inode that a record's runs know, in time order; it returns the neighbours of a
version.

It indexes the content of the runs' lists (`statements`). It is an SQLite file next to them, and is built again from
the lists if it does not match them. With it, a merge searches for conclusions from several runs only at the
neighbours of each version, however many versions the inode has.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from provio.base.records import pattern
from provio.lineage.identity import VERSION

NOTE = pattern(rb"(?m)([^>\n]*)> (-?\d*)$")
TABLES = """
    CREATE TABLE IF NOT EXISTS lists (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
    CREATE TABLE IF NOT EXISTS domains (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
    CREATE TABLE IF NOT EXISTS versions (
        domain INTEGER, inode, modified, rest, list INTEGER, begun,
        PRIMARY KEY (domain, inode, modified, rest, list)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS of_list ON versions (list);
"""
NUMBERS = 1 << 63  # SQLite's limit for integers; a larger number is stored as a text, which sorts after all numbers
# The versions at which conclusions from a list together with other lists are possible: those without a writer in the
# list's run that are not the inode's only version; those with one, if another list has a version modified between
# `since` (the earliest start of a writer of the version in any run) and the version's own time; versions without a
# writer that were modified in that interval, and the versions with writers that had started by then; later versions, if
# one of their writers may have started before the list's version was modified; the next later version, if it has no
# writer; and versions without a writer and with an earlier time (or an equal one and another size) of later runs: their
# times may have been set back.
NEIGHBOURS = """
    WITH own AS (SELECT * FROM versions WHERE list = ?),
    made AS (SELECT own.*, (
        SELECT min(w.begun) FROM versions w WHERE w.domain = own.domain AND w.inode = own.inode
        AND w.modified = own.modified AND w.rest = own.rest) AS since FROM own WHERE own.begun IS NOT NULL)
    SELECT domain, inode, modified, rest FROM own WHERE begun IS NULL AND (
        EXISTS (SELECT 1 FROM versions o WHERE o.domain = own.domain AND o.inode = own.inode
            AND o.modified < own.modified)
        OR EXISTS (SELECT 1 FROM versions o WHERE o.domain = own.domain AND o.inode = own.inode
            AND o.modified > own.modified)
        OR EXISTS (SELECT 1 FROM versions o WHERE o.domain = own.domain AND o.inode = own.inode
            AND o.modified = own.modified AND o.rest != own.rest))
    UNION SELECT domain, inode, modified, rest FROM made WHERE EXISTS (
        SELECT 1 FROM versions o WHERE o.domain = made.domain AND o.inode = made.inode
        AND o.modified > made.since AND o.modified < made.modified AND o.list != made.list)
    UNION SELECT o.domain, o.inode, o.modified, o.rest FROM made JOIN versions o
        ON o.domain = made.domain AND o.inode = made.inode AND o.modified > made.since AND o.modified < made.modified
        WHERE o.begun IS NULL
    UNION SELECT o.domain, o.inode, o.modified, o.rest FROM own JOIN lists mine ON mine.id = own.list
        JOIN versions o ON o.domain = own.domain AND o.inode = own.inode AND o.modified <= own.modified
        JOIN lists later ON later.id = o.list AND later.name > mine.name
        WHERE o.begun IS NULL AND (o.modified < own.modified OR o.rest != own.rest)
    UNION SELECT w.domain, w.inode, w.modified, w.rest FROM made JOIN versions o
        ON o.domain = made.domain AND o.inode = made.inode AND o.modified > made.since AND o.modified < made.modified
        JOIN versions w
        ON w.domain = o.domain AND w.inode = o.inode AND w.modified > o.modified AND w.begun <= o.modified
        WHERE o.begun IS NULL
    UNION SELECT o.domain, o.inode, o.modified, o.rest FROM own JOIN versions o
        ON o.domain = own.domain AND o.inode = own.inode AND o.modified > own.modified
        WHERE (o.begun < own.modified AND (o.list != own.list OR own.begun IS NULL))
        OR (o.begun IS NULL AND NOT EXISTS (
            SELECT 1 FROM versions n WHERE n.domain = o.domain AND n.inode = o.inode
            AND n.modified > own.modified AND n.modified < o.modified))
"""
ELSEWHERE = """SELECT domain, inode, modified, rest FROM versions own WHERE list = ? AND EXISTS (
    SELECT 1 FROM versions o WHERE o.domain = own.domain AND o.inode = own.inode
    AND o.modified = own.modified AND o.rest = own.rest AND o.list != own.list)"""
UNMADE = """SELECT domain, inode, modified, rest FROM versions WHERE list = ? AND begun IS NULL
    AND max(modified, CAST(substr(inode, instr(inode, '.') + 1) AS INTEGER)) BETWEEN ? AND ?"""
ADDED = """INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET begun = coalesce(min(begun, excluded.begun), begun, excluded.begun)"""
Row = tuple[int, str, int | str, str]


class Versions:
    """The index; changes take effect at `commit`. Raises OSError if the file cannot be written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with _refused(path):
                self._open()
        except sqlite3.DatabaseError:  # damaged: built again from the lists
            path.unlink()
            self._open()

    def _open(self) -> None:
        self.tables = sqlite3.connect(self.path, isolation_level=None)
        self.tables.execute("PRAGMA cache_size = -32000")
        self.tables.execute("PRAGMA secure_delete = ON")  # a removed run leaves no traces in the file
        self.tables.executescript(TABLES)
        self.tables.execute("BEGIN")
        self.ids: dict[str, int] = dict(self.tables.execute("SELECT name, id FROM lists"))
        self.domains: dict[str, int] = dict(self.tables.execute("SELECT name, id FROM domains"))
        self.prefixes = {number: name for name, number in self.domains.items()}

    def commit(self) -> None:
        """Save the changes."""
        with _refused(self.path):
            self.tables.execute("COMMIT")
            self.tables.execute("BEGIN")

    def close(self) -> None:
        """Close the index; changes since the last commit are discarded."""
        self.tables.close()

    def add(self, name: str, notes: Iterable[tuple[str, int | None]]) -> None:
        """Add versions to a list: the IRI of each, and the earliest moment at which its writer in the list's run may
        have started (ns since 1970), None where the run has no writer of it."""
        with _refused(self.path):
            if name not in self.ids:
                self.ids[name] = self._new("INSERT INTO lists (name) VALUES (?) RETURNING id", name)
            known = ((iri, begun) for iri, begun in notes if VERSION.match(iri))
            rows = [(*self._row(iri), self.ids[name], _fit(begun)) for iri, begun in known]
            rows.sort(key=lambda row: row[:2])
            self.tables.executemany(ADDED, rows)

    def _new(self, statement: str, name: str) -> int:
        return int(self.tables.execute(statement, (name,)).fetchone()[0])

    def drop(self, name: str) -> None:
        """Remove a list."""
        number = self.ids.pop(name, None)
        with _refused(self.path):
            self.tables.execute("DELETE FROM versions WHERE list = ?", (number,))
            self.tables.execute("DELETE FROM lists WHERE id = ?", (number,))

    def rename(self, name: str, new: str) -> None:
        """Rename a list."""
        if name in self.ids:
            self.ids[new] = self.ids.pop(name)
            with _refused(self.path):
                self.tables.execute("UPDATE lists SET name = ? WHERE id = ?", (new, self.ids[new]))

    def of(self, name: str) -> Iterator[str]:
        """Yield the versions of a list, and the contributions to versions."""
        yield from self._iris("SELECT domain, inode, modified, rest FROM versions WHERE list = ?", self.ids.get(name))

    def neighbours(self, name: str) -> Iterator[str]:
        """Yield the versions at which conclusions from a list together with other lists are possible."""
        yield from self._iris(NEIGHBOURS, self.ids.get(name))

    def elsewhere(self, name: str) -> Iterator[str]:
        """Yield the versions of a list that another list contains too."""
        yield from self._iris(ELSEWHERE, self.ids.get(name))

    def unmade(self, name: str, first: int, last: int) -> Iterator[str]:
        """Yield the versions of a list without a writer in its run that were modified, or if that is later, whose inode
        was made, from `first` to `last` (ns since 1970)."""
        yield from self._iris(UNMADE, self.ids.get(name), _fit(first), _fit(last))

    def is_known(self, version: str) -> bool:
        """Return whether any list contains a version."""
        query = "SELECT 1 FROM versions WHERE domain = ? AND inode = ? AND modified = ? AND rest = ?"
        return self.tables.execute(query, self._row(version)).fetchone() is not None

    def is_contributed(self, version: str) -> bool:
        """Return whether any contribution to a version is known."""
        *place, rest = self._row(version)
        query = "SELECT 1 FROM versions WHERE domain = ? AND inode = ? AND modified = ? AND rest > ? AND rest < ?"
        return self.tables.execute(query, (*place, f"{rest}~", f"{rest}\x7f")).fetchone() is not None

    def earlier(self, version: str) -> Iterator[str]:
        """Yield the versions of the inode with an earlier modification time, the latest first."""
        query = """SELECT DISTINCT domain, inode, modified, rest FROM versions
            WHERE domain = ? AND inode = ? AND modified < ? AND instr(rest, '~') = 0
            ORDER BY modified DESC"""
        for domain, inode, modified, rest in self.tables.execute(query, self._row(version)[:3]):
            yield f"{self.prefixes[domain]}/{inode}.{modified}{rest}"

    def not_earlier(self, version: str) -> Iterator[str]:
        """Yield the other versions of the inode with the same or a later modification time, the latest first, if they
        are in a list that is no later than one that contains this version (the names of lists are in time order)."""
        query = """SELECT DISTINCT o.domain, o.inode, o.modified, o.rest FROM versions o JOIN lists ON id = o.list
            WHERE o.domain = ?1 AND o.inode = ?2 AND instr(o.rest, '~') = 0
            AND (o.modified > ?3 OR (o.modified = ?3 AND o.rest != ?4))
            AND name <= (SELECT max(name) FROM versions v JOIN lists ON id = v.list
                WHERE v.domain = ?1 AND v.inode = ?2 AND v.modified = ?3 AND v.rest = ?4)
            ORDER BY o.modified DESC, o.rest"""
        yield from self._iris(query, *self._row(version))

    def writer_start(self, version: str) -> int:
        """Return the earliest moment (ns) at which a writer of a version may have started; for a version without a
        writer, its modification time."""
        query = """SELECT min(coalesce(begun, modified)) FROM versions
            WHERE domain = ? AND inode = ? AND modified = ? AND rest = ?"""
        return int(self.tables.execute(query, self._row(version)).fetchone()[0])

    def between(self, version: str, since: int) -> list[str]:
        """Return the versions of the inode that were modified after `since` (ns) and before this version."""
        domain, inode, modified, _ = self._row(version)
        query = """SELECT DISTINCT domain, inode, modified, rest FROM versions
            WHERE domain = ? AND inode = ? AND modified > ? AND modified < ? AND instr(rest, '~') = 0"""
        return list(self._iris(query, domain, inode, _fit(since), modified))

    def reaching(self, version: str) -> list[str]:
        """Return the later versions of the inode that may have a writer that started by the modification time of this
        version."""
        domain, inode, modified, _ = self._row(version)
        query = """SELECT DISTINCT domain, inode, modified, rest FROM versions
            WHERE domain = ? AND inode = ? AND modified > ? AND begun <= ? AND instr(rest, '~') = 0"""
        return list(self._iris(query, domain, inode, modified, modified))

    def _row(self, iri: str) -> Row:
        found = VERSION.match(iri)
        if found is None:
            raise ValueError(f"{iri} is no version")
        domain = found["domain"]
        if domain not in self.domains:
            self.domains[domain] = self._new("INSERT INTO domains (name) VALUES (?) RETURNING id", domain)
            self.prefixes[self.domains[domain]] = domain
        modified = _fit(int(found["mtime"]))
        return self.domains[domain], found["of"], modified or 0, found["rest"] + (found["part"] or "")

    def _iris(self, query: str, *values: int | str | None) -> Iterator[str]:
        for domain, inode, modified, rest in self.tables.execute(query, values).fetchall():
            yield f"{self.prefixes[domain]}/{inode}.{modified}{rest}"


def notes_in(data: bytes) -> Iterator[tuple[str, int | None]]:
    """Yield the versions that the lines of a graph or of a list record (`graph.lines.Graph.version`), in the form
    that `add` takes."""
    for noted in (b"\n" + data).split(b"\n#version <")[1:]:
        note = NOTE.match(noted)
        if note:
            yield note[1].decode(), int(note[2]) if note[2] else None


def _fit(number: int | None) -> int | str | None:
    return number if number is None or -NUMBERS <= number < NUMBERS else str(number)


@contextlib.contextmanager
def _refused(path: Path) -> Iterator[None]:
    """Convert an SQLite write error to an OSError, with the system's message if the disk is full: removals recognise
    that message."""
    try:
        yield
    except sqlite3.OperationalError as error:
        full = error.sqlite_errorcode == sqlite3.SQLITE_FULL
        raise OSError(f"cannot write {path}: {os.strerror(errno.ENOSPC) if full else error}") from error
