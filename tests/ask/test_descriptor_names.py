"""Answers about a file that was read by the name of a descriptor: /dev/stdin, /dev/fd/5, /proc/self/fd/5."""

from __future__ import annotations

import json

import pytest
from conftest import Project


@pytest.fixture(params=["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
def sorted_file(project: Project, request: pytest.FixtureRequest) -> Project:
    """A project in which `o` was made from `a`, which the caller of provio opened; `a` then changed."""
    (project.path / "a").write_text("1\n")
    with (project.path / "a").open() as file:
        project.provio("run", "--quiet", "--", "sort", request.param, "-o", "o", stdin=file)
    (project.path / "a").write_text("2 lines\nof text\n")
    return project


def test_changed_input_is_stale(sorted_file: Project) -> None:
    """`--stale` names the file behind the descriptor's name."""
    stale = sorted_file.lineage("o", "--stale")["stale"]
    assert [(one["path"], one["reason"]) for one in stale] == [(str(sorted_file.path / "a"), "changed")]


def test_roots_name_the_file(sorted_file: Project) -> None:
    """`--roots` ends at the file, and not at a name of the system."""
    assert sorted_file.files(sorted_file.lineage("o", "--roots"))["data"] == {"a"}


def test_verify_finds_the_file_changed(sorted_file: Project) -> None:
    """`verify` compares the file that was read, under its own name."""
    document = json.loads(sorted_file.provio("verify", "--as", "json", "a", code=None).stdout)
    assert [(one["path"], one["state"]) for one in document["files"]] == [(str(sorted_file.path / "a"), "changed")]
