"""A folder with a Workflow Run RO-Crate: `ro-crate-metadata.json`, the commands, with `--with-data` the files, too."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from provio.ask import run_steps
from provio.ask.run_steps import RunFacts
from provio.base.errors import ProvioError
from provio.base.text import plural
from provio.exchange import crate_json, crate_readme, crate_root, description, new_folder
from provio.exchange.crate_actions import Actions
from provio.exchange.crate_files import Files
from provio.exchange.crate_json import Entity, Graph
from provio.exchange.crate_software import Software
from provio.exchange.description import Description
from provio.exchange.subject import Subject

SUMMARY = "RO-Crate: the files, and the Workflow Run Crate of what made them"
FOLDER = True
OPTIONS = ("with_data", "level", "steps", "profile", "anyway")
SHOWN = 3  # gaps in a message


def write(subject: Subject, output: Path) -> None:
    """Write the crate into a new folder."""
    with new_folder.made(output) as folder:
        fill(subject, folder, description.of(subject.home, subject.hide))


def fill(subject: Subject, folder: Path, about: Description, more: Collection[Entity] = ()) -> None:
    """Write the crate into a folder, with `more` files in it; raises ProvioError for a record with gaps and for files
    that cannot be copied, unless `--anyway`."""
    runs = _facts(subject)
    _check_gaps(runs, subject.anyway)
    reader, steps = subject.reader, [step for run in runs for step in run.steps]
    files = Files(reader, subject.home.project, subject.hide, subject.with_data, subject.level == "folder")
    files.load(
        (iri for step in steps for iri in (*step.inputs, *step.results)),
        {iri for run in runs for iri in run.deleted},
        {iri for step in steps for iri in step.ran},
    )
    if not subject.anyway:
        files.check()
    files.copy(folder)
    with (folder / crate_json.NAME).open("w", encoding="utf-8", errors="backslashreplace") as file:
        graph = Graph(file)
        settings = run_steps.settings(reader, {iri for step in steps for iri in step.settings})
        metrics = run_steps.literals(reader, {iri for step in steps for iri in step.metrics})
        software = Software(reader, subject.hide, graph, steps, files.ids)
        actions = Actions(graph, files, software, subject.hide, settings, metrics)
        for run in runs:
            actions.add(run, subject.profile)
        actions.close()
        for entity in files.entities():
            graph.add(entity)
        parts = files.parts() + [graph.add(entity) for entity in (crate_readme.entity(), *more)]
        places = [one.place for one in actions.workflows.values()]
        crate_root.write(
            graph,
            about,
            profile=subject.profile,
            text=summary(runs, subject),
            users=dict.fromkeys(subject.hide.iri(iri) for run in runs for iri, _ in run.people),
            parts=[*places, *parts],
            mentions=actions.mentions,
            main=places[-1] if places else "",
        )
        graph.close()
    for one in actions.workflows.values():
        place = folder / one.place
        place.parent.mkdir(exist_ok=True)
        place.write_text(one.text, encoding="utf-8", errors="surrogateescape")
    there = [name for name in crate_readme.PARTS if (folder / name).exists() or name in {one["@id"] for one in more}]
    page = crate_readme.lines(about, runs, files, actions.places(), subject.hide, summary(runs, subject), there)
    with (folder / crate_readme.NAME).open("w", encoding="utf-8", errors="backslashreplace") as file:
        file.writelines(line + "\n" for line in page)


def _facts(subject: Subject) -> list[RunFacts]:
    only: set[str] | None = None
    data: set[str] | None = None
    if subject.files:
        nodes = subject.document["nodes"]
        only = {node["process"] for node in nodes if "process" in node}
        data = {run_steps.CONTRIBUTION.sub("", node["iri"]) for node in nodes}
        data |= {node["iri"] for node in nodes}
        data |= {iri.partition("#")[0] for iri in data}  # the files of objects
    inside = subject.level == "dataset"
    return [
        run_steps.read(subject.reader, run, steps=subject.steps, inside=inside, only=only, data=data)
        for run in subject.run_ids
    ]


def _check_gaps(runs: Iterable[RunFacts], anyway: bool) -> None:
    """Raise ProvioError if parts of the runs were not observed."""
    reasons = list(dict.fromkeys(reason for run in runs for reason in run.gaps))
    if reasons and not anyway:
        more = f" and {plural(len(reasons) - SHOWN, 'other reason')}" if len(reasons) > SHOWN else ""
        raise ProvioError(
            f"no crate was written: the record has gaps ({'; '.join(reasons[:SHOWN])}{more}): run the command again so "
            "that all of it is recorded, or add --anyway to state the gaps in the crate"
        )


def summary(runs: list[RunFacts], subject: Subject) -> str:
    """Return sentences about the content of a crate, with the parts that were not observed."""
    steps = sum(len(run.steps) for run in runs)
    kind = "tasks and processes" if subject.steps in ("task", "io") else "processes"
    sentences = [f"A record of {plural(len(runs), 'run')} with {steps} {kind}, made by provio."]
    if reasons := list(dict.fromkeys(reason for run in runs for reason in run.gaps)):
        sentences.append(f"Not everything was observed: {'; '.join(reasons)}.")
    if times := [run.as_of for run in runs if run.as_of]:
        sentences.append(f"The record is {times[0]}.")
    return " ".join(sentences)
