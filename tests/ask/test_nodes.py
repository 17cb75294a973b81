"""The nodes of a lineage: facts in names equal those in the store, and both ways of reading give the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime

import pytest
from conftest import Project

from provio.ask.walk import FEW, Nodes
from provio.base.vocab import NS, RDF
from provio.settings.home import Home
from provio.store.embedded.reader import StoreReader

pytestmark = pytest.mark.usefixtures("merged_at_once")


def recorded(project: Project) -> tuple[StoreReader, list[str]]:
    project.sh("echo b > a; ln a other")
    script = "cat a > copy; sort < copy > sorted; cp sorted again; echo x >> again; mv again last"
    project.run(f"{script}; touch -d 2001-01-01 last")
    reader = StoreReader(Home(project.path / ".provio"))
    return reader, sorted({row["s"] for row in reader.rows("SELECT DISTINCT ?s { ?s a ?class }")})


def test_what_a_name_tells_is_what_the_store_says(project: Project) -> None:
    """The class, size and time in the IRI of each version equal those in the store."""
    reader, nodes = recorded(project)
    said = Nodes(reader).of(nodes)
    versions = [iri for iri in nodes if "/version/" in iri]
    assert len(versions) > 5
    for iri in versions:
        stated = {word: value for _, word, value in reader.about([iri])}
        assert NS + "FileVersion" in said[iri][RDF + "type"]
        if NS + "size" in stated:
            assert list(said[iri][NS + "size"]) == [stated[NS + "size"]]
            (told,) = said[iri][NS + "modified"]
            assert datetime.fromisoformat(told) == datetime.fromisoformat(stated[NS + "modified"])


def test_few_nodes_and_many_are_read_alike(project: Project) -> None:
    """A single node has the same properties as in a query for all nodes."""
    reader, nodes = recorded(project)
    together = Nodes(reader).of(nodes)
    assert len(nodes) > FEW
    for iri in nodes:
        alone = Nodes(reader).of([iri])[iri]
        assert {name: set(values) for name, values in alone.items()} == {
            name: set(values) for name, values in together[iri].items()
        }


@pytest.mark.integration
def test_a_long_command_line_is_read_among_many(project: Project) -> None:
    """A hundred and fifty thousand characters of arguments, in more processes than are looked at one by one."""
    project.sh("echo a > a")
    project.run("for n in 1 2 3 4 5 6; do sh -c \"cat a > o$n\" $(printf '%0100d ' $(seq 1500)); done; cat o? > all")
    assert project.data("all") == {"a", *(f"o{number}" for number in range(1, 7))}


@pytest.mark.integration
def test_a_terminal_has_its_name(project: Project, needs: Callable[..., None]) -> None:
    """A terminal is recorded as a connection, and shown as a terminal."""
    needs("script")
    project.sh("echo a > a")
    project.provio("run", "--", "script", "-qc", "cat a", "log")
    document = json.loads(project.answer("lineage", "log", "--as", "json"))
    assert {node["label"] for node in document["nodes"] if node["type"] == "Socket"} == {"terminal"}
