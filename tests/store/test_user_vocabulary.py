"""`ontology`: classes of the user, known to `validate`, to queries and in the names of things."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import Project

from provio.ask import queries
from provio.base import vocab
from provio.base.errors import BadQuery, ConfigError
from provio.settings.home import Home
from provio.settings.schema import Config
from provio.store import implied, user_vocabulary
from provio.store.embedded.writer import StoreWriter

PREFIXES = """@prefix lab: <https://lab.example/terms#> .
@prefix provio: <https://w3id.org/provio/ns#> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
TERMS = f"""{PREFIXES}
lab:Calibration rdfs:subClassOf provio:Configuration ; rdfs:label "calibration" .
lab:Fine rdfs:subClassOf lab:Calibration .
lab:Robot rdfs:subClassOf prov:Agent .
"""
LAB = "https://lab.example/terms#"


@pytest.fixture(autouse=True)
def forgotten() -> object:
    """Clear the vocabulary of a test before the next."""
    yield
    for name in [name for name in vocab.vocabulary().parents if name.startswith(LAB)]:
        del vocab.vocabulary().parents[name]
    vocab.superclasses.cache_clear()


def test_a_user_class_has_its_superclasses(tmp_path: Path) -> None:
    """Also through another user class, and in another file."""
    (tmp_path / "a.ttl").write_text(TERMS)
    (tmp_path / "b.ttl").write_text(f"{PREFIXES} lab:Finest rdfs:subClassOf lab:Fine .")
    user_vocabulary.of(Config(ontology=(str(tmp_path / "b.ttl"), str(tmp_path / "a.ttl"))))
    assert {vocab.NS + "Configuration", vocab.PROV + "Entity"} < vocab.superclasses(LAB + "Finest")
    assert vocab.most_specific([vocab.PROV + "Entity", vocab.NS + "Configuration", LAB + "Fine"]) == LAB + "Fine"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lab:X rdfs:subClassOf provio:Metrik .", ":5: no class 'provio:Metrik': did you mean 'Metric'?"),
        ("provio:Metric rdfs:label 'mine' .", ":5: provio:Metric is not yours: name a class of your own"),
        ("lab:X rdfs:subClassOf lab:Y . lab:Y rdfs:subClassOf lab:X .", "is a subclass of no class of provio or PROV"),
        ("lab:X a rdfs:Class .", "<https://lab.example/terms#X> is a subclass of no class of provio or PROV: add "),
        ("lab:X rdfs:subClassOf .", ":5: not Turtle: "),
        (None, "No such file or directory: name an existing Turtle file"),
    ],
)  # fmt: skip
def test_errors_have_file_and_line(tmp_path: Path, text: str | None, said: str) -> None:
    """For a file, a class, a word."""
    if text is not None:
        (tmp_path / "my.ttl").write_text(PREFIXES + text)
    with pytest.raises(ConfigError) as raised:
        user_vocabulary.of(Config(ontology=(str(tmp_path / "my.ttl"),)))
    assert str(raised.value).startswith("ontology: ") and said in str(raised.value), str(raised.value)


@pytest.mark.parametrize("kind", ["fifo", "device", "large"])
def test_special_files_are_refused(tmp_path: Path, kind: str) -> None:
    """A project's settings may name it: a FIFO without a writer, an endless device, a file of a terabyte."""
    path = tmp_path / "my.ttl"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.touch()
        os.truncate(path, 1 << 40)
    said = "is larger than 64 MiB" if kind == "large" else "is no regular file"
    with pytest.raises(ConfigError, match=f"ontology: {path}: {said}: name an existing Turtle file"):
        user_vocabulary.of(Config(ontology=(str(path),)))
    path.rename(tmp_path / "my.rq")
    with pytest.raises(BadQuery, match=f"my.rq: {said}"):
        queries.questions([str(tmp_path)])


@pytest.mark.integration
def test_questions_and_validation_know_them(project: Project) -> None:
    """They are in the store from the next query on, in their present state, and are removed with the setting."""
    asked = f"SELECT ?c {{ GRAPH <{user_vocabulary.ONTOLOGY}> {{ ?c rdfs:subClassOf+ provio:Configuration }} }}"
    (project.path / "terms.ttl").write_text(TERMS)
    (project.path / "provio.toml").write_text('ontology = ["terms.ttl"]\n')
    project.run("echo x > out")
    assert {row["c"] for row in project.rows(asked)} == {LAB + "Calibration", LAB + "Fine"}
    assert project.lineage("out")["nodes"] != []
    assert project.provio("validate").stdout.endswith("nothing found\n")
    (project.path / "terms.ttl").write_text(TERMS.replace("Fine", "Coarse"))
    assert {row["c"] for row in project.rows(asked)} == {LAB + "Calibration", LAB + "Coarse"}
    (project.path / "mine.ttl").write_text(f"{PREFIXES} <urn:r> a provio:Run , prov:Activity . <urn:x> a lab:Coarse .")
    done = project.provio("validate", "mine.ttl", code=1)
    assert "an entity must be typed prov:Entity too" in done.stdout
    (project.path / "provio.toml").write_text("")
    assert project.rows(asked) == []
    assert project.provio("validate", "mine.ttl").stdout != done.stdout
    (project.path / "provio.toml").write_text('ontology = ["gone.ttl"]\n')
    refused = project.provio("lineage", "out", code=2)
    assert refused.stderr.startswith(f"provio: ontology: {project.path}/gone.ttl: No such file")


def test_the_content_of_a_file(tmp_path: Path) -> None:
    """The superclasses of each class, and all statements except those with blank nodes."""
    path, owl = tmp_path / "a.ttl", user_vocabulary.OWL
    more = f"""lab:Fine rdfs:subClassOf provio:Metric , [ a <{owl}Restriction> ] ; a rdfs:Class .
        lab:Owl a <{owl}Class> . lab:Plain a rdfs:Class . lab:one a lab:Robot . [] rdfs:subClassOf lab:Fine ."""
    path.write_text(TERMS + more)
    words = user_vocabulary.Words([], {LAB + "Robot": frozenset({"urn:other"})})
    user_vocabulary.read(path, words)
    assert words.parents == {
        LAB + "Calibration": {vocab.NS + "Configuration"},
        LAB + "Fine": {LAB + "Calibration", vocab.NS + "Metric"},
        LAB + "Robot": {vocab.PROV + "Agent", "urn:other"},
        LAB + "Owl": set(),
        LAB + "Plain": set(),
    }
    below, kind = f"<{vocab.RDFS}subClassOf>", f"<{vocab.RDF}type>"
    triples = [
        ("Calibration", below, f"<{vocab.NS}Configuration>"), ("Calibration", f"<{vocab.RDFS}label>", '"calibration"'),
        ("Fine", below, f"<{LAB}Calibration>"), ("Robot", below, f"<{vocab.PROV}Agent>"),
        ("Fine", below, f"<{vocab.NS}Metric>"), ("Fine", kind, f"<{vocab.RDFS}Class>"), ("Owl", kind, f"<{owl}Class>"),
        ("Plain", kind, f"<{vocab.RDFS}Class>"), ("one", kind, f"<{LAB}Robot>"),
    ]  # fmt: skip
    assert words.lines == [f"<{LAB}{one}> {two} {three} .\n" for one, two, three in triples]


def test_a_graph_of_the_store_is_replaced_if_it_differs(tmp_path: Path) -> None:
    """In any order of its lines; without lines it is dropped."""
    one, other = "<urn:a> <urn:p> <urn:b> .\n", "<urn:b> <urn:p> <urn:a> .\n"
    with StoreWriter(Home(tmp_path), True) as store:
        found = []
        for lines in ([], [one, other], [other, one], [one], [], []):
            changed = user_vocabulary.update(store, user_vocabulary.Words(lines, {}))
            stated = {f"{quad.triple} .\n" for quad in store.store if str(quad.graph_name) == f"<{implied.ONTOLOGY}>"}
            index = {quad.predicate.value for quad in store.store if str(quad.graph_name) == "DEFAULT"}
            found.append((changed, stated, len(index)))
    both = {one, other}
    expected = [(False, set(), 0), (True, both, 2), (False, both, 2), (True, {one}, 2), (True, set(), 0)]
    assert found == [*expected, expected[0]]
