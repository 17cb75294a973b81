"""Qualified names: terms of N-Triples in, names with a prefix out, as PROV-JSON, PROV-N and PROV-JSONLD write them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from provio.base.vocab import NS, PROV, RDF, RDFS, RUN_BASE, XSD

BASE: Final = "https://w3id.org/provio/"
# Each IRI that a record contains starts with one of these; the first that fits is its prefix. In JSON-LD
# a prefix cannot be the scheme of its IRIs.
PREFIXES: Final = {
    "provio": NS, "run": RUN_BASE, "node": BASE, "file": "file://", "prov": PROV, "xsd": XSD, "rdf": RDF, "rdfs": RDFS,
    "https": "https://", "http": "http://", "urn": "urn:", "package": "pkg:",
}  # fmt: skip
_NODE = f"<{BASE}"
_START = len(_NODE)
_ESCAPED: Final = re.compile(r"[=',:;\[\]()]|^[-.]|\.$")
_REFUSED: Final = re.compile(r"[^\w/@~&+*?#$!%.\\=',\-:;\[\]()]")


def name(term: str) -> str:
    """Return the qualified name of an IRI; of another scheme, the IRI itself."""
    if term.startswith(_NODE):
        local = term[_START:-1]
        if local.startswith("run/"):
            return local.replace("/", ":", 1)
        return _other(term) if local.startswith("ns#") else "node:" + local
    return "file:" + term[8:-1] if term.startswith("<file://") else _other(term)


@lru_cache(maxsize=4096)
def _other(term: str) -> str:
    iri = term[1:-1]
    return next((f"{prefix}:{iri[len(start) :]}" for prefix, start in PREFIXES.items() if iri.startswith(start)), iri)


def escaped(qualified: str) -> str:
    """Return a qualified name as PROV-N writes it: characters that end a name have a backslash before them."""
    prefix, _, local = qualified.partition(":")
    if not _PLAIN.fullmatch(local):
        local = _REFUSED.sub(lambda match: quote(match[0]), local)
        local = _ESCAPED.sub(r"\\\g<0>", local)
    return f"{prefix}:{local}"


_PLAIN: Final = re.compile(r"[A-Za-z0-9_/](?:[A-Za-z0-9_/@~&+*?#$!%.-]*[A-Za-z0-9_/])?")


def literal(term: str) -> tuple[str, str, str]:
    """Return the quoted text of a literal, the qualified name of its datatype, and its language; both may be empty.
    The escapes of N-Triples are those of JSON and PROV-N, too."""
    if term.endswith('"'):
        return term, "", ""
    end = term.rindex('"') + 1
    return (term[:end], name(term[end + 2 :]), "") if term[end] == "^" else (term[:end], "", term[end + 1 :])
