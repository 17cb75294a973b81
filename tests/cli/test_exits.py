"""Every wrong turn of every verb: one line with the remedy, and an exit code that docs/exit-codes.md has for it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pexpect
import pytest
from conftest import ROOT, Project, provio_command
from filesystems import mount

from provio.base import errors
from provio.cli import verbs

PAGE = (ROOT / "docs" / "exit-codes.md").read_text(encoding="utf-8")
# Of a project in which `cp data/in.txt out.txt` was recorded as `first`, and once more.
WRONG = [
    ("lineage data", 3, "a folder: name files, such as data/in.txt"),
    ("lineage empty", 3, "none of its files is recorded"),
    ("lineage data/im.txt", 3, "did you mean data/in.txt?"),
    ("why in.txt", 3, "did you mean data/in.txt?"),
    ("impact nothing-like-it", 3, "there is no such file"),
    ("lineage unseen", 3, "provio run -- COMMAND"),
    ("lineage out.txt --at never", 2, "yesterday"),
    ("lineage out.txt --depth 0", 2, "no whole number from 1"),
    ("lineage out.txt --store nowhere", 2, "http://"),
    ("lineage out.txt --store http://127.0.0.1:9", 1, "is the server running?"),
    ("show qqqq", 3, "provio runs lists the runs"),
    ("show ./empty", 3, "none of its files is recorded"),
    ("export firts", 3, "did you mean 'first'?"),
    ("stats nobody", 3, "provio runs lists them"),
    ("show 0", 3, "give more of the id"),
    ("export --as xml", 2, "provio export --help"),
    ("view out.txt -o /nowhere/p.html", 1, "there is no folder /nowhere"),
    ("view out.txt -o data", 2, "is a folder"),
    ("view nothing-like-it -o p.html", 3, "there is no such file"),
    ("validate unseen", 1, ".ttl"),
    ("validate not-there.ttl", 3, "there is no file"),
    ("merge 0", 3, "give more of the id"),
    ("merge zz", 3, "provio runs lists them"),
    ("rm zz --yes", 3, "provio runs lists them"),
    ("rm last", 1, "--yes"),
    ("prune --older-than soon", 2, "30d"),
    ("backup data", 1, "name a new folder"),
    ("query io-by-fil", 1, "io-by-file"),
    ("query", 2, "--list"),
    ("query io-by-file -p path", 2, "NAME=VALUE"),
    ("runs --name nobody", 3, "provio runs lists them"),
    ("run", 125, "provio run --help"),
    ("env --end", 1, "provio env"),
    ("kernel", 2, "add install"),
    ("config nope", 2, "known: get, init"),
    ("config get detial", 2, "'detail'"),
    ("completion ksh", 2, "fish"),
    ("best nothing", 3, "provio.metric("),
    ("best", 3, "provio.metric("),
    ("metrics --follow --as csv", 2, "leave out --as"),
    ("metrics --max", 2, "--best"),
    ("params none", 3, "no run 'none'"),
    ("checkpoint list", 3, "provio.checkpoint("),
    ("checkpoint find x", 2, "KEY=VALUE"),
    ("diff first firts", 3, "did you mean 'first'?"),
    ("repro first firts", 3, "did you mean 'first'?"),
    ("repro first", 2, "name two runs or more"),
    ("repro --name nobody", 3, "provio runs lists them"),
    ("repro first second --bound out.txt", 2, "NAME=VALUE"),
    ("vocab Metrc", 3, "'Metric'"),
    ("init --shared no-such-group", 1, "group"),
]


@pytest.fixture
def recorded(project: Project) -> Project:
    project.sh("mkdir data empty; echo 1 > data/in.txt; touch unseen")
    for name in ("first", "second"):
        project.provio("run", "--quiet", "--no-merge", "--name", name, "--", "cp", "data/in.txt", "out.txt")
    return project


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.stdout == ""
    assert done.stderr.startswith("provio: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


def codes_of(verb: str) -> set[int]:
    """Return the exit codes of a verb on the page."""
    always = {0, 1, 2, 130, 141}
    if verb == "run":
        return always | {125, 126, 127}
    row = re.search(rf"(?m)^\| `{verb}` \|(.*)\|(.*)\|(.*)\|$", PAGE)
    assert row, f"docs/exit-codes.md has no row for {verb}"
    return always | ({3} if row[2].strip() else set()) | ({124} if row[3].strip() else set())


@pytest.mark.slow
def test_each_wrong_turn_has_its_remedy(recorded: Project) -> None:
    """One line, no traceback, the remedy in it, and a code that the page has for the verb."""
    for call, code, word in WRONG:
        said = one_line(recorded.provio(*call.split(), code=code))
        assert word in said, f"provio {call}: {said}"
        assert code in codes_of(call.split()[0]), call


@pytest.mark.integration
def test_a_current_folder_that_was_deleted(recorded: Project) -> None:
    """Each verb reports it; the exit code is 125 for a verb that starts a command, and 1 for a shell."""
    said = "provio: the current folder was deleted: change to one that exists\n"
    calls = {
        **dict.fromkeys(("lineage x", "why x", "impact x", "query upstream x", "runs"), 3),
        **dict.fromkeys(("container exec img -- true", "container exec --dry-run . -- true"), 125),
        **dict.fromkeys(("run --container img true", "run --strict true"), 125),
        "env": 1,
    }
    for call, code in calls.items():
        gone = 'cd empty && rmdir ../empty && mkdir ../empty && exec "$@"'
        done = subprocess.run(
            ["sh", "-c", gone, "sh", *provio_command(), *call.split()], cwd=recorded.path, env=recorded.env,
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (code, said), call
        assert code in codes_of(call.split()[0]) or code == 125


def test_the_page_has_every_verb_and_every_code() -> None:
    """A row for each verb but `run`, 124 for those with --timeout alone, and all codes of the errors."""
    for verb in verbs.names():
        command = verbs.load(verb)
        every = [command, *getattr(command, "commands", {}).values()]
        stops = any(param.name == "timeout" for one in every for param in one.params)
        assert (124 in codes_of(verb)) == stops, verb
    listed = set(map(int, re.findall(r"(?m)^\| (\d+) \|", PAGE)))
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.ProvioError)]
    assert {kind.exit_code for kind in kinds} | {0, 2, 125, 126, 127, 130, 141} == listed


@pytest.mark.integration
def test_no_store_at_all(tmp_path: Path) -> None:
    """Each verb that queries or maintains: exit code 3, and the command that makes a record."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PROVIO")}
    calls = [
        "runs",
        "stats",
        "show last",
        "why x",
        "impact x",
        "verify",
        "validate",
        "export",
        "view -o p.html",
        "rm x --yes",
    ]
    for call in [*calls, "backup copy", "prune --yes"]:
        done = subprocess.run(
            [*provio_command(), *call.split()], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60
        )
        assert (done.returncode, "provio run -- COMMAND" in one_line(done)) == (3, True), call
        assert 3 in codes_of(call.split()[0])


@pytest.mark.integration
def test_a_full_disk(recorded: Project, tmp_path: Path) -> None:
    """The file that cannot be written is named; the command under `run` ends like without provio."""
    small = tmp_path / "small"
    with ExitStack() as undo:
        mount(small, "tmpfs", undo)
        subprocess.run(["mount", "-o", "remount,size=64k", small], check=True)
        (small / "filler").write_bytes(bytes(56 << 10))
        assert "name a writable folder with free space" in one_line(
            recorded.provio("backup", str(small / "copy"), code=1)
        )
        page = recorded.provio("view", "out.txt", "-o", str(small / "page.html"), code=1)
        assert "No space left on device" in one_line(page)
        done = recorded.provio(
            "run", "--", "sh", "-c", "exit 5", code=5, env={**recorded.env, "PROVIO_HOME": f"{small}/h"}
        )
        assert "PROVIO_HOME" in done.stderr or "kept" in done.stderr


@pytest.mark.integration
def test_broken_and_old_stores(recorded: Project) -> None:
    """A store of an older format or with damaged files is rebuilt for the query; a newer one is refused."""
    before = recorded.provio("lineage", "out.txt").stdout
    home = recorded.path / ".provio"
    for file in (home / "store").glob("*.sst"):
        file.write_bytes(b"broken")
    for file in (home / "snapshots" / "current").resolve().glob("*"):
        if file.is_file() and file.suffix in (".sst", "") and "MANIFEST" in file.name:
            file.unlink()
            file.write_bytes(b"broken")
    done = recorded.provio("lineage", "out.txt")
    assert done.stdout == before
    assert "Traceback" not in done.stderr
    shutil.rmtree(home / "store")
    shutil.rmtree(home / "snapshots")
    assert recorded.provio("lineage", "out.txt").stdout == before


@pytest.mark.slow
def test_a_terminal_shows_progress(recorded: Project) -> None:
    """A query of over a second shows one line of progress, which is removed at the end; in a pipe there is none."""
    endless = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n1 ?o }"
    recorded.provio("runs")
    program, *words = provio_command()
    call = [*words, "query", endless, "--timeout", "5"]
    child = pexpect.spawn(program, call, cwd=recorded.path, env=recorded.env, encoding="utf-8", timeout=60)
    child.expect(r"running the query: [1-4] s")
    child.expect(r"\r\x1b\[K.*stopped: no result within 5 s")
    child.close()
    assert "running the query" not in recorded.provio("query", endless, "--timeout", "2", code=124).stderr


@pytest.mark.integration
def test_long_answers_end_on_a_terminal(recorded: Project) -> None:
    """1,000 lines and a word about the rest; a pipe gets all. Of the runs the newest are shown."""
    script = "from provio.base import terminal; terminal.out('line\\n' * 1500)"
    child = pexpect.spawn(
        sys.executable, ["-c", script], cwd=recorded.path, env=recorded.env, encoding="utf-8", timeout=60
    )
    shown = child.read()
    child.close()
    assert shown.count("line\r\n") == 1000
    assert "and 500 more lines" in shown
    piped = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert piped.stdout.count("line\n") == 1500
    done = recorded.provio("runs", "--limit", "1")
    assert "second" in done.stdout
    assert "first" not in done.stdout
    assert "1 older run not shown" in done.stderr
