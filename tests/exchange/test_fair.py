"""Facts about FAIR results: each changes with the fact that it is about, and none is stated without its value."""

import json

from conftest import Project


def facts(project: Project, *files: str) -> dict[str, tuple[str, str]]:
    """The facts by name: whether they are met, and their value."""
    rows = json.loads(project.answer("status", *files, "--fair", "--as", "json"))
    assert all(row["metric"].startswith("FsF-") and row["value"] for row in rows)
    return {row["fact"]: (row["met"], row["value"]) for row in rows}


def test_facts_follow_the_description_and_the_record(project: Project) -> None:
    project.sh("printf '1234567890' > raw")
    project.watch("cp", "raw", "out")
    before = facts(project)
    for name in ("persistent identifier", "title", "creators", "licence", "publisher"):
        assert before[name] == ("no", "[project] in provio.toml does not state it")
    assert before["bytes with a recorded producer"] == ("partly", "50 %, 10 B of 20 B")
    assert before["files with a hash"][0] == "no"
    assert before["record without gaps"][0] == "yes"
    settings = 'title = "T"\nlicence = "MIT"\npublisher = "P"\nidentifiers = ["10.5281/zenodo.1"]\n'
    people = '[project.creators]\n"Ada" = "0000-0002-1825-0097"\n"Bob" = ""\n'
    (project.path / "provio.toml").write_text(f"[project]\n{settings}{people}")
    project.hashed("cp", "raw", "out")
    after = facts(project, "out")
    assert after["creators"] == ("yes", "Ada (0000-0002-1825-0097), Bob (no ORCID)")
    assert after["licence"] == ("yes", "MIT")
    assert after["files with a hash"] == ("yes", "100 %, 2 of 2 versions")


def test_gaps_are_named(project: Project) -> None:
    project.provio("run", "--quiet", "--no-record", "pipe", "--", "sh", "-c", "echo 1 | cat > out")
    met, value = facts(project)["record without gaps"]
    assert met == "no"
    assert "by its settings this was not recorded: pipe" in value


def test_the_table_has_every_fact(project: Project) -> None:
    project.watch("sh", "-c", "echo 1 > out")
    shown = project.answer("status", "--fair")
    assert all(name in shown for name in facts(project))
