"""Whether a run is in progress: hand-made run folders and real processes in, all conclusions about the run out."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from provio.base import turtle
from provio.settings.home import PACKED
from provio.system import node_local, proc, statx
from provio.trace import environment, liveness, run_source

RUN = f"01936b2e-7c00-7abc-8def-{os.getpid():012x}"  # processes of other tests have other runs
HERE, BOOT = environment.host(), statx.boot_id()
OWN = turtle.segment(HERE)
NONE = "99999911", "99999916"  # above the limit of process ids
Record = dict[str, str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty run folder of this host."""
    place = tmp_path / ".provio" / "runs" / RUN
    (place / OWN).mkdir(parents=True)
    (place / "run.ttl").touch()
    return place


@pytest.fixture
def child() -> Iterator[tuple[str, str]]:
    """A living process, started in the run: its id and its start."""
    with subprocess.Popen(["sleep", "60"], env={"A": "1", "PROVIO_TRACE": f"1;2;3;{RUN};4"}) as process:
        while Path(f"/proc/{process.pid}/comm").read_text() != "sleep\n":
            time.sleep(0.001)
        yield str(process.pid), proc.start_tick(process.pid)
        process.kill()


def traced(folder: Path, image: tuple[str, str]) -> None:
    """Leave a thread file of a process."""
    (folder / OWN / f"{image[0]}.{image[1]}.0.0.ttl").touch()


def marked(folder: Path, host: str, text: str = "") -> None:
    """Leave the mark of a host."""
    (folder / host).mkdir(exist_ok=True)
    (folder / host / node_local.MARK).write_text(text)


def concluded(folder: Path, record: Record) -> dict[str, object]:
    """All conclusions about a run."""
    return {
        "in progress": liveness.in_progress(folder, record),
        "if the others are lost": liveness.in_progress(folder, record, lost=True),
        "for queries": liveness.seems_in_progress(folder, record),
        "living": liveness.has_living_process(folder, record),
        "at work": liveness.hosts_at_work(folder, record),
    }


def expected(*conclusions: bool, at_work: list[str] | None = None) -> dict[str, object]:
    """The four answers that are yes or no, and the hosts at work."""
    names = ("in progress", "if the others are lost", "for queries", "living")
    return {**dict(zip(names, conclusions, strict=True)), "at work": at_work or []}


def test_a_run_of_this_host(folder: Path, child: tuple[str, str]) -> None:
    """It is in progress while its lock is held, or while a process with a file in it exists that was started since this
    host was booted."""
    own = {"host": HERE, "bootId": BOOT}
    over, going = expected(False, False, False, False), expected(True, True, True, True)
    assert concluded(folder, own) == over
    assert not liveness.in_progress(folder, own, started={"another"})
    assert liveness.in_progress(folder, own, started={"another", RUN})
    before = len(os.listdir("/proc/self/fd"))
    held = liveness.lock(folder)
    assert not os.get_inheritable(held)
    assert concluded(folder, own) == expected(True, True, True, False)
    os.close(held)
    assert concluded(folder, own) == over
    assert len(os.listdir("/proc/self/fd")) == before  # none was left open
    traced(folder, child)
    assert concluded(folder, own) == going
    assert concluded(folder, own | {"endedNs": "1"}) == going
    assert concluded(folder, own | {"bootId": "earlier"}) == over
    marked(folder, OWN, f'<> :bootId "{BOOT}"')
    assert concluded(folder, own | {"bootId": "earlier"}) == going
    folder.rename(folder.with_name("moved"))
    folder.with_name(RUN + PACKED).touch()
    assert concluded(folder, own) == over
    assert liveness.lock(folder) == -1


def test_a_lock_that_another_check_holds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process that looks holds it for a moment; a file system may have no locks."""
    other = os.open(folder, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    assert (liveness.is_locked(folder), waited) == (True, [liveness.MOMENT] * liveness.LOOKS)
    monkeypatch.setattr(time, "sleep", lambda _: fcntl.flock(other, fcntl.LOCK_UN))
    assert not liveness.is_locked(folder)
    os.close(other)

    def refused(_file: int, _operation: int) -> None:
        raise OSError

    monkeypatch.setattr(fcntl, "flock", refused)
    assert not liveness.is_locked(folder)
    os.close(liveness.lock(folder))


@pytest.mark.parametrize(
    ("record", "marks", "result"),
    [
        ({"host": "far"}, {}, expected(True, False, True, False, at_work=["far"])),
        ({"host": "far", "endedNs": "1"}, {}, expected(False, False, False, False)),
        ({"host": "far"}, {"far": "<> ; :collectedNs 5"}, expected(True, False, True, False, at_work=["far"])),
        ({"host": "f/r"}, {}, expected(True, False, True, False, at_work=[turtle.segment("f/r")])),
        ({"host": HERE}, {"far": "<>"}, expected(False, False, True, False, at_work=["far"])),
        ({"host": HERE}, {"far": "<> ; :collectedNs 5"}, expected(False, False, False, False)),
        ({"host": HERE}, {"far": ""}, expected(False, False, False, False)),
        ({"host": HERE}, {OWN: "<>"}, expected(False, False, False, False)),
        ({"host": HERE, "endedNs": "1"}, {"far": "<>"}, expected(False, False, False, False, at_work=["far"])),
        (
            {"host": "far", "unattended": "true"}, {"b": "", "a": "", "c": "<> ; :collectedNs 5"},
            expected(True, False, True, False, at_work=["a", "b"]),
        ),
        (
            {"host": "far", "unattended": "true", "endedNs": "1"}, {"far": "<>"},
            expected(False, False, True, False, at_work=["far"]),
        ),
        ({}, {"far": "<>"}, expected(True, False, False, False, at_work=["", "far"])),
    ],
)  # fmt: skip
def test_runs_of_several_hosts(folder: Path, record: Record, marks: Record, result: dict[str, object]) -> None:
    """A host is at work until its mark states that its files are collected; the first one also has no mark."""
    for host, text in marks.items():
        marked(folder, host, text)
    assert concluded(folder, record) == result


def test_silence_ends_a_run_of_another_host(folder: Path) -> None:
    """For queries: no file of it changed for an hour."""
    record = {"host": "far"}
    for seconds, going in ((liveness.SILENT - 60, True), (liveness.SILENT + 60, False)):
        moment = time.time() - seconds
        for path in (folder, *folder.iterdir()):
            os.utime(path, (moment, moment))
        assert liveness.seems_in_progress(folder, record) == going
        assert abs(liveness.age(folder) - seconds) < 10
        assert liveness.in_progress(folder, record)


def test_the_processes_of_a_run(folder: Path, child: tuple[str, str], tmp_path: Path) -> None:
    """By the names of thread files, by shells that a session left, by files on the node's own disk, and by the
    environment of processes that have no file."""
    record = {"host": HERE, "bootId": BOOT, "traceFolder": str(tmp_path / "else" / RUN)}
    assert liveness.living_processes(folder, record) == [(int(child[0]), "sleep")]  # it has no file yet
    assert RUN in liveness.started_runs()
    own = (str(os.getpid()), proc.start_tick())
    traced(folder, (NONE[0], "5"))
    traced(folder, child)
    traced(folder, (own[0], "1"))  # an earlier process with its id
    (folder / OWN / "settled.ttl").touch()
    (folder / OWN / f"{NONE[0]}2.5.ttl").touch()
    (folder / "far").mkdir()
    (folder / "far" / f"{NONE[0]}3.5.0.0.ttl").touch()
    (folder / "far" / f"{NONE[0]}4.5{run_source.SHELL_ENDING}").write_text("14 (bash) S " + "0 " * 30)
    (folder / OWN / f"{own[0]}.{own[1]}{run_source.SHELL_ENDING}").write_text(proc.stat())
    (folder / OWN / f"{NONE[0]}5.5{run_source.SHELL_ENDING}").write_text("15 (bash")
    place, notes = tmp_path / "captured" / RUN, tmp_path / ".provio" / node_local.NOTES / OWN
    (place / OWN).mkdir(parents=True)
    (place / OWN / f"{NONE[1]}.7.0.0.ttl").touch()
    notes.mkdir(parents=True)
    (notes / RUN).symlink_to(place)
    images = {(NONE[0], "5"), child, (own[0], "1"), own, (NONE[1], "7")}
    assert liveness.process_images(folder, record) == images
    assert liveness.has_living_process(folder, record)
    name = Path("/proc/self/comm").read_text()[:-1]
    assert liveness.living_processes(folder, record) == sorted([(int(child[0]), "sleep"), (int(own[0]), name)])
    assert liveness.living_processes(folder, record | {"bootId": "earlier"}) == [(int(child[0]), "sleep")]


def test_who_is_alive(child: tuple[str, str]) -> None:
    """Neither a later process of the same id, nor a zombie; but a process of which the first thread ended."""
    pid, tick = child
    assert [liveness.alive(image) for image in (child, (pid, tick + "0"), ("x", tick), (str(1 << 30), tick))] == [
        True, False, False, False,
    ]  # fmt: skip
    threads = "import ctypes, threading, time; threading.Thread(target=time.sleep, args=(60,)).start(); "
    code = threads + "ctypes.CDLL(None).pthread_exit(None)"
    with subprocess.Popen([sys.executable, "-S", "-c", code]) as process:
        while (fields := proc.fields(proc.stat(process.pid)))[proc.STATE] != "Z":
            time.sleep(0.001)
        image = str(process.pid), fields[proc.START]
        assert liveness.alive(image)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not liveness.alive(image)
