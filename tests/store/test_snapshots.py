"""Snapshots of a store: folders of files in, the files that are there after each operation out."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from provio.base.errors import StoreError
from provio.settings.home import Home
from provio.store.embedded import snapshots

TABLES = {"000012.sst": "table", "000013.log": "log", "CURRENT": "MANIFEST-1", "MANIFEST-1": "tables"}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A record with a store and no snapshot."""
    home = Home(tmp_path / ".provio")
    home.store.mkdir(parents=True)
    for name, text in {**TABLES, "LOG": "text", "OPTIONS-1": "text", "IDENTITY": "text"}.items():
        (home.store / name).write_text(text)
    return home


def there(folder: Path) -> dict[str, str]:
    """The files below a folder, each with its content or the target of the link."""
    return {
        str(path.relative_to(folder)): os.readlink(path) if path.is_symlink() else path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or not path.is_dir()
    }


def snapshot(number: int, current: int = 0) -> dict[str, str]:
    """The files of a snapshot; those that the link `current` leads to."""
    return {f"{number}/{name}": text for name, text in TABLES.items()} | ({"current": str(current)} if current else {})


def test_a_snapshot_is_kept_while_it_is_held(home: Home) -> None:
    """The newest one stays; the last reader deletes an earlier one, or the next writer does."""
    assert (snapshots.hold(home), snapshots.published(home)) == (None, None)
    snapshots.publish(home, home.store)
    assert there(home.snapshots) == snapshot(1, 1)
    same = {name: os.path.samefile(home.store / name, home.snapshots / "1" / name) for name in TABLES}
    assert same == {"000012.sst": True, "000013.log": False, "CURRENT": False, "MANIFEST-1": False}
    before = len(os.listdir("/proc/self/fd"))
    first, second = snapshots.hold(home), snapshots.hold(home)
    assert first and second and (first[0], second[0], os.get_inheritable(first[1])) == ("1", "1", False)
    snapshots.publish(home, home.store)
    assert there(home.snapshots) == snapshot(1) | snapshot(2, 2)
    snapshots.release(home, *first)
    assert there(home.snapshots) == snapshot(1) | snapshot(2, 2)
    snapshots.release(home, *second)
    assert there(home.snapshots) == snapshot(2, 2)
    third = snapshots.hold(home)
    assert third and third[0] == "2"
    snapshots.release(home, *third)
    assert there(home.snapshots) == snapshot(2, 2)
    snapshots.publish(home, home.store)
    assert there(home.snapshots) == snapshot(3, 3)
    assert len(os.listdir("/proc/self/fd")) == before


def test_partial_snapshots_are_deleted(home: Home) -> None:
    """Of a writer that was killed; the mark of merged runs and other things stay."""
    for name in ("7.tmp", "5", "merged", "12.x", "٣"):
        (home.snapshots / name / "inside").mkdir(parents=True)
        (home.snapshots / name / "inside" / "file").write_text("")
    (home.snapshots / "file").write_text("")
    (home.snapshots / "link").symlink_to("merged")
    (home.snapshots / "current.new").symlink_to("5")
    snapshots.publish(home, home.store)
    assert there(home.snapshots) == snapshot(13, 13) | {"file": "", "link": "merged", "merged/inside/file": ""}


@pytest.mark.parametrize("target", ["", "../store", "4", "x", "٣", "file"])
def test_a_link_that_leads_to_no_snapshot(home: Home, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not followed out of the folder, and a missing snapshot is not waited for without end."""
    monkeypatch.setattr(snapshots, "TRIES", 3)
    home.snapshots.mkdir()
    (home.snapshots / "1").mkdir()
    (home.snapshots / "file").touch()
    if target:
        (home.snapshots / "current").symlink_to(target)
    assert (snapshots.published(home), snapshots.hold(home)) == ("4" if target == "4" else None, None)


def test_a_snapshot_that_is_being_deleted_is_not_held(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its writer holds a lock of its own; a file system without locks does not refuse."""
    monkeypatch.setattr(snapshots, "TRIES", 3)
    snapshots.publish(home, home.store)
    fd = os.open(home.snapshots / "1", os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    before = len(os.listdir("/proc/self/fd"))
    assert snapshots.hold(home) is None
    assert len(os.listdir("/proc/self/fd")) == before
    os.close(fd)

    def refused(_file: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(fcntl, "flock", refused)
    held = snapshots.hold(home)
    assert held and held[0] == "1"
    snapshots.publish(home, home.store)
    assert there(home.snapshots) == snapshot(2, 2)
    snapshots.release(home, *held)


def test_a_store_is_restored_to_the_last_publication(home: Home) -> None:
    """Or deleted if there is none."""
    snapshots.publish(home, home.store)
    (home.store / "000014.sst").write_text("more")
    (home.snapshots / "2.tmp").mkdir()
    home.unfinished.touch()
    snapshots.restore(home)
    assert (there(home.store), there(home.snapshots), home.unfinished.exists()) == (TABLES, snapshot(1, 1), False)
    for target in ("", "4"):
        (home.snapshots / "current").unlink(missing_ok=True)
        if target:
            (home.snapshots / "current").symlink_to(target)
        home.unfinished.touch()
        snapshots.restore(home)
        assert (home.store.exists(), home.unfinished.exists()) == (False, False)


def test_a_copy_shares_its_tables(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a second name, or by a link where the file system is another one."""
    snapshots.publish(home, home.store)
    one, other, third = (tmp_path / name for name in ("one", "other", "third"))
    snapshots.copy(home, "1", one)
    assert there(one) == TABLES
    same = [name for name in TABLES if os.path.samefile(one / name, home.snapshots / "1" / name)]
    assert same == ["000012.sst"]

    def refused(_source: str, _target: object) -> None:
        raise OSError(errno.EXDEV, "another file system")

    monkeypatch.setattr(os, "link", refused)
    snapshots.copy(home, "1", other)
    assert there(other) == TABLES | {"000012.sst": str(home.snapshots / "1" / "000012.sst")}
    monkeypatch.chdir(home.snapshots)
    snapshots.link("1/000012.sst", third)
    assert os.readlink(third) == str(home.snapshots / "1" / "000012.sst")
    snapshots.publish(home, home.store)
    assert there(home.snapshots) == snapshot(2, 2)
    monkeypatch.undo()
    with pytest.raises(FileNotFoundError):
        snapshots.link("none", tmp_path / "fourth")


def test_overlays_that_are_not_in_use_are_deleted(home: Home) -> None:
    """One is in use while its lock or its snapshot is held, or while it is young and has no lock yet."""
    held = []
    for name in ("free", "locked", "queried", "young", "old"):
        folder = home.overlays / name
        (folder / "snapshots" / "1").mkdir(parents=True)
        if name not in ("young", "old"):
            (folder / "lock").touch()
        if name in ("locked", "queried"):
            held.append(os.open(folder / "lock" if name == "locked" else folder / "snapshots" / "1", os.O_RDONLY))
            fcntl.flock(held[-1], fcntl.LOCK_SH)
    (home.overlays / "empty").mkdir()
    (home.overlays / "empty" / "lock").touch()
    for name, age in (("young", snapshots.YOUNG - 20), ("old", snapshots.YOUNG + 20)):
        os.utime(home.overlays / name, (time.time() - age,) * 2)
    snapshots.sweep_overlays(home)
    assert sorted(os.listdir(home.overlays)) == ["locked", "queried", "young"]
    for fd in held:
        os.close(fd)
    os.utime(home.overlays / "young", (1, 1))
    snapshots.publish(home, home.store)
    assert not home.overlays.exists()


@pytest.mark.parametrize("number", [0, 7])
def test_a_name_that_is_not_utf_8(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """It is replaced by that of an open descriptor, which is closed at the end."""
    calls = list[tuple[object, ...]]()

    def opened(*of: object) -> int:
        calls.append(of)
        return number

    flags = {"O_PATH": os.O_PATH, "O_CLOEXEC": os.O_CLOEXEC}
    system = SimpleNamespace(open=opened, close=lambda *of: calls.append(of), **flags)
    monkeypatch.setattr(snapshots, "os", system)
    plain, other = snapshots.StorePath(Path("/höme")), snapshots.StorePath(Path(os.fsdecode(b"/h\xff")))
    names = plain / "store", other / "store"
    plain.close()
    other.close()
    assert names == ("/höme/store", f"/proc/self/fd/{number}/store")
    assert calls == [(Path(os.fsdecode(b"/h\xff")), os.O_PATH | os.O_CLOEXEC), (number,)]


@pytest.mark.parametrize(
    ("left", "enough"), [(snapshots.ADDRESSES, True), (snapshots.ADDRESSES - 1, False), (-5, False)]
)
def test_the_address_space_that_a_limit_leaves(monkeypatch: pytest.MonkeyPatch, left: int, enough: bool) -> None:
    """A store is opened only if it is enough; without a limit it always is."""
    statm = Path("/proc/self/statm").read_text(encoding="ascii").split()
    monkeypatch.setattr(Path, "read_text", lambda _path, **_how: f"{statm[0]} 2 3")
    taken = int(statm[0]) * resource.getpagesize()
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (taken + left, 0))
    if enough:
        snapshots._check_room(Path("/store"))
    else:
        shown = f"448 MB of address space, and a limit leaves {max(0, left) >> 20}: allow"
        with pytest.raises(StoreError, match=shown):
            snapshots._check_room(Path("/store"))
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (resource.RLIM_INFINITY, 0))
    snapshots._check_room(Path("/store"))


def test_the_version_of_a_store(home: Home) -> None:
    """That of a new store is recorded, an earlier one stays, and a later one is refused."""
    note = home.kept / "store.version"
    assert (snapshots.check_version(home), note.exists()) == ("", False)
    snapshots.ensure_version(home)
    assert (snapshots.check_version(home), note.read_text()) == (snapshots.VERSION, f"{snapshots.VERSION}\n")
    note.write_text("1\n")
    snapshots.ensure_version(home)
    assert (snapshots.check_version(home), note.read_text()) == ("1", "1\n")
    note.write_text("3\n")
    with pytest.raises(StoreError, match="has version '3', this provio knows 2"):
        snapshots.ensure_version(home)
    snapshots.note_version(home)
    assert sorted(os.listdir(home.kept)) == ["store", "store.version"]
    note.unlink()
    (home.kept / "store.version").mkdir()
    with pytest.raises(IsADirectoryError):
        snapshots.note_version(home)
    assert sorted(os.listdir(home.kept)) == ["store", "store.version"]
