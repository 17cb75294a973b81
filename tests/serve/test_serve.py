"""`provio serve`: Oxigraph's server behind a front that rejects updates, on real sockets."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

import pytest
from conftest import Project, assert_valid, new_project
from hostile_names import NAMES
from serve_process import Site, gone, serving

from provio.base.errors import ProvioError, TimedOut
from provio.merge.cross_run.facts import DERIVED
from provio.serve.oxigraph import OxigraphServer
from provio.serve.worker import Worker

pytest.importorskip("waitress")
pytest.importorskip("requests")

FILES = (
    "SELECT DISTINCT ?path { ?file a provio:File ; provio:path ?path FILTER(STRENDS(?path, '.txt')) } ORDER BY ?path"
)
HEAVY = "{ ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Iterator[Project]:
    """Three steps in two runs, and files of hostile names."""
    project = new_project(tmp_path_factory.mktemp("serve"))
    (project.path / "raw.txt").write_text("raw\n")
    project.run("cat raw.txt > middle.txt; tr a-z A-Z < middle.txt > done.txt")
    project.provio("run", "--quiet", "--name", "second", "--", "cp", "done.txt", "last.txt")
    folder = os.fsencode(project.path)
    for name in NAMES.values():
        Path(os.fsdecode(folder + b"/" + name)).write_bytes(b"x")
    project.watch("sh", "-c", "find . -maxdepth 1 -type f -exec cat {} + > /dev/null")
    yield project
    assert_valid(project.path / ".provio")


@pytest.fixture(scope="module")
def site(recorded: Project) -> Iterator[Site]:
    with serving(recorded, "--timeout", "30") as started:
        yield started


@pytest.mark.integration
def test_other_clients_use_the_protocol(site: Site, recorded: Project) -> None:
    """SPARQL 1.1 Protocol: GET, POST of a form, POST of the query itself; answers in each form of results."""
    names = ["done.txt", "last.txt", "middle.txt", "raw.txt"]
    whole = "path\n" + "".join(f"{recorded.path}/{name}\n" for name in names)
    assert site.query(FILES) == (200, whole)
    form, query = urlencode({"query": FILES}), FILES.encode()
    posted = site.ask("/query", "POST", form, Content_Type="application/x-www-form-urlencoded", Accept="text/csv")
    direct = site.ask("/query", "POST", query, Content_Type="application/sparql-query", Accept="text/csv")
    assert [answer[:2] for answer in (posted, direct)] == [(200, whole.replace("\n", "\r\n"))] * 2
    found = json.loads(site.query(FILES, "application/sparql-results+json")[1])["results"]["bindings"]
    assert [row["path"]["value"] for row in found] == [f"{recorded.path}/{name}" for name in names]
    assert "<literal>" in site.query(FILES, "application/sparql-results+xml")[1]
    assert site.query(FILES, "text/tab-separated-values")[1].startswith("?path\n")
    turtle = site.query("CONSTRUCT { ?s a prov:Entity } { ?s a provio:File }", "text/turtle")
    assert turtle[0] == 200 and "prov#Entity" in turtle[1]
    assert site.query("ASK { ?s a provio:File }", "application/sparql-results+json")[1].endswith('"boolean":true}')


def test_rdflib_is_a_client(site: Site, recorded: Project) -> None:
    store = pytest.importorskip("rdflib.plugins.stores.sparqlstore").SPARQLStore(
        f"{site.url}query", returnFormat="json"
    )
    rows = store.query("SELECT ?path { ?f <https://w3id.org/provio/ns#path> ?path }")
    assert f"{recorded.path}/done.txt" in {str(row[0]) for row in rows}


def test_all_runs_are_one_graph(site: Site) -> None:
    """A query on named graphs uses only these; the graph of a run is rejected in each way to name it."""
    run = site.query("SELECT ?r { ?r a provio:Run } ORDER BY ?r LIMIT 1")[1].split()[1]
    count = "SELECT (COUNT(DISTINCT ?r) AS ?n) %s { ?r a provio:Run }"
    assert site.query(count % "") == (200, "n\n3\n")
    assert site.query(count % f"FROM <{DERIVED}>") == (200, "n\n0\n")
    named = f"SELECT (COUNT(DISTINCT ?r) AS ?n) FROM NAMED <{run}/bundle> {{ GRAPH ?g {{ ?r a provio:Run }} }}"
    for answer in (
        site.query(named),
        site.query(count % f"FROM <{run}/bundle>"),
        site.query(count % "", **{"default-graph-uri": f"{run}/bundle"}),
    ):
        assert answer[0] == 400 and "?x provio:partOf+ <RUN>" in answer[1]


def test_queries_use_implied_classes_of_prov(site: Site) -> None:
    """In all graphs and in those that are named in either way; a mistake has the place where it was made."""
    runs, agents = "SELECT (COUNT(*) AS ?n) %s { ?r a prov:Activity, provio:Run }", "ASK %s { ?x a prov:Agent }"
    assert site.query(runs % "") == (200, "n\n3\n")
    assert site.query(runs % f"FROM <{DERIVED}>") == (200, "n\n0\n")
    assert site.query(runs % "", **{"default-graph-uri": DERIVED}) == (200, "n\n0\n")
    assert json.loads(site.query(agents % "", "application/sparql-results+json")[1])["boolean"] is True
    status, said = site.query("ASK { ?x a prov:Entity FILTER(?x = ) }")
    assert status == 400 and "not SPARQL: line 1, column 39: " in said


@pytest.mark.parametrize(
    ("sparql", "status", "said"),
    [
        ("INSERT DATA { <x:a> <x:b> <x:c> }", 403, "updates are rejected"),
        ("PREFIX x: <x:> DELETE WHERE { ?s ?p ?o }", 403, "updates are rejected"),
        ("LOAD <http://127.0.0.1:1/x>", 403, "updates are rejected"),
        ("SELECT * { SERVICE <http://127.0.0.1:1/x> { ?s ?p ?o } }", 403, "SERVICE is rejected"),
        ("SELECT * { SERV\\u0049CE <http://127.0.0.1:1/x> { ?s ?p ?o } }", 403, "SERVICE is rejected"),
        ("SELECT * {", 400, "not SPARQL: line 1, column 10: { is not closed\n"),
        ("SELECT *\n{ ?s ?p ?o . foo:b }", 400, "line 2, column 14: prefix foo: is unknown: add PREFIX"),
    ],
)
def test_only_reading_is_answered(site: Site, sparql: str, status: int, said: str) -> None:
    answer = site.query(sparql)
    assert answer[0] == status and said in answer[1]


def test_requests_that_are_none(site: Site) -> None:
    kinds = {"Content_Type": "application/x-www-form-urlencoded"}
    assert site.ask("/query")[0] == 400
    assert site.ask("/query?query=ASK%7B%7D&query=ASK%7B%7D")[0] == 400
    assert site.ask("/query", "POST", urlencode({"update": "CLEAR ALL"}), **kinds)[0] == 403
    assert site.ask("/query", "POST", "CLEAR ALL", Content_Type="application/sparql-update")[0] == 403
    assert site.ask("/query", "POST", b"\xff", Content_Type="application/sparql-query")[0] == 400
    assert site.ask("/query", "POST", "ASK {}", Content_Type="text/plain")[0] == 415
    with socket.create_connection(("127.0.0.1", urlsplit(site.url).port), timeout=60) as large:
        large.sendall(b"POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000\r\n\r\n")
        assert large.recv(100).startswith(b"HTTP/1.1 413")
    for method, path in (("PUT", "/store"), ("POST", "/update"), ("DELETE", "/query"), ("POST", "/api/runs")):
        assert site.ask(path, method)[0] == 405
    for path in ("/store", "/update", "/assets/../front.py", "/api/nothing", "/etc/passwd"):
        assert site.ask(path)[0] == 404, path
    assert site.ask("/api/lineage?target=raw.txt")[0] == 404
    assert site.ask("/api/lineage")[0] == site.ask("/api/search?words=a&limit=x")[0] == 400


@pytest.mark.integration
def test_the_head_of_an_answer_alone(site: Site) -> None:
    """Like GET without the body (RFC 9110); the resources of a long response are released."""
    everything = "/query?" + urlencode({"query": "SELECT * { ?a ?b ?c . ?d ?e ?f }"})
    for path in ("/", "/api/runs", "/query?query=ASK%7B%7D", *[everything] * 10):
        status, text, headers = site.ask(path, "HEAD")
        assert (status, text) == (200, "") and "Content-Type" in headers, path
    with socket.create_connection(("127.0.0.1", urlsplit(site.url).port), timeout=60) as one:
        one.sendall(b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        one.sendall(b"HEAD /no HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        heads = b"".join(iter(lambda: one.recv(1 << 16), b""))
    assert [line for line in heads.split(b"\r\n") if line.startswith(b"HTTP") or b"<" in line] == [
        b"HTTP/1.1 200 OK",
        b"HTTP/1.1 404 Not Found",
    ]
    assert site.ask("/query", "OPTIONS")[2]["Allow"] == "GET, HEAD, POST"
    assert site.ask("/", "POST", b"")[2]["Allow"] == "GET, HEAD"


def test_numbers_beyond_sense_are_the_nearest_that_has_one(site: Site, recorded: Project) -> None:
    assert len(site.api("search", words="txt", limit=-5)["found"]) == 0
    assert site.api("runs", skip=-1) == site.api("runs", skip=0)
    assert site.api("runs", skip=10**30)["runs"] == []
    iri = site.iri(recorded.path / "done.txt")
    assert site.api("lineage", target=iri, depth=10**30) == site.api("lineage", target=iri, depth=0)


def test_a_query_too_deep_for_the_server_is_refused_alone(site: Site) -> None:
    """The server that it crashes is started again; only the response reports it."""
    deep = f"SELECT * {{ FILTER({'(' * 20_000}1{')' * 20_000}) }}".encode()
    status, said, _ = site.ask("/query", "POST", deep, Content_Type="application/sparql-query")
    assert status == 503 and "nested too deeply" in said
    assert site.query(FILES)[0] == 200


def test_only_its_own_page_may_query_in_a_browser(site: Site) -> None:
    """A name that was made lead here, and pages of other sites."""
    port = urlsplit(site.url).port
    assert site.ask("/api/about", Host=f"evil.example:{port}")[0] == 403
    assert site.ask("/api/about", Host=f"127.0.0.1.evil.example:{port}")[0] == 403
    assert site.ask("/api/about", Host=f"localhost:{port}")[0] == 200
    assert site.ask("/api/about", Host="[::1]:9000")[0] == 200  # through a tunnel
    assert site.ask("/query?query=ASK%7B%7D", Origin="http://evil.example")[0] == 403
    assert site.ask("/query?query=ASK%7B%7D", Origin="null")[0] == 403
    assert site.ask("/query?query=ASK%7B%7D", Origin=site.url[:-1])[0] == 200
    assert site.ask("/query?query=ASK%7B%7D", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")[0] == 403
    assert site.ask("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0] == 200
    headers = site.ask("/")[2]
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "*" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff" and "Access-Control-Allow-Origin" not in headers


def test_a_file_is_found_and_walked_step_by_step(site: Site, recorded: Project) -> None:
    """Each step equals `provio lineage --depth 1`."""
    iri = site.iri(recorded.path / "done.txt")
    for direction, options in (("backward", ()), ("forward", ("--forward",))):
        step = site.api("lineage", target=iri, direction=direction)
        told = recorded.lineage("done.txt", "--depth", "1", *options)
        assert step.pop("more") == 0
        assert {node["iri"]: node for node in step.pop("nodes")} == {node["iri"]: node for node in told.pop("nodes")}
        assert sorted(map(str, step.pop("edges"))) == sorted(map(str, told.pop("edges")))
        assert step == told
    whole = site.api("lineage", target=iri, depth=0, most=2)
    assert len(whole["nodes"]) == 2 and whole["more"] > 0 and whole["target"] in {one["iri"] for one in whole["nodes"]}


def test_every_name_is_found_by_parts_of_it(site: Site, recorded: Project) -> None:
    """Words in any order; all matches of `provio find`, with their reasons; exact names come first."""
    found = site.api("search", words="TXT middle")["found"]
    assert [(one["kind"], one["text"]) for one in found if one["kind"] == "file"] == [
        ("file", str(recorded.path / "middle.txt"))
    ]
    assert [one["kind"] for one in site.api("search", words="second")["found"]] == ["run"]
    assert "program" in {one["kind"] for one in site.api("search", words="bin/cp")["found"]}
    assert site.api("search", words="no such name") == site.api("search", words=" ") == {"found": [], "count": 0}
    for text in ("txt", "*.txt", "cp", "second", "cp *"):
        rows = json.loads(recorded.provio("find", text, "--all", "--as", "json").stdout)
        told = {(one["iri"], one["how"]) for one in site.api("search", words=text, limit=200)["found"]}
        assert told >= {(row["iri"], row["how"]) for row in rows}, text
    texts = {one["text"] for one in site.api("search", words=str(recorded.path), limit=200)["found"]}
    for name in NAMES.values():
        text = os.fsdecode(os.fsencode(recorded.path) + b"/" + name).encode("utf-8", "surrogateescape")
        assert text.decode("utf-8", "replace") in {one.encode("utf-8", "replace").decode() for one in texts}, name


def test_runs_programs_statistics(site: Site, recorded: Project) -> None:
    runs = site.api("runs")
    assert runs["count"] == 3 and runs["runs"][1]["name"] == "second"
    program = next(one["iri"] for one in site.api("search", words="bin/cp")["found"] if one["kind"] == "program")
    assert [one["name"] for one in site.api("program", program=program)["runs"]] == ["second"]
    figures = site.api("statistics", run="second")
    assert figures["files"]["wrote"] == [["wrote", str(recorded.path / "last.txt"), 4]]
    assert json.loads(recorded.provio("stats", "second", "--as", "json").stdout) == figures["operations"]
    assert site.api("run", run="second")["more"] == 0
    assert site.ask("/api/statistics?run=none")[0] == 404


def test_named_queries_are_filled_in_and_run(site: Site, recorded: Project) -> None:
    known = site.api("questions")["questions"]
    one = next(question for question in known if question["name"] == "users-of-file")
    assert [(each["name"], each["kind"], each["required"]) for each in one["parameters"]] == [("path", "path", True)]
    text = site.api("question", name="users-of-file", **{"p.path": str(recorded.path / "done.txt")})["text"]
    said = recorded.provio("query", "users-of-file", "done.txt", "--as", "csv").stdout
    assert site.query(text)[1].splitlines() == said.splitlines()
    assert site.ask("/api/question?name=users-of-file")[0] == 400
    assert site.ask("/api/question?name=none")[0] == 404


@pytest.mark.slow
def test_a_query_over_its_limit_is_ended(recorded: Project) -> None:
    """In any state: before a row, between rows, in a sort that ignores the limit; other queries get their results."""
    with serving(recorded, "--timeout", "2") as site:
        for heavy in (f"SELECT (COUNT(*) AS ?n) {HEAVY}", f"SELECT * {HEAVY} ORDER BY ?l ?a"):
            status, said = site.query(heavy)
            assert status == 504 and "no result within 2 s" in said
        with pytest.raises(Exception, match="IncompleteRead"):
            site.query(f"SELECT * {HEAVY}")
        assert _idle(site.children())
        assert site.query(FILES)[0] == 200


@pytest.mark.slow
def test_a_client_that_does_not_read_is_disconnected(recorded: Project) -> None:
    """More of them than parallel queries: another query waits for seconds, not for their time limit."""
    asked = f"GET /query?query={quote(f'SELECT * {HEAVY}')} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with serving(recorded, "--timeout", "300") as site, ExitStack() as undo:
        for _ in range(12):
            idle = undo.enter_context(socket.create_connection(("127.0.0.1", urlsplit(site.url).port), timeout=60))
            idle.sendall(asked)
        time.sleep(5)  # all places are taken
        begun = time.monotonic()
        assert site.query(FILES)[0] == 200
        assert time.monotonic() - begun < 60
        assert _idle(site.children())


def _idle(pids: list[int], seconds: float = 30) -> bool:
    """Whether processes come to rest: half a second without work."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        before = _worked(pids)
        time.sleep(0.5)
        if _worked(pids) == before:
            return True
    return False


def _worked(pids: list[int]) -> int:
    worked = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        worked += int(fields[11]) + int(fields[12])
    return worked


@pytest.mark.integration
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_it(recorded: Project, how: int) -> None:
    """Neither a process, nor a snapshot, nor the port; not even after kill -9."""
    with serving(recorded) as site:
        assert site.query(FILES)[0] == 200
        children = site.children()
        assert len(children) >= 3
        code, said = site.end(how)
        assert (code, said) == ((-9, "") if how == signal.SIGKILL else (0, ""))
        assert gone(children)
        assert site.process.pid
        with socket.socket() as again:
            again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            again.bind(("127.0.0.1", urlsplit(site.url).port))
    kept = {entry.name for entry in (recorded.path / ".provio/snapshots").iterdir()}
    assert kept == {"current", "merged", os.readlink(recorded.path / ".provio/snapshots/current")}


@pytest.mark.integration
def test_no_other_process_reaches_the_server_behind_it(recorded: Project) -> None:
    """It is in a network of its own, but where the kernel denies that: there, at an address of its own."""
    folder = str(recorded.path / ".provio/snapshots/current")
    for alone in (True, False):
        try:
            binary = OxigraphServer(folder, 5, (alone,))
        except ProvioError:
            assert alone and subprocess.run(["unshare", "-Un", "true"]).returncode  # denied
            continue
        apart = os.readlink(f"/proc/{binary.process.pid}/ns/net") != os.readlink("/proc/self/ns/net")
        assert apart == alone
        with binary.connect(60) as connection:
            connection.sendall(b"GET /query?query=ASK%7B%7D HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 200")
        assert alone or binary.address[0] not in ("127.0.0.1", "localhost")
        pids = [binary.process.pid]
        binary.close()
        assert gone(pids)


@pytest.mark.integration
def test_a_server_that_died_is_started_again(recorded: Project) -> None:
    with serving(recorded) as site:
        assert site.query(FILES)[0] == 200
        for pid in site.children():
            os.kill(pid, signal.SIGKILL)
        assert site.query(FILES)[0] == 200
        assert site.api("runs")["count"] == 3


@pytest.mark.integration
def test_a_worker_that_is_not_ready_yet_is_waited_for(recorded: Project) -> None:
    """A query during the start may time out without a restart; a slow query of a ready worker is killed."""
    with ThreadPoolExecutor(1) as executor:
        worker = Worker("found", str(recorded.path / ".provio"), executor)
        worker.start()
        assert worker.process
        pid = worker.process.pid
        os.kill(pid, signal.SIGSTOP)
        asked = {"words": "done.txt", "limit": 5}
        try:
            with pytest.raises(TimedOut):
                worker.query(asked, 0.1)
            os.kill(pid, signal.SIGCONT)
            found = worker.query(asked, 60)
            assert found["count"] >= 1 and worker.process.pid == pid
            os.kill(pid, signal.SIGSTOP)
            with pytest.raises(TimedOut):
                worker.query(asked, 0.1)
            assert worker.query(asked, 60) == found
            assert worker.process.pid != pid
        finally:
            worker.close()


@pytest.mark.integration
def test_a_removed_record_is_reported(project: Project) -> None:
    """Queries on open files succeed; once the record is back, all do."""
    project.watch("true")
    home = project.path / ".provio"
    with serving(project) as site:
        assert site.api("runs")["count"] == 1
        home.rename(project.path / "away")
        status, said, _ = site.ask("/api/statistics?run=last")
        assert status == 400 and "the record cannot be read" in said
        assert site.api("runs")["count"] == 1
        (project.path / "away").rename(home)
        assert site.api("statistics", run="last")


@pytest.mark.integration
def test_later_merges_are_visible(project: Project) -> None:
    """A new run, without a new start, and its snapshot alone is kept; a removed one is no more."""
    (project.path / "a").write_text("a")
    project.watch("cp", "a", "b")
    with serving(project) as site:
        assert site.api("runs")["count"] == 1
        project.watch("cp", "b", "c")
        _until(lambda: site.api("runs")["count"] == 2)
        assert site.query("SELECT (COUNT(DISTINCT ?r) AS ?n) { ?r a provio:Run }")[1] == "n\n2\n"
        assert [one["text"] for one in site.api("search", words="project/c", kind="file")["found"]] == [
            str(project.path / "c")
        ]
        project.provio("rm", "--yes", "last")
        _until(lambda: site.api("runs")["count"] == 1)
        snapshots = project.path / ".provio/snapshots"
        _until(lambda: {entry.name for entry in snapshots.iterdir() if entry.name.isdigit()}
               == {os.readlink(snapshots / "current")})  # fmt: skip


def _until(holds, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.integration
def test_a_token_is_wanted_where_one_is_set(recorded: Project, tmp_path: Path) -> None:
    """By header, as a password, or by a session that a browser began; it stands in no command line."""
    file = tmp_path / "token"
    with serving(recorded, "--token", str(file)) as site:
        token = file.read_text().strip()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600 and len(token) > 40
        for path in ("/api/about", "/query?query=ASK%7B%7D"):
            assert site.ask(path)[0] == 401
            assert site.ask(path, Authorization=f"Bearer {token[:-1]}")[0] == 401
            assert site.ask(path, Authorization=f"Bearer {token}")[0] == 200
        assert "explorer.js" not in site.ask("/")[1]
        form = {"Content_Type": "application/x-www-form-urlencoded"}
        assert site.ask("/login", "POST", urlencode({"token": "x"}), **form)[0] == 403
        status, _, headers = site.ask("/login", "POST", urlencode({"token": token}), **form)
        assert status == 303 and "HttpOnly; SameSite=Strict" in headers["Set-Cookie"] and token not in str(headers)
        cookie = headers["Set-Cookie"].partition(";")[0]
        assert site.ask("/api/about", Cookie=cookie)[0] == 200
        assert site.ask("/api/about", Cookie=cookie, Origin="http://evil.example")[0] == 403
        for pid in (site.process.pid, *site.children()):
            assert token.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
        assert token not in site.end()[1]


@pytest.mark.integration
def test_records_that_are_queried_together_are_served_together(recorded: Project, project: Project) -> None:
    (project.path / "own.txt").write_text("own")
    project.watch("cp", "own.txt", "copy.txt")
    with serving(project, "--timeout", "0", PROVIO_STORES=str(recorded.path)) as site:
        assert site.api("runs")["count"] == 4
        assert site.api("about")["record"] == f"{project.path} and {recorded.path}"
        for path in (recorded.path / "done.txt", project.path / "copy.txt"):
            assert len(site.api("lineage", target=site.iri(path))["nodes"]) > 2
        assert site.query("SELECT (COUNT(DISTINCT ?r) AS ?n) { ?r a provio:Run }") == (200, "n\n4\n")


@pytest.mark.integration
def test_calls_that_are_refused(recorded: Project, tmp_path: Path) -> None:
    """Each in one line that names the remedy."""

    def said(*options: str, code: int = 1, **env: str) -> str:
        env = {**recorded.env, **env}
        return recorded.provio("serve", *options, code=code, env=env).stderr.splitlines()[-1]

    readable, short = tmp_path / "readable", tmp_path / "short"
    readable.write_text("x" * 40)
    short.write_text("short")
    short.chmod(0o600)
    assert "use --token FILE" in said("--bind", "0.0.0.0:0", code=2)
    assert "use HOST:PORT" in said("--bind", "nonsense", code=2)
    assert "chmod 600" in said("--bind", "0.0.0.0:0", "--token", str(readable))
    assert "letters and digits" in said("--token", str(short))
    assert "letters and digits" in said(PROVIO_TOKEN="short")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "name another" in said("--bind", f"127.0.0.1:{taken.getsockname()[1]}")
    assert "PROVIO_STORE=" in said(PROVIO_STORE="http://127.0.0.1:1")
    (tmp_path / "waitress.py").write_text("raise ImportError")
    assert "needs waitress, which is not installed" in said(PYTHONPATH=str(tmp_path))
    empty = tmp_path / "empty"
    (empty / ".provio").mkdir(parents=True)
    assert "nothing is recorded" in recorded.provio("serve", code=3, cwd=empty).stderr
