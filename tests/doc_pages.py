"""Carries out a page of documentation as a reader does, in an empty folder, and compares the output with the page.

In: the page alone; nothing in it is hidden from the reader.

- A line of a code block that starts with `$ ` is a command; lines after it that start with `> ` continue it. All
  commands of a page run in one shell, so a `cd` counts for the next command.
- The lines below a command are its whole output. `…` stands for any text: alone on a line for lines, in a line for a
  part of it. Ids, times, sizes and other numbers may differ, unless the page is compared exactly.
- A code block after a paragraph with "save this as `NAME`" is written into that file.
- "This page needs `PROGRAM`, `PROGRAM`." names programs and Python packages without which the page is not carried
  out.
- A command may fail if the page shows provio's message about it, `echo $?` after it, or states "exit code N" in the
  paragraph before or after the block. Other blocks show only a form.

`python tests/doc_pages.py PAGE…` writes the present output into pages.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from half_hour import _alike, blank

ROOT = Path(__file__).resolve().parent.parent
SAVED = re.compile(r"[Ss]ave (?:this|it|these lines)[^`]* as `([^`]+)`[^`]*$")
NEEDS = re.compile(r"This page needs ((?:`[^`]+`(?:, | and )?)+)")
MARK = "\x1e"
VARYING = re.compile(r"^(?:system|where) .*$|\d{4}-\d\d-\d\dT[\d:.]+Z|\d[\d,.]* ([kMG]?i?B)(/s)?(?![\w])|█+")
RUN = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b")
SHORT = re.compile(r"(?<![\w-])[0-9a-f]{8}-[0-9a-f]{4}(?![\w-])")
SHORT_OR_RUN = re.compile(f"{RUN.pattern}|{SHORT.pattern}")
MESSAGE = re.compile(r"provio: (?!run \S+: (?:recorded|pending))")  # of an error
MADE = re.compile(rf"provio: run ({RUN.pattern}): (?:recorded|pending)")
SECONDS = 240  # for a page
MPI = {  # of programs that root starts, with more ranks than cores
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}  # fmt: skip


@dataclass
class Step:
    """A command with the lines of its output on the page, or a file with its content."""

    command: str = ""
    file: str = ""
    lines: list[str] = field(default_factory=list)
    place: int = 0  # of the first line below the command
    around: str = ""  # the paragraphs before and after its block

    def may_end_with(self, code: int) -> bool:
        """Whether the page shows a message of provio about a failure, or states this exit code."""
        stated = re.search(rf"exit\s+code\b[^.]{{,40}}\b{code}\b", self.around)
        return stated is not None or any(map(MESSAGE.match, self.lines))

    def script(self) -> str:
        """Return the lines for the shell. After a command it prints MARK and the exit code."""
        if self.file:
            return f"cat > {self.file} <<'END OF FILE'\n{chr(10).join(self.lines)}\nEND OF FILE\n"
        return f"(exit $__code)\n{{ {self.command}\n}} 2>&1 < /dev/null\n__code=$?; printf '{MARK}%s\\n' $__code\n"


def blocks(text: str) -> list[tuple[str, int, list[str]]]:
    """Return each code block: the paragraph before it, the number of its first line, and its lines."""
    found: list[tuple[str, int, list[str]]] = []
    paragraph: list[str] = []
    lines, number = text.splitlines(), 0
    while number < len(lines):
        line = lines[number]
        fenced, start = line.startswith("```"), number
        if fenced or (line.startswith("    ") and (not paragraph or paragraph[-1] == "")):
            number = start = number + fenced
            while number < len(lines) and not lines[number].startswith("```") and (fenced or _goes_on(lines, number)):
                number += 1
            block = [one if fenced else one[4:] for one in lines[start:number]]
            found.append((" ".join(paragraph).strip(), start, block))
            paragraph, number = [], number + fenced
            continue
        paragraph = [line] if paragraph and paragraph[-1] == "" and line else [*paragraph, line]
        number += 1
    return found


def _goes_on(lines: list[str], number: int) -> bool:
    """Whether an indented block goes on here: blank lines belong to it if indented ones follow."""
    while number < len(lines) and not lines[number].strip():
        number += 1
    return number < len(lines) and lines[number].startswith("    ")


def steps(text: str) -> list[Step]:
    """Return the commands and files of a page, in order."""
    found: list[Step] = []
    lines = text.splitlines()
    for paragraph, start, block in blocks(text):
        after = "\n".join(lines[start + len(block) :]).lstrip("`\n ").partition("\n\n")[0]
        saved = SAVED.search(paragraph)
        if saved:
            found.append(Step(file=saved[1], lines=block))
            continue
        if not any(line.startswith("$ ") for line in block):
            continue
        for number, line in enumerate(block, start + 1):
            if line.startswith("$ "):
                found.append(Step(command=line[2:], place=number, around=f"{paragraph}\n\n{after}"))
            elif line.startswith("> ") and found and not found[-1].lines and found[-1].command:
                found[-1].command += "\n" + line[2:]
                found[-1].place = number
            elif found and found[-1].command:
                found[-1].lines.append(line)
        for step in found:
            while step.command and step.lines and not step.lines[-1].strip():
                step.lines.pop()
    return found


def needs(text: str) -> list[str]:
    """Return the programs that a page needs."""
    return [name for group in NEEDS.findall(text.replace("\n", " ")) for name in re.findall(r"`([^`]+)`", group)]


@contextlib.contextmanager
def reader() -> Iterator[Path]:
    """Yield the home folder of a reader, with a short path, as answers cut long ones, and an empty folder `das`."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:  # a merge may be in progress
        home = Path(place).resolve() / "ada"
        (home / "das").mkdir(parents=True)
        yield home


def environment(home: Path, env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a reader: provio is on PATH, and its checkout is `~/provio`."""
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "provio").write_text(f'#!/bin/sh\nexec {sys.executable} -P -m provio "$@"\n')
    (home / "bin" / "provio").chmod(0o755)
    (home / "provio").symlink_to(ROOT)
    path = f"{home / 'bin'}:{Path(sys.executable).parent}:{env['PATH']}"
    return {**env, **MPI, "HOME": str(home), "PATH": path, "LC_ALL": "C.UTF-8", "PROVIO_MERGE": "background"}


def carried_out(text: str, folder: Path, env: Mapping[str, str]) -> list[tuple[Step, str, int]]:
    """Carry out a page in an empty folder; return each command with its output and exit code."""
    found = steps(text)
    script = "__code=0\n" + "".join(one.script() for one in found)
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=env, timeout=SECONDS, stdout=subprocess.PIPE, check=False
    )
    # All at once: an id has the same replacement in the whole page.
    outputs = _alike(done.stdout.decode("utf-8", "replace"), folder.parent).split(MARK)
    commands = [step for step in found if step.command]
    assert len(outputs) == len(commands) + 1, outputs[-1]
    codes = [int(output.partition("\n")[0]) for output in outputs[1:]]
    outputs[1:] = [output.partition("\n")[2] for output in outputs[1:]]
    return list(zip(commands, outputs, codes, strict=False))


def problems(text: str, done: list[tuple[Step, str, int]], exact: bool = False) -> list[str]:
    """Return the commands that failed without a statement of the page, or whose output is not that of the page."""
    found = []
    for (step, output, code), (following, *_) in zip(done, [*done[1:], (Step(), "", 0)], strict=True):
        if code and following.command != "echo $?" and not step.may_end_with(code):
            found.append(f"$ {step.command}\nexit code {code}\n{output}")
        elif not matches(step.lines, output, exact):
            found.append(f"$ {step.command}\nprints\n{output}")
    return found


def matches(shown: list[str], output: str, exact: bool) -> bool:
    """Whether lines of a page match an output."""
    lines = "".join(line.rstrip() + "\n" for line in output.splitlines())
    if not exact:
        shown, lines = _plain("\n".join(shown)).splitlines(), _plain(lines) + "\n" * bool(lines)
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "…" else re.escape(line.rstrip()).replace("…", ".*?") + r"\n" for line in shown
    )
    return re.fullmatch(pattern, lines) is not None


def _plain(text: str) -> str:
    """Return lines without ids, times and sizes."""
    return "\n".join(blank(VARYING.sub("0", line)).strip() for line in text.splitlines())


def wrong_ids(text: str) -> list[str]:
    """Return the ids on a page that contradict each other: two runs with one id, or a shortened id in a table that is
    from another execution of the page than the whole ids."""
    shown = [line for step in steps(text) if step.command for line in step.lines]
    made = [found[1] for line in shown if (found := MADE.match(line))]
    whole = {one for line in shown for one in RUN.findall(line)}
    short = {one for line in shown for one in SHORT.findall(line)} if whole else set()
    twice = {one for one in made if made.count(one) > 1}
    return sorted(twice) + sorted(one for one in short if not any(each[:8] == one[:8] for each in whole))


def written(text: str, done: list[tuple[Step, str, int]]) -> str:
    """Return a page with the present output of those commands whose output is another. If one of these has an id, all
    blocks with ids are written, as an id must be the same on the whole page."""
    lines = text.splitlines()
    another = [not matches(step.lines, output, False) for step, output, _ in done]
    ids = any(SHORT_OR_RUN.search(output) for (_, output, _), one in zip(done, another, strict=True) if one)
    for (step, output, _), one in reversed([*zip(done, another, strict=True)]):
        has_id = SHORT_OR_RUN.search("\n".join(step.lines)) and "…" not in "".join(step.lines)
        if not (one or (ids and has_id)):
            continue
        indent = re.match(r" *", lines[step.place - 1])[0]  # type: ignore[index]
        new = [f"{indent}{line}".rstrip() for line in output.rstrip().splitlines()]
        lines[step.place : step.place + len(step.lines)] = new
    return "\n".join(lines) + "\n"


def main(pages: list[str]) -> None:
    """Write the present output into pages."""
    for page in map(Path, pages):
        with reader() as home:
            env = environment(home, {k: v for k, v in os.environ.items() if not k.startswith("PROVIO")})
            done = carried_out(page.read_text(), home / "das", env)
            for step, output, code in done:
                if code:
                    print(f"{page}: $ {step.command}\n{output}exit code {code}", file=sys.stderr)
            page.write_text(written(page.read_text(), done))


if __name__ == "__main__":
    main(sys.argv[1:])
