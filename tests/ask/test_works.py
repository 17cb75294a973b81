"""Processes that worked together: whole trees of pipelines, pools and repeated steps, from documents made by hand."""

from __future__ import annotations

from itertools import pairwise

from documents import RUN, document, edge, file, phase, program

from provio.ask.document import Edge, LineageDocument, Node
from provio.ask.works import drawn, without_forks
from provio.exchange import dot_text as dot
from provio.render import paths, tree

START, END = "2026-11-20T08:00:00.000000Z", "2026-11-20T08:00:01.000000Z"
RUN_IRI = RUN.removesuffix("/node07/")


def process(number: int, name: str, argv: str, **more: object) -> Node:
    return phase(number, program(f"/bin/{name}"), argv, START, END, run=RUN_IRI, process=f"{RUN}{number}/", **more)


def pipe(number: int) -> Node:
    return {"iri": f"https://w3id.org/provio/pipe/{number}", "type": "Pipe", "label": "pipe", "via": "data", "depth": 1}


def flow(*nodes: Node) -> list[Edge]:
    """The edges along data: file → process → pipe → process …"""
    return [
        edge(after, "used", before) if after["type"] == "Phase" else edge(after, "wasGeneratedBy", before)
        for before, after in pairwise(nodes)
    ]


def pipeline(**more: object) -> LineageDocument:
    raw, out, pipes = file("/d/raw", 3, size=9), file("/d/out", 0, size=4), [pipe(1), pipe(2)]
    grep, sort, awk = (process(n, name, argv) for n, name, argv in
                       ((1, "grep", "grep -v x raw"), (2, "sort", "sort"), (3, "awk", "awk %7Bprint%7D")))  # fmt: skip
    edges = flow(raw, grep, pipes[0], sort, pipes[1], awk, out)
    return document(out, [raw, out, grep, sort, awk, *pipes], edges, **more)


def shown(made: LineageDocument, **more: bool) -> str:
    return tree.render(made, folder="/d", **more)


def test_a_pipeline_is_one_maker() -> None:
    """Its programs in the direction of the data, and its commands; with all plumbing, each process has its place."""
    assert shown(pipeline()) == (
        "out  4 B\n│ grep → sort → awk  2026-11-20 08:00:00 UTC, 1.0 s\n"
        "│ $ grep -v x raw | sort | awk '{print}'\n└─ raw  9 B\n"
    )
    assert shown(pipeline(), unicode=False).splitlines()[1].startswith("| grep -> sort -> awk")
    assert shown(pipeline(), plain=False) == (
        "out  4 B\n│ awk  2026-11-20 08:00:00 UTC, 1.0 s\n│ $ awk '{print}'\n└─ pipe\n"
        "   │ sort  2026-11-20 08:00:00 UTC, 1.0 s\n   │ $ sort\n   └─ pipe\n"
        "      │ grep  2026-11-20 08:00:00 UTC, 1.0 s\n      │ $ grep -v x raw\n      └─ raw  9 B\n"
    )


def test_forward_a_pipeline_is_one_user() -> None:
    """From the first process on."""
    made = pipeline(direction="forward")
    made["target"] = made["nodes"][0]["iri"]
    assert shown(made) == (
        "raw  9 B\n└─ grep → sort → awk  2026-11-20 08:00:00 UTC, 1.0 s\n"
        "   │ $ grep -v x raw | sort | awk '{print}'\n   └─ out  4 B\n"
    )


def test_other_forms_leave_out_pipes() -> None:
    """Paths name the programs, and an edge leads from program to program."""
    made = pipeline()
    nodes = made["nodes"]
    ways = [[nodes[n]["iri"] for n in (1, 4, 6, 3, 5, 2, 0)]]
    assert paths.render({**made, "paths": ways, "ways": 1}, folder="/d") == "out ← awk ← sort ← grep ← raw\n"
    assert [node["label"] for node in drawn(made)["nodes"]] == ["raw", "out", "grep", "sort", "awk"]
    assert dot.render(drawn(made)).count(" -> ") == 4 and "pipe" not in dot.render(drawn(made))


def test_programs_that_are_no_pipeline_are_the_run() -> None:
    """Two sources of one process; without a known command of the run, each program has its lines."""
    out, join, files = file("/d/out", 0), process(9, "join", "join a b"), [file("/d/x", 2), file("/d/y", 2)]
    cuts = [process(n, "cut", f"cut -f{n} f") for n in (1, 2)]
    pipes = [pipe(1), pipe(2)]
    edges = [*flow(files[0], cuts[0], pipes[0], join, out), *flow(files[1], cuts[1], pipes[1], join)]
    made = document(out, [out, join, *files, *cuts, *pipes], edges)
    assert shown({**made, "runs": {RUN_IRI: "sh join.sh"}}) == (
        "out\n│ join.sh  2026-11-20 08:00:00 UTC, 1.0 s\n│ $ sh join.sh\n├─ x\n└─ y\n"
    )
    assert [line for line in shown(made).splitlines() if "$" in line] == [
        "│ $ cut -f2 f",
        "│ $ cut -f1 f",
        "│ $ join a b",
    ]


def test_workers_are_the_program_that_started_them() -> None:
    """Their messages are drawn through: twelve results are twelve sources, not a chain of messages."""
    out, parent = file("/d/out", 0), [process(1, "job.py", "python3 job.py") for _ in range(13)]
    for number, one in enumerate(parent):
        one["iri"] = f"{RUN}1/phase/{number}"
    files, edges, nodes = [file(f"/d/in/{n:02d}", 2, size=5) for n in range(12)], [], []
    for n, one in enumerate(files):
        worker = process(10 + n % 2, "worker", "python3 -m loky", command="python3 job.py")
        worker["iri"] += f"/{n}"
        task, result = pipe(2 * n), pipe(2 * n + 1)
        nodes += [worker, task, result]
        edges += [*flow(parent[n], task, worker, result, parent[n + 1]), edge(worker, "used", one)]
    edges += [edge(after, "carriedFrom", before) for before, after in pairwise(parent)]
    edges.append(edge(out, "wasGeneratedBy", parent[-1]))
    answer = document(out, [out, *parent, *files, *nodes], edges)
    assert shown(answer, fold=True).splitlines()[1:3] == [
        "│ job.py  2026-11-20 08:00:00 UTC, 1.0 s",
        "│ $ python3 job.py",
    ]
    assert shown(answer, fold=True).splitlines()[3:] == ["└─ in/  12 files, 60 B"]
    assert len(shown(answer).splitlines()) == 15


def test_messages_of_a_pool_are_carried() -> None:
    """A worker that read a file itself carries the files of the other worker; the parent, which read none, made its
    file from those of both. Between two programs, a pipe is data."""
    a, b, sum_b, table = file("/d/a", 1), file("/d/b", 1), file("/d/sum_b", 0), file("/d/table", 0)
    first, parent, second = (process(number, "python3", "python3 pool.py") for number in (1, 2, 3))
    results, request, more = pipe(1), pipe(2), pipe(3)
    nodes = [a, b, first, parent, second, results, request, more]
    edges = [*flow(a, first, results, parent, request, second, more, parent), edge(second, "used", b)]
    worker = document(sum_b, [sum_b, *nodes], [*edges, edge(sum_b, "wasGeneratedBy", second)])
    assert shown(worker).splitlines()[3:] == ["├─ b", "└─ a  carried"]
    both = document(table, [table, *nodes], [*edges, edge(table, "wasGeneratedBy", parent)])
    assert shown(both).splitlines()[3:] == ["├─ a", "└─ b"]
    second["argv"] = "python3 other.py"
    assert shown(worker).splitlines()[-2:] == ["├─ a", "└─ b"]


def test_repeated_steps_are_one_line() -> None:
    """Many files that one program made, each from a file of one folder; a file that all used is there once."""
    gather, out, common = process(1, "cat", "cat mid/*"), file("/d/all", 0, size=9), file("/d/k", 2, size=1)
    nodes, edges = [out, gather, common], [edge(out, "wasGeneratedBy", gather)]
    for n in range(250):
        raw, mid = file(f"/d/in/{n}", 2, size=2), file(f"/d/mid/{n}", 1, size=3)
        step = process(10 + n, "step.py", f"python3 step.py in/{n} mid/{n}")
        nodes += [raw, mid, step]
        edges += [*flow(raw, step, mid, gather), edge(step, "used", common)]
    assert shown(document(out, nodes, edges), fold=True) == (
        "all  9 B\n│ cat  2026-11-20 08:00:00 UTC, 1.0 s\n│ $ cat 'mid/*'\n"
        "└─ mid/  250 files, 750 B\n   │ step.py  250 times, 2026-11-20 08:00:00 UTC, 1.0 s\n"
        "   │ $ python3 step.py in/0 mid/0\n   ├─ in/  250 files, 500 B\n   └─ k  1 B\n"
    )
    forward = document(common, nodes, edges, direction="forward")
    assert shown(forward, fold=True) == (
        "k  1 B\n└─ step.py  250 times, 2026-11-20 08:00:00 UTC, 1.0 s\n   │ $ python3 step.py in/0 mid/0\n"
        "   └─ mid/  250 files, 750 B\n      └─ cat  2026-11-20 08:00:00 UTC, 1.0 s\n"
        "         │ $ cat 'mid/*'\n         └─ all  9 B\n"
    )


def test_states_of_a_file_that_one_run_made_are_one_file() -> None:
    """Appends of a loop, and another time of the same content; the content from before the run is a source."""
    old, first, last, touched = (file("/d/log", 0, size=n) for n in range(4))
    for n, one in enumerate((old, first, last, touched)):
        one["iri"] += str(n)
    makers = [process(n, "tee", f"tee -a log{n}") for n in (1, 2)]
    edges = [edge(first, "wasGeneratedBy", makers[0]), edge(last, "wasGeneratedBy", makers[1])]
    edges += [edge(last, "wasRevisionOf", first), edge(first, "wasRevisionOf", old), edge(touched, "alternateOf", last)]
    made = document(touched, [touched, last, first, old, *makers], edges, runs={RUN_IRI: "sh log.sh"})
    assert shown(made) == ("log  3 B\n│ log.sh  2026-11-20 08:00:00 UTC, 1.0 s\n│ $ sh log.sh\n└─ log  0 B, revised\n")


def test_a_target_below_another_one_is_no_tree_of_its_own() -> None:
    """Each file is drawn once, in any order of the targets."""
    made = pipeline()
    raw, out = made["nodes"][0]["iri"], made["nodes"][1]["iri"]
    assert shown({**made, "target": raw, "targets": [raw, out]}).count("raw  9 B") == 1


def fork(number: int, parent: Node, **more: object) -> tuple[Node, Edge]:
    made = process(number, "sh", "sh%20all.sh", **more)
    return made, edge(made, "carriedFrom", parent)


def test_a_fork_that_only_starts_programs_is_left_out() -> None:
    """Also a fork of a fork. One stays that read, made or failed, that read a pipe, or has a note or a gap."""
    raw, out, log = (file(f"/d/{name}") for name in ("raw", "out", "log"))
    shell, sort = process(1, "sh", "sh%20all.sh"), process(9, "sort", "sort raw")
    plain, of_plain = fork(2, shell)
    nested, of_nested = fork(3, plain)
    writer, of_writer = fork(4, shell)
    failed, of_failed = fork(5, shell, failed="exit 3")
    reader, of_reader = fork(6, shell)
    noted, of_noted = fork(7, shell)
    other = process(8, "sh", "sh%20other.sh")
    edges = [of_plain, of_nested, of_writer, of_failed, of_reader, of_noted, edge(other, "carriedFrom", shell)]
    edges += [edge(sort, "launchedBy", nested), edge(sort, "used", raw), edge(out, "wasGeneratedBy", sort)]
    edges += [edge(log, "wasGeneratedBy", writer), edge(reader, "used", sort), edge(other, "used", plain)]
    nodes = [raw, out, log, shell, sort, plain, nested, writer, failed, reader, noted, other]
    note = {"iri": RUN + "note/1", "about": noted["iri"], "time": END, "text": "x"}
    made = without_forks(document(out, nodes, edges, notes=[note]))
    assert [node["pid"] for node in made["nodes"] if node["type"] == "Phase"] == [1, 9, 4, 5, 6, 7, 8]
    assert edge(sort, "launchedBy", shell) in made["edges"] and edge(other, "used", shell) in made["edges"]
    gone = {plain["iri"], nested["iri"]}
    assert not [one for one in made["edges"] if {one["subject"], one["object"]} & gone]
    assert without_forks(document(plain, nodes, edges))["nodes"].count(plain) == 1
