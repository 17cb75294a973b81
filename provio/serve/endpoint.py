"""The SPARQL 1.1 endpoint: passes requests on to Oxigraph's server and returns its responses.

Updates and queries of other servers are rejected here, because Oxigraph's server has no option for that. A query that
exceeds its time limit is also stopped there: if the server ignores its own limit, it is killed and started again, and
other queries in progress are sent again without notice. A server that takes too much memory is killed too; as it is not
known which query needed it, all queries in progress are then refused.
"""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

from provio.base.errors import ProvioError, TimedOut, TooMuchMemory
from provio.base.vocab import PREFIXES, PROLOGUE, RUN_BASE
from provio.serve.oxigraph import OxigraphServer
from provio.serve.snapshot_holder import Served, SnapshotHolder
from provio.store import implied, sparql, sparql_errors, sparql_patterns

AT_ONCE = 8  # queries at the same time
WAITING = 8  # queries that wait for a place; more would leave no thread for the explorer
WHOLE = 1 << 20  # bytes of a response to receive before any is sent: an error until then has its own status
ENDED = "the query was ended (no memory left, or nested too deeply): query less data"
GRACE = 1.5  # seconds after the time limit until a server that still runs the query is killed
CANCELLED = b"The SPARQL operation has been cancelled"
FORM = "application/x-www-form-urlencoded"
DATASET = ("default-graph-uri", "named-graph-uri")


class Refused(ProvioError):
    """A rejected request: the HTTP status and the reason."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Reply(NamedTuple):
    """A response: HTTP status, headers, and the parts of the body as they arrive."""

    status: int
    headers: list[tuple[str, str]]
    parts: Iterable[bytes]


class Endpoint:
    """Passes queries on; `seconds` is the time limit of each."""

    def __init__(self, holder: SnapshotHolder, seconds: float) -> None:
        self.holder, self.seconds = holder, seconds
        self.places, self.queue = threading.BoundedSemaphore(AT_ONCE), threading.BoundedSemaphore(WAITING)

    def answer(self, request: Mapping[str, str], body: bytes) -> Reply:
        """Return the response to a request (a WSGI environment); raise Refused, TimedOut."""
        text, graphs = _given(request, body)
        headers = {"Accept": request.get("HTTP_ACCEPT", "*/*"), "Content-Type": FORM, "Connection": "close"}
        self._enter()
        query = _Query(self.holder, self.seconds, self.places)
        try:
            return query.run(text, graphs, headers)
        except BaseException:
            query.close()
            raise

    def _enter(self) -> None:
        """Wait for a place, at most as long as a query may take."""
        entered = self.places.acquire(blocking=False)
        if not entered and self.queue.acquire(blocking=False):
            try:
                entered = self.places.acquire(timeout=self.seconds or None)
            finally:
                self.queue.release()
        if not entered:
            raise Refused(503, f"{AT_ONCE} queries are already running: try again later")


def _given(request: Mapping[str, str], body: bytes) -> tuple[str, list[tuple[str, str]]]:
    """Return the query of a request, and the parameters that name the graphs of its dataset."""
    given = parse_qsl(request.get("QUERY_STRING", ""), keep_blank_values=True)
    kind = request.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
    if request["REQUEST_METHOD"] == "POST":
        given += _posted(kind, body)
    if any(name in ("update", "using-graph-uri", "using-named-graph-uri") for name, _ in given):
        raise Refused(403, "this endpoint is read-only: updates are rejected")
    queries = [value for name, value in given if name == "query"]
    if len(queries) != 1:
        raise Refused(400, "give one query: /query?query=…, or POST it (SPARQL 1.1 Protocol)")
    return queries[0], [(name, value) for name, value in given if name in DATASET]


def _bodies(text: str, graphs: list[tuple[str, str]]) -> Iterator[bytes]:
    """Yield the bodies to send, after each step of the preparation: none, or the query with provio's prefixes, first
    extended by implied classes of PROV. Raises Refused."""
    if sparql.updates(text):
        raise Refused(403, "this endpoint is read-only: updates are rejected")
    yield b""
    if sparql.calls_service(text):
        raise Refused(403, "SERVICE is rejected because it queries another server: remove it")
    yield b""
    named: list[str] = []
    with contextlib.suppress(SyntaxError):
        named = [graph for graphs_ in sparql.dataset(text, PREFIXES) or () for graph in graphs_]
    if any(graph.startswith(RUN_BASE) for graph in (*named, *(value for _, value in graphs))):
        # The graph of a single run: all runs are in one graph, so the result would be empty.
        raise Refused(400, "runs have no separate graphs here: use ?x provio:partOf+ <RUN>, or provio query --name")
    if not graphs and not named:
        graphs = [("union-default-graph", "")]  # not if the query names some: it would override FROM
    yield b""
    text = PROLOGUE + text
    wide = sparql_patterns.widened(text)
    if wide != text:
        more = [(DATASET[0], implied.CLASSES)] if any(name == DATASET[0] for name, _ in graphs) else []
        yield urlencode([("query", sparql.with_graph(wide, implied.CLASSES)), *graphs, *more]).encode()
    yield urlencode([("query", text), *graphs]).encode()


def _posted(kind: str, body: bytes) -> list[tuple[str, str]]:
    try:
        text = body.decode()
        if kind == "application/sparql-query":
            return [("query", text)]
        if kind == FORM:
            return parse_qsl(text, keep_blank_values=True, errors="strict")
    except ValueError:
        raise Refused(400, "the query is not UTF-8 text") from None
    if kind == "application/sparql-update":
        raise Refused(403, "this endpoint is read-only: updates are rejected")
    raise Refused(415, f"POST a query as application/sparql-query, or as a form ({FORM})")


def _in_query(message: bytes) -> str:
    """Return an error message with the column in the first line corrected for provio's prefixes."""
    text = message.decode("utf-8", "replace")
    return re.sub(r"\berror at 1:(\d+)", lambda found: f"error at 1:{int(found[1]) - len(PROLOGUE)}", text)


class _Query:
    """A query in progress; it occupies a place and holds the snapshot until it is closed."""

    def __init__(self, holder: SnapshotHolder, seconds: float, places: threading.BoundedSemaphore) -> None:
        self.seconds, self.places = seconds, places
        self.deadline = time.monotonic() + seconds if seconds else None
        self.stack = contextlib.ExitStack()
        self.stack.callback(places.release)
        self.served: Served = self.stack.enter_context(holder.served())
        self.connection: http.client.HTTPConnection | None = None
        self.response: http.client.HTTPResponse | None = None
        self.socket: socket.socket | None = None
        self.server: OxigraphServer | None = None
        self.text = ""

    def run(self, text: str, graphs: list[tuple[str, str]], headers: dict[str, str]) -> Reply:
        """Send the query with implied classes, or the original one if the server rejects that; return the response when
        its first `WHOLE` bytes have arrived."""
        self.text, bodies = text, list[bytes]()
        for last in (False, True):
            try:
                bodies = bodies or self._prepared(text, graphs)
                self.server = self.served.oxigraph()
                return self._send(bodies, headers)
            except TimeoutError:
                raise TimedOut(self.seconds) from None
            except (OSError, http.client.HTTPException):
                if self.server and self.server.exceeds:
                    raise TooMuchMemory(self.served.memory) from None
                if last:  # the server ended twice, probably because of this query
                    raise Refused(503, ENDED) from None
                if self.server:
                    self._drop_connection(self.server)
        raise AssertionError

    def _prepared(self, text: str, graphs: list[tuple[str, str]]) -> list[bytes]:
        """Return the bodies to send; the time of the query's preparation counts."""
        found = []
        for body in _bodies(text, graphs):
            self._left()
            found += [body] if body else []
        return found

    def _drop_connection(self, server: OxigraphServer) -> None:
        """Close the connection to a server that did not respond, and may be about to end."""
        if self.connection:
            self.connection.close()
        server.ends_within(1)

    def _send(self, bodies: list[bytes], headers: dict[str, str]) -> Reply:
        assert self.server  # noqa: S101 - `run` set it
        self.connection = http.client.HTTPConnection("localhost")
        # The connection drops the socket when the response starts.
        self.socket = self.connection.sock = self.server.connect(self._left())
        self.connection.request("POST", "/query", bodies[0], headers)
        self.response = response = self.connection.getresponse()
        head = b""
        while len(head) < WHOLE and (part := self._part(response)):
            head += part
        if response.isclosed() and head.endswith(CANCELLED):
            raise TimeoutError
        if response.status == HTTPStatus.BAD_REQUEST and bodies[1:]:
            self.connection.close()
            return self._send(bodies[1:], headers)  # its error has the position in the original query
        if response.status == HTTPStatus.BAD_REQUEST:
            head = f"not SPARQL: {sparql_errors.explained(self.text, _in_query(head))}\n".encode()
        kept = [(name, value) for name in ("Content-Type",) if (value := response.headers.get(name))]
        if note := self.served.note():
            kept.append(("Provio-As-Of", quote(note, safe=" ,:;")))
        if response.isclosed():
            self.close()
            return Reply(response.status, [*kept, ("Content-Length", str(len(head)))], [head])
        return Reply(response.status, kept, self._rest(head, response))

    def _rest(self, head: bytes, response: http.client.HTTPResponse) -> Iterator[bytes]:
        """Yield the parts of a long response; if it is cut, so is the connection, which tells the client."""
        try:
            last = head
            yield head
            while part := self._part(response):
                yield part
                last = (last + part)[-len(CANCELLED) :]
            if last.endswith(CANCELLED):
                raise TimeoutError
        finally:
            self.close()

    def _part(self, response: http.client.HTTPResponse) -> bytes:
        if self.socket:
            self.socket.settimeout(self._left())
        return response.read1(1 << 16)

    def _left(self) -> float | None:
        if self.deadline is None:
            return None
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def close(self) -> None:
        """Release everything; stop the query if the server still runs it."""
        connection, self.connection = self.connection, None
        if connection is None or self.socket is None or (self.response and self.response.isclosed()):
            if connection:
                connection.close()
            self.stack.close()
            return
        if self.response and (self.deadline is None or time.monotonic() < self.deadline):
            with self.stack, contextlib.closing(self.socket), contextlib.closing(self.response):
                return  # the client has closed: the server stops at the next part that it writes
        threading.Thread(target=self._await_end, args=(self.socket,), daemon=True).start()

    def _await_end(self, connection: socket.socket) -> None:
        """Wait until the server has stopped the query at its time limit; kill the server if it does not."""
        end = (self.deadline or time.monotonic()) + GRACE
        with self.stack, contextlib.closing(connection):
            while (left := end - time.monotonic()) > 0:
                try:
                    connection.settimeout(left)
                    if not connection.recv(1 << 16):
                        return
                except TimeoutError:
                    break
                except OSError:
                    return
            if self.server:
                self.server.close()
