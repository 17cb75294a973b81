"""PROV-JSON, the W3C member submission: the records of each kind together."""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import ExitStack
from typing import IO, BinaryIO

from provio.base.turtle import InertOutput
from provio.exchange import prov_names
from provio.exchange.prov_names import name
from provio.exchange.prov_records import ARGUMENTS, TIMES, Record, prov_property, records
from provio.exchange.subject import Subject

SUMMARY = "W3C PROV-JSON: a member submission, which many tools read"
FOLDER = False
OPTIONS = ("level", "steps")
KEYS = {kind: tuple(f'"prov:{argument}": ' for argument in arguments) for kind, arguments in ARGUMENTS.items()}
MOMENTS = frozenset(f'"prov:{argument}": ' for argument in TIMES)


def write(subject: Subject, output: BinaryIO) -> None:
    """Write the document. The records of each kind are collected in a temporary file."""
    lines = InertOutput(output)
    lines.write(b'{"prefix": ' + json.dumps(prov_names.PREFIXES).encode())
    with ExitStack() as stack, records(subject) as found:
        parts: dict[str, IO[bytes]] = {}
        for number, record in enumerate(found):
            part = parts.get(record.kind)
            if part is None:
                part = parts[record.kind] = stack.enter_context(
                    tempfile.TemporaryFile(buffering=1 << 17, prefix="provio-")
                )
                part.write(_member(record, number).encode())
            else:
                part.write(f",\n{_member(record, number)}".encode())
        for kind, part in parts.items():
            part.seek(0)
            lines.write(f',\n"{kind}": {{\n'.encode())
            shutil.copyfileobj(part, lines, 1 << 20)
            lines.write(b"}")
    lines.write(b"}\n")
    lines.end()


def _member(record: Record, number: int) -> str:
    own = name(record.name) if record.name else f"_:r{number}"
    members = [
        key + (prov_names.literal(value)[0] if key in MOMENTS else f'"{name(value)}"')
        for key, value in zip(KEYS[record.kind], record.arguments, strict=True)
        if value
    ]
    if record.attributes:
        values: dict[str, list[str]] = {}
        for key, value in record.attributes:
            values.setdefault(prov_property(key), []).append(_value(value))
        for key, found in values.items():
            several = ", ".join(found)
            members.append(f'"{name(key)}": {several if len(found) == 1 else f"[{several}]"}')
    return f'"{own}": {{{", ".join(members)}}}'


def _value(term: str) -> str:
    if term.startswith("<"):
        return f'{{"$": "{name(term)}", "type": "prov:QUALIFIED_NAME"}}'
    text, kind, language = prov_names.literal(term)
    if kind:
        return f'{{"$": {text}, "type": "{kind}"}}'
    return f'{{"$": {text}, "lang": "{language}"}}' if language else text
