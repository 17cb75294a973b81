"""The words: each is defined whole, in one place, and each that is used anywhere is defined."""

import re
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph
import pytest
from rdflib import OWL, RDF, RDFS, XSD, BNode, Graph, Namespace, URIRef

from provio.base import vocab
from provio.base.errors import UnknownTerm

ROOT = Path(__file__).resolve().parent.parent.parent
NS = Namespace(vocab.NS)
PROV = Namespace(vocab.PROV)
KINDS = (OWL.Class, OWL.ObjectProperty, OWL.DatatypeProperty, OWL.AnnotationProperty)


@pytest.fixture(scope="module")
def ontology() -> Graph:
    return Graph().parse(vocab.ONTOLOGY)


def words(graph: Graph) -> list[URIRef]:
    return [s for s in set(graph.subjects(RDF.type, None)) if isinstance(s, URIRef) and s.startswith(NS)]


# --- The ontology itself


def test_every_word_has_one_kind_a_label_and_one_sentence(ontology: Graph) -> None:
    for word in words(ontology):
        assert len(list(ontology.objects(word, RDF.type))) == 1, word
        assert ontology.value(word, RDF.type) in KINDS, word
        assert len(list(ontology.objects(word, RDFS.label))) == 1, word
        (comment,) = ontology.objects(word, RDFS.comment)
        assert re.fullmatch(r"[A-Z`].*[^.]\.", str(comment)), f"{word}: {comment}"
        assert not re.search(r"\. [A-Z]", str(comment)), f"{word}: more than one sentence"


def test_every_class_is_below_a_class_of_prov(ontology: Graph) -> None:
    for word in ontology.subjects(RDF.type, OWL.Class):
        assert any(parent.startswith(PROV) for parent in vocab.superclasses(str(word))), word
        for parent in ontology.objects(word, RDFS.subClassOf):
            assert parent.startswith(PROV) or (parent, RDF.type, OWL.Class) in ontology, f"{word} under {parent}"


def test_entities_activities_and_agents_are_disjoint(ontology: Graph) -> None:
    kinds = {str(PROV[name]) for name in ("Entity", "Activity", "Agent")}
    for word in ontology.subjects(RDF.type, OWL.Class):
        assert len(vocab.superclasses(str(word)) & kinds) == 1, word


def test_every_property_has_a_domain_and_a_range(ontology: Graph) -> None:
    for kind in KINDS[1:]:
        for word in ontology.subjects(RDF.type, kind):
            for end in (RDFS.domain, RDFS.range):
                (value,) = ontology.objects(word, end)
                known = str(value).startswith((PROV, str(OWL), str(XSD))) or (value, RDF.type, OWL.Class) in ontology
                assert known, f"{word}: {value}"


def test_every_property_between_things_is_under_one_of_prov(ontology: Graph) -> None:
    """Except equal content, which may have different origins: PROV has no term for it."""
    for word in set(ontology.subjects(RDF.type, OWL.ObjectProperty)) - {NS.sameContentAs}:
        (parent,) = ontology.objects(word, RDFS.subPropertyOf)
        assert parent.startswith(PROV), word


def test_there_are_no_blank_nodes(ontology: Graph) -> None:
    assert not [term for triple in ontology for term in triple if isinstance(term, BNode)]


@pytest.mark.parametrize(
    "word",
    """
    User Program Thread Rank Run Process Phase Task Copy IOActivity Create Open Read Write Fsync Rename Delete Truncate
    Link Map List Stat Access DataObject Directory File FileVersion Pipe Socket Group Dataset Attribute Datatype Image
    Configuration Hyperparameter Preselection Metric Accuracy Loss Checkpoint Environment Domain Gap carriedFrom
    launchedBy wasCreatedBy wasOpenedBy wasReadBy wasWrittenBy wasFlushedBy wasModifiedBy api count bytes elapsed
    maxElapsed offset errors size1 size2 size3 size4 size5 size6 size7 size8 size9 size10 pid argv cwd host exitCode
    signal rank jobId hadConfiguration hadMetric hadCheckpoint fromDomain version value reason
    """.split(),
)
def test_the_words_that_others_build_on_stay(word: str) -> None:
    assert vocab.provio(word) == vocab.NS + word


# --- Words in use


def files(*patterns: str) -> list[Path]:
    return sorted(path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file())


def used_in_c() -> Iterator[tuple[Path, str]]:
    for path in files("interceptors/**/*.c", "interceptors/**/*.def", "interceptors/**/*.h"):
        if path.name != "vocab.h":
            yield from ((path, word) for word in re.findall(r"\bTERM_(\w+)", path.read_text(encoding="utf-8")))


def used_in_python() -> Iterator[tuple[Path, str]]:
    for path in files("provio/**/*.py", "interceptors/**/*.py"):
        yield from ((path, word) for word in re.findall(r'\bprovio\("(\w*)"\)', path.read_text(encoding="utf-8")))


def used_in_questions() -> Iterator[tuple[Path, str]]:
    for path in files("queries/**/*.rq", "examples/**/*.rq", "provio/**/*.py"):
        yield from (
            (path, word) for word in re.findall(r"(?<!urn:)\bprovio:(\w++)(?!\{)", path.read_text(encoding="utf-8"))
        )


def used_in_docs() -> Iterator[tuple[Path, str]]:
    for path in files("docs/**/*.md", "README.md"):
        text = path.read_text(encoding="utf-8")
        refused = re.findall(r"provio:(\w+) is not a term of provio", text)  # a page shows the message for a mistake
        found = re.findall(r"(?:\bprovio|(?<=[\s`(\[])):([A-Za-z]\w*)", text)
        yield from ((path, word) for word in found if word not in refused)


def used_in_turtle() -> Iterator[tuple[Path, str]]:
    for path in files("ontology/*.ttl", "tests/traces/good/**/*.ttl"):
        for triple in pyoxigraph.parse(path=path, format=pyoxigraph.RdfFormat.TURTLE):
            for term in triple:
                if isinstance(term, pyoxigraph.NamedNode) and term.value.startswith(vocab.NS):
                    yield path, term.value[len(vocab.NS) :]


@pytest.mark.parametrize("uses", [used_in_c, used_in_python, used_in_questions, used_in_docs, used_in_turtle])
def test_every_word_in_use_is_in_the_ontology(uses) -> None:
    known = vocab.vocabulary().terms
    unknown = {f"{path.relative_to(ROOT)}: {word}" for path, word in uses() if word not in known}
    assert not unknown


def test_the_c_header_is_fresh() -> None:
    header = ROOT / "interceptors" / "posix" / "vocab.h"
    assert header.read_text(encoding="utf-8") == vocab.header(), "run `make vocab`"


# --- The module


def test_a_misspelt_word_raises() -> None:
    with pytest.raises(UnknownTerm, match=r"^no word 'Reed' in the ontology"):
        vocab.provio("Reed")


def test_superclasses_reach_prov_and_leave_the_class_out() -> None:
    assert vocab.superclasses(str(NS.Read)) == {str(NS.IOActivity), str(PROV.Activity)}
    assert vocab.superclasses(str(PROV.Activity)) == frozenset()


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        ([PROV.Entity, NS.FileVersion, PROV.Plan], NS.FileVersion),
        ([NS.IOActivity, NS.Read, PROV.Activity], NS.Read),
        ([PROV.Agent, PROV.SoftwareAgent], PROV.SoftwareAgent),
        ([NS.Configuration, NS.Hyperparameter, NS.Extensible], NS.Hyperparameter),
        ([], None),
    ],
)
def test_the_most_specific_class_is_the_lowest_one(classes: list[URIRef], expected: URIRef | None) -> None:
    assert vocab.most_specific(map(str, classes)) == (str(expected) if expected else None)


def test_local_names_follow_the_last_separator() -> None:
    assert vocab.local_name(vocab.NS + "Read") == "Read"
    assert vocab.local_name("https://w3id.org/provio/user/node07/ada") == "ada"
