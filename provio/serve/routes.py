"""What is served where: a request by WSGI in, a page, an answer in JSON or one of the SPARQL endpoint out.

Every answer forbids the browser to run, load or send anything but the explorer's own; names are data, and the page's
scripts set them as text. Nothing is logged.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from provio.base.errors import NothingKnown, ProvioError, TimedOut
from provio.render.page import lineage
from provio.serve.access import Guard
from provio.serve.endpoint import Endpoint, Refused, Reply
from provio.serve.snapshot_holder import Keeper, Served

LARGEST = 1 << 20  # bytes of a request
MOST = 300  # nodes of one step, where a page does not say; DEAR: at most
DEAR = 3_000
TEMPLATES = Path(__file__).parent / "templates"
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
POSTED = ("/query", "/login")
SLOWLY = 1.0  # seconds before a wrong token is told so

Request = dict[str, Any]
Start = Callable[[str, list[tuple[str, str]]], object]


class Front:
    """The application; `seconds` is how long an answer may take, `record` what the page says is served."""

    def __init__(self, keeper: Keeper, guard: Guard, seconds: float, record: str) -> None:
        self.keeper, self.guard, self.seconds, self.record = keeper, guard, seconds, record
        self.endpoint = Endpoint(keeper, seconds)

    def __call__(self, request: Request, start: Start) -> Iterable[bytes]:
        """Answer one request, as WSGI has it."""
        reply = self._replied(request)
        status = HTTPStatus(reply.status)
        start(f"{status.value} {status.phrase}", [*reply.headers, *HEADERS])
        return _none_of(reply.parts) if request["REQUEST_METHOD"] == "HEAD" else reply.parts

    def _replied(self, request: Request) -> Reply:
        try:
            return self._routed(request)
        except Refused as error:
            reply = _text(error.status, str(error), request)
            return reply._replace(headers=[*reply.headers, _allowed(request)]) if error.status == 405 else reply
        except NothingKnown as error:
            return _text(404, str(error), request)
        except TimedOut as error:
            return _text(504, str(error), request)
        except ProvioError as error:
            return _text(400, str(error), request)

    def _routed(self, request: Request) -> Reply:
        path, method = request.get("PATH_INFO", ""), request["REQUEST_METHOD"]
        if why := self.guard.refuses(request):
            raise Refused(403, why)
        if method not in READS and (method != "POST" or path not in POSTED):
            raise Refused(405, "say GET, or POST a query to /query")
        if path == "/login":
            return self._begun(request)
        if path in ASSETS:
            return _content(ASSETS[path](), Path(path).suffix)
        if not self.guard.knows(request):
            return self._unknown(path, request)
        if path == "/":
            return _page("explorer.html")
        if path == "/query":
            return self.endpoint.answer(request, _body(request))
        if path.startswith("/api/"):
            return _json(
                self._asked(path[5:], dict(parse_qsl(request.get("QUERY_STRING", ""), keep_blank_values=True)))
            )
        raise Refused(404, "nothing is here: the explorer is at /, SPARQL at /query")

    def _unknown(self, path: str, request: Request) -> Reply:
        if path == "/":
            return _page("login.html")
        reply = _text(401, "a token is wanted: Authorization: Bearer TOKEN", request)
        return reply._replace(headers=[*reply.headers, ("WWW-Authenticate", "Bearer")])

    def _begun(self, request: Request) -> Reply:
        """Begin a session with who knows the token, and lead on to the page."""
        said = dict(parse_qsl(_body(request).decode("utf-8", "replace")))
        if not self.guard.is_token(said.get("token", "")):
            time.sleep(SLOWLY)
            return _page("login.html")._replace(status=403)
        return Reply(303, [("Location", "/"), ("Set-Cookie", self.guard.begun()), ("Content-Length", "0")], [b""])

    def _asked(self, what: str, said: dict[str, str]) -> Any:
        """The answer to one of the explorer's questions."""
        with self.keeper.served() as served:
            as_of = served.beside()
            return self._answered(served, what, said) | ({"asOf": as_of} if as_of else {})

    def _answered(self, served: Served, what: str, said: dict[str, str]) -> dict[str, Any]:
        if what == "about":
            return {"record": self.record, "snapshot": served.name, "seconds": self.seconds}
        if what not in ASKED:
            raise Refused(404, "the explorer asks no such thing")
        try:
            request = {"what": what, **ASKED[what](said)}
        except (KeyError, ValueError):
            raise Refused(400, f"{what}: something is missing, or no number") from None
        now = {"asOf": served.as_of, "going": sorted(served.going)}
        kind = {"search": "found", "statistics": "statistics"}.get(what, "lineage")
        answer: dict[str, Any] = served.workers[kind].ask(request | now, self.seconds)
        return answer


def _walk(said: dict[str, str]) -> dict[str, Any]:
    return {
        "forward": said.get("direction") == "forward",
        "depth": _number(said, "depth", 1, sys.maxsize),
        "everything": said.get("all") == "1",
        "most": _number(said, "most", MOST, DEAR),
    }


def _number(said: dict[str, str], name: str, usual: int, most: int) -> int:
    """How many a request asks for: none is the least, so many the most."""
    return max(0, min(int(said.get(name, usual)), most))


# What each question takes from a request.
ASKED: dict[str, Callable[[dict[str, str]], dict[str, Any]]] = {
    "search": lambda said: {
        "words": said["words"][:1000], "kind": said.get("kind", ""), "limit": _number(said, "limit", 20, 200)
    },
    "lineage": lambda said: {"target": said["target"], **_walk(said)},
    "run": lambda said: {"run": said["run"], **_walk(said)},
    "runs": lambda said: {"skip": _number(said, "skip", 0, sys.maxsize)},
    "program": lambda said: {"program": said["program"]},
    "statistics": lambda said: {"run": said["run"]},
    "questions": lambda _: {},
    "question": lambda said: {
        "name": said["name"], "values": {name[2:]: value for name, value in said.items() if name.startswith("p.")}
    },
}  # fmt: skip


def _allowed(request: Request) -> tuple[str, str]:
    """What a path may be asked with, said where it was asked with something else (RFC 9110)."""
    return "Allow", ", ".join([*READS, *(["POST"] if request.get("PATH_INFO") in POSTED else [])])


def _none_of(parts: Iterable[bytes]) -> list[bytes]:
    """Nothing of an answer; one that is still to come lets go of what it holds, which only one that has begun does."""
    coming = iter(parts)
    next(coming, None)
    getattr(coming, "close", lambda: None)()
    return []


def _body(request: Request) -> bytes:
    size = int(request.get("CONTENT_LENGTH") or 0)
    if size > LARGEST:
        raise Refused(413, f"a request has {LARGEST} bytes at most")
    return bytes(request["wsgi.input"].read(size))


@cache
def _read(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


# What the page is made of, which tells nothing of any record.
ASSETS: dict[str, Callable[[], str]] = {
    "/assets/explorer.js": lambda: _read("explorer.js"),
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
    content = json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")
    return Reply(200, [("Content-Type", "application/json"), ("Content-Length", str(len(content)))], [content])


def _text(status: int, why: str, request: Request) -> Reply:
    """What went wrong, in one line; for the page in JSON."""
    page = request.get("PATH_INFO", "").startswith("/api/")
    content = (json.dumps({"error": why}) if page else why + "\n").encode("utf-8", "replace")
    kind = "application/json" if page else "text/plain; charset=utf-8"
    return Reply(status, [("Content-Type", kind), ("Content-Length", str(len(content)))], [content])
