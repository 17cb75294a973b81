"""PROV-JSONLD, the W3C member submission: one record on each line, and RDF for readers of JSON-LD.

The context is that of https://openprovenance.org/prov-jsonld/context.jsonld. It is in the document, so that no reader
needs the network.
"""

from __future__ import annotations

import json
from typing import Any, BinaryIO, Final

from provio.base.turtle import inert
from provio.exchange import prov_names
from provio.exchange.prov_names import name
from provio.exchange.prov_records import ARGUMENTS, TIMES, Record, prov_property, records
from provio.exchange.subject import Subject

SUMMARY = "W3C PROV-JSONLD: JSON that readers of JSON-LD understand as RDF"
FOLDER = False
OPTIONS = ("level", "steps")
PROVEXT = "https://openprovenance.org/ns/provext#"  # of openprovenance: relations that PROV-O does not qualify
# The class of each kind of record; the property of PROV-O that leads to it from its first argument (from the second
# one if it is that of an agent), and those of its other arguments. A property that ends in `-` is a reversed one.
CLASSES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "entity": ("Entity", ()),
    "activity": ("Activity", ("startedAtTime", "endedAtTime")),
    "agent": ("Agent", ()),
    "used": ("Usage", ("qualifiedUsage-", "entity", "atTime")),
    "wasGeneratedBy": ("Generation", ("qualifiedGeneration-", "activity", "atTime")),
    "wasInvalidatedBy": ("Invalidation", ("qualifiedInvalidation-", "activity", "atTime")),
    "wasInformedBy": ("Communication", ("qualifiedCommunication-", "activity")),
    "wasDerivedFrom": ("Derivation", ("qualifiedDerivation-", "entity")),
    "wasAttributedTo": ("Attribution", ("qualifiedAttribution-", "agent")),
    "wasAssociatedWith": ("Association", ("qualifiedAssociation-", "agent", "hadPlan")),
    "actedOnBehalfOf": ("Delegation", ("qualifiedDelegation-", "agent")),
    "wasStartedBy": ("Start", ("qualifiedStart-", "entity")),
    "wasEndedBy": ("End", ("qualifiedEnd-", "entity")),
    "wasInfluencedBy": ("Influence", ("qualifiedInfluence-", "influencer")),
    "specializationOf": ("provext:Specialization", ("qualifiedSpecialization-", "generalEntity")),
    "alternateOf": ("provext:Alternate", ("qualifiedAlternate-", "alternate")),
    "hadMember": ("provext:Membership", ("qualifiedMembership-", "member")),
}
TERMS: Final = {"prov:type": "type", "prov:label": "label", "prov:location": "location", "prov:value": "value"}
NAMED: Final = ("type", "location")  # terms with names as values


def context() -> dict[str, Any]:
    """Return the terms of PROV-JSONLD, as its context defines them."""
    names: dict[str, Any] = {
        "@version": 1.1,
        "provext": PROVEXT,
        "type": {"@id": "rdf:type", "@type": "@id"},
        "label": {"@id": "rdfs:label"},
        "location": {"@id": "prov:atLocation", "@type": "@id"},
        "role": {"@id": "prov:hadRole", "@type": "@id"},
    }
    for one in ("entity", "activity", "agent"):
        names[one] = {"@id": f"prov:{one}", "@type": "@id"}
    for kind, (known, properties) in CLASSES.items():
        space = "provext" if known.startswith("provext:") else "prov"
        own = {
            argument: _term(f"{space}:{prop}", argument)
            for argument, prop in zip(ARGUMENTS[kind], properties, strict=True)
        }
        if kind == "entity":
            own["value"] = {"@id": "prov:value"}
        local = known.rpartition(":")[2]
        names[local] = {"@id": f"{space}:{local}", "@context": own}
    return names


def _term(prop: str, argument: str) -> dict[str, str]:
    if prop.endswith("-"):
        return {"@reverse": prop[:-1], "@type": "@id"}
    return {"@id": prop, "@type": "xsd:dateTime" if argument in TIMES else "@id"}


def write(subject: Subject, output: BinaryIO) -> None:
    """Write the document."""
    prefixes = {prefix: iri for prefix, iri in prov_names.PREFIXES.items() if iri != f"{prefix}:"}  # a name is its IRI
    head = json.dumps([prefixes, context()])
    output.write(f'{{"@context": {head},\n"@graph": ['.encode())
    with records(subject) as found:
        separator = "\n"
        for record in found:
            output.write(inert(f"{separator}{_object(record)}".encode()))
            separator = ",\n"
    output.write(b"]}\n")


def _object(record: Record) -> str:
    members = [f'"@type": "{CLASSES[record.kind][0].rpartition(":")[2]}"']
    if record.name:
        members.append(f'"@id": "{name(record.name)}"')
    for key, value in zip(ARGUMENTS[record.kind], record.arguments, strict=True):
        if value:
            members.append(f'"{key}": {prov_names.literal(value)[0] if key in TIMES else _quoted(value)}')
    values: dict[str, list[str]] = {}
    for prop, value in record.attributes:
        key = name(prov_property(prop))
        term = TERMS.get(key, key)
        values.setdefault(term, []).append(_value(value, term))
    members += [f'"{term}": [{", ".join(found)}]' for term, found in values.items()]
    return f"{{{', '.join(members)}}}"


def _quoted(term: str) -> str:
    return f'"{name(term)}"'


def _value(value: str, term: str) -> str:
    if value.startswith("<"):
        return _quoted(value) if term in NAMED else f'{{"@id": {_quoted(value)}}}'
    text, kind, language = prov_names.literal(value)
    if kind:
        return f'{{"@value": {text}, "@type": "{kind}"}}'
    return f'{{"@value": {text}, "@language": "{language}"}}' if language else f'{{"@value": {text}}}'
