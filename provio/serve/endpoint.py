"""The SPARQL 1.1 endpoint: a request of the protocol in, the answer of Oxigraph's own server out.

What would change something or ask another server is refused here, for that server cannot be told to. A query that
takes longer than it may is given up there too: where the server does not heed its own time-out, it is ended and started
anew, and who else was being answered asks again without noticing.
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

from provio.base.errors import ProvioError, TimedOut
from provio.base.vocab import PREFIXES, PROLOGUE, RUN_BASE
from provio.serve.oxigraph import Binary
from provio.serve.snapshot_holder import Keeper, Served
from provio.store import implied, sparql, sparql_patterns

AT_ONCE = 8  # queries
WHOLE = 1 << 20  # bytes of an answer that are had before any is sent: what fails by then fails plainly
ENDED = "the query was ended (memory ran out, or it nests too deeply): ask for less"
GRACE = 1.5  # seconds beyond its time-out after which a server that is still at a query is ended
CANCELLED = b"The SPARQL operation has been cancelled"
FORM = "application/x-www-form-urlencoded"
DATASET = ("default-graph-uri", "named-graph-uri")


class Refused(ProvioError):
    """A request that is not answered: the status of HTTP, and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Reply(NamedTuple):
    """An answer: the status of HTTP, headers, and its parts as they come."""

    status: int
    headers: list[tuple[str, str]]
    parts: Iterable[bytes]


class Endpoint:
    """Hands queries on; `seconds` is how long each may take."""

    def __init__(self, keeper: Keeper, seconds: float) -> None:
        self.keeper, self.seconds = keeper, seconds
        self.places = threading.BoundedSemaphore(AT_ONCE)

    def answer(self, request: Mapping[str, str], body: bytes) -> Reply:
        """Return the answer to a request (by WSGI's names); raises Refused, TimedOut."""
        fields = _fields(request, body)
        headers = {"Accept": request.get("HTTP_ACCEPT", "*/*"), "Content-Type": FORM, "Connection": "close"}
        if not self.places.acquire(timeout=self.seconds or None):
            raise Refused(503, f"{AT_ONCE} queries are being answered: ask again later")
        going = _Going(self.keeper, self.seconds, self.places)
        try:
            return going.begun(_bodies(fields), headers)
        except BaseException:
            going.close()
            raise


def _fields(request: Mapping[str, str], body: bytes) -> list[tuple[str, str]]:
    """What is handed on: the query with provio's prefixes before it, and the graphs that it is to be asked of."""
    given = parse_qsl(request.get("QUERY_STRING", ""), keep_blank_values=True)
    kind = request.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
    if request["REQUEST_METHOD"] == "POST":
        given += _posted(kind, body)
    if any(name in ("update", "using-graph-uri", "using-named-graph-uri") for name, _ in given):
        raise Refused(403, "this endpoint is for reading: updates are refused")
    queries = [value for name, value in given if name == "query"]
    if len(queries) != 1:
        raise Refused(400, "say one query: /query?query=…, or POST it (SPARQL 1.1 Protocol)")
    text = queries[0]
    if sparql.updates(text):
        raise Refused(403, "this endpoint is for reading: updates are refused")
    if sparql.calls_service(text):
        raise Refused(403, "SERVICE is refused, for it asks another server")
    graphs = [(name, value) for name, value in given if name in DATASET]
    _refuse_runs(text, [value for _, value in graphs])
    return [("query", PROLOGUE + text), *(graphs or _all(text))]


def _refuse_runs(text: str, graphs: list[str]) -> None:
    """All runs lie in one graph: a question that names the graph of one would have no answer."""
    with contextlib.suppress(SyntaxError):
        graphs += [graph for named in sparql.dataset(text, PREFIXES) or () for graph in named]
    if any(graph.startswith(RUN_BASE) for graph in graphs):
        raise Refused(400, "runs have no graphs of their own here: ask ?x provio:partOf+ <RUN>, or provio query --name")


def _bodies(fields: list[tuple[str, str]]) -> list[bytes]:
    """What is posted: asked through the classes of PROV that the stored ones imply, then as it stands."""
    (name, text), *graphs = fields
    wide = sparql_patterns.widened(text)
    plain = urlencode(fields).encode()
    if wide == text:
        return [plain]
    more = [(DATASET[0], implied.CLASSES)] if any(given == DATASET[0] for given, _ in graphs) else []
    return [urlencode([(name, sparql.with_graph(wide, implied.CLASSES)), *graphs, *more]).encode(), plain]


def _all(text: str) -> list[tuple[str, str]]:
    """Of a query that names no graphs all are asked; Oxigraph's word for that is over FROM."""
    with contextlib.suppress(SyntaxError):
        if sparql.dataset(text, PREFIXES):
            return []
    return [("union-default-graph", "")]


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
        raise Refused(403, "this endpoint is for reading: updates are refused")
    raise Refused(415, f"POST a query as application/sparql-query, or in a form, as {FORM}")


def _placed(said: bytes) -> bytes:
    """What is wrong with a query, with the place in its first line that it has without provio's prefixes before it."""
    return re.sub(rb"\berror at 1:(\d+)", lambda found: b"error at 1:%d" % (int(found[1]) - len(PROLOGUE)), said)


class _Going:
    """A query on its way, which holds a place and the snapshot that it is asked of until it is closed."""

    def __init__(self, keeper: Keeper, seconds: float, places: threading.BoundedSemaphore) -> None:
        self.seconds, self.places = seconds, places
        self.deadline = time.monotonic() + seconds if seconds else None
        self.stack = contextlib.ExitStack()
        self.stack.callback(places.release)
        self.served: Served = self.stack.enter_context(keeper.served())
        self.connection: http.client.HTTPConnection | None = None
        self.response: http.client.HTTPResponse | None = None
        self.socket: socket.socket | None = None
        self.binary: Binary | None = None

    def begun(self, bodies: list[bytes], headers: dict[str, str]) -> Reply:
        """Ask, and return the answer, as much as there may be at once before any of it: of the second of two, where the
        first has a mistake."""
        for last in (False, True):
            self.binary = self.served.binary()
            try:
                return self._asked(bodies, headers)
            except TimeoutError:
                raise TimedOut(self.seconds) from None
            except (OSError, http.client.HTTPException):
                if last:  # the server was ended twice, by this query it seems
                    raise Refused(503, ENDED) from None
                self._lost(self.binary)
        raise AssertionError

    def _lost(self, binary: Binary) -> None:
        """Let go of what was asked of a server that did not answer, which may be about to end."""
        if self.connection:
            self.connection.close()
        binary.ends_within(1)

    def _asked(self, bodies: list[bytes], headers: dict[str, str]) -> Reply:
        assert self.binary  # noqa: S101 - it was begun
        self.connection = http.client.HTTPConnection("localhost")
        # The connection lets go of it when the answer begins.
        self.socket = self.connection.sock = self.binary.connected(self._left())
        self.connection.request("POST", "/query", bodies[0], headers)
        self.response = response = self.connection.getresponse()
        head = b""
        while len(head) < WHOLE and (part := self._part(response)):
            head += part
        if response.isclosed() and head.endswith(CANCELLED):
            raise TimeoutError
        if response.status == HTTPStatus.BAD_REQUEST and bodies[1:]:
            self.connection.close()
            return self._asked(bodies[1:], headers)  # which has the place of the mistake as it was asked
        if response.status == HTTPStatus.BAD_REQUEST:
            head = _placed(head)
        kept = [(name, value) for name in ("Content-Type",) if (value := response.headers.get(name))]
        if beside := self.served.beside():
            kept.append(("Provio-As-Of", quote(beside, safe=" ,:;")))
        if response.isclosed():
            self.close()
            return Reply(response.status, [*kept, ("Content-Length", str(len(head)))], [head])
        return Reply(response.status, kept, self._rest(head, response))

    def _rest(self, head: bytes, response: http.client.HTTPResponse) -> Iterator[bytes]:
        """The parts of a long answer; where it is cut, so is the connection: an answer is whole or plainly not."""
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
        """Let all go; what the server is still at is seen to."""
        connection, self.connection = self.connection, None
        if connection is None or self.socket is None or (self.response and self.response.isclosed()):
            if connection:
                connection.close()
            self.stack.close()
            return
        if self.response and (self.deadline is None or time.monotonic() < self.deadline):
            with self.stack, contextlib.closing(self.socket), contextlib.closing(self.response):
                return  # who asked is gone: the server ends at the next part that it writes
        threading.Thread(target=self._given_up, args=(self.socket,), daemon=True).start()

    def _given_up(self, going: socket.socket) -> None:
        """Wait until the server has given the query up, which it was told to; end it where it has not."""
        end = (self.deadline or time.monotonic()) + GRACE
        with self.stack, contextlib.closing(going):
            while (left := end - time.monotonic()) > 0:
                try:
                    going.settimeout(left)
                    if not going.recv(1 << 16):
                        return
                except TimeoutError:
                    break
                except OSError:
                    return
            if self.binary:
                self.binary.close()
