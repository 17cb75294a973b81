"""The runs of which values in files of parameters or metrics are not known. In: a store, the role of the values, runs.
Out: the reasons of each run, and a line about all of them.

A merge states such a gap if a file was changed or removed before it was read, is too large, or cannot be parsed
(`provio.lineage.contents`).
"""

from __future__ import annotations

from collections.abc import Collection, Container

from provio.ask.run_uses import run_of
from provio.base.errors import NothingKnown
from provio.base.text import plural
from provio.base.vocab import RUN_BASE
from provio.store import Reader
from provio.trace.run_facts import METRICS, PARAMETERS

ROLES = (PARAMETERS, METRICS)
SHORT = 18  # characters of a run's id
GAPS = f"""SELECT DISTINCT ?gap ?reason {{ ?gap a provio:Gap ; provio:reason ?reason
    FILTER(REGEX(STR(?gap), "^{RUN_BASE}.*/(%s)/[^/]+$")) }} ORDER BY ?gap ?reason"""


def reasons(reader: Reader, roles: Collection[str] = ROLES, ids: Collection[str] | None = None) -> dict[str, list[str]]:
    """Return the reasons why values of these roles are not known, by run; of these runs, None: of all."""
    found: dict[str, list[str]] = {}
    for gap, reason in reader.table(GAPS % "|".join(roles)):
        run = run_of(gap)
        if ids is None or run in ids:
            found.setdefault(run, []).append(reason.rpartition(": ")[0])
    return found


def line(
    reader: Reader, role: str, ids: Collection[str] | None, known: Container[str] = (),
    words: tuple[str, str] = ("left out", "shown in part"),
) -> str:  # fmt: skip
    """Return a line with the number of runs of which values are not known, and the reason; empty if there are none.
    `known` are the runs that an answer contains: the second of the words counts them, if it is not empty."""
    found = reasons(reader, [role], ids)
    lost = [run for run in found if run not in known]
    partly = [run for run in found if run in known] if words[1] else []
    counts = [f"{plural(len(lost), 'run')} {words[0]}"] if lost else []
    counts += [f"{len(partly) if lost else plural(len(partly), 'run')} {words[1]}"] if partly else []
    return f"{', '.join(counts)}: {_why(found, [*lost, *partly])}" if counts else ""


def nothing(reader: Reader, role: str, ids: Collection[str] | None, otherwise: str) -> NothingKnown:
    """Return the error for an answer without values: the reason why they are not known, else the text `otherwise`."""
    found = reasons(reader, [role], ids)
    if not found:
        return NothingKnown(otherwise)
    of = f"of run {next(iter(found))[:SHORT]} " if ids is not None and len(ids) == 1 else ""
    return NothingKnown(f"no {role} {of}are known: {_why(found, [*found])}")


def _why(found: dict[str, list[str]], runs: list[str]) -> str:
    """Return the first reason, the number of others, and the query that lists them."""
    first, *others = dict.fromkeys(reason for run in runs for reason in found[run])
    more = f", and {plural(len(others), 'other reason')}" if others else ""
    return f"{first}{more} (provio query gaps{' ' + runs[0][:SHORT] if len(runs) == 1 else ''})"
