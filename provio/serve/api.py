"""The HTTP API below /api/v1: a request in, the answer as JSON out, or events as they come.

The table of questions (`api_table`) gives the paths and their parameters; workers answer them. An answer has an ETag: a
client that asks again receives it only if it has changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from provio.base.common_names import all_completed
from provio.base.errors import NothingKnown
from provio.serve import openapi
from provio.serve.api_table import EVENTS, MOST, QUESTIONS, Invalid, Question
from provio.serve.endpoint import Refused, Reply
from provio.serve.event_feed import TooMany
from provio.trace import run_source

if TYPE_CHECKING:
    from provio.serve.event_feed import EventFeed
    from provio.serve.snapshot_holder import SnapshotHolder

START = "/api/v1/"
JSON = "application/json"
POSTED = tuple(START + name for name, question in QUESTIONS.items() if question.posted)
# Questions that a client can make slow have a worker of their own. Those that are not here have "api".
WORKERS = {**dict.fromkeys(("lineage", "why", "impact", "show"), "lineage"), "query": "query", "tasks/query": "query"}
FRESH = ("Cache-Control", "private, no-cache")  # a browser keeps the answer, and asks whether it is still valid


class Api:
    """The API on the served snapshots; `seconds` is the time limit of a question."""

    def __init__(self, holder: SnapshotHolder, seconds: float, feed: EventFeed) -> None:
        self.holder, self.seconds, self.feed = holder, seconds, feed

    def answer(self, request: Mapping[str, Any], body: bytes) -> Reply:
        """Return the response to a request (a WSGI environment); raises Refused, ProvioError."""
        name = request["PATH_INFO"].removeprefix(START)
        if name == "openapi.json":
            return _json(_document(), request)
        if name == "events":
            return self._events(request)
        if name not in QUESTIONS:
            raise Refused(404, f"the API has no {name[:100]!r}: {START}openapi.json describes it")
        values = _values(QUESTIONS[name], request, body)
        return _json(answer(self.holder, self.seconds, name, values), request)

    def _events(self, request: Mapping[str, Any]) -> Reply:
        """Return the stream of events."""
        values = EVENTS.read(_in_url(request))
        given = request.get("HTTP_LAST_EVENT_ID") or values["after"]
        if given is not None and not (given.isascii() and given.isdigit() and len(given) < 20):
            raise Refused(400, f"{given[:100]!r} is not the id of an event: give the last one that was received")
        after = None if given is None else int(given)
        runs = self._with_files(values["run"]) if values["run"] else None
        if runs and after is not None and self.feed.is_over(after, runs):
            return Reply(204, [FRESH], [])  # a browser does not connect again
        if request["REQUEST_METHOD"] == "HEAD":
            return Reply(200, [("Content-Type", "text/event-stream")], [])
        try:
            events = self.feed.follow(after, runs, values["type"] or ())
        except TooMany as error:
            raise Refused(503, str(error)) from None
        return Reply(200, [("Content-Type", "text/event-stream; charset=utf-8"), ("X-Accel-Buffering", "no")], events)

    def _with_files(self, names: list[str]) -> list[str]:
        """Return the ids of runs; raises NothingKnown for one that this record does not have, or without files."""
        values = QUESTIONS["runs"].checked({"run": names, "limit": MOST})
        found = [row["run"] for row in answer(self.holder, self.seconds, "runs", values)["rows"]]
        for run in found:
            if not run_source.exists(self.feed.home.runs / run):
                raise NothingKnown(f"run {run} has no files in this record, and so no events: name another")
        return found


def answer(holder: SnapshotHolder, seconds: float, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer of a worker to a question with these values of its parameters; raises ProvioError."""
    with holder.served() as served:
        now = {"asOf": served.as_of, "going": sorted(served.in_progress)}
        worker = served.workers[WORKERS.get(name, "api")]
        found = all_completed(worker.query({"question": name, **values, **now}, seconds))
        note = served.note()
    return {**found, **({"asOf": note} if note else {})}


def _in_url(request: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the parameters of a URL. A name that is not UTF-8 keeps its bytes as surrogates, as Python has them."""
    found: dict[str, list[str]] = {}
    text = request.get("QUERY_STRING", "")
    try:
        pairs = parse_qsl(text, keep_blank_values=True, errors="surrogateescape", max_num_fields=1000)
    except ValueError:
        raise Refused(400, "the URL has too many parameters: give at most 1000") from None
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def _values(question: Question, request: Mapping[str, Any], body: bytes) -> dict[str, Any]:
    """Return the values of a question's parameters; raises Refused, Invalid."""
    if not question.posted:
        return question.read(_in_url(request))
    if request["REQUEST_METHOD"] != "POST":
        raise Refused(405, "POST the query as JSON")
    if request.get("CONTENT_TYPE", "").partition(";")[0].strip().lower() != JSON:
        raise Refused(415, f"POST the query as {JSON}")
    try:
        given = json.loads(body)
        json.dumps(given)  # for the worker: fails if it is nested too deeply
    except (ValueError, RecursionError):
        raise Refused(400, "the body is not JSON: send an object with filter, projection …") from None
    if not isinstance(given, dict):
        raise Invalid("the body is not a JSON object: send one with filter, projection …")
    return question.checked(given)


@cache
def _document() -> dict[str, Any]:
    return openapi.document()


def _json(answer: Any, request: Mapping[str, Any]) -> Reply:
    """Return an answer as JSON with its ETag, or 304 if the client has it."""
    content = json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    known = [one.strip().removeprefix("W/") for one in request.get("HTTP_IF_NONE_MATCH", "").split(",")]
    if request["REQUEST_METHOD"] != "POST" and (tag in known or "*" in known):
        return Reply(304, [("ETag", tag), FRESH], [])
    return Reply(200, [("Content-Type", JSON), ("Content-Length", str(len(content))), ("ETag", tag), FRESH], [content])
