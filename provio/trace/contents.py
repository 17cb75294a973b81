"""The file `contents.ttl` of a host of a run: the values that its files contained, as they were read after the run.

Each version is a node with its data (`statx`), the roles of its values, and the reason if it could not be read; each
value is a node that is part of it. A gap states how many files were not read because of a limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from provio.base import turtle
from provio.base.vocab import NS
from provio.system.statx import Facts, Record
from provio.trace import values
from provio.trace.run_facts import Content, Hash, Trace
from provio.trace.values import TEXT, Value

CONTENTS = "contents.ttl"
NUMBERS = ("inode", "birthNs", "mtimeNs", "size")
Key = tuple[str, int, int, int, int]  # `Facts.key` of a version


def extended(place: Path, host: str, found: Mapping[Key, Content], gaps: Iterable[tuple[str, str]] = ()) -> str:
    """Return the text of the file in the folder `place`, with the contents of more versions, and gaps (IRI, reason).

    `host` is the IRI of the host of the run. Raises OSError.
    """
    try:
        text = (place / CONTENTS).read_text(encoding="utf-8")
    except FileNotFoundError:
        text = f"@prefix : <{NS}> .\n"
    count = text.count("\n")
    for number, (key, content) in enumerate(found.items(), count):
        text += "".join(statements(f"{host}/content/{number}", key, content))
    return text + "".join(f"<{iri}> a :Gap ; :reason {turtle.literal(reason)} .\n" for iri, reason in gaps)


def statements(subject: str, key: Key, content: Content) -> Iterator[str]:
    """Yield the lines about a version; `subject` is its IRI."""
    line = f"<{subject}> :kind {turtle.literal(' '.join(sorted(content.roles)))} ; :device {turtle.literal(key[0])}"
    line += "".join(f" ; :{name} {value}" for name, value in zip(NUMBERS, key[1:], strict=True))
    line += f" ; :sha256 {turtle.literal(content.sha256)}" if content.sha256 else ""
    line += "" if content.complete else " ; :complete false"
    yield line + (f" ; :reason {turtle.literal(content.reason)}" if content.reason else "") + " .\n"
    attributes = {name: Value(TEXT, text) for name, text in content.metadata.items()}
    for kind, settings in (("Setting", content.parameters), ("Metric", content.metrics), ("Attribute", attributes)):
        for number, (name, value) in enumerate(settings.items()):
            about = f"a :{kind} ; :partOf <{subject}> ; :name {turtle.literal(name)} ; :value {value.term}"
            yield f"<{subject}/{kind[0].lower()}{number}> {about} .\n"


def add(trace: Trace, records: dict[str, Record]) -> None:
    """Add the versions in the records of a file to a trace."""
    known: dict[str, Content] = {}
    for iri, record in records.items():
        if "inode" in record:
            content = trace.contents.setdefault(Facts.of(record).key, Content())
            roles, reason = record.get("kind", "").split(), record.get("reason", "")
            # It may have been read twice, at the end of the run and by the merge: one success is enough.
            content.reason = (
                content.reason and reason if content.roles.intersection(roles) else content.reason or reason
            )
            content.roles.update(roles)
            if "sha256" in record:
                content.sha256 = record["sha256"]
                trace.hashes.setdefault(Facts.of(record).key, Hash(content.sha256, ""))
            content.complete = content.complete and record.get("complete") != "false"
            known[iri] = content
        elif record.get("a") == "Gap" and "reason" in record:
            trace.gaps.append((iri, trace.iri, record["reason"]))
    for record in records.values():
        found = known.get(record.get("partOf", ""))
        if found and "name" in record:
            if record.get("a") == "Attribute":
                found.metadata[record["name"]] = record.get("value", "")
            else:
                of_kind = found.metrics if record.get("a") == "Metric" else found.parameters
                of_kind[record["name"]] = values.of(record)
