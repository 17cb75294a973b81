"""Syntax errors of SPARQL: one line with the place and the reason, whichever parser found them."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from provio.base.vocab import PREFIXES
from provio.store.sparql_errors import explained

SKOS = "PREFIX skos: <http://www.w3.org/2004/02/skos/core#>"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("ASK { ?a foo:b ?c }",
         "line 1, column 10: prefix foo: is unknown: add PREFIX foo: <…>"),
        ("ASK\n{ ?a :b skos:c }", "line 2, column 6: prefix : is unknown: add PREFIX : <…>"),
        ("ASK { ?a prov:b skos:c }",
         f"line 1, column 17: prefix skos: is unknown: add {SKOS}"),
        ("PREFIX a: <x:y> ASK { ?a a:b c:d }",
         "line 1, column 30: prefix c: is unknown: add PREFIX c: <…>"),
        ("ASK { ?a prof:b ?c }", "line 1, column 10: prefix prof: is unknown: did you mean 'prov'?"),
        ("PREFIX foo <http://a> ASK {}", "line 1, column 8: a prefix ends with a colon: PREFIX foo: <…>"),
        ("SELCT * { ?a ?b ?c }", "line 1, column 1: SELCT is no word: did you mean 'SELECT'?"),
        ("SELECT ?x { ?x ?y ?z FILTR(?x) }",
         "line 1, column 22: FILTR is no word: did you mean 'FILTER'?"),
        ("SELECT ?x { ?x ?y ?z } LIMIT ten", "line 1, column 30: ten is no word"),
        ("ASK { ?x ?y 'abc }", "line 1, column 13: the string that starts here has no closing '"),
        ("ASK { ?x ?y <http://a b> }",
         "line 1, column 13: the IRI that starts here contains a space, or has no closing >"),
        ("SELECT * { ?s ?p ?o", "line 1, column 10: { is not closed"),
        ("SELECT * { ?s ?p ?o }}", "line 1, column 22: } closes nothing"),
        ("SELECT (COUNT(?s) AS ?n { ?s ?p ?o }", "line 1, column 8: ( is not closed"),
        ("SELECT * { FILTER(1 } )", "line 1, column 21: } closes nothing: ( of line 1, column 18 is still open"),
        ("SELECT * WHERE ?a ?b", "line 1, column 16: unexpected '?a ?b'"),
        ("SELECT *\n{ ?a\nprov:b }", "line 3, column 8: unexpected '}'"),
        ("SELECT ?x { ?x a ?y } GROUP BY ?y", "line 1, column 34: The SELECT contains a variable that is unbound"),
        ("", "line 1, column 1: ends too early, or a part is not allowed"),
    ],
)  # fmt: skip
def test_the_line(text: str, line: str) -> None:
    with pytest.raises(SyntaxError) as error:
        ox.Store().query(text, prefixes=PREFIXES)
    assert explained(text, str(error.value)) == line


def test_other_servers_messages_are_cut() -> None:
    """If the text shows no reason, the server's own words follow, in one line."""
    assert explained("ASK {}", "no\nway") == "no way"
    assert explained("ASK {}", "a" * 200) == "a" * 160 + " …"
