"""The graph as a page: a lineage document goes in, one self-contained HTML page comes out.

`page` says what is shown of each node and edge, `layout` where it stands, `templates/` how it looks.
"""

from provio.view.page import render

__all__ = ["render"]
