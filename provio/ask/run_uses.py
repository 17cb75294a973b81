"""The runs that know a version: versions or a run and a store in, the actions of each run on each version out.

All runs state the same properties of a version, so the graph does not separate them by run. Specific to one run is
the activity that ties it to the version: a phase that used, ran or generated it, or an I/O activity. The IRI of the
activity is below that of the run.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from provio.ask.walk import WANTED, Nodes, Properties, batches
from provio.base.vocab import NS, PROV, RUN_BASE
from provio.store import Reader

FILE, PATH, ENCODED = PROV + "specializationOf", NS + "path", NS + "pathEncoded"
MODIFIED = NS + "modified"
NOT_NAMES = tuple(word for word in WANTED if word not in (FILE, PATH, ENCODED))
DONE = "Read Written Opened Modified Created Flushed".split()
MOST = 16  # ratio of the activities of all runs to those of one run up to which all are read
SEEN = "|".join(f"provio:was{verb}By" for verb in DONE[:4])
TIES = (
    "?v prov:wasGeneratedBy|prov:wasInvalidatedBy|" + "|".join(f"provio:was{verb}By" for verb in DONE) + " ?a",
    "?a prov:used|provio:usedAsNoise|provio:ran|provio:ranAsNoise|prov:hadPlan ?v",
)


@dataclass
class Names:
    """The names of versions: the Files, the last names and the modification time of each.

    `paths` holds the path of each File as (`provio:path`, `provio:pathEncoded`), of which one is empty.
    """

    files: dict[str, list[str]]
    last: dict[str, list[tuple[str, str]]]
    modified: dict[str, str]
    paths: dict[str, tuple[str, str]]


def run_of(iri: str) -> str:
    """Return the id of the run to which an activity belongs; "" if it belongs to no run."""
    return iri[len(RUN_BASE) :].partition("/")[0] if iri.startswith(RUN_BASE) else ""


def of_run(run: str) -> str:
    """Return a pattern that binds `?a` to all activities of a run (by id), without those of a run nested in it."""
    iri = RUN_BASE + run
    return f"""{{ SELECT DISTINCT ?a {{ ?p provio:partOf <{iri}> . FILTER(STRSTARTS(STR(?p), "{iri}/"))
        ?a provio:partOf* ?p }} }}"""


def is_only_one(reader: Reader) -> bool:
    """Return whether the store knows a single run: then all activities are from that run."""
    return len([*reader.table("SELECT ?run { ?run a provio:Run } LIMIT 2")]) == 1


def is_most(reader: Reader, run: str) -> bool:
    """Return whether a run has such a large part of the store's activities that it is faster to read all of them than
    to look up each activity of the run."""
    iri = RUN_BASE + run
    query = f"""SELECT (COUNT(?a) AS ?n) {{ ?p provio:partOf <{iri}> . FILTER(STRSTARTS(STR(?p), "{iri}/"))
        ?phase provio:partOf ?p . ?a provio:partOf ?phase }}"""
    most = MOST * int(next(iter(reader.table(query)))[0])
    query = f"SELECT (COUNT(?a) AS ?n) {{ SELECT ?a {{ ?a provio:bytes ?b }} LIMIT {most + 1} }}"
    return int(next(iter(reader.table(query)))[0]) <= most


def runs(reader: Reader, versions: Iterable[str]) -> dict[str, set[str]]:
    """Return the ids of the runs that know each of these versions."""
    found: dict[str, set[str]] = defaultdict(set)
    for tie in TIES:
        for version, activity in pairs(reader, tie, versions):
            found[version].add(run_of(activity))
    return found


def pairs(reader: Reader, tie: str, versions: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield (version, activity) for these versions by a pattern that connects `?v` and `?a`."""
    for which in values("v", versions):
        for row in reader.table(f"SELECT DISTINCT ?v ?a {{ {which} {tie} }}"):
            yield row[0], row[1]


def values(name: str, iris: Iterable[str]) -> Iterator[str]:
    """Yield VALUES clauses of a variable, each short enough for one query."""
    for batch in batches(sorted(iris)):
        yield f"VALUES ?{name} {{ {' '.join(f'<{iri}>' for iri in batch)} }}"


def path_of(name: tuple[str, str]) -> bytes:
    """Return the path of a name in the form of `Names`."""
    return os.fsencode(name[0]) if name[0] else unquote_to_bytes(name[1])


def names(reader: Reader, versions: Iterable[str]) -> Names:
    """Return the names of these versions."""
    known = Nodes(reader, without=NOT_NAMES)
    properties = known.of(list(versions))
    found = Names({}, {}, {}, {})
    for version in versions:
        row = properties[version]
        if FILE in row and MODIFIED in row:  # a version without them is a pipe
            found.files[version] = list(row[FILE])
            found.last[version] = _paths(row)
            found.modified[version] = _canonical(next(iter(row[MODIFIED])))
    known.of({file for files in found.files.values() for file in files})
    for file in {file for files in found.files.values() for file in files}:
        found.paths[file] = next(iter(_paths(properties[file])), ("", ""))
    return found


def files_of_runs(reader: Reader, ids: Iterable[str]) -> tuple[int, list[str]]:
    """Return the number of files that these runs read or made as data, and the paths of those of which a version has no
    recorded SHA-256, sorted."""
    tie = "{ ?a prov:used ?v } UNION { ?v prov:wasGeneratedBy ?a }"
    hashed: dict[str, bool] = {}
    for run in ids:
        query = f"SELECT DISTINCT ?v ?hash {{ {of_run(run)} {tie} OPTIONAL {{ ?v provio:sha256 ?hash }} }}"
        hashed |= {
            row["v"]: "hash" in row for row in reader.rows(query) if "/version/" in row["v"] and "#" not in row["v"]
        }
    known = names(reader, hashed)
    paths = {
        version: {os.fsdecode(path_of(known.paths[file])) for file in files} for version, files in known.files.items()
    }
    without = {path for version, own in paths.items() if not hashed[version] for path in own}
    return len(set().union(*paths.values())), sorted(without)


def all_names(reader: Reader) -> Names:
    """Return the names of all versions; each property is read separately, because every run states all of them."""
    found = Names({}, {}, {}, {})
    for version, file in reader.table("SELECT DISTINCT ?s ?o { ?s prov:specializationOf ?o }"):
        found.files.setdefault(version, []).append(file)
    for version, moment in reader.table("SELECT DISTINCT ?s ?o { ?s provio:modified ?o }"):
        found.modified[version] = moment
    for place, word in enumerate(("path", "pathEncoded")):
        for subject, path in reader.table(f"SELECT DISTINCT ?s ?o {{ ?s provio:{word} ?o }}"):
            name = (path, "") if place == 0 else ("", path)
            if subject in found.files:
                found.last.setdefault(subject, []).append(name)
            else:
                found.paths[subject] = name
    return found


def _canonical(time: str) -> str:
    """Return a time in the store's form, without trailing zeros, so that times can be compared as text."""
    return time.removesuffix("Z").rstrip("0").removesuffix(".") + "Z" if "." in time else time


def _paths(row: Properties) -> list[tuple[str, str]]:
    return [(path, "") for path in row.get(PATH, ())] + [("", path) for path in row.get(ENCODED, ())]
