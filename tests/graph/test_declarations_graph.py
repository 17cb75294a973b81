"""Declarations of programs: from synthetic traces to the graph and to queries."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Project, assert_valid
from synthetic_traces import File, Process, Run

from provio.ask.document import ACTIVITIES, AGENTS
from provio.ask.lineage import Scope, lineage
from provio.ask.target import find_target
from provio.base.vocab import NS
from provio.merge.removal import remove
from provio.merge.runs import merge
from provio.settings import schema
from provio.settings.home import Home
from provio.store import open_reader

Ask = Callable[[str], list[tuple[str, ...]]]
REVISIONS = """SELECT DISTINCT ?late ?early { ?l prov:wasRevisionOf ?e ; prov:wasDerivedFrom ?e .
    ?l prov:hadMember/provio:value ?late . ?e prov:hadMember/provio:value ?early }"""
VERSIONS = "SELECT DISTINCT ?value ?n { ?c provio:version ?n ; prov:hadMember/provio:value ?value }"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    folder = tmp_path / ".provio"
    folder.mkdir(mode=0o700)
    return Home(folder)


def query_of(home: Home, *runs: Run) -> Ask:
    """Write and merge runs; return a function that queries the store."""
    for run in runs:
        run.write()
    assert merge(home).damages == []
    assert_valid(home.path)
    reader = open_reader(home)
    return lambda query: sorted(tuple(row.values()) for row in reader.rows(query))


def configured(home: Home, number: int, *values: float | str, program: str = "train.py") -> Run:
    """Create a run of a program that uses one value after the other."""
    run = Run(home, number)
    process = run.process(program)
    for value in values:
        process.configure("args", lr=value)
    return run


def test_values_keep_their_types(home: Home) -> None:
    run = Run(home, 1)
    settings = {"lr": 1e-3, "epochs": 3, "name": "x", "flag": True, "none": float("nan"), "low": float("-inf")}
    run.process("train.py").configure("args", "Hyperparameter", **settings)
    ask = query_of(home, run)
    found = ask("""SELECT ?name ?value (REPLACE(STR(DATATYPE(?value)), '.*#', '') AS ?type) {
        ?c a provio:Hyperparameter, provio:Configuration ; prov:hadMember ?s .
        ?s provio:name ?name ; provio:value ?value }""")
    assert found == [
        ("epochs", "3", "integer"), ("flag", "true", "boolean"), ("low", "-INF", "double"),
        ("lr", "0.001", "double"), ("name", "x", "string"), ("none", "NaN", "double"),
    ]  # fmt: skip
    assert ask("SELECT ?name { ?s provio:name ?name ; provio:value ?v FILTER(?v < 0.01) }") == [("low",), ("lr",)]


@pytest.mark.integration
def test_equal_values_are_one_version_in_any_run_and_order(home: Home) -> None:
    runs = [Run(home, number) for number in range(4)]
    orders = [{"a": 1, "b": "x"}, {"b": "x", "a": 1}, {"a": 1.0, "b": "x"}, {"a": "1", "b": "x"}]
    for run, settings in zip(runs, orders, strict=True):
        run.process("train.py").configure("args", **settings)
    ask = query_of(home, *runs)
    versions = [version for _, version in ask("SELECT ?run ?c { ?run a provio:Run ; provio:hadConfiguration ?c }")]
    assert len(versions) == 4
    assert len(set(versions)) == 3  # 1, 1.0 and "1" are different values; the numbers compare as equal
    alike = ask("SELECT DISTINCT ?c { ?c prov:hadMember [ provio:name 'a' ; provio:value ?v ] FILTER(?v = 1) }")
    assert len(alike) == 2


@pytest.mark.integration
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_changed_version_revises_the_one_before(home: Home, order: tuple[int, ...]) -> None:
    """For any order of merges: 1 → 2 → 1 → 3 in one run, 2 → 4 in the next; versions of another program are
    separate."""
    runs = [configured(home, 1, 1, 2, 1, 3), configured(home, 2, 2, 4), configured(home, 3, 2, 1, program="other")]
    for number in order:
        ask = query_of(home, runs[number])
    assert ask(REVISIONS) == [("2", "1"), ("3", "1"), ("4", "2")]
    assert ask(VERSIONS) == [("1", "1"), ("2", "2"), ("3", "3"), ("4", "4")]


@pytest.mark.integration
def test_removing_a_run_leaves_the_graph_of_the_others(home: Home) -> None:
    runs = [configured(home, 1, 1, 2), configured(home, 2, 2, 3), configured(home, 3, 1, 3)]
    query_of(home, *runs)
    remove(home, [runs[0].id], schema.Config())
    reader = open_reader(home)
    found = sorted(tuple(row.values()) for row in reader.rows(REVISIONS))
    assert found == [("1", "3"), ("3", "2")]
    assert_valid(home.path)


def test_declarations_before_a_kill_are_kept(home: Home) -> None:
    run = Run(home, 1)
    run.process("train.py").configure("args", "", False, lr=1, epochs=2)
    run.process("train.py").configure("args", lr=1, epochs=2)
    ask = query_of(home, run)
    assert len(ask("SELECT ?c { ?c a provio:Configuration ; provio:complete false }")) == 1
    assert len(ask("SELECT ?c { ?c a provio:Configuration }")) == 2


def test_metrics_keep_their_order_and_their_step(home: Home) -> None:
    run = Run(home, 1)
    process = run.process("train.py")
    process.begin("train")
    for step, value in enumerate((0.5, 0.25, 0.75)):
        process.metric("accuracy", value, step, "Accuracy")
    process.finish()
    process.metric("wall", 9, kind="Seconds")
    ask = query_of(home, run)
    train = "?task a provio:Task ; provio:name 'train' ; provio:hadMetric ?m ."
    found = ask(f"SELECT ?at ?step ?v {{ {train} ?m provio:step ?step ; provio:value ?v ; prov:generatedAtTime ?at }}")
    assert [row[1:] for row in found] == [("0", "0.5"), ("1", "0.25"), ("2", "0.75")]
    assert ask("SELECT ?kind ?v { ?m a provio:Metric ; provio:kind ?kind ; provio:value ?v }") == [("Seconds", "9")]
    assert len(ask("SELECT ?m { ?m a provio:Metric, provio:Accuracy ; prov:wasGeneratedBy/provio:partOf ?t }")) == 3
    assert len(ask("SELECT ?m { ?run a provio:Run ; provio:hadMetric ?m }")) == 4


def save(process: Process, file: File, step: int, **metrics: float) -> None:
    process.plain(file, "w").write().close()
    process.checkpoint(file.path, step, **metrics)


CHECKPOINTS = """SELECT ?step ?size ?lr ?metric ?value { ?c a provio:Checkpoint ; provio:step ?step ;
    prov:hadMember/provio:size ?size . OPTIONAL { ?c provio:hadConfiguration/prov:hadMember [ provio:value ?lr ] }
    OPTIONAL { ?c provio:hadMetric [ provio:name ?metric ; provio:value ?value ] } }"""


def test_each_checkpoint_is_a_version_with_the_configurations_in_force(home: Home) -> None:
    run, model = Run(home, 1), File("/data/model.pt")
    process = run.process("train.py")
    for step in (1, 2):
        process.configure("args", lr=step)
        process.metric("loss", 1 / step, step)
        save(process, model, step, accuracy=step / 10)
        process.metric("loss", 99, step)
    ask = query_of(home, run)
    known = {row[0]: row[2:] for row in ask(CHECKPOINTS) if row[3] == "loss"}
    assert known == {"1": ("1", "loss", "1"), "2": ("2", "loss", "0.5")}
    assert len(ask("SELECT DISTINCT ?v { ?c a provio:Checkpoint ; prov:hadMember ?v }")) == 2
    assert [row[-1] for row in ask(CHECKPOINTS) if row[3] == "accuracy"] == ["0.1", "0.2"]


def test_each_thread_has_the_declarations_of_its_own_task(home: Home) -> None:
    """First the declarations of the Task, then those of its enclosing Tasks, then those of the process."""
    run = Run(home, 1)
    process = run.process("train.py")
    process.configure("args", lr=0)
    process.metric("loss", 0.5)
    for number in (1, 2):
        process.begin(f"fold {number}")
        if number == 1:
            process.configure("args", lr=number)
        process.begin("validate")
        process.metric("loss", float(number))
        process.finish(back=f"../t{3 * number - 2}")
        process.begin("save")
        save(process, File(f"/data/{number}.pt"), number)
        process.finish()
    ask = query_of(home, run)
    assert [row[0:1] + row[2:] for row in ask(CHECKPOINTS)] == [("1", "1", "loss", "1"), ("2", "0", "loss", "2")]


@pytest.mark.integration
def test_a_folder_is_the_files_below_it_that_were_there(home: Home) -> None:
    run = Run(home, 1)
    process = run.process("train.py")
    files = [File(f"/data/iter_1/mp_rank_0{rank}/model.pt") for rank in range(2)]
    process.plain(File("/data/iter_10/model.pt"), "w").write().close()
    for file in files:
        process.plain(file, "w").write().close()
    process.checkpoint("/data/iter_1/", 1)
    process.plain(File("/data/iter_1/later"), "w").write().close()
    ask = query_of(home, run)
    members = "?c a provio:Checkpoint ; prov:hadMember/prov:specializationOf/provio:path ?path"
    assert ask(f"SELECT ?path {{ {members} }}") == [(file.path,) for file in files]


def test_an_entity_without_a_file_is_part_of_lineage(home: Home) -> None:
    """A database row made from a, then used, then changed: x comes from its first state, the second state also from
    b."""
    run = Run(home, 1)
    process = run.process("load.py")
    row = process.entity("patients/7", "Row", age=41)
    process.plain(File("/data/a")).read().close()
    process.used(row, made=True)
    process.plain(File("/data/b")).read().close()
    again = process.entity("patients/7", "Row")
    process.used(again, made=True)
    reader = run.process("model.py")
    reader.used(process.entity("other", "Row"))
    ask = query_of(home, run)
    from_ = """?e a provio:DataObject ; provio:name 'patients/7' ; prov:wasGeneratedBy ?p .
        ?p prov:used/prov:specializationOf/provio:path ?path"""
    assert [row[1:] for row in ask(f"SELECT ?e ?path {{ {from_} }}")] == [("/data/a",), ("/data/b",)]
    assert ask("SELECT ?kind ?age { ?e provio:kind ?kind ; prov:hadMember [ provio:name 'age' ; provio:value ?age ] }")


def test_a_folder_that_was_used_is_the_files_that_were_read_in_it(home: Home) -> None:
    """Of the files that the program had read by then; no others represent the folder."""
    run = Run(home, 1)
    process = run.process("resume.py")
    for name in ("/data/ckpt/a", "/data/ckpt/b", "/data/ckpt.old/c"):
        process.plain(File(name)).read().close()
    process.used("/data/ckpt")
    process.plain(File("/data/x"), "w").write().close()
    ask = query_of(home, run)
    assert ask("SELECT ?path { ?p prov:used/prov:specializationOf/provio:path ?path }") == [
        ("/data/ckpt.old/c",), ("/data/ckpt/a",), ("/data/ckpt/b",)
    ]  # fmt: skip
    assert ask("SELECT ?e { ?e a provio:DataObject ; provio:name '/data/ckpt' }") == []


def ancestors(home: Home, name: str) -> set[str]:
    """Return the sources of the newest version of a file: paths of files, labels of other entities."""
    reader = open_reader(home)
    found = lineage(reader, [find_target(reader, name)], Scope())
    entities = [node for node in found["nodes"] if node["type"] not in ACTIVITIES | AGENTS and node["depth"]]
    return {node.get("path") or node["label"] for node in entities}


@pytest.mark.integration
def test_a_changed_configuration_is_not_made_from_the_one_before(home: Home) -> None:
    for number in (1, 2):
        run = Run(home, number)
        process = run.process("train.py")
        process.plain(File(f"/data/{number}")).read().close()
        process.configure("args", lr=number)
        process.plain(File(f"/data/{number}.pt"), "w").write().close()
        query_of(home, run)
    assert ancestors(home, "/data/2.pt") == {"/data/2", "args, version 2: lr 2"}


@pytest.mark.integration
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_a_thing_with_an_identifier_is_one_in_all_runs(home: Home, order: tuple[int, ...]) -> None:
    """A state made by one run is found by the next; a state made later is no ancestor."""
    runs = [Run(home, number) for number in range(3)]
    for number in (0, 2):
        maker = runs[number].process("load.py")
        maker.plain(File(f"/data/{number}")).read().close()
        maker.used(maker.entity("patients", "Table", "db/patients"), made=True)
    user = runs[1].process("model.py")
    user.used(user.entity("patients", "Table", "db/patients"))
    user.plain(File("/data/out"), "w").write().close()
    for number in order:
        query_of(home, runs[number])
    assert ancestors(home, "/data/out") == {"patients", "/data/0"}
    remove(home, [runs[0].id], schema.Config())
    assert ancestors(home, "/data/out") == {"patients"}


def test_secrets_are_not_kept(home: Home) -> None:
    run = Run(home, 1)
    process = run.process("train.py")
    process.configure("args", **{"wandb.api_key": "geheim", "url": "https://ada:geheim@host", "max_tokens": 5})
    process.entity("postgres://ada:geheim@host/table", "Row")
    ask = query_of(home, run)
    assert ask("SELECT ?s { ?s ?p ?o FILTER(CONTAINS(STR(?o), 'geheim') || CONTAINS(STR(?s), 'geheim')) }") == []
    assert ask("SELECT ?v { ?s provio:name 'max_tokens' ; provio:value ?v }") == [("5",)]


@pytest.mark.integration
def test_hostile_names_break_nothing(home: Home) -> None:
    run = Run(home, 1)
    process = run.process("train.py")
    names = ["", ">", '"', "a b\n", "\u202e", "x" * 5000, "ключ", "a\\.b", "%2F"]
    process.configure('"> <x', "No such > kind", **dict.fromkeys(names, 1))
    process.metric("> .", 1.5, kind="<")
    process.entity("<>", ">", "\x00<")
    process.checkpoint("/data/a\x01b")
    ask = query_of(home, run)
    kept = ask("SELECT ?name { ?c a provio:Configuration ; prov:hadMember/provio:name ?name }")
    assert {name for (name,) in kept} == set(names) - {""}


@pytest.mark.integration
def test_kinds_are_classes_of_the_user(home: Home, tmp_path: Path) -> None:
    words = tmp_path / "own.ttl"
    words.write_text(f"""@prefix : <https://lab.example/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        :LearningRate rdfs:subClassOf <{NS}Hyperparameter> . :Row rdfs:subClassOf <{NS}DataObject> .""")
    run = Run(home, 1)
    process = run.process("train.py")
    process.configure("args", "LearningRate", lr=1)
    process.entity("7", "https://lab.example/Row")
    process.entity("8", "LearningRate")
    run.write()
    assert merge(home, settings=schema.Config(ontology=(str(words),))).damages == []
    rows = open_reader(home).rows("SELECT ?c { ?x a ?c FILTER(STRSTARTS(STR(?c), 'https://lab.example/')) }")
    assert sorted(row["c"] for row in rows) == ["https://lab.example/LearningRate", "https://lab.example/Row"]
    assert_valid(home.path)
    rows = open_reader(home).rows("SELECT ?n ?k { ?x provio:kind ?k ; provio:name ?n }")
    assert [tuple(row.values()) for row in rows] == [("8", "LearningRate")]


TRAINING = """
import provio
data = open("data.csv").read()
provio.configuration({"optimizer": {"lr": 0.001}, "epochs": 2}, kind="Hyperparameter", name="args")
provio.used(provio.entity("patients/7", kind="Row"))
with provio.activity("train", fold=3) as train:
    train.say(device="cpu")
    for epoch in range(2):
        provio.metric("accuracy", 0.5 + epoch / 4, step=epoch)
        with open("model.pt", "w") as file:
            file.write(data)
        provio.checkpoint("model.pt", step=epoch, metrics={"loss": 0.25})
"""


@pytest.mark.integration
def test_a_checkpoint_names_its_configuration_and_metrics(project: Project) -> None:
    """The lineage of a file saved as a checkpoint, and the run that saved it."""
    project.sh("echo 1 > data.csv")
    (project.path / "train.py").write_text(TRAINING)
    project.watch("python3", "train.py")
    nodes = {node["label"]: node for node in project.lineage("model.pt")["nodes"]}
    arguments = "args, version 1: epochs 2, optimizer.lr 0.001"
    assert {nodes[label]["type"] for label in (arguments, "patients/7")} == {"Hyperparameter", "DataObject"}
    (saved,) = nodes["model.pt"]["checkpoints"]
    assert saved["step"] == 1
    assert [(one["name"], one["value"]) for one in saved["metrics"]] == [("accuracy", "0.75"), ("loss", "0.25")]
    assert [(one["name"], one["version"]) for one in saved["configurations"]] == [("args", 1)]
    tree = project.provio("lineage", "model.pt").stdout
    assert "checkpoint, step 1; accuracy 0.75, loss 0.25; args, version 1" in tree
    assert "patients/7  Row, carried" in tree
    shown = project.provio("show", "last").stdout
    assert f"config   {arguments}\n" in shown
    assert "task     train (device cpu, fold 3)  ok\n" in shown
    assert "metric   accuracy 0.75, step 1, the last of 2\n" in shown
    assert [line.split(", ")[1] for line in shown.splitlines() if line.startswith("saved")] == ["step 0", "step 1"]
