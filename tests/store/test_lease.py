"""Only one process merges into a server at a time, for any clocks; the next one removes the remains of a killed one."""

from __future__ import annotations

import time

import pytest
import steps
from conftest import Project, in_memory
from sparql_servers import Server, account
from test_remote import STRIDE, quads, record

from provio.base.errors import Busy, StoreError
from provio.settings import load
from provio.settings.home import Home
from provio.store.remote import lease, terms
from provio.store.remote.places import record_of
from provio.store.remote.reader import connect

tmp_path = in_memory

ELSEWHERE = f"{lease.GRAPH}/another-boot.4026531836/4711/1"


def waiting(server: Server, who: str, seconds: float) -> None:
    """Create a lease of another process that was renewed that many seconds ago, by the server's clock."""
    ago = f"'{'-' if seconds < 0 else ''}PT{abs(int(seconds))}S'^^<http://www.w3.org/2001/XMLSchema#dayTimeDuration>"
    text = f"INSERT {{ GRAPH <{lease.GRAPH}> {{ <{who}> <{lease.SINCE}> ?t }} }} WHERE {{ BIND(NOW() - {ago} AS ?t) }}"
    server.update(text)


def holders(server: Server) -> list[str]:
    there = connect(load.load(flags={"store": server.url}))
    answer = there.ask(f"SELECT ?who {{ GRAPH <{lease.GRAPH}> {{ ?who <{lease.SINCE}> ?t }} }}", (), [lease.GRAPH])
    return [row["who"] for row in terms.rows(answer)]


def test_a_lease_of_another_machine(oxigraph: Server) -> None:
    """It counts for ten minutes of the server's time, and is deleted after them."""
    there = connect(load.load(flags={"store": oxigraph.url}))
    waiting(oxigraph, ELSEWHERE, lease.EXPIRES - 60)
    with pytest.raises(Busy):
        lease.Lease(there, wait=False)
    assert holders(oxigraph) == [ELSEWHERE]
    oxigraph.update(f"CLEAR GRAPH <{lease.GRAPH}>")
    waiting(oxigraph, ELSEWHERE, lease.EXPIRES + 60)
    mine = lease.Lease(there, wait=False)
    assert holders(oxigraph) == [mine.me]
    mine.end()
    assert holders(oxigraph) == []


def test_an_expired_lease(oxigraph: Server) -> None:
    """A process that did not renew its lease, which was deleted, writes nothing any more."""
    there = connect(load.load(flags={"store": oxigraph.url}))
    mine = lease.Lease(there, wait=False)
    oxigraph.update(f"CLEAR GRAPH <{lease.GRAPH}>")
    mine.renewed -= lease.EXPIRES
    with pytest.raises(StoreError, match="the lease of this merge expired"):
        mine.hold()


@pytest.mark.parametrize(
    ("instant", "seconds"),
    [
        ("1970-01-01T00:00:10Z", 10), ("1970-01-01T00:00:10", 10), ("1970-01-01T00:00:10.5", 10.5),
        ("1970-01-01T00:00:10.123456789Z", 10.123456), ("1970-01-01T02:00:10.25+02:00", 10.25),
        ("1969-12-31T19:00:10.123456789-05:00", 10.123456), ("1970-01-01T00:00:10.1+00:00", 10.1),
    ],
)  # fmt: skip
def test_times_with_and_without_a_zone(instant: str, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """All are of one clock, for any time zone of this machine."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert lease._seconds(instant) == seconds
    finally:
        monkeypatch.undo()
        time.tzset()


def test_an_invalid_time() -> None:
    """One line, no traceback."""
    with pytest.raises(StoreError, match="soon"):
        lease._seconds("soon")


@pytest.mark.integration
def test_remains_of_a_killed_merge_are_not_queried(project: Project, oxigraph: Server) -> None:
    """A graph that was written and never named by the index is in no answer, and is overwritten; graphs of other
    records stay."""
    record(project)
    project.provio("merge", "--store", oxigraph.url)
    left = f"{record_of(Home(project.path / '.provio'))}/graph/1"
    for graph in (left, "urn:mine"):
        oxigraph.update(f"INSERT DATA {{ GRAPH <{graph}> {{ <urn:a> <urn:b> <urn:c> }} }}")
    assert quads(project, "--store", oxigraph.url) == quads(project)
    project.provio("run", "--quiet", "--", "true", env={**project.env, "PROVIO_STORE": oxigraph.url})
    assert quads(project, "--store", oxigraph.url) == quads(project)
    there = connect(load.load(flags={"store": oxigraph.url}))
    found = {row["g"] for row in terms.rows(there.own_query("SELECT DISTINCT ?g { GRAPH ?g { <urn:a> ?p ?o } }", []))}
    assert found == {"urn:mine"}


@pytest.mark.slow
def test_a_client_of_virtuoso_is_killed_in_a_merge(project: Project, virtuoso: Server) -> None:
    """After a kill at regular intervals of steps, the next merge does not wait, and gives the quads of an undisturbed
    one."""
    record(project)
    account(project)
    step, whole = 1, quads(project)
    while steps.killed(step, project.env, "merge", "--rebuild", "--store", virtuoso.url, cwd=project.path):
        project.provio("merge", "--store", virtuoso.url)
        assert quads(project, "--store", virtuoso.url) == whole
        step += 2 * STRIDE  # it is slow
    assert step > 15 * STRIDE, step
