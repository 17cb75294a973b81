"""Contents of files for a page: of which files, how much, without secrets, and only of the recorded version."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from conftest import Project

from provio.ask import previews
from provio.trace.redact import Redaction

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("merged_at_once")]
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
    project.provio("merge", "--quiet")  # it waits for the hashes
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


TABLES_WITH_SECRETS = {
    "column.csv": ("user,password,age\nada,{},3\n", [["user", "password", "REDACTED"], ["ada", "REDACTED", "3"]]),
    "camel.csv": ("id,PassWord\n1,{}\n", [["id", "PassWord"], ["1", "REDACTED"]]),
    "words.csv": ("# users\nuser,API key\nada,{}\n", [["# users"], ["user", "API key"], ["ada", "REDACTED"]]),
    "one.csv": ("1,password,{}\n", [["1", "password", "REDACTED"]]),
    "rows.csv": (
        'name,value\ndb_password,"a {}"\nport,3\n', [["name", "value"], ["db_password", "REDACTED"], ["port", "3"]],
    ),
    "rows.tsv": ("key\tvalue\npassword\t{}\n", [["key", "value"], ["password", "REDACTED"]]),
    "headless.csv": ("password,{}\nuser,ada\n", [["password", "REDACTED"], ["REDACTED", "ada"]]),
    "number.csv": ("step,pad_token_id\n1,50256\n", [["step", "pad_token_id"], ["1", "50256"]]),
    "empty.csv": ("user,password\nada,\n", [["user", "password"], ["ada", ""]]),
    "semicolon.csv": ("user;password\nada;{}\n", None),
    "space.csv": ("password {}\n", None),
    "lines.csv": ("a,b\n1,-----BEGIN RSA PRIVATE KEY-----\n{}\n", None),
    "option.json": ('{"args": ["--password", "{}"]}', None),
    "nested.json": ('{"PassWord": {"value": "{}"}}', None),
    "plain.json": ('{"password": "{}", "user": "a"}', '{"password": "REDACTED", "user": "a"}'),
    "none.json": ('{"password": null, "pad_token_id": 5}', '{"password": null, "pad_token_id": 5}'),
    "next.txt": ("Password:\n  {}\n", None),
    "before.txt": ("{} is the password\n", None),
    "part.txt": ("password = a {}\n", None),
    "table.txt": ("user,password\nada,{}\n", None),
    "block.txt": (
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----REDACTED-----END PRIVATE KEY-----",
    ),
    "log.txt": ("pass 1 of 3\n90 tokens per second\n", "pass 1 of 3\n90 tokens per second"),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES_WITH_SECRETS)
def test_the_name_of_a_secret_hides_its_value(name: str) -> None:
    """In a table to its right and below it; a text or JSON with a value that is not hidden is left out."""
    template, expected = TABLES_WITH_SECRETS[name]
    data = template.replace("{}", SECRET).encode()
    found = previews._head(data, False, previews.TABLES.get(f".{name.rpartition('.')[2]}"), Redaction())
    assert (found and found.get("rows", found.get("text"))) == expected


def test_a_drawing_and_own_names_follow_the_same_rule(project: Project) -> None:
    """A label and its value are two texts of a drawing; `redact.add` adds a column."""
    labels = f"<svg xmlns='http://www.w3.org/2000/svg'><text>Password:</text><text>{SECRET}</text></svg>".encode()
    (project.path / "provio.toml").write_text('[redact]\nadd = ["*PIN"]\n')
    record(project, labels__svg=labels, pins__csv=f"user,door pin\nada,{SECRET}\n".encode())
    assert {name: one["rows"] for name, one in shown(project).items()} == {
        "pins.csv": [["user", "door pin"], ["ada", "REDACTED"]]
    }
