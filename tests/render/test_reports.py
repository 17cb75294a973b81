"""The reports: whole expected texts of hand-written documents, and names that want to be something else than text."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import documents
import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, QueryResultsFormat, Store, Variable

from provio.ask.document import Lineage, arguments, command_line
from provio.ask.merged_tasks import merged
from provio.base import text
from provio.base.table import align
from provio.exchange import dot_text as dot
from provio.render import json as document_json
from provio.render import rows, table, tree

CHAIN = """\
xcorr.h5  812.0 kB
│ xcorr.py  2026-11-20 12:17:00 UTC, 2 min 5 s
│ $ python3 xcorr.py --stack 30 --title 'my stack' /data/decimate.h5 /data/xcor…
└─ decimate.h5  5.2 MB
   │ decimate.py  2026-11-20 12:16:02 UTC, 412 ms
   │ $ python3 decimate.py --factor 10 /data/WestSac.h5 /data/decimate.h5
   └─ WestSac.h5  52.4 MB
      │ tdms2h5.py  2026-11-20 12:15:46 UTC, 3.2 s
      │ $ python3 tdms2h5.py /data/WestSac.bin /data/WestSac.h5
      └─ WestSac.bin  52.4 MB
412 system files hidden (--all)
1 input of the programs that started these (--via control)
"""

FORWARD = """\
WestSac.bin  52.4 MB
└─ tdms2h5.py  2026-11-20 12:15:46 UTC, 3.2 s
   │ $ python3 tdms2h5.py /data/WestSac.bin /data/WestSac.h5
   └─ WestSac.h5  52.4 MB
      └─ decimate.py  2026-11-20 12:16:02 UTC, 412 ms
         │ $ python3 decimate.py --factor 10 /data/WestSac.h5 /data/decimate.h5
         └─ decimate.h5  5.2 MB
            └─ xcorr.py  2026-11-20 12:17:00 UTC, 2 min 5 s
               │ $ python3 xcorr.py --stack 30 --title 'my stack' /data/decimat…
               └─ xcorr.h5  812.0 kB
412 system files hidden (--all)
"""

DIAMOND = """\
/data/joined.csv
| join  2026-11-20 08:00:01 UTC, 1 h 30 min, exit code 3
| $ join left.csv right.csv
|- /data/left.csv
|  | split  2026-11-20 08:00:00 UTC, 20 ms
|  | $ split raw.csv
|  `- /data/raw.csv
`- /data/right.csv
   | split  (above)
   `- /data/raw.csv  (above)
"""

CARRIED = """\
/data/y
│ worker  2026-11-20 08:00:01 UTC, 1.0 s
│ $ ./worker
├─ /data/b
├─ /data/y-yesterday  revised
└─ /data/a  carried
     ! coarse clock
! static program: its files were not seen (https://w3id.org/provio/run/0193/nod…
"""

LONE = """\
/data/only.txt
  ! changed since it was recorded at 2026-11-20 12:00:00 UTC
  no recorded origin
"""

HOSTILE = """\
/data/</title><b>out.h5
| i>.py  2026-11-20 08:00:00 UTC, 2.0 s
| $ python3 '<script>alert(1)</script>' '' '\\ufffd' '\\x1b[31m'
| ! </script><script>window.hurt=1</script>
|- /data/\\x1b[31mred\\x1b]0;title\\x07
|- /data/<!--
|- /data/</script><img src=x onerror=window.hurt=1>
|- /data/<script>window.hurt=1</script>
|- /data/]]>
|- /data/byte\\ufffd\\ufffds
|- /data/https://example.org/?a=1&b="2"
|- /data/new\\nline\\r\\ttab
|- /data/quote"s and 'these' & \\ {{7*7}}
|- /data/right\\u202etfel\\u202c \\u05d0\\u05d1
|- /data/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
|- /data/\\u2028line\\u2029par
`- /data/\\u65e5\\u672c\\u8a9e\\u306e\\u30d5\\...e\\u306e\\u30d5\\u30a1\\u30a4\\u30eb\\u540d
"""


@pytest.mark.parametrize(
    ("document", "options", "expected"),
    [
        (documents.chain_document(), {"folder": "/data"}, CHAIN),
        (documents.chain_document(forward=True), {"folder": "/data"}, FORWARD),
        (documents.diamond_document(), {"unicode": False}, DIAMOND),
        (documents.carried_document(), {}, CARRIED),
        (documents.lone_document(), {}, LONE),
        (documents.hostile_document(), {"unicode": False}, HOSTILE),
    ],
    ids=["chain", "forward", "diamond", "carried", "lone", "hostile"],
)
def test_tree_is_as_expected(document, options, expected):
    """The whole text, at 80 columns."""
    assert tree.render(document, **options) == expected


def test_carried_forward_goes_through_the_later_phase():
    """The inputs of a later phase of a process are marked `carried` below the phase that read the file."""
    document = documents.carried_document()
    document["direction"] = "forward"
    document["target"] = next(node["iri"] for node in document["nodes"] if node["label"] == "a")
    assert tree.render(document).splitlines()[:5] == [
        "/data/a",
        "│ ! coarse clock",
        "└─ worker  2026-11-20 08:00:00 UTC, 1.0 s",
        "   │ $ ./worker",
        "   └─ /data/y  carried",
    ]


def test_no_line_is_wider_than_the_terminal():
    """Any document, any usual width, Unicode or not; wide characters count two columns."""
    for document in (documents.hostile_document(), documents.long_document(60), documents.chain_document()):
        for width in (60, 80, 133):
            for unicode in (True, False):
                lines = tree.render(document, width=width, unicode=unicode).splitlines()
                assert max(map(text.columns, lines)) <= width


def test_without_a_width_nothing_is_cut():
    """Output to a file or a pipe contains every path completely."""
    written = tree.render(documents.hostile_document(), width=None)
    assert "x" * 4000 in written


def test_colour_changes_nothing_but_colour():
    """Without its colours the coloured tree is the plain one; hostile names bring no escape of their own."""
    for document in (documents.carried_document(), documents.hostile_document()):
        coloured = tree.render(document, color=True)
        assert "\x1b[2m" in coloured
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == tree.render(document)
        assert "\x1b" not in tree.render(document)


def test_long_chain_goes_on_below():
    """A chain of 1,000 steps is shown completely, in bounded width, without recursion, each file once at the front."""
    written = tree.render(documents.long_document(1000))
    lines = written.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(f"/data/step{n:04d}" in written for n in range(1001))
    assert written.count("(below)") == lines.count("")


def test_cycle_ends():
    """In a damaged graph, a file that is its own ancestor is shown once."""
    document = documents.diamond_document()
    nodes = {node["label"]: node for node in document["nodes"]}
    document["edges"].append(documents.edge(nodes["raw.csv"], "wasGeneratedBy", nodes["join"]))
    assert "(above)" in tree.render(document)


def test_table_is_as_expected():
    """Nodes by depth; nodes without depth come last."""
    document = documents.carried_document()
    document["hidden"] = 1
    assert (
        table.render(document, width=100, unicode=False)
        == """\
type         label        via      depth  path               run  start
-----------  -----------  -------  -----  -----------------  ---  -----------------------
FileVersion  y            data         0  /data/y
FileVersion  a            carried      1  /data/a
FileVersion  b            data         1  /data/b
FileVersion  y-yesterday  data         1  /data/y-yesterday
Phase        worker                                               2026-11-20 08:00:00 UTC
Phase        worker                                               2026-11-20 08:00:01 UTC
Program      worker                       /home/ada/worker
gap: coarse clock (https://w3id.org/provio/version/disk/125952084778965)
gap: static program: its files were not seen (https://w3id.org/provio/run/0193/node07/99/)
1 system file hidden (--all)
""".replace("125952084778965", str(documents.hash_of("/data/a")))
    )


def test_table_keeps_to_the_width():
    """Cells are cut, not wrapped; hostile names stay on their line."""
    document = documents.hostile_document()
    lines = table.render(document, width=80).splitlines()
    assert len(lines) == 2 + len(document["nodes"]) + 1
    assert max(map(text.columns, lines[:-1])) <= 80


def test_dot_is_as_expected():
    """Arrows in the direction of the data; of two properties for one pair only the specific one."""
    assert (
        dot.render(documents.carried_document())
        == """\
digraph lineage {
  rankdir=LR;
  node [fontname="Helvetica", fontsize=11];
  n0 [shape=box, label="y", tooltip="/data/y", penwidth=3];
  n1 [shape=ellipse, label="worker", tooltip="worker"];
  n2 [shape=ellipse, label="worker", tooltip="worker"];
  n3 [shape=hexagon, label="worker", tooltip="/home/ada/worker"];
  n4 [shape=box, label="b", tooltip="/data/b"];
  n5 [shape=box, label="a", tooltip="/data/a"];
  n6 [shape=box, label="y-yesterday", tooltip="/data/y-yesterday"];
  n5 -> n2;
  n2 -> n1 [style=dashed, label="carriedFrom"];
  n4 -> n1;
  n1 -> n0;
  n6 -> n0 [style=dashed, label="wasRevisionOf"];
  n3 -> n2 [style=dashed, label="wasAssociatedWith"];
  n3 -> n1 [style=dashed, label="wasAssociatedWith"];
}
"""
    )


def test_dot_holds_hostile_names():
    """ASCII, a line a statement, every quote inside a string escaped."""
    written = dot.render(documents.hostile_document())
    assert written.isascii()
    strings = r'"(?:[^"\\\n]|\\.)*"'
    for line in written.splitlines()[1:-1]:
        assert re.fullmatch(rf"  [a-z0-9]+( -> n\d+)?( ?\[([a-z]+=({strings}|\w+),? ?)+\])?;|  rankdir=LR;", line), line


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz (dot) is not installed")
def test_graphviz_reads_dot():
    done = subprocess.run(
        ["dot", "-Tplain"], input=dot.render(documents.hostile_document()), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_json_is_canonical():
    """It reads back as it was; order does not matter; ASCII; half a character is replaced."""
    document = documents.carried_document()
    written = document_json.render(document)
    back = json.loads(written)
    assert {node["iri"]: node for node in back["nodes"]} == {node["iri"]: node for node in document["nodes"]}
    assert len(back["edges"]) == len(document["edges"])
    assert {key: back[key] for key in ("target", "hidden", "control", "direction")} == {
        key: document[key] for key in ("target", "hidden", "control", "direction")
    }
    document["nodes"].reverse()
    document["edges"].reverse()
    document["gaps"].reverse()
    assert document_json.render(document) == written
    hostile = document_json.render(documents.hostile_document())
    assert hostile.isascii()
    assert any(node.get("path") == "/data/byte\ufffd\ufffds" for node in json.loads(hostile)["nodes"])


VARIABLES = ["what", "n"]
ROWS = [
    (NamedNode("https://example.org/a"), Literal(5)),
    (Literal('a,"b"\n\x1b[31m\t', language="en"), None),
    (BlankNode("q"), Literal(12.5)),
    (Literal("=1+1\\"), Literal(-7)),
]


def test_rows_as_csv_and_tsv():
    """By SPARQL 1.1: values in CSV, Turtle terms in TSV; formulas and control characters are made harmless."""
    assert rows.render(VARIABLES, ROWS, "csv") == (
        'what,n\r\nhttps://example.org/a,5\r\n"a,""b""\n\\x1b[31m\t",\r\n_:q,12.5\r\n\'=1+1\\,-7\r\n'
    )
    xsd = "http://www.w3.org/2001/XMLSchema#"
    assert rows.render(VARIABLES, ROWS, "tsv") == (
        f'?what\t?n\n<https://example.org/a>\t"5"^^<{xsd}integer>\n"a,\\"b\\"\\n\\u001B[31m\\t"@en\t\n'
        f'_:q\t"12.5"^^<{xsd}double>\n"=1+1\\\\"\t"-7"^^<{xsd}integer>\n'
    )


@pytest.mark.parametrize("form", ["json", "tsv"])
def test_an_oracle_reads_rows(form):
    """pyoxigraph's own parser finds the same terms."""
    from pyoxigraph import parse_query_results

    parsed = parse_query_results(rows.render(VARIABLES, ROWS, form), getattr(QueryResultsFormat, form.upper()))
    assert [variable.value for variable in parsed.variables] == VARIABLES
    found = [tuple(solution[Variable(name)] for name in VARIABLES) for solution in parsed]
    assert [tuple(str(term) for term in row) for row in found] == [tuple(str(term) for term in row) for row in ROWS]


def test_rows_of_a_real_query():
    """The answer of a store is accepted without conversion."""
    solutions = Store().query('SELECT ?a ?b { VALUES (?a ?b) { (1 "x") (20 UNDEF) } }')
    names = [variable.value for variable in solutions.variables]
    assert rows.render(names, solutions, "table", unicode=False) == " a  b\n--  -\n 1  x\n20\n"


def test_rows_as_a_table():
    """Aligned; numbers to the right; escapes written out; cut to the width."""
    assert (
        rows.render(VARIABLES, ROWS, "table")
        == """\
what                      n
─────────────────────  ────
https://example.org/a     5
a,"b"\\n\\x1b[31m\\t
_:q                    12.5
=1+1\\                    -7
"""
    )
    assert "https://ex…" in rows.render(VARIABLES, ROWS, "table", width=17)


def test_times_in_a_table():
    """To the second, as in all texts; with fractions if they are needed to distinguish the times of a column. Times of
    other zones, and text, are unchanged. Forms for programs have the terms."""
    xsd = NamedNode("http://www.w3.org/2001/XMLSchema#dateTime")
    first, second, other = (
        Literal(text, datatype=xsd)
        for text in ("2026-11-23T00:36:12.25Z", "2026-11-23T00:36:12.5Z", "2026-11-23T00:36:12+02:00")
    )
    found = [(first, first, Literal(first.value)), (first, second, other), (None, first, None)]
    assert (
        rows.render(["start", "end", "text"], found, "table")
        == """\
start                    end                         text
───────────────────────  ──────────────────────────  ─────────────────────────
2026-11-23 00:36:12 UTC  2026-11-23 00:36:12.25 UTC  2026-11-23T00:36:12.25Z
2026-11-23 00:36:12 UTC  2026-11-23 00:36:12.5 UTC   2026-11-23T00:36:12+02:00
                         2026-11-23 00:36:12.25 UTC
"""
    )
    assert rows.render(["start"], [(first,)], "csv") == "start\r\n2026-11-23T00:36:12.25Z\r\n"


def test_a_table_folds_what_is_said_in_words():
    """A long text continues in the next line, at a space; after six lines it is cut. An IRI is cut at once."""
    said = Literal("it is linked statically: its reads and writes are not recorded")
    shown = rows.render(
        ["why", "of"], [(said, NamedNode("https://example.org/a/b/c")), (Literal("a"), None)], "table", width=36
    )
    assert (
        shown
        == """\
why                of
─────────────────  ─────────────────
it is linked       https://example.…
statically: its
reads and writes
are not recorded
a
"""
    )
    shown = rows.render(["why"], [(Literal(" ".join("abcdefgh")),)], "table", width=6, unicode=False)
    assert shown == "why\n------\na b c\nd e f\ng h\n"
    shown = rows.render(["why"], [(Literal(" ".join(["words"] * 8)),)], "table", width=6)
    assert shown == "why\n──────\n" + "words\n" * 5 + "words…\n"


def test_answers_of_ask():
    assert rows.boolean(True, "table") == "true\n"
    assert json.loads(rows.boolean(False, "json")) == {"head": {}, "boolean": False}


@pytest.mark.parametrize(
    ("path", "folder", "expected"),
    [
        ("/data/das/x.h5", "/data/das", "x.h5"),
        ("/data/das/x.h5", "/data/das/out", "../x.h5"),
        ("/data/x", "/a/b/c/d/e", "/data/x"),
        ("/data/link/../x.h5", "/data", "/data/link/../x.h5"),
        ("/data", "/data", "/data"),
        ("relative", "/data", "relative"),
        ("/data/x", None, "/data/x"),
    ],
)
def test_shorter_path(path, folder, expected):
    assert text.shorter_path(path, folder) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [("00.012", "12 ms"), ("03.25", "3.2 s"), ("59.96", "1 min 0 s"), ("00.9996", "1.0 s")],
)
def test_duration(seconds, expected):
    assert text.duration("2026-11-20T12:00:00.000000Z", f"2026-11-20T12:00:{seconds.ljust(9, '0')}Z") == expected


def test_sizes():
    assert [text.size(n) for n in (0, 999, 1000, 999_949, 999_950, 52_428_800)] == [
        "0 B", "999 B", "1.0 kB", "999.9 kB", "1.0 MB", "52.4 MB",
    ]  # fmt: skip


def test_cut_path_keeps_the_name():
    assert text.cut_path("/scratch/project/users/ada/WestSac.bin", 24) == "/scratch/pr…/WestSac.bin"


def test_a_table_keeps_the_names_of_relative_paths():
    """A path is cut in the middle, other texts at their ends."""
    cells = [["scratch/project/ada/WestSac.bin", "scratch/project ada WestSac.bin"]]
    assert align(["file", "text"], cells, width=50).splitlines()[-1] == (
        "scratch/pro…/WestSac.bin  scratch/project ada Wes…"
    )


def test_command_line_is_what_one_would_type():
    assert arguments("python3 my%20input.h5 % %25") == ["python3", "my input.h5", "", "%"]
    assert command_line({"iri": "x", "type": "Phase", "label": "x", "argv": "cat a%20b"}) == "cat 'a b'"


def test_flow_follows_the_data():
    whole, part = documents.file("/data/a.h5"), documents.file("/data/b")
    lineage = Lineage(documents.document(whole, [whole, part], [documents.edge(whole, "hadMember", part)]))
    assert lineage.flow(documents.edge(whole, "hadMember", part)) == (whole["iri"], part["iri"])
    assert lineage.flow(documents.edge(whole, "wasDerivedFrom", part)) == (part["iri"], whole["iri"])
    assert lineage.objects(whole["iri"], "hadMember") == [part["iri"]]


def test_a_lineage_as_json_comes_in_pieces() -> None:
    """A large document is never whole in memory; the pieces are the text, and half a character is none in it."""
    document = documents.wide_document()
    document["nodes"][0]["label"] = "half \ud800, whole \U0001f600"
    pieces = list(document_json.pieces(document))
    assert "".join(pieces) == document_json.render(document)
    assert len(pieces) > 5 and max(map(len, pieces)) < len("".join(pieces)) / 2
    read = json.loads("".join(pieces))
    assert {node["label"] for node in read["nodes"]} >= {"half \ufffd, whole \U0001f600"}
    assert list(read) == ["target", "direction", "nodes", "edges", "gaps", "control", "hidden"] and read["gaps"] == []


def test_forward_tree_of_a_long_chain_of_tasks() -> None:
    """Each task leads to the one that used its result; the last one made a file."""
    start, end, program = documents.file("/data/in"), documents.file("/data/out"), documents.program("/usr/bin/python3")
    nodes, edges, used = [program, start, end], [], start
    for number in range(600):
        start_time = f"2026-11-20T08:{number // 60:02}:{number % 60:02}Z"
        step = documents.phase(number, program, "python3 main.py", start_time, "")
        edges.append(documents.edge(step, "used", used))
        used = documents.result(number) if number < 599 else end
        edges.append(documents.edge(used, "wasGeneratedBy", step))
        nodes += [step, used]
    document = documents.document(start, nodes, edges, direction="forward")
    written = tree.render(document)
    assert "(above)" not in written and written.splitlines()[-1].endswith("out")


def test_processes_whose_tasks_use_results_of_each_other() -> None:
    """As processes they are a cycle; neither uses its own products."""
    start, end, program = documents.file("/data/in"), documents.file("/data/out"), documents.program("/usr/bin/python3")
    worker, other = documents.RUN + "1/", documents.RUN + "2/"
    nodes, edges, used = [program, start, end], [], start
    for number, process in enumerate((worker, worker, other, worker)):
        start_time, more = f"2026-11-20T08:00:0{number}Z", {"task": f"step-{number}", "process": process}
        step = documents.phase(number, program, "python3 main.py", start_time, "", **more)
        edges.append(documents.edge(step, "used", used))
        used = documents.result(number) if number < 3 else end
        edges.append(documents.edge(used, "wasGeneratedBy", step))
        nodes += [step, used]
    for direction, target, last in (("forward", start, end), ("backward", end, start)):
        document = merged(documents.document(target, nodes, edges, direction=direction))
        used_by = [(one["subject"], one["object"]) for one in document["edges"] if one["predicate"].endswith("#used")]
        assert sorted(used_by) == sorted(
            [(worker, start["iri"]), (other, documents.result(1)["iri"]), (worker, documents.result(2)["iri"])]
        )
        assert last["label"] in tree.render(document)
