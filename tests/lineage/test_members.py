"""The conclusions of a merge about objects inside files, from synthetic traces."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pyoxigraph as ox
import pytest
from conftest import assert_valid
from synthetic_traces import File, Process, Run
from test_prov_package import lost

from provio.graph.lines import bundle_iri
from provio.merge import partitions
from provio.merge.partitions import Partitions
from provio.merge.runs import merge
from provio.settings.home import Home
from provio.settings.schema import Config
from provio.store import implied
from provio.store.embedded.reader import StoreReader
from provio.trace.read import read_run

PREFIXES = "PREFIX provio: <https://w3id.org/provio/ns#> PREFIX prov: <http://www.w3.org/ns/prov#> "


class Told:
    """A home with runs, and queries of its merged graph for objects by short names."""

    def __init__(self, path: Path) -> None:
        path.mkdir(mode=0o700)
        self.home, self.runs = Home(path), 0

    def run(self, *argv: str) -> Process:
        """Start a run of one process."""
        self.runs += 1
        return Run(self.home, self.runs).process(*argv)

    def merged(self, *runs: Run) -> Told:
        """Write and merge runs; no constraint of PROV may be violated."""
        for run in runs:
            run.write()
        assert merge(self.home).damages == []
        assert_valid(self.home.path)
        return self

    def rows(self, where: str, *names: str) -> set[tuple[str, ...]]:
        """Return the solutions of a pattern, by short names."""
        rows = list(StoreReader(self.home).rows(f"{PREFIXES} SELECT DISTINCT * {{ {where} }}"))
        short = self._names()
        return {tuple(_short(row.get(name, ""), short) for name in names) for row in rows}

    def _names(self) -> dict[str, str]:
        """Return the last name of each version, with its number among the versions of that name."""
        query = f"""{PREFIXES} SELECT DISTINCT ?v ?path ?m {{ ?v prov:specializationOf ?f ; provio:modified ?m .
            ?f provio:path ?path }}"""
        found: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for row in StoreReader(self.home).rows(query):
            found[row["path"]].append((row["m"], row["v"]))
        names = {}
        for path, versions in found.items():
            for number, (_, iri) in enumerate(sorted(versions), start=1):
                names[iri] = path.rpartition("/")[2] + (f"[{number}]" if len(versions) > 1 else "")
        return names

    def uses(self) -> dict[str, set[str]]:
        """Return the sources of each object: the entities used by the activity that generated it."""
        found: dict[str, set[str]] = defaultdict(set)
        for made, used in self.rows("?m prov:wasGeneratedBy ?a . OPTIONAL { ?a prov:used ?u }", "m", "u"):
            if "#" in made:
                found[made] |= {used} - {""}
        return dict(found)


def _short(iri: str, names: dict[str, str]) -> str:
    version, mark, inside = iri.partition("#")
    if "/version/" not in version:
        return iri.partition("/node/")[2] or iri
    whole, tilde, process = version.partition("~")
    return names.get(whole, whole) + (tilde + process.split(".")[1] if tilde else "") + mark + unquote(inside)


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(tmp_path / ".provio")


def test_each_dataset_comes_from_its_own_input(told: Told) -> None:
    """One input, one output, two datasets in each: the second comes from the first's input only by memory."""
    process = told.run()
    source, out = process.h5(File("/data/in.h5")), process.h5(File("/data/out.h5"), "w")
    source.read("/a")
    out.write("/a", new=True)
    source.read("/g/b").read("/g/b", "units")
    out.write("/b", new=True)
    told.merged(process.run)
    assert told.uses() == {"out.h5#/a": {"in.h5#/a"}, "out.h5#/b": {"in.h5#/g/b", "in.h5#/g/b@units"}}
    carried = told.rows("?b provio:carriedFrom ?a", "b", "a")
    assert carried == {("1.1.0/phase/0/1", "1.1.0/phase/0/0")}


def test_the_objects_of_a_file_are_stated_from_the_version_down(told: Told) -> None:
    """Groups on the way are stated although no process opened them; an attribute of the file belongs to the root."""
    process = told.run()
    out = process.h5(File("/data/out.h5"), "w")
    out.write("/g/h/d", new=True).write("/g/h/d", "units", new=True).write("/", "title", new=True)
    told.merged(process.run)
    assert told.rows("?v prov:hadMember ?m", "v", "m") == {
        ("out.h5", "out.h5#/g"),
        ("out.h5#/g", "out.h5#/g/h"),
        ("out.h5#/g/h", "out.h5#/g/h/d"),
        ("out.h5#/g/h/d", "out.h5#/g/h/d@units"),
        ("out.h5", "out.h5#/"),
        ("out.h5#/", "out.h5#/@title"),
    }


def updated(told: Told, act: Callable[..., object]) -> Told:
    """Make a file of two datasets, then perform an action on it in another run."""
    process = told.run()
    file, source = File("/data/x.h5"), File("/data/in.h5")
    process.h5(file, "w").write("/a", new=True).write("/b", new=True).close()
    second = told.run()
    act(second.h5(source).read("/s"), second.h5(file, "r+"))
    return told.merged(process.run, second.run)


@pytest.mark.parametrize(
    ("act", "made", "kept"),
    [
        (lambda _, x: x.write("/a"), {"x.h5[2]#/a": {"in.h5#/s"}}, {("x.h5[2]#/a", "x.h5[1]#/a")}),
        (lambda _, x: x.write("/a", whole=True), {"x.h5[2]#/a": {"in.h5#/s"}}, set()),
        (lambda _, x: x.delete("/a").write("/a", new=True), {"x.h5[2]#/a": {"in.h5#/s"}}, set()),
        (lambda _, x: x.delete("/a"), {}, set()),
        (lambda _, x: x.write("/c", new=True).delete("/c"), {}, set()),
        (lambda _, x: x.move("/a", "/c"), {}, {("x.h5[2]#/c", "x.h5[1]#/a")}),
        (lambda _, x: x.write("/a").move("/a", "/c"), {"x.h5[2]#/c": {"in.h5#/s"}}, {("x.h5[2]#/c", "x.h5[1]#/a")}),
        (lambda _, x: x.move("/a", "/c").write("/c"), {"x.h5[2]#/c": {"in.h5#/s"}}, {("x.h5[2]#/c", "x.h5[1]#/a")}),
        (lambda _, x: x.write("/t", new=True).move("/t", "/c"), {"x.h5[2]#/c": {"in.h5#/s"}}, set()),
    ],
    ids="part whole again deleted temporary moved written-moved moved-written made-moved".split(),
)
@pytest.mark.integration
def test_an_update_in_place(
    told: Told, act: Callable[..., object], made: dict[str, set[str]], kept: set[tuple[str, str]]
) -> None:
    """The changed object is a new version, and keeps its earlier content unless all of that was replaced."""
    updated(told, act)
    first = {"x.h5[1]#/a": set[str](), "x.h5[1]#/b": set[str]()}
    assert told.uses() == first | made
    assert {pair for pair in told.rows("?n prov:wasRevisionOf ?o", "n", "o") if "#" in pair[0]} == kept


def test_a_copied_dataset_comes_from_its_source_alone(told: Told) -> None:
    """It has no other inputs of the process; a copy within a file comes from the content written just before."""
    process = told.run()
    source, other = process.h5(File("/data/in.h5")), process.h5(File("/data/o.h5"))
    out = process.h5(File("/data/out.h5"), "w")
    other.read("/z")
    source.copy("/a", out, "/copy")
    out.write("/d", new=True)
    out.copy("/d", out, "/again")
    told.merged(process.run)
    assert told.uses() == {
        "out.h5#/copy": {"in.h5#/a"},
        "out.h5#/d": {"o.h5#/z"},
        "out.h5#/again": {"out.h5#/d"},
    }


def test_a_copy_of_recent_content_to_another_file(told: Told) -> None:
    """No version of that file was read: the copy comes from the inputs that the process had read for it."""
    process = told.run()
    source, other = process.h5(File("/data/in.h5")).read("/a"), process.h5(File("/data/first.h5"), "w")
    other.write("/d", new=True).copy("/d", process.h5(File("/data/out.h5"), "w"), "/copy")
    source.read("/b")
    told.merged(process.run)
    assert told.uses() == {"first.h5#/d": {"in.h5#/a"}, "out.h5#/copy": {"in.h5#/a"}}


def test_a_fork_goes_on_from_where_it_was_made(told: Told) -> None:
    """Also a child that reads no file itself: its memory has the inputs that its parent had read by then."""
    process = told.run()
    source = process.h5(File("/data/in.h5")).read("/a")
    process.h5(File("/data/first.h5"), "w").write("/d", new=True).close()
    source.read("/b")
    child = process.fork()
    source.read("/late")
    child.plain(File("/data/child.txt"), "w").write().close()
    told.merged(process.run)
    made = told.rows("?v provio:madeIn ?p . ?p provio:carriedFrom* ?q . ?q prov:used ?u", "v", "u")
    assert {used for version, used in made if version == "child.txt"} == {"in.h5#/a", "in.h5#/b"}


def test_ranks_that_write_one_dataset(told: Told) -> None:
    """Each rank contributes the product of its own input; the last one made the dataset, and one made another
    dataset alone."""
    file, first = File("/data/out.h5"), told.run("rank0")
    second = first.run.process("rank1")
    out, other = first.h5(file, "w"), second.h5(file, "r+")
    first.h5(File("/data/in0.h5")).read("/x")
    out.write("/d", new=True)
    second.h5(File("/data/in1.h5")).read("/x")
    other.write("/d", new=True)
    other.write("/own", new=True)
    other.close()
    out.close()
    told.merged(first.run)
    found = {name: used for name, used in told.uses().items() if name.partition("#")[0].startswith("out.h5")}
    assert {frozenset(used) for used in found.values()} == {frozenset({"in0.h5#/x"}), frozenset({"in1.h5#/x"})}
    kept = {pair for pair in told.rows("?n prov:wasRevisionOf ?o", "n", "o") if "#/d" in pair[0]}
    assert len([name for name in found if "#/d" in name]) == 2
    assert kept, found


def test_a_virtual_dataset_shows_its_sources(told: Told) -> None:
    """It maps onto them, and so does its file; a reader has read them, in their versions of that moment."""
    process = told.run()
    source = process.h5(File("/data/in.h5"))
    process.h5(File("/data/v.h5"), "w").create("/v").shows("/v", source, "/x").close()
    process.end()
    told.merged(process.run)
    assert told.rows("?v provio:mapsOnto ?x . ?v prov:wasDerivedFrom ?x", "v", "x") == {
        ("v.h5#/v", "in.h5#/x"),
        ("v.h5", "in.h5"),
    }


def test_who_reads_a_virtual_dataset_uses_its_sources(told: Told) -> None:
    process = told.run()
    virtual, source = process.h5(File("/data/v.h5")), process.h5(File("/data/in.h5"))
    source.plain.read() if source.plain else None
    virtual.shows("/v", source, "/x").read("/v")
    process.h5(File("/data/out.h5"), "w").write("/d", new=True)
    told.merged(process.run)
    assert told.uses() == {"out.h5#/d": {"v.h5#/v", "in.h5#/x"}}


def test_links_are_names(told: Told) -> None:
    """They stand for their targets, in this file or another; lineage is that of the object."""
    process = told.run()
    other = process.h5(File("/data/sub/other.h5")).read("/x")
    out = process.h5(File("/data/out.h5"), "w").write("/g/d", new=True)
    out.link("/soft", "g/d").link("/g/up", "../soft").link("/outside", "/x", "sub/other.h5")
    out.close()
    other.close()
    told.merged(process.run)
    assert told.rows("?l provio:leadsTo ?o", "l", "o") == {
        ("out.h5#/soft", "out.h5#/g/d"),
        ("out.h5#/g/up", "out.h5#/soft"),
        ("out.h5#/outside", "other.h5#/x"),
    }
    assert told.uses() == {"out.h5#/g/d": {"other.h5#/x"}}


def test_without_the_preload_the_library_s_word_stands_for_the_file_too(told: Told) -> None:
    """The driver's opening was not observed: the version comes from the objects that were read in other files."""
    process = told.run()
    process.h5(File("/data/in.h5"), seen=False).read("/a").close()
    process.h5(File("/data/out.h5"), "w", seen=False).write("/b", new=True).close()
    told.merged(process.run)
    assert told.uses() == {"out.h5#/b": {"in.h5#/a"}}
    files = told.rows("?v prov:wasGeneratedBy/prov:used ?u", "v", "u")
    assert ("out.h5", "in.h5") in files


@pytest.mark.parametrize("runs", [1, 2])
def test_data_through_a_pipe(told: Told, runs: int) -> None:
    """A finer phase uses the data in the pipe at that moment, within a run and between two."""
    run = told.run("producer").run
    writer, reader = run.processes[0], run.process("consumer")
    other = Run(told.home, 2)
    if runs == 2:
        run.processes.pop()
        other.now, other.start = run.now, run.start
        reader = other.process("consumer")
    pipe = ':device "0:12" ; :inode 77 ; :birthNs 0 ; :mtimeNs 0 ; :ctimeNs 0 ; :size 0'
    writer.h5(File("/data/in.h5")).read("/a")
    for process, flags in ((writer, 1), (reader, 0)):
        process.say(
            f'<../o90> a :Pipe ; {pipe} ; :flags {flags} ; :openedNs {run.now} ; :openApi "pipe" ; :openElapsed 5'
        )
    at, later = run.tick(), run.tick()
    other.now = max(other.now, run.now)
    times = (
        f":writes {1:016} ; :writeBytes {9:016} ; :writeElapsed {1:016} ; :lastWrite {at:016} ; :firstWrite {at:016}"
    )
    writer.say(f'<a90> a :Access ; :object <../o90> ; :writeApi "write" ; {times}')
    times = (
        f":reads {1:016} ; :readBytes {9:016} ; :readElapsed {1:016} ; :lastRead {later:016} ; :firstRead {later:016}"
    )
    reader.say(f'<a90> a :Access ; :object <../o90> ; :readApi "read" ; {times}')
    reader.h5(File("/data/out.h5"), "w").write("/d", new=True).close()
    told.merged(run, *([other] if runs == 2 else []))
    found = told.rows("?d prov:wasGeneratedBy/prov:used ?s . ?s a provio:Pipe ; provio:madeIn/prov:used ?u", "d", "u")
    assert {pair for pair in found if "#" in pair[0]} == {("out.h5#/d", "in.h5#/a")}


def test_the_package_prov_reads_it_all(told: Told) -> None:
    """Every record and attribute of objects, finer phases, copies, links and virtual datasets."""
    process = told.run()
    source, out = process.h5(File("/data/in.h5")), process.h5(File("/data/out.h5"), "w")
    source.read("/a").copy("/b", out, "/copy")
    out.write("/a", new=True).write("/a", "units", new=True).link("/link", "/a")
    source.read("/c")
    out.write("/v", new=True).shows("/v", source, "/a").move("/a", "/g")
    out.close()
    process.run.write()
    trace = read_run(process.run.folder)
    text = "".join(partitions.prepare(Partitions(trace), Config()).pieces)
    graph = ox.NamedNode(bundle_iri(trace.iri))
    quads = {ox.Quad(*quad.triple, graph) for quad in ox.parse(text, format=ox.RdfFormat.N_TRIPLES)}
    assert lost(set(implied.quads(quads)), "trig") == (set(), set())


@pytest.mark.integration
def test_an_object_and_an_operation_take_few_triples(told: Told) -> None:
    """At most 14 each, counting all statements about either: five hundred are read, made and written."""
    process = told.run()
    source, out = process.h5(File("/data/in.h5")), process.h5(File("/data/out.h5"), "w")
    for number in range(250):
        source.read(f"/g/{number}")
        out.write(f"/g/{number}", new=True)
    told.merged(process.run)
    of_objects = 'FILTER(CONTAINS(STR(?o), "#/g/"))'
    rows = list(
        StoreReader(told.home).rows(f"""{PREFIXES} SELECT (COUNT(*) AS ?n) {{ {{ SELECT DISTINCT ?s ?p ?x {{
        {{ ?o ?how ?io . ?io provio:api ?api . ?io ?p ?x . BIND(?io AS ?s) {of_objects} }} UNION
        {{ ?o ?p ?x . BIND(?o AS ?s) {of_objects} }} UNION {{ ?s ?p ?o . BIND(?o AS ?x) {of_objects} }} }} }} }}""")
    )
    assert int(rows[0]["n"]) / (250 * 3) <= 14
