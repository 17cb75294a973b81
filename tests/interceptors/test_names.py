"""File names of any bytes are recorded, merged, and found by `provio lineage`."""

from __future__ import annotations

import json
import os

import pytest
from conftest import Project

from provio.lineage.identity import domain_segment

NAMES = {
    "space": b"two words",
    "quotes": b"a \"double\" and 'single'",
    "newline": b"first\nsecond",
    "brackets": b"<script>alert(1)</script>".replace(b"/", b""),
    "percent": b"100%25 %",
    "hash": b"a#b?c",
    "backslash": b"back\\slash\\n",
    "utf8": "naïve – 数据".encode(),
    "latin1": b"caf\xe9 \xff",
    "escape": b"\x1b[31mred\x07",
    "braces": b"{x}|^`",
    "dash": b"-n",
}


@pytest.mark.parametrize("kind", sorted(NAMES))
@pytest.mark.integration
def test_a_name_is_found_again(project: Project, kind: str) -> None:
    """Read and written under a hostile name: both ends of the lineage are found by it."""
    name = NAMES[kind]
    source, product = os.fsencode(project.path) + b"/" + name, b"./" + name + b".out"
    with open(source, "wb") as file:
        file.write(b"1")
    project.watch("cp", source, product)
    found = json.loads(project.provio("lineage", product, "--as", "json").stdout)
    paths = {node["path"] for node in found["nodes"] if node["type"] == "FileVersion"}
    assert paths == {p.decode("utf-8", "replace") for p in (source, source + b".out")}
    assert not found["gaps"]
    tree = project.provio("lineage", product).stdout
    assert "\x1b" not in tree


@pytest.mark.integration
def test_a_path_of_4000_bytes(project: Project) -> None:
    """The longest possible paths."""
    folder = project.path
    while len(os.fsencode(folder)) < 3800:
        folder = folder / ("d" * 150)
        os.mkdir(folder)
    deep = os.fsencode(folder)
    source = deep + b"/" + b"s" * (3999 - len(deep))
    with open(source, "wb") as file:
        file.write(b"1")
    assert len(source) == 4000
    project.watch("cp", source, "x")
    assert project.data("x") == {os.path.relpath(os.fsdecode(source), project.path)}
    project.provio("lineage", "--forward", source)


def test_a_tilde_in_the_name_of_a_storage_domain_is_encoded() -> None:
    """The part of a version's IRI after the first `~` is one process's part of it, for any name of the mount."""
    assert domain_segment("server:/~ada") == "server%3A%2F%7Eada"
