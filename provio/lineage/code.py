"""Code is not data: finds the program of each process (executable, or the script an interpreter runs), and knows noise.

Noise is what was opened for reading only below a folder of the system or of the interpreter, outside the project's
folder
and not named on a command line. It is counted and hidden, never dropped.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from fnmatch import translate

from provio.config import Config
from provio.facts import Facts, Opening, Process, Trace
from provio.identity import Identity
from provio.lineage.model import ProgramFacts
from provio.settings import Interpreter

Rules = Mapping[bytes, tuple[set[bytes], set[bytes]]]
# Interpreter (its file's name) → options that take the next argument, options after which there is no script file.
INTERPRETERS: Rules = {
    rb"(python|pypy)[0-9.]*": ({b"-W", b"-X", b"--check-hash-based-pycs"}, {b"-c", b"-m"}),
    rb"(ba|da|k|z|a)?sh": ({b"-o", b"+o", b"-O", b"+O", b"--rcfile", b"--init-file"}, {b"-c"}),
    rb"perl[0-9.]*": ({b"-I"}, {b"-e", b"-E"}),
    rb"ruby[0-9.]*": ({b"-I", b"-r"}, {b"-e"}),
    rb"node(js)?": ({b"-r", b"--require"}, {b"-e", b"-p", b"--eval", b"--print"}),
    rb"Rscript": (set(), {b"-e"}),
    rb"(julia|lua[0-9.]*|tclsh[0-9.]*|php[0-9.]*)": (set(), {b"-e", b"-E", b"-r"}),
}
SYSTEM = tuple(b"/etc /dev /usr /bin /boot /lib /lib32 /lib64 /opt /sbin /sys /proc /var /cvmfs".split())
NOT_SYSTEM = tuple(b"/dev/shm /var/tmp /var/home".split())
ROOT_VARIABLES = re.compile(r"CONDA_PREFIX|EBROOT.*|R_LIBS.*|JULIA_DEPOT_PATH")


def interpreters(own: Mapping[str, Interpreter]) -> Rules:
    """Return the rules of all interpreters, those of the configuration first."""
    rules = {
        os.fsencode(translate(pattern)): (set(map(os.fsencode, rule.value)), set(map(os.fsencode, rule.no_script)))
        for pattern, rule in own.items()
    }
    return {**rules, **INTERPRETERS} if rules else INTERPRETERS


def script_of(arguments: list[bytes], rules: Rules = INTERPRETERS) -> bytes | None:
    """Return the argument that is the script, where the program is an interpreter that was given one."""
    name = arguments[0].rpartition(b"/")[2].lstrip(b"-") if arguments else b""
    rule = next((rule for pattern, rule in rules.items() if re.fullmatch(pattern, name)), None)
    if rule is None:
        return None
    takes_value, no_script = rule
    rest = iter(arguments[1:])
    for argument in rest:
        if argument in no_script or (name.endswith(b"sh") and re.fullmatch(rb"-[a-z]*c[a-z]*", argument)):
            return None
        if argument in takes_value:
            next(rest, None)
        elif argument == b"--":
            return next(rest, None)
        elif not argument.startswith((b"-", b"+")) or argument == b"-":
            return None if argument == b"-" else argument
    return None


def programs(trace: Trace, identity: Identity, settings: Config) -> dict[str, ProgramFacts]:
    """Return the program of each process, by the process's IRI."""
    rules = interpreters(settings.interpreters)
    scripts: dict[tuple[bytes, bytes], Opening] = {}
    for process in trace.processes.values():
        script = script_of(process.arguments, rules)
        opening = script_opening(process, script) if script else None
        if script and opening:
            scripts[process.cwd, script] = opening
    return {process.iri: _program(process, identity, scripts, rules) for process in trace.processes.values()}


def _program(
    process: Process, identity: Identity, scripts: dict[tuple[bytes, bytes], Opening], rules: Rules
) -> ProgramFacts:
    """The script where one was given (a forked child has its parent's, which the parent read), else the executable."""
    script = script_of(process.arguments, rules)
    opening = scripts.get((process.cwd, script)) if script else None
    if opening and opening.name:
        return _known(opening.name, opening.facts, identity)
    path = process.executable or (process.arguments or [b"unknown"])[0]
    if "inode" in process.record:
        return _known(path, Facts.of(process.record), identity)
    return ProgramFacts(identity.program(path, None), _label(path), path, None, None)


def _known(path: bytes, facts: Facts, identity: Identity) -> ProgramFacts:
    iri, file = identity.program(path, facts.device), identity.file(path, facts.device)
    return ProgramFacts(iri, _label(path), path, identity.version(facts), file)


def script_opening(process: Process, script: bytes) -> Opening | None:
    """Return the opening through which an interpreter read its script."""
    wanted = os.path.normpath(os.path.join(process.cwd, script))
    for opening in process.openings:
        plain = opening.kind == "FileVersion" and not opening.writable and opening.path
        if plain and os.path.normpath(opening.path or b"") == wanted:
            return opening
    return None


def _label(path: bytes) -> str:
    return path.rpartition(b"/")[2].decode("utf-8", "replace") or path.decode("utf-8", "replace")


class Noise:
    """Which openings of a run are the system's own files."""

    def __init__(self, trace: Trace, settings: Config) -> None:
        self.project = trace.run.get("project", "").encode("utf-8", "surrogateescape")
        self.added, self.kept = (_Places(p, self.project) for p in (settings.noise_add, settings.noise_keep))
        self.interpreters = set(_interpreter_prefixes(trace))
        self.roots = {*SYSTEM, *self.interpreters, *_named_roots(trace)}
        self.named = {path for process in trace.processes.values() for path in _named(process)}

    def __call__(self, opening: Opening) -> bool:
        """Tell whether an opening is noise."""
        path = os.path.normpath(opening.name or b"/")
        if opening.writable or path in self.named or (opening.path and os.path.normpath(opening.path) in self.named):
            return False
        if self.added(path) or self.kept(path):
            return not self.kept(path)
        if _under(path, self.interpreters) or b"/__pycache__/" in path or b"/site-packages/" in path:
            return True
        if self.project and _under(path, {self.project}):
            return False
        return (_under(path, self.roots) and not _under(path, NOT_SYSTEM)) or self._hidden_in_home(path)

    def _hidden_in_home(self, path: bytes) -> bool:
        """A dot-folder of somebody's home."""
        return bool(re.match(rb"(/root|/home/[^/]+)/\.", path))


class _Places:
    """Folders and globs of the configuration, of which the relative ones are the project's."""

    def __init__(self, places: Iterable[str], project: bytes) -> None:
        globs = [place.rstrip("/") for place in places if re.search(r"[*?[]", place)]
        named = [os.fsencode(place) for place in places if not re.search(r"[*?[]", place)]
        self.folders = {os.path.normpath(os.path.join(project, place)) for place in named}
        below = re.escape(os.fsdecode(project)) + "/"
        rules = ((("" if glob.startswith("/") else below), part) for glob in globs for part in (glob, glob + "/*"))
        self.globs = [re.compile(start + translate(part)) for start, part in rules]

    def __call__(self, path: bytes) -> bool:
        """Tell whether a path is one of these, or below one."""
        return _under(path, self.folders) or any(glob.match(os.fsdecode(path)) for glob in self.globs)


def _under(path: bytes, roots: Iterable[bytes]) -> bool:
    return any(path == root or path.startswith(root + b"/") for root in roots)


def _interpreter_prefixes(trace: Trace) -> Iterable[bytes]:
    """Where interpreters live: the folder of a `pyvenv.cfg` that was read, and the prefix of each `…/bin/python…`."""
    for process in trace.processes.values():
        folder, _, name = (process.executable or b"").rpartition(b"/")
        if folder.endswith(b"/bin") and re.match(rb"python|pypy|perl|ruby|node|R$|julia", name):
            yield from (folder[:-4] + part for part in (b"/lib", b"/lib64", b"/include", b"/share"))
        for opening in process.openings:
            if opening.path and opening.path.endswith(b"/pyvenv.cfg"):
                yield opening.path.rpartition(b"/")[0]


def _named_roots(trace: Trace) -> Iterable[bytes]:
    for name, value in trace.environment.items():
        if ROOT_VARIABLES.fullmatch(name):
            yield from (os.path.normpath(os.fsencode(part)) for part in value.split(":") if part.startswith("/"))


def _named(process: Process) -> Iterable[bytes]:
    """The paths that a command line names, also as `--option=PATH`."""
    for argument in process.arguments[1:]:
        for text in {argument, argument.partition(b"=")[2]} - {b""}:
            yield os.path.normpath(os.path.join(process.cwd, text))
