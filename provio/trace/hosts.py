"""The hosts of a run, by their marks in the run folder: corrects their clocks, and finds files that are not collected.

Times of a thread file are by its host's clock, times of files by their server's clock. If a host's clock is ahead of
the server's clock by more than the error of the measurement, the difference is subtracted from the host's times.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote, unquote

from provio.system import node_local
from provio.system.statx import Record

UNCOLLECTED = "/uncollected"  # ending of the IRI of the gap of a host with uncollected files
MOMENTS = ("epochNs", "startedNs", "openedNs", "closedNs")  # by the host's clock; other times are relative to epochNs


def takes(hosts: dict[str, Record], name: str, host: str, records: dict[str, Record]) -> bool:
    """Take the mark of a host, or convert the times of another file of it to the server's clock; return whether it was
    a mark."""
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
    """Return how much a host's clock was ahead (ns); 0 if that is within the error of the measurement."""
    ahead = int(record.get("clockOffset", 0))
    return ahead if abs(ahead) > int(record.get("clockWithin", 0)) else 0


def clock_uncertainty(hosts: dict[str, Record]) -> int:
    """Return how much times of two hosts may be out of order (ns): the sum of the two largest errors that remain after
    the correction; 0 for less than two hosts."""
    errors = [
        int(record.get("clockWithin", 0)) + (0 if offset(record) else abs(int(record.get("clockOffset", 0))))
        for record in hosts.values()
    ]
    return sum(sorted(errors)[-2:]) if len(errors) > 1 else 0


def correct_run(head: Record, run: str, hosts: dict[str, Record], gaps: list[tuple[str, str, str]]) -> None:
    """Convert the times of `run.ttl` to the server's clock, and add gaps for uncollected files."""
    ahead = offset(hosts.get(quote(head.get("host", ""), safe="-._~"), {}))
    for word in ("startedNs", "endedNs") if ahead else ():
        if word in head:
            head[word] = str(int(head[word]) - ahead)
    gaps += uncollected(run, hosts)


def uncollected(run: str, hosts: dict[str, Record]) -> Iterator[tuple[str, str, str]]:
    """Yield a gap for each host with uncollected files."""
    for host, record in hosts.items():
        if "captured" in record and "collectedNs" not in record:
            reason = (
                f"the recording on {unquote(host)} is not collected: run provio merge there; it is lost if the node is"
            )
            yield f"{run}/{host}/host{UNCOLLECTED}", run, reason
