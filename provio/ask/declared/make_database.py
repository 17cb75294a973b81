"""The rules of a Makefile. In: the output of `make -p`. Out: each target with its prerequisites and its recipe.

prog.o: prog.src extra.h | build
#  Implicit/static pattern stem: 'prog'
#  recipe to execute (from 'Makefile', line 7):
    cat $< extra.h > $@
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

START, END = "# Files", "# files hash-table stats:"
STEM = re.compile(r"#  Implicit/static pattern stem: ['`](.*)'")
VARIABLE = re.compile(r"\$(\$|[@<^+?*|%][DF]?|\([^()]*(?:\([^()]*\)[^()]*)*\)|\{[^{}]*\}|\w)", re.DOTALL)


@dataclass
class Rule:
    """A target of a Makefile; `also` are other files that its recipe makes. `order` are prerequisites that need only
    exist. A leaf is a prerequisite without a rule."""

    target: str
    inputs: list[str] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    also: list[str] = field(default_factory=list)
    recipe: list[str] = field(default_factory=list)
    stem: str = ""
    phony: bool = False
    missing: bool = False
    leaf: bool = False

    @property
    def outputs(self) -> list[str]:
        """The files that the recipe makes."""
        return [] if self.phony else [self.target, *self.also]

    def match(self, text: str) -> tuple[int, int] | None:
        """Return the line of the recipe that is a command's text (`plain`): how many of its characters are known, and
        its place; None if none is."""
        found = [(known, place) for pattern, known, place in self._patterns if pattern.fullmatch(text)]
        return max(found, key=lambda one: (one[0], -one[1]), default=None)

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], int, int]]:
        return [(*self._pattern(line), place) for place, line in enumerate(self.recipe, start=1)]

    def _pattern(self, line: str) -> tuple[re.Pattern[str], int]:
        """Return a pattern for a line, and how many characters are known: variables may have any value."""
        pattern, known, end = "", 0, 0
        for found in VARIABLE.finditer(line):
            before, value = line[end : found.start()], self._value(found[1])
            pattern += re.escape(plain(before, ends=False)) + (".*" if value is None else re.escape(plain(value)))
            known, end = known + len(before.strip()) + len(value or ""), found.end()
        pattern += re.escape(plain(line[end:], ends=False))
        return re.compile(pattern.strip(), re.DOTALL), known + len(line[end:].strip())

    def _value(self, name: str) -> str | None:
        """Return the value of an automatic variable, None of others."""
        name = name.strip("(){}")
        first = self.inputs[0] if self.inputs else ""
        unique = list(dict.fromkeys(self.inputs))
        known = {"$": "$", "@": self.target, "<": first, "^": " ".join(unique), "+": " ".join(self.inputs)}
        known |= {"*": self.stem} if self.stem else {}
        return known.get(name)


def rules(text: str) -> dict[str, Rule]:
    """Return the rules of a database, without make's own ones; of several databases, those of the last."""
    part = text.rpartition("\n" + START + "\n")[2].partition("\n" + END)[0]
    blocks = [[line for line in block.split("\n") if line] for block in part.split("\n\n")]
    names = {line[: line.rindex(":")] for block in blocks for line in block if line.endswith(":") and line[0] != "\t"}
    heads = [(block, place) for block in blocks for place, line in enumerate(block) if line[0] not in "#\t"]
    names |= {block[place].partition(": ")[0] for block, place in heads}
    found = {}
    for block, place in heads:
        rule = _rule(block[place], block[place + 1 :], names)
        rule.leaf = "# Not a target:" in block[:place]
        if "#  Builtin rule" not in block:
            found[rule.target] = rule
    for target in found[".PHONY"].inputs if ".PHONY" in found else ():
        if target in found:
            found[target].phony = True
    whole = ".ONESHELL" in found
    for rule in found.values():
        rule.recipe = ["\n".join(rule.recipe)] if whole else rule.recipe
    return {target: rule for target, rule in found.items() if not re.fullmatch(r"\.[A-Z_]+", target)}


def _rule(head: str, facts: list[str], names: Collection[str]) -> Rule:
    target, _, rest = head.partition(": ") if ": " in head else (head.rstrip(":"), "", "")
    double = target.endswith(":")  # `target::`
    before, _, order = f" {rest} ".partition(" | ")
    rule = Rule(target.rstrip(":") if double else target, [*_names(before, names)], [*_names(order, names)])
    rule.phony = any("Phony target" in line for line in facts)
    rule.missing = "#  File does not exist." in facts
    for line in facts:
        if stem := STEM.match(line):
            rule.stem = stem[1]
        elif line.startswith("#  Also makes: "):
            rule.also = [*_names(line.removeprefix("#  Also makes: "), names)]
    rule.recipe = [*_lines(line[1:] for line in facts if line.startswith("\t"))]
    return rule


def _names(text: str, known: Collection[str]) -> Iterator[str]:
    """Yield the names in a list; one with spaces is known as a whole."""
    words = text.split(" ")
    words = [word for word in words if word]
    while words:
        longest = next((n for n in range(len(words), 1, -1) if " ".join(words[:n]) in known), 1)
        yield " ".join(words[:longest])
        words = words[longest:]


def _lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a recipe, those that a backslash continues as one, without the signs before a command."""
    begun = ""
    for line in lines:
        begun += line
        if not line.endswith("\\"):
            yield begun.lstrip("@-+ \t")
            begun = ""
        else:
            begun += "\n"
    if begun:
        yield begun.lstrip("@-+ \t")


def plain(text: str, ends: bool = True) -> str:
    """Return a text without quotes and continuations, and with single spaces."""
    text = re.sub(r"\s+", " ", re.sub(r"\\\n|[\"'\\]", "", text))
    return text.strip() if ends else text
