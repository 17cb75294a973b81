"""Shifter: images fetched by `shifterimg pull`, as `docker:NAME`.

It binds with `--volume`, only to existing folders, and takes variables with `-e`; the long form of `-e` takes no
value.
"""

from __future__ import annotations

from provio.containers.runtimes import ADDRESS, NAME, Start

PROGRAMS = ("shifter",)
TAKES = (NAME, ADDRESS)
SCHEMES = ("docker",)
NEEDS_FOLDERS = True


def command(start: Start) -> list[str]:
    """Return the command line."""
    name = start.image.removeprefix("docker://")
    words = [start.program, f"--image={name if name.startswith(('docker:', 'id:')) else 'docker:' + name}"]
    words += [f"--volume={folder}:{folder}" for folder in start.binds]
    for variable in start.variables.items():
        words += ["-e", "=".join(variable)]
    if not start.has_option("-w", "--workdir"):
        words.append(f"--workdir={start.cwd}")
    if start.mode == "run":
        words.append("--entrypoint")
    inner = [start.shell] if start.mode == "shell" else list(start.command)
    return [*words, *start.options, *inner]
