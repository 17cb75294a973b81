"""The number of triples of a file in the merged graph of real commands."""

from __future__ import annotations

import sys

import pyoxigraph as ox
import pytest
from conftest import Project
from triples import Count, count

from provio.settings.home import Home
from provio.store.embedded.reader import StoreReader

FILES = 200
OTHERS = 250  # triples of system files, which each process reads
NUMBERED = "mkdir {0}; for i in $(seq {1}); do head -c $((i * 7)) /dev/zero > {0}/$i; done"
READ = "import os\nfor name in os.listdir('many'): open('many/' + name).read()"
MAKE = f"import os; os.mkdir('made')\nfor i in range({FILES}): open(f'made/{{i}}', 'w').write('x' * (i + 1))"


def counted(project: Project) -> Count:
    """Return the number of stored statements about the only run."""
    quads = StoreReader(Home(project.path / ".provio")).quads()
    return count({quad.triple for quad in quads})


@pytest.mark.parametrize(
    ("command", "operations", "most"),
    [
        pytest.param(["bash", "-c", "grep -r foo many || true"], 1, 16, id="grep"),
        pytest.param(["bash", "-c", "cat many/* | cat"], 1, 16, id="cat"),
        pytest.param(["tar", "-cf", "packed", "many"], 1, 16, id="tar"),
        pytest.param([sys.executable, "-c", READ], 1, 16, id="python that reads"),
        pytest.param([sys.executable, "-c", MAKE], 1, 17, id="python that writes"),
        pytest.param(["cp", "-r", "many", "copies"], 3, 50, id="cp"),  # a read, a write and a copy of two files
    ],
)
@pytest.mark.integration
def test_a_file_takes_few_triples(project: Project, command: list[str], operations: int, most: int) -> None:
    """Counts everything that the store states about a file, its version and its activities."""
    project.sh(NUMBERED.format("many", FILES))
    project.watch(*command)
    found = counted(project)
    assert found.pairs >= FILES * operations
    assert found.triples <= most * FILES + OTHERS, found


def test_every_triple_of_a_file_and_its_operations_is_counted() -> None:
    """In a written-out graph: all statements that mention the file, its version or an operation, without the phase's
    own."""
    head = "@prefix : <https://w3id.org/provio/ns#> . @prefix prov: <http://www.w3.org/ns/prov#> . @base <x:/> .\n"
    graph = """<phase> a :Phase, prov:Activity ; prov:used <version> .  <file> a :File, prov:Entity ; :path "/a" .
        <version> a :FileVersion, prov:Entity ; prov:specializationOf <file> ; :wasReadBy <read> .
        <made> a :FileVersion, prov:Entity ; prov:wasGeneratedBy <copy> .
        <copy> a :Copy, prov:Activity ; prov:used <version> .
        <read> a :Read, prov:Activity ; :partOf <phase> .  <pipe> a :Read, prov:Activity ; :partOf <phase> ."""
    triples = set(ox.parse((head + graph).encode(), format=ox.RdfFormat.TURTLE))
    assert count({quad.triple for quad in triples}) == Count(triples=17, pairs=2)
