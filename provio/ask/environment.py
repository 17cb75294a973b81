"""The environment of a run in three layers: the hardware, the system with the batch job, and the application.

In: a run and a store. Out: facts as (layer, name, value); a value of None is not available.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from provio.ask import packages, run_summary, run_uses
from provio.base.text import plural, size
from provio.base.vocab import RUN_BASE
from provio.settings.home import Home
from provio.store import Store
from provio.trace import machine_facts

Fact = tuple[str, str, str | None]
CONFIGURATION = (".cfg", ".conf", ".ini", ".toml", ".yaml", ".yml", ".json", ".properties", ".nml", ".env", ".xml")
INTERPRETERS = frozenset("python3 python pypy3 r-base-core r-base perl perl-base julia nodejs ruby bash octave".split())
FEW = 8  # configuration files
CHANGES = "uncommitted changes"


def of_run(store: Store, home: Home, run: str) -> list[Fact]:
    """Return the facts of a run; those of other hosts follow where they differ from the first host's."""
    folder = home.run_folder(run)
    found = of_machine(folder)
    found += _variables(store, run)
    found += [("job", name, value) for name, value in _job(machine_facts.job(folder)).items()]
    found += _application(store, run)
    changes = machine_facts.changes(folder)
    return found if changes is None else [*found, ("application", CHANGES, changes or "none")]


def of_machine(folder: Path) -> list[Fact]:
    """Return the facts of the hardware and the system of a run, by its folder."""
    hosts = machine_facts.hosts(folder)
    layers = hosts[min(hosts)] if hosts else {}
    found: list[Fact] = []
    for layer in ("hardware", "system"):
        if layer not in layers:
            found.append((layer, "machine", None))
        found += [(layer, name, value) for name, value in layers.get(layer, {}).items()]
        for host in sorted(hosts)[1:]:
            for name, value in hosts[host].get(layer, {}).items():
                if value != layers.get(layer, {}).get(name):
                    found.append((layer, f"{name} of {host}", value))
        if layer == "hardware":
            found.insert(0, (layer, "hosts", ", ".join(sorted(hosts)) or None))
    return found


def _job(facts: dict[str, str]) -> dict[str, str]:
    """Return the facts of a job, with the time that it was in the queue."""
    try:
        waited = datetime.fromisoformat(facts["started"]) - datetime.fromisoformat(facts["submitted"])
        return {**facts, "in the queue": f"{waited.total_seconds():g} s"}
    except (KeyError, ValueError):
        return facts


def _variables(store: Store, run: str) -> Iterator[Fact]:
    """Yield the variables of the batch job and of loaded software."""
    query = f"""SELECT ?name ?value {{ ?e a provio:Environment ; provio:name ?name ; provio:value ?value .
        FILTER(STRSTARTS(STR(?e), "{RUN_BASE}{run}/environment/")) }} ORDER BY ?name"""
    for row in store.rows(query):
        yield "job", row["name"], row["value"]
    for line in run_summary.jobs(store, RUN_BASE + run):
        yield "job", "job", line


def _application(store: Store, run: str) -> Iterator[Fact]:
    """Yield the interpreters, the packages, the configuration files that were opened, and the commit."""
    known = packages.of_runs(store, [run])
    named = [one for one in known if one.package.name in INTERPRETERS or one.package.name.startswith("python3.")]
    yield "application", "interpreters", ", ".join(f"{one.package.name} {one.package.version}" for one in named) or None
    yield "application", "peak memory", _peak_memory(store, run)
    kinds = Counter(one.kind for one in known if one.kind != packages.NONE)
    text = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    yield "application", "packages", f"{text}: provio packages {run}" if text else None
    yield "application", "configuration files", _some(sorted(_configuration_files(store, run)))
    query = f"SELECT ?commit ?dirty {{ <{RUN_BASE}{run}> provio:gitCommit ?commit ; provio:gitDirty ?dirty }}"
    row = next(iter(store.rows(query)), None)
    changed = " with uncommitted changes" if row and row["dirty"] in ("true", "1") else ""
    yield "application", "git commit", f"{row['commit']}{changed}" if row else None


def _peak_memory(store: Store, run: str) -> str | None:
    """Return the memory of the process that had most, with its program; None if no process ended by itself."""
    query = f"""SELECT ?bytes ?program {{ ?p provio:peakMemory ?bytes ; prov:wasAssociatedWith/rdfs:label ?program .
        FILTER(STRSTARTS(STR(?p), "{RUN_BASE}{run}/")) }} ORDER BY DESC(?bytes) LIMIT 1"""
    row = next(iter(store.rows(query)), None)
    return f"{size(int(row['bytes']))} ({row['program']})" if row else None


def _some(paths: Sequence[str]) -> str | None:
    more = f" and {plural(len(paths) - FEW, 'other')}" if len(paths) > FEW else ""
    return ", ".join(paths[:FEW]) + more if paths else None


def _configuration_files(store: Store, run: str) -> set[str]:
    """Return the paths of the files with an ending of configurations that a run read, without those of packages."""
    query = f"""SELECT DISTINCT ?path {{ {run_uses.of_run(run)} ?a prov:used ?v . ?v prov:specializationOf ?f .
        ?f provio:path ?path }}"""
    return {
        path for (path,) in store.table(query)
        if path.lower().endswith(CONFIGURATION) and "/site-packages/" not in path and "/dist-packages/" not in path
    }  # fmt: skip
