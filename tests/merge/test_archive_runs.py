"""Archived runs: one compressed file gives the same results as the folder; a damaged archive is reported and affects
only its run."""

from __future__ import annotations

import contextlib
import lzma
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pyoxigraph as ox
import pytest
from concurrent_runs import tell, wait_for
from conftest import Project, in_memory
from sparql_servers import Server

from provio.ask.federated import Together
from provio.merge import archive_runs
from provio.merge.runs import merge
from provio.settings.home import PACKED, Home
from provio.settings.lock import Lock
from provio.settings.schema import Config
from provio.store import open_reader
from provio.trace import content_requests, run_source
from provio.trace.digests import content_hash
from provio.trace.read import read_head, read_run

tmp_path = in_memory


def quads(project: Project) -> set[str]:
    return set(project.provio("export", "--as", "nquads").stdout.splitlines())


def run_folder(project: Project) -> Path:
    """Return the folder of the only run, archived or not."""
    (found,) = {entry.name.removesuffix(PACKED) for entry in (project.path / ".provio" / "runs").iterdir()}
    return project.path / ".provio" / "runs" / found


def pack_by_hand(folder: Path) -> Path:
    """Archive a run folder as `tar` does: `run.ttl` first, then by name."""
    (host,) = (entry for entry in folder.iterdir() if entry.is_dir())
    names = [f"{folder.name}/run.ttl", *sorted(f"{folder.name}/{host.name}/{name}" for name in os.listdir(host))]
    packed = run_source.archive_of(folder)
    subprocess.run(["tar", "-cJf", packed, "-C", folder.parent, *names], check=True)
    shutil.rmtree(folder)
    return packed


@pytest.mark.integration
def test_an_archive_by_tar_equals_its_folder(project: Project) -> None:
    """Content hash, store and answers are the same; gaps are kept."""
    project.sh("echo 1 > a")
    project.run("cat a > b; sort b > c")
    folder = run_folder(project)
    image = next(folder.glob("*/*.0.ttl")).name.rsplit(".", 2)[0]
    next(folder.glob("*/")).joinpath(f"{image}.1.gap").symlink_to("no room for its trace")
    project.provio("merge")
    before, was = quads(project), content_hash(folder, read_head(folder))
    assert any("no room for its trace" in quad for quad in before)
    pack_by_hand(folder)
    assert content_hash(folder, read_head(folder)) == read_run(folder).content_hash == was
    for name in ("store", "snapshots"):
        shutil.rmtree(project.path / ".provio" / name)
    assert quads(project) == before
    assert project.data("c") == {"a", "b"}


CUTS = {"nothing": 0.0, "its beginning": 0.01, "its first half": 0.5, "all but its end": 0.98}


@pytest.mark.parametrize("left", sorted(CUTS))
@pytest.mark.integration
def test_a_truncated_archive_is_reported_and_affects_only_its_run(project: Project, left: str) -> None:
    """A truncated archive of any length is damaged: the exit code is 1, and the other run answers."""
    project.sh("echo 1 > a")
    project.provio("run", "--quiet", "--no-merge", "--", "bash", "-c", "cat a > b; sort b > c")
    packed = pack_by_hand(run_folder(project))
    packed.write_bytes(packed.read_bytes()[: int(packed.stat().st_size * CUTS[left])])
    project.provio("run", "--quiet", "--no-merge", "--", "cp", "a", "d")
    done = project.provio("merge", code=1)
    assert f"damaged: {packed}" in done.stderr
    assert "Traceback" not in done.stderr
    assert project.data("d") == {"a"}


def member(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.size, found.type = size, kind
    return found


def zeros(archive: IO[bytes], size: int) -> None:
    for _ in range(0, size, 1 << 20):
        archive.write(bytes(1 << 20))


def of_zeros(run: str, host: str, archive: IO[bytes]) -> None:
    """A thread file of half a gigabyte."""
    archive.write(member(f"{run}/{host}/1.1.0.0.ttl", 1 << 29).tobuf())
    zeros(archive, 1 << 29)


def of_many_zeros(run: str, host: str, archive: IO[bytes]) -> None:
    """Several thread files, half a gigabyte together."""
    for number in range(32):
        archive.write(member(f"{run}/{host}/{number}.1.0.0.ttl", 1 << 24).tobuf())
        zeros(archive, 1 << 24)


def of_holes(run: str, host: str, archive: IO[bytes]) -> None:
    """A file of no data that claims to have two gigabytes, in the form of GNU tar."""
    header = bytearray(member(f"{run}/{host}/1.1.0.0.ttl", 0, tarfile.GNUTYPE_SPARSE).tobuf(tarfile.GNU_FORMAT))
    header[483:495] = b"%011o\0" % (2 << 30)
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    archive.write(bytes(header))


def of_long_names(run: str, host: str, archive: IO[bytes]) -> None:
    """A name of half a gigabyte."""
    archive.write(member("././@LongLink", 1 << 29, tarfile.GNUTYPE_LONGNAME).tobuf())
    zeros(archive, 1 << 29)
    archive.write(member(f"{run}/{host}/1.1.0.0.ttl", 0).tobuf())


def of_a_claim(run: str, host: str, archive: IO[bytes]) -> None:
    """A file that claims a size of 2^60 bytes, and ends."""
    archive.write(member(f"{run}/{host}/1.1.0.0.ttl", 1 << 60).tobuf(tarfile.GNU_FORMAT))


PEAK = """
import resource, sys
from pathlib import Path
from provio.trace.read import read_run
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(len(read_run(Path(sys.argv[1])).damages), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("hostile", [of_zeros, of_many_zeros, of_holes, of_long_names, of_a_claim])
@pytest.mark.slow
def test_an_archive_that_expands_is_damaged(project: Project, hostile: Callable[[str, str, IO[bytes]], None]) -> None:
    """It is read in little memory, and only to its limit."""
    project.sh("echo 1 > a")
    project.provio("run", "--quiet", "--no-merge", "--", "cp", "a", "b")
    folder = run_folder(project)
    head = (folder / "run.ttl").read_bytes()
    (host,) = (entry.name for entry in folder.iterdir() if entry.is_dir())
    shutil.rmtree(folder)
    packed = run_source.archive_of(folder)
    with lzma.open(packed, "wb", preset=1) as archive:
        archive.write(member(f"{folder.name}/run.ttl", len(head)).tobuf())
        archive.write(head + bytes(-len(head) % 512))
        hostile(folder.name, host, archive)
        archive.write(bytes(1024))
    assert packed.stat().st_size < 1 << 20
    done = subprocess.run([sys.executable, "-c", PEAK, folder], capture_output=True, text=True, check=True)
    damages, kilobytes = map(int, done.stdout.split())
    assert damages and kilobytes < 300 << 10
    assert f"damaged: {packed}" in project.provio("merge", code=1).stderr


@pytest.mark.integration
def test_a_finished_run_is_archived_and_nothing_else_changes(project: Project) -> None:
    """One file remains, which `tar` reads. The store is as before, a repeated merge finds nothing new, and a rebuild
    from archives alone is the same."""
    project.sh("echo 1 > a")
    project.run("cat a > b; sort b > c")
    project.watch("cp", "c", "d")
    before = quads(project)
    folder = sorted((project.path / ".provio" / "runs").iterdir())[0]
    files = {
        str(path.relative_to(folder.parent))
        for path in folder.rglob("*")
        if path.is_file() and path.name != run_source.UNCLOSED
    }
    assert "2 runs packed" in project.provio("merge", "--pack").stderr
    left = sorted(path.name for path in (project.path / ".provio" / "runs").rglob("*"))
    assert left[0] == folder.name + ".tar.xz"
    assert len(left) == 2
    listed = project.sh(f"tar -tJf .provio/runs/{left[0]}").split()
    assert listed[0] == f"{folder.name}/run.ttl"
    assert set(listed) == files
    assert "0 runs merged, 2 unchanged" in project.provio("merge").stderr
    for name in ("store", "snapshots"):
        shutil.rmtree(project.path / ".provio" / name)
    assert quads(project) == before
    assert project.data("d") == {"a", "b", "c"}


@pytest.mark.parametrize("stores", ["", 'stores = ["."]\n'], ids=["one record", "several"])
@pytest.mark.integration
def test_a_query_starts_archiving(project: Project, stores: str) -> None:
    """Old runs, and all but the newest, are due, for a query of one record or of several; the setting turns it off."""
    project.sh("echo 1 > a")
    project.watch("cp", "a", "b")
    home, folder = Home(project.path / ".provio"), run_folder(project)
    now = time.time()
    assert run_source.due(home, now) == []
    assert run_source.due(home, now + 2 * run_source.AGE) == [folder]
    project.provio("run", "--quiet", "--no-merge", "--", "cp", "a", "c")
    (late,) = (found for found in home.run_folders() if found != folder)
    old = late.rename(late.with_name("00000000" + late.name[8:]))
    for path in old.rglob("*.ttl"):
        path.write_bytes(path.read_bytes().replace(late.name.encode(), old.name.encode()))
    (project.path / "provio.toml").write_text("pack = false\n")
    project.provio("runs")
    assert run_source.due(home, now) == [old]
    (project.path / "provio.toml").write_text("pack = true\n" + stores)
    project.provio("runs")
    wait_for(run_source.archive_of(old))
    deadline = time.monotonic() + 60
    while old.exists() or list(home.runs.glob("*.packed")):
        assert time.monotonic() < deadline
    assert run_source.due(home, now) == []
    assert folder.is_dir()


@pytest.mark.parametrize("how", ["a process", "a silent process", "a foreign file", "a wish for hashes", "a change"])
@pytest.mark.integration
def test_an_unfinished_run_is_not_archived(project: Project, how: str) -> None:
    """If a process outlived its run, or provio did not write a file, the folder stays, with the reason in a note."""
    project.sh("echo 1 > a; mkfifo go")
    daemons = {
        "a process": "(cat a > b; read x < go; cat a > c) > /dev/null 2>&1 < /dev/null & until test -s b; do :; done",
        "a silent process": "(exec python3 -c 'import os; os.read(os.open(\"go\", os.O_RDONLY), 1)') >&- 2>&- <&- &",
    }
    project.run(daemons.get(how, "cat a > b"))
    folder = run_folder(project)
    project.provio("merge")
    if how == "a foreign file":
        (folder / "notes.txt").write_text("mine")
    if how == "a wish for hashes":
        content_requests.request(Home(project.path / ".provio"), folder.name, Config(hash="all"))
    if how == "a change":
        merge(Home(project.path / ".provio"))
        victim = next(folder.glob("*/*.0.ttl"))
        times = victim.stat().st_mtime_ns
        victim.write_bytes(victim.read_bytes().replace(b":tid ", b":tid 1", 1))
        os.utime(victim, ns=(times, times))
    home = Home(project.path / ".provio")
    try:
        assert archive_runs.archive(home, Config(), [folder]) == 0
        assert folder.is_dir()
        assert not run_source.archive_of(folder).exists()
        assert (home.path / "unpacked" / folder.name).read_text()
    finally:
        if how in daemons:
            tell(project.path / "go", "on")


def test_a_run_waits_for_the_job_that_it_submitted(project: Project) -> None:
    """The folder stays while the job may still start and write there."""
    project.sh("cp $(command -v cat) sbatch; echo > job.sh")
    project.watch("./sbatch", "job.sh")
    home = Home(project.path / ".provio")
    [folder] = home.run_folders()
    assert archive_runs.archive(home, Config(), [folder]) == 0
    assert "job" in (home.path / "unpacked" / folder.name).read_text()


# An archiving process that is killed before the n-th change of a file after it started to write the archive.
KILLED = """
import os, signal, sys
left, started = int(sys.argv.pop(1)), False
STEPS = {"os.rename", "os.remove", "os.rmdir", "os.utime", "shutil.rmtree"}
def hook(event, arguments):
    global left, started
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_CREAT
    started |= writes and str(arguments[0]).endswith(".tar.xz.new")
    if started and (event in STEPS or writes):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hook)
from provio.cli.main import main
sys.exit(main())
"""


@pytest.mark.slow
def test_a_kill_during_archiving_loses_nothing(project: Project) -> None:
    """A kill before any change of a file leaves the answers as before; the next call cleans up."""
    project.sh("echo 1 > a")
    project.run("for i in 1 2 3 4 5 6 7 8; do cat a > b$i; done")
    before = quads(project)
    home = project.path / ".provio"
    kept = project.path.parent / "kept"
    shutil.copytree(home, kept, symlinks=True)
    seen, step, code = set(), 0, -signal.SIGKILL
    while code == -signal.SIGKILL:
        shutil.rmtree(home)
        shutil.copytree(kept, home, symlinks=True)
        step += 1
        command = [sys.executable, "-c", KILLED, str(step), "merge", "--pack"]
        code = subprocess.run(command, cwd=project.path, env=project.env, check=False, timeout=120).returncode
        seen.add(tuple(sorted(path.name[36:] for path in (home / "runs").iterdir())))
        assert quads(project) == before
        project.provio("merge", "--pack")
        assert [path.name[36:] for path in (home / "runs").iterdir()] == [".tar.xz"]
        assert quads(project) == before
    assert code == 0
    assert seen == {("",), ("", ".tar.xz.new"), ("", ".tar.xz"), (".packed", ".tar.xz"), (".tar.xz",)}


@pytest.mark.integration
def test_remains_of_a_kill_are_deleted_even_if_no_run_is_due(project: Project) -> None:
    """The remains are the folder of an archived run, and a partial archive."""
    project.sh("echo 1 > a")
    project.run("cp a b")
    project.provio("merge", "--pack")
    (pack,) = (project.path / ".provio" / "runs").iterdir()
    pack.with_name(pack.name[:36] + ".packed").mkdir()
    pack.with_name(pack.name + ".new").write_bytes(b"half")
    project.provio("merge", "--pack")
    assert list(pack.parent.iterdir()) == [pack]


@pytest.mark.integration
def test_files_in_shared_memory_are_collected(project: Project) -> None:
    """If live files are in shared memory, archive and backup contain them; after archiving none is left there."""
    project.sh("echo 1 > a")
    project.provio("run", "--quiet", "--no-merge", "--", "cp", "a", "b")
    folder = run_folder(project)
    elsewhere = run_source.shared_memory() / folder.name
    elsewhere.parent.mkdir(mode=0o700, exist_ok=True)
    elsewhere.mkdir()
    try:
        (host,) = (entry for entry in folder.iterdir() if entry.is_dir())
        shutil.move(host, elsewhere / host.name)
        head = (folder / "run.ttl").read_text()
        run = f"<https://w3id.org/provio/run/{folder.name}> a :Run ;"
        (folder / "run.ttl").write_text(head.replace(run, f'{run} :traceFolder "{elsewhere}" ;', 1))
        before = quads(project)
        assert project.data("b") == {"a"}
        project.provio("backup", "copy")
        there = {**project.env, "PROVIO_HOME": str(project.path / "copy")}
        assert "0 runs merged, 1 unchanged" in project.provio("merge", env=there).stderr
        assert "1 run packed" in project.provio("merge", "--pack").stderr
        assert not elsewhere.exists()
    finally:
        shutil.rmtree(elsewhere, ignore_errors=True)
    for name in ("store", "snapshots"):
        shutil.rmtree(project.path / ".provio" / name)
    assert quads(project) == before


@pytest.mark.integration
def test_the_end_of_a_run_starts_archiving_of_many_runs(project: Project) -> None:
    """The end of a run starts the archiving of all merged runs but the newest."""
    project.run("echo 1 > a")
    home, folder = Home(project.path / ".provio"), run_folder(project)
    for number in range(run_source.KEPT):
        (home.runs / f"ffffffff-0000-7000-8000-{number:012x}").mkdir()
    project.run("echo 2 > b")
    wait_for(run_source.archive_of(folder))


@pytest.mark.integration
def test_a_folder_that_cannot_be_deleted_does_not_block_other_runs(project: Project) -> None:
    """Files of another user stay; every run remains."""
    project.run("echo 1 > a")
    stuck = run_folder(project)
    project.provio("merge", "--pack")
    before = quads(project)
    (stuck.with_name(stuck.name + ".packed") / "kept").mkdir(parents=True)
    made = subprocess.run(["chattr", "+i", stuck.with_name(stuck.name + ".packed")], capture_output=True)
    if made.returncode:
        pytest.skip("needs a file system with chattr, and root to call it")
    try:
        project.run("echo 2 > b")
        assert "1 run packed" in project.provio("merge", "--pack").stderr
        assert not list((project.path / ".provio").glob("unpacked/*"))
        assert before < quads(project)
    finally:
        subprocess.run(["chattr", "-i", stuck.with_name(stuck.name + ".packed")], check=True)


def test_a_run_that_was_never_merged_is_not_due(project: Project) -> None:
    """Of any age: a record with runs only in a federated store starts no archiving process at each query."""
    project.provio("run", "--quiet", "--no-merge", "--", "true")
    home = Home(project.path / ".provio")
    assert run_source.due(home, time.time() + 2 * run_source.AGE) == []
    project.provio("merge")
    assert len(run_source.due(home, time.time() + 2 * run_source.AGE)) == 1


def test_another_record_writes_into_a_run_only_with_its_lock(project: Project) -> None:
    """While the lock is held, facts that can only be found now are left to the run's own record."""
    project.sh("echo 1 > a; ln -s a link")
    script = "(read x < go; cat link > b) > /dev/null 2>&1 < /dev/null & cat a > c"
    os.mkfifo(project.path / "go")
    project.provio("run", "--quiet", "--no-merge", "--", "sh", "-c", script)
    tell(project.path / "go", "on\n")
    wait_for(project.path / "b", b"1\n")
    home, folder = Home(project.path / ".provio"), run_folder(project)
    for file in folder.glob("*/settled.ttl"):
        file.unlink()
    (home.path / "together").mkdir()
    together = Together(home.path / "together", sources=(home,))
    with contextlib.closing(Lock(home, wait=False)):
        assert merge(together).merged == [folder.name]
        assert list(folder.glob("*/settled.ttl")) == []
    (together.marks / folder.name).unlink()
    assert merge(together, rebuild=True).merged == [folder.name]
    assert len(list(folder.glob("*/settled.ttl"))) == 1


def test_a_run_archived_during_a_read_is_read_completely(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A merge into a federated store does not hold the lock of the run's record: it then reads the archive."""
    project.sh("echo 1 > a")
    project.run("cat a > b; sort b > c")
    home, folder = Home(project.path / ".provio"), run_folder(project)
    read = run_source.content

    def packed_then(path: Path) -> bytes:
        data = read(path)
        monkeypatch.undo()
        assert archive_runs.archive(home, Config(), [folder]) == 1
        return data

    (home.path / "together").mkdir()
    together = Together(home.path / "together", sources=(home,))
    monkeypatch.setattr(run_source, "content", packed_then)
    outcome = merge(together)
    assert (outcome.merged, outcome.damages) == ([folder.name], [])
    found = [open_reader(one).dataset(None, ox.RdfFormat.N_QUADS) for one in (home, together)]
    assert set(found[0].splitlines()) == set(found[1].splitlines())


@pytest.mark.integration
def test_a_run_merged_on_a_server_is_archived(project: Project, oxigraph: Server) -> None:
    """A run that is merged on the server counts as merged."""
    project.env["PROVIO_STORE"] = oxigraph.url
    project.run("echo 1 > a")
    assert "1 run packed" in project.provio("merge", "--pack").stderr
    assert "0 runs merged, 1 unchanged" in project.provio("merge").stderr
