r"""Cutting the text of a query into tokens: any text, also a hostile one."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some

from provio.base.vocab import PREFIXES
from provio.store import sparql, sparql_patterns
from provio.store.sparql_tokens import _BASE, _CHARS, _ESCAPED, CODE, Tokenizer

# The grammar as one expression, which finds the same tokens, but takes a time that grows with the square of a text.
PREFIX = rf"[{_BASE}](?:[{_CHARS}.]*[{_CHARS}])?"
LOCAL = rf"(?:[{_CHARS}:]|{_ESCAPED})(?:(?:[{_CHARS}.:]|{_ESCAPED})*(?:[{_CHARS}:]|{_ESCAPED}))?"
GRAMMAR = re.compile(
    rf"""(?P<iri><(?:[^<>"{{}}|^`\\\x00-\x20]|{CODE})*>)
    |(?P<string>'''(?:'{{0,2}}(?:[^'\\]|\\.))*'''|\"\"\"(?:"{{0,2}}(?:[^"\\]|\\.))*\"\"\"
               |'(?:[^'\\\n\r]|\\.)*'|"(?:[^"\\\n\r]|\\.)*")
    |(?P<comment>\#[^\n\r]*)
    |(?P<variable>[?$][{_CHARS}]+)
    |(?P<name>(?:{PREFIX})?:(?:{LOCAL})?)
    |(?P<blank>_:[{_CHARS}.]*)
    |(?P<language>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
    |(?P<word>[{_BASE}][{_CHARS}]*)
    |(?P<other>[^\s])""",
    re.VERBOSE | re.DOTALL,
)
ALPHABETS = ["<>\"'#\\u0053sERVICErvice?:{} \n@._", "'\"\\\n a", "a.:_-%4 1\\", "'\\\n", "<>a\\u0041 '#@?$"]
SIZE = 1 << 17  # characters: of those that hide an expensive search, twice as many as take a minute
ENOUGH = 60  # seconds of CPU time of all functions; these texts take two, and took minutes

Cut = list[tuple[str | None, tuple[int, int]]]


def cut(text: str) -> Cut:
    tokenizer, found = Tokenizer(text), []
    match = tokenizer.match(0)
    while match:
        found.append((match.lastgroup, match.span()))
        match = tokenizer.match(match.end())
    return found


@settings(max_examples=1000, deadline=None)
@given(text=some.one_of([some.text(some.sampled_from(letters), max_size=40) for letters in ALPHABETS]))
@example("'''\\'''\\''' a")
@example("'\\'\\'\\\n'a'")
@example("a.b.c d.e:f.g. h..:i")
def test_the_tokens_of_any_text(text: str) -> None:
    """They are those of the grammar, and only white space is omitted."""
    found = cut(text)
    assert found == [(match.lastgroup, match.span()) for match in GRAMMAR.finditer(text)]
    places = {place for _, span in found for place in range(*span)}
    assert all(character.isspace() for place, character in enumerate(text) if place not in places)


HOSTILE = {
    "backslashes": "\\",
    "an open string": "'\\",
    "escaped quotes": "\\'",
    "an open long string": "'''\\",
    "escaped double quotes": '"""\\',
    "quotes": '"',
    "less than": "<",
    "open IRIs": "<a",
    "percent": "%",
    "names without a colon": "a.",
    "names with dots": "a:..",
    "blank nodes": "_:",
    "parentheses": "(",
    "brackets": "[",
    "groups": "{",
    "numbers": "1.",
    "digits": "1",
    "keywords": "FROM <a> ",
    "services": "SERVICE ",
    "comparisons": "<'>'",
    "codes": "\\u0027",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_takes_a_bounded_time(name: str) -> None:
    """After the words that each function searches for."""
    text = "SELECT * FROM <g> { ?a a prov:Entity . ?b ?service " + HOSTILE[name] * (SIZE // len(HOSTILE[name]))
    within(ENOUGH, text)


LONG = "a/" * (1 << 18)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        f"BASE <urn:{LONG}> SELECT * {'FROM <x> ' * 50_000} {{ ?a a prov:Entity }}",
        f"PREFIX p: <urn:{LONG}> SELECT * {'FROM p:x ' * 50_000} {{ ?a a prov:Entity }}",
        f"{'BASE <a/>' * 100_000} SELECT * FROM <x> {{ ?a a prov:Entity }}",
        f"SELECT * {{ ?a {LONG}a {'prov:Entity,1,' * 30_000} 1 }}",
    ],
    ids=["a long base", "a long prefix", "a growing base", "a long path"],
)
def test_a_hostile_query_takes_bounded_memory(text: str) -> None:
    """Also if each of its parts stands for a long text."""
    within(ENOUGH, text, [sparql_patterns.widened, lambda text: sparql.dataset(text, PREFIXES)])


ALL: list[Callable[[str], object]] = [
    sparql.updates,
    sparql.calls_service,
    sparql.loads,
    sparql.names_graphs,
    sparql.repeats_a_choice,
    sparql.without_dataset,
    sparql.without_service,
    sparql_patterns.widened,
    lambda text: sparql.dataset(text, PREFIXES),
]


def within(seconds: int, text: str, functions: list[Callable[[str], object]] = ALL) -> None:
    """Apply functions to a text, in a process that is ended at a limit of its CPU time and cannot take 2 GB."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))
        done = 1
        try:
            for function in functions:
                with contextlib.suppress(SyntaxError):
                    function(text)
            done = 0
        finally:
            os._exit(done)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code not in (-signal.SIGXCPU, -signal.SIGKILL), "it takes too long"
    assert code == 0, "it takes too much memory"
