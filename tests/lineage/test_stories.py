"""All conclusions from runs that are hard to produce with real programs: stories in, whole conclusions out.

`stories/name.txt` has the expected conclusions of the story `name` (lines of `whole.py`). `cd tests &&
../.venv/bin/python lineage/test_stories.py NAME…` writes these files again; check each changed line against the rules
in docs/lineage.md.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from lineage.story import Story, at, facts, since
from lineage.whole import concluded

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
    reader.opens("y@19+0", 19, "w").does("write", (19, 19, 9)).closes(19.5, "y@19+9")
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
    about = "<../../99.1.0/>"
    shell.event("Spawn", 5, ":childPid 99 ; :childTick 1")
    shell.say(
        f'<e90> a :Gap ; :at {since(5)} ; :elapsed 9 ; :api "execve" ; :about {about} ; '
        ':reason "is statically linked" ; :executable "/data/sim" ; :argv "sim"'
    )
    shell.event("ChildEnd", 50, ":childPid 99 ; :exitCode 0")
    given.settles("x@30+9")
    shell.opens("y@20+5", 60).does("read", (61, 61, 5))
    shell.opens("out@62+0", 62, "w").does("write", (63, 63, 5)).closes(64, "out@63+5")


STORIES: list[Callable[[Story], None]] = [
    growing, grown_before_the_read, reads_before_the_last_write, left_open, two_writers, state_at_opening,
    phases_by_pipe, pipe_partly_read, pipe_without_sizes, images, copies, truncated, times_set, maps, unread,
    coarse_clock, job_tokens, compiled, unwatched,
]  # fmt: skip


def found(tell: Callable[[Story], None], folder: Path) -> str:
    """All that is concluded from a story, after its docstring."""
    story = Story(folder)
    tell(story)
    return "\n".join(concluded(story.write())) + "\n"


@pytest.mark.parametrize("tell", STORIES, ids=lambda one: one.__name__)
def test_all_that_is_concluded(tell: Callable[[Story], None], tmp_path: Path) -> None:
    """The whole conclusions of a story are those that are kept."""
    assert found(tell, tmp_path) == (EXPECTED / f"{tell.__name__}.txt").read_text()


def write(names: list[str]) -> None:
    """Write the present conclusions."""
    for tell in STORIES:
        if not names or tell.__name__ in names:
            with tempfile.TemporaryDirectory() as folder:
                (EXPECTED / f"{tell.__name__}.txt").write_text(found(tell, Path(folder)))


if __name__ == "__main__":
    write(sys.argv[1:])
