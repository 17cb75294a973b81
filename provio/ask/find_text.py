"""Search by text in a record. In: a text or pattern, a store. Out: the files, runs, programs and Tasks with it in their
names, command lines, parameters, metadata or notes.

A text is compared here, in Python; the store only receives a plain word of it that each match must contain, so that no
text can change a query. Names are read once, in one pass over the names of a kind.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from provio.ask import notes, run_uses, runs
from provio.ask.document import Note, arguments, command_line
from provio.ask.find import (
    Found,
    decoded,
    displayed,
    file_found,
    last_names,
    metadata,
    mtime,
    of_run,
    versions_found,
    with_parameters,
)
from provio.ask.target import current_version
from provio.ask.walk import MANY, batches
from provio.base.text import sortable
from provio.base.turtle import literal
from provio.base.vocab import RUN_BASE
from provio.store import Reader

PLAIN = re.compile(r"[a-z0-9_./=,:-]+")  # characters of a text that look the same in each encoding of the graph
PATHS = (("path", str), ("pathEncoded", decoded))
SYSTEM_WAYS = "provio:usedAsNoise|provio:ranAsNoise"
FILES = "SELECT ?f ?path { ?f provio:%s ?path %%s }"
PROCESSES = "SELECT DISTINCT ?p ?argv { ?p a provio:Process ; provio:argv ?argv %s }"
PROGRAMS = "SELECT DISTINCT ?p ?path { ?p provio:%s ?path . %%s ?p a provio:Program }"
LAST_USES = "SELECT ?p (MAX(STR(?a)) AS ?last) { %s ?a prov:wasAssociatedWith ?p . ?p a provio:Program } GROUP BY ?p"
TASKS = """SELECT DISTINCT ?t ?name ?start { ?t a provio:Task ; provio:name ?name .
    OPTIONAL { ?t prov:startedAtTime ?start } %s }"""


@dataclass
class Pattern:
    """A text that may occur anywhere, or a glob. `root` is the folder whose name does not count in the paths below it;
    with `split`, the words of the text may be in any order. `word` is the longest plain word that each match
    contains."""

    text: str
    root: str = ""
    split: bool = False
    words: list[str] = field(init=False)
    word: str = field(init=False)

    def __post_init__(self) -> None:
        """Find the words; in a glob, brackets do not contribute to the plain one."""
        self.words = (self.text.split() if self.split and not self.is_glob else []) or [self.text]
        fixed = re.split(r"[*?]|\[[^\]]*\]?", self.text.lower()) if self.is_glob else [self.text.lower()]
        self.word = max((word for part in fixed for word in PLAIN.findall(part)), key=len, default="")

    @property
    def is_glob(self) -> bool:
        """Whether it has one of the characters of a glob."""
        return bool(set(self.text) & set("*?["))

    def matches(self, text: str) -> bool:
        """Return whether a text matches, as it is or as it is shown (bytes that are not UTF-8 as `U+FFFD`)."""
        return all(_has(text, word) for word in self.words)

    def matches_path(self, path: str) -> bool:
        """Return whether a path matches; a glob also matches the last parts of a path."""
        if self.is_glob:
            return self.matches(path) or notes.matches(path, f"*/{self.text}")
        return all(_has(self._below(path, word), word) for word in self.words)

    def _below(self, path: str, word: str) -> str:
        """Return the part of a path in which a word may occur: it must not end in the name of the root folder."""
        inside = self.root and path.startswith(self.root + "/") and not word.startswith("/")
        return path[max(0, len(self.root) + 2 - len(word)) :] if inside else path

    def contained(self, variable: str) -> str:
        """Return a SPARQL filter that keeps each match."""
        return f"FILTER(CONTAINS(LCASE({variable}), {literal(self.word)}))" if self.word else ""


def _has(text: str, word: str) -> bool:
    return notes.matches(text, word) or (not text.isascii() and notes.matches(displayed(text), word))


class TextSearch:
    """Searches in a store; in the paths of files below the folder `root`, its name does not count. With `keep`, all
    names are read once, for many searches, and the words of a text may be in any order; otherwise each search reads
    those that may match."""

    def __init__(self, reader: Reader, root: str = "", keep: bool = False) -> None:
        self.reader, self.root, self.keep = reader, root, keep
        self._kept: dict[str, list[Sequence[str]]] = {}

    def read(self) -> None:
        """Read all names, so that the first search need not do it."""
        self.find("\n")

    def find(self, text: str, most: int | None = None) -> tuple[list[Found], int]:
        """Return the files, runs, programs and Tasks with a text, and the number of files that are left out: with
        `keep`, at most `most` are looked up, first those with exactly this name, then those of the user, the newest
        first."""
        pattern = Pattern(text, self.root, self.keep)
        noted = [note for note in self._notes(pattern) if pattern.matches(note["text"])]
        files, omitted = self._files(pattern, noted, most)
        found = [*files, *self._runs(pattern, noted), *self._programs(pattern), *self._tasks(pattern, noted)]
        return found, omitted

    def _rows(self, query: str, variable: str, pattern: Pattern) -> Iterable[Sequence[str]]:
        """Return the rows of a query with a place for a filter, at least those in which the variable matches."""
        if not self.keep:
            return self.reader.table(query % pattern.contained(variable))
        if query not in self._kept:
            self._kept[query] = list(self.reader.table(query % ""))
        return self._kept[query]

    def _notes(self, pattern: Pattern) -> list[Note]:
        return self._all_notes if self.keep else notes.every(self.reader, pattern.contained("?text"))

    @cached_property
    def _all_notes(self) -> list[Note]:
        return notes.every(self.reader)

    @cached_property
    def _listing(self) -> list[dict[str, str]]:
        return list(self.reader.rows(runs.LISTING))

    # Files.

    def _files(self, pattern: Pattern, noted: Sequence[Note], most: int | None) -> tuple[list[Found], int]:
        """Return the files by their paths, each once with its newest version, and the number of those left out."""
        matching = self._matching(pattern) if self.keep else self._newest(self._named(pattern)).items()
        paths: dict[str, list[str]] = {}
        omitted = 0
        for path, version in matching:
            if version in paths or most is None or len(paths) < most:
                paths.setdefault(version, []).append(path)
            else:
                omitted += 1
        found = self._by_last_names(paths)
        more = {note["about"].partition("#")[0]: "note" for note in noted if "/version/" in note["about"]}
        more |= dict(metadata(self._rows("SELECT ?v ?m { ?v provio:metadata ?m %s }", "?m", pattern), pattern.matches))
        found |= versions_found(self.reader, {version: how for version, how in more.items() if version not in found})
        for version in self._system(found):
            found[version].system = True
        more_names = [replace(found[version], name=path) for version, (_, *rest) in paths.items() for path in rest]
        return [*found.values(), *more_names], omitted

    def _named(self, pattern: Pattern) -> dict[str, str]:
        """Return the files with a path that may match, each with this path."""
        return {
            file: shown(text)
            for word, shown in PATHS
            for file, text in self._rows(FILES % word, "?path", pattern)
            if file.startswith("file:") and pattern.matches_path(shown(text))
        }

    def _matching(self, pattern: Pattern) -> Iterator[tuple[str, str]]:
        """Yield the matching paths with their newest versions: first those with exactly this name, then files
        of the user, the newest first."""
        end = "/" + pattern.text.lower().lstrip("/")
        for is_exact in (True, False):
            for lower, path, version in self._all_newest:
                if lower.endswith(end) == is_exact and pattern.word in lower and pattern.matches_path(path):
                    yield path, version

    @cached_property
    def _all_newest(self) -> list[tuple[str, str, str]]:
        """All paths in lower case and as they are, with their newest versions."""
        every = self._newest(self._named(Pattern(""))).items()
        ordered = sorted(every, key=lambda one: (one[1] in self._all_system, -mtime(one[1]), one[0]))
        return [(path.lower(), path, version) for path, version in ordered]

    def _newest(self, names: dict[str, str]) -> dict[str, str]:
        """Return the newest version of each path."""
        found: dict[str, tuple[int, str]] = {}
        for version, file in _versions_of(self.reader, names):
            if file in names and "~" not in version:
                found[names[file]] = max((mtime(version), version), found.get(names[file], (0, "")))
        return {path: version for path, (_, version) in found.items()}

    def _by_last_names(self, paths: dict[str, list[str]]) -> dict[str, Found]:
        """Return the versions, each with its first path. Of the paths remain those with this version, and if there is
        none, its last names: a file that was renamed is not listed with a name that does not exist any more."""
        last = last_names(self.reader, paths)
        found = {}
        for version, known in paths.items():
            how = "name"
            if version in last:
                names = last[version]
                here = [one for one in known if one in names or current_version(os.fsencode(one)) == version]
                how = "name" if here else f"was named {os.path.basename(known[0])}"
                paths[version] = here or names
            found[version] = file_found(paths[version][0], version, how)
        return found

    def _system(self, found: Collection[str]) -> set[str]:
        """Return the versions that recorded programs used only as files of the system."""
        if self.keep:
            return self._all_system.intersection(found)
        if len(found) > MANY:
            every = {version for (version,) in self.reader.table(f"SELECT DISTINCT ?v {{ ?a {SYSTEM_WAYS} ?v }}")}
            found = every.intersection(found)
        return _only_system(self.reader, found)

    @cached_property
    def _all_system(self) -> set[str]:
        every = [version for (version,) in self.reader.table(f"SELECT DISTINCT ?v {{ ?a {SYSTEM_WAYS} ?v }}")]
        return _only_system(self.reader, every)

    # Runs, programs and Tasks.

    def _runs(self, pattern: Pattern, noted: Sequence[Note]) -> list[Found]:
        """Return the runs by name, campaign, id, command line (also of their processes), parameters and notes."""
        about = {note["about"] for note in noted}
        commands = self._process_commands(pattern)
        name, equals, value = pattern.text.partition("=")
        is_parameter = equals and name.strip() and not pattern.is_glob
        values = with_parameters(self.reader, [(name.strip(), value.strip() or None)]) if is_parameter else {}
        found = []
        for row in self._listing:
            run = row["run"]
            command = " ".join(arguments(row["argv"])) if row.get("argv") else ""
            texts = {"name": row.get("name", ""), "campaign": row.get("campaign", ""), "command": command}
            how = next((word for word in ("name", "campaign") if pattern.matches(texts[word])), "")
            how = how or ("id" if run.startswith(pattern.text.lower()) else "")
            how = how or ("command" if pattern.matches(" ".join(texts.values())) else "")
            how = how or ("note" if RUN_BASE + run in about else "")
            how = how or values.get(run, "")
            how = how or (f"process: {commands[run]}" if run in commands else "")
            if how:
                found.append(of_run(row, how))
        return found

    def _process_commands(self, pattern: Pattern) -> dict[str, str]:
        """Return a matching command line of a process for each run that has one."""
        found: dict[str, str] = {}
        decided: dict[str, bool] = {}
        for process, argv in self._rows(PROCESSES, "?argv", pattern):
            if argv not in decided:
                decided[argv] = bool(argv) and pattern.matches(" ".join(arguments(argv)))
            if decided[argv] and (run := run_uses.run_of(process)) not in found:
                found[run] = command_line({"iri": "", "type": "Process", "label": "", "argv": argv})
        return found

    def _programs(self, pattern: Pattern) -> list[Found]:
        """Return the programs by path, with the newest run that used each."""
        found: dict[str, Found] = {}
        for word, shown in PATHS:
            for iri, text in self._rows(PROGRAMS % word, "?path", pattern):
                path = shown(text)
                if pattern.matches_path(path if "/" in pattern.text else os.path.basename(path)):
                    found[iri] = Found("program", path, iri, how="name")
        for iri, run in self._last_uses(found):
            found[iri].run = run
        starts = {row["run"]: row.get("start", "") for row in self._listing} if found else {}
        for one in found.values():
            one.time = starts.get(one.run, "")
        return list(found.values())

    def _last_uses(self, programs: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield each of these programs with the newest run that used it."""
        if self.keep:
            yield from ((iri, self._all_last_uses[iri]) for iri in programs if iri in self._all_last_uses)
            return
        for batch in batches(programs):
            values = f"VALUES ?p {{ {' '.join(f'<{iri}>' for iri in batch)} }}"
            for iri, last in self.reader.table(LAST_USES % values):
                yield iri, run_uses.run_of(last)

    @cached_property
    def _all_last_uses(self) -> dict[str, str]:
        return {iri: run_uses.run_of(last) for iri, last in self.reader.table(LAST_USES % "")}

    def _tasks(self, pattern: Pattern, noted: Sequence[Note]) -> list[Found]:
        """Return the Tasks by name, the newest of each name, and those with a matching note."""
        about = sorted(note["about"] for note in noted if "/run/" in note["about"])
        values = f"VALUES ?t {{ {' '.join(f'<{iri}>' for iri in about)} }}"
        every = [("name", row) for row in self._rows(TASKS, "?name", pattern) if pattern.matches(row[1])]
        every += [("note", row) for row in (self.reader.table(TASKS % values) if about else ())]
        found: dict[str, Found] = {}
        for how, (iri, name, start) in every:
            if name not in found or sortable(found[name].time) < sortable(start):
                found[name] = Found("task", name, iri, start, run=run_uses.run_of(iri), how=how)
        return list(found.values())


def _only_system(reader: Reader, versions: Iterable[str]) -> set[str]:
    """Return those of the versions that were never used or made otherwise than as files of the system."""
    found = set()
    for batch in batches(versions):
        query = f"""SELECT ?v {{ VALUES ?v {{ {" ".join(f"<{iri}>" for iri in batch)} }}
            FILTER EXISTS {{ ?one {SYSTEM_WAYS} ?v }} FILTER NOT EXISTS {{ ?two prov:used ?v }}
            FILTER NOT EXISTS {{ ?v prov:wasGeneratedBy ?three }} }}"""
        found |= {version for (version,) in reader.table(query)}
    return found


def _versions_of(reader: Reader, files: Iterable[str]) -> Iterator[Sequence[str]]:
    """Yield (version, file) for these files; of many files, also for others: one pass over all takes less time."""
    every = list(files)
    if len(every) > MANY:
        yield from reader.table("SELECT ?v ?f { ?v prov:specializationOf ?f }")
        return
    for batch in batches(every):
        values = f"VALUES ?f {{ {' '.join(f'<{iri}>' for iri in batch)} }}"
        yield from reader.table(f"SELECT ?v ?f {{ {values} ?v prov:specializationOf ?f }}")
