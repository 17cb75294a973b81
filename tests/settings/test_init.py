"""Which `.provio` is used, and how one is created: a user's own, or a group's for all of its members."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Project, provio_command

GROUP, ADA, BOB, EVE = 64100, 64101, 64102, 64103


@pytest.fixture
def places(project: Project) -> Project:
    """A tree without any `.provio`: calls are made from `here/below`, queries are about `there/data`."""
    (project.path / ".provio").rmdir()
    project.sh("mkdir -p here/below there/data named; echo 1 > there/data/x")
    return project


def homes_in(project: Project) -> set[str]:
    """Return every `.provio`, relative to the project, and its number of runs."""
    found = project.path.rglob("CACHEDIR.TAG")
    runs = {tag.parent: len(list((tag.parent / "runs").iterdir())) for tag in found}
    return {f"{os.path.relpath(home, project.path)}:{count}" for home, count in runs.items()}


@pytest.mark.parametrize(("named", "above_target", "above_here"), list(itertools.product([False, True], repeat=3)))
@pytest.mark.integration
def test_the_search_order_of_a_query(places: Project, named: bool, above_target: bool, above_here: bool) -> None:
    """PROVIO_HOME, else the nearest above the target, else the nearest above the current folder; else exit 3."""
    below = places.path / "here" / "below"
    made = {"named/.provio": named, "there/.provio": above_target, "here/.provio": above_here}
    for name, wanted in made.items():
        if wanted:
            env = {**places.env, "PROVIO_HOME": str(places.path / name)}
            places.provio("run", "--quiet", "--name", name, "--", "cat", "there/data/x", env=env)
    if named:
        places.env["PROVIO_HOME"] = str(places.path / "named" / ".provio")
    expected = next((name for name, wanted in made.items() if wanted), None)
    done = places.provio("lineage", "--forward", "../../there/data/x", cwd=below, code=0 if expected else 3)
    if expected is None:
        assert "provio run" in done.stderr
        return
    for name in filter(made.get, made):  # only the one that answers knows a run by its own name
        asked = places.provio("lineage", "../../there/data/x", "--run", name, cwd=below, code=None)
        assert asked.returncode == (0 if name == expected else 3)


@pytest.mark.parametrize(("named", "above", "git"), list(itertools.product([False, True], repeat=3)))
def test_the_search_order_of_a_run(places: Project, named: bool, above: bool, git: bool) -> None:
    """PROVIO_HOME, else the nearest above, else a new one at the root of the Git checkout, or here."""
    below = places.path / "here" / "below"
    if above:
        places.provio("init", cwd=places.path / "here")
    if git:
        (places.path / ".git").mkdir()
    if named:
        places.env["PROVIO_HOME"] = str(places.path / "named" / "mine")
    places.provio("run", "--quiet", "--", "true", cwd=below)
    where = "named/mine" if named else "here/.provio" if above else ".provio" if git else "here/below/.provio"
    assert homes_in(places) == {f"{where}:1"} | ({"here/.provio:0"} if above and named else set())


@pytest.mark.integration
def test_init_makes_one_here(places: Project) -> None:
    """Below another `.provio`, it reports which one it replaces; an existing one is reported; nothing is lost."""
    assert places.provio("init").stderr == f"made {places.path}/.provio\n"
    assert (places.path / ".provio").stat().st_mode & 0o7777 == 0o700
    places.provio("run", "--quiet", "--", "true")
    below = places.path / "here"
    said = places.provio("init", cwd=below).stderr
    assert said.startswith(f"made {below}/.provio; from now on it is used here instead of {places.path}/.provio")
    assert places.provio("init").stderr == f"{places.path}/.provio already exists\n"
    assert homes_in(places) == {".provio:1", "here/.provio:0"}
    places.env["PROVIO_HOME"] = str(places.path / "named" / "mine")
    assert places.provio("init").stderr == f"made {places.path}/named/mine\n"


def test_the_name_of_a_folder_cannot_control_the_terminal(places: Project) -> None:
    """The output of `init` and `backup` is one line."""
    folder = places.path / "two\nlines\x1b[31m"
    folder.mkdir()
    for verb in (["init"], ["backup", str(folder / "copy")]):
        said = places.provio(*verb, cwd=folder).stderr
        assert (said.count("\n"), "two\\nlines\\x1b[31m" in said) == (1, True)


def test_an_unknown_group(places: Project) -> None:
    """Exit 1, one line."""
    done = places.provio("init", "--shared", "no-such-group-64", code=1)
    assert "no group 'no-such-group-64'" in done.stderr
    assert done.stderr.count("\n") == 1
    for number in ("4294967295", "99999999999999999999"):
        assert f"no group '{number}'" in places.provio("init", "--shared", number, code=1).stderr


class Users:
    """A folder that a group shares, and provio as called by each of three users."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
        self.env |= {"PROVIO_MERGE": "wait", "PROVIO_RECORD_PACKAGES": "false"}

    def provio(self, user: int, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        groups = f"--groups={GROUP}" if user != EVE else "--clear-groups"
        command = ["setpriv", f"--reuid={user}", f"--regid={user}", groups, "--", *provio_command(), *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=120, umask=0o077
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def newest(self) -> Path:
        return max((self.folder / ".provio" / "runs").iterdir())


@pytest.fixture
def users(needs: object, shim: Path, shown: Path) -> Users:
    if os.geteuid() != 0:
        pytest.skip("only root can be several users")
    needs("setpriv")  # type: ignore[operator]
    shown.chmod(0o777)
    found = Users(shown)
    probe = ["setpriv", f"--reuid={ADA}", "--clear-groups", "--", *provio_command(), "--version"]
    if subprocess.run(probe, cwd=shown, env=found.env, capture_output=True, check=False).returncode:
        pytest.skip("other users cannot read this installation")
    found.provio(ADA, "init", "--shared", str(GROUP))
    return found


@pytest.mark.integration
def test_members_record_and_query_together(users: Users) -> None:
    """Each records, each merges the other's pending runs, and queries see both, with any umask."""
    (users.folder / "a").write_text("1\n")
    (users.folder / "a").chmod(0o644)
    users.provio(ADA, "run", "--quiet", "--", "sh", "-c", "umask 022; cat a > b")
    users.provio(BOB, "run", "--quiet", "--", "sh", "-c", "umask 022; cat b > c")
    users.provio(ADA, "run", "--quiet", "--no-merge", "--", "sh", "-c", "umask 022; cat c > d")
    for user in (BOB, ADA):
        done = users.provio(user, "lineage", "d", "--as", "table")
        assert done.stderr == ""
        assert all(f"{users.folder}/{name}" in done.stdout for name in "abcd")
    users.provio(BOB, "merge")
    for path in (users.folder / ".provio").rglob("*"):
        found = path.lstat()
        assert found.st_gid == GROUP, path
        assert path.is_symlink() or found.st_mode & 0o077 == (0o070 if path.is_dir() else 0o060), path


@pytest.mark.integration
def test_the_outputs_of_members_are_hashed(users: Users) -> None:
    """One after the other: the second user can lock the file of the first."""
    for user, name in ((ADA, "a"), (BOB, "b")):
        users.provio(user, "run", "--quiet", "--hash", "--no-merge", "--", "sh", "-c", f"echo {name} > {name}")
        users.provio(user, "merge")
    asked = "SELECT DISTINCT ?hash { ?version provio:sha256 ?hash }"
    assert users.provio(ADA, "query", "--as", "csv", asked).stdout.count("\n") == 3


@pytest.mark.integration
def test_no_process_can_be_created_for_a_merge(users: Users) -> None:
    """The exit code is the command's, one line states why the run is not merged, and the next query merges it."""
    script = "prlimit --pid $PPID --nproc=1; exit 7"
    done = users.provio(ADA, "run", "--name", "ours", "--", "sh", "-c", script, code=7)
    assert "is recorded, but not merged: " in done.stderr
    assert done.stderr.count("\n") == 1
    assert "ours" in users.provio(ADA, "runs", "--as", "csv").stdout


@pytest.mark.integration
def test_a_user_outside_of_the_group(users: Users) -> None:
    """Is refused in one line with the remedy; the command runs anyway."""
    users.provio(ADA, "run", "--quiet", "--", "true")
    done = users.provio(EVE, "runs", code=1)
    assert f"shared by user {ADA} with group {GROUP}, which you are not in: join the group" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "not recording" in users.provio(EVE, "run", "--", "true").stderr
    assert len(list((users.folder / ".provio" / "runs").iterdir())) == 1


@pytest.mark.integration
def test_a_run_that_its_owner_keeps_private(users: Users) -> None:
    """It stays pending, with one line; other runs are in the answers; once it is readable, it is, too."""
    users.provio(ADA, "run", "--quiet", "--name", "open", "--", "true")
    users.provio(ADA, "run", "--quiet", "--no-merge", "--name", "kept", "--", "true")
    users.newest().chmod(0o700)
    done = users.provio(BOB, "runs", "--as", "csv")
    assert ("open" in done.stdout, "kept" in done.stdout) == (True, False)
    assert done.stderr == "provio: 1 run of others cannot be read yet: not in this answer\n"
    assert "1 of other users not readable yet" in users.provio(BOB, "merge").stderr
    users.newest().chmod(0o2770)
    done = users.provio(BOB, "runs", "--as", "csv")
    assert ("kept" in done.stdout, done.stderr) == (True, "")


@pytest.mark.integration
def test_settings_next_to_a_shared_folder_belong_to_its_owner(users: Users) -> None:
    """The owner's settings apply to all members; a file of another user is refused."""
    (users.folder / "provio.toml").write_text('name = "ours"\n')
    (users.folder / "provio.toml").chmod(0o644)
    for owner, code in ((ADA, 0), (EVE, 2)):
        os.chown(users.folder / "provio.toml", owner, owner)
        users.provio(BOB, "run", "--quiet", "--", "true")
        users.provio(BOB, "runs", code=code)
    os.remove(users.folder / "provio.toml")
    assert users.provio(BOB, "runs", "--as", "csv").stdout.count("ours") == 1


@pytest.mark.integration
def test_a_private_folder_can_be_shared_later(users: Users) -> None:
    """With all of its content; only by its owner."""
    shutil.rmtree(users.folder / ".provio")
    users.provio(ADA, "run", "--quiet", "--name", "before", "--", "true")
    assert f"belongs to user {ADA}" in users.provio(BOB, "runs", code=1).stderr
    users.provio(BOB, "init", "--shared", str(GROUP), code=1)
    users.provio(ADA, "init", "--shared", str(GROUP))
    users.provio(BOB, "run", "--quiet", "--name", "after", "--", "true")
    found = users.provio(BOB, "runs", "--as", "csv").stdout
    assert "before" in found
    assert "after" in found


@pytest.mark.integration
def test_members_archive_their_own_runs_and_read_those_of_others(users: Users) -> None:
    """An archive belongs to the group: each member can query it and rebuild the store from it; the folder's owner can
    remove it."""
    (users.folder / "a").write_text("1\n")
    (users.folder / "a").chmod(0o644)
    users.provio(ADA, "run", "--quiet", "--", "sh", "-c", "umask 022; cat a > b")
    users.provio(BOB, "run", "--quiet", "--name", "theirs", "--", "sh", "-c", "umask 022; cat b > c")
    for user in (BOB, ADA):
        assert "1 run packed" in users.provio(user, "merge", "--pack").stderr
    packs = sorted((users.folder / ".provio" / "runs").iterdir())
    assert [path.name[-7:] for path in packs] == [".tar.xz"] * 2
    found = [path.stat() for path in packs]
    assert [(one.st_uid, one.st_gid, one.st_mode & 0o777) for one in found] == [(u, GROUP, 0o660) for u in (ADA, BOB)]
    users.provio(BOB, "merge", "--rebuild")
    for user in (ADA, BOB):
        assert f"{users.folder}/a" in users.provio(user, "lineage", "c", "--as", "table").stdout
    users.provio(ADA, "rm", "--yes", "theirs")
    assert "theirs" not in users.provio(BOB, "runs", "--as", "csv").stdout
    assert users.provio(EVE, "runs", code=1).stdout == ""
