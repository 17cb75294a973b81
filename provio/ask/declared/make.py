"""Steps of make: a step is a target that a recorded make made. Out of: the processes of a run, and the rules that make
itself prints about its Makefile (`make -npk`).

A process that make started belongs to the target whose recipe has its command line, or else to the target that it
wrote.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence

from provio.ask.declared.actions import INPUT, Actions, Actor, start_of
from provio.ask.declared.compare import Step, absolute
from provio.ask.declared.make_database import Recipes, Rule, rules
from provio.ask.redo import SHELLS
from provio.base.errors import ProvioError
from provio.base.text import cut_end, plural, printable

PROGRAMS = frozenset({"make", "gmake"})
ALONE = frozenset("CfIoWE")  # options with a value
MAY_HAVE = frozenset("jlO")  # those that may have one
LONG = frozenset({"--directory", "--file", "--makefile", "--include-dir", "--old-file", "--what-if", "--eval"})
KEPT = frozenset("fIrRe")  # options that decide which rules there are
KEPT_LONG = ("--file", "--makefile", "--include-dir", "--no-builtin", "--environment-overrides")
SECONDS = 120
PLAIN_VARIABLE = re.compile(r"([\w.-]+)(?::{1,3}|[+?])?=[^$]*")  # without `$(shell …)` and `!=`
STARTING = frozenset({"MAKE", "SHELL", ".SHELLFLAGS", "MAKEFLAGS", "GNUMAKEFLAGS", "MFLAGS", "MAKEFILES"})
Key = tuple[tuple[str, ...], tuple[str, ...]]


def steps(actions: Actions, notes: list[str]) -> Iterator[Step]:
    """Yield the steps of each make of a run, in the order of their starts."""
    makes = actions.named(PROGRAMS)
    sources = workflow(actions)
    variables: dict[str, list[str]] = {}
    for make in makes:
        above = next((one.iri for one in actions.above(make.iri) if one.iri in variables), "")
        variables[make.iri] = [*variables.get(above, ())]
        for word in filter(_is_variable, make.words[1:]):
            if _starts_nothing(word):
                variables[make.iri].append(word)
            else:
                text = cut_end(printable(word, True), 60)
                notes.append(f"make does not get the recorded {text}, because it could start a program")
        lines = sorted(_lines(actions, make), key=start_of)
        if lines:
            folder, known = _rules(actions, make, variables[make.iri])
            found = _by_target(actions, folder, known, lines)
            if lost := [_text(line.words) for line in found.pop("", ()) if _uses_files(actions, line)]:
                text = cut_end(printable(lost[0], True), 60)
                notes.append(f"no target has {plural(len(lost), 'command')} that make executed ({text})")
            together = _together(known.values())
            for target, commands in found.items():
                step = _step(actions, folder, known, known[target], commands, {one.iri for one in makes})
                step.allowed += absolute(together[_key(known[target])], folder)
                step.sources = sources
                yield step


def workflow(actions: Actions) -> set[str]:
    """Return the Makefiles: all files that make itself read."""
    return {path for make in actions.named(PROGRAMS) for paths in make.reads for path in paths}


def _lines(actions: Actions, make: Actor) -> Iterator[Actor]:
    """Yield the processes that make started: each executes a line of a recipe."""
    for iri in make.children:
        child = actions.actors[iri]
        if actions.is_fork(child):
            yield from _lines(actions, child)
        else:
            yield child


def _by_target(actions: Actions, folder: str, known: dict[str, Rule], lines: Sequence[Actor]) -> dict[str, list[Actor]]:
    """Return the lines of each target; those of none by "".

    A line that several targets have belongs to the target of the line before it if it comes later in the recipe, or
    else to that of the next line.
    """
    made = {path: rule.target for rule in known.values() if rule.recipe for path in absolute(rule.outputs, folder)}
    recipes = Recipes(known)
    found: dict[str, list[Actor]] = {}
    waiting: list[tuple[Actor, dict[str, int]]] = []
    last, place = "", 0
    for line in lines:
        names = _targets(line, {made[path] for path in _written(actions, line) if path in made}, recipes)
        if len(names) > 1 and names.get(last, 0) <= place:
            waiting.append((line, names))
            continue
        target = last if len(names) > 1 else next(iter(names), "")
        for one, others in waiting:
            found.setdefault(target if target in others else next(iter(others)), []).append(one)
        waiting = []
        found.setdefault(target, []).append(line)
        last, place = target, names.get(target, 0)
    for one, others in waiting:
        found.setdefault(next(iter(others)), []).append(one)
    return found


def _targets(line: Actor, outputs: set[str], recipes: Recipes) -> dict[str, int]:
    """Return the targets whose recipe has a command, the most certain ones, each with the place of that line."""
    every = recipes.match(_text(line.words))
    own = {target: every[target] for target in sorted(outputs) if target in every}
    if len(own) != 1:
        most = max((score for score, _ in every.values()), default=0)
        best = {target: found for target, found in every.items() if found[0] == most > 0}
        own = best if len(best) == 1 else own or best or ({} if outputs else every)
    return {target: place for target, (_, place) in own.items()} or dict.fromkeys(sorted(outputs)[:1], 0)


def _uses_files(actions: Actions, line: Actor) -> bool:
    """Return whether a command read or wrote files; most of those of `$(shell …)` did not."""
    return any(actor.writes or INPUT in actor.reads.values() for actor in actions.below(line.iri))


def _step(
    actions: Actions, folder: str, known: dict[str, Rule], rule: Rule, own: Sequence[Actor], makes: set[str]
) -> Step:
    inputs = [name for name in rule.inputs if not _is_name(known.get(name), os.path.join(folder, name))]
    every = {one.iri: one for line in own for one in actions.below(line.iri)}
    mine = {one.iri: one for line in own if line.iri not in makes for one in actions.below(line.iri, makes)}
    objects = [os.path.splitext(name)[0] + ".d" for name in rule.outputs]  # a compiler's lists of headers
    allowed = absolute([*rule.order, *objects], folder)
    nested = [one for iri, one in every.items() if iri not in mine]
    return Step(
        rule.target, absolute(inputs, folder), absolute(rule.outputs, folder), allowed, [*mine.values()], nested
    )


def _together(known: Iterable[Rule]) -> dict[Key, list[str]]:
    """Return the files of targets with the same rule: `a b: in` is one for each, and its recipe may make both."""
    found: dict[Key, list[str]] = {}
    for rule in known:
        found.setdefault(_key(rule), []).extend(rule.outputs)
    return found


def _key(rule: Rule) -> Key:
    return tuple(rule.recipe), tuple(rule.inputs)


def _is_name(rule: Rule | None, path: str) -> bool:
    """Return whether a prerequisite is only a name and no file: a phony target, or one that no recipe makes."""
    return rule is not None and (rule.phony or (not rule.recipe and not os.path.lexists(path)))


def _written(actions: Actions, line: Actor) -> Iterator[str]:
    for actor in actions.below(line.iri):
        yield from actor.touched
        for paths in actor.writes:
            yield from paths


def _text(words: Sequence[str]) -> str:
    """Return the command that make gave to a shell, or executed itself."""
    shell = bool(words) and os.path.basename(words[0]) in SHELLS and len(words) > 2
    return words[-1] if shell else " ".join(words)


def _is_variable(word: str) -> bool:
    return "=" in word and not word.startswith("-")


def _starts_nothing(variable: str) -> bool:
    """Return whether make starts no program because of a variable: a record may be from someone else."""
    match = PLAIN_VARIABLE.fullmatch(variable)
    return match is not None and match[1] not in STARTING


def _rules(actions: Actions, make: Actor, variables: Sequence[str]) -> tuple[str, dict[str, Rule]]:
    """Return the folder of a recorded make, and its rules, as the present Makefile has them."""
    import subprocess  # slow to import, and rarely needed

    from provio.system.child import unwatched

    program = shutil.which(os.path.basename(make.words[0]))
    if program is None:
        raise ProvioError("make is not installed, and only make can read a Makefile: install make")
    options, goals, change = _arguments(make)
    folder = _folder(actions, make, change)
    environment = {**unwatched(), "LC_ALL": "C"}
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "GNUMAKEFLAGS", "MAKEFILES"):
        environment.pop(name, None)
    try:
        done = subprocess.run(
            [program, "-npk", *options, "MAKE=:", *variables, *goals],
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ProvioError(
            f"make cannot print its rules in {folder}: {error}: restore the folder, or name another run"
        ) from None
    known = rules(os.fsdecode(done.stdout))
    if not any(rule.recipe for rule in known.values()):
        said = os.fsdecode(done.stderr).strip().splitlines()[-1:] or ["it has no rules"]
        raise ProvioError(f"make cannot read the Makefile in {folder} ({said[0]}): restore the Makefile of this run")
    return folder, known


def _folder(actions: Actions, make: Actor, change: str) -> str:
    """Return the folder that make worked in: its recorded one may be that before or after its option -C."""
    above = [actor.cwd for actor in actions.above(make.iri)] + [actions.cwd]
    after = {os.path.realpath(os.path.join(folder, change)) for folder in above if folder}
    return make.cwd if os.path.realpath(make.cwd) in after else os.path.normpath(os.path.join(make.cwd, change))


def _arguments(make: Actor) -> tuple[list[str], list[str], str]:
    """Return the options of a recorded make that decide its rules, its goals, and the folder that it changed to."""
    options: list[str] = []
    goals: list[str] = []
    folder = before = ""
    words = iter(make.words[1:])
    for word in words:
        last = word
        if word.startswith("--"):
            value = [next(words, "")] if word in LONG else []
            if word.startswith("--directory"):
                folder = os.path.join(folder, *value, *word.split("=", 1)[1:])
            elif word.startswith(KEPT_LONG):
                options += [word, *value]
        elif word.startswith("-") and len(word) > 1:
            for letter, given in _letters(word, words):
                if letter == "C":
                    folder = os.path.join(folder, given)
                elif letter in KEPT:
                    options += [f"-{letter}", *([given] if letter in ALONE else [])]
                last = f"-{letter}{given}"
        elif not (_is_variable(word) or (before in ("-j", "-l") and word.replace(".", "").isdigit())):
            goals.append(word)
        before = last
    return options, goals, folder


def _letters(word: str, words: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Yield the options in one word, `-rsf Makefile` too, with their values; one that is alone takes the next word."""
    for at, letter in enumerate(word[1:], 2):
        rest = word[at:]
        if letter in ALONE:
            yield letter, rest or next(words, "")
            return
        yield letter, rest if letter in MAY_HAVE else ""
        if letter in MAY_HAVE:
            return
