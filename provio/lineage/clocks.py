"""Decide which moments of several hosts are certainly in order, given the uncertainty of the hosts' clocks.

Moments of one host are in order. Moments of two hosts are in order if they differ by more than the error of both
clocks. Otherwise either may have been first: both possibilities are followed, and the version gets a gap that states
this. All times of a file come from the clock of its server.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from urllib.parse import unquote

from provio.base.records import field, plain


@plain(slots=True)
class Clocks:
    """The uncertainty between hosts.

    `clock_error` is by how much moments of two hosts may be out of order (ns; 0: one host, or unknown).
    `unclear` maps each version to the hosts of which it is not known which was first.
    """

    clock_error: int = 0
    unclear: dict[str, set[str]] = field(default_factory=dict)

    def between(self, one: str, other: str) -> int:
        """Return by how much moments of two hosts may be out of order (ns)."""
        return 0 if one == other else self.clock_error

    def doubt(self, version: str, one: str, other: str) -> None:
        """Record that it is not known which of two hosts was first with a version."""
        if one != other and one and other:
            self.unclear.setdefault(version, set()).update((one, other))

    def gaps(self, without: Container[str] = ()) -> Iterator[tuple[str, str, str]]:
        """Yield a gap (IRI, version, reason) for each such version that is not in `without`."""
        for version, hosts in ((one, hosts) for one, hosts in self.unclear.items() if one not in without):
            names = " and ".join(unquote(host) for host in sorted(hosts))
            most = -(-self.clock_error // 1_000_000)
            reason = f"what {names} did to this file lies within {most} ms, by which their clocks may differ"
            yield version + "~clocks", version, f"{reason}: whichever came first, both ways are followed"
