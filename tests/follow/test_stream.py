"""Events of runs that go on: the same later, none lost or doubled after kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from concurrent_runs import children, tell, wait_for
from conftest import Project, provio_command, quads

from provio.follow import journal
from provio.follow.run_events import RunEvents
from provio.follow.stream import Stream
from provio.settings.home import Home
from provio.settings.schema import Config

pytestmark = pytest.mark.integration

PROGRAM = """
import os, subprocess, sys, threading, time
import provio

def write(name):
    with open(name, "w") as file:
        file.write(name)

for n in range(200):
    write(f"a{n}")
threads = [threading.Thread(target=write, args=(f"t{n}",)) for n in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
subprocess.run(["cp", "a1", "copy"], check=True)
provio.metric("loss", 0.5, step=3)
provio.metric("none", float("nan"))
provio.checkpoint("a1", step=4)
with provio.activity("outer"), provio.activity("inner"):
    write("inside")
left = open("left", "w")
left.write("12345")
left.flush()
os._exit(3)
"""
FOLLOWER = """
import json, sys
from pathlib import Path
from provio.follow.stream import Stream
from provio.settings.home import Home
from provio.settings.schema import Config
stream = Stream(Home(Path(sys.argv[1])), Config(), [sys.argv[2]], int(sys.argv[3]))
for event in stream:
    print(json.dumps(event), flush=True)
"""


@pytest.fixture
def recorded(project: Project) -> Project:
    (project.path / "main.py").write_text(PROGRAM)
    project.provio("run", "--quiet", "--no-merge", "--", sys.executable, "main.py", code=3)
    return project


def started(project: Project) -> subprocess.Popen[bytes]:
    """Start the program, which takes two seconds."""
    (project.path / "main.py").write_text(PROGRAM.replace("range(200):", "range(200):\n    time.sleep(0.01)"))
    command = [*provio_command(), "run", "--quiet", "--no-merge", "--", sys.executable, "main.py"]
    return subprocess.Popen(command, cwd=project.path, env=project.env)


def home_of(project: Project) -> tuple[Home, str]:
    home = Home(project.path / ".provio")
    (folder,) = home.run_folders()
    return home, folder.name


def events(home: Home, run: str, after: int = 0) -> list[dict[str, Any]]:
    stream = Stream(home, Config(), [run], after)
    found = list(stream)
    stream.close()
    return found


def test_the_events_of_a_program(recorded: Project) -> None:
    """Every file once, when it is closed or its process has ended; processes with their ends; metrics, checkpoints."""
    home, run = home_of(recorded)
    found = events(home, run)
    assert [int(one["id"]) for one in found] == sorted(int(one["id"]) for one in found)
    assert {one["run"] for one in found} == {run}
    assert (found[0]["data"]["state"], found[-1]["data"]["end"]) == ("started", "exit 3")
    written = Counter(
        Path(one["data"]["path"]).name for one in found if one["type"] == "file" and one["data"]["access"] != "read"
    )
    names = [f"a{n}" for n in range(200)] + [f"t{n}" for n in range(4)] + ["copy", "left", "inside"]
    assert written == dict.fromkeys(names, 1)
    (left,) = (one["data"] for one in found if one["type"] == "file" and one["data"]["path"].endswith("/left"))
    assert (left["end"], left["bytes"], left["bytes_written"]) == (None, 5, 5)
    ends = [one["data"] for one in found if one["type"] == "process" and one["data"]["state"] == "ended"]
    assert "exit 0" in [one["end"] for one in ends if one["command"].startswith("cp ")]
    data = [(one["type"], one["data"]) for one in found if one["type"] in ("metric", "checkpoint")]
    assert [(kind, one["step"]) for kind, one in data] == [("metric", 3), ("metric", None), ("checkpoint", 4)]
    assert (data[0][1]["value"], data[1][1]["value"]) == (0.5, "NaN")


def test_subjects_are_in_the_graph(recorded: Project) -> None:
    """Runs, processes, versions of files and metrics have the IRIs of the merged graph."""
    home, run = home_of(recorded)
    recorded.provio("merge")
    known = "\n".join(quads(home))
    for one in events(home, run):
        assert one["type"] == "process" or f"<{one['subject']}>" in known, one  # a short child may be part of another


def test_live_events_are_the_later_ones(project: Project) -> None:
    """A reader that follows a run from its start has the events, in the order, that readers have later."""
    running, home = started(project), Home(project.path / ".provio")
    stream = Stream(home, Config(), after=1)
    live: list[dict[str, Any]] = []
    for event in stream:
        live.append(event)
        if event["type"] == "run" and event["data"]["state"] == "ended":
            break
    assert running.wait(60) == 3
    stream.close()
    assert live == events(home, live[0]["run"])


def test_the_end_that_another_process_has_still_to_keep(project: Project) -> None:
    """A reader can tell that a run has ended, and its last events are missing."""
    os.mkfifo(project.path / "go")
    command = [*provio_command(), "run", "--quiet", "--no-merge", "--", "bash", "-c", "echo a0 > a0; read < go"]
    with subprocess.Popen(command, cwd=project.path, env=project.env):
        wait_for(project.path / "a0", b"a0")
        home, run = home_of(project)
        keeper, reader = Stream(home, Config(), [run]), Stream(home, Config(), [run])
        first = [*keeper.new(), *keeper.new()]
        assert list(reader.new()) == first and not reader.is_behind()
        tell(project.path / "go", "on\n")
    assert list(reader.new()) == []
    assert reader.is_behind() and reader.open
    last = list(keeper)
    assert list(reader.new()) == last
    assert not reader.is_behind() and not reader.open
    for stream in (keeper, reader):
        stream.close()


def test_kills_lose_and_double_nothing(project: Project) -> None:
    """A reader that is killed again and again, and comes back with the number of its last event, has all, once."""
    running, home = started(project), Home(project.path / ".provio")
    while not home.run_folders():
        assert running.poll() is None
    run, found = home.run_folders()[0].name, list[dict[str, Any]]()
    for lines in (1, 7, 20, 3, 40, None):
        after = found[-1]["id"] if found else "0"
        with subprocess.Popen(
            [sys.executable, "-c", FOLLOWER, str(home.path), run, after], stdout=subprocess.PIPE, env=project.env
        ) as reader:
            assert reader.stdout
            for number, line in enumerate(reader.stdout, 1):
                found.append(json.loads(line))
                if number == lines:
                    reader.kill()
                    break
    assert running.wait(60) == 3
    assert found == events(home, run)


def test_the_end_of_a_run_without_provio_is_not_known(project: Project) -> None:
    """`provio run` is killed, then the command: the end has the time of the event before, and no exit code."""
    command = [*provio_command(), "run", "--quiet", "--", "sh", "-c", "echo 1 > b; read x"]
    with subprocess.Popen(command, cwd=project.path, env=project.env, stdin=subprocess.PIPE) as running:
        wait_for(project.path / "b", b"1")
        (child,) = children(running.pid)
        running.kill()
        running.wait()
        os.kill(child, signal.SIGKILL)
    home = Home(project.path / ".provio")
    found = events(home, home.run_folders()[0].name)
    assert [(event["type"], event["data"]["end"]) for event in found[-2:]] == [("process", None), ("run", None)]
    assert found[0]["time"] < found[-1]["time"] == max(event["time"] for event in found)


def test_a_large_run_does_not_delay_another(recorded: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look adds some events of each run; in the end all are there, in their own order."""
    home, large = home_of(recorded)
    recorded.provio("run", "--quiet", "--no-merge", "--", "true")
    other = next(folder.name for folder in home.run_folders() if folder.name != large)
    monkeypatch.setattr(journal, "IN_TURN", 20)
    monkeypatch.setattr(journal, "MOST", 10)
    stream = Stream(home, Config(), [large, other])
    first = [*stream.new()]
    assert stream.has_more and {event["run"] for event in first} == {large, other}
    assert [event["data"]["state"] for event in first if (event["run"], event["type"]) == (other, "run")] == [
        "started", "ended",
    ]  # fmt: skip
    rest = [*stream]
    stream.close()
    whole = first + rest
    assert [int(event["id"]) for event in whole] == sorted({int(event["id"]) for event in whole})
    assert [event for event in whole if event["run"] == large] == events(home, large)


def test_a_full_disk_loses_and_doubles_nothing(recorded: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events without space, also a part of one, are added when there is space again."""
    home, run = home_of(recorded)
    write, full = os.write, [True, False, True, True, False, False] * 20
    monkeypatch.setattr(journal, "MOST", 50)
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:9] if full.pop() else data))
    stream, found, errors = Stream(home, Config(), [run]), list[dict[str, Any]](), 0
    while stream.open:
        try:
            found += stream.new()
        except OSError:
            errors += 1
    stream.close()
    assert errors
    assert found == events(home, run)
    assert len({(one["type"], one["subject"], json.dumps(one["data"])) for one in found}) == len(found)


def test_a_look_reads_a_run_once(recorded: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second time within a look would find newer events of a run that goes on, then newer ones, without an end."""
    home, run = home_of(recorded)
    polls, poll = [], RunEvents.poll
    monkeypatch.setattr(RunEvents, "poll", lambda self: polls.append(self) or poll(self))
    stream = Stream(home, Config(), [run])
    assert [*stream.new()] and len(polls) == 1 and not stream.has_more
    stream.close()
