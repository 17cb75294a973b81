"""The size of a record on disk: it does not grow with the number of merges; and the displayed figures."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Project, provio_command

from provio.ask import disk_usage
from provio.base.text import size
from provio.settings.home import Home
from provio.store.embedded import compaction
from provio.store.embedded.compaction import LITTLE, WASTE
from provio.store.embedded.reader import StoreReader
from provio.store.embedded.writer import StoreWriter

GRAPH = "http://example.org/graph"
REWRITE = 'for i in {1..200}; do echo "$0 $i" > "file$i"; done'
READ = """import sys
from pathlib import Path
from provio.settings.home import Home
from provio.store.embedded.reader import StoreReader
reader = StoreReader(Home(Path(sys.argv[1])))
print("reads", flush=True)
sys.stdin.read()
print(len(list(reader.store)))
"""


def summed(*folders: Path) -> int:
    """Return the bytes of all inodes below some folders, each counted once."""
    found = {}
    for path, names, files in (step for folder in folders for step in os.walk(folder)):
        for each in (os.lstat(os.path.join(path, name)) for name in (".", *names, *files)):
            found[each.st_ino] = each.st_blocks * 512
    return sum(found.values())


def snapshots(home: Home) -> set[str]:
    return {entry.name for entry in home.snapshots.iterdir() if entry.is_dir() and not entry.is_symlink()} - {"merged"}


def tables(folder: Path) -> dict[int, int]:
    """Return the inodes of a store's tables, with their sizes in bytes."""
    return {each.stat().st_ino: each.stat().st_size for each in folder.glob("*.sst")}


def pieces(first: int, count: int) -> list[str]:
    return ["".join(f'<http://s/{n}> <http://p/{n % 7}> "text {n}" .\n' for n in range(first, first + count))]


@pytest.mark.integration
def test_runs_that_rewrite_the_same_files_leave_one_snapshot(project: Project) -> None:
    """After each merge its tables are those of the store; both take at most 1.5 times the size of a store built of
    all runs."""
    home = Home(project.path / ".provio")
    for number in range(6):
        project.watch("bash", "-c", REWRITE, str(number))
        assert snapshots(home) == {os.readlink(home.snapshots / "current")}
        assert tables(home.snapshots / "current") == tables(home.store)
    taken = summed(home.store, home.snapshots)
    project.provio("merge", "--rebuild", "--quiet")
    assert snapshots(home) == {os.readlink(home.snapshots / "current")}
    assert taken <= 1.5 * summed(home.store, home.snapshots)


@pytest.mark.slow
def test_a_graph_that_is_replaced_again_and_again(tmp_path: Path) -> None:
    """Like that of a run in progress: removed rows leave the tables, and data in tables leave the logs."""
    home = Home(tmp_path)
    for number in range(12):
        with StoreWriter(home, wait=True) as store:
            store.replace(GRAPH, pieces(number, 10_000))
            store.publish()
        assert not list(home.store.glob("*.log"))
        assert len(StoreReader(home).store) == 10_000
    shutil.copytree(home.store, tmp_path / "copy" / "store")
    with StoreWriter(Home(tmp_path / "copy"), wait=True) as store:
        assert len(store.store) == 10_000
        store.store.optimize()
        needed = sum(tables(tmp_path / "copy" / "store").values())
    assert sum(tables(home.store).values()) <= WASTE * needed + LITTLE


def test_a_store_with_only_additions_is_not_compacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is a store with few replaced rows."""
    checked: list[int] = []  # the number of the publication
    monkeypatch.setattr(compaction, "compact", lambda *_: checked.append(number))
    with StoreWriter(Home(tmp_path), wait=True) as store:
        for number in range(3):
            store.replace(f"{GRAPH}/{number}", pieces(number, 10))
            store.publish()
        number = 3
        store.replace(f"{GRAPH}/0", pieces(0, 10))
        store.publish()
        number = 4
        store.update("DELETE WHERE { ?s ?p ?o }")
        store.publish()
    assert checked == [3, 4]


def test_a_store_is_written_on_after_it_was_published(tmp_path: Path) -> None:
    """By the same writer, also after a rebuild; each snapshot has the data of its moment."""
    home = Home(tmp_path)
    for rebuild in (False, True):
        with StoreWriter(home, wait=True, rebuild=rebuild) as store:
            for number in range(3):
                store.replace(f"{GRAPH}/{number}", pieces(0, 10))
                store.publish()
                assert len(StoreReader(home).store) == 10 * (number + 1)
            store.replace(f"{GRAPH}/3", pieces(0, 10))
        assert home.unfinished.exists()
        assert len(StoreReader(home).store) == 30


def test_the_last_reader_deletes_a_superseded_snapshot(project: Project) -> None:
    """Until then it answers from it; snapshots held by others, and the published one, stay."""
    home = Home(project.path / ".provio")
    project.watch("true")
    one, two = StoreReader(home), StoreReader(home)
    before = len(one.store)
    project.watch("true")
    assert len(snapshots(home)) == 2
    del one
    assert len(snapshots(home)) == 2
    assert len(list(two.store)) == before
    del two
    assert snapshots(home) == {os.readlink(home.snapshots / "current")}
    reader = StoreReader(home)
    del reader
    assert snapshots(home) == {os.readlink(home.snapshots / "current")}


def test_the_snapshot_of_a_killed_reader_is_deleted_at_the_next_publication(project: Project) -> None:
    """The killed reader could not delete it."""
    home = Home(project.path / ".provio")
    project.watch("true")
    command = [sys.executable, "-c", READ, str(home.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout and reader.stdout.readline() == "reads\n"
        project.watch("true")
        assert len(snapshots(home)) == 2
        project.watch("true")
        assert len(snapshots(home)) == 2
        reader.send_signal(signal.SIGKILL)
        reader.wait(60)
    assert len(snapshots(home)) == 2
    project.watch("true")
    assert snapshots(home) == {os.readlink(home.snapshots / "current")}


def test_the_displayed_sizes_are_correct(project: Project) -> None:
    """The figures of `runs` (below the table) and of `doctor` equal those of a walk over all inodes."""
    home = Home(project.path / ".provio")
    project.sh("echo 1 > a")
    project.watch("cp", "a", "b")
    reader = StoreReader(home)
    project.watch("cp", "a", "b")
    project.provio("runs")
    (home.path / "else").mkdir()
    (home.path / "else" / "more").write_bytes(bytes(3_000_000))
    taken = disk_usage.taken(home)
    both = summed(home.store, home.snapshots)
    assert len(snapshots(home)) == 2
    stored = summed(home.store, home.path / "statements")
    assert taken == (summed(home.runs), stored, both - summed(home.store), taken.others)
    assert sum(taken) == summed(home.path)
    line = (
        f"record: {size(summed(home.path))} on disk (runs {size(taken.runs)}, store {size(taken.store)}, "
        f"snapshots {size(taken.snapshots)}, others {size(taken.others)})"
    )
    assert taken.line() == line
    assert project.provio("runs").stderr == ""
    assert line in [found["says"] for found in json.loads(project.provio("doctor", "--as", "json").stdout)]
    del reader
    (home.path / "else" / "more").unlink()
    shown = project.sh(f"COLUMNS=80 script -qec '{shlex.join(provio_command())} runs' /dev/null").splitlines()
    assert " ".join(shown).endswith(disk_usage.taken(home).line())
    assert max(map(len, shown)) <= 80
