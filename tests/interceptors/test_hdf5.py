"""The layer before HDF5's libraries: C programs print the expected trace, and behave the same without provio."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import hdf5_calls
import pytest
from h5py_trace import Act, Story
from posix_trace import Trace, of_class

from provio.lineage.ranks import TRANSPORT

SOURCES = Path(__file__).parent.parent / "hdf5"
Compiling = Callable[..., Path]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiling:
    """A function that compiles a program of `tests/hdf5` with one of HDF5's compilers."""
    folder = tmp_path_factory.mktemp("hdf5")

    def compile_program(source: str, compiler: str = "h5cc", *options: str) -> Path:
        if shutil.which(compiler) is None:
            pytest.skip(f"not installed: {compiler} (make test installs it where it may)")
        target = folder / source.replace(".", "_")
        if not target.exists():
            command = [compiler, "-shlib", "-w", *options, "-o", target, SOURCES / source]
            subprocess.run(command, check=True, cwd=folder, capture_output=True)
        return target

    return compile_program


def traced(trace: Trace, work: Path, program: Path, *arguments: str) -> tuple[list[list[str]], Story]:
    """The output of a program, as lists of words, and its trace."""
    done = trace.run(program, *arguments, cwd=work)
    assert not done.returncode, done.stderr
    return [line.split() for line in done.stdout.decode().splitlines()], Story(trace.facts())


def acts(lines: list[list[str]]) -> list[Act]:
    """The reads and writes that lines name, summed as in a trace."""
    total: Counter[tuple[str, ...]] = Counter()
    for kind, *rest in lines:
        if kind in ("read", "write"):
            file, path, count, size = rest
            total[kind, file, path, "count"] += int(count)
            total[kind, file, path, "size"] += int(size)
    names = sorted({key[:3] for key in total})
    return [Act(*name, total[*name, "count"], total[*name, "size"]) for name in names]


def of(lines: list[list[str]], kind: str) -> list[tuple[str, ...]]:
    return sorted(tuple(words) for first, *words in lines if first == kind)


def test_objects_and_their_accesses(compiled: Compiling, trace: Trace, work: Path) -> None:
    """Selections, sizes, links, moves, copies, attributes, types, references, callbacks: all with full names."""
    lines, story = traced(trace, work, compiled("everything.c"))
    assert story.moved() == acts(lines)
    assert story.events() == of(lines, "event")
    assert story.objects("created") == set(of(lines, "object"))


def test_files_are_followed_from_opening_to_close(compiled: Compiling, trace: Trace, work: Path) -> None:
    """External links, mounts, weak and strong closing, virtual datasets: each object is recorded in the file that holds
    it."""
    lines, story = traced(trace, work, compiled("files.c"))
    by_path = {(act.what, act.file, act.path): act for act in story.moved() if act.what == "read"}
    assert sorted(by_path.values()) == [act for act in acts(lines) if act.what == "read"]
    closed = Counter(story.name(iri)[0] for iri, record in story.files.items() if "closedNs" in record)
    expected: Counter[str] = Counter()
    for file, count in of(lines, "files"):
        expected[file] += int(count)
    assert {file: closed[file] for file in expected} == dict(expected)
    sources = {
        (*story.name(record["object"]), *story.name(record["virtualSource"]))
        for record in story.facts.values()
        if "virtualSource" in record
    }
    assert sources == set(of(lines, "source"))
    assert set(of(lines, "object")) <= story.objects("created", "target", "targetFile")


def test_names_lead_where_they_lead_then(compiled: Compiling, trace: Trace, work: Path) -> None:
    """Names that are opened again are not looked up, until one of the folder is deleted, moved, linked or hidden."""
    lines, story = traced(trace, work, compiled("changed_targets.c"))
    assert [act for act in story.moved() if act.what == "read"] == acts(lines)


def test_a_write_that_covers_all_replaces_the_content(compiled: Compiling, trace: Trace, work: Path) -> None:
    lines, story = traced(trace, work, compiled("replaced.c"))
    replaced = [story.name(iri)[1] for iri, record in story.members.items() if "replacedNs" in record]
    assert sorted(replaced) == sorted(words[0] for words in lines)


def test_errors_are_the_program_s_own(compiled: Compiling, trace: Trace, work: Path) -> None:
    """The error stack, its output, the program's handlers, errno: the same with provio, and each failure is
    recorded."""
    program = compiled("errors.c")
    alone = subprocess.run([program], cwd=work, capture_output=True, check=True)
    watched = trace.run(program, cwd=work)
    assert (watched.stdout, timeless(watched.stderr)) == (alone.stdout, timeless(alone.stderr))
    story = Story(trace.facts())
    assert story.failures() == Counter({"Open": 5, "Read": 1, "Close": 1, "Delete": 1})


def timeless(messages: bytes) -> bytes:
    """HDF5's error output, without the timestamp at which a file could not be opened."""
    return re.sub(rb"time = .*", b"", messages)


def own_library() -> Path | None:
    """The HDF5 that h5py brings, which is newer than the system's."""
    h5py = pytest.importorskip("h5py")
    return next(Path(h5py.__file__).parent.with_name("h5py.libs").glob("libhdf5-*"), None)


@pytest.mark.parametrize("own", [False, True], ids=["system", "wheel"])
@pytest.mark.integration
def test_wrong_arguments(compiled: Compiling, trace: Trace, work: Path, own: bool) -> None:
    """Invalid identifiers, missing names, impossible names: HDF5 returns the same errors as without provio."""
    library = own_library() if own else None
    if own and library is None:
        pytest.skip("h5py has no HDF5 of its own")
    program = compiled("wrong.c")
    if library is not None:
        flags = subprocess.run(["h5cc", "-show"], capture_output=True, text=True, check=True).stdout.split()
        include = [flag for flag in flags if flag.startswith("-I")]
        program = work / "wrong"
        command = ["cc", "-w", *include, "-o", program, SOURCES / "wrong.c", library, f"-Wl,-rpath,{library.parent}"]
        subprocess.run(command, check=True)
    ends = []
    for folder in (work / "alone" / "inside", work / "watched" / "inside"):  # some of the names lead out of it
        folder.mkdir(parents=True)
        if folder.parent.name == "alone":
            done = subprocess.run([program, "1"], cwd=folder, capture_output=True)
        else:
            done = trace.run(program, "1", cwd=folder)
        messages = re.sub(rb" thread \d+|0x[0-9a-f]+", b"", timeless((folder / "errors").read_bytes()))
        ends.append((done.returncode, done.stdout, messages))
    assert ends[0][0] == 0
    assert ends[0] == ends[1]


def test_a_caller_that_was_unloaded_is_forgotten(trace: Trace, work: Path, needs: Callable[..., None]) -> None:
    """A plug-in is loaded at the address of another: each calls the HDF5 that it was linked with."""
    needs("h5cc")
    library = own_library()
    if library is None:
        pytest.skip("h5py has no HDF5 of its own")
    source = SOURCES / "plugin.c"
    own = ["cc", "-fPIC", "-shared", "-o", "own.so", source, library, f"-Wl,-rpath,{library.parent}"]
    system = ["h5cc", "-shlib", "-fPIC", "-shared", "-o", "system.so", source]
    for command in (own, system, ["cc", "-o", "unloaded", SOURCES / "unloaded.c", "-ldl"]):
        subprocess.run(command, cwd=work, check=True, capture_output=True)
    command = [work / "unloaded", *("./own.so", "./system.so", "./own.so")]
    alone = subprocess.run(command, cwd=work, capture_output=True, check=True).stdout.splitlines()
    watched = trace.run(*command, cwd=work).stdout.splitlines()
    assert len({line.split()[0] for line in alone}) == 2
    assert [line.split()[0] for line in watched] == [line.split()[0] for line in alone]


@pytest.mark.slow
def test_unrecorded_objects_leave_a_gap(compiled: Compiling, trace: Trace, work: Path) -> None:
    """Long names fit; for longer names, and for more open files than the tables hold, there is a Gap."""
    lines, story = traced(trace, work, compiled("limits.c"))
    assert story.moved() == acts(lines)
    reasons = sorted(gap["reason"].partition(":")[0] for gap in of_class(story.facts, "Gap").values())
    assert reasons == [
        "has more HDF5 files open at once than can be followed",
        "names an object of an HDF5 file in more bytes than can be stored",
    ]
    assert len(story.files) == 4096


def test_selections_in_a_list_of_properties(trace: Trace, work: Path) -> None:
    """From HDF5 1.14 on, the selection may be in the transfer list; several datasets are read in one call."""
    h5py = pytest.importorskip("h5py")
    library = next(Path(h5py.__file__).parent.with_name("h5py.libs").glob("libhdf5-*"), None)
    if library is None or h5py.version.hdf5_version_tuple < (1, 14):
        pytest.skip("h5py has no HDF5 1.14 of its own")
    program = work / "listed"
    found = f"-Wl,-rpath,{library.parent}"
    subprocess.run(["cc", "-Wall", "-o", program, SOURCES / "selection_lists.c", library, found], check=True)
    alone = subprocess.run([program], cwd=work, capture_output=True, check=True)
    watched = trace.run(program, cwd=work)
    assert (watched.returncode, watched.stdout, watched.stderr) == (0, alone.stdout, alone.stderr)
    story = Story(trace.facts())
    assert story.moved() == [Act("read", "a.h5", "/x", 1, 40), Act("write", "a.h5", "/x", 1, 40)]
    assert story.failures() == Counter({"Read": 1})


@pytest.mark.parametrize("detail", ["file", "op", "call"])
def test_each_level_of_detail_keeps_names(compiled: Compiling, trace: Trace, work: Path, detail: str) -> None:
    trace.detail = detail
    lines, story = traced(trace, work, compiled("everything.c"))
    assert {(act.what, act.path) for act in story.moved()} >= (
        {(act.what, act.path) for act in acts(lines)} if detail != "file" else set()
    )
    assert story.objects("created") == set(of(lines, "object"))


def test_threads_and_a_child_count_on_shared_objects(compiled: Compiling, trace: Trace, work: Path) -> None:
    lines, story = traced(trace, work, compiled("threads.c", "h5cc", "-pthread"))
    assert story.moved() == acts(lines)


def test_calls_before_a_kill_are_recorded(compiled: Compiling, trace: Trace, work: Path) -> None:
    done = trace.run(compiled("threads.c", "h5cc", "-pthread"), "kill", cwd=work)
    assert done.returncode == -9
    assert Story(trace.facts()).moved() == acts([line.split() for line in done.stdout.decode().splitlines()])


@pytest.mark.parametrize(("source", "compiler"), [("plus.cc", "h5c++"), ("formula.f90", "h5fc")])
@pytest.mark.integration
def test_other_languages(
    compiled: Compiling, trace: Trace, work: Path, source: str, compiler: str, needs: Callable[..., None]
) -> None:
    """C++ classes and Fortran modules call the functions of C, in libraries of their own."""
    needs("g++" if compiler == "h5c++" else "gfortran")
    lines, story = traced(trace, work, compiled(source, compiler))
    assert story.moved() == acts(lines)


TOGETHER = (
    "has all ranks read the metadata of an HDF5 file together: copies in it, targets of links and deletions by "
    "position are not recorded"
)


@pytest.mark.parametrize("way", ["independent", "collective"])
@pytest.mark.integration
def test_four_ranks(compiled: Compiling, trace: Trace, work: Path, way: str, needs: Callable[..., None]) -> None:
    """Every rank is recorded, and no query for the record waits for other ranks."""
    needs("mpirun")
    program = compiled("ranks.c", "h5pcc")
    options = ["--allow-run-as-root", "--oversubscribe", "-n", "4"]
    done = trace.run("mpirun", *options, program, *([way] if way == "collective" else []), cwd=work, timeout=60)
    assert not done.returncode, done.stderr
    story = Story(trace.facts())
    reads = 2 if way == "independent" else 4
    assert story.moved() == [
        Act("read", "ranks.h5", "/g/x", reads, reads * 800),
        Act("write", "ranks.h5", "/g/x", 8, 6400),
    ]
    assert sum(record["type"] == "Dataset" for record in story.members.values()) == 4 + reads
    gaps = Counter((gap["about"], gap["reason"]) for gap in of_class(story.facts, "Gap").values())
    assert set(gaps.values()) <= {1}
    ranks = {iri for iri, process in of_class(story.facts, "Process").items() if "rank" in process}
    together = {(rank, TOGETHER) for rank in ranks if way == "collective"}
    assert len(ranks) == 4
    assert {gap for gap in gaps if gap[1] not in TRANSPORT} == together


SAME = """
h5dump in.h5
h5dump -p -H in.h5
h5ls -r -v in.h5
h5diff -v in.h5 in.h5
h5diff in.h5 other.h5
h5stat in.h5
h5dump nothing.h5
h5dump -d /nothing in.h5
h5repack -f GZIP=5 in.h5 out.h5
h5repack -l CONTI in.h5 out.h5
h5copy -i in.h5 -o out.h5 -s /copy -d /copied
""".strip().splitlines()


Result = tuple[int, bytes, bytes, bytes]


def result(run: Callable[[], subprocess.CompletedProcess[bytes]], made: Path) -> Result:
    """Run a command; return its exit code, output, messages, and the content of the file it made, if any."""
    made.unlink(missing_ok=True)
    done = run()
    return done.returncode, done.stdout, done.stderr, made.read_bytes() if made.exists() else b""


def within_a_second(take: Callable[[], list[Result]]) -> list[Result]:
    """Run the steps within one second of the clock: HDF5 stores the creation time of each object in the file."""
    for _ in range(20):
        second = int(time.time())
        taken = take()
        if int(time.time()) == second:
            return taken
    raise AssertionError("twenty times over, two calls of a tool did not fall into one second")


@pytest.mark.parametrize("command", SAME)
def test_tools_do_the_same(
    compiled: Compiling, trace: Trace, work: Path, command: str, needs: Callable[..., None]
) -> None:
    """Output, messages, exit code and the created file are the same with and without provio."""
    needs(command.split()[0])
    subprocess.run([compiled("everything.c")], cwd=work, check=True, capture_output=True)
    (work / "a.h5").rename(work / "in.h5")
    subprocess.run([compiled("replaced.c")], cwd=work, check=True, capture_output=True)
    (work / "a.h5").rename(work / "other.h5")
    made, words = work / "out.h5", command.split()

    def both() -> list[Result]:
        alone = partial(subprocess.run, words, cwd=work, capture_output=True, timeout=60, check=False)
        return [result(run, made) for run in (alone, partial(trace.run, *words, cwd=work))]

    alone, watched = within_a_second(both)
    assert watched == alone


def test_a_copy_by_h5copy_comes_from_its_source(
    compiled: Compiling, trace: Trace, work: Path, needs: Callable[..., None]
) -> None:
    needs("h5copy")
    subprocess.run([compiled("everything.c")], cwd=work, check=True, capture_output=True)
    trace.run("h5copy", "-i", "a.h5", "-o", "b.h5", "-s", "/copy/x", "-d", "/y", cwd=work)
    assert ("Copy", "a.h5", "/copy/x", "b.h5", "/y") in Story(trace.facts()).events()


def test_every_other_form_of_a_call(compiled: Compiling, trace: Trace, work: Path) -> None:
    """Calls of older versions, by name, by index and with fields are recorded like the newest ones."""
    lines, story = traced(trace, work, compiled("siblings.c"))
    assert story.moved() == acts(lines)
    assert story.events() == of(lines, "event")
    assert story.objects("created") == set(of(lines, "object"))


LINKED = ("everything.c", "siblings.c", "files.c", "replaced.c")
UNCALLED = {"H5FDregister"}  # for drivers that a program brings along, as h5py does


def test_every_row_that_the_library_has_is_called_by_its_own_name(compiled: Compiling) -> None:
    """Each wrapped function of the installed HDF5 is linked into a test program; another version of it is not
    enough."""

    def symbols(path: Path | str, which: str) -> set[str]:
        lines = subprocess.run(["nm", "-D", which, path], check=True, capture_output=True, text=True).stdout
        return {line.split()[-1].split("@")[0] for line in lines.splitlines()}

    programs = [compiled(source) for source in LINKED]
    loaded = subprocess.run(["ldd", programs[0]], check=True, capture_output=True, text=True).stdout
    library = next(line.split()[2] for line in loaded.splitlines() if line.strip().startswith("libhdf5_serial.so"))
    wrapped = {row.name for row in hdf5_calls.rows() if row.kind != "SKIP"} & symbols(library, "--defined-only")
    called = set().union(*(symbols(program, "--undefined-only") for program in programs))
    assert wrapped - called == UNCALLED


@pytest.mark.parametrize("term", ["stat", "list"])
def test_queries_are_recorded_on_request(compiled: Compiling, trace: Trace, work: Path, term: str) -> None:
    program = compiled("siblings.c")
    alone = subprocess.run([program], cwd=work, capture_output=True, check=True)
    trace.detail = f"op,{term}"
    done = trace.run(program, cwd=work)
    assert (done.stdout, done.stderr) == (alone.stdout, alone.stderr)
    wanted = {row.name for row in hdf5_calls.rows() if row.term == term.title()}
    found = {record["api"] for record in trace.facts().values() if record.get("operation") == term.title()}
    assert len(found & wanted) > 15 and not {api for api in found if api.startswith("H5")} - wanted
