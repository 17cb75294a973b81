"""All answers about a small record, as lines of text: hand-made runs in; lineages, paths and stale products out.

`whole/NAME.txt` has the expected lines of the function NAME. To write them again: `cd tests && PYTHONPATH=.
../.venv/bin/python ask/test_whole.py NAME…`. Check each changed line against docs/lineage.md.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

import pytest
from lineage.story import Process, Story, at, facts, inode
from synthetic_traces import File, Run
from workers import made_once

from provio.ask import bulk_fetch, content, nodes, paths, walk
from provio.ask.document import Lineage, LineageDocument
from provio.ask.filters import contracted, only_roots
from provio.ask.lineage import Scope, answer, lineage
from provio.ask.stale import only_stale
from provio.ask.target import Target, Targets
from provio.lineage.identity import BASE
from provio.merge.runs import merge
from provio.settings.home import Home
from provio.store import Reader
from provio.store.embedded.reader import StoreReader

EXPECTED = Path(__file__).parent / "whole"
DOMAIN = BASE + "version/node.boot.8%3A1/"


def made(process: Process, name: str, moment: float, size: int) -> None:
    """Write a file within 4 ms."""
    opening = process.opens(f"{name}@{moment}+0", moment, "w").does("write", (moment + 1, moment + 2, size))
    opening.closes(moment + 3, f"{name}@{moment + 2}+{size}")


def read(process: Process, stated: str, moment: float, **more: str) -> None:
    """Read a file."""
    process.opens(stated, moment, **more).does("read", (moment + 1, moment + 1, 10))


def runs_tool(process: Process) -> Process:
    """Make a process one of the program that the first run built."""
    old, new = ':executable "/usr/bin/tool"', f':executable "/data/tool" ; {facts("tool@7+80")}'
    process.lines[1] = process.lines[1].replace(old, new)
    return process


def build(story: Story) -> None:
    """Make a program."""
    compiler = story.process("cc", 1)
    read(compiler, "tool.c@-900+10", 2)
    read(compiler, "/usr/include/std.h@-900+11", 3)
    made(compiler, "tool", 5, 80)


def pipeline(story: Story) -> None:
    """A shell that reads, launches, forks and joins programs by a pipe; files are appended to, copied and moved,
    and their times are set."""
    shell = story.process("sh", 20_001)
    read(shell, "job.sh@-900+12", 20_002)
    read(shell, "/etc/profile@-900+13", 20_003)
    tool = runs_tool(shell.starts("tool", 20_010))
    read(tool, "a@-900+14", 20_011)
    read(tool, "/usr/lib/lib.so@-900+15", 20_012)
    made(tool, "b", 20_013, 20)
    read(tool, "c@-900+16", 20_017)
    made(tool, "d", 20_019, 30)
    made(shell.forks("sh", 20_030), "e", 20_031, 40)
    look = shell.starts("look", 20_035)
    read(look, "e@20033+40", 20_035)
    made(look, "l", 20_036, 45)
    left, right = shell.starts("cat", 20_040), shell.starts("sort", 20_040)
    read(left, "b@20015+20", 20_041)
    left.opens("77", 20_041, "w", "Pipe").does("write", (20_043, 20_043, 20))
    right.opens("77", 20_041, "r", "Pipe").does("read", (20_044, 20_044, 20))
    made(right, "f", 20_045, 50)
    more = shell.starts("more", 20_050)
    read(more, "d@20021+30", 20_051)
    added = more.opens("f@20047+50", 20_053, "a").does("write", (20_054, 20_055, 10))
    added.closes(20_056, "f@20055+60")
    copy = shell.starts("cp", 20_060)
    source, target = copy.opens("f@20055+60", 20_061), copy.opens("g@20062+0", 20_062, "w")
    copy.copies(source, target, 20_063, 20_064)
    target.closes(20_065, "g@20064+60")
    shell.starts("mv", 20_070).event("Rename", 20_071, f':from "/data/g" ; :to "/data/h" ; {facts("g@20064+60")}')
    now = f':path "/data/e" ; {facts("e@-800+40")} ; :previousMtimeNs {at(20_033)}'
    touch = shell.starts("touch", 20_080)
    touch.event("SetTimes", 20_081, now)
    now = f':path "/data/e" ; {facts("e@-700+40")} ; :previousMtimeNs {at(-800)}'
    touch.event("SetTimes", 20_083, now)


def later(story: Story) -> None:
    """Use the results, and make one of them again."""
    last = runs_tool(story.process("tool", 40_001))
    known = facts("g@20064+60")
    last.count += 1
    last.say(f'<../o1> a :FileVersion ; :path "/data/h" ; {known} ; :flags 0 ; :openedNs {at(40_002)}')
    last.say(
        '<a1> a :Access ; :object <../o1> ; :readApi "read" ; :reads 1 ; :readBytes 9 ; :firstRead 40003000000 '
        "; :lastRead 40003000000"
    )
    read(last, "e@-700+40", 40_002)
    made(last, "i", 40_004, 70)
    again = story.process("again", 40_010)
    read(again, "k@-900+17", 40_011)
    made(again, "b", 40_013, 21)


def objects(home: Home) -> None:
    """Objects in files: made, replaced, deleted, copied, moved and read, alone and as a whole; Tasks and settings."""
    files = {
        name: File(f"/data/{name}", inode(name)) for name in ("in.h5", "out.h5", "b.h5", "v.h5", "list", "p", "q", "r")
    }
    number = iter(range(4, 9))
    run = Run(home, next(number), "make")
    process = run.process("make")
    process.configure("args", "", True, rate=0.5, size=3)
    source, out = process.h5(files["in.h5"]), process.h5(files["out.h5"], "w")
    source.read("/a")
    out.write("/a", new=True)
    source.read("/g/b").read("/g/b", "units")
    out.write("/b", new=True).write("/b", "units", new=True).write("/g/c", new=True).write("/g/d", new=True)
    run.write()
    run = Run(home, next(number), "update")
    process = run.process("update")
    process.plain(files["list"]).read()
    process.h5(files["out.h5"], "r+").write("/b", whole=True).delete("/g/d").move("/a", "/n").hard("/l", "/g/c")
    run.write()
    run = Run(home, next(number), "copy")
    process = run.process("copy")
    out = process.h5(files["b.h5"], "w")
    process.h5(files["out.h5"]).copy("/g", out, "/k", "Group")
    odd = out.met("/odd", None, "Dataset", ":created true")
    process.lines[-1] = process.lines[-1].replace(':path "/odd"', ':pathEncoded "/o%FFd"')
    odd.writes.append(run.tick())
    run.write()
    run = Run(home, next(number), "use")
    process = run.process("use")
    process.begin("first")
    source = process.h5(files["out.h5"]).read("/b")
    process.plain(files["p"], "w").write().close()
    process.finish()
    process.begin("second")
    process.h5(files["b.h5"]).read("/k/c")
    process.plain(files["q"], "w").write().close()
    process.finish()
    source.close()
    process.plain(files["out.h5"]).read().close()
    process.plain(files["r"], "w").write().close()
    run.write()


def record(folder: Path) -> None:
    """Record and merge the runs."""
    home = Home(folder / ".provio")
    home.runs.mkdir(parents=True)
    home.path.chmod(0o700)
    for number, (make, start, end) in enumerate(
        ((build, 0, 10), (pipeline, 20_000, 30_000), (later, 40_000, 50_000)), 1
    ):
        story = Story(home.runs, start, end, number)
        make(story)
        story.write()
    objects(home)
    assert [*map(str, merge(home).damages)] == []


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    return StoreReader(Home(made_once(tmp_path_factory, "whole-answers", record) / ".provio"))


class Names:
    """Short names of the entities: a file by its name and size, an object by that of its file and its own."""

    def __init__(self, reader: Reader) -> None:
        words = "?e a ?class . FILTER(STRSTARTS(STR(?e), 'https://w3id.org/provio/'))"
        every = {row["e"] for row in reader.rows(f"SELECT DISTINCT ?e {{ {words} }}")}
        self.node = {node["iri"]: node for node in nodes.describe(reader, every)}
        self.entities = [
            iri for iri in sorted(every, key=lambda iri: (self(iri), iri)) if "/version/" in iri or "/pipe/" in iri
        ]

    def __call__(self, iri: str) -> str:
        if "#" in iri and "/version/" in iri:
            return f"{self(iri.partition('#')[0])}#{iri.partition('#')[2]}"
        node = self.node.get(iri)
        if node is None or node["type"] == "Program":
            return node["label"] if node else iri.rpartition("/")[2]
        more = f"+{node['size']}" if "size" in node else f".{node['run'][-1]}" if "run" in node else ""
        return node.get("argv", node["label"]) + more


def brief(names: Names, document: LineageDocument) -> str:
    """The entities of a document by their ties, each with its depth, and the numbers of the others."""
    found: dict[str, list[str]] = {}
    for node in document["nodes"]:
        if "depth" in node:
            found.setdefault(node["via"], []).append(f"{names(node['iri'])}/{node['depth']}")
    ties = [f"{via}: {' '.join(sorted(found[via]))}" for via in ("data", "carried", "control", "code") if via in found]
    rest = len(document["nodes"]) - sum(map(len, found.values()))
    numbers = (
        f"{rest} others, {len(document['edges'])} edges, {document['hidden']} hidden, {document['control']} control"
    )
    ties.append(numbers)
    return "; ".join(ties)


SCOPES = {
    "default": Scope(),
    "one step of data": Scope(depth=1, via="data"),
    "all": Scope(via="control", everything=True),
    "code": Scope(via="control", code=True),
    "inside": Scope(inside=True, via="control"),
    "forward": Scope(forward=True),
    "forward all": Scope(forward=True, via="control", everything=True),
    "forward code": Scope(forward=True, code=True),
    "forward inside": Scope(forward=True, inside=True, via="control"),
}


def lineages(reader: Reader, *only: str) -> Iterator[str]:
    """The lineage of each entity, or `only` of some, in each scope."""
    names = Names(reader)
    for iri in (one for one in names.entities if not only or names(one) in only):
        answers: dict[str, list[str]] = {}
        for words, scope in SCOPES.items():
            if "#" not in iri or "inside" in words:
                document = lineage(reader, [Target(iri)], scope)
                answers.setdefault(brief(names, document) if document["edges"] else "nothing", []).append(words)
        yield names(iri)
        yield from (f"  {', '.join(words)}: {answer}" for answer, words in answers.items())


def documents(reader: Reader) -> Iterator[str]:
    """Whole nodes and edges."""
    names = Names(reader)
    every = {names(iri): iri for iri in names.entities}
    for name, words in (
        ("i+70", "code"),
        ("r+512", "inside"),
        ("job.sh+12", "forward all"),
        ("in.h5+4096#/a", "forward inside"),
    ):
        document = lineage(reader, [Target(every[name], "changed", f"/data/{name}")], SCOPES[words])
        document.pop("runs", None)  # only for the tree
        yield f"{name} {words}: { ({**document, 'nodes': 0, 'edges': 0}) }"
        for node in document["nodes"]:
            told = ", ".join(f"{key} {value!r}" for key, value in sorted(node.items()) if key not in ("iri", "via"))
            yield f"  {names(node['iri'])}: {told.replace(BASE, '…/')}, {node.get('via')}"
        for edge in document["edges"]:
            yield f"  {names(edge['subject'])} {edge['predicate'].rpartition('#')[2]} {names(edge['object'])}"


def ways(reader: Reader) -> Iterator[str]:
    """The paths, their number, their ends, and the sources of each file."""
    names = Names(reader)
    for iri in (one for one in names.entities if "#" not in one):
        for words in ("code", "forward"):
            document = lineage(reader, [Target(iri)], SCOPES[words])
            steps = paths.Ways(Lineage(document))
            if not document["edges"]:
                continue
            yield f"{names(iri)} {words}: {paths.count(steps)}, to {[*map(names, paths.ends(document))]}"
            yield f"  roots {[names(node['iri']) for node in only_roots(reader, document)['nodes']]}"
            yield f"  order {[*map(names, paths.order(steps))]}"
            yield f"  of {[(names(one), (run or '-')[-1]) for one, run in paths.made_from(steps, iri)]}"
            yield from (f"  {' ← '.join(map(names, way))}" for way in paths.each(steps))


def old(reader: Reader) -> Iterator[str]:
    """Stale products, where `a` changed, `b` is the newest, `d` is missing, and `list` has other content."""
    names = Names(reader)
    for iri in (one for one in names.entities if "#" not in one):
        for words in ("default", "forward", "inside"):
            document = lineage(reader, [Target(iri)], SCOPES[words])
            found = only_stale(reader, contracted(reader, document) if words == "inside" else document)
            if found.get("stale"):
                yield f"{names(iri)} {words}: {[names(node['iri']) for node in found['nodes']]}, {len(found['edges'])}"
                for one in found["stale"]:
                    facts = one["reason"], names(one["input"]), one["path"], one.get("present", "")[-12:]
                    yield f"  {names(one['product'])} {' '.join(facts)} {one.get('recorded', '')}"


def asked(reader: Reader) -> Iterator[str]:
    """Answers to questions with further options: levels, patterns, sources only, and products of earlier versions."""
    names = Names(reader)
    every = {names(iri): iri for iri in names.entities}
    cases: list[tuple[str, str, dict[str, object]]] = [
        ("b+21", "stale", {"forward": True}), ("b+20", "stale", {"forward": True}), ("b+21", "stale", {}),
        ("b.h5+1536", "", {"level": "dataset"}), ("b.h5+1536", "", {"level": "file"}), ("b.h5+1536", "", {}),
        ("b.h5+1536#/k/c", "", {"level": "file"}), ("b.h5+1536#/k/c", "", {}),
        ("b.h5+1536#/k", "", {}), ("b.h5+1536#/k", "roots", {}),
        ("i+70", "", {"until": ("f", "none")}), ("i+70", "roots", {"depth": 2}), ("i+70", "roots", {"via": "control"}),
    ]  # fmt: skip
    for name, reduced, more in cases:
        path = f"/data/{name.partition('+')[0]}{''.join(name.partition('#')[1:])}"
        request = Targets(reader, [Target(every[name], None, path)], [path])
        options: dict[str, object] = {
            "forward": False,
            "depth": None,
            "via": "carried",
            "everything": False,
            "code": False,
        }
        options |= {"until": (), "level": None} | more
        with redirect_stderr(StringIO()) as complaints:
            document = answer(request, options, roots=reduced == "roots", stale=reduced == "stale")
        yield f"{name} {reduced} {more}: {[*map(names, document.get('targets', [document['target']]))]}"
        yield f"  {brief(names, document)}; {document.get('asOf')} {complaints.getvalue()!r}"


ANSWERS: tuple[Callable[[Reader], Iterable[str]], ...] = (lineages, documents, ways, old, asked)


def present(path: bytes) -> str | None:
    """The version that is present at a path, in the answers about stale products."""
    known = {b"/data/a": "a@5+14", b"/data/b": "b@40015+21", b"/data/h": "g@20064+60", b"/data/e": "e@-700+40",
             b"/data/list": "list@5+9", b"/data/f": "f@20055+60", b"/data/i": "i@40006+70"}  # fmt: skip
    if path not in known:
        return None
    name, _, rest = known[path].partition("@")
    moment, _, size = rest.partition("+")
    return f"{DOMAIN}{inode(name)}.{at(-10_000)}.{at(float(moment))}.{size}"


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The files are on this machine as `present` states."""
    place(monkeypatch)


def place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the files on this machine."""
    monkeypatch.setattr(content, "current_version", present)
    monkeypatch.setattr(content, "domain_of", lambda path: "node.boot.8%3A1" if path == b"/data/d" else "here")


@pytest.mark.parametrize("lines", ANSWERS, ids=lambda lines: lines.__name__)
@pytest.mark.usefixtures("elsewhere")
def test_answers(reader: Reader, lines: Callable[[Reader], Iterable[str]]) -> None:
    """Of all entities, the lines that are expected."""
    assert [*lines(reader)] == (EXPECTED / f"{lines.__name__}.txt").read_text().splitlines()


def test_the_answers_do_not_depend_on_the_way_of_reading(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers are the same where nodes and alternates are many, and where each is looked up."""
    some = "i+70", "b+20", "d+30", "job.sh+12", "in.h5+4096#/a", "r+512"
    expected = [*lineages(reader, *some)]
    monkeypatch.setattr(walk, "FEW", 0)
    monkeypatch.setattr(walk, "MANY", 0)
    monkeypatch.setattr(walk, "BATCH", 7)
    assert [*lineages(reader, *some)] == expected
    monkeypatch.setattr(walk, "MANY", -1)
    monkeypatch.setattr(bulk_fetch, "MOST_VERSIONS", 1000)
    assert [*lineages(reader, *some)] == expected


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary, pytest.MonkeyPatch.context() as patch:
        place(patch)
        record(Path(temporary))
        source = StoreReader(Home(Path(temporary) / ".provio"))
        for one in ANSWERS:
            if not sys.argv[1:] or one.__name__ in sys.argv[1:]:
                (EXPECTED / f"{one.__name__}.txt").write_text("".join(f"{line}\n" for line in one(source)))
