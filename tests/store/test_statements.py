"""The runs that state a fact, in a store with all runs in one graph."""

from __future__ import annotations

import random
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest
from conftest import Project, provio_command
from random_runs import runs
from synthetic_records import STORIES

from provio.base.errors import StoreError
from provio.base.vocab import NS, RDF, RUN_BASE
from provio.graph.lines import bundle_iri
from provio.merge import partitions, removal
from provio.merge.partitions import Partitions
from provio.merge.runs import merge
from provio.settings.home import Home
from provio.settings.schema import Config
from provio.store.embedded.reader import StoreReader
from provio.store.embedded.writer import StoreWriter
from provio.store.statements import Lists, run_of
from provio.trace import read

ID = "01936b2e-7c00-7abc-8def-0123456789ab"


@pytest.mark.parametrize(
    ("iri", "run"),
    [
        (f"https://w3id.org/provio/run/{ID}", ID),
        (f"https://w3id.org/provio/run/{ID}/bundle", ID),
        (f"https://w3id.org/provio/run/{ID}/node07/1.2.0/phase/0", ID),
        (f"https://w3id.org/provio/pipe/node07/{ID[::-1]}/0.14/55/{ID}/1.2.0.0", ID),
        (f"https://w3id.org/provio/socket/10.0.0.1%3A5/10.0.0.2%3A6/{ID}/1.2.0.0", ID),
        (f"https://w3id.org/provio/entity/0f3a~{ID}.2", ID),
        (f"https://w3id.org/provio/pipe/node07/{ID}/0.14/55", None),  # a channel, on a host with this boot id
        ("https://w3id.org/provio/entity/0f3a", None),
        (f"https://w3id.org/provio/version/{ID}/5.1.2.3", None),
        (f"file://disk/home/.provio/runs/{ID}/run.ttl", None),
    ],
)
def test_an_iri_names_its_run(iri: str, run: str | None) -> None:
    assert run_of(iri) == run


@pytest.fixture(params=sorted(STORIES))
def recorded(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    """The runs of a story, not merged."""
    folder = tmp_path / ".provio"
    folder.mkdir(mode=0o700)
    STORIES[request.param](Home(folder))
    return Home(folder)


def stated(folder: Path) -> set[ox.Triple]:
    """Return the graph of a run folder alone, in the form in which a store returns it."""
    run = read.read_run(folder)
    lines = "".join(partitions.prepare(Partitions(run), Config()).pieces)
    store = ox.Store()
    store.load(lines.encode(), ox.RdfFormat.N_TRIPLES)
    return {quad.triple for quad in store}


def test_each_run_is_given_back_as_it_was_stated(recorded: Home) -> None:
    """Each run is found in the common graph by its terms and its list: exactly its statements."""
    merge(recorded)
    reader = StoreReader(recorded)
    for folder in recorded.run_folders():
        graph = bundle_iri(RUN_BASE + folder.name)
        quads = reader.quads(graph)
        assert {quad.triple for quad in quads if quad.graph_name.value == graph} == stated(folder)


def content(home: Home) -> set[str]:
    """Return the content of a store, except the names of the lists."""
    quads = ox.parse(StoreReader(home).dataset(None, ox.RdfFormat.N_QUADS), ox.RdfFormat.N_QUADS)
    return set(map(str, quads))


def test_the_rest_after_removals_equals_a_rebuild(
    recorded: Home, tmp_path: Path, made: Callable[[Home, Path], Home]
) -> None:
    """For random sets and orders of runs that are merged, merged again and removed: as if only the others had
    existed."""
    chance = random.Random(5)
    ids = [folder.name for folder in recorded.run_folders()]
    for number in range(4):
        home = made(recorded, tmp_path / f"{number}")
        for run in chance.sample(ids, len(ids)):
            merge(home, [home.runs / run])
        gone = chance.sample(ids, chance.randint(0, len(ids) - 1))
        for run in gone:
            removal.remove(home, [run], Config())
        again = made(recorded, tmp_path / f"{number}.again")
        for run in gone:
            shutil.rmtree(again.runs / run)
        merge(again)
        assert content(home) == content(again)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(start, start + 25) for start in range(0, 100, 25)], ids=str)
def test_runs_with_common_files_equal_a_rebuild(seeds: range, tmp_path: Path) -> None:
    """For any order of merges, and any removed runs."""
    for seed in seeds:
        chance = random.Random(seed)
        home, again = (Home(tmp_path / f"{seed}{kind}") for kind in ("", ".again"))
        for one in (home, again):
            one.path.mkdir(mode=0o700)
            runs(one, seed)
        ids = [folder.name for folder in home.run_folders()]
        for run in chance.sample(ids, len(ids)):
            merge(home, [home.runs / run])
        for run in chance.sample(ids, chance.randint(0, len(ids) - 1)):
            removal.remove(home, [run], Config())
            shutil.rmtree(again.runs / run)
        merge(again)
        assert content(home) == content(again), seed


def test_a_run_within_a_run_goes_alone(project: Project) -> None:
    """The outer run and its conclusions stay; and the reverse."""
    home = Home(project.path / ".provio")
    (project.path / "a").write_text("1\n")
    inner = shlex.join([*provio_command(), "run", "--quiet", "--no-merge", "--", "cp", "a", "b"])
    project.provio("run", "--quiet", "--no-merge", "--", "sh", "-c", f"{inner}; cp b c")
    merge(home)
    for gone in (max, min):
        run = gone(folder.name for folder in home.run_folders())
        shutil.copytree(home.path, project.path / run / ".provio", symlinks=True)
        again = Home(project.path / run / ".provio")
        removal.remove(again, [run], Config())
        left = content(again)
        merge(again, rebuild=True)
        assert content(again) == left


def test_loaded_pieces_of_an_invalid_run_are_removed(recorded: Home) -> None:
    """Also the pieces loaded before the error."""
    merge(recorded)
    before = content(recorded)
    run = f"{RUN_BASE}{ID}"

    def pieces() -> Iterator[str]:
        yield f'<{run}> <{RDF}type> <{NS}Run> .\n<file://disk/only> <{NS}path> "/only" .\n'
        raise ValueError("a fault")

    with StoreWriter(recorded, wait=True) as store:
        with pytest.raises(ValueError, match="a fault"):
            store.replace(bundle_iri(run), pieces())
        store.drop(bundle_iri(run))
        store.publish()
    assert content(recorded) == before


def test_a_list_has_times_as_a_store_gives_them_back(tmp_path: Path) -> None:
    """So equal statements are equal lines, from a folder and from another store."""
    word = f"<{NS}modified>"
    kind = "<http://www.w3.org/2001/XMLSchema#dateTime>"
    times = ["2026-11-23T06:28:04.500000Z", "2026-11-23T06:28:04.000000Z", "2026-11-23T06:28:10.123456Z"]
    lines = [f'<urn:{number}> {word} "{time}"^^{kind} .\n' for number, time in enumerate(times)]
    lists = Lists(tmp_path)
    kept = lists.new(ID)
    kept.add("".join(lines).encode())
    kept.close()
    store = ox.Store()
    store.load("".join(lines).encode(), ox.RdfFormat.N_TRIPLES)
    with lists.open(kept.name) as file:
        assert {line.decode() for line in file} == {f"{quad.triple} .\n" for quad in store}


@pytest.mark.parametrize("damage", [b"", b"\x1f\x8b\x08", None], ids=["empty", "cut off", "missing"])
def test_a_list_that_cannot_be_read_is_reported(recorded: Home, damage: bytes | None) -> None:
    """Nothing is removed; a rebuild writes it again."""
    merge(recorded)
    before = content(recorded)
    run = recorded.run_folders()[0].name
    (path,) = (recorded.path / "statements").glob(f"{run}.*")
    path.unlink() if damage is None else path.write_bytes(damage)
    with StoreWriter(recorded, wait=True) as store, pytest.raises(StoreError, match="provio merge --rebuild"):
        store.drop(bundle_iri(RUN_BASE + run))
    merge(recorded, rebuild=True)
    assert content(recorded) == before


@pytest.fixture
def made() -> Callable[[Home, Path], Home]:
    def copy(home: Home, folder: Path) -> Home:
        shutil.copytree(home.path, folder / ".provio")
        return Home(folder / ".provio")

    return copy
