"""Runs: the store in; the list of runs, the summary of one run, or a run found by name out."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import zip_longest
from typing import cast

import click

from provio.ask import fold as folding
from provio.ask import notes, run_uses
from provio.ask.document import command_line, first_line
from provio.ask.incomplete import Rows
from provio.ask.nodes import configuration_summary, configuration_title
from provio.ask.suggestions import STATED
from provio.base.errors import NothingKnown
from provio.base.text import (
    cut_end,
    cut_list,
    cut_path,
    duration,
    folded,
    moment,
    plural,
    printable,
    seconds,
    size,
    sortable,
)
from provio.base.times import Between
from provio.base.vocab import RUN_BASE
from provio.store import Reader

# The declarations of a run's programs: configurations, metrics and checkpoints as lines of text.


FILES = ("wrote", "read")
DECLARATION_TITLES = ("configuration", "metric", "checkpoint")
CONFIGURATIONS = """SELECT DISTINCT ?g ?name ?version ?whole (MIN(?at) AS ?first) { <%s> provio:hadConfiguration ?g .
    ?use prov:entity ?g ; prov:atTime ?at . FILTER(STRSTARTS(STR(?use), "%s/"))
    OPTIONAL { ?g provio:name ?name } OPTIONAL { ?g provio:version ?version } OPTIONAL { ?g provio:complete ?whole }
    } GROUP BY ?g ?name ?version ?whole ORDER BY ?first"""
METRICS = """SELECT DISTINCT ?m ?name ?at ?value ?step { <%s> provio:hadMetric ?m .
    ?m provio:name ?name ; provio:value ?value ; prov:generatedAtTime ?at OPTIONAL { ?m provio:step ?step } }"""
CHECKPOINTS = """SELECT DISTINCT ?c ?path ?step ?at { <%s> provio:hadCheckpoint ?c .
    ?c provio:path|provio:pathEncoded ?path ; prov:generatedAtTime ?at OPTIONAL { ?c provio:step ?step } }
    ORDER BY ?at ?c"""
ATTRIBUTES = """SELECT DISTINCT ?t ?s ?name ?value { ?t a provio:Task ; provio:hadSetting ?s .
    FILTER(STRSTARTS(STR(?t), "%s/")) ?s provio:name ?name ; provio:value ?value } ORDER BY ?t ?name"""
WIDTH = 80  # of the displayed attributes of a Task


def declaration_rows(reader: Reader, run: str) -> Iterator[tuple[str, str]]:
    """Yield (configuration, metric or checkpoint; its description); for metrics the last value of each name."""
    for row in reader.rows(CONFIGURATIONS % (run, run)):
        if "g" in row:
            yield "configuration", _configuration(reader, row)
    for name, (count, last) in sorted(_metrics(reader, run).items()):
        several = f", the last of {count}" if count > 1 else ""
        yield "metric", f"{name} {last['value']}{_step(last)}{several}"
    for row in reader.rows(CHECKPOINTS % run):
        yield "checkpoint", cut_path(row["path"], 60) + _step(row)


def declared_attributes(reader: Reader, run: str) -> dict[str, str]:
    """Return the attributes declared at the start of each Task and later, by its IRI."""
    found: dict[str, list[str]] = {}
    for row in reader.rows(ATTRIBUTES % run):
        found.setdefault(row["t"], []).append(f"{row['name']} {row['value']}")
    lines = {task: ", ".join(attributes) for task, attributes in found.items()}
    return {task: line if len(line) <= WIDTH else line[: WIDTH - 1] + "…" for task, line in lines.items()}


def _configuration(reader: Reader, row: dict[str, str]) -> str:
    cut_short = " (not all of it: the program ended before)" if row.get("whole") == "false" else ""
    title = configuration_title(row.get("name", ""), row.get("version"))
    return configuration_summary(reader, row["g"], title + cut_short)


def _metrics(reader: Reader, run: str) -> dict[str, tuple[int, dict[str, str]]]:
    """Return the number of values and the last value of each metric; a GROUP BY in the store is slower for so many."""
    found: dict[str, tuple[int, dict[str, str]]] = {}
    for row in reader.rows(METRICS % run):
        count, last = found.get(row["name"], (0, row))
        found[row["name"]] = count + 1, max(last, row, key=lambda one: sortable(one["at"]))
    return found


def _step(row: dict[str, str]) -> str:
    return f", step {row['step']}" if "step" in row else ""


LISTING = """SELECT ?run ?start ?end ?exit ?signal ?name ?campaign ?argv WHERE {
    ?bundle provio:ofRun ?iri . OPTIONAL { ?iri provio:commandLine ?argv }
    OPTIONAL { ?iri prov:startedAtTime ?start } OPTIONAL { ?iri prov:endedAtTime ?end }
    OPTIONAL { ?iri provio:exitCode ?exit } OPTIONAL { ?iri provio:signal ?signal }
    OPTIONAL { ?iri provio:name ?name } OPTIONAL { ?iri provio:campaign ?campaign }
    BIND(STRAFTER(STR(?iri), "/run/") AS ?run) } ORDER BY ?run"""
MANY = 40
ROOM = 60  # columns of a path
MANY_HOSTS = 4
MOVED = (
    "?a a ?kind . FILTER(?kind IN (provio:Read, provio:Write))",
    "?v provio:wasReadBy|provio:wasWrittenBy ?a .",
    "?v prov:specializationOf ?f .",
    "?f provio:path ?path .",
)
TITLES = {"configuration": "config", "checkpoint": "saved", "concluded": "merge"}  # of the column's width


def chosen(
    reader: Reader, campaign: str | None, name: str | None, between: Between | None = None, run: str | None = None
) -> list[str] | None:
    """Return the ids of the runs of a campaign, of a name, that started between two times, or of all of these; None
    for all runs if nothing is given. Seconds in `between` count from the start of `run`.

    Raises NothingKnown if there is no such run.
    """
    wanted = {key: value for key, value in (("campaign", campaign), ("name", name)) if value is not None}
    if not wanted and not between:
        return None
    every = list(reader.rows(LISTING))
    period = _period(every, between, run) if between else None
    found = [row for row in every if all(row.get(key) == value for key, value in wanted.items())]
    if not found:
        words = " and ".join(f"{key} {value!r}" for key, value in wanted.items())
        raise NothingKnown(f"no run has the {words} (provio runs lists them)")
    if period:
        found = [row for row in found if _started(row, *period)]
    if not found and period:
        first, last = (moment(time.isoformat()) for time in period)
        raise NothingKnown(f"no such run started between {first} and {last}")
    return [row["run"] for row in found]


def _period(rows: Iterable[dict[str, str]], between: Between, run: str | None) -> tuple[datetime, datetime]:
    """Return two times, of which some may be seconds from the start of a run."""
    if not any(isinstance(end, timedelta) for end in between):
        return cast("tuple[datetime, datetime]", between)
    if run is None:
        raise click.UsageError(
            "seconds in --between count from the start of a run: name it with --run, for a FILE, or give times"
        )
    start = next((row["start"] for row in rows if row["run"] == run and "start" in row), None)
    if start is None:
        raise NothingKnown(f"the start of run {run} is not recorded: give times to --between")
    began = datetime.fromisoformat(start)
    try:
        first, last = (began + end if isinstance(end, timedelta) else end for end in between)
    except OverflowError as error:
        raise click.UsageError("--between: so many seconds from the start of the run are no time") from error
    return first, last


def _started(row: dict[str, str], first: datetime, last: datetime) -> bool:
    return "start" in row and first <= datetime.fromisoformat(row["start"]) <= last


def listing(
    reader: Reader,
    only: Collection[str] | None = None,
    extent: Callable[[str], tuple[int, int] | None] = lambda _: None,
) -> list[dict[str, str | int | float | None]]:
    """Return the list of runs (`only` these ids), oldest first, each by the columns of the table `runs`.

    `end` is an exit code or a signal; `extent` returns the bytes and the number of files of a run, or None if its
    data was removed.
    """
    found = []
    for row in reader.rows(LISTING):
        if only is not None and row["run"] not in only:
            continue
        taken = extent(row["run"]) or (None, None)
        cells: dict[str, str | int | float | None] = {
            "run": row["run"],
            "start": row.get("start"),
            "seconds": seconds(row["start"], row["end"]) if "start" in row and "end" in row else None,
            "end": _end(row, reader),
            "name": row.get("name"),
            "campaign": row.get("campaign"),
            "size": taken[0],
            "files": taken[1],
            "command": command_line({"iri": "", "type": "Run", "label": "", "argv": row.get("argv", "")}),
        }
        found.append(cells)
    return found


def shortest(reader: Reader) -> int:
    """Return the number of characters of a run's id that distinguish all runs: a table shows so many."""
    ids = [row["run"] for row in reader.rows(LISTING)]
    return next((n for n in (13, 18, 23) if len({run[:n] for run in ids}) == len(ids)), 36)


def _end(row: dict[str, str], reader: Reader) -> str:
    if row["run"] in reader.in_progress:
        return "in progress"
    if "signal" in row:
        return f"signal {row['signal']}"
    return f"exit {row['exit']}" if "exit" in row else "ended" if "end" in row else "not seen"


def title(reader: Reader, run: str) -> str:
    """Return the title of a run: its name, if it has one, its command and its start time."""
    row = next(row for row in reader.rows(LISTING) if row["run"] == run)
    command = command_line({"iri": "", "type": "Run", "label": "", "argv": row.get("argv", "")})
    words = f"{cut_path(command, 80)} – {moment(row['start'])}" if "start" in row else command or run
    return f"{row['name']}: {words}" if "name" in row else words


LAST = re.compile(r"last(?:~(\d{1,6}))?")


def counted_back(name: str, ids: Sequence[str]) -> str | None:
    """Return the run that `last`, or `last~N` (the run N before it), means among ids, oldest first; None if there are
    none.

    Raises NothingKnown if there are fewer runs.
    """
    found = LAST.fullmatch(name)
    back = int((found and found[1]) or 0)
    if back and back >= len(ids):
        raise NothingKnown(f"there is no {name}: {plural(len(ids), 'run')} recorded (provio runs lists them)")
    return ids[-1 - back] if ids else None


def find(reader: Rows, name: str, start: bool = True) -> str | None:
    """Return the id of the run that `name` refers to: `last`, `last~1`, an id, a prefix of one (unless not `start`),
    or the name of a run (the newest)."""
    rows = list(reader.rows(LISTING))
    if not name:
        return None
    if LAST.fullmatch(name):
        return counted_back(name, [row["run"] for row in rows])
    named = [row["run"] for row in rows if row.get("name") == name or row["run"] == name]
    starting = [row["run"] for row in rows if start and row["run"].startswith(name)]
    if not named and len(starting) > 1:
        raise NothingKnown(f"several runs start with {name!r}: give more of the id ({', '.join(starting[:2])} …)")
    return (named or starting)[-1] if named or starting else None


def facts(reader: Reader, run: str) -> list[tuple[str, str, int | None]]:
    """Return the facts of a run by the columns of the table `show`.

    These are its own properties, the gaps that its traces state, the number of gaps that a merge concluded, each
    process with its pid, the declarations of programs, and each file that it wrote or read with the number of bytes;
    system files are omitted.
    """
    iri = RUN_BASE + run
    stated: dict[str, str] = {}
    for row in reader.rows(f"SELECT ?p ?o {{ <{iri}> ?p ?o FILTER(isLiteral(?o)) }}"):
        stated[re.sub(r".*[#/]", "", row["p"])] = row["o"]
    words = {"signal": "signal", "exitCode": "exit", "endedAtTime": "end"}
    ended = {"run": run} | {word: stated[name] for name, word in words.items() if name in stated}
    known = {
        "run": run,
        "name": stated.get("name"),
        "campaign": stated.get("campaign"),
        "command": command_line({"iri": "", "type": "Run", "label": "", "argv": stated.get("commandLine", "")}),
        "start": stated.get("startedAtTime"),
        "finish": stated.get("endedAtTime"),
        "end": _end(ended, reader),
        "host": stated.get("host"),
        "folder": stated.get("cwd"),
        "system": stated.get("system"),
        "kernel": stated.get("kernel"),
        "cpu": stated.get("cpu"),
        "git": stated.get("gitCommit"),
        "changes": stated.get("gitDirty"),
    }
    rows: list[tuple[str, str, int | None]] = [(column, value, None) for column, value in known.items() if value]
    rows += [("note", notes.line(note), None) for note in notes.of(reader, [iri])]
    rows += [("job", text, None) for text in _jobs(reader, iri)]
    stated_gaps, concluded = gaps(reader, run)
    rows += [("gap", reason, None) for reason in stated_gaps]
    rows += [("concluded", f"{plural(concluded, 'gap')}: provio query gaps {run}", None)] * bool(concluded)
    rows += [("process", command, pid) for pid, command in _processes(reader, iri)]
    rows += [("ranks", text, None) for text in _ranks(reader, iri)]
    rows += [("task", text, None) for text in _tasks(reader, iri)]
    rows += [(column, text, None) for column, text in declaration_rows(reader, iri)]
    moved = _files(reader, iri)
    rows += [("wrote", path, count) for path, count in moved["Write"]]
    return rows + [("read", path, count) for path, count in moved["Read"]]


def show(reader: Reader, run: str, width: int | None = None, unicode: bool = True, fold: bool = False) -> str:
    """Return the summary of a run as lines of text; `fold` combines many files of a folder on one line. The description
    of the system continues on a next line if it is longer than `width` columns; command lines of processes are cut."""
    rows = facts(reader, run)
    stated = {column: value for column, value, number in rows if number is None}
    lines = [f"run      {run}" + (f"  ({stated['name']})" if "name" in stated else "")]
    if "campaign" in stated:
        lines.append(f"campaign {stated['campaign']}")
    lines.append("command  " + stated.get("command", ""))
    if "start" in stated:
        took = f", {duration(stated['start'], stated['finish'])}" if "finish" in stated else ""
        lines.append(f"when     {moment(stated['start'])}{took}, {stated['end']}")
    lines.append(f"where    {stated.get('host', '?')}:{stated.get('folder', '?')}")
    system = f"{stated.get('system', '?')}, Linux {stated.get('kernel', '?')}, {stated.get('cpu', '?')}"
    parts = [system] if width is None else folded(system, max(width - 9, 20), unicode)
    lines += [f"{title:8} {part}" for title, part in zip_longest(["system"], parts, fillvalue="")]
    if "git" in stated:
        lines.append(f"git      {stated['git']}{' and changes' if stated.get('changes') == 'true' else ''}")
    lines += notes.lines((value for column, value, _ in rows if column == "note"), width, unicode)
    lines += listed(rows, ("job", "gap", "concluded", "process", "ranks", "task", *DECLARATION_TITLES, *FILES), fold)
    printed = (printable(line, unicode) for line in lines)
    cut = {"process": cut_end, "config ": cut_list}
    return "".join(
        (cut[line[:7]](line, width, unicode) if width and line[:7] in cut else line) + "\n" for line in printed
    )


def listed(rows: Sequence[tuple[str, str, int | None]], titles: Sequence[str], fold: bool) -> list[str]:
    """Return the lines of the facts with these titles; `fold` combines many files of a folder on one line."""
    lines = []
    for title in titles:
        known = [(value, number or 0) for column, value, number in rows if column == title]
        key = _folder if fold and title in FILES else lambda _: None
        groups = list(folding.fold(known, key))
        lines += [f"{TITLES.get(title, title):8} {_line(title, group)}" for group in groups[:MANY]]
        if len(groups) > MANY:
            lines.append(f"{'':8} and {len(groups) - MANY} more")
    return lines


def _folder(row: tuple[str, int]) -> str | None:
    return row[0].rpartition("/")[0]


def _line(title: str, rows: Sequence[tuple[str, int]]) -> str:
    value, number = rows[0]
    if title == "process":
        return f"{number:>7}  {value}"
    if title not in FILES:
        return value
    files = "" if len(rows) == 1 else f"  {folding.count(len(rows))}"
    name = folding.folder_name(value, None) if files else value
    return f"{size(sum(moved for _, moved in rows)):>9}  {cut_path(name, ROOM - len(files))}{files}"


def gaps(reader: Reader, run: str) -> tuple[list[str], int]:
    """Return the reasons of the gaps that the traces of a run state, in the order of their IRIs, and the number of the
    gaps that a merge concluded about its processes and about the versions that it knows; `provio query gaps RUN`
    lists all of them."""
    query = "SELECT DISTINCT ?gap ?about ?reason { ?gap a provio:Gap ; provio:about ?about ; provio:reason ?reason }"
    stated, others = {}, {}
    for row in reader.rows(query):
        if row["gap"].startswith(f"{RUN_BASE}{run}/") and re.search(STATED, row["gap"]):
            stated[row["gap"]] = row["reason"]
        elif run_uses.run_of(row["gap"]) in ("", run):
            others[row["gap"]] = row["about"]
    own = {about for about in others.values() if (about + "/").startswith(f"{RUN_BASE}{run}/")}
    known = run_uses.runs(reader, set(others.values()) - own) if others else {}
    own |= {about for about, runs in known.items() if run in runs}
    count = sum(about in own or run_uses.run_of(gap) == run for gap, about in others.items())
    return [stated[gap] for gap in sorted(stated)], count


def _processes(reader: Reader, iri: str) -> list[tuple[int, str]]:
    query = f"""SELECT ?argv ?pid WHERE {{ ?p a provio:Process ; provio:partOf <{iri}> ; provio:pid ?pid ;
        prov:startedAtTime ?start . OPTIONAL {{ ?p provio:argv ?argv }} }} ORDER BY ?start ?pid"""
    return [
        (int(row["pid"]), command_line({"iri": "", "type": "Process", "label": "", "argv": row.get("argv", "")}))
        for row in reader.rows(query)
    ]


def _jobs(reader: Reader, iri: str) -> list[str]:
    """Return each batch job of a run: its number and index, hosts, partition, account and resources."""
    words = ("Id", "ArrayIndex", "Nodes", "Partition", "Account", "Resources")
    each = " ".join(f"OPTIONAL {{ ?j provio:job{word} ?{word} }}" for word in words)
    query = f"SELECT * WHERE {{ <{iri}> provio:inJob ?j . {each} }} ORDER BY ?Id ?ArrayIndex"
    found = []
    for row in reader.rows(query):
        named = [f"{word.lower()} {row[word]}" for word in ("Partition", "Account") if word in row]
        index, nodes = (f"[{row['ArrayIndex']}]" if "ArrayIndex" in row else ""), row.get("Nodes")
        head = row.get("Id", "?") + index + (f" on {nodes}" if nodes else "")
        found.append(", ".join([head, *named, *([row["Resources"]] if "Resources" in row else [])]))
    return found


def _ranks(reader: Reader, iri: str) -> list[str]:
    """Return each parallel program: the number of its recorded ranks, the launcher that numbered them, the hosts."""
    query = f"""SELECT DISTINCT ?r ?size ?launcher ?host {{
        ?r a provio:Rank . FILTER(STRSTARTS(STR(?r), "{iri}/"))
        ?r provio:host ?host .
        OPTIONAL {{ ?r provio:worldSize ?size }} OPTIONAL {{ ?r provio:launcher ?launcher }} }}"""
    programs: dict[str, list[dict[str, str]]] = {}
    for row in sorted(reader.rows(query), key=lambda row: (row["r"], row["host"])):
        programs.setdefault(row["r"].rpartition("/")[0], []).append(row)
    return [_program(rows) for rows in programs.values()]


def _program(rows: list[dict[str, str]]) -> str:
    count, size = len({row["r"] for row in rows}), max(int(row.get("size", 0)) for row in rows)
    hosts = sorted({row["host"] for row in rows})
    where = ", ".join(hosts[:MANY_HOSTS]) + (f" and {len(hosts) - MANY_HOSTS} more" if len(hosts) > MANY_HOSTS else "")
    launcher = f" ({rows[0]['launcher']})" if "launcher" in rows[0] else ""
    return f"{count}{f' of {size}' if size else ''}{launcher} on {where}"


def _tasks(reader: Reader, iri: str) -> list[str]:
    """Return each Task with its attributes, its status, and the first line of the code that it executed."""
    query = f"""SELECT ?t ?name ?status ?source WHERE {{
        ?t a provio:Task . FILTER(STRSTARTS(STR(?t), "{iri}/"))
        ?t provio:name ?name ; prov:startedAtTime ?start .
        OPTIONAL {{ ?t provio:status ?status }} OPTIONAL {{ ?t provio:sourceText ?source }} }} ORDER BY ?start"""
    rows, attributes = [], declared_attributes(reader, iri)
    for row in reader.rows(query):
        name = row["name"] + (f" ({attributes[row['t']]})" if row["t"] in attributes else "")
        line = first_line({"iri": "", "type": "Task", "label": "", "source": row.get("source", "")})
        rows.append("  ".join(part for part in (name, row.get("status", "not ended"), line) if part))
    return rows


def _own_names(reader: Reader, run: str, known: dict[str, set[str]]) -> dict[str, str]:
    """Return the first of the names that each of these versions had in a run."""
    from provio.ask.version_names import Names  # slow to load, and most versions have one name

    names = Names(reader)
    names.load(known)
    had = {version: paths & {*map(os.fsdecode, names.names_in(version, run))} for version, paths in known.items()}
    return {version: min(had[version] or paths) for version, paths in known.items()}


def _files(reader: Reader, iri: str) -> dict[str, list[tuple[str, int]]]:
    """Return the files that a run read and wrote, each with the number of bytes; system files are omitted."""
    run = iri.removeprefix(RUN_BASE)
    every = run_uses.of_run(run)
    if run_uses.is_most(reader, run):  # read each property completely, and use hash joins
        every = "" if run_uses.is_only_one(reader) else f'FILTER(STRSTARTS(STR(?a), "{iri}/"))'
        parts, join = [every], "{{ SELECT * {{ {} }} }}"
    else:  # look up each activity
        activities = (row[0] for row in reader.table(f"SELECT ?a {{ {every} }}"))
        parts, join = [*run_uses.values("a", activities)], "{}"
    known: dict[str, dict[str, list[int]]] = {}
    for part in parts:
        query = f"""SELECT ?v ?path (IF(?kind = provio:Write, 1, 0) AS ?k) ?b {{
            {join.format(part + " ?a provio:bytes ?b .")} {" ".join(map(join.format, MOVED))} }}"""
        for version, path, kind, count in reader.table(query):
            sums = known.setdefault(version, {}).setdefault(path, [-1, -1])
            sums[int(kind)] = max(sums[int(kind)], 0) + int(count)
    for (version,) in reader.table(f"SELECT DISTINCT ?v {{ {every} ?a provio:usedAsNoise ?v }}"):
        known.pop(version, None)
    several = _own_names(reader, iri, {version: {*paths} for version, paths in known.items() if len(paths) > 1})
    found: tuple[dict[str, int], dict[str, int]] = {}, {}
    for version, paths in known.items():
        path = several[version] if version in several else next(iter(paths))
        for total, moved in zip(found, paths[path], strict=True):
            if moved >= 0:
                total[path] = total.get(path, 0) + moved
    return {kind: sorted(total.items()) for kind, total in zip(("Read", "Write"), found, strict=True)}
