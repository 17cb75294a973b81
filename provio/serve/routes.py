"""The WSGI application: routes a request to a page, a JSON result or the SPARQL endpoint.

Every response forbids the browser to run, load or send anything except the explorer's own; names are data, and the
page's scripts set them as text. Nothing is logged.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from functools import cache, partial
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote

from provio.base.common_names import all_completed
from provio.base.errors import NothingKnown, ProvioError, TimedOut, TooMuchMemory
from provio.render.page import lineage
from provio.serve import api
from provio.serve.access import Guard
from provio.serve.endpoint import Endpoint, Refused, Reply
from provio.serve.event_feed import EventFeed
from provio.serve.snapshot_holder import Served, SnapshotHolder

LARGEST = 1 << 20  # bytes of a request
MOST_COLUMNS = 20  # chosen columns of the home
DEFAULT_NODES, MOST_NODES = 300, 3_000  # nodes of one step
TEMPLATES = Path(__file__).parent / "templates"
SCRIPTS = ("explorer.js", "base.js", "search.js", "graph.js", "runs.js", "run.js", "query.js", "live.js")
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = [
    ("Content-Security-Policy", POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
]
READS = ("GET", "HEAD")
POSTED = ("/query", "/login", *api.POSTED)
DELAY = 1.0  # seconds before the response to a wrong token

Request = dict[str, Any]
Start = Callable[[str, list[tuple[str, str]]], object]


class Front:
    """The application; `seconds` is the time limit of a query, `record` the name of the record on the page."""

    def __init__(self, holder: SnapshotHolder, guard: Guard, seconds: float, record: str, feed: EventFeed) -> None:
        self.holder, self.guard, self.seconds, self.record = holder, guard, seconds, record
        self.endpoint, self.api = Endpoint(holder, seconds), api.Api(holder, seconds, feed)

    def __call__(self, request: Request, start: Start) -> Iterable[bytes]:
        """Respond to one request, according to WSGI."""
        reply = self._reply(request)
        status = HTTPStatus(reply.status)
        own = {name for name, _ in reply.headers}
        start(f"{status.value} {status.phrase}", [*reply.headers, *(one for one in HEADERS if one[0] not in own)])
        return _none_of(reply.parts) if request["REQUEST_METHOD"] == "HEAD" else reply.parts

    def _reply(self, request: Request) -> Reply:
        try:
            return self._route(request)
        except Refused as error:
            reply = _text(error.status, str(error), request)
            return reply._replace(headers=[*reply.headers, _allowed(request)]) if error.status == 405 else reply
        except NothingKnown as error:
            return _text(404, str(error), request)
        except TimedOut as error:
            return _text(504, str(error), request)
        except TooMuchMemory as error:
            return _text(503, str(error), request)
        except ProvioError as error:
            return _text(400, str(error), request)

    def _route(self, request: Request) -> Reply:
        path, method = request.get("PATH_INFO", ""), request["REQUEST_METHOD"]
        if why := self.guard.rejection(request):
            raise Refused(403, why)
        if method not in READS and (method != "POST" or path not in POSTED):
            raise Refused(405, "use GET, or POST a query to /query")
        if path == "/login":
            return self._login(request)
        if path in ASSETS:
            return _content(ASSETS[path](), Path(path).suffix)
        if not self.guard.is_authorized(request):
            return self._unauthorized(path, request)
        if path in ("/", "/compare"):
            return _page("explorer.html") if path == "/" else _compare(dict(parse_qsl(request.get("QUERY_STRING", ""))))
        if path == "/query" or path.startswith(api.START):
            return (self.api if path != "/query" else self.endpoint).answer(request, _body(request))
        if path.startswith("/api/"):
            return _json(
                self._query(path[5:], dict(parse_qsl(request.get("QUERY_STRING", ""), keep_blank_values=True)))
            )
        raise Refused(404, "no such page: the explorer is at /, SPARQL at /query")

    def _unauthorized(self, path: str, request: Request) -> Reply:
        if path == "/":
            return _page("login.html")
        reply = _text(401, "a token is required: send Authorization: Bearer TOKEN", request)
        return reply._replace(headers=[*reply.headers, ("WWW-Authenticate", "Bearer")])

    def _login(self, request: Request) -> Reply:
        """Start a session for a client with the token, and redirect it to the page."""
        fields = dict(parse_qsl(_body(request).decode("utf-8", "replace")))
        if not self.guard.is_token(fields.get("token", "")):
            time.sleep(DELAY)
            return _page("login.html")._replace(status=403)
        return Reply(
            303, [("Location", "/"), ("Set-Cookie", self.guard.session_cookie()), ("Content-Length", "0")], [b""]
        )

    def _query(self, kind: str, fields: dict[str, str]) -> Any:
        """Return the result of a query of the explorer."""
        with self.holder.served() as served:
            as_of = served.note()
            return self._execute(served, kind, fields) | ({"asOf": as_of} if as_of else {})

    def _execute(self, served: Served, kind: str, fields: dict[str, str]) -> dict[str, Any]:
        if kind == "about":
            return {"record": self.record, "snapshot": served.name, "seconds": self.seconds}
        if kind not in QUERIES:
            raise Refused(404, f"the explorer has no query {kind!r}: use SPARQL at /query")
        try:
            request = {"query": kind, **QUERIES[kind](fields)}
        except (KeyError, ValueError):
            raise Refused(400, f"{kind}: a parameter is missing or is not a number") from None
        now = {"asOf": served.as_of, "going": sorted(served.in_progress)}
        worker = WORKERS.get(kind, "lineage")
        answer: dict[str, Any] = served.workers[worker].query(request | now, self.seconds)
        return answer


def _walk(fields: dict[str, str]) -> dict[str, Any]:
    return {
        "forward": fields.get("direction") == "forward",
        "depth": _number(fields, "depth", 1, sys.maxsize),
        "everything": fields.get("all") == "1",
        "most": _number(fields, "most", DEFAULT_NODES, MOST_NODES),
    }


def _number(fields: dict[str, str], name: str, usual: int, most: int) -> int:
    """Return a number from a request, at least 0 and at most `most`."""
    return max(0, min(int(fields.get(name, usual)), most))


# Queries that are slow on a large record have workers of their own.
WORKERS = {
    "search": "found", "statistics": "statistics", "table": "statistics", "compare": "statistics", "state": "state"
}  # fmt: skip
# The parameters of each query.
QUERIES: dict[str, Callable[[dict[str, str]], dict[str, Any]]] = {
    "search": lambda fields: {
        "words": fields["words"][:1000], "kind": fields.get("kind", ""), "limit": _number(fields, "limit", 20, 200)
    },
    "lineage": lambda fields: {"target": fields["target"], **_walk(fields)},
    "run": lambda fields: {"run": fields["run"], **_walk(fields)},
    "runs": lambda fields: {"skip": _number(fields, "skip", 0, sys.maxsize)},
    "program": lambda fields: {"program": fields["program"]},
    "statistics": lambda fields: {"run": fields["run"], "part": fields.get("part", "")},
    "table": lambda fields: {
        "sort": fields.get("sort", "start")[:1000], "descending": fields.get("descending", "1") == "1",
        "skip": _number(fields, "skip", 0, sys.maxsize),
        "columns": [name[2:] for name in fields if name.startswith("c.")][:MOST_COLUMNS],
    },
    "state": lambda _: {},
    "compare": lambda fields: {"first": fields["a"], "second": fields["b"]},
    "questions": lambda _: {},
    "question": lambda fields: {
        "name": fields["name"], "values": {name[2:]: value for name, value in fields.items() if name.startswith("p.")}
    },
}  # fmt: skip


def _allowed(request: Request) -> tuple[str, str]:
    """Return the header with the allowed methods of a path, for a request with another one (RFC 9110)."""
    path = request.get("PATH_INFO", "")
    return "Allow", ", ".join([*(READS if path not in api.POSTED else ()), *(["POST"] if path in POSTED else [])])


def _none_of(parts: Iterable[bytes]) -> list[bytes]:
    """Return an empty body; a generator releases its resources only if it was started before it is closed."""
    rest = iter(parts)
    next(rest, None)
    getattr(rest, "close", lambda: None)()
    return []


def _body(request: Request) -> bytes:
    size = int(request.get("CONTENT_LENGTH") or 0)
    if size > LARGEST:
        raise Refused(413, f"the request is larger than {LARGEST} bytes: send less")
    return bytes(request["wsgi.input"].read(size))


@cache
def _read(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


# The files of the page, which hold no data of a record.
ASSETS: dict[str, Callable[[], str]] = {
    **{f"/assets/{name}": partial(_read, name) for name in SCRIPTS},
    "/assets/explorer.css": lambda: _read("explorer.css"),
    "/assets/lineage.js": lineage.script,
    "/assets/lineage.css": lineage.style,
}


def _page(name: str) -> Reply:
    return _content(_read(name), ".html")


def _content(text: str, suffix: str) -> Reply:
    content = text.encode()
    kind = f"{TYPES[suffix]}; charset=utf-8"
    return Reply(200, [("Content-Type", kind), ("Content-Length", str(len(content)))], [content])


def _json(answer: Any) -> Reply:
    content = json.dumps(all_completed(answer), ensure_ascii=False).encode("utf-8", "replace")
    return Reply(200, [("Content-Type", "application/json"), ("Content-Length", str(len(content)))], [content])


def _compare(fields: dict[str, str]) -> Reply:
    """Redirect to the view of two runs."""
    if not ("a" in fields and "b" in fields):
        raise Refused(400, "name two runs: /compare?a=RUN&b=RUN")
    where = f"/#compare={quote(fields['a'][:1000], safe='')},{quote(fields['b'][:1000], safe='')}"
    return Reply(303, [("Location", where), ("Content-Length", "0")], [b""])


def _text(status: int, why: str, request: Request) -> Reply:
    """Return an error in one line, for the page as JSON."""
    page = request.get("PATH_INFO", "").startswith("/api/")
    content = (json.dumps({"error": why}) if page else why + "\n").encode("utf-8", "replace")
    kind = "application/json" if page else "text/plain; charset=utf-8"
    return Reply(status, [("Content-Type", kind), ("Content-Length", str(len(content)))], [content])
