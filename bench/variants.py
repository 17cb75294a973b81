"""The ways in which each command is run: bare, under a preload that does nothing, under provio at each level."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from case import HERE, LEVELS

SHIM = HERE.parent / "provio" / "libprovio.so"
BARE, PASS = "bare", "passes through"
VARIANTS = (BARE, PASS, *LEVELS)
_CLOCK = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")


@dataclass(frozen=True)
class Trace:
    """A run folder for one command, like that of `provio run`, but made faster."""

    root: Path
    clock: str = ""  # the machine's

    @property
    def folder(self) -> Path:
        return self.root / ".provio" / "runs" / "r" / "node"

    def variables(self, level: str, shim: Path = SHIM) -> dict[str, str]:
        """Return the variables by which a command is recorded at this level."""
        self.folder.mkdir(parents=True)
        clock = "tsc" if _CLOCK.exists() and _CLOCK.read_text().strip() == "tsc" else "sys"
        fields = ("1", level, self.clock or clock, "r", "node", str(self.root / ".provio"), str(self.folder))
        value = ";".join(part.replace("%", "%25").replace(";", "%3B") for part in fields)
        return {"LD_PRELOAD": str(shim), "PROVIO_TRACE": value}


def pass_through(built: Path) -> Path:
    """Return the preload that does nothing, compiled."""
    library = built / "passthrough.so"
    if not library.exists():
        command = ["cc", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-o", library, HERE / "passthrough.c", "-ldl"]
        subprocess.run(command, check=True)
    return library


def variables(variant: str, built: Path, trace: Trace, shim: Path = SHIM) -> dict[str, str]:
    """Return the variables that a variant adds."""
    if variant == BARE:
        return {}
    return {"LD_PRELOAD": str(pass_through(built))} if variant == PASS else trace.variables(variant, shim)


def plain_environment() -> dict[str, str]:
    """Return this environment without preloads, with this Python first in PATH, and with `merge = wait`."""
    kept = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "PROVIO_TRACE")}
    path = f"{Path(sys.executable).parent}:{kept.get('PATH', '')}"
    return {**kept, "PATH": path, "PYTHONHASHSEED": "0", "PROVIO_MERGE": "wait"}
