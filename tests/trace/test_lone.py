"""Lone files are stated in batches: the graph is the same as without that."""

from __future__ import annotations

import os
import re
import shutil
import sys
from array import array
from collections import Counter
from pathlib import Path

import pytest
from conftest import Project

from provio.merge import job, partitions
from provio.merge.partitions import Partitions
from provio.settings.home import Home
from provio.settings.schema import Config
from provio.trace import run_source
from provio.trace.fast import find_lone, lone_files
from provio.trace.fast.lone_files import ALONE, FIRST_READ, READ_AGAIN, READ_BACK, READ_BESIDE, REPLACES, Lone
from provio.trace.post_run import postprocess
from provio.trace.read import read_run

# Random accesses: to a few files repeatedly, to most once. Two threads, and a fork.
PROGRAM = """
import mmap, os, random, sys, threading
seed, many = int(sys.argv[1]), int(sys.argv[2])
os.makedirs("out/deep", exist_ok=True)
os.symlink("in", "link")
still_open = []

def act(chance, number):
    old = "in/" + (str(chance.randrange(6)) if chance.random() < 0.2 else str(number))
    new = "out/" + (str(chance.randrange(6)) if chance.random() < 0.2 else chance.choice(("", "deep/")) + str(number))
    what = chance.random()
    if what < 0.45:
        with open(chance.choice((old, old, old, "link" + old[2:], "in/../" + old)), "rb", buffering=0) as file:
            for _ in range(chance.choice((1, 1, 2, 5))):
                file.read(chance.choice((3, 10, 100)))
                if chance.random() < 0.1:
                    file.seek(0)
    elif what < 0.85:
        with open(new, chance.choice(("w", "w", "w", "a", "x" if not os.path.exists(new) else "w"))) as file:
            for _ in range(chance.choice((1, 1, 3))):
                file.write("x" * chance.choice((1, 40, 9000)))
                if chance.random() < 0.1:
                    file.flush()
        after = chance.random()
        if after < 0.05:
            os.rename(new, new + ".done")
        elif after < 0.08:
            os.link(new, new + ".link")
        elif after < 0.12:
            os.unlink(new)
        elif after < 0.15:
            os.utime(new, (1, 1))
        elif after < 0.18:
            os.truncate(new, 5)
        elif after < 0.2:
            os.chmod(new, 0o600)
    elif what < 0.9:
        with open(old, "r+b") as file, mmap.mmap(file.fileno(), 0) as held:
            held[0:1] = b"y"
    elif what < 0.93:
        file = os.open(old, os.O_RDONLY)
        os.sendfile(os.open(new, os.O_WRONLY | os.O_CREAT), file, 0, 10)
    elif what < 0.95:
        open(old, "rb")  # and not read
        try:
            open("none" + old)
        except OSError:
            pass
    elif what < 0.955:
        os.rename("out/deep", "out/moved" + str(number))
        os.makedirs("out/deep")
    elif what < 0.98:  # it stays open; the other thread may go on with it, or close it
        still_open.append(open(chance.choice((old, old, new)), chance.choice(("rb", "ab")), buffering=0))
        for file in chance.sample(still_open, min(2, len(still_open))):
            file.write(b"z") if file.writable() else file.read(7)
            if chance.random() < 0.3:
                still_open.remove(file)
                file.close()
    elif what < 0.983:
        try:
            os.setxattr(old, "user.x", b"y") if chance.random() < 0.5 else os.getxattr(old, "user.x")
        except OSError:
            pass
    elif what < 0.988 and os.fork() == 0:
        try:
            act(chance, number)
        finally:
            os._exit(0)

def work(name, numbers):
    chance = random.Random(f"{seed} {name}")
    for number in numbers:
        try:
            act(chance, number)
        except (FileExistsError, FileNotFoundError, ValueError):
            pass

threads = [threading.Thread(target=work, args=(name, range(name, many, 2))) for name in (0, 1)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
# A fork, in each of two processes two threads: all read the same files, write files of their own again and again, and
# read each other's.
AGAIN = """
import os, random, sys, threading
seed, many = int(sys.argv[1]), int(sys.argv[2])
os.mkdir("out")
os.mkdir("out/.cache")

def act(chance, own):
    what, old, new = chance.random(), f"in/{chance.randrange(60)}", "out/" + own
    if what < 0.5:
        flags = os.O_RDWR if chance.random() < 0.05 else os.O_RDONLY
        file = os.open(old if chance.random() < 0.99 else "in/../" + old, flags)
        for _ in range(chance.choice((1, 2))):
            os.read(file, 40)
        os.close(file)
    elif what < 0.75:
        mode = os.O_RDWR if chance.random() < 0.03 else os.O_WRONLY
        file = os.open(new, os.O_CREAT | mode | (os.O_TRUNC if chance.random() < 0.97 else 0))
        os.write(file, b"x" * chance.choice((1, 400)))
        if chance.random() < 0.5:
            os.lseek(file, 0, 0)
            try:
                os.read(file, 5)
            except OSError:
                pass
            if chance.random() < 0.1:
                os.write(file, b"more")
        if chance.random() < 0.99:
            os.close(file)
    else:
        known = [name for name in os.listdir("out") if name != ".cache"]
        with open("out/" + chance.choice(known) if known else old, "rb", buffering=0) as file:
            file.read(chance.choice((1, 900)))
    if chance.random() < 0.003:
        with open(old, "ab") as file:
            file.write(b"changed")

def work(name):
    chance = random.Random(f"{seed} {name}")
    for number in range(many):
        act(chance, f"{name}{number % 30}" if chance.random() < 0.97 else "both")

child = os.fork()
threads = [threading.Thread(target=work, args=(f"{'p' if child else 'c'}{name}",)) for name in (0, 1)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
child and os.waitpid(child, 0)
"""
SEEDS = int(os.environ.get("PROVIO_SEEDS", "5"))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make small runs have lone files, in several batches."""
    monkeypatch.setattr(find_lone, "FIRST", 3)
    monkeypatch.setattr(find_lone, "BATCH", 7)
    monkeypatch.setattr(find_lone, "WINDOW", 5)
    monkeypatch.setattr(run_source, "LARGE", 2_000)


def for_store(run: Path, held: Lone | None, settings: Config | None = None) -> tuple[list[str], list[str], set[str]]:
    """Return the data for the store: the sorted lines, the index, and the open statements."""
    prepared = partitions.prepare(Partitions(postprocess(read_run(run, held))), settings or Config())
    lines = sorted({line for piece in prepared.pieces for line in piece.splitlines()})
    return lines, prepared.index, prepared.open


def assert_same(run: Path, held: Lone, settings: Config | None = None) -> None:
    """The data for the store is the same with and without lone files, each from the run as it was recorded:
    post-processing writes its results into the folder."""
    recorded = run.parent.parent / "recorded"
    shutil.copytree(run, recorded)
    lines, *rest = for_store(run, None, settings)
    shutil.rmtree(run)
    shutil.move(recorded, run)
    found, *others = for_store(run, held, settings)
    assert (sorted(set(lines) - set(found)), sorted(set(found) - set(lines))) == ([], [])
    assert others == rest


def held_by(project: Project, run: Path) -> Lone:
    found = job.lone_of(run, Home(project.path / ".provio"))
    assert found is not None
    return found


def relations(held: Lone) -> set[int]:
    """Return the relations of the openings of lone files to the other openings of these files."""
    return {relation for units in held.of.values() for relation in units.lone} - {0}


def of_project(project: Project, held: Lone) -> int:
    """Return the number of openings of lone files in the project: the interpreter has some of its own."""
    units = [unit for process in held.of for batch in held.units(process) for unit, *_ in batch]
    return sum(unit[1]["path"].startswith(f"{project.path}/") for unit in units)


def record(project: Project, program: str, *arguments: str, options: tuple[str, ...] = ()) -> Path:
    (project.path / "program.py").write_text(program)
    (project.path / "in").mkdir(exist_ok=True)
    for number in range(400):
        (project.path / "in" / str(number)).write_text(f"{number} " * 30)
    project.provio("run", "--no-merge", *options, "--", sys.executable, "program.py", *arguments)
    return Home(project.path / ".provio").run_folders()[-1]


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_graph_is_the_same_as_without(project: Project, seed: int) -> None:
    run = record(project, PROGRAM, str(seed), "400")
    held = held_by(project, run)
    assert_same(run, held)
    assert 50 < len(held) < 400


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("seed", range(SEEDS))
def test_files_that_are_opened_again(project: Project, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(find_lone, "FIRST", 30)
    run = record(project, AGAIN, str(seed), "200")
    held = held_by(project, run)
    assert_same(run, held)
    assert {ALONE, FIRST_READ, READ_AGAIN, READ_BACK, REPLACES} <= relations(held)


@pytest.mark.usefixtures("few")
def test_a_file_that_is_written_again_and_again(project: Project) -> None:
    program = """
import os, time
for number in range(60):
    time.sleep(0.005)  # the clock of the file system may be coarse
    with open("state", "wb", buffering=0) as file:
        file.write(b"x")
    if number % 7 == 0:
        open("state", "rb", buffering=0).read()
        open(f"in/{number}", "rb", buffering=0).read()
"""
    run = record(project, program)
    held = held_by(project, run)
    assert_same(run, held)
    counts = Counter(relation for units in held.of.values() for relation in units.lone)
    assert (counts[REPLACES], counts[READ_BACK]) == (59, 9)
    assert of_project(project, held) == 60 + 9 + 9


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("options", [(), ("--no-record", "duration")], ids=str)
def test_noise_that_the_process_wrote(project: Project, options: tuple[str, ...]) -> None:
    """A file in a folder of caches is noise for its readers: its read cuts no phase."""
    program = """
import os
os.mkdir("out")
for number in range(60):
    for mode in ("wb", "rb", "rb"):
        with open(f"in/{number}", "rb", buffering=0) as old, open(f"out/{number}", mode, buffering=0) as new:
            new.write(old.read()) if mode == "wb" else new.read() if number % 2 else old.read()
"""
    run = record(project, program, options=options)
    held = held_by(project, run)
    assert_same(run, held, Config(noise_add=("out",)))
    assert {READ_BACK, READ_BESIDE} <= relations(held)


@pytest.mark.usefixtures("few")
def test_a_script_that_its_program_reads_again(project: Project) -> None:
    """The program's own code is no input, also if it is read as data and no argument names it."""
    (project.path / "in").mkdir()
    for number in range(100):
        (project.path / "in" / str(number)).write_text("x\n")
    (project.path / "again.awk").write_text(
        '{ s = s $0 } END { while ((getline l < "again.awk") > 0) s = s l; print s > "out.txt" }\n'
    )
    project.provio("run", "--no-merge", "--", "sh", "-c", "exec awk -fagain.awk in/*")
    run = Home(project.path / ".provio").run_folders()[-1]
    held = held_by(project, run)
    assert_same(run, held)
    assert READ_BESIDE in relations(held)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    "program",
    [
        """
import os, signal
os.mkdir("out")
reading, writing = os.pipe()
child = os.fork()
if child == 0:
    for number in range(60):
        open(f"in/{number}", "rb", buffering=0).read()
        open(f"out/{number}", "wb", buffering=0).write(b"x")
    os.write(writing, bytes(10_000_000))  # blocks: nothing else tells when it began
os.close(writing)
os.read(reading, 10)
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
os.read(reading, 100_000)
open("last", "wb", buffering=0).write(b"x")
""",
        """
import mmap, os
with open("map", "w+b") as file:
    file.truncate(4096)
    stored = mmap.mmap(file.fileno(), 4096)
    stored[0] = 1
    child = os.fork()
    if child == 0:  # it has the map, and no input besides lone files
        for number in range(300):
            open(f"in/{number}", "rb", buffering=0).read()
        os.execv("/bin/true", ["true"])
    os.waitpid(child, 0)
    stored[1] = 2
""",
        """
import os
for number in range(60):
    os.makedirs(f"out/{number}")
    open(f"out/{number}/lock.mdb", "wb", buffering=0).write(b"x")
    open(f"in/{number}", "rb", buffering=0).read()
for number in range(60):
    open(f"out/{number}/lock.mdb", "rb", buffering=0).read()
""",
    ],
    ids=["killed in a write", "map of the parent", "files of libraries"],
)
def test_conclusions_that_need_lone_files(project: Project, program: str) -> None:
    """They concern more than the openings of one file."""
    run = record(project, program)
    assert_same(run, held_by(project, run))


@pytest.mark.usefixtures("few")
def test_the_graph_is_the_same_for_a_truncated_file(project: Project) -> None:
    run = record(project, PROGRAM, "7", "400")
    for file in sorted(run.glob("*/*.ttl"), key=lambda file: file.stat().st_size)[-2:]:
        with open(file, "r+b") as data:
            data.truncate(os.path.getsize(file) * 2 // 3)
    assert_same(run, held_by(project, run))


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    "more",
    [
        "<a{0}> :readLongest 77 .",
        "<a{0}/read> a :AccessSizes ; :usualSize 1 ; :size3 2 .",
        "<a{0}/read> a :AccessSizes ; :usualSize 77 .",
        "<a{0}/read/turn/1> a :Turn ; :last 5 ; :bytes 3 ; :first 7 .",
        "<../o{0}> :closedNs 5 .",
        "<a9999> a :Access ; :object <../o{0}> ; :firstRead 7 ; :lastRead 8 ; :reads 1 .",
        '<e9999> a :Rename ; :at 5 ; :from "/tmp" ; :to "/temp" .',
        "<../o{0}> a :FileVersion ; :openedNs 5 .",
        '<> :device "x" .',
    ],
)
def test_late_records(project: Project, more: str) -> None:
    """Further records of an opening and of its access at the end of a thread file."""
    run = record(project, "for number in range(90): open(f'in/{number}', 'rb', buffering=0).read(9)")
    file = max(run.glob("*/*.ttl"), key=lambda file: file.stat().st_size)
    with open(file, "a", encoding="ascii") as text:
        text.write(f"\n{more.format(50)}\n")
    assert_same(run, held_by(project, run))


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("number", [50, 85])
def test_an_access_of_two_openings_costs_no_run(project: Project, number: int) -> None:
    run = record(project, "for number in range(90): open(f'in/{number}', 'rb', buffering=0).read(9)")
    file = max(run.glob("*/*.ttl"), key=lambda file: file.stat().st_size)
    lines = file.read_text(encoding="ascii").split("\n")
    at = next(place for place, line in enumerate(lines) if f'/in/{number}"' in line)
    [opening] = re.findall(r"<\.\./o[0-9]+>", lines[at])
    assert ":closing" in lines[at + 3]
    lines[at + 3] = re.sub(r"<\.\./o[0-9]+>", opening, lines[at + 3])
    file.write_text("\n".join(lines), encoding="ascii")
    assert len(for_store(run, held_by(project, run))[0]) > 1_000


@pytest.mark.usefixtures("few")
def test_one_process_cut_into_phases(project: Project) -> None:
    """Each reads one file and writes one: as many phases."""
    program = """
import os
import re
os.mkdir("out")
for number in range(100):
    with open(f"in/{number}") as old, open(f"out/{number}", "w") as new:
        new.write(old.read())
"""
    run = record(project, program)
    held = held_by(project, run)
    assert_same(run, held)
    assert of_project(project, held) == 200  # 100 inputs, and as many outputs


@pytest.mark.usefixtures("few")
def test_a_file_of_another_process_is_not_lone(project: Project) -> None:
    program = """
import os, subprocess
for number in range(60):
    with open(f"in/{number}") as file:
        file.read()
with open("in/13", "a") as file:
    file.write("more")
subprocess.run(["cat", "in/17"], stdout=subprocess.DEVNULL)
os.rename("in", "moved")
"""
    run = record(project, program)
    held = held_by(project, run)
    assert_same(run, held)
    assert of_project(project, held) == 0  # all had two names


def test_a_small_run_has_none(project: Project) -> None:
    run = record(project, "for number in range(60): open(f'in/{number}').read()")
    assert job.lone_of(run, Home(project.path / ".provio")) is None


@pytest.mark.usefixtures("few")
def test_without_space_for_their_records_there_are_none(project: Project) -> None:
    run = record(project, PROGRAM, "8", "200")
    assert_same(run, Lone(project.path / "missing", lambda _, path: path))


@pytest.mark.usefixtures("few")
def test_the_input_of_a_shell_by_a_pipe(project: Project) -> None:
    """A system program that read user files has an output that is no noise, also if all these files are lone."""
    for name in ("in", "more"):
        (project.path / name).mkdir()
        for number in range(100):
            (project.path / name / str(number)).write_text("7\n")
    project.provio("run", "--no-merge", "--", "bash", "-c", 'x=$(grep -rh 7 in more); echo "$x" > out.txt')
    run = Home(project.path / ".provio").run_folders()[-1]
    held = held_by(project, run)
    assert_same(run, held)
    assert len(held) == 200


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    ("found", "instead"),
    [
        (r'(:reading "[a-z]+) [0-9]+', r"\1 99999999999999999999"),
        (r'(:reading "[a-z]+ [0-9]+ [0-9]+ [0-9]+) [0-9]+', r"\1 1"),
        (r'(:opening "[0-9]+) [0-9]+', r"\1"),
        (r'(:opening "[0-9]+ [0-9]+ [0-9]+) [a-z0-9]+', r"\1 -"),
        (r'(:opening "[0-9]+ [0-9]+ [0-9]+) [a-z0-9]+', r"\1 ="),
        (r":epochNs [0-9]+ ;", ""),
        (r'"(/[^"]*)/in/', r'"\1/ompi-5/in/'),
    ],
)
def test_records_that_no_shim_writes(project: Project, found: str, instead: str) -> None:
    run = record(project, "for number in range(90): open(f'in/{number}', 'rb', buffering=0).read(9)")
    file = max(run.glob("*/*.ttl"), key=lambda file: file.stat().st_size)
    changed = re.sub(found, instead, file.read_text(encoding="ascii"))
    assert changed != file.read_text(encoding="ascii")
    file.write_text(changed, encoding="ascii")
    assert_same(run, held_by(project, run))


@pytest.mark.usefixtures("few")
def test_a_file_with_the_same_key_before_and_after(project: Project) -> None:
    """A file that is overwritten within a tick of its clock."""
    program = """
import os
import re
for number in range(60):
    file = os.open(f"in/{number}", os.O_WRONLY)
    os.utime(file, (1, 1))
    os.close(file)
for number in range(60, 90):
    file = os.open(f"in/{number}", os.O_WRONLY)
    os.write(file, b"0")
    os.close(file)
"""
    run = record(project, program)
    assert_same(run, held_by(project, run))


@pytest.mark.usefixtures("few")
def test_a_program_with_records_of_objects_in_files(project: Project) -> None:
    pytest.importorskip("h5py")
    program = """
import h5py, os
os.mkdir("out")
with h5py.File("a.h5", "w") as inside:
    for number in range(60):
        with open(f"in/{number}") as old, open(f"out/{number}", "w") as new:
            inside[str(number)] = len(old.read())
            new.write("x")
"""
    run = record(project, program)
    held = held_by(project, run)
    assert_same(run, held)
    assert len(held) == 0


def test_places_of_equal_values_are_found_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lone_files, "SORTED", 10)
    values = array("q", [*range(-40, 40), -3, 5, 100, 38, 100])
    found = sorted(lone_files.groups(values))
    assert [same for same in found if len(same) > 1] == [[37, 80], [45, 81], [78, 83], [82, 84]]
    assert sorted(at for same in found for at in same) == list(range(85))
