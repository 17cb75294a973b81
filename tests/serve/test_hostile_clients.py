"""Clients of `provio serve` that send too much, or too slowly: others are answered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Project, new_project
from serve_process import Site, serving

pytest.importorskip("waitress")

FILES = "SELECT DISTINCT ?path { ?file a provio:File ; provio:path ?path FILTER(STRENDS(?path, '.txt')) }"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Project:
    """One file is copied."""
    project = new_project(tmp_path_factory.mktemp("serve"))
    (project.path / "raw.txt").write_text("raw\n")
    project.watch("cp", "raw.txt", "copy.txt")
    return project


@pytest.fixture(scope="module")
def site(recorded: Project) -> Iterator[Site]:
    with serving(recorded, "--timeout", "20") as started:
        yield started


@pytest.mark.slow
@pytest.mark.parametrize("part", ["\\", "'\\", "a.", "(", "FROM <a> ", "?a a prov:Entity ."])
def test_a_megabyte_of_nonsense_is_refused(site: Site, part: str) -> None:
    """Reading it takes no longer than the client waits, a minute; before, it took more."""
    text = "SELECT * { ?a ?service ?b " + part * (1_000_000 // len(part))
    status, said, _ = site.ask("/query", "POST", text, Content_Type="application/sparql-query")
    assert status in (400, 403, 503, 504), said
    assert site.query(FILES)[0] == 200
