"""Programs in a mount namespace or root that hides the shim: their loader prints no error, and each leaves a Gap."""

from __future__ import annotations

import collections
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Project

from provio.trace.recording import SHIM

REASON = (
    "was started where the shim or the folder of the trace cannot be reached: its reads and writes are not recorded"
)
NAMESPACE = ["unshare", *(["-r"] if os.geteuid() else []), "-m", "sh", "-c"]
HIDE = f"mount -t tmpfs none '{SHIM.parent}'"

pytestmark = pytest.mark.integration
# Starts `true` in every way, after a line was read from standard input, and shells that print LD_PRELOAD.
STARTS = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
#define CHILD(make, call) do { \
        pid_t pid = make(); \
        if (pid == 0) { call; _exit(9); } \
        int status; \
        waitpid(pid, &status, 0); \
        if (status) printf("%s: %d\n", #call, status); \
    } while (0)
int main(void) {
    char *argv[] = {"true", NULL}, line[4096];
    puts("ready");
    fflush(stdout);
    if (read(0, line, sizeof line) < 1) return 1;
    CHILD(fork, execv("/bin/true", argv));
    CHILD(fork, execve("/bin/true", argv, environ));
    CHILD(fork, execvp("true", argv));
    CHILD(fork, execvp("/bin/true", argv));
    CHILD(fork, execvpe("true", argv, environ));
    CHILD(fork, execl("/bin/true", "true", NULL));
    CHILD(fork, execlp("true", "true", NULL));
    CHILD(fork, execle("/bin/true", "true", NULL, environ));
    CHILD(fork, fexecve(open("/bin/true", O_RDONLY), argv, environ));
    CHILD(fork, execveat(AT_FDCWD, "/bin/true", argv, environ, 0));
    CHILD(fork, syscall(SYS_execve, "/bin/true", argv, environ));
    CHILD(vfork, execve("/bin/true", argv, environ));
    pid_t pid;
    int status = 0;
    if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) == 0) waitpid(pid, &status, 0);
    if (posix_spawnp(&pid, "true", NULL, NULL, argv, environ) == 0) waitpid(pid, &status, 0);
    if (system("echo \"system $LD_PRELOAD\"; exit 3") != 3 << 8) puts("system");
    FILE *stream = popen("echo \"popen $LD_PRELOAD\"", "r");
    if (fgets(line, sizeof line, stream)) fputs(line, stdout);
    pclose(stream);
    fputs(getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "", stderr);
    return 0;
}
"""
START = f'exec 3<>to; "$0" < to > from & read x < from; {HIDE}; echo go > to; wait'


def done_in(project: Project, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=project.path, env=project.env, capture_output=True, text=True, timeout=60)


def libraries(program: str) -> list[str]:
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return re.findall(r"(/\S+) \(", listed)


def same(project: Project, *command: str) -> list[str]:
    """Run a command with and without provio: the results must be the same. Return its Gaps by `provio show`."""
    bare = done_in(project, *command)
    if bare.returncode:
        pytest.skip(f"not possible here: {' '.join(command[:3])} ({bare.stderr.strip()})")
    done = project.provio("run", "--", *command)
    errors = re.sub("(?m)^provio: run .*\n", "", done.stderr)
    assert (done.stdout, errors) == (bare.stdout, bare.stderr)
    shown = project.provio("show", "last").stdout.splitlines()
    return [line.split(maxsplit=1)[1] for line in shown if line.startswith("gap")]


def test_programs_that_are_started_in_any_way_print_nothing(project: Project, needs: Any, tmp_path: Path) -> None:
    """Each has a Gap; another library in LD_PRELOAD stays, and the program itself keeps the variable."""
    needs("gcc", "unshare")
    (project.path / "starts.c").write_text(STARTS)
    subprocess.run(["gcc", "-w", "-o", "starts", "starts.c"], cwd=project.path, check=True)
    subprocess.run(["gcc", "-w", "-shared", "-o", "other.so", "-x", "c", "/dev/null"], cwd=project.path, check=True)
    os.mkfifo(project.path / "to")
    os.mkfifo(project.path / "from")
    other = str(project.path / "other.so")
    script = START.replace("> from", "> from 2> errors").replace("wait", "cat from; wait")
    for before, env in (("", {}), (other, {"LD_PRELOAD": other})):
        watched = Project(project.path, project.env | env)
        gaps = collections.Counter(same(watched, *NAMESPACE, script, str(project.path / "starts")))
        assert (project.path / "errors").read_text() == (f"{SHIM}:{before}" if before else str(SHIM))
        assert gaps[f"/bin/true {REASON}"] + gaps[f"/usr/bin/true {REASON}"] == 14
        assert gaps[f"/bin/sh {REASON}"] == 2


def test_a_namespace_that_hides_the_shim(project: Project, needs: Any) -> None:
    """The programs that its shell started before are recorded, the files of later programs have the gap."""
    needs("unshare")
    (project.path / "a").write_text("1\n")
    gaps = same(project, *NAMESPACE, f"cat a > before; {HIDE}; cat a > after; cat after | sort > sorted")
    assert gaps == [f"/usr/bin/{name} {REASON}" for name in ("cat", "cat", "sort")]
    assert "! " not in project.provio("lineage", "before").stdout
    assert f"! /usr/bin/cat {REASON}" in project.provio("lineage", "after").stdout


def test_a_root_without_the_shim(project: Project, needs: Any) -> None:
    """The first program after chroot starts, and its children, too."""
    needs("chroot", "unshare")
    root = project.path / "root"
    for name in ("/bin/sh", "/bin/cat"):
        for file in {name, *libraries(name)}:
            (root / file[1:]).parent.mkdir(parents=True, exist_ok=True)
            (root / file[1:]).write_bytes(Path(file).read_bytes())
            (root / file[1:]).chmod(0o755)
    chroot = ["unshare", "-r", "chroot"] if os.geteuid() else ["chroot"]
    gaps = same(project, *chroot, str(root), "/bin/sh", "-c", "/bin/cat /bin/sh > /copy")
    assert gaps == [f"{root}/bin/sh {REASON}"]
    assert project.provio("lineage", "root/copy", code=3).stderr.count(REASON) == 1


@pytest.fixture
def beside() -> Iterator[Path]:
    """A folder for a record next to the environment of the tests: bwrap hides /tmp while it makes a root."""
    with tempfile.TemporaryDirectory(dir=sys.prefix) as folder:
        if folder.startswith("/tmp/"):
            pytest.skip("bwrap hides /tmp while it makes a root: the environment of the tests is there")
        yield Path(folder) / ".provio"


@pytest.mark.parametrize(
    ("tool", "hidden"),
    [
        (["firejail", "--noprofile", "--quiet"], f"--blacklist={SHIM.parent}"),
        (["bwrap", "--bind", "/", "/", "--dev", "/dev"], f"--tmpfs\0{SHIM.parent}"),
    ],
    ids=["firejail", "bwrap"],
)
def test_programs_that_make_namespaces(
    project: Project, needs: Any, tool: list[str], hidden: str, beside: Path
) -> None:
    """If they hide the shim, the program in them has a gap; if not, it is recorded."""
    needs(tool[0])
    watched = Project(project.path, project.env | {"PROVIO_HOME": str(beside)})
    (project.path / "a").write_text("1\n")
    script = ["sh", "-c", "cat a | cat > b; sort b > c"]
    if os.geteuid() == 0 or tool[0] == "bwrap":  # for other users firejail gains rights, and removes LD_PRELOAD
        assert same(watched, *tool, *hidden.split("\0"), *script) == [f"/usr/bin/sh {REASON}"]
        assert same(watched, *tool, *script) == []
        assert watched.ancestors("c")["data"] == {"a", "b"}
    else:
        assert len(same(watched, *tool, *hidden.split("\0"), *script)) == 1
