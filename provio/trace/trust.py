"""Checks the records of a run's file: rejected records are reported as damage.

Any process of a run can write into the run's folder. So records of a thread file must be about its own run and host;
those about another run, another host's processes, or things that are not part of a run are removed.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from provio.base.records import pattern
from provio.base.vocab import NS, superclasses, vocabulary
from provio.system.statx import Record
from provio.trace.run_facts import Damage

LONGEST = 1 << 24  # characters of a literal: a command line has at most a few MB, encoded three times that
LONGEST_LINE = 1 << 26  # bytes of a line of a thread file
REPORTED = 3  # rejected records of a file that are reported one by one
DEVICE = pattern(r"[0-9]{1,10}:[0-9]{1,10}")
SHA256 = pattern(r"[0-9a-f]{64}")
# Properties with IRIs of the same host as values.
REFERENCES = ("object", "source", "about", "inFile", "virtualSource", "task", "partOf")
EXTENTS = pattern(r"(?:(?:[0-9]{1,20}|\*)(?: (?:[0-9]{1,20}|\*))*)?")
TOKEN = pattern(r"[0-9A-Fa-f]{1,64}")
FORMS = {
    "device": DEVICE, "sha256": SHA256, "shape": EXTENTS, "maxShape": EXTENTS, "chunks": EXTENTS, "token": TOKEN,
}  # fmt: skip


def admitted(records: dict[str, Record], own: str, path: Path, damages: list[Damage]) -> dict[str, Record]:
    """Return the records with IRIs and references below the IRI `own`; report the others as damages.

    `own` ends in `/`, or is the run's IRI, which may have a record itself.
    """
    rejected: list[tuple[str, str]] = []
    below = own if own.endswith("/") else own + "/"
    for iri, record in records.items():
        if not record:  # without a property of provio: not used
            continue
        why = (
            "does not belong to this file"
            if not iri.startswith(below) and iri != own
            else rejection(record, below, own)
        )
        if why:
            rejected.append((iri, why))
    for iri, _ in rejected:
        del records[iri]
    damages += [Damage(path, 0, f"<{iri[:200]}> {why}") for iri, why in rejected[:REPORTED]]
    if rejected[REPORTED:]:
        damages.append(Damage(path, 0, f"and {len(rejected) - REPORTED} more records are rejected"))
    return records


def rejection(record: Record, below: str, own: str) -> str:
    """Return the reason to reject a record; empty if it is valid."""
    for name in REFERENCES:
        if name in record and not record[name].startswith(below) and record[name] != own:
            return f"refers to <{record[name][:200]}>, which does not belong to this file"
    for name, form in FORMS.items():
        if name in record and not form.fullmatch(record[name]):
            return f"has an invalid {name}"
    if "operation" in record and not _is_operation(record["operation"]):
        return "has an unknown operation"
    if record.get("a") == "AccessSizes" and not 1 <= int(record.get("usualSize", 0)) <= 10:
        return "has an invalid usualSize"
    return ""


def without_long(records: dict[str, Record], path: Path, damages: list[Damage]) -> dict[str, Record]:
    """Return the records without too long literals; report the others as damages."""
    for iri in [iri for iri, record in records.items() if max(map(len, record.values()), default=0) > LONGEST]:
        damages.append(Damage(path, 0, f"<{iri[:200]}> has a literal that is too long"))
        del records[iri]
    return records


@cache
def _operations() -> frozenset[str]:
    activity, event, copy = NS + "IOActivity", NS + "ProcessEvent", NS + "Copy"
    found = {iri for iri in vocabulary().terms.values() if {activity, event} & (superclasses(iri) | {iri})}
    return frozenset(found | {copy})


def _is_operation(iri: str) -> bool:
    return iri in _operations()
