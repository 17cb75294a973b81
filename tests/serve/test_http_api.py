"""The HTTP API of `provio serve`: its answers equal those of the verbs, and its events are whole, on real sockets."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_to_bytes, urlencode, urlsplit

import pytest
from conftest import Project, new_project, provio_command
from hostile_names import NAMES
from serve_process import Site, gone, serving

from provio.serve import openapi
from provio.serve.event_feed import MOST

pytest.importorskip("waitress")
DOCS = Path(__file__).parents[2] / "docs"
TRAIN = """
import provio, sys
layers, lr = int(sys.argv[1]), float(sys.argv[2])
provio.configuration({"layers": layers, "lr": lr})
for step in range(3):
    provio.metric("loss", layers / (step + 1), step=step)
with provio.activity("save"):
    open(f"model{layers}.bin", "w").write("x" * layers)
if layers == 4:
    raise SystemExit("out of memory")
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Project:
    """Two commands, three trainings of a campaign, of which one fails, and files with hostile names."""
    project = new_project(tmp_path_factory.mktemp("api"))
    (project.path / "raw.txt").write_text("raw\n")
    (project.path / "train.py").write_text(TRAIN)
    project.run("cat raw.txt > middle.txt; tr a-z A-Z < middle.txt > done.txt")
    for layers in (2, 3, 4):
        command = ("--campaign", "sweep", "--", sys.executable, "train.py", str(layers), "0.5")
        project.provio("run", "--quiet", *command, code=int(layers == 4))
    folder = os.fsencode(project.path)
    for name in NAMES.values():
        Path(os.fsdecode(folder + b"/" + name)).write_bytes(b"x")
    project.watch("sh", "-c", "mkdir out; find . -maxdepth 1 -type f -exec cat {} + > out/all.txt")
    return project


@pytest.fixture(scope="module")
def site(recorded: Project) -> Iterator[Site]:
    with serving(recorded, "--timeout", "30") as started:
        yield started


def ask(site: Site, name: str, **values: Any) -> Any:
    """The answer to a question."""
    status, text, _ = site.ask(f"/api/v1/{name}?{urlencode(values, doseq=True)}")
    assert status == 200, text
    return json.loads(text)


def post(site: Site, query: Any, kind: str = "application/json") -> tuple[int, Any]:
    body = query if isinstance(query, str) else json.dumps(query)
    status, text, _ = site.ask("/api/v1/tasks/query", "POST", body, Content_Type=kind)
    return status, json.loads(text)


def verb(project: Project, *arguments: str) -> Any:
    return json.loads(project.provio(*arguments, "--as", "json", code=None).stdout)


def started(project: Project, script: str) -> subprocess.Popen[bytes]:
    """Start a recorded script."""
    command = [*provio_command(), "run", "--quiet", "--", "sh", "-c", script]
    return subprocess.Popen(command, cwd=project.path, env=project.env)


# Answers.


def test_rows_equal_those_of_the_verbs(site: Site, recorded: Project) -> None:
    assert ask(site, "runs")["rows"] == verb(recorded, "runs")
    sweep = ("--campaign", "sweep")
    assert ask(site, "tasks", campaign="sweep")["rows"] == verb(recorded, "tasks", *sweep)
    assert ask(site, "metrics", campaign="sweep")["rows"] == verb(recorded, "metrics", *sweep)
    assert ask(site, "params", campaign="sweep")["rows"] == verb(recorded, "params", *sweep, "--all")
    assert ask(site, "diff", first="last~1", second="last~2")["rows"] == verb(recorded, "diff", "last~1", "last~2")
    assert ask(site, "show", thing="last")["rows"] == verb(recorded, "show", "last")


def test_documents_equal_those_of_the_verbs(site: Site, recorded: Project) -> None:
    for name in ("why", "impact"):
        assert ask(site, name, path="middle.txt") == verb(recorded, name, "middle.txt"), name
    found, printed = ask(site, "lineage", path="done.txt"), verb(recorded, "lineage", "done.txt")
    assert found.pop("more") == 0
    assert {node["iri"] for node in found["nodes"]} == {node["iri"] for node in printed["nodes"]}
    assert {tuple(edge.values()) for edge in found["edges"]} == {tuple(edge.values()) for edge in printed["edges"]}
    onward = ask(site, "lineage", path="raw.txt", forward="true")
    paths = {Path(node["path"]).name for node in onward["nodes"] if "path" in node}
    assert {"middle.txt", "done.txt"} <= paths
    operations = ask(site, "stats", run="last")["operations"]
    assert operations == verb(recorded, "stats", "last")


def test_campaigns_and_files(site: Site, recorded: Project) -> None:
    (campaign,) = ask(site, "campaigns")["rows"]
    assert (campaign["campaign"], campaign["runs"], campaign["state"]) == ("sweep", 3, "failed")
    assert campaign["end"] and campaign["start"] < campaign["end"]
    assert campaign["states"] == {"ok": 2, "failed": 1}
    files = ask(site, "files", campaign="sweep")["rows"]
    made = {Path(row["path"]).name: row["bytes"] for row in files if row["run"]}
    assert made == {f"model{layers}.bin": layers for layers in (2, 3, 4)}
    below = ask(site, "files", below="middle.txt")["rows"]
    assert [row["path"] for row in below] == [str(recorded.path / "middle.txt")] and below[0]["read_by"]


def test_a_campaign_in_two_records(recorded: Project, tmp_path: Path) -> None:
    """With the setting `stores`: both records have runs of it."""
    other = new_project(tmp_path)
    other.provio("run", "--quiet", "--campaign", "sweep", "--", "true")
    with serving(other, PROVIO_STORES=str(recorded.path)) as site:
        (campaign,) = ask(site, "campaigns")["rows"]
    assert campaign["runs"] == 4
    assert campaign["records"] == sorted(str(project.path / ".provio") for project in (recorded, other))


def test_flowcepts_query(site: Site) -> None:
    """The body of a query of FlowCept: the least loss of each number of layers, of the runs with less than 1.2."""
    query = {
        "filter": {"campaign_id": "sweep", "generated.loss": {"$lt": 1.2}}, "projection": ["used.layers"],
        "aggregation": [["min", "generated.loss"]], "sort": [["min_generated_loss", "ascending"]],
    }  # fmt: skip
    assert post(site, query) == (200, {"rows": [
        {"used_layers": 2, "min_generated_loss": 2 / 3}, {"used_layers": 3, "min_generated_loss": 1.0},
    ]})  # fmt: skip


def test_several_values_of_a_parameter_are_a_list(recorded: Project, site: Site) -> None:
    """Of a run whose processes had different ones; a condition holds if it holds for one of them."""
    for rate in (1, 7):
        (recorded.path / f"rate{rate}.py").write_text(f"import provio; provio.configuration({{'rate': {rate}}})")
    script = f"{sys.executable} rate1.py; {sys.executable} rate7.py"
    recorded.provio("run", "--quiet", "--campaign", "rates", "--", "sh", "-c", script)
    for wanted in (1, 7):
        status, answer = post(
            site, {"filter": {"campaign_id": "rates", "used.rate": wanted}, "projection": ["used.rate"]}
        )
        assert (status, [sorted(row["used"]["rate"]) for row in answer["rows"]]) == (200, [[1, 7]])


def test_sparql(site: Site) -> None:
    found = ask(site, "query", query="SELECT ?l { ?r a provio:Run } ORDER BY ?r", limit=2)
    assert found["head"] == {"vars": ["l"]} and len(found["results"]["bindings"]) == 2
    assert ask(site, "query", query="ASK { ?r a provio:Run }") == {"head": {}, "boolean": True}
    query = "SELECT ?r { ?r a provio:Run } ORDER BY ?r"
    pages, cursor = [], None
    while cursor or not pages:
        page = ask(site, "query", query=query, limit=2, **({"cursor": cursor} if cursor else {}))
        pages.append([row["r"]["value"].rpartition("/")[2] for row in page["results"]["bindings"]])
        cursor = page["next"]
    assert pages[-1] and [run for page in pages for run in page] == [row["run"] for row in ask(site, "runs")["rows"]]


def test_pages_have_each_row_once(site: Site, recorded: Project) -> None:
    """Also if rows are added while a client reads: new ones come last."""
    first = ask(site, "files", limit=3)
    recorded.run("echo more > more.txt")
    while not ask(site, "files", below="more.txt")["rows"]:  # an answer may be a quarter of a second old
        time.sleep(0.1)
    seen, cursor = first["rows"], first["next"]
    while cursor:
        page = ask(site, "files", limit=3, cursor=cursor)
        seen, cursor = seen + page["rows"], page["next"]
    names = [(row["path"], row["iri"]) for row in seen]
    assert len(names) == len({*names}) and seen == ask(site, "files", limit=10_000)["rows"]
    assert Path(seen[-1]["path"]).name == "more.txt"
    later = ask(site, "files", since=seen[-2]["time"])["rows"]
    assert [row["iri"] for row in later][-2:] == [row["iri"] for row in seen[-2:]] and len(later) < len(seen)


def test_an_unchanged_answer_is_not_sent_again(site: Site) -> None:
    _, _, headers = site.ask("/api/v1/why?path=done.txt")
    tag = {name.lower(): value for name, value in headers.items()}["etag"]
    assert site.ask("/api/v1/why?path=done.txt", If_None_Match=f'"other", W/{tag}')[:2] == (304, "")
    assert site.ask("/api/v1/why?path=middle.txt", If_None_Match=tag)[0] == 200
    assert site.ask("/api/v1/why?path=done.txt", "HEAD")[:2] == (200, "")


def test_hostile_names(site: Site, recorded: Project) -> None:
    """Each name is found, and its file has a maker or none, in valid JSON."""
    rows = ask(site, "files", limit=10_000)["rows"]
    listed = {unquote_to_bytes(row["pathEncoded"]) if "pathEncoded" in row else row["path"].encode() for row in rows}
    for name in NAMES.values():
        path = os.fsencode(recorded.path) + b"/" + name
        assert path in listed
        below = json.loads(site.ask(f"/api/v1/files?below={quote(path)}")[1])["rows"]
        assert [row["iri"] for row in below] and {row["path"] for row in below} == {path.decode("utf-8", "replace")}
        status, text, _ = site.ask(f"/api/v1/lineage?forward=true&path={quote(path)}")
        assert status == 200, text
        nodes = json.loads(text)["nodes"]
        assert any(node.get("path", "").endswith("/all.txt") for node in nodes), name


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("runs?limit=1000000", 400, "limit is a number from 1 to 10000"),
        ("runs?limit=-1", 400, "limit is a number from 1 to 10000, not -1"),
        ("runs?limit=1&limit=2", 400, "given 2 times"),
        ("runs?cursor=nonsense", 404, "cursor"),
        ("runs?cursor=" + "W1tb" * 900, 404, "cursor"),
        ("runs?since=yesterday", 400, "time"),
        ("runs?lmit=3", 400, "did you mean 'limit'"),
        ("runs?campaign=none", 404, "campaign"),
        ("tasks?status=broken", 400, "status"),
        ("why", 400, "path is missing"),
        ("why?path=none.txt", 404, "nothing is recorded"),
        ("why?path=a%00b", 400, "NUL"),
        (f"why?path={'x' * 5000}", 400, "4096"),
        ("lineage?path=done.txt&nodes=1000000", 400, "nodes"),
        ("diff?first=last&second=none", 404, "none"),
        ("none", 404, "openapi.json"),
        ("events?after=x", 400, "id of an event"),
        ("events?type=x", 400, "type"),
        ("events?run=none", 404, "none"),
        ("events?run=last&after=99999999999999999999", 400, "id of an event"),
        (f"query?{urlencode({'query': 'CONSTRUCT WHERE { ?s ?p ?o }'})}", 400, "SELECT or an ASK"),
        (f"query?{urlencode({'query': 'DELETE WHERE { ?s ?p ?o }'})}", 400, "read-only"),
        (f"query?{urlencode({'query': 'SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }'})}", 400, "SERVICE"),
        (f"query?{urlencode({'query': 'SELECT'})}", 400, "not SPARQL"),
    ],
)  # fmt: skip
def test_bad_requests_are_refused(site: Site, path: str, status: int, words: str) -> None:
    found, text, _ = site.ask(f"/api/v1/{path}")
    assert found == status and words in json.loads(text)["error"], text


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("{", 400, "not JSON"),
        ("[1]", 400, "JSON object"),
        ("[" * 100_000, 400, "not JSON"),
        ({"filter": {"a": {"$where": "1"}}}, 400, "$where"),
        ({"filter": 3}, 400, "filter is an object"),
        ({"sort": ["a"]}, 400, "pairs"),
        ({"limit": 10**6}, 400, "limit"),
        ({"flter": {}}, 400, "did you mean 'filter'"),
    ],
)
def test_bad_queries_of_tasks_are_refused(site: Site, query: Any, status: int, words: str) -> None:
    found, answer = post(site, query)
    assert found == status and words in answer["error"], answer


def test_nested_filters_break_nothing(site: Site) -> None:
    for depth in (300, 900, 980, 1500, 5000):
        for member in ('{"a":%s}', '{"$and":[%s]}'):
            before, after = member.split("%s")
            assert post(site, '{"filter":' + before * depth + '{"a":1}' + after * depth + "}")[0] in (200, 400), depth


def test_methods(site: Site) -> None:
    assert post(site, {}, "text/plain")[0] == 415
    status, _, headers = site.ask("/api/v1/tasks/query")
    assert (status, headers["Allow"]) == (405, "POST")
    assert site.ask("/api/v1/runs", "POST", "{}", Content_Type="application/json")[0] == 405
    assert site.ask("/api/v1/runs", "DELETE")[0] == 405
    assert site.ask("/api/v1/runs", Host="example.org")[0] == 403
    assert site.ask("/api/v1/events", Origin="http://example.org")[0] == 403


def test_a_token_protects_answers_and_events(recorded: Project, tmp_path: Path) -> None:
    with serving(recorded, "--token", str(tmp_path / "token")) as site:
        secret = (tmp_path / "token").read_text().strip()
        for path in ("runs", "events", "openapi.json", "tasks/query"):
            for header in ({}, {"Authorization": "Bearer wrong"}):
                method = "POST" if path == "tasks/query" else "GET"
                assert site.ask(f"/api/v1/{path}", method, **header)[0] == 401
        assert site.ask("/api/v1/runs", Authorization=f"Bearer {secret}")[0] == 200


# The OpenAPI document, by tools of others.


def test_the_document_is_valid_and_kept(site: Site) -> None:
    """`docs/openapi.json` is the served one; make calls writes it."""
    served = ask(site, "openapi.json")
    pytest.importorskip("openapi_spec_validator").validate(served)
    assert served == openapi.document() == json.loads((DOCS / "openapi.json").read_text())


@pytest.mark.slow
def test_schemathesis_finds_no_fault(site: Site, tmp_path: Path) -> None:
    """Thousands of requests from the document: each answer has a documented status, and a body of its schema.

    SPARQL and filters that are only texts and objects for a schema may be wrong, and are refused then.
    """
    program = Path(sys.executable).with_name("schemathesis")
    if not program.exists():
        pytest.skip("needs schemathesis (pip install schemathesis)")
    parts = {
        "--exclude-path-regex": "/(query|events)$", "--include-path-regex": "/query$",
    }  # fmt: skip
    for option, pattern in parts.items():
        loose = ["--exclude-checks", "positive_data_acceptance"] if option.startswith("--include") else []
        done = subprocess.run(
            [program, "run", f"{site.url}api/v1/openapi.json", option, pattern, *loose, "--checks", "all",
             "--max-examples", "10", "--phases", "coverage,fuzzing", "--generation-deterministic", "--no-color",
             "--request-timeout", "100"],
            capture_output=True, text=True, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-5000:]


# Events.


@contextlib.contextmanager
def curl(site: Site, path: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Read events with curl."""
    if not shutil.which("curl"):
        pytest.skip("needs curl")
    command = ["curl", "-sN", "--max-time", "300", *options, f"{site.url}api/v1/{path}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def events(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    """The events in the output of curl, until it ends."""
    assert process.stdout
    number = None
    for line in process.stdout:
        name, _, value = line.rstrip("\n").partition(": ")
        if name == "id":
            number = value
        elif name == "data":
            event = json.loads(value)
            assert event["id"] == number
            yield event


def until_end(process: subprocess.Popen[str], run: str = "") -> list[dict[str, Any]]:
    """The events up to the end of a run, or of the first one that ends."""
    found = []
    for event in events(process):
        found.append(event)
        if event["type"] == "run" and event["data"]["state"] == "ended" and run in ("", event["run"]):
            return found
    raise AssertionError("the stream ended")


def all_of(site: Site, run: str) -> list[dict[str, Any]]:
    """The events of an ended run: the stream ends by itself."""
    with curl(site, f"events?run={run}") as process:
        return [*events(process)]


def test_events_come_while_a_run_goes_on(recorded: Project) -> None:
    """The run waits for the test, which waits for the event of its file: so it comes before the run ends."""
    with serving(recorded) as site, curl(site, "events") as process:
        assert process.stdout and process.stdout.readline() == "retry: 1000\n"
        script = "echo one > one.txt; until [ -e go ]; do sleep 0.1; done; cat one.txt > two.txt"
        run = started(recorded, script)
        found = []
        for event in events(process):
            found.append(event)
            if event["type"] == "file" and event["data"]["path"].endswith("/one.txt"):
                break
        assert ask(site, "why", path="one.txt")["process"]["argv"].startswith("sh -c")
        (recorded.path / "go").touch()
        found += until_end(process)
        assert run.wait() == 0
        assert [event["data"]["path"].rpartition("/")[2] for event in found if event["type"] == "file"][-1] == "two.txt"
        numbers = [int(event["id"]) for event in found]
        assert numbers == sorted({*numbers})
        assert all_of(site, found[0]["run"]) == all_of(site, "last") == found
        assert [event["type"] for event in typed(site, found[0]["run"], "metric")] == []
        assert {event["type"] for event in typed(site, found[0]["run"], "file")} == {"file"}


def typed(site: Site, run: str, kind: str) -> list[dict[str, Any]]:
    with curl(site, f"events?run={run}&type={kind}") as process:
        return [*events(process)]


def test_a_client_that_resumes_loses_nothing(recorded: Project) -> None:
    """The server is killed during a run, and started again after the run has ended: a client that names its last event
    has each event once."""
    script = "for n in 1 2 3 4; do cat raw.txt > part$n; until [ -e go$n ]; do sleep 0.05; done; done"
    with serving(recorded) as site, curl(site, "events") as process:
        run = started(recorded, script)
        early = []
        for event in events(process):
            early.append(event)
            if event["type"] == "file" and event["data"]["path"].endswith("/part2"):
                break
            if event["type"] == "file" and event["data"]["path"].endswith("/part1"):
                (recorded.path / "go1").touch()
        os.kill(site.process.pid, signal.SIGKILL)
    for n in (2, 3, 4):
        (recorded.path / f"go{n}").touch()
    assert run.wait() == 0
    with serving(recorded) as site:
        with curl(site, "events", "-H", f"Last-Event-ID: {early[-1]['id']}") as process:
            late = until_end(process, early[0]["run"])
        whole = all_of(site, early[0]["run"])
        ids = [event["id"] for event in early + late if event["run"] == early[0]["run"]]
        assert ids == [event["id"] for event in whole] and len(ids) == len({*ids})
        status, _, _ = site.ask(f"/api/v1/events?run={early[0]['run']}", Last_Event_ID=whole[-1]["id"])
        assert status == 204


def test_clients_that_do_not_read_delay_nobody(recorded: Project) -> None:
    """So many clients as may follow read nothing; a further one is refused, and questions are answered."""
    with serving(recorded) as site:
        place = urlsplit(site.url)
        idle = []
        for _ in range(MOST):
            one = socket.create_connection((place.hostname, place.port))
            one.sendall(f"GET /api/v1/events HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode())
            idle.append(one)
            assert one.recv(12) == b"HTTP/1.1 200"
        assert site.ask("/api/v1/events")[0] == 503
        recorded.run("for n in $(seq 200); do echo $n > f; done")
        with ThreadPoolExecutor(20) as pool:
            answers = [pool.submit(site.ask, "/api/v1/why?path=done.txt") for _ in range(40)]
            assert {one.result()[0] for one in answers} == {200}
        for one in idle:
            one.close()
        end = time.monotonic() + 60
        while (status := site.ask("/api/v1/events", "HEAD")[0]) == 200 and time.monotonic() < end:
            with curl(site, "events", "--max-time", "2") as process:
                assert process.stdout
                if process.stdout.readline() == "retry: 1000\n":
                    break
        assert status == 200 and time.monotonic() < end


def test_the_server_ends_with_clients(recorded: Project) -> None:
    with serving(recorded) as site, curl(site, "events") as process:
        assert process.stdout and process.stdout.readline() == "retry: 1000\n"
        ask(site, "runs")
        children = site.children()
        assert site.end()[0] == 0
        assert gone(children)
