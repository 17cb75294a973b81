"""Queries for tests of programs that use HDF5: objects, bytes and ancestors, by readable names."""

from __future__ import annotations

import os
from urllib.parse import unquote

from conftest import Project

Moved = tuple[str, str, int, int]  # object, function, calls, bytes


def own_version(project: Project, file: str) -> str:
    """Return the IRI of a file's present version."""
    return str(project.lineage(file, "--depth", "1")["target"])


def held(project: Project, file: str) -> dict[str, str]:
    """The objects of a file as it is now, with their classes."""
    version = own_version(project, file)
    pattern = f"<{version}> prov:hadMember+ ?object . ?object a ?class FILTER (STRSTARTS(STR(?class), STR(provio:)))"
    rows = project.rows(f"SELECT DISTINCT ?object ?class {{ {pattern} }}")
    return {_name(row["object"]): row["class"].partition("#")[2] for row in rows}


def moved(project: Project, file: str, side: str) -> list[Moved]:
    """Who read (`Read`) or wrote (`Written`) how much of the objects of a file as it is now."""
    version = own_version(project, file)
    pattern = f"?object provio:was{side}By ?io . ?io provio:api ?api ; provio:count ?count ; provio:bytes ?bytes"
    chosen = f'{pattern} FILTER (STRSTARTS(STR(?object), "{version}#"))'
    rows = project.rows(f"SELECT ?object ?api ?count ?bytes {{ {chosen} }}")
    return sorted((_name(row["object"]), row["api"], int(row["count"]), int(row["bytes"])) for row in rows)


def ancestors(project: Project, target: str, *options: str) -> dict[str, set[str]]:
    """Return the sources of a target by kind of tie, with names relative to the project."""
    document = project.lineage(target, *options)
    found: dict[str, set[str]] = {"data": set(), "carried": set()}
    for node in document["nodes"]:
        if node["iri"] != document["target"] and "path" in node and "via" in node:
            found[node["via"]].add(os.path.relpath(node["path"], project.path))
    return found


def sources(project: Project, target: str) -> set[str]:
    """Return the sources of a target by data, one step back."""
    return ancestors(project, target, "--depth", "1", "--via", "data")["data"]


def _name(iri: str) -> str:
    return unquote(iri.partition("#")[2])
