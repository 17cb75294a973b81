"""The description of results as DataCite metadata (schema 4.5, JSON), ready for a repository that registers a DOI."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

from provio.base.text import printable
from provio.base.vocab import RUN_BASE
from provio.exchange import description
from provio.exchange.description import Description
from provio.exchange.subject import Subject
from provio.settings.description import identifier_of

SUMMARY = "DataCite 4.5: the description in [project] of provio.toml as JSON, for a repository"
FOLDER = False
UNKNOWN = ":unkn"  # the standard value of DataCite for a fact that is not known
SCHEMA = "http://datacite.org/schema/kernel-4"
LICENCES = "https://spdx.org/licenses/"


def write(subject: Subject, output: BinaryIO) -> None:
    """Write the document; facts that are not stated are left out, or are the standard value for it."""
    document = _document(subject, description.of(subject.home, subject.hide))
    output.write(json.dumps(document, indent=2, ensure_ascii=True).encode() + b"\n")


def _document(subject: Subject, about: Description) -> dict[str, Any]:
    runs = _runs(subject)
    years = sorted(row["end"][:4] for row in runs if "end" in row) or sorted(row["start"][:4] for row in runs)
    users = sorted({subject.hide.text("user", row["user"]) for row in runs if "user" in row})
    creators = [_creator(name, orcid) for name, orcid in about.creators] or [
        {"name": printable(user), "nameType": "Personal"} for user in users
    ]
    title = about.title or "a record of provio"
    if subject.files:
        title += ": " + ", ".join(subject.hide.text("path", target.path or target.iri) for target in subject.files)
    identifiers = [identifier_of(one) for one in about.identifiers]
    found: dict[str, Any] = {
        "schemaVersion": SCHEMA,
        "doi": next((name for kind, name in identifiers if kind == "DOI"), ""),
        "creators": creators or [{"name": UNKNOWN}],
        "titles": [{"title": printable(title)}],
        "publisher": {"name": about.publisher[0] if about.publisher else UNKNOWN},
        "publicationYear": years[-1] if years else UNKNOWN,
        "types": {"resourceTypeGeneral": "Dataset", "resourceType": "results of recorded runs"},
        "dates": [{"date": f"{row['start']}/{row.get('end', '')}", "dateType": "Created"} for row in runs],
        "alternateIdentifiers": [
            {"alternateIdentifier": name, "alternateIdentifierType": kind}
            for kind, name in [*identifiers, *(("provio run", row["run"]) for row in runs)]
        ],
        "formats": ["application/n-quads"],
    }
    if about.description:
        found["descriptions"] = [{"description": about.description, "descriptionType": "Abstract"}]
    if about.licence:
        found["rightsList"] = [_rights(about.licence)]
    if about.funding:
        found["fundingReferences"] = [{"funderName": one} for one in about.funding]
    return {name: value for name, value in found.items() if value}


def _runs(subject: Subject) -> list[dict[str, str]]:
    """Return the runs of the subject, each with its start, end and user."""
    iris = " ".join(f"<{RUN_BASE}{run}>" for run in subject.run_ids)
    query = f"""SELECT ?run ?start ?end (MIN(?name) AS ?user) {{ VALUES ?r {{ {iris} }}
        ?r prov:startedAtTime ?start OPTIONAL {{ ?r prov:endedAtTime ?end }}
        OPTIONAL {{ ?r prov:wasAssociatedWith ?u . ?u a provio:User ; provio:name ?name }}
        BIND(STRAFTER(STR(?r), "{RUN_BASE}") AS ?run) }} GROUP BY ?run ?start ?end ORDER BY ?start ?run"""
    return list(subject.reader.rows(query)) if iris else []


def _creator(name: str, orcid: str) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "nameType": "Personal"}
    if orcid:
        scheme = {"nameIdentifierScheme": "ORCID", "schemeUri": "https://orcid.org"}
        found["nameIdentifiers"] = [{"nameIdentifier": f"https://orcid.org/{orcid}", **scheme}]
    return found


def _rights(licence: str) -> dict[str, str]:
    if licence.startswith("http"):
        return {"rights": licence, "rightsUri": licence}
    return {
        "rights": licence, "rightsIdentifier": licence, "rightsIdentifierScheme": "SPDX", "schemeUri": LICENCES,
        "rightsUri": f"{LICENCES}{licence}.html",
    }  # fmt: skip
