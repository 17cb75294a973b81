"""The hosts of a run, as their marks in the run folder say: records in; whose clock is how far ahead, what is not
collected, out.

Times of a thread file are by its host's clock, those of files by their server's. Where a clock is ahead of the server's
by more than was within the measurement, what its host recorded is put back by that.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote, unquote

from provio.system import node_local
from provio.system.statx import Record

UNCOLLECTED = "/uncollected"  # how the name of a gap ends that says so
MOMENTS = ("epochNs", "startedNs", "openedNs", "closedNs")  # by the host's clock; others are since the epoch


def takes(hosts: dict[str, Record], name: str, host: str, records: dict[str, Record]) -> bool:
    """Take the mark of a host, or put the moments of another file of it where the server's clock has them; return
    whether it was a mark."""
    if name == node_local.MARK:
        hosts[host] = next((record for record in records.values() if record.get("a") == "Host"), {})
        return True
    ahead = offset(hosts.get(host, {}))
    for record in records.values() if ahead else ():
        for word in MOMENTS:
            if word in record and record[word] != "0":
                record[word] = str(int(record[word]) - ahead)
    return False


def offset(record: Record) -> int:
    """Return by how much a host's clock was ahead (ns); 0 where that is within what could be measured."""
    ahead = int(record.get("clockOffset", 0))
    return ahead if abs(ahead) > int(record.get("clockWithin", 0)) else 0


def clock_uncertainty(hosts: dict[str, Record]) -> int:
    """Return by how much moments of two hosts may be out of order (ns), of those whose clocks differ most for all that
    was measured and taken off; 0 where there are not two."""
    doubts = [int(record.get("clockWithin", 0)) + _left(record) for record in hosts.values()]
    return sum(sorted(doubts)[-2:]) if len(doubts) > 1 else 0


def _left(record: Record) -> int:
    """What of a host's offset was not taken off."""
    return 0 if offset(record) else abs(int(record.get("clockOffset", 0)))


def correct_run(head: Record, run: str, hosts: dict[str, Record], gaps: list[tuple[str, str, str]]) -> None:
    """Put the moments of `run.ttl` where the server's clock has them, and add what is not collected to the gaps."""
    ahead = offset(hosts.get(quote(head.get("host", ""), safe="-._~"), {}))
    for word in ("startedNs", "endedNs") if ahead else ():
        if word in head:
            head[word] = str(int(head[word]) - ahead)
    gaps += uncollected(run, hosts)


def uncollected(run: str, hosts: dict[str, Record]) -> Iterator[tuple[str, str, str]]:
    """Yield a gap for each host of which not all is collected."""
    for host, record in hosts.items():
        if "captured" in record and "collectedNs" not in record:
            reason = (
                f"what was recorded on {unquote(host)} is not collected: run provio merge there; "
                "it is lost if the node is"
            )
            yield f"{run}/{host}/host{UNCOLLECTED}", run, reason
