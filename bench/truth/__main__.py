"""Records the rows of the table of truth and prints the answers that are not exact: `make truth [ROWS="tar git"]`.

`--write` writes docs/truth.md. `--new` prints entries for deviations.toml.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from truth import page
from truth.record import record
from truth.rows import groups
from truth.verdict import DESCRIBED, Verdict, described, judged, known

PAGE = Path(__file__).parent.parent.parent / "docs" / "truth.md"


def entry(fields: dict[str, Any]) -> str:
    """Return an entry of deviations.toml."""
    return "\n".join(["\n[[deviation]]", *(f"{key} = {json.dumps(text)}" for key, text in fields.items())])


def main() -> None:
    """Record, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="only the groups whose names contain one of these words")
    parser.add_argument("--keep", type=Path, help="an empty folder for the recorded projects, which stay there")
    parser.add_argument("--write", action="store_true", help="write docs/truth.md")
    parser.add_argument("--new", action="store_true", help="print the entries that deviations.toml lacks")
    options = parser.parse_args()
    chosen = {
        name: rows for name, rows in groups().items()
        if not options.words or any(word in name for word in options.words)
    }  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="provio-truth-") as folder:
        answers, left_out = record(chosen, (options.keep or Path(folder)).resolve(), os.cpu_count() or 1)
    entries = known()
    for answer in answers:
        key = answer.question.key
        found = {} if judged(answer) is Verdict.EXACT else described(answer)
        stored = {name: value for name, value in entries.get(key, {}).items() if name in DESCRIBED}
        if options.new and found and found != stored:
            print(entry({"question": key, **found, "reason": ""}))
        elif found != stored:
            print(f"{key}: {found or 'exact'}, known: {stored or 'exact'}", file=sys.stderr)
    print(page.score(answers))
    if options.write and not options.words:
        PAGE.write_text(page.text(answers, left_out), encoding="utf-8")


if __name__ == "__main__":
    main()
