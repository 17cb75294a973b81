"""The competency questions of the Workflow Run RO-Crate group (https://www.researchobject.org/workflow-run-crate/),
as SPARQL over the JSON-LD of a crate: each has the planted answer."""

from __future__ import annotations

import json

import pyoxigraph as ox
import pytest
from crate_judge import inlined
from synthetic_traces import HOST, File, Run

from provio.base.vocab import NS, RUN_BASE
from provio.exchange.description import Description
from provio.exchange.formats import ro_crate
from provio.exchange.subject import Subject
from provio.merge.runs import merge
from provio.settings.home import Home
from provio.store import open_reader

PREFIXES = """PREFIX s: <http://schema.org/> PREFIX w: <https://w3id.org/ro/terms/workflow-run#>
PREFIX b: <https://bioschemas.org/> PREFIX c: <https://bioschemas.org/ComputationalWorkflow#> """
DIGEST = "sha256:" + "ab" * 32
EXECUTABLE = f':mounts "1" ; {File("", 99, mtime=1_700_000_000_000_000_000, size=512).facts}'
QUESTIONS = {
    # Which container images did the run use?
    "images": (
        "?run s:instrument ?workflow ; w:containerImage ?i . ?i w:registry ?a ; s:name ?b ; w:tag ?c ; w:sha256 ?d",
        {("docker.io", "library/debian", "12", "ab" * 32)},
    ),
    # How much memory did a tool use?
    "memory": (
        'FILTER(?a = "largest resident memory") ?run s:instrument/s:name "fit" ; w:resourceUsage ?u . '
        "?u s:name ?a ; s:value ?b ; s:unitCode ?c",
        {("largest resident memory", "123456", "http://qudt.org/vocab/unit/BYTE")},
    ),
    # How many bytes did it read?
    "usage": (
        'FILTER(?a = "bytes that it read from files") ?run s:instrument/s:name "fit" ; w:resourceUsage ?u . '
        "?u s:name ?a ; s:value ?b ; s:unitCode ?c",
        {("bytes that it read from files", "1024", "http://qudt.org/vocab/unit/BYTE")},
    ),
    # Which configuration files and other inputs did a tool use?
    "inputs": (
        '?run s:instrument/s:name "fit" ; s:object ?f . ?f a s:MediaObject ; s:name ?a',
        {("config.yml",), ("in.csv",)},
    ),
    # Which environment did it run in?
    "environment": (
        "?workflow w:environment ?p . ?p s:name ?a . ?v s:exampleOfWork ?p ; s:value ?b . ?run w:environment ?v",
        {("VIRTUAL_ENV", "/home/ada/venv")},
    ),
    # How long did the run take?
    "duration": (
        "?run s:instrument ?workflow ; s:startTime ?a ; s:endTime ?b",
        {("2026-11-20T12:31:40.000+00:00", "2026-11-20T12:31:40.012+00:00")},
    ),
    # Was it successful, and if not, why?
    "success": (
        "?run s:instrument ?workflow ; s:actionStatus ?a ; s:error ?b",
        {("http://schema.org/FailedActionStatus", "exit code 3")},
    ),
    # Which are the outputs of the run?
    "outputs": ("?run s:instrument ?workflow ; s:result ?f . ?f a s:MediaObject ; s:name ?a", {("model.pt",)}),
    # Which version of the software did it use?
    "version": (
        '?x a s:CreateAction ; s:instrument ?t . ?t s:name "fit" ; s:url ?a ; s:softwareVersion ?b',
        {("file:///usr/bin/fit", "modified 2023-11-14T22:13:20.000000Z, 512 bytes")},
    ),
    # Which is the script that wraps the software?
    "script": ("?workflow s:programmingLanguage/s:name ?a ; s:name ?b", {("POSIX shell command language", "fitting")}),
    # Which values had the parameters, and which parameter of the workflow does each belong to?
    "parameters": (
        "?workflow c:input ?p . ?p a b:FormalParameter ; s:additionalType ?a ; s:name ?b . "
        "?v s:exampleOfWork ?p ; s:value ?c . ?run s:instrument ?workflow ; s:object ?v",
        {("Float", "rate", "0.5"), ("Text", "solver", "adam")},
    ),
    # Who ran it, and which step is which part of the workflow?
    "steps": (
        "?workflow s:step ?h . ?h s:position ?a ; s:workExample/s:name ?b . ?ctl s:instrument ?h ; s:object ?run . "
        "?run s:agent/s:name ?c",
        {("1", "fit", "ada")},
    ),
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> ox.Store:
    """The graph of the crate of a run with a planted answer to each question."""
    folder = tmp_path_factory.mktemp("planted")
    home = Home(folder / ".provio")
    home.path.mkdir(mode=0o700)
    run = Run(home, 1, "./fit --rate 0.5", name="fitting", exitCode=3)
    run.environment("VIRTUAL_ENV", "/home/ada/venv")
    run.lines.append(
        f'<{RUN_BASE}{run.id}/image> a :Image ; :name "docker.io/library/debian:12" ; :digest "{DIGEST}" ; '
        ':runtime "podman" .\n'
    )
    process = run.process("fit", "--rate", "0.5")
    process.configure("args", "Hyperparameter", rate=0.5, solver="adam")
    process.plain(File("/data/config.yml")).read().close()
    process.plain(File("/data/in.csv")).read().close()
    process.plain(File("/data/model.pt"), "w").write().close()
    process.say(f"<../> {EXECUTABLE}")
    process.say("<../> :peakMemory 123456")
    run.lines.append(f'<{RUN_BASE}{run.id}/mount/1> a :Mount ; :device "8:1" ; :root "/" ; :mountPoint "/" .\n')
    run.write()
    table = f'<{RUN_BASE}{run.id}/{HOST}/mounts/1> a :MountTable ; :table "5 1 8:1 / / rw - ext4 x rw\\n" .\n'
    (run.folder / HOST / "0.mounts.1.ttl").write_text(f"@prefix : <{NS}> .\n{table}")
    assert merge(home).damages == []
    crate = folder / "crate"
    crate.mkdir()
    ro_crate.fill(Subject(open_reader(home), home, anyway=True), crate, Description())
    store = ox.Store()
    store.load(json.dumps(inlined(crate)).encode(), ox.RdfFormat.JSON_LD, base_iri="http://crate.example/")
    return store


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question(graph: ox.Store, question: str) -> None:
    """The crate answers the question with the planted facts."""
    pattern, answer = QUESTIONS[question]
    names = sorted({word[1:] for word in pattern.replace(";", " ").split() if word in ("?a", "?b", "?c", "?d")})
    variables = " ".join(f"?{name}" for name in names)
    workflow = "<http://crate.example/> s:mainEntity ?workflow ."
    rows = graph.query(f"{PREFIXES} SELECT DISTINCT {variables} {{ {workflow} {pattern} }}")
    assert isinstance(rows, ox.QuerySolutions)
    assert {tuple(row[name].value for name in names) for row in rows} == answer
