"""The text difference of a script in two versions. In: a comparison and the versions. Out: lines of a unified diff.

Both contents must be known: on disk, kept in the record, or in the Git commit of the run; their SHA-256 is checked. The
secrets in them are replaced, and a part of the difference that may contain another one is not shown.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from provio.ask import preview_secrets, previews
from provio.compare import present
from provio.compare.comparison import Comparison, Row
from provio.trace.redact import Redaction

LARGEST = 1 << 19  # bytes of a script
LINES = 5_000
MOST = 40  # lines of a difference
LONGEST = 200  # characters of a line
CONTEXT = 2
HIDDEN = "(not shown: it may contain a secret)"
ONLY_SECRETS = "(the texts differ only in hidden secrets, or in the ends of lines)"


def of_row(found: Comparison, row: Row) -> list[str]:
    """Return the text difference of a row about code; nothing if there is none."""
    if row.kind != "code":
        return []
    if row.key == "source" and isinstance(row.first, str) and isinstance(row.second, str):
        return unified(row.first, row.second, present.redaction(found.home))
    if row.configuration != "file":
        return []
    used = [(one.code[row.key], other.code[row.key]) for one, other in found.pairs
            if row.key in one.code and row.key in other.code]  # fmt: skip
    return difference(found, *used[-1]) if used else []


def difference(found: Comparison, first_version: str, second_version: str) -> list[str]:
    """Return the text difference of two versions of a script; nothing if a content is not known, or is no text."""
    texts = []
    for side, version in zip(found.sides, (first_version, second_version), strict=True):
        commit = side.facts.facts.get("gitCommit", "")
        path = side.paths.get(version, "")
        if previews.is_private(path):
            return []
        data = present.content(found.home, found.contents, version, path, commit, LARGEST)
        if data is None or b"\0" in data:
            return []
        texts.append(data.decode("utf-8", "replace"))
    return unified(texts[0], texts[1], present.redaction(found.home))


def unified(first: str, second: str, redaction: Redaction) -> list[str]:
    """Return the difference of two texts without secrets, at most `MOST` lines."""
    texts = [redaction.text(text).splitlines() for text in (first, second)]
    if max(map(len, texts)) > LINES:
        return []
    lines = list(_lines(texts[0], texts[1], redaction)) or ([ONLY_SECRETS] if first != second else [])
    more = len(lines) - MOST
    return [*lines[:MOST], f"(and {more:,} more lines)"] if more > 0 else lines


def _lines(old: list[str], new: list[str], redaction: Redaction) -> Iterator[str]:
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for group in matcher.get_grouped_opcodes(CONTEXT):
        (_, start, _, begin, _), (_, _, end, _, stop) = group[0], group[-1]
        yield f"@@ -{start + 1},{end - start} +{begin + 1},{stop - begin} @@"
        # The name of a secret may be some lines above its value.
        around = [old[max(0, start - CONTEXT) : end + CONTEXT], new[max(0, begin - CONTEXT) : stop + CONTEXT]]
        if any(preview_secrets.is_open("\n".join(lines), redaction) for lines in around):
            yield HIDDEN
            continue
        for tag, one, other, left, right in group:
            if tag == "equal":
                yield from (f" {_cut(line)}" for line in old[one:other])
            else:
                yield from (f"-{_cut(line)}" for line in old[one:other])
                yield from (f"+{_cut(line)}" for line in new[left:right])


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"
