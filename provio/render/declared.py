"""The answer of `provio declared` (`provio.ask.declared.answer.Answer`) as a table, JSON, CSV or TSV."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from provio.ask.declared.compare import KINDS
from provio.base.table import align
from provio.base.text import plural, printable, shorter_path
from provio.render import records
from provio.render.json import dumped

if TYPE_CHECKING:
    from provio.ask.declared.answer import Answer


def render(
    answer: Answer, form: str, *, width: int | None = None, unicode: bool = True, folder: str | None = None
) -> str:
    """Return the differences, and for people a line with their numbers and the facts that limit the answer."""
    rows = [(_text(one.step), one.kind, _text(one.path), answer.run) for one in answer.differences]
    if form == "json":
        named = [dict(zip(records.TABLES["declared"].names, row, strict=True)) for row in rows]
        titles = [_text(step) for step in answer.steps]
        return dumped(
            {"tool": answer.tool, "run": answer.run, "steps": titles, "differences": named, "notes": answer.notes}
        )
    if form in ("csv", "tsv"):
        return records.render("declared", rows, form)
    cells = [[step, kind, shorter_path(path, folder)] for step, kind, path, _ in rows]
    names = ["step", "difference", "file"]
    table = align(names, cells, width=width, unicode=unicode, fold={"difference"}) if cells else ""
    counts = Counter(one.kind for one in answer.differences)
    total = ", ".join(_counted(kind, counts[kind]) for kind in KINDS if counts[kind])
    steps = f"{plural(len(answer.steps), 'step')} of {answer.tool} in run {answer.run[:13]}"
    lines = [f"{steps}: {total or 'no difference'}", *(f"! {note}" for note in answer.notes)]
    return table + "".join(printable(line, unicode) + "\n" for line in lines)


def _counted(kind: str, count: int) -> str:
    noun = "input" if "input" in kind else "output"
    return f"{count} {kind if count == 1 else kind.replace(noun, noun + 's')}"


def _text(name: str) -> str:
    """Return a name for an output in UTF-8."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
