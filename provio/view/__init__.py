"""The graph as a page: a lineage document goes in, one self-contained HTML page comes out.

`page` says what is shown of each node and edge, `layout` where it stands, `templates/` how it looks.
"""

from provio.document import LineageDocument


def render(document: LineageDocument, title: str) -> str:
    """Return one HTML page, to be written in UTF-8; it needs no network. `title` is plain text."""
    from provio.view import page

    return page.render(document, title)
