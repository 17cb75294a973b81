"""Identify the version that a path contains now by `stat` alone, without any recorded data."""

from __future__ import annotations

import os
from functools import cache

from provio.lineage.identity import domain_segment, version_iri
from provio.settings import load
from provio.settings.home import project_folders
from provio.system import statx
from provio.system.statx import Facts
from provio.trace import environment


def version(path: bytes) -> str | None:
    """Return the IRI of the version that a path contains now; None where there is no file."""
    try:
        facts = statx.facts(path)
    except (OSError, ValueError):
        return None
    return version_iri(domain(os.path.realpath(path), facts), facts) if facts else None


def domain_of(path: bytes) -> str | None:
    """Return the storage domain of a path, or if it does not exist, of its nearest existing parent folder; None if
    there is none."""
    while True:
        try:
            facts = statx.facts(path)
        except (OSError, ValueError):
            facts = None
        if facts:
            return domain(os.path.realpath(path), facts)
        if os.path.dirname(path) == path:
            return None
        path = os.path.dirname(path)


def domain(path: bytes, facts: Facts) -> str:
    """Return the storage domain of a real path, by the mounts that this machine has now."""
    known = [mount for mount in _mounts(facts.device) if path.startswith(mount.point)]
    named = max(known, key=lambda mount: len(mount.point), default=None)
    return domain_segment(named.domain if named else f"{environment.machine_domain()}.{facts.device}")


@cache
def _mounts(device: str) -> list[environment.Mount]:
    domains = load.load(project_folders(), forgive=lambda _: None).domains
    return list(environment.mounts({device}, domains))
