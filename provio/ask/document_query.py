"""Filter, project, aggregate and sort documents (nested dictionaries), with the arguments of FlowCept's queries.

In: documents and a query. Out: a list of documents. Filters have the form of MongoDB's (`{"used.lr": {"$lt": 0.1}}`):
the operators in OPERATORS, `$and`, `$or`, `$nor`, `$not`. A field is a path (`generated.loss`); a path leads into each
item of a list. Differences from MongoDB are in docs/api.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from provio.base.errors import BadQuery
from provio.settings.types import among

Document = dict[str, Any]
Test = Callable[[Document], bool]
DIRECTIONS = {"ascending": 1, "asc": 1, "1": 1, "descending": -1, "desc": -1, "-1": -1}
NOTHING = object()


def select(
    documents: Iterable[Document],
    filter: Mapping[str, Any] | None = None,  # noqa: A002 - the name of FlowCept
    projection: Sequence[str] | None = None,
    aggregation: Sequence[Sequence[str]] | None = None,
    sort: Sequence[Sequence[Any]] | None = None,
    limit: int = 0,
) -> list[Document]:
    """Return the documents that a query selects.

    Without `aggregation` each has the fields in `projection` (None: all). With it, the documents are grouped by the
    fields in `projection` that are not aggregated; a row has these fields (`used.lr` as `used_lr`) and the aggregated
    ones (`("min", "generated.loss")` as `min_generated_loss`). `sort` names fields of the documents, or of the rows; of
    a group, it uses the value that comes first. Raises BadQuery.
    """
    fields = _names("projection", projection)
    matches = _matches(filter or {})
    wanted = [one for one in documents if matches(one)]
    order = [_direction(one) for one in sort or ()]
    count = _count(limit)
    if aggregation:
        rows = _grouped(wanted, fields, [_aggregate(one) for one in aggregation])
    else:
        rows = [(one if projection is None else _projected(one, fields), [one]) for one in wanted]
    for field, direction in reversed(order):
        rows.sort(key=lambda row: _key(row, field, direction), reverse=direction < 0)
    return [row for row, _ in rows[: count or None]]


# Filters.


def _matches(condition: Any) -> Test:
    if not isinstance(condition, Mapping):
        raise BadQuery(f"a filter is an object with a condition for each field, not {condition!r}")
    tests = [_of_field(str(name), value) for name, value in condition.items()]
    return lambda document: all(test(document) for test in tests)


def _of_field(name: str, value: Any) -> Test:
    if name in ("$and", "$or", "$nor"):
        if not isinstance(value, Sequence) or isinstance(value, str) or not value:
            raise BadQuery(f"{name} needs a list of filters")
        tests = [_matches(one) for one in value]
        if name == "$and":
            return lambda document: all(test(document) for test in tests)
        return lambda document: any(test(document) for test in tests) == (name == "$or")
    if name.startswith("$"):
        raise BadQuery(f"{name} is no operator of a filter{among(name, ['$and', '$or', '$nor'], 'docs/api.md')}")
    tested = _of_values(value)
    return lambda document: tested(list(_values(document, name.split("."))))


def _of_values(condition: Any) -> Callable[[list[Any]], bool]:
    """Return a test of the values of a field: of none, if it is missing."""
    if not (isinstance(condition, Mapping) and condition and all(str(name).startswith("$") for name in condition)):
        return lambda found: OPERATORS["$eq"](found, condition)
    tests: list[Callable[[list[Any]], bool]] = []
    for name, wanted in condition.items():
        if name == "$not":
            tests.append(_inverse(_of_values(wanted)))
        elif name in OPERATORS:
            tests.append(_with(OPERATORS[name], _checked(name, wanted)))
        else:
            raise BadQuery(f"{name} is no operator{among(str(name), [*OPERATORS, '$not'], 'docs/api.md lists them')}")
    return lambda found: all(test(found) for test in tests)


def _inverse(test: Callable[[list[Any]], bool]) -> Callable[[list[Any]], bool]:
    return lambda found: not test(found)


def _with(test: Callable[[list[Any], Any], bool], wanted: Any) -> Callable[[list[Any]], bool]:
    return lambda found: test(found, wanted)


def _checked(name: str, wanted: Any) -> Any:
    """Return the operand of an operator; raises BadQuery for one that it cannot have."""
    if name in ("$in", "$nin") and (not isinstance(wanted, Sequence) or isinstance(wanted, str)):
        raise BadQuery(f"{name} needs a list")
    if name == "$regex":
        try:
            return re.compile(wanted)
        except (re.error, TypeError, OverflowError, RecursionError) as error:
            raise BadQuery(f"$regex: {wanted!r} is no regular expression ({error})") from None
    return wanted


def _values(document: Any, path: list[str]) -> Iterator[Any]:
    """Yield the values at a path; of a list, itself and its items."""
    if not path:
        yield document
        if isinstance(document, list):
            yield from document
    elif isinstance(document, Mapping):
        # A name of a setting may contain full stops.
        for length in range(len(path), 0, -1):
            if (name := ".".join(path[:length])) in document:
                yield from _values(document[name], path[length:])
                return
    elif isinstance(document, list):
        for item in document:
            yield from _values(item, path)


def _equal(found: list[Any], wanted: Any) -> bool:
    return (wanted is None and not found) or any(_same(one, wanted) for one in found)


def _same(one: Any, other: Any) -> bool:
    """Return whether two values are equal; a truth value is no number."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _comparable(one: Any, other: Any) -> bool:
    numbers = isinstance(one, int | float) and isinstance(other, int | float)
    return (numbers and isinstance(one, bool) == isinstance(other, bool)) or (
        isinstance(one, str) and isinstance(other, str)
    )


def _compared(compare: Callable[[Any, Any], bool]) -> Callable[[list[Any], Any], bool]:
    return lambda found, wanted: any(_comparable(one, wanted) and compare(one, wanted) for one in found)


OPERATORS: dict[str, Callable[[list[Any], Any], bool]] = {
    "$eq": _equal,
    "$ne": lambda found, wanted: not _equal(found, wanted),
    "$gt": _compared(lambda one, other: one > other),
    "$gte": _compared(lambda one, other: one >= other),
    "$lt": _compared(lambda one, other: one < other),
    "$lte": _compared(lambda one, other: one <= other),
    "$in": lambda found, wanted: any(_equal(found, one) for one in wanted),
    "$nin": lambda found, wanted: not any(_equal(found, one) for one in wanted),
    "$exists": lambda found, wanted: bool(found) == bool(wanted),
    "$regex": lambda found, wanted: any(isinstance(one, str) and wanted.search(one) is not None for one in found),
}


# Projection, aggregation, order.


def _value(document: Document, field: str) -> Any:
    return next(_values(document, field.split(".")), None)


def _projected(document: Document, fields: list[str]) -> Document:
    """Return a document with some fields only, in their places."""
    found: Document = {}
    for field in fields:
        value = next(_values(document, field.split(".")), NOTHING)
        if value is not NOTHING:
            whole, _, part = field.partition(".")
            if part and isinstance(document.get(whole), Mapping):
                found.setdefault(whole, {})[part] = value
            else:
                found[field] = value
    return found


def _grouped(
    documents: list[Document], fields: list[str], aggregates: list[tuple[str, str]]
) -> list[tuple[Document, list[Document]]]:
    by = [field for field in fields if field not in {field for _, field in aggregates}]
    groups: dict[str, list[Document]] = {}
    for one in documents:
        groups.setdefault(repr([_value(one, field) for field in by]), []).append(one)
    rows = []
    for group in groups.values() if documents or by else [[]]:
        row: Document = {field.replace(".", "_"): _value(group[0], field) for field in by}
        for operator, field in aggregates:
            values = [value for one in group if (value := _value(one, field)) is not None]
            row[f"{operator}_{field.replace('.', '_')}"] = AGGREGATES[operator](values)
        rows.append((row, group))
    return rows


def _numbers(values: list[Any]) -> list[int | float]:
    return [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]


def _extreme(values: list[Any], last: bool) -> Any:
    return sorted(values, key=_rank, reverse=last)[0] if values else None


AGGREGATES: dict[str, Callable[[list[Any]], Any]] = {
    "min": lambda values: _extreme(values, last=False),
    "max": lambda values: _extreme(values, last=True),
    "sum": lambda values: sum(_numbers(values)),
    "avg": lambda values: sum(found) / len(found) if (found := _numbers(values)) else None,
    "first": lambda values: values[0] if values else None,
    "last": lambda values: values[-1] if values else None,
    "count": len,
}


def _rank(value: Any) -> tuple[int, float, str]:
    """Return a key by which values of all types can be sorted: nothing, numbers, texts, others, truth values."""
    if value is None:
        return 0, 0.0, ""
    if isinstance(value, bool):
        return 4, float(value), ""
    if isinstance(value, int | float):
        return 1, float(value), ""
    return (2, 0.0, value) if isinstance(value, str) else (3, 0.0, repr(value))


def _key(row: tuple[Document, list[Document]], field: str, direction: int) -> tuple[int, float, str]:
    shown, group = row
    for name in (field, field.replace(".", "_")):
        if name in shown and not isinstance(shown[name], Mapping):
            return _rank(shown[name])
    ranks = [_rank(_value(one, field)) for one in group] or [_rank(None)]
    return min(ranks) if direction > 0 else max(ranks)


def _names(what: str, names: Any) -> list[str]:
    if names is None:
        return []
    if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(one, str) for one in names):
        raise BadQuery(f"{what} is a list of fields, such as ['used.lr', 'generated.loss']")
    return list(names)


def _aggregate(one: Any) -> tuple[str, str]:
    if not isinstance(one, Sequence) or isinstance(one, str) or len(one) != 2:
        raise BadQuery("aggregation is a list of pairs, such as [('min', 'generated.loss')]")
    if str(one[0]) not in AGGREGATES:
        raise BadQuery(f"{one[0]!r} is no aggregation{among(str(one[0]), list(AGGREGATES), 'docs/api.md lists them')}")
    return str(one[0]), str(one[1])


def _direction(one: Any) -> tuple[str, int]:
    if isinstance(one, Sequence) and not isinstance(one, str) and len(one) == 2 and str(one[1]).lower() in DIRECTIONS:
        return str(one[0]), DIRECTIONS[str(one[1]).lower()]
    raise BadQuery("sort is a list of pairs of a field and 'ascending' or 'descending'")


def _count(limit: Any) -> int:
    if isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0:
        return limit
    raise BadQuery("limit is a whole number; 0: all")
