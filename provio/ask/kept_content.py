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
from provio.trace import content_requests

TIES = "prov:used|provio:usedAsNoise|provio:ran|provio:ranAsNoise|prov:hadPlan"


def content(reader: Store, home: Home, name: str, run: str) -> bytes:
    """Return the content of a file as a run used it. Raises NothingKnown if it is not kept or the run did not use the
    file, BadQuery if it used several contents, and ProvioError if the kept content is damaged."""
    found = runs.find(reader, run)
    if found is None:
        raise NothingKnown(f"no run {run!r} is recorded (provio runs lists them)")
    path, digests, used, is_empty = os.path.abspath(name), set(), False, False
    for one in dict.fromkeys([path, os.path.realpath(path)]):
        word, term = turtle.text_or_encoded("path", os.fsencode(one))
        for row in reader.rows(f"""SELECT DISTINCT ?v ?hash ?size {{ {of_run(found)} ?a {TIES} ?v .
            ?v prov:specializationOf/provio:{word} {term} OPTIONAL {{ ?v provio:sha256 ?hash }}
            OPTIONAL {{ ?v provio:size ?size }} }}"""):
            used, is_empty = True, is_empty or row.get("size") == "0"
            digests |= {row["hash"]} if row.get("hash") else set()
    there = sorted(digest for digest in digests if kept.is_kept(home, digest))
    if there[1:]:
        shown = ", ".join(str(kept.folder_of(home) / digest) for digest in there)
        raise BadQuery(f"run {found} used {len(there)} contents of {name}: copy one of them: {shown}")
    if not used:
        raise NothingKnown(f"run {found} did not use {name}: provio show {found} lists its files")
    if not there and is_empty:
        return b""
    if not there:
        raise NothingKnown(f"the content of {name} in run {found} is not kept: {_reason(home, found)}")
    return kept.content(home, there[0])


def _reason(home: Home, run: str) -> str:
    """Return the reason why a content is not kept, and the remedy."""
    if kept.were_read(home, run):
        reason = "it is a product or a system file, or was changed, larger than the limit, or on another host before it"
        return f"{reason} was kept (record.keep): restore it from a backup"
    if content_requests.read(content_requests.place(home, run)):
        return "the run is not read yet: provio merge reads it"
    return "no content of this run is: set record.keep before a run"
