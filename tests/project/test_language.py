"""Texts are in plain technical English: words of an older private dialect do not return."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import ROOT

# Each of these was 10 to 400 times as frequent as in the standard library; each has a plainer equivalent.
BANNED = frozenset(
    "what whatever say says said told asked nobody somebody dear anew whoever beside begun gone apart meanwhile lies "
    "mend".split()
)
# The folders and files with texts of each kind, and their suffixes.
PLACES: dict[str, tuple[str, tuple[str, ...]]] = {
    "comments": ("provio interceptors bench examples tests", (".py",)),
    "messages": ("provio interceptors bench", (".py",)),
    "C": ("interceptors bench examples tests", (".c", ".h")),
    "Markdown": ("docs examples provio tests README.md CONTRIBUTING.md", (".md",)),
}
OUTPUT = frozenset("note complain confirm fail problem ok option argument command group Option BadParameter".split())
WORD = re.compile(rf"(?<![a-z])(?:{'|'.join(sorted(BANNED))})(?![a-z])", re.IGNORECASE)
C_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
CODE = re.compile(r"^```.*?^```|^    [^\n]*|`[^`]*`|\]\([^)]*\)|<!--.*?-->", re.DOTALL | re.MULTILINE)

Text = tuple[int, str]


def parts(source: str) -> Iterator[ast.AST]:
    """Yield the nodes of Python, less those whose lines have no banned word anywhere: most of the time is saved."""
    lines = [number for number, line in enumerate(source.split("\n"), start=1) if WORD.search(line)]
    waiting: list[ast.AST] = [ast.parse(source)] if lines else []
    for node in waiting:
        yield node
        waiting += [child for child in ast.iter_child_nodes(node) if is_in(child, lines)]


def is_in(node: ast.AST, lines: list[int]) -> bool:
    """Return whether a node has one of these lines; one without a place may have."""
    last = getattr(node, "end_lineno", None)
    if last is None:
        return True
    first = min(getattr(part, "lineno", last) for part in (node, *getattr(node, "decorator_list", ())))
    return bisect_left(lines, first) < bisect_right(lines, last)


def comments(source: str) -> Iterator[Text]:
    """Yield the line and the text of each docstring and comment of Python."""
    for node in parts(source):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield getattr(node, "lineno", 1), ast.get_docstring(node) or ""
    if not any("#" in line and WORD.search(line) for line in source.split("\n")):
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def messages(source: str) -> Iterator[Text]:
    """Yield the line and the text of each string of Python that is raised, printed or shown as help."""
    for node in parts(source):
        call = node.exc if isinstance(node, ast.Raise) else node
        if isinstance(call, ast.Call) and (isinstance(node, ast.Raise) or name_of(call.func) in OUTPUT):
            yield from literals([*call.args, *call.keywords])


def name_of(function: ast.expr) -> str:
    return str(getattr(function, "attr", None) or getattr(function, "id", ""))


def literals(nodes: list[ast.AST]) -> Iterator[Text]:
    """Yield the texts in expressions, without the code in f-strings; a text of one word is a name."""
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield node.lineno, node.value
        elif not isinstance(node, ast.FormattedValue):
            yield from literals(list(ast.iter_child_nodes(node)))


def c_texts(source: str) -> Iterator[Text]:
    """Yield the line and the text of each comment and string of C."""
    for match in C_TEXT.finditer(source):
        yield source.count("\n", 0, match.start()) + 1, match[0]


def markdown_texts(source: str) -> Iterator[Text]:
    """Yield the line and the text of each line of Markdown, without code."""
    prose = CODE.sub(lambda match: "\n" * match[0].count("\n"), source)
    yield from enumerate(prose.split("\n"), start=1)


def banned(texts: Iterator[Text]) -> list[tuple[int, str]]:
    """Return the line and the word of each banned word, except in code (between backquotes)."""
    return [
        (line, word)
        for line, text in texts
        for word in re.findall(r"[a-z]+", re.sub(r"`[^`]*`", " ", text).lower())
        if word in BANNED
    ]


TEXTS: dict[str, Callable[[str], Iterator[Text]]] = {
    "comments": comments,
    "messages": messages,
    "C": c_texts,
    "Markdown": markdown_texts,
}


def files(kind: str, place: str) -> list[Path]:
    found = [ROOT / place] if (ROOT / place).is_file() else (ROOT / place).rglob("*")
    return sorted(path for path in found if path.suffix in PLACES[kind][1] and path.is_file())


@pytest.mark.parametrize(("kind", "place"), [(kind, place) for kind in PLACES for place in PLACES[kind][0].split()])
def test_a_place_has_no_banned_word(kind: str, place: str) -> None:
    found = {path: banned(TEXTS[kind](path.read_text(encoding="utf-8"))) for path in files(kind, place)}
    assert {str(path.relative_to(ROOT)): words for path, words in found.items() if words} == {}


def test_a_banned_word_is_found() -> None:
    source = (
        '"""What is `said`."""\n\n\ndef f(y):\n    """Tell nobody."""\n    raise E(f"of {what} no one said")  # dear\n'
    )
    assert sorted(banned(comments(source))) == [(1, "what"), (4, "nobody"), (6, "dear")]
    assert banned(messages(source)) == [(6, "said")]
    decorated = '@option("--x", help="an x of somebody")\ndef f(x):\n    """Take it."""\n    note("no such thing")\n'
    assert banned(messages(decorated)) == [(1, "somebody")]
    assert banned(c_texts('int what; // dear\nf("he says"); /*\nanew */')) == [(1, "dear"), (2, "says"), (2, "anew")]
    assert banned(markdown_texts("Said.\n\n    told\n\n```\nanew\n```\n`what` [mend](what.md)")) == [
        (1, "said"),
        (8, "mend"),
    ]
