r"""Findings about the texts of queries and updates: a text in; the graphs, keywords and rewritten texts out."""

from __future__ import annotations

import pytest

from provio.store import sparql
from provio.store.sparql import Dataset

PREFIXES = {"p": "urn:p#", "": "urn:own#"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ASK { ?s ?p ?o }", None),
        ("ASK FROM <urn:a> { ?s ?p ?o }", Dataset(["urn:a"], [])),
        ("SELECT * from named <urn:a> FROM p:x%20y FROM NAMED :z {}", Dataset(["urn:p#x%20y"], ["urn:a", "urn:own#z"])),
        ("ASK # FROM <urn:c>\nFROM # NAMED\n<urn:a> {}", Dataset(["urn:a"], [])),
        ("BASE <http://e/a/> ASK FROM <b> FROM NAMED <../c> {}", Dataset(["http://e/a/b"], ["http://e/c"])),
        ("base <http://e/a/> Base <b/> ask FROM <c> {}", Dataset(["http://e/a/b/c"], [])),
        ("PREFIX q: <urn:q#> prefix p: <urn:other#> ASK FROM q:a FROM p:b {}", Dataset(["urn:q#a", "urn:other#b"], [])),
        ("BASE <http://e/a/> PREFIX q: <b#> ASK FROM q:c {}", Dataset(["http://e/a/b#c"], [])),
        (r"ASK FROM <\u0075rn:a> FROM p:a\-b {}", Dataset(["urn:a", "urn:p#a-b"], [])),
        ("SELECT ?from { ?from p:from 'FROM <urn:a>' }", None),
    ],
)
def test_the_graphs_of_a_query(text: str, found: Dataset | None) -> None:
    """By IRIs, relative ones too, and by names with known and declared prefixes."""
    assert sparql.dataset(text, PREFIXES) == found


@pytest.mark.parametrize("text", ["ASK FROM q:a {}", "ASK FROM NAMED q:a {}", "ASK FROMq:a {}", "ASK fromNAMED:a {}"])
def test_a_prefix_that_is_not_declared(text: str) -> None:
    """It may also be the keyword, without a space behind it."""
    with pytest.raises(SyntaxError, match="is declared"):
        sparql.dataset(text, PREFIXES)


@pytest.mark.parametrize(
    ("text", "without", "with_one"),
    [
        ("ASK { ?s ?p ?o }", "ASK { ?s ?p ?o }", "ASK { ?s ?p ?o }"),
        ("ASK FROM <urn:a> {}", "ASK              {}", "ASK FROM <urn:g> FROM <urn:a> {}"),
        ("ASK from named p:a {}", "ASK                {}", "ASK from named p:a {}"),
        ("ASK FROM NAMED <urn:a> FROM <urn:b> # FROM <urn:c>\n FROM p:d {?s ?p 'FROM <urn:e>'}",
         "ASK                                 # FROM <urn:c>\n          {?s ?p 'FROM <urn:e>'}",
         "ASK FROM NAMED <urn:a> FROM <urn:g> FROM <urn:b> # FROM <urn:c>\n FROM p:d {?s ?p 'FROM <urn:e>'}"),
        ("ASK FROM#\n<urn:a>{}", "ASK      \n       {}", "ASK FROM <urn:g> FROM#\n<urn:a>{}"),
    ],
)  # fmt: skip
def test_the_graphs_are_removed_or_one_is_added(text: str, without: str, with_one: str) -> None:
    """Positions and lines in the text stay where the graphs are removed."""
    assert (sparql.without_dataset(text), sparql.with_graph(text, "urn:g")) == (without, with_one)


@pytest.mark.parametrize(
    ("text", "is_update", "names_graphs"),
    [
        ("ASK { graph ?g { ?s ?p ?o } }", False, True),
        ("# INSERT\nPREFIX p: <urn:p> BASE <urn:b> SELECT ?graph { ?graph p:graph 'GRAPH' }", False, False),
        ("PREFIX insert: <urn:p> base <urn:b> Insert DATA { <a> <b> insert:c }", True, False),
        ("prefix p: <urn:p> DELETE WHERE { GRAPH p:g { ?s ?p ?o } }", True, True),
        ("WITH <urn:g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", True, False),
        ("LOAD <urn:g>", True, False), ("clear all", True, False), ("Create graph <urn:g>", True, True),
        ("DROP ALL", True, False), ("COPY <urn:a> TO <urn:b>", True, False), ("MOVE <urn:a> TO <urn:b>", True, False),
        ("ADD <urn:a> TO <urn:b>", True, False), ("", False, False), ("'INSERT'", False, False),
    ],
)  # fmt: skip
def test_updates_and_named_graphs(text: str, is_update: bool, names_graphs: bool) -> None:
    """Keywords count; variables, names, texts and comments do not."""
    assert (sparql.updates(text), sparql.names_graphs(text)) == (is_update, names_graphs)


@pytest.mark.parametrize(
    ("text", "calls", "replaced"),
    [
        ("ASK { SERVICE <urn:s> { ?s ?p ?o } }", True, "ASK { GRAPH   <urn:s> { ?s ?p ?o } }"),
        ("ASK { service silent ?s {} SERVICE p:a {} }", True, "ASK { GRAPH          ?s {} GRAPH   p:a {} }"),
        ("ASK { SERVICE#\n<urn:s> {} }", True, "ASK { GRAPH  #\n<urn:s> {} }"),
        ("ASK { ?s ?p trueSERVICE<urn:s> {} }", True, None),
        ("ASK { SERVICEp:a{} }", True, None),
        ("ASK { VALUES ?service{ 1 } }", False, "ASK { VALUES ?service{ 1 } }"),
        ("ASK { GRAPH SERVICE:a{} }", False, "ASK { GRAPH SERVICE:a{} }"),
        ("ASK FROM named service:a{ ?s ?p 'SERVICE' }", False, "ASK FROM named service:a{ ?s ?p 'SERVICE' }"),
        ("ASK FROM service:a{ service:a ?p ?service }", False, "ASK FROM service:a{ service:a ?p ?service }"),
        (r"ASK { \u0053ERVICE <urn:s> {} }", True, None),
        (r"ASK { ?s ?p '\u0027 SERVICE <urn:s> {} # ' }", True, None),
        (r"ASK { ?s ?p '\\u0027 SERVICE ' }", False, r"ASK { ?s ?p '\\u0027 SERVICE ' }"),
        (r"ASK { ?s ?p '\\\u0027 SERVICE <urn:s> {} # ' }", True, None),
        (r"ASK { ?s ?p '\\U00110000 SERVICE' }", False, r"ASK { ?s ?p '\\U00110000 SERVICE' }"),
        ("ASK { ?a ?b ?c FILTER(?c<'>') SERVICE ?d {} }", True, "ASK { ?a ?b ?c FILTER(?c<'>') GRAPH   ?d {} }"),
        ("ASK { ?a ?b <urn:c#d> , ?service }", True, None),
        ("ASK { ?a ?b <http://c/#d> , ?service }", False, "ASK { ?a ?b <http://c/#d> , ?service }"),
        ("ASK { ?a ?b <urn:c#d> }", False, "ASK { ?a ?b <urn:c#d> }"),
    ],
)
def test_services(text: str, calls: bool, replaced: str | None) -> None:
    """Each reading of a text counts; a keyword without a space on one of its sides cannot be replaced."""
    assert sparql.calls_service(text) == calls
    if replaced is None:
        with pytest.raises(SyntaxError, match="needs a space"):
            sparql.without_service(text)
    else:
        assert sparql.without_service(text) == replaced


@pytest.mark.parametrize(
    ("text", "loads"),
    [
        ("LOAD <urn:d>", True), ("load silent <urn:d>", True), ("LOADp:d", True), ("PREFIX p: <urn:p> LOADp:d", True),
        ("CLEAR ALL;loadp:d", True), ("CLEAR ALL ; LOAD <urn:d>", True), ("CREATE GRAPH p:load", False),
        ("INSERT DATA { load:a load:b 'LOAD <urn:d>' }", False), ("WITH p:x loadp:d", False),
        (r"\u004coad <urn:d>", True), ("ASK { ?load ?p 'x' } # LOAD", False), ("reload <urn:d>", True),
    ],
)  # fmt: skip
def test_loads(text: str, loads: bool) -> None:
    """At the start of an operation, or anywhere as a word."""
    assert sparql.loads(text) == loads
