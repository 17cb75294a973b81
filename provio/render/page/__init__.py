"""A lineage document as one self-contained HTML page.

`lineage` makes the page from the lineage component in `templates/`, which draws; `compact` shrinks large documents.
"""

from provio.ask.document import LineageDocument


def render(document: LineageDocument, title: str, *, level: str = "file", most: int = 60) -> str:
    """Return one HTML page, to be written in UTF-8; it needs no network. `title` is plain text."""
    from provio.render.page import lineage

    return lineage.render(document, title, level=level, most=most)
