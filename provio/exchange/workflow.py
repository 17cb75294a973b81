"""The plan of a rerun as a workflow. In: the subject of an export. Out: each command as a line of a shell that starts
in the project's folder, with its inputs and products relative to that folder."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from provio.ask.things import Thing
from provio.base.errors import NotAllowed
from provio.exchange.subject import Subject
from provio.rerun.commands import BOTH
from provio.rerun.plan import Plan, Step, make, outside

ROOT = '"$root"'  # the project's folder, in a line of a shell


class Job(NamedTuple):
    """A command: its line, and the names of its inputs and products in the project; `folders` must exist before.

    `outputs` are the products that no later command writes again; `until` is the number of the last command that writes
    one of its products. `changed` are files of the project that it changes in place.
    """

    line: str
    inputs: list[str]
    outputs: list[str]
    folders: list[str]
    until: int
    changed: list[str]

    @property
    def script(self) -> str:
        """The line, after one that makes the folders."""
        folders = [shlex.quote(one) for one in self.folders if one != "."]
        return (f"mkdir -p -- {' '.join(folders)}\n" if folders else "") + self.line


def jobs(subject: Subject) -> list[Job]:
    """Return the commands of a run or of files; raises NotAllowed if they cannot be executed elsewhere."""
    if not (subject.runs or subject.files):
        raise NotAllowed("a workflow is of one run or of files: name a run, or a file")
    things = [Thing(run=run) for run in subject.runs] + [Thing(file=file) for file in subject.files]
    home = subject.home
    root = os.fsdecode(home.projects[0]) if home.projects else str(home.project)
    plan = make(subject.reader, things, root, anyway=subject.anyway)
    if lost := outside(plan):
        raise NotAllowed(f"{lost[0]} is outside the project {root}, so no workflow can make it: use provio rerun --map")
    final = {path: number for number, step in enumerate(plan.steps) for path in step.files.products}
    made, found = set[str](), []
    for number, step in enumerate(plan.steps):
        own = [path for path in step.files.products if final[path] == number]
        until = max((final[path] for path in step.files.products), default=number)
        found.append(_job(plan, step, own, made, until))
        made |= set(step.files.products)
    return found


def rules(form: str, subject: Subject) -> list[Job]:
    """Return the commands for a format in which each file is made by one rule: commands that write a file again are one
    job with all commands between them. Raises NotAllowed if a command changes a file of the project in place."""
    found, group, end = list[Job](), list[Job](), -1
    for number, job in enumerate(jobs(subject)):
        if job.changed:
            raise NotAllowed(
                f"{form} cannot express a command that changes its input {job.changed[0]} in place: use --as script"
            )
        group, end = [*group, job], max(end, job.until)
        if number == end:
            found.append(_together(group))
            group = []
    return found


def _together(group: list[Job]) -> Job:
    if len(group) == 1:
        return group[0]._replace(line=group[0].script, folders=[])
    inputs = dict.fromkeys(name for job in group for name in job.inputs)
    outputs = sorted({name for job in group for name in job.outputs})
    line = " && ".join(f"(\n{job.script}\n)" for job in group)
    return Job(line, [name for name in inputs if name not in outputs], outputs, [], group[-1].until, [])


def _job(plan: Plan, step: Step, own: Sequence[str], made: set[str], until: int) -> Job:
    used = {use.path for use in step.files.uses if use.kind == "input" and plan.inside(use.path)}
    changed = {path for path in used if path in step.files.products and path not in made}
    used -= changed
    words = step.command.words[:1] if "/" in step.command.words[0] else ()
    used |= {os.path.normpath(os.path.join(step.command.cwd, word)) for word in words}
    names = sorted(path for path in used if plan.inside(path) and path not in own)
    folders = {os.path.dirname(path) for path in step.files.products} | {step.command.cwd}
    new = plan.made_folders
    needed = [one for one in folders if plan.inside(one) and not any(f"{one}/".startswith(f"{two}/") for two in new)]
    inside = [path for path in sorted(own) if plan.inside(path)]
    every = (names, inside, sorted(needed), sorted(changed))
    inputs, outputs, before, in_place = ([os.path.relpath(path, plan.root) for path in paths] for paths in every)
    return Job(_line(plan, step), inputs, outputs, before, until, in_place)


def _line(plan: Plan, step: Step) -> str:
    command = step.command
    words = [_word(plan, word) for word in command.words]
    for sign, path in command.streams:
        if sign == BOTH:
            words.append(sign)
        elif sign == "<" or plan.inside(path):
            words += [sign, _word(plan, path)]
    line = " ".join(words) + (f" || [ $? -eq {command.ended % 256} ]" if command.ended else "")
    if command.cwd != plan.root:
        line = f"cd {_word(plan, command.cwd)} && {line}"
    return f"root=$PWD; {line}" if ROOT in line else line


def _word(plan: Plan, word: str) -> str:
    """Return a word for a shell, with the present folder instead of that of the project."""
    pattern = rf"(?<![\w/.-]){re.escape(plan.root)}(?=/|$|[^\w.-])"
    parts = re.split(pattern, word)
    return ROOT.join(shlex.quote(part) if part or len(parts) == 1 else "" for part in parts)


def checked(form: str, names: Sequence[str], forbidden: str) -> list[str]:
    """Return names that a format can express; raises NotAllowed for others."""
    for name in names:
        if wrong := re.search(f"{forbidden}|[\ud800-\udfff]", name):  # the latter are bytes that are not UTF-8
            raise NotAllowed(f"{form} cannot express the name {name!r}, because of {wrong[0]!r}: use --as script")
    return [*names]


def text(form: str, lines: Iterator[str]) -> bytes:
    """Return a text in UTF-8; raises NotAllowed for names that are not."""
    try:
        return "".join(lines).encode()
    except UnicodeEncodeError:
        raise NotAllowed(f"{form} cannot express names that are not UTF-8: use --as script") from None
