"""Search for checkpoints: by settings, by path, or by file version.

In: a reader and the wanted settings, a path, or versions. Out: the matching checkpoints.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from provio.ask import experiments, suggestions
from provio.ask.comparison import Difference, Value, differences, last_part, same
from provio.ask.document import Metric, SavedAs, Under
from provio.ask.experiments import Checkpoint, Configuration
from provio.ask.target import current_version, find_target
from provio.ask.walk import batches
from provio.base.errors import NothingKnown
from provio.settings.types import among
from provio.store import Reader

NONE = "no checkpoint is recorded: declare one with provio.checkpoint(PATH)"
NOT_THE_LAST = "this is not the last content saved there"
MOST = 100_000  # files of a folder that are examined


class Saved(NamedTuple):
    """A checkpoint with its context: the configurations in force and the metrics by name."""

    checkpoint: Checkpoint
    configurations: list[Configuration]
    metrics: dict[str, Value]

    @property
    def settings(self) -> dict[str, Value]:
        """Return the settings of all configurations; for a duplicate name, the value of the last configuration."""
        return {key: value for one in self.configurations for key, value in one.settings.items()}

    def called(self, key: str) -> dict[str, Value]:
        """Return the settings that a key refers to: the one of that name, or else those with the key as last part."""
        whole = {f"{one.name}.{name}": value for one in self.configurations for name, value in one.settings.items()}
        settings = self.settings
        for name, value in (whole | settings).items():
            if name == key:
                return {key: value}
        return {name: value for name, value in settings.items() if name.endswith("." + key)}


def every(reader: Reader) -> list[Saved]:
    """Return all checkpoints in order of time."""
    return _whole(reader, experiments.checkpoints(reader))


def _whole(reader: Reader, found: list[Checkpoint]) -> list[Saved]:
    known = experiments.all_configurations(reader, (iri for one in found for iri in one.configurations))
    values = experiments.values(reader, (iri for one in found for iri in one.metrics))
    return [
        Saved(one, sorted((known[iri] for iri in one.configurations), key=lambda each: each.label),
              dict(sorted(values[iri] for iri in one.metrics if iri in values)))
        for one in found
    ]  # fmt: skip


def fitting(reader: Reader, wanted: Mapping[str, str]) -> list[Saved]:
    """Return the checkpoints that were saved under all of these settings; raises NothingKnown if there are none."""
    found = every(reader)
    if not found:
        raise NothingKnown(NONE)
    keys = {key: None for one in found for key in one.settings}
    for key in wanted:
        if not any(one.called(key) for one in found):
            raise NothingKnown(f"no checkpoint has a setting {key!r}{among(key, keys, 'provio checkpoint list shows')}")
    fit = [one for one in found if all(_has(one, key, value) for key, value in wanted.items())]
    if not fit:
        raise NothingKnown(f"no checkpoint fits: of {len(found)}, {_nearest(found, wanted)}")
    return fit


def _has(one: Saved, key: str, value: str) -> bool:
    return any(same(held, value) for held in one.called(key).values())


def _nearest(found: list[Saved], wanted: Mapping[str, str]) -> str:
    """Describe the existing values of the first key for which no checkpoint has the wanted value."""
    key = next((key for key, value in wanted.items() if not any(_has(one, key, value) for one in found)), "")
    if not key:
        return "none has all of these"
    held = dict.fromkeys(str(value) for one in found for value in one.called(key).values())
    shown = list(held)[:4]
    return f"{key} is {', '.join(shown)}{' …' if len(held) > len(shown) else ''}"


def at(reader: Reader, path: str) -> tuple[Saved, str]:
    """Return the newest checkpoint at a path (or containing the file at that path), and a note.

    The note is empty if the path holds the checkpoint unchanged. Raises NothingKnown.
    """
    full = os.path.abspath(path)
    found = experiments.checkpoints(reader)
    if not found:
        raise NothingKnown(NONE)
    there = [one for one in found if one.path and _is_in(full, one.path)]
    now, changed = there, ""
    if os.path.isfile(full):
        target = find_target(reader, full)
        now = [one for one in found if target.iri in one.files]
        changed = target.changed or ("" if now or not there else NOT_THE_LAST)
    elif os.path.isdir(full):
        now, changed = _in_folder(found, there, full)
    there = now or there
    if not there:
        remedy = (
            suggestions.of_file(reader, os.fsencode(full)) if not os.path.lexists(full) else "provio checkpoint list"
        )
        raise NothingKnown(f"no checkpoint is recorded at {path}: {remedy}")
    return _whole(reader, there[-1:])[0], changed


def _in_folder(found: list[Checkpoint], there: list[Checkpoint], folder: str) -> tuple[list[Checkpoint], str]:
    """Return the checkpoints that a folder contains now, and a note (empty or a remark about differences).

    The search uses the content, so the folder may have had another name when the checkpoints were saved. The result
    is the last checkpoint saved there if all its files are present; otherwise the checkpoints that include all the
    known checkpoint files in the folder.
    """
    known = {version for one in found for version in one.files}
    held = set(islice((version for version in _versions_in(folder) if version in known), MOST))
    last = there[-1] if there else None
    if last and last.files and held.issuperset(last.files):
        return there, ""
    parts = [one for one in found if held and held.issubset(one.files)]
    whole = [one for one in parts if held.issuperset(one.files)]
    if whole or last is None or not last.files:
        return whole or parts, ""
    if parts and os.path.normpath(last.path) != folder:
        return parts, ""
    return parts, "not all that was saved there is there as it was" if parts else NOT_THE_LAST


def _versions_in(folder: str) -> Iterator[str]:
    for place, folders, names in os.walk(os.fsencode(os.path.realpath(folder))):
        folders.sort()
        for name in sorted(names):
            version = current_version(os.path.join(place, name))
            if version:
                yield version


def _is_in(path: str, checkpoint: str) -> bool:
    whole = os.path.normpath(checkpoint)
    return path == whole or path.startswith(whole + "/")


def compared(saved: Saved, wanted: Mapping[str, Value], partial: bool) -> list[Difference]:
    """Return the differences between a configuration and the settings under which a checkpoint was saved.

    With `partial`, only the keys of the given configuration are compared. If the checkpoint has several
    configurations, the comparison uses the one (or their union) that shares the most keys.
    """
    every = [one.settings for one in saved.configurations] + [saved.settings]
    held = max(every, key=lambda settings: (len(settings.keys() & wanted.keys()), -len(settings)))
    if not held.keys() & wanted.keys():
        held, wanted = _flat(held), _flat(wanted)
    if partial:
        held = {key: value for key, value in held.items() if key in wanted}
    return differences(held, wanted)


def _flat(settings: Mapping[str, Value]) -> dict[str, Value]:
    """Return settings by the last parts of their keys if these are unique: a program's arguments have no sections."""
    flat = {last_part(key): value for key, value in settings.items()}
    return flat if len(flat) == len(settings) else dict(settings)


# The checkpoints of file versions.


CHECKPOINTS = """SELECT DISTINCT ?v ?c ?step ?at { VALUES ?v { %s } ?c prov:hadMember ?v ; a provio:Checkpoint ;
    prov:generatedAtTime ?at . OPTIONAL { ?c provio:step ?step } } ORDER BY ?at ?c"""
METRICS = """SELECT DISTINCT ?c ?name ?value ?step ?m { VALUES ?c { %s } ?c provio:hadMetric ?m .
    ?m provio:name ?name ; provio:value ?value . OPTIONAL { ?m provio:step ?step } } ORDER BY ?name ?m"""
CONFIGURATIONS = """SELECT DISTINCT ?c ?iri ?name ?version { VALUES ?c { %s } ?c provio:hadConfiguration ?iri .
    OPTIONAL { ?iri provio:name ?name } OPTIONAL { ?iri provio:version ?version } } ORDER BY ?name ?iri"""


def of_versions(reader: Reader, versions: Iterable[str]) -> dict[str, list[SavedAs]]:
    """Return for each version that is a checkpoint, or a file of one, its checkpoints in order of time."""
    found: dict[str, list[SavedAs]] = {}
    of: dict[str, SavedAs] = {}
    for batch in batches(versions):
        for row in reader.rows(CHECKPOINTS % _terms(batch)):
            one = of.get(row["c"])
            if one is None:
                step = {"step": int(row["step"])} if "step" in row else {}
                one = of[row["c"]] = SavedAs(iri=row["c"], **step, metrics=[], configurations=[])  # type: ignore[typeddict-item]
            found.setdefault(row["v"], []).append(one)
    for batch in batches(of):
        for row in reader.rows(METRICS % _terms(batch)):
            metric = Metric(name=row["name"], value=row["value"])
            if "step" in row:
                metric["step"] = int(row["step"])
            of[row["c"]]["metrics"].append(metric)
        for row in reader.rows(CONFIGURATIONS % _terms(batch)):
            under = Under(iri=row["iri"], name=row.get("name", ""))
            if "version" in row:
                under["version"] = int(row["version"])
            of[row["c"]]["configurations"].append(under)
    return found


def _terms(iris: Iterable[str]) -> str:
    return " ".join(f"<{iri}>" for iri in iris)
