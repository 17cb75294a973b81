"""Converts PROV-XML and PROV-JSON to PROV-O quads: each statement with its qualified form.

`NONE` expresses two things that RDF cannot: a required end of a statement that is missing; and, if one statement of
an identifier has a plan (or a derivation's activity, generation, usage) and another has none, the absence of it
(PROV-CONSTRAINTS, table 3: an absent one means that there is none; any other absent end is merely unknown).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import IO, NamedTuple
from xml.etree import ElementTree

import pyoxigraph as ox

from provio.base.vocab import PROV, RDF, XSD

NONE = ox.NamedNode("urn:provio:none")
XSI = "{http://www.w3.org/2001/XMLSchema-instance}"
Term = ox.NamedNode | ox.BlankNode | ox.Literal


class Kind(NamedTuple):
    """The form of a statement in PROV-O: its two ends, its qualified form, the properties of its other arguments.

    `needs` are the required arguments; `absent` the optional ones that do not exist if they are not given.
    """

    subject: str
    object: str
    qualified: str = ""
    arguments: Mapping[str, str] = MappingProxyType({})
    needs: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


EVENT = {"time": "atTime", "activity": "activity", "entity": "entity"}
TRIGGERED = {"time": "atTime", "trigger": "entity", "starter": "hadActivity", "ender": "hadActivity"}
DERIVED = {"usedEntity": "entity", "activity": "hadActivity", "generation": "hadGeneration", "usage": "hadUsage"}
RELATIONS = {
    "wasGeneratedBy": Kind("entity", "activity", "Generation", EVENT, ("entity",)),
    "used": Kind("activity", "entity", "Usage", EVENT, ("activity",)),
    "wasInvalidatedBy": Kind("entity", "activity", "Invalidation", EVENT, ("entity",)),
    "wasStartedBy": Kind("activity", "trigger", "Start", TRIGGERED, ("activity",)),
    "wasEndedBy": Kind("activity", "trigger", "End", TRIGGERED, ("activity",)),
    "wasInformedBy": Kind(
        "informed", "informant", "Communication", {"informant": "activity"}, ("informed", "informant")
    ),
    "wasAssociatedWith": Kind(
        "activity", "agent", "Association", {"agent": "agent", "plan": "hadPlan"}, ("activity",), ("plan",)
    ),
    "wasAttributedTo": Kind("entity", "agent", "Attribution", {"agent": "agent"}, ("entity", "agent")),
    "actedOnBehalfOf": Kind(
        "delegate", "responsible", "Delegation", {"responsible": "agent", "activity": "hadActivity"},
        ("delegate", "responsible"),
    ),
    "wasDerivedFrom": Kind(
        "generatedEntity", "usedEntity", "Derivation", DERIVED, ("generatedEntity", "usedEntity"),
        ("activity", "generation", "usage"),
    ),
    "wasInfluencedBy": Kind(
        "influencee", "influencer", "Influence", {"influencer": "influencer"}, ("influencee", "influencer")
    ),
    "specializationOf": Kind("specificEntity", "generalEntity", needs=("specificEntity", "generalEntity")),
    "alternateOf": Kind("alternate1", "alternate2", needs=("alternate1", "alternate2")),
    "hadMember": Kind("collection", "entity", needs=("collection", "entity")),
    "mentionOf": Kind("specificEntity", "generalEntity", needs=("specificEntity", "generalEntity", "bundle")),
}  # fmt: skip
ELEMENTS = ("entity", "activity", "agent")
TIMES = {"startTime": "startedAtTime", "endTime": "endedAtTime"}


@dataclass
class Statement:
    """One statement: its kind, identifier and arguments (a list each, for the values of several statements with its
    identifier)."""

    kind: str
    identifier: Term | None
    bundle: ox.NamedNode | ox.DefaultGraph
    arguments: dict[str, list[Term]] = field(default_factory=dict)
    types: list[Term] = field(default_factory=list)

    def add(self, name: str, value: Term) -> None:
        """Add a value of an argument, unless it is there already."""
        values = self.arguments.setdefault(name, [])
        if value not in values:
            values.append(value)


def quads(statements: Iterator[Statement]) -> Iterator[ox.Quad]:
    """Yield the quads of statements; those of one kind and identifier in one bundle are combined."""
    whole: dict[object, Statement] = {}
    for number, one in enumerate(statements):
        _add_absent(one)
        key = (one.kind, one.bundle, one.identifier) if one.identifier else number
        first = whole.setdefault(key, one)
        for name, values in one.arguments.items():
            for value in values:
                first.add(name, value)
        first.types += [kind for kind in one.types if kind not in first.types]
    for one in whole.values():
        yield from _element(one) if one.kind in ELEMENTS else _relation(one)


def _add_absent(one: Statement) -> None:
    """Add the `absent` arguments that are not given; a derivation that names its activity has none of these."""
    absent = RELATIONS[one.kind].absent if one.kind in RELATIONS else ()
    if one.kind == "wasDerivedFrom" and "activity" in one.arguments:
        absent = ()
    for name in absent:
        if name not in one.arguments:
            one.add(name, NONE)


def _element(one: Statement) -> Iterator[ox.Quad]:
    node = one.identifier or ox.BlankNode()
    yield _quad(node, RDF + "type", ox.NamedNode(PROV + one.kind.capitalize()), one)
    for kind in one.types:
        yield _quad(node, RDF + "type", kind, one)
    for name, values in one.arguments.items():
        for value in values:
            yield _quad(node, PROV + TIMES.get(name, name), value, one)


def _relation(one: Statement) -> Iterator[ox.Quad]:
    kind = RELATIONS[one.kind]
    for name in kind.needs:
        if name not in one.arguments:
            one.add(name, NONE)
    subjects, objects = (one.arguments.get(name, []) for name in (kind.subject, kind.object))
    for subject in subjects:
        for value in objects:
            yield _quad(subject, PROV + one.kind, value, one)
        for value in one.arguments.get("bundle", ()):
            yield _quad(subject, PROV + "asInBundle", value, one)
    if kind.qualified:
        yield from _qualified(one, kind, subjects)


def _qualified(one: Statement, kind: Kind, subjects: list[Term]) -> Iterator[ox.Quad]:
    node = one.identifier or ox.BlankNode()
    yield _quad(node, RDF + "type", ox.NamedNode(PROV + kind.qualified), one)
    for subject in subjects:
        yield _quad(subject, f"{PROV}qualified{kind.qualified}", node, one)
    for name, term in kind.arguments.items():
        values = one.arguments.get(name, []) if name != kind.subject else []
        for value in values:
            if value != NONE or len(values) > 1 or _matters(one, name):
                yield _quad(node, PROV + term, value, one)


def _matters(one: Statement, name: str) -> bool:
    """Return whether the absent activity of a derivation matters: it does if the derivation names a generation or a
    usage."""
    events = (*one.arguments.get("generation", ()), *one.arguments.get("usage", ()))
    return one.kind == "wasDerivedFrom" and name == "activity" and any(event != NONE for event in events)


def _quad(subject: Term, predicate: str, value: Term, one: Statement) -> ox.Quad:
    node = subject if isinstance(subject, ox.NamedNode | ox.BlankNode) else ox.NamedNode("urn:provio:literal")
    return ox.Quad(node, ox.NamedNode(predicate), value, one.bundle)


def _term(name: str, prefixes: dict[str, str]) -> Term:
    """Return the node of a qualified name; an undeclared prefix stands for itself."""
    prefix, colon, local = name.rpartition(":")
    if prefix == "_":
        return ox.BlankNode("b" + re.sub(r"\W", "_", local))
    iri = prefixes[prefix] + local if prefix in prefixes else name if colon else "urn:provio:unnamed:" + name
    return ox.NamedNode(re.sub(r"[\s<>\"{}|\\^`]", lambda match: f"%{ord(match[0]):02X}", iri))


def _value(name: str, text: str, prefixes: dict[str, str]) -> Term:
    if name in ("time", *TIMES):
        return ox.Literal(text.strip(), datatype=ox.NamedNode(XSD + "dateTime"))
    return _term(text.strip(), prefixes)


# --- PROV-JSON


def of_json(text: str) -> Iterator[Statement]:
    """Yield the statements of a PROV-JSON document; raises ValueError for an invalid document."""
    document = json.loads(text)
    if not isinstance(document, dict):
        raise ValueError("a PROV-JSON document is an object")
    yield from _of_container(document, {}, ox.DefaultGraph())


def _of_container(
    container: dict[str, object], outer: dict[str, str], bundle: ox.NamedNode | ox.DefaultGraph
) -> Iterator[Statement]:
    declared = container.get("prefix", {})
    prefixes = {"prov": PROV, "xsd": XSD, **outer, **(declared if isinstance(declared, dict) else {})}
    if "default" in prefixes:
        prefixes[""] = prefixes["default"]
    for kind, records in container.items():
        for name, record in records.items() if isinstance(records, dict) and kind != "prefix" else ():
            if kind == "bundle":
                yield from _of_container(record, prefixes, ox.NamedNode(_term(name, prefixes).value))
            elif kind in RELATIONS or kind in ELEMENTS:
                for one in record if isinstance(record, list) else [record]:
                    yield _of_record(kind, name, one, prefixes, bundle)


def _of_record(
    kind: str, name: str, record: dict[str, object], prefixes: dict[str, str], bundle: ox.NamedNode | ox.DefaultGraph
) -> Statement:
    found = Statement(kind, _term(name, prefixes) if kind in ELEMENTS or not name.startswith("_:") else None, bundle)
    known = {*RELATIONS[kind].needs, *RELATIONS[kind].arguments, RELATIONS[kind].object} if kind in RELATIONS else TIMES
    for key, values in record.items():
        local = key.removeprefix("prov:")
        for value in values if isinstance(values, list) else [values]:
            if key == "prov:type" and isinstance(value, dict) and str(value.get("type")).lower() in QNAMES:
                found.types += _types(str(value.get("$")), prefixes)
            elif key.startswith("prov:") and local in known and isinstance(value, str):
                found.add(local, _value(local, value, prefixes))
    return found


QNAMES = ("xsd:qname", "prov:qualified_name", "xsd:anyuri", "prov:internationalizeduri")


def _types(text: str, prefixes: dict[str, str]) -> list[Term]:
    """Return a type as a list; empty for an entity, an activity or an agent: only the node's own statement declares
    these."""
    node = _term(text.strip(), prefixes)
    return [node] if node.value not in {PROV + kind.capitalize() for kind in ELEMENTS} else []


# --- PROV-XML


def of_xml(stream: IO[bytes]) -> Iterator[Statement]:
    """Yield the statements of a PROV-XML document (`bundleContent`, or `bundle` as ProvToolbox writes it)."""
    prefixes: dict[str, str] = {}
    root = None
    for event, item in ElementTree.iterparse(stream, ["start-ns", "start"]):  # noqa: S314 - a file that the user chose
        if event == "start-ns":
            prefixes.setdefault(*item)
        elif root is None:
            root = item
    if root is None or root.tag != f"{{{PROV}}}document":
        raise ValueError("a PROV-XML document begins with prov:document")
    yield from _of_elements(root, prefixes, ox.DefaultGraph())


def _of_elements(
    parent: ElementTree.Element, prefixes: dict[str, str], bundle: ox.NamedNode | ox.DefaultGraph
) -> Iterator[Statement]:
    for element in parent:
        kind = element.tag.removeprefix(f"{{{PROV}}}")
        name = element.get(f"{{{PROV}}}id")
        if kind in ("bundle", "bundleContent") and name:
            yield from _of_elements(element, prefixes, ox.NamedNode(_term(name, prefixes).value))
        elif kind in RELATIONS or kind in ELEMENTS:
            found = Statement(kind, _term(name, prefixes) if name else None, bundle)
            for child in element:
                _of_child(found, child, prefixes)
            yield found


def _of_child(found: Statement, child: ElementTree.Element, prefixes: dict[str, str]) -> None:
    local = child.tag.removeprefix(f"{{{PROV}}}")
    reference = child.get(f"{{{PROV}}}ref")
    if local == "type":
        if (child.get(XSI + "type") or "").lower() in QNAMES:
            found.types += _types(child.text or "", prefixes)
    elif reference:
        found.add(local, _term(reference, prefixes))
    elif local in ("time", *TIMES):
        found.add(local, _value(local, child.text or "", prefixes))
