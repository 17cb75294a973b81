"""Helpers: processes that a program starts for its own work, and whose command lines its user never sees.

A command line in; whether it is one of a helper out. Helpers are the parts of a compiler, the workers of a pool, a
notebook's kernel, and the solver of Snakemake's scheduler. Where an answer names a program, it names the one that
started the helper.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

COMPILERS = re.compile(
    r"cc1|cc1plus|cc1obj|collect2|lto1|lto-wrapper|f951|gnat1"
)  # parts that the drivers of GCC start
TEMPORARY = re.compile(r"(/var)?/tmp/cc\w{6}\.(s|o|res|ltrans\S*)")  # of a compiler, if TMPDIR is not set
LINKERS = re.compile(r"ld(\.(bfd|gold|lld|mold))?")
MODULES = re.compile(r"(joblib\.externals\.)?loky\.backend\..*|ipykernel(_launcher|\..*)?|multiprocessing\..*")
CODE = re.compile(r"\s*from (multiprocessing|(joblib\.externals\.)?loky)(\.[\w.]+)? import ")  # of spawned workers


def is_helper(words: Sequence[str]) -> bool:
    """Return whether this is the command line of a helper."""
    name = words[0].rpartition("/")[2] if words else ""
    if COMPILERS.fullmatch(name) or (name == "cbc" and any(word.endswith("-pulp.sol") for word in words)):
        return True
    if name == "as" or LINKERS.fullmatch(name):  # called by hand, they have other arguments
        return "-plugin-opt=-pass-through=-lc" in words or any(TEMPORARY.fullmatch(word) for word in words)
    if not name.startswith(("python", "pypy")):
        return False
    for option, value in pairwise(words[1:]):
        if option in ("-m", "-c"):
            return bool(MODULES.fullmatch(value) if option == "-m" else CODE.match(value))
        if not option.startswith("-"):
            return False
    return False
