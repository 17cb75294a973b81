"""The graph as a page: a lineage document goes in, one self-contained HTML page comes out.

`page` makes it of the lineage component (`component`, `provio/render/page/templates/`), which draws; `packing` makes a
large document small, `shortened` a very large one.
"""

from provio.ask.document import LineageDocument


def render(document: LineageDocument, title: str, *, level: str = "file", most: int = 1500) -> str:
    """Return one HTML page, to be written in UTF-8; it needs no network. `title` is plain text."""
    from provio.render.page import lineage

    return lineage.render(document, title, level=level, most=most)
