"""Tables that C and Python both need are written once."""

from __future__ import annotations

import re

import shared_tables
from conftest import ROOT

from provio.interceptors.python import shared_tables as generated

POSIX = ROOT / "interceptors" / "posix"


def test_the_module_is_up_to_date() -> None:
    """`make vocab` writes interceptors/python/shared_tables.py."""
    assert (ROOT / "interceptors" / "python" / "shared_tables.py").read_text(encoding="utf-8") == shared_tables.module()


def test_c_has_the_same_launchers() -> None:
    text = (POSIX / "rank.c").read_text(encoding="utf-8")
    if '#include "launchers.def"' in text:
        return
    rows = {
        kind: tuple(re.findall(r'name\("([^"]*)"\)', row))
        for kind, row in re.findall(r"#define (\w+)_NAMES\(name\)((?:.*\\\n)*.*)", text)
    }
    assert tuple(zip(rows["LAUNCHER"], rows["RANK"], rows["SIZE"], strict=True)) == generated.LAUNCHERS
    assert (rows["BATCH"], rows["STEP"]) == (generated.BATCH, generated.STEPS)


def test_c_has_the_same_secret_words() -> None:
    text = (POSIX / "secret.c").read_text(encoding="utf-8")
    if '#include "secret_words.def"' in text:
        return
    rows = {
        name: tuple("".join(re.findall(r'"([^"]*)"', words)).split())
        for name, words in re.findall(r"static const char (\w+)\[\] =\s*([^;]*);", text)
    }
    names = {
        "sure_words": "SURE",
        "other_words": "TEXT",
        "of_data": "OF_DATA",
        "keys_of": "KEYS_OF",
        "owners": "OWNERS",
    }
    assert rows == {own: getattr(generated, name) for own, name in names.items()}
