"""The differences of two runs. In: a comparison. Out: rows of nine kinds."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from provio.ask import environment, experiments, run_steps
from provio.ask.comparison import Value, plain, same
from provio.ask.used_packages import TIES
from provio.base.text import duration, plural, seconds
from provio.compare.command_words import named
from provio.compare.comparison import Comparison, Row
from provio.compare.expected import KINDS
from provio.compare.side import END, Activity, Side, exit_of, masked
from provio.store import Store
from provio.system.packages import of_purl

PACKAGES = f"?a ({TIES})/provio:inPackage ?v"
VARIABLES = {"locale", "threads"}  # facts of a machine that are lists of variables
GIT = {"gitCommit": "commit", "gitDirty": "uncommitted changes"}
STOPS = frozenset({"signal 13", "signal 15"})  # of the readers of a pipe, of workers at the end
STOPPED = "the time of a signal differs between equal runs"
ID = re.compile(r"(?<![0-9A-Za-z])(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32})(?![0-9A-Za-z])")
CHOSEN = "a token, a port or a temporary name"
ALONE = "only in one run"
COMPILED = "not compared: one run read Python's compiled copy"
PYC = re.compile(r"(?:__pycache__/)?([^/]+?)(?:\.cpython-[^/]*|\.pypy[^/]*)?\.pyc$")
MOST = 8  # writers of a file in the order of their writes
Unlike = tuple[str, Value | None, Value | None]


def rows(found: Comparison, kinds: Iterable[str] = KINDS) -> Iterator[Row]:
    """Yield the differences of some kinds, in the order of `KINDS`."""
    for kind in kinds:
        for row in dict.fromkeys(_OF[kind](found)):
            variable = row.configuration == "variable"
            # Code and inputs that both runs have under one name were not made by them, also in /tmp.
            temporary = kind not in ("code", "inputs") or None in (row.first, row.second) or "*" in row.key
            expected = found.expected.matches(kind, row.key, variable, temporary) or found.expected.are_paths(
                row.first, row.second
            )
            yield row._replace(expected=row.expected or expected)


def _unlike(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[Unlike]:
    for key in sorted(first.keys() | second.keys()):
        one, other = first.get(key), second.get(key)
        if one is None or other is None or not same(one, other):
            yield key, None if one is None else plain(one), None if other is None else plain(other)


def _environment(found: Comparison) -> Iterator[Row]:
    first, second = (_layers(found, side) for side in found.sides)
    for layer in dict.fromkeys((*first, *second)):
        for key, one, other in _unlike(first.get(layer, {}), second.get(layer, {})):
            yield Row("environment", layer, key, one or None, other or None)
    used = [_packages(found.store, side.run) for side in found.sides]
    if all(used):
        for key, one, other in _unlike(*used):
            yield Row("environment", "package", key, one, other)


def _layers(found: Comparison, side: Side) -> dict[str, dict[str, str]]:
    """Return the facts of the machine and the recorded variables, by layer."""
    layers: dict[str, dict[str, str]] = {"variable": {name: value for _, name, value in side.facts.environment}}
    for layer, name, value in environment.of_machine(found.home.run_folder(side.run)):
        if name in VARIABLES:
            pairs = (one.partition("=") for one in (value or "").split(", "))
            layers["variable"] |= {name: text for name, _, text in pairs if name}
        else:
            fact, other, _ = name.partition(" of ")  # the name of another host is no difference
            own, key = layers.setdefault(layer, {}), f"{fact} of another host" if other else fact
            own[key] = value or "" if key not in own else ", ".join(sorted({*own[key].split(", "), value or ""}))
    return layers


def _packages(store: Store, run: str) -> dict[str, str]:
    """Return the versions of the packages that a run used, by name."""
    found: dict[str, set[str]] = {}
    for purl in {purl for _, purl in run_steps.ties(store, run)(PACKAGES)}:
        package = of_purl(purl)
        found.setdefault(package.name, set()).add(package.version)
    return {name: ", ".join(sorted(versions)) for name, versions in found.items()}


def _code(found: Comparison) -> Iterator[Row]:
    git = [{word: side.facts.facts.get(key, "") for key, word in GIT.items()} for side in found.sides]
    for key, commit, new in _unlike(*git):
        yield Row("code", "git", key, commit or None, new or None)
    for one, other in found.pairs:
        shown = one.code.keys() | other.code.keys()
        sources = {name for name in shown if not PYC.search(name)}  # of a module, or Python's compiled copy of it
        copies = {PYC.sub(r"\1.py", name) for name in shown - sources}
        for row in _contents(found, "code", *({name: own.code[name] for name in own.code if name in sources}
                                              for own in (one, other))):  # fmt: skip
            compiled = row.reason == ALONE and row.key in copies
            yield row._replace(expected=True, reason=COMPILED) if compiled else row
        mine, yours = one.facts.get("sourceText"), other.facts.get("sourceText")
        if mine != yours:
            yield Row("code", one.what, "source", mine, yours, activity=one.what)


def _parameters(found: Comparison) -> Iterator[Row]:
    yield from _settings(found)
    typed = [side.typed for side in found.sides]
    for one, other in found.pairs:
        if one.typed != other.typed:
            for key, first, second in _unlike(named(one.typed, one.what), named(other.typed, other.what)):
                renamed = None not in (first, second) and found.renamed.get(str(first)) == second
                by_user = one.typed == typed[0]
                if not renamed:
                    yield _parameter(one.what, key, first, second, by_user)
    if not all(any(one.typed == own for one in side.activities) for own, side in zip(typed, found.sides, strict=True)):
        program = os.path.basename(typed[0][0]) if typed[0] else ""  # a program that used no files is no activity
        for key, first, second in _unlike(*(named(own, program) for own in typed)):
            yield _parameter(program, key, first, second, by_user=True)


def _parameter(program: str, key: str, first: Value | None, second: Value | None, by_user: bool) -> Row:
    """Return the row of an argument. Tokens, ports and temporary names are expected, in the command that the user typed
    only ids."""
    mask = (lambda text: ID.sub("*", text)) if by_user else masked
    expected = mask(str(first)) == mask(str(second))
    return Row("parameters", program, key, first, second, expected, CHOSEN * (expected and not by_user), program)


def _settings(found: Comparison) -> Iterator[Row]:
    """Yield the settings that differ at the ends of the runs, with the name of their configuration; if each run has one
    configuration, their names may differ."""
    first, second = (experiments.of_run(found.store, side.run) for side in found.sides)
    if len(first) == len(second) == 1:
        (name, one), other = next(iter(first.items())), next(iter(second.values()))
        pairs = {name: (one, other)}
    else:
        none = experiments.Configuration("")
        pairs = {name: (first.get(name, none), second.get(name, none)) for name in sorted(first.keys() | second.keys())}
    users = {iri: one.what for side in found.sides for one in side.activities for iri in one.configurations}
    for name, (one, other) in pairs.items():
        for key, left, right in _unlike(one.settings, other.settings):
            user = users.get(one.iri) or users.get(other.iri, "")
            yield Row("parameters", name, key, left, right, activity=user)


def _inputs(found: Comparison) -> Iterator[Row]:
    yield from _contents(found, "inputs", *(side.sources for side in found.sides))


def _results(found: Comparison) -> Iterator[Row]:
    yield from _contents(found, "results", *(side.kept for side in found.sides))
    ends = [Row("results", one.what, END, one.exit, other.exit, activity=one.what,
                expected=bool({one.exit, other.exit} & STOPS), reason=STOPPED * bool({one.exit, other.exit} & STOPS))
            for one, other in found.pairs if one.ends_unlike(other)]  # fmt: skip
    yield from ends
    of_run = [exit_of(side.facts.facts) for side in found.sides]
    if of_run[0] != of_run[1] and "" not in of_run and not any(row[3:5] == (*of_run,) for row in ends):
        yield Row("results", "run", END, of_run[0], of_run[1])


def _contents(found: Comparison, kind: str, first: Mapping[str, str], second: Mapping[str, str]) -> Iterator[Row]:
    for name in sorted(first.keys() | second.keys()):
        one, other = first.get(name), second.get(name)
        new = f", in the second run {found.renamed[name]}" if name in found.renamed else ""
        if one is None or other is None:
            yield Row(kind, "file", name, _size(one), _size(other), reason=ALONE)
        elif found.equal(one, other) is False:
            yield Row(kind, "file", name, _size(one), _size(other), reason=f"other content{new}")


def _size(version: str | None) -> str | None:
    """Return the size of a version as text."""
    size = (version or "").partition("~")[0].rpartition(".")[2]
    return (plural(int(size), "byte") if size.isdigit() else "a pipe") if version else None


def _graph(found: Comparison) -> Iterator[Row]:
    alone = [Counter(_kind(side.activities[number]) for number in numbers)
             for side, numbers in zip(found.sides, found.alignment.only, strict=True)]  # fmt: skip
    totals = [Counter(map(_kind, side.activities)) for side in found.sides]
    for key in sorted(alone[0] | alone[1]):
        yield Row("graph", "activities", key, totals[0][key], totals[1][key], activity=key.partition(" ")[2])
    both = set.intersection(*(set(side.names.values()) for side in found.sides))
    for one, other in found.pairs:
        for word, mine, yours in (("reads", one.inputs, other.inputs), ("makes", one.results, other.results)):
            for name in sorted((mine.keys() ^ yours.keys()) & both):
                yield Row("graph", f"{one.what} {word}", name, name in mine, name in yours, activity=one.what)


def _kind(one: Activity) -> str:
    return f"{'task' if one.is_task else 'process'} {one.what}"


def _files(found: Comparison) -> Iterator[Row]:
    used = []
    for side in found.sides:
        data = (item for one in side.activities for item in (*one.inputs.items(), *one.results.items()))
        names = {name for name, iri in data if "/version/" in iri}
        used.append(names - side.sources.keys() - side.kept.keys())
    for name in sorted(used[0] ^ used[1]):
        yield Row("files", "temporary", name, name in used[0], name in used[1])


def _schedule(found: Comparison) -> Iterator[Row]:
    for one, other in found.pairs:
        if one.threads != other.threads:
            yield Row("schedule", one.what, "threads", one.threads, other.threads, activity=one.what)
    yield from _writers(found)
    starts = [[pair[side].start for pair in found.pairs] for side in (0, 1)]
    order = [sorted(range(len(own)), key=own.__getitem__) for own in starts]
    if order[0] != order[1]:
        moved = sum(a != b for a, b in zip(*order, strict=True))
        yield Row("schedule", "activities", "order", None, None, reason=f"{moved:,} start at another place")
    placed = sum(one.host != other.host for one, other in found.pairs)
    if placed:
        yield Row("schedule", "activities", "place", None, None, reason=f"{placed:,} on another host")


def _writers(found: Comparison) -> Iterator[Row]:
    """Yield the files with other content that the same activities wrote in another order. Ranks of a program write
    their parts of a file at the same time, in any order."""
    parallel = {one.iri for one in found.sides[0].activities if one.rank}
    kept = [side.kept for side in found.sides]
    partner = {pair[1].iri: pair[0].iri for pair in found.pairs}
    labels = {one.iri: one.label for one in found.sides[0].activities}
    first, second = (side.writers for side in found.sides)
    for name in sorted(first.keys() & second.keys()):
        mine, yours = first[name], [partner.get(iri, "") for iri in second[name]]
        equal = name in kept[0] and name in kept[1] and found.equal(kept[0][name], kept[1][name])
        if mine != yours and set(mine) == set(yours) and not equal and not set(mine) <= parallel:
            order = list(dict.fromkeys(mine))  # writers of one label have their numbers in the first run
            same = Counter(labels[iri] for iri in order)
            words = {iri: labels[iri] + (f" ({number})" if same[labels[iri]] > 1 else "")
                     for number, iri in enumerate(order, 1)}  # fmt: skip
            texts = [", ".join(words[iri] for iri in own[:MOST]) for own in (mine, yours)]
            yield Row("schedule", "order of writers", name, texts[0], texts[1])


def _time(found: Comparison) -> Iterator[Row]:
    one, other = (side.facts.facts for side in found.sides)
    periods = [(facts.get("startedAtTime", ""), facts.get("endedAtTime", "")) for facts in (one, other)]
    times = [duration(*period) for period in periods]
    if seconds(*periods[0]) != seconds(*periods[1]):  # also if both are shown alike
        yield Row("time", "run", "duration", times[0], times[1])


_OF = {"environment": _environment, "code": _code, "parameters": _parameters, "inputs": _inputs, "graph": _graph,
       "results": _results, "files": _files, "schedule": _schedule, "time": _time}  # fmt: skip
