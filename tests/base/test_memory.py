"""A query that needs more memory than its limit is ended with one line."""

from __future__ import annotations

import subprocess
import sys

import pytest
from conftest import Project

LARGE = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY ?i ?f"  # gigabytes to sort
LINE = (
    "provio: stopped: the query needs more than 0.05 GB of memory: query less data (--campaign, --depth, LIMIT), or "
    "raise --max-memory\n"
)
# A child takes memory in its merge and keeps it, and then takes more; a byte of each page is written.
PROGRAM = """
import sys
from provio.base import time_limit
from provio.base.errors import TooMuchMemory
def taken(megabytes):
    return b"1" * (megabytes * 10**6)
try:
    code = time_limit.run_in_child(0, memory=200 * 10**6)
except TooMuchMemory:
    sys.exit(7)
if code is None:
    with time_limit.not_counted():
        merged = taken(400)
    answered = taken(int(sys.argv[1]))
    import time
    time.sleep(2)  # longer than a look takes
    code = 0
sys.exit(code)
"""
# To read the store takes memory without end, as at some damaged blocks.
ENDLESS = """
import sys, time
from provio.cli import main
from provio.store.embedded import reader
def endless(*_):
    taken = []
    while True:
        taken.append(b"1" * 10**7 if len(taken) < 50 else b"")
        time.sleep(0.05)
reader.OneGraphStore.read_all = endless
main.main()
"""


@pytest.fixture
def recorded(project: Project) -> Project:
    project.sh("echo 1 > a")
    project.watch("cp", "a", "b")
    return project


@pytest.mark.parametrize("where", ["option", "variable", "file"])
@pytest.mark.integration
def test_a_query_is_stopped_at_its_limit(recorded: Project, where: str) -> None:
    """By the option, the variable, the setting: 1, nothing on stdout, one line with a remedy."""
    if where == "variable":
        recorded.env["PROVIO_MAX_MEMORY"] = "50MB"
    elif where == "file":
        (recorded.path / "provio.toml").write_text('max_memory = "0.05 GB"\n')
    option = ["--max-memory", "50 MB"] if where == "option" else []
    done = recorded.provio("query", LARGE, *option, code=1)
    assert (done.stdout, done.stderr) == ("", LINE)


@pytest.mark.integration
def test_the_search_for_damage_has_the_same_limit(recorded: Project) -> None:
    """A query beyond its limit is explained by a damaged store only if that is found within the limit."""
    recorded.provio("runs")
    done = subprocess.run(
        [sys.executable, "-c", ENDLESS, "query", LARGE, "--max-memory", "50 MB"],
        cwd=recorded.path, env=recorded.env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (1, "", LINE)


@pytest.mark.parametrize("verb", [("lineage", "b"), ("impact", "a"), ("validate",), ("runs",), ("stats",)])
@pytest.mark.integration
def test_every_verb_that_queries_has_one(recorded: Project, verb: tuple[str, ...]) -> None:
    """With enough memory, or without a limit, the answer is the same."""
    for size in ("1 TB", "0"):
        assert recorded.provio(*verb, "--max-memory", size).stdout == recorded.provio(*verb).stdout
    assert "a size such as 4 GB" in recorded.provio(*verb, "--max-memory", "2", code=2).stderr


@pytest.mark.parametrize(("megabytes", "code"), [(1, 0), (400, 7)])
def test_the_memory_of_a_merge_is_not_counted(megabytes: int, code: int) -> None:
    """Only the memory that the process takes after it."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(megabytes)], check=False, timeout=120)
    assert done.returncode == code
