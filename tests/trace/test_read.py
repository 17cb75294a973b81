"""All facts of a run folder, as lines of text: a hand-made folder with every kind of record in, the typed facts out.

`whole.txt` has the expected lines. To write it again: `cd tests && PYTHONPATH=.
../.venv/bin/python trace/test_read.py`. Check each changed line against docs/trace-format.md.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from provio.base.vocab import NS, RUN_BASE
from provio.system import node_local
from provio.trace.facts import Access, Failure, Opening, Process
from provio.trace.read import read_run
from provio.trace.run_facts import Trace

EXPECTED = Path(__file__).parent / "whole.txt"
ID = "01936b2e-7c00-7abc-8def-0123456789ab"
RUN = RUN_BASE + ID
PREFIX = f"@prefix : <{NS}> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
SAME = ':device "8:1" ; :birthNs 1 ; :mtimeNs 2 ; :ctimeNs 3 ; :size 4'  # facts of a file, without its inode
HEAD = f"""
<{RUN}> a :Run ; :host "node" ; :bootId "boot" ; :startedNs 900 ; :cwd "/data" %s .
<{RUN}/environment/A> a :Environment ; :name "A" ; :value "1" .
<{RUN}/environment/B> a :Environment ; :name "B" .
<{RUN}/image> a :Image ; :path "/x.sif" .
<{RUN}/gap> a :Gap ; :about <{RUN}> ; :reason "not all" .
<{RUN}/node/mount/1> a :Mount ; :mountPoint "/" ; :root "/" ; :device "8:1" .
"""
FILES = {
    # A process of two threads with every kind of record.
    "1.1.0.0": f"""
<> a :Thread ; :tid 1 ; :epochNs 1000 .
<../> a :Process ; :pid 1 ; :startTick 1 ; :parentPid 99 ; :host "node" ; :image "exec" ; :startedNs 1001 ;
  :argv "cat a --in=b/../c % x%20y" ; :executable "/usr/bin/cat" ; :cwd "/data" .
<../o1> a :FileVersion ; :path "/data/a" ; :inode 11 ; {SAME} ; :flags 0 ; :openedNs 1010 ; :openApi "open" ;
  :openElapsed 5 .
<../o10> a :FileVersion ; :pathEncoded "/data/%FF" ; :inode 12 ; {SAME} ; :flags 513 ; :openedNs 1011 ;
  :inherited true ; :unlinked true ; :closedNs 1100 ; :closedMtimeNs 1090 ; :closedCtimeNs 1091 ; :closedSize 40 .
<../o2> a :FileVersion ; :path "/data/b" ; :inode 13 ; {SAME} ; :flags 514 ; :openedNs 1012 .
<../o3> a :Pipe ; :inode 14 ; :device "0:12" ; :flags 0 ; :openedNs 1013 .
<../o4> a :Socket ; :inode 15 ; :device "0:8" ; :flags 2 ; :openedNs 1014 ; :localAddress "1.1.1.1:1" ;
  :peerAddress "1.1.1.2:2" ; :peerInode 3 ; :peerPid 4 .
<../o5> a :Directory ; :path "/data" ; :inode 16 ; {SAME} ; :flags 0 ; :openedNs 1015 .
<../o6> a :Unheard ; :path "/data" ; :inode 16 ; {SAME} ; :openedNs 1015 .
<../o7> a :FileVersion ; :path "/data/q" ; :inode 17 ; {SAME} .
<a1> a :Access ; :object <../o1> ; :readApi "read" ; :reads 5 ; :emptyReads 1 ; :readBytes 300 ; :readElapsed 7 ;
  :firstRead 20 ; :lastRead 60 ; :task <../t1> ; :writes 0 ; :firstWrite 0 ; :lastWrite 0 .
<a1/read/0> a :Turn ; :last 0000030 ; :bytes 100 ; :first 40 .
<a1/read/1> a :Turn ; :last 50 ; :bytes 250 ; :first 55 .
<a1/read> a :AccessSizes ; :usualSize 1 ; :size2 1 ; :size10 1 ; :jumpedBytes 200 .
<a9/read> a :AccessSizes ; :usualSize 1 ; :size2 1 .
<a9/read/0> a :Turn ; :last 30 ; :bytes 100 ; :first 40 .
<a2> a :Access ; :object <../o2> ; :readApi "read" ; :reads 1 ; :readBytes 9 ; :firstRead 21 ; :lastRead 0 ;
  :writeApi "write" ; :writes 2 ; :writeBytes 4096 ; :firstWrite 22 ; :lastWrite 0 ; :closed 150 .
<a2/write/0> a :Turn ; :bytes 100 .
<a3> a :Access ; :object <../o3> ; :readApi "read" ; :reads 1 ; :readBytes 0 ; :firstRead 23 ; :lastRead 23 .
<a4> a :Access ; :object <../o3> ; :readApi "splice" ; :firstRead 24 ; :lastRead 25 .
<a5> a :Copy ; :source <../o1> ; :object <../o10> ; :api "sendfile" ; :count 2 ; :bytes 9 ; :first 70 ; :last 80 .
<a6> a :Copy ; :source <../o3> ; :object <../o10> ; :api "splice" ; :count 1 ; :bytes 9 ; :first 71 ; :last 81 .
<a7> a :Copy ; :source <../o1> ; :object <../o10> ; :api "sendfile" ; :count 0 ; :bytes 0 ; :first 72 ; :last 82 .
<a8> a :Access ; :object <../o2> ; :operation :Allocate ; :api "fallocate" ; :count 1 ; :first 73 ; :last 83 .
<a10> a :Access ; :object <../o2> ; :operation :SubmitRead ; :api "io_submit" ; :count 1 ; :first 74 ; :last 84 .
<a11> a :Access ; :object <../o2> ; :operation :SubmitWrite ; :api "io_submit" ; :count 0 ; :first 75 ; :last 85 .
<a12> a :Access ; :object <../o2> ; :operation :Fsync ; :api "fsync" ; :count 1 ; :first 76 ; :last 86 .
<../o8> a :FileVersion ; :path "/data/c" ; :inode 18 ; {SAME} ; :flags 2 ; :openedNs 1016 .
<a14> a :Access ; :object <../o8> ; :readApi "read" ; :reads 1 ; :readBytes 9 ; :firstRead 200 ; :lastRead 0 ;
  :writeApi "write" ; :writes 1 ; :writeBytes 9 ; :firstWrite 400 ; :lastWrite 0 .
<a13> a :Access ; :object <../o99> ; :readApi "read" ; :reads 1 ; :firstRead 77 ; :lastRead 87 .
<f1> a :Failure ; :object <../o1> ; :operation :Read ; :api "read" ; :errno 5 ; :count 3 .
<f2> a :Failure ; :api "open" ; :errno 2 ; :count 1 .
<e1> a :Rename ; :at 90 ; :from "/data/a" ; :toEncoded "/data/%FE" ; :inode 11 ; {SAME} ; :task <../t1> .
<e2> a :Fork ; :at 91 ; :childPid 2 ; :childTick 1 .
<e3> a :Spawn ; :childPid 3 ; :childTick 1 .
<g1> a :Gap ; :about <../> ; :reason "full" ; :at 92 .
<g2> a :Gap ; :about <../../3.1.0/> ; :reason "cannot be watched" ; :executable "/bin/static" ; :argv "static" ;
  :at 93 .
<../t1> a :Task ; :name "one" ; :startedNs 1016 .
<../t2> a :Task ; :name "two" ; :startedNs 1017 ; :partOf <../t1> .
<../x3> a :Task ; :name "no task" ; :startedNs 1018 .
<../t1> :endedNs 1099 .
<../g1> a :Configuration ; :name "args" ; :kind "Hyperparameter" ; :startedNs 1020 ; :task <../t1> .
<../g1/1> a :Setting ; :partOf <../g1> ; :name "lr" ; :value "0.5" ; :valueType "double" .
<../g1/2> a :Setting ; :partOf <../g1> ; :nameEncoded "%FFx" ; :value "a" .
<../g1/3> a :Setting ; :partOf <../g1> ; :name "long" ; :size 70000 .
<../g1/4> a :Setting ; :partOf <../g1> ; :value "without a name" .
<../g1/5> a :Setting ; :name "of nothing" ; :value "1" .
<../g1> :complete true .
<../g2> a :Configuration ; :startedNs 1021 .
<../t1/1> a :Setting ; :partOf <../t1> ; :name "epoch" ; :value "3" ; :valueType "integer" .
<../m1> a :Metric ; :name "loss" ; :kind "Loss" ; :value "0.25" ; :valueType "double" ; :step 7 ; :startedNs 1022 ;
  :task <../t1> .
<../m2> a :Metric ; :name "good" ; :value "yes" ; :startedNs 1230 ; :partOf <../c1> .
<../m3> a :Metric ; :name "without a time" ; :value "1" ; :valueType "integer" .
<../c1> a :Checkpoint ; :path "/data/model" ; :step 7 ; :startedNs 1024 ; :task <../t2> .
<../c2> a :Checkpoint ; :kind "Weights" ; :startedNs 1025 .
<../e1> a :DataObject ; :name "table" ; :kind "Table" ; :identifier "db/1" ; :startedNs 1026 .
<../e2> a :Dataset ; :name "set" ; :startedNs 1027 .
<../e2/1> a :Setting ; :partOf <../e2> ; :name "identifier" ; :value "db/2" .
<../e2/2> a :Setting ; :partOf <../e2> ; :name "rows" ; :value "7" ; :valueType "integer" .
<../u1> a :UsedSaid ; :object <../e1> ; :startedNs 1028 ; :task <../t1> .
<../u2> a :GeneratedSaid ; :path "/data/b" ; :inode 13 ; {SAME} ; :startedNs 1029 .
<../y1> a :Configuration ; :name "no label" ; :startedNs 1030 .
<u3> a :UsedSaid ; :at 31 ; :path "/data/a" .
""",
    "1.1.0.1": """
<> a :Thread ; :tid 5 ; :epochNs 1000 .
<a1> a :Access ; :object <../o1> ; :readApi "pread" ; :reads 1 ; :readBytes 104857700 ; :firstRead 26 ; :lastRead 27 .
<a2> a :Access ; :object <../o1> ; :readApi "mmap" .
<a10> a :Access ; :object <../o2> ; :writeApi "pwrite" ; :writes 1 ; :writeBytes 5 ; :firstWrite 28 ; :lastWrite 29 .
<../o1> :closedNs 1110 .
<../t1> :status "ok" .
<../o98> :closedNs 1111 .
""",
    # Objects in a file; the second thread knows more of them, and of another file that is only named as a source.
    "2.1.0.0": f"""
<> a :Thread ; :tid 2 ; :epochNs 1000 .
<../> a :Process ; :pid 2 ; :image "exec" ; :startedNs 1002 ; :executable "/usr/bin/h5" ; :argv "h5" .
<../o1> a :FileVersion ; :path "/data/h" ; :format "HDF5" ; :inode 21 ; {SAME} ; :flags 2 ; :openedNs 1030 .
<../o2> a :FileVersion ; :path "/data/v" ; :format "HDF5" ; :inode 22 ; {SAME} ; :flags 0 ; :openedNs 1031 .
<../o3> a :FileVersion ; :path "/data/w" ; :format "HDF5" ; :inode 0 ; :flags 0 ; :openedNs 1032 .
<../o4> a :FileVersion ; :path "/data/s" ; :format "HDF5" ; :inode 23 ; {SAME} ; :flags 0 ; :openedNs 1033 .
<../o5> a :FileVersion ; :path "/data/s" ; :inode 23 ; {SAME} ; :flags 0 ; :openedNs 1034 .
<../o6> a :FileVersion ; :path "/data/n" ; :format "HDF5" ; :inode 24 ; {SAME} ; :flags 0 ; :openedNs 1035 .
<../o11> a :Dataset ; :inFile <../o1> ; :path "/d" ; :created true ; :replacedNs 1077 .
<../o12> a :Attribute ; :inFile <../o1> ; :path "/d" ; :name "unit" ; :created true .
<../o13> a :Attribute ; :inFile <../o1> ; :path "/d" .
<../o14> a :Dataset ; :inFile <../o1> ; :path "/e" ; :name "x" .
<../o15> a :Dataset ; :inFile <../o99> ; :path "/e" .
<../o16> a :Group ; :inFile <../o1> ; :pathEncoded "/%FF" .
<../o17> a :Dataset ; :inFile <../o2> ; :path "/v" .
<../o18> a :Dataset ; :inFile <../o6> ; :path "/n" ; :virtualSource <../o17> .
<../o19> a :Other ; :inFile <../o1> ; :path "/n" .
<v1> :object <../o11> ; :virtualSource <../o17> .
<v2> :object <../o11> ; :virtualSource <../o99> .
<a1> a :Access ; :object <../o11> ; :readApi "H5Dread" ; :reads 1 ; :readBytes 8 ; :firstRead 40 ; :lastRead 0 ;
  :writeApi "H5Dwrite" ; :writes 1 ; :writeBytes 8 ; :firstWrite 41 ; :lastWrite 42 .
<a2> a :Access ; :object <../o12> ; :operation :Create ; :api "H5Acreate2" ; :count 1 ; :first 43 ; :last 44 .
<a3> a :Copy ; :source <../o17> ; :object <../o16> ; :api "H5Ocopy" ; :count 1 ; :first 45 ; :last 46 .
<a4> a :Copy ; :source <../o99> ; :object <../o16> ; :api "H5Ocopy" ; :count 1 ; :first 47 ; :last 48 .
<a5> a :Access ; :inFile <../o1> ; :api "H5Lexists" ; :count 9 ; :first 49 ; :last 50 .
<f1> a :Failure ; :object <../o11> ; :operation :Write ; :api "H5Dwrite" ; :errno 28 ; :count 2 .
<e1> a :Rename ; :at 51 ; :inFile <../o1> ; :from "/d" ; :to "/f" .
<e2> a :Delete ; :at 52 ; :object <../o12> .
<e3> a :Delete ; :at 53 ; :path "/data/z" .
""",
    "2.1.0.1": """
<> a :Thread ; :tid 6 ; :epochNs 1000 .
<../o11> :shape "4" ; :replacedNs 1 .
<../o12> :shape "" .
<../o1> :closedNs 1120 ; :closedMtimeNs 1115 ; :closedCtimeNs 1116 ; :closedSize 50 .
<../t9> a :Task ; :name "nine" ; :startedNs 1200 ; :endedNs 1300 .
""",
    # Processes without a header: of a fork by vfork, and one with nothing but an event.
    "4.1.v.0": """
<> a :Thread ; :tid 4 ; :epochNs 1000 .
<e1> a :Exec ; :at 60 ; :executable "/bin/x" .
""",
    "6.1.0.0": """
<> a :Thread ; :tid 6 ; :epochNs 0 .
<../> :image "exec" ; :endedNs 1400 .
""",
}
SETTLED = f"""
<{RUN}/node/1.1.0/o2> :settledMtimeNs 5 ; :settledCtimeNs 6 ; :settledSize 7 ; :resolvedPath "/real/b" ; :reason "why" .
<{RUN}/node/1.1.0/> :inode 77 ; :device "8:2" .
<{RUN}/node/hash/1> :sha256 "{"0" * 64}" ; :inode 31 ; {SAME} .
<{RUN}/node/hash/2> :reason "changed" ; :inode 32 ; {SAME} .
<{RUN}/node/hash/3> :inode 33 ; {SAME} .
"""


def written(folder: Path, facts: str = "; :endedNs 2000") -> Path:
    """Write the run folder; `facts` are further facts of the run."""
    place = folder / ID / "node"
    place.mkdir(parents=True)
    (folder / ID / "run.ttl").write_text(PREFIX + HEAD % facts)
    for name, text in FILES.items():
        image, _, thread = name.rpartition(".")
        base = f"@base <{RUN}/node/{image}/{thread}/> .\n"
        (place / f"{name}.ttl").write_text(PREFIX + base + text.replace("\n  :", " :"))
    (place / "settled.ttl").write_text(PREFIX + SETTLED)
    (folder / ID / "far").mkdir()
    mark = f"<{RUN}/far/host> a :Host ; :captured true .\n"
    (folder / ID / "far" / node_local.MARK).write_text(PREFIX + mark)
    (place / "5.1.0.0.gap").symlink_to("no room")
    return folder / ID


def in_order(found: Any) -> Any:
    """Records with sorted properties: a reader returns them in an order that depends on earlier records."""
    if isinstance(found, Mapping):
        return {name: in_order(found[name]) for name in sorted(found)}
    return [in_order(one) for one in found] if isinstance(found, list) else found


def lines(trace: Trace) -> Iterator[str]:
    """All facts of a trace."""
    yield f"run {in_order(trace.run)}"
    yield f"environment {in_order(trace.environment)} image {in_order(trace.image)} mounts {in_order(trace.mounts)}"
    yield from (f"gap {one}" for one in trace.gaps)
    yield from (f"unwatched {one.process.iri} {one.gap} {one.name} {one.started}" for one in trace.unwatched)
    yield from (f"hash {key} {one}" for key, one in trace.hashes.items())
    for task in trace.tasks.values():
        yield f"task {task.iri} of {task.process.iri} {task.started}-{task.ended} in {task.part_of!r}"
        yield f" {in_order(task.record)}"
    told = trace.declarations
    for kind in (told.configurations, told.metrics, told.checkpoints, told.entities.values(), told.uses):
        yield from map(repr, kind)
    yield from (f"settings {iri} {settings}" for iri, settings in told.settings.items())
    for process in trace.processes.values():
        yield from _process(process)


def _process(process: Process) -> Iterator[str]:
    yield f"process {process.iri} {process.host} {process.pid} {process.tick} {process.image_number}"
    yield f" {in_order(process.record)}"
    yield f" {process.image!r} of {process.parent_pid} {process.executable!r} {process.arguments} in {process.cwd!r}"
    yield f" {process.started}-{process.ended} declared {process.last_declared} named {sorted(process.named())}"
    yield from (f" thread {one.iri} {one.tid} {one.epoch}" for one in process.threads)
    for opening in process.openings:
        yield from _opening("opening", opening)
    for opening in process.containers:
        known = any(opening is one for one in process.openings)
        yield from [f" container {opening.iri}"] if known else _opening("container", opening)
    for event in process.events:
        facts = f"{event.facts()} {event.text('from')!r} {event.text('to')!r}"
        yield f" event {event.iri} {event.kind} {event.thread.tid} {event.at} {event.task!r} {facts}"
        yield f"  {event.number('childPid')} {event.number('childTick', -1)} {in_order(event.record)}"
    yield from (f" within {one.iri} {one.kind} {one.at} {in_order(one.record)}" for one in process.within)
    yield from (f" summed {one.iri} in {one.opening.label} {in_order(one.counts)}" for one in process.summed)
    yield from map(_failure, process.failures)


def _failure(one: Failure) -> str:
    what = one.opening.label if one.opening else one.member.path if one.member else None
    return f" failure {one.iri} {one.thread.tid} {what!r} {one.kind} {one.api} {one.errno} {one.count}"


def _opening(word: str, one: Opening) -> Iterator[str]:
    yield f" {word} {one.iri} {one.kind} {one.name!r} {one.path!r} {one.facts}"
    flags = f"{one.flags} writable {one.writable} truncated {one.truncated} {one.inherited} {one.unlinked}"
    yield f"  {flags} by {one.api} {one.elapsed} {one.connection}"
    yield f"  {one.opened}-{one.closed} {one.at_close} {one.settled} {one.unseen_reason!r}"
    yield f"  reads {one.reads()} writes {one.writes()}"
    yield from (f"  {line}" for line in _accesses(one.accesses))
    for copy in one.copied_from:
        ends = f"{copy.source.label} to {copy.target.label} {copy.between_files}"
        yield f"  copied from {ends} {copy.first}-{copy.last} {copy.access.name}"
    yield f"  copied to {[copy.target.label for copy in one.copied_to]}"
    for member in one.members:
        yield f"  member {member.iri} {member.kind} {member.path!r} {member.name!r} {in_order(member.record)}"
        yield f"   {member.created} {member.replaced} {member.made()} {member.stretches('read')} {member.changes()}"
        yield f"   shows {[(other.file.label, other.path) for other in member.shows]}"
        yield from (f"   copied from {source.path!r} {access.name}" for source, access in member.copied_from)
        yield from (f"   {line}" for line in _accesses(member.accesses))


def _accesses(accesses: Iterable[Access]) -> Iterator[str]:
    for one in accesses:
        yield f"access {one.iri} {one.opening.label} {one.operation!r} {one.task!r} {in_order(one.counts)}"
        yield f" {one.first_read}-{one.last_read} {one.first_write}-{one.last_write} {one.moments()}"
        yield f" {in_order(one.unusual)} {one.turns}"
        for side in ("read", "write"):
            stretches = [(stretch.first, stretch.last, stretch.size) for stretch in one.stretches(side)]
            if stretches or one.moved(side):
                yield f" {side} {stretches} {one.sizes(side)} {one.moved(side)} {one.consecutive(side)}"


def whole(folder: Path) -> str:
    """All facts of the run, with short names."""
    trace = read_run(written(folder))
    assert [*map(str, trace.damages)] == []
    return "\n".join(lines(trace)).replace(RUN, "RUN") + "\n"


def test_every_kind_of_record(tmp_path: Path) -> None:
    """Records of one thing in several files, in any order; records about unknown things are left out."""
    assert whole(tmp_path) == EXPECTED.read_text()


@pytest.mark.parametrize(
    ("facts", "ends"),
    [
        ("; :endedNs 2000", (2000, 2000)),
        ("", (1230, 1400)),
        ("; :endedNs 2000 ; :unattended true", (1230, 1400)),
    ],
)
def test_a_last_moment_that_is_missing(tmp_path: Path, facts: str, ends: tuple[int, int]) -> None:
    """Without a close it is the end of the run, and that of the process for a run of ranks, but not before the first
    moment."""
    trace = read_run(written(tmp_path, facts))
    (found,) = (access for opening in trace.openings() if opening.label == "o8" for access in opening.accesses)
    assert (found.last_read, found.last_write) == ends


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        EXPECTED.write_text(whole(Path(temporary)))
        sys.stdout.write(EXPECTED.read_text())
