"""Results that differ in their bytes, by their values. In: rows about files. Out: a row for each part that differs (a
dataset, an attribute, a column, a key), with its measures.

A file is read if it is still there and still that version, or if its content is kept; otherwise the row states why not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from provio.compare import present
from provio.compare.comparison import Comparison, Row
from provio.compare.parts import Parts, Unreadable
from provio.compare.readers import compared
from provio.compare.tolerances import Tolerances
from provio.compare.values import Measure
from provio.trace.redact import REDACTED, Redaction
from provio.trace.secret_forms import NUMBERS

WITHIN = "within tolerance"
EQUAL = "other bytes, equal values"
Found = dict[str, Parts]


def by_values(found: Comparison, rows: Iterable[Row], tolerances: Tolerances, values: Found) -> Iterator[Row]:
    """Yield rows; those about a result that differs by its parts. `values` receives the parts of each file."""
    redaction = present.redaction(found.home)
    made = [side.kept for side in found.sides]
    for row in rows:
        if (row.kind, row.configuration) != ("results", "file") or row.first is None or row.second is None:
            yield row
            continue
        parts = _of_file(found, row.key, made)
        if isinstance(parts, str):
            yield row._replace(reason=_text("; ".join(filter(None, (row.reason, parts)))))
        else:
            values[row.key] = parts
            yield from _rows(found, row, parts, tolerances, redaction)


def _places(found: Comparison, name: str, made: Sequence[Mapping[str, str]]) -> list[str] | str:
    """Return the files with the content of both versions; or why there is none."""
    places = []
    for side, own in zip(found.sides, made, strict=True):
        where, reason = present.place(found.home, found.contents, own[name], side.paths[own[name]])
        if not where:
            return reason
        places.append(where)
    return places


def _of_file(found: Comparison, name: str, made: Sequence[Mapping[str, str]]) -> Parts | str:
    """Return the parts of a file in both runs; or why they are not compared."""
    places = _places(found, name, made)
    if isinstance(places, str):
        return f"not compared by values: {places}"
    try:
        return compared(places[0], places[1], name)
    except Unreadable as error:
        return f"not compared by values: it {error}"


def _rows(found: Comparison, row: Row, parts: Parts, tolerances: Tolerances, redaction: Redaction) -> Iterator[Row]:
    """Yield a row for each part that differs; one about the whole file if none does."""
    if not parts.unlike:
        notes = dict.fromkeys(note for one in parts.parts.values() for note in one.notes)
        yield row._replace(expected=True, reason="; ".join([EQUAL, *notes]))
    for name, one in parts.unlike.items():
        tolerance = tolerances.of(row.key, name)
        within = tolerance is not None and one.is_within(tolerance)
        expected = row.expected or within or found.expected.matches("results", f"{row.key}:{name}")
        values = [_shown(value) for value in (one.first, one.second)]
        reason = "; ".join([*lines(one), *([WITHIN] if within else [])])
        if any(_is_secret(value, name, redaction) for value in values):
            values, reason = [REDACTED, REDACTED], "another value, not shown: its name is that of a secret"
        place, key = (row.key, _text(name)) if name else (row.configuration, row.key)
        first, second = values
        yield row._replace(
            configuration=place, key=key, first=first, second=second, expected=expected, reason=_text(reason)
        )


def lines(found: Measure) -> Iterator[str]:
    """Yield the measures of a part as texts."""
    if found.others:
        yield found.other_text()
    if found.numbers:
        share = math.floor(found.share_equal * 10_000) / 100  # 99.999 % is not 100 %
        yield f"{share:g} % of {found.numbers:,} numbers equal"
    if found.unequal:
        place = f" at {found.where}" if found.where else ""
        yield f"largest difference{place}: absolute {found.absolute_most:.3g}, relative {found.relative_most:.3g}"
        ulps = f"{found.ulps:.3g} ULP, " if found.ulps else ""
        yield f"{ulps}RMSE {found.rmse:.3g}, relative L2 {found.relative_l2:.3g}"
    yield from found.notes


def _shown(value: object) -> str | int | float | None:
    """Return a value as JSON can state it."""
    if value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return _text(str(value))


def _text(value: str) -> str:
    """Return a text of a file without parts that are no UTF-8."""
    return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _is_secret(value: object, name: str, redaction: Redaction) -> bool:
    text = str(value)
    dotted = name.replace("/", ".").replace("@", ".").strip(".")
    return value is not None and redaction.setting(dotted, text, bool(NUMBERS.fullmatch(text))) != text
