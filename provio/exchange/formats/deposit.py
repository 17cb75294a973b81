"""A folder to hand on: an RO-Crate with the files, the complete record as RDF, a page for people, and checksums."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path

from pyoxigraph import RdfFormat

from provio.exchange import description, new_folder, rdf
from provio.exchange.crate_json import Entity
from provio.exchange.formats import ro_crate
from provio.exchange.subject import Subject

SUMMARY = "a folder to hand on: RO-Crate with the files, RDF, README, checksums"
FOLDER = True
OPTIONS = ("level", "steps", "profile", "anyway")
RECORD, SUMS = "graph/runs.trig", "SHA256SUMS"
BLOCK = 1 << 20


def write(subject: Subject, output: Path) -> None:
    """Write the new folder. Its files are always part of it."""
    subject = replace(subject, with_data=True)
    with new_folder.made(output) as folder:
        graph = folder / RECORD
        graph.parent.mkdir()
        with graph.open("wb") as file:
            whole = replace(subject, level="", steps="")  # the record itself
            for one in [replace(whole, runs=(run,)) for run in subject.runs] or [whole]:
                rdf.write(one, file, RdfFormat.TRIG)
        ro_crate.fill(subject, folder, description.of(subject.home, subject.hide), [_entity(graph), _sums()])
        lines = [f"{_sha256(path)}  {_name(path, folder)}\n" for path in sorted(folder.rglob("*")) if path.is_file()]
        (folder / SUMS).write_text("".join(lines), encoding="utf-8", errors="surrogateescape")


def _entity(graph: Path) -> Entity:
    return {
        "@id": RECORD,
        "@type": "File",
        "name": "the record as RDF",
        "description": "the complete record of the runs as W3C PROV in TriG",
        "encodingFormat": "application/trig",
        "contentSize": str(graph.stat().st_size),
    }


def _sums() -> Entity:
    about = {"name": SUMS, "description": "the SHA-256 of each file of the folder", "encodingFormat": "text/plain"}
    return {"@id": SUMS, "@type": "File", **about}


def _name(path: Path, folder: Path) -> str:
    return os.fspath(path.relative_to(folder))


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()
