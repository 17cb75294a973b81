"""The derived graph of several runs: stories of runs in, all derived statements out.

The statements depend neither on the order of the merges nor on runs that were removed: they are those of the runs
that are there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from lineage.story import Story, at, facts, inode

from provio.base.vocab import RUN_BASE
from provio.graph.lines import bundle_iri
from provio.merge import intake
from provio.merge.cross_run.facts import CONTENT, DERIVED
from provio.merge.runs import Merge
from provio.settings.home import Home
from provio.settings.schema import Config
from provio.store import Writer
from provio.store.embedded.writer import StoreWriter

VERSION = re.compile(r"https://w3id.org/provio/version/node\.boot\.8%3A1/(\d+)\.\d+\.(\d+)\.(\d+)")
LEFT_OUT = ("rdf-syntax-ns#type", "prov#wasInformedBy", "prov#atLocation", "#partOf", "prov#wasAssociatedWith")
TOLD = """SELECT ?it ?name {
    { ?it a provio:Configuration ; prov:hadMember/provio:value ?value BIND(CONCAT("lr=", STR(?value)) AS ?name) }
    UNION { ?it provio:identifier ?name }
}"""
Tell = Callable[[Callable[..., Story]], None]


def growing(run: Callable[..., Story]) -> None:
    """A run reads a file while another writes it, before the writer reads its second input; a third reads the end."""
    writer = run(0, 100)
    maker = writer.process("make", 1)
    maker.opens("a@-900+9", 2).does("read", (3, 3, 9))
    made = maker.opens("x@4+0", 4, "w").does("write", (5, 6, 9), (30, 31, 9))
    maker.opens("b@-900+9", 60).does("read", (61, 61, 9))
    made.does("write", (70, 71, 9))
    made.closes(80, "x@71+27")
    reader = run(20, 50).process("take", 21)
    reader.opens("x@31+18", 40).does("read", (41, 42, 18)).closes(43)
    reader.opens("out@44+0", 44, "w").does("write", (45, 45, 1)).closes(46, "out@45+1")
    run(200, 300).process("end", 201).opens("x@71+27", 210).does("read", (211, 212, 27)).closes(213)


def unseen(run: Callable[..., Story]) -> None:
    """Content that no run wrote: changed after a recorded write, or made during a run."""
    run(0, 100).process("make", 1).opens("x@4+0", 4, "w").does("write", (5, 6, 9)).closes(8, "x@6+9")
    second = run(500, 600).process("take", 501)
    second.opens("x@300+5", 510).does("read", (511, 512, 5)).closes(513)
    second.opens("during@50+5", 520).does("read", (521, 522, 5)).closes(523)
    second.opens("before@-900+5", 520).does("read", (521, 522, 5)).closes(523)
    second.opens("late@100+5", 520).does("read", (521, 522, 5)).closes(523)
    second.opens("out@0+5", 520).does("read", (521, 522, 5)).closes(523)
    second.opens("copy@101+5", 520).does("read", (521, 522, 5)).closes(523)
    run(700, 800).process("later", 701).opens("x@6+9", 710).does("read", (711, 712, 9)).closes(713)


def appended(run: Callable[..., Story]) -> None:
    """A file that one run updates while another one writes to it: the last version keeps the content of both."""
    first = run(0, 300).process("first", 1)
    one = first.opens("x@-5+9", 10, "r+").does("write", (11, 12, 9), (200, 201, 9))
    second = run(50, 150).process("second", 51)
    second.opens("b@-900+9", 52).does("read", (53, 53, 9))
    second.opens("x@12+18", 60, "a").does("write", (61, 62, 9)).closes(63, "x@62+27")
    one.closes(210, "x@201+36")
    run(400, 500).process("third", 401).opens("x@201+36", 410, "a").does("write", (411, 412, 9)).closes(413, "x@412+45")


def piped(run: Callable[..., Story]) -> None:
    """A pipe that two runs write and read, a FIFO that only one has, and a connection by addresses."""
    writer, reader, other = run(0, 100).process("w", 1), run(0, 100).process("r", 1), run(0, 100).process("o", 1)
    writer.opens("a@-900+9", 2).does("read", (3, 3, 9))
    writer.opens("77", 4, "w", "Pipe").does("write", (5, 6, 9))
    writer.opens("b@-900+9", 20).does("read", (21, 21, 9))
    writer.opens("77", 4, "w", "Pipe").does("write", (25, 26, 9))
    reader.opens("77", 4, "r", "Pipe").does("read", (10, 11, 9))
    reader.opens("x@12+0", 12, "w").does("write", (13, 13, 1)).closes(14, "x@13+1")
    reader.opens("77", 4, "r", "Pipe").does("read", (30, 31, 9))
    other.opens("78", 4, "r", "Pipe").does("read", (10, 11, 9))
    here = {"localAddress": "10.0.0.1:5", "peerAddress": "10.0.0.2:80"}
    there = {"localAddress": "10.0.0.2:80", "peerAddress": "10.0.0.1:5"}
    writer.opens("501", 40, "w", "Socket", **here).does("write", (41, 41, 9))
    other.opens("502", 40, "r", "Socket", **there).does("read", (42, 42, 9))


def two_writers(run: Callable[..., Story]) -> None:
    """Two runs write a pipe one after the other: a reader that ended in between has nothing of the second."""
    for number, moment in enumerate((5, 60)):
        writer = run(0, 100).process(f"w{number}", 1)
        writer.opens("77", 4, "w", "Pipe").does("write", (moment, moment + 1, 9))
    reader = run(0, 100).process("r", 1)
    reader.opens("77", 4, "r", "Pipe").does("read", (10, 11, 9))
    reader.opens("x@12+0", 12, "w").does("write", (13, 13, 1)).closes(14, "x@13+1")
    reader.opens("a@-900+9", 80).does("read", (81, 81, 9))


def configured(run: Callable[..., Story]) -> None:
    """Programs that use values again, also those of another program, and runs at the same time."""
    first = run(0, 100)
    train = first.process("train", 1)
    for moment, value in ((10, 1), (20, 2), (30, 1)):
        train.configures(moment, "args", lr=value)
    second = run(200, 300)
    again, tune = second.process("train", 201), second.process("tune", 201)
    for moment, value in ((210, 2), (220, 3), (225, 2)):
        again.configures(moment, "args", lr=value)
    for moment, value in ((215, 4), (230, 3), (240, 1)):
        tune.configures(moment, "args", lr=value)
    between = run(5, 250).process("train", 6)
    for moment, value in ((15, 6), (20, 7)):
        between.configures(moment, "args", lr=value)
    last = run(400, 500).process("tune", 401)
    for moment, value in ((410, 8), (420, 2)):
        last.configures(moment, "args", lr=value)


def same_things(run: Callable[..., Story]) -> None:
    """A table that some runs make and others use, and two tables that only have the same name."""
    for start, *uses in ((0, (5, 0), (10, 1), (20, 0)), (200, (210, 0), (220, 1), (225, 1)), (150, (210, 0), (230, 0))):
        process = run(start, start + 90).process("job", start + 1)
        for moment, made in uses:
            process.tells(moment, process.entity(moment - 1, "patients", "db/patients", rows=start), bool(made))
        process.tells(start + 80, process.entity(start + 79, "own", "", rows=1), True)
    late = run(600, 700).process("late", 601)
    late.tells(610, late.entity(605, "others", "db/others"))
    late.tells(611, late.entity(606, "patients", "db/patients"))
    late.tells(612, late.entity(607, "patients", "db/patients"))
    same = run(5, 60).process("same", 6)
    same.tells(10, same.entity(9, "patients", "db/patients"))


def equal_content(run: Callable[..., Story]) -> None:
    """Copies that no run made, of one file or of several; content that is older than its makers; an empty file."""
    one = run(0, 100)
    maker = one.process("make", 1)
    for name, moment in (("x", 10), ("a", 30), ("empty", 40)):
        size = 0 if name == "empty" else 99
        maker.opens(f"{name}@{moment}+0", moment, "w").does("write", (moment + 1, moment + 1, size)).closes(
            moment + 3, f"{name}@{moment + 1}+{size}"
        )
        one.hashes_to(f"{name}@{moment + 1}+{size}", "e" if name == "x" else "a")
    two = run(200, 300)
    user = two.process("take", 201)
    for stated, digest in (("b@11+99", "e"), ("out@190+99", "e"), ("during@195+99", "a"), ("before@-900+99", "a")):
        user.opens(stated, 210).does("read", (211, 212, 99)).closes(213)
        two.hashes_to(stated, digest)
    three = run(400, 500)
    other = three.process("again", 401)
    other.opens("late@410+0", 410, "w").does("write", (411, 411, 99)).closes(412, "late@411+99")
    other.opens("copy@420+99", 430).does("read", (431, 432, 99)).closes(433)
    three.hashes_to("late@411+99", "e")
    three.hashes_to("copy@420+99", "e")


def kernel_copy(run: Callable[..., Story]) -> None:
    """A file is read while the kernel copies another into it, and while a program writes the inputs read so far."""
    copier = run(0, 100).process("copy", 1)
    source = copier.opens("a@-900+9", 2)
    target = copier.opens("x@4+0", 4, "w")
    copier.copies(source, target, 5, 70)
    copier.lines[-1] = copier.lines[-1].replace(":count 1", ":count 9")
    target.closes(80, "x@70+27")
    maker = run(0, 110).process("make", 1)
    made = maker.opens("out@4+0", 4, "w")
    made.does("write", (5, 6, 9), (30, 31, 9), (90, 91, 9))
    maker.opens("77", 4, "r", "Pipe").does("read", (20, 20, 9))
    maker.opens("b@-900+9", 10).does("read", (11, 11, 9))
    maker.opens("a@-900+9", 10).does("read", (85, 85, 9))
    made.closes(95, "out@91+27")
    made.process.story.process("feed", 1).opens("77", 4, "w", "Pipe").does("write", (12, 12, 9))
    reader = run(20, 60).process("take", 21)
    reader.opens("x@31+9", 40).does("read", (41, 42, 9)).closes(43)
    reader.opens("out@31+18", 40).does("read", (41, 42, 9)).closes(43)
    early = run(5, 60).process("early", 6)
    early.opens("out@6+9", 8).does("read", (9, 9, 9)).closes(10)
    early.story.process("again", 6).opens("out@6+9", 8).does("read", (25, 25, 9)).closes(26)


def known_origins(run: Callable[..., Story]) -> None:
    """Content that no run wrote, but whose times were set, or which a program that cannot be watched may have made."""
    maker = run(0, 100).process("make", 1)
    maker.opens("x@4+0", 4, "w").does("write", (5, 6, 9)).closes(8, "x@6+9")
    maker.opens("late@14+0", 14, "w").does("write", (15, 16, 9)).closes(18, "late@16+9")
    touch = run(200, 250).process("touch", 201)
    touch.event("SetTimes", 210, f':path "/data/x" ; {facts("x@205+9")} ; :previousMtimeNs {at(6)}')
    touch.event("SetTimes", 211, f':path "/data/x" ; {facts("x@-50+9")} ; :previousMtimeNs {at(205)}')
    shell = run(300, 400).process("shell", 301)
    shell.opens("a@-900+1", 302).does("read", (303, 303, 1))
    shell.unwatched(99, 305, 350, "/data/sim")
    shell.opens("late@320+9", 360).does("read", (361, 361, 5))
    user = run(500, 600).process("user", 501)
    for stated in ("x@205+9", "x@-50+9", "late@320+9", "x@290+9", "copy@450+9"):
        user.opens(stated, 510).does("read", (511, 511, 9)).closes(512)
    for process, stated in ((maker, "x@6+9"), (user, "copy@450+9")):  # times that were set do not show when it was made
        process.story.hashes_to(stated, "c")


def overlapping(run: Callable[..., Story]) -> None:
    """Three runs write to a file at the same time, and a fourth reads it before the last of them begins."""
    for number, (start, first, last, size) in enumerate(((5, 10, 200, 9), (20, 30, 300, 27), (100, 110, 250, 18)), 1):
        one = run(0, 400).process(f"w{number}", 1)
        one.opens("ab"[number % 2] + "@-900+9", start).does("read", (start, start, 9))
        one.opens("x@-5+9", start, "r+").does("write", (first, first + 1, 9), (last, last + 1, 9)).closes(
            last + 2, f"x@{last + 1}+{size}"
        )
    reader = run(30, 90).process("reader", 31)
    reader.opens("x@50+9", 55).does("read", (56, 56, 9)).closes(58)
    reader.opens("x@-5+9", 32).does("read", (33, 33, 9)).closes(34)
    after = run(500, 600).process("after", 501)
    after.opens("x@301+27", 510, "r+").does("write", (511, 511, 9)).closes(512, "x@511+27")


def two_makers(run: Callable[..., Story]) -> None:
    """Two runs have the same last version: each made the versions that were read while it wrote."""
    for number, (start, moment) in enumerate(((2, 10), (40, 45)), 1):
        one = run(0, 100).process(f"w{number}", 1)
        one.opens(f"{'xab'[number]}@-900+9", start).does("read", (start, start, 9))
        one.opens("x@-5+9", start + 1, "r+").does("write", (moment, moment, 9), (50, 50, 9)).closes(52, "x@50+36")
    reader = run(5, 90).process("reader", 6)
    reader.opens("x@15+9", 21).does("read", (22, 22, 9)).closes(23)
    reader.opens("x@47+18", 48).does("read", (49, 49, 9)).closes(49.5)


def three_phases(run: Callable[..., Story]) -> None:
    """Data that a phase used up are carried to the next phases, not used again."""
    for number, (first, last) in enumerate(((50, 70), (200, 900), (600, 650))):
        writer = run(0, 1000).process(f"w{number}", 1)
        writer.opens("77", 40, "w", "Pipe").does("write", (first, first, 9), (last, last, 9))
    reader = run(0, 1000).process("r", 1)
    reader.opens("77", 40, "r", "Pipe").does("read", (100, 100, 4), (300, 300, 4), (700, 700, 4))
    for name, source, moment in (("x", "a", 150), ("out", "b", 350), ("late", "before", 750)):
        made = reader.opens(f"{name}@{moment}+0", moment, "w").does("write", (moment + 1, moment + 1, 1))
        made.closes(moment + 2, f"{name}@{moment + 1}+1")
        reader.opens(f"{source}@-900+9", moment + 50).does("read", (moment + 50, moment + 50, 9)).closes(moment + 60)


def connected(run: Callable[..., Story]) -> None:
    """Connections by inodes and by processes alone, from peers that no run has, and read in Tasks."""
    client, server, other = (run(0, 100).process(name, 1, pid=pid) for name, pid in (("c", 5), ("s", 6), ("o", 7)))
    client.opens("a@-900+9", 2).does("read", (3, 3, 9))
    client.opens("601", 4, "w", "Socket", peerInode=602).does("write", (5, 5, 9))
    server.opens("602", 4, "r", "Socket").does("read", (8, 8, 9))
    client.opens("701", 10, "w", "Socket", path="/run/s", peerPid=6).does("write", (11, 11, 9))
    server.opens("711", 10, "r", "Socket", path="/run/s", peerPid=5).does("read", (12, 12, 9))
    there = {"localAddress": "10.0.0.2:80", "peerAddress": "10.0.0.9:5"}
    other.opens("801", 4, "r", "Socket", **there).does("read", (8, 8, 9))
    other.opens("802", 4, "r", "Socket", peerInode=803).does("read", (8, 8, 9))
    into, out = client.opens("90", 30, "w", "Pipe"), server.opens("90", 30, "r", "Pipe")
    into.does("write", (31, 31, 9)).does("write", (61, 61, 9))
    client.opens("b@-900+9", 50).does("read", (51, 51, 9))
    for number, moment in enumerate((35, 45, 65, 75)):
        task = server.begins(moment, moment + 5, f"task{number}")
        out.does("read", (moment + 1, moment + 1, 4), task=task)
        name = f"x@{moment + 2}"
        server.opens(f"{name}+0", moment + 2, "w").does("write", (moment + 2, moment + 2, 1), task=task).closes(
            moment + 3, f"{name}+1"
        )


EXPECTED: dict[Tell, str] = {
    growing: """
        R1/node/1.1.0/phase/0~31 endedAtTime 2026-11-20T12:15:00.031Z
        R1/node/1.1.0/phase/0~31 startedAtTime 2026-11-20T12:15:00.001Z
        R1/node/1.1.0/phase/0~31 used a@-900+9
        x@31+18 wasAttributedTo make
        x@31+18 wasGeneratedBy R1/node/1.1.0/phase/0~31
        x@71+27 wasDerivedFrom x@31+18
        x@71+27 wasRevisionOf x@31+18
    """,
    unseen: """
        during@50+5~untracked about during@50+5
        during@50+5~untracked reason made while run R1 went on, by something that was not seen
        late@100+5~untracked about late@100+5
        late@100+5~untracked reason made while run R1 went on, by something that was not seen
        out@0+5~untracked about out@0+5
        out@0+5~untracked reason made while run R1 went on, by something that was not seen
        x@300+5~untracked about x@300+5
        x@300+5~untracked changedFrom x@6+9
        x@300+5~untracked reason edited outside provio, 2026-11-20 12:15:00 UTC
    """,
    appended: """
        x@12+18 wasAttributedTo first
        x@12+18 wasDerivedFrom x@-5+9
        x@12+18 wasGeneratedBy R1/node/1.1.0/phase/0
        x@12+18 wasRevisionOf x@-5+9
        x@201+36 wasDerivedFrom x@12+18
        x@201+36 wasDerivedFrom x@62+27
        x@201+36 wasRevisionOf x@12+18
        x@201+36 wasRevisionOf x@62+27
    """,
    piped: """
        78~unseen/1.1.0 about R3/node/1.1.0/
        78~unseen/1.1.0 reason read from a pipe: no write into it was observed
        R2/node/1.1.0/phase/0 used 77/R1/1.1.0.0
        R2/node/1.1.0/phase/1 used 77/R1/1.1.0.0
        R3/node/1.1.0/phase/0 used 10.0.0.2%3A80/R1/1.1.0.0
    """,
    two_writers: """
        R3/node/1.1.0/phase/0 used 77/R1/1.1.0.0
    """,
    kernel_copy: """
        R2/node/1.1.0/phase/0~31 endedAtTime 2026-11-20T12:15:00.041Z
        R2/node/1.1.0/phase/0~31 startedAtTime 2026-11-20T12:15:00.001Z
        R2/node/1.1.0/phase/0~31 used 77/R2/2.1.0.0
        R2/node/1.1.0/phase/0~31 used b@-900+9
        R2/node/1.1.0/phase/0~6 endedAtTime 2026-11-20T12:15:00.009Z
        R2/node/1.1.0/phase/0~6 startedAtTime 2026-11-20T12:15:00.001Z
        R2/node/1.1.0/phase/0~6 used 77/R2/2.1.0.0
        out@31+18 wasAttributedTo make
        out@31+18 wasGeneratedBy R2/node/1.1.0/phase/0~31
        out@6+9 wasAttributedTo make
        out@6+9 wasGeneratedBy R2/node/1.1.0/phase/0~6
        out@91+27 wasDerivedFrom out@31+18
        out@91+27 wasDerivedFrom out@6+9
        out@91+27 wasRevisionOf out@31+18
        out@91+27 wasRevisionOf out@6+9
        x@31+9 wasAttributedTo copy
        x@31+9 wasGeneratedBy R1/node/1.1.0/copy/0
        x@70+27 wasDerivedFrom x@31+9
        x@70+27 wasRevisionOf x@31+9
    """,
    known_origins: """
        copy@450+9 sameContentAs x@6+9
        x@290+9~untracked about x@290+9
        x@290+9~untracked changedFrom x@205+9
        x@290+9~untracked reason edited outside provio, 2026-11-20 12:15:00 UTC
    """,
    overlapping: """
        x@251+18 wasDerivedFrom x@201+9
        x@251+18 wasRevisionOf x@201+9
        x@301+27 wasDerivedFrom x@201+9
        x@301+27 wasDerivedFrom x@251+18
        x@301+27 wasDerivedFrom x@50+9
        x@301+27 wasRevisionOf x@201+9
        x@301+27 wasRevisionOf x@251+18
        x@301+27 wasRevisionOf x@50+9
        x@50+9 wasAttributedTo w2
        x@50+9 wasDerivedFrom x@-5+9
        x@50+9 wasGeneratedBy R2/node/1.1.0/phase/0
        x@50+9 wasRevisionOf x@-5+9
    """,
    two_makers: """
        x@15+9 wasAttributedTo w1
        x@15+9 wasDerivedFrom x@-5+9
        x@15+9 wasGeneratedBy R1/node/1.1.0/phase/0
        x@15+9 wasRevisionOf x@-5+9
        x@47+18 wasAttributedTo w2
        x@47+18 wasDerivedFrom x@-5+9
        x@47+18 wasGeneratedBy R2/node/1.1.0/phase/0
        x@47+18 wasRevisionOf x@-5+9
        x@50+36 wasDerivedFrom x@15+9
        x@50+36 wasDerivedFrom x@47+18
        x@50+36 wasRevisionOf x@15+9
        x@50+36 wasRevisionOf x@47+18
    """,
    three_phases: """
        R4/node/1.1.0/phase/0 used 77/R1/1.1.0.0
        R4/node/1.1.0/phase/0 used 77/R2/1.1.0.0
        R4/node/1.1.0/phase/1 used 77/R2/1.1.0.0
        R4/node/1.1.0/phase/2 used 77/R2/1.1.0.0
        R4/node/1.1.0/phase/2 used 77/R3/1.1.0.0
    """,
    connected: """
        10.0.0.2%3A80~unseen/7.1.0 about R3/node/7.1.0/
        10.0.0.2%3A80~unseen/7.1.0 reason read from a socket (10.0.0.9:5): where that came from is not followed
        803~unseen/7.1.0 about R3/node/7.1.0/
        803~unseen/7.1.0 reason read from a socket: where that came from is not followed
        R2/node/6.1.0/phase/0 used 601/R1/5.1.0.0
        R2/node/6.1.0/phase/0 used 701/R1/5.1.0.0
        R2/node/6.1.0/t10/phase/0 used 90/R1/5.1.0.0
        R2/node/6.1.0/t14/phase/0 used 90/R1/5.1.0.0
        R2/node/6.1.0/t18/phase/0 used 90/R1/5.1.0.0
        R2/node/6.1.0/t6/phase/0 used 90/R1/5.1.0.0
    """,
    configured: """
        lr=1 version 1
        lr=2 version 3
        lr=2 wasDerivedFrom lr=6
        lr=2 wasRevisionOf lr=6
        lr=3 version 5
        lr=3 wasDerivedFrom lr=2
        lr=3 wasDerivedFrom lr=4
        lr=3 wasRevisionOf lr=2
        lr=3 wasRevisionOf lr=4
        lr=4 version 1
        lr=6 version 2
        lr=6 wasDerivedFrom lr=1
        lr=6 wasRevisionOf lr=1
        lr=7 version 4
        lr=7 wasDerivedFrom lr=2
        lr=7 wasRevisionOf lr=2
        lr=8 version 4
        lr=8 wasDerivedFrom lr=1
        lr=8 wasRevisionOf lr=1
    """,
    same_things: """
        db/patients~R2.0 alternateOf db/patients~R1.1
        db/patients~R2.0 contentFrom db/patients~R1.1
        db/patients~R2.0 sameContentAs db/patients~R1.1
        db/patients~R3.0 alternateOf db/patients~R1.1
        db/patients~R3.0 contentFrom db/patients~R1.1
        db/patients~R3.0 sameContentAs db/patients~R1.1
        db/patients~R4.0 alternateOf db/patients~R2.2
        db/patients~R4.0 contentFrom db/patients~R2.2
        db/patients~R4.0 sameContentAs db/patients~R2.2
        db/patients~R5.0 alternateOf db/patients~R1.1
        db/patients~R5.0 contentFrom db/patients~R1.1
        db/patients~R5.0 sameContentAs db/patients~R1.1
    """,
    equal_content: """
        b@11+99 sameContentAs x@11+99
        b@11+99~untracked about b@11+99
        b@11+99~untracked reason made while run R1 went on, by something that was not seen
        before@-900+99 sameContentAs a@31+99
        copy@420+99 sameContentAs x@11+99
        copy@420+99~copied about copy@420+99
        copy@420+99~copied reason has the content that 2 recorded files had before it: which it comes from is not known
        copy@420+99~untracked about copy@420+99
        copy@420+99~untracked reason made while run R3 went on, by something that was not seen
        during@195+99 sameContentAs a@31+99
        late@411+99 sameContentAs x@11+99
        out@190+99 alternateOf x@11+99
        out@190+99 contentFrom x@11+99
        out@190+99 sameContentAs x@11+99
    """,
}


def told(home: Home, tell: Tell) -> list[Story]:
    """Write the runs of a story."""
    stories: list[Story] = []

    def run(start: float, end: float) -> Story:
        stories.append(Story(home.runs, start, end, len(stories) + 1))
        return stories[-1]

    tell(run)
    for story in stories:
        story.write()
    return stories


NAMES = {str(inode(name)): name for name in ("x", "a", "b", "out", "during", "before", "empty", "late", "copy")}


def short(text: str) -> str:
    """A term with the names of files and runs, and milliseconds."""
    found = VERSION.fullmatch(text.partition("~")[0])
    if found:
        return f"{NAMES[found[1]]}@{milliseconds(found[2])}+{found[3]}{text[found.end() :]}"
    text = re.sub(r"(https://w3id.org/provio/run/)?01a1fe26-0000-7000-8000-00000000000(\d)", r"R\2", text)
    text = re.sub(r"~(\d{19})", lambda moment: f"~{milliseconds(moment[1])}", text)
    return re.sub(r"https?://(.*/(?=[^/]+/R\d/[^/]+$|[^/]+~unseen/)|.*[/#])(?=.)", "", text)


def milliseconds(moment: str) -> str:
    return f"{(int(moment) - at(0)) / 1e6:g}"


def derived(store: Writer) -> list[str]:
    """All that is derived, as lines."""
    every = [one for graph in (DERIVED, CONTENT) for one in store.statements(graph)]
    told = {row["it"]: row["name"] for row in store.rows(TOLD)}
    found = [one for one in every if not one[1].endswith(LEFT_OUT)]
    named = re.compile("|".join(map(re.escape, told)) or "$.")
    return sorted(" ".join(short(named.sub(lambda iri: told[iri[0]], part)) for part in one) for one in found)


def put(store: Writer, home: Home, stories: list[Story]) -> None:
    """Put runs into the store, one after the other."""
    work = Merge(home, store, Config())
    work.all([one.folder for one in stories], lambda _: None)
    assert (work.outcome.merged, work.outcome.damages) == ([one.id for one in stories], [])


def forget(store: Writer, *stories: Story) -> None:
    """Remove runs from the store."""
    intake.forget(store, [bundle_iri(RUN_BASE + one.id) for one in stories])


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """An empty `.provio`."""
    (tmp_path / ".provio").mkdir(mode=0o700)
    return Home(tmp_path / ".provio")


def expected(tell: Tell) -> list[str]:
    return [line.strip() for line in EXPECTED[tell].strip().splitlines()]


@pytest.mark.parametrize("tell", EXPECTED, ids=lambda one: one.__name__)
def test_all_that_is_derived(tell: Tell, home: Home) -> None:
    """The whole derived statements; without the runs there are none."""
    stories = told(home, tell)
    with StoreWriter(home, True) as store:
        put(store, home, stories)
        assert derived(store) == expected(tell)
        bundles = {row["graph"] for row in store.rows("SELECT ?graph { ?graph a prov:Bundle }")}
        assert (CONTENT in bundles) == any(store.statements(CONTENT))
        forget(store, *stories)
        assert derived(store) == []


@pytest.mark.parametrize("tell", EXPECTED, ids=lambda one: one.__name__)
def test_the_same_is_derived_in_any_order(tell: Tell, home: Home) -> None:
    """After each order of merges, and after the removal of a run, it is that of the runs that are there."""
    stories = told(home, tell)
    without = []
    with StoreWriter(home, True) as store:
        for number, story in enumerate(stories):
            forget(store, *stories)
            for one in (*stories[number + 1 :], *stories[:number]):
                put(store, home, [one])
            without.append(derived(store))
            put(store, home, [story])
            assert derived(store) == expected(tell)
        for story, rest in zip(stories, without, strict=True):
            forget(store, story)
            assert derived(store) == rest
            put(store, home, [story])
