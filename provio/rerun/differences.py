"""The differences between the recorded environment and the present one: a plan and a store in, one line each out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from provio.ask.content import CHANGED, MISSING
from provio.base.text import plural
from provio.base.vocab import NS, RUN_BASE, local_name
from provio.rerun.commands import ENVIRONMENTS
from provio.rerun.files import PACKAGES, Use
from provio.rerun.inputs import Input
from provio.rerun.plan import Plan
from provio.settings import home as homes
from provio.settings import load
from provio.settings.home import Home
from provio.store import Reader
from provio.trace import environment, machine_facts
from provio.trace.redact import Redaction

MACHINE = {"host": "host", "system": "operating system", "kernel": "kernel", "cpu": "processor"}
OF_A_JOB = environment.JOB_FAMILIES  # their values differ in each job


def lines(reader: Reader, plan: Plan, code: Mapping[Use, Input], home: Home) -> list[str]:
    """Return the differences of programs and libraries, machine, variables and the git commit."""
    runs = list(dict.fromkeys(step.command.run for step in plan.steps))
    found = [*_code(code.values())]
    for run in runs:
        found += _machine(reader, run)
        found += _variables(reader, run)
        found += _changes(reader, run, home)
    return list(dict.fromkeys(found))


def _code(code: Iterable[Input]) -> Iterator[str]:
    """Yield a line for each changed program or library; the files of one installed package are counted."""
    packages: dict[str, int] = {}
    for one in code:
        if one.use.kind != "code" or one.state not in (CHANGED, MISSING):
            continue
        package = _package(one.use.path)
        if package:
            packages[package] = packages.get(package, 0) + 1
        else:
            yield f"program or library {one.use.path} {'has changed' if one.state == CHANGED else 'is missing'}"
    for package, count in packages.items():
        yield f"package {package}: {plural(count, 'file')} changed or missing"


def _package(path: str) -> str:
    folder = next((folder for folder in PACKAGES if folder in path), "")
    before, _, after = path.partition(folder) if folder else ("", "", "")
    return before + folder + after.partition("/")[0] if folder else ""


def _machine(reader: Reader, run: str) -> Iterator[str]:
    names = ", ".join(f"<{NS}{name}>" for name in (*MACHINE, "gitCommit", "gitDirty", "cwd"))
    query = f"SELECT ?p ?o {{ <{RUN_BASE}{run}> ?p ?o FILTER(?p IN ({names})) }}"
    known = {local_name(word): value for word, value in reader.table(query)}
    now = environment.system_facts()
    for name, title in MACHINE.items():
        if name in known and known[name] != now[name]:
            yield f"{title}: recorded {known[name]}, now {now[name]}"
    if "gitCommit" in known:
        commit, dirty = environment.git_state(Path(known.get("cwd", "/"))) or ("none", False)
        if commit != known["gitCommit"]:
            yield f"git commit: recorded {known['gitCommit'][:12]}, now {commit[:12]}"
        if dirty != (known.get("gitDirty") == "true"):
            states = {True: "with changes", False: "without changes"}
            yield f"git checkout: recorded {states[not dirty]}, now {states[dirty]}"


def _changes(reader: Reader, run: str, home: Home) -> Iterator[str]:
    """Yield a line if a run kept the uncommitted changes of its checkout, and they are others now."""
    recorded = machine_facts.changes(home.runs / run)
    if recorded is None:
        return
    settings = load.load(homes.project_folders(home.project), forgive=lambda _: None)
    folder = next(iter(reader.table(f"SELECT ?cwd {{ <{RUN_BASE}{run}> provio:cwd ?cwd }}")), ["/"])[0]
    diff = environment.git_diff(Path(folder))
    now = environment.without_secrets(diff or b"", Redaction(settings.redact_add, settings.redact_keep))
    if diff is None or now.encode("utf-8", "surrogateescape").decode("utf-8", "replace") != recorded:
        yield f"uncommitted changes: other than those of run {run} (provio show {run} --environment)"


def _variables(reader: Reader, run: str) -> Iterator[str]:
    query = f"""SELECT ?name ?value {{ <{RUN_BASE}{run}> prov:used ?e . ?e a provio:Environment ; provio:name ?name ;
        provio:value ?value }} ORDER BY ?name"""
    for name, value in reader.table(query):
        now = os.environ.get(name)
        used = name in ENVIRONMENTS and os.path.isdir(value)  # the commands run in it again
        if now != value and not used and not name.startswith(OF_A_JOB):
            yield f"variable {name}: recorded {value}, now {'not set' if now is None else now}"
