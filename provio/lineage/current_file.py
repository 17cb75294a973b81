"""What is there now: a path in, the version that it holds as `stat` says it out; nothing recorded is asked."""

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
    """Return the IRI of the version that a path holds now; None where there is nothing."""
    try:
        facts = statx.facts(path)
    except (OSError, ValueError):
        return None
    return version_iri(domain(os.path.realpath(path), facts), facts) if facts else None


def domain_of(path: bytes) -> str | None:
    """Return the storage domain of a path, or where it is gone, of the nearest folder above it that is there."""
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
    """Return the storage domain of a real path, as this machine sees it now."""
    known = [mount for mount in _mounts(facts.device) if path.startswith(mount.point)]
    named = max(known, key=lambda mount: len(mount.point), default=None)
    return domain_segment(named.domain if named else f"{environment.machine_domain()}.{facts.device}")


@cache
def _mounts(device: str) -> list[environment.Mount]:
    domains = load.load(project_folders(), forgive=lambda _: None).domains
    return list(environment.mounts({device}, domains))
