"""A child process loads a large graph: the result is the same quads; after a kill or an error nothing has changed."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from concurrent_runs import state, stopped
from conftest import Project, in_memory

from provio.base.errors import StoreError
from provio.settings.home import Home
from provio.store.embedded import compaction, loading, writer
from provio.store.embedded.writer import StoreWriter

tmp_path = in_memory

RUN = "https://w3id.org/provio/run/01936b2e-7c00-7abc-8def-0123456789ab"
GRAPH = RUN + "/bundle"
APART = "from provio.store.embedded import writer, loading as l; "
APART += "writer.LARGE = 0; l.PROGRAM = {!r}; from provio.cli.main import main; main()"
# A loading process that stops before it opens the store (`_load`), or after that (`defer`).
STOPS = "import os, signal; from provio.store.embedded import loading as l; go_on = l.{0}; "
STOPS += "l.{0} = lambda *of: (os.kill(os.getpid(), signal.SIGSTOP), go_on(*of)); l.main()"


def statement(number: int) -> str:
    return f'<{RUN}> <http://example.org/p> "{number}" .\n'


def triples(count: int) -> Iterator[bytes]:
    """Yield N-Triples in pieces."""
    for first in range(0, count, 1000):
        numbers = range(first, min(first + 1000, count))
        yield b"".join(b'<http://example.org/%d> <http://example.org/p> "%d" .\n' % (one, one) for one in numbers)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Return the loading processes, in the order of their start."""
    found, start = list[subprocess.Popen[bytes]](), subprocess.Popen

    def starting(*of: Any, **how: Any) -> subprocess.Popen[bytes]:
        found.append(start(*of, **how))
        return found[-1]

    monkeypatch.setattr(loading.subprocess, "Popen", starting)
    return found


def has_the_store_open(process: int) -> bool:
    """Return whether a process holds RocksDB's lock."""
    held = []
    for one in Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            held.append(os.readlink(one))
    return any(path.endswith("/store/LOCK") for path in held)


@pytest.mark.parametrize("name", ["home", "höme", os.fsdecode(b"h\xff")])
def test_the_same_quads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As loaded by the writer itself, in place of the run's earlier graph; in a folder with any name."""
    monkeypatch.setattr(writer, "LARGE", 100_000)
    home = Home(tmp_path / name)
    home.path.mkdir()
    with StoreWriter(home, wait=False) as store:
        store.replace(GRAPH, [statement(-1)])
        apart, load = list[str](), loading.load
        monkeypatch.setattr(loading, "load", lambda path, *of: apart.append(path) or load(path, *of))
        store.replace(GRAPH, map(statement, range(4_000)))
        assert len(apart) == 1
        assert {quad.object.value for quad in store.store} == {str(number) for number in range(4_000)}
        store.replace(GRAPH, map(statement, range(3)))
        assert (len(apart), len(store.store)) == (1, 3)


@pytest.mark.parametrize("fault", [ValueError("no such"), KeyboardInterrupt()])
def test_a_failed_graph_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[subprocess.Popen[bytes]], fault: BaseException
) -> None:
    """If producing the pieces fails, the loaded statements are removed, and the loading process has ended."""
    monkeypatch.setattr(writer, "LARGE", 0)

    def pieces() -> Iterator[str]:
        yield statement(0)
        raise fault

    with StoreWriter(Home(tmp_path), wait=False) as store:
        with pytest.raises(type(fault)):
            store.replace(GRAPH, pieces())
        assert [process.returncode for process in started] == [-signal.SIGKILL]
        store.drop(GRAPH)
        assert len(store.store) == 0


def test_compactions_wait(tmp_path: Path) -> None:
    """RocksDB's threads only use the idle time of one processor."""
    program = (
        "import os; import pyoxigraph as ox; from provio.store.embedded import loading as l; "
        f"s = ox.Store({str(tmp_path / 'store')!r}); l.compaction.defer(); own = l.compaction._own_threads(); "
        "print(len(own), {os.sched_getscheduler(one) == os.SCHED_IDLE for one in own},"
        " {len(os.sched_getaffinity(one)) for one in [*own, 0]})"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    number, *rest = done.stdout.split(maxsplit=1)
    assert int(number) > 0
    assert rest == ["{True} {1}\n"]


def test_errors_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of the disk and of the data are reported, and a kill."""
    with pytest.raises(OSError, match="No such file"):
        loading.load("/proc/none/store", triples(10), ())
    with pytest.raises(ValueError, match="line 1"):
        loading.load(str(tmp_path / "store"), [b"<http://example.org/a> is no triple\n"], ())
    killed = "import os, signal; from provio.store.embedded import loading as l; "
    killed += "l.compaction.defer = lambda: os.kill(os.getpid(), signal.SIGKILL); l.main()"
    monkeypatch.setattr(loading, "PROGRAM", killed)
    with pytest.raises(StoreError, match="ended by SIGKILL"):
        loading.load(str(tmp_path / "store"), triples(1_000_000), ())  # much more than a pipe holds


def test_ctrl_c_during_the_last_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[subprocess.Popen[bytes]]
) -> None:
    """The waiting process is interrupted after the loading process has ended: lock and store are free."""
    waits = "import os, signal; from provio.store.embedded import loading as l; "
    waits += "l._load = lambda path, file: (file.read(), os.kill(os.getppid(), 2), signal.pause()); l.main()"
    monkeypatch.setattr(loading, "PROGRAM", waits)
    with pytest.raises(KeyboardInterrupt):
        loading.load(str(tmp_path / "store"), triples(10), ())
    assert [process.returncode for process in started] == [-signal.SIGKILL]


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["merge", "loader"])
def test_a_merge_that_is_killed_changes_nothing(project: Project, victim: str) -> None:
    """Neither process remains, the lock is free, and the next merge gives the quads of an undisturbed one."""
    project.sh("echo 1 > a")
    loop = "for i in $(seq 700); do /bin/true < a; done; cat a > b"
    project.provio("run", "--quiet", "--", "cp", "a", "c")
    project.provio("run", "--quiet", "--no-merge", "--", "bash", "-c", loop)
    for where in ("_load", "compaction.defer"):
        program = APART.format(STOPS.format(where))
        merge = subprocess.Popen(
            [sys.executable, "-c", program, "merge", "--quiet"], cwd=project.path, env=project.env,
            stderr=subprocess.PIPE,
        )  # fmt: skip
        loader = stopped(merge)
        assert has_the_store_open(loader) is (where == "compaction.defer")
        os.kill(merge.pid if victim == "merge" else loader, signal.SIGKILL)
        _, said = merge.communicate(timeout=60)
        assert (b"ended by SIGKILL" in said) == (victim == "loader")
        assert merge.returncode in (1, -signal.SIGKILL)
        deadline = time.monotonic() + 60
        while state(loader) not in ("", "Z"):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    project.provio("merge")
    after = set(project.provio("export", "--as", "nquads").stdout.splitlines())
    project.provio("merge", "--rebuild")
    assert set(project.provio("export", "--as", "nquads").stdout.splitlines()) == after
    assert project.data("b") == {"a"}


def test_a_store_that_is_read(tmp_path: Path) -> None:
    """A process that opens the store next finds the loaded statements."""
    loading.load(str(tmp_path / "store"), triples(1000), ())
    assert len(ox.Store.read_only(str(tmp_path / "store"))) == 1000


def test_the_input_is_loaded_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of complete lines; terms that only a lenient parser accepts are loaded too."""
    deferred = list[None]()
    monkeypatch.setattr(compaction, "defer", lambda: deferred.append(None))
    monkeypatch.setattr(loading, "PIECE", 10)
    lines = [f"<urn:{number}> <urn:p> <urn:o{text}> .\n" for number, text in enumerate(("", " ", "", ""))]
    file = io.BytesIO("".join(lines).encode())
    pieces = [loading._piece(file) for _ in range(5)]
    assert pieces == [*map(str.encode, lines), b""]
    monkeypatch.setattr(loading, "PIECE", len(lines[0]) + 1)
    file.seek(0)
    loading._load(str(tmp_path / "store"), file)
    assert deferred == [None]
    assert {f"{quad} .\n" for quad in ox.Store.read_only(str(tmp_path / "store"))} == set(lines)


@pytest.mark.parametrize(
    ("error", "code"),
    [(None, None), (OSError("no room"), 3), (SyntaxError("no triple"), 4), (ValueError("no number"), 4)],
)
def test_the_end_of_the_loading_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception | None, code: int | None
) -> None:
    """It ends with its parent; its exit code gives the kind of an error, and its error output the text."""
    calls = list[tuple[object, ...]]()

    def load(path: str, file: io.BytesIO) -> None:
        calls.append((path, file.read()))
        if error is not None:
            raise error

    def opened(*of: object) -> io.BytesIO:
        calls.append(of)
        return io.BytesIO(b"input")

    monkeypatch.setattr(sys, "argv", ["-c", "12", "/store"])
    monkeypatch.setattr(loading, "die_with", lambda parent: calls.append((parent,)))
    monkeypatch.setattr(signal, "signal", lambda *of: calls.append(of))
    monkeypatch.setattr(loading, "open", opened, raising=False)
    monkeypatch.setattr(loading, "_load", load)
    if code is None:
        loading.main()
    else:
        with pytest.raises(SystemExit) as ended:
            loading.main()
        assert ended.value.code == code
    assert capsys.readouterr() == ("", str(error or ""))
    assert calls == [(12,), (signal.SIGINT, signal.SIG_IGN), (0, "rb"), ("/store", b"input")]


def test_what_the_loading_process_does_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[subprocess.Popen[bytes]]
) -> None:
    """No more pieces are produced, and its error output is the message."""
    monkeypatch.setattr(loading, "PROGRAM", "import sys; sys.exit('for no reason')")
    produced = list[int]()

    def pieces() -> Iterator[bytes]:
        for number in range(200):
            produced.append(number)
            yield bytes(1 << 20)

    with pytest.raises(StoreError, match=r"loads a large run for no reason: merge again"):
        loading.load(str(tmp_path / "store"), pieces(), ())
    assert len(produced) < 200
    assert loading._processes[-1:] == started


def test_a_process_that_loads_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that were started."""
    killed = list[str]()
    processes = [type("Process", (), {"kill": lambda _self, number=number: killed.append(number)})() for number in "12"]
    monkeypatch.setattr(loading, "_processes", processes)
    loading.stop()
    assert killed == ["1", "2"]
