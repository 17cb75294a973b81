"""A page of a project: the commands that a user types there, and the wanted answers of provio.

    PYTHONPATH=tests python tests/projects/transcript.py shell        (the page with the present answers)

A line `$ command` in an indented block is executed by bash in a copy of the project's folder, on a terminal of 80
columns; the lines below it are its answer. Answers of `provio` are compared, but not those of `provio run` and of other
commands, which must only succeed. A command whose exit code is not 0 has the line `(exit N)` at its end.

Facts that differ each time are compared as words: TIME, DURATION, AGO, SIZE (of the files that have it on the page),
RUN (the id of a run), FOLDER, USER and COMMIT (of `why`), N (a number of files or of connections that the machine
determines). In lines that start with a word, columns are compared with two spaces between them.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from background_merges import HASHING, hurry, mergers

from provio.settings.home import Home
from provio.trace.content_requests import requested

HERE = Path(__file__).parent
PATH = f"{Path(sys.executable).parent}:/usr/bin:/bin"  # the programs are those of this environment and of the system
_VARYING = [
    (r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?( UTC)?", "TIME"),
    (r"(?<=TIME, )[\d.,]+ (µs|ms|s|min|h)( \d+ (s|min))?", "DURATION"),
    (r"\b\d+ (s|min|h) ago\b|\bjust now\b", "AGO"),
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}(-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})?\b", "RUN"),
    (r"\b\d+ system files?", "N system files"),
    (r"\b\d+ same\b", "N same"),
    (r"^(in +)/.*", r"\1FOLDER"),
    (r"^(by +).*", r"\1USER"),
    (r"\b(a|\d+) sockets?\b", "N sockets"),
    (r"^(git +)[0-9a-f]{40}$", r"\1COMMIT"),
    (r"^\d+ (inputs? of the programs that|products? of programs that these) started .*\n", ""),  # by the order of jobs
    (r"^(record .* runs?, )[^,]+,", r"\1SIZE,"),
    (r"^(record .*, )\d+ pending", r"\g<1>0 pending"),  # hashes are merged after the answer, or before it
    (r"^(current +)\d+ files?", r"\1N files"),
    (r" +$", ""),
]
# Of pages with the line `Kept data differs.`: which worker ran a call after which others is chance.
_KEPT = r"^(may have used data that |! \d+ later tasks? |memory +(perhaps |\d+ files? )).*\n?"
_SIZE = r"\d[\d.,]* (B|kB|MB)"
PATIENCE = 300  # seconds
_QUESTION = re.compile(r"provio (?!run |kernel )")


def commands(page: str) -> list[tuple[str, str]]:
    """Return each command of a page, with the text below it."""
    found: list[tuple[str, list[str]]] = []
    for block in re.split(r"^(?=    \$ )", page, flags=re.MULTILINE)[1:]:
        answer = re.match(r"(?:    .*\n|\n(?=    (?!\$)))*", block)
        first, *lines = answer[0].splitlines() if answer else [""]
        found.append((first[6:], [line[4:] for line in lines]))
    return [(command, "\n".join(lines)) for command, lines in found]


def needed(page: str) -> list[str]:
    """Return the programs and Python modules that a page needs: its line `Needs:` names them."""
    line = next(line for line in page.splitlines() if line.startswith("Needs: "))
    return line.removeprefix("Needs: ").rstrip(".").split(", ")


def normal(answer: str, page: str) -> str:
    """Return an answer with words for the facts that differ each time; `page` names the files of varying sizes."""
    if "\nKept data differs.\n" in page:
        answer = re.sub(_KEPT, "", answer, flags=re.MULTILINE)
    for pattern, word in _VARYING:
        answer = re.sub(pattern, word, answer, flags=re.MULTILINE)
    for name in set(re.findall(r"(\S+?),? +SIZE", page)):
        answer = re.sub(rf"(^|\s)({re.escape(name)},? +){_SIZE}", r"\1\2SIZE", answer)
    return _narrow(answer)


def _narrow(answer: str) -> str:
    """Return an answer whose columns, in lines that start with a word, have two spaces between them."""
    lines = [re.sub(" {2,}", "  ", line) if line[:1].isalpha() else line for line in answer.splitlines()]
    return "\n".join(lines).rstrip("\n")


class Project:
    """A copy of a project in a folder of its own, where the commands of its page are executed."""

    def __init__(self, name: str, folder: Path) -> None:
        self.page = (HERE / name / "answers.md").read_text()
        self.folder = folder / "project"
        shutil.copytree(HERE / name, self.folder, ignore=shutil.ignore_patterns("answers.md", "__pycache__"))
        home = folder / "home"
        home.mkdir()
        kept = {name: os.environ[name] for name in ("TMPDIR", "LD_LIBRARY_PATH") if name in os.environ}
        self.env = {
            **kept, "HOME": str(home), "USER": "ada", "PATH": PATH, "LANG": "C.UTF-8", "TZ": "UTC", "TERM": "dumb",
            "PROVIO_MERGE": "wait",
        }  # fmt: skip

    def answers(self) -> Iterator[tuple[str, str, str]]:
        """Execute the commands of the page. Yield each question with the wanted and the present answer; another
        command must end as the page states."""
        for command, wanted in commands(self.page):
            answer = self.execute(command)
            if _QUESTION.match(command):
                yield command, _narrow(wanted), normal(answer, self.page)
            else:
                self.wait_for_hashes()
                code = re.search(r"\(exit \d+\)\n$", answer)
                assert (code[0].strip() if code else "") == wanted.strip(), f"{command}\n{answer}"

    def wait_for_hashes(self) -> None:
        """Wait until the files of the recorded runs are hashed, as they are before a person types the next command."""
        home, end = Home(self.folder / ".provio"), time.monotonic() + PATIENCE
        while runs := requested(home):
            assert time.monotonic() < end, f"not hashed: {runs}"
            for process in mergers(home.path, HASHING):
                hurry(process)
            time.sleep(0.05)

    def execute(self, command: str) -> str:
        """Return the output of a command, on a terminal and on stderr, and its exit code if it is not 0."""
        screen, keyboard = pty.openpty()
        fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("4H", 50, 80, 0, 0))
        process = subprocess.Popen(
            ["bash", "-c", command], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=keyboard,
            stderr=subprocess.PIPE,
        )  # fmt: skip
        os.close(keyboard)
        with ThreadPoolExecutor() as threads:
            printed = threads.submit(lambda: b"".join(_pieces(screen)))
            errors = process.communicate()[1]
        answer = (errors + printed.result()).decode().replace("\r\n", "\n")
        code = process.returncode
        return answer + (f"(exit {code})\n" if code else "")


def _pieces(screen: int) -> Iterator[bytes]:
    """Yield the bytes that are written on a terminal until its last writer ends; close it."""
    try:
        while piece := os.read(screen, 65536):
            yield piece
    except OSError:  # EIO: no writer is left
        pass
    finally:
        os.close(screen)


def _main(name: str) -> None:
    with tempfile.TemporaryDirectory(prefix="provio-project-") as folder:
        for command, _, answer in Project(name, Path(folder)).answers():
            print(f"    $ {command}")
            print("".join(f"    {line}\n" for line in answer.splitlines()), end="", flush=True)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        _main(name)
