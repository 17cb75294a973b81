"""Prints `interceptors/python/shared_tables.py`: the tables of `launchers.def` and `secret_words.def` for Python."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
NAMES = {
    "LAUNCHER": "LAUNCHERS", "BATCH": "BATCH", "STEP": "STEPS",
    "SURE": "SURE", "TEXT": "TEXT", "OF_DATA": "OF_DATA", "KEYS_OF": "KEYS_OF", "OWNER": "OWNERS",
}  # fmt: skip
ROW = re.compile(r'\b([A-Z_]+)\(((?:"[^"]*"(?:, )?)+)\)')
HEAD = '''"""Tables for C and Python; generated from `interceptors/posix/*.def` (`make vocab`)."""

# Launcher, its variable of the rank, its variable of the number of ranks; then variables of the job and of its step.
'''


def module() -> str:
    """Return the text of the module."""
    tables: dict[str, list[tuple[str, ...]]] = {name: [] for name in NAMES.values()}
    for file in ("launchers.def", "secret_words.def"):
        for kind, fields in ROW.findall((HERE / file).read_text(encoding="utf-8")):
            tables[NAMES[kind]].append(tuple(re.findall(r'"([^"]*)"', fields)))
    lines = []
    for name, rows in tables.items():
        if name == "SURE":
            lines.append("# Words of names: see secret_words.py.")
        cells = [", ".join(f'"{cell}"' for cell in row) for row in rows]
        entries = [f"({cell})" if len(row) > 1 else cell for cell, row in zip(cells, rows, strict=True)]
        lines += [f"{name} = (", *(f"    {entry}," for entry in entries), ")"]
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(module(), end="")
