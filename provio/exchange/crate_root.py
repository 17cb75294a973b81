"""The root of a crate: the description of a project and the parts of a crate in, the entities about the whole out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from provio.exchange.crate_json import NAME, Entity, Graph, reference, references
from provio.exchange.description import Description

CRATE = "https://w3id.org/ro/crate/1.1"
WORKFLOW_CRATE = "https://w3id.org/workflowhub/workflow-ro-crate/1.0"
WFRUN = "https://w3id.org/ro/wfrun"
VERSION = "0.5"
PROFILES = ("process", "workflow", "provenance")  # each includes those before it
NO_LICENCE = "No licence is stated: ask the authors before you use these files."


def write(
    graph: Graph,
    about: Description,
    *,
    profile: str,
    text: str,
    users: Iterable[str],
    parts: Sequence[str],
    mentions: Sequence[str],
    main: str,
) -> None:
    """Write the descriptor, the profiles, the people, and as the last entity the root. `text` describes the content,
    `users` are the ids of the people who ran it, `main` is the id of the main workflow."""
    profiles = [_profile(graph, name) for name in PROFILES[: PROFILES.index(profile) + 1]]
    if profile != "process":
        profiles.append(graph.add(_work(WORKFLOW_CRATE, "Workflow RO-Crate", "1.0")))
    graph.add({
        "@id": NAME,
        "@type": "CreativeWork",
        "conformsTo": references([CRATE, *([WORKFLOW_CRATE] if profile != "process" else [])]),
        "about": reference("./"),
    })  # fmt: skip
    authors = _authors(graph, about) or list(users)
    publisher = _organization(graph, about.publisher)
    grants = [graph.add({"@id": f"#grant-{number}", "@type": "Grant", "name": one})
              for number, one in enumerate(about.funding, 1)]  # fmt: skip
    graph.add({
        "@id": "./",
        "@type": "Dataset",
        "name": about.title or "a record of provio",
        "description": " ".join(filter(None, (about.description, text))),
        "datePublished": datetime.now(UTC).isoformat(timespec="seconds"),
        "license": reference(_licence(graph, about.licence)),
        "author": references(authors),
        "publisher": reference(publisher) if publisher else None,
        "funding": references(grants),
        "identifier": list(about.identifiers),
        "conformsTo": references(profiles),
        "mainEntity": reference(main) if main else None,
        "mentions": references(mentions),
        "hasPart": references(parts),
    })  # fmt: skip


def _profile(graph: Graph, name: str) -> str:
    return graph.add(_work(f"{WFRUN}/{name}/{VERSION}", f"{name.capitalize()} Run Crate", VERSION))


def _work(iri: str, name: str, version: str) -> Entity:
    return {"@id": iri, "@type": "CreativeWork", "name": name, "version": version}


def _authors(graph: Graph, about: Description) -> list[str]:
    affiliation = _organization(graph, about.affiliation)
    return [
        graph.add({
            "@id": _orcid(orcid) if orcid else f"#person-{number}",
            "@type": "Person",
            "name": name,
            "affiliation": reference(affiliation) if affiliation else None,
        })
        for number, (name, orcid) in enumerate(about.creators, 1)
    ]  # fmt: skip


def _orcid(orcid: str) -> str:
    return orcid if orcid.startswith("http") else f"https://orcid.org/{orcid}"


def _organization(graph: Graph, known: tuple[str, str] | None) -> str:
    if not known:
        return ""
    name, url = known
    return graph.add({"@id": url or "#organization", "@type": "Organization", "name": name, "url": url})


def _licence(graph: Graph, licence: str) -> str:
    """Return the id of a licence: its URL, the URL of its SPDX identifier, or a local one with its text."""
    if re.match(r"https?://", licence):
        return graph.add({"@id": licence, "@type": "CreativeWork", "name": licence.rstrip("/").rpartition("/")[2],
                          "description": f"the licence {licence}"})  # fmt: skip
    if licence and re.fullmatch(r"[\w.+-]+", licence):
        return graph.add({"@id": f"https://spdx.org/licenses/{licence}", "@type": "CreativeWork", "name": licence,
                          "description": f"the licence with the SPDX identifier {licence}"})  # fmt: skip
    name = licence.splitlines()[0] if licence else "no licence"
    return graph.add({"@id": "#licence", "@type": "CreativeWork", "name": name, "description": licence or NO_LICENCE})
