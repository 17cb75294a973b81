"""A lease on a server that several machines merge into: it permits one writer at a time.

The lease is a separate graph: one node for each process that holds or wants it, with the server's time. A process
that finds another node withdraws and tries again, so two never hold the lease at the same time. A node does not count
if its process has ended, or if its last renewal is so old that no request of its process can still be pending.
"""

from __future__ import annotations

import os
import random
import re
import time
from datetime import datetime
from pathlib import Path

from provio.base.errors import StoreError
from provio.store import Busy
from provio.store.remote import terms
from provio.store.remote.server import ANSWER, Server

GRAPH = "https://w3id.org/provio/lease"
SINCE = GRAPH + "#since"
EXPIRES = 2 * ANSWER  # seconds: twice the time limit of a request
RENEW = 20


class Lease:
    """A lease of a record's graphs on a server, stored there as a graph; raises Busy if another process holds it and
    `wait` is false."""

    def __init__(self, server: Server, wait: bool, graph: str = GRAPH) -> None:
        self.server, self.graph = server, graph
        self.me = f"{GRAPH}/{_boot()}/{os.getpid()}/{time.monotonic_ns()}"
        self.renewed = 0.0
        while not self._taken():
            if not wait:
                raise Busy(f"the store {server.url} is busy: the run is kept and merged by the next query")
            time.sleep(random.uniform(0.1, 0.5))  # noqa: S311 - the order of waiting processes is no secret

    def _taken(self) -> bool:
        if self._others():
            return False
        self._insert()
        if self._others():
            self.end()
            return False
        self.renewed = time.monotonic()
        return True

    def hold(self) -> None:
        """Renew the lease if its last renewal is old; raises StoreError if it was lost."""
        if time.monotonic() - self.renewed < RENEW:
            return
        if time.monotonic() - self.renewed > EXPIRES / 2 and self.me not in [row["who"] for row in self._all()]:
            raise StoreError(f"{self.server.url}: the lease of this merge expired, another may merge: try again")
        self._insert()
        self.renewed = time.monotonic()

    def end(self) -> None:
        """Release the lease."""
        self.server.update([self._forget(self.me)])

    def _insert(self) -> None:
        entry = f"GRAPH <{self.graph}> {{ <{self.me}> <{SINCE}> ?now }}"
        insertion = f"INSERT {{ {entry} }} WHERE {{ BIND(NOW() AS ?now) }}"
        self.server.update([self._forget(self.me), insertion])

    def _forget(self, who: str) -> str:
        pattern = f"GRAPH <{self.graph}> {{ <{who}> ?p ?o }}"
        return f"DELETE {{ {pattern} }} WHERE {{ {pattern} }}"

    def _all(self) -> list[dict[str, str]]:
        query = f"SELECT ?who ?since (NOW() AS ?now) {{ GRAPH <{self.graph}> {{ ?who <{SINCE}> ?since }} }}"
        return list(terms.rows(self.server.ask(query, [], [self.graph])))

    def _others(self) -> bool:
        """Return whether any other process holds or wants the lease; remove the nodes of ended processes."""
        others = False
        for row in self._all():
            if row["who"] == self.me:
                continue
            if _expired(row["who"], _seconds(row["now"]) - _seconds(row["since"])):
                self.server.update([self._forget(row["who"])])
            else:
                others = True
        return others


def _expired(who: str, age: float) -> bool:
    """Return whether a process has ended: a process of this machine can be checked; of others only the age of the
    node is known."""
    boot, pid, _ = who.removeprefix(GRAPH + "/").split("/")
    return age > EXPIRES or (boot == _boot() and not Path(f"/proc/{pid}").exists())


def _boot() -> str:
    """Return an identifier of this machine since its last boot, and of the PID namespace."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{boot}.{os.stat('/proc/self/ns/pid').st_ino}"


def _seconds(instant: str) -> float:
    """Parse a time of the server; a time without a zone counts as UTC, because only differences matter."""
    parts = re.fullmatch(r"([^.]*?T[\d:]+)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)?", instant)
    if parts is None:
        raise StoreError(f"the server returned the time {instant[:40]!r}, which is invalid: see docs/servers.md")
    zone = "+00:00" if parts[3] in (None, "Z") else parts[3]
    return datetime.fromisoformat(f"{parts[1]}.{(parts[2] or '0')[:6]:0<6}{zone}").timestamp()
