"""Everything that the C library exports is known: a row of the table, or of a family that moves no file's content."""

from __future__ import annotations

import re
from pathlib import Path

from test_table import libc_names, rows


def families() -> dict[str, re.Pattern[str]]:
    """What a family is -> the names that are of it."""
    found: dict[str, re.Pattern[str]] = {}
    text = (Path(__file__).parent.parent / "families.txt").read_text()
    for part in re.sub(r"^#.*$", "", text, flags=re.M).split("\n= ")[1:]:
        what, *words = part.splitlines()
        found[what] = re.compile("|".join(" ".join(words).split()))
    return found


def unknown(names: set[str]) -> set[str]:
    """What is neither in the table nor of a family."""
    known = rows().keys()
    patterns = families().values()
    return {n for n in names if n not in known and not any(f.fullmatch(n.lstrip("_")) for f in patterns)}


def test_every_function_of_the_c_library_is_known() -> None:
    """A name that a newer C library adds is looked at by somebody before it is left out."""
    assert unknown(libc_names()) == set()


def test_names_that_look_like_io_are_asked_for() -> None:
    """The families are narrow enough: no form of a call that moves data falls into one."""
    made_up = set(
        "preadv3 openat3 fopen2 statx2 renameat3 copy_file_range64 getdents32 __pwritev3_chk fputs2 sendfile32 mmap3 "
        "aio_readv freadahead unlink2 lchmodat readlinkv".split()
    )
    assert unknown(made_up) == made_up
    io = re.compile("read|write|open|link|stat|dir|sync|trunc|chmod|chown|xattr|seek")
    wide = [pattern for what, pattern in families().items() if "inside" not in what]
    assert {name for name in rows() if io.search(name) and any(f.fullmatch(name.lstrip("_")) for f in wide)} == set()
