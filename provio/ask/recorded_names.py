"""The names of recorded versions, for many files at once. In: a store and paths. Out: paths, and versions by path."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import unquote_to_bytes

from provio.ask.walk import batches
from provio.base.turtle import literal, path_iri
from provio.lineage.identity import earliest
from provio.store import Reader


def paths_below(reader: Reader, folders: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the recorded paths below some folders, those of programs too."""
    for folder in folders:
        above = folder.rstrip(b"/") + b"/"
        start = literal(os.fsdecode(above).encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
        for (path,) in reader.table(f"SELECT DISTINCT ?p {{ ?f provio:path ?p FILTER(STRSTARTS(?p, {start})) }}"):
            yield path.encode("utf-8", "surrogateescape")
        start = literal(path_iri(above))
        query = f"SELECT DISTINCT ?p {{ ?f provio:pathEncoded ?p FILTER(STRSTARTS(?p, {start})) }}"
        yield from (unquote_to_bytes(path) for (path,) in reader.table(query))


def last_versions(reader: Reader, paths: Iterable[bytes], counts: Callable[[str], bool]) -> dict[bytes, str]:
    """Return the newest version that `counts` at each path."""
    found: dict[bytes, str] = {}
    encoded = {path for path in paths if not _is_text(path)}
    for word, names in (("path", sorted({*paths} - encoded)), ("pathEncoded", sorted(encoded))):
        for batch in batches([_name(path, word) for path in names]):
            query = f"""SELECT ?p ?v {{ VALUES ?p {{ {" ".join(map(literal, batch))} }} ?f provio:{word} ?p .
                ?v prov:specializationOf ?f }}"""
            for text, version in reader.table(query):
                path = text.encode() if word == "path" else unquote_to_bytes(text)
                if "~" in version or not counts(version):
                    continue
                if path not in found or earliest(found[path]) < earliest(version):
                    found[path] = version
    return found


def remaining_names(reader: Reader, versions: dict[bytes, str]) -> dict[str, list[bytes]]:
    """Return the last names of the versions that had several."""
    found: dict[str, list[bytes]] = {}
    for batch in batches(sorted(set(versions.values()))):
        values = " ".join(f"<{iri}>" for iri in batch)
        for word in ("path", "pathEncoded"):
            for version, text in reader.table(f"SELECT ?v ?p {{ VALUES ?v {{ {values} }} ?v provio:{word} ?p }}"):
                found.setdefault(version, []).append(text.encode() if word == "path" else unquote_to_bytes(text))
    return found


def _is_text(path: bytes) -> bool:
    try:
        path.decode()
    except UnicodeDecodeError:
        return False
    return True


def _name(path: bytes, word: str) -> str:
    return path.decode() if word == "path" else path_iri(path)
