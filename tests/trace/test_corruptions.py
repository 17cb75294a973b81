"""Random damage to the files of a recorded run: nothing that the intact run has is lost without a damage and a gap."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import provio_command
from workers import made_once

from provio.merge.runs import merge
from provio.settings.home import Home
from provio.trace.read import read_run
from provio.trace.run_facts import Trace
from provio.trace.run_source import LIST, THREAD_FILE

PAGE = 4096
PROGRAM = """
import os, subprocess, threading
def work(name):
    for number in range(40):
        with open(f"out-{name}-{number}", "w") as file:
            file.write("x" * number)
        with open(f"out-{name}-{number}") as file:
            file.read()
        if number % 9 == 0:
            os.rename(f"out-{name}-{number}", f"new-{name}-{number}")
        try:
            open("/none")
        except OSError:
            pass
threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
reader, writer = os.pipe()
if os.fork() == 0:
    os.write(writer, b"data")
    os._exit(0)
os.read(reader, 4)
os.wait()
subprocess.run("cat out-a-1 | tr x y > last", shell=True)
"""
Change = Callable[[random.Random, Path], None]


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run of several processes and threads."""

    def make(folder: Path) -> None:
        (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
        (folder / ".provio").mkdir(mode=0o700)
        command = [*provio_command(), "run", "--quiet", "--no-merge", "--", sys.executable, "program.py"]
        subprocess.run(command, cwd=folder, check=True, env=os.environ | {"PROVIO_HOME": str(folder / ".provio")})

    project = made_once(tmp_path_factory, "corrupted", make)
    [folder] = Home(project / ".provio").run_folders()
    return folder


def thread_file(chance: random.Random, folder: Path) -> Path:
    return chance.choice(sorted(path for path in folder.glob("*/*.ttl") if THREAD_FILE.fullmatch(path.name)))


def committed(data: bytes) -> list[int]:
    """Return the places of the committed lines in a thread file."""
    return [found.start() + 1 for found in re.finditer(rb"\n ", data)]


def overwritten(path: Path, at: int, new: bytes) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:at] + new[: len(data) - at] + data[at + len(new) :])


def truncated(at: Callable[[random.Random, bytes], int]) -> Change:
    def change(chance: random.Random, folder: Path) -> None:
        path = thread_file(chance, folder)
        os.truncate(path, at(chance, path.read_bytes()))

    return change


def page_of(byte: bytes) -> Change:
    def change(chance: random.Random, folder: Path) -> None:
        path = thread_file(chance, folder)
        overwritten(path, chance.randrange(-(-path.stat().st_size // PAGE)) * PAGE, byte * PAGE)

    return change


def random_bytes(chance: random.Random, folder: Path) -> None:
    path, many = thread_file(chance, folder), chance.choice((16, 64, 512, PAGE))
    overwritten(path, chance.randrange(path.stat().st_size), chance.randbytes(many))


def withdrawn(chance: random.Random, folder: Path) -> None:
    path = thread_file(chance, folder)
    overwritten(path, chance.choice(committed(path.read_bytes())), b"#")


def without_a_line(chance: random.Random, folder: Path) -> None:
    path = thread_file(chance, folder)
    data = path.read_bytes()
    at = chance.choice(committed(data))
    path.write_bytes(data[:at] + data[data.index(b"\n", at) + 1 :])


def filled(chance: random.Random, folder: Path) -> None:
    path = thread_file(chance, folder)
    overwritten(path, 0, b"#" * (path.stat().st_size - 1))


def swapped(chance: random.Random, folder: Path) -> None:
    one, other = thread_file(chance, folder), thread_file(chance, folder)
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def shortened(name: str) -> Change:
    """Truncate the list or the record of the run, to nothing in one of three cases."""

    def change(chance: random.Random, folder: Path) -> None:
        [path] = (path for path in folder.rglob(name))
        os.truncate(
            path, chance.choice((0, chance.randrange(path.stat().st_size), chance.randrange(path.stat().st_size)))
        )

    return change


CHANGES: dict[str, Change] = {
    "truncated": truncated(lambda chance, data: chance.randrange(len(data))),
    "truncated at a page": truncated(lambda chance, data: chance.randrange(-(-len(data) // PAGE)) * PAGE),
    "truncated at a line": truncated(lambda chance, data: chance.choice(committed(data))),
    "empty": lambda chance, folder: os.truncate(thread_file(chance, folder), 0),
    "all #": filled,
    "missing": lambda chance, folder: thread_file(chance, folder).unlink(),
    "a page of zeros": page_of(b"\0"),
    "a page of #": page_of(b"#"),
    "random bytes": random_bytes,
    "a line withdrawn": withdrawn,
    "a line removed": without_a_line,
    "two files swapped": swapped,
    "a short list": shortened(LIST),
    "a short record of the run": shortened("run.ttl"),
    "no list": lambda _, folder: next(folder.rglob(LIST)).unlink(),
}


def facts(trace: Trace) -> Iterator[str]:
    """Yield the names of all that a run recorded."""
    yield from (f"variable {name}" for name in trace.environment)
    yield from (f"mount {one.get('mountPoint')}" for one in trace.mounts)
    yield from (f"run {name}" for name in trace.run)
    for process in trace.processes.values():
        yield from (f"{process.iri} {name}" for name in process.record)
        yield from (thread.iri for thread in process.threads)
        yield from (event.iri for event in process.events)
        yield from (failure.iri for failure in process.failures)
        for opening in process.openings:
            yield f"{opening.iri} {bool(opening.closed)} {opening.at_close is not None}"
            for access in opening.accesses:
                turns = {side: len(found) for side, found in (access.turns or {}).items()}
                yield f"{access.thread.iri}{access.name} {sorted(access.unusual or ())} {turns}"


def damaged(intact: Path, target: Path, seed: int) -> tuple[Path, str]:
    """Copy a run, and damage it at random; return its folder, and the kind of damage."""
    chance, folder = random.Random(seed), target / intact.name
    shutil.copytree(intact, folder)
    kind = list(CHANGES)[seed % len(CHANGES)]
    CHANGES[kind](chance, folder)
    return folder, kind


def losses(intact: Path, target: Path, seeds: range) -> Iterator[tuple[int, str, int]]:
    """Yield the seed and the kind of each damage that loses records without being reported, and the number of these."""
    before = set(facts(read_run(intact)))
    for seed in seeds:
        folder, kind = damaged(intact, target / str(seed), seed)
        trace = read_run(folder)
        after = set(facts(trace))
        # A value that stays valid may have changed: then the number of records shows whether one is lost.
        lost = len(before) - len(after) if kind == "random bytes" else len(before - after)
        if lost > 0 and not (trace.damages and any("/damage" in gap[0] for gap in trace.gaps)):
            yield seed, kind, lost
        shutil.rmtree(folder)


def test_nothing_is_lost_without_a_report(intact: Path, tmp_path: Path) -> None:
    assert read_run(intact).damages == []
    assert list(losses(intact, tmp_path, range(40))) == []


@pytest.mark.slow
def test_nothing_is_lost_without_a_report_in_many_cases(intact: Path, tmp_path: Path) -> None:
    assert list(losses(intact, tmp_path, range(40, int(os.environ.get("PROVIO_SEEDS", "200"))))) == []


@pytest.mark.parametrize("seed", range(3, 15, 4))
def test_a_damaged_run_is_merged_with_its_damage(intact: Path, tmp_path: Path, seed: int) -> None:
    (tmp_path / ".provio").mkdir(mode=0o700)
    home = Home(tmp_path / ".provio")
    folder, _ = damaged(intact, home.runs, seed)
    outcome = merge(home)
    assert outcome.merged == [folder.name]
    assert bool(outcome.damages) == bool(read_run(folder).damages)
