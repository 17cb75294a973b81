"""Thread files of a thread that records much, and the size of the records of an opening that was closed."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from posix_trace import POSIX, Trace, counts, facts_of, name_of, of_class, parsed

from provio.trace import read
from provio.trace.facts import Access

OPENINGS = """
import os
for number in range(1000):
    file = os.open(f"file {number % 10}", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    os.write(file, b"ten bytes.")
    os.close(file)
"""
SIZES = """
import os
for number in range(300):
    file = os.open("file", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    for size in (5000, 5000, 7):
        os.write(file, bytes(size))
    os.close(file)
    file = os.open("file", os.O_RDONLY)
    while os.read(file, 4096):
        pass
    os.close(file)
"""
UNCLOSED = """
import os
log = os.open("log", os.O_WRONLY | os.O_CREAT)
for length in range(1, 17):
    if not os.fork():
        for number in range(400):
            file = os.open(f"{length:0{length}} {number}", os.O_WRONLY | os.O_CREAT)
            os.write(file, b"ten bytes.")
        os._exit(0)
    os.wait()
for number in range(1000):
    os.close(os.open("1 1", os.O_RDONLY))
for size in (10, 10, 5000, 10):
    os.write(log, bytes(size))
os._exit(0)
"""
LARGEST = 200_000  # bytes


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shim whose threads continue in another file before one has LARGEST bytes."""
    shim = tmp_path_factory.mktemp("small") / "libprovio.so"
    subprocess.run([POSIX / "build", shim], env={**os.environ, "CFLAGS": f"-DLARGEST_FILE={LARGEST}"}, check=True)
    return shim


def python(trace: Trace, work: Path, code: str, shim: Path | None = None) -> None:
    """Run a Python program that imports nothing of the site."""
    trace.shim = shim or trace.shim
    trace.run("python3", "-I", "-S", "-c", code, cwd=work, check=True)


def names(trace: Trace) -> set[str]:
    """The thread files that are there."""
    return {path.name.removesuffix(".ttl") for path in trace.files()}


def committed(path: Path) -> tuple[int, int]:
    """The number of blocks that a file states, and the number that it has."""
    data = path.read_bytes()
    return int(data[16:32]), sum(line.startswith(b" ") for line in data.splitlines())


def test_a_closed_opening_takes_at_most_400_bytes(trace: Trace, work: Path) -> None:
    """Opened, written and closed, with a name of 80 bytes; also if it was open for reading and writing."""
    python(trace, work, OPENINGS)
    (path,) = trace.files()
    used = len(path.read_bytes().rstrip(b"#\n"))
    python(trace, work, "pass")
    empty = min(len(one.read_bytes().rstrip(b"#\n")) for one in trace.files())
    assert used - empty <= (400 - 80 + len(os.fsencode(work / "file 0"))) * 1000
    made = [count for count in counts(trace.facts()) if b"/file " in count.path]
    assert sum(one.count for one in made if one.side == "W") == 1000
    assert sum(one.size for one in made if one.side == "W") == 10_000


def test_sizes_of_closed_openings(trace: Trace, work: Path) -> None:
    """Sizes and repositions of each opening are those of its own calls, although openings use the same counters."""
    python(trace, work, SIZES)
    facts = trace.facts()
    sizes = Counter(
        (iri.rpartition("/")[2], one["usualSize"], *sorted(item for item in one.items() if item[0].startswith("size")))
        for iri, one in of_class(facts, "AccessSizes").items()
        if name_of(facts[facts[iri.rpartition("/")[0]]["object"]]).endswith(b"/file")
    )
    assert sizes == {
        ("write", "3", ("size1", "1")): 300,
        ("read", "3", ("size2", "0")): 300,
    } or set(sizes.values()) == {300}, sizes
    lines = sum(line.startswith(b" <s") for path in trace.files() for line in path.read_bytes().splitlines())
    assert lines <= 8  # lines of counters, for 600 openings


@pytest.mark.parametrize("detail", ["op", "call", "file", "op,-duration"])
def test_a_thread_continues_in_another_file(small: Path, trace: Trace, work: Path, detail: str) -> None:
    """Each file is valid by itself and below the limit; all together have each opening once."""
    trace.detail = detail
    python(trace, work, OPENINGS, small)
    files = [*trace.files(), *trace.folder.glob("*.calls.ttl")]
    assert len(trace.files()) >= 2
    assert max(path.stat().st_size for path in files) <= LARGEST
    assert all(list(parsed(path.read_bytes())) for path in files)
    opened = [
        iri
        for path in trace.files()
        for iri, one in facts_of(path.read_bytes()).items()
        if one.get("type") == "FileVersion" and b"/file " in name_of(one)
    ]
    assert len(opened) == len(set(opened)) == 1000
    run = trace.folder.parent
    (run / "run.ttl").write_text(
        "@prefix : <https://w3id.org/provio/ns#> . <https://w3id.org/provio/run/r1> a :Run .\n"
    )
    whole = read.read_run(run)
    assert whole.damages == []
    made = [one for one in whole.openings() if b"/file " in (one.path or b"")]
    assert len(made) == 1000
    assert all(one.closed and one.at_close and one.at_close.size == 10 for one in made)
    if detail != "file":
        assert sum(access.count("writes") for one in made for access in one.accesses) == 1000
        written = [count for count in counts(trace.facts()) if b"/file " in count.path and count.side == "W"]
        assert (sum(one.count for one in written), sum(one.size for one in written)) == (1000, 10_000)


def test_openings_that_are_not_closed_continue_too(small: Path, trace: Trace, work: Path) -> None:
    """The counters of an opening are in its file, wherever the thread continues; sizes may be in a later one."""
    python(trace, work, UNCLOSED, small)
    run = trace.folder.parent
    (run / "run.ttl").write_text(
        "@prefix : <https://w3id.org/provio/ns#> . <https://w3id.org/provio/run/r1> a :Run .\n"
    )
    whole = read.read_run(run)
    assert whole.damages == []
    written: dict[bytes, list[Access]] = {}
    for one in whole.openings():
        if (one.path or b"").startswith(os.fsencode(work)) and one.flags & os.O_WRONLY:
            written[one.path] = [access for access in one.accesses if access.count("writes")]
    (of_log,) = written.pop(os.fsencode(work / "log"))
    assert len(written) == 6_400
    assert {tuple(access.count("writes") for access in accesses) for accesses in written.values()} == {(1,)}
    assert (of_log.count("writes"), of_log.sizes("write")[:4]) == (4, [3, 0, 1, 0])


def test_each_file_is_listed(small: Path, trace: Trace, work: Path) -> None:
    """The list has each thread file once, also those of children and those in which a thread continues."""
    python(
        trace, work, OPENINGS + "for _ in range(3):\n if not os.fork(): open('f','w'); os._exit(0)\n os.wait()", small
    )
    listed = (trace.folder / "threads").read_text().splitlines()
    assert sorted(listed) == sorted(names(trace))
    assert len(listed) >= 5


def test_the_number_of_blocks(small: Path, trace: Trace, work: Path) -> None:
    """Each file states the number of its blocks, exactly once the program has ended."""
    python(trace, work, OPENINGS, small)
    for path in trace.files():
        stated, found = committed(path)
        assert stated == found, path.name


def test_jumps_out_of_signal_handlers(trace: Trace, built: Path, work: Path) -> None:
    """Handlers that jump out of the recording of a call, 2,000 times, cost few files, and later calls are counted."""
    done = trace.run(built / "jumps", "2000", work)
    assert done.returncode == 0, done
    assert len(trace.files()) <= 40
    assert sum(path.stat().st_size for path in trace.files()) < 8 << 20
    assert all(list(parsed(path.read_bytes())) for path in trace.files())
    last = [one for one in counts(trace.facts()) if one.path == os.fsencode(work / "last") and one.side == "W"]
    assert (sum(one.count for one in last), sum(one.size for one in last)) == (100, 500)
    assert len(of_class(trace.facts(), "Process")) == 1
