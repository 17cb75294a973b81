"""Compiles `ontology/shapes.ttl` (SHACL) to rules in SPARQL, or validates with the same shapes by pyshacl.

pyshacl examines each node in Python: suitable for a graph of a few thousand triples, but hours for a store. So each
component of each shape becomes one SELECT of the nodes that violate it; tests check that both find the same nodes.
Only the SHACL terms that the shapes use are supported; any other raises an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import count
from pathlib import Path

import pyoxigraph as ox

from provio.base.errors import ProvioError
from provio.base.vocab import RDF, superclasses, vocabulary
from provio.validate.rules import VIOLATION, Finding, Graph, Rule, shown

SH = "http://www.w3.org/ns/shacl#"
SHAPES = Path(__file__).parent.parent / "ontology" / "shapes.ttl"
ONTOLOGY = SHAPES.with_name("provio.ttl")
MOST = 100_000  # the most triples that pyshacl receives; it takes some minutes for them
TARGETS = {
    "targetObjectsOf": "?other {} ?this .",
    "targetSubjectsOf": "?this {} ?other .",
}
ASIDE = {"path", "message", "targetClass", *TARGETS}

# The part of a shape that a component is: a pattern that must not match for any node (`wrong`) or for the target only
# (`unlike`), one that must match (`missing`), or an expression that is true for a violation (`test`).
Part = tuple[str, str]
Term = ox.NamedNode | ox.BlankNode | ox.Literal


@cache
def rules() -> tuple[Rule, ...]:
    """Return the shapes as rules, one for each component of each shape."""
    return tuple(_Compiler().rules())


class _Compiler:
    """Compiles the graph of the shapes; variables are numbered, so that no two patterns share one."""

    def __init__(self) -> None:
        self.store = ox.Store()
        self.store.bulk_load(path=str(SHAPES), format=ox.RdfFormat.TURTLE)
        self.fresh = (f"?v{number}" for number in count())
        self.target = ""  # the pattern of the nodes of the current shape

    def rules(self) -> Iterator[Rule]:
        typed = self.store.quads_for_pattern(None, ox.NamedNode(RDF + "type"), ox.NamedNode(SH + "NodeShape"), None)
        for iri in sorted(quad.subject.value for quad in typed if isinstance(quad.subject, ox.NamedNode)):
            shape, name = ox.NamedNode(iri), iri.rpartition("#")[2]
            self.target = self._target(shape)
            for what, part in self._parts(shape, "?this"):
                query, message = f"SELECT DISTINCT ?this WHERE {{ {self._broken(part)} }}", "{this}: " + what
                needs = (self.target, part[1]) if part[0] == "wrong" else (self.target,)
                yield Rule(f"shape {name}", f"A well-formed {name}", VIOLATION, message, query, needs=needs)

    def _broken(self, part: Part) -> str:
        """Return the pattern of the nodes that violate a part.

        Each SELECT is joined by hash: a lookup for each node would take ten times as long.
        """
        how, text = part
        target = f"{{ SELECT ?this WHERE {{ {self.target} }} }}"
        return {
            "wrong": f"{text} {target}",
            "unlike": f"{target} {text}",
            "missing": f"{target} MINUS {{ SELECT ?this WHERE {{ {text} }} }}",
            "test": f"{target} FILTER({text})",
        }[how]

    def _values(self, node: ox.NamedNode | ox.BlankNode, word: str) -> list[Term]:
        found = self.store.quads_for_pattern(node, ox.NamedNode(SH + word), None, None)
        return [quad.object for quad in found]  # type: ignore[misc]

    def _one(self, node: ox.NamedNode | ox.BlankNode, word: str) -> str:
        found = self._values(node, word)
        return str(found[0]) if found else ""

    def _target(self, shape: ox.NamedNode | ox.BlankNode) -> str:
        """Return the pattern of the target nodes: classes, or the subjects or objects of one property."""
        found = {word: self._values(shape, word) for word in ("targetClass", *TARGETS)}
        kinds = [word for word, values in found.items() if values]
        if len(kinds) != 1 or (kinds[0] in TARGETS and len(found[kinds[0]]) != 1):
            raise NotImplementedError(f"targets of {shape}: {' '.join(kinds) or 'none that is known'}")
        if kinds[0] in TARGETS:
            return TARGETS[kinds[0]].format(found[kinds[0]][0])
        return _is_a("?this", found["targetClass"], next(self.fresh), known=False)

    def _parts(
        self, shape: ox.NamedNode | ox.BlankNode, node: str, *, within: bool = False
    ) -> Iterator[tuple[str, Part]]:
        """Yield each violation of a node in words, with the pattern or expression that finds it.

        If the shape is nested (`within`), another pattern binds the node, and each part is a simple pattern.
        """
        for quad in sorted(self.store.quads_for_pattern(shape, None, None, None), key=str):
            word, value = quad.predicate.value.removeprefix(SH), quad.object
            if word == "property":
                yield from self._property(value, node, within)  # type: ignore[arg-type]
            elif word == "sparql":
                yield from self._sparql(value, node)  # type: ignore[arg-type]
            elif word == "not" and (other := self._one(value, "class")) and not within:  # type: ignore[arg-type]
                # Two classes: a join instead of a lookup for each node.
                yield f"not {other}", ("unlike", f"{{ SELECT ?this WHERE {{ ?this a {other} }} }}")
            elif word in ("class", "or") and not within:
                yield f"{word} {self._words(value)}", self._of_node(word, value)  # type: ignore[arg-type]
            elif word not in ASIDE and quad.predicate.value.startswith(SH):
                yield f"{word} {self._words(value)}", ("test", self._wrong(word, value, node))  # type: ignore[arg-type]

    def _of_node(self, word: str, value: Term) -> Part:
        """Return the part for a target node that must have a class or conform to one of several shapes."""
        classes = self._classes(word, value)
        if classes:
            return "missing", _is_a("?this", classes, next(self.fresh), known=False)
        first, *others = self._list(value)
        broken = " UNION ".join(f"{{ {self._broken(part)} }}" for _, part in self._parts(first, "?this"))
        return "unlike", f"{{ SELECT ?this WHERE {{ {broken} }} }} FILTER({self._none(others, '?this')})"

    def _classes(self, word: str, value: Term) -> list[Term]:
        """Return the classes of which a component requires one; empty if the component has another requirement."""
        if word == "class":
            return [value]
        shapes = list(self._list(value)) if word == "or" else []
        found = [self._values(one, "class") for one in shapes]
        alone = all(len(list(self.store.quads_for_pattern(one, None, None, None))) == 1 for one in shapes)
        return [one for classes in found for one in classes] if alone and all(found) else []

    def _none(self, shapes: Iterable[Term], node: str) -> str:
        """Return the expression that is true for a node that conforms to none of some shapes."""
        return " && ".join(f"({self._breaks(shape, node)})" for shape in shapes)

    def _words(self, value: Term) -> str:
        return "of the shape" if isinstance(value, ox.BlankNode) else shown(value)

    def _sparql(self, node: ox.BlankNode, focus: str) -> Iterator[tuple[str, Part]]:
        message, select = (self._values(node, word)[0].value for word in ("message", "select"))
        pattern = select[select.index("{") + 1 : select.rindex("}")].replace("$this", focus)
        yield str(message), ("wrong", pattern)

    def _property(self, shape: ox.BlankNode, focus: str, within: bool) -> Iterator[tuple[str, Part]]:
        paths, message = self._path(shape), self._values(shape, "message")
        path, where = "|".join(map(str, paths)), " or ".join(map(shown, paths))
        for quad in sorted(self.store.quads_for_pattern(shape, None, None, None), key=str):
            word, value = quad.predicate.value.removeprefix(SH), quad.object
            if word not in ASIDE:
                text = message[0].value if message else f"{where}: {word} {self._words(value)}"  # type: ignore[arg-type]
                yield str(text), self._of_values(word, value, focus, path, within)  # type: ignore[arg-type]

    def _path(self, shape: ox.BlankNode) -> list[Term]:
        """Return the properties of a shape's path: one, or several alternatives."""
        paths: list[Term] = self._values(shape, "path")
        if len(paths) == 1 and isinstance(paths[0], ox.BlankNode):
            paths = [one for head in self._values(paths[0], "alternativePath") for one in self._list(head)]
        elif len(paths) != 1:
            paths = []
        if not paths or not all(isinstance(path, ox.NamedNode) for path in paths):
            raise NotImplementedError(f"sh:path of {shape}")
        return paths

    def _of_values(  # noqa: PLR0911 - one return per SHACL term
        self, word: str, value: Term, focus: str, path: str, within: bool
    ) -> Part:
        one, other = next(self.fresh), next(self.fresh)
        if word == "hasValue":
            return "missing", f"{focus} {path} {value}"
        if word in ("minCount", "maxCount") and str(value.value) != "1":
            raise NotImplementedError(f"sh:{word} {value.value}")
        if word == "minCount":
            return "missing", f"{focus} {path} {one}"
        pattern = f"{focus} {path} {one} . "
        if word == "maxCount" and within:
            return "wrong", pattern + f"{focus} {path} {other} . FILTER(!sameTerm({one}, {other}))"
        every = pattern if within else f"{{ SELECT {focus} {one} WHERE {{ {pattern} }} }}"
        if word == "maxCount":  # counts first: a comparison of all values takes twice as long
            counted = f"{{ SELECT {focus} WHERE {{ {pattern} }} GROUP BY {focus} HAVING (COUNT({one}) > 1) }}"
            return (
                "wrong",
                f"{counted} FILTER EXISTS {{ {pattern}{focus} {path} {other} FILTER(!sameTerm({one}, {other})) }}",
            )
        if word == "lessThanOrEquals":
            later = f"{{ SELECT {focus} {other} WHERE {{ {focus} {value} {other} }} }}"
            return "wrong", f"{every} {later} FILTER(COALESCE(!({one} <= {other}), true))"
        if not within and (classes := self._classes(word, value)):
            right = _is_a(one, classes, other, known=False)
            return "unlike", f"{every} MINUS {{ SELECT {one} WHERE {{ {right} }} }}"
        return "wrong", f"{every} FILTER({self._wrong(word, value, one)})"

    def _wrong(self, word: str, value: Term, node: str) -> str:
        """Return the expression that is true for a node that violates one component."""
        if word == "or":
            return self._none(self._list(value), node)
        plain = {
            "class": lambda: f"NOT EXISTS {{ {_is_a(node, [value], next(self.fresh), known=True)} }}",
            "datatype": lambda: f"(!isLiteral({node}) || datatype({node}) != {value})",
            "nodeKind": lambda: f"!isIRI({node})",
            "minInclusive": lambda: f"COALESCE(!({node} >= {value}), true)",
            "pattern": lambda: f"!(isIRI({node}) && REGEX(STR({node}), {value}))",
            "not": lambda: f"!({self._breaks(value, node)})",
        }
        if word not in plain or (word == "nodeKind" and str(value.value) != SH + "IRI"):
            raise NotImplementedError(f"sh:{word} {value}")
        return plain[word]()

    def _breaks(self, shape: Term, node: str) -> str:
        """Return the expression that is true for a node that does not conform to a nested shape."""
        exist = {"wrong": "EXISTS {{ {} }}", "missing": "NOT EXISTS {{ {} }}", "test": "({})"}
        parts = [exist[how].format(text) for _, (how, text) in self._parts(shape, node, within=True)]  # type: ignore[arg-type]
        return " || ".join(parts) or "false"

    def _list(self, head: Term) -> Iterator[ox.NamedNode | ox.BlankNode]:
        while head != ox.NamedNode(RDF + "nil"):
            quads = self.store.quads_for_pattern(head, None, None, None)  # type: ignore[arg-type]
            text = {quad.predicate.value: quad.object for quad in quads}
            yield text[RDF + "first"]  # type: ignore[misc]
            head = text[RDF + "rest"]  # type: ignore[assignment]


def _is_a(node: str, classes: list[Term], variable: str, *, known: bool) -> str:
    """Return the pattern of a node of a class or a subclass, because a store infers nothing.

    A `known` node has few classes; for an unknown node, each class leads to its nodes.
    """
    wanted = {str(one.value) for one in classes}
    below = [
        f"<{one}>" for one in sorted(wanted | {term for term in vocabulary().parents if wanted & superclasses(term)})
    ]
    if len(below) == 1:
        return f"{node} a {below[0]} ."
    if known:
        return f"{node} a {variable} . FILTER({variable} IN ({', '.join(below)}))"
    return f"VALUES {variable} {{ {' '.join(below)} }} {node} a {variable} ."


def by_pyshacl(graph: Graph) -> Iterator[Finding]:
    """Yield the findings of pyshacl; raises ProvioError if it is not installed or the graph is too large for it."""
    try:
        import pyshacl
        import rdflib
    except ImportError as error:
        from provio.system import installation

        raise ProvioError(f"pyshacl is not installed: {installation.install('shacl')}, or omit --shacl") from error
    triples = list({quad.triple for quad in graph.quads()})
    if len(triples) > MOST:
        raise ProvioError(f"{len(triples)} triples are too many for pyshacl (at most {MOST}): omit --shacl")
    data = rdflib.Graph().parse(data=ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES) or b"", format="nt")
    shapes, ontology = (rdflib.Graph().parse(path) for path in (SHAPES, ONTOLOGY))
    for name, above in vocabulary().parents.items():  # the ontology's file does not contain the user's classes
        for one in above:
            ontology.add((rdflib.URIRef(name), rdflib.RDFS.subClassOf, rdflib.URIRef(one)))
    _, report, _ = pyshacl.validate(data, shacl_graph=shapes, ont_graph=ontology, inference="none")
    names = rdflib.Namespace(SH)
    for result in report.subjects(rdflib.RDF.type, names.ValidationResult):
        node, message = report.value(result, names.focusNode), report.value(result, names.resultMessage)
        yield Finding("shape", "A well-formed graph", VIOLATION, f"{node}: {message}", (str(node),), graph.label)
