"""Copies of the repository for mutants, each with a virtual environment that shares the caller's packages."""

from __future__ import annotations

import shutil
import site
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
START = (
    "import os, sys; 'MUTATION' in os.environ and sys.path.append(os.environ['MUTATION']); "
    "'MUTATION_CALLS' in os.environ and __import__('covering')\n"
)
BUILT = ("provio/libprovio.so", "provio/waiter", "provio/preload")


def copied(folder: Path) -> Path:
    """Replace the content of a folder by the tracked files and their built products."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    listed = subprocess.check_output(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT)
    tracked = [
        name for name in listed.decode().split("\0") if name and (ROOT / name).is_symlink() | (ROOT / name).exists()
    ]
    names = [*tracked, *(name for name in BUILT if (ROOT / name).exists())]
    subprocess.run(["cp", "-a", "--parents", "--", *names, folder], cwd=ROOT, check=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / ".venv"], check=True)
    packages = next((folder / ".venv" / "lib").glob("python*")) / "site-packages"
    shared = site.getsitepackages()[0]
    (packages / "tree.pth").write_text(f"{folder}\n{shared}\n")
    (packages / "zz_mutation.pth").write_text(START)
    for script in Path(sys.prefix, "bin").iterdir():
        own = folder / ".venv" / "bin" / script.name
        if not own.exists() and script.is_file():
            first, _, rest = script.read_bytes().partition(b"\n")
            if first.startswith(b"#!") and b"python" in first:
                own.write_bytes(b"#!" + str(folder / ".venv/bin/python").encode() + b"\n" + rest)
                own.chmod(0o755)
            else:
                own.symlink_to(script)
    return folder
