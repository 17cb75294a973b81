"""The files of a crate: versions in; their ids, entities and copies out.

With data, a file is a part of the crate below `data/`. Otherwise a file that is still there has its `file://` URL. A
version that no longer exists (overwritten or removed) is described under a local id (`#file-…`). At the level of
folders one entity describes all data files of a folder; programs stay files.
"""

from __future__ import annotations

import hashlib
import mimetypes
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, quote_from_bytes

from provio.ask import run_uses
from provio.ask.target import current_version, current_versions
from provio.base.errors import ProvioError
from provio.base.text import plural
from provio.base.turtle import instant_text
from provio.base.vocab import NS, local_name
from provio.exchange.crate_json import Entity, moment, reference
from provio.exchange.hidden import Hidden
from provio.store import Reader

VERSION = re.compile(r".*/version/[^/]+/\d+\.\d+\.(\d+)\.(\d+)")
COMPRESSED = {"gzip": "application/gzip", "bzip2": "application/x-bzip2", "xz": "application/x-xz"}
OTHER = {"pipe": "a pipe", "socket": "a connection", "memory": "shared memory", "entity": "declared data"}
SAFE = "/-._~"
SHOWN = 10  # names in a message


@dataclass
class _File:
    """A version: its path, its place below the crate's folder if it is copied, and why it cannot be copied."""

    path: bytes
    place: str = ""
    problem: str = ""
    current: bool = False


class Files:
    """The data entities of a crate; with `folders`, of the folders of files."""

    def __init__(
        self, reader: Reader, project: Path, hide: Hidden, with_data: bool = False, folders: bool = False
    ) -> None:
        self.reader, self.project, self.hide = reader, os.fsencode(project), hide
        self.with_data, self.folders = with_data, folders
        self.inside: dict[str, list[str]] = {}  # the versions in each folder, by the id of the folder
        self.files: dict[str, _File] = {}
        self.ids: dict[str, str] = {}

    def load(self, data: Iterable[str], deleted: set[str], code: Iterable[str] = ()) -> None:
        """Look up the names of versions, and which of them their files still contain; other data get a local id. Of the
        `code` that ran, only that in the project belongs to the crate."""
        every = dict.fromkeys(data)
        names = run_uses.names(self.reader, dict.fromkeys(code))
        every |= dict.fromkeys(iri for iri in dict.fromkeys(code) if self._is_inside(_path(names, iri)))
        versions = [iri for iri in every if "/version/" in iri and "#" not in iri]
        bare = {iri: iri.partition("~")[0] for iri in versions}
        names = run_uses.names(self.reader, dict.fromkeys([*versions, *bare.values()]))
        for iri in versions:
            self.files[iri] = _File(_path(names, iri) or _path(names, bare[iri]))
        now = current_versions({one.path for one in self.files.values() if one.path})
        for iri, one in self.files.items():
            one.current = bool(one.path) and now[one.path] == iri
        if self.with_data:
            self._place(now, deleted)
        ran = frozenset(code)
        for iri in every:
            self.ids[iri] = self._id(iri)
            if self.folders and iri in self.files and iri not in ran:
                self.ids[iri] = self._folder_id(iri)
                self.inside.setdefault(self.ids[iri], []).append(iri)

    def _place(self, now: dict[bytes, str | None], deleted: set[str]) -> None:
        """Choose the place of each file in the crate; find those that should be there, but are missing or changed."""
        last: dict[bytes, str] = {}
        for iri, one in self.files.items():
            if "~" not in iri and (one.path not in last or _mtime(iri) > _mtime(last[one.path])):
                last[one.path] = iri
        for iri, one in self.files.items():
            if one.current:
                one.place = "data/" + self._below(one.path)
            elif last.get(one.path) == iri and iri not in deleted:
                one.problem = "has changed since" if now.get(one.path) else "is missing"

    def _below(self, path: bytes) -> str:
        """Return the place of a path: relative to the project, or below `outside`. A name that is not UTF-8, or that
        other systems do not accept, is percent-encoded."""
        shown = os.fsencode(self.hide.text("path", os.fsdecode(path)))
        name = path[len(self.project) + 1 :] if self._is_inside(path) else b"outside" + shown
        text = os.fsdecode(name)
        plain = text.isprintable() and not any(sign in text for sign in '\\:*?"<>|%')
        return self.hide.text("path", text if plain else quote_from_bytes(name, safe="/-._~ ,+=@()"))

    def _is_inside(self, path: bytes) -> bool:
        return path.startswith(self.project + b"/")

    def _id(self, iri: str) -> str:
        one = self.files.get(iri)
        if one and one.place:
            return quote(one.place, safe=SAFE)
        if one and one.current and not self.with_data:
            return "file://" + quote_from_bytes(os.fsencode(self.hide.text("path", os.fsdecode(one.path))), safe=SAFE)
        kind = "file" if one else "part" if "#" in iri else "data"
        return f"#{kind}-{hashlib.sha256(iri.encode('utf-8', 'surrogateescape')).hexdigest()[:24]}"

    def _folder_id(self, iri: str) -> str:
        place = self.ids[iri]
        if not place.startswith("#"):
            return place.rpartition("/")[0] + "/"
        folder = self.hide.text("cwd", os.fsdecode(self.files[iri].path.rpartition(b"/")[0]))
        return f"#folder-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:24]}"

    def problems(self) -> list[str]:
        """Return the files that cannot be copied, each with the reason."""
        return [f"{name(one.path)} {one.problem}" for one in self.files.values() if one.problem]

    def check(self) -> None:
        """Raise ProvioError if files cannot be copied."""
        found = self.problems()
        if found:
            more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
            raise ProvioError(
                f"no crate with data was written: {', '.join(found[:SHOWN])}{more}: make them again, use --as ro-crate "
                "without --with-data, or add --anyway to describe them without their content"
            )

    def title(self, iri: str) -> str:
        """Return the name of data for people: of a version: its place in the crate, otherwise its recorded path."""
        one = self.files.get(iri)
        if one is None:
            return _kind(iri)
        title = one.place or self.hide.text("path", name(one.path)) or "a file without a name"
        return title.rpartition("/")[0] + "/" if self.ids[iri] in self.inside else title

    def parts(self) -> list[str]:
        """Return the ids of the data entities, which the root lists as its parts."""
        return list(
            dict.fromkeys(self.ids[iri] for iri, one in self.files.items() if not self.ids[iri].startswith("#"))
        )

    def entities(self) -> Iterator[Entity]:
        """Yield the entity of each file, or folder, and of other data."""
        yield from (self._folder(place, versions) for place, versions in self.inside.items())
        for batch in run_uses.values("s", (iri for iri, place in self.ids.items() if place not in self.inside)):
            wanted = ", ".join(f"<{NS}{word}>" for word in ("sha256", "format", "path", "name", "kind"))
            query = f"SELECT ?s ?p ?o {{ {batch} ?s ?p ?o FILTER(?p IN ({wanted})) }}"
            facts: dict[str, dict[str, str]] = {iri: {} for iri in re.findall(r"<([^>]*)>", batch)}
            for iri, word, value in self.reader.table(query):
                facts[iri][local_name(word)] = value
            for iri, known in facts.items():
                yield self._file(iri, known) if iri in self.files else self._other(iri, known)

    def _file(self, iri: str, facts: dict[str, str]) -> Entity:
        one, found = self.files[iri], VERSION.match(iri)
        shown = self.hide.text("path", name(one.path))
        left = "" if not self.ids[iri].startswith("#") else "this content is not in the crate, only its description"
        return {
            "@id": self.ids[iri],
            "@type": "File",
            "name": shown.rpartition("/")[2] or "a file without a name",
            "description": "; ".join(filter(None, (shown and f"recorded as {shown}", left, one.problem))),
            "contentSize": found[2] if found else "",
            "dateModified": moment(instant_text(int(found[1]))) if found else "",
            "sha256": facts.get("sha256", ""),
            "encodingFormat": encoding(one.path, facts.get("format", "")),
            "identifier": self.hide.iri(iri),
        }

    def _folder(self, place: str, versions: list[str]) -> Entity:
        last = {self.files[iri].path: found for iri in versions if (found := VERSION.match(iri))}
        shown = self.title(versions[0])
        left = "" if not place.startswith("#") else "this content is not in the crate, only its description"
        size = f"{plural(len(last), 'recorded file')}, {sum(int(found[2]) for found in last.values())} bytes"
        return {
            "@id": place,
            "@type": "Dataset",
            "name": shown.rstrip("/").rpartition("/")[2] + "/",
            "description": "; ".join(filter(None, (f"{shown}: {size}", left))),
        }

    def _other(self, iri: str, facts: dict[str, str]) -> Entity:
        whole, _, inner = iri.partition("#")
        if inner:
            inside = facts.get("path") or inner
            return {
                "@id": self.ids[iri],
                "@type": "CreativeWork",
                "name": inside,
                "description": "an object inside a file",
                "isPartOf": reference(self.ids[whole]) if whole in self.ids else None,
                "identifier": self.hide.iri(iri),
            }
        what = _kind(iri)
        return {
            "@id": self.ids[iri],
            "@type": "CreativeWork",
            "name": facts.get("name") or what,
            "description": "data" if what == "data" else f"data of {what}, which no file contains",
            "identifier": self.hide.iri(iri),
        }

    def copy(self, folder: Path) -> None:
        """Copy the files into a folder; raises ProvioError if one changes before its copy is complete."""
        for iri, one in self.files.items():
            if one.place:
                target = folder / one.place
                target.parent.mkdir(parents=True, exist_ok=True)
                try:
                    shutil.copy2(one.path, os.fsencode(target))
                except OSError as error:
                    raise ProvioError(
                        f"cannot copy {name(one.path)} into the crate ({error.strerror}): make it readable, or leave "
                        "out --with-data"
                    ) from error
                if current_version(one.path) != iri:
                    raise ProvioError(
                        f"{name(one.path)} changed while it was copied: export again when no run writes it"
                    )


def name(path: bytes) -> str:
    """Return a path as text for a document; bytes that are not UTF-8 are percent-encoded."""
    try:
        return path.decode()
    except UnicodeDecodeError:
        return quote_from_bytes(path, safe="/-._~ ,+=@()")


def encoding(path: bytes, form: str = "") -> str:
    """Return the media type of a file by its name, or by the format that its program stated."""
    if form == "HDF5":
        return "application/x-hdf5"
    kind, packed = mimetypes.guess_type(os.fsdecode(path))
    return COMPRESSED.get(packed or "", kind or "application/octet-stream")


def _kind(iri: str) -> str:
    """Return the words for data that are no file."""
    found = re.search(r"/(pipe|socket|memory|entity)/", iri)
    return OTHER[found[1]] if found else "data"


def _mtime(iri: str) -> int:
    found = VERSION.match(iri)
    return int(found[1]) if found else 0


def _path(names: run_uses.Names, iri: str) -> bytes:
    """Return the last name of a version; otherwise the first of its files."""
    known = names.last.get(iri) or sorted(names.paths[file] for file in names.files.get(iri, ()))
    return run_uses.path_of(known[0]) if known else b""
