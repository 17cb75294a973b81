"""Writes the lines to add to the definition file of an image, so that it contains the folders that provio binds."""

from __future__ import annotations

import os
from pathlib import Path

from provio.base.errors import ProvioError
from provio.settings import home as homes
from provio.system import shims

HEADERS = ("bootstrap:", "%post")


def lines(recipe: str | None) -> str:
    """Return the lines for the kind of a definition file, or for both kinds; raises ProvioError for any other file."""
    kinds = {"Containerfile": _containerfile, "Apptainer": _definition}
    if recipe:
        kinds = {kind: made for kind, made in kinds.items() if kind == kind_of(Path(recipe))}
    return "\n".join(made() for made in kinds.values())


def kind_of(recipe: Path) -> str:
    """Return the kind of a definition file: `Apptainer` or `Containerfile`."""
    try:
        words = recipe.read_text(encoding="utf-8", errors="replace").lower().split("\n")
    except OSError as error:
        raise ProvioError(f"{recipe} cannot be read ({error.strerror}): name a definition file") from error
    known = [line.strip() for line in words if line.strip() and not line.strip().startswith("#")]
    if any(line.startswith(HEADERS) for line in known):
        return "Apptainer"
    if any(line.startswith("from ") for line in known):
        return "Containerfile"
    raise ProvioError(f"{recipe} is neither a Containerfile (FROM …) nor a definition of Apptainer (Bootstrap: …)")


def _folders() -> str:
    """Return the folders to bind: the shims, and the working folders."""
    wanted = {str(shims.HERE), str(homes.here()[0].project), os.getcwd()}
    return " ".join(sorted(folder for folder in wanted if not folder.startswith("/tmp/")))  # noqa: S108


def _containerfile() -> str:
    folders = _folders()
    return f"""# Containerfile: folders for provio to bind, for runtimes that cannot make them
RUN mkdir -p {folders or "/provio"}
"""


def _definition() -> str:
    folders = _folders()
    return f"""# Apptainer: at the end of %post
    mkdir -p {folders or "/provio"}
"""
