"""The files `0.shared-libraries.<hash>.ttl` of a host of a run: the shared libraries of processes, a file for each set.

The libraries in such a file are those that one or several processes had loaded at one moment; each process states the
sets that it had. They are code that ran, as the executable is, but they are separate from the files that the process
opened: the loader opens them, not the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from provio.base.records import frozen
from provio.system.statx import Facts, Record
from provio.trace.decode import path_of

if TYPE_CHECKING:
    from provio.trace.run_facts import Trace


@frozen
class Library:
    """A version of a shared library under its path."""

    path: bytes
    facts: Facts


def add(trace: Trace, records: dict[str, Record]) -> None:
    """Add the libraries in the records of a file to a trace, by the IRI of their set; damaged records are left out."""
    for iri, record in records.items():
        path = path_of(record, "path")
        if record.get("a") == "FileVersion" and path and "inode" in record:
            trace.libraries.setdefault(iri.rpartition("/")[0], []).append(Library(path, Facts.of(record)))
