"""Many kills of `provio merge` and `provio rm` on one record: the next command works, and nothing is lost.

The kills are spread over the steps of the command. The record stays as each kill left it; at the end it equals a
rebuild of the same runs. There are ten kills of each command, or as many as the environment requests:
`KILLS=50 pytest tests/merge/test_kills.py`.
"""

from __future__ import annotations

import hashlib
import os

import pytest
import steps
from conftest import Project
from test_remove import holding, quads, runs

KILLS = int(os.environ.get("KILLS", "10"))
STEPS, REMOVAL_STEPS = 60, 120  # of a merge and of a removal there are at least as many
MANY = 2000  # files of a large run
OPEN_MANY = f"import os; [os.close(os.open(f'many/{{n}}', os.O_RDONLY)) for n in range({MANY})]"
QUESTIONS = (["runs"], ["lineage", "all"], ["stats"], ["show", "last"], ["merge"])


@pytest.fixture
def chain(project: Project) -> Project:
    """A project of runs that each read the output of the one before, and append to a file that all share."""
    project.sh(f"echo 0 > f0; echo 0 > all; mkdir many; touch many/{{0..{MANY - 1}}}")
    return project


def own_word(number: int) -> str:
    """Return a word that only one run has, and that no compressed text contains by chance."""
    return hashlib.sha256(str(number).encode()).hexdigest()[:16]


def record(project: Project, number: int, *options: str) -> None:
    """Record a run of the chain with words of its own; every third one opens many files."""
    script = f"cat f{number - 1} all > f{number}; echo {number} >> all; cat all > {own_word(number)}"
    if number % 3 == 0:
        script += f'; python3 -c "{OPEN_MANY}"'
    project.provio("run", "--quiet", *options, "--name", f"n{number}", "--", "bash", "-c", script)


def names(project: Project) -> set[str]:
    """Return the names of the runs that a query lists."""
    rows = project.provio("runs", "--as", "csv").stdout
    return {cell for row in rows.splitlines()[1:] for cell in row.split(",") if cell[:1] == "n" and cell[1:].isdigit()}


def assert_nothing_left(project: Project) -> None:
    """Check that a merge removed all remains of the kills."""
    home = project.path / ".provio"
    project.provio("merge")
    assert not (home / "removed").exists()
    assert not (home / "store.words").exists()
    assert [path.name for path in home.glob("store.*")] == ["store.version"]


def assert_as_rebuilt(project: Project) -> None:
    """Check that the graph equals that of a rebuild, and that `validate` gives the same result for both."""
    home = project.path / ".provio"
    found, said = quads(home), project.provio("validate").stdout
    project.provio("merge", "--rebuild")
    assert sorted(quads(home)) == sorted(found)
    assert project.provio("validate").stdout == said


@pytest.mark.slow
def test_a_merge_that_is_killed_many_times(chain: Project) -> None:
    """After each kill a query is answered, every run is listed, and another run is recorded."""
    for last in range(1, KILLS + 1):
        record(chain, last, "--no-merge")
        assert steps.killed(1 + STEPS * (last - 1) // KILLS, chain.env, "merge", cwd=chain.path)
        if last % 3:  # otherwise the next merge has two runs to merge, and the remains of the kill
            chain.provio(*QUESTIONS[last % len(QUESTIONS)])
            assert names(chain) == {f"n{number}" for number in range(1, last + 1)}
    assert names(chain) == {f"n{number}" for number in range(1, KILLS + 1)}
    assert_nothing_left(chain)
    assert_as_rebuilt(chain)


@pytest.mark.slow
def test_a_removal_that_is_killed_many_times(chain: Project) -> None:
    """After each kill a query is answered and all other runs are listed; the run itself is complete, or removed with
    its words, at the latest after the next merge."""
    home = chain.path / ".provio"
    for number in range(1, KILLS + 5):
        record(chain, number, "--no-merge")
    chain.provio("merge")
    of = {run: f"n{number}" for number, run in enumerate(runs(home), 1)}
    for kill in range(KILLS):
        listed, kept = names(chain), {of[run] for run in runs(home)}
        name = sorted(listed)[kill % len(listed)]
        assert steps.killed(1 + REMOVAL_STEPS * kill // KILLS, chain.env, "rm", "--yes", name, cwd=chain.path)
        if kill % 3:
            chain.provio(*QUESTIONS[kill % len(QUESTIONS)])
        assert kept - {name} <= names(chain) <= listed
    assert_nothing_left(chain)
    assert names(chain) == {of[run] for run in runs(home)}
    gone = set(of.values()) - names(chain)
    assert gone
    assert {name: holding(home, own_word(int(name[1:]))) for name in gone} == {name: set() for name in gone}
    assert_as_rebuilt(chain)
