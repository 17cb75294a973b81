"""`export --as events`: JSON lines, and a stream of a real Redis server, which has each event once after kills."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Project, provio_command
from redis_servers import RedisServer

from provio.ask import disk_usage
from provio.settings.home import Home

pytestmark = pytest.mark.integration

PROGRAM = """
import time, provio
for n in range(150):
    with provio.activity(f"step {n}"), open(f"a{n}", "w") as file:
        file.write("x" * n)
    time.sleep(0.01)
"""


@pytest.fixture
def recorded(project: Project) -> Project:
    (project.path / "in.txt").write_text("1\n")
    project.provio("run", "--quiet", "--name", "one", "--", "cp", "in.txt", "copy")
    project.provio("run", "--quiet", "--name", "two", "--", "cp", "copy", "copy2")
    return project


def lines(project: Project, *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in project.provio("export", "--as", "events", *arguments).stdout.splitlines()]


def exporter(project: Project, url: str) -> subprocess.Popen[str]:
    command = [*provio_command(), "export", "--as", "events", "--follow", "--to", url]
    return subprocess.Popen(command, cwd=project.path, env=project.env, stderr=subprocess.PIPE, text=True)


def started(project: Project) -> subprocess.Popen[bytes]:
    (project.path / "main.py").write_text(PROGRAM)
    command = [*provio_command(), "run", "--quiet", "--no-merge", "--", sys.executable, "main.py"]
    return subprocess.Popen(command, cwd=project.path, env=project.env)


def test_lines_of_one_run_and_of_all(recorded: Project) -> None:
    every = lines(recorded)
    assert [one["data"]["name"] for one in every if one["type"] == "run"] == ["one", "one", "two", "two"]
    assert every == lines(recorded, "--follow", "one") + lines(recorded, "two")
    recorded.provio("export", "--as", "events", "two", "-o", "events.jsonl")
    text = (recorded.path / "events.jsonl").read_text()
    assert [json.loads(line) for line in text.splitlines()] == lines(recorded, "two")


def test_a_long_run_is_complete(project: Project, redis_server: RedisServer) -> None:
    """A look does not find all of it, and a batch does not hold it."""
    code = "import provio\nfor n in range(4000):\n    with provio.activity(str(n)):\n        pass\n"
    project.provio("run", "--quiet", "--", sys.executable, "-c", code)
    found = lines(project)
    assert sum(one["type"] == "task" for one in found) == 8000
    project.provio("export", "--as", "events", "--to", redis_server.url("s"))
    assert redis_server.events("s") == found


def test_a_packed_run_has_all_its_events(recorded: Project) -> None:
    code = "import sys; from pathlib import Path; from provio.merge.archive_runs import archive;"
    code += "from provio.settings.home import Home; from provio.settings.schema import Config;"
    code += "home = Home(Path('.provio').absolute()); archive(home, Config(), home.run_folders()[:1], wait=True)"
    before = lines(recorded, "one")
    recorded.provio("merge", "--quiet")
    subprocess.run([sys.executable, "-c", code], cwd=recorded.path, env=recorded.env, check=True)
    assert [path.name for path in (recorded.path / ".provio" / "runs").glob("*.xz")]
    for log in (recorded.path / ".provio" / "events").glob("*.log"):
        log.unlink()
    assert [{**one, "id": ""} for one in lines(recorded, "one")] == [{**one, "id": ""} for one in before]


def test_a_stream_has_each_event_once(recorded: Project, redis_server: RedisServer) -> None:
    """Also when it is filled again, holds entries of others, and its first entries were removed."""
    to = "--to", redis_server.url("s")
    recorded.provio("export", "--as", "events", *to)
    assert redis_server.events("s") == lines(recorded)
    redis_server.cli("XADD", "s", "*", "of", "others")
    recorded.provio("export", "--as", "events", *to)
    assert int(redis_server.cli("XLEN", "s")) == len(lines(recorded)) + 1
    redis_server.cli("XTRIM", "s", "MAXLEN", "2")
    recorded.provio("run", "--quiet", "--", "cp", "in.txt", "copy3")
    recorded.provio("export", "--as", "events", *to)
    assert int(redis_server.cli("XLEN", "s")) == 2 + len(lines(recorded, "last"))


def test_runs_out_of_order_need_streams_of_their_own(recorded: Project, redis_server: RedisServer) -> None:
    lines(recorded)
    recorded.provio("export", "--as", "events", "two", "--to", redis_server.url("s"))
    said = recorded.provio("export", "--as", "events", "--to", redis_server.url("s"), code=1).stderr
    assert "use a stream of its own for each selection of runs" in said
    assert redis_server.events("s") == lines(recorded, "two")


def test_kills_of_both_sides_lose_and_double_nothing(project: Project, redis_server: RedisServer) -> None:
    """Exporters are killed and started again while a run goes on and another one works, and the server is killed and
    comes back."""
    with started(project) as running:
        while not list(project.path.glob(".provio/runs/*/run.ttl")):
            assert running.poll() is None
        other = exporter(project, redis_server.url("s"))
        for entries in (1, 100, 200):
            first = exporter(project, redis_server.url("s"))
            while int(redis_server.cli("XLEN", "s")) < entries:
                assert first.poll() is None and other.poll() is None
            first.kill()
            first.wait(60)
        redis_server.stop()
        assert other.stderr and "trying again" in other.stderr.readline()
        redis_server.start()
        assert running.wait(60) == 0
    expected = lines(project)
    while int(redis_server.cli("XLEN", "s")) < len(expected):
        assert other.poll() is None
    other.terminate()
    other.communicate(timeout=60)
    assert redis_server.events("s") == lines(project)


def test_a_server_with_an_earlier_state_is_filled_again(recorded: Project, redis_server: RedisServer) -> None:
    following = exporter(recorded, redis_server.url("s"))
    expected = lines(recorded)
    while int(redis_server.cli("XLEN", "s")) < len(expected):
        assert following.poll() is None
    redis_server.cli("FLUSHALL")
    recorded.provio("run", "--quiet", "--", "cp", "in.txt", "copy3")
    while int(redis_server.cli("XLEN", "s")) < len(lines(recorded)):
        assert following.poll() is None
    following.terminate()
    following.communicate(timeout=60)
    assert redis_server.events("s") == lines(recorded)


def test_wrong_addresses_and_passwords(recorded: Project, redis_server: RedisServer) -> None:
    """Each has a message with a remedy, none repeats a password."""
    redis_server.cli("SET", "text", "1")
    redis_server.cli("CONFIG", "SET", "requirepass", "right")
    for url, words in (
        (f"unix://ada:secret@{redis_server.socket}?stream=s", "refuses the user or the password"),
        (redis_server.url("s"), "REDISCLI_AUTH"),
        (f"unix://:right@{redis_server.socket}?stream=text", "is no stream: name another one"),
        ("redis://ada:secret@localhost:port/0", "has a wrong part"),
        ("redis://ada:secret@localhost/0?strm=s", "has a wrong part"),
        ("http://ada:secret@localhost/", "use redis://HOST:PORT/DB?stream=NAME"),
    ):
        said = recorded.provio("export", "--as", "events", "--to", url, code=1).stderr
        assert words in said and "secret" not in said
    recorded.env["REDISCLI_AUTH"] = "right"
    recorded.provio("export", "--as", "events", "--to", redis_server.url("s"))
    assert int(redis_server.cli("XLEN", "s", password="right")) == len(lines(recorded))


def test_the_package_is_named_if_it_is_missing(recorded: Project, tmp_path: Path) -> None:
    (tmp_path / "redis.py").write_text("raise ModuleNotFoundError(name='redis')")
    env = {**recorded.env, "PYTHONPATH": str(tmp_path)}
    said = recorded.provio("export", "--as", "events", "--to", "redis://localhost", code=1, env=env).stderr
    assert "redis, which is not installed:" in said


def test_a_removed_run_has_no_events_left(recorded: Project) -> None:
    """Nor has a backup, which makes them again; the others count as disk space of the record."""
    assert lines(recorded, "one")
    recorded.provio("backup", "copy.provio")
    assert not (recorded.path / "copy.provio" / "events").exists()
    home = Home(recorded.path / ".provio")
    taken = disk_usage.taken(home).others
    (home.events / "large").write_bytes(b"x" * 1_000_000)
    assert disk_usage.taken(home).others > taken + 900_000
    recorded.provio("rm", "one", "--yes")
    assert {one["data"]["name"] for one in lines(recorded) if one["type"] == "run"} == {"two"}
    assert len(list((recorded.path / ".provio" / "events").glob("*.log"))) == 1
