"""The lines of whole graphs and of large runs are the statements that a reader finds one by one."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest
from conftest import Project, assert_valid, new_project

from provio.base.errors import StoreError
from provio.exchange import rdf
from provio.exchange.subject import Subject
from provio.graph.lines import bundle_iri
from provio.settings.home import Home
from provio.store import Store, implied, open_reader
from provio.store.embedded import scan


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Iterator[Project]:
    """Two runs with pipes, a removed file, a name that is not UTF-8, and a note."""
    project = new_project(tmp_path_factory.mktemp("worked"))
    project.run(r"echo 1 | sort > one; cp one $(printf 'caf\\351'); cat one >> log; rm one")
    project.run("cat log | sort > out; cat log >> log2")
    project.provio("note", "last", "a note")
    project.provio("runs")
    yield project
    assert_valid(project.path / ".provio")


def reader_of(project: Project) -> Store:
    return open_reader(Home(project.path / ".provio"))


def quads(blocks: Iterator[bytes], named: bool = True) -> set[ox.Quad]:
    """Return the statements of lines, with those that they imply."""
    found = b"".join(block + b"".join(implied.more_lines(block)) for block in blocks)
    document = b"".join(map(rdf.quad, found.splitlines(True))) if named else found
    return set(ox.parse(document, ox.RdfFormat.N_QUADS, lenient=True))


@pytest.mark.integration
@pytest.mark.parametrize("part", [0, 1 << 30], ids=["small", "large"])
def test_the_same_statements(worked: Project, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All graphs, and each run, read as a small one or as a large one."""
    monkeypatch.setattr(scan, "PART", part)
    reader = reader_of(worked)
    assert quads(reader.dumped(None, named=True)) == set(reader.exported(None))
    home = Home(worked.path / ".provio")
    for run in Subject(reader, home).run_ids:
        graph = bundle_iri(f"https://w3id.org/provio/run/{run}")
        assert quads(reader.dumped(graph, named=True)) == (found := set(reader.exported(graph)))
        triples = {quad.triple for quad in quads(reader.dumped(graph), named=False)}
        assert triples == {quad.triple for quad in found}
        assert len(triples) > 50


def test_a_damaged_store(tmp_path: Path) -> None:
    """An error of Oxigraph in its thread is raised where the lines are used."""
    store = ox.Store(str(tmp_path / "store"))
    nodes = [ox.NamedNode(f"urn:{number}") for number in range(4000)]
    store.bulk_extend(ox.Quad(one, one, one) for one in nodes)
    store.flush()
    assert len(b"".join(scan.lines(store, ox.DefaultGraph())).splitlines()) == len(nodes)
    del store
    for table in (tmp_path / "store").glob("*.sst"):
        if table.stat().st_size > 3000:  # in a smaller one the first block is no data
            with table.open("r+b") as file:
                file.write(b"XXXX")
    store = ox.Store.read_only(str(tmp_path / "store"))
    with pytest.raises(StoreError, match="damaged"):
        list(scan.lines(store, ox.DefaultGraph()))


def test_lines_that_are_not_read_to_the_end() -> None:
    """The thread ends when its reader stops."""
    store = ox.Store()
    store.bulk_extend(ox.Quad(ox.NamedNode(f"urn:{'x' * 100}{n}"), *[ox.NamedNode("urn:p")] * 2) for n in range(40_000))
    found = scan.lines(store, ox.DefaultGraph())
    assert isinstance(found, Generator)
    assert next(found).endswith(b"\n")
    found.close()
    assert len(b"".join(scan.lines(store, ox.DefaultGraph())).splitlines()) == 40_000
