"""Translates the paths of processes in another mount namespace, as in a container, to paths outside.

A path is resolved through the mounts inside to a file system and a folder in it, and then through the mounts of the run
to a path. If the folder is not mounted outside, the path stays.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from urllib.parse import quote, unquote_to_bytes

from provio.base.records import frozen
from provio.system import statx
from provio.system.statx import Record

PATHS = ("path", "from", "to", "executable", "cwd")
UNKNOWN = "its mounts are not known: files that it read and wrote may have other names outside"
DELETED = b"//deleted"  # ending of the root of a mount that was deleted
LIBRARIES = "0.shared-libraries."  # of the names of files with loaded libraries: they sort after those with mounts
PREFIX = "0.mounts."  # of the names of files with mount tables: they sort before thread files
CACHED = 4096  # folders with a known name outside


class MountTables:
    """The mount tables of a run, and the table of each process."""

    def __init__(self, mounts: Iterable[Record]) -> None:
        self.run = [_seen_outside(record) for record in mounts]
        self.tables: dict[str, Table] = {}
        self.of_process: dict[str, Table] = {}
        self.unknown: list[str] = []

    def takes(self, records: dict[str, Record], name: str, host: str) -> bool:
        """Take the tables of a file, or translate the paths of a thread file, given its name and host's folder; return
        whether the file had tables."""
        if name.startswith(PREFIX):
            self._add(records)
        elif not name.startswith(LIBRARIES):
            self._translate(records, name, host)
        else:
            for record in records.values():
                table = self.tables.get(f"{host}mounts/{record.get('mounts', '')}")
                if table and ("path" in record or "pathEncoded" in record):
                    _renamed(record, "path", table)
        return name.startswith(PREFIX)

    def _add(self, records: dict[str, Record]) -> None:
        for iri, record in records.items():
            text = record.get("table", "").encode("utf-8", "surrogateescape")
            known = text or unquote_to_bytes(record.get("tableEncoded", ""))
            if record.get("a") == "MountTable" and known:
                self.tables[iri] = Table(statx.parsed(known), self.run)

    def roots(self) -> set[bytes]:
        """Return the folders outside that are a root inside: of images."""
        return {table.outside(b"/") for table in self.of_process.values()} - {b"/"}

    def devices(self) -> set[str]:
        """Return the devices of roots that are not mounted outside: of images."""
        tables = self.of_process.values()
        return {table.root.device for table in tables if table.root and table.root.device not in table.run}

    def gaps(self) -> Iterator[tuple[str, str, str]]:
        """Yield a gap (IRI, process image, reason) for each process image with unknown mounts."""
        for image in self.unknown:
            yield image + "mounts-unknown", image, UNKNOWN

    def _translate(self, records: dict[str, Record], name: str, host: str) -> None:
        image = f"{host}{'.'.join(name.split('.')[:3])}/"
        number = records.get(image, {}).get("mounts")
        if number:
            known = self.tables.get(f"{host}mounts/{number}")
            if known:
                self.of_process[image] = known
            else:
                self.unknown.append(image)
        table = self.of_process.get(image)
        if table is None:
            return
        for record in records.values():
            for word in PATHS:
                if word in record or word + "Encoded" in record:
                    _renamed(record, word, table)


@frozen
class _Outside:
    """A mount as the run saw it."""

    device: str
    root: bytes
    point: bytes


def _seen_outside(record: Record) -> _Outside:
    root, point = (record.get(name, "/").encode("utf-8", "surrogateescape") for name in ("root", "mountPoint"))
    return _Outside(record.get("device", ""), root.rstrip(b"/"), point.rstrip(b"/"))


class Table:
    """One mount table; `outside` translates a path."""

    def __init__(self, mounts: list[statx.Mount], run: list[_Outside]) -> None:
        self.mounts = {mount.id: mount for mount in mounts}
        self.below: dict[tuple[int, bytes], statx.Mount] = {}
        for mount in mounts:
            self.below[mount.parent, mount.point] = mount
        self.root = next((mount for mount in mounts if mount.parent not in self.mounts or mount.point == b"/"), None)
        self.run: dict[str, list[_Outside]] = {}
        for seen in run:
            self.run.setdefault(seen.device, []).append(seen)
        self.points = {mount.point for mount in mounts}
        self.folders: dict[bytes, bytes] = {}

    def outside(self, path: bytes) -> bytes:
        """Return the name of an absolute path outside; the same path if it is not mounted there."""
        if not path.startswith(b"/"):
            return path
        if path in self.points or path == b"/":
            return self._folder(path)
        folder, _, name = path.rpartition(b"/")
        return self._folder(folder or b"/").rstrip(b"/") + b"/" + name

    def _folder(self, folder: bytes) -> bytes:
        known = self.folders.get(folder)
        if known is None:
            if len(self.folders) >= CACHED:
                self.folders.clear()
            known = self.folders[folder] = self._found(os.path.normpath(folder)) or folder
        return known

    def _found(self, folder: bytes) -> bytes | None:
        mount = self._mount_of(folder)
        if mount is None or mount.root.endswith(DELETED):
            return None
        inside = (mount.root.rstrip(b"/") + b"/" + folder[len(mount.point) :].lstrip(b"/")).rstrip(b"/")
        names = [
            (seen.point + inside[len(seen.root) :]) or b"/"
            for seen in self.run.get(mount.device, ())
            if inside == seen.root or inside.startswith(seen.root + b"/")
        ]
        return folder if folder in names else min(names, key=len, default=None)

    def _mount_of(self, folder: bytes) -> statx.Mount | None:
        """Return the mount of a folder: from the root on, at each step the last mount at that point."""
        mount = self.root
        parts = [part for part in folder.split(b"/") if part]
        for depth in range(len(parts) + 1):
            point = b"/" + b"/".join(parts[:depth])
            for _ in self.mounts:  # a hostile table may have cycles
                over = mount and self.below.get((mount.id, point))
                if not over:
                    break
                mount = over
        return mount


def _renamed(record: Record, word: str, table: Table) -> None:
    text = record.pop(word, None)
    encoded = record.pop(word + "Encoded", "")
    path = text.encode("utf-8", "surrogateescape") if text is not None else unquote_to_bytes(encoded)
    path = table.outside(path)
    try:
        record[word] = path.decode()
    except UnicodeDecodeError:
        record[word + "Encoded"] = quote(path)
