"""The runs that state a fact, in a store with all runs in one graph."""

from __future__ import annotations

import random
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest
from conftest import Project, in_memory, provio_command
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
from provio.store import statements
from provio.store.embedded.reader import StoreReader
from provio.store.embedded.writer import StoreWriter
from provio.store.statements import List, Lists, run_of
from provio.trace import read

tmp_path = in_memory

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


@pytest.mark.slow
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
@pytest.mark.parametrize("seeds", [range(start, start + 20) for start in range(0, 60, 20)], ids=str)
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


@pytest.mark.integration
def test_a_run_within_a_run_goes_alone(project: Project) -> None:
    """The outer run and its conclusions stay; and the reverse."""
    home = Home(project.path / ".provio")
    (project.path / "a").write_text("1\n")
    inner = shlex.join([*provio_command(), "run", "--quiet", "--no-merge", "--", "cp", "a", "b"])
    project.provio("run", "--quiet", "--no-merge", "--", "sh", "-c", f"{inner}; cp b c")
    merge(home)
    for gone in (max, min):
        run = gone(folder.name for folder in home.run_folders())
        shutil.copytree(home.path, project.path / run / "record", symlinks=True)
        again = Home(project.path / run / "record")
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
@pytest.mark.integration
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


def test_a_list_has_the_shared_statements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each once, by the marks before them, or by their terms where there is none; in pieces of any size."""
    run, other = RUN_BASE + ID, RUN_BASE + ID[::-1]
    pipe, entity = f"https://w3id.org/provio/pipe/h/b/0.1/5/{ID}/1.2", f"https://w3id.org/provio/entity/0f~{ID}.2"
    own = [f"<{run}> <urn:p> <urn:o> .\n", f"<{run}/x> <urn:p> <urn:o> .\n", f"<urn:s> <urn:p> <{run}/x> .\n",
           f"<urn:s> <urn:p> <{pipe}> .\n", f'<{entity}> <urn:p> "1" .\n', f"<urn:s> <urn:p> <{run}> .\n"]  # fmt: skip
    shared = [f'<urn:s> <urn:p> "see <{run}/x>" .\n', f"<{other}/x> <urn:p> <urn:o> .\n", "<urn:s> <urn:q> <urn:o> .\n",
              "<urn:t> <urn:q> <urn:o> .\n", "<urn:u> <urn:q> <urn:n> .\n"]  # fmt: skip
    marked = [statements.OWN.decode(), shared[2], statements.SHARED.decode(), own[0], shared[3]]
    for size in (1, 60, 1 << 20):
        monkeypatch.setattr(statements, "SLICE", size)
        lists = Lists(tmp_path / str(size))
        lists.folder.parent.mkdir()
        for text in ("".join([*own, *shared, *shared[:2]]), "".join(marked)):
            kept = lists.new(ID)
            kept.add(text.encode())
            kept.add(b"")
            kept.close()
            with lists.open(kept.name) as file:
                found = file.read().decode().splitlines(keepends=True)
            assert found == (shared if text.startswith("<") else [own[0], shared[3]])
            lists.settle(kept.name, f"{ID}.{len(text)}")
        first = f"{ID}.{len(''.join([*own, *shared, *shared[:2]]))}"
        assert [line for piece in lists.pieces(first) for line in piece.decode().splitlines()] == [
            line.removesuffix("\n") for line in shared
        ]
        assert [*lists.subjects(first, "<urn:q> ")] == ["urn:s", "urn:t", "urn:u"]
        assert [*lists.subjects(first, "<urn:q> <urn:o> ")] == ["urn:s", "urn:t"]
        lists.sync([first, "none"])
        (lists.folder / "other").touch()
        lists.delete_except([first, "none"])
        assert sorted(path.name for path in lists.folder.iterdir()) == sorted([first + statements.ENDING, "other"])


def test_the_names_of_lists() -> None:
    """Those of runs with a hash of their content in the index; other graphs have none."""
    store, graph = ox.Store(), f"{RUN_BASE}{ID}{statements.BUNDLE}"
    for name, content in ((graph, "one"), ("urn:mine", "two")):
        store.add(ox.Quad(ox.NamedNode(name), statements.CONTENT, ox.Literal(content), ox.DefaultGraph()))
    name = f"{ID}.7692c3ad3540"
    assert statements.list_names(store) == {graph: name}
    graphs = (graph, "urn:mine", graph.replace("0", "1"), f"{RUN_BASE}{ID}")
    assert [statements.list_name(store, one) for one in graphs] == [name, None, None, None]


def test_the_statements_of_one_run_only(tmp_path: Path) -> None:
    """Shared ones that no other run states, and its own; the type of a nested run is also stated by that run."""
    run, nested, store, lists = ID, ID[::-1], ox.Store(), Lists(tmp_path)
    kind = f"<{RDF}type> <{NS}Run> .\n"
    own = f"<{RUN_BASE}{run}/x> <urn:p> <urn:o> .\n"
    texts = {
        run: ["<urn:a> <urn:p> <urn:o> .\n", "<urn:b> <urn:p> <urn:o> .\n", f"<{RUN_BASE}{nested}> {kind}"],
        nested: ["<urn:b> <urn:p> <urn:o> .\n", "<urn:c> <urn:p> <urn:o> .\n"],
    }
    more = [f"<{RUN_BASE}{run}> {kind}", f"<{RUN_BASE}{run}> <urn:p> <{RUN_BASE}{run}/x> .\n", own]
    store.load("".join([*more, *texts[run], *texts[nested]]).encode(), ox.RdfFormat.N_TRIPLES)
    for one, text in texts.items():
        kept = lists.new(one)
        kept.add((statements.SHARED.decode() + "".join(text)).encode())
        kept.close()
    names = [f"{one}.{statements.NEW}" for one in texts]

    def only(*others: str) -> set[str]:
        return {f"{quad} .\n" for quad in statements.only_of(store, lists, run, names[0], others)}

    assert only(*names) == {*more, texts[run][0]}
    assert only(names[0]) == {*more, *texts[run]}
    assert {f"{quad} .\n" for quad in statements.run_quads(store, lists, run, names[0])} == {*more, *texts[run]}
    lists.new(nested).close()
    again = List(nested, names[1], lists.path(names[1]).open("wb"))
    again.add((statements.SHARED.decode() + more[0]).encode())
    again.close()
    assert only(names[1]) == {*more[1:], *texts[run][:2]}


def test_the_statements_that_are_reached_from_a_run() -> None:
    """Each once: of its nodes, about them, and of nodes that are connected to shared ones only; not those of others."""
    base, other = f"{RUN_BASE}{ID}", f"{RUN_BASE}{ID[:-1]}c"
    entity, pipe = f"https://w3id.org/provio/entity/0f~{ID}.2", f"https://w3id.org/provio/pipe/h/b/0.1/5/{ID}/1.2"
    shared = {kind: f"https://w3id.org/provio/{kind}/x" for kind in ("program", "pipe", "socket", "version", "user")}
    about, of = f"{NS}about", "http://www.w3.org/ns/prov#actedOnBehalfOf"
    own = [
        (base, "urn:p", f"{base}/a"), (f"{base}/a", "urn:p", f"{base}/a"), (f"{base}/a", "urn:q", base),
        (f"{base}/a", "urn:p", entity), (entity, "urn:p", pipe), (f"{base}/b", "urn:p", pipe),
        ("urn:s", "urn:p", f"{base}/b"), (f"{base}/bundle", "urn:p", f"{base}/c"), ("urn:s", "urn:q", f"{base}/c"),
        *((f"{base}/c", "urn:p", iri) for iri in shared.values()), (f"{base}/c", "urn:p", f"{other}/x"),
        *((f"{base}/gap/{kind}", about, shared[kind]) for kind in ("program", "pipe", "socket", "version")),
        (f"{base}/gap/pipe", "urn:p", f"{base}/d"), (f"{base}/thread", of, shared["program"]),
        (shared["version"], "urn:p", f"{base}/d"), (f"{base}/late", "urn:p", f"{base}/thread"),
    ]  # fmt: skip
    foreign = [
        (f"{other}/x", "urn:p", f"{base}/a"), (f"{other}/x", about, shared["version"]), ("urn:s", "urn:p", "urn:o"),
        (f"{base}/gap/user", about, shared["user"]), (f"{base}/alone", "urn:p", shared["program"]),
        (f"{other}/x", "urn:p", f"{other}/y"), (shared["program"], "urn:p", "urn:o"),
    ]  # fmt: skip
    more = [f'<{base}> <urn:p> "1"', f"<{base}/a> <urn:p> _:b", f"_:b <urn:p> <{base}/a>"]
    texts = [*(f"{one} ." for one in more), f'<{other}/x> <urn:p> "1" .']
    texts += [f"<{one}> <{two}> <{three}> ." for one, two, three in (*own, *foreign)]
    store = ox.Store()
    store.load("\n".join(texts).encode(), ox.RdfFormat.N_TRIPLES)
    for known in (None, statements.apart(store, [ID])[ID]):
        found = [re.sub(r"_:\w+", "_:b", str(quad)) for quad in statements.own_quads(store, ID, known)]
        assert sorted(found) == sorted([*more, *(f"<{one}> <{two}> <{three}>" for one, two, three in own)])
    assert [*statements.own_quads(ox.Store(), ID)] == []
