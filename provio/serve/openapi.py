"""Makes the OpenAPI document of the HTTP API from the table of questions: `python -m provio.serve.openapi`."""

from __future__ import annotations

import json
import sys
from typing import Any

from provio import __version__
from provio.base import common_names
from provio.render.records import TABLES, Table
from provio.serve.api_table import EVENTS, QUESTIONS, TYPES_OF_EVENTS, Question

Schema = dict[str, Any]
NULLABLE: dict[str, Schema] = {
    "text": {"type": ["string", "null"]}, "integer": {"type": ["integer", "null"]},
    "number": {"type": ["number", "null"]}, "boolean": {"type": ["boolean", "null"]},
    "time": {"type": ["string", "null"], "description": "ISO 8601, in UTC"}, "value": {},
}  # fmt: skip
NEXT: Schema = {"type": ["string", "null"], "description": "the `cursor` of the following rows; null: there are none"}
AS_OF: Schema = {"type": "string", "description": "the time of the answer, if runs are in progress, and what it lacks"}
ERRORS = {
    400: "A parameter is missing, unknown or has an impossible value.", 401: "The token is missing or wrong.",
    403: "The request is for another host, or from a page of another site.", 404: "Nothing is recorded of it.",
    503: "Too much is asked at once, or a query needs too much memory.", 504: "The query exceeds the time limit.",
}  # fmt: skip
POST_ERRORS = {413: "The body is too large.", 415: "The body is not JSON."}
EVENT: Schema = {
    "type": "object", "required": ["id", "time", "type", "run", "subject", "data"],
    "properties": {
        "id": {"type": "string", "description": "its number, which grows; for `Last-Event-ID` and `after`"},
        "time": {"type": "string"}, "run": {"type": "string"}, "subject": {"type": "string"},
        "type": {"enum": [*TYPES_OF_EVENTS]}, "data": {"type": "object"},
    },
}  # fmt: skip


def document() -> Schema:
    """Return the document (OpenAPI 3.1)."""
    paths = {f"/api/v1/{name}": _path(name, question) for name, question in QUESTIONS.items()}
    paths["/api/v1/events"] = _path("events", EVENTS)
    paths["/api/v1/openapi.json"] = {"get": _operation("openapi", "This document.", _json({"type": "object"}))}
    tables = {question.table: _row(question.table) for question in QUESTIONS.values() if question.table}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "provio", "version": __version__,
            "description": "Questions about a record, also while runs go on. Nothing can be changed.",
        },
        "servers": [{"url": "/"}],
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": {**tables, "event": EVENT, "error": {
                "type": "object", "required": ["error"], "properties": {"error": {"type": "string"}},
            }},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }  # fmt: skip


def _path(name: str, question: Question) -> Schema:
    """Return the item of a path."""
    if name == "events":
        content = {"text/event-stream": {"schema": {"type": "string"}}}
        operation = _operation(name, question.about, {"description": "The events.", "content": content})
        operation["responses"]["204"] = {"description": "The named runs have ended, and have no more events."}
    else:
        operation = _operation(name, question.about, _json(_answer(question)))
    if question.posted:
        body = {"required": True, "content": {"application/json": {"schema": question.schema()}}}
        operation["responses"] |= {str(code): _error(text) for code, text in POST_ERRORS.items()}
        return {"post": operation | {"requestBody": body}}
    operation["parameters"] = [
        {"name": one.name, "in": "query", "required": one.required, "description": one.about, "schema": one.schema()}
        for one in question.parameters.values()
    ]
    if name == "events":
        schema = {"type": "string", "pattern": "^[0-9]{1,19}$"}
        operation["parameters"].append({"name": "Last-Event-ID", "in": "header", "schema": schema})
    else:
        operation["responses"]["304"] = {"description": "The client has this answer (If-None-Match)."}
    return {"get": operation}


def _operation(name: str, about: str, answer: Schema) -> Schema:
    found = {"200": answer, **{str(code): _error(text) for code, text in ERRORS.items()}}
    found["431"] = {"description": "The URL and the headers are too long.", "content": {"text/plain": {}}}
    return {"operationId": name.replace("/", "_"), "summary": about, "responses": found}


def _error(text: str) -> Schema:
    return {
        "description": text, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/error"}}}
    }  # fmt: skip


def _json(schema: Schema) -> Schema:
    etag = {"ETag": {"schema": {"type": "string"}}}
    return {"description": "The answer.", "headers": etag, "content": {"application/json": {"schema": schema}}}


def _answer(question: Question) -> Schema:
    """Return the schema of an answer: a page of rows, or another object."""
    if not question.table:
        return {"type": "object", "properties": {"asOf": AS_OF}}
    rows = {"type": "array", "items": {"$ref": f"#/components/schemas/{question.table}"}}
    properties = {"rows": rows, "asOf": AS_OF} | ({"next": NEXT} if "cursor" in question.names else {})
    return {"type": "object", "required": ["rows"], "properties": properties}


def _row(name: str) -> Schema:
    """Return the schema of a row of a table of docs/output.md."""
    table: Table = TABLES[name]
    properties = {one.name: NULLABLE[one.kind] | {"title": one.content} for one in table.columns}
    for earlier, common in common_names.added(tuple(table.names), name):
        properties[common] = {**properties[earlier]} if common != "seconds" else NULLABLE["number"]
    return {"type": "object", "required": table.names, "properties": properties}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(document(), indent=1, ensure_ascii=False) + "\n")
