"""The file `ro-crate-metadata.json`: entities in, one after another; a flat JSON-LD document out."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TextIO

NAME = "ro-crate-metadata.json"
CONTEXT = ["https://w3id.org/ro/crate/1.1/context", "https://w3id.org/ro/terms/workflow-run/context"]

Entity = dict[str, Any]


def reference(iri: str) -> Entity:
    """Return a reference to an entity."""
    return {"@id": iri}


def references(iris: Iterable[str]) -> list[Entity]:
    """Return references to entities, each once."""
    return [{"@id": iri} for iri in dict.fromkeys(iris)]


class Graph:
    """A document that is open for writing: each entity is written at once, and is not kept."""

    def __init__(self, file: TextIO) -> None:
        self.file = file
        self.known: set[str] = set()
        file.write(f'{{"@context": {json.dumps(CONTEXT)},\n"@graph": [\n')

    def add(self, entity: Entity) -> str:
        """Write an entity, unless one with its id is written, and return the id. Empty values are left out, and a list
        with one value becomes the value."""
        iri: str = entity["@id"]
        if iri not in self.known:
            self.file.write(",\n" if self.known else "")
            self.known.add(iri)
            json.dump({key: value for key, value in map(_compact, entity.items()) if value is not None}, self.file,
                      ensure_ascii=False)  # fmt: skip
        return iri

    def close(self) -> None:
        """Write the end."""
        self.file.write("\n]}\n")


def _compact(pair: tuple[str, Any]) -> tuple[str, Any]:
    key, value = pair
    if isinstance(value, list):
        value = value[0] if len(value) == 1 else value or None
    return key, None if value == "" else value


def moment(time: str) -> str:
    """Return a time of the record (xsd:dateTime in UTC) with milliseconds and offset, as the profiles want it."""
    if not time:
        return ""
    whole, _, fraction = time.removesuffix("Z").partition(".")
    return f"{whole}.{fraction[:3]:0<3}+00:00"
