"""What people call a version of a configuration: its IRI and a store in, its name, number and first settings out."""

from __future__ import annotations

from provio.identity import BASE
from provio.store import Reader

CONFIGURATION = BASE + "configuration/"
SHOWN = 8  # settings
ASKED = 200  # of them: a store takes long to put very many in order
WIDTH = 80  # columns
SETTINGS = """SELECT DISTINCT ?name ?value { <%s> prov:hadMember ?s . ?s provio:name ?name ; provio:value ?value }
    LIMIT %d"""


def called(name: str, version: object = None) -> str:
    """Return what to call a version of a configuration."""
    return ", ".join(filter(None, (name or "configuration", f"version {version}" if version else "")))


def told(reader: Reader, iri: str, title: str) -> str:
    """Return a title with the first settings of a configuration behind it, as much as a line holds."""
    settings = sorted(f"{row['name']} {row['value']}" for row in reader.rows(SETTINGS % (iri, ASKED)))
    text = f"{title}: {', '.join(settings[:SHOWN])}" if settings else title
    text = " ".join(text.split())
    return text[: WIDTH - 2] + " …" if len(text) > WIDTH else text + " …" if settings[SHOWN:] else text
