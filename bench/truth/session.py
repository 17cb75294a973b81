"""Records a group of rows in a project of its own, and answers the questions about them.

In: rows, an empty folder, the folder of compiled helpers. Out: `Answer`, one for each question.
"""

from __future__ import annotations

import fnmatch
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import provio
from provio import NothingKnown
from provio.api import Store
from truth.rows import UNWATCHED, Question, Row

HERE = Path(__file__).parent
HELPERS = HERE / "helpers"
ALTERNATE = "http://www.w3.org/ns/prov#alternateOf"
OPTIONAL = "?"  # after a name that may be part of an answer: the second name of a file
LIMIT = 300  # seconds for a step of all rows


@dataclass(frozen=True)
class Answer:
    """The answer to a question: the names of files relative to the folder of the row."""

    question: Question
    data: frozenset[str]
    carried: frozenset[str]
    gaps: tuple[str, ...]  # their reasons
    verified: bool  # the content of the files shows the planted truth

    @property
    def found(self) -> frozenset[str]:
        """Return all ancestors or products."""
        return self.data | self.carried


def compile_helpers(folder: Path) -> None:
    """Compile the helpers in C and Java, if the compilers are there."""
    folder.mkdir(parents=True, exist_ok=True)
    for source in HELPERS.glob("*.c"):
        subprocess.run(["gcc", "-O1", "-pthread", "-o", folder / source.stem, source, "-lrt"], check=True)
    if shutil.which("javac"):
        subprocess.run(["javac", "-d", folder, *HELPERS.glob("*.java")], check=True)


def environment(built: Path) -> dict[str, str]:
    """Return the environment of the steps."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("PROVIO_", "GIT_", "XDG_"))}
    path = f"{Path(sys.executable).parent}:{kept['PATH']}"
    mine = {"H": str(HELPERS), "B": str(built), "PATH": path, "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    return kept | mine | {"HOME": str(built), "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}


def plant(project: Path, rows: Sequence[Row]) -> None:
    """Write the files of rows, and their steps as scripts."""
    (project / ".provio").mkdir(parents=True)
    for row in rows:
        for name, text in row.planted().items():
            path = project / row.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for number, step in enumerate(row.steps):
            (project / row.folder / f".{number}.sh").write_text(step.removeprefix(UNWATCHED) + "\n")


def carry_out(project: Path, rows: Sequence[Row], env: dict[str, str]) -> None:
    """Carry out the steps of rows: the first of all rows in one run, then the second."""
    for number in range(max(len(row.steps) for row in rows)):
        watched, unwatched = [], []
        for row in rows:
            if number < len(row.steps):
                (unwatched if row.steps[number].startswith(UNWATCHED) else watched).append(row.folder)
        script = f'for row; do (cd "$row" && bash ./.{number}.sh) || {{ echo "$row: $?"; exit 1; }}; done'
        record = [str(Path(sys.executable).with_name("provio")), "run", "--quiet", "--no-merge", "--"]
        for before, folders in ((record, watched), ([], unwatched)):
            if folders:
                command = [*before, "bash", "-c", script, "bash", *folders]
                done = subprocess.run(
                    command, cwd=project, env=env, capture_output=True, text=True, errors="replace", check=False,
                    timeout=LIMIT, stdin=subprocess.DEVNULL,
                )  # fmt: skip
                if done.returncode:
                    raise RuntimeError(f"step {number} failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")


def shown(project: Path, row: Row, file: str, env: dict[str, str]) -> bytes:
    """Return the content of a file as text that contains the words of its ancestors."""
    folder = project / row.folder
    if file not in row.show:
        return (folder / file).read_bytes()
    return subprocess.run(["bash", "-c", row.show[file]], cwd=folder, env=env, capture_output=True, check=True).stdout


def verified(project: Path, row: Row, question: Question, env: dict[str, str]) -> bool:
    """Return whether content proves the truth: a file has the words of just its planted ancestors, each product that of
    the file. Raises an error if content contradicts the truth."""
    planted = row.planted()
    files = [question.file] if question.way == "back" else list(question.truth)
    if set(files) & set(row.opaque) or any("*" in name for name in files):
        return False
    sure = [one for one in question.truth if not one.endswith(OPTIONAL)]
    for file in files:
        content = shown(project, row, file.partition("|")[0], env)
        words = [name for name, text in planted.items() if row.word(name) in text and name != file]
        held = {name for name in words if row.word(name).encode() in content}
        true, possible = ({name for name in words if allowed(name, truth)} for truth in (sure, question.truth))
        right = question.file in held if question.way == "into" else true <= held <= possible
        if not right:
            raise RuntimeError(f"{question.key}: {file} contains the words of {sorted(held)}, not the planted truth")
    return True


def matches(truth: str, name: str) -> bool:
    """Return whether a name is one of a member of the truth."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in truth.rstrip(OPTIONAL).split("|"))


def allowed(name: str, truth: Iterable[str]) -> bool:
    """Return whether a name is that of a true file."""
    return any(matches(one, name) for one in truth)


def same_content(document: Any) -> set[str]:
    """Return the target of a lineage document and its content under other keys."""
    same, waiting = set(), {document["target"]}
    pairs = [{edge["subject"], edge["object"]} for edge in document["edges"] if edge["predicate"] == ALTERNATE]
    while waiting:
        same |= waiting
        waiting = {iri for pair in pairs if pair & same for iri in pair} - same
    return same


def ask(store: Store, project: Path, row: Row, question: Question, proof: bool) -> Answer:
    """Ask a question. Earlier contents of the file in question are no part of the answer, nor are files outside of the
    project: temporary ones in /tmp, and those of the system that a command line names."""
    folder = project / row.folder
    target = folder / question.file
    try:
        document = store.lineage(target, forward=question.way == "into").document
    except NothingKnown:
        return Answer(question, frozenset(), frozenset(), ("nothing is recorded of the file",), proof)
    same = same_content(document)
    found: dict[str, set[str]] = {"data": set(), "carried": set()}
    for node in document["nodes"]:
        path = Path(node.get("path", "/"))
        if node["iri"] not in same and node["type"] == "FileVersion" and path != target and project in path.parents:
            found[node.get("via", "data")].add(os.path.relpath(path, folder))
    gaps = tuple(sorted({gap["reason"] for gap in document["gaps"]}))
    return Answer(question, frozenset(found["data"]), frozenset(found["carried"]), gaps, proof)


def answers(rows: Sequence[Row], project: Path, built: Path) -> Iterator[Answer]:
    """Record rows and yield the answers to their questions."""
    env = environment(built)
    plant(project, rows)
    carry_out(project, rows, env)
    store = provio.open(project)
    for row in rows:
        for question in row.questions():
            proof = verified(project, row, question, env)
            yield ask(store, project, row, question, proof)
