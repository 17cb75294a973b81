"""Contents of files for a page: of which files, how much, without secrets, and only of the recorded version."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from conftest import Project

from provio.ask import previews

pytestmark = pytest.mark.integration
SECRET = "hunter2-correct-horse"


def shown(project: Project, *arguments: str) -> dict[str, Any]:
    """Return the previews in the page of the last run, by the name of the file; those of its inputs left out."""
    project.provio("view", *arguments, "-o", "page.html")
    page = (project.path / "page.html").read_text(encoding="utf-8")
    given = page[page.rindex("const given = { head: ") + len("const given = { head: ") :]
    head = json.JSONDecoder().raw_decode(given)[0]
    start = given.index(" nodes: [") + len(" nodes: ")
    nodes = json.JSONDecoder().raw_decode(given[start:])[0]
    names = {node["iri"]: node.get("path", "").removeprefix(f"{project.path}/") for node in nodes}
    found = {names[iri]: preview for iri, preview in head.get("previews", {}).items()}
    return {name: preview for name, preview in found.items() if not name.startswith("from/")}


def record(project: Project, **files: bytes) -> None:
    """Record a program that writes files of these contents; `__` in a name stands for a point."""
    for name, content in files.items():
        (project.path / "from").mkdir(exist_ok=True)
        (project.path / "from" / name.replace("__", ".")).write_bytes(content)
    project.run("cp from/* from/.[a-z]* . 2>/dev/null; true")


def test_heads_of_tables_and_texts(project: Project) -> None:
    """Ten rows, twelve columns, short cells; binary data and empty files have none."""
    rows = [",".join(f"{row}.{column}" for column in range(20)) for row in range(30)]
    record(
        project, table__csv="\n".join(rows).encode(), tabs__tsv=b"a\tb,c\n1\t2\n", note__txt="é\x1b[1m\n".encode(),
        long__json=b'{"a": "' + b"x" * 9000 + b'"}', data__csv=b"a\0b\n", latin__txt=b"\xe9\n", none__txt=b"",
        bad__csv=b'"a\n"b"c,\r1', other__bin=b"plain\n",
    )  # fmt: skip
    found = shown(project)
    assert found.keys() == {"table.csv", "tabs.tsv", "note.txt", "long.json", "bad.csv"}
    assert found["table.csv"]["rows"] == [[f"{row}.{column}" for column in range(12)] for row in range(10)]
    assert found["table.csv"]["more"] is True
    assert found["tabs.tsv"] == {"kind": "table", "rows": [["a", "b,c"], ["1", "2"]], "more": False}
    assert found["note.txt"] == {"kind": "text", "text": "é\x1b[1m", "more": False}
    assert len(found["long.json"]["text"]) == previews.LINE and found["long.json"]["more"] is True


def test_pictures_are_what_their_names_say_and_small(project: Project) -> None:
    png, svg = b"\x89PNG\r\n\x1a\n" + b"x" * 90, b"<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'/>"
    large = png + b"x" * previews.LARGEST
    record(project, a__png=png, b__PNG=png, c__jpg=png, d__svg=svg, e__svg=b"<html></html>", f__png=large)
    found = shown(project)
    assert found == {
        "a.png": {"kind": "picture", "data": "data:image/png;base64," + base64.b64encode(png).decode()},
        "b.PNG": {"kind": "picture", "data": "data:image/png;base64," + base64.b64encode(png).decode()},
        "d.svg": {"kind": "picture", "data": "data:image/svg+xml;base64," + base64.b64encode(svg).decode()},
    }


def test_a_changed_file_has_none_and_a_touched_one_has(project: Project) -> None:
    """Content decides, if its hash is recorded."""
    project.env["PROVIO_HASH"] = "auto"
    record(project, same__csv=b"a,b\n", other__csv=b"a,b\n", gone__csv=b"a,b\n", link__csv=b"a,b\n")
    assert shown(project).keys() == {"same.csv", "other.csv", "gone.csv", "link.csv"}
    project.sh(
        "touch same.csv; echo c,d > other.csv; rm gone.csv link.csv; ln -s /etc/passwd link.csv; mkfifo gone.csv"
    )
    assert shown(project).keys() == {"same.csv"}


def test_a_page_keeps_what_others_must_not_see(project: Project) -> None:
    """Not from a file with the name of one, from a hidden one, or from a text or drawing that contains one."""
    text = f"password = {SECRET}\n".encode()
    drawing = f"<svg xmlns='http://www.w3.org/2000/svg'><text>password={SECRET}</text></svg>".encode()
    record(
        project, __env=text, id_rsa__txt=text, server__pem=text, my_passwords__csv=text, api_key__json=text,
        plain__txt=text + b"x = 1\n", drawn__svg=drawing, cell__csv=f"name,token\nada,ghp_{'a1B2' * 9}\n".encode(),
    )  # fmt: skip
    found = shown(project)
    assert found.keys() == {"plain.txt", "cell.csv"}
    assert found["plain.txt"]["text"] == "password = REDACTED\nx = 1"
    assert found["cell.csv"]["rows"] == [["name", "token"], ["ada", "REDACTED"]]
    page = (project.path / "page.html").read_text(encoding="utf-8")
    assert SECRET not in page and base64.b64encode(drawing).decode() not in page and "ghp_" not in page


def test_it_is_switched_off_and_limited(project: Project) -> None:
    """At most 200 files, those that the page is about first."""
    record(project, **{f"f{n:03}__csv": b"a,b\n" for n in range(110)})
    assert {name: one["rows"] for name, one in shown(project, "f109.csv").items()} == {"f109.csv": [["a", "b"]]}
    project.provio("view", "-o", "page.html")
    page = (project.path / "page.html").read_text(encoding="utf-8")
    assert page.count('"kind": "table"') == previews.FILES
    assert shown(project, "--no-preview") == {}
