"""PROV-JSON, PROV-N and PROV-JSONLD of a real record: the PyPI package `prov` reads the same document from each."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest
from conftest import Project, assert_valid, new_project
from prov.model import ProvDocument

from provio.exchange import sorted_lines
from provio.exchange.prov_names import PREFIXES, escaped, name
from provio.exchange.sorted_lines import SortedLines

FORMS = {"prov-json": {"format": "json"}, "prov-n": {"format": "provn", "profile": "strict"},
         "prov-jsonld": {"format": "jsonld"}}  # fmt: skip
PROV = "http://www.w3.org/ns/prov#"
SPECIFIC = ("wasRevisionOf", "wasDerivedFrom")


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Iterator[Project]:
    """A project with pipes, appends, a removed file, names that need escapes or are not UTF-8, and a setting."""
    project = new_project(tmp_path_factory.mktemp("worked"))
    project.sh("mkdir d; echo 1 > d/one; echo 2 > 'd/two words'")
    names = r"""cp d/one "d/it's (a) [b]; c,d=e:\"f\"."; cp d/one $(printf 'd/\377\n\342\200\256')"""
    project.run(f"cat d/* | sort > x; {names}; cat d/one >> log; cat d/one >> log; rm d/one; touch -- -x.")
    program = (
        "import provio; provio.configuration({'rate': 0.5}, name='train'); open('out', 'w').write(open('log').read())"
    )
    project.watch("python3", "-c", program)
    yield project
    assert_valid(project.path / ".provio")


def document(data: bytes, form: str) -> ProvDocument:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # `prov` warns of parts that it drops
        return ProvDocument.deserialize(io.BytesIO(data), **FORMS[form])


def exported(project: Project, form: str, *names: str) -> bytes:
    project.provio("export", *names, "--as", form, "-o", "exported")
    return (project.path / "exported").read_bytes()


def test_each_name_has_a_prefix() -> None:
    """Also that of a package, which readers refuse otherwise."""
    terms = [
        "<pkg:deb/debian/dash@0.5>",
        "<https://a/b>",
        "<urn:a:b>",
        "<file://d/a>",
        "<https://w3id.org/provio/ns#x>",
    ]
    assert {name(term).partition(":")[0] for term in terms} <= PREFIXES.keys()
    assert name(terms[0]) == "package:deb/debian/dash@0.5"


@pytest.mark.integration
def test_less_detail(worked: Project) -> None:
    """A run as its processes and folders: `prov` reads equal documents of the formats, with the uses and
    products of the processes that all that is recorded has."""
    options = ("last", "--level", "folder", "--steps", "process")
    found = {form: document(exported(worked, form, *options), form) for form in FORMS}
    assert found["prov-json"] == found["prov-n"] == found["prov-jsonld"]
    quads = list(ox.parse(exported(worked, "ttl", *options), ox.RdfFormat.TURTLE))
    relations = {(q.subject.value, q.predicate.value.removeprefix(PROV), q.object.value.rpartition("/host")[2])
                 for q in quads if q.predicate.value in (PROV + "used", PROV + "wasGeneratedBy")}  # fmt: skip
    (process,) = {q.subject.value for q in quads if q.object == ox.NamedNode("https://w3id.org/provio/ns#Process")}
    folder = next(q.subject.value for q in quads if q.object == ox.NamedNode("https://w3id.org/provio/ns#Directory"))
    assert folder.endswith(f"{worked.path}/")
    assert {(process, "used", folder), (folder, "wasGeneratedBy", process)} <= relations
    assert not any("/phase/" in q.subject.value for q in quads)


@pytest.mark.integration
def test_an_empty_run_is_described(project: Project) -> None:
    project.watch("true")
    found = document(exported(project, "prov-json", "last", "--steps", "process"), "prov-json")
    assert [str(one.identifier) for one in found.get_records() if "run:" in str(one.identifier)]


@pytest.mark.integration
@pytest.mark.parametrize("names", [[], ["last"], ["out", "x"]], ids=["all", "run", "files"])
def test_three_formats_are_one_document(worked: Project, names: list[str]) -> None:
    """`prov` reads equal documents, without a warning, with all nodes and plain relations of the RDF."""
    found = {form: document(exported(worked, form, *names), form) for form in FORMS}
    assert found["prov-json"] == found["prov-n"] == found["prov-jsonld"]
    records = found["prov-json"].get_records()
    statements = {(q.subject.value, q.predicate.value, getattr(q.object, "value", ""))
                  for q in ox.parse(exported(worked, "nquads", *names), ox.RdfFormat.N_QUADS)}  # fmt: skip
    for kind in ("Entity", "Activity", "Agent"):
        own = {one.identifier.uri for one in records if one.get_type().localpart == kind}
        assert own == {s for s, p, o in statements if p.endswith("#type") and o == PROV + kind}
    relations = {(one.get_type().localpart, *(value.uri for _, value in one.formal_attributes[:2]))
                 for one in records if one.is_relation() and one.formal_attributes[1][1]}  # fmt: skip
    kinds = {"used": "Usage", "wasGeneratedBy": "Generation", "wasInformedBy": "Communication",
             "wasDerivedFrom": "Derivation", "wasAttributedTo": "Attribution", "wasAssociatedWith": "Association",
             "actedOnBehalfOf": "Delegation", "wasInvalidatedBy": "Invalidation",
             "specializationOf": "Specialization", "alternateOf": "Alternate", "hadMember": "Membership"}  # fmt: skip
    assert relations == {(kinds[p[len(PROV) :]], s, o) for s, p, o in statements if p[len(PROV) :] in kinds}


@pytest.mark.integration
def test_times_plans_and_types(worked: Project) -> None:
    """Activities have their times, associations a plan, an append is a revision, a setting's use has a time."""
    found = document(exported(worked, "prov-json"), "prov-json")
    records = {kind: [one for one in found.get_records() if one.get_type().localpart == kind]
               for kind in ("Activity", "Association", "Derivation", "Usage", "Entity", "Communication")}  # fmt: skip
    processes = [one for one in records["Activity"] if "provio:Process" in map(str, one.get_asserted_types())]
    assert all(one.get_startTime() and one.get_endTime() for one in processes)
    assert any(dict(one.formal_attributes).get(one.FORMAL_ATTRIBUTES[2]) for one in records["Association"])
    assert "prov:Revision" in {str(kind) for one in records["Derivation"] for kind in one.get_asserted_types()}
    told = [one for one in records["Usage"] if one.identifier]
    assert len(told) == 1
    assert told[0].formal_attributes[2][1] is not None
    carried = {str(kind) for one in records["Communication"] for kind in one.get_asserted_types()}
    assert carried >= {"provio:carriedFrom", "provio:launchedBy"}
    bundles = [one for one in records["Entity"] if "prov:Bundle" in map(str, one.get_asserted_types())]
    assert sum(one.identifier.uri.endswith("/bundle") for one in bundles) == 2


@pytest.mark.integration
def test_jsonld_is_rdf(worked: Project) -> None:
    """A reader of JSON-LD finds the literals and classes of the RDF, and each use as a qualified one."""
    read = {(q.subject.value, q.predicate.value, q.object.value) for q in
            ox.parse(exported(worked, "prov-jsonld"), ox.RdfFormat.JSON_LD) if not isinstance(q.subject, ox.BlankNode)
            if not isinstance(q.object, ox.BlankNode)}  # fmt: skip
    rdf = list(ox.parse(exported(worked, "nquads"), ox.RdfFormat.N_QUADS))
    kinds = {q.subject.value for q in rdf if q.object.value in {PROV + k for k in ("Entity", "Activity", "Agent")}}
    literals = {(q.subject.value, q.predicate.value, q.object.value) for q in rdf
                if isinstance(q.object, ox.Literal) and q.subject.value in kinds
                and not q.predicate.value.endswith("generatedAtTime")}  # fmt: skip
    assert len(literals) > 100
    assert literals <= read
    assert {(s, p, o) for s, p, o in read if p.endswith("#type")} >= {
        (q.subject.value, q.predicate.value, q.object.value) for q in rdf if q.object.value.startswith(PROV)
        and q.predicate.value.endswith("#type") and q.subject.value in kinds
    }  # fmt: skip


@pytest.mark.integration
def test_nothing_that_a_terminal_obeys(worked: Project) -> None:
    """A name with a control character or a mark of direction is escaped in each format."""
    for form in FORMS:
        data = exported(worked, form)
        assert "\u202e" not in data.decode()
        assert all(char >= " " or char == "\n" for char in data.decode())
    assert json.loads(exported(worked, "prov-json"))["prefix"]["prov"] == PROV


def test_sorted_lines_in_pieces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Lines that come in odd pieces, more than are sorted at once, come out sorted, once each; no file is left."""
    monkeypatch.setattr(sorted_lines.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sorted_lines, "MOST", 4)
    lines = [b"%d\n" % (number * 7919 % 1000) for number in range(3000)]
    whole = b"".join(lines)
    with SortedLines(more=lambda data: [b"!\n"] if data else [], piece=500) as found:
        for start in range(0, len(whole), 17):
            found.write(whole[start : start + 17])
        assert list(found) == sorted({*lines, b"!\n"})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("iri", "qualified"),
    [
        ("https://w3id.org/provio/run/1/a.", "run:1/a\\."),
        ("https://w3id.org/provio/ns#path", "provio:path"),
        ("https://w3id.org/provio/version/d/1.2#/x@y", "node:version/d/1.2#/x@y"),
        ("file://d/a(b)'c,d=e:f;g", "file:d/a\\(b\\)\\'c\\,d\\=e\\:f\\;g"),
        ("https://example.org/-x", "https:example.org/-x"),
        ("urn:-x", "urn:\\-x"),
        ("urn:\u20ac", "urn:%E2%82%AC"),
    ],
)
def test_escaped_names(iri: str, qualified: str) -> None:
    """Each character that PROV-N does not allow in a name is escaped."""
    assert escaped(name(f"<{iri}>")) == qualified


@pytest.mark.integration
def test_libraries_of_a_process_with_tasks(project: Project) -> None:
    """The process of a program that declares Tasks has its shared libraries, too."""
    project.env["PROVIO_RECORD_PACKAGES"] = "true"
    project.watch("python3", "-c", "import provio\nwith provio.activity('a'): open('out', 'w').write('1')")
    graph = project.answer("export", "last", "--as", "ttl")
    sets = {q.subject.value for q in ox.parse(graph, ox.RdfFormat.TURTLE) if q.object.value.endswith("ns#Libraries")}
    loaded = {q.object.value for q in ox.parse(graph, ox.RdfFormat.TURTLE) if q.predicate.value.endswith("ns#loaded")}
    assert sets and sets == loaded
