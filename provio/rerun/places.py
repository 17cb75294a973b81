"""The places of a rerun. In: the project, its new folder and `--map`. Out: the new path of each recorded path."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from provio.base.errors import ProvioError

ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")  # each marks the folder of an environment of Python
_PATH = re.compile(r"(?<![\w/.-])(?:/|(?:\.\./)+)[^\s:;,'\"=|&<>()]+")  # absolute, or from a folder above


class Places:
    """New places of recorded paths: `pairs` of an old folder and its new one; the longest old folder decides.

    Folders with an installed environment (`kept`) stay where they are.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]], kept: Iterable[str] = ()) -> None:
        self.pairs = dict(pairs)
        self.kept = frozenset(kept)
        names = "|".join(re.escape(old) for old in sorted(self.pairs, key=len, reverse=True))
        self._pattern = re.compile(rf"(?<![\w/.-])({names})(?=/|$|[^\w.-])") if names else None

    def moved(self, path: str) -> str | None:
        """Return the new path of a path; None if it stays."""
        if self.is_kept(path):
            return None
        for old in sorted(self.pairs, key=len, reverse=True):
            if path == old or path.startswith(old.rstrip("/") + "/"):
                return os.path.normpath(os.path.join(self.pairs[old], os.path.relpath(path, old)))
        return None

    def place(self, path: str) -> str:
        """Return the new path of a path, or the path itself."""
        return self.moved(path) or path

    def is_kept(self, path: str) -> bool:
        """Return whether a path is in an installed environment."""
        return any(path == folder or path.startswith(folder + "/") for folder in self.kept)

    def text(self, word: str) -> str:
        """Return a word of a command line, or the value of a variable, with new paths."""
        return self._pattern.sub(lambda found: self._new(found, word), word) if self._pattern else word

    def aliased(self, texts: Iterable[str], folder: str, root: str) -> Places:
        """Return the places with those of the other names of the project in the texts of a command in a folder."""
        found = {name: self.place(real) for name, real in aliases(texts, folder, root).items()}
        return Places((found | self.pairs).items(), self.kept) if found else self

    def _new(self, found: re.Match[str], word: str) -> str:
        path = re.split(r"[\s:'\"]", word[found.start() :], maxsplit=1)[0]
        return found[1] if self.is_kept(path) else self.pairs[found[1]]


def environments(paths: Iterable[str], root: str) -> set[str]:
    """Return the folders in a project that contain an installed environment, among those above some paths."""
    found, seen = set[str](), set[str]()
    for path in paths:
        folder = os.path.dirname(path)
        while folder.startswith(root + "/") and folder not in seen:
            seen.add(folder)
            if any(os.path.lexists(os.path.join(folder, name)) for name in ENVIRONMENTS):
                found.add(folder)
            folder = os.path.dirname(folder)
    return found


def aliases(texts: Iterable[str], folder: str, root: str) -> dict[str, str]:
    """Return the paths in texts that lead into a project by another name, through a symbolic link outside or back from
    above (`../PROJECT`): their part up to a place in the project, with the real path of that place."""
    found = dict[str, str]()
    for path in {path for text in texts for path in _PATH.findall(text)}:
        parts = path.split("/")
        for end in range(1, len(parts) + 1):
            name = "/".join(parts[:end])
            place = os.path.normpath(os.path.join(folder, name or "/"))
            named = place == root or place.startswith(root + "/")
            if parts[end - 1] in ("", "..") or (named and name.startswith("/")):
                continue
            real = os.path.realpath(os.path.join(folder, name))
            if real == root or real.startswith(root + "/"):
                if not named or _leaves(parts[:end], folder, root):
                    found[name] = real
                break
    return found


def _leaves(parts: Sequence[str], folder: str, root: str) -> bool:
    """Return whether a relative path leads out of a project, and back into it."""
    above = "/".join(part for part in parts if part == "..")
    place = os.path.normpath(os.path.join(folder, above))
    return not (place == root or place.startswith(root + "/"))


def pairs(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return the folders of `--map OLD=NEW`; raises ProvioError."""
    found = []
    for text in texts:
        old, sign, new = text.partition("=")
        if not (sign and os.path.isabs(old) and new):
            raise ProvioError(f"--map {text}: this is no pair of folders: use --map OLD=NEW with an absolute OLD")
        found.append((os.path.normpath(old), os.path.abspath(new)))
    return found
