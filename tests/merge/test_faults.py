"""Faults during a merge: kills at its steps, a full or bad disk, a store that is read-only, of another user, or newer.

In each case queries are answered as before, and afterwards the store has the quads of an undisturbed merge.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import filesystems
import pyoxigraph
import pytest
import steps
from conftest import Project, provio_command
from failing_calls import faults, injector

from provio.settings.home import Home
from provio.store.embedded.reader import StoreReader

RUNS = 5


def quads(home: Path) -> set[bytes]:
    """Return all quads that a reader of this `.provio` sees."""
    return set(StoreReader(Home(home)).dataset(None, pyoxigraph.RdfFormat.N_QUADS).splitlines())


def record(project: Project, count: int, *options: str) -> None:
    """Record a chain of runs: each reads the output of the one before, and changes a file that all share."""
    for _ in range(count):
        number = len(list(project.path.glob("f*")))
        script = f"cat f{number - 1} all > f{number}; echo {number} >> all"
        project.provio("run", "--quiet", *options, "--", "bash", "-c", script)


@pytest.fixture
def pending(project: Project) -> Project:
    """A project with two merged runs and several pending ones."""
    project.sh("echo 0 > f0; echo 0 > all")
    record(project, 2)
    record(project, RUNS, "--no-merge")
    return project


def copy(project: Project, place: Path) -> dict[str, str]:
    """Copy the record, and return the environment that selects the copy."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(project.path / ".provio", place, symlinks=True)
    return {**project.env, "PROVIO_HOME": str(place)}


def merge(env: dict[str, str]) -> int:
    """Merge, and return how it ended."""
    return subprocess.run([*provio_command(), "merge", "--quiet"], env=env, cwd="/", check=False).returncode


def undisturbed(project: Project, place: Path) -> tuple[set[bytes], set[bytes]]:
    """Return the quads before and after a merge."""
    env = copy(project, place)
    before = quads(place)
    assert merge(env) == 0
    return before, quads(place)


@pytest.mark.integration
@pytest.mark.parametrize(("words", "stride"), [(("--quiet",), 4), (("--rebuild",), 12)], ids=["merge", "rebuild"])
def test_killed_at_a_step(pending: Project, tmp_path: Path, words: tuple[str, ...], stride: int) -> None:
    """Killed at regular intervals of steps: the answers are the old ones until the new ones are published, and the next
    merge is complete."""
    place = tmp_path / "copy"
    before, after = undisturbed(pending, place)
    assert before < after
    published, step = [], 1
    while steps.killed(step, env := copy(pending, place), "merge", *words):
        found = quads(place)
        assert found in (before, after), step
        published.append(found == after)
        assert merge(env) == 0
        assert quads(place) == after, step
        step += stride
    assert quads(place) == after
    assert published == sorted(published) and set(published) == {False, True}
    left = [path.name for path in place.iterdir() if path.name.startswith("store.") and path.name != "store.version"]
    assert left == []
    assert len([path for path in (place / "snapshots").iterdir() if path.is_dir() and not path.is_symlink()]) == 2


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 MiB."""
    with ExitStack() as undo:
        filesystems.mount(tmp_path / "disk", "ext4", undo)
        yield tmp_path / "disk"


@pytest.mark.parametrize("room", [0, 300, 600, 1200])
@pytest.mark.integration
def test_a_disk_that_is_full(pending: Project, small_disk: Path, tmp_path: Path, room: int) -> None:
    """With so many KB left: one line with the remedy, answers as before, and a complete merge once there is room."""
    before, after = undisturbed(pending, tmp_path / "copy")
    env = copy(pending, small_disk / "provio")
    filler = small_disk / "filler"
    free = os.statvfs(small_disk)
    filler.write_bytes(b"x" * (free.f_bavail * free.f_frsize - room * 1024))
    done = subprocess.run([*provio_command(), "merge"], env=env, cwd="/", capture_output=True, text=True)
    if done.returncode:
        assert (done.returncode, done.stderr.count("\n"), "make room" in done.stderr) == (1, 1, True), done.stderr
        assert quads(small_disk / "provio") == before
        answer = subprocess.run([*provio_command(), "runs"], env=env, cwd="/", capture_output=True, text=True)
        assert (answer.returncode, "cat f0 all" in answer.stdout) == (0, True), answer.stderr
    filler.unlink()
    assert merge(env) == 0
    assert quads(small_disk / "provio") == after


@pytest.mark.integration
def test_a_disk_that_is_full_before_anything_was_merged(project: Project, small_disk: Path) -> None:
    """A query reports the pending runs and the reason, and answers from them; no partial data is left."""
    env = project.env | {"PROVIO_HOME": str(small_disk / "provio")}
    subprocess.run([*provio_command(), "run", "--no-merge", "--quiet", "--", "true"], env=env, check=True)
    with open(small_disk / "filler", "wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(bytes(1024))
    asked = subprocess.run([*provio_command(), "runs"], env=env, cwd="/", capture_output=True, text=True)
    assert (asked.returncode, "exit 0" in asked.stdout, asked.stderr.count("\n")) == (0, True, 1)
    assert "1 run pending: cannot write the store" in asked.stderr
    assert "No space left on device): make room" in asked.stderr
    assert [name for name in os.listdir(small_disk / "provio") if name.startswith("store.version")] == []


# From so many calls on: at the start, while the store is opened, while it is written, at the end.
BAD = [("read", -1), ("read", -15), ("write", -4), ("write", -60), ("sync", -1), ("rename", -4), ("close", -15)]
QUESTIONS = (["runs"], ["lineage", "f5"], ["stats"])


@pytest.mark.slow
@pytest.mark.integration
def test_a_disk_with_errors(pending: Project, tmp_path: Path) -> None:
    """Calls on the record fail with EIO: a merge and queries end as usual or with one line, and answers are those from
    before or after the merge; a merge on the repaired disk is complete."""
    place, library = tmp_path / "copy", str(injector(tmp_path))
    before, after = undisturbed(pending, place)
    answers = [
        subprocess.check_output([*provio_command(), *asked], env=copied, cwd=pending.path, stderr=subprocess.PIPE)
        for copied in [copy(pending, place)]
        for asked in QUESTIONS
    ]
    failed = 0
    for number, (call, turn) in enumerate(BAD):
        env = copy(pending, place)
        bad = {**env, **faults(place, {call: (turn, errno.EIO)}), "LD_PRELOAD": library}
        done = subprocess.run([*provio_command(), "merge", "--quiet"], env=bad, cwd="/", capture_output=True, text=True)
        failed += done.returncode == 1
        assert (done.returncode, done.stderr.count("\n")) in ((0, 0), (1, 1)), (call, turn, done.stderr)
        assert quads(place) in (before, after), (call, turn)
        words, answer = list(zip(QUESTIONS, answers, strict=True))[number % len(QUESTIONS)]
        asked = subprocess.run([*provio_command(), *words], env=bad, cwd=pending.path, capture_output=True)
        assert (asked.returncode, asked.stdout) in ((0, answer), (1, b"")), (call, turn, words)
        said = asked.stderr.splitlines()  # about the merge and about the answer
        assert len(said) >= asked.returncode and all(line.startswith(b"provio: ") for line in said), said
        assert merge(env) == 0
        assert quads(place) == after, (call, turn)
    assert failed > len(BAD) / 2


@pytest.mark.integration
def test_a_disk_that_is_read_only(pending: Project, small_disk: Path) -> None:
    """A query answers from the published store, with one warning; a merge reports the error."""
    env = copy(pending, small_disk / "provio")
    before = quads(small_disk / "provio")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    asked = subprocess.run([*provio_command(), "runs"], env=env, cwd="/", capture_output=True, text=True)
    assert (asked.returncode, asked.stderr.count("\n")) == (0, 1), asked.stderr
    assert "cat f0 all" in asked.stdout
    assert f"{RUNS} runs pending" in asked.stderr
    merged = subprocess.run([*provio_command(), "merge"], env=env, cwd="/", capture_output=True, text=True)
    assert (merged.returncode, merged.stderr.count("\n")) == (1, 1), merged.stderr
    assert "check its permissions" in merged.stderr
    assert quads(small_disk / "provio") == before


def as_other_user(*arguments: str, cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Call provio as another user; skip the test if that user cannot access it."""
    if shutil.which("setpriv") is None or os.geteuid() != 0:
        pytest.skip("needs setpriv, and root to call it")
    other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if subprocess.run([*other, *provio_command(), "--version"], capture_output=True, cwd="/").returncode:
        pytest.skip("provio is not installed where another user may read it")
    return subprocess.run([*other, *provio_command(), *arguments], cwd=cwd, env=env, capture_output=True, text=True)


@pytest.mark.parametrize(("mode", "code"), [("u=rwX,go=rX", 0), ("u=rwX,go=", 1)])
@pytest.mark.integration
def test_a_store_of_another_user(pending: Project, shown: Path, mode: str, code: int) -> None:
    """It is only used on request; it then answers if it is readable, and one line reports the failure."""
    record = shown / ".provio"
    env = {**copy(pending, record), "HOME": str(shown)}
    subprocess.run(["chmod", "-R", mode, record], check=True)
    before = quads(record)
    unasked = as_other_user("runs", cwd=shown, env={**pending.env, "HOME": str(shown)})
    assert (unasked.returncode, unasked.stderr.count("\n")) == (1, 1), unasked.stderr
    assert "belongs to user 0: set PROVIO_HOME" in unasked.stderr
    asked = as_other_user("runs", cwd=Path("/"), env=env)
    assert (asked.returncode, asked.stderr.count("\n")) == (code, 1), asked.stderr
    merged = as_other_user("merge", cwd=Path("/"), env=env)
    assert (merged.returncode, merged.stderr.count("\n")) == (1, 1), merged.stderr
    assert quads(record) == before


@pytest.mark.integration
def test_a_store_that_was_emptied(pending: Project) -> None:
    """The next merge merges all runs, not only the pending ones."""
    before = quads(pending.path / ".provio")
    for path in (pending.path / ".provio").glob("store/*"):
        path.unlink()
    pending.provio("runs")
    assert before < quads(pending.path / ".provio")


@pytest.mark.parametrize("name", ["store", "snapshots"])
@pytest.mark.integration
def test_a_store_that_is_a_link(pending: Project, tmp_path: Path, name: str) -> None:
    """Nothing is written or deleted through the link; one line gives the remedy, after which all runs are merged."""
    before = quads(pending.path / ".provio")
    elsewhere = tmp_path / "elsewhere"
    (pending.path / ".provio" / name).rename(elsewhere)
    (pending.path / ".provio" / name).symlink_to(elsewhere)
    (pending.path / ".provio" / "store.unfinished").touch()
    files = sorted(elsewhere.rglob("*"))
    for verb in (["merge"], ["merge", "--rebuild"], ["rm", "--yes", "last"]):
        assert "is a symbolic link: delete it" in pending.provio(*verb, code=1).stderr
    assert sorted(elsewhere.rglob("*")) == files
    (pending.path / ".provio" / name).unlink()
    pending.provio("merge")
    assert before < quads(pending.path / ".provio")


@pytest.mark.integration
def test_a_store_of_a_newer_version(pending: Project) -> None:
    """It is neither queried nor written: one line recommends to update provio; a run is kept."""
    note = pending.path / ".provio" / "store.version"
    before, found = quads(pending.path / ".provio"), note.read_text()
    note.write_text("3\n")
    for verb in (["runs"], ["merge"], ["merge", "--rebuild"]):
        done = pending.provio(*verb, code=1)
        assert done.stderr.splitlines()[-1].endswith("update provio")
    kept = pending.provio("run", "--", "true")
    assert "is recorded, but not merged" in kept.stderr
    note.write_text(found)
    assert quads(pending.path / ".provio") == before
    pending.provio("merge")
    assert pending.count("?run a provio:Run") == 2 + RUNS + 1
