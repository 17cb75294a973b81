"""The container images that activities used, as packages. In: a store, and a pattern for the activities. Out: packages.

An image of a registry has the package URL `pkg:oci/NAME@DIGEST`, without a digest `pkg:docker/NAME@TAG`. A file or a
folder is `pkg:generic/NAME`, with the SHA-256 of a file as its checksum: it is no digest of a registry.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from provio.store import Reader
from provio.system.packages import Package

DIGEST = "sha256:"


def used(reader: Reader, chosen: str) -> Iterator[tuple[Package, str]]:
    """Yield the image of activities (`?a` in a pattern) as a package, and its path, or empty."""
    query = f"""SELECT DISTINCT ?i ?name ?path ?digest {{ {chosen} ?a prov:used ?i . ?i a provio:Image
        OPTIONAL {{ ?i provio:name ?name }} OPTIONAL {{ ?i provio:path ?path }}
        OPTIONAL {{ ?i provio:digest ?digest }} }}"""
    for row in reader.rows(query):
        path = row.get("path", "")
        yield package(row.get("name", ""), path, row.get("digest", "")), path


def package(name: str, path: str = "", digest: str = "") -> Package:
    """Return the package of an image by its name or its path, and its digest."""
    if path:
        return Package("generic", os.path.basename(path), "", "", (("checksum", digest),) if digest else ())
    reference = name.partition("://")[2] or name
    place, _, stated = reference.partition("@")
    folder, _, last = place.rpartition("/")
    base, _, tag = last.partition(":")
    digest = stated or digest
    if digest.startswith(DIGEST):
        named = (("repository_url", f"{folder}/{base}"),) if folder else ()
        return Package("oci", base.lower(), digest, "", (*named, *((("tag", tag),) if tag else ())))
    named = (("repository_url", folder),) if folder else ()
    return Package("docker", base or "image", tag, "", named)
