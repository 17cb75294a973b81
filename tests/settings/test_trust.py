"""Files of another user are not used silently, on any path to them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from conftest import Project

from provio.base.errors import NotAllowed
from provio.settings.home import Home, find, find_or_make
from provio.store.embedded import snapshots
from provio.trace import recording

OTHER = 12345
others = pytest.mark.skipif(os.geteuid() != 0, reason="not root: nothing can be made another user's")


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to an empty folder, without environment variables of provio."""
    for name in [name for name in os.environ if name.startswith("PROVIO")]:
        monkeypatch.delenv(name)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def another(path: Path) -> Path:
    """Make a folder of another user."""
    path.mkdir(parents=True)
    os.chown(path, OTHER, OTHER)
    return path


@others
def test_another_users_folder_is_used_only_if_it_is_named(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the current folder, above a target, through a link, for reads and writes; unless PROVIO_HOME names it."""
    theirs = another(alone / ".provio")
    (alone / "data").mkdir()
    linked = alone.parent / "linked"
    linked.mkdir()
    (linked / ".provio").symlink_to(theirs)
    for ask in (find, find_or_make, lambda: find(alone / "data" / "x"), lambda: find(linked / "x")):
        with pytest.raises(NotAllowed, match=f"belongs to user {OTHER}: set PROVIO_HOME"):
            ask()
    assert list(theirs.iterdir()) == []
    monkeypatch.setenv("PROVIO_HOME", str(theirs))
    assert find() == find_or_make() == Home(theirs)


@others
def test_a_run_in_a_folder_with_another_users_provio_runs_without_recording(project: Project) -> None:
    """One line has the reason; with `--strict` it is refused; that user's settings are not read."""
    os.chown(project.path / ".provio", OTHER, OTHER)
    (project.path / "provio.toml").write_text('name = "theirs"\n', encoding="utf-8")
    os.chown(project.path / "provio.toml", OTHER, OTHER)
    done = project.provio("run", "--", "echo", "done")
    assert (done.stdout, done.stderr.count("belongs to user")) == ("done\n", 2)
    assert project.provio("run", "--strict", "--", "echo", "done", code=125).stdout == ""
    assert list((project.path / ".provio").iterdir()) == []


def test_a_folder_that_all_users_can_write_is_not_used(alone: Path) -> None:
    """Nor one that contains such a folder."""
    home = find_or_make()
    for folder in (home.path, home.runs):
        mode = stat.S_IMODE(folder.stat().st_mode)
        folder.chmod(0o777)
        with pytest.raises(NotAllowed, match=r"all users can write in .*: chmod o-w"):
            find()
        folder.chmod(mode)
    assert find() == home
    assert stat.S_IMODE(home.path.stat().st_mode) == 0o700


def test_a_file_called_provio_is_ignored(alone: Path) -> None:
    """A file called `.provio`, or a dangling link: the next `.provio` above is used, and it stays unchanged."""
    above = Home(alone.parent / ".provio")
    above.path.mkdir()
    (alone / ".provio").write_text("a file", encoding="utf-8")
    assert find() == above
    (alone / ".provio").unlink()
    (alone / ".provio").symlink_to("nowhere")
    assert find() == above


@pytest.mark.parametrize("name", ["../../elsewhere", "/", "1/..", "²"])
def test_a_snapshot_is_one_of_the_snapshots(alone: Path, name: str) -> None:
    """`current` cannot lead elsewhere."""
    home = find_or_make()
    home.snapshots.mkdir()
    (home.snapshots / "1").mkdir()
    (home.snapshots / "current").symlink_to(name)
    assert snapshots.hold(home) is None
    (home.snapshots / "current").unlink()
    (home.snapshots / "current").symlink_to("1")
    held = snapshots.hold(home)
    assert held is not None
    assert held[0] == "1"
    os.close(held[1])


@others
@pytest.mark.parametrize("how", ["folder", "link", "file"])
def test_shared_memory_of_another_user_is_not_used(alone: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """`/dev/shm/provio-<user id>`: any user can create it; then live files stay in the run folder."""
    place = alone.parent / "shm"
    if how == "folder":
        another(place)
    elif how == "link":
        place.symlink_to(another(alone.parent / "theirs"))
    else:
        place.write_text("", encoding="utf-8")
    monkeypatch.setattr(recording, "SAFE_FOR_MAPS", frozenset())
    monkeypatch.setattr(recording.run_source, "shared_memory", lambda: place)
    begun = recording.prepare([b"true"], None)
    assert begun.trace_folder == begun.folder
