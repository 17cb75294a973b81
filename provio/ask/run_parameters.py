"""The parameters of runs, side by side. In: a reader and the runs. Out: a row for each run, or for each program of a
run, and the names of the parameters that differ between rows.

Processes of a run with the same parameters, such as ranks, are one row. Rows of the same program are compared with each
other; if no program has several rows, all rows are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from provio.ask import runs, unknown_values
from provio.ask.comparison import Value, last_part, of_term, rank, same
from provio.ask.experiments import Configuration, moment, run_of
from provio.ask.run_uses import values
from provio.ask.walk import batches
from provio.base.errors import NothingKnown
from provio.base.vocab import RUN_BASE
from provio.lineage.identity import without_task
from provio.settings.types import among
from provio.store import Store
from provio.trace.run_facts import PARAMETERS

NONE = "no parameters are recorded: declare them with provio.configuration(…)"
FIXED = ("run", "start", "name", "campaign", "program", "processes")  # columns before the parameters
FEW = 20  # runs: of so many, the processes are looked up; of more, all uses are read
PARTS = "SELECT DISTINCT ?part { %s ?part provio:partOf ?whole ; a provio:%s }"
USES = """SELECT DISTINCT ?at ?version ?place ?program { %s
    ?phase prov:qualifiedUsage ?use ; provio:partOf ?place . ?use prov:atTime ?at ; prov:entity ?version .
    ?version a provio:Configuration .
    OPTIONAL { ?phase prov:wasAssociatedWith ?agent . ?agent a provio:Program ; rdfs:label ?program } }"""
NAMES = "SELECT DISTINCT ?c ?name { %s ?c a provio:Configuration ; provio:name ?name }"
SETTINGS = """SELECT ?c ?key ?value ?type { VALUES ?c { %s }
    ?c prov:hadMember ?s . ?s provio:name ?key ; provio:value ?value BIND (DATATYPE(?value) AS ?type) }"""


@dataclass
class Row:
    """The parameters of one program of a run: `processes` of it used the same ones."""

    run: str
    start: str | None
    name: str | None
    campaign: str | None
    program: str
    processes: int
    configurations: list[Configuration]
    values: dict[str, Value] = field(default_factory=dict)

    def cells(self) -> list[str | int | None]:
        """Return its values of the columns `FIXED`."""
        return [self.run, self.start, self.name, self.campaign, self.program or None, self.processes]


@dataclass
class Table:
    """The rows, oldest run first; the names of all parameters, and of those that differ, both sorted."""

    rows: list[Row]
    every: list[str]
    differing: list[str]

    def keys(self, everything: bool) -> list[str]:
        """Return the parameters to show: of a single row all."""
        return self.every if everything or len(self.rows) == 1 else self.differing


def of_runs(store: Store, ids: Collection[str] | None) -> Table:
    """Return the parameters of these runs, None: of all; each as it was when its process ended.

    Raises NothingKnown if there are none.
    """
    rows = _rows(store, ids)
    if not rows:
        raise unknown_values.nothing(store, PARAMETERS, ids, NONE)
    _read_settings(store, rows)
    _name_values(rows)
    every = sorted({key for row in rows for key in row.values})
    return Table(rows, every, _differing(rows))


def left_out(store: Store, ids: Collection[str] | None, table: Table) -> str:
    """Return a line about the runs with values that are not known; empty if there are none."""
    return unknown_values.line(store, PARAMETERS, ids, {row.run for row in table.rows})


def ordered(table: Table, column: str) -> list[Row]:
    """Return the rows by one of `FIXED` or by a parameter, a whole name or its last part; ascending, rows without a
    value first. Raises NothingKnown for another name."""
    if column in FIXED:
        place = FIXED.index(column)
        if column == "processes":
            return sorted(table.rows, key=lambda row: row.processes)
        return sorted(table.rows, key=lambda row: str(row.cells()[place] or ""))
    key = column if column in table.every else next((one for one in table.every if last_part(one) == column), None)
    if key is None:
        near = among(column, [*FIXED, *table.every], "provio params --all shows")
        raise NothingKnown(f"no column or parameter {column!r}{near}")
    return sorted(table.rows, key=lambda row: _order(row.values.get(key)))


def _order(value: Value | None) -> tuple[bool, bool, float, str]:
    if value is None:
        return False, False, 0.0, ""
    no_number, number = rank(value)
    return True, no_number, number, str(value)


def _rows(store: Store, ids: Collection[str] | None) -> list[Row]:
    """Return the rows without their settings."""
    last: dict[str, dict[str, str]] = {}  # by process: its configurations, by name
    programs: dict[str, str] = {}
    uses, names = _uses(store, ids)
    for row in sorted(uses, key=lambda row: (moment(row["at"]), row["version"])):
        process = without_task(row["place"])
        last.setdefault(process, {})[names.get(row["version"], "")] = row["version"]
        programs.setdefault(process, row.get("program", ""))
    known = {row["run"]: row for row in store.rows(runs.LISTING)}
    every: dict[str, Configuration] = {}
    found: dict[tuple[str, tuple[str, ...]], Row] = {}
    for process, versions in last.items():
        run, used = run_of(process), tuple(versions[name] for name in sorted(versions))
        if (ids is not None and run not in ids) or run not in known:
            continue
        if (run, used) in found:
            found[run, used].processes += 1
            continue
        facts = known[run]
        held = [every.setdefault(iri, Configuration(iri, names.get(iri, ""))) for iri in used]
        found[run, used] = Row(
            run, facts.get("start"), facts.get("name"), facts.get("campaign"), programs[process], 1, held
        )
    order = {run: place for place, run in enumerate(known)}
    return sorted(found.values(), key=lambda row: order[row.run])  # sorted by run: of one run in the order of time


def _uses(store: Store, ids: Collection[str] | None) -> tuple[list[dict[str, str]], dict[str, str]]:
    """Return the uses of configurations, at least those of these runs, and the names of the used configurations."""
    if ids is None or len(ids) > FEW:
        return list(store.rows(USES % "")), {row["c"]: row["name"] for row in store.rows(NAMES % "")}
    new, kind, places = [RUN_BASE + run for run in ids], "Process", set[str]()
    while new:  # processes, their Tasks, the Tasks in these
        wholes = [store.rows(PARTS % (part, kind)) for part in values("whole", new)]
        new, kind = [row["part"] for rows in wholes for row in rows if row["part"] not in places], "Task"
        places.update(new)
    uses = [row for part in values("place", places) for row in store.rows(USES % part)]
    used = values("c", {row["version"] for row in uses})
    return uses, {row["c"]: row["name"] for part in used for row in store.rows(NAMES % part)}


def _read_settings(store: Store, rows: Iterable[Row]) -> None:
    """Read the settings of all configurations; equal names and types are stored once."""
    every = {one.iri: one for row in rows for one in row.configurations}
    texts: dict[str, str] = {}
    for batch in batches(every):
        for iri, key, value, kind in store.table(SETTINGS % " ".join(f"<{one}>" for one in batch)):
            every[iri].settings[texts.setdefault(key, key)] = of_term(value, kind)


def _name_values(rows: Sequence[Row]) -> None:
    """Fill in the values of rows: a key that two configurations of a row have, or a column, has the configuration's
    name before it in all rows."""
    double = set(FIXED)
    for row in rows:
        seen: set[str] = set()
        for one in row.configurations if row.configurations[1:] else ():
            double.update(seen.intersection(one.settings))
            seen.update(one.settings)
    for row in rows:
        for one in row.configurations:
            if row.configurations[1:] or not double.isdisjoint(one.settings):
                named = {_full(one, key) if key in double else key: value for key, value in one.settings.items()}
            else:
                named = one.settings
            row.values = named if not row.configurations[1:] else row.values | named


def _full(one: Configuration, key: str) -> str:
    return f"{one.name or 'configuration'}.{key}"


def _differing(rows: Sequence[Row]) -> list[str]:
    """Return the parameters that differ between rows of one program, or, if no program has two rows, between any."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.program, []).append(row)
    several = [group for group in groups.values() if group[1:]] or [list(rows)]
    found: set[str] = set()
    for first, *others in several:
        done: set[int] = set()
        for other in others:
            if id(other.values) in done or other.values is first.values:
                continue
            done.add(id(other.values))  # runs with equal parameters share them
            found.update(_unequal(first.values, other.values))
    return sorted(found)


def _unequal(first: dict[str, Value], second: dict[str, Value]) -> Iterable[str]:
    for key in first.keys() | second.keys():
        if key not in first or key not in second or not same(first[key], second[key]):
            yield key
