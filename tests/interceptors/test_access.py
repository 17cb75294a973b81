"""The content of an access besides its counts: sizes, consecutive bytes, the longest call; failures; the three
details."""

from __future__ import annotations

import errno
import os
import re
import select
from dataclasses import dataclass
from pathlib import Path

import killed_writes
import pytest
from conftest import Project
from posix_trace import Trace, name_of, of_class

from provio.trace import facts, run_facts
from provio.trace.read import read_run


def read(trace: Trace) -> run_facts.Trace:
    """The trace as provio's own reader returns it."""
    (trace.folder.parent / "run.ttl").write_text("@prefix : <https://w3id.org/provio/ns#> . <#r> a :Run .\n")
    return read_run(trace.folder.parent)


def accesses(trace: Trace, name: str) -> dict[str, tuple[facts.Access, str]]:
    """The accesses to a file, by function: the access and its side."""
    found = {}
    for opening in read(trace).openings():
        if opening.path and opening.path.endswith(name.encode()):
            for access in opening.accesses:
                for side in ("read", "write"):
                    if access.count(side + "s"):
                        found[access.counts[side + "Api"]] = access, side
    return found


@pytest.mark.integration
def test_sizes_and_consecutive_bytes(built: Path, trace: Trace, work: Path) -> None:
    """Calls are counted by function and size, and by whether they started at the end of the previous call."""
    printed = trace.run(built / "sizes", work / "file", check=True).stdout.decode().splitlines()
    found = accesses(trace, "/file")
    assert len(printed) == 5
    for line in printed:
        api, *numbers = line.split()
        access, side = found[api]
        empty = access.count("emptyReads") if side == "read" else 0
        sizes = access.sizes(side)
        assert sum(sizes) == access.count(side + "s") - empty
        recorded = [access.count(side + "s"), access.count(side + "Bytes"), empty, access.consecutive(side), *sizes]
        assert recorded == [int(number) for number in numbers], api


# The second process sleeps in its read before any process waits to write.
ONE_WAITS = """
exec 3<>fifo
printf ab >&3
head -c 2 <&3 >/dev/null
head -c 2 <&3 >/dev/null &
asleep() { read -r _ name state _ < /proc/$1/stat && [ "$name $state" = "(head) S" ]; }
until asleep $!; do sleep 0.01; done
sleep 0.3
echo c >&3
wait $!
"""


@pytest.mark.integration
def test_the_longest_call(trace: Trace, work: Path) -> None:
    """One slow read among quick ones is the longest: it takes at least as long as the wait."""
    os.mkfifo(work / "fifo")
    trace.run("bash", "-c", ONE_WAITS, cwd=work, check=True)
    longest = [
        (access.count("readElapsed"), access.count("readLongest"))
        for opening in read(trace).openings()
        for access in opening.accesses
        if opening.kind == "Pipe" and access.count("reads")
    ]
    assert all(0 < longest_one <= elapsed for elapsed, longest_one in longest)
    assert any(longest_one >= 200_000_000 for _, longest_one in longest)


def test_failures_are_counted_by_errno(built: Path, trace: Trace, work: Path) -> None:
    """A failed call is counted under its error, with the file if there is one, and never as a success."""
    printed = trace.run(built / "failures", work, check=True).stdout.decode().splitlines()
    recorded = trace.facts()
    found = {}
    for one in of_class(recorded, "Failure").values():
        name = name_of(recorded[one["object"]]).rpartition(b"/")[2].decode() if "object" in one else "-"
        found[one["api"], int(one["errno"]), name] = int(one["count"])
    for line in printed:
        api, error, count, name = line.split()
        assert found[api, int(error), name] == int(count), line
    assert len(printed) == 12
    opened = {name_of(one) for one in recorded.values() if "openApi" in one}
    assert opened == {b"", os.fsencode(work / "file")}  # both ends of the pipe, and the file


@pytest.mark.integration
def test_failed_opens_reach_the_graph_without_an_entity(project: Project) -> None:
    """The failed opens of a process are one activity for each function and error."""
    project.run("cat none0 none1 none2 2>/dev/null; true")
    rows = project.rows(
        "SELECT ?n ?errno WHERE { ?f a provio:Open ; provio:errors ?n ; provio:errno ?errno ; provio:partOf ?p . "
        '?p provio:argv "cat none0 none1 none2" }'
    )
    assert rows == [{"n": "3", "errno": "2"}]
    assert project.count('?file provio:path ?path FILTER(CONTAINS(STR(?path), "none"))') == 0


@pytest.mark.integration
def test_sizes_reach_the_graph(project: Project) -> None:
    """The sizes, the longest call and the consecutive bytes are properties of the activity."""
    project.sh("head -c 985000 /dev/zero > raw")
    project.watch("dd", "if=raw", "of=copy", "bs=65536", "status=none")
    rows = project.rows(
        "SELECT ?n ?s4 ?s3 ?long ?c WHERE { ?f provio:wasWrittenBy ?w ; prov:specializationOf/provio:path ?p . "
        "?w provio:count ?n ; provio:size4 ?s4 ; provio:size3 ?s3 ; provio:maxElapsed ?long . "
        'OPTIONAL { ?w provio:consecutiveBytes ?c } FILTER(STRENDS(?p, "/copy")) }'
    )
    assert [(row["n"], row["s4"], row["s3"], "c" in row) for row in rows] == [("16", "15", "1", False)]
    assert int(rows[0]["long"]) > 0


@pytest.mark.integration
def test_an_older_trace_without_sizes(project: Project) -> None:
    """Without a counter of the longest call there are no sizes either: the graph states neither."""
    project.sh("head -c 985000 /dev/zero > raw")
    project.provio("run", "--no-merge", "--", "dd", "if=raw", "of=copy", "bs=65536", "status=none")
    for path in project.trace_files():
        counters = re.sub(rb"; :(read|write)Longest +[0-9]{16}", b"", path.read_bytes())
        path.write_bytes(re.sub(rb'(:(?:read|writ)ing "[^"]*) [0-9]+"', rb'\1"', counters))
    assert project.count("?w a provio:Write ; provio:bytes 985000 ; provio:elapsed ?e") == 1
    assert project.count("?a provio:maxElapsed|provio:size4|provio:consecutiveBytes ?any") == 0


# ---- detail


def test_detail_file_records_users_of_each_file(built: Path, trace: Trace, work: Path) -> None:
    """No counts, but each file that was read or written, with the time of the first call."""
    trace.detail = "file"
    trace.run(built / "sizes", work / "file", check=True)
    touched = [
        (bool(access.first_read), bool(access.first_write), access.count("reads"), access.count("writes"))
        for opening in read(trace).openings()
        for access in opening.accesses
        if opening.path and opening.path.endswith(b"/file")
    ]
    assert touched == [(False, True, 0, 0), (True, False, 0, 0), (True, False, 0, 0)]


@pytest.mark.slow
def test_lineage_holds_at_detail_file(project: Project) -> None:
    """A process with two phases, overwriting, a pipe: the same ancestors as with counters."""
    project.sh("echo a > a; echo b > b")
    script = "import sys; x = open('a').read(); open('x', 'w').write(x); y = open('b').read(); open('y', 'w').write(y)"
    for detail in ("op", "file", "call"):
        project.provio("run", "--quiet", "--detail", detail, "--", "python3", "-c", script)
        assert project.data("x") == {"a"}
        assert project.ancestors("y") == {"data": {"b"}, "carried": {"a"}, "control": set()}
        project.provio("run", "--quiet", "--detail", detail, "--", "bash", "-c", "cat a b | sort > sorted")
        assert project.data("sorted") == {"a", "b"}


@dataclass
class Line:
    """A line of a file of calls: its access or failure, `r`, `w` or `c`, its numbers."""

    part_of: str
    kind: str
    record: dict[str, str]

    def __getitem__(self, name: str) -> int:
        return int(self.record[name])


def call_lines(trace: Trace) -> list[Line]:
    """All lines of all files of calls."""
    lines = []
    for iri, record in trace.calls().items():
        part_of, _, name = iri.rpartition("/")
        lines.append(Line(part_of, name[0], record))
    return lines


def test_detail_call_keeps_every_call(built: Path, trace: Trace, work: Path) -> None:
    """Each call has a line with its offset, size, start and elapsed time; their sums are the counters."""
    trace.detail = "call"
    trace.run(built / "sizes", work / "file", check=True)
    lines, recorded = call_lines(trace), trace.facts()
    for api, (access, side) in accesses(trace, "/file").items():
        own = [line for line in lines if line.part_of == access.iri and line.kind == side[0]]
        assert len(own) == access.count(side + "s"), api
        assert sum(line["bytes"] for line in own) == access.count(side + "Bytes")
        assert sum(line["elapsed"] for line in own) == access.count(side + "Elapsed")
        assert max(line["elapsed"] for line in own) == access.count(side + "Longest")
        starts = [line["at"] for line in own]
        assert starts == sorted(starts)
    assert all(line.part_of in recorded for line in lines)
    writes = [line for line in lines if line.kind == "w" and "/file" in _path(recorded, line)]
    assert [(line["offset"], line["bytes"]) for line in writes] == [
        *((100 * i, 100) for i in range(10)),
        (1000, 101), (4096, 5000), (9096, 1 << 20), (9096 + (1 << 20), 2 << 20), (9096 + (3 << 20), 0),
    ]  # fmt: skip


def test_lines_of_calls_are_short(built: Path, trace: Trace, work: Path) -> None:
    """A line takes at most 130 bytes."""
    trace.detail = "call"
    trace.run(built / "sizes", work / "file", check=True)
    lines = [line for path in trace.folder.glob("*.calls.ttl") for line in path.read_bytes().split(b"\n")]
    assert max(len(line) + 1 for line in lines if b":elapsed" in line) <= 130


def test_offsets_of_streams_at_detail_call(built: Path, trace: Trace, work: Path) -> None:
    """For a read that stdio serves from its buffer, the offset is the program's position in the file."""
    trace.detail = "call"
    trace.run(built / "sizes", work / "file", check=True)
    access, _ = accesses(trace, "/file")["fread"]
    offsets = [line["offset"] for line in call_lines(trace) if line.part_of == access.iri]
    assert offsets == [0, 6000, 100000, 200000, 300000, 0, 0, 0]


def test_numbers_of_more_than_sixteen_digits(built: Path, trace: Trace, work: Path) -> None:
    """An offset larger than the maximum of a counter is written in full in the line of its call; the counter stays at
    its maximum."""
    trace.detail = "call"
    trace.run(built / "largest", work / "file", check=True)
    recorded, lines = trace.facts(), call_lines(trace)
    reads = [line["offset"] for line in lines if recorded[line.part_of].get("readApi") == "pread"]
    assert reads == [12345678901234567, 2**63 - 21]
    (submitted,) = (one for one in recorded.values() if one.get("operation") == "SubmitRead")
    assert (submitted["count"], submitted["bytes"]) == (f"{2:016}", "9" * 16)
    assert [line["bytes"] for line in lines if recorded[line.part_of] == submitted] == [2**63 - 1] * 2
    (refused,) = of_class(recorded, "Failure").values()
    assert (refused["api"], int(refused["errno"]), int(refused["count"])) == ("aio_return", errno.EFAULT, 2)


def _path(recorded: dict[str, dict[str, str]], line: Line) -> str:
    return recorded[recorded[line.part_of].get("object", "")].get("path", "")


def test_failed_calls_at_detail_call(built: Path, trace: Trace, work: Path) -> None:
    """A failed call also has a line, with its error."""
    trace.detail = "call"
    trace.run(built / "failures", work, check=True)
    recorded = trace.facts()
    failed = [line for line in call_lines(trace) if "errno" in line.record]
    assert len(failed) == sum(int(one["count"]) for one in of_class(recorded, "Failure").values())
    assert all(int(recorded[line.part_of]["errno"]) == line["errno"] for line in failed)


@pytest.mark.integration
def test_every_call_that_returned_is_kept_after_a_kill(built: Path, trace: Trace, work: Path) -> None:
    """A program that is killed at any instruction of a write has a line for each write, or for all but that one."""
    trace.detail = "call"
    out, before, found = work / "out", killed_writes.BEFORE, set()

    def run(step: int) -> int:
        out.unlink(missing_ok=True)
        trace.clear()
        return trace.run(built / "killed", out, str(before), str(step)).returncode

    for _ in killed_writes.kills(3, run):
        recorded = trace.facts()
        own = [line for line in call_lines(trace) if _path(recorded, line) == str(out)]
        assert {line["bytes"] for line in own} == {64}
        found.add((out.stat().st_size // 64 - before, len(own) - before))
    assert found == killed_writes.ALL


def test_no_room_for_calls_and_then_none_for_the_trace(built: Path, trace: Trace, work: Path) -> None:
    """Both reasons fit the space that is reserved for one Gap: the first one stays, and the file can be read."""
    trace.detail = "call"
    trace.run(built / "two_limits", work, check=True)
    (gap,) = of_class(trace.facts(), "Gap").values()
    assert gap["reason"] == "no descriptor was left to open the trace with"
    assert len(of_class(trace.facts(), "FileVersion")) < 20


def run_to_the_last(trace: Trace, *command: str | Path, cwd: Path) -> None:
    """Run a program, and wait for the end of all its children, at which the last end of a pipe is closed."""
    ended, held = os.pipe()
    try:
        trace.run(*command, cwd=cwd, pass_fds=[held])
    finally:
        os.close(held)
    assert select.select([ended], [], [], 60)[0] and os.read(ended, 1) == b""
    os.close(ended)


@pytest.mark.integration
def test_calls_of_threads_and_children_are_kept_under_their_own_names(built: Path, trace: Trace, work: Path) -> None:
    """Threads that reuse a file, forked children and a vfork child each have their lines."""
    trace.detail = "call"
    trace.run(built / "four_threads", work, check=True, cwd=work)
    run_to_the_last(trace, built / "processes", work, cwd=work)
    lines, recorded = call_lines(trace), trace.facts()
    assert lines
    assert [line.part_of for line in lines if line.part_of not in recorded] == []
    for iri, record in recorded.items():
        if record.get("type") == "Access" and record.get("writeApi") in ("write", "pwrite"):
            own = sum(line.part_of == iri and line.kind == "w" for line in lines)
            assert own == int(record.get("writes", 0)), iri
