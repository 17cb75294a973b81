"""Container runtimes, one file each; the folder is the registry.

A runtime converts a `Start` (the command, and the host folders that it must see) into its own command line. It starts
nothing itself. Each file defines

    PROGRAMS    its commands, the most likely first
    TAKES       the forms of images that it accepts (`FOLDER`, `SIF`, `SQUASHFS`, `ADDRESS`, `NAME`)
    command     Start → the words of its command line
    seen        optional: Start → folders of the host that it shows by itself, at their own path
    root        optional: an image's name → the folder of its content, if there is one
    lacking     optional: Start → the first bind folder that is absent from an image which cannot be written, or empty
    NEEDS_FOLDERS   optional: whether it binds only to folders that an image contains
    facts       optional: program, image → the command that prints the facts of an image, as JSON
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType

from provio.base.errors import ProvioError
from provio.base.records import field, frozen, replace
from provio.system.executable import found_program

FOLDER, SIF, SQUASHFS, ADDRESS, NAME = "folder", "SIF", "SquashFS", "address", "name"
MODES = ("run", "exec", "shell")


@frozen
class Start:
    """A command to start in a container.

    `mode` is `run` (the image's own program, with `command` as its arguments), `exec` (`command`) or `shell`.
    `options` are the user's own, for the runtime. Each of `binds` is a host folder to show under the same name.
    """

    program: str
    mode: str
    image: str
    form: str
    command: Sequence[str]
    options: Sequence[str] = ()
    binds: Sequence[str] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    cwd: str = "/"
    terminal: bool = False
    shell: str = "/bin/sh"

    def has_option(self, *options: str) -> bool:
        """Return whether the user's own options contain one of these."""
        words = {word.partition("=")[0] for word in self.options}
        return bool(words & set(options))

    def with_binds(self, binds: Sequence[str]) -> Start:
        """Return a copy with other binds."""
        return replace(self, binds=tuple(binds))


@frozen
class Runtime:
    """An installed runtime: its name, its command, and its module."""

    name: str
    program: str
    module: ModuleType

    def command(self, start: Start) -> list[str]:
        """Return the words of its command line."""
        return list(self.module.command(start))

    def call_hook(self, name: str, default: Callable[..., object], *arguments: object) -> object:
        """Call the runtime's function of this name, or `default` if it has none; return the result."""
        return getattr(self.module, name, default)(*arguments)


def names() -> list[str]:
    """Return the names of the runtimes, sorted."""
    files = (file for folder in __path__ for file in os.listdir(folder))
    return sorted({file.removesuffix(".py") for file in files if file.endswith(".py") and file[0] != "_"})


def load(name: str) -> ModuleType:
    """Return the module of a runtime."""
    return import_module(f"{__name__}.{name}")


def form_of(image: str) -> str:
    """Return the form of an image; raises ProvioError for a path without an image."""
    if not image:
        raise ProvioError("the name of the image is empty: give a file, a folder, docker://NAME or a name")
    if "://" in image:
        return ADDRESS
    if os.path.isdir(image):
        if not os.access(image, os.R_OK | os.X_OK):
            raise ProvioError(f"{image} cannot be read: its owner must let you read it")
        return FOLDER
    if os.path.exists(image):
        return _of_file(image)
    if image.startswith(("/", "./", "../")) or image.endswith((".sif", ".sqfs", ".sqsh")):
        raise ProvioError(f"there is no image {image}: give a file, a folder, a name or docker://NAME")
    return NAME


def _of_file(image: str) -> str:
    try:
        head = b""
        if os.path.isfile(image):  # a read from a FIFO waits for a writer
            with open(image, "rb") as file:
                head = file.read(64)
    except OSError as error:
        raise ProvioError(f"{image} cannot be read ({error.strerror}): its owner must let you read it") from error
    if b"SIF_MAGIC" in head:
        return SIF
    if head[:4] == b"hsqs":
        return SQUASHFS
    raise ProvioError(f"{image} is neither an image (SIF, SquashFS) nor a folder with one: name an image")


def chosen(image: str, form: str, wanted: str | None = None) -> Runtime:
    """Return the runtime for an image: the wanted one, or the first installed one that accepts it."""
    if wanted and wanted not in names():
        raise ProvioError(f"no runtime {wanted!r} is known: choose from {', '.join(names())}")
    fitting, without = [], ""
    for name in [wanted] if wanted else names():
        module = load(name)  # imported one by one: most are not needed
        if form not in module.TAKES or not _means(module, image, form):
            continue
        fitting.append(module)
        program = next((program for program in module.PROGRAMS if found_program(os.fsencode(program))), None)
        if program and form == NAME and getattr(module, "root", _anywhere)(image) is None:
            without = program
        elif program:
            return Runtime(name, program, module)
    if without:
        raise ProvioError(f"{without} has no image {image}: pull it, or give a file or folder")
    if not fitting:
        raise ProvioError(f"{wanted or 'no runtime'} accepts no {form} such as {image}: give another form")
    programs = [program for module in fitting for program in module.PROGRAMS]
    raise ProvioError(f"no container runtime for {image} is installed: install one of {', '.join(programs)}")


def _anywhere(image: str) -> str:
    """Return the image itself: a runtime without `root` does not report where its images are, so it may have this
    one."""
    return image


def _means(module: ModuleType, image: str, form: str) -> bool:
    scheme = image.partition("://")[0]
    return form != ADDRESS or scheme in module.SCHEMES
