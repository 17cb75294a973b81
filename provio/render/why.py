"""The maker of a file (`provio.ask.why.Reason`) as text, JSON, CSV or TSV."""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from provio.ask import fold as folding
from provio.ask.document import (
    LONGEST_LINE,
    PIPES,
    RESULT,
    arguments,
    command_line,
    earlier_tasks,
    local_name,
    named_reason,
)
from provio.ask.notes import is_on_run, line, newest
from provio.ask.started_as import OF_SNAKEMAKE, is_kernel
from provio.ask.walk import CONFIGURATION
from provio.base.text import cut_list, duration, folded, moment, plural, printable, shorter_path, size
from provio.render import records
from provio.render.json import dumped

if TYPE_CHECKING:
    from provio.ask.document import Node, Note
    from provio.ask.why import Reason

MOST_GAPS = 3  # that are printed on a terminal
MOST_METADATA = 4  # attributes of a file that are printed on a terminal
IN_EACH_PICTURE = {"width", "height", "Software", "date:create", "date:modify", "date:timestamp"}  # not printed there
MOST_LINES = 40  # of the source of a Task
KEPT = "lineage --via carried"
CUT = {"launched": 2, "run": 2, "note": 3}  # lines of a fact on a terminal: command lines of others, notes


def render(
    reason: Reason,
    *,
    width: int | None = None,
    unicode: bool = True,
    folder: str | None = None,
    fold: bool = False,
) -> str:
    """Return the known facts, one per line; `fold` combines many files of a folder on one line. The command lines of
    others than the maker, and notes, have at most some lines of `width` columns (None: one line of any length)."""
    facts = [size(reason["size"])] if "size" in reason else []
    facts += [f"of {moment(reason['modified'])}"] if "modified" in reason else []
    head = "  ".join([shorter_path(reason["path"], folder), ", ".join(facts)]).rstrip()
    changed = [reason["changed"]] if "changed" in reason else []
    changed += [f"made by a command that failed ({reason['failed']})"] if "failed" in reason else []
    gaps = _gaps(reason)
    more = [f"{plural(len(gaps) - MOST_GAPS, 'other gap')} (--as json)"] if fold and len(gaps) > MOST_GAPS else []
    notes = [f"! {note}" for note in [*changed, *gaps[: MOST_GAPS if more else None], *more]]
    lines = [printable(line, unicode) for line in (head, *notes)]
    title = ""
    for fact, value in _rows(reason, folder, fold):
        title = fact or title
        parts = [printable(value, unicode)] if value else []
        if value and width is not None and title in CUT:
            parts = folded(parts[0], max(width - 10, 20), unicode, most=CUT[title])
        elif value and width is not None and title == "params":
            parts = [cut_list(parts[0], max(width - 10, 20), unicode)]
        lines += [f"{name:9} {part}" for name, part in zip_longest([fact] if parts else [], parts, fillvalue="")]
    return "".join(line + "\n" for line in lines)


def _rows(reason: Reason, folder: str | None, fold: bool) -> list[tuple[str, str]]:
    """Return the facts in order; of a fact with several values, only the first row has its name."""
    process, run = reason["process"], reason["run"]
    return [
        *_task(reason),
        ("made by", _program(reason, folder)),
        ("command", "" if "notebook" in reason else _command({**process, "command": reason.get("command", "")})),
        *_list("params", _parameters(reason)),
        *_list("metadata", _metadata(reason, fold)),
        ("in", process.get("cwd", "")),
        ("when", _when(process)),
        ("ended", _end(process)),
        ("by", " on ".join(part for part in (reason.get("user", ""), process.get("host", "")) if part)),
        ("git", run.get("gitCommit", "") + (" and changes" if run.get("gitDirty") == "true" else "")),
        *_list("read", _files(reason, reason["read"], folder, fold)),
        *_list("carried", _files(reason, reason["carried"], folder, fold)),
        *_list("kept", [_file(node, folder) for node in reason["kept"]]),
        ("memory", f"perhaps data of {earlier_tasks(reason['inMemory'])} ({KEPT})" if "inMemory" in reason else ""),
        ("hidden", plural(reason["hidden"], "system file") if reason["hidden"] else ""),
        *_list("with", [f"{_command(other)}, which wrote a part of it" for other in reason["contributors"]]),
        *_list("launched", _launched(reason)),
        ("run", _run(run)),
        *_list("note", _notes(reason)),
    ]  # fmt: skip


def for_programs(reason: Reason, form: str) -> str:
    """Return the same as CSV or TSV."""
    return records.render("why", cells(reason), form)


def cells(reason: Reason) -> list[tuple[str, str]]:
    """Return the same by the columns of the table `why`."""
    rows = [("path", reason["path"])]
    rows += [("changed", reason["changed"])] if "changed" in reason else []
    rows += [("gap", gap) for gap in _gaps(reason)]
    for fact, value in _rows(reason, None, fold=False):
        rows += [(fact or rows[-1][0], value)] if value else []
    return rows


def as_json(reason: Reason) -> str:
    """Return all facts as JSON."""
    return dumped({**reason})


def _gaps(reason: Reason) -> list[str]:
    """Return the gaps, each with the name of its subject if that is not the file itself."""
    about, nodes = {gap["about"] for gap in reason["gaps"]}, (*reason["read"], *reason["carried"], *reason["kept"])
    names = {node["iri"]: node["label"] for node in nodes if node["iri"] in about}
    return [named_reason(names.get(gap["about"], ""), gap["reason"]) for gap in reason["gaps"]]


def _list(fact: str, values: list[str]) -> list[tuple[str, str]]:
    return [(fact if place == 0 else "", value) for place, value in enumerate(values)]


def _metadata(reason: Reason, fold: bool) -> list[str]:
    attributes = reason.get("metadata", {}).items()
    found = [f"{name} = {value}" for name, value in attributes if not (fold and name in IN_EACH_PICTURE)]
    kept = found[:MOST_METADATA] if fold and len(found) > MOST_METADATA + 1 else found
    return kept + [f"{len(found) - len(kept)} more (--no-fold)"] * (len(kept) < len(found))


def _command(process: dict[str, str]) -> str:
    typed = process.get("command") or process.get("argv", "")
    return command_line({"iri": "", "type": "Process", "label": "", "argv": typed})


def _launched(reason: Reason) -> list[str]:
    """Return the command lines of the programs that led to the process, each once."""
    own = _command({**reason["process"], "command": reason.get("command", "")})
    return [line for line in dict.fromkeys(map(_command, reason["launchedBy"])) if line != own]


def _task(reason: Reason) -> list[tuple[str, str]]:
    """Return the Task that made the file, and its source."""
    task = reason.get("task")
    if not task:
        return []
    ended = task.get("status", "")
    rows = [("task", task["label"] + (f", {ended}" if ended not in ("", "ok") else ""))]
    return rows + _list("source", _source(task.get("source", "").rstrip().splitlines()))


def _source(lines: list[str]) -> list[str]:
    """Return the first lines of a Task's source."""
    more = len(lines) - MOST_LINES
    shown = [line[:LONGEST_LINE] + (" …" if len(line) > LONGEST_LINE else "") for line in lines[:MOST_LINES]]
    return [*shown, f"… {more} more line{'s' if more > 1 else ''} (--as json)"] if more > 0 else shown


def _program(reason: Reason, folder: str | None) -> str:
    program, plan = reason.get("program"), reason.get("plan")
    name = reason.get("name") or (program["label"] if program else "an unknown program")
    if "notebook" in reason:
        return f"{name}  (a notebook)"
    copied = program and OF_SNAKEMAKE.fullmatch(f"{program.get('path', '').removesuffix(name)}")
    if not program or copied or "helper" in reason or name.startswith("rule "):
        return name
    facts = shorter_path(program.get("path", program["label"]), folder)
    version = f" of {moment(plan['modified'])}" if plan and "modified" in plan else ""
    return f"{name}  ({facts}{version})"


def _parameters(reason: Reason) -> list[str]:
    """Return the configurations of the maker; the program's own one without its title."""
    own = reason.get("program", {}).get("label", "")
    nodes = [node for node in (*reason["read"], *reason["carried"]) if node["iri"].startswith(CONFIGURATION)]
    named = [(node["label"], *node["label"].partition(": ")[::2]) for node in nodes]
    return [values if values and name.split(", version ")[0] == own else label for label, name, values in named]


def _notes(reason: Reason) -> list[str]:
    texts, others = newest([_note(reason, note) for note in reason.get("notes", ())])
    return [*texts, *filter(None, [others])]


def _note(reason: Reason, note: Note) -> str:
    """Return a note, with the thing that it is about unless that is the file."""
    of = "" if note["about"] == reason["target"] else "of the run, " if is_on_run(note) else "of the task, "
    return of + " ".join(line(note).split())


def _when(process: dict[str, str]) -> str:
    start, end = process.get("start", ""), process.get("end", "")
    took = duration(start, end) if end else "in progress"
    return ", ".join(part for part in (moment(start), took) if part) if start else ""


def _end(process: dict[str, str]) -> str:
    if "signal" in process:
        return f"signal {process['signal']}"
    return f"exit code {process['exitCode']}" if "exitCode" in process else ""


def _file(node: Node, folder: str | None) -> str:
    name = (
        shorter_path(node["path"], folder)
        if "path" in node
        else node["label"]
        if node["type"] == RESULT
        else f"a {node['label']}"
    )
    facts = [size(node["size"])] if "size" in node and "path" in node else []
    facts += [f"of {moment(node['modified'])}"] if "modified" in node else []
    return "  ".join([name, ", ".join(facts)]).rstrip()


def _files(reason: Reason, nodes: list[Node], folder: str | None, fold: bool) -> list[str]:
    """Return files, one per line; `fold` combines many files of a folder that have no gap."""
    nodes = [node for node in nodes if not node["iri"].startswith(CONFIGURATION)]
    plumbing = Counter(node["label"] for node in nodes if node["type"] in PIPES and "path" not in node)
    nodes = [node for node in nodes if node["type"] not in PIPES or "path" in node]
    return [*_paths(reason, nodes, folder, fold), *map(_several, plumbing.items())]


def _several(pipes: tuple[str, int]) -> str:
    """Return the number of pipes or connections in words."""
    label, number = pipes
    return f"a {label}" if number == 1 else plural(number, label, "memory" if label == "memory" else "")


def _paths(reason: Reason, nodes: list[Node], folder: str | None, fold: bool) -> list[str]:
    if not fold:
        return [_file(node, folder) for node in nodes]
    noted = {gap["about"] for gap in reason["gaps"]}
    lines = folding.fold(nodes, lambda node: None if node["iri"] in noted else folding.folder_of(node))
    return [
        _file(one, folder) if not more else f"{folding.folder_name(one['path'], folder)}  {folding.facts([one, *more])}"
        for one, *more in lines
    ]


def _run(run: dict[str, str]) -> str:
    words = [local_name(run["iri"])]
    words += [f"({run['name']})"] if "name" in run else []
    words += [f"of campaign {run['campaign']}"] if "campaign" in run else []
    command: Any = run.get("commandLine", "")
    shown = _command({"argv": command}) if arguments(command) != [""] and not is_kernel(command) else ""
    return " ".join(words) + (f": {shown}" if shown else "")
