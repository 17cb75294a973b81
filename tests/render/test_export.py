"""Exports of real runs: the PyPI package `prov` reads every record, in every format; other parsers read them too."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest
from conftest import Project, assert_valid, new_project
from test_prov_package import lost

FORMATS = {
    "trig": pyoxigraph.RdfFormat.TRIG,
    "nquads": pyoxigraph.RdfFormat.N_QUADS,
    "ttl": pyoxigraph.RdfFormat.TURTLE,
}


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Iterator[Project]:
    """A project with two runs: pipes, forks, renames, an append, a Python program."""
    project = new_project(tmp_path_factory.mktemp("worked"))
    project.sh("mkdir d; echo 1 > d/one; echo 2 > 'd/two words'")
    project.run("tar cf - d | gzip -n > x.tgz; cp x.tgz y; mv y z; cat d/one >> log; cat d/one >> log; rm d/one")
    project.watch("python3", "-c", "open('out', 'w').write(open('log').read())")
    yield project
    assert_valid(project.path / ".provio")


@pytest.mark.parametrize("form", sorted(FORMATS))
@pytest.mark.integration
def test_prov_reads_every_record(worked: Project, form: str) -> None:
    """The records that `prov` reads from an export equal those of the export."""
    data = worked.provio("export", "--as", form).stdout.encode()
    quads = list(pyoxigraph.parse(data, FORMATS[form]))
    assert len(quads) > 300
    missing, added = lost(quads, {"ttl": "turtle"}.get(form, form))
    assert not missing
    assert not added


@pytest.mark.integration
def test_one_run_alone(worked: Project) -> None:
    """`export RUN` holds that run's graph and nothing else."""
    runs = [row["run"] for row in json.loads(worked.provio("runs", "--as", "json").stdout)]
    graphs = {
        q.graph_name.value for q in pyoxigraph.parse(worked.provio("export", runs[1]).stdout.encode(), FORMATS["trig"])
    }
    assert graphs == {f"https://w3id.org/provio/run/{runs[1]}/bundle"}


@pytest.mark.integration
def test_export_to_a_file(worked: Project) -> None:
    """-o writes the same bytes."""
    worked.provio("export", "--as", "nquads", "-o", "all.nq")
    assert (worked.path / "all.nq").read_text() == worked.provio("export", "--as", "nquads").stdout


def test_rapper_and_serdi_read_it(worked: Project, needs: Any) -> None:
    """Two more parsers read the Turtle, and count the same triples as pyoxigraph."""
    needs("rapper", "serdi")
    worked.provio("export", "--as", "ttl", "-o", "all.ttl")
    count = len(list(pyoxigraph.parse(path=worked.path / "all.ttl", format=FORMATS["ttl"])))
    rapper = subprocess.run(
        ["rapper", "-q", "-i", "turtle", worked.path / "all.ttl"], capture_output=True, text=True, check=True
    )
    serdi = subprocess.run(["serdi", "-q", worked.path / "all.ttl"], capture_output=True, text=True, check=True)
    assert (len(rapper.stdout.splitlines()), len(serdi.stdout.splitlines())) == (count, count)


@pytest.mark.integration
def test_no_blank_nodes_and_one_generation_a_version(worked: Project) -> None:
    """Loading twice changes nothing; no version has two generators; only phases, tasks and copies generate."""
    assert worked.count("?s ?p ?o . FILTER(isBlank(?s) || isBlank(?o))") == 0
    assert worked.count("?v prov:wasGeneratedBy ?a, ?b . FILTER(?a != ?b)") == 0
    assert (
        worked.count(
            "?v prov:wasGeneratedBy ?a . "
            "FILTER NOT EXISTS { VALUES ?c { provio:Phase provio:Task provio:Copy } ?a a ?c }"
        )
        == 0
    )
    assert worked.count("?v prov:wasDerivedFrom+ ?v") == 0
    assert worked.count("?v (prov:wasGeneratedBy/prov:used)+ ?v") == 0


@pytest.mark.integration
def test_the_runs_of_a_campaign(tmp_path: Path, shim: Path) -> None:
    """`--campaign` exports its runs and no others, in each kind of form; with a name or a diagram it is refused."""
    project = new_project(tmp_path)
    for number in range(3):
        campaign = "one" if number < 2 else "two"
        project.provio("run", "--quiet", "--campaign", campaign, "--", "sh", "-c", f"echo {number} > f{number}")
    ids = {row["campaign"]: [] for row in json.loads(project.provio("runs", "--as", "json").stdout)}
    for row in json.loads(project.provio("runs", "--as", "json").stdout):
        ids[row["campaign"]].append(row["run"])
    found = project.provio("export", "--campaign", "one", "--as", "nquads").stdout
    graphs = {quad.graph_name.value for quad in pyoxigraph.parse(found.encode(), FORMATS["nquads"])}
    assert graphs == {f"https://w3id.org/provio/run/{run}/bundle" for run in ids["one"]}
    records = json.loads(project.provio("export", "--campaign", "one", "--as", "prov-json").stdout)
    runs = {name.removeprefix("run:") for name in records["activity"] if name.count("/") == 0}
    assert runs == set(ids["one"])
    tasks = json.loads(project.provio("export", "--campaign", "two", "--as", "wfformat").stdout)["workflow"]
    assert [one["id"].partition(".")[0] for one in tasks["specification"]["files"]] == ["f2"]
    assert "no run has the campaign" in project.provio("export", "--campaign", "three", code=3).stderr
    for words in (["f1"], ["--as", "events"], ["--as", "dask-mofka", "-o", "t"]):
        assert "--campaign" in project.provio("export", "--campaign", "one", *words, code=2).stderr
    assert "name a RUN" in project.provio("export", "--campaign", "one", "--as", "dot", code=1).stderr
