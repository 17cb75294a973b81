"""Tallies by what I/O has in common: what was recorded and the name of a grouping in, groups out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Final

from provio.document import command_line
from provio.plain import plain
from provio.stats.activity import Activity
from provio.stats.recorded import PIPE, SOCKET, Process, Recorded
from provio.stats.tally import Tally

Value = str | int | bool | None
Key = tuple[Value, ...]
Keyed = Callable[[Recorded, Activity], Key]


@plain()
class Group:
    """The tally of a layer's activities that have the `key` in common; `columns` names its parts."""

    key: Key
    layer: str
    tally: Tally


def columns(ways: Sequence[str]) -> list[str]:
    """Return the columns that name the groups of these groupings together."""
    return list(dict.fromkeys(name for way in ways for name in BY[way]))


def by(recorded: Recorded, ways: Sequence[str]) -> list[Group]:
    """Return the groups of what has the same in all these groupings, the longest time first, then the most bytes."""
    names, keyed = columns(ways), [(BY[way], _KEYS[way]) for way in ways]
    mirrored = not {"file", "operation"}.isdisjoint(ways)  # each side of a copy within the kernel is a call of its own
    found: dict[tuple[Key, str], Tally] = {}
    for some in recorded.alike:
        for key, same in _keyed(recorded, some, keyed, names, "file" in ways):
            found.setdefault((key, some[0].layer), Tally()).add(same, mirrored)
    groups = [Group(key, layer, tally) for (key, layer), tally in found.items()]
    return sorted(groups, key=lambda group: (
        -(group.tally.of("nanoseconds") or 0), -(group.tally.bytes or 0), str(group.key), group.layer))  # fmt: skip


def _keyed(
    recorded: Recorded, some: list[Activity], keyed: Sequence[tuple[tuple[str, ...], Keyed]], names: list[str],
    by_file: bool,
) -> Iterable[tuple[Key, list[Activity]]]:  # fmt: skip
    """Activities that are `alike`, by their key: what they do not have in common is the file alone."""
    if not by_file:
        return [(_key(recorded, some[0], keyed, names), some)]
    found: dict[Key, list[Activity]] = {}
    for one in some:
        found.setdefault(_key(recorded, one, keyed, names), []).append(one)
    return found.items()


def _key(recorded: Recorded, one: Activity, keyed: Sequence[tuple[tuple[str, ...], Keyed]], names: list[str]) -> Key:
    if len(keyed) == 1:
        return keyed[0][1](recorded, one)
    values: dict[str, Value] = {}
    for own, key in keyed:
        values.update(zip(own, key(recorded, one), strict=True))
    return tuple(values[name] for name in names)


@cache  # there are some ten classes
def operation(kind: str) -> str:
    """Return a class of I/O activity in words: `set times`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind).lower() if kind != "IOActivity" else "copy"


def what_file(recorded: Recorded, target: str | None) -> tuple[str | None, str]:
    """Return the path of what an activity touched, and what that is: file, system, pipe, socket, other."""
    file = recorded.file(target)
    if file:
        return file.path, "system" if file.system else "file"
    target = target or ""
    kind = "pipe" if target.startswith(PIPE) else "socket" if target.startswith(SOCKET) else "other"
    return None, kind


def _process(recorded: Recorded, one: Activity) -> Process | None:
    return recorded.processes.get(one.process or "")


def _of_process(*names: str) -> Callable[[Recorded, Activity], Key]:
    def key(recorded: Recorded, one: Activity) -> Key:
        process = _process(recorded, one)
        return tuple(getattr(process, name) if process else None for name in names)

    return key


def _by_process(recorded: Recorded, one: Activity) -> Key:
    process = _process(recorded, one)
    if process is None:
        return None, None, None, None
    argv = command_line({"iri": "", "type": "Process", "label": "", "argv": process.argv})
    return process.iri, process.host or None, process.pid or None, argv or process.program or None


def _by_thread(recorded: Recorded, one: Activity) -> Key:
    process = _process(recorded, one)
    tid = recorded.threads.get(one.thread or "")
    return one.thread, process.pid if process else None, tid, process.program if process else None


def _by_user(recorded: Recorded, one: Activity) -> Key:
    run = recorded.runs.get(one.run or "")
    return (run.user if run else None,)


# What figures can be grouped by: the columns that name a group.
BY: Final[dict[str, tuple[str, ...]]] = {
    "operation": ("operation",), "layer": (), "api": ("api",), "file": ("file", "kind"),
    "process": ("process", "host", "pid", "command"), "thread": ("thread", "pid", "tid", "program"),
    "rank": ("rank",), "host": ("host",), "program": ("program",), "user": ("user",), "run": ("run",),
}  # fmt: skip
_KEYS: Final[dict[str, Keyed]] = {
    "operation": lambda _, one: (operation(one.kind),),
    "layer": lambda _, __: (),
    "api": lambda _, one: (one.api,),
    "file": lambda recorded, one: what_file(recorded, one.target),
    "process": _by_process,
    "thread": _by_thread,
    "rank": _of_process("rank"),
    "host": _of_process("host"),
    "program": _of_process("program"),
    "user": _by_user,
    "run": lambda recorded, one: ((recorded.runs[one.run].id if one.run in recorded.runs else None),),
}
