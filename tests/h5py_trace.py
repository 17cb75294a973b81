"""The operations of a process inside HDF5 files, in a form in which all layers must agree."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from posix_trace import Facts, Trace

SITE = Path(__file__).resolve().parent.parent / "interceptors" / "site"


class Act(NamedTuple):
    """An operation on an object of a file: its kind, object, number of calls and bytes."""

    what: str
    file: str
    path: str
    count: int = 1
    size: int = 0


def run(trace: Trace, program: str | Path, work: Path, way: str, python: str = sys.executable, **env: str) -> str:
    """Run a Python program recorded by one layer ("c", "h5py" or "python"), and return its output."""
    more = {"PROVIO_HDF5": "h5py", "PYTHONPATH": str(SITE)} if way != "c" else {}
    variables = trace.environment(**{**more, **env})
    if way == "python":
        del variables["LD_PRELOAD"]
    command = [python, "-c", program] if isinstance(program, str) else [python, program]
    done = subprocess.run(command, env=variables, cwd=work, capture_output=True, text=True, timeout=120)
    assert not done.returncode, done.stderr
    return done.stdout


class Story:
    """The records of HDF5 objects in a trace."""

    def __init__(self, facts: dict[str, Facts]) -> None:
        self.facts = facts
        self.files = {iri: record for iri, record in facts.items() if record.get("format") == "HDF5"}
        self.members = {iri: record for iri, record in facts.items() if record.get("inFile") in self.files}

    def name(self, iri: str | None) -> tuple[str, str]:
        """The file and the path of an object; an attribute's has `@name` behind it."""
        record = self.facts.get(iri or "", {})
        path = re.sub("0x[0-9a-f]+", "0x", record.get("path") or record.get("pathEncoded", ""))
        if iri in self.files:
            return os.path.basename(path), ""
        name = record.get("name")
        return self.name(record["inFile"])[0], path if name is None else f"{path}@{name}"

    def objects(self, *properties: str) -> set[tuple[str, ...]]:
        """Each object of a class of its own, once for each opening of its file: its class, its name, and properties."""
        kinds = {"Group", "Dataset", "Attribute", "Datatype", "NamedLink"}
        return {
            (record["type"], *self.name(iri), *(record.get(word, "-") for word in properties))
            for iri, record in self.members.items()
            if record.get("type") in kinds
        }

    def opened(self) -> list[tuple[str, ...]]:
        """Each opening of a file: its name, flags, and whether its close was seen."""
        files = self.files.items()
        return sorted((self.name(iri)[0], record["flags"], str("closedNs" in record)) for iri, record in files)

    def moved(self) -> list[Act]:
        """Return the elements read and written in each object, by any function."""
        total: Counter[tuple[str, str, str, str]] = Counter()
        for record in self.facts.values():
            if record.get("object") in self.members:
                for side in ("read", "write"):
                    if int(record.get(f"{side}s", 0)):
                        total[side, *self.name(record["object"]), "count"] += int(record[f"{side}s"])
                        total[side, *self.name(record["object"]), "size"] += int(record[f"{side}Bytes"])
        names = sorted({key[:3] for key in total})
        return [Act(*name, total[*name, "count"], total[*name, "size"]) for name in names]

    def events(self) -> list[tuple[str, ...]]:
        """Return renames, deletions, resizes, copies and failures."""
        found = []
        for record in self.facts.values():
            kind = record.get("type")
            if kind == "Copy" and record.get("source") in self.members:
                found.append(("Copy", *self.name(record["source"]), *self.name(record["object"])))
            elif kind == "Resize":
                found.append(("Resize", *self.name(record["object"]), record["shape"]))
            elif kind in ("Rename", "Delete") and record.get("inFile") in self.files:
                words = (record.get(word, "-") for word in ("path", "name", "from", "to"))
                found.append((kind, self.name(record["inFile"])[0], *words))
        return sorted(found)

    def failures(self) -> Counter[str]:
        """The classes of the calls that failed within HDF5."""
        kinds = Counter[str]()
        for record in self.facts.values():
            if record.get("type") == "Failure" and record["api"].startswith(("h5py.", "H5")):
                kinds[record["operation"]] += int(record["count"])
        return kinds
