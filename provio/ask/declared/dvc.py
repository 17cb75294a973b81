"""Steps of DVC: a step is a stage whose commands a recorded dvc executed. dvc.lock has the stages as they were
executed; a stage that is not in it, because it failed, is read from dvc.yaml."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from provio.ask.declared.actions import Actions, Actor, start_of
from provio.ask.declared.compare import Step, absolute
from provio.ask.redo import SHELLS
from provio.base.errors import ProvioError
from provio.base.text import cut_end, plural, printable

PROGRAMS = frozenset({"dvc"})
OUTPUTS = ("outs", "metrics", "plots")


@dataclass
class Stage:
    """A stage of a dvc.yaml: its commands, its folder, and its files, relative to that folder."""

    name: str
    source: str
    commands: list[str]
    folder: str
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)


def steps(actions: Actions, notes: list[str]) -> Iterator[Step]:
    """Yield the stages that a run executed, in the order of their starts."""
    lost: list[str] = []
    for dvc in actions.named(PROGRAMS):
        shells = sorted(_shells(actions, dvc), key=start_of)
        stages = [*_stages(actions, dvc)] if shells else []
        found: dict[str, tuple[Stage, list[Actor]]] = {}
        for shell in shells:
            same = [stage for stage in stages if shell.words[-1].strip() in stage.commands]
            stage = next((one for one in same if one.folder == shell.cwd), same[0] if same else None)
            if stage is None:
                lost.append(shell.words[-1])
            else:
                found.setdefault(stage.name, (stage, []))[1].extend(actions.below(shell.iri))
        for stage, own in found.values():
            inputs, outputs, allowed = (
                absolute(names, stage.folder) for names in (stage.inputs, stage.outputs, stage.allowed)
            )
            yield Step(stage.name, inputs, outputs, allowed, own, sources={stage.source})
    if lost:
        text = cut_end(printable(lost[0], True), 60)
        notes.append(f"no stage in the present dvc.yaml has {plural(len(lost), 'command')} that dvc executed ({text})")


def workflow(actions: Actions) -> set[str]:
    """Return the files dvc.yaml and dvc.lock that dvc read."""
    return {path for dvc in actions.named(PROGRAMS) for path in _files(dvc)}


def _shells(actions: Actions, dvc: Actor) -> Iterator[Actor]:
    """Yield the shells that execute the commands of stages: the first below dvc."""
    left = [*dvc.children]
    while left:
        actor = actions.actors[left.pop()]
        name = os.path.basename(actor.words[0]) if actor.words else ""
        if name in SHELLS and "-c" in actor.words[1:-1]:
            yield actor
        else:
            left += actor.children


def _files(dvc: Actor) -> set[str]:
    names = {path for paths in dvc.reads for path in paths if os.path.basename(path) == "dvc.yaml"}
    names = names or {os.path.join(dvc.cwd, "dvc.yaml")}
    return names | {path.removesuffix(".yaml") + ".lock" for path in names}


def _stages(actions: Actions, dvc: Actor) -> Iterator[Stage]:
    """Yield the stages of all dvc.lock that dvc used, then those of dvc.yaml; raises ProvioError if there are none."""
    files = sorted(_files(dvc))
    there = {path: _content(path) for path in files if os.path.isfile(path)}
    if not any(path.endswith(".yaml") for path in there):
        raise ProvioError(
            f"{files[-1]} is missing, so its stages are not known: restore the dvc.yaml of run {actions.run}"
        )
    for path, content in sorted(there.items()):  # dvc.lock comes first
        below = there.get(path.removesuffix(".lock") + ".yaml", {}) if path.endswith(".lock") else {}
        for name, stage in _mapping(content.get("stages")).items():
            described = _mapping(_mapping(below.get("stages")).get(str(name).partition("@")[0]))
            yield _stage(path, str(name), _mapping(stage), _inner(described or stage).get("wdir"))


def _inner(stage: Any) -> Mapping[str, Any]:
    """Return the description of a stage, also of one with `foreach`."""
    return _mapping(_mapping(stage).get("do", stage))


def _stage(source: str, name: str, stage: Mapping[str, Any], wdir: Any) -> Stage:
    inner = stage if source.endswith(".lock") else _inner(stage)
    commands = inner.get("cmd", ())
    commands = commands.splitlines() if isinstance(commands, str) else [*commands]
    folder = os.path.normpath(os.path.join(os.path.dirname(source), str(wdir or ".")))
    params = inner.get("params") or ()
    return Stage(
        name,
        source,
        [str(command).strip() for command in commands],
        folder,
        inputs=[*_names(inner.get("deps"))],
        outputs=[path for kind in OUTPUTS for path in _names(inner.get(kind))],
        allowed=["params.yaml", *(key for one in params for key in (one if isinstance(one, dict) else [one]))],
    )


def _names(entries: Any) -> Iterator[str]:
    """Yield the local paths of a list of dependencies or outputs."""
    for entry in entries or ():
        name = (entry.get("path") or next(iter(entry))) if isinstance(entry, dict) else entry
        if isinstance(name, str) and "://" not in name and "${" not in name:
            yield name


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _content(path: str) -> Mapping[str, Any]:
    """Return the content of a file in YAML; raises ProvioError if it cannot be read."""
    from provio.trace import value_file  # slow to import

    try:
        with open(path, "rb") as file:
            return _mapping(value_file.loaded("dvc.yaml", file.read()))
    except OSError as error:
        raise ProvioError(f"{path} cannot be read ({error.strerror}): change its permissions") from None
    except value_file.MissingLibrary:
        from provio.system import installation

        raise ProvioError(f"{path} needs PyYAML, which is not installed: {installation.install('yaml')}") from None
    except value_file.Unreadable as error:
        raise ProvioError(f"{path} cannot be read: {error}: restore the file of this run") from None
