"""Real servers for the tests: Oxigraph's own binary and Debian's Virtuoso, on loopback, ended with the test."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Project

INI = """
[Database]
DatabaseFile = {0}/v.db
ErrorLogFile = {0}/v.log
LockFile = {0}/v.lck
TransactionFile = {0}/v.trx
xa_persistent_file = {0}/v.pxa
FileExtend = 200
[TempDatabase]
DatabaseFile = {0}/temp.db
TransactionFile = {0}/temp.trx
[Parameters]
ServerPort = 127.0.0.1:{1}
NumberOfBuffers = 4000
MaxDirtyBuffers = 3000
ServerThreads = 10
CheckpointInterval = 0
DirsAllowed = {0}
[HTTPServer]
ServerPort = 127.0.0.1:{2}
ServerThreads = 5
ServerRoot = {0}
[SPARQL]
ResultSetMaxRows = 100000000
"""


_kept: list[socket.socket] = []


@dataclass
class Server:
    """A server that the tests started."""

    url: str
    process: subprocess.Popen[bytes]

    def update(self, text: str) -> None:
        request = urllib.request.Request(
            f"{self.url}/update", text.encode(), {"Content-Type": "application/sparql-update"}
        )
        urllib.request.urlopen(request, timeout=30).close()


def port() -> int:
    """Return a port that the system assigns to no other process during the tests; only a server that shares addresses
    can bind it."""
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    found.bind(("127.0.0.1", 0))
    _kept.append(found)
    return int(found.getsockname()[1])


def started(command: list[str], url: str, folder: Path) -> Server:
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(url, timeout=30).close()
            return Server(url, process)
        except urllib.error.HTTPError:
            return Server(url, process)
        except OSError:
            assert process.poll() is None, f"{command} ended"
            time.sleep(0.02)
    raise AssertionError(f"{url} does not answer")


def serve(folder: Path, at: int) -> Server:
    beside = Path(sys.executable).with_name("oxigraph")
    binary = str(beside) if beside.exists() else shutil.which("oxigraph")
    if not binary:
        pytest.skip("oxigraph is not installed (pip install oxigraph)")
    return started(
        [binary, "serve", "-l", str(folder / "db"), "-b", f"127.0.0.1:{at}"], f"http://127.0.0.1:{at}", folder
    )


@pytest.fixture
def oxigraph(tmp_path: Path) -> Iterator[Server]:
    folder = tmp_path / "oxigraph"
    folder.mkdir()
    server = serve(folder, port())
    yield server
    server.process.kill()
    server.process.wait()


@pytest.fixture
def virtuoso(virtuoso_at_work: Server) -> Server:
    """Start it once, because it starts slowly; empty its index, so that nothing of other tests is left."""
    requests = pytest.importorskip("requests")
    for name in ("index", "derived", "derived/content", "lease"):
        update = {"update": f"DROP SILENT GRAPH <https://w3id.org/provio/{name}>"}
        account = requests.auth.HTTPDigestAuth("dba", "dba")
        requests.post(f"{virtuoso_at_work.url}/sparql-auth", update, auth=account, timeout=60).raise_for_status()
    return virtuoso_at_work


@pytest.fixture(scope="session")
def virtuoso_at_work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    binary = shutil.which("virtuoso-t")
    if not binary:
        pytest.skip("not installed: virtuoso-t (make test installs it where it may)")
    folder, at = tmp_path_factory.mktemp("virtuoso"), port()
    (folder / "v.ini").write_text(INI.format(folder, port(), at))
    server = started([binary, "+configfile", "v.ini", "+foreground"], f"http://127.0.0.1:{at}", folder)
    yield server
    server.process.kill()
    server.process.wait()


def account(project: Project, user: str = "dba", password: str = "dba") -> None:
    """Write a netrc."""
    netrc = project.path.parent / ".netrc"
    netrc.write_text(f"machine 127.0.0.1 login {user} password {password}\n")
    netrc.chmod(0o600)
