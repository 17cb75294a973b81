"""Reports of a layer above the C library through `layer.h`: recorded in the caller's file, like openings."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import killed_writes
import pytest
import rdflib
from conftest import Project
from posix_trace import NS, Count, Trace, counts, of_class, parsed

from provio.trace.fast import line_shapes
from provio.trace.openings import all_plain
from provio.trace.records import records_in


def one(facts: dict[str, dict[str, str]], kind: str, **words: str) -> dict[str, str]:
    (found,) = [one for one in of_class(facts, kind).values() if words.items() <= one.items()]
    return found


def test_each_function_leaves_its_record(built: Path, trace: Trace, work: Path) -> None:
    """Files, their objects, their counters, events, failures: each is recorded with all its facts."""
    printed = trace.run(built / "objects", cwd=work, check=True).stdout.decode().splitlines()
    facts = trace.facts()
    found = [c for c in counts(facts) if not c.api.startswith("put")]
    assert sorted(found, key=str) == sorted(
        (
            Count(side, api, path.encode(), int(count), int(size))
            for side, api, path, count, size in map(str.split, printed)
        ),
        key=str,
    )
    file = one(facts, "FileVersion", format="HDF5")
    (iri,) = [iri for iri, record in facts.items() if record == file]
    own = (work / "data.h5").stat()
    assert file["path"] == str(work / "data.h5")
    assert (file["openApi"], file["inode"], file["flags"]) == (
        "layer.open",
        str(own.st_ino),
        str(os.O_RDWR | os.O_CREAT),
    )
    assert (file["closedMtimeNs"], file["closedLinks"]) == (str(own.st_mtime_ns), "1")
    dataset = one(facts, "Dataset", path="/group/one")
    (first,) = [iri for iri, record in facts.items() if record == dataset]
    assert dataset.pop("replacedNs") > file["openedNs"]
    assert dataset == {
        "type": "Dataset", "inFile": iri, "path": "/group/one", "shape": "100 200", "maxShape": "100 *",
        "elementSize": "8", "datatype": "float64", "chunks": "10 10", "filters": "shuffle deflate",
        "token": "800", "created": "true",
    }  # fmt: skip
    assert one(facts, "Attribute")["name"] == 'unit\u00e9s "m"'
    assert one(facts, "Attribute")["shape"] == ""
    link = one(facts, "NamedLink")
    assert (link["targetEncoded"], link["targetFile"]) == ("/gro%FFup", "b.h5")
    sources = [record for record in facts.values() if "virtualSource" in record]
    assert len(sources) == 2
    assert first in {record["virtualSource"] for record in sources}
    assert one(facts, "Resize")["object"] == first
    assert one(facts, "Rename", **{"from": "/a", "to": "/b"})["inFile"] == iri
    assert one(facts, "Rename", path="/group/one")["to"] == "units"
    assert one(facts, "Delete")["name"] == "units"
    assert one(facts, "Failure", errno="5")["operation"] == "Read"
    assert "object" not in one(facts, "Failure", errno="0")


def test_every_reader_reads_the_same(built: Path, trace: Trace, work: Path) -> None:
    """The trace is valid Turtle for every reader, with the same number of statements for each; also for merge's fast
    one."""
    trace.run(built / "objects", cwd=work, check=True)
    (path,) = trace.files()
    data = path.read_bytes()
    count = len(list(parsed(data)))
    assert len(rdflib.Graph().parse(data=data, format="turtle", publicID="http://x/")) == count
    for command in (["serdi", "-q", "-i", "turtle", "-"], ["rapper", "-q", "-i", "turtle", "-", "http://x/"]):
        if shutil.which(command[0]):
            lines = subprocess.run(command, input=data, check=True, capture_output=True).stdout.splitlines()
            assert len(set(lines)) == count, command[0]
    quick = b"".join(line for line in data.splitlines(keepends=True) if b"\\" not in line)
    assert line_shapes.records(quick) == all_plain(records_in(quick))


WAYS = """
import mmap, os, signal, socket
master, slave = os.openpty()
os.write(master, b"a")
os.write(slave, b"b")
os.read(master, 9)
near, far = socket.socketpair()
near.send(b"c")
far.recv(1)
with open("f", "w+b") as file:
    file.write(bytes(9))
    file.flush()
    held = mmap.mmap(file.fileno(), 9)
anonymous = mmap.mmap(-1, 9)
try:
    os.setxattr("f", "user.x", b"d")
    os.getxattr("f", "user.x")
except OSError:
    pass
readable, writable = os.pipe()
os.write(writable, b"e")
if not os.fork():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.close(readable)
    os.write(writable, bytes(1 << 20))
os.read(readable, 9)
os.close(readable)
os.wait()
"""


def test_the_fast_reader_reads_all_ways_of_data(trace: Trace, work: Path) -> None:
    """Terminals, connections, memory, attributes of files, a write that does not return."""
    trace.run(sys.executable, "-c", WAYS, cwd=work, check=True)
    found: dict[str, dict[str, str]] = {}
    for path in trace.files():
        data = path.read_bytes()
        quick = b"".join(line for line in data.splitlines(keepends=True) if b"\\" not in line)
        assert line_shapes.records(quick) == all_plain(records_in(quick))
        found |= records_in(quick)
    assert {"attempted", "localAddress", "peerInode", "protection", "attribute"} <= {
        name for record in found.values() for name in record
    }
    assert {record.get("localAddress", "").rpartition(".")[2] for record in found.values()} >= {"master", "slave"}


def test_undeclarable_values_are_ignored(built: Path, trace: Trace, work: Path) -> None:
    """NULL, invalid functions and classes, more names than there is room for: nothing is recorded."""
    trace.run(built / "objects", "nothing", cwd=work, check=True)
    types = [record["type"] for record in trace.facts().values()]
    assert sorted(types) == ["Access", *["FileVersion"] * 4, "Process", "Thread"]
    assert [len(record["path"]) for record in trace.facts().values() if "tcp:" in record.get("path", "")] == [8191]
    assert not [
        record
        for record in trace.facts().values()
        if {"readApi", "writeApi"} & record.keys() and "layer" in str(record)
    ]


@pytest.mark.integration
def test_nothing_is_lost_by_a_kill(built: Path, trace: Trace, work: Path) -> None:
    """After SIGKILL at any instruction of a write, each that returned is counted, and perhaps that one."""

    def run(step: int) -> int:
        trace.clear()
        return trace.run(built / "objects", "write", "1000", str(step), cwd=work).returncode

    found = set()
    for _ in killed_writes.kills(5, run):
        assert int.from_bytes((work / "done").read_bytes()[:8], "little") == 1000
        found.add(sum(one.count for one in counts(trace.facts()) if one.api == "layer.write"))
    assert found == ({1000, 1001} if killed_writes.COUNTED else {1000})


def test_threads_count_each_for_itself(built: Path, trace: Trace, work: Path) -> None:
    """Four threads that read one dataset have an Access each, and together count every call."""
    trace.run(built / "objects", "threads", "5000", cwd=work, check=True)
    facts = trace.facts()
    accesses = [
        record for record in of_class(facts, "Access").values() if record.get("readApi", "").startswith("layer")
    ]
    assert [int(record["reads"]) for record in accesses] == [5000] * 4
    assert len({record["object"] for record in accesses}) == 1
    assert len(of_class(facts, "Dataset")) == 1


def test_a_child_records_inherited_objects_again(built: Path, trace: Trace, work: Path) -> None:
    """After a fork the same objects are the child's own, inherited, under its own name."""
    trace.run(built / "objects", "fork", cwd=work, check=True)
    facts = trace.facts()
    sizes = {}
    for iri, record in facts.items():
        if record.get("writeApi") == "layer.write":
            dataset = facts[record["object"]]
            assert record["object"].split("/")[-2] == iri.split("/")[-3]
            assert "closedNs" in facts[dataset["inFile"]]
            sizes[int(record["writeBytes"])] = (dataset.get("created"), dataset.get("inherited"), dataset["shape"])
    assert sizes == {24: ("true", None, "100 200"), 16: (None, "true", "100 200")}


@pytest.mark.parametrize("detail", ["file", "op", "call"])
def test_details(built: Path, trace: Trace, work: Path, detail: str) -> None:
    """At `file` only the time of the first call, and copies; at `op` counters; at `call` also a line for each call."""
    trace.detail = detail
    trace.run(built / "objects", "touch", cwd=work, check=True)
    facts = trace.facts()
    accesses = [one for one in facts.values() if any(str(value).startswith("layer.") for value in one.values())]
    words = {word for one in accesses for word in one}
    assert {"firstRead", "firstWrite"} <= words
    assert ("reads" in words, "errno" in words) == ((False, False) if detail == "file" else (True, True))
    assert [one["type"] for one in accesses].count("Copy") == 1
    lines = [iri for iri in trace.calls() if "/a1/" not in iri]
    assert len(lines) == (9 if detail == "call" else 0)
    assert NS not in "".join(words)


# ---- ranks


@pytest.mark.parametrize(
    ("environment", "rank"),
    [
        ({}, None),
        ({"OMPI_COMM_WORLD_RANK": "3", "PMIX_RANK": "3"}, "3"),
        ({"PMIX_RANK": "4"}, "4"),
        ({"OMPI_COMM_WORLD_RANK": "3", "PMIX_RANK": "4"}, None),  # two launchers that disagree are both ignored
        ({"PMIX_RANK": "4", "PMI_RANK": "5"}, None),
        ({"PMI_RANK": "0"}, "0"),
        ({"SLURM_PROCID": "6", "SLURM_STEP_NUM_TASKS": "8"}, "6"),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, None),  # the script of a job
        ({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}, None),
        ({"SLURM_PROCID": "0"}, None),
        ({"OMPI_COMM_WORLD_RANK": "x3", "PMI_RANK": "12345678901"}, None),
    ],
)
def test_the_rank_of_a_process(
    built: Path, trace: Trace, work: Path, environment: dict[str, str], rank: str | None
) -> None:
    """A process of a parallel program records its rank, from its launcher."""
    trace.run(built / "writer", work / "out", "1", env=environment, check=True)
    assert one(trace.facts(), "Process").get("rank") == rank


@pytest.mark.integration
def test_ranks_are_in_the_graph(project: Project) -> None:
    """The graph has the rank of each process that has one."""
    project.run("for i in 0 1 2; do PMI_RANK=$i sh -c 'echo > out$PMI_RANK'; done")
    rows = project.rows("SELECT ?rank WHERE { ?p a provio:Process ; provio:rank ?rank } ORDER BY ?rank")
    assert [row["rank"] for row in rows] == ["0", "1", "2"]
