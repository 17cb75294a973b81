"""Sarus: images fetched by `sarus pull`. It binds with `--mount`, at any path, and takes variables with `--env`."""

from __future__ import annotations

from provio.containers.runtimes import ADDRESS, NAME, Start

PROGRAMS = ("sarus",)
TAKES = (NAME, ADDRESS)
SCHEMES = ("docker",)


def command(start: Start) -> list[str]:
    """Return the command line."""
    words = [start.program, "run", *(["--tty"] if start.terminal else [])]
    words += [f"--mount=type=bind,source={folder},destination={folder}" for folder in start.binds]
    for name, value in start.variables.items():
        words += ["--env", f"{name}={value}"]
    if not start.has_option("-w", "--workdir"):
        words.append(f"--workdir={start.cwd}")
    if start.mode != "run":
        words += ["--entrypoint", ""]  # two words: Sarus takes no empty value after an equals sign
    inner = [start.shell] if start.mode == "shell" else list(start.command)
    return [*words, *start.options, start.image.removeprefix("docker://"), *inner]
