"""PROV-N, the notation of the W3C recommendation: one record on each line."""

from __future__ import annotations

from typing import BinaryIO

from provio.base.turtle import inert
from provio.exchange import prov_names
from provio.exchange.prov_records import ARGUMENTS, BARE, TIMES, Record, prov_property, records
from provio.exchange.subject import Subject

SUMMARY = "W3C PROV-N: one record on each line"
FOLDER = False
OPTIONS = ("level", "steps")
DECLARED = ("prov", "xsd")  # by PROV-N itself


def write(subject: Subject, output: BinaryIO) -> None:
    """Write the document."""
    output.write(b"document\n")
    for prefix, iri in prov_names.PREFIXES.items():
        if prefix not in DECLARED:
            output.write(f"  prefix {prefix} <{iri}>\n".encode())
    with records(subject) as found:
        for record in found:
            output.write(inert(_line(record).encode()))
    output.write(b"endDocument\n")


def _line(record: Record) -> str:
    names = ARGUMENTS[record.kind]
    arguments = [_argument(name, value) for name, value in zip(names, record.arguments, strict=True)]
    attributes = ", ".join(f"{_name(prov_property(key))}={_value(value)}" for key, value in record.attributes)
    own = _name(record.name) if record.name else ""
    if record.kind in ("entity", "activity", "agent"):
        arguments, own = [own, *arguments], ""
    if attributes and record.kind not in BARE:
        arguments.append(f"[{attributes}]")
    return f"  {record.kind}({own + '; ' if own else ''}{', '.join(arguments)})\n"


def _argument(name: str, value: str) -> str:
    if not value:
        return "-"
    return prov_names.literal(value)[0][1:-1] if name in TIMES else _name(value)


def _name(term: str) -> str:
    return prov_names.escaped(prov_names.name(term))


def _value(term: str) -> str:
    if term.startswith("<"):
        return f"'{_name(term)}'"
    text, kind, language = prov_names.literal(term)
    return f"{text} %% {kind}" if kind else f"{text}@{language}" if language else text
