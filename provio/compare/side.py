"""One of two runs that are compared. In: a store and a run. Out: its activities with names that do not depend on the
run: paths relative to its folder, no ids, no temporary names, no tokens of frameworks."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from os.path import splitext

from provio.ask import key_prefix, run_steps, run_uses, started_as
from provio.ask.document import arguments
from provio.ask.redo import is_cache
from provio.ask.run_steps import RunFacts, Step
from provio.ask.stale import MODULES
from provio.base.vocab import local_name
from provio.compare.expected import Expected
from provio.lineage.identity import SEALED
from provio.store import Reader

# Parts of names that differ in each run: hexadecimal tokens, ids of runs, names of temporary files, also of compilers.
TOKEN = re.compile(
    r"(?<![0-9A-Za-z])(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32,64}|tmp[0-9A-Za-z_]{6,10}"
    r"|[0-9A-Za-z]*?(?<=tmp\.)[0-9A-Za-z]{6,12}|(?<=tmp/)cc[0-9A-Za-z]{6}(?=\.)"
    r"|(?<=/)cc(?=\w*[0-9A-Z])[0-9A-Za-z]{6}(?=\.(?:s|o|c|res|ltrans)))(?![0-9A-Za-z])"
)
SHORTEST = 32  # characters of a token that is a number
STARTER = re.compile(r"from multiprocessing\.\w+ import ")  # code of Python's: its numbers are file descriptors and ids
DIGITS = re.compile(r"[0-9]+")
NUMBER = re.compile(r"(?<=[A-Za-z][._-])[0-9]{2,7}(?![0-9A-Za-z])")  # in a name: may be that of a process
PID = re.compile(r"/(\d+)\.\d+\.[^./]+/$")  # of a process, in its IRI
# A port that the system chose, from 32768 to 60999; names that tempfile and mktemp choose.
PORT = re.compile(r"(?<=[\w\]]):(?:32[7-9][0-9]{2}|(?:3[3-9]|[45][0-9])[0-9]{3}|60[0-9]{3})(?![\w.])")
RANDOM = re.compile(r"(?<![0-9A-Za-z])(?:[0-9a-z_]{8}|(?=\w*[0-9A-Z])\w{6,12})(?![0-9A-Za-z])")
MODIFIED = re.compile(r"\.(\d+)\.\d+(?:~[^/]*)?$")
THREADS = "?a prov:wasAssociatedWith ?v . ?v a provio:Thread"
LIBRARIES = "?a provio:loaded/prov:hadMember ?v . FILTER NOT EXISTS { ?v provio:inPackage ?package }"
EARLIER = "?new prov:wasGeneratedBy ?a ; prov:wasRevisionOf ?v"
PARENTS = "?a provio:launchedBy|provio:carriedFrom ?v"
END = "exit code"
CHANNEL = re.compile(r"/provio/(pipe|socket|memory)/")


@dataclass
class Activity:
    """A process or a Task. `what` is its program, or the prefix of its name; `words` are its arguments, `typed` the
    same with their tokens. `inputs`, `results` and `code` (programs, scripts, modules and libraries that it ran) are
    versions by name, of each name the last one; `used` and `made` are all versions."""

    iri: str
    what: str
    words: tuple[str, ...]
    typed: tuple[str, ...]
    label: str
    is_task: bool
    start: str
    end: str
    host: str
    rank: str
    inputs: dict[str, str] = field(default_factory=dict)
    results: dict[str, str] = field(default_factory=dict)
    used: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    code: dict[str, str] = field(default_factory=dict)
    configurations: tuple[str, ...] = ()
    parent: str = ""  # the activity that started it
    facts: dict[str, str] = field(default_factory=dict)
    threads: int = 1

    @property
    def exit(self) -> str:
        """How it ended: `0`, `signal 9`; empty if this is not recorded."""
        return exit_of(self.facts)

    def ends_unlike(self, other: Activity) -> bool:
        """Return whether it ended otherwise than another one."""
        return bool(self.exit and other.exit) and self.exit != other.exit


@dataclass
class Side:
    """A run: its facts, and its activities in the order of their starts."""

    run: str
    facts: RunFacts
    activities: list[Activity]
    names: dict[str, str]  # of versions
    paths: dict[str, str]  # of versions of files, as recorded
    makers: dict[str, list[int]]  # the numbers of the activities that made a version
    users: dict[str, list[int]]
    writers: dict[str, list[str]]  # of files that several activities wrote: these, in the order of their writes

    @property
    def typed(self) -> tuple[str, ...]:
        """The words of its command."""
        words = arguments(self.facts.facts.get("commandLine", ""))
        return tuple(without_root(word, self.facts.folder) for word in words)

    @cached_property
    def sources(self) -> dict[str, str]:
        """The versions, by name, that the run used and that it did not make."""
        found = {name: iri for one in self.activities for name, iri in one.inputs.items()
                 if iri not in self.makers and "/version/" in iri}  # fmt: skip
        return dict(sorted(found.items()))

    @property
    def code(self) -> dict[str, str]:
        """The programs, scripts and modules, by name, that the run executed and that it did not make."""
        found = {name: iri for one in self.activities for name, iri in one.code.items() if iri not in self.makers}
        return dict(sorted(found.items()))

    @cached_property
    def kept(self) -> dict[str, str]:
        """The files, by name, that the run made and kept: of each name the last version."""
        found: dict[str, str] = {}
        for one in self.activities:
            for name, iri in one.results.items():
                if "/version/" in iri and iri not in self.facts.deleted:
                    found[name] = max(found.get(name, iri), iri, key=_modified)
        return dict(sorted(found.items()))

    def rename(self, names: dict[str, str]) -> None:
        """Give files other names; call it before `sources` and `kept`."""
        for one in self.activities:
            for own in (one.inputs, one.results):
                for name in [name for name in own if name in names]:
                    own[names[name]] = own.pop(name)


def read(reader: Reader, runs: Sequence[str]) -> list[Side]:
    """Return runs that are compared. Paths are relative to the folder in which each run started; a file that several
    runs name alike has no temporary name."""
    every = [run_steps.read(reader, run, steps="task", inside=False, only=None, data=None) for run in runs]
    for run, facts in zip(runs, every, strict=True):
        _add_libraries(reader, run, facts)
        _add_earlier(reader, run, facts)
    paths = [_paths(reader, facts) for facts in every]
    plain = [{iri: without_root(_text(path), facts.folder).removeprefix("./") for iri, path in own.items()}
             for facts, own in zip(every, paths, strict=True)]  # fmt: skip
    counts = Counter(name for own in plain for name in set(own.values()))
    common = {name for name, count in counts.items() if count > 1}
    names = [_names(*own, common) for own in zip(every, paths, plain, strict=True)]
    return [_side(reader, *own) for own in zip(runs, every, paths, names, strict=True)]


def _side(reader: Reader, run: str, facts: RunFacts, paths: dict[str, str], names: dict[str, str]) -> Side:
    ties = run_steps.ties(reader, run)
    threads, parents = _threads(ties(THREADS)), _parents(ties(PARENTS))
    steps = {one.iri for one in facts.steps}
    activities = [
        _activity(one, names, threads[one.process] or 1, _above(one.iri, parents, steps)) for one in facts.steps
    ]
    makers: dict[str, list[int]] = {}
    users: dict[str, list[int]] = {}
    for number, one in enumerate(activities):
        for iri in one.made:
            makers.setdefault(iri, []).append(number)
        for iri in one.used:
            users.setdefault(iri, []).append(number)
    for one in activities:  # modules and libraries are code, unless the run made them
        modules = [name for name, iri in one.inputs.items() if splitext(name)[1] in MODULES and iri not in makers]
        one.code |= {name: one.inputs.pop(name) for name in modules}
    writers = _writers(reader, activities, names)
    return Side(run, facts, activities, names, paths, makers, users, writers)


def exit_of(facts: Mapping[str, str]) -> str:
    """Return how a run, a process or a Task ended: its exit code, `signal 9`, `ok`; empty if this is not recorded."""
    return f"signal {facts['signal']}" if "signal" in facts else facts.get("exitCode") or facts.get("status", "")


def canonical(text: str, root: str, pids: Container[str] = ()) -> str:
    """Return a name or an argument without the folder of the run and without the parts that differ in each run, such as
    the numbers of its processes."""
    text = masked(without_root(text, root))
    return NUMBER.sub(lambda found: "*" if found[0] in pids else found[0], text)


def masked(text: str) -> str:
    """Return a name or an argument without tokens, ports and numbers that a framework chose."""
    if STARTER.match(text):
        return DIGITS.sub("*", text)
    return TOKEN.sub(_mask, PORT.sub(":*", text))


def _mask(token: re.Match[str]) -> str:
    """Return the mask of a token; that of a temporary name can be recognised."""
    return "tmp*" if token[0].startswith(("tmp", "cc")) and len(token[0]) < SHORTEST else "*"


def without_root(text: str, root: str) -> str:
    """Return a name or an argument with paths relative to the folder of the run."""
    if root and root in text:
        return re.sub(rf"(?<![\w/.-]){re.escape(root.rstrip('/'))}(?=/|$|[^\w.-])", ".", text)
    return text


def _add_libraries(reader: Reader, run: str, facts: RunFacts) -> None:
    """Add the libraries that processes loaded to the code that they ran; those of packages are compared as packages."""
    steps = {one.iri: one for one in facts.steps}
    for activity, version in run_steps.ties(reader, run)(LIBRARIES):
        found = run_steps.PROCESS.match(activity)
        one = steps.get(found[0]) if found else None
        if one and version not in one.inputs and version not in one.ran:
            one.ran.append(version)


def _add_earlier(reader: Reader, run: str, facts: RunFacts) -> None:
    """Add the versions before the run of files whose content it kept in part, as by an append, to the inputs."""
    steps = {one.iri: one for one in facts.steps}
    made = {iri for one in facts.steps for iri in one.results}
    for activity, version in run_steps.ties(reader, run)(EARLIER):
        found = run_steps.PROCESS.match(activity)
        one = steps.get(found[0]) if found else None
        whole = run_steps.CONTRIBUTION.sub("", version.partition("#")[0])
        if one and "/version/" in whole and whole not in made:
            one.inputs.setdefault(whole)


def _versions(facts: RunFacts) -> set[str]:
    return {iri for one in facts.steps for iri in (*one.inputs, *one.results, *one.ran)}


def _paths(reader: Reader, facts: RunFacts) -> dict[str, str]:
    """Return the recorded paths of the files of a run, by version."""
    wanted = [iri for iri in _versions(facts) if "/version/" in iri]
    known = run_uses.names(reader, wanted)
    paths: dict[str, str] = {}
    for iri in wanted:
        whole = known.last.get(iri) or sorted(known.paths[file] for file in known.files.get(iri, ()))
        paths[iri] = os.fsdecode(run_uses.path_of(whole[0])) if whole else ""
    return paths


def _names(
    facts: RunFacts, paths: Mapping[str, str], plain: Mapping[str, str], common: Container[str]
) -> dict[str, str]:  # fmt: skip
    """Return the names of all versions: relative to the run's folder, without parts that differ in each run, unless
    another run has the same name; of a pipe its kind."""
    pids = {found[1] for one in facts.steps if (found := PID.search(one.process))}
    names: dict[str, str] = {}
    for iri, name in plain.items():
        masks = canonical(name, "", pids)
        if iri in facts.deleted:
            masks = RANDOM.sub("*", masks)
        names[iri] = (name if name in common else masks) or iri
    names |= _numbered({iri: name for iri, name in names.items() if name != plain[iri] and iri not in facts.deleted},
                       paths)  # fmt: skip
    for iri in _versions(facts) - names.keys():
        kind = CHANNEL.search(iri)
        names[iri] = kind[1] if kind else canonical(iri.rpartition("/entity/")[2], facts.folder)
    return names


def _numbered(names: Mapping[str, str], paths: Mapping[str, str]) -> dict[str, str]:
    """Return other names for files whose masked names are equal: with numbers, in the order of their changes."""
    groups: dict[str, dict[str, int]] = {}
    for iri, name in names.items():
        times = groups.setdefault(name, {})
        times[paths[iri]] = min(times.get(paths[iri], _modified(iri)), _modified(iri))
    numbers: dict[str, int] = {}
    for name, times in groups.items():
        if len(times) > 1 and not Expected().is_temporary(name):
            order = sorted((time, path) for path, time in times.items())
            numbers |= {path: number for number, (_, path) in enumerate(order, 1)}
    return {iri: f"{name} ({numbers[paths[iri]]})" for iri, name in names.items() if paths[iri] in numbers}


def _text(path: str) -> str:
    """Return a path without bytes that are no UTF-8."""
    return os.fsencode(path).decode("utf-8", "replace")


def _activity(step: Step, names: dict[str, str], threads: int, parent: str) -> Activity:
    facts = step.facts
    is_task = bool(facts.get("name")) and step.iri != step.process
    root = facts.get("cwd", "")
    typed = () if is_task else tuple(without_root(word, root) for word in step.words)
    words = tuple(map(masked, typed))
    program = names.get(step.program, "").rpartition("/")[2]
    called = started_as.name(facts.get("argv", ""), program) or program
    title = facts.get("name", "")
    what = (key_prefix.prefix(title) if facts.get("kind") in SEALED else canonical(title, "")) if is_task else called
    found = Activity(
        iri=step.iri, what=what, words=words, typed=typed, label=title if is_task else called,
        is_task=is_task, start=facts.get(run_steps.STARTED, ""), end=facts.get(run_steps.ENDED, ""),
        host=facts.get("host", ""), rank=facts.get("rank", ""), facts=facts, threads=threads,
    )  # fmt: skip
    found.used, found.made = (*step.inputs, *step.received), (*step.results, *step.returned)
    found.inputs = _named(step.inputs, names)
    found.results = {name: iri for name, iri in _named(step.results, names).items() if not is_cache(f"/{name}")}
    found.code = _named(step.ran, names)
    found.configurations = tuple(step.settings)
    found.parent = step.process if is_task else parent
    return found


def _named(versions: Iterable[str], names: dict[str, str]) -> dict[str, str]:
    """Return versions by name; of several versions of a file the last one."""
    found: dict[str, str] = {}
    for iri in versions:
        name = names.get(iri, local_name(iri))
        found[name] = max(found.get(name, iri), iri, key=_modified)
    return found


def _modified(version: str) -> int:
    """Return the time of the last change of a version of a file; 0 of other data."""
    found = MODIFIED.search(version)
    return int(found[1]) if found else 0


def _writers(reader: Reader, activities: Sequence[Activity], names: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the activities that wrote a file, in the order of their writes, for the files that several wrote."""
    makers: dict[str, set[str]] = {}
    for one in activities:
        for iri in names.keys() & set(one.made):
            makers.setdefault(names[iri], set()).add(one.iri)
    shared = [iri for iri, name in names.items() if "/version/" in iri and len(makers.get(name, ())) > 1]
    found: dict[str, list[tuple[str, str]]] = {}
    for which in run_uses.values("v", shared):
        query = f"SELECT ?v ?w ?t {{ {which} ?v provio:wasWrittenBy ?w . ?w prov:startedAtTime ?t }}"
        for version, write, time in reader.table(query):
            steps = (pattern.match(write) for pattern in (run_steps.TASK, run_steps.PROCESS))
            for writer in {step[0] for step in steps if step} & makers[names[version]]:
                found.setdefault(names[version], []).append((time, writer))
    return {name: [writer for writer, _ in groupby(one for _, one in sorted(writes))] for name, writes in found.items()}


def _threads(ties: Iterable[tuple[str, str]]) -> Counter[str]:
    """Return the number of recorded threads of each process."""
    return Counter(found[0] for thread in {thread for _, thread in ties} if (found := run_steps.PROCESS.match(thread)))


def _above(process: str, parents: Mapping[str, str], steps: Container[str]) -> str:
    """Return the nearest step that started a process, also through forks; empty if there is none."""
    seen, above = {process}, parents.get(process, "")
    while above and above not in steps and above not in seen:
        seen.add(above)
        above = parents.get(above, "")
    return above if above in steps else ""


def _parents(ties: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the process that started each process, by a fork or by the start of its program."""
    found: dict[str, str] = {}
    for phase, earlier in ties:
        one, other = (run_steps.PROCESS.match(iri) for iri in (phase, earlier))
        if one and other and one[0] != other[0]:
            found.setdefault(one[0], other[0])
    return found
