"""Rows of plain values as a table, JSON, CSV or TSV. In: the name of a table of `TABLES`, and its rows.

For programs: `json` is a list of objects with the columns' names, with numbers as numbers and null for unknown values;
`csv` follows RFC 4180, with an apostrophe before text that a spreadsheet would take for a formula; `tsv` has one row
per line, with tabs, line ends and backslashes written as `\\t`, `\\n`, `\\r` and `\\\\`. Their columns are stable: a
new column comes last. Control characters are escaped in all forms. `python -m provio.render.records` makes
docs/output.md from `TABLES`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from provio.base import common_names
from provio.base.records import frozen
from provio.base.table import align
from provio.base.text import printable
from provio.render import rows as terms

Value = str | int | float | bool | list[Any] | dict[str, Any] | None
Row = Sequence[Value]


class Column(NamedTuple):
    """A column: its name, its type (`text`, `integer`, `number`, `boolean`, `time`; `value`: any), its content."""

    name: str
    kind: str
    content: str


@frozen
class Table:
    """The columns of a verb's rows, and a description of its JSON if that is more than a list of the rows."""

    columns: tuple[Column, ...]
    document: str = ""

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return [column.name for column in self.columns]


def _table(text: str, document: str = "") -> Table:
    """Return a table from a text with one column per line: name, type, content."""
    lines = [line.split(maxsplit=2) for line in text.strip().splitlines()]
    return Table(tuple(Column(*line) for line in lines), document)


TABLES = {
    "runs": _table("""
        run text its id
        start time its start
        seconds number its duration
        end text `exit CODE`, `signal NUMBER`, `ended` of one without either, `not seen`; the time in a later release
        name text its name
        campaign text its campaign
        size integer bytes that its files take on the disk
        files integer number of its files: one after it is archived
        command text its command line
        notes value the notes on it: in JSON objects with `time`, `user` and `text`, else the texts with `; ` between
    """),
    "campaigns": _table("""
        campaign text its name
        runs integer the number of its runs
        hosts value the hosts of its processes: in JSON a list, else with `, ` between
        records value the `.provio` folders with its runs, in the same way
        start time the start of its first run
        end time the last known end of a run; empty while one is in progress
        state text `in progress`, `failed` if a run failed, `ended` if the end of one is not known, else `ok`
        states value the number of its runs by state: in JSON an object, else as in `2 ok, 1 failed`
        ties value runs that read files of others: in JSON objects of `maker`, `reader` (ids), `files`; else these three
    """),
    "files": _table("""
        path text its path
        bytes integer its size in this version
        time time its modification time in this version
        run text the id of the run that wrote this version; empty if none did
        read_by text the id of the newest run that read it; empty if none did
        iri text its IRI in the graph
    """),
    "find": _table("""
        kind text `file`, `run`, `program` or `task`
        name text the path of a file or program, the id of a run, the name of a task
        time time of a file its modification, of a run or task its start, of a program the start of the last run with it
        bytes integer size of a file
        run text the id of the newest run that made the file or, if there is none, used it; that of the task
        how text why it was found: `name`, `command`, `note`, `same SHA-256`, parameters, packages …
        iri text its IRI in the graph
    """),
    "tasks": _table("""
        name text its name: of a task of Dask its key
        kind text `dask`, `cell`, `function` …
        worker text the address of the worker that ran it, or the process: PID@HOST
        start time its start
        seconds number its duration; empty for an unfinished one
        status text `ok`, `error`, `unfinished`, or another word of the program
        bytes_read integer bytes that it read from files; those of system files do not count
        bytes_written integer bytes that it wrote to files
        attempt integer of a key of Dask the number of the attempt, from 1: after a retry or a recomputation 2 or more
        prefix text of a key of Dask its prefix (`inc` of `inc-4a1b…`), else the name
        bytes_result integer bytes of its result, as Dask estimates them
        priority text of a key of Dask its priority in the scheduler: minus that of the user, generation, order
        restrictions text of a key of Dask its `workers`, `hosts`, `resources`, `retries` and annotations, as JSON
        run text the id of the run
        iri text its IRI in the graph
    """),
    "tasks --by prefix": _table("""
        prefix text the prefix of the keys, or the name of the tasks
        kind text their kinds, with `, ` between
        tasks integer their number
        median number the median of their durations (s)
        percentile_5 number the duration (s) that 5 % of them do not exceed
        percentile_95 number the duration (s) that 95 % of them do not exceed
        seconds number the sum of their durations
        bytes_read integer bytes that they read from files
        bytes_written integer bytes that they wrote to files
        files integer the number of the files
        bytes_transferred integer bytes of their results that workers sent each other
        failed integer the number of those that failed
    """),
    "tasks --by worker": _table("""
        worker text the address of the worker, or the process: PID@HOST
        kind text the kinds of its tasks, with `, ` between
        tasks integer their number
        median number the median of their durations (s)
        percentile_5 number the duration (s) that 5 % of them do not exceed
        percentile_95 number the duration (s) that 95 % of them do not exceed
        seconds number the sum of their durations
        bytes_read integer bytes that they read from files
        bytes_written integer bytes that they wrote to files
        files integer the number of the files
        bytes_transferred integer bytes of results that it received from other workers
        failed integer the number of tasks that failed
    """),
    "note": _table("""
        number integer its number, for `--remove`
        time time when it was written
        user text its user; empty if users are not recorded
        text text its text
    """),
    "show": _table("""
        what text kind of fact: of a run `run` … `note`, `gap`, `concluded` (by merge), `failed` (a program), `wrote` …
        value text the fact: a command line, the path of a file, a declaration; of a Task also lines of its source
        number integer the process's pid; the number of bytes read, written or transferred, or of a result
    """),
    "lineage": _table(
        """
        type text the class, such as `FileVersion` or `Phase`
        label text a short name
        via text its tie: `data`, `carried`, `control`, `code`
        depth integer steps from file to file
        path text the path of a file
        run text the id of the run of a process
        start time the start of a process
        iri text its IRI in the graph
        gap text the unobserved data
        stale text with --stale, the reason why it is stale
    """,
        "the [lineage document](questions.md), complete: pipes and temporary files, which forms for people "
        "[draw through](lineage.md#how-answers-draw-lineage), are among its nodes. `command` of a process is the "
        "command line as its user typed it, if the recorded one (`argv`) is another, `notebook` the notebook of a "
        "cell. `notes` are those of users about the nodes and their runs (`about`, `time`, `user`, `text`). Of tasks "
        "of [frameworks](tasks.md): `task` and `prefix` of a node, the workers that may have `kept` data, and the "
        "`messages` that each process sent and received",
    ),
    "why": _table(
        """
        what text kind of fact: `path`, `command`, `params`, `read`, `launched` …, as in the text
        value text the fact
    """,
        "an object with all known facts; `notes` as in `lineage`",
    ),
    "impact": _table(
        """
        step integer position in an executable order
        path text the product
        state text `there`; for an input of a later product also `gone` or `earlier`
        command text the command that made it
        in text the working folder of the command
        run text the id of the run of the command
    """,
        "an object with `targets`, `runs`, `steps` (the products, each with the steps that it comes `after`), "
        "`leftOut` and `gaps`. Each of `runs` is a command to repeat, in an executable order: `run`, `command` (for a "
        "shell), `arguments`, `cwd`, `redirections` (of its standard streams), `products`, `gone` (the products that "
        "are absent), `after` (the runs before it), `failed` (`exit 3`, `signal 9`), `process` (one of a shell)",
    ),
    "verify": _table(
        """
        state text the state of the file
        path text the file
        word text a remark
        run text the id of the run that made it, or else of one that used it
    """,
        "an object with `files` (the rows) and `counts`",
    ),
    "status": _table(
        """
        state text `stale`, `changed`, `failed`, `unsure`, `missing`, `unknown` or `current`
        path text the file; empty for a command without files, whose last run failed
        reason text why
        run text the id of the run that made it, or that failed
        time time when its input, or it, changed, or the run failed
        command text the command line of a run without files
    """,
        "an object with `files` (the rows), `counts`, `gaps` (ids of runs) and `record`",
    ),
    "declared": _table(
        """
        step text the step: a rule with its wildcards, a target, a stage
        difference text `undeclared input`, `undeclared output`, `declared input never read` or `declared output never written`
        path text the file
        run text the id of the run
    """,  # noqa: E501
        "an object with `tool`, `run`, `steps` (their names), `differences` (the rows) and `notes` (sentences)",
    ),
    "status --fair": _table("""
        fact text a fact about the results
        met text `yes`, `no`, or `partly` of a share
        metric text the metric of FAIRsFAIR (version 0.5) that it answers
        value text the value that shows it
    """),
    "doctor": _table("""
        level text `ok`, `note` or `problem`
        about text the subject of the check
        says text the result
        remedy text the remedy
    """),
    "config": _table("""
        key text the dotted name of a setting, or of an entry of a table
        value value as in a settings file; in JSON the value itself: text, number, boolean, list or object
        source text its source: a file and line, a variable, or `default`
    """),
    "query --list": _table("""
        question text its name
        asks text its title
        parameters text the names of its parameters, in their order; optional ones in brackets
    """),
    "params": _table(
        """
        run text the id of the run
        start time the start of the run
        name text the name of the run
        campaign text the campaign of the run
        program text the program of the run that used the parameters
        processes integer the number of its processes with these parameters
        parameters value in JSON an object; in CSV and TSV a column for each parameter instead
    """
    ),
    "metrics": _table("""
        run text the id of the run
        metric text the name of the metric
        value value its last value: a number, or text if it is not a number
        step integer the step of that value
        time time the time of that value
        count integer the number of its values
    """),
    "best": _table("""
        value value the best value of the metric: a number, or text if it is not a number
        step integer its step
        time time its time
        run text the id of the run
        configuration text the configurations in force: names and versions, as in `args 2, model 1`
        settings value the settings: in JSON an object, else `key = value` with `; ` between
        checkpoint text the path of a checkpoint that was saved with that value
    """),
    "checkpoint list": _table("""
        path text its path: a file or a folder
        step integer its step
        time time its time
        run text the id of the run
        configuration text the configurations in force: names and versions
        metrics value the metrics at that time: in JSON an object, else `name = value` with `; ` between
        settings value the settings, in the same way
    """),
    "checkpoint verify": _table("""
        key text the dotted name of a setting that differs
        checkpoint value the value in force for the checkpoint; empty if there is none
        configuration value the value in the file; empty if there is none
    """),
    "packages": _table("""
        type text its manager as in a package URL: `deb`, `pypi` …; `container`; `none` of a folder without a package
        name text its name; of software without a package the folder
        version text its version, as its manager writes it
        origin text its distribution, channel or repository
        opened integer the number of its files that were opened
        purl text its package URL
        files value these files: in JSON objects with `path` and `buildId`, else the paths with `, ` between
        present boolean whether the package of a file was not looked up after the run, but now: the file is unchanged
    """),
    "show --environment": _table("""
        layer text `hardware`, `system`, `job` or `application`
        name text the fact, such as `processor`; of another host that differs also `of HOST`
        value text the value; empty if it is not available
    """),
    "diff": _table("""
        configuration text its owner: a layer of the environment, `file`, a program, the name of a configuration
        key text the name of a fact, a file, an option or a setting
        first value the value in the first run; empty if there is none
        second value the value in the second run
        kind text `environment`, `code`, `parameters`, `inputs`, `graph`, `results`, `files`, `schedule` or `time`
        expected boolean whether such a difference is expected
        reason text a remark
        activity text the program or the kind of Task that it concerns; empty if it concerns the run
        text text of a changed script its text difference, if both versions are known; otherwise empty
    """),
    "repro": _table(
        """
        name text the path of a file that the runs made, relative to the folder of the run
        runs integer the number of runs that made it
        contents integer the number of its different contents; 0: unknown
        verdict text `identical`, `within bounds`, `deviates`, `differs` or `not compared`
        reason text the reason of the verdict; empty if it is identical
        bound number the bound that applies to it
        values integer the number of its numbers in the first run
        mean number the mean difference of its numbers from those of the first run, in the run least like that
        largest number the largest absolute difference of a number
        p number the p-value of the test of equivalence (TOST)
        ks number the largest statistic of the test of Kolmogorov and Smirnov
        ks_p number its p-value
        """,
        "an object: `date` (UTC), `versions`, `runs` (objects of `run`, `start`), `command` of the first run, "
        "`reproducible`, `verdicts` (their numbers), `results` (these rows), `performance`, `outliers` (by run), "
        "`schedule`, `io` (the rows below), `notes`; with `--only` the rows of one part",
    ),
    "repro --only performance": _table("""
        by text `phase`, `prefix`, `host` or `file`
        name text the name of the group
        layer text the called library; empty for a phase or prefix
        measure text `calls`, `bytes`, `nanoseconds` or `bytes_per_second`
        runs integer the number of runs that have the group
        mean number the mean of the runs
        deviation number the standard deviation of a sample
        variation number the coefficient of variation: deviation divided by mean
        least integer the smallest value
        most integer the largest value
        apart text the runs that are outliers, with a blank between
        quartiles number the interquartile range divided by the median
        low number the lower end of the bootstrap interval of the mean (95 %); empty without NumPy
        high number its upper end
    """),
    "repro --only schedule": _table("""
        run text the id of the run
        aligned integer the number of its activities that correspond to one of the first run
        alone integer the number of its other activities
        tau number Kendall's coefficient of the starts of both; empty for the first run, and without SciPy
        moved integer activities that another worker or host executed
        steals integer tasks that Dask moved to idle workers
        transfers integer results that workers received from others
        bytes integer the bytes of these results
        recomputed integer executions of keys of Dask after the first
    """),
    "repro --only io": _table("""
        activity text the activity in the first run: its command line, or the name of the Task
        measure text `operations`, `bytes_read`, `bytes_written` or `files`
        least integer the smallest value
        most integer the largest value
        values value the values by run: in JSON an object, else as in `RUN 2, RUN 3`
        iri text the activity in the first run
    """),
    "vocab": _table("""
        word text the term, with its prefix; for your own terms the IRI
        kind text `class` or `property`
        above text the terms above it, with `, ` between
        means text its meaning
        source text `provio`, or the file that defines it
    """),
    "validate": _table(
        """
        what text the checked run or file
        severity text `violation` or `lint`
        rule text the rule
        title text the condition that the rule checks
        graph text the graph with the finding
        message text the finding
    """,
        "an object with all checked rules and all findings",
    ),
}


def render(
    table: str | Sequence[str], rows: Iterable[Row], form: str, *, width: int | None = None, unicode: bool = True
) -> str:
    """Return the rows of a table of `TABLES`, or of columns that are documented elsewhere, in one of the forms; `width`
    and `unicode` apply only to `table`."""
    columns = TABLES[table].columns if isinstance(table, str) else tuple(Column(name, "text", "") for name in table)
    names = [column.name for column in columns]
    held: list[list[Value]] = [list(row) for row in rows]
    header: list[Value] = [*names]
    if form == "json":
        name = table if isinstance(table, str) else ""
        items = (common_names.completed(dict(zip(names, row, strict=True)), name) for row in held)
        body = ",\n".join(" " + json.dumps(item, ensure_ascii=True) for item in items)
        return f"[\n{body}\n]\n" if body else "[]\n"
    if form == "csv":
        fields = ((terms.csv_field(_harmless(cell)) for cell in row) for row in [header, *held])
        return "".join(",".join(row) + "\r\n" for row in fields)
    if form == "tsv":
        return "".join("\t".join(_tsv(cell) for cell in row) + "\n" for row in [header, *held])
    right = {column.name for column in columns if column.kind in ("integer", "number")}
    return align(names, [[_text(cell) for cell in row] for row in held], width=width, unicode=unicode, right=right)


def header(table: str, form: str) -> str:
    """Return the first line of a table whose rows come one by one; empty for `json`."""
    return "" if form == "json" else render(table, [], form)


def line(table: str, row: Row, form: str) -> str:
    """Return one row of such a table, as a line: an object in `json`, else as in the whole table."""
    whole = render(table, [row], form)
    return whole[len("[\n ") : -len("\n]\n")] + "\n" if form == "json" else whole.removeprefix(header(table, form))


def _text(value: Value) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _harmless(value: Value) -> str:
    text = terms.without_escapes(_text(value))
    return "'" + text if isinstance(value, str) and text.startswith(terms.FORMULA) else text


def _tsv(value: Value) -> str:
    special = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
    return re.sub(r"[\\\t\n\r]|[^ -~]", lambda found: special.get(found[0]) or printable(found[0]), _text(value))


INTRODUCTION = """# Output for programs

Made by `python -m provio.render.records`. Every verb that prints rows has `--as table|json|csv|tsv`. The default of
`lineage` and `why` is not a table; for `query` see below, for `stats` see [statistics.md](statistics.md).

| form | description |
|---|---|
| `table` | for people, aligned; it may be cut to the terminal's width, and its columns may change; command lines are quoted for a shell |
| `json` | a list of objects with the names below; numbers are numbers, and `null` is an unknown value. Some verbs print a larger document, which is named below |
| `csv` | RFC 4180, UTF-8, with a header; text that a spreadsheet would take for a formula (it starts with `=`, `+`, `-`, `@`) has an apostrophe before it |
| `tsv` | with a header, one row per line; a tab, line end or backslash in a value is `\\t`, `\\n`, `\\r`, `\\\\` |

The columns of `json`, `csv` and `tsv` are stable: names and types stay, a new column comes last. A `value` may have any type; a `time` is ISO 8601 in UTC, for
files and processes with the recorded digits. Control characters are escaped in every form (`\\x1b`).

JSON answers have common names for a `start`, `end`, `run`, `path`, `seconds` and `bytes`. Where the first release has
another name, both are there, the common one last: `size` and `bytes` (also of nodes in `lineage` and `why`),
`nanoseconds` and `seconds` (`stats`), others below. `end` of `runs` will be the time of the end in a later release, and
`exit CODE` only in `state`.

`run` is the id of a run in all rows, also of `lineage` and `impact` as CSV or TSV. In the larger documents it is the IRI
of the run in the graph, `https://w3id.org/provio/run/ID`: in the nodes of `lineage --as json` and in `runs` and `steps` of
`impact --as json`. In `why --as json` it is an object that describes the run.

`provio query` prints results as SPARQL 1.1 defines them: JSON (`head`, `results`), CSV and TSV of terms, with the same
protection for spreadsheets. The columns are those of the `SELECT` of the query ([queries.md](queries.md)). A table has
times in UTC as `2026-11-23 00:36:12 UTC`, with fractions in the whole column if two times would otherwise be equal.
"""  # noqa: E501


def page() -> str:
    """Return the reference of the verbs' rows, as Markdown."""
    return INTRODUCTION + "".join(_section(name, table) for name, table in TABLES.items())


def _section(name: str, table: Table) -> str:
    document = f"`--as json` is {table.document}.\n\n" if table.document else ""
    rows = "".join(f"| `{one.name}` | {one.kind} | {one.content} |\n" for one in table.columns)
    more = [f"`{one}` (= `{earlier}`)" for earlier, one in common_names.added(tuple(table.names), name)]
    also = f"\nJSON has also {' and '.join(more)}.\n" if more else ""
    return f"\n## {name}\n\n{document}| column | type | |\n|---|---|---|\n{rows}{also}"


if __name__ == "__main__":
    sys.stdout.write(page())
