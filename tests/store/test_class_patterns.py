"""Query patterns with an implied PROV class go through the stored classes; nothing else changes."""

# ruff: noqa: E501 - a query and its rewritten form, one below the other

from __future__ import annotations

import json

import pyoxigraph as ox
import pytest
from conftest import Project

from provio.base.vocab import NS, PREFIXES, PROV, RDF, RDFS
from provio.store import implied
from provio.store.sparql_patterns import TYPE, Path, Unclear, properties, widened

STEP = f"<{implied.IMPLIES}>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ASK { ?x a prov:Entity }", "ASK { ?x a/~ prov:Entity }"),
        ("ask{?x a<http://www.w3.org/ns/prov#Agent>}", "ask{?x a/~<http://www.w3.org/ns/prov#Agent>}"),
        ("PREFIX p: <http://www.w3.org/ns/prov#> ASK { ?x a p:Entity }", None),
        ("BASE <http://www.w3.org/ns/> PREFIX p: <prov#> ASK { ?x a p:Entity }", None),
        ("ASK { ?x rdf:type prov:Person }", "ASK { ?x rdf:type/~ prov:Person }"),
        ("ASK { ?x a prov:Entity, provio:File ; ?p ?o }", "ASK { ?x a/~ prov:Entity; a  provio:File ; ?p ?o }"),
        ("ASK { ?x a provio:File , prov:Entity, prov:Location, ?c }",
         "ASK { ?x a provio:File ; a/~  prov:Entity, prov:Location; a  ?c }"),
        ("ASK { ?x ?p ?o ; a prov:Entity . ?y a prov:Plan }", "ASK { ?x ?p ?o ; a/~ prov:Entity . ?y a prov:Plan }"),
        ("ASK { ?p prov:used/a prov:Entity }", "ASK { ?p prov:used/a/~ prov:Entity }"),
        ("ASK { ?p (prov:used|a) prov:Entity }", "ASK { ?p (prov:used|a/~) prov:Entity }"),
        ("ASK { ?p (prov:used/(a)) prov:Entity }", "ASK { ?p (prov:used/(a/~)) prov:Entity }"),
        ("ASK { ?p ^(^a/prov:used) prov:Entity }", "ASK { ?p ^((^(a/~)/prov:used)) prov:Entity }"),
        ("ASK { prov:Entity ^a ?x }", "ASK { prov:Entity ^(a/~) ?x }"),
        ("ASK { prov:Entity ^a/^prov:used ?x , ?y }", "ASK { prov:Entity ^(a/~)/^prov:used ?x , ?y }"),
        ("ASK { ?x a/rdfs:subClassOf* prov:Entity }", "ASK { ?x a/(rdfs:subClassOf|~)* prov:Entity }"),
        ("ASK { [ a prov:Entity ] prov:used [ ?p 1.5, -2 ; a prov:Agent ] , ( 1 'x'@en '2'^^xsd:integer true ) }",
         "ASK { [ a/~ prov:Entity ] prov:used [ ?p 1.5, -2 ; a/~ prov:Agent ] , ( 1 'x'@en '2'^^xsd:integer true ) }"),
        ("SELECT * { OPTIONAL { ?x a prov:Entity } MINUS { ?x a prov:Agent } { ?x a prov:Person } UNION { ?x ?p 1 } }",
         "SELECT * { OPTIONAL { ?x a/~ prov:Entity } MINUS { ?x a/~ prov:Agent } { ?x a/~ prov:Person } UNION { ?x ?p 1 } }"),
        ("SELECT (COUNT(*) AS ?n) WHERE { ?x ?p ?o FILTER NOT EXISTS { ?x a prov:Entity } FILTER(?o<5 && EXISTS { ?o a prov:Agent }) }",
         "SELECT (COUNT(*) AS ?n) WHERE { ?x ?p ?o FILTER NOT EXISTS { ?x a/~ prov:Entity } FILTER(?o<5 && EXISTS { ?o a/~ prov:Agent }) }"),
        ("SELECT ?x { FILTER(?a<(1)&&(?y>2)) ?x a prov:Entity . BIND(?x AS ?y) VALUES (?z) { (prov:Entity) } FILTER regex(?x, 'a') }", None),
        ("SELECT ?x { { SELECT ?x (MAX(?y) AS ?z) WHERE { ?x a prov:Entity ; ?p ?y } GROUP BY ?x HAVING (COUNT(*) > 1) } ?x a prov:Agent }",
         "SELECT ?x { { SELECT ?x (MAX(?y) AS ?z) WHERE { ?x a/~ prov:Entity ; ?p ?y } GROUP BY ?x HAVING (COUNT(*) > 1) } ?x a/~ prov:Agent }"),
        ("CONSTRUCT { ?x a prov:Entity } WHERE { ?x a prov:Entity } ORDER BY ?x LIMIT 5",
         "CONSTRUCT { ?x a prov:Entity } WHERE { ?x a/~ prov:Entity } ORDER BY ?x LIMIT 5"),
        ("SELECT ?x { ?x ?p ?o } ORDER BY (?o < 5 && EXISTS { ?x a prov:Entity })",
         "SELECT ?x { ?x ?p ?o } ORDER BY (?o < 5 && EXISTS { ?x a/~ prov:Entity })"),
        ("DESCRIBE ?x FROM <urn:g> WHERE { ?x a prov:Entity }", None),
        ("# prov:Entity\nASK { # ?x a prov:Entity }\n ?x ?p '} a prov:Entity' . ?x a # here\n prov:Entity }",
         "# prov:Entity\nASK { # ?x a prov:Entity }\n ?x ?p '} a prov:Entity' . ?x a/~ # here\n prov:Entity }"),
        ("SELECT ?x { VALUES ?x { prov:Entity } GRAPH ?g { ?y a prov:Entity } ?y a prov:Entity }",
         "SELECT ?x { VALUES ?x { prov:Entity } GRAPH ?g { ?y a prov:Entity } ?y a/~ prov:Entity }"),
        ("ASK { SERVICE SILENT <urn:s> { ?y a prov:Entity } ?y a prov:Entity }",
         "ASK { SERVICE SILENT <urn:s> { ?y a prov:Entity } ?y a/~ prov:Entity }"),
    ],
)  # fmt: skip
def test_patterns_go_through_the_stored_classes(text: str, expected: str | None) -> None:
    """`~` stands for STEP; None: only the last `a` changes. Both queries parse, for the same variables."""
    if expected is None:
        before, after = text.rsplit(" a ", 1) if " a " in text else text.rsplit("a", 1)
        expected = f"{before} a/~ {after}"
    assert widened(text) == expected.replace("~", STEP)
    if "SERVICE" not in text and "SELECT *" not in text:
        ox.Store().query(widened(text), prefixes=PREFIXES)


@pytest.mark.parametrize(
    "text",
    [
        "ASK { ?x a ?c FILTER(?c = prov:Entity) }",
        "ASK { ?x a prov:Plan, prov:Bundle, provio:Entity }",
        "ASK { prov:Entity a ?x }",
        "ASK { ?x ^a ?c . ?c a provio:File FILTER(?c = prov:Entity) }",
        "ASK { ?x !a prov:Entity ; !(a|^a) prov:Entity }",
        "ASK { ?x a+ prov:Entity }",
        "ASK { GRAPH ?g { ?x a prov:Entity } }",
        "CONSTRUCT WHERE { ?x a prov:Entity }",
        "DESCRIBE prov:Entity",
        "INSERT { ?x a prov:Entity } WHERE { ?x a prov:Entity }",
        "ASK { ?x a prov:Entity ",
        "ASK { ?x a other:Entity . ?y a prov:Entity }",
        "PREFIX prov: <urn:other#> ASK { ?x a prov:Entity }",
        "ASK " + "{" * 5000 + " ?x a prov:Entity " + "}" * 5000,
        "",
    ],
)
def test_other_patterns_stay(text: str) -> None:
    """Also texts with errors, which the parser will report."""
    assert widened(text) == text


def test_no_solution_is_doubled_and_no_variable_added() -> None:
    """For nodes with one class, with several, and with classes of PROV."""
    store, kind = ox.Store(), ox.NamedNode(RDF + "type")
    nodes = {"v": ("FileVersion",), "l": ("Loss", "Metric"), "h": ("Host",), "r": ("Run",)}
    for name, classes in nodes.items():
        for one in classes:
            store.add(ox.Quad(ox.NamedNode(f"urn:{name}"), kind, ox.NamedNode(NS + one), ox.NamedNode("urn:g")))
    store.add(ox.Quad(ox.NamedNode("urn:v"), kind, ox.NamedNode(PROV + "Plan"), ox.NamedNode("urn:g")))
    store.add(ox.Quad(ox.NamedNode("urn:own"), kind, ox.NamedNode(PROV + "Entity"), ox.NamedNode("urn:g")))
    store.load("".join(implied.lines()).encode(), format=ox.RdfFormat.N_TRIPLES, to_graph=ox.NamedNode(implied.CLASSES))
    for path in ("a", "a/rdfs:subClassOf*"):
        answer = store.query(
            widened(f"PREFIX prov: <{PROV}> PREFIX rdfs: <{RDFS}> SELECT * {{ ?x {path} prov:Entity }}"),
            use_default_graph_as_union=True,
        )
        assert isinstance(answer, ox.QuerySolutions)
        assert [variable.value for variable in answer.variables] == ["x"]
        assert sorted(row["x"].value for row in answer) == ["urn:h", "urn:l", "urn:own", "urn:v"]


@pytest.mark.integration
def test_queries_find_implied_classes(project: Project) -> None:
    """In all runs, in some, in named graphs; each node once per graph; stored classes are found as well."""
    project.provio("run", "--quiet", "--name", "one", "--", "sh", "-c", "echo a > a; cat a > b")
    project.provio("run", "--quiet", "--name", "two", "--", "sh", "-c", "cat b > c")
    count = "SELECT (COUNT(*) AS ?n) (COUNT(DISTINCT ?x) AS ?m) %s { ?x a prov:Entity }"
    graph = project.rows("SELECT ?r { ?r provio:name 'two' }")[0]["r"] + "/bundle"

    def counted(question: str, *options: str) -> tuple[int, int]:
        (row,) = json.loads(project.provio("query", "--as", "json", *options, question).stdout)["results"]["bindings"]
        return int(row["n"]["value"]), int(row["m"]["value"])

    one, all_ = counted(count % f"FROM <{graph}>"), counted(count % "")
    assert one[0] == one[1] > 4
    assert counted(count % "", "--name", "two") == one
    assert all_[1] > one[1]
    assert counted(count % f"FROM <{graph}>", "--name", "one") == (0, 0)
    assert project.rows("SELECT DISTINCT ?c { ?x a ?c FILTER(STRSTARTS(STR(?c), STR(prov:))) } ORDER BY ?c") == [
        {"c": PROV + name} for name in ("Association", "Bundle", "Plan")
    ]
    assert project.rows("SELECT ?g { GRAPH ?g { ?x a prov:Entity } }") == []
    wrong = project.provio("query", "ASK { ?x a prov:Entity FILTER(?x = ) }", code=1)
    assert wrong.stderr.startswith("provio: not SPARQL: line 1, column 39: ")


def shown(text: str) -> list[str]:
    """Return the properties of a query: subject, text and structure of the path, objects with their commas; `-` stands
    for no IRI."""

    def tree(path: Path) -> str:
        name = text[path.start : path.end] if f"<{path.what}>" == text[path.start : path.end] else path.what
        return f"{name}({' '.join(map(tree, path.parts))})" if path.parts else name

    return [
        " ".join(
            [one.subject or "-", text[one.path.start : one.path.end].replace(" ", "_"), tree(one.path)]
            + [text[start:end] + (iri or "-") for iri, start, end in one.objects]
        ).replace(TYPE, "a")
        for one in properties(text)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ASK { ?x !^a <urn:c> , ?d ; !<urn:n> 5, -1e3,+.5 }", ["- !^a ! urn:c ,-", "- !<urn:n> ! - ,- ,-"]),
        ("ASK { ?x !(a|^<urn:a>)/<urn:b> * 'x'@en , 1.5e3, -.5, true ; }",
         ["- !(a|^<urn:a>)/<urn:b>_* /(! *(<urn:b>)) - ,- ,- ,-"]),
        ("ASK { ?x (<urn:a>| <urn:b> )/^<urn:c>?|<urn:d> + ?y }",
         ["- (<urn:a>|_<urn:b>_)/^<urn:c>?|<urn:d>_+ |(/(|(|(<urn:a> <urn:b>)) ^(?(<urn:c>))) +(<urn:d>)) -"]),
        ("CONSTRUCT { ?s ?p ?o . { } } FROM <urn:g> WHERE { <urn:s> <urn:p> <urn:o> }",
         ["urn:s <urn:p> <urn:p> urn:o"]),
        ("SELECT (EXISTS { ?x a <urn:1> } AS ?z) { ?s a <urn:2> } VALUES ?x { } ORDER BY (EXISTS { ?a <urn:b> <urn:3> }) LIMIT 2",
         ["- a a urn:1", "- a a urn:2", "- <urn:b> <urn:b> urn:3"]),
        ("BASE <http://e/> PREFIX q: <b#> ASK { <a> q:c <d>, q: , false}",
         ["http://e/a q:c http://e/b#c http://e/d ,http://e/b# ,-"]),
        ("ASK { FILTER regex(?x, 'a') ?x a 'x' ^^<urn:t> ; ; <urn:p> 'y'^^xsd:int . ?z <urn:q> _:b }",
         ["- a a -", "- <urn:p> <urn:p> -", "- <urn:q> <urn:q> -"]),
        ("ASK { ( 1 <urn:a> [ a ?x ] ) a () . [] a ?y . }", ["- a a -", "- a a -", "- a a -"]),
        ("ASK { FILTER(?a<?b && ?c>1 || 5<?d && 'a'@en<?f && p:x<3>(2) && (1)<(2)>3 && {}<?x>2) <urn:s> a ?y }",
         ["urn:s a a -"]),
        ("ASK { FILTER('a'@en<(?x>(2)) && ?x<(?x>(2)) && 'a'<(?x>(2)) && 1<(?x>(2)) && p:y<(?x>(2)) && <urn:a><(?x>(2))) <urn:s> a ?y }",
         ["urn:s a a -"]),
        ("ASK { FILTER(?x IN (<urn:(>,<urn:b>) && !EXISTS { ?q a <urn:z> }) ?x a ?y }", ["- a a urn:z", "- a a -"]),
        ("ASK { FILTER NOT EXISTS { ?q a <urn:z> } OPTIONAL { ?x a ?y } } VALUES (?q) { (EXISTS) } HAVING (EXISTS { ?n a <urn:4> })",
         ["- a a urn:z", "- a a -", "- a a urn:4"]),
        ("ASK { GRAPH ?g { { ?x a <urn:1> } } SERVICE ?s { ?s a ?o } { SELECT ?x { ?x a <urn:2> } VALUES ?x { 1 } } BIND(EXISTS { ?y a <urn:3> } AS ?z) }",
         ["- a a urn:2", "- a a urn:3"]),
        ("ASK { ?x ?y <urn:1> , [ ?y <urn:2> ; a <urn:3> ] ; a ?z . } } { ?x a <urn:4> }", ["- a a urn:3", "- a a -"]),
    ],
)  # fmt: skip
def test_the_properties_of_a_query(text: str, expected: list[str]) -> None:
    """In the order of the text, also those in expressions; texts, comparisons and skipped blocks have none."""
    assert shown(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "CONSTRUCT {?s ?p ?o} WHERE { ?s ?p ?o", "CONSTRUCT {?s ?p ?o", "ASK { FILTER ?x a ?y }", "ASK { BIND ?x }",
        "ASK { FILTER(?x < 5 }", "ASK { FILTER(?x", "ASK { VALUES ?x }", "ASK { VALUES ?x", "ASK { GRAPH ?g }",
        "ASK { SERVICE <urn:s> { ?a ?b ", "ASK { ?x (a ?y }", "ASK { ?x a }", "ASK { word }", "ASK { ?x a [ a ?y }",
        "ASK { ?x a ( 1 }", "ASK { FILTER EXISTS ?x }", "ASK { ?x a q:z }", "ASK { ?x a/ ?y }", "ASK { q:z a ?y }",
        "ASK { { SELECT ?x { ?x a ?y } ORDER BY (?x } ?x a ?z }", "ASK { ?x a q }", "ASK {", "ASK { ?x !(a ",
        "ASK { { SELECT ?x } ?x a ?y }", "PREFIX p: p:x ASK { ?x a p:y }",
    ],
)  # fmt: skip
def test_queries_that_are_not_understood(text: str) -> None:
    """They have errors, which the parser reports."""
    with pytest.raises((Unclear, SyntaxError)):
        properties(text)


@pytest.mark.parametrize(
    "text", ["", "ASK", "WHERE { ?x a 1 }", "CONSTRUCT WHERE { ?x a 1 }", "DELETE WHERE { ?x a 1 }"]
)
def test_texts_without_patterns(text: str) -> None:
    """Updates, too."""
    assert properties(text) == []
