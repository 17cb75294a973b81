"""Checkable facts about how findable, accessible, interoperable and reusable results are (the FAIR principles).

In: the subject of an export. Out: facts, each with the metric of FAIRsFAIR (FsF, version 0.5) that it answers. There is
no total: a fact is met or not, and a share is of bytes, files or packages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from provio.ask import packages, run_steps, run_uses
from provio.base.text import plural, size
from provio.base.vocab import PROV
from provio.exchange import description
from provio.exchange.subject import Subject

TIES = ("prov:used", "^prov:wasGeneratedBy")
NOTHING = "[project] in provio.toml does not state it"


class Fact(NamedTuple):
    """A fact: its name, the metrics that it answers, whether it is met (None: only partly), and the value that shows
    it."""

    name: str
    metric: str
    is_met: bool | None
    value: str


def facts(subject: Subject) -> Iterator[Fact]:
    """Yield the facts about the files of the lineage of files, or of all runs."""
    about = description.of(subject.home)
    yield _stated("persistent identifier", "FsF-F1-02D", ", ".join(about.identifiers))
    yield _stated("title", "FsF-F2-01M", about.title if about.title != subject.home.project.name else "")
    yield _stated("description", "FsF-F2-01M", about.description)
    people = [f"{name} ({orcid})" if orcid else f"{name} (no ORCID)" for name, orcid in about.creators]
    yield _stated("creators", "FsF-F2-01M", ", ".join(people))
    yield _stated("publisher", "FsF-F2-01M", about.publisher[0] if about.publisher else "")
    yield _stated("licence", "FsF-R1.1-01M", about.licence)
    versions = _versions(subject)
    whole = sum(bytes_ for bytes_, _, _ in versions.values())
    made = sum(bytes_ for bytes_, is_made, _ in versions.values() if is_made)
    hashed = sum(has_hash for _, _, has_hash in versions.values())
    yield _share("bytes with a recorded producer", "FsF-R1.2-01M", made, whole, f"{size(made)} of {size(whole)}")
    count = len(versions)
    yield _share("files with a hash", "FsF-R1-01MD", hashed, count, f"{hashed:,} of {plural(count, 'version')}")
    used = packages.of_files(subject.reader, subject.files) if subject.files else packages.of_runs(subject.reader, None)
    known = sum(len(one.files) for one in used if one.package.kind != packages.NONE)
    every = sum(len(one.files) for one in used)
    text = f"{known:,} of {plural(every, 'file')} of software"
    yield _share("software with a known package", "FsF-R1.2-01M", known, every, text)
    reasons = {reason for run in subject.run_ids for reason in run_steps.gaps(subject.reader, run)}
    value = "; ".join(sorted(reasons)) if reasons else "nothing that provio could not observe"
    yield Fact("record without gaps", "FsF-R1.2-01M", not reasons, value)
    yield Fact("formal description", "FsF-I1-01M", True, "RDF (W3C PROV): provio export")


def _stated(name: str, metric: str, value: str) -> Fact:
    return Fact(name, metric, bool(value), value or NOTHING)


def _share(name: str, metric: str, part: int, whole: int, text: str) -> Fact:
    percent = f"{100 * part / whole:.0f} %, " if whole else ""
    return Fact(name, metric, part == whole if part in (0, whole) else None, percent + text)


def _versions(subject: Subject) -> dict[str, tuple[int, bool, bool]]:
    """Return the versions of files: their size, whether an activity made them, whether their hash is recorded."""
    reader, found = subject.reader, dict[str, tuple[int, bool, bool]]()
    if subject.files:
        wanted = [node["iri"] for node in subject.document["nodes"] if node["type"] == "FileVersion"]
        parts = list(run_uses.values("v", wanted))
    else:
        parts = [f"{{ SELECT DISTINCT ?v {{ ?a {'|'.join(TIES)} ?v }} }}"]
    for which in parts:
        query = f"""SELECT DISTINCT ?v ?size (BOUND(?maker) AS ?made) (BOUND(?hash) AS ?hashed) {{ {which}
            ?v a provio:FileVersion ; provio:size ?size
            OPTIONAL {{ ?v <{PROV}wasGeneratedBy> ?maker }} OPTIONAL {{ ?v provio:sha256 ?hash }} }}"""
        for version, bytes_, made, hashed in reader.table(query):
            found[version] = int(bytes_), made == "true", hashed == "true"
    return found
