"""A store on a server: Oxigraph and Virtuoso give the rows and quads of the embedded store; errors are reported."""

from __future__ import annotations

import base64
import contextlib
import http.server
import io
import os
import shutil
import signal
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pyoxigraph as ox
import pytest
import steps
from concurrent_runs import growing, while_one_runs
from conftest import ROOT, Project, in_memory, provio_command
from sparql_servers import Server, account, serve

from provio.base.errors import NothingKnown, StoreError
from provio.base.vocab import PROV, RDF, RUN_BASE
from provio.merge.cross_run.facts import DERIVED
from provio.settings import load
from provio.settings.home import Home
from provio.stats import figures
from provio.store import INDEX, open_reader, open_writer
from provio.store.remote import terms
from provio.store.remote.places import record_of
from provio.store.remote.reader import connect

tmp_path = in_memory

requests = pytest.importorskip("requests")

STRIDE = 2  # steps between two kills of a merge
QUERIES = [
    "SELECT DISTINCT ?f { ?f a provio:File } ORDER BY ?f",
    "SELECT (COUNT(DISTINCT ?v) AS ?n) (SUM(?b) AS ?sum) { ?v provio:wasWrittenBy ?io . ?io provio:bytes ?b }",
    "SELECT ?p (MIN(?t) AS ?a) (MAX(?t) AS ?b) { ?p a provio:Process ; prov:startedAtTime ?t } GROUP BY ?p ORDER BY ?p",
    "SELECT ?r ?s ?n { ?r a provio:Run ; prov:startedAtTime ?s OPTIONAL { ?r provio:name ?n } } ORDER BY ?s",
    "SELECT DISTINCT ?o { ?v provio:path ?x ; prov:wasGeneratedBy/prov:wasAssociatedWith ?o } ORDER BY ?o",
    """SELECT ?s (YEAR(?s) AS ?n) { ?r a provio:Run ; prov:startedAtTime ?s
        FILTER(?s > '2020-01-01T00:00:00Z'^^xsd:dateTime) } ORDER BY ?s""",
    "SELECT DISTINCT ?x { <START> (provio:carriedFrom|provio:launchedBy)+ ?x } ORDER BY ?x",
    "SELECT DISTINCT ?x { ?x (provio:carriedFrom|provio:launchedBy)* <START> } ORDER BY ?x",
    """SELECT DISTINCT ?v ?size { ?v a provio:FileVersion ; provio:size ?size FILTER(?size > 3) }
        ORDER BY DESC(?size) ?v LIMIT 5""",
    "SELECT ?r (COUNT(*) AS ?n) { ?p a provio:Process ; provio:partOf ?r } GROUP BY ?r ORDER BY ?r",
    "SELECT ?x { ?r provio:commandLine ?x } ORDER BY ?x",
    "SELECT (COUNT(DISTINCT ?s) AS ?n) { ?s a provio:FileVersion }",
    "SELECT DISTINCT ?v { ?p provio:usedAsNoise ?v } ORDER BY ?v",
    "ASK { ?f a provio:File }",
    "ASK { ?f a provio:Rank }",
]
IMPLIED = [
    "SELECT DISTINCT ?x { ?x a prov:Agent ; rdfs:label ?l } ORDER BY ?x",
    "SELECT (COUNT(?x) AS ?n) (COUNT(DISTINCT ?x) AS ?m) { ?x a prov:Activity, provio:Phase }",
    "SELECT DISTINCT ?x { ?x provio:noise true FILTER NOT EXISTS { ?x a prov:Activity } } ORDER BY ?x",
    "SELECT DISTINCT ?p { ?p prov:used/a prov:Entity } ORDER BY ?p",
]
CONSTRUCT = "CONSTRUCT { ?v prov:wasGeneratedBy ?p } { ?v prov:wasGeneratedBy ?p }"


def record(project: Project) -> None:
    """Record runs that overwrite, append, pipe, and read each other's outputs."""
    (project.path / "a").write_text("b\na\n")
    for script in ("cat a > b; sort b > c", "cat c > d; tar cf - d | gzip > e.gz", "echo y >> d", "cat a d > f; rm b"):
        project.provio("run", "--quiet", "--no-merge", "--", "bash", "-c", script)


def quads(project: Project, *options: str) -> list[str]:
    return sorted(project.provio("export", "--as", "nquads", *options).stdout.splitlines())


def assert_same(project: Project, url: str) -> None:
    """Check that the server answers every query like the embedded store."""
    asked: list[tuple[str, ...]] = [
        ("lineage", "f", "--as", "json"), ("lineage", "e.gz", "--via", "control"), ("lineage", "--forward", "a"),
        ("why", "c"), ("why", "e.gz"), ("impact", "a"), ("runs",), ("show", "last"), ("validate",), ("verify",),
        ("validate", "last"), ("lineage", "f", "--stale"), ("query", QUERIES[0]), ("query", QUERIES[-1]),
        *(("query", query) for query in IMPLIED),
    ]  # fmt: skip
    for arguments in asked:
        here = project.provio(*arguments, code=None)
        there = project.provio(*arguments, "--store", url, code=None)
        assert (there.stdout, there.stderr, there.returncode) == (here.stdout, here.stderr, here.returncode), arguments
    assert quads(project, "--store", url) == quads(project)
    assert_same_rows(project, url)
    turtle = [sorted(project.provio("query", CONSTRUCT, *o).stdout.split()) for o in ((), ("--store", url))]
    assert turtle[0] == turtle[1]


def assert_same_rows(project: Project, url: str) -> None:
    """Compare rows with their terms, in order."""
    home = Home(project.path / ".provio")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HOME", str(project.path.parent))
        here, there = open_reader(home), open_reader(home, load.load(flags={"store": url}))
    start = next(here.rows("SELECT ?x { ?x provio:launchedBy ?y } ORDER BY DESC(?x) LIMIT 1"))["x"]
    for query in QUERIES:
        asked = query.replace("START", start)
        form = ox.QueryResultsFormat.TSV if asked.startswith("SELECT") else ox.QueryResultsFormat.JSON
        assert there.query(asked).serialize(format=form) == here.query(asked).serialize(format=form), asked
    for ways in (("file", "operation"), ("thread", "api"), ("bottleneck",)):
        assert figures(there).rows(*ways) == figures(here).rows(*ways), ways


@pytest.mark.slow
def test_oxigraph_gives_the_same(project: Project, oxigraph: Server) -> None:
    """Rows, lineage, quads and findings equal those of the embedded store; a repeated merge changes nothing."""
    record(project)
    assert_same(project, oxigraph.url)
    assert "0 runs merged, 4 unchanged" in project.provio("merge", "--store", oxigraph.url).stderr


@pytest.mark.slow
def test_virtuoso_gives_the_same(project: Project, virtuoso: Server) -> None:
    """The same for Virtuoso, with digest authentication and an account from netrc."""
    record(project)
    account(project)
    assert_same(project, virtuoso.url)
    account(project, password="wrong-word")
    refused = project.provio("runs", "--store", virtuoso.url, code=1)
    assert "401" in refused.stderr and "wrong-word" not in refused.stderr


@pytest.mark.integration
def test_a_run_that_is_merged_again_is_replaced(project: Project, oxigraph: Server) -> None:
    """A later state of a run replaces its earlier one, in its own graph and in the derived graphs."""
    record(project)
    project.provio("merge", "--store", oxigraph.url)
    folder = sorted((project.path / ".provio" / "runs").iterdir())[1]
    file = sorted(folder.glob("*/*.ttl"))[0]
    file.write_bytes(file.read_bytes() + b"# another comment\n")
    assert "1 run merged" in project.provio("merge", "--store", oxigraph.url).stderr
    assert quads(project, "--store", oxigraph.url) == quads(project)


@pytest.mark.integration
def test_an_unreachable_server(project: Project, oxigraph: Server, tmp_path: Path) -> None:
    """If the merge fails, the run stays pending and ends with its own exit code; the next merge includes it."""
    project.env["PROVIO_STORE"] = oxigraph.url
    record(project)
    project.provio("merge")
    oxigraph.process.kill()
    oxigraph.process.wait()
    ended = project.provio("run", "--", "bash", "-c", "cat a > late; exit 3", code=3)
    assert "refuses connections" in ended.stderr
    asked = project.provio("runs", code=1)
    assert asked.stderr.splitlines()[-1].startswith("provio: http://127.0.0.1:")
    again = serve(tmp_path / "oxigraph", int(oxigraph.url.rpartition(":")[2]))
    try:
        assert len(project.provio("runs", "--as", "tsv").stdout.splitlines()) == 6
        there = quads(project)
        del project.env["PROVIO_STORE"]
        assert there == quads(project)
    finally:
        again.process.kill()
        again.process.wait()


@pytest.mark.slow
def test_a_killed_merge_is_finished_by_the_next(project: Project, oxigraph: Server) -> None:
    """After a kill at regular intervals of steps, the next merge does not wait, and gives the quads of an undisturbed
    one."""
    record(project)
    step, whole = 1, quads(project)
    while steps.killed(step, project.env, "merge", "--store", oxigraph.url, cwd=project.path):
        assert quads(project, "--store", oxigraph.url) == whole
        oxigraph.update("DROP ALL")
        step += STRIDE
    assert step > 15 * STRIDE, step


@pytest.mark.slow
@pytest.mark.parametrize("server", ["oxigraph", "virtuoso"])
def test_a_reader_never_sees_half_a_run(
    project: Project, server: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """During merges and repeated merges, each visible run has all its processes and versions."""
    record(project)
    account(project)
    monkeypatch.setenv("HOME", str(project.path.parent))
    url = request.getfixturevalue(server).url
    count = """SELECT ?run (COUNT(DISTINCT ?x) AS ?n) (COUNT(DISTINCT ?v) AS ?m) { ?b provio:ofRun ?run .
        { ?x provio:partOf ?run } UNION { ?x provio:partOf/provio:partOf ?run . ?v prov:wasGeneratedBy ?x } }
        GROUP BY ?run"""
    whole = {tuple(row.items()) for row in project.rows(count)}
    settings, home = load.load(flags={"store": url}), Home(project.path / ".provio")
    command = [*provio_command(), "merge", "--rebuild", "--store", url]
    seen: set[int] = set()
    for _ in range(3):
        merging = subprocess.Popen(command, cwd=project.path, env=project.env, stderr=subprocess.DEVNULL)
        while merging.poll() is None:
            try:
                rows = {tuple(row.items()) for row in open_reader(home, settings).rows(count)}
            except NothingKnown:
                continue
            assert rows <= whole
            seen.add(len(rows))
        assert merging.wait() == 0
    assert seen and quads(project) == quads(project, "--store", url)


@pytest.mark.integration
def test_a_run_that_is_removed(project: Project, oxigraph: Server) -> None:
    """It is removed from the server with all conclusions from it: the content is as without the run."""
    record(project)
    project.provio("merge", "--store", oxigraph.url)
    second = sorted(folder.name for folder in (project.path / ".provio" / "runs").iterdir())[1]
    project.provio("rm", second, "--yes", "--store", oxigraph.url)
    assert quads(project, "--store", oxigraph.url) == quads(project)
    assert not any(second in quad for quad in quads(project, "--store", oxigraph.url))


@pytest.mark.slow
def test_a_run_during_which_a_file_appeared_is_removed(project: Project, oxigraph: Server) -> None:
    """While its graph waits to be dropped, no conclusion uses it."""
    with while_one_runs(project):
        project.sh("echo 4 > new")
        project.run("cat new > d")
    project.provio("merge", "--store", oxigraph.url)
    gap = "?gap provio:reason ?reason FILTER(CONTAINS(?reason, 'went on'))"
    project.env["PROVIO_STORE"] = oxigraph.url
    assert project.count(gap) == 1
    project.provio("rm", min(folder.name for folder in (project.path / ".provio" / "runs").iterdir()), "--yes")
    assert project.count(gap) == 0


@pytest.mark.integration
def test_a_rebuild_after_a_killed_removal_keeps_conclusions_from_other_runs(project: Project, oxigraph: Server) -> None:
    """The last run of a record that shares its server is set aside: conclusions from two runs of another record
    stay."""
    project.env["PROVIO_STORE"] = oxigraph.url
    project.sh("echo 1 > a; echo 2 > b")
    writer = growing(project, "wb")
    project.run("cat x > z")
    project.sh("touch seen")
    assert writer.wait(timeout=60) == 0
    project.provio("merge")
    before = quads(project)
    derived = f"GRAPH <{DERIVED}> {{ ?s ?p ?o }}"
    assert project.count(derived) > 0
    theirs = {**project.env, "PROVIO_HOME": str(project.path / "other")}
    project.provio("run", "--quiet", "--", "sh", "-c", "echo 1 > w", env=theirs)
    (run,) = (project.path / "other" / "runs").iterdir()
    (project.path / "other" / "removed").mkdir()
    run.rename(project.path / "other" / "removed" / run.name)  # a possible state after a killed removal
    project.provio("merge", "--rebuild", env=theirs)
    assert quads(project) == before


@pytest.mark.slow
def test_records_that_share_a_server_have_nothing_to_do_with_each_other(project: Project, oxigraph: Server) -> None:
    """Each has its own graphs: merges and removals in one do not change the other's."""
    record(project)
    theirs = {**project.env, "PROVIO_HOME": str(project.path / "other")}
    project.provio("merge", "--store", oxigraph.url)
    own = set(quads(project))
    for text in ("cat a > seen", "cat a > again"):
        project.provio("run", "--quiet", "--no-merge", "--", "sh", "-c", text, env=theirs)
    project.provio("merge", "--store", oxigraph.url, env=theirs)
    assert set(quads(project, "--store", oxigraph.url)) > own
    first, second = sorted(folder.name for folder in (project.path / "other" / "runs").iterdir())
    project.provio("rm", first, "--yes", "--store", oxigraph.url, env=theirs)
    project.provio("merge", "--rebuild", "--store", oxigraph.url)
    left = set(quads(project, "--store", oxigraph.url))
    assert left > own
    assert not any(first in quad for quad in left)
    project.provio("rm", second, "--yes", "--store", oxigraph.url, env=theirs)
    assert set(quads(project, "--store", oxigraph.url)) == own


@pytest.mark.integration
def test_graphs_of_single_runs_are_taken_over(project: Project, oxigraph: Server) -> None:
    """Graphs of an earlier layout: those of this record's runs are replaced by its next merge, all others stay and
    are queried."""
    record(project)
    run = min(folder.name for folder in (project.path / ".provio" / "runs").iterdir())
    own, other = (f"{RUN_BASE}{name}/bundle" for name in (run, "01a1fe9d-0000-7000-8000-000000000000"))
    for graph in (own, other):
        kept = f"GRAPH <{graph}> {{ <{graph}> <urn:b> <urn:c> }}"
        oxigraph.update(f"INSERT DATA {{ GRAPH <{INDEX}> {{ <{graph}> a <{PROV}Bundle> }} {kept} }}")
    project.provio("merge", "--store", oxigraph.url)
    there = quads(project, "--store", oxigraph.url)
    assert any(other in quad for quad in there)
    assert not any("urn:b" in quad and own in quad for quad in there)


@pytest.mark.slow
def test_the_local_copy_of_a_server_record_is_lost(project: Project, oxigraph: Server) -> None:
    """If the local copy is lost, the next merge sends the record again. If only the lists are lost, a removal is
    refused, with a remedy."""
    record(project)
    project.provio("merge", "--store", oxigraph.url)
    own, here = quads(project), project.path / ".provio" / "servers"
    shutil.rmtree(here)
    assert quads(project, "--store", oxigraph.url) == own
    for one in here.rglob("*.gz"):
        one.unlink()
    run = min(folder.name for folder in (project.path / ".provio" / "runs").iterdir())
    refused = project.provio("rm", run, "--yes", "--store", oxigraph.url, code=1)
    assert "provio merge --rebuild" in refused.stderr
    for options in ((), ("--store", oxigraph.url)):
        project.provio("merge", "--rebuild", *options)
    assert quads(project, "--store", oxigraph.url) == quads(project)


def test_texts_with_line_separators_reach_a_server(oxigraph: Server, tmp_path: Path) -> None:
    """For any number of them, and any division of an update."""
    home, settings = Home(tmp_path / ".provio"), load.load(flags={"store": oxigraph.url})
    home.path.mkdir()
    lines = ["<urn:s> <urn:p> <urn:o> .\n"] + [f'<urn:s> <urn:p> "{n}\u2028\x85" .\n' for n in range(600)]
    with open_writer(home, settings, wait=True) as writer:
        writer.add(DERIVED, lines)
        writer.publish()
    there = connect(settings).get(f"{record_of(home)}/derived").read().decode()
    assert sorted(ox.parse(there, ox.RdfFormat.N_TRIPLES), key=str) == sorted(
        ox.parse("".join(lines), ox.RdfFormat.N_TRIPLES), key=str
    )


@pytest.mark.slow
@pytest.mark.parametrize("server", ["oxigraph", "virtuoso"])
def test_a_reader_never_sees_a_partial_update(
    project: Project, server: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For any size of a change of derived graphs, a query is answered from before or after, also by the graph's own
    name."""
    account(project)
    monkeypatch.setenv("HOME", str(project.path.parent))
    home, many = Home(project.path / ".provio"), 3000
    settings = load.load(flags={"store": request.getfixturevalue(server).url})
    bundle = [f"<{DERIVED}> <{RDF}type> <{PROV}Bundle> .\n"]

    def renew() -> None:
        for number in range(6):
            with open_writer(home, settings, wait=True) as writer:
                writer.remove_statements(DERIVED, list(writer.statements(DERIVED)))
                writer.add(DERIVED, [f'<urn:s{one}> <urn:state> "{number}" .\n' for one in range(many)])
                writer.index(bundle)
                writer.publish()

    renewing = threading.Thread(target=renew)
    renewing.start()
    seen: set[tuple[str, ...]] = set()
    while renewing.is_alive():
        with contextlib.suppress(NothingKnown):
            table = open_reader(home, settings).table("SELECT ?o (COUNT(?s) AS ?n) { ?s <urn:state> ?o } GROUP BY ?o")
            seen.add(tuple(f"{state}: {count}" for state, count in table))
    renewing.join()
    assert seen <= {(f"{number}: {many}",) for number in range(6)}
    assert len(seen) > 1
    reader = open_reader(home, settings)
    assert [row["g"] for row in reader.rows("SELECT DISTINCT ?g { GRAPH ?g { ?s <urn:state> '5' } }")] == [DERIVED]
    assert len(list(reader.rows(f"SELECT ?s {{ GRAPH <{DERIVED}> {{ ?s <urn:state> '5' }} }}"))) == many
    assert len(list(reader.rows("SELECT ?s { ?s <urn:state> '5' }", [DERIVED]))) == many
    assert {quad.graph_name.value for quad in reader.quads() if quad.predicate.value == "urn:state"} == {DERIVED}
    with open_writer(home, settings, wait=True) as writer:
        writer.drop(DERIVED)
        writer.publish()
    assert list(open_reader(home, settings).rows("SELECT ?s { ?s <urn:state> ?o }")) == []


@pytest.mark.integration
def test_two_mergers_at_once(project: Project, oxigraph: Server) -> None:
    """Two merges into one server take turns: all is there once."""
    record(project)
    command = [*provio_command(), "merge", "--store", oxigraph.url]
    both = [subprocess.Popen(command, cwd=project.path, env=project.env, stderr=subprocess.PIPE) for _ in range(2)]
    assert [process.wait(60) for process in both] == [0, 0], [process.communicate() for process in both]
    assert quads(project, "--store", oxigraph.url) == quads(project)


class Front(http.server.BaseHTTPRequestHandler):
    """A proxy that requires basic authentication; `/away` redirects."""

    behind = ""

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.startswith("/away"):
            self.reply(HTTPStatus.FOUND, b"", {"Location": "http://user:word@elsewhere.invalid/x"})
        elif self.headers.get("Authorization") != "Basic " + base64.b64encode(b"ada:love lace").decode():
            self.reply(HTTPStatus.UNAUTHORIZED, b"", {"WWW-Authenticate": 'Basic realm="x"'})
        else:
            passed = {name: self.headers[name] for name in ("Content-Type", "Accept") if name in self.headers}
            request = urllib.request.Request(self.behind + self.path, body or None, passed, method=self.command)
            try:
                with urllib.request.urlopen(request, timeout=60) as found:
                    self.reply(found.status, found.read(), dict(found.headers))
            except urllib.error.HTTPError as error:
                self.reply(error.code, error.read(), {})

    do_GET = do_POST = do_PUT = answer  # noqa: N815

    def reply(self, code: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response_only(code)
        for name, value in headers.items():
            if name.lower() in ("content-type", "server", "location", "www-authenticate"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def front(oxigraph: Server) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Front)
    Front.behind = oxigraph.url
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.integration
def test_basic_authentication(project: Project, front: str) -> None:
    """With an account of the user's own file, sent only if requested; a file that others can read is refused."""
    record(project)
    assert "requires a name and password" in project.provio("runs", "--store", front, code=1).stderr
    file = project.path.parent / ".config" / "provio" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f'[credentials."{front}"]\nuser = "ada"\npassword = "love lace"\n')
    file.chmod(0o644)
    open_file = project.provio("runs", "--store", front, code=2).stderr
    assert "chmod 600" in open_file and "lace" not in open_file
    file.chmod(0o600)
    assert quads(project, "--store", front) == quads(project)
    (project.path / "provio.toml").write_text(f'[credentials."{front}"]\nuser = "ada"\npassword = "love lace"\n')
    wrong = project.provio("runs", "--store", front, code=2).stderr
    assert "credentials: is only allowed in" in wrong and "lace" not in wrong


@pytest.mark.integration
def test_no_other_host_receives_anything(project: Project, front: str) -> None:
    """A redirect is reported, not followed; a URL with a password is refused, and not shown; proxies are not used."""
    record(project)
    redirected = project.provio("runs", "--store", front + "/away", code=1).stderr
    assert "redirects to elsewhere.invalid/x" in redirected and "word" not in redirected.replace("password", "")
    for url in ("http://ada:lovelace@127.0.0.1:1", "http://lovelace@127.0.0.1:1"):
        refused = project.provio("runs", "--store", url, code=2).stderr
        assert "netrc" in refused and "lovelace" not in refused
    project.env["http_proxy"] = front
    assert "127.0.0.1:9 refuses connections" in project.provio("runs", "--store", "http://127.0.0.1:9", code=1).stderr


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:99999", "http://127.0.0.1:-1", "http://127.0.0.1:x", "http://[::1", "http://a b/", "http://a..b",
     "http://%zz:9", "http://*:9", "http://host:", f"http://{'a' * 64}.example", "ftp://host", "host:7878", ""],
)  # fmt: skip
def test_an_invalid_url(project: Project, url: str) -> None:
    """One line with the form of a URL, exit code 2; also for one of several stores."""
    done = project.provio("runs", "--store", url, code=2)
    assert "such as http://127.0.0.1:7878" in done.stderr and done.stderr.count("\n") == 1
    (project.path / "provio.toml").write_text(f'stores = ["{url}"]\n')
    if "://" in url:
        done = project.provio("runs", code=2)
        assert "provio.toml:1: stores: " in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_server_that_goes_in_the_middle(project: Project, oxigraph: Server, tmp_path: Path) -> None:
    """If it is killed at a step, the merge ends with one line; with the server running again, the next merge is
    complete."""
    record(project)
    project.provio("merge", "--store", oxigraph.url)
    at, server, whole = int(oxigraph.url.rpartition(":")[2]), oxigraph, quads(project)
    for step in (5, 15, 25):
        words = ("merge", "--rebuild", "--store", server.url)
        command = steps.until(step, *words, victim=server.process.pid)
        merging = subprocess.run(command, cwd=project.path, env=project.env, capture_output=True, text=True)
        assert server.process.wait() == -signal.SIGKILL
        assert (merging.returncode, len(merging.stderr.splitlines())) == (1, 1), merging.stderr
        server = serve(tmp_path / "oxigraph", at)
        try:
            assert quads(project, "--store", server.url) == whole
        except BaseException:
            server.process.kill()
            raise
    server.process.kill()
    server.process.wait()


@pytest.mark.parametrize(
    "answer",
    [b"", b"[]", b"7", b'{"head": 1}', b'{"head": {}, "results": {"bindings": [{"graph": 7}]}}', b"[" * 100_000],
)
def test_an_answer_that_is_none(answer: bytes) -> None:
    """Any answer that is no SPARQL result is reported as such."""
    with pytest.raises(StoreError, match="does not speak SPARQL"):
        list(terms.rows(io.BytesIO(answer)))


@pytest.mark.integration
def test_without_requests(project: Project, tmp_path: Path) -> None:
    """The missing package that servers need is named."""
    record(project)
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "requests.py").write_text("raise ImportError('none here')\n")
    project.env["PYTHONPATH"] = str(tmp_path / "without")
    missing = project.provio("runs", "--store", "http://127.0.0.1:9", code=1)
    assert f"pip install -e '{ROOT}[remote]'" in missing.stderr.splitlines()[-1]


@pytest.mark.integration
def test_an_invalid_store(project: Project, oxigraph: Server) -> None:
    """A path that the server does not have, and an update, are refused in one line."""
    record(project)
    lost = project.provio("runs", "--store", oxigraph.url + "/nowhere", code=1).stderr.splitlines()
    assert "404" in lost[-1] and "docs/servers.md" in lost[-1]
    for update in ("DROP ALL", "INSERT DATA { <urn:a> <urn:b> <urn:c> }"):
        assert "is an update" in project.provio("query", update + " #{}", "--store", oxigraph.url, code=1).stderr
        asked_for = project.provio("query", "--update", update, "--store", oxigraph.url, code=1).stderr
        assert f"send the update to {oxigraph.url}/update yourself" in asked_for.splitlines()[-1]
    assert os.path.exists(project.path / ".provio" / "runs")
