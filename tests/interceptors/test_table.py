"""The table of interposed calls is the only list: its names are exactly the exported ones, and none is missing."""

from __future__ import annotations

import ctypes
import ctypes.util
import re
import subprocess
from pathlib import Path

import calls
import pytest
from posix_trace import POSIX, PROGRAMS, Trace, facts_printed


def rows() -> dict[str, tuple[str, str]]:
    """Name -> (kind of row, the rest of it)."""
    found: dict[str, tuple[str, str]] = {}
    for row in calls.rows():
        assert row.name not in found, f"{row.name} stands in the table twice"
        found[row.name] = (row.kind, row.columns)
    return found


def symbols(library: Path, which: str) -> set[str]:
    """Its dynamic symbols, without the names of versions (A)."""
    lines = subprocess.run(["nm", "-D", which, library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in lines.splitlines() if line.split()[-2] != "A"}


@pytest.fixture(scope="module")
def exported(built: Path) -> set[str]:
    return symbols(built / "libprovio.so", "--defined-only")


def libc_names() -> set[str]:
    """Every function this C library exports."""
    library = Path(ctypes.util.find_library("c") or "libc.so.6")
    path = next(line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if library.name in line)
    lines = subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in lines.splitlines() if line.split()[-2] in "TWi"}


@pytest.fixture(scope="module")
def layers() -> set[str]:
    """The names exported for programs and for layers above the C library: of provio.h and layer.h, and the rows of
    HDF5's and MPI-IO's tables."""
    declared = re.findall(
        r"^\w+ [*\w ]*?\b(provio_\w+)\(|^provio_object \*(provio_\w+)\(", (POSIX / "layer.h").read_text(), re.M
    )
    declared += re.findall(
        r"^PROVIO_(?:CALL|TELL)\((?:\w+, )?(provio_\w+)(), ", (POSIX.parent / "include/provio.h").read_text(), re.M
    )
    wrapped = re.findall(r"^HDF5(?:_HAND)?\((\w+)", (POSIX.parent / "hdf5" / "calls.def").read_text(), re.M)
    collective = re.findall(r"^MPIIO(?:_HAND|_LARGE)?\((\w+)", (POSIX.parent / "mpiio" / "calls.def").read_text(), re.M)
    wrapped += [prefix + name for name in collective for prefix in ("", "P")]
    return {one or other for one, other in declared} | set(wrapped)


def test_exported_symbols_are_the_rows(exported: set[str], layers: set[str]) -> None:
    """The shim exports each wrapped name, the names of both headers and no other: no name of the program's own."""
    assert exported - layers == {name for name, (kind, _) in rows().items() if kind != "SKIP"}
    assert exported >= layers


# Functions that the shim takes from the C library, and why they are safe in a handler, in any thread and under a
# sanitizer.
TAKEN = {
    "__errno_location": "an address in the thread's own memory",
    "environ": "a variable",
    "__environ": "a variable",
    "getenv": "at an exec, at the first call of HDF5's, and where a Python starts: reads the variable",
    "stdin": "a variable",
    "stdout": "a variable",
    "_IO_2_1_stdout_": "a variable",
    "_r_debug": "a variable",
    "_dl_debug_addr": "a variable, of musl",
    "dirfd": "a field of the program's argument",
    "ftello64": "only after a seek, if offsets are recorded: the program's stream, in its own call",
}
# Of Python itself, if the process is one: weak, so that any other process does without.
OF_PYTHON = "Py_IsInitialized"


def test_nothing_else_is_taken_from_the_c_library(built: Path) -> None:
    """The shim calls no function that a sanitizer, or the program, may have replaced."""
    taken = symbols(built / "libprovio.so", "--undefined-only")
    own = {"__gmon_start__", "__cxa_finalize"} | {name for name in taken if name.startswith("_ITM_")}
    assert taken - own == {*TAKEN, OF_PYTHON}


def test_every_wrapped_name_is_the_c_library_s(exported: set[str], layers: set[str]) -> None:
    """There is no wrapper for a function that no program can call (except names of newer or older libraries)."""
    libc = ctypes.CDLL(None)
    assert {name for name in exported - layers if not hasattr(libc, name)} <= NEWER


def test_skipped_calls_have_a_reason() -> None:
    """A call that is known and not wrapped has a reason."""
    for name, (kind, rest) in rows().items():
        if kind == "SKIP":
            assert re.fullmatch(r'"[^"]{5,}"', rest), name


def test_the_page_of_the_table_is_fresh() -> None:
    """docs/calls.md is up to date."""
    page = POSIX.parents[1] / "docs" / "calls.md"
    assert page.read_text() == calls.document(), "run `make calls`"


# Names that look like a variant and are none, with their meaning.
NO_SIBLINGS = {
    "__open_nocancel": "private to glibc",
    "__open64_nocancel": "private to glibc",
    "__read_nocancel": "private to glibc",
    "__pread64_nocancel": "private to glibc",
    "__write_nocancel": "private to glibc",
    "__close_nocancel": "private to glibc",
    "__fseeko64": "private to glibc",
    "_IO_getline": "another function, private to glibc",
}


def siblings(name: str) -> set[str]:
    """Other possible names of the same call."""
    plain = name.removeprefix("_IO_").lstrip("_").removesuffix("_chk").removesuffix("_2").removesuffix("64")
    plain = plain.removesuffix("_unlocked").removeprefix("isoc99_")
    forms = {
        plain,
        f"{plain}64",
        f"{plain}at",
        f"{plain}at64",
        f"{plain}2",
        f"{plain}64v2",
        f"{plain}v2",
        f"{plain}_unlocked",
        f"{plain}3",
        f"{plain}4",
    }
    forms |= {f"__{form}" for form in forms} | {f"_IO_{plain}"}
    forms |= {f"__{form}_chk" for form in forms if not form.startswith("_")}
    forms |= {f"__{form}_2" for form in forms if not form.startswith("_")} | {f"__isoc99_{plain}", f"__isoc23_{plain}"}
    return forms


def test_no_sibling_is_forgotten() -> None:
    """Each variant of a wrapped call in this C library is in the table: wrapped, or skipped with a reason."""
    table, libc = rows(), libc_names()
    forgotten = {sibling for name, (kind, _) in table.items() if kind != "SKIP" for sibling in siblings(name)}
    assert (forgotten & libc) - table.keys() - NO_SIBLINGS.keys() == set()


# Rows without a call in a test program, with the reason.
UNEXERCISED = {
    "fanotify_init": "needs CAP_SYS_ADMIN",
    "open_tree": "needs CAP_SYS_ADMIN",
}

# Rows for names that only newer C libraries have: a program of theirs may be recorded by a shim that was built here.
ASYNCHRONOUS = {"io_setup", "io_submit", "io_queue_init", "io_uring_setup", "io_uring_queue_init"} | {
    f"io_uring_queue_init_{name}" for name in ("params", "mem")
}  # of libaio and liburing
NEWER = {"openat2", "closefrom", "_Fork", *ASYNCHRONOUS} | {
    f"__isoc23_{name}" for name in "scanf fscanf vscanf vfscanf wscanf fwscanf vwscanf vfwscanf".split()
}


def linked(program: Path) -> set[str]:
    """The functions that a program imports from shared libraries, by the names with which it was linked."""
    lines = subprocess.run(["nm", "-D", "--undefined-only", program], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in lines.splitlines()}


@pytest.mark.integration
def test_every_row_is_called_by_its_own_name(built: Path) -> None:
    """Each wrapped name is linked into a test program; a variant of it is not enough."""
    called = set().union(*(linked(built / path.stem) for path in PROGRAMS.glob("*.c")))
    missing = {name for name, (kind, _) in rows().items() if kind != "SKIP"} - called
    assert missing - NEWER == UNEXERCISED.keys()


def test_every_row_that_leaves_a_fact_is_compared(built: Path, trace: Trace, work: Path) -> None:
    """Each row of a recorded call is among the facts that a test program prints and that a test requires of its
    trace."""
    printed = {word for line in facts_printed(built, work) for word in line.split()[:2]}
    recorded = {
        name
        for name, (kind, rest) in rows().items()
        if kind in ("CALL", "CHARACTER", "VARIADIC") and ", Seek, " not in rest  # a reposition is no fact of its own
    }
    assert recorded - printed - NEWER == set()
