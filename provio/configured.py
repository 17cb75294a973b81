"""What people call a version of a configuration: its IRI and a store in, its name, number and first settings out."""

from __future__ import annotations

from provio.identity import BASE
from provio.store import Reader

CONFIGURATION = BASE + "configuration/"
SHOWN = 9  # settings, of which one more is asked for than is shown
WIDTH = 80  # columns
SETTINGS = """SELECT DISTINCT ?name ?value { <%s> prov:hadMember ?s . ?s provio:name ?name ; provio:value ?value }
    ORDER BY ?name LIMIT %d"""


def called(name: str, version: object = None) -> str:
    """Return what to call a version of a configuration."""
    return ", ".join(filter(None, (name or "configuration", f"version {version}" if version else "")))


def told(reader: Reader, iri: str, title: str) -> str:
    """Return a title with the first settings of a configuration behind it, as much as a line holds."""
    rows = list(reader.rows(SETTINGS % (iri, SHOWN)))
    settings = [f"{row['name']} {row['value']}" for row in rows]
    text = f"{title}: {', '.join(settings[: SHOWN - 1])}" if settings else title
    text = " ".join(text.split())
    return text[: WIDTH - 2] + " …" if len(text) > WIDTH else text + " …" if len(rows) == SHOWN else text
