"""Steps compared with their declarations. In: the steps of a workflow that ran. Out: the files that they read or wrote
but do not declare, and the declared ones that they did not touch."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from provio.ask.declared.actions import CODE, INPUT, Actions, Actor, Paths
from provio.ask.housekeeping import rule_of
from provio.ask.redo import is_cache
from provio.trace.redact import REDACTED

UNDECLARED_INPUT, UNDECLARED_OUTPUT = "undeclared input", "undeclared output"
NEVER_READ, NEVER_WRITTEN = "declared input never read", "declared output never written"
KINDS = (UNDECLARED_INPUT, UNDECLARED_OUTPUT, NEVER_READ, NEVER_WRITTEN)
TEMPORARY = re.compile(r"/(var/)?tmp/|/(dev|proc|sys|run)/")
INSTALLED = re.compile(r"/(site|dist)-packages/|\.so[.\d]*$|/pyvenv\.cfg$")
COMPILED = re.compile(r"(.*/)__pycache__/([^/]+)\.[^./]+\.pyc")


@dataclass
class Step:
    """A step that ran, with its declarations as absolute paths. `allowed` are files that it may touch or not;
    `complete` is false if the record does not have all declared files. `own` are its processes, `nested` those of
    steps that it started. `sources` are the files that declare it, if they are read now."""

    name: str
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)
    own: list[Actor] = field(default_factory=list)
    nested: list[Actor] = field(default_factory=list)
    complete: bool = True
    sources: set[str] = field(default_factory=set)


class Difference(NamedTuple):
    """A difference between a declaration and the record."""

    step: str
    kind: str
    path: str


class Comparison:
    """Compares steps of a run. `root` is the project's folder, `workflow` the workflow's own files (their absolute
    paths): no step declares these."""

    def __init__(self, actions: Actions, root: str, workflow: Collection[str]) -> None:
        self.actions, self.root, self.workflow = actions, root.rstrip("/") + "/", {*workflow}
        starts = [path for actor in actions.actors.values() for paths in actor.reads for path in paths]
        folders = {path.removesuffix("pyvenv.cfg") for path in starts if path.endswith("/pyvenv.cfg")}
        self.environments = tuple(folders - {self.root})

    def differences(self, steps: Iterable[Step]) -> list[Difference]:
        """Return the differences of all steps, in the order of the steps."""
        return [one for step in steps for one in self._of(step)]

    def _of(self, step: Step) -> Iterator[Difference]:
        actors = [*step.own, *step.nested]
        written = {path for actor in actors for paths in actor.writes for path in paths}
        inputs, outputs = _declared(step.inputs), _declared(step.outputs)
        allowed = _declared(step.allowed) | self.workflow
        own_written = {paths for actor in step.own for paths in actor.writes}
        read = {
            paths
            for actor in step.own
            for paths, kind in actor.reads.items()
            if kind == INPUT or (kind == CODE and any(path.startswith(self.root) for path in paths))
        }
        if step.complete:
            for path in self._unknown(read, inputs | outputs, allowed | written):
                yield Difference(step.name, UNDECLARED_INPUT, path)
        for path in self._unknown(own_written, outputs, allowed):
            if path not in self.actions.removed:
                yield Difference(step.name, UNDECLARED_OUTPUT, path)
        touched = written.union(*(actor.touched for actor in actors))
        opened = {path for actor in actors for paths in actor.reads for path in paths}
        opened |= {_source(path) for path in opened} | {path for path in step.inputs if _is_started(path, actors)}
        for kind, declared, there in (
            (NEVER_READ, step.inputs, opened | {path for path in touched if path not in outputs}),
            (NEVER_WRITTEN, step.outputs, touched),
        ):
            reached = {above for path in there for above in _with_folders(path)}
            for path in dict.fromkeys(declared):
                if REDACTED not in path and not _declared([path]) & reached:
                    yield Difference(step.name, kind, path)

    def _unknown(self, files: Iterable[Paths], known: Collection[str], allowed: set[str]) -> list[str]:
        """Return a name of each file that is neither known (or in a known folder) nor allowed under any of its names,
        sorted."""
        found = set()
        for paths in files:
            sources = {_source(path) for path in paths}
            if not (sources & allowed or any(above in known for path in sources for above in _with_folders(path))):
                found |= {*sorted((path for path in sources if self._counts(path)), key=_hidden_last)[:1]}
        return sorted(found)

    def _counts(self, path: str) -> bool:
        """Return whether a file is one of those that workflows declare."""
        if path in self.actions.streams or is_cache(path) or rule_of(path) or INSTALLED.search(path):
            return False
        if path.startswith(self.environments):
            return False
        if path.startswith(self.root):
            return "/." not in os.path.dirname("/" + path[len(self.root) :])
        return not (TEMPORARY.match(path) or "/." in path)


def absolute(names: Iterable[str], folder: str) -> list[str]:
    """Return declared names as absolute paths."""
    return [os.path.normpath(os.path.join(folder, name)) for name in names]


def _declared(paths: Iterable[str]) -> set[str]:
    """Return paths, and the places that symbolic links lead to."""
    return {path for one in paths for path in (one, os.path.realpath(one))}


def _with_folders(path: str) -> Iterator[str]:
    while len(path) > 1:
        yield path
        path = os.path.dirname(path)


def _is_started(path: str, actors: Iterable[Actor]) -> bool:
    """Return whether a command line names a program: one without input and output leaves no trace of its own."""
    name = os.path.basename(path)
    return os.access(path, os.X_OK) and any(name in word for actor in actors for word in actor.words)


def _hidden_last(path: str) -> tuple[bool, str]:
    """Return a key that sorts the names of temporary files after others."""
    return os.path.basename(path).startswith("."), path


def _source(path: str) -> str:
    """Return the source of compiled Python code, or the path itself."""
    match = COMPILED.fullmatch(path)
    return f"{match[1]}{match[2]}.py" if match else path
