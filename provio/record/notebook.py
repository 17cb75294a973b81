"""Installs Jupyter kernels that are recorded: the kernelspec starts ipykernel under `provio run`.

So each kernel process is a run, in the `.provio` that is found from the kernel's working directory.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from provio.base.errors import NothingKnown, ProvioError
from provio.system import installation

KERNEL = Path(__file__).parent.parent / "interceptors" / "kernel.py"
MARK = "provio"  # key in a kernelspec's metadata


@dataclass(frozen=True)
class Kernel:
    """A recorded kernel that is installed: its name, its folder, and the Python that it runs in."""

    name: str
    folder: str
    python: str


def _manager() -> Any:
    try:
        from jupyter_client.kernelspec import KernelSpecManager
    except ImportError:
        raise ProvioError(f"jupyter_client is not installed here: {installation.install('notebook')}") from None
    return KernelSpecManager()


def spec(python: str, title: str) -> dict[str, Any]:
    """Return the content of `kernel.json`. Jupyter interrupts the kernel by a message: a signal would reach it twice,
    through `provio run` and through its process group."""
    return {
        "argv": [*installation.call(), "run", "--quiet", "--", python, str(KERNEL), "-f", "{connection_file}"],
        "display_name": title,
        "language": "python",
        "interrupt_mode": "message",
        "metadata": {MARK: True, "debugger": True},
    }


def install(name: str, title: str, python: str, *, user: bool, prefix: str | None) -> Kernel:
    """Install a kernel; raises ProvioError if its Python has no ipykernel, or the folder cannot be written."""
    manager = _manager()
    found = shutil.which(python)
    if found is None:
        raise ProvioError(f"{python}: no such program: name a Python with --python")
    found = os.path.abspath(found)  # Jupyter starts it in the notebook's folder
    command = [found, "-c", "import ipykernel"]
    if subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode:
        raise ProvioError(f"{found} has no ipykernel: {shlex.quote(found)} -m pip install ipykernel")
    other = _known(manager).get(name)
    if other and not _is_ours(other):
        raise ProvioError(f"there is a kernel {name!r} that is not provio's: choose another --name")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "kernel.json").write_text(json.dumps(spec(found, title), indent=1) + "\n", encoding="utf-8")
        try:
            place = manager.install_kernel_spec(folder, name, user=user, prefix=prefix)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ProvioError(f"the kernel cannot be installed: {reason}: try --user or --sys-prefix") from None
    return Kernel(name, str(place), found)


def installed() -> list[Kernel]:
    """Return the recorded kernels that Jupyter finds, by name."""
    known = _known(_manager())
    return [
        Kernel(name, found["resource_dir"], found["spec"]["argv"][-4])
        for name, found in sorted(known.items())
        if _is_ours(found)
    ]


def remove(name: str) -> str:
    """Remove a recorded kernel and return its folder; raises NothingKnown if there is none of that name."""
    manager = _manager()
    found = _known(manager).get(name)
    if found is None or not _is_ours(found):
        raise NothingKnown(f"no recorded kernel {name!r} is installed (provio kernel list)")
    try:
        return str(manager.remove_kernel_spec(name))
    except OSError as error:
        raise ProvioError(f"{found['resource_dir']} cannot be removed: {error.strerror or error}") from None


def _known(manager: Any) -> dict[str, Any]:
    return dict(manager.get_all_specs())


def _is_ours(found: dict[str, Any]) -> bool:
    return bool(found["spec"].get("metadata", {}).get(MARK))
