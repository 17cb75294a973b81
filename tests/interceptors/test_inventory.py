"""Each name that the C library exports is a row of the table, or belongs to a family of names without file content."""

from __future__ import annotations

import re
from pathlib import Path

from test_table import libc_names, rows


def families() -> dict[str, re.Pattern[str]]:
    """Each family of names -> the names in it."""
    found: dict[str, re.Pattern[str]] = {}
    text = (Path(__file__).parent.parent / "families.txt").read_text()
    for part in re.sub(r"^#.*$", "", text, flags=re.M).split("\n= ")[1:]:
        family, *words = part.splitlines()
        found[family] = re.compile("|".join(" ".join(words).split()))
    return found


def unknown(names: set[str]) -> set[str]:
    """The names that are neither in the table nor in a family."""
    known = rows().keys()
    patterns = families().values()
    return {n for n in names if n not in known and not any(f.fullmatch(n.lstrip("_")) for f in patterns)}


def test_every_function_of_the_c_library_is_known() -> None:
    """A new name of a newer C library must be examined before it is left out."""
    assert unknown(libc_names()) == set()


def test_names_that_look_like_io_are_not_in_families() -> None:
    """The families are narrow enough: no variant of a call that moves data matches one."""
    made_up = set(
        "preadv3 openat3 fopen2 statx2 renameat3 copy_file_range64 getdents32 __pwritev3_chk fputs2 sendfile32 mmap3 "
        "aio_readv freadahead unlink2 lchmodat readlinkv".split()
    )
    assert unknown(made_up) == made_up
    io = re.compile("read|write|open|link|stat|dir|sync|trunc|chmod|chown|xattr|seek")
    wide = [pattern for family, pattern in families().items() if "inside" not in family]
    assert {name for name in rows() if io.search(name) and any(f.fullmatch(name.lstrip("_")) for f in wide)} == set()
