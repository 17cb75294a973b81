"""The options of `provio run` are parsed without click as by click, and a run loads only the modules that it
needs."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
from conftest import Project

from provio.cli.verbs import load
from provio.record.options import OPTIONS, Call, read

PLAIN = (
    "true",
    "-- true",
    "-- -x --quiet",
    "true -- --quiet",
    "make -j4 --no-merge",
    "-- --",
    "--name n true",
    "--name=a=b --name last -- true",
    "--name= true",
    "--note x --note=y -- true",
    "--campaign c --detail call --quiet --no-merge --strict -- sh -c x",
    "--detail=file true",
    "--record stat --record=list --no-record pipe true",
    "--include /a --exclude b* --include=c true",
    "--hash true",
    "--hash=auto --quiet -- true --hash=off",
    "--no-hash --hash=all true",
    "--hash=off --hash true",
    "--hash=auto --no-hash true",
    "--container image.sif -- true",
    "--hash --no-hash true",
    "--no-hash true",
)
ODD = (
    "",
    "--",
    "--quiet",
    "--help",
    "-h",
    "--help true",
    "--nme n true",
    "--nam n true",
    "--name",
    "--name -- true",
    "--quiet=yes true",
    "--hash=some true",
    "--no-hash=auto true",
    "--detail most true",
    "--record stats true",
    "-q true",
    "- true",
    "--no-quiet true",
)


def by_click(words: list[str]) -> Call:
    """Return the call as click parses it."""
    command = load("run")
    context = command.make_context("run", list(words))
    return Call(**context.params)


@pytest.mark.parametrize("line", PLAIN)
def test_a_plain_call_is_parsed_as_by_click(line: str) -> None:
    assert read(line.split()) == by_click(line.split())


def test_every_option_is_in_a_plain_call() -> None:
    words = {word.partition("=")[0] for line in PLAIN for word in line.split()}
    assert {word for option in OPTIONS for word in (option.written, option.off) if word} <= words


@pytest.mark.parametrize("line", ODD)
def test_any_other_call_is_left_to_click(line: str) -> None:
    """Click reports an error or prints help; no such call is parsed here."""
    assert read(line.split()) is None


@pytest.mark.parametrize("line", [line for line in ODD if line not in ("- true", "--name -- true")])
def test_a_call_that_is_left_to_click_is_none(line: str) -> None:
    with pytest.raises((click.ClickException, click.exceptions.Exit)):
        by_click(line.split())


@pytest.mark.parametrize("options", [["--no-merge"], []])
def test_a_run_loads_only_what_it_needs(project: Project, options: list[str]) -> None:
    """Modules that are slow to load, and not needed by a run or its merge, are not loaded."""
    script = f"import sys; sys.argv[1:] = ['run', '--quiet', *{options}, '--', 'true']; "
    script += "from provio.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", script], cwd=project.path, env=project.env, text=True,
        capture_output=True, check=True,
    )  # fmt: skip
    loaded = {line.split("|")[-1].strip() for line in done.stderr.splitlines()}
    assert {"provio.record.run", "provio.record.driver"} <= loaded
    assert ("provio.merge.runs" in loaded) is (not options)
    expensive = {
        "click",
        "dataclasses",
        "inspect",
        "platform",
        "rdflib",
        "networkx",
        "h5py",
        "tomllib",
        "tempfile",
    }
    assert expensive & loaded == set()
    assert (
        not options
        or {"pyoxigraph", "provio.trace.facts", "provio.trace.read", "datetime", "hashlib"} & loaded == set()
    )
