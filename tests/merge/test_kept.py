"""Inputs that are kept, so that they can be restored once they are overwritten."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from conftest import Project, in_memory

from provio.base.errors import NotAllowed, ProvioError
from provio.merge import backup, kept
from provio.settings import home as homes
from provio.settings.home import Home

tmp_path = in_memory


def files(project: Project) -> dict[str, bytes]:
    """Return the kept contents by name."""
    folder = project.path / ".provio" / "kept"
    return {one.name: one.read_bytes() for one in folder.glob("[0-9a-f]*") if len(one.name) == 64}


def run(project: Project, script: str) -> str:
    """Run a script, execute the requests, and return the id of the run."""
    project.provio("run", "--quiet", "--", "sh", "-c", script)
    project.provio("merge")
    return max(one.name for one in (project.path / ".provio" / "runs").iterdir())


def keeping(project: Project, size: str = "1 kB") -> None:
    project.env["PROVIO_RECORD_KEEP"] = size


@pytest.mark.integration
def test_an_overwritten_input_is_restored(project: Project) -> None:
    """Inputs and scripts up to the size, no products; each once, private to the owner, verified when it is read."""
    keeping(project)
    contents = {"in": b"old\n", "step.sh": b"wc in > out; wc large\n", "odd \xff\n name": b"\0\xff"}
    for name, data in [*contents.items(), ("large", b"x" * 1001)]:
        Path(os.fsdecode(os.fsencode(project.path) + b"/" + (name.encode("latin-1")))).write_bytes(data)
    first = run(project, "sh step.sh; wc odd*")
    (project.path / "in").write_text("new\n")
    second = run(project, "wc in")
    expected = {hashlib.sha256(data).hexdigest(): data for data in (*contents.values(), b"new\n")}
    assert files(project) == expected
    place = project.path / ".provio" / "kept"
    assert {oct((place / name).stat().st_mode) for name in expected} == {"0o100600"}
    for name in (first, "last~1"):
        assert project.provio("show", "in", "--content", name, encoding=None).stdout == b"old\n"
    project.provio("show", "in", "--content", second, "-o", "again")
    assert (project.path / "again").read_text() == "new\n"
    project.provio("merge", "--rebuild")
    assert project.provio("show", "in", "--content", first).stdout == "old\n"
    assert "kept      4 inputs, " in project.provio("status", code=None).stdout
    (place / hashlib.sha256(b"old\n").hexdigest()).write_text("bad\n")
    assert "is damaged" in project.provio("show", "in", "--content", first, code=None).stderr
    assert "is not kept" in project.provio("show", "large", "--content", first, code=3).stderr
    assert "did not use" in project.provio("show", "none", "--content", first, code=3).stderr


@pytest.mark.integration
def test_removing_a_run_removes_the_contents_that_no_other_run_needs(project: Project) -> None:
    """`rm` keeps those of other runs, `backup` copies all; without the user's own setting there is no folder."""
    (project.path / "in").write_text("one\n")
    (project.path / "provio.toml").write_text('[record]\nkeep = "1 kB"\n')  # it may come from anyone
    assert "record.keep: is not allowed" in project.provio("run", "--", "wc", "in").stderr
    (project.path / "provio.toml").unlink()
    run(project, "wc in")
    assert not (project.path / ".provio" / "kept").exists()
    keeping(project)
    (project.path / "both").write_text("both\n")
    first = run(project, "wc in both")
    second = run(project, "wc both")
    project.provio("backup", "../copy")
    assert len(list((project.path / ".." / "copy" / "kept").glob("[0-9a-f]*"))) == 2
    project.provio("rm", "--yes", first)
    assert list(files(project).values()) == [b"both\n"]
    project.provio("rm", "--yes", second)
    assert files(project) == {}


@pytest.mark.integration
def test_the_reason_why_a_content_is_not_kept(project: Project) -> None:
    """By the run: without the setting, not read yet, or changed before it was read. An empty file needs no copy."""
    (project.path / "in").write_text("old\n")
    (project.path / "empty").touch()
    ask = ["show", "in", "--content", "last"]
    run(project, "wc in")
    assert "no content of this run is: set record.keep" in project.provio(*ask, code=3).stderr
    keeping(project)
    run(project, "wc in empty; echo more >> in")
    assert "was changed, larger than the limit" in project.provio(*ask, code=3).stderr
    assert project.provio("show", "empty", "--content", "last").stdout == ""
    assert "--content and --as" in project.provio(*ask, "--as", "json", code=2).stderr


def test_at_the_limit_nothing_more_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This is stated; a content that is kept already needs no room; after a removal there is room again. A failed write
    leaves nothing."""
    monkeypatch.setattr(kept, "MOST", 10)
    home = Home(tmp_path)
    keeper = kept.Keeper(home, "run1")
    assert (bool(keeper.keep(b"12345678")), keeper.keep(b"abc"), bool(keeper.keep(b"12345678"))) == (True, "", True)
    assert kept.usage(home) == (1, 8, True)
    kept.forget(home, ["run1"])
    assert kept.usage(home) == (0, 0, False)
    kept.folder_of(home).chmod(0o500)
    if os.geteuid():
        with pytest.raises(OSError, match="denied"):
            kept.Keeper(home, "run2").keep(b"abc")
    kept.folder_of(home).chmod(0o700)
    assert [one.name for one in kept.folder_of(home).iterdir() if one.suffix == ".new"] == []


def test_links_of_another_member_are_not_followed(tmp_path: Path) -> None:
    """In a shared record, links and FIFOs in place of each file are replaced or refused; nothing outside changes."""
    home, victim = Home(tmp_path / "record"), tmp_path / "victim"
    victim.write_text("mine\n")
    folder, data = kept.folder_of(home), b"evil\n"
    digest = hashlib.sha256(data).hexdigest()
    (folder / "runs").mkdir(parents=True)
    for name in (digest, f"{digest}.new"):
        (folder / name).symlink_to(victim)
    assert kept.Keeper(home, "run1").keep(data) == digest
    assert (kept.content(home, digest), kept.usage(home)) == (data, (1, 5, False))
    assert (folder / "runs" / "run1").read_text() == f"{digest}\n"
    for name in ("lock", "runs/run2"):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(victim)
        with pytest.raises(OSError, match="symbolic links"):
            kept.Keeper(home, "run2").keep(data)
        (folder / name).unlink()
    os.mkfifo(folder / "runs" / "run2")
    with pytest.raises(OSError, match="No such device"):
        kept.Keeper(home, "run2").keep(data)
    (folder / digest).unlink()
    (folder / digest).symlink_to(victim)
    assert not kept.is_kept(home, digest)
    with pytest.raises(ProvioError, match="cannot be read"):
        kept.content(home, digest)
    kept.forget(home, ["run1"])
    assert (victim.read_text(), sorted(os.listdir(folder))) == ("mine\n", ["lock", "runs"])
    folder.rename(tmp_path / "away")
    folder.symlink_to(tmp_path / "away")
    with pytest.raises(ProvioError, match="cannot be removed"):
        kept.forget(home, ["run1"])


def test_contents_stay_private_in_a_shared_record(tmp_path: Path) -> None:
    """Mode 0600, also when the record is shared later; a backup omits files that only another user can read."""
    home = Home(tmp_path / ".provio")
    home.path.mkdir()
    first = kept.Keeper(home, "run1").keep(b"first")
    home.path.chmod(0o2770)
    homes.share(home, home.path)
    second = kept.Keeper(home, "run1").keep(b"second")
    folder = kept.folder_of(home)
    assert [oct((folder / one).stat().st_mode & 0o777) for one in (first, second)] == ["0o600"] * 2
    assert [oct((folder / one).stat().st_mode & 0o777) for one in ("lock", "runs/run1")] == ["0o660"] * 2
    if os.geteuid():
        (folder / first).chmod(0)
        backup.backup(home, tmp_path / "copy")
        assert [one for one in os.listdir(tmp_path / "copy" / "kept") if len(one) == 64] == [second]
        with pytest.raises(NotAllowed, match="private to user"):
            kept.content(home, first)
