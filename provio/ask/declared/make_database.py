"""The rules of a Makefile. In: the output of `make -p`. Out: each target with its prerequisites and its recipe.

prog.o: prog.src extra.h | build
#  Implicit/static pattern stem: 'prog'
#  recipe to execute (from 'Makefile', line 7):
    cat $< extra.h > $@
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

START, END = "# Files", "# files hash-table stats:"
STEM = re.compile(r"#  Implicit/static pattern stem: ['`](.*)'")
VARIABLE = re.compile(r"\$(\$|[@<^+?*|%][DF]?|\([^()]*(?:\([^()]*\)[^()]*)*\)|\{[^{}]*\}|\w)", re.DOTALL)


@dataclass
class Rule:
    """A target of a Makefile; `also` are other files that its recipe makes. `order` are prerequisites that need only
    exist."""

    target: str
    inputs: list[str] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    also: list[str] = field(default_factory=list)
    recipe: list[str] = field(default_factory=list)
    stem: str = ""
    phony: bool = False

    @property
    def outputs(self) -> list[str]:
        """The files that the recipe makes."""
        return [] if self.phony else [self.target, *self.also]

    def parts(self, line: str) -> list[str | None]:
        """Return the known parts of a line of the recipe as plain text, and None for a variable of any value."""
        found: list[str | None] = [""]
        end = 0
        for variable in VARIABLE.finditer(line):
            for part in (line[end : variable.start()], self._value(variable[1])):
                if part is None or found[-1] is None:
                    found.append(part)
                else:
                    found[-1] += part
            end = variable.end()
        found.append(line[end:])
        return [None if part is None else plain(part, ends=False) for part in found]

    def _value(self, name: str) -> str | None:
        """Return the value of an automatic variable, None of others."""
        name = name.strip("(){}")
        first = self.inputs[0] if self.inputs else ""
        unique = list(dict.fromkeys(self.inputs))
        known = {"$": "$", "@": self.target, "<": first, "^": " ".join(unique), "+": " ".join(self.inputs)}
        known |= {"*": self.stem} if self.stem else {}
        return known.get(name)


class Recipes:
    """Finds the targets whose recipe has a command. Lines without unknown variables are looked up."""

    def __init__(self, known: Mapping[str, Rule]) -> None:
        self._exact: dict[str, dict[str, tuple[int, int]]] = {}
        self._open: list[tuple[str, re.Pattern[str], str, tuple[int, int]]] = []
        self._found: dict[str, dict[str, tuple[int, int]]] = {}
        for rule in known.values():
            for place, line in enumerate(rule.recipe, start=1):
                parts = rule.parts(line)
                texts = [part for part in parts if part is not None]
                score = sum(len(part.strip()) for part in texts), place
                if len(texts) == len(parts):
                    self._exact.setdefault(plain("".join(texts)), {}).setdefault(rule.target, score)
                else:
                    pattern = "".join(".*" if part is None else re.escape(part) for part in parts)
                    needed = max((part.strip() for part in texts), key=len)
                    self._open.append((needed, re.compile(pattern.strip(), re.DOTALL), rule.target, score))

    def match(self, command: str) -> dict[str, tuple[int, int]]:
        """Return the targets whose recipe has a line that is a command: how many of its characters are known, and its
        place in the recipe."""
        text = plain(command)
        if text not in self._found:
            found = self._found[text] = dict(self._exact.get(text, {}))
            for needed, pattern, target, score in self._open:
                if needed in text and score[0] > found.get(target, (-1, 0))[0] and pattern.fullmatch(text):
                    found[target] = score
        return self._found[text]


def rules(text: str) -> dict[str, Rule]:
    """Return the rules of a database, without make's own ones; of several databases, those of the last."""
    part = text.rpartition("\n" + START + "\n")[2].partition("\n" + END)[0]
    blocks = [[line for line in block.split("\n") if line] for block in part.split("\n\n")]
    heads = [(block, place) for block in blocks for place, line in enumerate(block) if line[0] not in "#\t"]
    names = {block[place].partition(": ")[0].rstrip(":") for block, place in heads}
    spaced = {name for name in names if " " in name}
    found = {}
    for block, place in heads:
        if "#  Builtin rule" not in block:
            rule = _rule(block[place], block[place + 1 :], spaced)
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
    for line in facts:
        if stem := STEM.match(line):
            rule.stem = stem[1]
        elif line.startswith("#  Also makes: "):
            rule.also = [*_names(line.removeprefix("#  Also makes: "), names)]
    rule.recipe = [*_lines(line[1:] for line in facts if line.startswith("\t"))]
    return rule


def _names(text: str, spaced: Collection[str]) -> Iterator[str]:
    """Yield the names in a list; those with spaces are known as wholes."""
    words = [word for word in text.split(" ") if word]
    most = max((name.count(" ") + 1 for name in spaced), default=1)
    place = 0
    while place < len(words):
        ends = range(min(place + most, len(words)), place + 1, -1)
        end = next((end for end in ends if " ".join(words[place:end]) in spaced), place + 1)
        yield " ".join(words[place:end])
        place = end


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
