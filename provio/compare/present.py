"""The bytes of a recorded version: on disk if the file still is that version, kept in the record, or in Git."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from pathlib import Path

from provio.ask.content import SAME, Contents
from provio.base.errors import ProvioError
from provio.lineage import identity
from provio.merge import kept
from provio.settings import load
from provio.settings.home import Home
from provio.trace.redact import Redaction

GIT_SECONDS = 20
COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def place(home: Home, contents: Contents, version: str, path: str) -> tuple[str, str]:
    """Return a file with the content of a version, and why there is none: one of both is empty."""
    base = version.partition("~")[0]
    is_last = not identity.is_earlier_phase(base, version)  # else the file was changed later, within the same times
    name = os.fsencode(path)
    if path and (contents.file(version, name).state == SAME or (is_last and contents.current(name) == base)):
        return (path, "") if os.access(path, os.R_OK) else ("", f"{path} cannot be read: check its permissions")
    for digest in _digest(contents, version):
        try:
            kept.content(home, digest)  # it checks the SHA-256
        except ProvioError:
            break
        return str(kept.folder_of(home) / digest), ""
    if not path:
        return "", "its path is not recorded"
    is_there = os.path.exists(path)
    return "", f"{path} {'has changed since' if is_there else 'is missing'}, and its content is not kept"


def content(home: Home, contents: Contents, version: str, path: str, commit: str, most: int) -> bytes | None:
    """Return the content of a version, also from the Git commit of its run; None if it is not known, or too large."""
    where, _ = place(home, contents, version, path)
    if where:
        try:
            with open(where, "rb") as file:
                data = file.read(most + 1)
        except OSError:  # removed since
            return None
        return data if len(data) <= most else None
    digests = _digest(contents, version)
    old = _of_git(path, commit, most) if digests and COMMIT.fullmatch(commit) else None
    return old if old is not None and hashlib.sha256(old).hexdigest() == digests[0] else None


def redaction(home: Home) -> Redaction:
    """Return which texts in contents are secrets, by the settings of the project."""
    settings = load.load([home.project], shown=True)
    return Redaction(settings.redact_add, settings.redact_keep)


def _digest(contents: Contents, version: str) -> list[str]:
    """Return the SHA-256 of a version, if one alone is recorded."""
    found = sorted(contents.digests(version))
    return found if len(found) == 1 else []


def _of_git(path: str, commit: str, most: int) -> bytes | None:
    """Return a file as it is in a commit; None without the checkout, the commit or the file."""
    folder = Path(path).parent
    if not folder.is_dir() or not any((above / ".git").exists() for above in (folder, *folder.parents)):
        return None
    named = f"{commit}:./{Path(path).name}"
    words = [b"git", b"--no-optional-locks", b"-C", os.fsencode(folder), b"cat-file"]
    environment = {**os.environ, "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
    try:
        size = _output([*words, b"-s", os.fsencode(named)], environment)
        return _output([*words, b"blob", os.fsencode(named)], environment) if size and int(size) <= most else None
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def _output(words: list[bytes], environment: dict[str, str]) -> bytes | None:
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment,
        timeout=GIT_SECONDS, check=False,
    )  # fmt: skip
    return None if done.returncode else done.stdout
