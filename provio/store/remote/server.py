"""Client of a SPARQL 1.1 server (Protocol, Graph Store HTTP Protocol): sends queries and graphs, returns the answers.

An answer is a file, on disk if it is large: complete, or absent. The client contacts no other host: it follows no
redirect and uses no proxy. A user name and a password come from the user's own settings or netrc, and only that
server receives them. Each error is a StoreError of one line.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import os
import socket
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from provio.base.errors import StoreError
from provio.base.vocab import PROLOGUE
from provio.settings.types import Account, Endpoints

try:
    import requests
    from requests.adapters import HTTPAdapter
    from requests.auth import HTTPBasicAuth, HTTPDigestAuth
    from requests.utils import get_netrc_auth
    from urllib3.connection import HTTPConnection, HTTPSConnection
    from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
except ImportError as error:
    from provio.system import installation

    raise StoreError(f"a store on a server needs requests: {installation.install('remote')}") from error

if TYPE_CHECKING:
    from requests import Response

CONNECT, ANSWER = 5, 300  # seconds
GREETING = 10  # seconds to wait at the end of a run for the first response of a server
LINES = 1_000  # lines of an update, that is triples: Virtuoso accepts some thousands
MOST = 200  # characters of a server's error message
LARGEST = 4 << 30  # bytes of an answer, about ten million rows
NEAR = 1 << 20  # bytes of an answer that are kept in memory
PIECE = 1 << 16  # bytes
VIRTUOSO = Endpoints("/sparql-auth", "/sparql-auth", "/sparql-graph-crud-auth")
AT_ONCE = 8 << 20  # bytes of N-Triples per request: Virtuoso splits many more into transactions that block each other
JSON, TRIPLES = "application/sparql-results+json", "application/n-triples"


class Server:
    """A server at a URL; `endpoints` if they differ from /query, /update and /store below that URL.

    Unless `wait`, the constructor fails soon if the server does not respond.
    """

    def __init__(self, url: str, endpoints: Endpoints | None, account: Account | None, wait: bool = True) -> None:
        self.url = url.rstrip("/")
        self.endpoints = endpoints or Endpoints("/query", "/update", "/store")
        self.timeout = ANSWER if wait else GREETING
        self.software = ""
        self.session = requests.Session()
        self.session.trust_env = False
        for scheme in ("http://", "https://"):
            self.session.mount(scheme, Bounded())
        self.session.verify = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("SSL_CERT_FILE") or True
        netrc = None if account else get_netrc_auth(self.url)
        self.account = account or (Account(*netrc) if netrc else None)
        self._greet(found=endpoints is not None)
        self.timeout = ANSWER

    def _greet(self, found: bool) -> None:
        """Detect the server software, and Virtuoso's endpoints unless they are set."""
        answer = self._send("GET", "", check=False)
        self._received(answer)
        self.software = answer.headers.get("Server", "")
        if self.is_virtuoso and not found:
            self.endpoints = VIRTUOSO if self.account else Endpoints("/sparql", "/sparql", "/sparql-graph-crud")

    @property
    def is_virtuoso(self) -> bool:
        """Whether it is Virtuoso, which takes the graphs of a query from the query text only."""
        return self.software.startswith("Virtuoso")

    @property
    def is_oxigraph(self) -> bool:
        """Whether it is Oxigraph, which supports the union of all its graphs."""
        return self.software.startswith("Oxigraph")

    def ask(
        self, sparql: str, default: Sequence[str] = (), named: Sequence[str] = (), *, accept: str = JSON
    ) -> IO[bytes]:
        """Return the answer to a query over these graphs only; raises SyntaxError for invalid SPARQL."""
        graphs: dict[str, object] = {}
        if self.is_virtuoso:
            names = [("default", graph) for graph in default] + [("named", graph) for graph in named]
            sparql = "".join(f"define input:{kind}-graph-uri <{graph}>\n" for kind, graph in names) + sparql
        else:
            graphs = {"default-graph-uri": list(default), "named-graph-uri": list(named)}
        form = {"query": sparql, **graphs}
        answer = self._send("POST", self.endpoints.query, data=form, headers={"Accept": accept}, check=False)
        if answer.status_code == 400 or (self.is_virtuoso and answer.status_code == 500):
            raise SyntaxError(_error_text(answer))
        self._check(answer)
        kind = answer.headers.get("Content-Type", "nothing").partition(";")[0]
        if kind not in (accept, "application/json", "text/plain"):
            raise StoreError(f"{self.url} does not speak SPARQL (it answers with {kind}): see docs/servers.md")
        self._complete(answer)
        return self._received(answer)

    def own_query(self, sparql: str, graphs: Sequence[str]) -> IO[bytes]:
        """Send one of provio's own queries; a syntax error is then the server's fault (StoreError)."""
        with understood(self):
            return self.ask(PROLOGUE + sparql, graphs, graphs)

    def update(self, operations: Iterable[str]) -> None:
        """Apply an update; it is atomic where it is one request."""
        # Virtuoso compiles an update, up to some size; elsewhere one request is one transaction.
        for text in _requests(operations) if self.is_virtuoso else [" ;\n".join(operations)]:
            answer = self._send("POST", self.endpoints.update, data={"update": text})
            if answer.status_code >= 300:
                raise StoreError(f"{self.url}: {_error_text(answer)}")
            self._received(answer)

    def put(self, graph: str, triples: IO[bytes], more: bool = False) -> None:
        """Replace the content of a graph that no query reads with N-Triples, or (`more`) add them to it."""
        if not self.is_virtuoso:
            # Oxigraph is many times slower in one transaction, and no query reads a graph before the index names it.
            self._upload(graph, triples, more, **({"no_transaction": ""} if self.is_oxigraph else {}))
            return
        while piece := triples.read(AT_ONCE):
            self._upload(graph, io.BytesIO(piece + triples.readline()), more)
            more = True

    def _upload(self, graph: str, triples: IO[bytes], more: bool, **loose: str) -> None:
        method, where = "POST" if more else "PUT", {"graph": graph, **loose}
        self._received(
            self._send(method, self.endpoints.data, params=where, data=triples, headers={"Content-Type": TRIPLES})
        )

    def get(self, graph: str) -> IO[bytes]:
        """Return a graph as N-Triples; empty if there is none."""
        answer = self._send(
            "GET", self.endpoints.data, params={"graph": graph}, headers={"Accept": TRIPLES}, check=False
        )
        if answer.status_code == 404:
            answer.close()
            return io.BytesIO()
        self._check(answer)
        found = self._received(answer)
        if self.is_virtuoso:
            self._count(graph, found)
        return found

    def _complete(self, answer: Response) -> None:
        """Raise StoreError for an answer that Virtuoso marks as incomplete, because its own limits are low."""
        rows = answer.headers.get("X-SPARQL-MaxRows")
        if rows:
            raise StoreError(
                f"{self.url} gives no more than {rows} rows: set ResultSetMaxRows higher in its virtuoso.ini"
            )
        if "X-SQL-State" in answer.headers:
            raise StoreError(
                f"{self.url} stopped at a limit of its own: query less data, or see MaxQueryExecutionTime there"
            )

    def _count(self, graph: str, found: IO[bytes]) -> None:
        """Raise StoreError if Virtuoso has omitted triples of a graph, which it does not report."""
        from provio.store.remote import terms

        lines = sum(line.startswith(b"<") for line in found)
        found.seek(0)
        query = f"SELECT (COUNT(*) AS ?n) {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}"
        whole = next(int(row["n"]) for row in terms.rows(self.ask(query, (), (graph,))))
        if lines < whole:
            raise StoreError(
                f"{self.url} gives {lines} of a graph's {whole} triples: set ResultSetMaxRows in virtuoso.ini higher"
            )

    def _received(self, answer: Response) -> IO[bytes]:
        """Return the complete answer of a server as a file."""
        file = tempfile.SpooledTemporaryFile(NEAR)  # noqa: SIM115 - the reader of the file closes it
        try:
            for piece in answer.iter_content(PIECE):
                file.write(piece)
                if file.tell() > LARGEST:
                    raise StoreError(f"{self.url} answers with more than {LARGEST >> 30} GB: query less data (LIMIT)")
        except requests.exceptions.RequestException as error:
            raise StoreError(f"{self.url} {_reason(error)}") from None
        except OSError as error:
            raise StoreError(
                f"no room for an answer in {tempfile.gettempdir()} ({error.strerror}): set TMPDIR"
            ) from error
        finally:
            answer.close()
        file.seek(0)
        return file

    def _send(self, method: str, endpoint: str, *, check: bool = True, **what: Any) -> Response:
        url = urljoin(self.url + "/", self.url + endpoint if endpoint.startswith("/") else endpoint)
        try:
            answer = self._request(method, url, what)
            if answer.status_code == 401 and self.account and self.session.auth is None:
                digest = answer.headers.get("WWW-Authenticate", "").lower().startswith("digest")
                self.session.auth = (HTTPDigestAuth if digest else HTTPBasicAuth)(*self.account)
                answer.close()
                if hasattr(what.get("data"), "seek"):
                    what["data"].seek(0)
                answer = self._request(method, url, what)
        except requests.exceptions.RequestException as error:
            raise StoreError(f"{self.url} {_reason(error)}") from None
        if check:
            self._check(answer)
        return answer

    def _request(self, method: str, url: str, what: dict[str, Any]) -> Response:
        return self.session.request(
            method, url, timeout=(CONNECT, self.timeout), allow_redirects=False, stream=True, **what,
        )  # fmt: skip

    def _check(self, answer: Response) -> None:
        code = answer.status_code
        if answer.is_redirect:
            where = urlsplit(answer.headers.get("Location", ""))
            raise StoreError(f"{self.url} redirects to {where.hostname or '?'}{where.path}: name that as the store")
        if code == 401 and self.account:
            raise StoreError(f"{self.url} refuses this name and password (401): see docs/servers.md")
        if code == 401:
            raise StoreError(
                f"{self.url} requires a name and password (401): put them into ~/.netrc, or see docs/servers.md"
            )
        if code == 403:
            raise StoreError(f"{self.url} forbids that (403): its administrator must allow reading and writing")
        if code == 404:
            raise StoreError(
                f"{self.url} has nothing at {urlsplit(answer.url).path} (404): set `servers` (docs/servers.md)"
            )
        if code >= 300:
            raise StoreError(f"{self.url} failed ({code}): {_error_text(answer)}")


@contextlib.contextmanager
def understood(server: Server) -> Iterator[None]:
    """Blame the server for a syntax error in one of provio's own queries: raise StoreError."""
    try:
        yield
    except SyntaxError as error:
        raise StoreError(f"{server.url} does not understand a query: {error}") from error


def _requests(operations: Iterable[str]) -> Iterator[str]:
    """Yield the texts of requests that contain the operations in order, few lines each."""
    text = ""
    for operation in operations:
        if text and (text + operation).count("\n") > LINES:
            yield text
            text = ""
        text += (" ;\n" if text else "") + operation
    yield text


def _error_text(answer: Response) -> str:
    """Return a server's error message in one line."""
    received = next(answer.iter_content(PIECE), b"").decode("utf-8", "replace")
    text = " ".join(received.partition("SPARQL query:")[0].split())
    return text if len(text) < MOST else text[:MOST] + " …"


def _reason(error: Exception) -> str:
    text = str(error)
    if isinstance(error, requests.exceptions.SSLError):
        return "has a certificate that is not trusted: name its authority's file in REQUESTS_CA_BUNDLE"
    for sign, reason in (
        ("timed out", "does not answer in time: check whether it is overloaded, or try later"),
        ("refused", "refuses connections: is the server running?"),
        ("NameResolution", "has no address: check the host's name"),
        ("unreachable", "cannot be reached: check the network"),
    ):
        if sign in text:
            return reason
    return f"broke off the connection ({type(error).__name__}): check whether the server is still running"


# Limit the total time of an answer, and not only the time without data.


SLOWEST = 1_000  # bytes per second, after the time-out


class _Received(io.RawIOBase):
    """The data of a socket; raises TimeoutError if they arrive too slowly."""

    def __init__(self, connection: socket.socket, source: io.RawIOBase) -> None:
        self.connection, self.source = connection, source
        self.timeout = connection.gettimeout()
        self.end = time.monotonic() + (self.timeout or 0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self.timeout is None:
            return self.source.readinto(buffer)
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self.connection.settimeout(min(left, self.timeout))
        count: int | None = self.source.readinto(buffer)
        self.connection.settimeout(self.timeout)
        self.end += (count or 0) / SLOWEST
        return count

    def close(self) -> None:
        self.source.close()
        super().close()


class _Answer(http.client.HTTPResponse):
    """An answer with a time limit that starts when the request has been sent."""

    def __init__(self, sock: socket.socket, *arguments: Any, **named: Any) -> None:
        super().__init__(sock, *arguments, **named)
        self.fp: Any = io.BufferedReader(_Received(sock, self.fp.detach()))


class _Connection(HTTPConnection):
    response_class = _Answer


class _SafeConnection(HTTPSConnection):
    response_class = _Answer


class _Connections(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SafeConnections(HTTPSConnectionPool):
    ConnectionCls = _SafeConnection


class Bounded(HTTPAdapter):
    """An adapter for `requests`: an answer may take the time-out plus the time that `SLOWEST` grants for its size."""

    def init_poolmanager(self, *arguments: Any, **named: Any) -> None:
        """Create the connection pools with these connection classes."""
        super().init_poolmanager(*arguments, **named)
        self.poolmanager.pool_classes_by_scheme = {"http": _Connections, "https": _SafeConnections}
