"""Writes docs/truth.md: the score, a table of patterns, and the answers that are not exact.

In: answers, and the groups whose programs are missing. Out: Markdown; it depends on the answers alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from truth.session import Answer
from truth.verdict import Verdict, extra, judged, known, missing

INTRODUCTION = """# The table of truth

Data goes from inputs to outputs in many ways (*patterns*), by many programs: a row of the table is a pattern with a
program. This page compares answers of provio with
the truth. In `bench/truth/` the folder of each row contains input files, each with a unique word on each
of its lines. The steps of the row are recorded by `provio run`. Then provio answers questions about the ancestors and
the products of files. The true answers are part of the table. The content of the files proves most of them: an output
contains the words of its true ancestors, and no others. The truth is about whole files of the project: an archive
comes from all files in it, and so does each file that is extracted from it. Intermediate files count; files of the
system and temporary files in `/tmp` do not.

| verdict | |
|---|---|
| exact | the answer (*data* and *carried*) is the true set |
| exact, with a gap | the same, but a gap states that it may be incomplete |
| over | all true files, and some that are not |
| under with a gap | a true file is missing, and a gap states that the answer may be incomplete |
| under silently | a true file is missing, without a gap |

`make truth` records all rows and writes this page; `make truth ROWS=tar` only prints the answers of the groups whose
name contains `tar`. `bench/truth/deviations.toml` lists the answers that are known not to be exact, with the reason;
`make test` fails if an answer differs from this list.
"""


def score(answers: Sequence[Answer]) -> str:
    """Return the score in one line."""
    tally = Counter(map(judged, answers))
    counts = ", ".join(f"{tally[verdict]} {verdict.value}" for verdict in Verdict)
    return f"{len(answers)} answers: {counts}"


def by_pattern(answers: Iterable[Answer]) -> str:
    """Return a table with a line for each pattern."""
    rows_of: dict[str, set[str]] = defaultdict(set)
    tallies: dict[str, Counter[Verdict]] = defaultdict(Counter)
    for answer in answers:
        pattern = answer.question.row.partition(": ")[0]
        rows_of[pattern].add(answer.question.row)
        tallies[pattern][judged(answer)] += 1
    head = ["pattern", "rows", *(verdict.value for verdict in Verdict)]
    rows = [
        [pattern, str(len(rows_of[pattern])), *(str(tallies[pattern][verdict] or "") for verdict in Verdict)]
        for pattern in sorted(tallies, key=str.lower)
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def deviations(answers: Iterable[Answer]) -> str:
    """Return a table of the answers that are not exact."""
    reasons = known()
    rows = []
    for answer in sorted(answers, key=lambda one: one.question.key.lower()):
        if judged(answer) is not Verdict.EXACT:
            entry = reasons.get(answer.question.key, {})
            link = f" ([`{entry['limit']}`](limits.md#data-flow-that-is-not-followed))" if "limit" in entry else ""
            differences = (names(answer.question.truth), names(missing(answer)), names(extra(answer)))
            rows.append([answer.question.key, judged(answer).value, *differences, entry.get("reason", "new") + link])
    head = ["question", "verdict", "truth", "missing", "too much", "reason"]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def names(given: Iterable[str]) -> str:
    """Return names as a cell of a table."""
    return ", ".join(f"`{name}`" for name in given).replace("|", "\\|")


def text(answers: Sequence[Answer], left_out: Sequence[str]) -> str:
    """Return the page."""
    proven = sum(answer.verified for answer in answers)
    patterns = {answer.question.row.partition(": ")[0] for answer in answers}
    count = len({answer.question.row for answer in answers})
    lines = [
        INTRODUCTION,
        f"**{score(answers)}.**\n",
        f"{count} rows of {len(patterns)} patterns; the content of files proves {proven} of the true answers.\n",
    ]
    if left_out:
        lines.append(f"Left out, because their programs are missing: {', '.join(left_out)}.\n")
    lines += ["## By pattern\n", by_pattern(answers), "\n## Answers that are not exact\n", deviations(answers), ""]
    return "\n".join(lines)
