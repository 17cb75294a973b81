"""The interpreters and the options by which each finds its script: a command line in, the script or module out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache

from provio.base.records import frozen
from provio.settings.types import Interpreter

_SHELL = Interpreter(("-o", "+o", "-O", "+O", "--rcfile", "--init-file"), ("-c", "-s"))
_MAKE = Interpreter(
    ("-I", "-o", "-W", "--include-dir", "--old-file", "--what-if"), script=("-f", "--file", "--makefile"),
    folder=("-C", "--directory"), rest=("-j", "-l", "-O"), default=("GNUmakefile", "makefile", "Makefile"), first=False,
)  # fmt: skip
_AWK = Interpreter(
    ("-v", "-F", "-i", "-l", "--assign", "--field-separator", "--include"), script=("-f", "--file", "-E", "--exec"),
    first=False,
)  # fmt: skip
_SED = Interpreter(("-e", "-l", "--expression"), script=("-f", "--file"), rest=("-i",), first=False)
_NODE = Interpreter(
    ("-r", "--require", "--import", "-C", "--conditions"), ("-e", "-p", "-i", "--eval", "--print", "--interactive")
)
_R = Interpreter(("-g", "--gui", "-d", "--debugger"), ("-e",), script=("-f", "--file"), first=False)
_JAVA = Interpreter(("-cp", "-classpath", "--class-path", "-p", "--module-path"), script=("-jar",))
_NINJA = Interpreter(
    ("-j", "-k", "-l", "-d", "-t", "-w"), script=("-f",), folder=("-C",), default=("build.ninja",), first=False
)

INTERPRETERS: Mapping[str, Interpreter] = {
    "python python[0-9]* pypy pypy[0-9]*": Interpreter(
        ("-W", "-X", "--check-hash-based-pycs"), ("-c",), module=("-m",)
    ),
    "sh bash dash ash ksh mksh zsh": _SHELL,
    "perl perl[0-9]*": Interpreter(("-I",), ("-e", "-E"), rest=("-i", "-F", "-x", "-D", "-M", "-m", "-C")),
    "ruby ruby[0-9]*": Interpreter(("-I", "-r", "-E"), ("-e",), folder=("-C",), rest=("-i", "-F", "-K", "-T", "-W")),
    "node nodejs": _NODE,
    "Rscript": Interpreter((), ("-e",)),
    "R": _R,
    "julia": Interpreter(("-C", "-J", "-L", "-p", "-t", "-H"), ("-e", "-E"), rest=("-O", "-g")),
    "lua lua[0-9]* luajit": Interpreter(("-e", "-l")),
    "tclsh tclsh[0-9]* wish wish[0-9]*": Interpreter(),
    "expect": Interpreter(("-c",), script=("-f",)),
    "php php[0-9]*": Interpreter(("-d", "-c", "-z"), ("-r", "-a"), script=("-f", "--file")),
    "awk gawk mawk nawk original-awk": _AWK,
    "sed gsed": _SED,
    "jq": Interpreter(("-L",), script=("-f", "--from-file"), first=False),
    "gnuplot": Interpreter(("-e", "-d"), script=("-c",)),
    "octave octave-cli": Interpreter(("--path", "-p"), ("--eval",)),
    "java": _JAVA,
    "make gmake remake": _MAKE,
    "ninja samu": _NINJA,
}


@frozen
class Script:
    """The script that an interpreter runs: the paths at which it may be, or the name of a module."""

    paths: tuple[bytes, ...] = ()
    module: str = ""

    def found(self, opened: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the opened paths that may be the script."""
        if self.module:
            place, name = re.escape(self.module.replace(".", "/")), re.escape(self.module.rpartition(".")[2])
            folder = re.escape("/".join(self.module.split(".")[:-1]) + "/").removeprefix("/")
            compiled = rf"{folder}__pycache__/{name}\.[^/]*\.pyc|{place}/__pycache__/__main__\.[^/]*\.pyc"
            shape = re.compile(os.fsencode(rf".*/({place}\.py|{place}/__main__\.py|{compiled})"))
            yield from (path for path in opened if shape.fullmatch(path))
        else:
            known = set(opened)
            yield from (path for path in self.paths if path in known)


def rule_of(name: str, own: Mapping[str, Interpreter]) -> Interpreter | None:
    """Return the option rules of the program with this name; None if it is no interpreter. `own` rules have
    precedence."""
    added = next((rule for glob, rule in own.items() if fnmatchcase(name, glob)), None) if own else None
    return added or _known_rule(name)


@lru_cache(maxsize=1024)
def _known_rule(name: str) -> Interpreter | None:
    globs = ((glob, rule) for names, rule in INTERPRETERS.items() for glob in names.split(" "))
    return next((rule for glob, rule in globs if fnmatchcase(name, glob)), None)


def script_of(arguments: list[bytes], cwd: bytes, rule: Interpreter) -> Script | None:
    """Return the script of a command line; None if the line names none and the interpreter has no default."""
    words = [os.fsdecode(argument) for argument in arguments[1:]]
    named, module, folder = read_words(words, rule)
    if module:
        return Script(module=module)
    if named is None:
        return None
    names = [named, f"{named}/__main__.py"] if named else list(rule.default)
    starts = dict.fromkeys((os.path.join(cwd, os.fsencode(folder)), cwd))  # the recorded cwd may be the folder of -C
    return Script(tuple(os.path.normpath(os.path.join(at, os.fsencode(name))) for at in starts for name in names))


def read_words(words: list[str], rule: Interpreter) -> tuple[str | None, str, str]:
    """Return the script (None: there is none; empty: none is named), the module, and the folder in which it starts."""
    named, folder, rest = "", "", iter(words)
    signs = ("-", "+") if any(option.startswith("+") for option in rule.value) else ("-",)
    for word in rest:
        if word in ("-", "--") or not word.startswith(signs):
            if rule.first:
                first = next(rest, "") if word == "--" else word
                return (first if first not in ("-", "") else None), "", folder
            continue
        for option, value in _valued(word, rule, rest):
            if option in rule.no_script:
                return None, "", folder
            if option in rule.module or (option in rule.script and rule.first):
                return (None, value, folder) if option in rule.module else (value, "", folder)
            named = named or (value if option in rule.script else "")
            folder = os.path.join(folder, value) if option in rule.folder else folder
    return named or ("" if rule.default else None), "", folder


def _valued(word: str, rule: Interpreter, rest: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Yield the options in a word, each with its value, which may be the next word."""
    for option, attached in _options(word, rule):
        if option in rule.with_value:
            yield option, next(rest, "") if attached is None else attached
        else:
            yield option, ""


def _options(word: str, rule: Interpreter) -> Iterator[tuple[str, str | None]]:
    """Yield the options in a word, each with the value that is attached to it; short options may be combined."""
    if word in rule.with_value or word in rule.no_script:
        yield word, None
    elif word.startswith("--"):
        name, equals, value = word.partition("=")
        yield name, value if equals else None
    else:
        for place, letter in enumerate(word[1:], start=2):
            option = word[0] + letter
            if option in rule.rest:
                return
            yield option, word[place:] or None
            if option in rule.with_value:
                return
