"""The derived graph of several runs: stories of runs in, all derived statements out.

The statements depend neither on the order of the merges nor on runs that were removed: they are those of the runs
that are there.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from lineage.story import Story, at, inode

from provio.merge import removal
from provio.merge.cross_run.facts import DERIVED
from provio.merge.runs import merge
from provio.settings.home import Home
from provio.settings.schema import Config
from provio.store.embedded.writer import StoreWriter

VERSION = re.compile(r"https://w3id.org/provio/version/node\.boot\.8%3A1/(\d+)\.\d+\.(\d+)\.(\d+)")
LEFT_OUT = ("rdf-syntax-ns#type", "prov#wasInformedBy", "prov#atLocation", "#partOf", "prov#wasAssociatedWith")
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
        x@300+5~untracked about x@300+5
        x@300+5~untracked reason changed after 2026-11-20T12:15:00.006000Z by something that was not seen: no recorded \
writer made this content
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
        78~unseen/1.1.0 reason read from a pipe: what wrote into it was not watched
        R2/node/1.1.0/phase/0 used 77/R1/1.1.0.0
        R2/node/1.1.0/phase/1 used 77/R1/1.1.0.0
        R3/node/1.1.0/phase/0 used 10.0.0.2%3A80/R1/1.1.0.0
    """,
    two_writers: """
        R3/node/1.1.0/phase/0 used 77/R1/1.1.0.0
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


NAMES = {str(inode(name)): name for name in ("x", "a", "b", "out", "during", "before")}


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


def derived(home: Home) -> list[str]:
    """All that is derived, as lines."""
    with StoreWriter(home, True) as store:
        found = [one for one in store.statements(DERIVED) if not one[1].endswith(LEFT_OUT)]
    return sorted(" ".join(map(short, one)) for one in found)


def new_home(folder: Path) -> Home:
    (folder / ".provio").mkdir(mode=0o700)
    return Home(folder / ".provio")


@pytest.mark.parametrize("tell", EXPECTED, ids=lambda one: one.__name__)
def test_all_that_is_derived(tell: Tell, tmp_path: Path) -> None:
    """The whole derived statements, for each order of merges; after the removal of a run, those of the others."""
    home = new_home(tmp_path)
    stories = told(home, tell)
    assert merge(home).damages == []
    expected = [line.strip() for line in EXPECTED[tell].strip().splitlines()]
    assert derived(home) == expected
    without = {}
    for number, story in enumerate(stories):
        (tmp_path / f"{number}").mkdir()
        other = new_home(tmp_path / f"{number}")
        order = [*stories[number + 1 :], *stories[:number]]
        for one in order:
            shutil.copytree(one.folder, other.runs / one.folder.name)
            assert merge(other).merged == [one.id]
        without[story.id] = derived(other)
        shutil.copytree(story.folder, other.runs / story.folder.name)
        assert merge(other).merged == [story.id]
        assert derived(other) == expected
    for story in stories:
        shutil.copytree(home.path, tmp_path / story.id / ".provio", symlinks=True)
        place = Home(tmp_path / story.id / ".provio")
        removal.remove(place, [story.id], Config(), fast=True)
        assert derived(place) == without[story.id]
