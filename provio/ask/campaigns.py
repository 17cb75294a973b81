"""Campaigns: the runs with one name of a campaign, and the files that tie them. In: a store. Out: a row for each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from provio.ask import runs
from provio.ask.experiments import run_of
from provio.base.records import field, plain
from provio.base.text import sortable
from provio.base.vocab import RUN_BASE
from provio.graph.lines import bundle_iri
from provio.store import Confined
from provio.trace import run_source

if TYPE_CHECKING:
    from provio.settings.home import Home
    from provio.store import Reader, Store

HOSTS = "SELECT DISTINCT ?run ?host { ?run a provio:Run . ?process provio:partOf ?run ; provio:host ?host }"
MADE = "SELECT ?version ?phase { ?version prov:wasGeneratedBy ?phase . ?version a provio:FileVersion }"
READ = "SELECT ?version ?phase { ?phase prov:used ?version . ?version a provio:FileVersion }"


@plain(slots=True)
class Tie:
    """The number of files that one run of a campaign wrote and another read."""

    maker: str
    reader: str
    files: int


@plain(slots=True)
class Campaign:
    """The runs of a campaign, oldest first, with their hosts and the records (`.provio` folders) that have them. `end`
    is None while a run is in progress. `states` counts the runs by state: `ok`, `failed`, `in progress`, `ended`."""

    name: str
    runs: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)
    records: set[str] = field(default_factory=set)
    start: str | None = None
    end: str | None = None
    states: dict[str, int] = field(default_factory=dict)
    ties: list[Tie] = field(default_factory=list)

    @property
    def state(self) -> str:
        """`in progress` if a run is, else `failed` if one has, `ended` if the end of one is not known, else `ok`."""
        return next(state for state in ("in progress", "failed", "ended", "ok") if state in self.states)


def listed(store: Store, home: Home, name: str | None = None) -> list[Campaign]:
    """Return the campaigns (of this `name`, or all) in the order of their starts."""
    found: dict[str, Campaign] = {}
    for row in store.rows(runs.LISTING):
        if "campaign" in row and name in (None, row["campaign"]):
            _add(found.setdefault(row["campaign"], Campaign(row["campaign"])), row, runs.end(row, store))
    hosts: dict[str, set[str]] = {}
    for run, host in store.table(HOSTS) if found else ():
        hosts.setdefault(run.removeprefix(RUN_BASE), set()).add(host)
    for one in found.values():
        one.end = None if "in progress" in one.states else one.end
        one.hosts = set().union(*(hosts.get(run, set()) for run in one.runs))
        one.records = {str(record) for record in home.records if any(_has(record, run) for run in one.runs)}
        one.ties = _ties(Confined(store, [bundle_iri(RUN_BASE + run) for run in one.runs]))
    return sorted(found.values(), key=lambda one: sortable(one.start or ""))


def cells(one: Campaign) -> list[Any]:
    """Return the cells of the table `campaigns` (docs/output.md)."""
    ties = [{"maker": tie.maker, "reader": tie.reader, "files": tie.files} for tie in one.ties]
    places = sorted(one.hosts), sorted(one.records)
    return [one.name, len(one.runs), *places, one.start, one.end, one.state, one.states, ties]


def _add(campaign: Campaign, row: dict[str, str], end: str) -> None:
    """Add a run to its campaign, after the earlier ones."""
    state = {"exit 0": "ok", "in progress": end, "ended": end, "not seen": "ended"}.get(end, "failed")
    campaign.end = max(filter(None, (campaign.end, row.get("end"))), key=sortable, default=None)
    campaign.runs.append(row["run"])
    campaign.states[state] = campaign.states.get(state, 0) + 1
    campaign.start = campaign.start or row.get("start")


def _has(record: Path, run: str) -> bool:
    return run_source.exists(record / "runs" / run)


def _ties(reader: Reader) -> list[Tie]:
    """Return how many files each run read that another one wrote."""
    makers: dict[str, set[str]] = {}
    for version, phase in reader.table(MADE):
        makers.setdefault(version, set()).add(run_of(phase))
    found: dict[tuple[str, str], set[str]] = {}
    for version, phase in reader.table(READ):
        for maker in makers.get(version, ()):
            if maker != run_of(phase):
                found.setdefault((maker, run_of(phase)), set()).add(version)
    return [Tie(*runs_, len(versions)) for runs_, versions in sorted(found.items())]
