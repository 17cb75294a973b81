"""The two levels agree: each file reached from object to object is also reached from file to file."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import hypothesis.strategies as st
import pytest
from conftest import Project, assert_valid
from hypothesis import HealthCheck, given, note, settings
from object_levels import disagreements
from synthetic_traces import File, Handle, Process, Run

from provio.merge.runs import merge
from provio.settings.home import Home

NAMES = ["/a", "/b", "/g/a", "/g/b", "/g"]
ACTS = "read write whole create attribute wrote copy copies move delete shows link plain printed fork close".split()
SOURCES = Path(__file__).parent.parent / "hdf5"
COMPILED = "changed_targets errors everything files replaced siblings threads".split()
FOLDER = Path(__file__).parent.parent / "h5py"
PROGRAMS = "file_like in_memory left_open linked moved removed virtual watched_while_written".split()


class Play:
    """Files, and the actions on them in a few runs, chosen by a list of small numbers."""

    def __init__(self, home: Home, numbers: list[int]) -> None:
        self.home, self.numbers, self.runs = home, numbers, list[Run]()
        self.files = [File(f"/data/{name}.h5") for name in "xyz"]
        self.texts = [File(f"/data/{name}.txt") for name in "pq"]

    def take(self, below: int) -> int:
        """Return the next number, less than a bound."""
        return self.numbers.pop() % below if self.numbers else 0

    def run(self) -> None:
        """Create a run of one or two processes, each with a few actions."""
        run = Run(self.home, len(self.runs) + 1)
        processes = [run.process()]
        for _ in range(3 + self.take(12)):
            if self.numbers:
                self.act(processes, processes[self.take(len(processes))])
        run.write()
        self.runs.append(run)

    def handle(self, process: Process, mode: str = "") -> Handle:
        """Return a file that a process has open, or opens now."""
        file = self.files[self.take(len(self.files))]
        known = [one for one in process.open if isinstance(one, Handle) and one.file is file]
        if known and (not mode or known[0].mode != "r"):
            return known[0]
        for one in known:
            one.close()
        return process.h5(file, mode or ["r", "r+", "w"][self.take(3)])

    def act(self, processes: list[Process], process: Process) -> None:
        """Perform one action."""
        act, name = ACTS[self.take(len(ACTS))], NAMES[self.take(len(NAMES))]
        if act in ("read", "attribute"):
            self.handle(process).read(name, "units" if act == "attribute" else None)
        elif act in ("write", "whole", "create", "wrote"):
            attribute = "units" if act == "wrote" else None
            handle = self.handle(process, "r+")
            handle.write(name, attribute, whole=act == "whole", new=act == "create")
        elif act in ("copy", "copies"):
            new = name + ("/c" if act == "copy" else "c")
            self.handle(process).copy(name, self.handle(process, "r+"), new, "Group")
        elif act == "move":
            self.handle(process, "r+").move(name, NAMES[self.take(len(NAMES))] + "m")
        elif act == "delete":
            self.handle(process, "r+").delete(name)
        elif act == "shows":
            self.handle(process, "r+").write("/v", new=True).shows("/v", self.handle(process), name)
        elif act == "link":
            self.handle(process, "r+").link("/l", name)
        elif act == "fork" and len(processes) < 3:
            processes.append(process.fork())
        elif act == "close":
            process.end()
        else:
            plain = process.plain(self.texts[self.take(2)], "r" if act == "plain" else "w")
            (plain.read() if act == "plain" else plain.write()).close()


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.integers(0, 1 << 16), min_size=10, max_size=90), st.integers(1, 3))
def test_objects_add_no_file_in_any_story(numbers: list[int], runs: int) -> None:
    """For any actions of processes: read, write, create, copy, move, delete, map, link, fork, in shared files."""
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / ".provio")
        home.path.mkdir(mode=0o700)
        play = Play(home, numbers)
        for _ in range(runs):
            play.run()
        note("\n".join("".join(process.lines) for run in play.runs for process in run.processes))
        assert merge(home).damages == []
        assert disagreements(home) == []
        assert_valid(home.path)


@pytest.mark.slow
def test_objects_add_no_file_in_any_program(project: Project) -> None:
    """For any use of h5py: links to other files, virtual datasets, files in memory, moves, failures."""
    pytest.importorskip("h5py")
    for program in PROGRAMS:
        (project.path / program).mkdir()
        command = ("run", "--quiet", "--no-merge", "--", sys.executable, str(FOLDER / f"{program}.py"))
        project.provio(*command, cwd=project.path / program, code=None)
    project.provio("merge")
    assert disagreements(Home(project.path / ".provio")) == []


@pytest.mark.slow
def test_objects_add_no_file_in_any_program_in_c(project: Project, needs: Callable[..., None]) -> None:
    """For single calls of HDF5 functions, in every form, in threads, and in a child."""
    needs("h5cc")
    for program in COMPILED:
        folder = project.path / program
        folder.mkdir()
        command = ["h5cc", "-shlib", "-w", "-pthread", "-o", "program", SOURCES / f"{program}.c"]
        subprocess.run(command, check=True, cwd=folder)
        project.provio("run", "--quiet", "--no-merge", "--", "./program", cwd=folder, code=None)
    project.provio("merge")
    assert disagreements(Home(project.path / ".provio")) == []
