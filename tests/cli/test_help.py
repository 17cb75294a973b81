"""Help: verbs in groups, 80 columns, the nearest word for a mistyped one, colour only on a terminal."""

from __future__ import annotations

import re

import pexpect
import pytest
from conftest import Project, provio_command

from provio.ask import queries
from provio.cli import verbs

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def on_terminal(project: Project, *arguments: str, **variables: str) -> str:
    """Return the output on a terminal of 80 columns."""
    program, *before = provio_command()
    env = {**project.env, "TERM": "xterm", "NO_COLOR": "", "COLUMNS": "80", **variables}
    child = pexpect.spawn(program, [*before, *arguments], cwd=project.path, env=env, encoding="utf-8", timeout=60)
    child.setwinsize(24, 80)
    shown: str = child.read()
    child.close()
    return shown


@pytest.mark.integration
def test_titles_of_queries_are_never_cut(project: Project) -> None:
    """On 80 columns too: the parameters are omitted, and a note names the command that lists them."""
    shown = on_terminal(project, "query", "--list")
    assert all(one.title in shown for one in queries.questions())
    assert "…" not in shown and "provio query NAME --show" in shown
    assert "parameters" in on_terminal(project, "query", "--list", COLUMNS="200").splitlines()[0]


def test_every_verb_has_a_group() -> None:
    """No verb is in an unexpected group."""
    named = [name for names in verbs.GROUPS.values() for name in names]
    assert set(verbs.names()) <= set(named)
    assert len(named) == len(set(named))


def test_the_list_is_grouped(project: Project) -> None:
    """All verbs, each below its group's heading."""
    shown = project.provio("--help").stdout
    assert shown == project.provio("help").stdout == project.provio().stdout
    places = [shown.index(f"{title}:\n") for title in verbs.GROUPS]
    assert places == sorted(places)
    for title, names in verbs.groups(verbs.names()):
        part = shown[shown.index(f"{title}:\n") :].split("\n\n")[0]
        assert re.findall(r"(?m)^  (\w+) ", part) == names


@pytest.mark.parametrize("verb", ["", *verbs.names()])
def test_help_fits_into_80_columns(project: Project, verb: str) -> None:
    """`provio help VERB` is `provio VERB --help`, and no line of it is longer than the terminal is wide."""
    words = [verb] if verb else []
    shown = project.provio("help", *words).stdout
    assert shown == project.provio(*words, "--help").stdout
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("typed", "nearest"),
    [
        (["lineag", "x"], "'lineage'"),
        (["lineage", "--forwrad", "x"], "'--forward'"),
        (["run", "--quite", "--", "true"], "'--quiet'"),
        (["sh", "-c", "exit 3"], "provio run -- sh -c 'exit 3'?"),
        (["notes.txt"], "provio lineage notes.txt?"),
        (["help", "impacts"], "'impact'"),
    ],
)
def test_a_mistyped_word_gets_a_suggestion(project: Project, typed: list[str], nearest: str) -> None:
    """A verb, an option, a command without `run`, a file without `lineage`."""
    (project.path / "notes.txt").touch()
    done = project.provio(*typed, code=None)
    assert done.returncode == (125 if typed[0] == "run" else 2)
    assert nearest in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.integration
def test_colour_is_for_terminals(project: Project) -> None:
    """Headings, complaints and trees are plain in a pipe, under NO_COLOR and on a terminal that knows no colour."""
    for arguments in (["--help"], ["lineage", "x"], ["help", "run"]):
        assert COLOUR.search(on_terminal(project, *arguments))
        assert not COLOUR.search(on_terminal(project, *arguments, NO_COLOR="1"))
        assert "\x1b" not in on_terminal(project, *arguments, TERM="dumb")
        done = project.provio(*arguments, code=None)
        assert "\x1b" not in done.stdout + done.stderr
