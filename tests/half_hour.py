"""Executes a new user's first half hour, and prints the output of a terminal of 80 columns as a page.

    python tests/half_hour.py > docs/first-half-hour.md        (make transcript)

Everything is real: a new virtual environment, the install, programs, mistakes, stores of other users. Ids, times, sizes
and names of machines are replaced on the page, and blanked for the comparison with it.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path

import pexpect
from packages import ROOT, compiler_that_copies

from provio.trace.environment import user_name

AVERAGE = """import csv, sys
rows = list(csv.reader(open(sys.argv[1])))
with open(sys.argv[2], "w") as out:
    for station in sorted({row[0] for row in rows}):
        values = [float(row[1]) for row in rows if row[0] == station]
        print(station, sum(values) / len(values), sep=",", file=out)
"""

# Prose; a command that is typed; or a file that the reader saves: its name and its content.
STEPS: list[str | tuple[str, str]] = [
    "## Install",
    "From a checkout, into a new virtual environment. Any C compiler can build the preload library.",
    "$ python3 -m venv ~/env",
    "$ ~/env/bin/pip install --quiet ~/provio",
    "$ . ~/env/bin/activate; provio --version",
    "`provio doctor -- COMMAND` reports problems before the run; here a mistyped command:",
    "$ provio doctor -- python3.99 average.py | grep -A1 ^problem",
    "## Record",
    "In an empty folder, save this as `average.py`:",
    ("average.py", AVERAGE),
    "Make some measurements:",
    "$ for i in $(seq 0 699); do echo S$((i % 7)),$((i * 37 % 101)); done > stations.csv",
    "Put `provio run --` before the commands:",
    "$ provio run -- python3 average.py stations.csv means.csv",
    "$ provio run --name ranking -- sh -c 'sort -t, -k2 -n means.csv > ranking.csv'",
    "## Query",
    "$ provio lineage ranking.csv",
    "$ provio why means.csv",
    "$ provio lineage --forward stations.csv",
    "$ provio runs",
    "$ provio show ranking",
    "$ provio query 'SELECT DISTINCT ?path { ?f provio:path ?path FILTER(STRENDS(?path, \".csv\")) } ORDER BY ?path'",
    "$ provio view ranking.csv -o lineage.html",
    "After data changed: which files are out of date, and how to make them again:",
    "$ echo S1,1000 >> stations.csv",
    "$ provio lineage ranking.csv --stale",
    "$ provio impact stations.csv",
    "## Mistakes",
    "A wrong verb, a wrong option, a missing `run`, a missing `lineage`:",
    "$ provio lineag ranking.csv",
    "$ provio lineage --forwrad stations.csv",
    "$ provio python3 average.py stations.csv means.csv",
    "$ provio ranking.csv",
    "A wrong path, and a folder instead of a file:",
    "$ provio lineage rankings.csv",
    "$ provio lineage .",
    "$ provio show rankin",
    "A wrong command: it ends as without provio.",
    "$ provio run -- pyhton3 average.py",
    "$ echo $?",
    "A wrong setting: queries refuse, a run continues without it.",
    "$ echo 'hahs = true' > provio.toml",
    "$ provio runs",
    "$ provio run --no-merge -- true",
    "$ rm provio.toml",
    "A wrong term in SPARQL, and a wrong name of a query:",
    "$ provio query 'SELECT ?file WHERE { ?file a provio:Fil }'",
    "$ provio query io-by-fiel",
    "## Other records",
    "A folder without a record:",
    "$ mkdir ~/elsewhere; (cd ~/elsewhere; provio runs)",
    "A store of an older provio, or a deleted one, is made again from the runs:",
    "$ rm -r .provio/store .provio/snapshots; provio lineage means.csv",
    "A store of a newer provio is not changed:",
    "$ echo 99 > .provio/store.version; provio lineage means.csv",
    "$ rm .provio/store.version",
    "A record of another user is not used unless you name it:",
    "    provio: /home/ada/das/.provio belongs to user 12345: set PROVIO_HOME=/home/ada/das/.provio to use it anyway",
    "The whole record is one folder:",
    "$ rm -r .provio; provio lineage means.csv",
]
SYSTEM = "Debian GNU/Linux 12 (bookworm), Linux 6.18.44-fc-v595, AMD EPYC"
HEAD = """# The first half hour

This page shows the commands of a new user and their output on a terminal of 80 columns, from the installation on, with
common mistakes. `make transcript` makes the page by executing all commands; a test compares it with the present output.
"""


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def carried_out(home: Path) -> str:
    """Carry out the steps in a home folder that is still empty; return the page."""
    project = home / "das"
    project.mkdir()
    _checkout(home / "provio")
    env = _environment(home)
    parts, code = [HEAD], 0
    for step in STEPS:
        if isinstance(step, tuple):
            _write(project / step[0], step[1])
            parts.append("".join(f"    {line}".rstrip() + "\n" for line in step[1].splitlines()))
        elif step.startswith("$ "):
            shown, code = _typed(step[2:].replace("$?", str(code)), project, env)
            lines = [step, *shown.splitlines()]
            parts.append("".join(f"    {line}".rstrip() + "\n" for line in lines))
            if step.endswith("pip install --quiet ~/provio") or "venv" in step:
                assert code == 0, shown
                _with_what_is_here(home)
        else:
            parts.append(step + "\n")
    return _alike("\n".join(_joined(parts)), home)


def _joined(parts: list[str]) -> list[str]:
    """Commands that follow each other stand in one block."""
    found: list[str] = []
    for part in parts:
        if part.startswith("    ") and found and found[-1].startswith("    "):
            found[-1] += part
        else:
            found.append(part)
    return found


def _checkout(target: Path) -> None:
    names = (
        "provio",
        "interceptors",
        "ontology",
        "queries",
        "scripts",
        "pyproject.toml",
        "setup.py",
        "README.md",
        "LICENSE",
        "MANIFEST.in",
    )
    target.mkdir()
    for name in names:
        source = ROOT / name
        if source.is_dir():
            leave = shutil.ignore_patterns("__pycache__", "libprovio.so")
            shutil.copytree(source, target / name, symlinks=True, ignore=leave)
        else:
            shutil.copy2(source, target / name)


def _environment(home: Path) -> dict[str, str]:
    left = ("PROVIO", "LD_PRELOAD", "XDG_", "SLURM", "PYTHON", "VIRTUAL_ENV")
    env = {name: value for name, value in os.environ.items() if not name.startswith(left)}
    # The requirements of provio are already installed: nothing is downloaded.
    env |= {
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_NO_INDEX": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "CC": compiler_that_copies(home / "cc"),
    }
    env |= {"HOME": str(home), "TERM": "xterm", "NO_COLOR": "1", "LC_ALL": "C.UTF-8", "COLUMNS": "80", "LINES": "24"}
    env |= {"PROVIO_MERGE": "background"}  # as outside of containers
    return env | {"PATH": f"{home}/env/bin:{os.path.dirname(sys._base_executable)}:{os.environ['PATH']}"}


def _with_what_is_here(home: Path) -> None:
    """Let the new environment find provio's requirements where this one has them."""
    for place in (home / "env" / "lib").glob("python*/site-packages"):
        _write(
            place / "requirements-of-provio.pth", f"import sys; sys.path.insert(0, {sysconfig.get_path('purelib')!r})\n"
        )


def _typed(command: str, folder: Path, env: dict[str, str]) -> tuple[str, int]:
    """Return the terminal output of a command, and its exit code."""
    child = pexpect.spawn(
        "bash", ["-c", command], cwd=folder, env=env, encoding="utf-8", timeout=600, echo=False, dimensions=(24, 80)
    )
    shown = child.read()
    child.close()
    shown = re.sub(r"[^\n]*\r\x1b\[K", "", shown).replace("\r\n", "\n")
    return shown, child.exitstatus or 0


def _alike(text: str, home: Path) -> str:
    """Return a page without data of the machine that made it."""
    ids = dict.fromkeys(re.findall(r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b", text))
    for place, run in enumerate(ids):
        text = text.replace(run, f"0193c1f2-4d0{place}-7a31-9c55-2f6d8e0b71a{place}")
        text = text.replace(run[:13], f"0193c1f2-4d0{place}")
    others = [one for one in re.findall(r"(?<![\w-])01[0-9a-f]{6}-[0-9a-f]{4}(?![\w-])", text) if one[:8] != "0193c1f2"]
    for place, short in enumerate(dict.fromkeys(others), len(ids)):  # a run of which the page has only a part of the id
        text = text.replace(short, f"0193c1f2-4d0{place}")
    text = text.replace(str(home), "/home/ada").replace(os.uname().nodename, "node07")
    text = re.sub(r"(?m)^( {4}system   ).*(?:\n {13}\S.*)*", rf"\1{SYSTEM}", text)  # one line, or two
    return re.sub(rf"(\bby +|UTC  ){re.escape(user_name())}\b", r"\1ada", text)


def blank(page: str) -> str:
    """Return a page without ids, times and sizes."""
    page = re.sub(r"(?m)^ {4}(system|where) .*$", r"\1", page)
    page = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}(-[0-9a-f]{4}){0,2}(-[0-9a-f]{12})?", "ID", page)
    page = re.sub(r"\d+(\.\d+)?( [µmn]?s| [kM]?B)?\b", "0", page)
    return re.sub(r"─+", "─", re.sub(r"[ \n]+", " ", page))


def page() -> str:
    """Carry it out in a home folder that goes again; return the page."""
    with tempfile.TemporaryDirectory(prefix="ada-") as home:
        return carried_out(Path(home).resolve())


if __name__ == "__main__":
    print(page(), end="")
