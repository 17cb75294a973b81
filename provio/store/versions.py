"""Which versions of each inode the runs of a record know, in the order of time: the runs' versions in, neighbours out.

It is an index of what the runs' lists say (`statements`), a file of SQLite beside them, and is made again of the lists
where it does not fit them. So what follows from several runs is looked for at the neighbours of each version alone,
however many versions of its inode there are.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from provio.base.patterns import pattern
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
NUMBERS = (
    1 << 63
)  # what SQLite keeps as a number is less; a larger one it keeps as a text, which comes after all numbers
# The versions of which something may follow from a list's and others: those that nobody in its run made and that are
# not the only ones; those that it made (`since`: when any run's writer of these may have begun) and that others precede
# since then; those that nobody made, and that were modified since then; later ones whose writers may have begun before,
# or that come next and that nobody made.
NEIGHBOURS = """
    WITH own AS (SELECT * FROM versions WHERE list = ?),
    made AS (SELECT own.*, (
        SELECT min(w.begun) FROM versions w WHERE w.domain = own.domain AND w.inode = own.inode
        AND w.modified = own.modified AND w.rest = own.rest) AS since FROM own WHERE own.begun IS NOT NULL)
    SELECT domain, inode, modified, rest FROM own WHERE begun IS NULL AND (
        EXISTS (SELECT 1 FROM versions o WHERE o.domain = own.domain AND o.inode = own.inode
            AND o.modified < own.modified)
        OR EXISTS (SELECT 1 FROM versions o WHERE o.domain = own.domain AND o.inode = own.inode
            AND o.modified > own.modified))
    UNION SELECT domain, inode, modified, rest FROM made WHERE EXISTS (
        SELECT 1 FROM versions o WHERE o.domain = made.domain AND o.inode = made.inode
        AND o.modified > made.since AND o.modified < made.modified AND o.list != made.list)
    UNION SELECT o.domain, o.inode, o.modified, o.rest FROM made JOIN versions o
        ON o.domain = made.domain AND o.inode = made.inode AND o.modified > made.since AND o.modified < made.modified
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
UNMADE = """SELECT domain, inode, modified, rest FROM versions
    WHERE list = ? AND begun IS NULL AND modified BETWEEN ? AND ?"""
ADDED = """INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET begun = coalesce(min(begun, excluded.begun), begun, excluded.begun)"""
Row = tuple[int, str, int | str, str]


class Versions:
    """The index; what is changed in it counts from `commit` on. Raises OSError where it cannot be written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with _refused(path):
                self._open()
        except sqlite3.DatabaseError:  # it is damaged, and made again of the lists
            path.unlink()
            self._open()

    def _open(self) -> None:
        self.tables = sqlite3.connect(self.path, isolation_level=None)
        self.tables.execute("PRAGMA cache_size = -32000")
        self.tables.execute("PRAGMA secure_delete = ON")  # nothing is left of a run that is removed
        self.tables.executescript(TABLES)
        self.tables.execute("BEGIN")
        self.ids: dict[str, int] = dict(self.tables.execute("SELECT name, id FROM lists"))
        self.domains: dict[str, int] = dict(self.tables.execute("SELECT name, id FROM domains"))
        self.prefixes = {number: name for name, number in self.domains.items()}

    def commit(self) -> None:
        """Keep what was changed."""
        with _refused(self.path):
            self.tables.execute("COMMIT")
            self.tables.execute("BEGIN")

    def close(self) -> None:
        """Let go of the index, as it was last kept."""
        self.tables.close()

    def add(self, name: str, notes: Iterable[tuple[str, int | None]]) -> None:
        """Add versions to a list: the IRI of each, and when a writer in the list's run may have begun to make it (ns
        since 1970), None where nobody there made it."""
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
        """Take a list out."""
        number = self.ids.pop(name, None)
        with _refused(self.path):
            self.tables.execute("DELETE FROM versions WHERE list = ?", (number,))
            self.tables.execute("DELETE FROM lists WHERE id = ?", (number,))

    def rename(self, name: str, new: str) -> None:
        """Give a list another name."""
        if name in self.ids:
            self.ids[new] = self.ids.pop(name)
            with _refused(self.path):
                self.tables.execute("UPDATE lists SET name = ? WHERE id = ?", (new, self.ids[new]))

    def of(self, name: str) -> Iterator[str]:
        """Yield the versions of a list, and what was contributed to such."""
        yield from self._iris("SELECT domain, inode, modified, rest FROM versions WHERE list = ?", self.ids.get(name))

    def neighbours(self, name: str) -> Iterator[str]:
        """Yield the versions of which something may follow from a list's and others together."""
        yield from self._iris(NEIGHBOURS, self.ids.get(name))

    def elsewhere(self, name: str) -> Iterator[str]:
        """Yield the versions of a list that another has, too."""
        yield from self._iris(ELSEWHERE, self.ids.get(name))

    def unmade(self, name: str, first: int, last: int) -> Iterator[str]:
        """Yield the versions of a list that nobody in its run made, modified between two moments."""
        yield from self._iris(UNMADE, self.ids.get(name), _fit(first), _fit(last))

    def is_known(self, version: str) -> bool:
        """Tell whether any list has a version."""
        query = "SELECT 1 FROM versions WHERE domain = ? AND inode = ? AND modified = ? AND rest = ?"
        return self.tables.execute(query, self._row(version)).fetchone() is not None

    def is_contributed(self, version: str) -> bool:
        """Tell whether anything was contributed to a version."""
        *place, rest = self._row(version)
        query = "SELECT 1 FROM versions WHERE domain = ? AND inode = ? AND modified = ? AND rest > ? AND rest < ?"
        return self.tables.execute(query, (*place, f"{rest}~", f"{rest}\x7f")).fetchone() is not None

    def before(self, version: str) -> int | None:
        """Return when the last version of the inode before one was modified; None where it is the first."""
        query = """SELECT modified FROM versions
            WHERE domain = ? AND inode = ? AND modified < ? AND instr(rest, '~') = 0
            ORDER BY modified DESC LIMIT 1"""
        found = self.tables.execute(query, self._row(version)[:3]).fetchone()
        return int(found[0]) if found else None

    def begun(self, version: str) -> int:
        """Return when a writer of a version may have begun, at the earliest; of one that nobody made, its own time."""
        query = """SELECT min(coalesce(begun, modified)) FROM versions
            WHERE domain = ? AND inode = ? AND modified = ? AND rest = ?"""
        return int(self.tables.execute(query, self._row(version)).fetchone()[0])

    def between(self, version: str, since: int) -> list[str]:
        """Return the versions of the inode that were modified after a moment, and before one of them."""
        domain, inode, modified, _ = self._row(version)
        query = """SELECT DISTINCT domain, inode, modified, rest FROM versions
            WHERE domain = ? AND inode = ? AND modified > ? AND modified < ? AND instr(rest, '~') = 0"""
        return list(self._iris(query, domain, inode, _fit(since), modified))

    def reaching(self, version: str) -> list[str]:
        """Return the later versions of the inode whose writers may have begun by the time when one was modified."""
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
    """Yield the versions that lines of a graph or of a list note (`graph_lines.Graph.version`), as `add` takes them."""
    for noted in (b"\n" + data).split(b"\n#version <")[1:]:
        note = NOTE.match(noted)
        if note:
            yield note[1].decode(), int(note[2]) if note[2] else None


def _fit(number: int | None) -> int | str | None:
    return number if number is None or -NUMBERS <= number < NUMBERS else str(number)


@contextlib.contextmanager
def _refused(path: Path) -> Iterator[None]:
    """Say of what SQLite cannot write that the disk refuses it; in the system's words where it is full, by which a
    removal knows."""
    try:
        yield
    except sqlite3.OperationalError as error:
        full = error.sqlite_errorcode == sqlite3.SQLITE_FULL
        raise OSError(f"cannot write {path}: {os.strerror(errno.ENOSPC) if full else error}") from error
