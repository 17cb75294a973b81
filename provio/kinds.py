"""Classes by the names that programs give: a general class and a kind in, the types that a node has out.

A kind is the local name of a class below the general one, of provio's or of the user's own, or the whole IRI of one;
any other has the general class alone, and stays as `provio:kind`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from provio.vocab import NS, local_name, provio, superclasses, vocabulary

TOP = NS + "Extensible"  # which says nothing


def types(general: str, kind: str) -> tuple[Sequence[str], bool]:
    """Return the IRIs of the classes of a node, the most specific first, and whether the kind is known by them.

    One of them alone implies what else the node is (`implied.classes`).
    """
    return _types(general, kind, len(vocabulary().parents))


@cache
def _types(general: str, kind: str, _known: int) -> tuple[Sequence[str], bool]:
    top = provio(general)
    found = next((iri for iri in sorted(_named(kind)) if iri == top or top in superclasses(iri)), None)
    lowest = found or top
    above = sorted(superclasses(lowest), key=lambda c: (-len(superclasses(c)), c))
    between = [iri for iri in above if iri == top or top in superclasses(iri)]
    if general == "DataObject":  # any other class below it stands alone
        between = between[: 0 if lowest.startswith(NS) else 1 + [iri.startswith(NS) for iri in between].index(True)]
    return [lowest, *between], found is not None or not kind


def _named(kind: str) -> list[str]:
    words = vocabulary()
    if kind in words.terms:
        return [words.terms[kind]]
    return [iri for iri in words.parents if kind and (iri == kind or local_name(iri) == kind)]
