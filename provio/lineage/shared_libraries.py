"""Add the shared libraries that processes had loaded to the versions of a run: they are described as any file is."""

from __future__ import annotations

from provio.lineage.identity import Identity
from provio.lineage.model import Conclusions, Version
from provio.trace.run_facts import Trace


def add(trace: Trace, identity: Identity, conclusions: Conclusions) -> None:
    """Add the libraries of a whole run; a version that processes also opened keeps its other facts."""
    started = int(trace.run.get("startedNs", 0))
    for library in {one for loaded in trace.libraries.values() for one in loaded}:
        iri = identity.version(library.facts)
        version = conclusions.versions.setdefault(iri, Version(iri, library.facts))
        version.name(identity.file(library.path, library.facts.device), library.path, started)
