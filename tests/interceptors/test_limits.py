"""The page of limits is true: a program for each of its rows about data that is not followed, and its gaps."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest
from conftest import ROOT, Project, provio_command

pytestmark = pytest.mark.integration
REFUSED = 77

QUEUE = "receives messages from a message queue: they are not followed"
SHARED = "shares memory without a file with other processes: data in it is not followed"
READ = "reads the memory of another process: this data is not followed"
WRITTEN = "a process wrote into the memory of another process: this data is not followed"
URING = "uses io_uring: its reads and writes by it are not recorded"
AIO = "uses the kernel's asynchronous I/O: its reads and writes by it are not recorded"
TERMINAL = "a process opened a pseudo-terminal that could not be marked: data through it is not followed"
LIBC = "loaded a second C library: calls of its functions are not recorded"

# ---- with a gap: by row, programs (an argument of tests/programs/ways.c, a Python script, or a C program with its
# libraries) that put data of `in` into `out`, and the gaps of `out`

WAYS = {
    "message-queue": (["mq", "mq timed", "mq syscall", "msg", "msg syscall"], QUEUE),
    "shared-memory": (["shm", "shm syscall", "map", "map syscall"], SHARED),
    "memory-read": (["process_vm_readv", "read mem", "peek"], READ),
    "memory-written": (["process_vm_writev", "write mem", "poke"], WRITTEN),
}

LIBURING = """
#include <fcntl.h>
#include <liburing.h>
#include <unistd.h>
int main(void) {
    char data[64];
    struct io_uring ring;
    struct io_uring_cqe *done;
    int in = open("in", O_RDONLY), out = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (io_uring_queue_init(4, &ring, 0) < 0) return 77;
    io_uring_prep_read(io_uring_get_sqe(&ring), in, data, 64, 0);
    if (io_uring_submit(&ring) != 1 || io_uring_wait_cqe(&ring, &done) < 0 || done->res <= 0) return 77;
    return write(out, data, done->res) != done->res;
}
"""
LIBAIO = """
#include <fcntl.h>
#include <libaio.h>
#include <unistd.h>
int main(void) {
    static char data[64];
    io_context_t context = 0;
    struct iocb request, *requests = &request;
    struct io_event done;
    int in = open("in", O_RDONLY), out = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (io_setup(4, &context) < 0) return 77;
    io_prep_pread(&request, in, data, 64, 0);
    if (io_submit(context, 1, &requests) != 1 || io_getevents(context, 1, 1, &done, 0) != 1) return 1;
    return write(out, data, done.res) != (long)done.res;
}
"""
LIBRARIES = {
    "io-uring": (LIBURING, "uring", URING),
    "kernel-aio": (LIBAIO, "aio", AIO),
}

SCRIPTS: dict[str, tuple[str, set[str]]] = {
    "second-libc": (
        """
        import ctypes, shutil
        place = next(line.split()[-1] for line in open("/proc/self/maps") if "libc.so" in line)
        shutil.copy(place, "libc-copy.so.6")
        libc = ctypes.CDLL("./libc-copy.so.6")
        room = ctypes.create_string_buffer(64)
        size = libc.read(libc.open(b"in", 0), room, 64)
        open("out", "wb").write(room.raw[:size])
        """,
        {LIBC},
    ),
    "without-preload": (
        """
        import subprocess
        subprocess.run(["bash", "-c", "env -i /bin/cat in > out; :"], check=True)
        """,
        {
            "/bin/cat was started without the preload, which the program before it took out: its reads and writes are "
            "not recorded"
        },
    ),
    "shared-file": (
        """
        import mmap, os
        with open("memory", "w+b") as file:
            file.truncate(4096)
            memory = mmap.mmap(file.fileno(), 4096)
        child = os.fork()
        if child == 0:
            memory[:2] = open("in", "rb").read()
            os._exit(0)
        os.waitpid(child, 0)
        open("out", "wb").write(memory[:2])
        """,
        {"shares memory in memory with process N"},
    ),
    "terminal": (
        """
        import glob, os, pty
        [place] = glob.glob(".provio/runs/*/*/")
        for inode in range(3, 1024):
            os.mkdir(f"{place}{os.minor(os.stat('/dev/pts').st_dev)}.{inode}.terminal")
        child, master = pty.fork()
        if child == 0:
            os.execvp("bash", ["bash", "-c", "read line; echo $line > out"])
        os.write(master, open("in", "rb").read())
        os.waitpid(child, 0)
        """,
        {TERMINAL},
    ),
    "datagram": (
        """
        import socket, subprocess
        ours = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        ours.bind("address")
        send = 'import socket; s = socket.socket(1, 2); s.sendto(open("in", "rb").read(), "address")'
        subprocess.run(["python3", "-c", send], check=True)
        open("out", "wb").write(ours.recv(64))
        """,
        {"read from a socket: where that came from is not followed"},
    ),
}

FOLLOWED = {"shared-file"}

# ---- without a gap: by row, a Python script and the ancestors of `out`; a row without `in` misses it

Ancestors = dict[str, set[str]]
UNSEEN: dict[str, tuple[str, Ancestors]] = {
    "environment": (
        """
        import os, subprocess
        data = open("in").read()
        subprocess.run(["sh", "-c", 'echo "$DATA $1" > out', "sh", data], env={**os.environ, "DATA": data}, check=True)
        """,
        {"control": {"in"}},
    ),
    "exit-status": (
        """
        import subprocess
        code = subprocess.run(["sh", "-c", "read number < in; exit $number"]).returncode
        open("out", "w").write(str(code))
        """,
        {},
    ),
    "name": (
        """
        import os, subprocess
        subprocess.run(["sh", "-c", 'mkdir folder; read name < in; mv mark "folder/$name"'], check=True)
        open("out", "w").write(str(os.listdir("folder")))
        """,
        {},
    ),
    "link-text": (
        """
        import os, subprocess
        subprocess.run(["sh", "-c", 'read text < in; ln -s "$text" link'], check=True)
        open("out", "w").write(os.readlink("link"))
        """,
        {},
    ),
    "counter": ("eventfd", {}),
    "keyring": (
        """
        import ctypes, os, sys
        ADD_KEY, REQUEST_KEY, KEYCTL, UNLINK, READ, USER_KEYRING = 248, 249, 250, 9, 11, -4
        system_call = ctypes.CDLL(None).syscall
        if not os.fork():
            data = open("in", "rb").read()
            os._exit(0 if system_call(ADD_KEY, b"user", b"provio-test", data, len(data), USER_KEYRING) > 0 else 77)
        if os.wait()[1]:
            sys.exit(77)
        room = ctypes.create_string_buffer(64)
        key = system_call(REQUEST_KEY, b"user", b"provio-test", None, USER_KEYRING)
        size = system_call(KEYCTL, READ, key, room, 64)
        system_call(KEYCTL, UNLINK, key, USER_KEYRING)
        if size <= 0:
            sys.exit(77)
        open("out", "wb").write(room.raw[:size])
        """,
        {},
    ),
    "peek": (
        """
        import os, socket
        near, far = socket.socketpair()
        def child(act):
            if os.fork() == 0:
                act()
                os._exit(0)
            os.wait()
        child(lambda: near.send(open("in", "rb").read(2)))
        child(lambda: near.send(open("other", "rb").read(2)))
        child(lambda: far.recv(2, socket.MSG_PEEK))
        child(lambda: open("out", "wb").write(far.recv(2)))
        """,
        {"data": {"other"}},
    ),
    "own-write": (
        """
        import os, subprocess
        file = os.open("both", os.O_RDWR | os.O_CREAT)
        os.pwrite(file, b"x", 10)
        subprocess.run(["dd", "if=in", "of=both", "conv=notrunc", "status=none"], check=True)
        open("out", "wb").write(os.pread(file, 2, 0))
        """,
        {},
    ),
    "shared-file-runs": (
        """
        import mmap, subprocess, sys
        open("memory", "wb").write(bytes(4096))
        file = open("memory", "rb")
        memory = mmap.mmap(file.fileno(), 4096, access=mmap.ACCESS_READ)
        store = 'import mmap; own = open("memory", "r+b"); mmap.mmap(own.fileno(), 4096)[:2] = open("in", "rb").read()'
        subprocess.run([*sys.argv[1:], "run", "--quiet", "--", "python3", "-c", store], check=True)
        open("out", "wb").write(memory[:2])
        """,
        {"data": {"memory"}},
    ),
    # ---- too much
    "memory": (
        """
        open("in").read()
        open("first", "w").write("no input")
        open("other").read()
        open("out", "w").write("no input either")
        """,
        {"data": {"other"}, "carried": {"in"}},
    ),
    "unused-input": (
        """
        open("in").read()
        open("out", "w").write(open("other").read())
        """,
        {"data": {"in", "other"}},
    ),
    "threads": (
        """
        from threading import Thread
        thread = Thread(target=lambda: open("in").read())
        thread.start()
        thread.join()
        open("out", "w").write(open("other").read())
        """,
        {"data": {"in", "other"}},
    ),
}
INLINE = """
#include <fcntl.h>
#include <unistd.h>
#include <sys/syscall.h>
static long own(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}
int main(void) {
    static char data[64];
    long in = own(SYS_open, (long)"in", O_RDONLY, 0), size = own(SYS_read, in, (long)data, 64);
    int out = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    return size <= 0 || write(out, data, size) != size;
}
"""
VFORK = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static char stack[1 << 16], data[64];
static int take(void *size) {
    *(long *)size = read(open("in", O_RDONLY), data, 64);
    _exit(0);
}
int main(void) {
    long size = 0;
    int child = clone(take, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &size);
    if (waitpid(child, NULL, 0) != child) return 1;
    return size <= 0 || write(open("out", O_WRONLY | O_CREAT, 0644), data, size) != size;
}
"""
PROGRAMS_UNSEEN = {"own-calls": INLINE, "vfork": VFORK}

# ---- more programs of rows with a gap

ZERO = """
import mmap, os
with open("/dev/zero", "r+b") as zero:
    memory = mmap.mmap(zero.fileno(), 4096)
if os.fork() == 0:
    memory[:2] = open("in", "rb").read()
    os._exit(0)
os.wait()
open("out", "wb").write(memory[:2])
"""
REGISTERS = """
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    static char data[4096];
    struct iovec part = {data, sizeof data};
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        read(open("in", O_RDONLY), data, 64);
        raise(SIGSTOP);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    if (ptrace(PTRACE_GETREGSET, child, (void *)NT_PRSTATUS, &part) != 0) return 77;
    kill(child, SIGKILL);
    return write(open("out", O_WRONLY | O_CREAT, 0644), data, part.iov_len) < 0;
}
"""


@pytest.fixture
def prepared(project: Project) -> Project:
    """A project with the files that the programs read."""
    for name, text in (("in", "7\n"), ("other", "other\n"), ("mark", "")):
        (project.path / name).write_text(text)
    return project


def outcome(project: Project, *command: str) -> tuple[dict[str, set[str]], list[str]]:
    """The ancestors and the different gaps of `out` after a recorded command; skips if the system refuses it."""
    done = project.provio("run", "--quiet", "--", *command, code=None)
    if done.returncode == REFUSED:
        pytest.skip("the system does not allow it here")
    assert (done.returncode, done.stderr) == (0, "")
    document = project.lineage("out", "--via", "control")
    found = {way: names for way, names in project.files(document).items() if names}
    reasons = {gap["reason"].replace(f"{project.path}/", "") for gap in document["gaps"]}
    return found, sorted({re.sub(r"process [0-9]+", "process N", reason) for reason in reasons})


def compiled(project: Project, source: str, library: str | None = None) -> str:
    """Compile a program; skips without its library."""
    program, options = project.path / "program", [f"-l{library}"] if library else []
    text = project.path.parent / "program.c"
    text.write_text(source)
    done = subprocess.run(["cc", "-O1", "-w", "-o", program, text, *options], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"cannot be compiled here: {done.stderr[:80]}")
    return str(program)


def rows(title: str) -> list[str]:
    """The names of the rows of a table of the page."""
    page = (ROOT / "docs" / "limits.md").read_text()
    table = re.split(r"^#+ ", page.partition(f" {title}\n")[2], flags=re.M)[0]
    return re.findall(r"^\| `([\w-]+)` \|", table, re.M)


def test_each_row_has_a_program_and_each_program_a_row() -> None:
    """The two tables of docs/limits.md have exactly the rows of this module, each once."""
    with_gap = [*WAYS, *LIBRARIES, *SCRIPTS]
    assert sorted(rows("Ways that leave a gap")) == sorted(with_gap)
    assert sorted(rows("Ways that leave no gap")) == sorted([*UNSEEN, *PROGRAMS_UNSEEN])


@pytest.mark.parametrize("way", [way for ways, _ in WAYS.values() for way in ways])
def test_ways_between_processes(prepared: Project, built: Path, way: str) -> None:
    """Data that goes from one process to another by this way leaves a gap at the file that the other writes."""
    reason = next(reason for ways, reason in WAYS.values() if way in ways)
    assert outcome(prepared, str(built / "ways"), way) == ({}, [reason])


@pytest.mark.parametrize("row", LIBRARIES)
def test_libraries_that_make_system_calls(prepared: Project, row: str) -> None:
    """A program that reads by such a library leaves one gap about itself, and one about the file that it did not read
    otherwise."""
    source, library, reason = LIBRARIES[row]
    found, gaps = outcome(prepared, compiled(prepared, source, library))
    assert reason in gaps and len(gaps) == 2, (found, gaps)


@pytest.mark.parametrize("row", SCRIPTS)
def test_code_that_is_not_observed(prepared: Project, row: str) -> None:
    """Calls that go past the preload library, and memory that is followed without its order, leave a gap."""
    script, reasons = SCRIPTS[row]
    ancestors = {"data": {"in"}} if row in FOLLOWED else {}
    assert outcome(prepared, "python3", "-c", dedent(script)) == (ancestors, sorted(reasons))


@pytest.mark.parametrize("row", UNSEEN)
def test_ways_without_a_gap(prepared: Project, built: Path, row: str) -> None:
    """The page states exactly which data is missed, or linked too much, without a gap."""
    script, ancestors = UNSEEN[row]
    python = ["python3", "-c", dedent(script), *provio_command()]
    command = [str(built / "ways"), script] if "\n" not in script else python
    assert outcome(prepared, *command) == (ancestors, [])


@pytest.mark.parametrize("row", PROGRAMS_UNSEEN)
def test_calls_without_a_gap(prepared: Project, row: str) -> None:
    """The page states that such calls are missed without a gap."""
    assert outcome(prepared, compiled(prepared, PROGRAMS_UNSEEN[row])) == ({}, [])


def test_a_shared_map_of_the_zero_device_is_memory_without_a_file(prepared: Project) -> None:
    assert outcome(prepared, "python3", "-c", ZERO) == ({}, [SHARED])


def test_registers_are_memory(prepared: Project) -> None:
    assert outcome(prepared, compiled(prepared, REGISTERS)) == ({}, [READ])


def test_a_descriptor_taken_from_another_process_is_followed(prepared: Project, built: Path) -> None:
    """The file that a descriptor of another process is open on is an input, without a gap."""
    assert outcome(prepared, str(built / "ways"), "pidfd_getfd") == ({"data": {"in"}}, [])


@pytest.mark.parametrize("own", ["map", "readv", "mem"])
def test_memory_of_one_process_leaves_no_gap(prepared: Project, own: str) -> None:
    """Shared memory without another process, and the memory of the process itself, are no ways between processes."""
    script: dict[str, Callable[[], str] | str] = {
        "map": 'import mmap; m = mmap.mmap(-1, 4096); m[:2] = open("in", "rb").read(); open("out", "wb").write(m[:2])',
        "mem": """
            import ctypes, os
            room = ctypes.create_string_buffer(open("in", "rb").read())
            fd = os.open(f"/proc/{os.getpid()}/mem", os.O_RDONLY)
            open("out", "wb").write(os.pread(fd, 2, ctypes.addressof(room)))
            """,
        "readv": """
            import ctypes, os
            class Part(ctypes.Structure):
                _fields_ = [("start", ctypes.c_void_p), ("size", ctypes.c_size_t)]
            room, copy = (ctypes.create_string_buffer(text) for text in (open("in", "rb").read(), b"  "))
            parts = [Part(ctypes.addressof(one), 2) for one in (copy, room)]
            libc = ctypes.CDLL("libc.so.6")
            libc.process_vm_readv(os.getpid(), ctypes.byref(parts[0]), 1, ctypes.byref(parts[1]), 1, 0)
            open("out", "wb").write(copy.raw[:2])
            """,
    }
    assert outcome(prepared, "python3", "-c", dedent(str(script[own]))) == ({"data": {"in"}}, [])


def test_the_memory_of_the_first_process_of_a_container(prepared: Project) -> None:
    """Its pid, 1, makes the shortest path of another process's memory."""
    contained = ["unshare", "-rpf", "--mount-proc"]
    if subprocess.run([*contained, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespaces for pids: see user_namespaces(7)")
    script = """
        import os
        if os.fork() == 0:
            open("/proc/1/mem", "rb").close()
            open("out", "wb").write(open("in", "rb").read())
            os._exit(0)
        os.wait()
        """
    assert outcome(prepared, *contained, "python3", "-c", dedent(script)) == ({"data": {"in"}}, [READ])
