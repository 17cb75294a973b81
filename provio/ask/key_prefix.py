"""The prefix of a key of Dask, by Dask's own rule: the name of the function, without tokens, hashes and numbers.

The rule is that of `dask.utils.key_split`, as its documentation defines it; a test compares both. In: a key as text.
Out: `inc` of `inc-4a1b…`, `x` of `('x-2', 0)`, `data` of a hash alone, `Other` if nothing remains.
"""

from __future__ import annotations

from provio.base.records import pattern

HEXADECIMAL = pattern(r"[a-f]{8}")  # a part of a token that consists of letters only
HASH = pattern(r"[a-f0-9]{32}")
OTHER, DATA = "Other", "data"


def prefix(key: str) -> str:
    """Return the prefix of a key."""
    first, *rest = key.split("-")
    if not first:
        return OTHER
    if not first[0].isalpha():  # a tuple, or a name with an underscore or bracket before it
        first = first.partition(",")[0].strip("_'()\"")
    parts = [first]
    for part in rest:
        if not part.isalpha() or HEXADECIMAL.fullmatch(part):
            break
        parts.append(part)
    name = "-".join(parts)
    if HASH.fullmatch(name):
        return DATA
    if name.startswith("<"):  # the text of an object: <module.Class object at 0x…>
        name = next(iter(name.strip("<>").split()), "").rpartition(".")[2]
    return name or OTHER


def group(key: str) -> str:
    """Return the group of a key by Dask's own rule (`key_split_group`): the name before the index of a part of a
    collection, as `x-2` of `('x-2', 0)`; otherwise its prefix."""
    if key.startswith("("):
        return key.partition(",")[0].strip("()\"'")
    return DATA if HASH.fullmatch(key) else prefix(key)
