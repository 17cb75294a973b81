"""The classes of record: each can be switched by the setting `record`, and passed to the shim in `PROVIO_TRACE`.

A class that is off is not recorded at all: merge finds none of it. Earlier records are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from provio.settings.types import Kind, among, boolean, both

# Default; description; queries that have no result without it.
SWITCHES: Mapping[str, tuple[bool, str, str]] = MappingProxyType(
    {
        "user": (True, "the user: name and number", "the user of each program"),
        "thread": (True, "threads", "the thread of an access; its process stays"),
        "program": (True, "executables and scripts as programs", "which program wrote a file; phases stay"),
        "rank": (True, "numbers of the processes of a parallel program", "the rank of a process"),
        "process": (True, "command lines, pids, working folders, ends", "command lines; phases stay"),
        "api": (True, "names of functions", "figures for each function: calls are counted together"),
        "duration": (True, "durations of calls", "time spent, bandwidth; points in time stay"),
        "file": (True, "files, and objects inside HDF5 files", "all lineage except through pipes"),
        "directory": (True, "folders that are opened, made or removed", "none about files"),
        "pipe": (True, "pipes and FIFOs", "lineage from one process of a pipeline to the next"),
        "socket": (True, "connections", "lineage from one process to another through connections"),
        "group": (True, "groups of HDF5 files", "reads, writes and names of groups"),
        "dataset": (True, "datasets of HDF5 files", "lineage of datasets; that of their files stays"),
        "attribute": (True, "attributes of HDF5 files", "lineage of attributes"),
        "datatype": (True, "named datatypes of HDF5 files", "lineage of named datatypes"),
        "link": (True, "soft and external links of HDF5 files", "which links there were"),
        "configuration": (True, "settings that programs declare", "the settings of a run"),
        "metric": (True, "metrics that programs declare", "the quality of a run"),
        "checkpoint": (True, "checkpoints that programs declare", "the checkpoint that a file belongs to; files stay"),
        "entity": (True, "declared entities that are not files", "lineage through them"),
        "task": (True, "graphs, transitions, transfers of tasks", "lineage from task to task; the tasks stay"),
        "argument": (True, "arguments of a framework's tasks", "arguments, and data passed with them"),
        "line": (True, "log lines and errors of a framework", "warnings, exceptions of tasks"),
        "environment": (True, "variables of the batch job, loaded modules", "the environment of a run"),
        "stat": (False, "calls that read a file's metadata", "the processes that read a file's metadata"),
        "list": (False, "listings of folders", "the processes that listed a folder"),
    }
)
SEE = "provio config lists"
ALLOWED = f"a table of true or false by class, or a list of classes, with - before those to omit; {SEE} all"


def _word(word: object, signed: bool) -> str:
    name = word.lstrip("+-") if signed and isinstance(word, str) else word
    if isinstance(name, str) and name in SWITCHES:
        return name
    raise ValueError(f"{word!r} is not allowed{among(name if isinstance(name, str) else '', SWITCHES, SEE)}")


def _check(value: object) -> Mapping[str, bool]:
    if isinstance(value, list | tuple):
        return MappingProxyType({_word(word, True): not str(word).startswith("-") for word in value})
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is not allowed (allowed: {ALLOWED})")
    for word, on in value.items():
        try:
            boolean(on)
        except ValueError as error:
            raise ValueError(f"{_word(word, False)}: {error}") from None
        _word(word, False)
    return MappingProxyType(dict(value))


RECORD = Kind(ALLOWED, _check, lambda text: [part.strip() for part in text.split(",") if part.strip()], both, True)


def changes(record: Mapping[str, bool]) -> frozenset[str]:
    """Return the differences from the defaults: `stat` for an added class, `-pipe` for an omitted one."""
    return frozenset(word if on else f"-{word}" for word, on in record.items() if on is not SWITCHES[word][0])


def left_out(detail: str) -> frozenset[str]:
    """Return the classes that a run omitted, from the `detail` stated in its run.ttl."""
    return frozenset(word[1:] for word in detail.split(",")[1:] if word.startswith("-"))
