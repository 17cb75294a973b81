"""The agents of ranks: which processes act for one, by the names of programs, starters and numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lineage.story import Story

from provio.base.vocab import NS, PROV, RDF, RDFS, XSD
from provio.graph.lines import Graph
from provio.graph.ranks import Ranks
from provio.trace.read import read_run


def named(story: Story) -> None:
    """Two programs that their launcher names, a process that a rank started on another host, and no number."""
    story.process("a", rank=0, worldSize=2, launcher="Slurm", parallelProgram="1.0")
    story.process("b", rank=1, worldSize=2, launcher="Slurm", parallelProgram="1.0")
    story.process("child", rank=0, parallelProgram="1.0", host="far")
    story.process("again", rank=0, worldSize=1, launcher="other", parallelProgram="1.0")
    story.process("c", rank=0, parallelProgram="1.1/x")
    story.process("none", rank="x", parallelProgram="1.0")
    story.process("shell")


def started(story: Story) -> None:
    """Two recorded programs started ranks; of several processes with a pid, the last one before a rank started it."""
    story.process("before", 0, pid=50)
    story.process("mpirun", 5, pid=50, number=1)
    story.process("later", 30, pid=50, number=2)
    story.process("elsewhere", 6, pid=50, host="far")
    story.process("a", 10, pid=60, rank=0, parentPid=50)
    story.process("b", 10, pid=61, rank=1, parentPid=50)
    story.process("same moment", 5, pid=62, rank=2, parentPid=50)
    story.process("of a", 20, pid=63, rank=0, parentPid=60)
    story.process("after", 40, pid=64, rank=0, parentPid=50)


def one_unknown(story: Story) -> None:
    """Ranks that no recorded process started count as one program, as each number is that of one starter."""
    story.process("a", 10, pid=60, rank=0, parentPid=50)
    story.process("b", 10, pid=61, rank=1, parentPid=51)
    story.process("of b", 20, pid=62, rank=1, parentPid=61)
    story.process("later", 20, pid=51)
    story.process("c", 10, rank=1, parallelProgram="p")


def several_unknown(story: Story) -> None:
    """Where a number recurs among ranks of unknown starters, each starter is a program; two pids were used again."""
    story.process("a", 10, pid=60, rank=0, parentPid=50)
    story.process("b", 10, pid=61, rank=0, parentPid=51)
    story.process("c", 10, pid=62, rank=1, parentPid=51)
    story.process("d", 10, pid=63, rank=1, parentPid=64)
    story.process("e", 10, pid=64, rank=2, parentPid=63)


def no_ranks(story: Story) -> None:
    """A run of other processes."""
    story.process("shell")
    story.process("tool", rank="-1")


STORIES: dict[Callable[[Story], None], dict[str, tuple[int, int, str, set[str], str]]] = {
    named: {
        "1.0/0": (0, 2, "Slurm", {"node", "far"}, "a child again"),
        "1.0/1": (1, 2, "Slurm", {"node"}, "b"),
        "1.1%2Fx/0": (0, 0, "", {"node"}, "c"),
    },
    started: {
        "node.50.1/0": (0, 0, "", {"node"}, "a of-a after"),
        "node.50.1/1": (1, 0, "", {"node"}, "b"),
        "node.50.1/2": (2, 0, "", {"node"}, "same-moment"),
    },
    one_unknown: {
        "-/0": (0, 0, "", {"node"}, "a"),
        "-/1": (1, 0, "", {"node"}, "b of-b"),
        "p/1": (1, 0, "", {"node"}, "c"),
    },
    several_unknown: {
        "node.50/0": (0, 0, "", {"node"}, "a"),
        "node.51/0": (0, 0, "", {"node"}, "b"),
        "node.51/1": (1, 0, "", {"node"}, "c"),
        "node.63/1": (1, 0, "", {"node"}, "d"),
        "node.64/2": (2, 0, "", {"node"}, "e"),
    },
    no_ranks: {},
}


@pytest.mark.parametrize("tell", STORIES, ids=lambda one: one.__name__)
def test_the_processes_of_each_rank(tell: Callable[[Story], None], tmp_path: Path) -> None:
    """Each with its number, the number of ranks, its launcher and its hosts."""
    story = Story(tmp_path)
    tell(story)
    trace = read_run(story.write())
    ranks = Ranks(trace)
    names = {one.iri: one.name.replace(" ", "-") for one in story.processes}
    found = {
        iri.removeprefix(f"{trace.iri}/rank/"): (
            one.number,
            one.size,
            one.launcher,
            one.hosts,
            " ".join(name for process, name in names.items() if ranks.of.get(process) == iri),
        )
        for iri, one in ranks.agents.items()
    }
    assert found == STORIES[tell]


def test_the_statements_about_ranks(tmp_path: Path) -> None:
    """The label and the properties that are known, the user, and the programs that act for it."""
    story = Story(tmp_path)
    named(story)
    trace = read_run(story.write())
    ranks, graph = Ranks(trace), Graph()
    for process, program in (("a", "urn:p2"), ("child", "urn:p1"), ("shell", "urn:p3")):
        ranks.acting(next(one.iri for one in story.processes if one.name == process), program)
    assert len([*ranks.add(graph.node, graph.add, "<urn:ada>")]) == 3
    prefixes = {f"{trace.iri}/rank/": "rank:", PROV: "prov:", NS: ":", RDFS: "rdfs:", XSD: "xsd:", RDF: "rdf:"}
    text = "".join(graph.lines)
    for long, short in prefixes.items():
        text = text.replace(long, short)
    assert (
        text
        == """\
<rank:1.0/0> <rdf:type> <:Rank> .
<rank:1.0/0> <rdfs:label> "rank 0 of 2" .
<rank:1.0/0> <:rank> "0"^^<xsd:integer> .
<rank:1.0/0> <:worldSize> "2"^^<xsd:integer> .
<rank:1.0/0> <:launcher> "Slurm" .
<rank:1.0/0> <:host> "far" .
<rank:1.0/0> <:host> "node" .
<rank:1.0/0> <prov:actedOnBehalfOf> <urn:ada> .
<urn:p1> <prov:actedOnBehalfOf> <rank:1.0/0> .
<urn:p2> <prov:actedOnBehalfOf> <rank:1.0/0> .
<rank:1.0/1> <rdf:type> <:Rank> .
<rank:1.0/1> <rdfs:label> "rank 1 of 2" .
<rank:1.0/1> <:rank> "1"^^<xsd:integer> .
<rank:1.0/1> <:worldSize> "2"^^<xsd:integer> .
<rank:1.0/1> <:launcher> "Slurm" .
<rank:1.0/1> <:host> "node" .
<rank:1.0/1> <prov:actedOnBehalfOf> <urn:ada> .
<rank:1.1%2Fx/0> <rdf:type> <:Rank> .
<rank:1.1%2Fx/0> <rdfs:label> "rank 0" .
<rank:1.1%2Fx/0> <:rank> "0"^^<xsd:integer> .
<rank:1.1%2Fx/0> <:host> "node" .
<rank:1.1%2Fx/0> <prov:actedOnBehalfOf> <urn:ada> .
"""
    )
