"""Answers of servers that are truncated, endless or interrupted: none counts as complete, and none fills the memory."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Project
from sparql_servers import INI, Server, port, started
from test_remote import record

from provio.base.errors import StoreError
from provio.settings.types import Account
from provio.store.remote import server, terms

ROW = b'{"a":{"type":"literal","value":"%s"}},' % (b"x" * 1000)
HEAD = b'{"head":{"vars":["a"]},"results":{"bindings":['
Speaker = Callable[[socket.socket], None]


@pytest.fixture
def speaks() -> Iterator[Callable[[Speaker], str]]:
    """A function that starts a server on loopback that answers any request in one way, and returns its URL."""
    listening = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []

    def serve(speak: Speaker) -> str:
        def answer() -> None:
            while True:
                try:
                    connection = listening.accept()[0]
                except OSError:
                    return
                with connection:
                    connection.settimeout(60)
                    connection.recv(1 << 16)
                    with contextlib.suppress(OSError):
                        speak(connection)

        threads.append(threading.Thread(target=answer, daemon=True))
        threads[0].start()
        return f"http://127.0.0.1:{listening.getsockname()[1]}"

    yield serve
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    for thread in threads:
        thread.join(90)
        assert not thread.is_alive()


def head(connection: socket.socket, more: bytes = b"") -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/sparql-results+json\r\n" + more + b"\r\n")


def endless(connection: socket.socket) -> None:
    head(connection)
    connection.sendall(HEAD)
    for _ in itertools.count():
        connection.sendall(ROW * 100)


def broken(connection: socket.socket) -> None:
    head(connection, b"Content-Length: 99999\r\n")
    connection.sendall(HEAD + ROW)


def test_an_endless_answer(speaks: Callable[[Speaker], str], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is aborted at a limit, for an answer and for the first response."""
    monkeypatch.setattr(server, "LARGEST", 1 << 24)
    with pytest.raises(StoreError, match="query less data"):
        server.Server(speaks(endless), None, None)


@pytest.mark.integration
def test_an_answer_that_is_broken_off(project: Project, speaks: Callable[[Speaker], str]) -> None:
    """One line, and no row of it."""
    record(project)
    done = project.provio("runs", "--store", speaks(broken), code=1)
    assert done.stdout == "" and "broke off the connection" in done.stderr.splitlines()[-1]


def test_no_room_for_an_answer(
    speaks: Callable[[Speaker], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Reported with the place and the remedy."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with pytest.raises(StoreError, match=r"gone.*TMPDIR"):
        server.Server(speaks(endless), None, None)


@pytest.mark.integration
def test_a_servers_own_time_limit(project: Project, tmp_path: Path) -> None:
    """Oxigraph then ends the answer with a sentence, which is reported."""
    record(project)
    binary = shutil.which("oxigraph") or pytest.skip("oxigraph is not installed (pip install oxigraph)")
    at = port()
    limited = started(
        [binary, "serve", "-b", f"127.0.0.1:{at}", "--timeout-s", "1"], f"http://127.0.0.1:{at}", tmp_path
    )
    try:
        many = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"
        done = project.provio("query", many, "--store", limited.url, code=1)
        assert (done.stdout, done.stderr.count("\n")) == ("", 1)
        assert "limit of its own" in done.stderr
    finally:
        limited.process.kill()
        limited.process.wait()


@pytest.fixture(scope="module")
def low(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A Virtuoso with a limit of a hundred rows."""
    binary = shutil.which("virtuoso-t") or pytest.skip("not installed: virtuoso-t (make test installs it where it may)")
    folder, at = tmp_path_factory.mktemp("low"), port()
    (folder / "v.ini").write_text(INI.format(folder, port(), at).replace("100000000", "100"))
    found = started([binary, "+configfile", "v.ini", "+foreground"], f"http://127.0.0.1:{at}", folder)
    yield found
    found.process.kill()
    found.process.wait()


@pytest.mark.integration
def test_virtuoso_cuts_no_answer_without_a_word(low: Server) -> None:
    """Rows and graphs truncated by its limit, with or without a header that reports it, are refused."""
    there = server.Server(low.url, None, Account("dba", "dba"))
    for graph, count in (("urn:most", 99), ("urn:more", 150)):
        triples = "".join(f"<urn:s> <urn:p> {number} . " for number in range(count))
        there.update([f"INSERT DATA {{ GRAPH <{graph}> {{ {triples} }} }}"])
    rows = "SELECT ?o { ?s ?p ?o }"
    assert len(list(terms.rows(there.ask(rows, ["urn:most"])))) == 99
    assert there.get("urn:most").read().count(b"<urn:s>") == 99
    with pytest.raises(StoreError, match="no more than 100 rows: set ResultSetMaxRows"):
        there.ask(rows, ["urn:more"])
    with pytest.raises(StoreError, match=r"10[01] of a graph's 150 triples: set ResultSetMaxRows"):
        there.get("urn:more")
