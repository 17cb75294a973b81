"""The execution of a plan in a folder of its own. In: a plan, the states of its inputs and the new places. Out: the
exit code of each command."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from provio.base.errors import NotAllowed
from provio.base.text import cut_end, printable
from provio.merge import kept
from provio.rerun import group
from provio.rerun.commands import BOTH, Command
from provio.rerun.files import Use
from provio.rerun.inputs import KEPT, Input
from provio.rerun.places import Places
from provio.rerun.plan import Plan, Step
from provio.settings import home as homes
from provio.settings.home import Home

START = "from provio.cli.main import main; main()"
MODES = {"<": os.O_RDONLY, ">": os.O_WRONLY | os.O_CREAT | os.O_TRUNC, ">>": os.O_WRONLY | os.O_CREAT | os.O_APPEND}
SHOWN = 200  # columns of a command line in a message
LEFT = ("PROVIO_HOME", "PROVIO_STORE")


class Rerun:
    """Executes a plan in `folder`; its runs are recorded in the `.provio` of that folder."""

    def __init__(self, plan: Plan, folder: str, places: Places, inputs: Mapping[Use, Input], home: Home) -> None:
        self.plan, self.folder, self.places, self.inputs, self.home = plan, folder, places, inputs, home
        self.staged: set[str] = set()

    def start(self) -> None:
        """Make the folder, and in it the folders and links that the commands expect."""
        try:
            os.makedirs(self.folder, exist_ok=True)
            os.mkdir(os.path.join(self.folder, homes.NAME), 0o700)  # the second of two reruns into one folder fails
            homes.make(Home(Path(self.folder) / homes.NAME))
        except OSError as error:
            raise NotAllowed(
                f"--in {self.folder} cannot be made ({error.strerror}): name a folder in which you may write"
            ) from None
        made = self.plan.made_folders
        wanted = {step.command.cwd for step in self.plan.steps} | {*map(os.path.dirname, self.plan.products)}
        for path in wanted:
            if not any(path == one or path.startswith(one + "/") for one in made) and (new := self.places.moved(path)):
                os.makedirs(new, exist_ok=True)
        for environment in self.places.kept:
            self._link(environment, Places(self.places.pairs.items()).place(environment), environment)

    def step(self, step: Step, report: Callable[[str], None]) -> int:
        """Put the inputs of a command in place, execute it, and return its exit code, negative for a signal."""
        for use in step.inputs:
            self._stage(use)
        self._program(step.command)
        self._links(step)
        return self._execute(step.command, report)

    def _stage(self, use: Use) -> None:
        new, known = self.places.moved(use.path), self.inputs.get(use)
        if new is None or known is None:
            return
        if known.state == KEPT:
            os.makedirs(os.path.dirname(new), exist_ok=True)
            Path(new).write_bytes(kept.content(self.home, known.digest))
            if os.path.exists(use.path):
                shutil.copymode(use.path, new)
            self.staged.add(new)
        elif os.path.isfile(use.path):
            self._copy(use.path, new)

    def _copy(self, old: str, new: str) -> None:
        """Copy a file with its times and permissions: no later write can change the original."""
        os.makedirs(os.path.dirname(new), exist_ok=True)
        try:
            shutil.copy2(old, new)
            os.chmod(new, os.stat(new).st_mode | 0o200)
        except OSError as error:
            raise NotAllowed(
                f"{old} cannot be copied ({error.strerror}): check its permissions, and the space"
            ) from None
        self.staged.add(new)

    def _program(self, command: Command) -> None:
        """Copy the program that a command names with a path, if that was not done: a program may leave no trace."""
        old = os.path.normpath(os.path.join(command.cwd, command.words[0]))
        new = self.places.moved(old) if "/" in command.words[0] else None
        if new and not os.path.lexists(new) and os.path.isfile(old):
            self._copy(old, new)

    def _links(self, step: Step) -> None:
        """Make the symbolic links again that are next to the inputs, or in the folder of the command, and lead to an
        input, or to a folder above it that does not contain the project."""
        every = {use.path for use in step.inputs}
        paths = set(filter(self.plan.inside, every))
        above = {folder for path in paths for folder in _above(path, self.plan.root)} | every
        above |= {folder for path in every - paths for folder in _above(path, "")} - {*_above(self.plan.root, "")}
        folders = {step.command.cwd, *map(os.path.dirname, paths), self.plan.root}
        for folder in filter(self.plan.inside, folders):
            try:
                links = [entry.path for entry in os.scandir(folder) if entry.is_symlink()]
            except OSError:
                continue
            for link in links:
                if os.path.realpath(link) in above and (new := self.places.moved(link)):
                    self._link(os.readlink(link), new, link)

    def _link(self, target: str, new: str, old: str) -> None:
        if not os.path.lexists(new):
            os.makedirs(os.path.dirname(new), exist_ok=True)
            os.symlink(target if old == target else self._target(target, new, old), new)
            self.staged.add(new)

    def _target(self, target: str, new: str, old: str) -> str:
        """Return the text of a link in its new place: it must not lead into the project (`../PROJECT/in.txt`), and a
        relative one to the outside leads there from any folder."""
        text, real = self.places.text(target), os.path.realpath(old)
        leads = os.path.realpath(os.path.join(os.path.dirname(new), text))
        lost = self.places.moved(real) is None and leads != real
        return self.places.place(real) if lost or self.plan.inside(leads) else text

    def _execute(self, command: Command, report: Callable[[str], None]) -> int:
        where = self.places.aliased([*command.words, *os.environ.values()], command.cwd, self.plan.root)
        words = [where.text(word) for word in command.words]
        call = [sys.executable, "-c", START, "run", "--quiet", "--hash", "--no-merge", "--", *words]
        streams = self._streams(command, report)
        try:
            code = group.run(call, self.places.place(command.cwd), self._environment(command, where), streams)
        except OSError as error:
            raise NotAllowed(f"{command.shown} cannot start ({error.strerror}): use --map for its folder") from None
        finally:
            for one in {one for one in streams.values() if one > 2}:
                os.close(one)
        return code if code <= 128 or command.ended >= 0 else 128 - code

    def _streams(self, command: Command, report: Callable[[str], None]) -> dict[str, int]:
        """Open the files of redirections; without one, the standard output is that of messages."""
        found = {"stdin": subprocess.DEVNULL, "stdout": 2, "stderr": 2}
        printed: dict[str, None] = {}
        for sign, path in command.streams:
            plain = sign.removeprefix("2")
            name = "stdin" if sign == "<" else "stderr" if sign.startswith("2") else "stdout"
            new = self.places.moved(path)
            if sign == BOTH:
                found["stderr"] = found["stdout"]
            elif new is None and sign != "<":
                if not path.startswith("/dev/"):
                    printed[path] = None
            else:
                try:
                    found[name] = os.open(new or path, MODES[plain] | os.O_CLOEXEC, 0o666)
                except OSError as error:
                    reason = f"{path} cannot be opened ({error.strerror})"
                    raise NotAllowed(f"{reason}, a redirection of {command.shown}: use --map for its folder") from None
        if printed:
            where = f"{' and '.join(printed)} {'is' if len(printed) == 1 else 'are'} outside the project"
            report(f"the output of {cut_end(printable(shlex.join(command.words)), SHOWN)} is printed here: {where}")
        return found

    def _environment(self, command: Command, where: Places) -> dict[str, str]:
        """Return the present variables with new paths, and the recorded environments of Python at the start of PATH."""
        variables = {name: where.text(value) for name, value in os.environ.items() if name not in LEFT}
        for name, folder in command.environments:
            if os.path.isdir(folder) and variables.get(name) != folder:
                variables |= {name: folder, "PATH": f"{folder}/bin:{variables.get('PATH', os.defpath)}"}
        return variables | {"PROVIO_HOME": os.path.join(self.folder, homes.NAME)}


def _above(path: str, root: str) -> Iterable[str]:
    folder = os.path.dirname(path)
    while folder.startswith(root + "/") and folder != "/":
        yield folder
        folder = os.path.dirname(folder)


def check_folder(folder: str, root: str) -> None:
    """Raise NotAllowed if a folder is not empty, or in the project."""
    real, inside = os.path.realpath(folder), os.path.realpath(root)
    if real == inside or real.startswith(inside + "/"):
        raise NotAllowed(f"--in {folder} is in the project {root}, whose files it must not change: name another folder")
    if os.path.lexists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise NotAllowed(f"--in {folder} exists and is not an empty folder: name a new one")


def default_folder(root: str) -> str:
    """Return a new folder next to the project: PROJECT-rerun, PROJECT-rerun-2 …"""
    base = root.rstrip("/") + "-rerun"
    names = (base if number == 1 else f"{base}-{number}" for number in range(1, 10_000))
    return next(name for name in names if not os.path.lexists(name))
