"""The Tab key, pressed in real shells: verbs, options, runs, names, questions, parameters, programs, files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pexpect
import pytest
from conftest import Project, provio_command

from provio.cli import completion, verbs

# Each shell without files of its user, with a fixed prompt, and the command that prints its words after Tab.
SHELLS = {
    "bash": ["--norc", "--noprofile", "-i"],
    "zsh": ["-f", "-i"],
    "fish": ["--no-config", "-i"],
}
FREE = set(
    "account age array at attributes before best bind bounds depth display_name metric modules most note output "
    "packages prefix python redact setting settings sha256 shared sort source store target partition text time_limit "
    "timeout to until max_memory value".split()
)


@pytest.fixture
def recorded(project: Project) -> Project:
    project.sh("echo 1 > data.txt; mkdir sub")
    project.provio("run", "--quiet", "--no-merge", "--name", "first", "--campaign", "das", "--", "cp", "data.txt", "b")
    return project


def offered(project: Project, line: str) -> list[str]:
    """Return the completions for the last word of a line, by the protocol of bash."""
    words = line.split(" ")
    env = {**project.env, "_PROVIO_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    return project.provio(env=env).stdout.split()


@pytest.mark.integration
def test_completions(recorded: Project) -> None:
    """By the verb's parameters, and without a store: the run is not merged by it."""
    run = next((recorded.path / ".provio" / "runs").iterdir()).name
    assert offered(recorded, "provio lin") == ["plain,lineage"]
    assert "plain,--forward" in offered(recorded, "provio lineage --f")
    assert offered(recorded, "provio lineage ") == ["file,"]
    assert offered(recorded, "provio lineage --run ") == ["plain,last", "plain,first", f"plain,{run[:13]}"]
    assert offered(recorded, f"provio show {run[:15]}") == [f"plain,{run[:15]}"]
    assert offered(recorded, "provio view fi") == ["plain,first"]
    assert offered(recorded, "provio view da") == ["file,"]
    assert offered(recorded, "provio runs --campaign ") == ["plain,das"]
    assert offered(recorded, "provio query io-by-f") == ["plain,io-by-file"]
    assert offered(recorded, "provio query query.r") == ["file,"]
    assert offered(recorded, "provio help imp") == ["plain,impact"]
    assert offered(recorded, "provio export --as n") == ["plain,nquads"]
    assert "plain,true" in offered(recorded, "provio run -- tru")
    assert offered(recorded, "provio run -- cat da") == ["file,"]
    assert not (recorded.path / ".provio" / "store").exists()
    (recorded.path / ".provio" / "runs" / run / "run.ttl").write_text("")  # as a full disk leaves it
    assert offered(recorded, "provio lineage --run ") == ["plain,last", f"plain,{run[:13]}"]


@pytest.mark.parametrize("name", ["$(touch made)", "`touch made`", "a;touch made", "*", "a b", "a'b", "~root", "!x"])
def test_a_name_that_a_shell_would_read_is_not_offered(recorded: Project, name: str) -> None:
    """A record may come from another user, and the next Enter executes the completed line."""
    project = recorded
    project.provio("run", "--quiet", "--no-merge", "--name", name, "--campaign", name, "--", "true")
    assert offered(project, "provio runs --campaign ") == ["plain,das"]
    assert [one for one in offered(project, "provio show ") if one[6:7] not in "0123456789"] == [
        "plain,last",
        "plain,first",
    ]


@pytest.mark.parametrize("kind", ["fifo", "device", "torn"])
def test_a_broken_head_of_a_run_is_passed_over(recorded: Project, kind: str) -> None:
    """One that blocks, one without an end, one that has just started."""
    folder = recorded.path / ".provio" / "runs" / "01a1ffff-0000-7000-8000-000000000000"
    folder.mkdir()
    if kind == "fifo":
        os.mkfifo(folder / "run.ttl")
    elif kind == "device":
        (folder / "run.ttl").symlink_to("/dev/zero")
    else:
        (folder / "run.ttl").write_text("@pre")
    found = offered(recorded, "provio lineage --run ")
    assert found[:2] == ["plain,last", "plain,first"] and "plain,01a1ffff-0000" in found


def test_the_description_of_a_query_is_text(project: Project) -> None:
    """Control characters of the terminal are removed."""
    (project.path / "mine").mkdir()
    (project.path / "mine" / "evil.rq").write_text("# title: \x1b]0;a\x07title\nASK {}\n")
    (project.path / "provio.toml").write_text('queries = ["mine"]\n')
    env = {**project.env, "_PROVIO_COMPLETE": "zsh_complete", "COMP_WORDS": "provio query evi", "COMP_CWORD": "2"}
    assert project.provio(env=env).stdout == "plain\nevil\n ]0;a title\n"


def test_no_record_and_one_of_another_user(project: Project, tmp_path: Path) -> None:
    """No `.provio`, or one without permission: no output on both streams."""
    env = {**project.env, "_PROVIO_COMPLETE": "bash_complete", "COMP_WORDS": "provio diff ", "COMP_CWORD": "2"}
    (project.path / ".provio").chmod(0o777)
    for folder in (tmp_path, project.path):
        done = project.provio(env=env, cwd=folder)
        assert (done.stdout.strip(), done.stderr) == ("", "")
    (project.path / ".provio").chmod(0o700)


@pytest.mark.parametrize("verb", verbs.names())
def test_every_parameter_completes(verb: str) -> None:
    """By a choice of its type, by its name, or it is known to be free."""
    command = verbs.load(verb)
    every = [command, *getattr(command, "commands", {}).values()]
    for param in (param for one in every for param in one.params):
        texts = param.type in (click.STRING, click.UNPROCESSED) and not getattr(param, "is_flag", False)
        assert not texts or param.name in completion.BY_NAME or param.name in FREE, param.name


@pytest.fixture(params=sorted(SHELLS))
def terminal(request: pytest.FixtureRequest, recorded: Project, needs: Any) -> Iterator[tuple[str, pexpect.spawn]]:
    """Start an interactive shell with completion set up according to the help."""
    shell = request.param
    needs(shell)
    provio = Path(provio_command()[0])
    env = {**recorded.env, "PATH": f"{provio.parent}:{recorded.env['PATH']}", "TERM": "dumb", "PS1": "$ "}
    child = pexpect.spawn(
        shell, SHELLS[shell], cwd=recorded.path, env=env, encoding="utf-8", timeout=60, dimensions=(40, 200)
    )
    setup = {
        "bash": 'bind "set bell-style none"; eval "$(provio completion bash)"',
        "zsh": 'autoload -U compinit; compinit -D; eval "$(provio completion zsh)"',
        "fish": "provio completion fish | source",
    }
    child.sendline(setup[shell] + "; echo set-$(echo up)" if shell != "fish" else setup[shell] + "; echo set-(echo up)")
    child.expect("set-up")
    yield shell, child
    child.close(force=True)


@pytest.mark.integration
def test_tab_in_a_real_shell(terminal: tuple[str, pexpect.spawn], recorded: Project) -> None:
    """The beginning of a verb, of a run's name and of a file, each made whole and the line carried out."""
    _, child = terminal
    child.send("provio sho\tfir\t\r")
    child.expect("command +cp data.txt b")
    child.send("provio why da\t\r")
    child.expect(re.escape("data.txt"))
