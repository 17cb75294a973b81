"""Origins of objects inside files for which the store states none: an object's IRI and a store in, its origins out.

The maker of a version leaves most of its objects untouched. Such an object has the origin of its nearest holder (the
dataset of an attribute, the groups, finally the version) at the same place inside: by a revision, an alternate, a
copy, a moved group or a link. If there is no such origin, the object comes from its version as a whole
(`docs/lineage.md`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from provio.ask.walk import USED_AS_NOISE, Nodes, Properties
from provio.base.vocab import NS, PROV, RDF
from provio.store import Reader

GENERATED, USED, DERIVED = PROV + "wasGeneratedBy", PROV + "used", PROV + "wasDerivedFrom"
ALTERNATE, LEADS_TO, FROM, WITHOUT = PROV + "alternateOf", NS + "leadsTo", NS + "contentFrom", NS + "without"
HAD_MEMBER, FORMAT, MADE_IN, SAME = PROV + "hadMember", NS + "format", NS + "madeIn", NS + "sameContentAs"
ORIGIN = (GENERATED, DERIVED)
GROUP = NS + "Group"
OTHERS = frozenset((GROUP, NS + "NamedLink", NS + "Datatype"))
PARTS = frozenset((NS + "Dataset", NS + "Attribute"))
MOST = 10_000  # objects of a version visited per search: a group in a copy of itself has no end


def holders(iri: str) -> Iterator[str]:
    """Yield the holders of an object, the nearest first: the dataset of an attribute, groups, the version."""
    version, _, within = iri.partition("#")
    path, at, _ = within.partition("@")
    if at and path != "/":
        yield f"{version}#{path}"
    while "/" in path[1:]:
        path = path.rpartition("/")[0]
        yield f"{version}#{path}"
    yield version


def _is_in(iri: str, deleted: Collection[str]) -> bool:
    return bool(deleted) and (iri in deleted or any(holder in deleted for holder in holders(iri)))


class Seen:
    """A set of visited objects, or of (source, target) pairs, grouped by the version of the object or source.

    The number of versions is unlimited; each has at most MOST entries.
    """

    def __init__(self, first: str | tuple[str, str]) -> None:
        self._met: dict[str, set[str | tuple[str, str]]] = {}
        self.first(first)

    def first(self, one: str | tuple[str, str]) -> bool:
        """Add one; return whether it is new."""
        met = self._met.setdefault((one if isinstance(one, str) else one[0]).partition("#")[0], set())
        if one in met or len(met) >= MOST:
            return False
        met.add(one)
        return True


class Origins:
    """Finds the origins of objects; `known` are the nodes that were read from the store before."""

    def __init__(self, reader: Reader, known: Nodes) -> None:
        self.reader, self.known = reader, known
        self._found: dict[str, list[str]] = {}
        self._pointing: dict[str, list[str]] = {}

    def properties(self, iri: str) -> Properties:
        """Return the properties of a node in the store."""
        return self.known.of([iri])[iri]

    def stated(self, iri: str) -> bool:
        """Return whether the store itself states the origin of an object."""
        stated = self.properties(iri)
        return any(name in stated for name in ORIGIN)

    def prepare(self, members: Iterable[str]) -> None:
        """Read the properties of objects and their holders in one step."""
        every = list(members)
        self.known.of(dict.fromkeys([*every, *(holder for one in every for holder in holders(one))]))

    def origins(self, iri: str) -> list[str]:
        """Return the objects from which an object without stated origin has its content, or the version that holds
        it.

        The result is empty for a root.
        """
        ends: dict[str, None] = {}
        waiting, seen = [iri], Seen(iri)
        for one in waiting:  # grows during the loop
            version = one.partition("#")[0]
            sources = None if one != iri and self.stated(one) else self.sources(one)
            if one != iri and self.stated(one):
                ends[one] = None
            elif sources is None:
                ends[version] = None
            elif sources:
                waiting += filter(seen.first, sources)
            elif one != iri and GENERATED not in self.properties(
                version
            ):  # else the maker listed all objects, not this
                ends[one if self.properties(one) else version] = None
        own = iri.partition("#")[0]
        return list(ends) or ([own] if GENERATED in self.properties(own) else [])

    def sources(self, iri: str) -> list[str] | None:
        """Return the direct sources of an object without stated origin, whether stated themselves or not.

        Return None if the maker of its version did not record the version's contents.
        """
        links = list(self.properties(iri).get(LEADS_TO, ()))
        if links:
            return links
        for holder in holders(iri):
            rest = iri[len(holder) :]
            if "#" in holder:
                stated = self.properties(holder)
                found = [*stated.get(LEADS_TO, ()), *self._previous_forms(holder, stated)]
                if found:
                    return [one + rest for one in found]
            else:
                found = self.of_version(holder)
                unlisted = GENERATED in self.properties(holder) and FORMAT not in self.properties(holder)
                return (
                    None if unlisted and not self._copied(holder) else self._kept(holder, [one + rest for one in found])
                )
        return []

    def _kept(self, version: str, objects: list[str]) -> list[str]:
        """Return those of the earlier objects that were not deleted or moved when a version was made."""
        deleted = self.properties(version).get(WITHOUT)
        return [one for one in objects if not _is_in(one, deleted)] if deleted else objects

    def _previous_forms(self, holder: str, stated: Properties) -> list[str]:
        """Return the previous form of a group or dataset as a whole: under another name, or the source of its copy."""
        return [*stated.get(DERIVED, ()), *self._copied(holder)]

    def _copied(self, iri: str) -> list[str]:
        """Return the inputs of the activity that generated something, if it was a copy."""
        makers = [one for one in self.properties(iri).get(GENERATED, ()) if "/copy/" in one]
        return [used for maker in makers for used in self.properties(maker).get(USED, ())]

    def of_version(self, version: str) -> list[str]:
        """Return the versions whose content a version kept, has under another key, or was copied from."""
        stated = self.properties(version)
        excluded = stated.get(SAME, ())
        found = [*stated.get(PROV + "wasRevisionOf", ()), *stated.get(FROM, ()), *self._copied(version)]
        found += [other for other in stated.get(ALTERNATE, ()) if other not in excluded]
        found += [
            other for other in self.pointing(version, ALTERNATE) if version not in self.properties(other).get(SAME, ())
        ]
        return list(dict.fromkeys(found))

    def pointing(self, iri: str, predicate: str) -> list[str]:
        """Return the subjects that point to an object by a predicate."""
        key = f"{predicate} {iri}"
        if key not in self._pointing:
            words = (USED, USED_AS_NOISE) if predicate == USED else (predicate,)
            spelt = "|".join(f"<{word}>" for word in words)
            rows = self.reader.table(f"SELECT DISTINCT ?s {{ ?s {spelt} <{iri}> }}")
            self._pointing[key] = [row[0] for row in rows]
        return self._pointing[key]

    def parts(self, holder: str) -> list[str]:
        """Return the recorded datasets and attributes of a version or a group, sorted."""
        return [
            iri
            for iri in sorted(self._members(holder))
            if not OTHERS & self.properties(iri).get(RDF + "type", {}).keys()
        ]

    def contents(self, holder: str) -> list[str]:
        """Return the datasets and attributes of a version or a group, sorted.

        The result includes objects without stated properties: they were kept, or came with a group that was copied or
        moved.
        """
        found: dict[str, None] = {}
        waiting: list[tuple[str, str, frozenset[str]]] = [(holder, holder, frozenset())]
        seen = Seen((holder, holder))
        for source, target, deleted in waiting:  # grows during the loop
            more = list(self._before(source, target, deleted))
            for iri in self._members(source):
                name = target + iri[len(source) :]
                if not _is_in(iri, deleted):
                    previous = self._previous_forms(iri, self.properties(iri))
                    if self._is_part(iri, previous):
                        found[name] = None
                    more += [(one, name, frozenset[str]()) for one in previous if "#" in one]
            waiting += [one for one in more if seen.first(one[:2])]
        return sorted(found)

    def _before(self, source: str, target: str, deleted: frozenset[str]) -> Iterator[tuple[str, str, frozenset[str]]]:
        """Yield the sources of the content of a version or a group, each with the objects deleted since."""
        stated = self.properties(source)
        origins = (
            self.of_version(source)
            if "#" not in source
            else self._previous_forms(source, stated) or self.sources(source)
        )
        without = self.properties(source.partition("#")[0]).get(WITHOUT, ())
        copied = self._copied(source) if "#" in source else ()  # the deletion may be later than the copy
        for one in origins or ():
            left = () if one in copied else without
            below = [name for name in left if "#" not in one or (name != one and _is_in(name, (one,)))]
            yield one, target, frozenset([*below, *(one + name[len(source) :] for name in deleted)])

    def _members(self, holder: str) -> list[str]:
        rows = self.reader.table(f"SELECT DISTINCT ?o {{ <{holder}> <{HAD_MEMBER}>+ ?o }}")
        self.known.of(found := [row[0] for row in rows])
        return found

    def is_group(self, iri: str) -> bool:
        """Return whether an object is recorded as a group."""
        return GROUP in self.properties(iri).get(RDF + "type", {})

    def _is_part(self, iri: str, previous: list[str]) -> bool:
        """Return whether an object is a dataset or an attribute; the previous form decides for one that was only
        moved."""
        types = self.properties(iri).get(RDF + "type", {}).keys()
        return bool(types & PARTS) or (
            not types & OTHERS and self.stated(iri) and not any(map(self.is_group, previous))
        )

    def moved_in(self, version: str) -> list[str]:
        """Return the groups of a version that were copied or moved there as a whole."""
        return [
            one
            for one in self._members(version)
            if self.is_group(one) and self._previous_forms(one, self.properties(one))
        ]

    def later(self, iri: str) -> Iterator[str]:
        """Yield the objects that have their content from this one without a statement of it in the store."""
        waiting, seen = [iri], Seen(iri)
        for one in waiting:  # grows during the loop
            for candidate in dict.fromkeys(self._candidates(one)):
                if not seen.first(candidate) or self.stated(candidate):
                    continue
                sources = self.sources(candidate)
                if sources and one in sources:
                    waiting.append(candidate)
                    if self.properties(candidate):
                        yield candidate

    def _candidates(self, iri: str) -> Iterator[str]:
        for holder in (iri, *holders(iri)):
            rest = iri[len(holder) :]
            later = self.later_versions(holder) if "#" not in holder else self._later_objects(holder)
            yield from (one + rest for one in later if one + rest != iri)

    def _later_objects(self, iri: str) -> Iterator[str]:
        yield from self.pointing(iri, DERIVED)
        file = iri.partition("#")[0] + "#"
        yield from (one for one in self.pointing(iri, LEADS_TO) if one.startswith(file))  # not from other files
        yield from self._copies(iri)

    def _copies(self, iri: str) -> Iterator[str]:
        for activity in self.pointing(iri, USED):
            if "/copy/" in activity:
                yield from self.pointing(activity, GENERATED)

    def later_versions(self, version: str) -> list[str]:
        """Return the versions that kept a version's content, have it under another key, or were copied from it."""
        stated = self.properties(version)
        found = [*self.pointing(version, PROV + "wasRevisionOf"), *self.pointing(version, FROM), *self._copies(version)]
        found += [other for other in stated.get(ALTERNATE, ()) if other not in stated.get(SAME, ())]
        found += [
            other for other in self.pointing(version, ALTERNATE) if version not in self.properties(other).get(SAME, ())
        ]
        return list(dict.fromkeys(found))
