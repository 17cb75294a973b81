"""Programs that other tracers change or hang: with provio they print, end and write the same as without."""

from __future__ import annotations

import ctypes
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import hdf5_calls
import mpiio_calls
import pytest
from conftest import ROOT, Project
from posix_trace import PROGRAMS, Trace, counts, of_class, rows_without_a_test
from test_table import NEWER

TRICKS = ROOT / "tests" / "transparency" / "tricks"
ROWS = (
    "fork while another thread does I/O (300 forks)",
    "a signal handler that writes while the main thread is in `pwrite`",
    "`open(dir, O_TMPFILE|O_RDWR, 0640)`",
    '`execl("/bin/echo","echo","ONE","TWO","THREE",NULL)`',
    "errno after a success",
    "`open` in a `pthread_key` destructor",
    "with `libjemalloc.so.2` preloaded too",
    "first `open` returns 3; children inherit nothing new",
    "an AddressSanitizer program",
    "a musl program",
    "exported symbols that are not libc's",
    "under MPI: a preload inherited by the MPI daemon",
)


def compiled(source: Path, folder: Path, *command: str) -> Path:
    program = folder / source.stem
    subprocess.run([*(command or ("cc",)), "-O1", "-w", "-o", program, source, "-lpthread"], check=True)
    return program


def python(trace: Trace, code: str, work: Path) -> tuple[str, str]:
    """The output of a Python program without and with the shim."""
    command = [sys.executable, "-c", code]
    bare = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=60, check=True)
    watched = trace.run(*command, cwd=work, text=True, check=True)
    return bare.stdout, str(watched.stdout)


@pytest.mark.integration
def test_fork_among_threads(trace: Trace, built: Path, work: Path) -> None:
    """fork while another thread does I/O (300 forks): none hangs, and each child's write is recorded as its own."""
    printed = trace.run(built / "fork_storm", work, "300", check=True).stdout.split()
    found = counts(trace.facts())
    assert sum(c.count for c in found if c.path.startswith(os.fsencode(work / "c"))) == 300
    threads = {os.fsencode(work / f"t{number}") for number in range(4)}
    assert sum(c.count for c in found if c.api == "write" and c.path in threads) == int(printed[1])


@pytest.mark.integration
def test_a_handler_during_pwrite(trace: Trace, work: Path) -> None:
    """a signal handler that writes while the main thread is in `pwrite`: it continues, and both writes are counted."""
    program = compiled(TRICKS / "small_stack.c", work)
    done = trace.run(program, "handled", cwd=work, timeout=60, check=True)
    assert done.stdout == b"stack: 0\nwrong: 0\n"
    written = {c.path: c.count for c in counts(trace.facts()) if c.side == "W"}
    assert written[os.fsencode(work / "handler")] == int((work / "handled").read_text())
    assert written[os.fsencode(work / "main")] > 0


def test_a_mode_with_tmpfile(trace: Trace, work: Path) -> None:
    """`open(dir, O_TMPFILE|O_RDWR, 0640)`: the file has this mode."""
    code = "import os; print(oct(os.fstat(os.open('.', os.O_TMPFILE | os.O_RDWR, 0o640)).st_mode))"
    assert python(trace, code, work) == (f"{stat.S_IFREG | 0o640:#o}\n",) * 2


def test_execl_with_five_arguments(trace: Trace, built: Path, work: Path) -> None:
    """`execl("/bin/echo","echo","ONE","TWO","THREE",NULL)`: the program gets each argument, and each is recorded."""
    assert trace.run(built / "exec_list", work, check=True).stdout == b"ONE TWO THREE\n"
    assert "echo ONE TWO THREE" in {one["argv"] for one in of_class(trace.facts(), "Exec").values()}


ERRNO = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open("file", os.O_CREAT | os.O_RDWR)
room = ctypes.create_string_buffer(64)
calls = [
    ("write", fd, b"text", 4), ("lseek", fd, 0, 0), ("read", fd, room, 4), ("dup", fd), ("close", fd),
    ("open", b"file", 0), ("rename", b"file", b"moved"), ("chdir", b"."), ("mkdir", b"new", 0o755), ("rmdir", b"new"),
    ("open", b"missing", 0), ("close", 99), ("read", 99, room, 4),
]
for name, *arguments in calls:
    ctypes.set_errno(77)
    print(name, getattr(libc, name)(*arguments), ctypes.get_errno())
"""


def test_errno(trace: Trace, work: Path) -> None:
    """errno after a success: it is unchanged; after a failure it is the call's."""
    bare, watched = python(trace, ERRNO, work)
    assert watched == bare
    assert {line.split()[2] for line in bare.splitlines()} == {"77", "2", "9"}


def test_io_in_a_key_destructor(trace: Trace, work: Path) -> None:
    """`open` in a `pthread_key` destructor: 50 threads' destructors write, before and after the shim's own."""
    trace.run(compiled(TRICKS / "key_destructor.c", work), cwd=work, check=True)
    for name, text in (("key0", "destroyed\n"), ("key1", "destroyed\n"), ("again", "in a later round\n")):
        assert (work / name).read_text() == text * 50
    written = {c.path: c.count for c in counts(trace.facts()) if c.side == "W"}
    assert {written[os.fsencode(work / name)] for name in ("key0", "key1", "again")} == {50}


@pytest.mark.parametrize("order", ["before", "behind"])
def test_with_jemalloc(trace: Trace, work: Path, order: str) -> None:
    """with `libjemalloc.so.2` preloaded too: the program starts, allocates and ends."""
    library = "libjemalloc.so.2"
    if subprocess.run(["true"], env={**os.environ, "LD_PRELOAD": library}, capture_output=True).stderr:
        pytest.skip("libjemalloc.so.2 is not installed (apt-get install libjemalloc-dev)")
    names = [library, str(trace.shim)] if order == "before" else [str(trace.shim), library]
    code = "print('jemalloc' in open('/proc/self/maps').read()); open('out', 'w').write('x' * 100000)"
    done = trace.run(sys.executable, "-c", code, cwd=work, env={"LD_PRELOAD": ":".join(names)}, check=True)
    assert done.stdout == b"True\n"
    assert [c.size for c in counts(trace.facts()) if c.path == os.fsencode(work / "out")] == [100_000]


def test_descriptors(trace: Trace, work: Path) -> None:
    """first `open` returns 3; children inherit nothing new: they have the same descriptors as without the shim."""
    code = """
import os, subprocess
print(os.open("file", os.O_CREAT | os.O_WRONLY), flush=True)
subprocess.run(["ls", "/proc/self/fd"], close_fds=False)
os.system("ls /proc/self/fd")
pid = os.fork()
if pid == 0: print(os.listdir("/proc/self/fd"), flush=True); os._exit(0)
os.wait()
"""
    bare, watched = python(trace, code, work)
    assert watched == bare
    assert bare.startswith("3\n")


ASAN = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int count, char **arguments) {
    char *text = strdup("text");
    FILE *file = fopen("out", "w");
    fputs(text, file);
    fclose(file);
    printf("%s\\n", getenv("LD_PRELOAD") && strstr(getenv("LD_PRELOAD"), "asan") ? "still there" : "as before");
    fflush(stdout);
    int status = system("grep -c asan /proc/self/maps");
    free(text);
    return count > 1 ? text[0] : 3;
}
"""


@pytest.fixture
def with_asan(tmp_path: Path) -> Path:
    (tmp_path / "asan.c").write_text(ASAN)
    command = ["cc", "-w", "-fsanitize=address", "-o", tmp_path / "asan", tmp_path / "asan.c"]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("the compiler has no AddressSanitizer (apt-get install gcc)")
    return tmp_path / "asan"


@pytest.mark.parametrize("command", ["{}", "sh -c {}", "{} wrong"])
@pytest.mark.integration
def test_address_sanitizer(project: Project, with_asan: Path, command: str) -> None:
    """an AddressSanitizer program: it starts, also as a child, and finds its errors; its children run as usual."""
    words = [word.format(with_asan) for word in command.split()]
    env = {**project.env, "ASAN_OPTIONS": "symbolize=0:abort_on_error=0"}
    bare = subprocess.run(words, cwd=project.path, env=env, capture_output=True, text=True, timeout=60)
    watched = project.provio("run", "--quiet", "--", *words, code=None, env=env)
    assert (watched.returncode, watched.stdout) == (bare.returncode, bare.stdout)
    assert ("heap-use-after-free" in watched.stderr) == ("heap-use-after-free" in bare.stderr) == ("wrong" in words)
    assert bare.stdout == "as before\n0\n"
    assert bare.returncode == (1 if "wrong" in words else 3)
    assert project.count('?v provio:path ?p FILTER(STRENDS(STR(?p), "/out"))') > 0


@pytest.mark.integration
def test_a_musl_program(project: Project, tmp_path: Path) -> None:
    """a musl program: it starts without a message of its loader, and is reported as not observed."""
    if shutil.which("musl-gcc") is None:
        pytest.skip("musl-gcc is not installed (apt-get install musl-tools)")
    program = tmp_path / "musl"
    subprocess.run(["musl-gcc", "-w", "-o", program, PROGRAMS / "writer.c"], check=True)
    done = project.provio("run", "--quiet", "--", "sh", "-c", f"{program} out 1000; exit 7", code=7)
    assert (done.stdout, done.stderr) == ("", "")
    assert (project.path / "out").stat().st_size == 64_000
    assert project.count("?g a provio:Gap ; provio:reason ?r FILTER(CONTAINS(?r, 'C library'))") > 0


def test_exported_names(built: Path) -> None:
    """exported symbols that are not libc's: besides HDF5's and MPI-IO's, none that a program may define itself."""
    lines = subprocess.run(
        ["nm", "-D", "--defined-only", built / "libprovio.so"], check=True, capture_output=True, text=True
    ).stdout
    kinds = {line.split()[-1]: line.split()[-2] for line in lines.splitlines()}
    names = {name.partition("@")[0] for name, kind in kinds.items() if kind != "A"}  # A: the name of a version
    libc = ctypes.CDLL(None)
    assert len(names) > 100
    hdf5 = {row.name for row in hdf5_calls.rows()}
    others = {name for name in names if not hasattr(libc, name) and not name.startswith("provio_")}
    mpiio = {prefix + row.name for row in mpiio_calls.rows() if row.term for prefix in ("", "P")}
    assert others <= NEWER | hdf5 | mpiio


DAEMON = """
import os, subprocess, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in range(3, 64):
            try: os.close(fd)
            except OSError: pass
        for number in range(10): subprocess.run(["cat", "in"], stdout=open(f"out{number}", "w"), check=True)
        os.rename("out9", "done")
    os._exit(0)
os.wait()
while not os.path.exists("done"): time.sleep(0.02)
"""


def test_a_preload_inherited_by_a_daemon(trace: Trace, work: Path) -> None:
    """under MPI: a preload inherited by the MPI daemon: it starts the same processes and no other."""
    (work / "in").write_text("text\n")
    trace.run(sys.executable, "-c", DAEMON, cwd=work, check=True)
    facts = trace.facts()
    started = [one for one in of_class(facts, "Process").values() if one.get("image") == "exec"]
    assert sorted(one["argv"].split()[0].rsplit("/", 1)[-1] for one in started) == ["cat"] * 10 + [
        Path(sys.executable).name
    ]
    assert all(one["pid"] not in os.listdir("/proc") for one in started)


def test_each_row_has_a_test() -> None:
    """Every way in which other tracers change or hang a program has a test."""
    assert rows_without_a_test(ROWS, globals()) == []
