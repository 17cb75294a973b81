"""Texts are in plain technical English: words of an older private dialect do not return.

Each list names folders and files that are free of these words.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import ROOT

# Each of these was 10 to 400 times as frequent as in the standard library; each has a plainer equivalent.
BANNED = frozenset(
    "what whatever say says said told asked nobody somebody dear anew whoever beside begun gone apart meanwhile lies "
    "mend".split()
)
PYTHON = (
    "provio/base provio/system provio/settings provio/trace provio/lineage provio/graph provio/store provio/merge "
    "provio/record provio/containers provio/validate provio/serve provio/doctor provio/api provio/cli "
    "interceptors/python interceptors/recognise interceptors/site "
    "bench tests/api tests/base tests/cli tests/doctor tests/project tests/serve tests/system"
).split()
MESSAGES = (
    "provio/base provio/system provio/settings provio/containers provio/serve provio/doctor provio/api provio/cli bench"
).split()
C = (
    "interceptors/posix interceptors/hdf5 interceptors/mpiio interceptors/waiter interceptors/include bench "
    "tests/programs tests/hdf5 tests/clients tests/fuzz tests/mpi"
).split()
MARKDOWN = "docs/how-to docs/use-cases tests/transparency".split()

OUTPUT = frozenset("note complain confirm fail problem ok option argument command group Option BadParameter".split())
C_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
CODE = re.compile(r"^```.*?^```|^    [^\n]*|`[^`]*`|\]\([^)]*\)|<!--.*?-->", re.DOTALL | re.MULTILINE)

Text = tuple[int, str]


def comments(source: str) -> Iterator[Text]:
    """Yield the line and the text of each docstring and comment of Python."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield getattr(node, "lineno", 1), ast.get_docstring(node) or ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def messages(source: str) -> Iterator[Text]:
    """Yield the line and the text of each string of Python that is raised, printed or shown as help."""
    for node in ast.walk(ast.parse(source)):
        call = node.exc if isinstance(node, ast.Raise) else node
        if isinstance(call, ast.Call) and (isinstance(node, ast.Raise) or name_of(call.func) in OUTPUT):
            yield from literals([*call.args, *call.keywords])


def name_of(function: ast.expr) -> str:
    return getattr(function, "attr", None) or getattr(function, "id", "")


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


@pytest.mark.parametrize(
    ("place", "texts", "suffixes"),
    [
        *(pytest.param(place, comments, (".py",), id=f"{place}: comments") for place in PYTHON),
        *(pytest.param(place, messages, (".py",), id=f"{place}: messages") for place in MESSAGES),
        *(pytest.param(place, c_texts, (".c", ".h"), id=f"{place}: C") for place in C),
        *(pytest.param(place, markdown_texts, (".md",), id=f"{place}: Markdown") for place in MARKDOWN),
    ],
)
def test_a_place_has_no_banned_word(
    place: str, texts: Callable[[str], Iterator[Text]], suffixes: tuple[str, ...]
) -> None:
    files = [ROOT / place] if (ROOT / place).is_file() else sorted((ROOT / place).rglob("*"))
    found = {path: banned(texts(path.read_text(encoding="utf-8"))) for path in files if path.suffix in suffixes}
    assert found
    assert {str(Path(path).relative_to(ROOT)): words for path, words in found.items() if words} == {}


def test_a_banned_word_is_found() -> None:
    source = (
        '"""What is `said`."""\n\n\ndef f(y):\n    """Tell nobody."""\n    raise E(f"of {what} no one said")  # dear\n'
    )
    assert sorted(banned(comments(source))) == [(1, "what"), (4, "nobody"), (6, "dear")]
    assert banned(messages(source)) == [(6, "said")]
    assert banned(c_texts('int what; // dear\nf("he says"); /*\nanew */')) == [(1, "dear"), (2, "says"), (2, "anew")]
    assert banned(markdown_texts("Said.\n\n    told\n\n```\nanew\n```\n`what` [mend](what.md)")) == [
        (1, "said"),
        (8, "mend"),
    ]
