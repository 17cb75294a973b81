"""Help: verbs in groups, 80 columns, the nearest word for a mistyped one, colour only on a terminal."""

from __future__ import annotations

import json
import re

import click
import pexpect
import pytest
from conftest import Project, provio_command

from provio.ask import queries
from provio.cli import verbs, words
from provio.cli.option_types import Form

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
    """No verb is in an unexpected group; no alias and no synonym is a verb, and each synonym leads to one."""
    named = [name for names in words.GROUPS.values() for name in names]
    assert set(verbs.names()) <= set(named)
    assert len(named) == len(set(named))
    assert not {*words.ALIASES, *words.SYNONYMS} & {*verbs.names()}
    assert {call.split()[0] for call in (*words.ALIASES.values(), *words.SYNONYMS.values())} <= {*verbs.names()}


def test_the_front_page_lists_the_verbs_of_every_day(project: Project) -> None:
    """In at most 40 lines of 80 columns; without arguments, too."""
    shown = project.provio("--help").stdout
    assert shown == project.provio("help").stdout == project.provio().stdout
    expected = [name for name in words.GROUPS[words.EVERY_DAY] if name in verbs.names()]
    assert re.findall(r"(?m)^  ([a-z]+)  ", shown) == expected
    assert len(shown.splitlines()) <= 40
    assert max(map(len, shown.splitlines())) <= 80


def test_all_verbs_are_listed_in_groups(project: Project) -> None:
    """`help --all`: each verb below its group's heading, no line wider than 80 columns."""
    shown = project.provio("help", "--all").stdout
    places = [shown.index(f"{title}:\n") for title in words.GROUPS]
    assert places == sorted(places)
    for title, names in words.groups(verbs.names()):
        part = shown[shown.index(f"{title}:\n") :].split("\n\n")[0]
        assert re.findall(r"(?m)^  (\w+) ", part) == names
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("verb", ["", *verbs.names()])
def test_help_fits_into_80_columns(project: Project, verb: str) -> None:
    """`provio help VERB` is `provio VERB --help`, and no line of it is longer than the terminal is wide."""
    words = [verb] if verb else []
    shown = project.provio("help", *words).stdout
    assert shown == project.provio(*words, "--help").stdout
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.slow
@pytest.mark.parametrize("call", ["doctor", "config", "status", "runs", "query --list", "vocab", "stats"])
def test_screens_fit_into_80_columns(project: Project, call: str) -> None:
    """On a terminal, no line of an overview is longer than the terminal is wide."""
    project.sh("mkdir raw; echo 1 > raw/station-1.csv")
    project.watch("cp", "raw/station-1.csv", "a-long-name-of-a-product-of-a-station-in-its-own-file.csv")
    lines = COLOUR.sub("", on_terminal(project, *call.split())).splitlines()
    assert lines and max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("typed", "nearest"),
    [
        (["lineag", "x"], "'lineage'"),
        (["lineage", "--forwrad", "x"], "'--forward'"),
        (["run", "--quite", "--", "true"], "'--quiet'"),
        (["sh", "-c", "exit 3"], "provio run -- sh -c 'exit 3'?"),
        (["notes.txt"], "provio lineage notes.txt?"),
        (["help", "impacts"], "'impact'"),
        (["graph", "out.txt"], "'graph' is no verb: did you mean provio view?"),
        (["downstream", "in.txt"], "did you mean provio lineage --forward?"),
        (["upstream"], "did you mean provio lineage?"),
        (["undo"], "did you mean provio rm?"),
        (["delete", "last"], "did you mean provio rm?"),
        (["history"], "did you mean provio runs?"),
        (["describe", "last"], "did you mean provio show?"),
        (["record", "make"], "did you mean provio run --?"),
        (["search", "x"], "did you mean provio find?"),
        (["ls", "-l"], "did you mean provio runs? To record the program: provio run -- ls -l"),
        (["logs"], "'log'"),
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


def test_forms_have_aliases_that_help_does_not_list(project: Project) -> None:
    """`--format FORM` is `--as FORM`, `--json` is `--as json`, `log` is `runs`, in every verb."""
    project.provio("run", "--quiet", "--", "true")
    expected = project.provio("runs", "--as", "json").stdout
    assert json.loads(expected)[0]["command"] == "true"
    for words_ in (["log", "--json"], ["runs", "--format", "json"], ["runs", "--as", "csv", "--json"]):
        assert project.provio(*words_).stdout == expected
    shown = project.provio("runs", "--help").stdout
    assert "--as" in shown and "--format" not in shown and "--json" not in shown
    assert "'json' is not allowed" in project.provio("export", "--format", "json", code=2).stderr
    for name in verbs.names():
        for command in _with_inner(verbs.load(name)):
            for option in command.params:
                if "--as" in option.opts:
                    assert isinstance(option, Form), name


def _with_inner(command: click.Command) -> list[click.Command]:
    inner = command.commands.values() if isinstance(command, click.Group) else ()
    return [command, *(found for one in inner for found in _with_inner(one))]


def test_a_run_before_the_last_is_named_by_its_distance(project: Project) -> None:
    """`last~N` in all verbs that take a run; a distance beyond the first run is an error that counts the runs."""
    for name in ("first", "second", "third"):
        project.provio("run", "--quiet", "--name", name, "--", "cp", "/etc/passwd", name)
    ids = {row["name"]: row["run"] for row in json.loads(project.provio("runs", "--json").stdout)}
    assert ids["second"] in project.provio("show", "last~1").stdout.splitlines()[0]
    assert ids["third"] in project.provio("show", "last~0").stdout.splitlines()[0]
    assert ids["second"] in project.provio("lineage", "second", "--run", "last~1", "--json").stdout
    assert f"run/{ids['first']}" in project.provio("export", "last~2", "--as", "nquads").stdout
    assert project.provio("query", "environment-of-run", "last~1").stdout
    assert project.provio("merge", "last~1").stderr == project.provio("merge", ids["second"]).stderr
    told = project.provio("stats", "last~3", code=3).stderr
    assert told == "provio: there is no last~3: 3 runs recorded (provio runs lists them)\n"
    assert project.provio("rm", "last~2", "--dry-run").stdout == ids["first"] + "\n"
    project.provio("rm", "last~1", "--yes")
    assert [row["name"] for row in json.loads(project.provio("log", "--json").stdout)] == ["first", "third"]
    assert project.provio("rm", "--older-than", "1h", "--dry-run").stdout == ""
    assert project.provio("rm", "--older-than", "0h", "--yes").stderr.startswith("2 runs,")
    assert "--older-than AGE" in project.provio("rm", code=2).stderr
