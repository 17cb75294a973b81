"""The arguments of a command line by name. In: its words. Out: values by option, or by number after the program."""

from __future__ import annotations

import re
from collections.abc import Sequence

GIVEN = "given"  # the value of an option without one
NUMBER = re.compile(r"-\.?\d")


def named(words: Sequence[str], program: str) -> dict[str, str]:
    """Return the arguments. A word after `--name` is its value, unless it is an option too; arguments without an option
    are numbered after the program, or the script that an interpreter runs."""
    found: dict[str, list[str]] = {}
    position, number, passed = 1, 0, False
    while position < len(words):
        word, after = words[position], words[position + 1 : position + 2]
        name, sign, value = word.partition("=")
        position += 1
        if not passed and word.rpartition("/")[2] == program:
            passed = True
            continue
        if not _is_option(word):
            number += 1
            name, value = f"argument {number}", word
        elif not sign:
            takes = bool(after) and not _is_option(after[0]) and after[0].rpartition("/")[2] != program
            name, value = word, after[0] if takes else GIVEN
            position += takes
        found.setdefault(name, []).append(value)
    return {name: ", ".join(values) for name, values in found.items()}


def _is_option(word: str) -> bool:
    return word.startswith("-") and word not in ("-", "--") and not NUMBER.match(word)
