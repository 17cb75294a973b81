"""Verbs: one file each, which holds `command`, a click command of the file's name; the folder is the registry.

A verb is thin: it reads its options, asks, and hands the answer to `terminal`. What only it needs it imports inside, so
that every other verb starts no slower. Here stands what several of them offer.
"""

from __future__ import annotations

import os

import click

FORMS = click.Choice(["table", "json", "csv", "tsv"])
VIA = click.Choice(["data", "carried", "control"])


def names() -> list[str]:
    """Return the names of the verbs, sorted."""
    files = (file for folder in __path__ for file in os.listdir(folder))
    return sorted({file.removesuffix(".py") for file in files if file.endswith(".py") and file[0] != "_"})
