"""All conclusions from runs that are hard to produce with real programs: stories in, whole conclusions out.

`stories/name.txt` has the expected conclusions of the story `name` (lines of `whole.py`). To write these files again:
`cd tests && PYTHONPATH=. ../.venv/bin/python lineage/test_stories.py NAME…`. Check each changed line against the rules
in docs/lineage.md.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from lineage.story import Process, Story, at, facts, since
from lineage.whole import concluded
from synthetic_traces import File, Run

from provio.lineage import memory as shared_memory
from provio.lineage import writing
from provio.settings.home import Home

EXPECTED = Path(__file__).parent / "stories"


def growing(story: Story) -> None:
    """A reader reads more than the file had at its opening, while it is written."""
    maker, taker = story.process("make", 1), story.process("take", 1)
    made = maker.opens("x@2+0", 2, "w")
    maker.opens("a@-900+512", 2.5).does("read", (3, 3, 512))
    made.does("write", (5, 6, 512), (20, 21, 512), (50, 51, 512))
    maker.opens("b@-900+512", 30).does("read", (31, 31, 512))
    taken = taker.opens("x@6+512", 10).does("read", (11, 11, 512), (25, 26, 512))
    taker.opens("out@12+0", 12, "w").does("write", (13, 13, 9), (27, 27, 9)).closes(60, "out@27+18")
    taken.closes(61, "x@51+1536")
    made.closes(62, "x@51+1536")


def grown_before_the_read(story: Story) -> None:
    """A reader reads exactly the size at opening, then all of the content at close, after its last write."""
    maker, taker = story.process("make", 1), story.process("take", 1)
    made = maker.opens("x@2+0", 2, "w").does("write", (5, 5, 512), (100, 100, 512))
    made.closes(102, "x@100+1024")
    taken = taker.opens("x@5+512", 10).does("read", (11, 11, 512), (150, 150, 512))
    taken.closes(160, "x@100+1024")
    late = story.process("late", 1)
    late.opens("x@5+512", 10).does("read", (100, 100, 512), (101, 101, 512))
    late.opens("out@12+0", 12, "w").does("write", (103, 103, 9)).closes(160, "out@103+9")


def reads_before_the_last_write(story: Story) -> None:
    """The kernel's time of the last write is a tick before its start: a read between these times has the earlier
    content."""
    maker, taker, last = story.process("make", 1), story.process("take", 1), story.process("last", 1)
    maker.opens("x@2+0", 2, "w").does("write", (5, 5, 512)).closes(6, "x@5+512")
    writer = maker.opens("x@5+512", 30, "r+")
    writer.does("write", (50, 50, 512), longest=0.5)
    taken = taker.opens("x@5+512", 40).does("read", (47, 48, 512))
    taken.closes(60, "x@46+512")
    both = last.opens("x@5+512", 40)
    both.does("read", (45, 45, 256), (48, 48, 256))
    both.does("read", (55, 56, 512))
    both.closes(60, "x@46+512")
    writer.closes(61, "x@46+512")


def left_open(story: Story) -> None:
    """The state of a file after the run is not that of a process that ended before others wrote or set its times."""
    parent = story.process("parent", 1)
    for name, child in (("x", "first"), ("y", "lone"), ("z", "timed")):
        one = parent.starts(child, 2)
        one.opens(f"{name}@3+0", 3, "w").does("write", (5, 6, 9)).settles(f"{name}@6+9")
        parent.event("ChildEnd", 100, f":childPid {one.pid} ; :exitCode 0")
    second = story.process("second", 1)
    second.opens("x@6+9", 300, "a").does("write", (400, 400, 9))
    second.event("SetTimes", 500, f':path "/data/z" ; {facts("z@6+9")} ; :previousMtimeNs {at(7)}')


def two_writers(story: Story) -> None:
    """A second process updates a file in place while a first one writes it; a third empties it and writes again."""
    first, second, third = (story.process(name, 1) for name in ("first", "second", "third"))
    one = first.opens("x@-5+100", 10, "r+")
    one.does("write", (11, 12, 100), (40, 41, 100))
    second.opens("b@-900+512", 15).does("read", (16, 16, 512))
    second.opens("x@12+100", 20, "r+").does("write", (21, 30, 100)).closes(31, "x@30+100")
    story.process("between", 1).opens("x@30+100", 35).does("read", (36, 37, 100)).closes(38)
    one.closes(45, "x@41+100")
    story.process("after", 1).opens("x@41+100", 50).does("read", (51, 51, 100)).closes(52)
    third.opens("x@60+0", 60, "w").does("write", (61, 62, 7)).closes(63, "x@62+7")
    story.process("append", 1).opens("x@62+7", 70, "a").does("write", (71, 72, 7)).closes(73, "x@72+14")


def state_at_opening(story: Story) -> None:
    """A version that a writer found is not made by that writer, though its mtime is within a tick of the writes."""
    story.process("early", 1).opens("x@-5+0", 2, "w").does("write", (3, 4, 100))
    story.process("late", 1).opens("x@4+100", 6, "r+").does("write", (8, 9, 100))
    story.process("look", 1).opens("x@4+100", 5).does("read", (30, 31, 100))


def phases_by_pipe(story: Story) -> None:
    """A read of a writer after its data were read is no source of them; data that were not yet read end no phase."""
    writer, reader = story.process("write", 1), story.process("read", 1)
    writer.opens("a@-900+1", 2).does("read", (3, 3, 1))
    into, out = writer.opens("77", 2, "w", "Pipe"), reader.opens("77", 2, "r", "Pipe")
    into.does("write", (5, 5, 10), longest=0.1)
    into.does("write", (40, 41, 10))
    writer.opens("b@-900+1", 20).does("read", (21, 21, 1))
    writer.opens("c@-900+1", 60).does("read", (61, 61, 1))
    writer.opens("d@-900+1", 80).does("read", (81, 81, 1))
    out.does("read", (10, 10, 10))
    reader.opens("x@11+0", 11, "w").does("write", (12, 12, 9)).closes(13, "x@12+9")
    out.does("read", (50, 51, 10))
    reader.opens("y@52+0", 52, "w").does("write", (53, 53, 9)).closes(54, "y@53+9")
    reader.opens("e@-900+1", 90).does("read", (91, 91, 1))
    reader.opens("z@92+0", 92, "w").does("write", (93, 93, 9)).closes(94, "z@93+9")


def pipe_partly_read(story: Story) -> None:
    """Bytes are matched by their positions: who reads the first ones has nothing of the last, and some are not read."""
    first, second, reader, other = (story.process(name, 1) for name in ("first", "second", "reader", "other"))
    first.opens("a@-900+1", 2).does("read", (3, 3, 1))
    second.opens("b@-900+1", 2).does("read", (3, 3, 1))
    first.opens("77", 2, "w", "Pipe").does("write", (5, 5, 10))
    second.opens("77", 2, "w", "Pipe").does("write", (7, 8, 10))
    reader.opens("77", 2, "r", "Pipe").does("read", (20, 20, 10))
    other.opens("77", 2, "r", "Pipe").does("read", (21, 22, 5))
    for process, name in ((reader, "x"), (other, "y")):
        process.opens(f"{name}@30+0", 30, "w").does("write", (31, 31, 9)).closes(32, f"{name}@31+9")


def pipe_without_sizes(story: Story) -> None:
    """More was read than was seen written: only the moments count, and a segment is used once by later phases."""
    writer, reader = story.process("writer", 1), story.process("reader", 1)
    into, out = writer.opens("77", 2, "w", "Pipe"), reader.opens("77", 2, "r", "Pipe")
    writer.opens("a@-900+1", 2).does("read", (3, 3, 1))
    into.does("write", (5, 5, 10))
    out.does("read", (10, 10, 20))
    writer.opens("b@-900+1", 12).does("read", (13, 13, 1))
    into.does("write", (20, 21, 10))
    reader.opens("x@11+0", 11, "w").does("write", (12, 12, 9)).closes(13, "x@12+9")
    out.does("read", (18, 18, 5))
    reader.opens("y@19+0", 19, "w").does("write", (19.2, 19.2, 9)).closes(19.5, "y@19.2+9")
    out.does("read", (21, 22, 10))
    reader.opens("z@23+0", 23, "w").does("write", (24, 24, 9)).closes(25, "z@24+9")


def images(story: Story) -> None:
    """Forks carry, launches control; an exec continues its image; a child without a recorded call has its parent's
    pid."""
    shell = story.process("shell", 1)
    shell.opens("a@-900+1", 2).does("read", (3, 3, 1))
    child = shell.forks("fork", 5)
    shell.opens("b@-900+1", 6).does("read", (7, 7, 1))
    child.opens("x@8+0", 8, "w").does("write", (9, 9, 1)).closes(10, "x@9+1")
    child.event("Exec", 11, ':executable "/usr/bin/cat" ; :argv "cat"')
    after = story.process("cat", 12, pid=child.pid, number=1, parentPid=shell.pid)
    after.opens("y@13+0", 13, "w").does("write", (14, 14, 1)).closes(15, "y@14+1")
    unheard = story.process("unheard", 20, parentPid=shell.pid)
    unheard.opens("z@21+0", 21, "w").does("write", (22, 22, 1)).closes(23, "z@22+1")
    forked = story.process("lost", 20, "fork", parentPid=shell.pid)
    forked.opens("u@21+0", 21, "w").does("write", (22, 22, 1)).closes(23, "u@22+1")
    story.process("before", 0.5, parentPid=shell.pid).opens("v@2+0", 2, "w").does("write", (3, 3, 1)).closes(4, "v@3+1")
    shell.opens("w@24+0", 24, "w").does("write", (25, 25, 1)).closes(26, "w@25+1")
    shell.opens("c@-900+1", 27).does("read", (28, 28, 1))
    shell.starts("last", 30).opens("t@31+0", 31, "w").does("write", (32, 32, 1)).closes(33, "t@32+1")


def copies(story: Story) -> None:
    """A file that only the kernel copied comes only from its source; with a write of the process, from all inputs."""
    shell = story.process("shell", 1)
    shell.opens("s@-900+1", 1.5).does("read", (1.7, 1.7, 1))
    tool = shell.starts("copy", 2)
    tool.opens("a@-900+1", 2).does("read", (3, 3, 1))
    source = tool.opens("b@-900+99", 4)
    for name, moment in (("x", 5), ("y", 15)):
        target = tool.opens(f"{name}@{moment}+0", moment, "w")
        tool.copies(source, target, moment + 1, moment + 2)
        if name == "y":
            target.does("write", (18, 19, 1))
        target.closes(moment + 6, f"{name}@{moment + 4}+99")
    pipe = tool.opens("77", 20, "w", "Pipe")
    tool.copies(source, pipe, 21, 22)
    tool.opens("77", 20, "r", "Pipe").does("read", (23, 23, 9))
    third = tool.opens("z@24+0", 24, "w")
    tool.copies(tool.opens("x@9+99", 24), third, 25, 26)
    third.closes(27, "z@26+99")


def truncated(story: Story) -> None:
    """Emptied by name or by descriptor, content ends; cut to a length it is kept, with earlier writes."""
    first, second = story.process("first", 1), story.process("second", 1)
    for number, name in enumerate("xyz"):
        first.opens(f"{name}@2+0", 2, "w").does("write", (3, 4, 100)).closes(5, f"{name}@4+100")
        second.opens(f"{'abc'[number]}@-900+1", 8).does("read", (9 + number, 9 + number, 1))
    second.event("Truncate", 20, f':path "/data/x" ; {facts("x@20+0")} ; :length 0')
    second.event("Truncate", 21, f':path "/data/y" ; {facts("y@21+5")} ; :length 5')
    held = second.opens("z@4+100", 22, "r+")
    second.event("Truncate", 23, f":object <{held.name}> ; :length 0")
    held.does("write", (24, 25, 7)).closes(26, "z@25+7")
    story.process("append", 1).opens("x@20+0", 30, "a").does("write", (31, 32, 7)).closes(33, "x@32+7")
    story.process("third", 1).opens("y@21+5", 30, "a").does("write", (31, 32, 7)).closes(33, "y@32+12")


def times_set(story: Story) -> None:
    """Set times give the same content a second key; while a file is being made, its first key is no content."""
    tool, later = story.process("touch", 1), story.process("later", 1)
    made = tool.opens("x@2+0", 2, "w").does("write", (3, 4, 100))
    tool.event("SetTimes", 5, f':path "/data/x" ; {facts("x@-500+100")} ; :previousMtimeNs {at(4)}')
    made.closes(6, "x@-500+100")
    tool.opens("y@2+0", 2, "w").does("write", (3, 4, 100)).closes(5, "y@4+100")
    tool.event("SetTimes", 7, f':path "/data/./y" ; {facts("y@-500+100")} ; :previousMtimeNs {at(4)}')
    tool.event("SetTimes", 8, f':path "/data/same" ; {facts("same@-7+100")} ; :previousMtimeNs {at(-7)}')
    tool.event("SetTimes", 8, f':path "/data/d" ; :directory true ; {facts("d@-7+100")} ; :previousMtimeNs {at(-8)}')
    for name in "xy":
        later.opens(f"{name}@-500+100", 20).does("read", (21, 22, 100))
    later.opens("out@23+0", 23, "w").does("write", (24, 25, 7)).closes(26, "out@25+7")


def maps(story: Story) -> None:
    """A map is read where it is readable, and written until its end where it is shared and writable."""
    tool = story.process("map", 1)
    tool.opens("a@-900+1", 2).does("read", (3, 3, 1))
    for number, (name, protection, shared) in enumerate((("r", 1, "true"), ("w", 3, "true"), ("p", 3, "false"))):
        held = tool.opens(f"{name}@-5+100", 4 + number, "r+" if name != "r" else "r")
        mapped = tool.event(
            "Map", 10 + number, f":object <{held.name}> ; :bytes 9 ; :protection {protection} ; :shared {shared}"
        )
        held.closes(15, f"{name}@-5+100")
        if name == "w":
            tool.event("Unmap", 50, f":map <{mapped}> ; :mtimeNs {at(45)} ; :ctimeNs {at(45)} ; :size 100")
    tool.opens("b@-900+1", 30).does("read", (31, 31, 1))
    kept = tool.opens("k@-5+100", 60, "r+")
    tool.event("Map", 61, f":object <{kept.name}> ; :bytes 9 ; :protection 2 ; :shared true")
    kept.settles("k@70+100")
    other = story.process("other", 1)
    own = other.opens("o@-5+100", 80, "r+")
    other.event("Map", 81, f":object <{own.name}> ; :bytes 9 ; :protection 3 ; :shared true")
    own.does("read", (82, 82, 100))


def memory(story: Story) -> None:
    """Processes share memory: by maps of one file, of a fork, of a file that another one writes, of a library."""
    main, other = story.process("main", 1), story.process("other", 1)

    def maps(process: Process, stated: str, moment: float, protection: int = 3) -> str:
        held = process.opens(stated, moment, "r+" if protection == 3 else "r")
        name = process.event("Map", moment, f":object <{held.name}> ; :protection {protection} ; :shared true")
        held.closes(moment + 0.1, stated)
        return name

    def reads(process: Process, name: str, moment: float) -> None:
        process.opens(f"{name}@-900+1", moment).does("read", (moment, moment, 1))

    def makes(process: Process, name: str, moment: float) -> None:
        made = process.opens(f"{name}@{moment}+0", moment, "w").does("write", (moment + 0.05, moment + 0.05, 1))
        made.closes(moment + 0.1, f"{name}@{moment}+1")

    maps(main, "s@-5+9", 10)
    shared = maps(other, "s@-5+9", 20)
    reads(main, "a", 30)
    makes(other, "x", 40)
    reads(main, "b", 50)
    makes(other, "y", 60)
    child = main.forks("child", 70)
    reads(child, "c", 75)
    shell = main.forks("shell", 76)
    shell.event("Exec", 77, ':path "/usr/bin/tool"')
    makes(other, "z", 80)
    other.event("Unmap", 90, f":map <{shared}> ; :mtimeNs {at(-5)} ; :ctimeNs {at(-5)} ; :size 9")
    reads(main, "d", 95)
    makes(other, "after", 100)
    looks = story.process("looks", 100)
    maps(looks, "log@-5+9", 110, 1)
    adds = story.process("adds", 100)
    reads(adds, "e", 115)
    log = adds.opens("log@-5+9", 120, "a").does("write", (121, 121, 9))
    log.closes(125, "log@121+18")
    makes(looks, "seen", 130)
    for number in range(2):  # without another writer
        maps(story.process(f"alone{number}", 140), "input@-5+9", 140, 1)
        maps(story.process(f"rank{number}", 140), "/dev/shm/sem.x@-5+9", 140)
    for number, moment in enumerate((200, 300)):  # one gap for two partners at different times
        for process in adds, story.process(f"partner{number}", moment):
            held = maps(process, "t@-5+9", moment)
            process.event("Unmap", moment + 9, f":map <{held}> ; :mtimeNs {at(-5)} ; :ctimeNs {at(-5)} ; :size 9")


def unread(story: Story) -> None:
    """A file that was opened and not seen read is a gap, but not one that is empty, inherited, handed on or noise."""
    tool = story.process("tool", 1)
    tool.opens("before@-900+5", 2).closes(2.5)
    tool.starts("child", 3)
    tool.opens("gap@-900+5", 4).closes(5)
    tool.opens("empty@-900+0", 4).closes(5)
    tool.opens("given@-900+5", 4, inherited="true").closes(5)
    tool.opens("both@-900+5", 4).closes(5)
    tool.opens("both@-900+5", 6).does("read", (7, 7, 5)).closes(8)
    tool.opens("wrote@-900+5", 4).closes(5)
    tool.opens("wrote@-900+5", 6, "r+").does("write", (7, 7, 5)).closes(8, "wrote@7+5")
    tool.opens("/usr/lib/libx.so@-900+5", 4).closes(5)
    tool.opens("/usr/share/table@-900+5", 4).does("read", (5, 5, 5)).closes(6)
    tool.opens("out@9+0", 9, "w").does("write", (10, 10, 1)).closes(11, "out@10+1")


def coarse_clock(story: Story) -> None:
    """Several contents with the same time and size are separated by the times of their writes."""
    for name, moment, source in (("first", 10, "a"), ("second", 110, "b"), ("third", 210, "c")):
        one = story.process(name, 1)
        one.opens(f"{source}@-900+1", moment).does("read", (moment + 1, moment + 1, 1))
        one.opens("x@1000+0" if moment > 10 else "x@0+0", moment + 2, "w").does(
            "write", (moment + 3, moment + 4, 5)
        ).closes(moment + 5, "x@0+5")
        reader = story.process(f"read{moment}", 1)
        reader.opens("x@0+5", moment + 20).does("read", (moment + 21, moment + 22, 5)).closes(moment + 23)
        reader.opens(f"out{moment}@{moment + 30}+0", moment + 30, "w").does(
            "write", (moment + 31, moment + 31, 1)
        ).closes(moment + 32, f"out{moment}@{moment + 31}+1")


def job_tokens(story: Story) -> None:
    """The pipe of a make's job tokens is no data, in contrast to the pipe of `$(shell …)`."""
    make = story.process("make", 1)
    child = make.starts("cc", 2)
    make.opens("77", 2, "w", "Pipe").does("write", (3, 3, 1))
    make.opens("77", 2, "r", "Pipe").does("read", (90, 90, 1))
    child.opens("77", 4, "r", "Pipe").does("read", (5, 5, 1))
    child.opens("78", 4, "w", "Pipe").does("write", (6, 6, 9))
    make.opens("78", 4, "r", "Pipe").does("read", (8, 8, 9))
    child.opens("o@9+0", 9, "w").does("write", (10, 10, 1)).closes(11, "o@10+1")
    make.opens("m@9+0", 12, "w").does("write", (13, 13, 1)).closes(14, "m@13+1")


def compiled(story: Story) -> None:
    """Byte code comes from its source alone."""
    python = story.process("python3", 1)
    for name in ("mod", "other"):
        python.opens(f"{name}.py@-900+5", 2).does("read", (3, 3, 5)).closes(4)
    python.opens("__pycache__/mod.cpython-311.pyc.99@5+0", 5, "w").does("write", (6, 6, 5)).closes(
        7, "__pycache__/mod.cpython-311.pyc.99@6+5"
    )
    python.opens("late@-900+5", 8).does("read", (9, 9, 5)).closes(10)
    python.opens("out@11+0", 11, "w").does("write", (12, 12, 5)).closes(13, "out@12+5")


def unwatched(story: Story) -> None:
    """A program that cannot be watched may have made the files that changed while it ran, from its inputs."""
    shell = story.process("shell", 1)
    shell.opens("a@-900+1", 2).does("read", (3, 3, 1))
    given = shell.opens("x@4+0", 4, "w")
    shell.unwatched(99, 5, 50, "/data/sim")
    given.settles("x@30+9")
    shell.opens("y@20+5", 60).does("read", (61, 61, 5))
    for name, moment in (("early", -100), ("before", 0.5), ("last", 52), ("later", 62), ("/usr/lib/l", 20)):
        shell.opens(f"{name}@{moment}+5", 60).does("read", (61, 61, 5))
    for number in range(5):
        shell.unwatched(100 + number, 55, 56, f"/data/sim{number % 4}", 100 + number)
    shell.opens("several@56+5", 60).does("read", (61, 61, 5))
    shell.opens("out@62+0", 62, "w").does("write", (63, 63, 5)).closes(64, "out@63+5")


def set_back(story: Story) -> None:
    """Contents under one key, by times that were set back and by a coarse clock, each with its readers."""
    first, second = story.process("first", 1), story.process("second", 1)
    for name, moment in (("x", 0), ("y", 100), ("z", 200)):
        early, late = story.process("early", moment + 2), story.process("late", moment + 60)
        if name != "z":
            early.opens(f"{name}@0+5", moment + 3).does("read", (moment + 4, moment + 5, 5)).closes(moment + 6)
        first.opens(f"in{name}@-900+1", moment + 7).does("read", (moment + 8, moment + 8, 1))
        held = first.opens(f"{name}@0+5", moment + 9, "r+" if name != "z" else "w")
        held.does("write", (moment + 10, moment + 11, 5)).closes(moment + 12, f"{name}@{moment + 11}+5")
        told = f':path "/data/{name}" ; {facts(f"{name}@0+5")} ; :previousMtimeNs {at(moment + 11)}'
        first.event("SetTimes", moment + 13, told)
        reader = story.process("reader", moment + 20)
        reader.opens(f"{name}@0+5", moment + 21).does("read", (moment + 22, moment + 23, 5)).closes(moment + 24)
        if name != "y":
            held = second.opens(f"{name}@0+5", moment + 30, "r+").does("write", (moment + 31, moment + 32, 5))
            held.closes(moment + 33, f"{name}@0+5")
        late.opens(f"{name}@0+5", moment + 61).does("read", (moment + 62, moment + 63, 5)).closes(moment + 64)
        late.opens(f"out{name}@{moment + 65}+0", moment + 65, "w").does("write", (moment + 66, moment + 66, 1))


def many_writers(story: Story) -> None:
    """Nine processes update a file in turn, each while the one before has it open; each version has a reader."""
    held, before = [], "x@-5+100"
    for number in range(9):
        writer, moment = story.process(f"w{number}", 1), 10 + 20 * number
        held.append(writer.opens(before, moment, "r+").does("write", (moment + 1, moment + 2, 100)))
        before = f"x@{moment + 2}+100"
        reader = story.process(f"r{number}", moment + 4)
        reader.opens(before, moment + 5).does("read", (moment + 6, moment + 7, 100)).closes(moment + 8)
        if number % 3:
            held.pop().closes(moment + 9, before)
    for number, opening in enumerate(held):
        opening.closes(200 + number, before)


def changed_elsewhere(story: Story) -> None:
    """A file is changed on another host while it is read here; within the error of the clocks, a gap names it."""
    story.within = 5
    here, there = story.process("here", 1), story.process("there", 1, host="far")
    for number, (first, last) in enumerate(((523, 524), (620, 621), (506, 507), (400, 401), (506, 524), (400, 621))):
        name = "abcdef"[number]
        writer = there.opens(f"{name}@-9+5", 500, "r+").does("write", (510, 515, 2), (518, 520, 3))
        writer.closes(521, f"{name}@520+5")
        reader = here.opens(f"{name}@-9+5", 399).does("read", (first, first, 2), (last, last, 3))
        reader.closes(700, f"{name}@520+5")


def jobs(story: Story) -> None:
    """A process that submitted a job of which the run has no process is a gap; others are not."""
    story.facts += ' ; :jobId "1"'
    story.process("sbatch", 10)
    story.process("of job", 20, jobId="2")
    story.process("of job", 5, jobId="2", host="far")
    story.process("sbatch", 30)
    story.process("qsub", 40)
    story.process("later job", 45, jobId="3")
    story.process("bsub", 50, image="fork")
    story.process("bsub", 51)
    for name, moment, word in (("sbatch", 60, "--test-only job"), ("sbatch", 61, "job")):
        one = story.process(name, moment)
        one.lines[1] = one.lines[1].replace(f':argv "{name}"', f':argv "{name} {word}"')
    story.process("sbatch", 62, exitCode=1)
    story.process("own", 70, jobId="1")


def two_hosts(story: Story) -> None:
    """Clocks of hosts agree within 5 ms: the order of closer events is not certain, and a gap names it."""
    story.within = 5
    here, there = story.process("here", 1), story.process("there", 1, host="far")
    for name, moment in (("near", 100), ("apart", 300)):
        wait = 3 if name == "near" else 100
        made = here.opens(f"{name}@{moment}+0", moment, "w")
        here.opens(f"a{name}@-900+1", moment + 1).does("read", (moment + 1.5, moment + 1.5, 1))
        made.does("write", (moment + 2, moment + 2, 9), (moment + wait + 20, moment + wait + 20, 9))
        made.closes(moment + wait + 21, f"{name}@{moment + wait + 20}+18")
        taken = there.opens(f"{name}@{moment + 2}+9", moment + wait)
        taken.does("read", (moment + wait + 1, moment + wait + 19, 9), (moment + wait + 24, moment + wait + 25, 9))
        taken.closes(moment + wait + 26, f"{name}@{moment + wait + 20}+18")
        there.opens(f"out{name}@{moment + 150}+0", moment + 150, "w").does("write", (moment + 151, moment + 151, 1))
    one = here.opens("both@600+0", 600, "w").does("write", (601, 610, 9))
    other = there.opens("both@605+4", 606, "r+").does("write", (608, 612, 9))
    one.closes(613, "both@612+18")
    other.closes(614, "both@612+18")
    here.opens("cut@700+0", 700, "w").does("write", (701, 701, 9)).closes(702, "cut@701+9")
    there.opens("cut@703+0", 704, "w").does("write", (705, 705, 5)).closes(706, "cut@705+5")
    there.opens("late@800+0", 800, "w").does("write", (801, 801, 5)).closes(802, "late@801+5")
    here.opens("late@801+5", 798).does("read", (799, 800, 5)).closes(803)


def ranks(story: Story) -> None:
    """Messages of a launcher to its ranks are no data; messages between ranks through memory are a gap."""
    launcher = story.process("orterun", 1)
    launcher.opens("a@-900+1", 2).does("read", (3, 3, 1))
    rank, other = (launcher.starts(f"rank{number}", 4 + number, rank=str(number), ranks="2") for number in range(2))
    launcher.opens("/tmp/ompi.node.1/job@5+0", 5, "w").does("write", (6, 6, 9)).closes(7, "/tmp/ompi.node.1/job@6+9")
    for process in (rank, other):
        process.opens("/tmp/ompi.node.1/job@6+9", 8).does("read", (9, 9, 9))
    rank.opens("/dev/shm/vader_segment.node.1@10+99", 10, "r+").does("write", (11, 11, 9))
    for number, process in enumerate((rank, other)):
        wake = 80 + number
        process.opens(str(wake), 12, "w", "Pipe").does("write", (13, 13, 8 + number))
        process.opens(str(wake), 12, "r", "Pipe").does("read", (14, 14, 8 + number))
        name = f"out{number}"
        process.opens(f"{name}@15+0", 15, "w").does("write", (16, 16, 1)).closes(17, f"{name}@16+1")
    launcher.opens("90", 20, "w", "Pipe").does("write", (21, 21, 8))  # no rank has this pipe
    launcher.opens("90", 20, "r", "Pipe").does("read", (22, 22, 8))


def renamed(story: Story) -> None:
    """A new name is that of the present content under each key, and of later content of processes that had it open."""
    tool, other = story.process("tool", 1), story.process("other", 1)
    for name in ("x", "d/a", "d/b", "d/deep/c", "dd/n", "gone", "d/last"):
        tool.opens(f"{name}@2+0", 2, "w").does("write", (3, 4, 9)).closes(5, f"{name}@4+9")
    held, kept = other.opens("x@4+9", 6, "r+"), other.opens("d/b@4+9", 6, "r+")
    move = ':from "/data/{}" ; :to "/data/{}" ; {}'
    tool.event("Rename", 10, move.format("x", "./y", facts("x@4+9")))
    held.does("write", (12, 13, 9)).closes(14, "x@13+18")
    tool.event("Link", 16, move.format("y", "hard", facts("x@13+18")))
    tool.event("SetTimes", 17, f':path "/data/y" ; {facts("x@-500+18")} ; :previousMtimeNs {at(13)}')
    tool.event("Link", 18, move.format("y", "again", facts("x@-500+18")))
    tool.event("Delete", 19, ':path "/data/d/last"')
    tool.event("Delete", 19, ':path "/data/gone"')
    tool.event("Rename", 20, move.format("d", "e", facts("d@19+9")))
    kept.does("write", (22, 23, 9)).closes(24, "d/b@23+18")
    tool.opens("d/new@25+0", 25, "w").does("write", (26, 26, 9)).closes(27, "d/new@26+9")
    tool.event("Rename", 30, move.format("e/deep", "f", facts("deep@19+9")))
    tool.event("Rename", 31, move.format("e", "g", facts("d@19+9")))
    tool.event("Link", 32, move.format("f/c", "g/c", facts("d/deep/c@4+9")))
    tool.event("Rename", 33, move.format("unknown", "known", facts("unknown@4+9")))
    other.opens("gone@4+9", 40, unlinked="true").does("read", (41, 41, 9)).closes(42)
    other.opens("only@-5+9", 40, unlinked="true").does("read", (41, 41, 9)).closes(42)
    grown = other.opens("grown@4+9", 43, "r").does("read", (44, 44, 9))
    grown.closes(46, "grown@45+99")


def system_files(story: Story) -> None:
    """A file that was only read is noise below system folders, prefixes of interpreters and hidden folders of homes."""
    story.facts += ' ; :project "/data/p" ; :homeFolder "/homes/ada"'
    tool, python = story.process("tool", 1), story.process("python3", 1)
    tool.lines[1] = tool.lines[1].replace(':argv "tool"', ':argv "tool /usr/share/named -o /homes/ada/.config/named"')
    python.lines[1] = python.lines[1].replace("/usr/bin/python3", "/opt/py/bin/python3")
    system = "/usr/lib/x /usr/libx /etc/x /usr/local/x /usr/share/named /homes/ada/.config/named /homes/ada/.config/x"
    others = "/home/bob/.a/x /home/.a/x /root/.b/x /root/b/x /homes/bob/.a/x /tmp/x /var/tmp/x /opt/py/lib/x /opt/py/x"
    own = "site-packages/x __pycache__/x.pyc sub/x .hidden/x venv/pyvenv.cfg venv/lib/x"
    paths = [*system.split(), *others.split(), *(f"/data/p/{name}" for name in own.split())]
    paths += [
        "/data/q/site-packages/x",
        "/data/q/__pycache__/x.pyc",
        "/data/q/.hidden/x",
        "/usr",
        "/proc/stat",
        "/sys/x",
    ]
    for number, path in enumerate(paths):
        one = python if path.endswith(".cfg") else tool
        one.opens(f"{path}@-900+5", 2 + number).does("read", (2.5 + number, 2.5 + number, 5))
    tool.opens("/etc/y@-900+5", 50, "r+").does("read", (51, 51, 5))
    tool.opens("out@60+0", 60, "w").does("write", (61, 61, 1)).closes(62, "out@61+1")


def updates(story: Story) -> None:
    """A file that is read and written through one opening; files that others change at that time."""
    tool, other = story.process("tool", 1), story.process("other", 1)
    for number, name in enumerate("xyz"):
        held = tool.opens(f"{name}@-5+100", 10 + number, "r+").does("read", (14, 15, 50), (24, 25, 50))
        held.does("write", (16 + number, 20 + number, 100))
        if name == "y":
            other.opens("y@-5+100", 12).does("read", (13, 14, 100)).closes(30, "y@21+100")
        held.closes(26, f"{name}@{20 + number}+100")
    made = tool.opens("m@30+0", 30, "w").does("write", (31, 32, 9))
    made.does("read", (33, 34, 9)).closes(35, "m@32+9")
    late = other.opens("x@20+100", 40).does("read", (41, 42, 50), (60, 61, 50), (80, 81, 50))
    tool.opens("x@20+100", 50, "a").does("write", (55, 56, 9)).closes(57, "x@56+109")
    other.opens("out@70+0", 70, "w").does("write", (71, 71, 1)).closes(72, "out@71+1")
    late.closes(90, "x@56+109")
    tool.opens("w@-50+5", 600, "r+").does("write", (610, 620, 5))
    other.opens("w@100+5", 615).does("read", (616, 617, 5)).closes(618)
    tool.opens("v@-50+5", 600, "r+").does("write", (610, 620, 5))
    other.opens("v@605+5", 615).does("read", (616, 617, 5)).closes(618)


def scripts(story: Story) -> None:
    """The script that an interpreter ran is its program, and that of its forks; a file that it wrote is not."""
    python = story.process("python3", 1)
    python.lines[1] = python.lines[1].replace(':argv "python3"', ':argv "python3 -B job.py in"')
    python.opens("job.py@-900+5", 2).does("read", (3, 3, 5)).closes(4)
    python.opens("in@-900+5", 2).does("read", (5, 5, 5)).closes(6)
    child = python.forks("python3", 7)
    deeper = child.forks("python3", 8)
    shell = story.process("sh", 9)
    shell.lines[1] = shell.lines[1].replace(':argv "sh"', ':argv "sh made.sh"')
    shell.opens("made.sh@9+0", 9, "w").does("write", (10, 10, 5)).closes(11, "made.sh@10+5")
    for number, process in enumerate((python, child, deeper, shell)):
        name = f"out{number}"
        process.opens(f"{name}@20+0", 20, "w").does("write", (21, 21, 1)).closes(22, f"{name}@21+1")
    stated = story.process("tool", 30, device="8:1", inode=5, birthNs=at(-99), mtimeNs=at(-98), ctimeNs=at(-98), size=7)
    stated.opens("/usr/bin/tool@-98+7", 31).does("read", (32, 32, 7)).closes(33)
    stated.opens("out@34+0", 34, "w").does("write", (35, 35, 1)).closes(36, "out@35+1")


def vfork(story: Story) -> None:
    """A child of vfork runs as its parent's image until its exec; the images of a pid are in order."""
    shell = story.process("shell", 1)
    shell.opens("a@-900+1", 2).does("read", (3, 3, 1))
    shell.event("Fork", 5, ":childPid 77 ; :childTick 1")
    second = story.process("second", 12, pid=77, number=1)
    child = story.process("child", 5, "fork", pid=77, number="v")
    first = story.process("first", 8, pid=77, number=0)
    for number, process in enumerate((child, first, second)):
        name, moment = f"out{number}", 6 + 3 * number
        process.opens(f"{name}@{moment}+0", moment, "w").does("write", (moment + 1, moment + 1, 1)).closes(
            moment + 1.5, f"{name}@{moment + 1}+1"
        )


def sockets(story: Story) -> None:
    """The two directions of a connection, by addresses, by inodes, and by the process at the other end alone."""
    client, server = story.process("client", 1), story.process("server", 1)
    client.opens("a@-900+1", 2).does("read", (3, 3, 1))
    here = {"localAddress": "10.0.0.1:5", "peerAddress": "10.0.0.2:80"}
    there = {"localAddress": "10.0.0.2:80", "peerAddress": "10.0.0.1:5"}
    sent = client.opens("501", 4, "w", "Socket", **here).does("write", (5, 5, 9))
    got = server.opens("502", 4, "r", "Socket", **there).does("read", (6, 6, 9))
    server.opens("b@-900+1", 7).does("read", (8, 8, 1))
    got.does("write", (9, 9, 4))
    sent.does("read", (10, 10, 4))
    client.opens("x@11+0", 11, "w").does("write", (12, 12, 1)).closes(13, "x@12+1")
    client.opens("601", 20, "w", "Socket", peerInode=602).does("write", (21, 21, 9))
    server.opens("602", 20, "r", "Socket").does("read", (22, 22, 8))
    server.opens("y@23+0", 23, "w").does("write", (24, 24, 1)).closes(25, "y@24+1")
    for number in range(2):
        client.opens(f"70{number}", 30 + number, "w", "Socket", path="/run/s", peerPid=server.pid).does(
            "write", (32 + number, 32 + number, 9)
        )
        server.opens(f"71{number}", 34 + number, "r", "Socket", path="/run/s", peerPid=client.pid).does(
            "read", (36 + number, 36 + number, 9)
        )
    server.opens("z@40+0", 40, "w").does("write", (41, 41, 1)).closes(42, "z@41+1")


def answers(story: Story) -> None:
    """The output of a system program to its parent is noise, unless it read a file of the user."""
    shell = story.process("shell", 1)
    for number, name in enumerate(("/etc/table", "mine")):
        tool = shell.starts("date", 2 + 10 * number)
        tool.opens(f"{name}@-900+5", 3 + 10 * number).does("read", (4 + 10 * number, 4 + 10 * number, 5))
        tool.opens(str(80 + number), 3, "w", "Pipe").does("write", (5 + 10 * number, 5 + 10 * number, 9))
        shell.opens(str(80 + number), 3, "r", "Pipe").does("read", (6 + 10 * number, 6 + 10 * number, 9))
    between = shell.forks("shell", 30)
    tool = between.starts("date", 31)
    tool.opens("82", 32, "w", "Pipe").does("write", (33, 33, 9))
    shell.opens("82", 32, "r", "Pipe").does("read", (34, 34, 9))
    tool.opens("83", 32, "w", "Pipe").does("write", (35, 35, 9))
    shell.opens("83", 32, "r", "Pipe").does("read", (36, 36, 8))
    shell.opens("out@40+0", 40, "w").does("write", (41, 41, 1)).closes(42, "out@41+1")


# Stories of `synthetic_traces`: each act takes a millisecond.


def objects(run: Run) -> None:
    """Objects inside files: read, made, changed in part and as a whole, copied, moved, deleted, linked and mapped."""
    process, source, target = run.process("tool"), File("/data/in.h5"), File("/data/out.h5")
    read = process.h5(source).read("/a").read("/b").read("/a", "units")
    out = process.h5(target, "w").write("/x", new=True).write("/x", "units", new=True).create("/g", kind="Group")
    read.read("/c")
    out.write("/g/y", new=True).copy("/x", out, "/copied").move("/g", "/h").link("/l", "/x").hard("/k", "/x")
    out.write("/v", new=True).shows("/v", read, "/b").delete("/copied")
    out.close()
    read.close()
    again = process.h5(target, "r+").read("/x").write("/x").write("/h/y", whole=True).delete("/x", "units")
    again.close()
    other = run.process("reader").h5(target)
    other.read("/x").read("/h/y").read("/v").read("/l").read("/k")
    other.process.plain(File("/data/text"), "w").write().close()
    other.process.h5(File("/data/new.h5"), "w").copy("/x", other, "/never").write("/z", new=True).close()


def tasks(run: Run) -> None:
    """After the end of a Task its inputs are in the memory of the phase that started it."""
    process = run.process("tasks")
    process.begin("outer")
    process.plain(File("/data/a")).read().close()
    process.begin("inner")
    process.plain(File("/data/b")).read().close()
    process.plain(File("/data/x"), "w").write().close()
    process.finish(back="../t1")
    process.plain(File("/data/y"), "w").write().close()
    child = process.launch("child")
    process.finish()
    process.plain(File("/data/z"), "w").write().close()
    process.begin("second")
    process.plain(File("/data/u"), "w").write().close()
    process.finish("failed")
    child.plain(File("/data/c")).read().close()
    child.plain(File("/data/v"), "w").write().close()
    process.begin("never ended")
    process.plain(File("/data/w"), "w").write().close()


def declared(run: Run) -> None:
    """Configurations, metrics, checkpoints and things without a file, in and out of Tasks."""
    process, saved, source = run.process("train"), File("/data/ck"), File("/data/a")
    process.configure("model", "Hyperparameter", layers=3, rate=0.5)
    process.plain(source).read().close()
    process.metric("loss", 0.5, 1)
    process.plain(saved, "w").write().close()
    process.checkpoint("/data/ck", 1, accuracy=0.9)
    process.begin("epoch")
    process.configure("model", "Hyperparameter", layers=4, rate=0.5)
    process.configure("half", "", False, a=1)
    table = process.entity("table", "DataObject", "db:1", rows=7)
    process.used(table)
    process.used(table, made=True)
    process.used("/data/a")
    process.used("/data/none")
    process.plain(saved, "w").write().close()
    process.used("/data/ck", made=True)
    process.checkpoint("/data/ck", 2)
    process.finish()
    process.checkpoint("/data/missing")
    other = run.process("other")
    other.used("/data/ck")
    other.plain(File("/data/out"), "w").write().close()


def objects_of_tasks(run: Run) -> None:
    """Each Task has its own objects in files that others opened, and the work of a Task that ended is in memory."""
    process, late = run.process("tasks"), File("/data/late.h5")
    source = process.h5(File("/data/in.h5")).read("/before")
    process.begin("one")
    source.read("/a")
    out = process.h5(File("/data/out.h5"), "w").write("/x", new=True).write("/x", "units", new=True)
    process.begin("inner")
    source.read("/b").copy("/c", out, "/copied")
    out.write("/y", new=True).write("/x")
    process.finish(back="../t1")
    out.write("/z", new=True)
    child = process.launch("child")
    process.finish()
    source.read("/between")
    process.begin("two")
    other = process.h5(late).read("/d")
    out.write("/x").shows("/v", other, "/e").read("/v").move("/y", "/moved").delete("/z").link("/l", "/x")
    fork = process.fork()
    other.read("/f")
    process.finish()
    process.begin("three")
    out.read("/v").read("/x").write("/w", new=True)
    process.finish()
    out.write("/last", new=True)
    fork.h5(File("/data/of fork.h5"), "w").write("/g", new=True).close()
    child.h5(File("/data/of child.h5"), "w").write("/h", new=True).close()


def objects_again(run: Run) -> None:
    """Objects of several versions of one file, within one opening and in several, by one process and by two."""
    first, second = run.process("first"), run.process("second")
    file, one, two = File("/data/x.h5"), first.h5(File("/data/in.h5")), second.h5(File("/data/other.h5"))
    made = first.h5(file, "w").write("/a", new=True).create("/g", kind="Group").write("/g/b", new=True)
    made.link("/soft", "g/b").link("/out", "/s", "in.h5").hard("/hard", "/a")
    made.close()
    first.h5(file, "r+").close()
    third = run.process("third")
    third.h5(file, "r+").close()
    third.h5(File("/data/moved.h5"), "r+").move("/o", "/p").close()
    reader = second.h5(file).read("/g/b").read("/a")
    reader.met("/never read")
    reader.close()
    again = first.h5(file, "r+")
    one.read("/s")
    again.write("/g/b").read("/a").move("/g", "/h").move("/a", "/a2").move("title", "name", holder="/a2")
    again.close()
    two.read("/t")
    changed = second.h5(file, "r+").write("/h/b", whole=True).delete("/a2").copy("/h", two, "/nowhere", "Group")
    changed.copy("/h/b", changed, "/c").write("/c").read("/c").met("/met")
    changed.write("/new", new=True).move("/new", "/newer").move("/newer", "/newest").delete("/soft")
    changed.close()
    last = first.h5(file, "r+").delete("/hard").write("/h/b", new=True).write("/twice", new=True)
    one.read("/p")
    first.enter()
    last.write("/twice")
    one.read("/q")
    last.write("/once", new=True)
    last.close()
    second.h5(file, "w").write("/a", new=True).close()


def objects_tied(run: Run) -> None:
    """Links lead to objects of this file and of others, as they were found or made; virtual datasets show others."""
    process, before = run.process("tool"), run.process("before")
    file, source, other = File("/data/f.h5"), File("/data/in.h5"), File("/data/sub/other.h5")
    before.h5(file, "w").link("/old", "/x").write("/x", new=True).write("/moved", new=True).close()
    read, made = process.h5(source), process.h5(other, "w").write("/d", new=True)
    virtual = File("/data/v.h5")
    out = (
        process.h5(virtual, "w")
        .create("/v")
        .shows("/v", read, "/b")
        .shows("/v", process.h5(File("/data/third.h5")), "/d")
    )
    out.create("/own").shows("/own", out, "/v").link("/other", "d", "sub/other.h5").link("/in", "/b", "../data/in.h5")
    out.link("/nowhere", "/b", "none.h5").link("/deleted", "v").delete("/deleted").link("/renamed", "./v")
    out.move("/renamed", "/g/renamed").link("/g/up", "../v").link("/g/root", "/g/./up")
    made.close()
    out.close()
    late = process.h5(file, "r+").move("/moved", "/new").link("/new", "/moved").move("/x", "/y")
    late.met("/old", None, "NamedLink", ':target "/x"')
    late.close()
    look = process.h5(file)
    look.met("/old", None, "NamedLink", ':target "/x"')
    look.met("/g", None, "Group")
    twice = process.h5(File("/data/twice.h5"), "w").write("/a", new=True).hard("/b", "/a").delete("/a")
    twice.write("/c", new=True).write("/c", "units", new=True).hard("/d", "/c").delete("/c", "units").close()
    forks, buffered = run.process("forks"), File("/data/buffered.h5")
    given = forks.h5(source).read("/b")
    kept = forks.h5(buffered, "w").write("/a", new=True)
    given.read("/c")
    child = forks.fork()
    forks.h5(File("/data/after fork.h5")).read("/d")
    kept.write("/b", new=True).close()
    child.plain(File("/data/child"), "w").write().close()
    seen = process.h5(virtual).shows("/v", read, "/b").shows("/v", process.h5(File("/data/far.h5")), "/f")
    process.h5(File("/data/made.h5"), "w").shows("/w", seen, "/v").create("/z").shows("/z", seen, "/v").close()
    seen.read("/v").close()
    process.plain(File("/data/out"), "w").write().close()


def objects_between(run: Run) -> None:
    """One opening makes several versions, as another process updates the file: each has its own changes."""
    first, second = run.process("first"), run.process("second")
    file, source = File("/data/x.h5"), first.h5(File("/data/in.h5")).read("/p")
    out = first.h5(file, "w").write("/a", new=True).write("/b", new=True).write("/c", new=True).write("/d", new=True)
    other = second.h5(file, "r+").write("/o", new=True)
    other.close()
    source.read("/q")
    out.write("/a", whole=True).write("/b").copy("/c", out, "/copy").write("/new", new=True).link("/l", "/a")
    other = second.h5(file, "r+").write("/o").read("/a")
    other.close()
    source.read("/r")
    out.write("/a").copy("/new", out, "/copy2").write("/late", new=True).write("/d", whole=True).move("/late", "/later")
    out.copy("/copy", first.h5(File("/data/other.h5"), "w"), "/far")
    out.close()


def objects_of_ranks(run: Run) -> None:
    """Two processes have a file open at the same time; each contributes its own objects and its own part of one."""
    file, first = File("/data/out.h5"), run.process("rank0")
    second = run.process("rank1")
    first.say("<../> :rank 0")
    second.say("<../> :rank 1")
    out, other = first.h5(file, "w"), second.h5(file, "r+")
    first.h5(File("/data/in0.h5")).read("/x")
    out.write("/d", new=True).create("/g", kind="Group")
    second.h5(File("/data/in1.h5")).read("/x")
    other.write("/d", new=True).write("/own", new=True).create("/g", kind="Group")
    other.close()
    out.write("/own", "units", new=True)
    out.close()
    again, more = first.h5(file, "r+").write("/d"), second.h5(file, "r+").write("/d").delete("/own").move("/g", "/h")
    more.close()
    again.write("/d").write("/k", new=True)
    again.close()


def declared_paths(run: Run) -> None:
    """A declared folder stands for its files of that moment; a file that no call showed has the declared facts."""
    process, a, b = run.process("tool"), File("/data/d/a"), File("/data/d/b")
    near, unseen, made = File("/data/d0"), File("/data/unseen"), File("/data/made")
    process.used("/data/d/a")
    process.used("/data/d")
    process.plain(near, "w").write().close()
    process.plain(a, "w").write().close()
    process.used("/data/d")
    process.plain(b, "w").write().close()
    process.plain(a, "w").write().close()
    process.used("/data/d/")
    process.used("/data/d", made=True)
    process.used(unseen)
    process.used("/data/unseen")
    process.used(made, made=True)
    process.used(File("/data/d/c"), made=True)
    process.used("/data/d")
    process.used(File("/data/d"), made=True)
    written = File("/data/w")
    opened = process.plain(written, "w").write()
    process.used(written, made=True)
    opened.close()
    other = run.process("other")
    other.used(made)
    again = other.entity("table")
    other.used(again, made=True)
    other.used(again)
    other.used(again, made=True)
    other.used(other.entity("shared", "DataObject", "db:1"), made=True)
    other.used(other.entity("shared", "DataObject", "db:1"), made=True)
    other.plain(File("/data/out"), "w").write().close()


def checkpoints(run: Run) -> None:
    """Each has the files that existed, and the configurations and metrics of the nearest Task, process or run."""
    process, other = run.process("train"), run.process("other")
    a, b, c = File("/data/ck/a"), File("/data/ck/b"), File("/data/ck0")
    process.configure("model", layers=1)
    process.configure("data", name="x")
    other.configure("model", layers=2)
    other.configure("only other", seed=1)
    process.metric("loss", 1.0)
    other.metric("loss", 2.0)
    other.metric("speed", 9.0)
    process.checkpoint("/data/ck")
    process.plain(a, "w").write().close()
    process.plain(c, "w").write().close()
    process.checkpoint("/data/ck/", 1, loss=0.1)
    process.begin("outer")
    process.metric("loss", 3.0)
    process.checkpoint("/data/ck", 2)
    process.begin("inner")
    process.configure("model", layers=3)
    process.metric("inner", 1.0)
    process.metric("loss", 4.0)
    process.plain(b, "w").write().close()
    process.plain(a, "w").write().close()
    process.checkpoint("/data/ck", 3)
    process.finish(back="../t1")
    process.checkpoint("/data/ck", 4)
    process.finish()
    process.checkpoint("/data/ck", 5)
    process.say(f'<e900> a :Delete ; :at {run.tick()} ; :elapsed 9 ; :path "/data/ck/a"')
    process.checkpoint("/data/ck", 6)
    process.say(f'<e901> a :Rename ; :at {run.tick()} ; :elapsed 9 ; :from "/data/ck/b" ; :to "/data/ck/c"')
    process.checkpoint("/data/./ck/b", 7)
    process.checkpoint("/data/ck/a", 8)
    process.plain(a, "w").write().close()
    process.checkpoint("/data/ck", 9)
    other.checkpoint("/data/ck0", 10)
    process.plain(c, "w").write().close()
    process.checkpoint("/data", 11)


def of_task(process: Process, *tasks: str) -> None:
    """Let the last statements belong to Tasks."""
    for place, task in zip(range(-len(tasks), 0), tasks, strict=True):
        line = process.lines[place].removesuffix(" .\n")
        process.lines[place] = f"{line} ; :task <../{task}>{' ; :closed ' + since(0) if ':Access' in line else ''} .\n"


def simultaneous_tasks(story: Story) -> None:
    """Of two Tasks at the same time, neither has the inputs of the other; one outlives the Task that it is in."""
    process = story.process("tool", 1, rank=0)
    for number, (start, end, within) in enumerate(((10, 50, 0), (20, 80, 1), (22, 60, 0), (52, 0, 9), (85, 90, 4)), 1):
        part = f" ; :partOf <../t{within}>" if within else ""
        process.say(f'<../t{number}> a :Task ; :name "t{number}" ; :startedNs {at(start)}{part}')
        if end:
            process.say(f'<../t{number}> :endedNs {at(end)} ; :status "ok"')
    process.opens("own@-900+1", 2).does("read", (3, 3, 1))
    process.opens("held@-900+1", 4).does("read", (15, 15, 1))
    of_task(process, "t1")
    process.lines[-1] = process.lines[-1].replace(f" ; :closed {since(0)}", "")  # it was opened before the Task
    for task, name, moment in (("t1", "a", 12), ("t2", "b", 24), ("t3", "c", 26), ("t99", "d", 55), ("t4", "e", 58)):
        process.opens(f"{name}@-900+1", moment).does("read", (moment + 1, moment + 1, 1))
        of_task(process, task)
    for task, name, moment in (("t1", "v", 40), ("t2", "w", 41), ("t3", "x", 42), ("t4", "y", 82), ("t5", "z", 86)):
        made = process.opens(f"{name}@{moment}+0", moment, "w").does("write", (moment + 1, moment + 2, 1))
        of_task(process, task)
        made.closes(moment + 3, f"{name}@{moment + 2}+1")
    process.opens("u@91+0", 91, "w").does("write", (92, 92, 1)).closes(93, "u@92+1")
    held = process.opens("m@-5+100", 44, "r+")
    mapped = process.event("Map", 45, f":object <{held.name}> ; :bytes 9 ; :protection 3 ; :shared true")
    of_task(process, "t2")
    held.closes(48, "m@-5+100")
    process.event("Unmap", 70, f":map <{mapped}> ; :mtimeNs {at(65)} ; :ctimeNs {at(65)} ; :size 100")
    source, target = process.opens("s@-900+9", 61), process.opens("k@62+0", 62, "w")
    process.copies(source, target, 63, 64)
    of_task(process, "t2")
    target.closes(66, "k@64+9")
    late = process.starts("child", 83)
    process.lines[-1] = process.lines[-1].replace(" .\n", " ; :task <../t4> .\n")
    late.opens("o@84+0", 84, "w").does("write", (85, 85, 1)).closes(86, "o@85+1")


STORIES: list[Callable[[Story], None]] = [
    growing, grown_before_the_read, reads_before_the_last_write, left_open, two_writers, state_at_opening,
    phases_by_pipe, pipe_partly_read, pipe_without_sizes, images, copies, truncated, times_set, maps, unread,
    coarse_clock, job_tokens, compiled, unwatched, two_hosts, ranks, scripts, vfork, sockets, answers,
    simultaneous_tasks, renamed, system_files, updates, set_back, memory,
    many_writers, changed_elsewhere, jobs,
]  # fmt: skip


def links_again(run: Run) -> None:
    """Links that are deleted and made again, and a link from the old name of a renamed object to the new one."""
    process, later = run.process("tool"), run.process("later")
    file, other = File("/data/f.h5"), File("/data/twice.h5")
    made = process.h5(file, "w").write("/one", new=True).write("/two", new=True).write("/old", new=True)
    made.link("/latest", "/one").link("/gone", "/one").close()
    twice = process.h5(other, "w").write("/a", new=True).write("/b", new=True).link("/l", "/a").delete("/l")
    twice.link("/l", "/b").close()
    again = later.h5(file, "r+").delete("/latest").link("/latest", "/two").delete("/gone")
    again.move("/old", "/new").link("/old", "/new").close()
    later.h5(other, "r+").delete("/l").link("/l", "/a").delete("/l").close()


SYNTHETIC: list[Callable[[Run], None]] = [
    objects, tasks, declared, objects_of_tasks, objects_again, objects_tied, objects_between, objects_of_ranks,
    declared_paths, checkpoints, links_again,
]  # fmt: skip


def found(tell: Callable[[Story], None], folder: Path) -> str:
    """Return all that is concluded from a story."""
    story = Story(folder)
    tell(story)
    return "\n".join(concluded(story.write())) + "\n"


def found_of_acts(tell: Callable[[Run], None], folder: Path) -> str:
    """Return all that is concluded from a story of acts."""
    run = Run(Home(folder), 1)
    tell(run)
    run.write()
    return "\n".join(concluded(run.folder)) + "\n"


@pytest.mark.parametrize("few", [16, 0], ids=["searched", "indexed"])
@pytest.mark.parametrize("tell", STORIES, ids=lambda one: one.__name__)
def test_all_that_is_concluded(
    tell: Callable[[Story], None], few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole conclusions of a story are those that are kept, whether the write spans of a file are few or many."""
    monkeypatch.setattr(writing, "FEW", few)
    assert found(tell, tmp_path) == (EXPECTED / f"{tell.__name__}.txt").read_text()


def test_memory_that_too_much_went_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All phases of the processes then use one mixture of their data for each time; nothing else cuts them."""
    monkeypatch.setattr(shared_memory, "MOST", 1)
    assert found(memory, tmp_path) == (EXPECTED / "memory_mixed.txt").read_text()


@pytest.mark.parametrize("tell", SYNTHETIC, ids=lambda one: one.__name__)
def test_all_that_is_concluded_from_acts(tell: Callable[[Run], None], tmp_path: Path) -> None:
    """The whole conclusions of objects, Tasks and declarations are those that are kept."""
    assert found_of_acts(tell, tmp_path) == (EXPECTED / f"{tell.__name__}.txt").read_text()


def write(names: list[str]) -> None:
    """Write the present conclusions."""
    texts: dict[str, Callable[[Path], str]] = {tell.__name__: partial(found, tell) for tell in STORIES}
    texts |= {tell.__name__: partial(found_of_acts, tell) for tell in SYNTHETIC}
    for name, text in texts.items():
        if not names or name in names:
            with tempfile.TemporaryDirectory() as folder:
                (EXPECTED / f"{name}.txt").write_text(text(Path(folder)))


if __name__ == "__main__":
    write(sys.argv[1:])
