"""Damage in event files of parallel frameworks: only the rows after it are lost, and the file is named."""

from __future__ import annotations

import json
import math
import random
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from provio.interceptors.python import events as rows
from provio.trace import events
from provio.trace.run_facts import Damage
from provio.trace.run_source import RunFile

NAME = "7.5.0.events"


@pytest.fixture
def content(tmp_path: Path) -> bytes:
    """The content of an event file with rows of all kinds."""
    file = rows.EventFile(bytes(tmp_path))
    file.object("worker", address="tcp://127.0.0.1:1", threads=1)
    file.dependencies("b", "update-graph-1.5", ["a"])
    file.dependencies("c", "update-graph-1.5", ["a"], (0, 1, 2))
    file.restrictions("c", {"retries": 2})
    file.submitted("/main.py:1 main")
    file.submitted("/main.py:1 main-0")
    file.submitted("/main.py:1 main-1")
    file.transition("b", "released", "waiting", "waiting", "update-graph-1.5", 2.5)
    file.arguments(1, '["f"]')
    file.result(1, 1, 28, int)
    file.transfer("tcp://127.0.0.1:2", 3.0, 3.5, 28, [("a", 28)])
    file.keys(rows.GATHERED, 0, ["b"], 4.0)
    return Path(file.path.decode()).read_bytes()


def read(content: bytes) -> tuple[list[events.Event], list[Damage]]:
    """Return the events and the damages of a file with this content."""
    damages: list[Damage] = []
    file = RunFile("host", NAME, Path(NAME), lambda: content)
    found = events.of_file(file, damages)
    assert found is not None
    return found.events, damages


def test_whole(content: bytes) -> None:
    found, damages = read(content)
    assert damages == []
    assert {type(one) for one in found} == events.ALL


def facts_row(value: object) -> bytes:
    data = json.dumps(value).encode()
    return rows.OBJECT_ROW.pack(rows.OBJECT, len(data)) + data


@pytest.mark.parametrize(
    "row",
    [
        facts_row({"at": 1.0}),
        facts_row({"what": "graph", "at": None}),
        facts_row({"what": "graph", "at": [1]}),
        facts_row({"what": "graph", "at": math.nan}),
        facts_row(["what", "at"]),
        facts_row(1),
        rows.CLOCK_ROW.pack(rows.CLOCK, math.inf),
        rows.KEYS_ROW.pack(rows.KEYS, 1, 1, -math.inf, 0),
        rows.TRANSFER_ROW.pack(rows.TRANSFER, 1.0, math.nan, 1, 0, 0),
        rows.STATES_ROW.pack(rows.STATES, 1 << 31, 0, 0),
        b"\xff",
    ],
)
def test_an_impossible_row(content: bytes, row: bytes) -> None:
    """The events before it remain."""
    whole, _ = read(content)
    end = len(content.rstrip(b"\0"))  # the digest of "b", at the end of the last row, does not end with zero
    found, damages = read((content[:end] + row).ljust(rows.FIRST_CHUNK, b"\0"))
    assert found == whole
    assert [str(one.path) for one in damages] == [NAME]


def test_cut_anywhere(content: bytes) -> None:
    whole, _ = read(content)
    for size in range(len(content)):
        found, damages = read(content[:size])
        assert found == whole[: len(found)]
        assert damages, size


def test_several_chunks(tmp_path: Path) -> None:
    """Files of any length are read as a whole, and a file without its last chunk ends there."""
    for rounds in range(1, 4000, 97):
        file = rows.EventFile(bytes(tmp_path))
        for number in range(rounds):
            file.transition("key", "waiting", "processing", "processing", "stimulus", float(number))
        found, damages = read(Path(file.path.decode()).read_bytes())
        assert len(found) == rounds
        assert damages == []


def test_similar_texts(tmp_path: Path) -> None:
    """Texts that start alike have their start once; each is read as it was written, also where a character is cut."""
    starts = ["load-0123456789abcdef", "('é-0123456789abcdef', 0", "x", "", "-" * 20, "é" * 3000 + "-" + "ü" * 3000]
    keys = [f"{start}{end}" for start in starts for end in ("", "-0", "-1", ", 1)", "-é", "-2", "\n")]
    file = rows.EventFile(bytes(tmp_path))
    for key in keys * 2:  # the second time, in other texts
        file.result(1, 1, 28, int)
        file.submitted(key)
        file.dependencies(key, "update-graph-1.5", [key + "-9"])
    content = Path(file.path.decode()).read_bytes()
    found, damages = read(content)
    assert damages == []
    wanted = [key.encode()[: rows.LONGEST_TEXT].decode("utf-8", "replace") for key in keys * 2]
    assert [one.place for one in found if isinstance(one, events.Submitted)] == wanted
    assert [one.key for one in found if isinstance(one, events.Dependencies)] == wanted
    needed = [(key + "-9").encode()[: rows.LONGEST_TEXT].decode("utf-8", "replace") for key in keys * 2]
    assert [one.keys for one in found if isinstance(one, events.Dependencies)] == [(one,) for one in needed]
    assert content.count(b"load-0123456789abcdef") < 10


def test_random_bytes(content: bytes) -> None:
    """No damage raises; all times that are read can be nanoseconds."""
    random.seed(4)
    end = len(content.rstrip(b"\0"))
    for _ in range(3000):
        data, at = bytearray(content), random.randrange(len(rows.MAGIC), end)
        size = random.choice((1, 4, 8))
        data[at : at + size] = random.choice((random.randbytes(size), b"\xff" * size, bytes(size)))
        found, _ = read(bytes(data))
        for event in found:
            for value in event:
                assert not isinstance(value, float) or int(value * 1e9) >= 0


def test_a_file_of_another_kind() -> None:
    for data in (b"", b"garbage" * 100, struct.pack("<d", 1.0)):
        found, damages = read(data)
        assert found == []
        assert [str(one.path) for one in damages] == [NAME]


FULL = """
import resource, sys
from provio.interceptors.python.events import EventFile
resource.setrlimit(resource.RLIMIT_FSIZE, (12288, resource.RLIM_INFINITY))
file = EventFile(sys.argv[1].encode())
for number in range(300):
    file.submitted("a place of forty characters, or a bit more" + chr(65 + number % 26) * (number % 50))
    file.result(number, 1, 28, int)
"""


def test_nothing_follows_a_row_that_found_no_space(tmp_path: Path) -> None:
    """A shorter one could still fit, and refer to the text that was lost."""
    subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], check=True)
    (gap,) = tmp_path.glob("*.gap")
    (path,) = tmp_path.glob("*.events")
    assert "events of tasks: " in str(gap.readlink())
    found, damages = read(path.read_bytes())
    assert damages == []
    assert [type(one) for one in found[:2]] == [events.Submitted, events.Result]
    assert len(found) < 600


def test_a_lock_that_stays_locked(tmp_path: Path) -> None:
    """An exception of a signal handler may leave it so: one gap states that events are missing."""
    file = rows.EventFile(bytes(tmp_path))
    file.lock.lock.acquire()
    for _ in range(3):
        with pytest.raises(TimeoutError):
            file.submitted("place")
        with pytest.raises(TimeoutError):
            file.transition("a", "released", "waiting", "waiting", "x-1.5", 2.5)
    (gap,) = tmp_path.glob("*.gap")
    assert str(gap.readlink()) == "events of tasks: a signal handler interrupted their recorder"
    file.lock.lock.release()
    file.transition("a", "released", "waiting", "waiting", "x-1.5", 2.5)
    found, damages = read(Path(file.path.decode()).read_bytes())
    assert (len(found), damages) == (1, [])
