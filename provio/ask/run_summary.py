"""The summary of one run. In: its id and a store. Out: its own facts, jobs, gaps, programs, Tasks, declarations and
files, as rows or as lines of text.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from provio.ask import fold as folding
from provio.ask import key_prefix, notes, processes, run_uses, runs
from provio.ask.document import command_line, first_line
from provio.ask.nodes import configuration_summary, configuration_title
from provio.ask.suggestions import STATED
from provio.base.errors import NothingKnown
from provio.base.text import (
    cut_end,
    cut_list,
    cut_path,
    duration,
    fit,
    folded,
    moment,
    plural,
    printable,
    size,
    sortable,
)
from provio.base.vocab import RUN_BASE
from provio.lineage.identity import POOLED, SEALED
from provio.settings import home as homes
from provio.settings.home import Home
from provio.store import Reader
from provio.trace import output, read, run_source

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
MANY = 40
FEW = 5  # failed programs
ROOM = 60  # columns of a path
MANY_HOSTS = 4
OUTPUT_LINES = 10  # of standard output and of error
CONTROLS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")  # colours and similar
MOVED = (
    "?a a ?kind . FILTER(?kind IN (provio:Read, provio:Write))",
    "?v provio:wasReadBy|provio:wasWrittenBy ?a .",
    "?v prov:specializationOf ?f .",
    "?f provio:path ?path .",
)
TITLES = {  # of the column's width
    "configuration": "config", "checkpoint": "saved", "concluded": "merge", "dependency": "needs",
    "dependent": "used by", "transfer": "sent to", "arguments": "called", "exception": "error", "traceback": "",
    "restriction": "limits",
}  # fmt: skip


def facts(reader: Reader, run: str, home: Home | None = None) -> list[tuple[str, str, int | None]]:
    """Return the facts of a run by the columns of the table `show`.

    These are its own properties, the gaps that its traces state, the number of gaps that a merge concluded, each
    program that failed (`exit 3: COMMAND`) and each process, with their pids, the declarations of programs, and each
    file that it wrote or read with the number of bytes; system files are omitted. `home` has the files of the run;
    without it, that of the working folder.
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
        "end": runs.end(ended, reader),
        "user": _user(reader, iri),
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
    rows += [("job", text, None) for text in jobs(reader, iri)]
    stated_gaps, concluded = gaps(reader, run)
    rows += [("gap", reason, None) for reason in stated_gaps]
    rows += [("concluded", f"{plural(concluded, 'gap')}: provio query gaps {run}", None)] * bool(concluded)
    programs = processes.of_run(reader, iri)
    rows += [("failed", f"{end}: {one.command}", one.pid) for one, end in processes.failed(reader, programs)]
    rows += [("process", one.command, one.pid) for one in programs]
    rows += [("ranks", text, None) for text in _ranks(reader, iri)]
    rows += [("task", text, None) for text in _tasks(reader, iri)]
    rows += [(column, text, None) for column, text in declaration_rows(reader, iri)]
    rows += _output(run, home)
    moved = _files(reader, iri)
    rows += [("wrote", path, count) for path, count in moved["Write"]]
    return rows + [("read", path, count) for path, count in moved["Read"]]


def _user(reader: Reader, iri: str) -> str | None:
    query = f"SELECT DISTINCT ?name {{ <{iri}> prov:wasAssociatedWith ?u . ?u a provio:User ; provio:name ?name }}"
    return next((name for (name,) in reader.table(query)), None)


def _output(run: str, home: Home | None) -> list[tuple[str, str, int | None]]:
    """Return the lines of the recorded standard output and error of a run, each with the number of all bytes."""
    found: list[tuple[str, str, int | None]] = []
    try:
        folder = (home or homes.find()).runs / run
    except NothingKnown:  # a server has the graph, but no files of the run
        return found
    for one in output.of_run(folder, read.read_head(folder)) if run_source.exists(folder) else ():
        lines = one.text[-output.LAST :].decode("utf-8", "backslashreplace").splitlines()
        found += [(one.stream, line, one.size) for line in lines]
    return found


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
    lines += listed(rows, ("job", "gap", "concluded"), fold)
    lines += listed(rows, ("failed",), fold, FEW)
    lines += _programs(reader, RUN_BASE + run, width, unicode)
    lines += listed(rows, ("ranks", "task", *DECLARATION_TITLES, *FILES), fold)
    lines += _last_lines(rows)
    printed = (printable(line, unicode) for line in lines)
    cut = {"failed ": cut_end, "config ": cut_list}
    return "".join(
        (cut[line[:7]](line, width, unicode) if width and line[:7] in cut else line) + "\n" for line in printed
    )


def _last_lines(rows: Sequence[tuple[str, str, int | None]]) -> list[str]:
    """Return the last lines of the standard output and error, without control characters of terminals."""
    lines = []
    for title in ("stdout", "stderr"):
        found = [(value, number or 0) for column, value, number in rows if column == title]
        if found:
            total, left = found[-1][1], len(found) - OUTPUT_LINES
            more = f", {left} lines before these: --as json" if left > 0 else ""
            lines.append(f"{title:8} {size(total)} in all{more}")
            lines += [f"{'':8} {CONTROLS.sub('', value)}".rstrip() for value, _ in found[-OUTPUT_LINES:]]
    return lines


def _programs(reader: Reader, iri: str, width: int | None, unicode: bool) -> list[str]:
    """Return a line for each program of a run, with the number of its forks that executed no program."""
    programs = processes.programs(reader, processes.of_run(reader, iri))
    lines = []
    for one, forks in programs[:MANY]:
        count = f"({plural(forks, 'fork')})" if forks else ""
        parts = fit(f"process  {one.pid:>7}  {one.command}", count, width or sys.maxsize, unicode, path=False)
        lines.append("  ".join(filter(None, parts)))
    return lines + [f"{'':8} and {len(programs) - MANY} more"] * (len(programs) > MANY)


def listed(
    rows: Sequence[tuple[str, str, int | None]], titles: Sequence[str], fold: bool, most: int = MANY
) -> list[str]:
    """Return the lines of the facts with these titles, of each at most `most`; `fold` combines many files of a folder
    on one line."""
    lines = []
    for title in titles:
        known = [(value, number or 0) for column, value, number in rows if column == title]
        key = _folder if fold and title in FILES else lambda _: None
        groups = list(folding.fold(known, key))
        lines += [f"{TITLES.get(title, title):8} {_line(title, group)}" for group in groups[:most]]
        if len(groups) > most:
            lines.append(f"{'':8} and {len(groups) - most} more")
    return lines


def _folder(row: tuple[str, int]) -> str | None:
    return row[0].rpartition("/")[0]


def _line(title: str, rows: Sequence[tuple[str, int]]) -> str:
    value, _ = rows[0]
    if title not in FILES:
        return value
    files = "" if len(rows) == 1 else f"  {folding.count(len(rows))}"
    name = folding.folder_name(value, None) if files else value
    return f"{size(sum(moved for _, moved in rows)):>9}  {cut_path(name, ROOM - len(files))}{files}"


def gaps(reader: Reader, run: str) -> tuple[list[str], int]:
    """Return the reasons of the gaps that the traces of a run state, in the order of their IRIs, and the number of the
    gaps that a merge concluded about its processes and about the versions that it knows; `provio query gaps RUN`
    lists all of them."""
    stated, concluded = gap_reasons(reader, run)
    return stated, len(concluded)


def gap_reasons(reader: Reader, run: str) -> tuple[list[str], list[str]]:
    """Return the reasons of the gaps that the traces of a run state, and of those that a merge concluded, each in the
    order of their IRIs."""
    query = "SELECT DISTINCT ?gap ?about ?reason { ?gap a provio:Gap ; provio:about ?about ; provio:reason ?reason }"
    stated, others, reasons = {}, {}, {}
    for row in reader.rows(query):
        if row["gap"].startswith(f"{RUN_BASE}{run}/") and re.search(STATED, row["gap"]):
            stated[row["gap"]] = row["reason"]
        elif run_uses.run_of(row["gap"]) in ("", run):
            others[row["gap"]], reasons[row["gap"]] = row["about"], row["reason"]
    own = {about for about in others.values() if (about + "/").startswith(f"{RUN_BASE}{run}/")}
    known = run_uses.runs(reader, set(others.values()) - own) if others else {}
    own |= {about for about, runs in known.items() if run in runs}
    concluded = sorted(gap for gap, about in others.items() if about in own or run_uses.run_of(gap) == run)
    return [stated[gap] for gap in sorted(stated)], [reasons[gap] for gap in concluded]


def jobs(reader: Reader, iri: str) -> list[str]:
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
    """Return each Task with its attributes, its status, and the first line of the code that it executed; of the tasks
    of frameworks, the number of each prefix and status."""
    query = f"""SELECT ?t ?name ?kind ?status ?source WHERE {{
        ?t a provio:Task . FILTER(STRSTARTS(STR(?t), "{iri}/"))
        ?t provio:name ?name ; prov:startedAtTime ?start . OPTIONAL {{ ?t provio:kind ?kind }}
        OPTIONAL {{ ?t provio:status ?status }} OPTIONAL {{ ?t provio:sourceText ?source }} }} ORDER BY ?start"""
    found: list[str] = []
    counted, attributes = Counter[str](), declared_attributes(reader, iri)
    for row in reader.rows(query):
        name, kind = row["name"], row.get("kind")
        if kind in SEALED | POOLED:
            status = row.get("status", "ok" if kind in SEALED else "not ended")
            counted[f"{key_prefix.prefix(name) if kind in SEALED else name}  {status}"] += 1
            continue
        name += f" ({attributes[row['t']]})" if row["t"] in attributes else ""
        line = first_line({"iri": "", "type": "Task", "label": "", "source": row.get("source", "")})
        found.append("  ".join(part for part in (name, row.get("status", "not ended"), line) if part))
    return found + [f"{text}  ×{count:,}" if count > 1 else text for text, count in counted.items()]


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


# The declarations of its programs: configurations, metrics and checkpoints.


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
