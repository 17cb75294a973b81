"""A process that writes hostile files into its run's folder affects only that run, at a bounded cost."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pyoxigraph as ox
import pytest
from conftest import Project

from provio.base.vocab import NS, RUN_BASE
from provio.merge.runs import Outcome, merge
from provio.settings.home import Home
from provio.store.embedded.reader import StoreReader
from provio.trace.records import parse

RUN, OTHER = "01a1fe26-0000-7000-8000-000000000001", "01a1fe26-0000-7000-8000-000000000002"
HOST = "node"
HEAD = f"""@prefix : <{NS}> .
<{RUN_BASE}{{run}}> a :Run ; :host "{HOST}" ; :user "ada" ; :bootId "boot" ; :startedNs 1795176900000000000 ;
  :endedNs 1795176901000000000 ;
  :commandLine "true" ; :cwd "/tmp" .
"""
THREAD = f"""@prefix prov: <http://www.w3.org/ns/prov#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix : <{NS}> . @base <{RUN_BASE}{{run}}/{HOST}/1.2.0/1/> .
<../> a :Process ; :pid 1 ; :image "exec" ; :executable "/bin/true" ; :argv "true" ; :startedNs 1795176900000000000 .
<> a :Thread ; :tid 1 ; :epochNs 1795176900000000000 .
<../o1> a :FileVersion ; :path "/d/out" ; :device "8:1" ; :inode 7 ; :birthNs 1 ; :mtimeNs 2 ; :ctimeNs 2 ; :size 3 ;
  :flags 577 ; :openedNs 1795176900000000100 ; :openApi "open" ; :openElapsed 5 .
<a1> a :Access ; :object <../o1> ; :firstWrite 200 ; :lastWrite 300 ; :writes 1 ; :writeBytes 3 ; :writeApi "write" .
"""


def record(home: Home, run: str, more: str | bytes = "", name: str = "1.2.0.1.ttl") -> Path:
    """Make a run folder with a valid thread file, followed by `more`."""
    folder = home.runs / run
    (folder / HOST).mkdir(parents=True)
    (folder / "run.ttl").write_text(HEAD.format(run=run), encoding="utf-8")
    more = more.encode() if isinstance(more, str) else more
    (folder / HOST / name).write_bytes(THREAD.format(run=run).encode() + more)
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / ".provio").mkdir(mode=0o700)
    return Home(tmp_path / ".provio")


def said(home: Home) -> set[tuple[str, str, str, str]]:
    """Return all statements of the store."""
    quads = ox.parse(StoreReader(home).dataset(None, ox.RdfFormat.N_QUADS), ox.RdfFormat.N_QUADS)
    named = (quad for quad in quads if isinstance(quad.graph_name, ox.NamedNode))
    return {(q.graph_name.value, q.subject.value, q.predicate.value, q.object.value) for q in named}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> set[tuple[str, str, str, str]]:
    """Return the statements that follow from the valid thread file alone."""
    home = Home(tmp_path_factory.mktemp("good") / ".provio")
    record(home, RUN)
    assert merge(home).damages == []
    return said(home)


FOREIGN = f"{RUN_BASE}{OTHER}/{HOST}/1.2.0/"
STATEMENTS = {
    "another run": f'<{RUN_BASE}{OTHER}> a :Gap ; :reason "x" .',
    "another run's process": f'<{FOREIGN}> a :Process ; :pid 9 ; :argv "evil" .',
    "another run's gap": f'<g1> a :Gap ; :reason "x" ; :about <{FOREIGN}> .',
    "another host's process": f'<{RUN_BASE}{RUN}/other/1.2.0/> a :Process ; :pid 9 ; :argv "evil" .',
    "another host's opening": f"<a9> a :Access ; :object <{RUN_BASE}{RUN}/other/1.2.0/o1> ; :firstWrite 1 .",
    "the index": f'<{RUN_BASE}{OTHER}/bundle> a :Gap ; :contentHash "x" ; :reason "y" .',
    "the derived graph": '<https://w3id.org/provio/derived> a :Gap ; :reason "y" .',
    "a version": '<https://w3id.org/provio/version/d/1.2.3.4> a :Gap ; :reason "y" .',
    "a script": '<javascript:alert(1)> a :Gap ; :reason "y" .',
    "a graph elsewhere": "<http://127.0.0.1:1/> a <http://www.w3.org/2002/07/owl#Ontology> ;"
    " <http://www.w3.org/2002/07/owl#imports> <http://127.0.0.1:1/x> .",
    "an operation that is none": "<a9> a :Access ; :object <../o1> ; :operation <http://x/evil> ; :count 1 .",
    "a property as operation": "<a9> a :Access ; :object <../o1> ; :operation :path ; :count 1 ; :first 1 .",
    "an unknown failure": "<f9> a :Failure ; :operation <http://x/y> ; :api \"z\" ; :errno 2 ; :count 1 .",
    "a device in an IRI": '<../o9> a :Pipe ; :device "1> <x:a> <x:b> .\\n<x:c" ; :inode 1 ; :openedNs 5 .',
    "a hash that is none": '<../../hash/1.2> :device "8:1" ; :sha256 "=cmd" .',
    "a usual size": "<a1/write> a :AccessSizes ; :usualSize 99 .",
    "no usual size": "<a1/write> a :AccessSizes ; :size1 3 .",
    "a dataset in another host's file": f'<../o9> a :Dataset ; :inFile <{RUN_BASE}{RUN}/other/1.2.0/o1> ; :path "/d" .',
    "another run's source": f"<../o9/o8> :object <../o9> ; :virtualSource <{FOREIGN}> .",
    "a shape that is none": '<../o9> a :Dataset ; :inFile <../o1> ; :path "/d" ; :shape "<b>" .',
    "a token that is none": '<../o9> a :Dataset ; :inFile <../o1> ; :path "/d" ; :token "<b>" .',
    "a number that is none": '<a9> a :Access ; :object <../o1> ; :writes "x" .',
}  # fmt: skip


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
def test_records_that_do_not_belong_to_a_thread_file_are_rejected(
    home: Home, undisturbed: set[tuple[str, str, str, str]], statement: str
) -> None:
    """The run is merged as without them, plus a gap; the damage is reported."""
    record(home, RUN, statement)
    outcome = merge(home)
    more = {fact for fact in said(home) ^ undisturbed if "contentHash" not in fact[2]}
    assert outcome.merged == [RUN]
    assert all("/damage" in fact[1] for fact in more), more
    assert bool(outcome.damages) == (
        statement is not STATEMENTS["a graph elsewhere"]
    ) or "does not belong to this file" in str(outcome.damages)


INJECTION = "z> <x:a> <x:b> .\n<x:c> <x:d> <x:e"


def test_no_text_becomes_a_statement(home: Home) -> None:
    """Names of functions, folders and files, boot and host: none ends its term early."""
    text = INJECTION.replace("\n", "\\n")
    folder = record(home, RUN, f'<f1> a :Failure ; :operation :Read ; :api "{text}" ; :errno 2 ; :count 1 .')
    head = (folder / "run.ttl").read_text(encoding="utf-8").replace('"boot"', f'"{text}"').replace('"ada"', f'"{text}"')
    (folder / "run.ttl").write_text(head + f'<{RUN_BASE}{RUN}> :parentRun "{text}" .', encoding="utf-8")
    (folder / INJECTION.replace("/", "")).mkdir()
    (folder / INJECTION / "1.2.0.1.ttl").write_text("damaged", encoding="utf-8")
    (folder / INJECTION / "1.2.0.1.gap").symlink_to('x" . <x:a> <x:b> <x:c> . \x1b]')
    (folder / HOST / "7> <x:a.2.0.1.gap").symlink_to("reason")
    (folder / HOST / "²².2.0.1.gap").symlink_to("reason")
    assert merge(home).merged == [RUN]
    assert not [fact for fact in said(home) if any(term.startswith("x:") for term in fact)]


ENDLESS = {
    "comments in a statement": b"<x:a> <x:b>\n" + b"# a .\n" * 20_000 + b"}",
    "ends in a text": b'<x:a> <x:b> """\n' + b"x .\n" * 20_000 + b"\\q",
    "one text after another": b'<x:a> <x:b> """\n' + b'x """ .\n<x:a> <x:b> """ .\n' * 20_000,
    "nested nodes": b"<x:a> <x:b> " + b"[ <x:c> " * 300_000,
    "nested lists": b"<x:a> <x:b> " + b"( " * 300_000,
    "quoted triples": b"<x:a> <x:b> " + b"<<( <x:a> <x:b> " * 100_000,
    "a long number": b"<o9> a :FileVersion ; :openedNs " + b"1" * 1_000_000 + b" .",
    "a long text": b'<../g9> a :Gap ; :reason "' + b"x" * (17 << 20) + b'" .',
    "a long path": b'<../o9> a :FileVersion ; :openedNs 5 ; :path "' + b"/a/.." * 200_000 + b'" .',
    "nothing in a path": b'<../o9> a :FileVersion ; :openedNs 5 ; :flags 1 ; :path "/a\\u0000b" .',
    "no text": b"\xff\xfe\x00" * 1000,
}


@pytest.mark.parametrize("more", ENDLESS.values(), ids=ENDLESS)
@pytest.mark.integration
def test_a_damaged_file_costs_only_its_records_and_little_time(home: Home, more: bytes) -> None:
    """The valid part is kept, within 20 s of processor time and 4 GiB of address space, far more than needed."""
    record(home, RUN, more)
    limited = "import resource as r; r.setrlimit(r.RLIMIT_CPU, (20, 20)); r.setrlimit(r.RLIMIT_AS, (4 << 30, 4 << 30));"
    script = f"{limited} from provio.settings.home import Home; from provio.merge.runs import merge;"
    script += f" from pathlib import Path; print(merge(Home(Path({str(home.path)!r}))).merged)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == (f"['{RUN}']\n", 0), done.stderr[-2000:]
    found = sorted(fact[3].removeprefix(NS) for fact in said(home) if fact[3].startswith(NS))
    gap = [] if more in (ENDLESS["a long path"], ENDLESS["nothing in a path"]) else ["Gap"]  # these two can be parsed
    assert found == [*gap, "Phase", "Process", "Program", "Run", "Thread", "User", "Write"]


def test_only_plain_files_are_read(home: Home, tmp_path: Path) -> None:
    """FIFOs, devices, links, sparse files of 1 TB, in every place that merge reads: reported and skipped."""
    folder = record(home, RUN)
    secret = tmp_path / "secret.ttl"
    secret.write_text(f'<{RUN_BASE}{RUN}/{HOST}/1.2.0/1/g> a <{NS}Gap> ; <{NS}reason> "stolen" .', encoding="utf-8")
    os.mkfifo(folder / HOST / "fifo.ttl")
    (folder / HOST / "link.ttl").symlink_to(secret)
    (folder / HOST / "zero.ttl").symlink_to("/dev/zero")
    os.truncate(os.open(folder / HOST / "sparse.ttl", os.O_CREAT | os.O_WRONLY, 0o600), 1 << 40)
    (folder / "linked").symlink_to(tmp_path)
    other = record(home, OTHER)
    (other / "run.ttl").unlink()
    os.mkfifo(other / "run.ttl")
    (home.runs / RUN.replace("1fe26", "1fe27")).symlink_to(folder)
    outcome = merge(home)
    told = "\n".join(map(str, outcome.damages))
    assert "sparse.ttl:0: is too large" in told
    assert f"{other}/run.ttl:0: is no regular file" in told
    assert not any(name in told for name in ("fifo.ttl", "link.ttl", "zero.ttl"))
    assert not any("stolen" in fact[3] for fact in said(home))
    assert len(outcome.merged) == 2


@pytest.mark.parametrize("where", ["/", "/proc/self/root", "link", "other"])
def test_a_folder_that_a_trace_names_is_read_only_if_it_belongs_to_the_run(
    home: Home, tmp_path: Path, where: str
) -> None:
    """`traceFolder`: of the run's name, a folder, of the same owner."""
    if where == "link":
        (tmp_path / RUN).symlink_to("/proc")
        where = str(tmp_path / RUN)
    elif where == "other":
        if os.geteuid():
            pytest.skip("not root: no folder can be made another user's")
        record(Home(tmp_path), RUN, '<g9> a :Gap ; :reason "stolen" .')
        os.chown(tmp_path / "runs" / RUN, 12345, 12345)
        where = str(tmp_path / "runs" / RUN)
    folder = record(home, RUN)
    with (folder / "run.ttl").open("a", encoding="utf-8") as file:
        file.write(f'<{RUN_BASE}{RUN}> :traceFolder "{where}" .')
    assert merge(home).damages == []
    assert not any("stolen" in fact[3] for fact in said(home))


def test_nothing_is_written_through_a_link(home: Home, tmp_path: Path) -> None:
    """Post-processing replaces a link at the name of its file."""
    from provio.trace import post_run
    from provio.trace.read import read_run

    victim = tmp_path / "victim"
    victim.write_text("kept", encoding="utf-8")
    folder = record(home, RUN)
    for name in ("settled.new", "settled.ttl"):
        (folder / HOST / name).symlink_to(victim)
    post_run.postprocess_host(read_run(folder), HOST)
    assert victim.read_text(encoding="utf-8") == "kept"
    assert isinstance(merge(home), Outcome)


def test_the_valid_part_before_an_error_is_kept() -> None:
    """Also if lines in a literal look like the ends of statements."""
    good = b"".join(b'<x:%d> <%sreason> "y" .\n' % (number, NS.encode()) for number in range(100))
    damages: list[object] = []
    found = parse(good + b'<x:z> <x:b> """\n' + b"x .\n" * 50 + b"\\q", Path("x"), damages)  # type: ignore[arg-type]
    assert (len(found), len(damages)) == (100, 1)


def test_names_of_any_kind_are_preserved(home: Home) -> None:
    """A path with every character that Turtle can write is unchanged in the store."""
    path = "/d/" + "".join(map(chr, [*range(1, 0xD7FF, 37), 0x202E, 0x1F600, 0x10FFFD]))
    opened = ':device "8:1" ; :inode 8 ; :openedNs 1795176900000000100 .'
    read = "<a2> a :Access ; :object <../o2> ; :firstRead 9 ; :lastRead 9 ; :reads 1 ; :readBytes 1 ."
    record(home, RUN, f"<../o2> a :FileVersion ; :path {ox.Literal(path)} ; {opened} {read}")
    assert merge(home).damages == []
    assert [fact for fact in said(home) if fact[2] == f"{NS}path" and fact[3] == path]


@pytest.mark.integration
def test_validate_fetches_nothing(tmp_path: Path, project: Project) -> None:
    """A context, an import or an external entity: no request is sent, and no other file is read."""
    secret = tmp_path / "secret"
    secret.write_text("stolen", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        there = f"http://127.0.0.1:{server.getsockname()[1]}/x"
        prov = "http://www.w3.org/ns/prov#"
        files = {
            "a.jsonld": f'{{"@context": "{there}", "@id": "http://x/a", "@type": "{prov}Entity"}}',
            "b.ttl": f"@base <{there}> . <> a <{prov}Entity> ; <http://www.w3.org/2002/07/owl#imports> <> .",
            "c.provx": f'<!DOCTYPE d [<!ENTITY e SYSTEM "file://{secret}"><!ENTITY f SYSTEM "{there}">]>'
            f'<p:document xmlns:p="{prov}"><p:entity p:id="x"><p:label>&e;&f;</p:label></p:entity></p:document>',
        }
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
            done = project.provio("validate", str(tmp_path / name), code=None)
            assert done.returncode in (0, 1)
            assert "stolen" not in done.stdout + done.stderr
        with pytest.raises(BlockingIOError):
            server.accept()
