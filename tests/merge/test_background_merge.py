"""The background merge: no process waits for it, it yields to all others, and a kill or stop loses nothing."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import filesystems
import pytest
import steps
from background_merges import MODULE, at_work, hurry, merger_of, mergers, over, until
from concurrent_runs import SIGNALLED, ended, state
from conftest import Project, in_memory, provio_command
from test_kills import KILLS, MANY, OPEN_MANY, STEPS
from test_remove import quads

from provio.merge import background as background_merge
from provio.settings.home import Home
from provio.settings.lock import Lock, merger_address

tmp_path = in_memory

SCHED_IDLE = 5
SENDS = """
import socket, sys
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(sys.argv[2].encode(), "\\0" + sys.argv[1])
"""


@pytest.fixture
def background(project: Project) -> Project:
    """A project with merges in the background, in any test environment."""
    left_out = {*memory_variables(), "CI"}
    env = {name: value for name, value in project.env.items() if name not in left_out}
    return Project(project.path, {**env, "PROVIO_MERGE": "background"})


def memory_variables() -> set[str]:
    """The environment variables that identify a batch job."""
    from provio.trace.environment import JOB_IDS

    return set(JOB_IDS)


def record_of(project: Project) -> Path:
    return project.path / ".provio"


def published(project: Project) -> set[str]:
    """Return the runs that are merged according to their marks."""
    folder = project.path / ".provio" / "snapshots" / "merged"
    return (
        {path.name for path in folder.iterdir() if path.name not in ("rules", "rules.new")}
        if folder.is_dir()
        else set()
    )


def recorded(project: Project) -> set[str]:
    return {path.name for path in (project.path / ".provio" / "runs").iterdir()}


def merged(project: Project) -> None:
    """Wait until all runs are merged and the background process has ended."""

    def is_over() -> bool:
        for merger in mergers(record_of(project)):
            hurry(merger)
        return published(project) == recorded(project) and not mergers(record_of(project))

    until(is_over, "not merged in the background")


@pytest.mark.slow
def test_runs_are_merged_without_a_query(background: Project) -> None:
    """One process merges all, without output or remains; each run prints one line at its end."""
    background.sh("echo 1 > a")
    said = [background.provio("run", "--", "cp", "a", f"b{number}").stderr for number in range(10)]
    assert len(mergers(record_of(background))) <= 1
    assert all(line.startswith("provio: run ") and line.count("\n") == 1 and "recorded in" in line for line in said)
    merged(background)
    assert background.provio("runs").stderr == ""
    assert "cp a b7" in background.provio("lineage", "b7").stdout


@pytest.mark.integration
def test_it_has_nothing_of_the_project_and_gives_way(background: Project) -> None:
    """Between merges it has no descriptor or folder open; it has the lowest priority for processor, disk and memory."""
    background.watch("true")
    merger = merger_of(record_of(background))
    place = Path(f"/proc/{merger}")
    until(lambda: place.exists() and (place / "oom_score_adj").read_text() == "1000\n", "it takes memory as others do")
    assert os.sched_getscheduler(merger) == SCHED_IDLE
    assert os.getpriority(os.PRIO_PROCESS, merger) == 19
    held = [os.readlink(fd) for fd in (place / "fd").iterdir()] + [os.readlink(place / "cwd")]
    assert not [path for path in held if path.startswith(str(background.path))]
    assert os.readlink(place / "cwd") == "/"
    assert os.getsid(merger) == merger
    merged(background)


@pytest.mark.integration
def test_the_project_s_file_system_is_unmounted_right_after_a_run(background: Project, tmp_path: Path) -> None:
    """No process keeps it busy; the background process ends."""
    with ExitStack() as undo:
        filesystems.mount(tmp_path / "disk", "tmpfs", undo)
        (tmp_path / "disk" / ".provio").mkdir()
        other = Project(tmp_path / "disk", background.env)
        other.watch("sh", "-c", "echo 1 > a; cat a > b")
        subprocess.run(["umount", other.path], check=True)
        merger = mergers(record_of(other))
        undo.pop_all()
    for process in merger:
        ended(process)


@pytest.mark.integration
@pytest.mark.parametrize("how", ["rm", "mv"])
def test_the_project_goes_right_after_a_run(background: Project, how: str) -> None:
    """The project can be removed or moved; the background process ends, and the next run of a moved project is
    merged."""
    background.watch("sh", "-c", "echo 1 > a; cat a > b")
    merger = merger_of(record_of(background))
    if how == "rm":
        shutil.rmtree(background.path)
        ended(merger)
        assert not background.path.exists()
        background.path.mkdir()
        return
    other = Project(background.path.with_name("other"), background.env)
    background.path.rename(other.path)
    other.watch("sh", "-c", "cat a b > c")
    merged(other)
    assert len(recorded(other)) == 2
    background.path.mkdir()


@pytest.fixture
def many(background: Project) -> Iterator[Project]:
    """A project with so many pending runs that a merge takes a while."""
    background.sh(f"mkdir many; touch many/{{0..{MANY - 1}}}; echo 0 > f0")
    for number in range(1, 4):
        record(background, number)
    yield background
    merged(background)


def record(project: Project, number: int) -> None:
    """Record a run of many files and leave it pending."""
    script = f'cat f{number - 1} > f{number}; python3 -c "{OPEN_MANY}"'
    project.provio("run", "--quiet", "--no-merge", "--", "bash", "-c", script)


@pytest.mark.slow
def test_a_question_takes_over(many: Project) -> None:
    """A query during the background merge soon gets the store, and its answer includes every run."""
    merger = at_work(record_of(many), many.env)
    asked = many.provio("lineage", "f3")
    assert "pending" not in asked.stderr
    assert all(f"f{number}" in asked.stdout for number in range(4))
    assert published(many) == recorded(many)
    assert state(merger) != ""  # the same process starts again, and has nothing to do
    over(merger)


@pytest.mark.slow
def test_a_holder_that_is_stopped_holds_up_no_question(many: Project) -> None:
    """After a while the answer uses the published and the pending runs; later nothing is lost."""
    merger = at_work(record_of(many), many.env)
    os.kill(merger, signal.SIGSTOP)
    try:
        asked = many.provio("runs", code=None)
        assert asked.stderr == "" and all(run[:13] in asked.stdout for run in recorded(many))
    finally:
        os.kill(merger, signal.SIGCONT)
    over(merger)


def wait_for_kill(merger: subprocess.Popen[bytes]) -> None:
    """Wait until a background merge has killed itself."""

    def has_ended() -> bool:
        hurry(merger.pid)
        return merger.poll() is not None

    until(has_ended, "it goes on")
    assert merger.returncode == -signal.SIGKILL


@pytest.mark.slow
def test_it_is_killed_many_times(many: Project) -> None:
    """A kill at a step loses nothing that is published; at the end the graph equals a rebuild."""
    code = f"import runpy; runpy.run_module({MODULE!r}, run_name='__main__', alter_sys=True)"
    for number in range(KILLS // 2):
        before = published(many)
        record(many, number + 4)
        words = steps.until(1 + 2 * STEPS * number // KILLS, str(record_of(many)), code=code)
        with subprocess.Popen(words, cwd="/", env=many.env) as merger:
            wait_for_kill(merger)
        assert before <= published(many)
    over(at_work(record_of(many), many.env))
    found = quads(many.path / ".provio")
    many.provio("merge", "--rebuild")
    assert sorted(quads(many.path / ".provio")) == sorted(found)


def waiting_for_a_lock() -> set[int]:
    """Return the processes that the kernel makes wait for a lock of a file."""
    lines = (line.split() for line in Path("/proc/locks").read_text().splitlines())
    return {int(words[5]) for words in lines if words[1] == "->"}


@pytest.mark.slow
def test_a_query_is_killed_while_it_takes_over(many: Project) -> None:
    """The background merge continues after the kill of the query."""
    merger = at_work(record_of(many), many.env)
    os.kill(merger, signal.SIGSTOP)
    last = sorted(recorded(many))[-1]
    command = [sys.executable, "-c", SIGNALLED, "SIGKILL", last, "merge"]
    with subprocess.Popen(command, cwd=many.path, env=many.env) as asks:
        until(lambda: asks.pid in waiting_for_a_lock(), "it does not wait for the lock")
        os.kill(merger, signal.SIGCONT)
    assert asks.returncode in (-signal.SIGKILL, 0)
    over(merger)
    assert published(many) == recorded(many)


@pytest.mark.integration
def test_a_merge_that_is_waited_for_gives_a_sign_of_life(many: Project) -> None:
    """Of two queries at once, the second waits for the first, and both answer from all runs."""
    words = [*provio_command(), "lineage", "f3"]
    pipe = subprocess.PIPE
    asked = [
        subprocess.Popen(words, cwd=many.path, env=many.env, stdout=pipe, stderr=pipe, text=True) for _ in range(2)
    ]
    answers = [process.communicate(timeout=120) for process in asked]
    assert answers[0] == answers[1]
    assert "f0" in answers[0][0] and answers[0][1] == ""


@pytest.mark.parametrize(("name", "chosen", "starts"), [("CI", False, False), ("CI", True, True), ("", False, True)])
def test_where_it_may_start(monkeypatch: pytest.MonkeyPatch, name: str, chosen: bool, starts: bool) -> None:
    """Under CI and in a container it starts only if a setting requests it."""
    for variable in {*memory_variables(), "CI"}:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("provio.trace.environment.in_container", lambda: "")
    monkeypatch.setattr(background_merge, "available_memory", lambda: float("inf"))
    if name:
        monkeypatch.setenv(name, "true")
    assert background_merge.may_start(chosen) is starts
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    assert not background_merge.may_start(True)
    monkeypatch.delenv("SLURM_JOB_ID")
    monkeypatch.setattr(background_merge, "available_memory", lambda: float(1 << 29))
    assert not background_merge.may_start(True)


@pytest.mark.integration
def test_a_batch_job_leaves_its_runs_pending(background: Project) -> None:
    """The end of a job ends all its processes: no background merge is started there."""
    background.env["SLURM_JOB_ID"] = "4711"
    assert "pending in" in background.provio("run", "--", "true").stderr
    assert mergers(record_of(background)) == []


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group with 256 MB, of either version."""
    roots = [Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup")]
    for root in roots:
        folder, limits = root / f"provio-{os.getpid()}", ("memory.limit_in_bytes", "memory.max")
        try:
            folder.mkdir()
        except OSError:
            continue
        found = [folder / limit for limit in limits if (folder / limit).exists()]
        if found:
            found[0].write_text(str(256 << 20))
            yield folder
            folder.rmdir()
            return
        folder.rmdir()
    pytest.skip("no control group can be made here (this takes root, and a hierarchy with the memory controller)")


@pytest.mark.integration
def test_a_small_control_group(background: Project, group: Path) -> None:
    """With 256 MB the remaining memory is known, no background merge starts, and a query merges within the limit."""
    command = ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh"]

    def inside(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *words], cwd=background.path, env=background.env, capture_output=True, text=True, check=True
        )

    program = "from provio.merge import background; print(background.available_memory())"
    left = inside(sys.executable, "-c", program).stdout
    assert 0 < float(left) <= 256 << 20
    background.sh(f"mkdir many; touch many/{{0..{MANY - 1}}}")
    script = f'python3 -c "{OPEN_MANY}"; echo 1 > out'
    assert "pending in" in inside(*provio_command(), "run", "--", "bash", "-c", script).stderr
    assert mergers(record_of(background)) == []
    assert "echo 1 > out" in inside(*provio_command(), "lineage", "out").stdout


@pytest.mark.integration
def test_messages_of_other_users_are_ignored(background: Project) -> None:
    """Another user sends a path to the address after the project was moved: no merge starts there."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root, and setpriv (util-linux), to be another user")
    evil = background.path.with_name("evil") / ".provio"
    (evil / "runs").mkdir(parents=True)
    background.watch("true")
    merger, address = merger_of(record_of(background)), merger_address(background.path / ".provio")
    words = ["setpriv", "--reuid=64101", "--clear-groups", "/usr/bin/python3", "-c", SENDS]
    subprocess.run([*words, address[1:], f"run {evil}"], cwd="/", check=True)
    background.path.rename(background.path.with_name("other"))
    ended(merger)
    assert not mergers(evil)
    assert [entry.name for entry in evil.iterdir()] == ["runs"]
    background.path.mkdir()


def test_there_is_one_for_each_record(tmp_path: Path) -> None:
    """The address is that of the folder, for any path to it; a missing folder has none."""
    (tmp_path / "one").mkdir()
    (tmp_path / "link").symlink_to("one")
    assert merger_address(tmp_path / "one") == merger_address(tmp_path / "link") != merger_address(tmp_path)
    assert merger_address(tmp_path / "none") == ""


@pytest.mark.integration
def test_others_pending_runs_delay_no_end(many: Project) -> None:
    """A run that waits for its merge waits only for its own."""
    wait = Project(many.path, {**many.env, "PROVIO_MERGE": "wait"})
    before = published(many)
    wait.watch("true")
    assert len(published(many) - before) == 1
    Lock(Home(many.path / ".provio"), wait=False).close()
    many.provio("merge")
