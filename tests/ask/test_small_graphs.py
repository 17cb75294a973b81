"""Walks, lineages and descriptions of nodes in graphs of a few statements: Turtle in, whole results out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path

import pyoxigraph as ox
import pytest

from provio.ask import bulk_fetch, content, nodes, stale, walk
from provio.ask.code_ties import tied_by_code
from provio.ask.document import Lineage, Node, Via
from provio.ask.gaps import gaps
from provio.ask.lineage import Scope, _dead_ends, answer, leveled, lineage
from provio.ask.member_origins import Origins
from provio.ask.paths import Ways, each
from provio.ask.target import Target, Targets
from provio.ask.version_names import Names, _Move
from provio.ask.walk import ALTERNATE, GENERATED, USED, Nodes, Walk, follow
from provio.ask.walk_members import MemberWays
from provio.base.vocab import NS, PROV, local_name
from provio.render import tree
from provio.store import Reader
from provio.store.embedded.reader import OneGraphStore
from provio.store.statements import Lists

EXPECTED = Path(__file__).parent / "whole"
BASE = "https://w3id.org/provio/"
RUN = BASE + "run/r1/node/"
EARLIER = "5.1.1.10~node.2.a~phase.0"  # the contribution of an earlier phase to a version
HEAD = f"""@prefix : <{NS}> . @prefix prov: <{PROV}> . @prefix v: <{BASE}version/d/> . @prefix pipe: <{BASE}pipe/> .
@prefix r: <{RUN}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""


def no_lists() -> Lists:
    raise AssertionError("A question about all runs reads no lists.")


def graph(text: str) -> OneGraphStore:
    """A store of these statements."""
    store = ox.Store()
    store.load((HEAD + text).encode(), format=ox.RdfFormat.TURTLE, base_iri=BASE)
    return OneGraphStore(store, no_lists)


def short(iri: str) -> str:
    """An IRI without its first part."""
    for start, name in ((BASE + "version/d/", ""), (RUN, ""), (BASE, ""), (NS, ""), (PROV, "")):
        if iri.startswith(start):
            return name + iri.removeprefix(start)
    return iri


def phase(process: str, number: int = 0) -> str:
    """The name of a phase in Turtle."""
    return f"<{RUN}{process}.a/phase/{number}>"


REPLIES = f"""
v:1.1.1.10 a :FileVersion ; prov:wasGeneratedBy {phase("1")} .
{phase("1")} a :Phase ; prov:used pipe:1, pipe:2, v:2.1.1.10, v:5.1.1.10 ; :usedAsNoise v:3.1.1.10 .
pipe:1 a :Pipe ; :noise true ; prov:wasGeneratedBy {phase("2")} .
{phase("2")} a :Phase ; prov:used v:4.1.1.10 .
pipe:2 a :Pipe ; prov:wasGeneratedBy {phase("3")} .
{phase("3")} a :Phase ; prov:used v:4.1.1.11 .
v:2.1.1.10 a :FileVersion ; :noise true ; prov:wasGeneratedBy {phase("4")} .
{phase("4")} a :Phase ; prov:used v:4.1.1.12 .
"""


@pytest.mark.parametrize("everything", [False, True])
def test_a_walk_ends_at_replies_of_system_programs(everything: bool) -> None:
    """At pipes that are marked as noise; it goes on from other pipes and from files."""
    walk = follow(graph(REPLIES), [BASE + "version/d/1.1.1.10"], everything=everything)
    found = {"1.1.1.10": 0, "2.1.1.10": 1, "3.1.1.10": 1, "5.1.1.10": 1, "pipe/1": 1, "pipe/2": 1}
    found |= {"4.1.1.11": 2, "4.1.1.12": 2} | ({"4.1.1.10": 2} if everything else {})
    assert {short(iri): depth for iri, depth in walk.entities.items()} == found
    phases = {f"{number}.a/phase/0" for number in ("1", "2", "3", "4") if everything or number != "2"}
    assert {*map(short, walk.activities)} == phases
    assert (walk.level, [*map(short, walk.starts)]) == (3, ["1.1.1.10"])


def test_the_replies_of_system_programs_are_hidden() -> None:
    """They, their makers and system files are not shown, but counted; with everything, all are shown."""
    found = []
    for scope in (Scope(), Scope(everything=True), Scope(depth=1), Scope(via="data", depth=2)):
        document = lineage(graph(REPLIES), [Target(BASE + "version/d/1.1.1.10")], scope)
        names = [f"{short(node['iri']).replace('.a/phase/0', '')}/{node.get('depth')}" for node in document["nodes"]]
        found.append((" ".join(sorted(names)), len(document["edges"]), document["hidden"], document["control"]))
    reduced = "1.1.1.10/0 1/None 2.1.1.10/1 3/None 4.1.1.11/2 4.1.1.12/2 4/None 5.1.1.10/1 pipe/2/1", 8, 2, 0
    every = "2/None 3.1.1.10/1 3/None 4.1.1.10/2 4.1.1.11/2 4.1.1.12/2 4/None 5.1.1.10/1 pipe/1/1 pipe/2/1", 12, 0, 0
    every = "1.1.1.10/0 1/None 2.1.1.10/1 " + every[0], *every[1:]
    near = "1.1.1.10/0 1/None 3/None 4.1.1.11/1 5.1.1.10/1 pipe/2/1", 5, 3, 0  # a pipe is no step of its own
    assert found == [reduced, every, near, reduced]


DEAD = [
    # steps (entities have small letters), the phases with leaves, the nodes that are not shown, the dead phases
    ("xA Ay", "", "", ""),
    ("xA AB", "", "", "B"),
    ("xA AB BC", "", "", "BC"),
    ("xA Ay AB BC BD", "", "", "BCD"),
    ("xA AB BC By", "", "", "C"),
    ("xA AB BC", "C", "", ""),
    ("xA AB BC", "B", "", "C"),
    ("xA AB By", "", "y", "B"),
    ("xA AB By yC", "", "x", ""),
    ("xA AB", "", "x", "AB"),
    ("xA xB AB", "", "", ""),
    ("xA xD AB DB BC", "", "", "BC"),
    ("xA AB DB BC Dy", "", "", "BC"),
    ("xA AB AC BD CD", "", "", "BCD"),
]


@pytest.mark.parametrize(("steps", "leaves", "hidden", "dead"), DEAD)
def test_phases_that_lead_to_nothing(steps: str, leaves: str, hidden: str, dead: str) -> None:
    """Unless a shown entity leads to them."""
    walk = Walk(["x"], False, known=Nodes(graph("")))
    letters = {*steps.replace(" ", "")}
    walk.activities = {one for one in letters if one.isupper()}
    walk.entities = dict.fromkeys(letters - walk.activities, 1)
    node: Node = {"iri": "leaf", "type": "FileVersion", "label": "leaf"}
    walk.leaves = {one: {"leaf": node} if one in leaves else {} for one in walk.activities if one in leaves + "A"}
    pairs = [(one[0], one[1], 0) for one in steps.split()]
    assert _dead_ends(walk, pairs, letters - {*hidden}) == {*dead}


def answers(reader: Reader, text: str, **options: object) -> dict[str, object]:
    """The answer to a question about one version."""
    iri = BASE + "version/d/" + text
    every: dict[str, object] = {"forward": False, "depth": None, "via": "carried", "everything": False, "code": False}
    every |= {"until": (), "level": None, **options}
    return {**answer(Targets(reader, [Target(iri, None, "/d/x")], ["/d/x"]), every, roots=False, stale=False)}


def test_an_answer_states_its_time_while_runs_are_in_progress() -> None:
    """As the reader states it; else it has none."""
    reader = graph("v:1.1.1.10 a :FileVersion .")
    node = {
        "iri": BASE + "version/d/1.1.1.10", "type": "FileVersion", "label": "x", "path": "/d/x", "via": "data",
        "depth": 0, "size": 10, "modified": "1970-01-01T00:00:00.000000Z",
    }  # fmt: skip
    expected = {
        "target": node["iri"], "nodes": [node], "edges": [], "gaps": [], "hidden": 0, "control": 0,
        "direction": "backward",
    }  # fmt: skip
    assert answers(reader, "1.1.1.10") == expected
    reader.as_of = "as of now"
    assert answers(reader, "1.1.1.10") == {**expected, "asOf": "as of now"}
    assert answers(reader, "1.1.1.10", forward=True) == {**expected, "asOf": "as of now", "direction": "forward"}


WITHIN = f"""
v:1.1.1.10 a :FileVersion ; :format "HDF5" ; prov:wasGeneratedBy {phase("1")} ;
    prov:hadMember <version/d/1.1.1.10#/g>, <version/d/1.1.1.10#/a>, <version/d/1.1.1.10#/h> .
<version/d/1.1.1.10#/g> a :Group ; prov:hadMember <version/d/1.1.1.10#/g/x> .
<version/d/1.1.1.10#/h> a :Group ; prov:hadMember <version/d/1.1.1.10#/h/t> .
<version/d/1.1.1.10#/h/t> a :Datatype ; prov:wasGeneratedBy {phase("1")} .
<version/d/1.1.1.10#/g/x> a :Dataset ; prov:wasGeneratedBy {phase("1")} .
<version/d/1.1.1.10#/a> a :Dataset ; prov:wasGeneratedBy {phase("1")} .
{phase("1")} a :Phase ; prov:used v:9.1.1.10 .
v:2.1.1.10 a :FileVersion ; :format "HDF5" ; prov:wasGeneratedBy {phase("2")} ;
    prov:hadMember <version/d/2.1.1.10#/k>, <version/d/2.1.1.10#/l>, <version/d/2.1.1.10#/n> .
<version/d/2.1.1.10#/k> a :Group ; prov:wasGeneratedBy <{RUN}2.a/copy/1> .
<{RUN}2.a/copy/1> a :Copy ; prov:used <version/d/1.1.1.10#/g> .
<version/d/2.1.1.10#/l> a :NamedLink ; :leadsTo <version/d/2.1.1.10#/n> .
<version/d/2.1.1.10#/n> a :Dataset ; prov:wasDerivedFrom <version/d/1.1.1.10#/a> .
v:3.1.1.10 a :FileVersion ; prov:wasGeneratedBy <{RUN}3.a/copy/1> .
<{RUN}3.a/copy/1> a :Copy ; prov:used v:2.1.1.10 .
v:4.1.1.10 a :FileVersion ; prov:alternateOf v:3.1.1.10 .
{phase("4")} a :Phase ; prov:used v:4.1.1.10 .
v:5.1.1.10 a :FileVersion ; prov:wasGeneratedBy {phase("4")} .
v:2.2.1.10 a :FileVersion ; :format "HDF5" ; prov:wasRevisionOf v:2.1.1.10 ; prov:wasGeneratedBy {phase("5")} ;
    prov:hadMember <version/d/2.2.1.10#/m> ; :without <version/d/2.1.1.10#/k> .
<version/d/2.2.1.10#/m> a :Group ; prov:wasDerivedFrom <version/d/2.1.1.10#/k> .
{phase("6")} a :Phase ; prov:used <version/d/2.2.1.10#/m/x>, <version/d/2.2.1.10#/n>, v:2.2.1.10 .
<version/d/2.2.1.10#/n> a :Dataset .
<version/d/2.2.1.10#/m/x> a :Dataset .
v:6.1.1.10 a :FileVersion ; prov:wasGeneratedBy {phase("6")} .
v:2.3.1.10 a :FileVersion ; :format "HDF5" ; prov:wasRevisionOf v:2.2.1.10 ; prov:wasGeneratedBy {phase("7")} .
"""


def members(reader: Reader) -> Iterator[str]:
    """The origins and the later forms of versions and objects, and the edges of the walks from them."""
    rows = reader.rows("SELECT DISTINCT ?s { ?s ?p ?o }")
    for iri in sorted(row["s"] for row in rows if "/version/" in row["s"]):
        own = Origins(reader, Nodes(reader))
        kinds = {
            "sources": own.sources(iri) if "#" in iri else own.of_version(iri),
            "origins": own.origins(iri) if "#" in iri else (),
            "parts": own.parts(iri), "contents": own.contents(iri), "moved in": own.moved_in(iri),
            "later": own.later(iri) if "#" in iri else own.later_versions(iri),
        }  # fmt: skip
        yield f"{short(iri)}{' stated' if own.stated(iri) else ''}{' group' if own.is_group(iri) else ''}"
        for kind, found in kinds.items():
            if names := " ".join(map(short, sorted(found or ()))):
                yield f"  {kind}: {names}"
        for forward in (False, True):
            walk = follow(reader, [iri], forward=forward, ways_of=MemberWays)
            edges = sorted(f"{short(one)} {short(word)} {short(other)}" for one, word, other in walk.edges)
            yield f"  {'forward' if forward else 'backward'}: {', '.join(edges)}"


def test_objects() -> None:
    """Objects that were made, copied, moved and linked in versions that were copied, updated and have two keys.

    `whole/members.txt` has the expected lines.
    """
    assert [*members(graph(WITHIN))] == (EXPECTED / "members.txt").read_text(encoding="utf-8").splitlines()


DESCRIBED = f"""
v:1.1.1.10 a :FileVersion ; prov:specializationOf <file://d/1> .
<file://d/1> a :File ; :path "/d/one" .
v:2.1.1.10 a :FileVersion ; prov:specializationOf <file://d/2>, <file://d/2b> .
<file://d/2> a :File ; :path "/d/two", "/d/a/three" ; :size 5 .
<file://d/2b> a :File ; :path "/d/z" .
v:3.1.1.10 a :FileVersion ; prov:specializationOf <file://d/3> .
<file://d/3> a :File ; :pathEncoded "/d/%FFx" .
<version/d/1.1.1.10#/g/x> a :Dataset .
<version/d/1.1.1.10#/g/x@units> a :Attribute .
<version/d/3.1.1.10#/g%2F> a :Dataset .
<version/d/1.1.1.10#/o%FF> a :Dataset ; :pathEncoded "/o%FF" .
{phase("1")} a :Phase ; :partOf <{RUN}1.a/>, <{RUN}1.a/phase/1> ; prov:startedAtTime "t1" .
{phase("1")} prov:endedAtTime "t3", "t2" .
<{RUN}1.a/> a :Process ; :argv "job x" ; :pid 7 ; :host "node" ; :cwd "/d" ; :exitCode 0 ; :rank 3 .
<{RUN}1.a/phase/1/0> a :Phase ; :partOf <{RUN}1.a/phase/1> .
pipe:1 a :Pipe .
<socket/1> a :Socket .
<entity/1> a :DataObject ; :name "table" ; :kind "sql" .
<entity/2> a :DataObject ; :name "table" ; :version 3 .
<entity/3> a :DataObject ; rdfs:label "second", "first" .
<entity/4> a :DataObject ; :version 4 .
<entity/5/> a :DataObject .
<configuration/1> a :Configuration ; :name "args" ; :version 2 ; prov:hadMember <setting/1>, <setting/2> .
<setting/1> :name "rate" ; :value 0.5 .
<setting/2> :name "size" ; :value 3 .
"""
UNKNOWN = (
    "version/d/9.1.1.10", "version/d/9.1.1.10#/a", "version/d/9.1.1.10#/a@b", "pipe/9", "socket/9", "entity/9",
    "version/d/odd", "run/r1/node/9.a/phase/1", "run/r1/node/9.a/phase/1/2", "run/r1/node/9.a/odd/1",
)  # fmt: skip


def test_descriptions() -> None:
    """Of each kind of node, and of nodes that no queried graph describes.

    `whole/descriptions.txt` has the expected lines.
    """
    reader = graph(DESCRIBED)
    every = {row["s"] for row in reader.rows("SELECT DISTINCT ?s { ?s a ?class }")} | {BASE + one for one in UNKNOWN}
    found = []
    for node in sorted(nodes.describe(reader, every), key=nodes.order):
        facts = ", ".join(f"{key} {value!r}" for key, value in sorted(node.items()) if key != "iri")
        found.append(f"{short(node['iri'])}: {facts.replace(BASE, '')}")
        assert nodes.describe(reader, {node["iri"]}) == [node]
    assert found == (EXPECTED / "descriptions.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("count", "length", "text"),
    [
        (0, 1, "args"), (2, 1, "args: s0 v, s1 v"), (8, 1, "args: " + ", ".join(f"s{n} v" for n in range(8))),
        (9, 1, "args: " + ", ".join(f"s{n} v" for n in range(8)) + " …"), (1, 71, "args: s0 " + "v" * 71),
        (1, 72, "args: s0 " + "v" * 70 + "…"),
        (9, 20, "args: " + f"s0 {'v' * 20}, s1 {'v' * 20} …"),
    ],
)  # fmt: skip
def test_the_summary_of_a_configuration(count: int, length: int, text: str) -> None:
    """The first eight settings, as many as fit on a line of 80 columns; an ellipsis where something is omitted."""
    settings = "".join(
        f'<configuration/1> prov:hadMember <s/{n}> . <s/{n}> :name "s{n}" ; :value "{"v" * length}" .\n'
        for n in range(count)
    )
    assert nodes.configuration_summary(graph(settings), BASE + "configuration/1", "args") == text


def test_gaps_near_what_is_shown() -> None:
    """About a shown node or leaf, about its process or run, or about the file of an object; of no others."""
    about = (
        f"{RUN}1.a/phase/0", f"{RUN}2.a/", f"{RUN}3.a", f"{BASE}run/r1", f"{BASE}run/r2", f"{BASE}version/d/1.1.1.1",
        f"{BASE}version/d/1.1.1.10", f"{BASE}version/d/2.1.1.10", f"{BASE}run/r", f"{RUN}4.a",
        f"{BASE}version/d/2.1.1.1",
    )  # fmt: skip
    reader = graph(
        "".join(f'<gap/{n:02}> a :Gap ; :about <{iri}> ; :reason "why {n}" .\n' for n, iri in enumerate(about))
    )
    shown = {f"{RUN}1.a/phase/0", f"{RUN}2.a/phase/0", f"{RUN}3.a/phase/1", f"{BASE}version/d/1.1.1.10#/a"}
    found = [(gap["iri"][-2:], short(gap["about"]), gap["reason"]) for gap in gaps(reader, shown, {about[7]})]
    assert found == [
        ("00", "1.a/phase/0", "why 0"), ("01", "2.a/phase/0", "why 1"), ("02", "3.a/phase/1", "why 2"),
        ("03", "1.a/phase/0", "why 3"), ("06", "1.1.1.10#/a", "why 6"), ("07", "2.1.1.10", "why 7"),
    ]  # fmt: skip


def files(*versions: str) -> str:
    """Return the statements of one version each of several files; the first part of its name is that of the file."""
    return "".join(
        f"v:{version} a :FileVersion ; prov:specializationOf <file://d/{n}> .\n"
        f'<file://d/{n}> a :File ; :path "/d/f{n}" .\n'
        for version in versions
        for n in [version.partition(".")[0]]
    )


LEAVES = (
    files(*(f"{n}.1.1.10" for n in range(1, 12)))
    + f"""
v:1.1.1.10 prov:wasGeneratedBy {phase("1", 1)} .
{phase("1", 1)} a :Phase ; :continuedFrom {phase("1")} ; prov:used v:2.1.1.10, v:7.1.1.10 ; :launchedBy {phase("2")} .
{phase("1")} a :Phase ; prov:used v:3.1.1.10 .
{phase("1")} :carriedFrom {phase("5")} .
{phase("5")} a :Phase ; prov:used v:4.1.1.10, v:9.1.1.10 .
{phase("2")} a :Phase ; prov:used v:3.1.1.10, v:4.1.1.10, v:5.1.1.10, v:10.1.1.10 ; :usedAsNoise v:11.1.1.10 .
v:5.1.1.10 prov:wasGeneratedBy {phase("3")} .
v:7.1.1.10 prov:wasGeneratedBy {phase("4")} .
{phase("3")} a :Phase ; prov:used v:2.1.1.10, v:6.1.1.10 .
{phase("4")} a :Phase ; prov:used v:2.1.1.10, v:4.1.1.10, v:8.1.1.10 .
"""
)


def letter(iri: str) -> str:
    """A number, with a capital for a phase."""
    return f"{' P' if '/phase/' in iri else 'f'}{short(iri).partition('.')[0]}"


VIA: tuple[Via, ...] = "data", "carried", "control"


def leaves() -> Iterator[str]:
    """The files and the edges of a lineage, by the weakest tie and the depth, and the numbers of the others."""
    for via, depth in product(VIA, (1, 2, None)):
        document = lineage(graph(LEAVES), [Target(BASE + "version/d/1.1.1.10")], Scope(via=via, depth=depth))
        files = [f"{node['label']}/{node['depth']}/{node['via']}" for node in document["nodes"] if "depth" in node]
        edges = [f"{letter(edge['subject'])}{letter(edge['object'])}" for edge in document["edges"]]
        yield f"{via} {depth}: {' '.join(sorted(files))}; {document['hidden']} hidden, {document['control']} control"
        yield "  " + " ".join(sorted(edges))


@pytest.mark.parametrize("many", [False, True])
def test_leaves(many: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has its strongest tie and smallest depth, whether the inputs of activities are read at once or one by
    one.

    `whole/leaves.txt` has the expected lines.
    """
    if many:
        monkeypatch.setattr(walk, "MANY", -1)
        monkeypatch.setattr(bulk_fetch, "MOST_VERSIONS", 100)
    assert [*leaves()] == (EXPECTED / "leaves.txt").read_text(encoding="utf-8").splitlines()


PROPERTIES = {
    "1.a/phase/1 type": "ns#Phase",
    "1.a/phase/1 used": "2.1.1.10 7.1.1.10",
    "1.a/phase/1 continuedFrom": "1.a/phase/0",
    "1.a/phase/1 launchedBy": "2.a/phase/0",
    "3.a/phase/0 type": "ns#Phase",
    "3.a/phase/0 used": "2.1.1.10 6.1.1.10",
    "1.1.1.10 type": "ns#FileVersion",
    "1.1.1.10 specializationOf": "file://d/1",
    "1.1.1.10 wasGeneratedBy": "1.a/phase/1",
    "1.1.1.10 modified": "1970-01-01T00:00:00.000000Z",
    "1.1.1.10 size": "10",
    "2.1.1.10 type": "ns#FileVersion",
    "2.1.1.10 specializationOf": "file://d/2",
    "2.1.1.10 modified": "1970-01-01T00:00:00.000000Z",
    "2.1.1.10 size": "10",
    "5.1.1.10 type": "ns#FileVersion",
    "5.1.1.10 specializationOf": "file://d/5",
    "5.1.1.10 wasGeneratedBy": "3.a/phase/0",
    "5.1.1.10 modified": "1970-01-01T00:00:00.000000Z",
    "5.1.1.10 size": "10",
}


@pytest.mark.parametrize("without", [(), (USED,), (NS + "path", PROV + "wasGeneratedBy")])
@pytest.mark.parametrize(("few", "many", "bulk"), [(5, 0, False), (4, 2, True), (4, 3, False), (4, 5, False)])
def test_properties(few: int, many: int, bulk: bool, without: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same properties are read, node by node, by queries and in bulk, which also reads the files of versions."""
    names = [f"version/d/{n}.1.1.10" for n in (1, 2, 5)] + ["run/r1/node/1.a/phase/1", "run/r1/node/3.a/phase/0"]
    monkeypatch.setattr(walk, "FEW", few)
    monkeypatch.setattr(walk, "MANY", many)
    known = Nodes(graph(LEAVES), without)
    assert known.of([BASE + one for one in names]) is known.properties
    found = {
        f"{short(iri)} {local_name(word)}": " ".join(sorted(map(short, values)))
        for iri, row in known.properties.items()
        for word, values in row.items()
    }
    omitted = [*map(local_name, without)] if few == 4 or without == (USED,) else []  # a look-up reads all but `used`
    expected = {key: value for key, value in PROPERTIES.items() if key.partition(" ")[2] not in omitted}
    if bulk and "path" not in omitted:
        expected |= {f"file://d/{n} path": f"/d/f{n}" for n in range(1, 12)}
        expected |= {f"file://d/{n} type": "ns#File" for n in range(1, 12)}
    assert found == expected


def test_paths_end_where_they_meet_themselves() -> None:
    """A version that its own maker read is named twice, and leads no further."""
    files = "".join(f'v:{n}.1.1.10 a :FileVersion ; :path "/d/{9 - n}" .\n' for n in (1, 2, 3))
    made = f"v:1.1.1.10 prov:wasGeneratedBy {phase('1')} . {phase('1')} a :Phase ; prov:used v:1.1.1.10, v:2.1.1.10 ."
    document = lineage(graph(files + made), [Target(BASE + "version/d/1.1.1.10")], Scope())
    ways = [[short(iri) for iri in way] for way in islice(each(Ways(Lineage(document))), 3)]
    assert ways == [["1.1.1.10", "1.a/phase/0", "2.1.1.10"], ["1.1.1.10", "1.a/phase/0", "1.1.1.10"]]


NAMED = f"""
v:1.1.1.10 a :FileVersion ; prov:specializationOf <file://d/1>, <file://d/2> ; :path "/d/two" ; :modified "t1" .
v:1.1.1.10 :wasModifiedBy <{RUN}1.a/io/1>, <{RUN}1.a/io/2> .
<file://d/1> a :File ; :path "/d/one" .
<file://d/2> a :File ; :path "/d/two" .
<{RUN}1.a/io/1> prov:startedAtTime "t2" ; :from "/d/one" ; :to "/d/two" .
<{RUN}1.a/io/2> prov:startedAtTime "t1" ; :from "/d/zero" ; :to "/d/one" .
v:2.2.1.10 a :FileVersion ; prov:specializationOf <file://d/3> ; :modified "t2" ; :wasModifiedBy <{RUN}1.a/io/2> .
<file://d/3> a :File ; :pathEncoded "/d/%FF" .
v:3.3.1.10 a :FileVersion ; prov:specializationOf <file://d/3> ; :modified "t4" ; prov:alternateOf v:4.4.1.10 .
v:4.4.1.10 a :FileVersion ; prov:specializationOf <file://d/3> ; :modified "t4" .
v:5.5.1.10 a :FileVersion ; prov:specializationOf <file://d/3> ; :modified "t3" ; prov:alternateOf v:4.4.1.10 .
pipe:1 a :Pipe .
"""


def test_names_of_versions() -> None:
    """The last name comes first; moves are read for versions with several names, and alternates over several steps."""
    reader = graph(NAMED)
    names = Names(reader)
    own = {number: f"{BASE}version/d/{number}.{number}.1.10" for number in range(1, 6)}
    names.load([own[1], own[2], own[3], BASE + "pipe/1"])
    moves = [_Move("t1", "r1", "/d/zero", "/d/one"), _Move("t2", "r1", "/d/one", "/d/two")]
    known = {
        own[1]: [("file://d/2", b"/d/two"), ("file://d/1", b"/d/one")], own[2]: [("file://d/3", b"/d/\xff")],
        own[3]: [("file://d/3", b"/d/\xff")], BASE + "pipe/1": [],
    }  # fmt: skip
    same = {own[3], own[4], own[5]}
    assert (names.known, names.alternates) == (known, {own[3]: same})
    assert {version: sorted(found) for version, found in names.moves.items()} == {own[1]: moves}
    names.load([own[1], own[5]])
    assert names.known == {**known, own[5]: [("file://d/3", b"/d/\xff")]}
    assert names.alternates == {own[3]: same, own[5]: same}
    assert {version: sorted(found) for version, found in names.moves.items()} == {own[1]: moves}
    newest = stale._Newest(reader)
    assert [newest.of(f"file://d/{number}") for number in (1, 2, 3, 4, 3)] == [own[1], own[1], own[3], None, own[3]]
    assert newest.known == {"file://d/1": own[1], "file://d/2": own[1], "file://d/3": own[3], "file://d/4": None}


STALE = (
    files(*(f"{n}.{n}.1.10" for n in range(1, 10)))
    + f"""
v:1.1.1.10 prov:wasGeneratedBy {phase("1")} .
{phase("1")} a :Phase ; prov:used v:2.2.1.10, v:3.3.1.10, v:4.4.1.10, pipe:1 ; prov:wasAssociatedWith <program/1> .
{phase("1")} prov:wasAssociatedWith <program/1> .
<program/1> a :Program ; rdfs:label "first" .
<program/2> a :Program ; rdfs:label "second" .
v:4.4.1.10 prov:wasGeneratedBy {phase("2")} .
{phase("2")} a :Phase ; prov:used v:5.5.1.10 ; prov:wasAssociatedWith <program/2> .
pipe:1 a :Pipe ; prov:wasGeneratedBy {phase("3")} .
{phase("3")} a :Phase ; prov:used v:6.6.1.10, v:7.7.1.10 ; prov:wasAssociatedWith <program/2> .
v:3.3.1.10 prov:wasGeneratedBy {phase("4")} .
{phase("4")} a :Phase ; prov:used v:8.8.1.10 ; prov:wasAssociatedWith <program/2> .
<gap/1> a :Gap ; :about {phase("1")} ; :reason "one" .
<gap/2> a :Gap ; :about {phase("4")} ; :reason "two" .
<gap/3> a :Gap ; :about {phase("2")} ; :reason "three" .
"""
)


def stale_part(changed: str, gone: str, *, forward: bool = False) -> tuple[list[str], str, str, str]:
    """The stale products, nodes, gaps and targets, if some files are `changed` or `gone`."""
    reader, start = graph(STALE), BASE + f"version/d/{'5.5' if forward else '1.1'}.1.10"
    now = {f"/d/f{n}".encode(): f"{BASE}version/d/{n}.{n}{n if str(n) in changed else ''}.1.10" for n in range(1, 10)}
    for one in gone:
        del now[f"/d/f{one}".encode()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(content, "current_version", now.get)
        patch.setattr(content, "domain_of", lambda _: "d")
        found = stale.only_stale(reader, lineage(reader, [Target(start)], Scope(forward=forward)))
    reasons = [
        f"{letter(one['product'])} {letter(one['input'])} {one['path']} {one['reason']} "
        f"{short(one.get('present', '-'))} {one.get('recorded', '-')[-8:]}" for one in found["stale"]
    ]  # fmt: skip
    shown = " ".join(node["label"] if node["type"] == "Program" else letter(node["iri"]) for node in found["nodes"])
    gaps = f"{len(found['edges'])} {' '.join(gap['reason'] for gap in found['gaps'])} {found['only']}"
    return reasons, shown, gaps, " ".join(map(letter, found.get("targets", ())))


OLD_5 = ["f4 f5 /d/f5 changed 5.55.1.10 .000000Z", "f1 f4 /d/f4 stale - -"]
STALE_PARTS = [
    ("", "", False, [], "f1", "0 one two three stale"),
    ("1", "1", False, [], "f1", "0 one two three stale"),
    ("2", "", False, ["f1 f2 /d/f2 changed 2.22.1.10 .000000Z"], " P1 f1 f2 first", "3 one two three stale"),
    ("5", "", False, OLD_5, " P1  P2 f1 f4 f5 first second", "6 one two three stale"),
    ("58", "", True, OLD_5, " P1  P2 f5 f4 f1 first second", "6 one three stale"),
    ("8", "3", False, ["f1 f8 /d/f8 changed 8.88.1.10 .000000Z"], " P1  P4 f1 f3 f8 first second",
     "6 one two three stale"),
    ("67", "", False, [f"f1 f{n} /d/f{n} changed {n}.{n}{n}.1.10 .000000Z" for n in (6, 7)],
     " P1  P3 f1 fpipe/1 f6 f7 first second", "7 one two three stale"),
    *(("5", "4", forward, ["f1 f5 /d/f5 changed 5.55.1.10 .000000Z"],
       f" P1  P2 {'f5 f4 f1' if forward else 'f1 f4 f5'} first second",
       f"6 one {'' if forward else 'two '}three stale")
      for forward in (False, True)),
]  # fmt: skip


@pytest.mark.parametrize(("changed", "gone", "forward", "reasons", "shown", "rest"), STALE_PARTS)
def test_stale_parts(changed: str, gone: str, forward: bool, reasons: list[str], shown: str, rest: str) -> None:
    """The paths to stale products with the programs on them, and all gaps."""
    assert stale_part(changed, gone, forward=forward) == (reasons, shown, rest, "")


WORDS = {
    "g": "wasGeneratedBy", "u": "used", "d": "wasDerivedFrom", "a": "alternateOf", "r": "ran", "l": "launchedBy",
    "c": "carriedFrom", "n": "continuedFrom",
}  # fmt: skip
CODE = "xgA Auy Arp AlE Ers Euz ElF Fro pgB Buq BnG Gui BcC Cuj Crk BlD Duh Drt DlH Hru HcK Kuv qae eda mgF agN wgB"
TIED: list[tuple[bool, str, tuple[str, str, str]]] = [
    (False, "xAy", ("BCDEFGHKNaeikopqstu", "BCDEFGHKNaeijkopqstu", "BCDEFGHKNaehijkopqstuv")),
    (False, "xAyB", ("CDEFGHKNaeikopqstu", "CDEFGHKNaeijkopqstu", "CDEFGHKNaehijkopqstuv")),
    (False, "q", ("", "", "")),
    (True, "oF", ("AEmx", "AEmx", "AEmx")),
    (True, "p", ("Ax", "Ax", "Ax")),
    (True, "k", ("ABCpwx", "ABCpwx", "ABCpwx")),
    (True, "v", ("K", "HK", "ABDHKpwx")),
    (True, "a", ("ABepqwx", "ABepqwx", "ABepqwx")),
]


@pytest.mark.parametrize(("forward", "shown", "tied"), TIED)
def test_nodes_tied_by_code(forward: bool, shown: str, tied: tuple[str, str, str]) -> None:
    """Programs, and the origins of their data; processes that only launched others lead to programs alone.

    Capital letters are activities, and the small letter between two nodes is their edge.
    """
    walk = Walk([shown[0]], forward, known=Nodes(graph("")))
    for one in CODE.split():
        walk.edges[one[0], (PROV if one[1] in "guda" else NS) + WORDS[one[1]], one[2]] = None
    found = ["".join(sorted(tied_by_code(walk, {*shown}, limit))) for limit in range(3)]
    assert found == [*tied]


KEYS = f"""
v:1.1.1.10 a :FileVersion ; prov:alternateOf v:2.1.1.10 ; :sameContentAs v:2.1.1.10 .
v:3.1.1.10 a :FileVersion ; prov:alternateOf v:4.1.1.10 .
v:5.1.1.10 a :FileVersion ; prov:wasRevisionOf v:4.1.1.10 ; :sameContentAs v:4.1.1.10 .
v:6.1.1.10 a :FileVersion ; prov:wasGeneratedBy {phase("1")} .
{phase("1")} a :Phase ; :ran v:7.1.1.10 ; prov:used v:7.1.1.10, v:4.1.1.10 .
{phase("2")} a :Phase ; :ranAsNoise v:7.1.1.10 .
<configuration/1> prov:wasRevisionOf <configuration/2> .
<version/d/8.1.1.10#/a> prov:wasDerivedFrom v:4.1.1.10 .
v:7.1.1.10 :mapsOnto v:9.1.1.10 ; :contentFrom v:1.1.1.10 ; prov:wasDerivedFrom v:3.1.1.10 .
"""
FROM_FOUR = " P1 used f4", "f3 alternateOf f4", "f5 wasRevisionOf f4", "f6 wasGeneratedBy  P1"
KEYS_FOUND: list[tuple[int, bool, bool, list[str]]] = [
    (1, True, False, [" P1 used f7", "f6 wasGeneratedBy  P1", "f7 contentFrom f1"]),
    (2, False, False, []),
    (3, True, False, [*FROM_FOUR, "f7 wasDerivedFrom f3"]),
    (4, False, False, ["f3 alternateOf f4"]),
    (4, True, False, [*FROM_FOUR, "f7 wasDerivedFrom f3"]),
    (5, False, False, ["f5 wasRevisionOf f4"]),
    (6, False, False, [" P1 used f4", " P1 used f7", "f6 wasGeneratedBy  P1"]),
    (6, False, True, [" P1 ran f7", " P1 used f4", " P1 used f7", "f6 wasGeneratedBy  P1"]),
    (7, False, False, ["f7 contentFrom f1", "f7 mapsOnto f9", "f7 wasDerivedFrom f3"]),
    (7, True, False, [" P1 used f7", "f6 wasGeneratedBy  P1"]),
    (7, True, True, [" P1 ran f7", " P1 used f7", " P2 ran f7", "f6 wasGeneratedBy  P1"]),
]


@pytest.mark.parametrize(("number", "forward", "code", "edges"), KEYS_FOUND)
@pytest.mark.parametrize("at_once", [0, 1, 1000])
def test_steps(
    number: int, forward: bool, code: bool, edges: list[str], at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between versions by each of their ties, however many alternates the store has; programs only on request."""
    monkeypatch.setattr(walk, "AT_ONCE", at_once)
    found = follow(graph(KEYS), [f"{BASE}version/d/{number}.1.1.10"], forward=forward, code=code, depth=1)
    words = [f"{letter(one)} {local_name(word)} {letter(other)}" for one, word, other in found.edges]
    assert sorted(words) == edges


# A file with set times (2 from 1), which was copied unobserved (3); a log (5) of which two phases wrote a part each.
CONTENTS = f"""
v:1.1.1.10 a :FileVersion ; prov:wasGeneratedBy {phase("1")} . {phase("1")} a :Phase ; prov:used v:4.1.1.10 .
v:2.1.1.10 a :FileVersion ; prov:alternateOf v:1.1.1.10 .
v:3.1.1.10 a :FileVersion ; :contentFrom v:2.1.1.10 .
v:4.1.1.10 a :FileVersion .
v:5.1.1.10 a :FileVersion ; prov:wasGeneratedBy {phase("2", 1)} ; prov:wasRevisionOf <{BASE}version/d/{EARLIER}> .
<{BASE}version/d/{EARLIER}> a :FileVersion ; prov:wasGeneratedBy {phase("2")} .
{phase("2")} a :Phase ; prov:used v:3.1.1.10 .
{phase("2", 1)} a :Phase ; :carriedFrom {phase("2")} ; prov:used v:4.1.1.10 .
"""


@pytest.mark.parametrize(
    ("number", "forward", "depth", "found"),
    [
        (3, False, 1, {3: 0, 2: 0, 1: 0, 4: 1}),
        (5, False, 1, {5: 0, EARLIER: 0, 3: 1, 4: 1}),
        (5, False, None, {5: 0, EARLIER: 0, 3: 1, 4: 1, 2: 1, 1: 1}),
        (1, True, 1, {1: 0, 2: 0, 3: 0, EARLIER: 1, 5: 1}),
        (1, True, None, {1: 0, 2: 0, 3: 0, EARLIER: 1, 5: 1}),
        (4, True, 1, {4: 0, 1: 1, 5: 1}),
    ],
)
def test_another_name_of_a_content_is_no_step(
    number: int, forward: bool, depth: int | None, found: dict[int | str, int]
) -> None:
    """Another key of the same content, and the contribution of an earlier phase of the writer."""
    walked = follow(graph(CONTENTS), [f"{BASE}version/d/{number}.1.1.10"], forward=forward, depth=depth)
    expected = {one if isinstance(one, str) else f"{one}.1.1.10": steps for one, steps in found.items()}
    assert {short(iri): steps for iri, steps in walked.entities.items()} == expected


def test_a_tree_has_the_inputs_of_all_phases_that_wrote_a_file() -> None:
    """Below the file itself, each once."""
    document = lineage(graph(CONTENTS), [Target(BASE + "version/d/5.1.1.10")], Scope(depth=1))
    lines = ["5.1.1.10  fileversion", "│ process", "├─ 3.1.1.10  fileversion", "└─ 4.1.1.10  fileversion"]
    assert tree.render(document).splitlines() == lines


def test_versions_with_other_content() -> None:
    """Equal content alone is no tie between the objects of two versions."""
    own = Origins(reader := graph(KEYS), Nodes(reader))
    names = {number: f"{BASE}version/d/{number}.1.1.10" for number in range(1, 10)}
    before = {number: " ".join(sorted(map(letter, own.of_version(iri)))) for number, iri in names.items()}
    later = {number: " ".join(sorted(map(letter, own.later_versions(iri)))) for number, iri in names.items()}
    nothing = dict.fromkeys(names, "")
    assert before == nothing | {3: "f4", 4: "f3", 5: "f4", 7: "f1"}
    assert later == nothing | {1: "f7", 3: "f4", 4: "f3 f5"}
    assert follow(reader, [names[1]], ways_of=MemberWays).edges == {}
    edges = follow(reader, [names[4]], ways_of=MemberWays).edges
    assert {*edges} == {(names[one], ALTERNATE, names[other]) for one, other in ((3, 4), (4, 3))}


def test_a_revision_of_a_configuration_keeps_nothing() -> None:
    """The walk goes from a configuration to no other."""
    found = follow(graph(KEYS), [BASE + "configuration/1"])
    assert (found.edges, found.entities) == ({}, {BASE + "configuration/1": 0})


def test_the_level_of_targets() -> None:
    """If one is an object, the others stand for their parts; a group stands for its contents."""
    reader = graph(WITHIN)
    targets = [Target(BASE + "version/d/" + one, None, one) for one in ("1.1.1.10", "1.1.1.10#/g", "2.1.1.10#/n")]
    found = []
    for level in (None, "file", "dataset"):
        for some in (targets, targets[:1], targets[1:]):
            request, inside = leveled(Targets(reader, some, [str(one.path) for one in some]), level)
            found.append((inside, " ".join(short(one.iri) for one in request.targets), " ".join(request.texts)))
    file, group, moved = "1.1.1.10", "1.1.1.10#/g", "2.1.1.10#/n"
    every = True, f"{file}#/a {file}#/g/x {file}#/g/x {moved}", f"{file} {file} {group} {moved}"
    objects = True, f"{file}#/g/x {moved}", f"{group} {moved}"
    assert found == [
        every, (False, file, file), objects,
        (False, f"{file} {file} 2.1.1.10", f"{file} {group} {moved}"), (False, file, file),
        (False, f"{file} 2.1.1.10", f"{group} {moved}"),
        every, (True, f"{file}#/a {file}#/g/x", f"{file} {file}"), objects,
    ]  # fmt: skip


def test_noise() -> None:
    """A system file is one that each use marks as one; a version may be marked itself."""
    reader = graph(REPLIES + f"{phase('5')} prov:used v:3.1.1.10 . {phase('6')} :ranAsNoise v:3.1.1.10 .")
    one, marked, unmarked, pipe = (
        f"{BASE}{name}" for name in ("version/d/3.1.1.10", "version/d/2.1.1.10", "version/d/5.1.1.10", "pipe/1")
    )
    first, fifth, sixth = (f"{RUN}{number}.a/phase/0" for number in (1, 5, 6))
    every = {one, marked, unmarked, pipe}
    uses = [(first, USED, one), (first, USED, marked), (first, USED, unmarked), (sixth, NS + "ran", one)]
    assert nodes.noise(reader, every, uses) == {one, marked, pipe}
    assert nodes.noise(reader, every, [*uses, (fifth, USED, one)]) == {marked, pipe}
    assert nodes.noise(reader, every, [(fifth, USED, one), *uses]) == {marked, pipe}
    assert nodes.noise(reader, {marked, unmarked}, [(sixth, USED, one), (first, GENERATED, marked)]) == {marked}
    assert nodes.noise(reader, every, [(sixth, USED, one)]) == {marked, pipe}


def test_alternates_are_in_the_order_of_the_document() -> None:
    """Each of several versions with the same content has the others in the order of the first one's ties."""
    ties = "v:1.1.1.10 prov:alternateOf v:2.1.1.10 . v:2.1.1.10 prov:alternateOf v:3.1.1.10 ."
    document = lineage(graph(ties), [Target(BASE + "version/d/3.1.1.10")], Scope())
    same = {letter(one): [*map(letter, others)] for one, others in Ways(Lineage(document)).same.items()}
    assert same == {"f1": ["f2", "f3"], "f2": ["f1", "f3"], "f3": ["f1", "f2"]}


@pytest.mark.parametrize(
    ("patterns", "files", "unmatched"),
    [
        (("f1",), "f2 f3 f4 f7 f8 f9 x", []),
        (("f7",), "f2 f3 f4 f7 f9 x", []),
        (("f1", "/d/f7", "f8", "f99"), "f2 f3 f4 f7 f9 x", ["f8", "f99"]),
    ],
)
def test_the_ends_of_a_walk(
    patterns: tuple[str, ...], files: str, unmatched: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The walk ends at files that match, but not at the target; patterns without a match are reported."""
    document = answers(graph(LEAVES), "1.1.1.10", until=patterns)
    nodes = document["nodes"]
    assert isinstance(nodes, list)
    assert " ".join(sorted(node["label"] for node in nodes if "depth" in node)) == files
    complaints = capsys.readouterr().err.splitlines()
    assert [line.split()[2].rstrip(":") for line in complaints] == unmatched


def test_a_gap_of_a_run_is_about_its_first_process() -> None:
    """Which process that is does not depend on the digits of process ids, which begin again."""
    reader = graph(f'<gap/0> a :Gap ; :about <{BASE}run/r1> ; :reason "why" .\n')
    host = f"{BASE}run/r1/host/"
    for first, later in (("9998.50.0", "10002.51.0"), ("30000.90.0", "400.1000.0")):
        [gap] = gaps(reader, {f"{host}{first}/phase/0", f"{host}{later}/phase/0"})
        assert gap["about"] == f"{host}{first}/phase/0"
