"""The open record: questions of the verbs as methods, query results out."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from provio.api.compare import CompareQueries
from provio.api.live import LiveQueries
from provio.api.repro import ReproQueries
from provio.api.rerun import RerunQueries
from provio.api.rows import Rows
from provio.api.sparql import SparqlQueries, as_text
from provio.ask import session
from provio.base.common_names import all_completed
from provio.base.errors import BadQuery

if TYPE_CHECKING:
    from provio.api.lineage import Lineage
    from provio.ask.impact import Impact
    from provio.stats import Figures
    from provio.store import Reader
    from provio.store import Store as Open

Via = Literal["data", "carried", "control"]
Level = Literal["folder", "file", "dataset"]
RUN_COLUMNS = ("run", "start", "seconds", "end", "name", "campaign", "size", "files", "command", "notes")


class Store(SparqlQueries, LiveQueries, RerunQueries, CompareQueries, ReproQueries):
    """The record of one place, as `provio.open()` returns it; a context manager that has nothing to close.

    Each query covers everything that was recorded before it: pending runs are merged first, runs in progress are
    included in their current state. Other processes may write at the same time. `timeout` is in seconds; None means
    no limit.
    """

    def lineage(
        self,
        path: str | os.PathLike[str],
        *,
        forward: bool = False,
        level: Level | None = None,
        depth: int | None = None,
        via: Via | None = None,
        everything: bool = False,
        code: bool = False,
        timeout: float | None = None,
    ) -> Lineage:
        """Return the origins of a file or of FILE#/DATASET (`forward`: the products made from it).

        The result is a `networkx.DiGraph` of IRIs; see `provio.api.lineage.Lineage`. The options are those of `provio
        lineage`: at most `depth` steps, only ties at least as strong as `via` (without a value carried ties, but not
        data that a framework's worker kept from earlier tasks), with `everything` also system files,
        with `code` also programs. A relative path is relative to the current folder. Raises NothingKnown if nothing
        is recorded of the file, BadQuery for an invalid option value.
        """
        from provio.api.lineage import Lineage

        _check(via, level, depth)
        text, seconds = os.fspath(path), self.timeout if timeout is None else timeout
        if seconds is not None:
            flags = {"--forward": forward, "--all": everything, "--code": code}
            options = [*([f"--via={via}"] if via else ()), *(flag for flag, on in flags.items() if on)]
            options += [f"--level={level}"] if level else []
            options += [f"--depth={depth}"] if depth is not None else []
            output = self._in_child(["lineage", "--as", "json", *options, "--", text], seconds)
            return Lineage.of(json.loads(output))
        from provio.ask.lineage import answer
        from provio.ask.target import Targets, find

        reader = self._open()
        request = Targets(reader, [find(reader, text, None, None)], [text])
        options_ = {"forward": forward, "depth": depth, "via": via, "everything": everything, "code": code}
        return Lineage.of(answer(request, {**options_, "until": (), "level": level}, roots=False, stale=False))

    def runs(self) -> Rows:
        """Return all runs, oldest first.

        Columns: run (the id), start, seconds, end (`exit 0`, `signal 9`), name, campaign, size and files of the
        remaining data of the run (bytes, count), command, notes (their texts, with `; ` between; None for none).
        """
        from provio.ask import notes, runs

        reader = self._open()
        noted = {run: "; ".join(one["text"] for one in some) for run, some in notes.of_runs(reader).items()}
        found = ({**row, "notes": noted.get(str(row["run"]))} for row in runs.listing(reader))
        return Rows(RUN_COLUMNS, ([row.get(name) for name in RUN_COLUMNS] for row in found))

    def note(self, target: str | os.PathLike[str], text: str) -> None:
        """Add a note to a run, a Task, or the recorded version of a file, looked up as by `provio show`.

        Raises NothingKnown if there is no such thing, ProvioError if the text is empty or has more than 64,000 bytes,
        NotAllowed if the record cannot be written.
        """
        from provio.ask import noting

        found = noting.target(self._open(), os.fspath(target))
        noting.add(found, text.encode("utf-8", "surrogateescape"), self._home, self._settings())
        self._open()

    def notes(self, target: str | os.PathLike[str] | None = None) -> Rows:
        """Return the notes on a run, Task or file, or all notes, oldest first.

        Columns: time, user (None if users are not recorded), text, about (the IRI that the note is about).
        """
        from provio.ask import notes, noting

        reader = self._open()
        found = notes.every(reader) if target is None else noting.of(reader, noting.target(reader, os.fspath(target)))
        rows = ([one["time"], one.get("user"), one["text"], one["about"]] for one in found)
        return Rows(("time", "user", "text", "about"), rows)

    def show(self, run: str | os.PathLike[str] = "last") -> Rows:
        """Return the recorded facts of a run, Task, file, or object inside a file, looked up as by `provio show`.

        A run is given by its id, a prefix of the id, its name, or `last`. The rows have the columns `what`, `value`,
        `number` (the pid of a process, the bytes of a file); those of a file are the rows of `provio why`. Raises
        NothingKnown if there is no such thing, or no recorded process made the file.
        """
        from provio.ask import run_summary, tasks, things
        from provio.ask.nodes import is_member

        reader = self._open()
        one = things.named(reader, os.fspath(run))
        columns = ("what", "value", "number")
        if one.run:
            return Rows(columns, run_summary.facts(reader, one.run, self._home))
        if one.file is None:
            return Rows(columns, tasks.facts(reader, one.task, self._home))
        if is_member(one.file.iri):
            return Rows(columns, things.facts(reader, one.file))
        from provio.ask.why import why
        from provio.render.why import cells

        return Rows(columns, ([what, value, None] for what, value in cells(why(reader, one.file))))

    def why(self, path: str | os.PathLike[str]) -> dict[str, Any]:
        """Return the process that made a file, or FILE#/DATASET, as `provio why --as json` prints it.

        Raises NothingKnown if no recorded process made it.
        """
        from provio.ask.target import find
        from provio.ask.why import why

        reader = self._open()
        return all_completed({**why(reader, find(reader, os.fspath(path), None, None))})  # type: ignore[no-any-return]

    def verify(self, *names: str | os.PathLike[str], contents: bool = False) -> Rows:
        """Compare the files that runs wrote, or files, or (without arguments) all recorded files with the record.

        Columns: state, path, word (a remark), run. With `contents`, files that seem unchanged are read, too.
        """
        from provio.ask.verify import Verifier, of_names

        reader = self._open()
        found = of_names(Verifier(reader, contents), [os.fspath(name) for name in names])
        rows = ([one.state, os.fsdecode(one.path), one.word or None, one.run or None] for one in found)
        return Rows(("state", "path", "word", "run"), rows)

    def find(
        self,
        what: str | os.PathLike[str] | None = None,
        *,
        sha256: str | None = None,
        attributes: Mapping[str, object] | None = None,
        parameters: Mapping[str, object] | None = None,
        packages: Sequence[str] = (),
        everything: bool = False,
    ) -> Rows:
        """Return files, runs, programs and Tasks with a text or pattern in their names, command lines or notes, or
        files with the content of the file `what`, or with attributes inside the file; in the runs with these parameters
        and packages. The value None means any value.

        Columns: kind, name, time, bytes, run, how (why it was found), iri; newest first in each kind. `notes` of the
        rows are lines about possible further matches. Raises NothingKnown if nothing is found, BadQuery for wrong
        arguments.
        """
        import click

        from provio.ask import finding
        from provio.render import found as report
        from provio.render.records import TABLES

        text = None if what is None else os.fspath(what)
        wanted = finding.Wanted(
            text, sha256, _given(attributes), _given(parameters), tuple(packages), everything=everything
        )
        try:
            answer = finding.find(wanted, str(self._home.project), self._open())
        except click.UsageError as error:
            raise BadQuery(error.message) from None
        return Rows(TABLES["find"].names, map(report.cells, answer.found), answer.notes)

    def params(self, *run: str, everything: bool = False) -> Rows:
        """Return the parameters of these runs, or of all runs: a row for each run, or for each program of a run.

        Columns: run, start, name, campaign, program, processes (with these parameters), and a column for each parameter
        that differs between rows of a program, with `everything` for each parameter; None: the row has no such one.
        Raises NothingKnown if there are none.
        """
        from provio.ask import comparison, run_parameters

        reader = self._open()
        ids = _ids(reader, run)
        found = run_parameters.of_runs(reader, ids)
        keys = found.keys(everything)
        values = ([comparison.plain(row.values[key]) if key in row.values else None for key in keys]
                  for row in found.rows)  # fmt: skip
        rows = ([*row.cells(), *cells] for row, cells in zip(found.rows, values, strict=True))
        left_out = run_parameters.left_out(reader, ids, found)
        return Rows((*run_parameters.FIXED, *keys), rows, [left_out] if left_out else [])

    def metrics(self, *run: str) -> Rows:
        """Return the last value of each metric of these runs, or of all runs.

        Columns: run, metric (its name), value, step, time, count (of its values). Raises NothingKnown if there are
        none.
        """
        from provio.ask import comparison, run_metrics
        from provio.render.records import TABLES

        reader = self._open()
        ids = _ids(reader, run)
        found = run_metrics.of_runs(reader, ids)
        rows = ([one.run, one.name, comparison.plain(one.value), one.step, one.at, one.count] for one in found)
        left_out = run_metrics.left_out(reader, ids, found)
        return Rows(TABLES["metrics"].names, rows, [left_out] if left_out else [])

    def status(self, *paths: str | os.PathLike[str]) -> Rows:
        """Return the state of the project's recorded files, or of these files and folders, and the commands whose last
        run failed.

        Columns: state (`stale`, `changed`, `failed`, `unsure`, `missing`, `unknown`, `current`), path (absolute),
        reason, run (which made the file, or failed), time (of the change or failure), command (instead of a path).
        A relative path is relative to the current folder.
        """
        from provio.ask.status import place_of, status
        from provio.render.records import TABLES
        from provio.render.status import cells

        found = status(self._open(), place_of(str(self._home.project), [os.fspath(path) for path in paths]))
        return Rows(TABLES["status"].names, map(cells, found.rows))

    def impact(self, *paths: str | os.PathLike[str], code: bool = True) -> Impact:
        """Return the commands to repeat if files change (`runs`), in an executable order, and the products (`steps`).

        The dictionary is that of `provio impact --as json`. Without `code`, programs and scripts do not count. A
        relative path is relative to the current folder. Raises NothingKnown if nothing is recorded of a file.
        """
        from provio.ask.impact import of
        from provio.ask.target import Targets, find

        reader, texts = self._open(), [os.fspath(path) for path in paths]
        return of(Targets(reader, [find(reader, text, None, None) for text in texts], texts), code)

    def stats(self, *run: str) -> Figures:
        """Return the I/O statistics of these runs, or of all runs.

        The result offers `.by("api")`, `.totals()`, `.bottlenecks()` and `.rows("file")` (`provio.stats.Figures`);
        times are in nanoseconds, sizes in bytes.
        """
        from provio import stats
        from provio.base.vocab import RUN_BASE
        from provio.graph.lines import bundle_iri
        from provio.store import Confined

        reader = self._open()
        graphs = [bundle_iri(RUN_BASE + session.run_id(reader, name)) for name in run]
        seen: Reader = Confined(reader, graphs) if graphs else reader
        return stats.figures(seen, home=self._home)

    def merge(self) -> int:
        """Merge the pending runs, as every query does first; return the number of runs that are known afterwards."""
        from provio.ask import runs

        return len(runs.listing(self._open()))


def _ids(reader: Open, names: Iterable[str]) -> list[str] | None:
    """Return the ids of runs by their names, None without names."""
    return list(dict.fromkeys(session.run_id(reader, name) for name in names)) or None


def _check(via: object, level: object, depth: object) -> None:
    """Raise BadQuery for an invalid option value of a lineage query."""
    for name, given, allowed in (("via", via, (None, *get_args(Via))), ("level", level, (None, *get_args(Level)))):
        if given not in allowed:
            raise BadQuery(f"{name}: {given!r} is not allowed (allowed: {', '.join(map(repr, allowed))})")
    if depth is not None and (not isinstance(depth, int) or depth < 1):
        raise BadQuery(f"depth: {depth!r} is not allowed (allowed: a number of steps from 1 on, or None)")


def _given(values: Mapping[str, object] | None) -> tuple[str, ...]:
    """Return names and values in the form that the command line takes; a value of None means any value."""
    return tuple(name if value is None else f"{name}={as_text(value)}" for name, value in (values or {}).items())
