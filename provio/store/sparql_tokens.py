"""Cuts the text of a SPARQL 1.1 query or update into the tokens of the grammar
(https://www.w3.org/TR/sparql11-query/#sparqlGrammar, rules 139 to 173).

Any text is cut, also one that is no SPARQL, in a time proportional to its length: no expression gives back characters
that it has matched, and a search that has failed is not repeated for the same part of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_BASE = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_CHARS = _BASE + "_0-9\u00b7\u0300-\u036f\u203f-\u2040-"
_HEX = "[0-9A-Fa-f]"
CODE = rf"\\u{_HEX}{{4}}|\\U{_HEX}{{8}}"
_ESCAPED = rf"%{_HEX}{_HEX}|\\[_~.\-!$&'()*+,;=/?#@%]"
_LOCAL = rf"(?:[{_CHARS}:]++|{_ESCAPED})(?:\.*+(?:[{_CHARS}:]++|{_ESCAPED}))*+"
_NAME = rf"|(?P<name>(?:[{_BASE}][{_CHARS}.]*+(?<!\.))?:(?:{_LOCAL})?+)"


def _grammar(name: str) -> re.Pattern[str]:
    return re.compile(
        rf"""(?P<iri><(?:[^<>"{{}}|^`\\\x00-\x20]++|{CODE})*+>)
        |(?P<quote>'''|\"\"\"|'|")
        |(?P<comment>\#[^\n\r]*+)
        |(?P<variable>[?$][{_CHARS}]++)
        {name}
        |(?P<blank>_:[{_CHARS}.]*+)
        |(?P<language>@[A-Za-z]++(?:-[A-Za-z0-9]++)*+)
        |(?P<word>[{_BASE}][{_CHARS}]*+)
        |(?P<other>[^\s])""",
        re.VERBOSE | re.DOTALL,
    )


_TOKEN, _NAMELESS = _grammar(_NAME), _grammar("")
_RUN = re.compile(rf"[{_CHARS}.]*+")
_STRINGS = {
    **{q: re.compile(rf"(?P<string>{q}(?:[^{q}\\\n\r]++|\\.)*+(?P<end>{q})?)", re.DOTALL) for q in "'\""},
    **{
        3 * q: re.compile(
            rf"(?P<string>{q}{q}{q}(?:[^{q}\\]++|\\.|{q}{{1,2}}+(?=[^{q}]))*+(?P<end>{q}{q}{q})?)", re.DOTALL
        )
        for q in "'\""
    },
}
_OTHER = re.compile("(?P<other>.)", re.DOTALL)


class Token(NamedTuple):
    """A token: its kind, which is iri, string, variable, name, blank, language, word or other, and its text."""

    kind: str
    text: str


NONE = Token("", "")


class Tokenizer:
    """Finds the tokens of a text. Positions may go back by a token, but not further.

    Two searches that fail are noted. A quote without an end: each later quote of its kind, up to where the search
    ended, is escaped for that search; so a string that starts there contains the same text, and has no end either. A
    prefix without a colon: no name starts before the end of its letters and dots.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.unclosed = dict.fromkeys(_STRINGS, 0)
        self.nameless = 0

    def match(self, start: int) -> re.Match[str] | None:
        """Return the next token or comment; its kind is the `lastgroup`."""
        found = (_NAMELESS if start < self.nameless else _TOKEN).search(self.text, start)
        if found is None:
            return None
        end = found.end()
        if found.lastgroup == "quote":
            return self._string(found.start(), found[0])
        if found.lastgroup == "word" and end >= self.nameless and self.text.startswith(".", end):
            run = _RUN.match(self.text, end)
            self.nameless = run.end() if run else 0
        return found

    def _string(self, start: int, quote: str) -> re.Match[str] | None:
        """Return the string that starts with a quote; the quote alone if it has no end."""
        for one in (quote, quote[0]):
            if start >= self.unclosed[one]:
                found = _STRINGS[one].match(self.text, start)
                assert found  # noqa: S101 - it starts with this quote
                if found["end"]:
                    return found
                self.unclosed[one] = found.end()
        return _OTHER.match(self.text, start)


def matches(text: str) -> Iterator[re.Match[str]]:
    """Yield the tokens of a text with their positions, without comments."""
    tokenizer = Tokenizer(text)
    found = tokenizer.match(0)
    while found:
        if found.lastgroup != "comment":
            yield found
        found = tokenizer.match(found.end())


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a text, without comments."""
    return (Token(found.lastgroup or "", found[0]) for found in matches(text))
