"""Figures as text with units. A value that was not recorded is a question mark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from provio.base.table import align
from provio.base.text import binary, duration, elapsed, moment, plural, printable, shorter_path
from provio.stats.spread import names as spread_columns
from provio.stats.tally import SIZE_NAMES, Group, Tally
from provio.stats.tally import key_columns as group_columns

if TYPE_CHECKING:
    from provio.stats import Figures
    from provio.stats.spread import Spread
    from provio.stats.timeline import Latency

UNKNOWN = "?"
HIDDEN = frozenset({"process", "thread", "kind"})  # IRIs, and the kind, which the label contains
LABELS = {
    "system": "(system files)",
    "pipe": "(pipes)",
    "socket": "(connections)",
    "messages": "(messages)",
    "other": "(no file)",
}
BAR = 20
SPARE = ("in order", "failed", "bandwidth")  # omitted if there are too few columns or no values
LEAST_NAME = 24
RUN_SHOWN = 13  # characters of a run's id

# The measures of a table: the title of each, and its text for a tally.
MEASURES: dict[str, Callable[[Tally], str]] = {
    "calls": lambda tally: _or_unknown(tally, "calls", "{:,}".format),
    "failed": lambda tally: f"{tally.errors:,}" if tally.errors else "",
    "read": lambda tally: _or_unknown(tally, "bytes_read", binary),
    "written": lambda tally: _or_unknown(tally, "bytes_written", binary),
    "time": lambda tally: _or_unknown(tally, "nanoseconds", elapsed),
    "bandwidth": lambda tally: binary(tally.bandwidth) + "/s" if tally.bandwidth else "",
    "in order": lambda tally: "" if tally.consecutive is None else f"{tally.consecutive:.0%}",
}


def _or_unknown(tally: Tally, name: str, form: Callable[[int], str]) -> str:
    value = tally.of(name)
    if value is None:
        return UNKNOWN
    if tally.partly(name):
        return f"{form(value)} + {UNKNOWN}"
    return form(value) if value else ""


def head(figures: Figures, unicode: bool) -> str:
    """Return the summary: the runs, their times, and the I/O time of all their threads."""
    runs = sorted(figures.recorded.runs.values(), key=lambda run: run.start)
    known = [run for run in runs if run.start]
    took = duration(known[0].start, known[0].end) if len(known) == 1 else ""
    lines = [f"run {runs[0].id}" if len(runs) == 1 else plural(len(runs), "run")]
    if known:
        span = [moment(known[0].start), *([moment(known[-1].start)] if len(known) > 1 else [])]
        lines[0] += ", " + " to ".join(span) + (f", {took}" if took else "")
    threads = len({some[0].thread for some in figures.recorded.alike if some[0].thread})
    times = [f"{group.layer} {_time(group.tally)}" for group in figures.totals()]
    processes = len(figures.recorded.processes)
    counts = [plural(processes, "process", "processes")] if processes else []
    counts += [plural(threads, "thread")] if threads else []
    if times:
        lines.append(f"{', '.join(counts) or 'all processes'} with I/O: {', '.join(times)}")
    else:
        lines.append("no reads or writes were recorded")
    return "".join(printable(line, unicode) + "\n" for line in lines)


def _time(tally: Tally) -> str:
    """Return the time of calls; for failed calls, which have no time, their number."""
    if tally.errors and not (tally.of("calls") or tally.partly("calls")):
        return plural(tally.errors, "failed call")
    time = tally.of("nanoseconds")
    return UNKNOWN if time is None else elapsed(time)


def overview(figures: Figures, unicode: bool = True) -> str:
    """Return the summary and the table by operation, the text of `Figures` in Python."""
    groups, ways = figures.by("operation"), ("operation",)
    listed = table(groups, ways, len(groups), figures.totals(), None, unicode) if groups else ""
    return "\n".join(part for part in (head(figures, unicode), listed) if part)


def table(
    groups: Sequence[Group],
    ways: Sequence[str],
    limit: int,
    totals: Sequence[Group],
    width: int | None,
    unicode: bool,
    folder: str | None = None,
) -> str:
    """Return the first `limit` groups of a grouping as a table, with the total of each layer and the number of other
    groups; paths are relative to `folder` if that is shorter."""
    header, rows, rest = cells(groups, ways, limit, totals, folder)
    used = [place for place, name in enumerate(header) if name not in SPARE or any(row[place] for row in rows)]
    keep = _fitting(header, rows, used, len(header) - len(MEASURES) - 1, width, SPARE)
    text = align(
        [header[place] for place in keep], [[row[place] for place in keep] for row in rows], width=width,
        unicode=unicode, right=frozenset({*MEASURES, "pid", "tid", "rank"}),
    )  # fmt: skip
    return text + (f"and {plural(rest, 'other')}: --limit 0 shows all\n" if rest else "")


def cells(
    groups: Sequence[Group], ways: Sequence[str], limit: int, totals: Sequence[Group], folder: str | None = None
) -> tuple[list[str], list[list[str]], int]:
    """Return a table's header, its rows, and the number of groups that it omits. The last rows are the totals of the
    layers, which are not sums of the rows: a call may be in two rows."""
    columns = group_columns(ways)
    groups = _folded(groups, columns) if "file" in ways else groups
    names = [name for name in columns if name not in HIDDEN]
    rows = [[*_names(group, columns, folder), group.layer, *_measures(group.tally)] for group in groups[:limit]]
    for total in totals if names and len(groups) > 1 else ():
        rows.append(["total", *[""] * (len(names) - 1), total.layer, *_measures(total.tally)])
    return [*names, "layer", *MEASURES], rows, max(0, len(groups) - limit)


def _fitting(
    header: list[str], cells: list[list[str]], used: list[int], names: int, width: int | None, spared: Sequence[str]
) -> list[int]:
    """Return the columns that fit into `width`. Names may be cut, but not numbers: other columns are omitted."""
    rooms = {place: max(len(row[place]) for row in (header, *cells)) for place in used}
    rooms |= {place: min(rooms[place], LEAST_NAME) for place in range(names)}
    spare = [place for name in spared for place in used if header[place] == name]
    if len({row[names] for row in cells}) == 1:
        spare.insert(0, names)  # there is only one layer
    kept = list(used)
    while width and spare and sum(rooms[place] for place in kept) + 2 * (len(kept) - 1) > width:
        kept.remove(spare.pop(0))
    return kept


def _measures(tally: Tally) -> list[str]:
    return [form(tally) for form in MEASURES.values()]


def _folded(groups: Sequence[Group], columns: Sequence[str]) -> list[Group]:
    """Return the groups with all system files as one group, in the order of time."""
    file, kind = columns.index("file"), columns.index("kind")
    folded: dict[tuple[object, ...], Group] = {}
    for group in groups:
        if group.key[kind] != "system":
            folded[group.key, group.layer] = group
            continue
        key = (*group.key[:file], None, *group.key[file + 1 :])
        folded.setdefault((key, group.layer), Group(key, group.layer, Tally())).tally.join(group.tally)
    return list(folded.values())


def _names(group: Group, columns: Sequence[str], folder: str | None) -> list[str]:
    values = dict(zip(columns, group.key, strict=True))
    if "task" in values and values["task"] is None:
        values["task"] = "outside of tasks"
    if "file" in values and values["file"] is None:
        values["file"] = LABELS[str(values["kind"])]
    elif "file" in values:
        values["file"] = shorter_path(str(values["file"]), folder)
    return [_cell(name, value) for name, value in values.items() if name not in HIDDEN]


def _cell(name: str, value: object) -> str:
    return str(value) if value is not None else "(none)" if name == "rank" else UNKNOWN


def across(
    found: Sequence[Spread], ways: Sequence[str], limit: int, width: int | None, unicode: bool, folder: str | None
) -> str:
    """Return the differences between runs, four measures per group, for at most `limit` groups."""
    every = list(dict.fromkeys((str(one.key), one.layer) for one in found))
    shown = set(every[:limit])
    header, cells = across_cells([one for one in found if (str(one.key), one.layer) in shown], ways, folder)
    spared = ("least", "deviation", "runs", "IQR", "most", INTERVAL)
    kept = _fitting(header, cells, [*range(len(header))], header.index("layer"), width, spared)
    kept = [place for place in kept if header[place] != "layer" or any(row[place] for row in cells)]
    text = align(
        [header[place] for place in kept], [[row[place] for place in kept] for row in cells], width=width,
        unicode=unicode, right=frozenset({*ACROSS} - {"measure", "stands out"}),
    )  # fmt: skip
    rest = len(every) - len(shown)
    return text + (f"and {plural(rest, 'other')}: --limit 0 shows all\n" if rest else "")


def across_cells(found: Sequence[Spread], ways: Sequence[str], folder: str | None) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of such a table, without columns that no row has."""
    columns = spread_columns(ways)
    header = [*(name for name in columns if name not in HIDDEN), "layer", *ACROSS]
    cells = [[*_names(Group(one.key, one.layer, Tally()), columns, folder), one.layer, *_spread(one)] for one in found]
    kept = [place for place, name in enumerate(header) if name not in MAYBE or any(row[place] for row in cells)]
    return [header[place] for place in kept], [[row[place] for place in kept] for row in cells]


INTERVAL = "95 % of the mean"
ACROSS = (
    "measure", "runs", "mean", INTERVAL, "deviation", "varies", "IQR", "least", "most", "stands out",
)  # fmt: skip
MAYBE = frozenset({INTERVAL, "IQR", "stands out"})  # omitted if no row has them
MEASURED: dict[str, tuple[str, Callable[[float], str]]] = {
    "calls": ("calls", "{:,.0f}".format),
    "bytes": ("bytes", binary),
    "nanoseconds": ("time", elapsed),
    "bytes_per_second": ("bandwidth", lambda value: binary(value) + "/s"),
}


def _spread(one: Spread) -> list[str]:
    name, form = MEASURED[one.measure]
    more = len(one.outliers) - 1
    interval = "" if one.low is None or one.high is None else f"{form(one.low)} to {form(one.high)}"
    return [
        name, f"{one.runs:,}", form(one.mean), interval, "" if one.deviation is None else form(one.deviation),
        "" if one.variation is None else f"{one.variation:.1%}",
        "" if one.quartiles is None else f"{one.quartiles:.1%}", form(one.least), form(one.most),
        one.outliers[0][:RUN_SHOWN] + (f" + {more}" if more else "") if one.outliers else "",
    ]  # fmt: skip


def latencies(found: Sequence[Latency], width: int | None, unicode: bool) -> str:
    """Return the figures of single calls, one line per function."""
    header, rows = latency_cells(found)
    return align(header, rows, width=width, unicode=unicode, right=frozenset(header[2:]))


def latency_cells(found: Sequence[Latency]) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of such a table."""
    header = ["api", "layer", "calls", "median", "95 %", "99 %", "longest", "in order", "forward", "back"]
    rows = [
        [one.api or UNKNOWN, one.layer, f"{one.calls:,}",
         *(UNKNOWN if time is None else elapsed(time)
           for time in (one.median, one.percentile_95, one.percentile_99, one.longest)),
         *("" if share is None else f"{share:.0%}" for share in (one.consecutive, one.forward, one.backward))]
        for one in found
    ]  # fmt: skip
    return header, rows


def sizes(figures: Figures, width: int | None, unicode: bool) -> str:
    """Return the histogram of access sizes, one line for each size that occurred; its bars use the remaining width."""
    header, lines, counted = ["layer", "size", "reads", "", "writes", " "], [], []
    for group in figures.totals():
        counts = group.tally.sizes
        most = max(map(max, counts.values()), default=0)
        for place, name in enumerate(SIZE_NAMES) if most else ():
            both = counts["Read"][place], counts["Write"][place]
            if any(both):
                upto = name if name == "more" else ("≤ " if unicode else "<= ") + name
                lines.append([group.layer, upto, f"{both[0]:,}", "", f"{both[1]:,}", ""])
                counted.append([count / most for count in both])
    taken = sum(max(map(len, column)) for column in zip(header, *lines, strict=True)) + 2 * len(header) - 3
    bar = min(BAR, max(1, (width - taken) // 2)) if width else BAR
    for line, shares in zip(lines, counted, strict=True):
        line[3], line[5] = (_bar(share, bar, unicode) for share in shares)
    return align(header, lines, unicode=unicode, right=frozenset({"size", "reads", "writes"})) if lines else ""


def _bar(share: float, longest: int, unicode: bool) -> str:
    return ("█" if unicode else "#") * (max(1, round(longest * share)) if share else 0)


def bottlenecks(figures: Figures, limit: int, unicode: bool, each: int | None = None) -> str:
    """Return the causes of slow I/O with evidence and remedy, at most `each` of one rule, and the number of others."""
    lines: list[str] = []
    seen = Counter[str]()
    found = figures.bottlenecks()
    for one in found:
        seen[one.rule] += 1
        if len(lines) < 3 * limit and (each is None or seen[one.rule] <= each):
            lines += [f"{one.rule}: {one.where}", f"    {one.evidence}", f"    {'→' if unicode else '->'} {one.remedy}"]
    rest = len(found) - len(lines) // 3
    lines += [f"and {plural(rest, 'other')}: provio stats --by bottleneck --limit 0"] if rest else []
    return "".join(printable(line, unicode) + "\n" for line in lines)
