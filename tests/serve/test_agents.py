"""The server for agents: official clients list and call every tool; answers are those of the verbs; hostile input."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from conftest import Project, provio_command
from hostile_names import NAMES

from provio.serve import capped

pytestmark = pytest.mark.integration

PROGRAM = """
import sys
from concurrent.futures import ThreadPoolExecutor
import provio

provio.configuration({"n": int(sys.argv[1])})

def work(n):
    with open(f"task{n}.txt", "w") as file:
        file.write("x")

with ThreadPoolExecutor(2) as pool:
    list(pool.map(work, range(3)))
"""
SELECT = "SELECT ?run { ?run a provio:Run } ORDER BY ?run"
# A call of each tool, and the command that has the same answer.
CALLS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "lineage": ({"path": "sorted.csv"}, ["lineage", "sorted.csv"]),
    "why": ({"path": "sorted.csv"}, ["why", "sorted.csv"]),
    "impact": ({"path": "in.csv"}, ["impact", "in.csv"]),
    "runs": ({}, ["runs"]),
    "show": ({"thing": "second"}, ["show", "second"]),
    "tasks": ({"run": ["first"], "kind": "future"}, ["tasks", "--run", "first", "--kind", "future"]),
    "stats": ({"run": ["last"]}, ["stats", "last"]),
    "status": ({"every": True}, ["status"]),
    "query": ({"query": SELECT}, ["query", SELECT]),
    "diff": ({"first": "first", "second": "second"}, ["diff", "first", "second"]),
}
INSPECTOR = Path(sys.prefix) / "inspector-2.12.0"
FIRST_VERSION = Path(sys.prefix) / "mcp-1.30.0"  # of the package mcp


@pytest.fixture
def recorded(project: Project) -> Project:
    """A project with four runs: two of a program with a configuration and tasks, a copy, and a sort."""
    pytest.importorskip("mcp", reason="mcp is not installed here")
    (project.path / "main.py").write_text(PROGRAM)
    project.sh("printf '2\\n1\\n' > in.csv")
    for number, name in enumerate(("first", "second")):
        project.provio("run", "--quiet", "--name", name, "--", sys.executable, "main.py", str(number))
    project.watch("cp", "in.csv", "out.csv")
    project.watch("sort", "-o", "sorted.csv", "out.csv")
    return project


class Calls:
    """Calls of the official client, which is connected to a server."""

    def __init__(self, client: Any, portal: Any) -> None:
        self.client, self.portal = client, portal

    def do(self, call: Any, *arguments: Any) -> Any:
        return self.portal.call(call, *arguments)

    def text(self, tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        found = self.do(self.client.call_tool, tool, arguments)
        (content,) = found.content
        return content.text, found.is_error

    def answer(self, tool: str, **arguments: Any) -> Any:
        text, failed = self.text(tool, arguments)
        assert not failed, text
        return json.loads(text)

    def error(self, tool: str, **arguments: Any) -> str:
        text, failed = self.text(tool, arguments)
        assert failed, text
        return text


@contextlib.contextmanager
def calls_of(project: Project, *options: str, **env: str) -> Iterator[Calls]:
    """Start a server, connect to it, end it; it prints no traceback."""
    pytest.importorskip("mcp", reason="mcp is not installed here")
    from anyio.from_thread import start_blocking_portal
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    command, *arguments = [*provio_command(), "mcp", *options]
    server = StdioServerParameters(command=command, args=arguments, cwd=project.path, env={**project.env, **env})
    with (project.path.parent / "errors").open("w+") as errors:
        client = Client(stdio_client(server, errlog=errors))
        with start_blocking_portal() as portal, portal.wrap_async_context_manager(client):
            yield Calls(client, portal)
        errors.seek(0)
        assert "Traceback" not in errors.read()


def expected(project: Project, tool: str) -> Any:
    """The answer of a verb, in the form of the tool's one."""
    found = json.loads(project.provio(*CALLS[tool][1], "--as", "json", code=1 if tool == "diff" else 0).stdout)
    if tool == "lineage":
        return {one["iri"] for one in found["nodes"]}, len(found["edges"])
    if tool == "status":
        return {(one["path"], one["state"]) for one in found["files"]}
    return found["results"] if tool == "query" else found


def shown(tool: str, found: Any) -> Any:
    """The answer of a tool, to compare with that of the verb."""
    if tool == "lineage":
        return {one["iri"] for one in found["nodes"]}, len(found["edges"])
    if tool == "status":
        return {(one["path"], one["state"]) for one in found["rows"]}
    if tool == "stats":
        return found["operations"]
    if tool == "query":
        return found["results"]
    return found.get("rows", found)


@pytest.fixture(params=["installed", "1.30.0"])
def version(request: pytest.FixtureRequest) -> dict[str, str]:
    """The environment of a server with a version of the package mcp."""
    if request.param == "installed":
        return {}
    if not (FIRST_VERSION / "complete").exists():
        pytest.skip("mcp 1.30.0 is not installed (make test installs it where it may)")
    return {"PYTHONPATH": str(FIRST_VERSION)}


def test_each_tool_answers_as_its_verb(recorded: Project, version: dict[str, str]) -> None:
    """The client of the package mcp lists the tools, and calls each; each only reads."""
    with calls_of(recorded, **version) as calls:
        tools = calls.do(calls.client.list_tools).tools
        assert {one.name for one in tools} == set(CALLS)
        assert all(one.annotations.read_only_hint and one.description for one in tools)
        for tool, (arguments, _) in CALLS.items():
            assert shown(tool, calls.answer(tool, **arguments)) == expected(recorded, tool), tool
        assert calls.answer("query", query="ASK { ?run a provio:Run }")["boolean"] is True


def test_the_inspector_of_npm_calls_each_tool(recorded: Project) -> None:
    """The command line of the protocol's inspector, which also finds no problem in the schemas of the tools."""
    if not (INSPECTOR / "complete").exists():
        pytest.skip("the inspector of the Model Context Protocol is not installed (make test installs it where it may)")
    program = INSPECTOR / "node_modules" / ".bin" / "mcp-inspector"

    def inspect(*arguments: str) -> Any:
        command = [program, "--cli", *provio_command()[:1], "mcp", *arguments]
        done = subprocess.run(
            command, cwd=recorded.path, env=recorded.env, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    listed = inspect("--method", "tools/list", "--strict")
    assert {one["name"] for one in listed["tools"]} == set(CALLS)
    for tool, (arguments, _) in CALLS.items():
        texts = [f"{name}={one if isinstance(one, str) else json.dumps(one)}" for name, one in arguments.items()]
        options = [part for text in texts for part in ("--tool-arg", text)]
        found = inspect("--method", "tools/call", "--tool-name", tool, *options)
        assert shown(tool, json.loads(found["content"][0]["text"])) == expected(recorded, tool), tool
    assert len(inspect("--method", "resources/list")["resources"]) == 4


def test_each_run_is_a_resource(recorded: Project, version: dict[str, str]) -> None:
    """Its content is that of `provio show RUN`."""
    with calls_of(recorded, **version) as calls:
        resources = calls.do(calls.client.list_resources).resources
        runs = [one["run"] for one in json.loads(recorded.answer("runs", "--as", "json"))]
        assert [str(one.uri) for one in resources] == [f"provio://run/{run}" for run in runs]
        assert resources[0].name == "first"
        (content,) = calls.do(calls.client.read_resource, resources[1].uri).contents
        assert json.loads(content.text)["rows"] == expected(recorded, "show")
        templates = calls.do(calls.client.list_resource_templates).resource_templates
        assert [one.uri_template for one in templates] == ["provio://run/{id}"]
        for uri in ("provio://run/none", "provio://run/../..", "file:///etc/passwd"):
            with pytest.raises(Exception, match="is no run"):
                calls.do(calls.client.read_resource, uri)


def test_what_is_recorded_later_is_answered(project: Project) -> None:
    """An empty record is no error of the server; a run that is recorded while it serves is in the next answer."""
    with calls_of(project) as calls:
        assert calls.error("runs").startswith("nothing is recorded in")
        assert calls.do(calls.client.list_resources).resources == []
        project.sh("echo 1 > a")
        project.watch("cp", "a", "b")
        assert [one["command"] for one in calls.answer("runs")["rows"]] == ["cp a b"]
        project.watch("cp", "b", "c")
        assert [one["command"] for one in calls.answer("runs")["rows"]] == ["cp a b", "cp b c"]
        paths = {one["path"] for one in calls.answer("lineage", path="c")["nodes"] if one["type"] == "FileVersion"}
        assert paths == {str(project.path / name) for name in "abc"}


def test_a_run_in_progress_is_answered(project: Project) -> None:
    """Also if it started after the server; a note states that it is in progress."""
    project.sh("echo 1 > a; mkfifo gate")
    project.watch("cp", "a", "first")
    with calls_of(project) as calls:
        assert len(calls.answer("runs")["rows"]) == 1
        command = [*provio_command(), "run", "--quiet", "--", "sh", "-c", "cp a b; cat gate"]
        with subprocess.Popen(command, cwd=project.path, env=project.env) as running:
            with (project.path / "gate").open("w"):  # opens once the run reads it
                found = calls.answer("runs")
                assert [one["end"] for one in found["rows"]] == ["exit 0", "in progress"]
                assert "in progress" in found["asOf"]
                assert calls.answer("why", path="b")["process"]["argv"] == "cp a b"
            assert running.wait(60) == 0
        assert [one["end"] for one in calls.answer("runs")["rows"]] == ["exit 0", "exit 0"]


def test_wrong_calls_are_errors_with_a_remedy(recorded: Project) -> None:
    """In one line; the server serves on."""
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("query", {"query": "DELETE WHERE { ?s ?p ?o }"}, "updates are refused: send a SELECT or an ASK"),
        ("query", {"query": "INSERT DATA { <a:b> <a:c> <a:d> }"}, "updates are refused"),
        ("query", {"query": "LOAD <file:///etc/passwd>"}, "updates are refused"),
        ("query", {"query": "CONSTRUCT WHERE { ?s ?p ?o }"}, "send a SELECT or an ASK"),
        ("query", {"query": "DESCRIBE <a:b>"}, "send a SELECT or an ASK"),
        ("query", {"query": "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }"}, "SERVICE is refused"),
        ("query", {"query": "SELECT"}, "not SPARQL: line 1"),
        ("query", {}, "the parameter query is missing"),
        ("runs", {"limit": 10**9}, "limit is a number from 1 to"),
        ("runs", {"limit": "all"}, "limit is a whole number"),
        ("runs", {"limit": -1}, "limit is a number from 1 to"),
        ("runs", {"cursor": "x"}, "no answer had this cursor"),
        ("runs", {"unknown": 1}, "there is no parameter 'unknown'"),
        ("lineage", {"path": "sorted.csv", "nodes": 10**6}, "nodes is a number from 1 to"),
        ("lineage", {"path": ["a"]}, "path is a text"),
        ("lineage", {"path": "a\0b"}, "path"),
        ("why", {"path": "nowhere"}, "nothing is recorded of nowhere"),
        ("show", {"thing": "no such run"}, "no"),
        ("rm", {}, "there is no tool 'rm': there are lineage"),
    ]
    with calls_of(recorded) as calls:
        for tool, arguments, remedy in wrong:
            message = calls.error(tool, **arguments)
            assert remedy in message, (tool, arguments)
            assert "\n" not in message
            assert "Traceback" not in message
        other = calls.answer("query", query="SELECT * FROM <http://127.0.0.1:9/> { ?s ?p ?o }")
        assert other["results"]["bindings"] == []  # graphs of others are not loaded
        assert len(calls.answer("runs")["rows"]) == 4


def test_a_query_has_limits_of_time_and_memory(recorded: Project) -> None:
    """The server answers the next one."""
    with calls_of(recorded, "--timeout", "15") as calls:
        calls.answer("runs")
        endless = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l FILTER(?c < ?l && ?f < ?i) }"
        assert "stopped: no result within 15 s" in calls.error("query", query=endless)
        assert len(calls.answer("runs")["rows"]) == 4
    with calls_of(recorded, "--max-memory", "60MB") as calls:
        large = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY ?a ?d ?g"
        assert "more than 0.06 GB of memory" in calls.error("query", query=large)
        assert len(calls.answer("runs")["rows"]) == 4


def test_hostile_names_are_json(project: Project) -> None:
    """All names in one answer: each is in it, no control character is in its text, and the text is UTF-8."""
    names = [name for name in NAMES.values() if name not in (b"-", b"--help") and b"/" not in name]
    for name in names:
        with contextlib.suppress(OSError), open(os.path.join(os.fsencode(project.path), b"x" + name[:200]), "wb"):
            pass
    project.watch("sh", "-c", "cat x* > all; for f in x*; do :; done")
    project.provio("run", "--quiet", "--name", "a\nb\x1b[31m", "--", "cat", "all", code=None)
    with calls_of(project) as calls:
        text, failed = calls.text("lineage", {"path": "all", "nodes": 3000})
        assert not failed
        assert not [one for one in text if ord(one) < 32 or 0x7F <= ord(one) < 0xA0 or 0xD800 <= ord(one) < 0xE000]
        text.encode()
        nodes = [one for one in json.loads(text)["nodes"] if "path" in one]
        found = {
            unquote_to_bytes(one["pathEncoded"]) if "pathEncoded" in one else one["path"].encode() for one in nodes
        }
        labels = {one.rpartition(b"/")[2] for one in found}
        assert {b"x" + NAMES[name][:200] for name in ("newline", "colours", "not UTF-8", "bidi")} <= labels
        assert "\x1b" not in str(calls.do(calls.client.list_resources).resources)
        iri = next(one["iri"] for one in nodes if one.get("pathEncoded", "").endswith("/x%FF%FE%C0%80"))
        assert calls.answer("lineage", path=iri, forward=True)["target"] == iri


def test_large_answers_are_cut(project: Project) -> None:
    """To 60 kB, with the way to the rest: all pages together have all rows."""
    project.watch("sh", "-c", "for n in $(seq 1500); do echo $n > file$n; done")
    project.watch("sh", "-c", "cat file* > all")
    project.watch("sh", "-c", "true " + "x" * 100_000)
    pattern = "?v prov:specializationOf/provio:path ?path FILTER(CONTAINS(?path, 'file'))"
    select = f"SELECT ?v ?path {{ {pattern} }} ORDER BY ?v"
    with calls_of(project) as calls:
        rows, cursor = [], {"limit": 10_000}
        while True:
            text, failed = calls.text("query", {"query": select, **cursor})
            assert not failed
            assert len(text.encode()) <= capped.MOST
            found = json.loads(text)
            rows += [row["path"]["value"] for row in found["results"]["bindings"]]
            if found["next"] is None:
                break
            assert "`next` is the cursor" in found["cut"]
            cursor = {"limit": 10_000, "cursor": found["next"]}
        assert sorted(rows) == sorted(str(project.path / f"file{n}") for n in range(1, 1501))
        for tool, arguments in (("lineage", {"path": "all", "nodes": 3000}), ("why", {"path": "all"}), ("runs", {})):
            text, failed = calls.text(tool, arguments)
            assert not failed
            assert len(text.encode()) <= capped.MOST
            assert "at most 60 kB" in json.loads(text)["cut"]
        assert "more characters" in json.loads(text)["rows"][-1]["command"]


def children(pid: int) -> list[int]:
    """The processes that a process started, and that these did."""
    found = [pid]
    for one in found:
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            with contextlib.suppress(OSError):  # a thread that has ended
                found += map(int, task.read_text().split())
    return found[1:]


def started(project: Project, **env: str) -> subprocess.Popen[bytes]:
    """A server that has answered, with its children."""
    process = subprocess.Popen(
        [*provio_command(), "mcp"], cwd=project.path, env={**project.env, **env},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert json.loads(sent(process, *HELLO))["result"]["serverInfo"]["name"] == "provio"
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "runs", "arguments": {}}}
    assert json.loads(sent(process, call))["result"]["isError"] is False
    assert children(process.pid)
    return process


HELLO = (
    {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
)  # fmt: skip


def sent(process: subprocess.Popen[bytes], *messages: Any) -> bytes:
    """Send messages; return the next line of the answer."""
    assert process.stdin
    assert process.stdout
    process.stdin.write(
        b"".join(one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n" for one in messages)
    )
    process.stdin.flush()
    return process.stdout.readline()


def ended(pids: list[int]) -> bool:
    """Whether none of these processes is there; waits for those that are just ending."""
    for pid in pids:
        while Path(f"/proc/{pid}/stat").exists():
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                    break
    return True


@pytest.mark.parametrize("way", ["end of input", signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL], ids=str)
def test_it_leaves_no_process(recorded: Project, way: str | signal.Signals) -> None:
    process = started(recorded)
    left = children(process.pid)
    assert process.stdin
    if isinstance(way, signal.Signals):
        process.send_signal(way)
    else:
        process.stdin.close()
    assert process.wait(60) == (-signal.SIGKILL if way == signal.SIGKILL else 0)
    assert process.stderr
    assert b"Traceback" not in process.stderr.read()
    assert ended(left)


def test_garbage_is_no_end(recorded: Project, version: dict[str, str]) -> None:
    """Neither text, bytes, incomplete messages nor unknown methods end it, and only the protocol is on its output."""
    process = started(recorded, **version)
    garbage = [
        b"hello\n", b"\xff\xfe\x00\n", b"{\n", b"[]\n", b"null\n", b"\n", b"[" * 20_000 + b"\n",
        b'{"jsonrpc": "2.0"}\n', b'{"jsonrpc": "2.0", "id": {}, "method": 3}\n',
        b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":[1]}\n',
    ]  # fmt: skip
    ping = {"jsonrpc": "2.0", "id": "last", "method": "ping"}
    line = sent(process, *garbage, ping)
    while json.loads(line).get("id") != "last":
        assert process.stdout
        line = process.stdout.readline()
    output, errors = process.communicate(timeout=60)
    assert (output, process.returncode) == (b"", 0)
    assert b"Traceback" not in errors


def test_without_the_package_the_remedy_is_printed(project: Project, tmp_path: Path) -> None:
    """And without a record, before anything is served."""
    (tmp_path / "mcp.py").write_text("raise ImportError")
    done = project.provio("mcp", code=1, env={**project.env, "PYTHONPATH": str(tmp_path)}, stdin=subprocess.DEVNULL)
    assert "needs the Python package mcp, which is not installed" in done.stderr
    with project.path.joinpath("errors").open("w+") as errors:
        closed = 'exec "$@" mcp <&-'
        subprocess.run(["sh", "-c", closed, "sh", *provio_command()], cwd=project.path, env=project.env, stderr=errors)
        errors.seek(0)
        assert "standard input or output is closed: let a client" in errors.read()
    (project.path / ".provio").rmdir()
    assert "no .provio" in project.provio("mcp", code=3, stdin=subprocess.DEVNULL).stderr


@pytest.mark.parametrize(
    "answer",
    [
        {"rows": ["x" * 90] * 1000},
        {"a": {"b": [["y" * 1000] * 300]}, "next": "n" * 3000},
        {"text": "z" * 10**6},
        {"results": {"bindings": [{"a": "\udcff\x9b" * 20_000}] * 5}},
        {"names": {str(n): "é" * 50 for n in range(2000)}},
    ],
    ids=["rows", "nested lists", "a text", "bindings", "an object"],
)
def test_no_answer_is_larger_than_the_limit(answer: dict[str, Any]) -> None:
    """Of any form."""
    text = capped.answer(lambda _: json.loads(json.dumps(answer)), {})
    assert len(text.encode()) <= capped.MOST
    found = json.loads(text)
    assert "at most 60 kB" in found["cut"]
    assert found.get("next", "n" * 3000) == "n" * 3000
