"""A crate has each file of the project that strace saw a build open."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from conftest import new_project

pytestmark = pytest.mark.integration
MAKEFILE = """all: result.txt
result.txt: main table.txt
\t./main < table.txt | sort > $@
main: main.o part.o
\tcc -o $@ $^
%.o: %.c part.h
\tcc -c -o $@ $<
"""
SOURCES = {
    "Makefile": MAKEFILE,
    "include/limits_of_part.h": "#define MOST 9\n",
    "part.h": '#include "include/limits_of_part.h"\nint part(int);\n',
    "part.c": '#include "part.h"\nint part(int x) { return x % MOST; }\n',
    "main.c": '#include <stdio.h>\n#include "part.h"\n'
    'int main(void) { int x; while (scanf("%d", &x) == 1) printf("%d\\n", part(x)); return 0; }\n',
    "table.txt": "12\n5\n31\n",
}
OPENED = re.compile(r'open(?:at)?\((?:[^",]*, )?"([^"]+)".*= \d+')


def sources(folder: Path) -> None:
    """Write the sources of a program."""
    for name, text in SOURCES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def test_each_opened_file(tmp_path: Path, shim: Path, needs: Any) -> None:
    """The files of the project that `strace -ff` saw a build, and a run of its product, open are in the crate."""
    needs("strace", "make", "cc")
    traced = tmp_path / "traced"
    traced.mkdir()
    sources(traced)
    logs = tmp_path / "logs"
    logs.mkdir()
    subprocess.run(
        ["strace", "-ff", "-s", "4096", "-e", "trace=%file", "-o", str(logs / "of"), "make", "-s"],
        cwd=traced, check=True, timeout=300, capture_output=True,
    )  # fmt: skip
    texts = [log.read_text(encoding="utf-8", errors="replace") for log in logs.iterdir()]  # one for each process
    named = {traced / name for text in texts for name in OPENED.findall(text)}
    expected = {str(path.relative_to(traced)) for path in named if path.is_relative_to(traced) and path.is_file()}
    assert {*SOURCES, "main.o", "part.o", "main", "result.txt"} <= expected

    project = new_project(tmp_path)
    sources(project.path)
    project.watch("make", "-s")
    project.provio("export", "last", "--as", "ro-crate", "--with-data", "--anyway", "-o", "crate")
    graph = json.loads((project.path / "crate/ro-crate-metadata.json").read_text(encoding="utf-8"))["@graph"]
    ids = {unquote(one["@id"]).removeprefix("data/") for one in graph if "File" in one["@type"]}
    assert expected - ids == set()
    copied = {str(path.relative_to(project.path / "crate/data")) for path in (project.path / "crate/data").rglob("*")}
    assert expected <= copied
    assert {"@id": "data/Makefile"} in [one.get("isBasedOn") for one in graph if one.get("name") == "Makefile"]
