"""Actions that a query may only perform if requested: call another server, fetch a document, change the store."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyoxigraph as ox
import pytest
import sparql_servers
from conftest import Project, new_project
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as some

from provio.base.vocab import PREFIXES
from provio.store import sparql


class Server:
    """A real server on loopback that answers every request, and records it."""

    def __init__(self) -> None:
        self.called: list[str] = []
        answer = b'{"head":{"vars":["x"]},"results":{"bindings":[{"x":{"type":"literal","value":"elsewhere"}}]}}'
        called = self.called

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                called.append(self.command)
                loads = self.command == "GET"
                body = b"<urn:a> <urn:b> <urn:loaded> ." if loads else answer
                self.send_response(200)
                self.send_header("Content-Type", "text/turtle" if loads else "application/sparql-results+json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/"
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    found = Server()
    yield found
    found.http.shutdown()
    found.thread.join()
    found.http.server_close()


def copied(project: Project) -> Project:
    project.sh("echo 1 > a")
    project.watch("cp", "a", "b")
    return project


@pytest.fixture
def recorded(project: Project) -> Project:
    return copied(project)


@pytest.fixture(scope="module")
def common(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """One project for all tests with queries that change nothing."""
    return copied(new_project(tmp_path_factory.mktemp("asked")))


CALLS = [
    "SELECT * { SERVICE <URL> { ?s ?p ?o } }",
    "SELECT * { FILTER(1 < 2) SERVICE <URL> { ?s ?p ?o } }",
    "SELECT * {FILTER(1<2)sErViCe<URL>{?s ?p ?o}}",
    "PREFIX e: <URL#it> SELECT * { SERVICE SILENT e: { ?s ?p ?o } }",
    "PREFIX e: <URL#it> SELECT * { SERVICEe:{ ?s ?p ?o } }",
    "PREFIX : <URL> SELECT * {?s ?p trueSERVICE:{?s ?p ?o}}",
    "SELECT * { { ?a ?b '\\'' } UNION { SERVICE <URL> { ?s ?p ?o } } }",
    "SELECT * { { ?a ?b '''it's''' } UNION { SERVICE # <x>\n<URL> { ?s ?p ?o } } }",
    "SELECT * { { <x:a#b> ?b 1 } UNION { SERVICE <URL> { ?s ?p ?o } } }",
    "SELECT * { { <x:\\u0061#b> ?b 1 } UNION { SERVICE <URL> { ?s ?p ?o } } }",
    "SELECT * { VALUES ?where { <URL> } SERVICE ?where { ?s ?p ?o } }",
    "ASK { FILTER EXISTS { SERVICE <URL> { ?s ?p ?o } } }",
    "SELECT * { ?s ?p ?a FILTER(?a<1)SERVICE#>\n<URL> { ?x ?y ?z } }",
    "SELECT * { ?s ?p ?a FILTER(?a<'>')SERVICE<URL>{?x ?y 'z'} }",
    "SELECT * { ?s ?p ?a , ?b FILTER(?a<?b#>'''\n)SERVICE<URL>{?x ?y ?z}#'''\n}",
]
HARMLESS = [
    "SELECT ?service { ?service ?p ?o } # SERVICE <URL> {}",
    "PREFIX service: <x:> SELECT * { GRAPH service:x { service:a a service:service } }",
    'SELECT * { ?s ?p \'SERVICE <URL> {}\' , """it" SERVICE <URL> {}""" , \'x\'@service , <URL#SERVICE> , _:service }',
    "SELECT * { ?s ?p 'it\\'s a SERVICE', 'a\\\\' }",
    "SELECT * FROM <URL> { ?s ?p ?o }",
    "DESCRIBE <URL>",
]


@pytest.mark.parametrize("question", CALLS)
def test_a_service_is_refused(common: Project, server: Server, question: str) -> None:
    """For each disguise of the keyword: exit code 1, one line, and no server is called."""
    server.called.clear()
    done = common.provio("query", question.replace("URL", server.url), code=1)
    assert done.stderr.startswith("provio: SERVICE is refused")
    assert "--service" in done.stderr
    assert done.stderr.count("\n") == 1
    assert (done.stdout, server.called) == ("", [])


@pytest.mark.integration
def test_the_escaped_keyword_is_one(common: Project) -> None:
    """`\\u0053ERVICE` is SERVICE according to the standard, independently of Oxigraph."""
    assert "is refused" in common.provio("query", r"SELECT * { \u0053ERVICE <x:> {} }", code=1).stderr
    assert "is refused" in common.provio("query", "SELECT * { ?s ?p '\\u0027 SERVICE <x:> {} # ' }", code=1).stderr


@pytest.mark.parametrize("question", HARMLESS)
def test_the_word_elsewhere_is_harmless(common: Project, server: Server, question: str) -> None:
    """In a variable, name, string, language tag, IRI or comment it is no keyword; FROM fetches nothing."""
    server.called.clear()
    common.provio("query", question.replace("URL", server.url))
    assert server.called == []


def test_a_requested_service(common: Project, server: Server) -> None:
    """--service permits it; a server that does not answer gives one line."""
    server.called.clear()
    question = f"SELECT ?x {{ SERVICE <{server.url}> {{ ?s ?p ?x }} }}"
    assert common.provio("query", "--service", question).stdout == '?x\n"elsewhere"\n'
    assert server.called
    done = common.provio("query", "--service", "SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }", code=1)
    assert done.stderr.startswith("provio: the query failed: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.integration
def test_a_requested_service_on_a_server(common: Project, server: Server, oxigraph: sparql_servers.Server) -> None:
    """The server with the record calls it, once per query; without --service no server does."""
    for question in (
        f"ASK {{ SERVICE <{server.url}> {{ ?s ?p ?x }} }}",
        f"SELECT ?x {{ SERVICE SILENT <{server.url}> {{ ?s ?p ?x }} }}",
        f"CONSTRUCT {{ <urn:a> <urn:b> ?x }} {{ SERVICE <{server.url}> {{ ?s ?p ?x }} }}",
    ):
        server.called.clear()
        assert "is refused" in common.provio("query", question, "--store", oxigraph.url, code=1).stderr
        assert server.called == []
        answer = common.provio("query", "--service", question, "--store", oxigraph.url).stdout
        assert "elsewhere" in answer or answer == "true\n"
        assert len(server.called) == 1, question
    glued = f"SELECT * {{?s ?p trueSERVICE<{server.url}>{{?s ?p ?o}}}}"
    assert (
        "SERVICE needs a space on both sides"
        in common.provio("query", "--service", glued, "--store", oxigraph.url, code=1).stderr
    )


PIECES = [
    "SERVICE", "service", "SERVICE ", " SILENT ", "<U>", "<", ">", "#", "\n", "'", "\"", "'''", "\"\"\"", "\\", "\\'",
    "?", "?x", "$", ":", "e:", "service:", "e:x", "{", "}", "{}", "{ ?s ?p ?o }", "}{", "true", "a", "1", "1<2",
    "FILTER(", ")", ".", ";", "@", "en", "_:b", "UNION", "GRAPH ", " ", "\\u0053", "\\u003c", "\\u0027", "%53",
    "<x:#", "BIND(", " AS ?y)", "OPTIONAL", "MINUS", "ſ", "?y<", "#>", "'>'",
]  # fmt: skip


@settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
@given(inner=some.lists(some.sampled_from(PIECES), max_size=12).map("".join))
@example(inner="?s ?p trueSERVICE:{}")
@example(inner="FILTER(1<2)SERVICE<U>{ ?s ?p ?o }")
@pytest.mark.integration
def test_permitted_queries_call_no_server(server: Server, inner: str) -> None:
    """For any text that Oxigraph accepts and the token check permits, no server is called."""
    server.called.clear()
    question = f"PREFIX : <{server.url}> PREFIX e: <{server.url}> PREFIX service: <{server.url}> SELECT * {{ {inner} }}"
    question = question.replace("<U>", f"<{server.url}>")
    if sparql.calls_service(question):
        return
    store = ox.Store()
    store.add(ox.Quad(ox.NamedNode("x:a"), ox.NamedNode("x:b"), ox.Literal("c")))
    with contextlib.suppress(SyntaxError, RuntimeError, ValueError, OSError):
        list(store.query(question, prefixes=PREFIXES, use_default_graph_as_union=True))  # type: ignore[arg-type]
    assert server.called == []


@pytest.mark.integration
def test_an_update_must_be_requested(recorded: Project) -> None:
    """Exit code 1 with the required option; nothing changes; a query is not executed as an update."""
    add = "INSERT DATA { GRAPH <urn:mine> { <urn:a> <urn:b> 'c' } }"
    for text in (add, "CLEAR ALL", "PREFIX e: <urn:> DELETE WHERE { GRAPH ?g { ?s ?p ?o } }"):
        assert "--update" in recorded.provio("query", text, code=1).stderr
    assert "not SPARQL" in recorded.provio("query", "--update", "ASK {}", code=1).stderr
    assert recorded.count("GRAPH <urn:mine> { ?s ?p ?o }") == 0
    assert recorded.data("b") == {"a"}


@pytest.mark.integration
def test_an_update_of_a_graph_of_ones_own(recorded: Project) -> None:
    """Its statements are in every answer, next to later runs, until a rebuild."""
    recorded.provio("query", "--update", "INSERT DATA { GRAPH <urn:mine> { <urn:a> <urn:b> 'c' } }")
    recorded.watch("cp", "b", "c")
    assert recorded.count("<urn:a> ?p ?o") == 1
    recorded.provio("query", "--update", "CLEAR GRAPH <urn:mine>")
    assert recorded.count("<urn:a> ?p ?o") == 0
    assert recorded.data("c") == {"a", "b"}


@pytest.mark.parametrize(
    "text",
    [
        "DELETE WHERE { ?s prov:used ?o }",
        pytest.param("CLEAR ALL", marks=pytest.mark.integration),
        pytest.param("INSERT DATA { <urn:a> <urn:b> 'c' }", marks=pytest.mark.integration),
        pytest.param(
            "INSERT DATA { GRAPH <https://w3id.org/provio/derived> { <urn:a> <urn:b> 'c' } }",
            marks=pytest.mark.integration,
        ),
        "INSERT DATA { GRAPH <urn:mine> { <urn:a> <urn:b> 'c' } } ; DROP DEFAULT",
    ],
)
def test_an_update_cannot_change_provios_own_data(recorded: Project, text: str) -> None:
    """Runs' graphs, derived graphs and the index: the update is refused as a whole, every quad is as before."""
    before = set(recorded.provio("export", "--as", "nquads").stdout.splitlines())
    assert "a graph of your own" in recorded.provio("query", "--update", text, code=1).stderr
    assert set(recorded.provio("export", "--as", "nquads").stdout.splitlines()) == before
    recorded.watch("cp", "b", "c")
    assert recorded.data("c") == {"a", "b"}
    assert recorded.count("<urn:a> ?p ?o") == 0


@pytest.mark.integration
def test_a_document_is_loaded_only_where_that_is_allowed(recorded: Project, server: Server) -> None:
    """LOAD fetches: refused with --update only, in every disguise; --service permits it."""
    server.called.clear()
    for text in (
        f"LOAD <{server.url}>",
        f"PREFIX x: <{server.url}> LOADx:a",
        f"DELETE {{}} WHERE {{ ?s ?p ?a FILTER(?a<'>') }}; LOAD<{server.url}>; INSERT DATA {{ <x:a> <x:b> 'c' }}",
        f"CREATE GRAPH <urn:g>;load<{server.url}>",
    ):
        assert "--service" in recorded.provio("query", "--update", text, code=1).stderr
    insert = f"INSERT {{ GRAPH <urn:g> {{ ?s ?p ?o }} }} WHERE {{ SERVICE <{server.url}> {{ ?s ?p ?o }} }}"
    assert "--service" in recorded.provio("query", "--update", insert, code=1).stderr
    assert server.called == []
    recorded.provio("query", "--update", "--service", f"LOAD <{server.url}> INTO GRAPH <urn:g>")
    assert server.called == ["GET"]
    assert recorded.count("<urn:a> <urn:b> <urn:loaded>") == 1


@pytest.mark.parametrize(
    ("query", "repeated"),
    [
        ("SELECT * { ?a (prov:used|prov:wasDerivedFrom)+ ?b }", True),
        ("SELECT * { ?a (prov:used/(prov:a|^prov:b))* ?b }", True),
        ("SELECT * { <urn:a> ( (prov:a/prov:b) | prov:c ) * ?b }", True),
        ("SELECT * { ?a prov:used|prov:wasDerivedFrom ?b ; prov:used+ ?c }", False),
        ("SELECT * { ?a prov:used ?b FILTER ('(a|b)+' = ?b) # (a|b)+\n }", False),
    ],
)
def test_a_repeated_alternative_is_detected(query: str, repeated: bool) -> None:
    """Such a path is not sent to a server that omits some of its answers."""
    assert sparql.repeats_a_choice(query) is repeated
