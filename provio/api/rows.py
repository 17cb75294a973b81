"""The result of a SELECT in Python: RDF terms in, a sequence of rows with named columns and typed values out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from html import escape
from typing import TYPE_CHECKING, Any, overload

from provio.base.text import printable
from provio.render import tree

if TYPE_CHECKING:
    import pyoxigraph as ox

    from provio.ask.document import LineageDocument

Value = str | int | float | bool | Decimal | datetime | None
XSD = "http://www.w3.org/2001/XMLSchema#"


class IRI(str):
    """The IRI of a resource in the graph; also a `str`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"IRI({str(self)!r})"


def _boolean(text: str) -> bool:
    return text in ("true", "1")


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


INTEGERS = "integer int long short byte nonNegativeInteger positiveInteger unsignedInt unsignedLong".split()
TYPES: Mapping[str, Callable[[str], Value]] = {
    **{XSD + name: int for name in INTEGERS}, XSD + "decimal": Decimal, XSD + "double": float, XSD + "float": float,
    XSD + "boolean": _boolean, XSD + "dateTime": _moment,
}  # fmt: skip


def value(term: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple | None) -> Value:
    """Return a term as a Python value: an IRI as `IRI`, a literal by its datatype, any other term as its text."""
    import pyoxigraph as ox

    if term is None:
        return None
    if isinstance(term, ox.NamedNode):
        return IRI(term.value)
    if not isinstance(term, ox.Literal):
        return str(term)
    try:
        return TYPES.get(term.datatype.value, str)(term.value)
    except (ValueError, ArithmeticError):  # not a number despite its datatype; a year beyond 9999
        return term.value


class Row:
    """One row: `row.path`, `row["path"]` and `row[0]` are the value of a column; an unbound variable is None.

    Not a `Sequence`: the methods of that class would hide columns named `count` or `index`.
    """

    __slots__ = ("_columns", "_values")

    def __init__(self, columns: tuple[str, ...], values: tuple[Value, ...]) -> None:
        self._columns, self._values = columns, values

    @overload
    def __getitem__(self, key: int | str) -> Any: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[Any]: ...
    def __getitem__(self, key: int | str | slice) -> Any:
        if isinstance(key, str):
            try:
                return self._values[self._columns.index(key)]
            except ValueError:
                raise KeyError(f"no column {key!r}: there are {', '.join(self._columns)}") from None
        return self._values[key]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Row | tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values)

    def __repr__(self) -> str:
        return f"Row({', '.join(f'{name}={one!r}' for name, one in zip(self._columns, self._values, strict=True))})"

    def _asdict(self) -> dict[str, Any]:
        """Return the row as a dictionary by column name."""
        return dict(zip(self._columns, self._values, strict=True))


class Rows(Sequence[Row]):
    """The rows of a result in order; `columns` are the names of the columns, `notes` lines about the limits of
    the answer. A notebook displays them as a table."""

    def __init__(self, columns: Iterable[str], rows: Iterable[Iterable[Value]], notes: Iterable[str] = ()) -> None:
        self.columns, self.notes = tuple(columns), tuple(notes)
        self._rows = [Row(self.columns, tuple(row)) for row in rows]

    @overload
    def __getitem__(self, key: int) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> Rows: ...
    def __getitem__(self, key: int | slice) -> Row | Rows:
        return Rows(self.columns, self._rows[key], self.notes) if isinstance(key, slice) else self._rows[key]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __repr__(self) -> str:
        return f"<{len(self)} row{'' if len(self) == 1 else 's'}: {', '.join(self.columns)}>"

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one dictionary for each row, by column name."""
        return [row._asdict() for row in self]

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame` with these columns and rows; raises ImportError if pandas is not installed."""
        try:
            import pandas as pd
        except ImportError:
            from provio.system import installation

            raise ImportError(str(installation.missing("pandas", "to_pandas needs"))) from None
        return pd.DataFrame([list(row) for row in self], columns=list(self.columns))

    def _repr_html_(self) -> str:
        return table(self)


# HTML for notebooks: rows or a lineage document in, HTML that loads nothing from outside out.


MOST = 60  # rows
LONGEST = 400  # characters of a value


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    text = text if len(text) <= LONGEST else text[:LONGEST] + " …"
    align = ' style="text-align:right"' if isinstance(value, int | float) and not isinstance(value, bool) else ""
    return f"<td{align}>{escape(printable(text))}</td>"


def table(rows: Rows) -> str:
    """Return rows as an HTML table: at most the first MOST rows, and the number of the omitted ones."""
    head = "".join(f"<th>{escape(printable(name))}</th>" for name in rows.columns)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows[:MOST])
    more = f"<p>and {len(rows) - MOST} more</p>" if len(rows) > MOST else ""
    return f'<table class="provio-rows"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}'


def lineage(document: LineageDocument) -> str:
    """Return a lineage as HTML: the page of `provio view` in a sandboxed frame, followed by the tree as text.

    The frame runs scripts, but has no access to the page around it. The tree is the output of `provio lineage`; it
    remains visible where a notebook that is not trusted removes frames.
    """
    from provio.ask.document import targets
    from provio.render import page

    own = set(targets(document))
    title = ", ".join(node["label"] for node in document["nodes"] if node["iri"] in own) or document["target"]
    frame = "width:100%;height:520px;border:1px solid #8886;border-radius:8px"
    source = escape(page.render(document, title))
    text = escape(tree.render(document, width=None, folder=os.getcwd()))
    style = "line-height:1.35;white-space:pre;overflow-x:auto"
    return (
        f'<div class="provio-lineage-shown"><iframe title="Lineage" sandbox="allow-scripts" style="{frame}" '
        f'srcdoc="{source}"></iframe><details><summary>As text</summary><pre '
        f'style="{style}">{text}</pre></details></div>'
    )
