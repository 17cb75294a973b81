"""Thread files: their list in the host's folder, files that are missing, empty or incomplete, threads that continue in
another file, and lines that are damaged."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import Project

from provio.base.vocab import NS, RUN_BASE
from provio.merge import job
from provio.merge.large import survey
from provio.merge.runs import merge
from provio.settings.home import Home
from provio.trace import collect, run_archive, run_source, turtle_lines
from provio.trace.fast import find_lone, line_shapes
from provio.trace.read import read_run
from provio.trace.run_facts import Damage, Trace
from provio.trace.run_source import LIST

RUN, HOST, FIRST, SECOND = "01a1fe26-0000-7000-8000-000000000001", "node", "1.2.0.0", "3.2.0.0"
HEAD = f"""@prefix : <{NS}> .
<{RUN_BASE}{RUN}> a :Run ; :host "{HOST}" ; :bootId "boot" ; :startedNs 1795176900000000000 ;
  :endedNs 1795176901000000000 ; :commandLine "true" ; :cwd "/tmp" ; :user "ada"{{more}} .
"""
PREFIXES = (
    f" @prefix prov: <http://www.w3.org/ns/prov#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "
    f"@prefix : <{NS}> . "
)


def opened(number: int, path: str) -> str:
    return (
        f' <../o{number}> a :FileVersion ; :path "{path}" ; :device "8:1" ; :inode {number} ; :birthNs 1 ; '
        f":mtimeNs 2 ; :ctimeNs 2 ; :size 3 ; :flags 0 ; :openedNs 1795176900000000100 . <a{number}> a :Access ; "
        f':object <../o{number}> ; :readApi "read" ; :reads 0000000000000001 ; :readBytes 0000000000000003 ; '
        ":lastRead 0000000000000300 ; :firstRead 0000000000000200 ; :closed 0000000000000400 ."
    )


def thread_file(name: str, lines: list[str], changes: int | None = None, header: bool = True) -> bytes:
    """Return a thread file as the shim writes it: it has the number of its changes, and unused space at its end."""
    image, number = ".".join(name.split(".")[:3]), name.split(".")[3]
    base = f"@base <{RUN_BASE}{RUN}/{HOST}/{image}/{number}/> ."
    thread = f" <> a :Thread ; :tid {name.split('.')[0]} ; :epochNs 1795176900000000000 ." if header else ""
    process = f' <../> a :Process ; :pid {name.split(".")[0]} ; :startTick 2 ; :image "exec" ; :argv "true" ; '
    process += ':startedNs 1795176900000000000 ; :executable "/bin/true" .'
    every = [PREFIXES + base + thread + (process if header else ""), *lines]
    closes = sum(":closed 0" in line for line in lines)
    count = len(every) + closes if changes is None else changes
    text = "\n".join(["#" * 16 + f"{count:016}" + "#" * 15, *every, "#" * 500, ""])
    return text.encode()


def lines(first: int, many: int) -> list[str]:
    return [opened(number, f"/data/{number}") for number in range(first, first + many)]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / ".provio").mkdir(mode=0o700)
    return Home(tmp_path / ".provio")


def run(home: Home, listed: bool = True, **more: bytes) -> Path:
    """Make a run of two processes, each with a thread file; `more` files replace them or are added."""
    folder = home.runs / RUN
    place = folder / HOST
    place.mkdir(parents=True)
    (folder / "run.ttl").write_text(HEAD.format(more=" ; :listed true" if listed else ""), encoding="utf-8")
    for name in (FIRST, SECOND):
        (place / f"{name}.ttl").write_bytes(thread_file(name, lines(1, 3)))
    if listed:
        (place / LIST).write_text(f"{FIRST}\n{SECOND}\n", encoding="ascii")
    return folder


def damages(folder: Path) -> list[str]:
    return [f"{one.path.name}: {one.reason.partition(';')[0]}" for one in read_run(folder).damages]


def paths(trace: Trace) -> list[bytes]:
    return sorted(one.path or b"" for one in trace.openings())


def without_last_line(data: bytes) -> bytes:
    return b"\n".join(line for line in data.split(b"\n") if b"/data/3" not in line)


NO_LIST = f"{LIST}: is missing: thread files may be missing, too"
CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda place: (place / f"{SECOND}.ttl").unlink(), f"{SECOND}.ttl: is missing"),
    "empty": (lambda place: os.truncate(place / f"{SECOND}.ttl", 0), f"{SECOND}.ttl: is empty"),
    "all #": (
        lambda place: (place / f"{SECOND}.ttl").write_bytes(b"#" * 4095 + b"\n"),
        f"{SECOND}.ttl: has no records",
    ),
    "no header": (
        lambda place: (place / f"{SECOND}.ttl").write_bytes(thread_file(SECOND, lines(1, 3), header=False)),
        f"{SECOND}.ttl: has no record of its thread",
    ),
    "a line is missing": (
        lambda place: (place / f"{SECOND}.ttl").write_bytes(
            without_last_line((place / f"{SECOND}.ttl").read_bytes())
        ),
        f"{SECOND}.ttl: lacks 2 records",
    ),
    "no number": (
        lambda place: (place / f"{SECOND}.ttl").write_bytes(
            (place / f"{SECOND}.ttl").read_bytes().replace(b"#0000", b"#zero", 1)
        ),
        f"{SECOND}.ttl: has no number of changes at its start",
    ),
    "no list": (lambda place: (place / LIST).unlink(), NO_LIST),
    "an empty list": (lambda place: os.truncate(place / LIST, 0), NO_LIST),
    "a list without a file": (
        lambda place: (place / LIST).write_text(f"{FIRST}\n"),
        f"{LIST}: does not name {SECOND}: other thread files may be missing",
    ),
    "a list with half a name": (
        lambda place: (place / LIST).write_text(f"{FIRST}\n{SECOND}\n1.2.0"),
        f"{LIST}: has lines that name no thread file",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("change", "reason"), CHANGES.values(), ids=CHANGES)
def test_what_is_lost_is_damage(home: Home, change: Callable[[Path], object], reason: str) -> None:
    folder = run(home)
    assert damages(folder) == []
    change(folder / HOST)
    assert damages(folder) == [reason]
    trace = read_run(folder)
    [gap] = trace.gaps
    assert gap[0].endswith("/damage")
    about = f"{RUN_BASE}{RUN}" + (f"/{HOST}/3.2.0/" if reason.startswith("3.") else "")
    assert gap[1:] == (about, "the trace is damaged: " + reason.replace(": ", " ", 1))
    outcome = merge(home)
    assert (outcome.merged, len(outcome.damages)) == ([RUN], 1)
    assert "run the command again" in outcome.damages[0]


@pytest.mark.parametrize(("change", "reason"), CHANGES.values(), ids=CHANGES)
def test_so_it_is_in_a_large_run(home: Home, change: Callable[[Path], object], reason: str) -> None:
    """Its files are surveyed one process after the other."""
    folder = run(home)
    change(folder / HOST)
    found = survey.survey(run_source.of(folder), {}).whole
    assert [f"{one.path.name}: {one.reason.partition(';')[0]}" for one in found.damages] == [reason]


def test_many_missing_files_are_counted(home: Home) -> None:
    folder = run(home)
    with (folder / HOST / LIST).open("a", encoding="ascii") as file:
        file.writelines(f"{number}.2.0.0\n" for number in range(10, 1_000))
    assert damages(folder) == [
        *(f"{number}.2.0.0.ttl: is missing" for number in (10, 11, 12)),
        f"{HOST}: lacks 987 more thread files",
    ]


@pytest.mark.parametrize("name", ["empty", "all #", "no header"])
def test_a_run_without_a_list_shows_what_its_files_show(home: Home, name: str) -> None:
    """Runs of earlier versions have no list, and numbers of changes that are not exact."""
    folder = run(home, listed=False)
    change, reason = CHANGES[name]
    change(folder / HOST)
    assert damages(folder) == [reason]


@pytest.mark.parametrize("name", ["missing", "a line is missing", "no number"])
def test_other_losses_in_runs_without_a_list_are_not_known(home: Home, name: str) -> None:
    folder = run(home, listed=False)
    CHANGES[name][0](folder / HOST)
    assert damages(folder) == []


@pytest.mark.parametrize("name", ["missing", "empty", "all #", "no list", "a list without a file"])
def test_a_run_in_progress_may_have_new_files(home: Home, name: str) -> None:
    """A process may be between the steps in which it makes its file."""
    folder = run(home)
    CHANGES[name][0](folder / HOST)
    with held(folder):
        assert damages(folder) == []
    assert len(damages(folder)) == 1


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Lock a run folder as its `provio run` does."""
    fd = os.open(folder, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_SH)
    yield
    os.close(fd)


def test_a_record_of_the_run_without_its_end_is_damage(home: Home) -> None:
    folder = run(home)
    head = HEAD.format(more=" ; :statements 2") + f'<{RUN_BASE}{RUN}/environment/A> a :Environment ; :name "A" .\n'
    (folder / "run.ttl").write_text(head, encoding="utf-8")
    assert damages(folder) == []
    (folder / "run.ttl").write_text(head.rpartition("\n<")[0], encoding="utf-8")
    assert damages(folder) == ["run.ttl: lacks 1 statement"]


@pytest.mark.integration
def test_a_run_states_how_many_statements_its_record_has(project: Project) -> None:
    project.provio("run", "--no-merge", "--", "true", env=os.environ | {"SLURM_JOB_ID": "7\u2028<x>"})
    [folder] = Home(project.path / ".provio").run_folders()
    head = folder / "run.ttl"
    assert read_run(folder).damages == []
    every = head.read_text(encoding="utf-8").split("\n")
    every = [line + "\n" for line in every if line]
    assert len(every) > 2
    head.write_text("".join(every[:-1]), encoding="utf-8")
    assert damages(folder) == ["run.ttl: lacks 1 statement"]


def test_files_in_shared_memory_that_are_gone_are_damage(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of another host cannot be seen from here, and are no damage."""
    folder, elsewhere = run(home), tmp_path / "shared" / RUN
    head = HEAD.format(more=f' ; :traceFolder "{elsewhere}"')
    (folder / "run.ttl").write_text(head, encoding="utf-8")
    elsewhere.mkdir(parents=True)
    (folder / HOST).rename(elsewhere / HOST)
    assert damages(folder) == []
    shutil.rmtree(elsewhere)
    assert damages(folder) == []
    monkeypatch.setattr("provio.trace.environment.host", lambda: HOST)
    assert damages(folder) == [f"{RUN}: is missing"]
    assert read_run(folder).gaps[0][1] == f"{RUN_BASE}{RUN}"


def continued(home: Home, many: int = 40) -> tuple[Path, Path]:
    """Make two runs with equal records of one thread: in one file, and in three."""
    every = lines(1, many)
    every += [f" <a{number}/read> a :AccessSizes ; :usualSize 1 ; :size3 1 ; :jumpedBytes 2 ." for number in (2, 9)]
    every += [f" <a{number}/read/2> a :Turn ; :last 5 ; :bytes 3 ; :first 7 ." for number in (3, 9)]
    every += [" <../o4> :closedNs 1795176900000000700 ; :closedMtimeNs 5 ; :closedCtimeNs 5 ; :closedSize 4 ."]
    every += [' <e1> a :Rename ; :at 900 ; :from "/data/5" ; :to "/data/new" ; :device "8:1" ; :inode 5 .']
    every += [
        f' <a{many + 1}> a :Access ; :object <../o6> ; :readApi "pread" ; :reads 1 ; :firstRead 8 ; :lastRead 9 .'
    ]
    whole = run(home)
    (whole / HOST / f"{SECOND}.ttl").write_bytes(thread_file(SECOND, every))
    parts = Home(home.path.parent / "parts" / ".provio")
    parts.path.mkdir(parents=True)
    folder = run(parts)
    files = {SECOND: every[:5], f"{SECOND}.1": every[5:many], f"{SECOND}.2": every[many:]}
    for name, some in files.items():
        (folder / HOST / f"{name}.ttl").write_bytes(thread_file(name, some, header=name == SECOND))
    (folder / HOST / LIST).write_text("\n".join([FIRST, *files, ""]), encoding="ascii")
    return whole, folder


def facts(folder: Path) -> list[str]:
    """Return the graph of a run."""
    from provio.merge import partitions
    from provio.merge.partitions import Partitions
    from provio.settings.schema import Config

    trace = read_run(folder, job.lone_of(folder, Home(folder.parent.parent)))
    assert trace.damages == []
    prepared = partitions.prepare(Partitions(trace), Config())
    return sorted({line for piece in prepared.pieces for line in piece.splitlines() if "contentHash" not in line})


@pytest.mark.parametrize("few", [False, True])
def test_a_thread_continues_in_other_files(home: Home, few: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes, turns, closes and further accesses may be in a later file than the records that they belong to."""
    if few:
        monkeypatch.setattr(find_lone, "FIRST", 0)
        monkeypatch.setattr(find_lone, "BATCH", 3)
        monkeypatch.setattr(run_source, "LARGE", 2_000)
    whole, parts = continued(home)
    assert facts(parts) == facts(whole)


def test_the_files_of_a_thread_are_read_in_order(home: Home) -> None:
    place = run(home) / HOST
    for part in (10, 2, 1):
        (place / f"{SECOND}.{part}.ttl").write_bytes(b"")
    names = [file.name for file in run_source.of(place.parent).files({})]
    assert names == [LIST, f"{FIRST}.ttl", f"{SECOND}.ttl", *(f"{SECOND}.{part}.ttl" for part in (1, 2, 10))]


def test_a_lost_continuation_is_damage_of_its_process(home: Home) -> None:
    _, folder = continued(home)
    (folder / HOST / f"{SECOND}.1.ttl").unlink()
    assert damages(folder) == [f"{SECOND}.1.ttl: is missing"]
    assert read_run(folder).gaps[0][1] == f"{RUN_BASE}{RUN}/{HOST}/3.2.0/"
    os.truncate(folder / HOST / f"{SECOND}.2.ttl", 0)
    assert damages(folder)[0] == f"{SECOND}.2.ttl: is empty"


DAMAGED = {
    "a line": (lambda data: data.replace(b'"/data/2"', b'"/data/2', 1), [3]),
    "bytes that are no text": (lambda data: data.replace(b"/data/2", b"/d\xff\xfe\0", 1), [3]),
    "zeros": (lambda data: data.replace(opened(2, "/data/2").encode(), bytes(400), 1), [3]),
    "two lines": (lambda data: re.sub(rb'"(/data/[24]")', rb"\1", data), [3, 5]),
}  # fmt: skip


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize(("change", "lost"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_line_costs_only_itself(
    home: Home, change: Callable[[bytes], bytes], lost: list[int], large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named; the lines after it are read."""
    if large:
        monkeypatch.setattr(run_source, "LARGE", 500)
    folder = run(home)
    file = folder / HOST / f"{SECOND}.ttl"
    file.write_bytes(thread_file(SECOND, lines(1, 5)))
    (folder / HOST / f"{FIRST}.ttl").write_bytes(thread_file(FIRST, []))
    file.write_bytes(change(file.read_bytes()))
    trace = read_run(folder)
    assert [one.line for one in trace.damages] == [number + 1 for number in lost]
    kept = [number for number in range(1, 6) if number + 1 not in lost]
    assert paths(trace) == [f"/data/{number}".encode() for number in kept]
    assert trace.gaps[0][2].startswith(f"the trace is damaged at line {lost[0] + 1} of {SECOND}.ttl")


def test_a_damaged_file_with_many_prefixes_is_not_read_line_by_line(home: Home) -> None:
    """Each line would be parsed with all of them."""
    folder = run(home)
    some = [f" @prefix p{number}: <urn:{number}> ." for number in range(turtle_lines.PREFIXES)]
    (folder / HOST / f"{SECOND}.ttl").write_bytes(thread_file(SECOND, [*some, " <x> is damaged .", *lines(1, 3)]))
    trace = read_run(folder)
    assert [one.path.name for one in trace.damages] == [f"{SECOND}.ttl"]
    assert len(paths(trace)) == 3


def test_lines_of_other_forms_are_not_remembered() -> None:
    shapes = line_shapes._shapes.copy()
    for number in range(100):
        with pytest.raises(line_shapes.Unknown):
            line_shapes.read([f" <x> is{number:09} damaged .\n".encode()], {})
    assert line_shapes._shapes == shapes


def test_many_damaged_lines_are_counted(home: Home) -> None:
    folder = run(home)
    file = folder / HOST / f"{SECOND}.ttl"
    file.write_bytes(thread_file(SECOND, [line.replace(" a ", " is ") for line in lines(1, 9)]))
    assert [one.line for one in read_run(folder).damages] == [3, 4, 5, 0]
    assert "and 6 more lines are damaged" in damages(folder)[-1]


def test_no_base_is_assumed_after_a_damaged_line(home: Home) -> None:
    """The file of a thread that ended is used by another: records after the lost base of that one are left out."""
    folder = run(home)
    other = f"@base <{RUN_BASE}{RUN}/{HOST}/3.2.0/7/> . <> a :Thread ; :tid 9 ; :epochNs 1795176900000000000 ."
    again = f"@base <{RUN_BASE}{RUN}/{HOST}/3.2.0/0/> ."
    some = [*lines(1, 1), f" {other}", *lines(2, 1), f" {again}", *lines(3, 1)]
    file = folder / HOST / f"{SECOND}.ttl"
    (folder / HOST / f"{FIRST}.ttl").write_bytes(thread_file(FIRST, []))
    file.write_bytes(thread_file(SECOND, some).replace(b"3.2.0/7/>", b"3.2.0/7/", 1))
    trace = read_run(folder)
    assert paths(trace) == [b"/data/1", b"/data/3"]
    assert [one.line for one in trace.damages] == [4, 5]


def test_a_large_file_of_any_lines_is_read_in_parts(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines in forms that no interceptor writes are read one by one; a file with statements of several lines is read
    as a whole, up to a size."""
    monkeypatch.setattr(run_source, "LARGE", 500)
    folder = run(home)
    file = folder / HOST / f"{SECOND}.ttl"
    usual = file.read_bytes()
    file.write_bytes(
        usual.replace(b" ; :flags 0", b"; :flags   0 , 0", 1).replace(b" a :Access", b" a <%sAccess>" % NS.encode(), 1)
    )
    monkeypatch.setattr(line_shapes, "_shapes", {})  # other tests may have filled it
    monkeypatch.setattr(line_shapes, "_all_shapes", [])
    monkeypatch.setattr(turtle_lines, "records_in", counted := Counted(turtle_lines.records_in))
    assert len(paths(read_run(folder))) == 6
    assert counted.many == 1  # the line
    foreign = re.sub(rb"\n +<", b"\n<", usual).replace(b" ; :mtimeNs", b" ;\n  :mtimeNs")
    file.write_bytes(foreign)
    assert len(paths(read_run(folder))) == 6
    assert damages(folder) == []
    monkeypatch.setattr(run_source, "WHOLE", 1_000)
    assert damages(folder) == [f"{SECOND}.ttl: is too large: more than 0 MiB"]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_size_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if it has lines in forms that no interceptor writes, and damaged ones."""
    monkeypatch.setattr(find_lone, "FIRST", 3)
    monkeypatch.setattr(find_lone, "BATCH", 50)
    monkeypatch.setattr(find_lone, "WINDOW", 50)
    monkeypatch.setattr(run_source, "LARGE", 20_000)

    def peak(many: int) -> int:
        home = Home(tmp_path / str(many) / ".provio")
        home.path.mkdir(parents=True, mode=0o700)
        folder = run(home)
        every = lines(1, many)
        every[500::500] = [' <../g1> a :Configuration ,\t:Configuration ; :startedNs 5 ; :name "x" .'] * len(
            every[500::500]
        )
        every[750] = every[750].replace('"/data', "/data")
        (folder / HOST / f"{SECOND}.ttl").write_bytes(thread_file(SECOND, every))
        (folder / HOST / f"{FIRST}.ttl").write_bytes(thread_file(FIRST, []))
        held = job.lone_of(folder, home)
        tracemalloc.start()
        trace = read_run(folder, held)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert [one.line for one in trace.damages] == [753]
        return found

    assert peak(6_000) < peak(1_000) + 1_000_000  # bytes; the larger file has 3 MB, and its records would take 15 MB


class Counted:
    """A function that counts its calls."""

    def __init__(self, function: Callable[[bytes], dict[str, dict[str, str]]]) -> None:
        self.function, self.many = function, 0

    def __call__(self, data: bytes) -> dict[str, dict[str, str]]:
        self.many += 1
        return self.function(data)


def test_a_line_without_end_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_shapes, "LONGEST_LINE", 1_000)
    found: list[Damage] = []
    assert turtle_lines.read([b" <x:a> ", *[b"x" * 600] * 3], Path("x"), found) == {}
    assert [one.reason for one in found] == ["has a line of more than 64 MiB"]


def test_an_archive_has_the_list_and_large_files(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_source, "LARGE", 500)
    monkeypatch.setattr(run_archive, "LARGE", 500)
    folder = run(home)
    trace = read_run(folder)
    run_archive.write(folder, trace.run, run_source.archive_of(folder))
    shutil.rmtree(folder)
    packed = read_run(folder)
    assert (packed.damages, paths(packed)) == ([], paths(trace))
    assert packed.content_hash == trace.content_hash


def test_a_large_file_of_another_form_in_an_archive(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read in parts until its form is known, then again as a whole: an archive can be read only forward."""
    folder = run(home)
    file = folder / HOST / f"{FIRST}.ttl"
    file.write_bytes(re.sub(rb"\n +<", b"\n<", file.read_bytes()).replace(b" ; :mtimeNs", b" ;\n  :mtimeNs"))
    trace = read_run(folder)
    monkeypatch.setattr(run_archive, "LARGE", 500)
    run_archive.write(folder, trace.run, run_source.archive_of(folder))
    shutil.rmtree(folder)
    packed = read_run(folder)
    assert (packed.damages, paths(packed)) == ([], paths(trace))
    assert len(paths(trace)) == 6


def test_a_node_copies_the_list_before_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All files that the copy of a list names are in the copy, also those that were made during the copy."""
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    target.mkdir()
    (source / LIST).write_text(f"{FIRST}\n", encoding="ascii")
    (source / f"{FIRST}.ttl").write_bytes(b"x")

    def names(place: Path) -> set[str]:
        (source / LIST).write_text(f"{FIRST}\n{SECOND}\n", encoding="ascii")
        return known(place)

    known = collect._names
    monkeypatch.setattr(collect, "_names", names)
    collect._copy_list(source, target)
    collect._copy_all(source, target, collect._names(source))
    assert (target / LIST).read_text(encoding="ascii") == f"{FIRST}\n"
    assert sorted(os.listdir(target)) == [f"{FIRST}.ttl", LIST]


def test_a_list_of_a_later_collection_is_added(tmp_path: Path) -> None:
    """After the first one, the folder of a host was removed and made again; the copy of a line may be incomplete."""
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    target.mkdir()
    (target / LIST).write_text(f"{FIRST}\n9.9", encoding="ascii")
    (source / LIST).write_text(f"{SECOND}\n8.8", encoding="ascii")
    collect._copy_list(source, target)
    assert (target / LIST).read_text(encoding="ascii") == f"{FIRST}\n{SECOND}\n"
    (source / LIST).unlink()
    collect._copy_list(source, target)
    assert (target / LIST).read_text(encoding="ascii") == f"{FIRST}\n{SECOND}\n"


@pytest.mark.integration
def test_lineage_of_the_output_of_a_lost_process(project: Project) -> None:
    """No answer states that nothing is recorded without naming the run with the damage."""
    project.provio("run", "--no-merge", "--", "sh", "-c", "echo 1 > out.txt")
    [folder] = Home(project.path / ".provio").run_folders()
    for file in folder.glob("*/*.0.ttl"):
        os.truncate(file, 0)
    merged = project.provio("merge", code=1)
    assert "is empty; records are lost" in merged.stderr
    asked = project.provio("lineage", "out.txt", code=None)
    assert "the trace is damaged" in asked.stdout + asked.stderr
    assert folder.name in asked.stdout + asked.stderr
