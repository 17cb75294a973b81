"""The inspection of files after a run: the facts in a trace and real files in, additions to the trace out."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from conftest import Project

from provio.base import turtle
from provio.system import statx
from provio.system.statx import Facts
from provio.trace import liveness, post_run
from provio.trace.digests import Digests
from provio.trace.facts import Event, Opening, Process, Thread
from provio.trace.fast.compact_record import Packed
from provio.trace.post_run import inspect, postprocess_host, statements
from provio.trace.read import read_run
from provio.trace.run_facts import Trace

WRITE = os.O_WRONLY | os.O_CREAT
LATER = 1 << 62  # ns since 1970, after all operations of this test


@dataclass
class Story:
    """A trace of one process on the host `node`, of files in a folder."""

    folder: Path
    detail: str = "op"
    process: Process = field(init=False)
    trace: Trace = field(init=False)

    def __post_init__(self) -> None:
        self.process = Process("urn:p/", "node", 7, 70, "0", {"a": "Process", "startedNs": str(LATER)})
        run = {"host": "node", "detail": self.detail}
        self.trace = Trace(self.folder, "id", run, [], {"urn:p/": self.process}, [], [], Digests())

    def opens(self, name: str, facts: Facts, flags: int = WRITE, **more: object) -> Opening:
        """An opening of a file in the folder."""
        label, path = f"o{len(self.process.openings)}", os.fsencode(self.folder / name)
        more = {"inherited": False, "unlinked": False, "kind": "FileVersion"} | more
        opening = Opening(
            label, self.process, path=path, facts=facts, flags=flags, opened=10, api="open", elapsed=1, **more
        )  # type: ignore[arg-type]
        self.process.openings.append(opening)
        return opening

    def event(self, kind: str, at: int, old: str, new: str, facts: Facts) -> None:
        """A rename or a link."""
        record = {"from": str(self.folder / old), "to": str(self.folder / new), "device": facts.device}
        record |= {"inode": str(facts.inode), "birthNs": str(facts.birth)}
        thread = Thread("urn:p/0/", self.process, 7, 0)
        self.process.events.append(Event(f"urn:p/0/e{at}", kind, self.process, thread, at, Packed(record)))

    def made(self, name: str, text: str = "x") -> Facts:
        """Write a file; return its facts."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return statx.facts(os.fsencode(path))


@pytest.fixture
def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Story:
    monkeypatch.setattr(liveness, "alive", lambda _: False)
    return Story(tmp_path)


def test_an_executable_is_noted_where_it_was_not_changed_since(story: Story) -> None:
    """By its change time: a file that was replaced or written after the start is not the program that ran."""
    facts = story.made("tool")
    path = str(story.folder / "tool")
    stated = {"a": "Process", "inode": "1", "executable": path, "startedNs": str(LATER)}
    cases = {
        "urn:before/": {"executable": path, "startedNs": str(facts.ctime)},
        "urn:after/": {"executable": path, "startedNs": str(facts.ctime - 1)},
        "urn:again/": {"executable": path, "startedNs": str(LATER)},
        "urn:gone/": {"executable": str(story.folder / "none"), "startedNs": str(LATER)},
        "urn:stated/": stated,
        "urn:none/": {"startedNs": str(LATER)},
    }
    for number, (iri, record) in enumerate(cases.items()):
        story.trace.processes[iri] = Process(iri, "node", number, 1, "0", dict(record))
    story.trace.processes["urn:other/"] = Process("urn:other/", "elsewhere", 1, 1, "0", dict(cases["urn:again/"]))
    assert inspect(story.trace, "node")
    numbers = {"inode": facts.inode, "birthNs": facts.birth, "mtimeNs": facts.mtime, "ctimeNs": facts.ctime}
    noted = {name: str(value) for name, value in (numbers | {"size": 1}).items()} | {"device": facts.device}
    added = {
        iri: {k: v for k, v in p.record.items() if k not in cases.get(iri, {})}
        for iri, p in story.trace.processes.items()
    }
    assert {iri: record for iri, record in added.items() if iri in cases} == {
        "urn:before/": noted, "urn:after/": {}, "urn:again/": noted, "urn:gone/": {}, "urn:stated/": {},
        "urn:none/": {},
    }  # fmt: skip
    assert "inode" not in story.trace.processes["urn:other/"].record
    assert list(statements(story.trace, "node")) == [
        f'<{iri}> :device "{facts.device}" ; :inode {facts.inode} ; :birthNs {facts.birth} ; :mtimeNs {facts.mtime} ; '
        f":ctimeNs {facts.ctime} ; :size 1 .\n"
        for iri in ("urn:before/", "urn:again/")
    ]
    assert not inspect(Trace(story.folder, "id", {}, [], {}, [], [], Digests()), "node")


def test_executables_are_not_looked_at_where_files_are_left_out(tmp_path: Path) -> None:
    """At a detail without `file`."""
    story = Story(tmp_path, "op,-file")
    story.made("tool")
    story.process.record["executable"] = str(tmp_path / "tool")
    assert not inspect(story.trace, "node")
    assert "inode" not in story.process.record


def test_what_was_left_open_is_looked_at(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that were open for writing, without an observed close, under their last name."""
    facts = {name: story.made(name) for name in ("plain", "closed", "read", "replaced", "known")}
    story.opens("plain", facts["plain"])
    story.opens("closed", facts["closed"], at_close=facts["closed"])
    story.opens("read", facts["read"], flags=os.O_RDONLY)
    story.opens("replaced", facts["replaced"].at(1, 1, 1))
    story.opens("known", facts["known"], settled=facts["plain"])
    story.opens("gone", facts["plain"])
    story.opens("plain", facts["plain"], kind="Pipe")
    (story.folder / "replaced").rename(story.folder / "kept")
    story.made("replaced")
    now = story.made("plain", "more")
    assert inspect(story.trace, "node")
    assert [opening.settled for opening in story.process.openings] == [
        now, None, None, None, facts["plain"], None, None,
    ]  # fmt: skip
    assert not any(opening.provisional for opening in story.process.openings)
    (line,) = (one for one in statements(story.trace, "node") if one.startswith("<urn:p/o0>"))
    assert line == f"<urn:p/o0> :settledMtimeNs {now.mtime} ; :settledCtimeNs {now.ctime} ; :settledSize 4 .\n"
    assert not inspect(story.trace, "node")  # nothing new
    asked = []
    monkeypatch.setattr(liveness, "alive", lambda key: asked.append(key) or True)
    story.opens("plain", facts["plain"])
    assert not inspect(story.trace, "node")
    last = story.process.openings[-1]
    assert (last.settled, last.provisional, asked) == (now, True, [("7", "70")])
    assert not [one for one in statements(story.trace, "node") if one.startswith("<urn:p/o7>")]


def test_a_renamed_file_is_found(story: Story) -> None:
    """Moved, linked, moved with its folder, and with the folder above that; another host's moves count for none."""
    for name in ("one", "two", "d/three", "d/four"):
        facts = story.made(name)
        story.opens(name, facts)
    one, two, three, four = story.process.openings
    story.opens("none", story.made("other")).path = None  # of a file without a name, in memory
    (story.folder / "one").rename(story.folder / "1")
    story.event("Rename", 20, "one", "1", one.facts)
    os.link(story.folder / "two", story.folder / "2")
    (story.folder / "two").unlink()
    story.event("Link", 21, "two", "2", two.facts)
    folder = statx.facts(os.fsencode(story.folder / "d"))
    story.event("Rename", 5, "d", "before", folder)  # another folder of that name, before it was opened
    (story.folder / "d" / "four").rename(story.folder / "d" / "4")
    story.event("Rename", 22, "d/four", "d/4", four.facts)
    (story.folder / "d").rename(story.folder / "e")
    story.event("Rename", 23, "d", "e", folder)
    (story.folder / "e").rename(story.folder / "f")
    story.event("Rename", 24, "e", "f", folder)
    (story.folder / "d").mkdir()
    assert inspect(story.trace, "node")
    assert [opening.settled and opening.settled.inode for opening in story.process.openings] == [
        one.facts.inode, two.facts.inode, three.facts.inode, four.facts.inode, None,
    ]  # fmt: skip


def test_paths_without_links(story: Story) -> None:
    """The real path of a file that was opened through a link or `..`, as long as it leads to the same file."""
    facts = story.made("d/x")
    story.made("d/y")
    (story.folder / "link").symlink_to("d")
    (story.folder / "file").symlink_to("d/x")
    given = ["link/x", "d/../d/x", "file", "d/x", "link/y", "link/none"]
    for name in given:
        story.opens(name, facts, flags=os.O_RDONLY)
    story.opens("link/x", facts, flags=os.O_RDONLY, unlinked=True)
    story.opens("link/x", facts, flags=os.O_RDONLY, resolved=b"/known")
    story.opens("link/x", facts, flags=os.O_RDONLY, kind="Socket")
    assert inspect(story.trace, "node")
    real = os.fsencode(story.folder.resolve() / "d" / "x")
    found = [opening.resolved for opening in story.process.openings]
    assert found == [real, real, real, None, None, None, None, b"/known", None]
    assert next(statements(story.trace, "node")) == f'<urn:p/o0> :resolvedPath "{os.fsdecode(real)}" .\n'


def test_hdf5_that_no_layer_told_of_is_named(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written through its functions at places, or by a program that has HDF5 in it and is still the one that ran."""
    monkeypatch.setattr(post_run, "is_hdf5", lambda path: Path(os.fsdecode(path)).read_text().startswith("HDF"))
    monkeypatch.setattr(post_run, "hdf5_inside", lambda path: path.endswith(b"inside"))
    story.trace.run["hdf5"] = "auto"
    del story.process.record["startedNs"]
    tool = story.made("inside")
    story.process.record |= {
        "executable": str(story.folder / "inside"), "device": tool.device, "inode": str(tool.inode),
        "birthNs": str(tool.birth), "mtimeNs": str(tool.mtime), "ctimeNs": str(tool.ctime), "size": str(tool.size),
    }  # fmt: skip
    both = os.O_RDWR
    names = {"a": "HDF", "text": "plain", "changed": "HDF", "told": "HDF", "idle": "HDF"}
    facts = {name: story.made(name, text) for name, text in names.items()}
    for name, one in facts.items():
        left = one.at(1, 1, 1) if name == "changed" else one
        story.opens(name, one, flags=both, at_close=left)
    monkeypatch.setattr(Opening, "writes", lambda self: [] if self.path.endswith(b"idle") else [(1, 1)])
    story.opens("a", facts["a"], flags=both, at_close=facts["a"], kind="Pipe")
    story.opens("a", facts["a"], flags=os.O_WRONLY, at_close=facts["a"])
    container = story.opens("told", facts["told"], flags=both)
    story.process.openings.remove(container)
    story.process.containers.append(container)
    assert inspect(story.trace, "node")
    why = f"HDF5 is inside the executable {story.folder}/inside: datasets that it wrote are not seen (see docs/hdf5.md)"
    assert [opening.unseen_reason for opening in story.process.openings] == [why, *[""] * 6]
    assert [*statements(story.trace, "node")] == [f"<urn:p/o0> :reason {turtle.literal(why)} .\n"]
    story.process.openings[0].unseen_reason = ""
    story.process.record["size"] = "99"  # the file that ran was another
    assert not inspect(story.trace, "node")
    story.process.record["size"] = str(tool.size)
    story.trace.run["hdf5"] = "off"
    assert not inspect(story.trace, "node")


def test_what_is_found_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In `settled.ttl` of the host's folder, once: earlier results are not changed."""
    monkeypatch.setattr(liveness, "alive", lambda _: False)
    source = Path(__file__).parent.parent / "traces" / "good"
    (run,) = source.iterdir()
    shutil.copytree(run, tmp_path / run.name)
    trace = read_run(tmp_path / run.name)
    host = next(iter(trace.processes.values())).host
    before = trace.content_hash
    file = tmp_path / run.name / host / "settled.ttl"
    postprocess_host(trace, "elsewhere")
    assert (trace.content_hash, file.exists()) == (before, False)
    postprocess_host(trace, host)
    assert file.read_text() == "@prefix : <https://w3id.org/provio/ns#> .\n" + "".join(statements(trace, host))
    assert trace.content_hash != before
    assert read_run(tmp_path / run.name).content_hash == trace.content_hash


def test_marks_of_terminals_go_with_the_last_process(project: Project) -> None:
    """The merge removes the marks of a run, but not while a process of the run is left."""
    opens = "import os, subprocess, sys; os.openpty(); print(subprocess.Popen(['cat'], stderr=2, stdout=2).pid)"
    left, kept = os.pipe()
    runs = project.path / ".provio" / "runs"
    try:
        project.provio("run", "--quiet", "--", "python3", "-c", opens, stdin=left, capture_output=False)
        project.answer("runs")
        assert len(list(runs.glob("*/*/*.terminal"))) == 1
    finally:
        os.close(left)
        os.close(kept)
    while liveness.started_runs() & {folder.name for folder in runs.iterdir()}:
        time.sleep(0.01)
    project.answer("runs")
    assert not list(runs.glob("*/*/*.terminal"))
