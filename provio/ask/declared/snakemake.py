"""Steps of Snakemake: a step is a job of a rule, which its recorded Task describes with its declared files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from provio.ask.declared.actions import Actions, Actor, start_of
from provio.ask.declared.compare import Step, absolute

PROGRAMS = frozenset({"snakemake"})
FILES = ("input", "output", "log", "benchmark")
KINDS = (*FILES, "wildcards")
OMITTED = "…"  # the name of the setting that counts those which the record omits
OWN = re.compile(r"(.*)/\.snakemake/(?:locks|incomplete|metadata)/")


def steps(actions: Actions, notes: list[str]) -> Iterator[Step]:
    """Yield the jobs of a run, in the order of their starts; a rule without files and processes is none."""
    tasks = _tasks(actions)
    engines = actions.actors.keys() & {task.rpartition("/t")[0] + "/" for task in tasks}
    touched = {path for one in engines for names in actions.actors[one].writes for path in names}
    for task in sorted((actions.actors[iri] for iri in tasks), key=start_of):
        name, values = tasks[task.iri]
        own = [*actions.below(task.iri, tasks.keys() - {task.iri})]
        if not values["output"] and len(own) == 1 and not task.reads:
            continue  # a rule that only names its inputs
        omitted = [kind for kind in FILES[:2] if OMITTED in values[kind]]
        note = f"the record omits some {' and '.join(omitted)} files of {name}, because there are so many"
        if omitted and note not in notes:
            notes.append(note)
        folder = _folder(actions, task)
        files = {kind: absolute((v for n, v in values[kind].items() if n != OMITTED), folder) for kind in FILES}
        wild = ", ".join(f"{key}={value}" for key, value in sorted(values["wildcards"].items()))
        title = f"{name} ({wild})" if wild else name
        outputs = [path for path in files["output"] if path not in touched]  # Snakemake itself makes `touch(…)`
        allowed = [*files["log"], *files["benchmark"], *files["output"]]
        yield Step(title, files["input"], outputs, allowed, own, complete=not omitted)


def workflow(actions: Actions) -> set[str]:
    """Return the Snakefiles and the scripts of rules: Snakemake makes copies of these, and starts the copies."""
    engines = {one.iri for one in actions.named(PROGRAMS)}
    found = set[str]()
    for actor in actions.actors.values():
        copies = any("/.snakemake/scripts/" in path for paths in actor.writes for path in paths)
        if copies or actor.iri in engines:
            found |= {path for paths in actor.reads for path in paths if copies or _is_workflow(path)}
    return found


def _is_workflow(path: str) -> bool:
    return path.rpartition("/")[2] == "Snakefile" or path.endswith((".smk", ".snakefile"))


def _tasks(actions: Actions) -> dict[str, tuple[str, dict[str, dict[str, str]]]]:
    """Return for each job its rule and the values of each kind by their names."""
    found: dict[str, tuple[str, dict[str, dict[str, str]]]] = {}
    query = f"""SELECT ?t ?rule ?name ?value {{ ?t a provio:Task ; provio:kind "rule" ; provio:name ?rule .
        FILTER(STRSTARTS(STR(?t), "{actions.iri}/"))
        OPTIONAL {{ ?t provio:hadSetting ?s . ?s provio:name ?name ; provio:value ?value }} }}"""
    for row in actions.reader.rows(query):
        if row["t"] in actions.actors:
            _, values = found.setdefault(row["t"], (row["rule"], {kind: {} for kind in KINDS}))
            kind, _, name = row.get("name", "").partition(".")
            if kind in values:
                values[kind][name] = row["value"]
    return found


def _folder(actions: Actions, task: Actor) -> str:
    """Return the folder in which a job's files are: Snakemake has its own `.snakemake` there."""
    above = [*actions.above(task.iri)]
    for actor in above:
        for paths in actor.writes:
            for found in filter(None, map(OWN.match, paths)):
                return found[1]
    return above[0].cwd if above else actions.cwd
