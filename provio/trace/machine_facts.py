"""The facts of the machines of a run, of its job of Slurm and of its checkout, next to its Turtle files.

In: a run folder. Out: the facts by host, those of the job, the uncommitted changes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from provio.system.machine import Facts
from provio.trace import run_source
from provio.trace.read import read_head
from provio.trace.run_source import DIFF, JOB, MACHINE

Layers = Mapping[str, Facts]
# The names that `scontrol` gives the facts of a job, and those shown. Its environment and comments are not shown.
OF_JOB = {
    "JobId": "job", "JobName": "name", "Partition": "partition", "Account": "account", "QOS": "quality of service",
    "Command": "script", "WorkDir": "folder", "StdIn": "input", "StdOut": "output", "StdErr": "errors",
    "ReqNodeList": "requested hosts", "NodeList": "allocated hosts", "NumNodes": "nodes", "NumCPUs": "CPUs",
    "ReqTRES": "requested resources", "AllocTRES": "allocated resources", "TRES": "allocated resources",
    "Features": "features", "Switches": "switches", "TimeLimit": "time limit", "SubmitTime": "submitted",
    "EligibleTime": "eligible", "StartTime": "started",
}  # fmt: skip
EMPTY = frozenset({"(null)", "N/A", "None", "Unknown", "/dev/null", ""})
_PAIR = re.compile(r"(?:^|\s)([A-Za-z][\w/:]*)=")


def hosts(folder: Path) -> dict[str, Layers]:
    """Return the facts of each host of a run, by its encoded name; a damaged file counts as none."""
    found: dict[str, Layers] = {}
    for name, text in _texts(folder, MACHINE).items():
        try:
            layers = json.loads(text)
        except ValueError:
            continue
        if isinstance(layers, dict) and all(isinstance(facts, dict) for facts in layers.values()):
            found[name] = {
                str(layer): {str(key): None if value is None else str(value) for key, value in facts.items()}
                for layer, facts in layers.items()
            }
    return found


def job(folder: Path) -> dict[str, str]:
    """Return the facts of the run's job of Slurm."""
    text = next(iter(_texts(folder, JOB).values()), "")
    parts = _PAIR.split(text.splitlines()[0])[1:] if text.strip() else []
    pairs = dict(zip(parts[::2], parts[1::2], strict=True))
    return {OF_JOB[name]: value for name, value in pairs.items() if name in OF_JOB and value not in EMPTY}


def changes(folder: Path) -> str | None:
    """Return the uncommitted changes of the run's Git checkout; None if they were not kept."""
    return next(iter(_texts(folder, DIFF).values()), None)


def _texts(folder: Path, name: str) -> dict[str, str]:
    """Return the text of a file of each host."""
    if not run_source.exists(folder):
        return {}
    files = run_source.of(folder).machine_facts(read_head(folder))
    return {file.host: file.load().decode("utf-8", "replace") for file in files if file.name == name}
