"""RDF is dear: how many triples a file and an operation on it take in the merged graph of real commands."""

from __future__ import annotations

import sys

import pyoxigraph as ox
import pytest
from conftest import Project
from triples import Count, count

FILES = 200
MOST = 14
NUMBERED = "mkdir {0}; for i in $(seq {1}); do head -c $((i * 7)) /dev/zero > {0}/$i; done"
READ = "import os\nfor name in os.listdir('many'): open('many/' + name).read()"
MAKE = f"import os; os.mkdir('made')\nfor i in range({FILES}): open(f'made/{{i}}', 'w').write('x' * i)"


def counted(project: Project) -> Count:
    """The count of the only run's graph."""
    data = project.provio("export", "last", "--as", "nquads").stdout
    return count({quad.triple for quad in ox.parse(data.encode(), format=ox.RdfFormat.N_QUADS)})


@pytest.mark.parametrize(
    ("command", "operations"),
    [
        pytest.param(["cp", "-r", "many", "copies"], 5, id="cp"),  # open, read; open, write, copy
        pytest.param(["bash", "-c", "cat many/* | cat"], 2, id="cat"),
        pytest.param(["tar", "-cf", "packed", "many"], 2, id="tar"),
        pytest.param([sys.executable, "-c", READ], 2, id="python that reads"),
        pytest.param([sys.executable, "-c", MAKE], 2, id="python that writes"),
    ],
)
@pytest.mark.slow
def test_a_file_and_an_operation_take_few_triples(project: Project, command: list[str], operations: int) -> None:
    """At most 14 for each file and operation, all that the graph says of either being counted."""
    project.sh(NUMBERED.format("many", FILES))
    project.watch(*command)
    found = counted(project)
    assert found.pairs >= FILES * operations - 1  # Python's first file is empty: nothing is written
    assert found.each <= MOST, found


def test_every_triple_of_a_file_and_its_operations_is_counted() -> None:
    """Of a graph that is written out: what mentions the file, its version or an operation; the phase's own does not."""
    head = "@prefix : <https://w3id.org/provio/ns#> . @prefix prov: <http://www.w3.org/ns/prov#> . @base <x:/> .\n"
    graph = """<phase> a :Phase, prov:Activity ; prov:used <version> .  <file> a :File, prov:Entity ; :path "/a" .
        <version> a :FileVersion, prov:Entity ; prov:specializationOf <file> ; :wasReadBy <read> .
        <made> a :FileVersion, prov:Entity ; prov:wasGeneratedBy <copy> .
        <copy> a :Copy, prov:Activity ; prov:used <version> .
        <read> a :Read, prov:Activity ; :partOf <phase> .  <pipe> a :Read, prov:Activity ; :partOf <phase> ."""
    triples = set(ox.parse((head + graph).encode(), format=ox.RdfFormat.TURTLE))
    assert count({quad.triple for quad in triples}) == Count(triples=17, pairs=2)
