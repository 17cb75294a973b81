"""Comments and docstrings are in plain technical English: words of an older private dialect do not return."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

# Each of these was 10 to 400 times as frequent as in the standard library; each has a plainer equivalent.
BANNED = frozenset(
    "what whatever say says said told asked nobody somebody dear anew whoever beside begun gone apart meanwhile lies "
    "mend".split()
)
PLAIN = (
    "base system settings trace lineage graph store merge record containers validate api "
    "interceptors/python interceptors/recognise interceptors/site"
).split()


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each docstring and comment."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield getattr(node, "lineno", 1), ast.get_docstring(node) or ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def banned(source: str) -> list[tuple[int, str]]:
    """Return the line and the word of each banned word, but for those in code (between backquotes)."""
    return [
        (line, word)
        for line, text in texts(source)
        for word in re.findall(r"[a-z]+", re.sub(r"`[^`]*`", " ", text).lower())
        if word in BANNED
    ]


@pytest.mark.parametrize("package", PLAIN)
def test_a_package_has_no_banned_word(package: str) -> None:
    found = {
        path: banned(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "provio" / package).rglob("*.py"))
    }
    assert {str(Path(path).relative_to(ROOT)): words for path, words in found.items() if words} == {}


def test_a_banned_word_is_found() -> None:
    source = '"""What is `said`."""\n\n\ndef f():\n    """Tell nobody."""\n    x = "what"  # dear\n'
    assert sorted(banned(source)) == [(1, "what"), (4, "nobody"), (6, "dear")]
