"""Reads of the kernel's files: one Read and one Open for all reads of a file by a process, with sums of the calls."""

from __future__ import annotations

import sys

import pytest
from conftest import Project

from provio.settings.home import Home
from provio.store.embedded.reader import StoreReader

pytestmark = pytest.mark.integration
MONITOR = """
for number in range(50):
    with open("/proc/self/limits", "rb", buffering=0) as file:
        file.read(100)
        file.read(20)
with open("in.txt") as file, open("out.txt", "w") as out:
    out.write(file.read())
"""
CALLS = """SELECT ?kind ?count ?bytes ?in_order { ?io a ?kind ; provio:count ?count .
    OPTIONAL { ?io provio:bytes ?bytes } OPTIONAL { ?io provio:consecutiveBytes ?in_order }
    ?version provio:wasReadBy|provio:wasOpenedBy ?io ; prov:specializationOf/provio:path "/proc/self/limits" }"""


def test_reads_of_a_file_of_the_kernel_are_one_activity(project: Project) -> None:
    """Calls and bytes are those of all reads; a user's file keeps an activity of its own."""
    (project.path / "in.txt").write_text("1\n")
    project.watch(sys.executable, "-c", MONITOR)
    found = {kind.rpartition("#")[2]: rest for kind, *rest in StoreReader(Home(project.path / ".provio")).table(CALLS)}
    assert found == {"Read": ["100", "6000", ""], "Open": ["50", "", ""]}
    rows = project.rows('SELECT ?count { ?f provio:wasReadBy ?io ; prov:specializationOf/provio:path ?path . '
                        '?io provio:count ?count FILTER(STRENDS(?path, "/in.txt")) }')  # fmt: skip
    assert [row["count"] for row in rows] == ["2"]
    assert project.ancestors("out.txt")["data"] == {"in.txt"}
