"""Several users of one `.provio`: two that merge at the same time, one that may only read it, one without access.

Each refused action gives one line, and nothing is lost.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from background_merges import at_work, over
from concurrent_runs import SIGNALLED, stopped
from conftest import provio_command
from test_init import ADA, BOB, EVE, GROUP, Users
from test_init import users as users
from test_remove import quads, runs

TOUCH_MANY = "umask 022; mkdir $0; cd $0; for i in $(seq 200); do echo $i > $i; done; cat * > all; echo $0 >> ../log"


def record(users: Users, user: int, name: str) -> Path:
    """Let a user record a run with some hundred files, which stays pending."""
    users.provio(user, "run", "--quiet", "--no-merge", "--name", name, "--", "sh", "-c", TOUCH_MANY, name)
    run = users.newest()
    # At the end of a run, the group gets access; not if Python is in a folder that is closed to other users.
    subprocess.run(["chmod", "-R", "g+rwX", run], check=True)
    return run


@pytest.fixture
def shown(in_memory: Path) -> Path:
    """A folder that other users can read."""
    in_memory.chmod(0o755)
    return in_memory


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place for a copy of the pending runs, which are recorded once."""
    return tmp_path_factory.mktemp("kept") / ".provio"


@pytest.fixture
def pending(users: Users, kept: Path) -> Users:
    """Make a `.provio` with three pending runs of each of two members; all of them wrote to one file."""
    (users.folder / "log").touch()
    (users.folder / "log").chmod(0o666)
    if kept.exists():
        shutil.rmtree(users.folder / ".provio")
        subprocess.run(["cp", "-a", kept, users.folder], check=True)
        return users
    for number in range(3):
        record(users, ADA, f"ada{number}")
        record(users, BOB, f"bob{number}")
    subprocess.run(["cp", "-a", users.folder / ".provio", kept], check=True)
    return users


def started(users: Users, user: int, *command: str) -> subprocess.Popen[str]:
    """Start a command of a member with umask 077."""
    words = ["setpriv", f"--reuid={user}", f"--regid={user}", f"--groups={GROUP}", "--", *command]
    return subprocess.Popen(words, cwd=users.folder, env=users.env, stderr=subprocess.PIPE, text=True, umask=0o077)


def named(users: Users, user: int) -> list[str]:
    """Return the names of the runs that a user sees."""
    return sorted(row.split(",")[4] for row in users.provio(user, "runs", "--as", "csv").stdout.splitlines()[1:])


ALL = ["ada0", "ada1", "ada2", "bob0", "bob1", "bob2"]


@pytest.mark.slow
def test_two_members_who_merge_at_the_same_time(pending: Users) -> None:
    """One after the other, both without a message: all runs are merged, and the graph equals that of a rebuild."""
    merging = [started(pending, user, *provio_command(), "merge") for user in (ADA, BOB)]
    said = [process.communicate(timeout=120)[1] for process in merging]
    assert [process.returncode for process in merging] == [0, 0], said
    assert sorted(line.split(",")[0] for text in said for line in text.splitlines()) == [
        "0 runs merged",
        "6 runs merged",
    ]
    assert (named(pending, ADA), named(pending, BOB)) == (ALL, ALL)
    found = quads(pending.folder / ".provio")
    pending.provio(BOB, "merge", "--rebuild")
    assert sorted(quads(pending.folder / ".provio")) == sorted(found)


@pytest.mark.slow
def test_a_member_queries_while_another_merges_and_is_killed(pending: Users) -> None:
    """The query does not wait for ever, and reads the pending runs itself; the next one merges them."""
    pending.provio(ADA, "merge")
    record(pending, ADA, "ada3")
    last = record(pending, BOB, "bob3").name
    merging = started(pending, BOB, sys.executable, "-c", SIGNALLED, "SIGSTOP", last, "merge")
    stopped(merging)
    asked = pending.provio(ADA, "runs", "--as", "csv")
    assert (asked.stderr, all(name in asked.stdout for name in ("bob2", "ada3", "bob3"))) == ("", True)
    merging.send_signal(signal.SIGKILL)
    merging.communicate(timeout=60)
    assert named(pending, ADA) == sorted([*ALL, "ada3", "bob3"])


@pytest.mark.slow
def test_a_member_takes_over_from_the_background_merge_of_another(pending: Users) -> None:
    """It releases the store for a member's query; nothing is lost, and no one waits for it."""
    home = pending.folder / ".provio"
    group = ["setpriv", f"--reuid={BOB}", f"--regid={BOB}", f"--groups={GROUP}", "--"]
    merger = at_work(home, pending.env | {"PROVIO_MERGE": "background"}, *group)
    asked = pending.provio(ADA, "runs", "--as", "csv")
    assert (asked.stderr, all(name in asked.stdout for name in ALL)) == ("", True)
    over(merger)
    assert named(pending, BOB) == ALL


@pytest.mark.slow
def test_a_user_outside_of_the_group_changes_nothing(pending: Users) -> None:
    """Merge, removal, rebuild and queries are refused in one line that names the owner."""
    before = runs(pending.folder / ".provio")
    for words in (["merge"], ["merge", "--rebuild"], ["rm", "--yes", "ada0"], ["runs"]):
        done = pending.provio(EVE, *words, code=1)
        assert done.stderr.count("\n") == 1
        assert f"shared by user {ADA} with group {GROUP}, which you are not in: join the group" in done.stderr
    assert runs(pending.folder / ".provio") == before
    assert named(pending, BOB) == ALL


@pytest.mark.slow
def test_a_member_removes_a_run_of_another(pending: Users) -> None:
    """It is removed for all members, with its files; the other runs are unchanged."""
    pending.provio(BOB, "rm", "--yes", "ada1")
    left = [name for name in ALL if name != "ada1"]
    assert (named(pending, ADA), named(pending, BOB)) == (left, left)
    assert len(runs(pending.folder / ".provio")) == len(left)
    found = quads(pending.folder / ".provio")
    pending.provio(ADA, "merge", "--rebuild")
    assert sorted(quads(pending.folder / ".provio")) == sorted(found)


@pytest.mark.integration
def test_a_folder_without_write_permission(users: Users) -> None:
    """The user's own, with modes changed: queries are answered, including pending runs, with a message; merge, rebuild
    and removal name the missing permission; a command runs without recording. With the permission all works."""
    folder = users.folder / "mine"
    folder.mkdir()
    os.chown(folder, ADA, ADA)
    users.folder = folder
    users.provio(ADA, "init")
    users.provio(ADA, "run", "--quiet", "--name", "before", "--", "sh", "-c", "echo 1 > a")
    users.provio(ADA, "run", "--quiet", "--no-merge", "--name", "pending", "--", "sh", "-c", "cat a > b")
    record = folder / ".provio"
    before, files = quads(record), runs(record)
    subprocess.run(["chmod", "-R", "a-w", record], check=True)
    asked = users.provio(ADA, "lineage", "b", "--as", "table")
    assert f"{folder}/a" in asked.stdout
    assert asked.stderr.count("\n") == 1 and "1 run pending" in asked.stderr
    for words in (["merge"], ["merge", "--rebuild"], ["rm", "--yes", "before"]):
        said = users.provio(ADA, *words, code=1).stderr.splitlines()[-1]
        assert f"cannot write {record} (Permission denied)" in said
        assert said.endswith("check its permissions")
    ran = users.provio(ADA, "run", "--", "echo", "done")
    assert ran.stdout == "done\n" and "not recording" in ran.stderr
    assert (quads(record), runs(record)) == (before, files)
    subprocess.run(["chmod", "-R", "u+w", record], check=True)
    assert named(users, ADA) == ["before", "pending"]
