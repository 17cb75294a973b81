"""Executes the notebooks of `examples/notebooks` as JupyterLab does, in an empty folder, with an ordinary kernel.

`python tests/notebooks.py [NOTEBOOK…]` writes the present outputs into the notebooks. Ids, the home folder and the
names of the user and the machine are replaced.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import doc_pages
import nbformat
from half_hour import _alike
from nbclient import NotebookClient

FOLDER = doc_pages.ROOT / "examples" / "notebooks"
IMAGE = "image/png"


def executed(path: Path, home: Path, env: Mapping[str, str]) -> Any:
    """Execute a notebook in the folder `das` of a home, and return it with its outputs."""
    book = nbformat.read(path, as_version=4)
    kernels = home / "share" / "jupyter" / "kernels" / "python3"
    kernels.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernels / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "Python 3", "language": "python"}))
    places = {"JUPYTER_PATH": home / "share" / "jupyter", "IPYTHONDIR": home / "ipython"}
    kept, own = dict(os.environ), {name: str(place) for name, place in places.items()}
    os.environ.clear()  # the client and the kernel have the environment of this process
    os.environ.update({**env, **own, "JPY_SESSION_NAME": str(home / "das" / path.name), "MPLBACKEND": "agg"})
    try:
        if "matplotlib" in path.read_text(encoding="utf-8"):  # it lists the fonts at its first use
            subprocess.run([sys.executable, "-c", "import matplotlib.font_manager"], check=True)
        NotebookClient(book, timeout=300, kernel_name="python3", store_widget_state=False).execute(
            cwd=str(home / "das")
        )
    finally:
        os.environ.clear()
        os.environ.update(kept)
    return plain(book, home)


def plain(book: Any, home: Path) -> Any:
    """Return a notebook without the data of a machine and of an execution."""
    whole = json.dumps([[text(output) for output in cell.get("outputs", [])] for cell in book.cells])
    whole = re.sub(r"/tmp/tmp\w+\.json", "/tmp/kernel.json", _alike(whole.replace(sys.prefix, f"{home}/env"), home))
    texts = [[re.sub(r"\bby( +)root\b", r"by\1ada", one) for one in cell] for cell in json.loads(whole)]
    book.metadata = nbformat.from_dict(
        {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    )
    for number, cell in enumerate(book.cells):
        cell.metadata, cell["id"] = nbformat.from_dict({}), f"cell-{number}"
        for output, shown in zip(cell.get("outputs", []), texts[number], strict=True):
            output.pop("metadata", None)
            if output.output_type == "stream":
                output.text = shown
            else:
                output.metadata = nbformat.from_dict({})
                output.data = nbformat.from_dict(
                    {"text/plain": shown} | {kind: data for kind, data in output.data.items() if kind == IMAGE}
                )
    return book


def text(output: Any) -> str:
    """Return the text of an output."""
    return str(output.text if output.output_type == "stream" else output.data.get("text/plain", ""))


def main(names: list[str]) -> None:
    """Write the present outputs into notebooks."""
    for path in map(Path, names) if names else sorted(FOLDER.glob("*.ipynb")):
        with doc_pages.reader() as home:
            env = doc_pages.environment(home, {k: v for k, v in os.environ.items() if not k.startswith("PROVIO")})
            nbformat.write(executed(path, home, env), path)


if __name__ == "__main__":
    main(sys.argv[1:])
