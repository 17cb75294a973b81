"""Find the program of each process (executable, or the script that an interpreter runs), and classify noise.

Code is not data. Noise is a file that was opened only for reading, below a folder of the system or of the
interpreter, outside the project's folder and not named on a command line. It is counted and hidden, never dropped.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from fnmatch import translate
from itertools import pairwise
from pathlib import Path

from provio.base.folders import normal
from provio.base.records import pattern
from provio.lineage.helpers import is_helper
from provio.lineage.identity import Identity
from provio.lineage.interpreters import read_words, rule_of, script_of
from provio.lineage.model import Code, ProgramFacts
from provio.settings.schema import Config
from provio.settings.types import Interpreter
from provio.system.statx import Facts
from provio.trace.facts import Opening, Process
from provio.trace.run_facts import Trace


def _folders(*roots: bytes) -> tuple[bytes, ...]:
    """Return folders in the form that `_is_below` compares."""
    return tuple(root + b"/" for root in roots)


SYSTEM = _folders(*b"/etc /dev /usr /bin /boot /lib /lib32 /lib64 /opt /sbin /sys /proc /var /cvmfs".split())
NOT_SYSTEM = _folders(*b"/dev/shm /var/tmp /var/home".split())
# provio itself, which a watched Python may run from outside the folders of installed packages.
_PACKAGE = Path(__file__).resolve().parent.parent
OWN = _folders(*(os.fsencode(room) for room in (_PACKAGE, (_PACKAGE / "interceptors").resolve())))
# HISTORY matches the files in which IPython stores the typed input.
MANY = 100_000  # file names in the cache of noise decisions
HISTORY = pattern(rb"/profile_[^/]+/history\.sqlite(-[a-z]+)?$")
ROOT_VARIABLES = pattern(r"CONDA_PREFIX|EBROOT.*|R_LIBS.*|JULIA_DEPOT_PATH")


def programs(trace: Trace, identity: Identity, settings: Config) -> dict[str, ProgramFacts]:
    """Return the program of each process, by the process's IRI."""
    scripts = {
        iri: script_opening(process, settings.interpreters) for iri, process in trace.processes.items()
    }  # None: no script
    parents = _parents(trace)
    for iri, process in trace.processes.items():
        above = process
        while not scripts[iri] and above.image == "fork" and above.iri in parents:
            above = parents[above.iri]
            scripts[iri] = scripts[above.iri]
    same: dict[ProgramFacts, ProgramFacts] = {}
    found = ((iri, _program(process, scripts[iri], identity)) for iri, process in trace.processes.items())
    return {iri: same.setdefault(program, program) for iri, program in found}


def _parents(trace: Trace) -> dict[str, Process]:
    """Return the parent of each fork, by the fork's IRI; the parent has read the script that both run."""
    images = {(p.host, p.pid, p.tick): p for p in trace.processes.values() if p.image == "fork"}
    forks = (event for process in trace.processes.values() for event in process.events if event.kind == "Fork")
    found = ((images.get((e.process.host, e.number("childPid"), e.number("childTick"))), e.process) for e in forks)
    return {child.iri: parent for child, parent in found if child and child is not parent}


def _program(process: Process, script: Opening | None, identity: Identity) -> ProgramFacts:
    """Return the program: the script where there is one, else the executable; the code that ran is both."""
    path = process.executable or (process.arguments or [b"unknown"])[0]
    code = []
    if script and script.name:
        code.append(_code(script.name, script.facts, identity))
    if "inode" in process.record:
        code.append(_code(path, Facts.of(process.record), identity, installed=bool(code)))
    if not code:
        return ProgramFacts(identity.program(path, None), _label(path), path)
    first = code[0]
    label = _module(process) if first.path.endswith(b".pyc") else ""
    program = identity.program(first.path, first.facts.device)
    return ProgramFacts(program, label or _label(first.path), first.path, tuple(code))


def _helps(process: Process) -> bool:
    """Return whether the command line of a process was made by a program: it is none of its user's."""
    return is_helper([os.fsdecode(word) for word in process.arguments])


def _module(process: Process) -> str:
    """Return the module that a Python runs, as its user started it; empty if it runs none."""
    words = [os.fsdecode(word) for word in process.arguments]
    name = words[0].rpartition("/")[2]
    rule = rule_of(name, {})
    module = read_words(words[1:], rule)[1] if rule else ""
    return f"{name} -m {module}" if module else ""


def _code(path: bytes, facts: Facts, identity: Identity, installed: bool = False) -> Code:
    return Code(identity.version(facts), identity.file(path, facts.device), path, facts, installed)


def script_opening(process: Process, own: Mapping[str, Interpreter]) -> Opening | None:
    """Return the opening through which an interpreter read its script; None where the program is no interpreter."""
    names = [(process.arguments or [b""])[0], process.executable or b""]
    rules = (rule_of(os.fsdecode(name.rpartition(b"/")[2].lstrip(b"-")), own) for name in names if name)
    rule = next((rule for rule in rules if rule), None)
    script = script_of(process.arguments, process.cwd, rule) if rule else None
    if script is None:
        return None
    opened: dict[bytes, Opening] = {}
    for opening in process.openings:
        if opening.kind == "FileVersion" and not opening.writable and opening.path:
            opened.setdefault(os.path.normpath(opening.path), opening)
    return next((opened[path] for path in script.found(opened)), None)


def _label(path: bytes) -> str:
    return path.rpartition(b"/")[2].decode("utf-8", "replace") or path.decode("utf-8", "replace")


class Noise:
    """Decides which openings of a run are noise: the system's own files."""

    def __init__(self, trace: Trace, settings: Config) -> None:
        self.project = trace.run.get("project", "").encode("utf-8", "surrogateescape")
        self.added, self.kept = (_Places(p, self.project) for p in (settings.noise_add, settings.noise_keep))
        self.interpreters = _folders(*dict.fromkeys(_interpreter_prefixes(trace)))
        self.installed = _folders(*dict.fromkeys(_named_roots(trace)))
        self.own = _folders(self.project) if self.project else ()
        home = trace.run.get("homeFolder", "").encode("utf-8", "surrogateescape").rstrip(b"/")
        homes = [rb"/root", rb"/home/[^/]+", *([re.escape(home)] if home else [])]
        self.hidden = re.compile(rb"(" + b"|".join(homes) + rb")/\.[^/]+")
        self.listens = set(_connections(trace))
        self.roots = trace.roots
        self.named = {path for process in trace.processes.values() if not _helps(process) for path in process.named()}
        self._known: dict[tuple[bytes, bytes | None], bool] = {}

    def __call__(self, opening: Opening) -> bool:
        """Return whether an opening is noise."""
        if opening.writable:
            return False
        return self.read(opening.name or b"/", opening.path)

    def read(self, name: bytes, path: bytes | None) -> bool:
        """Return whether a file is noise that was opened for reading, by its resolved name and the path that was
        used."""
        known = self._known.get((name, path))
        if known is None:
            if len(self._known) > MANY:
                self._known.clear()
            known = self._known[name, path] = self._by_name(name, path)
        return known

    def _by_name(self, name: bytes, path: bytes | None) -> bool:
        if name in self.listens:
            return True
        plain = normal(name)
        if plain in self.named or (path and path != name and normal(path) in self.named):
            return False
        return self._of_system(plain)

    def of_code(self, code: Code) -> bool:
        """Return whether a program or script is noise."""
        if code.path in self.named:
            return False
        own = self.kept(code.path) or _is_below(code.path, self.own)
        return self._of_system(code.path) or (code.installed and not own)

    def _of_system(self, path: bytes) -> bool:
        if self.added(path) or self.kept(path):
            return not self.kept(path)
        image = next((root for root in self.roots if _is_below(path, _folders(root))), None)
        if image:  # inside an image, system folders are relative to its root
            return bool(self._root(path[len(image) :])) or b"/site-packages/" in path or b"/__pycache__/" in path
        if _is_below(path, self.interpreters) or b"/site-packages/" in path or _is_below(path, OWN):
            return True
        root = self._root(path)
        if _is_below(path, self.own):
            return len(root) > len(self.project)  # a system folder, as the project is the entire home or machine
        return bool(root) or b"/__pycache__/" in path or _is_below(path, self.installed)

    def _root(self, path: bytes) -> bytes:
        """Return the system folder, or the hidden folder of a home, that contains a path; an empty string if there is
        none."""
        hidden = self.hidden.match(path)
        if hidden:
            return hidden[0]
        if not _is_below(path, SYSTEM) or _is_below(path, NOT_SYSTEM):
            return b""
        return next(root[:-1] for root in SYSTEM if _is_below(path, (root,)))


class _Places:
    """Folders and globs of the configuration; relative ones refer to the project's folder."""

    def __init__(self, places: Iterable[str], project: bytes) -> None:
        globs = [place.rstrip("/") for place in places if re.search(r"[*?[]", place)]
        named = [os.fsencode(place) for place in places if not re.search(r"[*?[]", place)]
        self.folders = _folders(*(os.path.normpath(os.path.join(project, place)) for place in named))
        below = re.escape(os.fsdecode(project)) + "/"
        rules = ((("" if glob.startswith("/") else below), part) for glob in globs for part in (glob, glob + "/*"))
        self.globs = [re.compile(start + translate(part)) for start, part in rules]

    def __call__(self, path: bytes) -> bool:
        """Return whether a path is one of these, or below one."""
        return _is_below(path, self.folders) or any(glob.match(os.fsdecode(path)) for glob in self.globs)


def _is_below(path: bytes, folders: tuple[bytes, ...]) -> bool:
    """Return whether a path is one of these folders, or below one."""
    return (path + b"/").startswith(folders)


def _interpreter_prefixes(trace: Trace) -> Iterable[bytes]:
    """Yield the folders of interpreters: that of each `pyvenv.cfg` that was read, and those below the prefix of each
    `…/bin/python…`."""
    for process in trace.processes.values():
        folder, _, name = (process.executable or b"").rpartition(b"/")
        if folder.endswith(b"/bin") and re.match(rb"python|pypy|perl|ruby|node|R$|julia", name):
            yield from (folder[:-4] + part for part in (b"/lib", b"/lib64", b"/include", b"/share"))
        for opening in process.openings:
            if opening.path and opening.path.endswith(b"/pyvenv.cfg"):
                yield opening.path.rpartition(b"/")[0]


def _connections(trace: Trace) -> Iterable[bytes]:
    """Yield the files with the ports of Jupyter kernels, which their command lines name: these are no data."""
    for process in kernels(trace):
        arguments = process.arguments
        for option, path in pairwise(arguments):
            if option == b"-f":
                yield os.path.normpath(os.path.join(process.cwd, path))


def is_history(opening: Opening) -> bool:
    """Return whether a file is IPython's history of typed input: no data, though each session reads and writes it."""
    return bool(opening.path and HISTORY.search(opening.path))


def kernels(trace: Trace) -> list[Process]:
    """Return the processes that execute notebook cells."""
    found = {task.process.iri: task.process for task in trace.tasks.values() if task.record.get("kind") == "cell"}
    return list(found.values())


def _named_roots(trace: Trace) -> Iterable[bytes]:
    for name, value in trace.environment.items():
        if ROOT_VARIABLES.fullmatch(name):
            yield from (os.path.normpath(os.fsencode(part)) for part in value.split(":") if part.startswith("/"))
