"""Podman: names of images, `docker://`, and folders (`--rootfs`).

It binds at any path. `--security-opt label=disable` lets programs access bound folders where SELinux is on.
"""

from __future__ import annotations

import os

from provio.containers.runtimes import ADDRESS, FOLDER, NAME, Start

PROGRAMS: tuple[str, ...] = ("podman",)
TAKES: tuple[str, ...] = (NAME, ADDRESS, FOLDER)
SCHEMES: tuple[str, ...] = ("docker", "oci", "docker-archive")


def command(start: Start) -> list[str]:
    """Return the command line."""
    image = ["--rootfs", os.path.abspath(start.image)] if start.form == FOLDER else [start.image]
    return [*first_words(start), "--security-opt", "label=disable", *last_words(start, image)]


def first_words(start: Start) -> list[str]:
    """Return the words before the user's options, which Docker shares."""
    words = [start.program, "run", "--rm", "--interactive"]
    words += ["--tty"] if start.terminal else []
    for folder in start.binds:
        words += ["--volume", f"{folder}:{folder}"]
    for name, value in start.variables.items():
        words += ["--env", f"{name}={value}"]
    return words if start.has_option("-w", "--workdir") else [*words, "--workdir", start.cwd]


def last_words(start: Start, image: list[str]) -> list[str]:
    """Return the user's options, the image and the command; another command replaces the image's own program."""
    words = list(start.command) if start.mode != "shell" else [start.shell]
    if start.mode == "run" or image[0] == "--rootfs":
        return [*start.options, *image, *words]
    return ["--entrypoint", words[0], *start.options, *image, *words[1:]]


def facts(program: str, image: str) -> list[str]:
    """Return the command that prints the facts of an image."""
    return [program, "image", "inspect", image.removeprefix("docker://")]
