"""Add the values of files to the conclusions: a file of parameters is a configuration of each program that read it, the
numbers in a file of metrics are metrics of the program that wrote it.

In: `Trace.contents`, which `Conclusions.contents` completes where it is set. Out: declarations.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from operator import attrgetter
from urllib.parse import quote

from provio.lineage.declarations import configured
from provio.lineage.identity import VERSION, without_task
from provio.lineage.model import FOREVER, Conclusions, Input, Version
from provio.trace.declarations import Configuration
from provio.trace.metrics import Metric
from provio.trace.run_facts import METRICS, PARAMETERS, Content, Trace
from provio.trace.value_file import MOST

Found = dict[str, tuple[Version, Content]]  # by the IRI of the version


def parameters(trace: Trace, conclusions: Conclusions) -> None:
    """Add the parameters that processes read from files, before processes are cut into phases."""
    found = _contents(trace, conclusions, PARAMETERS)
    if not found:
        return
    tasks, readers, cwd = _tasks(conclusions), dict[str, str](), _folder(trace)
    for inputs in list(conclusions.inputs.values()):
        first: dict[str, Input] = {}
        for one in inputs:
            if one.version in found and not one.noise:
                first[one.version] = min(one, first.get(one.version, one), key=attrgetter("first"))
        for version, used in first.items():
            readers.setdefault(version, used.process.iri)
            content = found[version][1]
            if content.parameters:
                iri, name = f"{used.process.iri}read/{_own_part(version)}", _name(found[version][0], cwd)
                owner, task = without_task(used.process.iri), tasks.get(used.process.iri, "")
                settings = dict(content.parameters)
                declared = Configuration(iri, owner, task, used.first, name, "", content.complete, settings)
                configured(declared, trace, conclusions)
    _gaps(found, readers, PARAMETERS, cwd, conclusions)


def metrics(trace: Trace, conclusions: Conclusions) -> None:
    """Add the metrics that processes wrote into files, once versions have their makers."""
    found = _contents(trace, conclusions, METRICS)
    tasks, makers = _tasks(conclusions) if found else {}, dict[str, str]()
    for iri, (version, content) in found.items():
        if version.maker is None:
            continue
        process, at = version.maker
        makers[iri], task = process.iri, tasks.get(process.iri, "")
        for name, value in content.metrics.items():
            number = f"/{_own_part(iri)}/{quote(name.encode('utf-8', 'surrogatepass'), safe='-._~')}"
            metric = Metric(without_task(process.iri), number, task, at, name, "", value, None, "")
            conclusions.declared.measured.append(metric)
    _gaps(found, makers, METRICS, _folder(trace), conclusions)


def _tasks(conclusions: Conclusions) -> dict[str, str]:
    return {strand.process.iri: task for task, strand in conclusions.strands.items()}


def _contents(trace: Trace, conclusions: Conclusions, role: str) -> Found:
    """Return the versions with values of a role."""
    if conclusions.contents:
        conclusions.contents.read_values(trace, conclusions, role)
    return dict(_known(trace, conclusions, role)) if trace.contents else {}


def _gaps(found: Found, actors: Mapping[str, str], role: str, cwd: bytes, conclusions: Conclusions) -> None:
    """Add the gaps about values that are not known: one for the versions of a file that a process (`actors`, by
    version) read or made. A gap belongs to the process: another run may know the values of the same version."""
    lost: dict[tuple[str, bytes, str], list[str]] = {}
    for iri, (version, content) in found.items():
        reason = content.reason or f"it has more than {MOST:,} values" * (not content.complete)
        if reason and iri in actors:
            lost.setdefault((actors[iri], version.last_name, reason), []).append(iri)
    for (actor, _, reason), versions in lost.items():
        them = f"the {role} of {len(versions)} versions" if versions[1:] else f"its {role}"
        them = them if found[versions[0]][1].reason else f"its other {role}"
        name, last = _name(found[versions[-1]][0], cwd), versions[-1]
        text = name + reason.removeprefix("it") if reason.startswith("it ") else f"{name}: {reason}"
        iri = f"{without_task(actor)}{role}/{_own_part(last)}"
        conclusions.gaps.append((iri, last, f"{text}: {them} are not known"))


def _known(trace: Trace, conclusions: Conclusions, role: str) -> Iterator[tuple[str, tuple[Version, Content]]]:
    for version in conclusions.versions.values():
        content = trace.contents.get(version.facts.key)
        if content and role in content.roles and version.until == FOREVER:
            yield version.iri, (version, content)


def _folder(trace: Trace) -> bytes:
    return os.fsencode(trace.run.get("cwd", "")).rstrip(b"/") + b"/"


def _name(version: Version, cwd: bytes) -> str:
    """Return the name of a file: its path relative to the run's working folder, the whole path if
    they have only the root folder in common."""
    path = version.last_name
    far = os.path.commonpath([path, cwd]) == b"/" if path.startswith(b"/") else True
    return (path if far else os.path.relpath(path, cwd)).decode("utf-8", "replace")


def _own_part(version: str) -> str:
    """Return the part of a version's IRI that identifies it within its storage."""
    found = VERSION.match(version)
    return version.rpartition("/")[2] if found is None else version[len(found["domain"]) + 1 :]
