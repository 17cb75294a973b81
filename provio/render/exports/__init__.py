"""Exports: one file a format; each has `TITLE` (a label) and `export(reader, graph)`, which returns the document's
bytes.

The folder is the registry: `formats()` finds what is in it.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Protocol, cast

from provio.store import Store


class Exporter(Protocol):
    """A module of this folder."""

    TITLE: str

    def export(self, reader: Store, graph: str | None) -> bytes:
        """Return one run's graph (an IRI), or everything, as a document."""


def formats() -> list[str]:
    """Return the names of the formats."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def exporter(name: str) -> Exporter:
    """Return the exporter of a format, one of `formats()`."""
    return cast(Exporter, import_module(f"{__name__}.{name}"))
