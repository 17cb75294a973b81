"""The facts of a file at its last close, and descriptors that share an opening: small programs in, all facts out."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from posix_trace import Trace, name_of, of_class

STREAMS = """
import ctypes, os
c = ctypes.CDLL(None)
c.fopen.restype = ctypes.c_void_p
def stream(name, mode):
    return ctypes.c_void_p(c.fopen(name, mode))
def write(name, text, before_close=lambda: None, mode=b"w"):
    file = stream(name, mode)
    c.fputs(text, file)
    before_close()
    c.fclose(file)
write(b"plain", b"12345")
write(b"moved", b"123", lambda: os.rename("moved", "elsewhere"))
open("other", "w").write("another file")
write(b"replaced", b"1234", lambda: os.replace("other", "replaced"))
file = stream(b"plain", b"r")
c.fgetc(file)
c.fclose(file)
"""


def closes(trace: Trace, folder: Path) -> dict[str, list[tuple[str, str]]]:
    """Return for each file the sizes and link counts at its closes, in order; `-` if a close states none."""
    found: dict[str, list[tuple[int, tuple[str, str]]]] = {}
    for one in of_class(trace.facts(), "FileVersion").values():
        name = os.fsdecode(name_of(one))
        if name.startswith(f"{folder}/") and "closedNs" in one:
            stated = one.get("closedSize", "-"), one.get("closedLinks", "-")
            found.setdefault(os.path.relpath(name, folder), []).append((int(one["openedNs"]), stated))
    return {name: [stated for _, stated in sorted(several)] for name, several in found.items()}


def test_the_file_of_a_stream_is_looked_at_after_its_close(trace: Trace, work: Path) -> None:
    """By its name, if that still refers to the file; another file with that name has other facts."""
    trace.run(sys.executable, "-c", STREAMS, cwd=work, check=True)
    found = closes(trace, work)
    assert {name: found[name] for name in ("plain", "moved", "replaced")} == {
        "plain": [("5", "1")], "moved": [("-", "-")], "replaced": [("-", "-")],
    }  # fmt: skip


DESCRIPTORS = """
import os
one = os.open("a", os.O_CREAT | os.O_WRONLY)
two = os.dup(one)
os.write(one, b"12")
os.close(one)
os.write(two, b"345")
os.link("a", "link")
os.close(two)
read = os.open("a", os.O_RDONLY)
os.read(read, 9)
os.close(read)
read = os.open("a", os.O_RDONLY)
os.read(read, 9)
with open("a", "a") as more: more.write("6")
os.close(read)
over, kept = (os.open(name, os.O_CREAT | os.O_WRONLY) for name in ("over", "kept"))
os.write(over, b"1")
os.dup2(kept, over)
os.write(over, b"22")
os.close(kept)
os.write(over, b"22")
os.closerange(over, over + 1)
empty = os.open("made", os.O_CREAT | os.O_WRONLY)
os.close(empty)
os.open("left", os.O_CREAT | os.O_WRONLY)
try:
    os.close(99)
except OSError:
    pass
"""


def test_the_last_descriptor_closes(trace: Trace, work: Path) -> None:
    """An opening for writing states its end once, with its last descriptor; one for reading only if the file
    changed."""
    trace.run(sys.executable, "-c", DESCRIPTORS, cwd=work, check=True)
    assert closes(trace, work) == {
        "a": [("5", "2"), ("6", "2"), ("6", "2")], "over": [("1", "1")], "kept": [("4", "1")], "made": [("0", "1")],
    }  # fmt: skip
    facts = trace.facts()
    opened = sorted(
        (int(one["openedNs"]), os.path.relpath(os.fsdecode(name_of(one)), work), one["size"])
        for one in of_class(facts, "FileVersion").values()
        if os.fsdecode(name_of(one)).startswith(f"{work}/")
    )
    assert [(name, size) for _, name, size in opened] == [
        ("a", "0"), ("a", "5"), ("a", "5"), ("a", "5"), ("over", "0"), ("kept", "0"), ("made", "0"), ("left", "0"),
    ]  # fmt: skip
    written = {
        facts[one["object"]]["path"]: one for one in of_class(facts, "Access").values() if int(one.get("writes", 0))
    }
    moved = {os.path.relpath(path, work): (int(one["writes"]), int(one["writeBytes"])) for path, one in written.items()}
    assert {name: moved[name] for name in ("over", "kept")} == {"over": (1, 1), "kept": (2, 4)}


MET = """
import os
null = os.open("/dev/null", os.O_RDWR)
os.write(1, b"out")
os.write(null, b"lost")
os.read(0, 2); os.read(0, 2)
os.write(3, b"given")
temporary = os.open(".", os.O_TMPFILE | os.O_RDWR)
os.write(temporary, b"x")
gone = os.open("gone", os.O_CREAT | os.O_RDWR)
os.unlink("gone")
os.write(gone, b"12")
os.close(gone)
"""


def test_descriptors_from_outside_are_met_once(trace: Trace, work: Path) -> None:
    """With their name, mode and facts at that time; a file without a name is recorded as such."""
    (work / "in").write_text("1234")
    with (work / "in").open() as given, (work / "out").open("w") as out, (work / "given").open("a") as third:
        os.dup2(third.fileno(), 33)
        command = ["bash", "-c", 'exec "$0" -c "$1" 3>&33', sys.executable, MET]
        trace.run(
            *command, cwd=work, check=True, stdin=given, stdout=out, stderr=out, pass_fds=(33,), capture_output=False
        )
        os.close(33)
    facts, found = trace.facts(), {}
    for iri, one in of_class(facts, "FileVersion", "File").items():
        name = os.fsdecode(name_of(one))
        moved = [access for access in of_class(facts, "Access").values() if access["object"] == iri]
        sums = tuple(sum(int(access.get(word, 0)) for access in moved) for word in ("readBytes", "writeBytes"))
        if (name.startswith(str(work)) or name == "/dev/null") and any(sums):
            flags = int(one["flags"]) & (os.O_ACCMODE | os.O_APPEND)
            words = [word for word in ("inherited", "unlinked") if one.get(word) == "true"]
            found[os.path.relpath(name, work) if name != "/dev/null" else name] = (*sums, flags, *words)
    assert found == {
        ".": (0, 1, os.O_RDWR, "unlinked"),
        "in": (4, 0, os.O_RDONLY, "inherited"), "out": (0, 3, os.O_WRONLY, "inherited"),
        "given": (0, 5, os.O_WRONLY | os.O_APPEND, "inherited"), "gone": (0, 2, os.O_RDWR),
        "/dev/null": (0, 4, os.O_RDWR),
    }  # fmt: skip


CLOCKS = 1_000_000  # ns by which the clocks of the shim and of Python may differ
OPENED = """
import os
for number in range(3):
    with open("a", "a") as file:
        file.write("x")
os.mkfifo("fifo")
reader = os.open("fifo", os.O_RDONLY | os.O_NONBLOCK)
os.close(reader)
"""


def test_the_time_of_an_opening(trace: Trace, work: Path) -> None:
    """When it was opened, how long that took, and its close: in this order, and within the run of the program."""
    before = time.time_ns() - CLOCKS
    trace.run(sys.executable, "-c", OPENED, cwd=work, check=True)
    after = time.time_ns() + CLOCKS
    found = [one for one in of_class(trace.facts(), "FileVersion").values() if name_of(one) == os.fsencode(work / "a")]
    found.sort(key=lambda one: int(one["openedNs"]))
    assert [one["size"] for one in found] == ["0", "1", "2"]
    moments = [before]
    for one in found:
        opened, elapsed = int(one["openedNs"]), int(one["openElapsed"])
        assert 0 <= elapsed < after - before
        moments += [opened, opened + elapsed, int(one["closedNs"])]
    assert [*moments, after] == sorted([*moments, after])
    assert [one["openApi"] for one in found] == ["open64"] * 3
