"""What a file of a run may say: its records in, those that it has a right to out, the others named as damage.

Any process of a run can write into the run's folder. So a thread file is heard about its own run and host alone: what
it states of another run, of another host's processes, or of things that are no part of a run, is left out.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from provio.base.patterns import pattern
from provio.base.vocab import NS, superclasses, vocabulary
from provio.system.statx import Record
from provio.trace.run_facts import Damage

LONGEST = 1 << 24  # characters of a text: a command line is at most some MB, and three times that as it is written
TOLD = 3  # of each file, this many damages are named one by one
DEVICE = pattern(r"[0-9]{1,10}:[0-9]{1,10}")
SHA256 = pattern(r"[0-9a-f]{64}")
# Whose values are IRIs of the same host.
REFERENCES = ("object", "source", "about", "inFile", "virtualSource", "task", "partOf")
EXTENTS = pattern(r"(?:(?:[0-9]{1,20}|\*)(?: (?:[0-9]{1,20}|\*))*)?")
TOKEN = pattern(r"[0-9A-Fa-f]{1,64}")
FORMS = {
    "device": DEVICE, "sha256": SHA256, "shape": EXTENTS, "maxShape": EXTENTS, "chunks": EXTENTS, "token": TOKEN,
}  # fmt: skip


def admitted(records: dict[str, Record], own: str, path: Path, damages: list[Damage]) -> dict[str, Record]:
    """Return the records about what is below the IRI `own` that speak of nothing else; says what is left out.

    `own` ends in `/`, or is the run's IRI itself, whose own record is let in too.
    """
    left: list[tuple[str, str]] = []
    below = own if own.endswith("/") else own + "/"
    for iri, record in records.items():
        if not record:  # in other words than ours: nobody hears it
            continue
        why = "is none of its own" if not iri.startswith(below) and iri != own else rejection(record, below, own)
        if why:
            left.append((iri, why))
    for iri, _ in left:
        del records[iri]
    damages += [Damage(path, 0, f"<{iri[:200]}> {why}") for iri, why in left[:TOLD]]
    if left[TOLD:]:
        damages.append(Damage(path, 0, f"and {len(left) - TOLD} records more are not let in"))
    return records


def rejection(record: Record, below: str, own: str) -> str:
    """Return what is wrong with a record; nothing where it may be let in."""
    for name in REFERENCES:
        if name in record and not record[name].startswith(below) and record[name] != own:
            return f"speaks of <{record[name][:200]}>, which is none of its own"
    for name, form in FORMS.items():
        if name in record and not form.fullmatch(record[name]):
            return f"has no {name} as {name}"
    if "operation" in record and not _is_operation(record["operation"]):
        return "has an operation that is none"
    if record.get("a") == "AccessSizes" and not 1 <= int(record.get("usualSize", 0)) <= 10:
        return "has a usual size that is none"
    return ""


def without_long(records: dict[str, Record], path: Path, damages: list[Damage]) -> dict[str, Record]:
    """Return the records whose texts are of a length that something may have."""
    for iri in [iri for iri, record in records.items() if max(map(len, record.values()), default=0) > LONGEST]:
        damages.append(Damage(path, 0, f"<{iri[:200]}> holds a text that is too long"))
        del records[iri]
    return records


@cache
def _operations() -> frozenset[str]:
    activity, event, copy = NS + "IOActivity", NS + "ProcessEvent", NS + "Copy"
    found = {iri for iri in vocabulary().terms.values() if {activity, event} & (superclasses(iri) | {iri})}
    return frozenset(found | {copy})


def _is_operation(iri: str) -> bool:
    return iri in _operations()
