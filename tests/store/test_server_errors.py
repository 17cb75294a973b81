"""Errors of a server (401, 403, an untrusted certificate), and a merge that fails in the middle."""

from __future__ import annotations

import contextlib
import http.server
import io
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Project, in_memory
from sparql_servers import Server, account
from test_remote import quads, record

from provio.merge import cross_run, intake, partitions
from provio.merge.partitions import Partitions
from provio.settings import load, schema
from provio.settings.home import Home
from provio.store import Writer, open_writer
from provio.store.remote import server as speaking
from provio.trace.read import read_run

tmp_path = in_memory

Refusal = Callable[[int], str]


def serve(code: int, context: ssl.SSLContext | None = None) -> http.server.ThreadingHTTPServer:
    """Start a server that answers every request with one code."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(code)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"\x1b[31m\n")

        do_POST = do_PUT = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.fixture
def refuses() -> Iterator[Refusal]:
    """A function that starts a server with one answer, and returns its URL."""
    started: list[http.server.ThreadingHTTPServer] = []

    def refusing(code: int) -> str:
        started.append(serve(code))
        return f"http://127.0.0.1:{started[-1].server_port}"

    yield refusing
    for server in started:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("code", "named", "said"),
    [
        (401, False, "requires a name and password (401)"), (401, True, "refuses this name and password (401)"),
        (403, False, "forbids that (403)"), (403, True, "forbids that (403)"), (500, False, "failed (500)"),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_refusals_of_a_server(project: Project, refuses: Refusal, code: int, named: bool, said: str) -> None:
    """One line with the remedy; a run keeps its exit code and stays pending; no escape sequence from the server, no
    password."""
    record(project)
    if named:
        account(project, "ada", "love-lace")
    url = refuses(code)
    for arguments in (["runs"], ["merge"]):
        done = project.provio(*arguments, "--store", url, code=1)
        assert said in done.stderr.splitlines()[-1]
        assert "\x1b" not in done.stderr and "love-lace" not in done.stderr and "Traceback" not in done.stderr
    ended = project.provio("run", "--", "sh", "-c", "exit 4", code=4, env={**project.env, "PROVIO_STORE": url})
    assert said in ended.stderr
    assert len(quads(project)) > 0 and project.provio("runs", "--as", "tsv").stdout.count("\n") == 6


@pytest.mark.slow
def test_the_end_of_a_run_does_not_wait_for_a_server_that_is_silent(project: Project) -> None:
    """It accepts connections and sends nothing: the run ends with its own exit code, long before a query would time
    out, and stays pending."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        done = project.provio("run", "--", "true", env={**project.env, "PROVIO_STORE": url})
    assert f"is recorded, but not merged: {url} does not answer in time" in done.stderr
    assert project.provio("merge").stderr == "1 run merged, 0 unchanged\n"


def drips(server: socket.socket, head: bytes) -> None:
    """Answer a client: the header at once, then a byte each fifth of a second, without an end."""
    with contextlib.suppress(OSError):
        connection, _ = server.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(head)
            while True:
                connection.sendall(b"a")
                time.sleep(0.2)


@pytest.mark.slow
@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nContent-Length: 90000\r\n\r\n"])
def test_the_end_of_a_run_does_not_wait_for_a_server_that_drips(project: Project, head: bytes) -> None:
    """It always sends and never ends: in its headers, or after them."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=drips, args=(server, head), daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        done = project.provio("run", "--", "true", env={**project.env, "PROVIO_STORE": url})
    assert f"is recorded, but not merged: {url} does not answer in time" in done.stderr


class Slow(http.server.BaseHTTPRequestHandler):
    """Reads and answers in twenty pieces, a fifth of a second between them."""

    def do_GET(self) -> None:
        pieces = 20 if "graph" in self.path else 0
        self.send_response(200)
        self.send_header("Content-Length", f"{pieces * 1000}")
        self.end_headers()
        for _ in range(pieces):
            time.sleep(0.2)
            self.wfile.write(b"b" * 1000)

    def do_PUT(self) -> None:
        size = int(self.headers["Content-Length"]) // 20
        for _ in range(20):
            time.sleep(0.2)
            self.rfile.read(size)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.slow
def test_a_long_answer_that_comes_is_waited_for_however_long_that_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """An upload and an answer that each take longer than the time-out are complete."""
    monkeypatch.setattr(speaking, "ANSWER", 3)
    slow = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)  # all but a few MB of the sent data is read
    threading.Thread(target=slow.serve_forever, daemon=True).start()
    try:
        server, begun = speaking.Server(f"http://127.0.0.1:{slow.server_port}", None, None), time.monotonic()
        server.put("https://w3id.org/provio/graph", io.BytesIO(b"# a comment\n" * 3_000_000))
        middle = time.monotonic()
        assert server.get("https://w3id.org/provio/graph").read() == b"b" * 20_000
        assert min(middle - begun, time.monotonic() - middle) > 3
    finally:
        slow.shutdown()
        slow.server_close()


@pytest.fixture
def certificate(tmp_path: Path, needs: Callable[[str], None]) -> Path:
    """A self-signed certificate for 127.0.0.1, with its key in the same file."""
    needs("openssl")
    file = tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(file), "-out", str(tmp_path / "alone.pem")]
    subprocess.run(command, check=True, capture_output=True)
    file.write_text(file.read_text() + (tmp_path / "alone.pem").read_text())
    return file


@pytest.mark.integration
def test_an_untrusted_certificate(project: Project, certificate: Path) -> None:
    """Nothing is sent to that server, unless its authority is configured."""
    record(project)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = serve(403, context)
    url = f"https://127.0.0.1:{server.server_port}"
    try:
        assert "has a certificate that is not trusted" in project.provio("runs", "--store", url, code=1).stderr
        project.env["REQUESTS_CA_BUNDLE"] = str(certificate.with_name("alone.pem"))
        assert "forbids that (403)" in project.provio("runs", "--store", url, code=1).stderr
        wrong = url.replace("127.0.0.1", "localhost")
        assert "has a certificate that is not trusted" in project.provio("runs", "--store", wrong, code=1).stderr
    finally:
        server.shutdown()
        server.server_close()


class Failing:
    """A writer that fails when it indexes one run."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.failed = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self.writer, name)

    def index(self, lines: list[str]) -> None:
        """Fail once."""
        self.failed += 1
        if self.failed == 1:
            raise ValueError("fails in the middle")
        self.writer.index(lines)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["here", "there"])
def test_a_failed_merge_leaves_nothing_of_its_run(project: Project, oxigraph: Server, where: str) -> None:
    """Its graph and all conclusions from it: every quad is as before, and the run is merged when that succeeds."""
    record(project)
    options = ["--store", oxigraph.url] if where == "there" else []
    last = max((project.path / ".provio" / "runs").iterdir())
    aside = last.rename(project.path / last.name)
    before = quads(project, *options)
    aside.rename(last)
    settings = load.load(flags={"store": oxigraph.url}) if options else schema.Config()
    with open_writer(Home(project.path / ".provio"), settings, wait=True) as writer:
        failing = Failing(writer)
        with pytest.raises(ValueError, match="in the middle"):
            known = cross_run.Runs.of(failing), cross_run.Derived(failing)  # type: ignore[arg-type]
            intake.put(failing, partitions.prepare(Partitions(read_run(last)), settings), *known)  # type: ignore[arg-type]
        assert failing.failed == 1
        writer.publish()
    aside = last.rename(project.path / last.name)
    assert quads(project, *options) == before
    aside.rename(last)
    assert len(quads(project, *options)) > len(before)
    assert quads(project, *options) == quads(project)
