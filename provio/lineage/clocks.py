"""What the clocks of several hosts leave open: by how much these may differ in, which orders are certain out.

Moments of one host are in order as they are. Those of two hosts are where they lie further apart than both clocks may
be out; else either may have come first, both ways are followed, and a gap of the version says so. Times of files are
all by their server's clock.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from urllib.parse import unquote

from provio.base.records import field, plain


@plain(slots=True)
class Clocks:
    """`apart`: by how much moments of two hosts may be out of order (ns; 0: there is one host, or no more is known);
    `unclear`: the hosts of which it is not known who was first, by version."""

    apart: int = 0
    unclear: dict[str, set[str]] = field(default_factory=dict)

    def between(self, one: str, other: str) -> int:
        """Return by how much moments of two hosts may be out of order."""
        return 0 if one == other else self.apart

    def doubt(self, version: str, one: str, other: str) -> None:
        """Note that it is not known which of two hosts was first with a version."""
        if one != other and one and other:
            self.unclear.setdefault(version, set()).update((one, other))

    def gaps(self, without: Container[str] = ()) -> Iterator[tuple[str, str, str]]:
        """Yield what to say of each such version, but for some."""
        for version, hosts in ((one, hosts) for one, hosts in self.unclear.items() if one not in without):
            names, most = " and ".join(unquote(host) for host in sorted(hosts)), f"{-(-self.apart // 1_000_000)} ms"
            what = f"what {names} did to this file lies within {most}, by which their clocks may differ"
            yield version + "~clocks", version, f"{what}: whichever came first, both ways are followed"
