"""What a page would fetch: HTML in, a ProvioError out where a browser would ask the network for anything."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from provio.errors import ProvioError

_FETCHING = re.compile(
    r"@import|url\(\s*['\"]?(?!data:|#|['\"])|\bimport\s*\(|\bfetch\s*\(|XMLHttpRequest|WebSocket|sendBeacon"
)
_LINKING = {
    "src",
    "href",
    "srcset",
    "action",
    "formaction",
    "poster",
    "data",
    "background",
    "ping",
    "manifest",
    "xlink:href",
}


class _References(HTMLParser):
    """Collects what a browser would fetch for a page: links in tags, imports in styles, requests in scripts."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        self.found += [f"<{tag} {key}={value}" for key, value in attrs
                       if key in _LINKING and value and not value.startswith(("data:", "#"))]  # fmt: skip
        self.found += [
            f"<{tag} style={value}" for key, value in attrs if key == "style" and _FETCHING.search(value or "")
        ]

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in ("style", "script"):
            self.found += [found.group() for found in _FETCHING.finditer(data)]


def check_offline(page: str) -> None:
    """Raise ProvioError if a browser would ask the network for anything to show this page."""
    references = _References()
    references.feed(page)
    references.close()
    if references.found:
        raise ProvioError(f"the page would fetch {references.found[0][:80]!r}; please report this")
