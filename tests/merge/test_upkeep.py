"""The upkeep of a record, in this process: archives, backups, hashes, remains, and the background merge.

Each test compares all files of the folder after each step with a complete list.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import socket
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lineage.story import START, Story, at, facts

from provio.base.errors import Busy, ProvioError, StoreError
from provio.base.records import replace
from provio.merge import archive_runs, background, backup, hasher, hashing, removal
from provio.merge.runs import merge
from provio.settings.home import Home
from provio.settings.lock import Lock, merger_address
from provio.settings.schema import Config
from provio.store import open_reader
from provio.system import child, statx
from provio.trace import content_requests, environment, liveness, run_source
from provio.trace import read as traces
from provio.trace.run_facts import Trace

NOW = START / 1e9 + 3600

RUN = "01a1fe26-0000-7000-8000-00000000000"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """An empty `.provio` of the host `node`, an hour after the runs of the stories."""
    monkeypatch.setattr(environment, "host", lambda: "node")
    monkeypatch.setattr(archive_runs, "time", SimpleNamespace(time=lambda: NOW))
    monkeypatch.setattr(run_source, "shared_memory", lambda: tmp_path / "memory")
    (tmp_path / "data/.provio/runs").mkdir(parents=True)
    (tmp_path / "data/.provio").chmod(0o700)
    return Home(tmp_path / "data/.provio")


def told(home: Home, number: int, program: str = "cp", **more: str) -> Story:
    """Write a run that reads a file and writes another."""
    story = Story(home.runs, number * 10, number * 10 + 9, number)
    story.facts = "".join(f' ; :{name} "{value}"' for name, value in more.items())
    process = story.process(program, number * 10 + 1)
    process.opens("a@-900+9", number * 10 + 2).does("read", (number * 10 + 3, number * 10 + 3, 9))
    name = f"x{number}@{number * 10 + 4}"
    process.opens(f"{name}+0", number * 10 + 4, "w").does("write", (number * 10 + 4, number * 10 + 4, 9)).closes(
        number * 10 + 5, f"{name}+9"
    )
    story.write()
    return story


def files(place: Path) -> dict[str, bytes | str]:
    """All files and links below a folder, and its empty folders."""
    found: dict[str, bytes | str] = {}
    for path in sorted(place.rglob("*")):
        name = str(path.relative_to(place)).replace(RUN, "R")
        if path.is_symlink():
            found[name] = os.readlink(path)
        elif path.is_file() or (path.is_dir() and not any(path.iterdir())):
            found[name] = path.read_bytes() if path.is_file() else ""
    return found


def test_which_runs_are_archived(home: Home) -> None:
    """Only a run that nothing changes any more and that the store has; a note has the reason for each other."""
    for number in range(1, 10):
        told(home, number, "sbatch" if number == 3 else "cp")
    folders = home.run_folders()
    for folder, (before, after) in {
        folders[1]: (':host "node"', ':host "far"'),
        folders[3]: (f" ; :endedNs {at(49)}", ' ; :unattended "true"'),
    }.items():
        head = folder / "run.ttl"
        head.write_text(head.read_text().replace(before, after, 1))
    assert merge(home).damages == []
    for name, folder in (("captured/far", folders[4]), ("hashing", folders[5]), ("digesting", folders[6])):
        (home.path / name).mkdir(parents=True, exist_ok=True)
        (home.path / name / folder.name).touch()
    home.mark(folders[3], at(100))
    home.mark(folders[7], at(100), "damaged\n")
    head = folders[8] / "run.ttl"
    head.write_text(head.read_text().replace('"job"', '"other"'))
    times = (folders[0] / "run.ttl").stat().st_mtime_ns
    (home.runs / f"{folders[5].name}.tar.xz.new").write_bytes(b"half")
    (home.runs / f"{folders[5].name}.packed").mkdir()
    reasons = {
        "R2": "it is in progress, or of another host",
        "R3": "a job that it submitted may still start",
        "R4": "its end is not recorded yet",
        "R5": "it is not collected yet",
        "R6": "it is not hashed or merged yet, or damaged",
        "R7": "the digest of its image is pending",
        "R8": "it is not hashed or merged yet, or damaged",
        "R9": "its content differs from the store",
    }
    assert archive_runs.archive(home, Config(), folders) == 1
    assert files(home.path / "unpacked") == {name: f"{reason}\n".encode() for name, reason in reasons.items()}
    left = [f"R{number}" for number in range(2, 10)]
    assert sorted(path.name.replace(RUN, "R") for path in home.runs.iterdir()) == [
        "R1.tar.xz", *left[:5], "R6.packed", *left[5:]
    ]  # fmt: skip
    assert (home.runs / f"{RUN}1.tar.xz").stat().st_mtime_ns >= times
    marks = sorted(path.name.replace(RUN, "R") for path in home.marks.iterdir() if path.name != "rules")
    assert marks == ["R1", *left[:-1]]
    assert [folder.name for folder in run_source.pending(home)][-1:] == [f"{RUN}9"]
    (home.path / "hashing" / folders[5].name).unlink()
    shutil.rmtree(home.path / "captured")
    (home.runs / f"{RUN}1.packed").mkdir()
    lock = Lock(home, wait=False)
    with pytest.raises(Busy):
        archive_runs.archive(home, Config(), [folders[4]])
    lock.close()
    assert archive_runs.archive(home, Config(), [folders[4], folders[5]]) == 2
    assert [path.name.replace(RUN, "R") for path in sorted(home.runs.iterdir())] == [
        "R1.tar.xz", "R2", "R3", "R4", "R5.tar.xz", "R6.tar.xz", "R7", "R8", "R9"
    ]  # fmt: skip
    assert set(files(home.path / "unpacked")) == {"R2", "R3", "R4", "R7", "R8", "R9"}
    (home.runs / f"{RUN}1.packed").mkdir()
    (home.runs / f"{RUN}2.tar.xz.new").touch()
    (home.runs / f"{RUN}3.tar.xz").touch()  # its folder is complete until it is renamed
    assert archive_runs.archive(home, Config(), []) == 0
    assert folders[2].is_dir()
    (home.runs / f"{RUN}3.tar.xz").unlink()
    assert sorted(path.name for path in home.runs.iterdir() if path.name.endswith(("packed", "new"))) == []
    assert merge(home).merged == [f"{RUN}9"]


def test_which_runs_are_due(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Merged runs older than an hour, or than the newest ones that stay; not those that failed within a day."""
    monkeypatch.setattr(run_source, "KEPT", 2)
    monkeypatch.setattr(archive_runs, "KEPT", 2)
    assert run_source.due(Home(home.path / "none"), NOW) == []
    assert not archive_runs.has_too_many_folders(Home(home.path / "none"), NOW)
    ids = [f"{int((NOW - age) * 1000):012x}" for age in (7200, 3601, 3600, 1800, 900, 0)]
    names = [f"{one[:8]}-{one[8:]}-7000-8000-000000000001" for one in ids]
    assert [round(NOW - run_source.start_time(name)) for name in names] == [7200, 3601, 3600, 1800, 900, 0]
    for name in (*names[:2], "notes", f"{names[0]}.packed", f"{names[0]}.tar.xz"):
        (home.runs / name).mkdir()
    for name in names:
        home.mark(home.runs / name, 1)
    assert run_source.due(home, NOW) == [home.runs / name for name in names[:2]]
    assert not archive_runs.has_too_many_folders(home, NOW)
    for name in names[2:]:
        (home.runs / name).mkdir()
    assert archive_runs.has_too_many_folders(home, NOW)
    home.unmark(home.runs / names[1])
    assert run_source.due(home, NOW) == [home.runs / names[place] for place in (0, 2, 3)]
    for number, age in ((0, 24 * 3600), (2, 24 * 3600 - 1), (3, 0)):
        (home.path / "unpacked").mkdir(exist_ok=True)
        (home.path / "unpacked" / names[number]).touch()
        os.utime(home.path / "unpacked" / names[number], (NOW - age, NOW - age))
    assert run_source.due(home, NOW) == [home.runs / names[0]]
    home.unmark(home.runs / names[0])
    assert not archive_runs.has_too_many_folders(home, NOW)
    sizes = [run_source.Folder(home.runs / name).extent()[0] for name in names]
    monkeypatch.setattr(archive_runs, "AT_ONCE", sizes[0] + sizes[1])
    bounded = archive_runs._bounded(home.runs / name for name in names)
    assert [folder.name for folder in bounded] == names[:3]


def test_a_backup_is_all_of_the_record(home: Home, tmp_path: Path) -> None:
    """Its runs, notes, published store and marks, but neither locks nor a FIFO; nothing is overwritten."""
    for number in (1, 2, 3, 4):
        told(home, number)
    merge(home)
    folders = home.run_folders()
    assert archive_runs.archive(home, Config(), [folders[0]]) == 1
    captured = tmp_path / "memory" / folders[1].name
    shutil.copytree(folders[1] / "node", captured / "node")
    content_requests.request(home, folders[2].name, Config(hash="all"))
    os.mkfifo(folders[2] / "fifo")
    (folders[2] / "link").symlink_to("/none")
    (home.path / "removed").mkdir()
    for name in ("CACHEDIR.TAG", "store.unfinished", "own.toml"):
        (home.path / name).write_text(name)
    notes: list[str] = []
    target = tmp_path / "copy"
    lock = Lock(home, wait=False, reads=True)
    assert backup.backup(home, target, notes.append) == 4
    lock.close()
    assert notes == [*(f"copying run {number} of 4" for number in range(1, 5)), "copying the store", ""]
    copied, expected = (
        files(target),
        {"snapshots/current": "1", "place": os.fsencode(home.project)}
        | {
            name: data
            for name, data in files(home.path).items()
            if name.split("/")[0] not in ("lock", "CACHEDIR.TAG", "store.unfinished", "store", "snapshots", "notices")
            and not name.startswith(("runs/R2", "runs/R3/fifo"))
        },
    )
    for name, data in files(home.snapshots / "current").items():
        expected |= {f"snapshots/1/{name}": data, f"store/{name}": data}
    expected |= {f"snapshots/merged/{name}": data for name, data in files(home.marks).items()}
    assert copied.pop("runs/R2.tar.xz")
    assert copied == expected
    assert (target.stat().st_mode & 0o777, sorted(tmp_path.glob("*.new"))) == (0o700, [])
    there = [run_source.of(home.runs / name).changed() for name in os.listdir(home.runs) if "." not in name]
    assert run_source.archive_of(target / "runs" / folders[1].name).stat().st_mtime_ns in there
    assert merge(Home(target)).unchanged == 4

    with pytest.raises(ProvioError, match="copy already exists: name a new folder"):
        backup.backup(home, target)
    other, new = tmp_path / "other", tmp_path / "other.new"
    new.mkdir()
    with pytest.raises(ProvioError, match="where the copy is made, already exists"):
        backup.backup(home, other)
    (new / "left").mkdir()
    (new / "old").touch()
    (new / backup.UNFINISHED).touch()
    with open(new / backup.UNFINISHED) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(ProvioError, match="is being made by another provio backup"):
            backup.backup(home, other)
    assert sorted(path.name for path in new.iterdir()) == [backup.UNFINISHED, "left", "old"]
    assert backup.backup(home, other) == 4
    assert files(other) == copied | {"runs/R2.tar.xz": (other / f"runs/{RUN}2.tar.xz").read_bytes()}
    with pytest.raises(ProvioError, match=r"cannot write .*/none/copy \(No such file or directory\)"):
        backup.backup(home, tmp_path / "none/copy")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backup, "_copy_store", full)
        with pytest.raises(ProvioError, match=r"cannot write .*/full \(No space left on device\)"):
            backup.backup(home, tmp_path / "full")
    (home.snapshots / "current" / "CURRENT").unlink()
    with pytest.raises(ProvioError):
        backup.backup(home, tmp_path / "damaged")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "data", "memory", "other"]


def test_the_remains_of_killed_processes(home: Home) -> None:
    """Damaged stores, partial archives, and run folders that stayed empty for an hour, with their shared memory."""
    told(home, 1)
    merge(home)
    before = files(home.path)
    for name in ("store.damaged-1/a/b", "store.damaged-1/c", "runs/old.tar.xz.new", "runs/x.new/file"):
        (home.path / name).parent.mkdir(parents=True, exist_ok=True)
        (home.path / name).write_bytes(b"x" * 5000)
    memory = run_source.shared_memory()
    for number, age in ((2, 3500), (3, 3700), (4, 3700)):
        new = home.runs / f"{RUN}{number}.new"
        new.mkdir()
        (new / "run.ttl").write_bytes(b"x" * 5000)
        (memory / f"{RUN}{number}").mkdir(parents=True)
        (memory / f"{RUN}{number}" / "file").write_bytes(b"x" * 5000)
        os.utime(new, (time.time() - age,) * 2)
    held = os.open(home.runs / f"{RUN}4.new", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_SH)
    places = "store.damaged-1/a/b", "store.damaged-1/c", "runs/old.tar.xz.new", f"runs/{RUN}3.new/run.ttl"
    gone = [*(home.path / place for place in places), memory / f"{RUN}3" / "file"]
    os.sync()  # some file systems allocate the blocks only then
    assert removal.leftovers(home) == (5, sum(path.stat().st_blocks * 512 for path in gone))
    removal.sweep(home)
    left = files(home.path)
    assert left == before | {"runs/x.new/file": b"x" * 5000} | {
        f"runs/R{number}.new/run.ttl": b"x" * 5000 for number in (2, 4)
    }
    assert set(files(memory)) == {"R2/file", "R4/file"}
    assert removal.leftovers(home) == (0, 0)
    os.close(held)
    assert not removal._is_abandoned(home.runs / f"{RUN}5.new")  # it was filled and renamed in the meantime


def real(home: Home, story: Story, **moments: float) -> dict[str, statx.Facts]:
    """Have the trace of a run name real files, with the mtimes given; return the facts of each."""
    [trace] = story.folder.glob("node/*.0.ttl")
    text, found = trace.read_text().replace('"/data/', f'"{home.project}/'), {}
    for name, moment in moments.items():
        path = home.project / name
        path.write_text(f"{name:.3}" * 3 if not name.startswith("empty") else "")
        os.utime(path, ns=(at(moment), at(moment)))
        found[name] = one = statx.facts(os.fsencode(path))
        stated = facts(f"{name}@0+0").partition(" ; :mtimeNs")[0]
        text = text.replace(stated, f':device "{one.device}" ; :inode {one.inode} ; :birthNs {one.birth}')
    trace.write_text(text)
    return found


def test_hashes_of_files(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the products and of inputs of their sizes; of a file that changed since there is a gap. The hashes that
    a killed process computed are kept."""
    monkeypatch.setattr(hashing, "time", SimpleNamespace(time=lambda: NOW))
    story = Story(home.runs)
    process = story.process("make", 1)
    for number, name in enumerate(("in1", "in22")):
        process.opens(f"{name}@-900+{9 + number}", 2).does("read", (3, 3, 9)).closes(3.5)
    names = ("made", "empty", "changed", "gone", "fifo", "known", "twice")
    for number, name in enumerate((*names, "twice")):
        moment, size = 10 * number + 10, 0 if name == "empty" else 9
        opening = process.opens(f"{name}@{moment}+0", moment, "w")
        if size:
            opening.does("write", (moment + 1, moment + 1, 9))
        opening.closes(moment + 2, f"{name}@{moment + (size > 0)}+{size}")
    story.write()
    moments = {name: 10 * number + 10 + (name != "empty") for number, name in enumerate(names)} | {"twice": 81}
    found = real(home, story, in1=-900, in22=-900, **moments)
    (home.project / "in22").write_text("x" * 10)
    os.utime(home.project / "in22", ns=(at(-900), at(-900)))
    os.utime(home.project / "changed", ns=(at(5), at(5)))
    (home.project / "gone").unlink()
    (home.project / "fifo").unlink()
    os.mkfifo(home.project / "fifo")

    def line(name: str, rest: str) -> str:
        one = found[name]
        subject = f"https://w3id.org/provio/run/{story.id}/node/hash/{one.inode}.{one.mtime}"
        numbers = (
            f":inode {one.inode} ; :birthNs {one.birth} ; :mtimeNs {one.mtime} ; :size {10 if name == 'in22' else 9}"
        )
        return f'<{subject}> :device "{one.device}" ; {numbers} ; {rest} .\n'

    def digest(name: str) -> str:
        return f':sha256 "{hashlib.sha256((home.project / name).read_bytes()).hexdigest()}"'

    def gap(reason: str) -> str:
        return f'a :Gap ; :reason "{reason}"'

    expected = {
        line("made", digest("made")), line("twice", digest("twice")), line("in1", digest("in1")),
        line("in22", digest("in22")),
        line("known", f':sha256 "{"0" * 64}"'), line("fifo", gap("is no regular file")),
        line("changed", gap("changed before its SHA-256 was computed")), "@prefix : <https://w3id.org/provio/ns#> .\n",
    }  # fmt: skip
    content_requests.request(home, story.id, Config(hash="all"))
    for other in (f"{RUN}7", "lock", "notes"):
        (home.path / "hashing" / other).write_text("all\n")
    progress = home.path / "hashing" / story.id
    begun = line("known", f':sha256 "{"0" * 64}"')
    progress.write_text("all\n" + begun + line("made", digest("made"))[:-3])
    assert content_requests.requested(home) == [story.id, f"{RUN}7"]

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(hasher, "put", full)
        assert hashing.finish(home, Config()) == []
    assert content_requests.requested(home) == [story.id]
    assert set(progress.read_text().splitlines(keepends=True)) > {"all\n", begun}
    progress.write_text("all\n" + begun + line("made", digest("made"))[:-3])
    noted: list[str] = []
    assert hashing.finish(home, Config(), noted.append) == [story.id]
    assert content_requests.requested(home) == []
    hashes = story.folder / "node" / "hashes.ttl"
    assert set(hashes.read_text().splitlines(keepends=True)) == expected
    assert sorted(name.rpartition("/")[2] for name in noted) == [
        "changed",
        "fifo",
        "gone",
        "in1",
        "in22",
        "made",
        *["twice"] * 2,
    ]
    before = hashes.stat().st_ino
    content_requests.request(home, story.id, Config(hash="all"))
    assert hashing.finish(home, Config()) == [story.id]
    assert hashes.stat().st_ino == before
    assert merge(home).damages == []

    second = told(home, 2)
    content_requests.request(home, second.id, Config(hash="all"))
    assert (hashing.finish(home, Config()), content_requests.requested(home)) == ([second.id], [])  # no file is there

    def invalid(*_: object, **__: object) -> Trace:
        raise ValueError

    monkeypatch.setattr(hashing, "read", invalid)
    content_requests.request(home, second.id, Config(hash="all"))
    assert (hashing.finish(home, Config()), content_requests.requested(home)) == ([], [])


def test_the_memory_that_is_left(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The least of all control groups of this process and of those above, of both versions; the cache is free."""
    root, own = tmp_path / "cgroup", tmp_path / "own"
    monkeypatch.setattr(background, "ROOT", root)
    monkeypatch.setattr(background, "Path", lambda path: own if str(path) == "/proc/self/cgroup" else Path(path))
    assert background.available_memory() == float("inf")

    def group(place: str, names: tuple[str, str, str], most: str, used: int, cached: int) -> None:
        (root / place).mkdir(parents=True, exist_ok=True)
        statistics = f"anon 5\n{names[2]} {cached}\nfile 7\n"
        for name, text in ((names[0], most), (names[1], str(used)), ("memory.stat", statistics)):
            (root / place / name).write_text(text + "\n")

    own.write_text("0::/a/b\n")
    assert background.available_memory() == float("inf")
    group("a/b", background.FILES, "max", 100, 10)
    assert background.available_memory() == float("inf")
    group("a", background.FILES, "1000", 300, 20)
    assert background.available_memory() == 720
    group("a/b", background.FILES, "500", 100, 10)
    assert background.available_memory() == 410
    group(".", background.FILES, "200", 100, 3)
    assert background.available_memory() == 103
    own.write_text("5:cpu,memory:/c\n4:cpuset:/a\n1:name=systemd:/a\n")
    group("memory/c", background.EARLIER, "90", 80, 2)
    assert background.available_memory() == 12
    group("memory", background.EARLIER, "30", 25, 1)
    assert background.available_memory() == 6
    own.write_text("4:cpuset:/a\n")
    assert background.available_memory() == float("inf")


def test_the_messages_and_merges_of_the_background(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run that ended is merged once, and its followers are started; messages count from the owner, or from others
    in a shared record."""
    stories = [told(home, number) for number in (1, 2, 3)]
    read = traces.read_run

    def damaged(folder: Path, *more: Any) -> Trace:
        if folder == stories[1].folder:
            raise ValueError
        return read(folder, *more)

    monkeypatch.setattr(traces, "read_run", damaged)
    monkeypatch.setattr("provio.trace.liveness.started_runs", lambda: {stories[2].id})
    begun: list[str] = []
    monkeypatch.setattr(hashing, "begin", lambda _: begun.append("hashing"))
    monkeypatch.setattr(archive_runs, "begin", lambda _: begun.append("archives"))
    merger = background.Merger(home, [home.project])
    assert merger.pending() == [one.folder for one in stories[:2]]
    lock = Lock(home, wait=False)
    with pytest.raises(Busy):
        merger.merge(merger.pending())
    lock.close()
    assert (merger.at_work, begun, merger.tried) == (False, [], set())
    merger.merge(merger.pending())
    assert (merger.at_work, begun, merger.tried) == (False, ["hashing"], {one.id for one in stories[:2]})
    assert home.marked(stories[0].folder) == ""
    assert merger.pending() == []
    monkeypatch.setattr("provio.trace.liveness.started_runs", set)
    monkeypatch.setattr(archive_runs, "KEPT", 1)
    assert merger.pending() == [stories[2].folder]
    merger.merge(merger.pending())
    assert begun == ["hashing"] * 2 + ["archives"]
    (home.project / "provio.toml").write_text("pack = false\n")
    assert merger.pending() == []
    merger.merge([stories[0].folder])
    assert begun[3:] == ["hashing"]
    with pytest.raises(FileNotFoundError):
        background.Merger(Home(tmp_path / "none"), [])

    moments = iter([0, 0, 0, 1.9, 1.9, 50, 50, 51, 59.9, 62, 62])
    waited: list[float] = []
    monkeypatch.setattr(background, "time", SimpleNamespace(monotonic=lambda: next(moments), sleep=waited.append))
    merger.last_end = 0
    merger.wait()
    assert len(waited) == 2

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bell:
        bell.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        bell.bind(str(tmp_path / "bell"))
        bell.settimeout(0.01)
        assert merger._next_message(bell) == b""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            for user, mode, expected in ((0, 0o700, b"run /x"), (1, 0o700, b""), (1, 0o2770, b"run")):
                monkeypatch.setattr(os, "getuid", lambda user=user: os.geteuid() + user)
                home.path.chmod(mode)
                sender.sendto(b"run /x", str(tmp_path / "bell"))
                assert merger._next_message(bell) == expected


def test_the_processes_in_the_background(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Each hashes, archives or merges all that is pending, unless another one does; it leaves the folder it was started
    in."""
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr(child, "begin", lambda *words, **more: calls.append((*words, *more.items())))
    monkeypatch.setattr(child, "give_way", lambda: calls.append(("give way",)))
    monkeypatch.setattr(os, "nice", lambda more: calls.append(("nice", more)))
    monkeypatch.setattr(os, "chdir", lambda folder: calls.append(("folder", folder)))
    monkeypatch.setattr(hashing, "time", SimpleNamespace(time=lambda: NOW))
    place = str(home.path)

    def main(module: Any, *words: str) -> list[tuple[Any, ...]]:
        calls.clear()
        with monkeypatch.context() as patch:
            patch.setattr("sys.argv", ["python3", place, *words])
            module.main()
        return calls

    hashing.begin(home)
    archive_runs.begin(home)
    background.begin(home, [tmp_path, home.project])
    assert calls == [
        ("provio.merge.archive_runs", place),
        ("provio.merge.background", place, str(tmp_path), str(home.project), ("folder", "/")),
    ]
    first, second = told(home, 1), told(home, 2)
    content_requests.request(home, first.id, Config(hash="all"))
    calls.clear()
    with hashing._lock(home, wait=False):
        hashing.begin(home)
        assert main(hashing) == [("give way",), ("folder", "/")]
    hashing.begin(home)
    hashing.begin(home, then_merge=False)
    assert calls[2:] == [("provio.merge.hashing", place), ("provio.merge.hashing", place, "--no-merge")]
    main(hashing, "--no-merge")
    assert (content_requests.requested(home), run_source.pending(home)) == ([], [first.folder, second.folder])
    content_requests.request(home, first.id, Config(hash="all"))
    main(hashing)
    assert [home.marked(one.folder) for one in (first, second)] == ["", None]

    monkeypatch.setattr(background, "QUIET", 0.02)
    monkeypatch.setattr(liveness, "started_runs", set)  # tests at the same time have processes with these ids
    monkeypatch.setattr(background, "LOOK", 0.01)
    monkeypatch.setattr(background, "available_memory", lambda: float("inf"))
    before, mergers = set(threading.enumerate()), list[background.Merger]()
    open_bell = background.Merger.open

    def opened(merger: background.Merger) -> bool:
        mergers.append(merger)
        done = open_bell(merger)
        request.addfinalizer(merger.close)  # its thread would end this process if the folder were removed
        return done

    monkeypatch.setattr(background.Merger, "open", opened)
    assert main(background, str(home.project), "") == [("folder", "/"), ("give way",)]
    assert run_source.pending(home) == []
    for thread in set(threading.enumerate()) - before:
        thread.join(60)  # the address is free when it has seen that its socket is closed
    third = told(home, 3)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bell:
        bell.bind(merger_address(home.path))
        bell.settimeout(5)
        assert main(background) == [("folder", "/")]
        assert bell.recv(4096) == b"run " + os.fsencode(home.path)
    lock = Lock(home, wait=False)
    monkeypatch.setattr(background, "LONGEST", 0.1)
    assert main(background) == [("folder", "/"), ("give way",)]
    lock.close()
    monkeypatch.setattr(background, "available_memory", lambda: float(background.ROOM - 1))
    main(background)
    assert run_source.pending(home) == [third.folder]
    for merger in mergers:
        merger.close()  # the end of its process would do so
    for thread in set(threading.enumerate()) - before:
        thread.join(60)
        assert not thread.is_alive()

    monkeypatch.setattr(archive_runs, "time", SimpleNamespace(time=lambda: run_source.start_time(RUN + "1") + 3601))
    assert main(archive_runs) == [("nice", 19), ("folder", "/")]
    assert sorted(path.name.replace(RUN, "R") for path in home.runs.iterdir()) == ["R1.tar.xz", "R2.tar.xz", "R3"]
    place = str(tmp_path / "none")
    assert main(background) == [("folder", "/")]


def test_the_outcome_of_a_merge(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damaged runs are named again by each merge, runs in progress stay pending, and an invalid one affects no other;
    the settings are noted once all runs have them."""
    stories = [told(home, number) for number in range(1, 6)]
    lines: list[str] = []
    [thread] = stories[0].folder.glob("node/*.0.ttl")
    thread.write_text(thread.read_text() + " <a1> is no triple .\n")
    held = liveness.lock(stories[1].folder)
    read = traces.read_run

    def invalid(folder: Path, *more: Any) -> Trace:
        if folder == stories[2].folder:
            raise ValueError("a  reason\nin lines")
        return read(folder, *more)

    monkeypatch.setattr(traces, "read_run", invalid)
    new = replace(Config(), conclusions="new")

    def merged(*numbers: int, **more: Any) -> tuple[list[int], int, list[str], int]:
        folders = [stories[number - 1].folder for number in numbers] or None
        found = merge(home, folders, settings=new, **more)
        damages = [one.replace(str(home.runs), "").replace(RUN, "R") for one in found.damages]
        return [int(run[-1]) for run in found.merged], found.unchanged, damages, found.in_progress

    damaged, fault = "/R1/node/1.1.0.0.ttl:9: ", "/R3: cannot be merged (ValueError: a reason in lines)"
    first, unchanged, damages, going = merged(1, 2, 3, 4, progress=lines.append)
    assert (first, unchanged, going, damages[1:]) == ([1, 4], 0, 1, [fault])
    assert damages[0].startswith(damaged)
    steps = [f"merging: {number} of 4 runs" for number in range(4)]
    assert [line for line in lines if "statements" not in line] == [*steps, ""]
    counted = [line.partition(", ")[0] for line in lines if line.endswith(" statements")]
    assert list(dict.fromkeys(counted)) == [steps[0], steps[3]]
    assert (home.marked_rules(), home.merging.exists()) == ("", False)
    assert home.marked(stories[0].folder) == f"{damages[0]}\n".replace("/R1", f"{home.runs}/{RUN}1")
    assert merged(1, 4) == ([], 2, damages[:1], 0)
    assert merged() == ([5], 2, damages, 1)
    assert home.marked_rules() == run_source.rules_of(home, "new")
    os.close(held)
    home.merging.write_text(stories[1].id)
    monkeypatch.undo()
    monkeypatch.setattr(environment, "host", lambda: "node")
    told(home, 6)
    assert merged() == ([3, 6, 2], 3, damages[:1], 0)
    assert merged() == ([], 6, damages[:1], 0)


def test_no_word_of_a_removed_run_is_left(home: Home) -> None:
    """Its texts are in no file and no table; with `fast`, the next removal deletes them from the tables. On a full disk
    nothing is removed."""
    stories = [told(home, number, f"xylophone{number}") for number in (1, 2, 3)]
    assert merge(home, between=0).merged == [one.id for one in stories]
    assert os.readlink(home.snapshots / "current") == "4"  # it was published before each run
    before = {str(quad) for quad in open_reader(home).quads()}

    def holding(word: str) -> set[str]:
        found = files(home.path).items()
        return {name.partition("/")[0] for name, data in found if isinstance(data, bytes) and word.encode() in data}

    everywhere = {"runs", "snapshots", "statements", "store"}
    steps: list[str] = []
    assert [holding(f"xylophone{number}") - {"statements"} for number in (1, 2)] == [everywhere - {"statements"}] * 2
    notes = [home.path / "captured/elsewhere" / story.id for story in stories]
    notes[0].parent.mkdir(parents=True)
    for note in notes:
        note.touch()
    removal.remove(home, [stories[0].id], Config(), fast=True, progress=steps.append)
    assert [note.exists() for note in notes] == [False, True, True]
    assert steps[:2] == ["waiting for the store", "removing runs from the store: 0 of 1"]
    assert steps[2:] == ["publishing", "deleting files of runs: 0 of 1"]
    assert (holding("xylophone1"), home.words_left.exists()) == ({"snapshots", "store"}, False)
    home.words_left.touch()
    removal.remove(home, [], Config(), fast=True)
    assert home.words_left.exists()
    removal.remove(home, [], Config())
    assert (holding("xylophone1"), home.words_left.exists()) == (set(), False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(removal, "_remove_terms", lambda *_: None)
        removal.remove(home, [stories[1].id], Config())
    assert home.words_left.exists()
    removal.finish(home, Config(), steps.append)
    assert (holding("xylophone2"), home.words_left.exists()) == (set(), False)
    left = {str(quad) for quad in open_reader(home).quads()}
    assert left < before

    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("provio.store.embedded.writer.StoreWriter.publish", full)
        with pytest.raises(StoreError, match="no room to remove runs from the store: nothing was removed"):
            removal.remove(home, [stories[2].id], Config())
    assert (home.words_left.exists(), (home.path / "removed").exists()) == (False, False)
    assert [folder.name for folder in home.run_folders()] == [stories[2].id]
    removal.remove(home, [stories[2].id], Config())
    assert not any(RUN in str(quad) or "derived" in str(quad) for quad in open_reader(home).quads())
    assert (os.listdir(home.runs), holding("xylophone3")) == ([], set())
