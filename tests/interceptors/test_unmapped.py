"""Traces on a file system that maps no file for writing, such as FUSE with direct I/O."""

from __future__ import annotations

import json
import mmap
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Project, provio_command

from provio.system.node_local import MARK

FORKS = """
import os, threading
def copy(source, target):
    with open(source) as one, open(target, "w") as other:
        other.write(one.read())
copy("in", "parent")
if os.fork() == 0:
    copy("parent", "child")
    os._exit(0)
os.wait()
thread = threading.Thread(target=copy, args=("child", "thread"))
thread.start()
thread.join()
os.execvp("cp", ["cp", "thread", "end"])
"""
KILLED = """
import os, signal
for number in range(300):
    with open("in") as one, open(f"out.{number}", "w") as other:
        other.write(one.read())
os.kill(os.getpid(), signal.SIGKILL)
"""
# Threads with growing files while another one has all of them written, for an exec that fails, again and again.
THREADS = """
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *copies(void *number) {
    for (int i = 0; i < 400; i++) {
        char name[64];
        snprintf(name, sizeof name, "out.%d.%d", (int)(long)number, i);
        FILE *one = fopen("in", "r"), *other = fopen(name, "w");
        if (one == NULL || other == NULL || fputc(fgetc(one), other) == EOF) return number;
        fclose(one);
        fclose(other);
    }
    return NULL;
}
int main(void) {
    pthread_t threads[3];
    void *failed = NULL;
    for (long i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, copies, (void *)(i + 1))) return 2;
    for (int i = 0; i < 500; i++)
        execl("/nowhere", "nowhere", (char *)NULL);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], &failed);
        if (failed != NULL) return 3;
    }
    return 0;
}
"""


@pytest.fixture
def unmapped(project: Project, tmp_path: Path) -> Iterator[Path]:
    """A folder in which nothing can be mapped for writing, and for which records stay on this host."""
    if shutil.which("bindfs") is None or not os.access("/dev/fuse", os.W_OK):
        pytest.skip("needs bindfs (make test installs it where it may) and /dev/fuse")
    below, folder = tmp_path / "below", tmp_path / "unmapped"
    below.mkdir()
    folder.mkdir()
    done = subprocess.run(["bindfs", "-o", "direct_io", below, folder], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"needs the right to mount FUSE: {done.stderr.strip()}")
    try:
        if maps(folder):
            pytest.skip("this kernel maps files of FUSE with direct I/O")
        project.env["PROVIO_CAPTURE_DIR"] = str(folder)
        (project.path / "in").write_text("in\n")
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def maps(folder: Path) -> bool:
    with (folder / "tried").open("w+b") as file:
        file.truncate(4096)
        try:
            mmap.mmap(file.fileno(), 4096).close()
        except OSError:
            return False
    return True


@pytest.mark.integration
@pytest.mark.parametrize("detail", ["file", "op", "call"])
def test_all_is_recorded(project: Project, unmapped: Path, detail: str) -> None:
    """Of forks that end at once, threads and an exec, with as many records as on a mapped file."""
    (project.path / "forks.py").write_text(FORKS)
    counts = []
    for folder in (str(unmapped), ""):
        project.env["PROVIO_CAPTURE_DIR"] = folder
        project.provio("run", "--quiet", "--detail", detail, "--", "python3", "forks.py")
        assert project.data("end") == {"in", "parent", "child", "thread"}
        newest = max((project.path / ".provio" / "runs").iterdir())
        files = [file for file in newest.glob("*/[1-9]*.ttl") if file.name != MARK]
        counts.append((len(files), sum(map(records_in, files))))
    assert counts[0] == counts[1]
    assert project.count("?gap a provio:Gap") == 0


def records_in(file: Path) -> int:
    """The lines that are no comment; without the counters of openings, whose lines are used again on a mapped file."""
    lines = file.read_text(encoding="utf-8").split("\n")
    return sum(line[:1] == " " and line.strip() != "" and ":ofOpening" not in line for line in lines)


@pytest.mark.integration
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace (make test installs it where it may)")
def test_a_failed_write_is_a_gap(project: Project, unmapped: Path) -> None:
    """The program behaves the same, and the record states that it is incomplete."""
    code = "for number in range(50): open(f'out.{number}', 'w').write(open('in').read())"
    errors = ["-e", "trace=pwrite64", "-e", "inject=pwrite64:error=EIO:when=9+"]
    project.provio("run", "--quiet", "--", "strace", "-f", "-o", "/dev/null", *errors, "python3", "-c", code)
    assert {(project.path / f"out.{number}").read_text() for number in range(50)} == {"in\n"}
    assert project.count('?gap a provio:Gap ; provio:reason "the trace could not be written"') >= 1


@pytest.mark.integration
def test_a_kill_loses_the_last_record_alone(project: Project, unmapped: Path) -> None:
    """Of 300 files, each that was opened before the last is recorded."""
    (project.path / "killed.py").write_text(KILLED)
    project.watch("python3", "killed.py", code=-9)
    assert project.data("out.298") == {"in"}
    paths = {row["p"] for row in project.rows("SELECT ?p { ?f a provio:File ; provio:path ?p }")}
    assert {str(project.path / f"out.{number}") for number in range(299)} <= paths


@pytest.mark.integration
def test_threads_that_are_written_while_they_record(project: Project, unmapped: Path) -> None:
    """None is lost, and the program ends as usual."""
    (project.path / "threads.c").write_text(THREADS)
    subprocess.run(["cc", "-pthread", "-o", "threads", "threads.c"], cwd=project.path, check=True)
    project.watch("./threads")
    paths = {row["p"] for row in project.rows("SELECT ?p { ?f a provio:File ; provio:path ?p }")}
    assert {str(project.path / f"out.{thread}.{i}") for thread in (1, 2, 3) for i in range(400)} <= paths
    assert project.count("?gap a provio:Gap") == 0


def test_doctor_reports_it(project: Project, unmapped: Path) -> None:
    """With the later records."""
    found = json.loads(project.provio("doctor", "--as", "json", code=None).stdout)
    messages = [one["says"] for one in found if one["about"] == "capture_dir"]
    assert any(line.startswith(f"{unmapped} maps no file for writing (No such device)") for line in messages)


@pytest.fixture
def network(project: Project, tmp_path: Path) -> Iterator[Path]:
    """A folder of a real network file system, in user space, that maps no file for writing; its server is a child."""
    server = Path("/usr/lib/openssh/sftp-server")
    if shutil.which("sshfs") is None or not server.exists() or not os.access("/dev/fuse", os.W_OK):
        pytest.skip("needs sshfs, sftp-server (make test installs them where it may) and /dev/fuse")
    below, folder, remote = tmp_path / "export", tmp_path / "remote", tmp_path / "shell"
    below.mkdir()
    folder.mkdir()
    remote.write_text(f"#!/bin/sh\nexec {server}\n")
    remote.chmod(0o755)
    options = ["-o", f"direct_io,ssh_command={remote}"]
    done = subprocess.run(["sshfs", *options, f"filer:{below}", folder], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"needs the right to mount FUSE: {done.stderr.strip()}")
    try:
        if maps(folder):
            pytest.skip("this kernel maps files of FUSE with direct I/O")
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.integration
@pytest.mark.parametrize("setting", ["", "/dev/shm", "/dev/shm/no-such"])
def test_ranks_with_a_record_on_a_network_file_system(project: Project, network: Path, setting: str) -> None:
    """They are one run, with files in shared memory until they are collected, with and without the `captured` fact."""
    (project.path / "in").write_text("in\n")
    project.env |= {"PROVIO_HOME": str(network / ".provio"), "PROVIO_CAPTURE_DIR": setting}
    words = f"PMI_RANK=$rank MPI_LOCALRANKID=$rank {provio_command()[0]} run -- cp in out$rank"
    script = f"for rank in 0 1 2; do PROVIO_RUN=one {words}; done"
    done = subprocess.run(["sh", "-c", script], cwd=project.path, env=project.env, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (0, int(setting == "/dev/shm/no-such")), done.stderr
    (run,) = os.listdir(network / ".provio" / "runs")
    until = time.monotonic() + 60
    while Path(f"/dev/shm/provio-{os.geteuid()}", run).exists():
        assert time.monotonic() < until
        time.sleep(0.1)
    assert project.data("out2") == {"in"}
    assert project.count("?run a provio:Run") == 1
    project.run("cp out2 out3")
    assert project.data("out3") == {"in", "out2"}
    assert project.count("?run a provio:Run") == 2


@pytest.mark.integration
def test_shared_memory_after_a_kill_is_collected_without_a_note(project: Project, network: Path) -> None:
    """A network file system may refuse to return the target of a symbolic link out of it, as this one does."""
    unshared = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*unshared, "true"], capture_output=True).returncode:
        pytest.skip("needs the right to make namespaces")
    (project.path / "in").write_text("in\n")
    project.env |= {"PROVIO_HOME": str(network / ".provio")}
    words = [*unshared, "sh", "-c", '"$@"; exit 0', "sh", *provio_command(), "run", "--", "cp", "in", "out"]
    subprocess.run(words, cwd=project.path, env=project.env | {"PROVIO_RUN": "one"}, check=True)
    for note in (network / ".provio" / "captured").glob("*/*"):
        note.unlink()
    assert project.data("out") == {"in"}
    assert project.count("?gap a provio:Gap") == 0


@pytest.mark.integration
def test_a_network_file_system(project: Project, network: Path) -> None:
    """As the record, and as the folder of live files: doctor reports the file system, and nothing is lost."""
    (project.path / "in").write_text("in\n")
    project.env["PROVIO_HOME"] = str(network / ".provio")
    project.run("cp in out")
    assert project.data("out") == {"in"}
    assert any("is a network file system (fuse.sshfs)" in line for line in messages_of(project))
    project.env |= {"PROVIO_HOME": str(project.path / ".provio"), "PROVIO_CAPTURE_DIR": str(network)}
    project.run("cp out further")
    assert project.data("further") == {"out"}
    assert project.count("?gap a provio:Gap") == 0
    lines = messages_of(project)
    assert any("is on a network file system (fuse.sshfs): capturing there gains nothing" in line for line in lines)
    assert any("maps no file for writing (No such device)" in line for line in lines)


def messages_of(project: Project) -> list[str]:
    return [one["says"] for one in json.loads(project.provio("doctor", "--as", "json", code=None).stdout)]
