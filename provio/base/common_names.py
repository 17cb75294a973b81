"""The names of keys that all JSON answers have in common: `start`, `end`, `run`, `path`, `seconds`, `bytes`.

Keys with other names are from the first release. They stay, and the value is repeated under the common name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

# The earlier name, the common one.
NAMES = {"size": "bytes", "nanoseconds": "seconds"}
# The same, only in the rows of one table. `end` of a run will become the time of its end.
OF_TABLE = {"runs": {"end": "state"}, "best": {"checkpoint": "path"}}


def completed(item: Mapping[str, Any], table: str = "") -> dict[str, Any]:
    """Return an object of a JSON answer with the common names of its keys, which come last."""
    more = added(tuple(item), table)
    if not more:
        return {**item}
    return {**item, **{name: _value(earlier, item[earlier]) for earlier, name in more}}


@cache
def added(keys: tuple[str, ...], table: str = "") -> tuple[tuple[str, str], ...]:
    """Return the keys of an object that have a common name which it lacks, each with that name."""
    names = NAMES | OF_TABLE.get(table, {})
    return tuple((key, names[key]) for key in keys if key in names and names[key] not in keys)


def all_completed(value: Any) -> Any:
    """Return an answer in which each node (an object with `iri`) and the answer itself has the common names."""
    found = _nodes_completed(value)
    return completed(found) if isinstance(found, dict) else found


def _nodes_completed(value: Any) -> Any:
    if isinstance(value, Mapping):
        found = {key: _nodes_completed(held) for key, held in value.items()}
        return completed(found) if "iri" in found else found
    return [_nodes_completed(held) for held in value] if isinstance(value, list) else value


def _value(earlier: str, value: Any) -> Any:
    return value / 1e9 if earlier == "nanoseconds" and value is not None else value
