"""The kept content of a file as a run used it: a reader, the name of the file and the run in, bytes out."""

from __future__ import annotations

import os

from provio.ask import runs
from provio.ask.run_uses import of_run
from provio.base import turtle
from provio.base.errors import BadQuery, NothingKnown
from provio.merge import kept
from provio.settings.home import Home
from provio.store import Store

TIES = "prov:used|provio:usedAsNoise|provio:ran|provio:ranAsNoise|prov:hadPlan"


def content(reader: Store, home: Home, name: str, run: str) -> bytes:
    """Return the content of a file as a run used it. Raises NothingKnown if it is not kept or the run did not use the
    file, BadQuery if it used several contents, and ProvioError if the kept content is damaged."""
    found = runs.find(reader, run)
    if found is None:
        raise NothingKnown(f"no run {run!r} is recorded (provio runs lists them)")
    path, digests, used = os.path.abspath(name), set(), False
    for one in dict.fromkeys([path, os.path.realpath(path)]):
        word, term = turtle.text_or_encoded("path", os.fsencode(one))
        for row in reader.rows(f"""SELECT DISTINCT ?v ?hash {{ {of_run(found)} ?a {TIES} ?v .
            ?v prov:specializationOf/provio:{word} {term} OPTIONAL {{ ?v provio:sha256 ?hash }} }}"""):
            used = True
            digests |= {row["hash"]} if row.get("hash") else set()
    there = sorted(digest for digest in digests if kept.is_kept(home, digest))
    if there[1:]:
        shown = ", ".join(str(kept.folder_of(home) / digest) for digest in there)
        raise BadQuery(f"run {found} used {len(there)} contents of {name}: copy one of them: {shown}")
    if not used:
        raise NothingKnown(f"run {found} did not use {name}: provio show {found} lists its files")
    if not there:
        raise NothingKnown(f"the content of {name} in run {found} is not kept: set record.keep before a run")
    return kept.content(home, there[0])
