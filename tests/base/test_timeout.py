"""A query can be stopped by its time limit, by Ctrl-C, with its caller; a result is printed completely or not at
all."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Project, provio_command

# A cross product: hours of work in any store.
ENDLESS = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n1 ?o }"


@pytest.fixture
def recorded(project: Project) -> Project:
    project.sh("echo 1 > a")
    project.watch("cp", "a", "b")
    return project


def until(found: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def works(pid: int) -> bool:
    """Return whether a process has started to compute."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) / os.sysconf("SC_CLK_TCK") > 0.3


def gone(pid: int) -> bool:
    """Return whether a process has ended, perhaps as a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.fixture
def asked(recorded: Project) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A question that would not end, and the process that works at it; ended with the test, however that goes."""
    asking = subprocess.Popen(
        [*provio_command(), "query", ENDLESS],
        cwd=recorded.path,
        env=recorded.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # the test process may ignore it
    )
    try:
        until(lambda: children(asking.pid) and works(children(asking.pid)[0]))
        yield asking, children(asking.pid)[0]
    finally:
        asking.kill()
        asking.wait()


@pytest.mark.parametrize("verb", ["query", "variable", "file"])
@pytest.mark.integration
def test_a_question_is_stopped_at_its_time_out(recorded: Project, verb: str) -> None:
    """By the option, the variable, the setting: 124, nothing on stdout, one line with a remedy."""
    if verb == "variable":
        recorded.env["PROVIO_TIMEOUT"] = "0.5"
    elif verb == "file":
        (recorded.path / "provio.toml").write_text("timeout = 0.5\n")
    option = ["--timeout", "0.5"] if verb == "query" else []
    done = recorded.provio("query", ENDLESS, *option, code=124)
    assert done.stdout == ""
    assert done.stderr == (
        "provio: stopped: no result within 0.5 s: query less data (--campaign, --depth, LIMIT), or raise --timeout\n"
    )
    recorded.env.pop("PROVIO_TIMEOUT", None)
    (recorded.path / "provio.toml").unlink(missing_ok=True)
    assert recorded.data("b") == {"a"}


@pytest.mark.parametrize("verb", [("lineage", "b"), ("why", "b"), ("impact", "a"), ("validate",), ("runs",)])
@pytest.mark.integration
def test_every_question_has_one(recorded: Project, verb: tuple[str, ...]) -> None:
    """A time too short for any answer, and one that is long enough."""
    done = recorded.provio(*verb, "--timeout", "0.000001", code=124)
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert recorded.provio(*verb, "--timeout", "600").stdout == recorded.provio(*verb).stdout


@pytest.mark.integration
def test_merging_is_not_counted(recorded: Project) -> None:
    """Pending runs are merged without a limit; the limit starts after the merge."""
    for _ in range(12):
        recorded.provio("run", "--quiet", "--no-merge", "--", "cp", "a", "c")
    recorded.provio("query", ENDLESS, "--timeout", "0.2", code=124)
    assert recorded.count("?run a provio:Run") == 13


@pytest.mark.parametrize("wrong", ["-1", "nan", "inf", "1e99", "soon"])
@pytest.mark.integration
def test_no_time(recorded: Project, wrong: str) -> None:
    """A value that is no number of seconds: exit code 2."""
    done = recorded.provio("query", "ASK {}", f"--timeout={wrong}", code=2)
    assert done.stderr.count("\n") == 1
    assert recorded.provio("query", "ASK {}", "--timeout=0").stdout == "true\n"


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGKILL, -signal.SIGKILL)]
)
@pytest.mark.integration
def test_the_caller_is_ended(asked: tuple[subprocess.Popen[str], int], number: int, code: int) -> None:
    """Ctrl-C (130, no output), SIGTERM, SIGKILL: no process continues the query."""
    asking, worker = asked
    asking.send_signal(number)
    out, err = asking.communicate(timeout=60)
    assert (asking.returncode, out, err.strip()) == (code, "", "")
    until(lambda: gone(worker))


@pytest.mark.integration
def test_a_terminals_interrupt_reaches_both(asked: tuple[subprocess.Popen[str], int]) -> None:
    """Ctrl-C is sent to all of the group: the end is the same, and no stack is shown."""
    asking, worker = asked
    os.killpg(asking.pid, signal.SIGINT)
    out, err = asking.communicate(timeout=60)
    assert (asking.returncode, out, err.strip()) == (130, "", "")
    until(lambda: gone(worker))


@pytest.mark.integration
def test_the_child_is_killed(asked: tuple[subprocess.Popen[str], int]) -> None:
    """As by the kernel, where memory ran out: exit 1, one line."""
    asking, worker = asked
    os.kill(worker, signal.SIGKILL)
    out, err = asking.communicate(timeout=60)
    assert (asking.returncode, out) == (1, "")
    assert "SIGKILL" in err
    assert err.count("\n") == 1


DIGITS = " ".join(f"VALUES ?d{place} {{ 0 1 2 3 4 5 6 7 8 9 }}" for place in range(5))
MANY = f"SELECT ?n {{ {DIGITS} BIND(CONCAT({', '.join(f'STR(?d{place})' for place in range(5))}) AS ?n) }}"


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_large_answer_is_whole(recorded: Project, unbuffered: str) -> None:
    """A hundred thousand rows; a slow reader, with or without a buffer, uses up no time-out."""
    recorded.env["PYTHONUNBUFFERED"] = unbuffered
    began = time.monotonic()
    recorded.provio("query", MANY)
    limit = max(5, 4 * (time.monotonic() - began))  # long enough for the result on any machine
    command = [*provio_command(), "query", "--timeout", str(limit), MANY]
    reader = subprocess.Popen(command, cwd=recorded.path, env=recorded.env, stdout=subprocess.PIPE, text=True)
    assert reader.stdout
    first = reader.stdout.readline()
    time.sleep(limit + 0.5)
    rest = reader.stdout.read().split()
    assert (reader.wait(), first) == (0, "?n\n")
    assert sorted(rest) == [f'"{number:05}"' for number in range(100_000)]


@pytest.mark.integration
def test_a_reader_that_closes_the_pipe(recorded: Project) -> None:
    """`provio query … | head`: ended by the closed pipe, without a word."""
    command = [*provio_command(), "query", MANY]
    asking = subprocess.Popen(
        command, cwd=recorded.path, env=recorded.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert asking.stdout
    assert asking.stderr
    asking.stdout.readline()
    asking.stdout.close()
    assert asking.stderr.read() == ""
    assert asking.wait(timeout=60) == 141


@pytest.mark.integration
def test_an_update_that_is_stopped_changed_nothing(recorded: Project) -> None:
    """Stopped on its way: the store answers as before, and takes the next one."""
    endless = "INSERT { GRAPH <urn:mine> { ?a ?b ?c } } WHERE { ?a ?b ?c . ?d ?e ?f . GRAPH ?x { ?g ?h ?i } "
    endless += "GRAPH ?y { ?j ?k ?l } GRAPH ?z { ?m ?n ?o } }"
    recorded.provio("query", "--update", endless, "--timeout", "0.5", code=124)
    assert recorded.count("GRAPH <urn:mine> { ?s ?p ?o }") == 0
    recorded.provio("query", "--update", "INSERT DATA { GRAPH <urn:mine> { <urn:a> <urn:b> 1 } }")
    assert recorded.count("GRAPH <urn:mine> { ?s ?p ?o }") == 1
    recorded.watch("cp", "b", "c")
    assert recorded.data("c") == {"a", "b"}
