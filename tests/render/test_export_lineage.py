"""`provio export FILE…`: the lineage of files as RDF, in each form; runs and files are not mixed."""

from __future__ import annotations

import pytest
import rdflib
from conftest import Project
from rdflib.namespace import PROV

import provio

pytestmark = pytest.mark.integration
NS = rdflib.Namespace("https://w3id.org/provio/ns#")


@pytest.fixture
def chain(project: Project) -> Project:
    """a → b → c in two runs, and x → y in a third one."""
    project.sh("echo a > a; echo x > x")
    for command in ("cat a > b", "cat b > c", "cat x > y"):
        project.watch("sh", "-c", command)
    return project


def parsed(text: str, form: str) -> set[tuple[str, ...]]:
    """Return the statements of a document without their graphs."""
    found = rdflib.Dataset(default_union=True)
    found.parse(data=text, format=form)
    return {(str(s), str(p), str(o)) for s, p, o in found.triples((None, None, None))}


def test_the_lineage_of_a_file(chain: Project) -> None:
    """All forms have the same statements: those of the lineage document, with paths, command lines and runs."""
    documents = {form: chain.answer("export", "c", "--as", form) for form in ("ttl", "trig", "nquads")}
    found = parsed(documents["ttl"], "turtle")
    assert found == parsed(documents["trig"], "trig") == parsed(documents["nquads"], "nquads")
    lineage = chain.lineage("c")
    assert {(edge["subject"], edge["predicate"], edge["object"]) for edge in lineage["edges"]} <= found
    assert {node["iri"] for node in lineage["nodes"]} <= {subject for subject, _, _ in found}
    here = str(chain.path)
    paths = {o for _, p, o in found if p == str(NS.path) and o.startswith(here)}
    assert paths == {f"{here}/a", f"{here}/b", f"{here}/c"}
    assert {o for _, p, o in found if p == str(NS.argv)} == {"cat a", "cat b"}
    subjects = {s for s, _, _ in found}
    assert {s for s, p, o in found if p == str(rdflib.RDF.type) and o == str(NS.Run)} <= subjects
    assert (
        not {o for _, p, o in found if o.startswith("https://w3id.org/provio/") and p != str(rdflib.RDF.type)}
        - subjects
    )
    assert found <= parsed(chain.answer("export", "--as", "ttl"), "turtle") | {
        one for one in found if one[1].startswith(str(PROV))
    }


def test_several_files_and_refusals(chain: Project) -> None:
    """Known files are exported if others are unknown (exit code 3); a run or a task among files is refused."""
    done = chain.provio("export", "c", "y", "nothing", "--as", "ttl", code=3)
    assert done.stderr.count("\n") == 1
    both = parsed(done.stdout, "turtle")
    assert both >= parsed(chain.answer("export", "y", "--as", "ttl"), "turtle")
    assert both >= parsed(chain.answer("export", "c", "--as", "ttl"), "turtle")
    assert "last is a run: export runs, or files, but not both" in chain.provio("export", "last", "c", code=2).stderr
    two = parsed(chain.answer("export", "last", "last~1", "--as", "ttl"), "turtle")
    assert two == parsed(chain.answer("export", "last", "--as", "ttl"), "turtle") | parsed(
        chain.answer("export", "last~1", "--as", "ttl"), "turtle"
    )
    assert "nothing" in chain.provio("export", "nothing", code=3).stderr
    assert chain.provio("export", "last~1").stdout != chain.provio("export", "last").stdout
    chain.provio("export", "c", "--as", "ttl", "-o", "c.ttl")
    assert parsed((chain.path / "c.ttl").read_text(), "turtle") == parsed(
        chain.answer("export", "c", "--as", "ttl"), "turtle"
    )


def test_python_shows_files(chain: Project) -> None:
    """`store.show` looks a name up as the verb does: a run, or a file, whose rows are those of `why`."""
    with provio.open(chain.path / ".provio") as store:
        shown = {(row.what, row.value) for row in store.show(chain.path / "c")}
        assert ("command", "cat b") in shown
        assert ("path", f"{chain.path}/c") in shown
        assert {row.what for row in store.show("last")} >= {"run", "wrote"}
        with pytest.raises(provio.NothingKnown, match="no run, task or file 'nothing'"):
            store.show("nothing")
