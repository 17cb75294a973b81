"""The validator of RO-Crates without a network: the folder of a crate in, the findings out.

Two contexts of JSON-LD are needed, which it would read from the network. The one of RO-Crate is part of the package
`rocrate`, with newer names of four terms; the one of Workflow Run RO-Crate is short, and stated here.
"""

from __future__ import annotations

import json
import tempfile
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import requests
from requests_cache import CachedRequest, CachedResponse, CachedSession
from rocrate_validator import models, services

CRATE, WORKFLOW_RUN = "https://w3id.org/ro/crate/1.1/context", "https://w3id.org/ro/terms/workflow-run/context"
BIOSCHEMAS = "https://bioschemas.org/ComputationalWorkflow"
OLDER = {
    "ComputationalWorkflow": BIOSCHEMAS,
    "FormalParameter": "https://bioschemas.org/FormalParameter",
    "input": f"{BIOSCHEMAS}#input",
    "output": f"{BIOSCHEMAS}#output",
}
TERMS = (
    "ParameterConnection ContainerImage DockerImage SIFImage connection sourceParameter targetParameter md5 sha1 "
    "sha256 sha512 environment registry tag containerImage resourceUsage"
).split()
PROFILES = ("process-run-crate", "workflow-run-crate", "provenance-run-crate")
# The workflow is a file of the crate, and the validator refuses one with an absolute IRI that it cannot download.
OF_A_FILE = [
    f"RECOMMENDED: The SoftwareApplication id SHOULD be an absolute URI ({kind})"
    for kind in ("http://schema.org/SoftwareSourceCode", "https://bioschemas.org/ComputationalWorkflow")
]


@cache
def contexts() -> dict[str, dict[str, Any]]:
    """Return the terms of each context."""
    crate = json.loads((files("rocrate") / "data" / "ro-crate.jsonld").read_text(encoding="utf-8"))["@context"]
    return {
        CRATE: crate | OLDER,
        WORKFLOW_RUN: {term: f"https://w3id.org/ro/terms/workflow-run#{term}" for term in TERMS},
    }


def _keep(session: CachedSession, url: str, terms: dict[str, Any]) -> None:
    """Put a context into the validator's cache of documents."""
    request = session.prepare_request(requests.Request("GET", url))
    response = CachedResponse(
        url=url,
        status_code=200,
        headers={"Content-Type": "application/ld+json"},
        content=json.dumps({"@context": terms}).encode(),
        request=CachedRequest.from_request(request),
    )
    session.cache.save_response(response, session.cache.create_key(request))


def findings(folder: Path, profile: str) -> list[str]:
    """Return the findings about required and recommended facts, of a profile and of those that it includes."""
    name = next(one.identifier for one in services.get_profiles() if one.identifier.startswith(profile))
    with tempfile.TemporaryDirectory() as place:
        kept = Path(place) / "cache"
        with CachedSession(str(kept), backend="sqlite", expire_after=-1) as session:
            for url, terms in contexts().items():
                _keep(session, url, terms)
        settings = services.ValidationSettings(
            rocrate_uri=str(folder),
            profile_identifier=name,
            requirement_severity=models.Severity.RECOMMENDED,
            cache_path=kept,
            offline=True,
        )
        found = services.validate(settings).get_issues()
    return sorted({f"{one.severity.name}: {one.message} ({one.violatingEntity})" for one in found})


def inlined(folder: Path) -> dict[str, Any]:
    """Return the metadata with its contexts in it."""
    document: dict[str, Any] = json.loads((folder / "ro-crate-metadata.json").read_text(encoding="utf-8"))
    return document | {"@context": [contexts()[url] for url in document["@context"]]}
