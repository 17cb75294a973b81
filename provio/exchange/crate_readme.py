"""The page of a crate for people, `README.md`: the results, their inputs and commands, and how to make them again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from provio.ask.document import command_line
from provio.ask.run_steps import ENDED, STARTED, RunFacts
from provio.base.text import duration, moment, plural, printable
from provio.exchange.crate_files import Files
from provio.exchange.crate_json import Entity, reference
from provio.exchange.crate_root import NO_LICENCE
from provio.exchange.description import Description
from provio.exchange.hidden import Hidden

NAME = "README.md"
MOST = 50  # lines of a list
PARTS = {
    "ro-crate-metadata.json": "the record of all of this, for programs: an RO-Crate (https://w3id.org/ro/wfrun)",
    "workflows/": "the command of each run as a shell script",
    "data/": "the files",
    "graph/": "the complete record as RDF (W3C PROV)",
    "SHA256SUMS": "the checksum of each file: check them with `sha256sum -c SHA256SUMS`",
}


def entity() -> Entity:
    """Return the entity of the page."""
    about = {"name": NAME, "description": "the page for people", "encodingFormat": "text/markdown"}
    return {"@id": NAME, "@type": "File", **about, "about": reference("./")}


def lines(
    about: Description,
    runs: Sequence[RunFacts],
    files: Files,
    places: Mapping[str, str],
    hide: Hidden,
    summary: str,
    parts: Iterable[str],
) -> Iterator[str]:
    """Yield the lines of the page. `places` are the scripts of the runs, `parts` those of `PARTS` that are there."""
    yield f"# {about.title or 'A record of provio'}\n"
    for text in filter(None, (about.description, summary)):
        yield f"{text}\n"
    if about.creators:
        yield "By " + ", ".join(name + (f" ({orcid})" if orcid else "") for name, orcid in about.creators) + ".\n"
    yield f"Licence: {about.licence or NO_LICENCE}\n"
    for title, texts in (("Funding", about.funding), ("Identifiers", about.identifiers)):
        if texts:
            yield f"{title}: {', '.join(texts)}\n"
    yield "## Content\n"
    yield from (f"- `{name}`: {PARTS[name]}" for name in parts)
    yield "\n## How it was made\n"
    for number, run in enumerate(runs, 1):
        yield from _run(number, run, files, places, hide)
    yield "## How to make it again\n"
    yield "Each script changes to the folder in which its command ran. The files of `data/` belong there.\n"
    yield from (f"    sh {place}" for place in dict.fromkeys(places.values()))


def _run(number: int, run: RunFacts, files: Files, places: Mapping[str, str], hide: Hidden) -> Iterator[str]:
    facts = run.facts
    start, end = facts.get(STARTED, ""), facts.get(ENDED, "")
    title = hide.text("name", facts.get("name", "")) or f"Run {run.iri.rpartition('/')[2]}"
    yield f"### {number}. {title}\n"
    yield f"    {printable(hide.text('argv', run.command))}\n"
    if start:
        took = f", {duration(start, end)}" if end else f"; {run.as_of}" if run.as_of else ""
        yield f"- when: {moment(start)}{took}"
    if run.people:
        yield f"- by: {', '.join(hide.text('user', name) for _, name in run.people)}"
    if facts.get("host"):
        yield f"- on: {hide.text('host', facts['host'])}"
    if run.folder:
        yield f"- in: `{hide.text('cwd', run.folder)}`"
    yield f"- end: {_end(run)}"
    if run.iri in places:
        yield f"- script: `{places[run.iri]}`"
    programs = (command_line({"iri": "", "type": "Process", "label": "", "argv": one.facts.get("argv", "")})
                for one in run.steps)  # fmt: skip
    yield from _list("commands", (hide.text("argv", text) for text in dict.fromkeys(programs) if text))
    inputs, results = run.flow()
    for title, found in (("inputs", inputs), ("results", results)):
        yield from _list(title, sorted(files.title(iri) for iri in found if iri in files.files))
    yield from _list("not observed", run.gaps)
    yield ""


def _end(run: RunFacts) -> str:
    facts = run.facts
    if "signal" in facts:
        return f"signal {facts['signal']}"
    return f"exit code {facts['exitCode']}" if "exitCode" in facts else "in progress" if run.as_of else "not seen"


def _list(title: str, texts: Iterable[str]) -> Iterator[str]:
    found = list(dict.fromkeys(texts))
    if found:
        yield f"- {title}:"
        yield from (f"  - `{printable(text)}`" for text in found[:MOST])
        if len(found) > MOST:
            yield f"  - and {plural(len(found) - MOST, 'other')}, in `ro-crate-metadata.json`"
