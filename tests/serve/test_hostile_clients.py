"""Clients of `provio serve` that send too much, or too slowly: others are answered."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from conftest import Project, new_project
from serve_process import Site, serving

from provio.base.errors import TooMuchMemory
from provio.serve.connections import EACH, Connections
from provio.serve.worker import Worker

waitress = pytest.importorskip("waitress")

FILES = "SELECT DISTINCT ?path { ?file a provio:File ; provio:path ?path FILTER(STRENDS(?path, '.txt')) }"

LARGE = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY ?i ?f"  # gigabytes to sort
TOO_MUCH = (
    "stopped: the query needs more than 0.15 GB of memory: query less data (--campaign, --depth, LIMIT), or raise "
    "--max-memory"
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Project:
    """One file is copied."""
    project = new_project(tmp_path_factory.mktemp("serve"))
    (project.path / "raw.txt").write_text("raw\n")
    project.watch("cp", "raw.txt", "copy.txt")
    return project


@pytest.fixture(scope="module")
def site(recorded: Project) -> Iterator[Site]:
    with serving(recorded, "--timeout", "20") as started:
        yield started


@pytest.mark.slow
@pytest.mark.parametrize("part", ["\\", "'\\", "a.", "(", "FROM <a> ", "?a a prov:Entity ."])
def test_a_megabyte_of_nonsense_is_refused(site: Site, part: str) -> None:
    """Reading it takes no longer than the client waits, a minute; before, it took more."""
    text = "SELECT * { ?a ?service ?b " + part * (1_000_000 // len(part))
    status, said, _ = site.ask("/query", "POST", text, Content_Type="application/sparql-query")
    assert status in (400, 403, 503, 504), said
    assert site.query(FILES)[0] == 200


@pytest.mark.slow
def test_a_query_that_needs_too_much_memory_is_ended(recorded: Project) -> None:
    """503 and one line; the next query is answered, and those of the explorer."""
    with serving(recorded, "--max-memory", "150 MB") as site:
        for _ in range(2):
            status, said = site.query(LARGE)
            assert (status, said) == (503, f"{TOO_MUCH}\n")
            assert site.query(FILES)[0] == 200
        assert site.api("search", words="copy")["found"]


GROWS = """
import sys, time
print("ready", flush=True)
for line in sys.stdin:
    taken = b"1" * int(line)
    time.sleep(2)  # longer than a look takes
    print('{"answer": "done"}', flush=True)
"""


@pytest.mark.integration
def test_a_query_of_the_explorer_has_a_limit_of_its_own() -> None:
    """The process is ended, and the next query starts another one."""
    with ThreadPoolExecutor(1) as executor:
        worker = Worker("lineage", "/nowhere", executor, 150_000_000)
        worker.process = process = subprocess.Popen(
            [sys.executable, "-c", GROWS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        assert worker.query(10_000_000, 0) == "done"  # type: ignore[arg-type]
        with pytest.raises(TooMuchMemory):
            worker.query(400_000_000, 0)  # type: ignore[arg-type]
        assert worker.process is None and process.returncode == -signal.SIGKILL


def opened(url: str, stack: ExitStack, source: str = "127.0.0.1") -> socket.socket:
    """A connection that is closed with the stack."""
    place = ("127.0.0.1", urlsplit(url).port or 0)
    return stack.enter_context(socket.create_connection(place, timeout=60, source_address=(source, 0)))


def is_closed(connection: socket.socket) -> bool:
    """Whether the server has closed a connection on which it sends nothing; waits for a moment."""
    connection.settimeout(0.05)
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def sends(connection: socket.socket, data: bytes) -> bool:
    """Whether more can be sent."""
    try:
        connection.sendall(data)
    except OSError:
        return False
    return True


@pytest.mark.slow
def test_slow_headers_lock_nobody_out(site: Site) -> None:
    """More connections than are allowed send a byte now and then; a request is answered each time."""
    with ExitStack() as stack:
        slow = [opened(site.url, stack) for _ in range(250)]
        for _ in range(8):
            for one in slow:
                sends(one, b"G" if _ == 0 else b"E")
            assert site.query(FILES)[0] == 200
            time.sleep(1)


BODY = b"POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"


@pytest.mark.slow
@pytest.mark.parametrize("start", [b"GET /", BODY], ids=["header", "body"])
def test_a_request_must_arrive_as_a_whole(site: Site, start: bytes) -> None:
    """Its header and its body: a client that sends them byte by byte is disconnected."""
    with ExitStack() as stack:
        slow = opened(site.url, stack)
        slow.sendall(start)
        assert not is_closed(slow)
        end = time.monotonic() + 300
        while time.monotonic() < end and not is_closed(slow):
            sends(slow, b"a")
            time.sleep(0.2)
        assert is_closed(slow)


@pytest.mark.integration
def test_one_client_cannot_have_all_connections() -> None:
    """On an address that others can reach, its connections that have waited longest are closed first."""
    server = waitress.create_server(lambda _, start: (start("200 OK", []), [b"yes"])[1], host="127.0.0.1", port=0)
    Connections(server, own=False)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.effective_port}"
    with ExitStack() as stack:
        other = opened(url, stack, "127.0.0.2")
        many = []
        for _ in range(EACH + 10):
            many.append(opened(url, stack))
            many[-1].sendall(b"G")
        last = opened(url, stack)
        last.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert last.recv(12) == b"HTTP/1.0 200"
        other.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert other.recv(12) == b"HTTP/1.0 200"
        closed = [is_closed(one) for one in many]
        assert sum(closed) == 11 and not any(closed[20:])
    server.close()
    server.task_dispatcher.shutdown()
