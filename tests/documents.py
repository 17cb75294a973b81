"""Hand-written lineage documents for the tests of reports and pages: small builders, then the documents."""

from __future__ import annotations

from provio.ask.document import Edge, Gap, LineageDocument, Node

NS = "https://w3id.org/provio/ns#"
PROV = "http://www.w3.org/ns/prov#"
VERSION = "https://w3id.org/provio/version/disk/"
RUN = "https://w3id.org/provio/run/0193/node07/"


def file(path: str, depth: int = 0, **more: object) -> Node:
    name = path.rsplit("/", 1)[-1]
    return {"iri": VERSION + str(hash_of(path)), "type": "FileVersion", "label": name, "path": path, "depth": depth,
            "via": "data", **more}  # type: ignore[return-value, typeddict-item]  # fmt: skip


def hash_of(text: str) -> int:
    """A small number that is the same in every process."""
    value = 7
    for byte in text.encode("utf-8", "surrogatepass"):
        value = (value * 131 + byte) % 2**48
    return value


def program(path: str) -> Node:
    name = path.rsplit("/", 1)[-1]
    return {"iri": RUN + "program/" + str(hash_of(path)), "type": "Program", "label": name, "path": path}


def phase(number: int, runs: Node, argv: str, start: str, end: str, **more: object) -> Node:
    return {"iri": f"{RUN}{number}/phase/1", "type": "Phase", "label": runs["label"], "argv": argv, "start": start,
            "end": end, "program": runs["iri"], "host": "node07", "pid": number, "cwd": "/data", **more}  # type: ignore[return-value, typeddict-item]  # fmt: skip


def result(number: int) -> Node:
    """The result of a task."""
    return {"iri": f"{RUN}t{number}/result", "type": "TaskResult", "label": f"step-{number}", "via": "data"}


def edge(subject: Node, predicate: str, object_: Node) -> Edge:
    space = NS if predicate in ("carriedFrom", "launchedBy") else PROV
    return {"subject": subject["iri"], "predicate": space + predicate, "object": object_["iri"]}


def document(target: Node, nodes: list[Node], edges: list[Edge], **more: object) -> LineageDocument:
    return {"target": target["iri"], "nodes": nodes, "edges": edges, "gaps": [], "hidden": 0, "control": 0,
            "direction": "backward", **more}  # type: ignore[return-value, typeddict-item]  # fmt: skip


def gap(about: Node | str, reason: str) -> Gap:
    iri = about if isinstance(about, str) else about["iri"]
    return {"iri": RUN + "gap/1", "about": iri, "reason": reason}


def chain_document(forward: bool = False) -> LineageDocument:
    """Raw binary → WestSac.h5 → decimate.h5 → xcorr.h5, three Python programs."""
    raw, west, small, out = (
        file("/data/WestSac.bin", 3, size=52_428_800),
        file("/data/WestSac.h5", 2, size=52_431_200),
        file("/data/decimate.h5", 1, size=5_243_904),
        file("/data/xcorr.h5", 0, size=812_032),
    )
    scripts = [program(f"/home/ada/das/{name}.py") for name in ("tdms2h5", "decimate", "xcorr")]
    phases = [
        phase(11, scripts[0], "python3 tdms2h5.py /data/WestSac.bin /data/WestSac.h5",
              "2026-11-20T12:15:46.123456Z", "2026-11-20T12:15:49.323456Z", exitCode=0),
        phase(12, scripts[1], "python3 decimate.py --factor 10 /data/WestSac.h5 /data/decimate.h5",
              "2026-11-20T12:16:02.000000Z", "2026-11-20T12:16:02.412000Z", exitCode=0),
        phase(13, scripts[2], "python3 xcorr.py --stack 30 --title my%20stack /data/decimate.h5 /data/xcorr.h5",
              "2026-11-20T12:17:00.500000Z", "2026-11-20T12:19:05.500000Z", exitCode=0),
    ]  # fmt: skip
    edges = []
    for one, runs, before, after in zip(phases, scripts, (raw, west, small), (west, small, out), strict=True):
        edges += [edge(one, "used", before), edge(after, "wasGeneratedBy", one), edge(one, "wasAssociatedWith", runs)]
    nodes = [out, phases[2], scripts[2], small, phases[1], scripts[1], west, phases[0], scripts[0], raw]
    if forward:
        for node, depth in ((raw, 0), (west, 1), (small, 2), (out, 3)):
            node["depth"] = depth
        return document(raw, nodes, edges, direction="forward", hidden=412)
    return document(out, nodes, edges, hidden=412, control=1)


def diamond_document() -> LineageDocument:
    """One input, split into two by one process, joined by another, which failed."""
    raw, left, right, out = (file(f"/data/{name}.csv", d) for name, d in
                             (("raw", 2), ("left", 1), ("right", 1), ("joined", 0)))  # fmt: skip
    split, join = program("/usr/local/bin/split"), program("/usr/local/bin/join")
    one = phase(21, split, "split raw.csv", "2026-11-20T08:00:00.000000Z", "2026-11-20T08:00:00.020000Z")
    two = phase(22, join, "join left.csv right.csv", "2026-11-20T08:00:01.000000Z", "2026-11-20T09:30:01.000000Z",
                exitCode=3)  # fmt: skip
    edges = [
        edge(two, "used", right), edge(two, "used", left), edge(out, "wasGeneratedBy", two),
        edge(left, "wasGeneratedBy", one), edge(right, "wasGeneratedBy", one), edge(one, "used", raw),
        edge(one, "wasAssociatedWith", split), edge(two, "wasAssociatedWith", join),
    ]  # fmt: skip
    return document(out, [out, two, join, left, right, one, split, raw], edges)


def carried_document() -> LineageDocument:
    """`r(a) w(x) r(b) w(y)`: y comes from b (data) and a (carried); y revises an older one; two gaps."""
    a, b, y = file("/data/a", 1, via="carried"), file("/data/b", 1), file("/data/y", 0)
    old = file("/data/y-yesterday", 1)
    worker = program("/home/ada/worker")
    first = phase(31, worker, "./worker", "2026-11-20T08:00:00.000000Z", "2026-11-20T08:00:01.000000Z")
    second = phase(32, worker, "./worker", "2026-11-20T08:00:01.000000Z", "2026-11-20T08:00:02.000000Z")
    edges = [
        edge(first, "used", a), edge(second, "carriedFrom", first), edge(second, "wasInformedBy", first),
        edge(second, "used", b), edge(y, "wasGeneratedBy", second),
        edge(y, "wasRevisionOf", old), edge(y, "wasDerivedFrom", old),
        edge(first, "wasAssociatedWith", worker), edge(second, "wasAssociatedWith", worker),
    ]  # fmt: skip
    gaps = [gap(a, "coarse clock"), gap(RUN + "99/", "static program: its files were not seen")]
    return document(y, [y, second, first, worker, b, a, old], edges, gaps=gaps)


def lone_document() -> LineageDocument:
    """A file of unknown origin."""
    only = file("/data/only.txt")
    return document(only, [only], [], changed="changed since it was recorded at 2026-11-20 12:00:00 UTC")


def long_document(steps: int = 1000) -> LineageDocument:
    """A chain of `steps` processes: 2·steps + 1 nodes without the program."""
    copy = program("/usr/bin/cp")
    files = [file(f"/data/step{n:04d}", steps - n) for n in range(steps + 1)]
    nodes, edges = [copy, files[0]], []
    for n in range(steps):
        one = phase(n, copy, f"cp step{n:04d} step{n + 1:04d}", "2026-11-20T08:00:00.000000Z",
                    "2026-11-20T08:00:00.001000Z")  # fmt: skip
        nodes += [one, files[n + 1]]
        edges += [edge(one, "used", files[n]), edge(files[n + 1], "wasGeneratedBy", one),
                  edge(one, "wasAssociatedWith", copy)]  # fmt: skip
    return document(files[-1], nodes, edges)


def wide_document(inputs: int = 1900) -> LineageDocument:
    """One process that read very many files, of which every twentieth was made by a process of its own."""
    gather, make = program("/home/ada/gather.py"), program("/home/ada/make.py")
    out = file("/data/all.h5", 0)
    main = phase(1, gather, "python3 gather.py", "2026-11-20T08:00:00.000000Z", "2026-11-20T08:20:00.000000Z")
    nodes = [out, main, gather, make]
    edges = [edge(out, "wasGeneratedBy", main), edge(main, "wasAssociatedWith", gather)]
    for n in range(inputs):
        one = file(f"/data/shots/shot-{n:05d}.segy", 1)
        nodes.append(one)
        edges.append(edge(main, "used", one))
        if n % 20 == 0:
            start, end = "2026-11-20T07:00:00.000000Z", "2026-11-20T07:00:01.000000Z"
            maker = phase(n + 2, make, f"python3 make.py {n}", start, end)
            nodes.append(maker)
            edges += [edge(one, "wasGeneratedBy", maker), edge(maker, "wasAssociatedWith", make)]
    return document(out, nodes, edges)


HOSTILE = [
    "<script>window.hurt=1</script>", "</script><img src=x onerror=window.hurt=1>", "quote\"s and 'these' & \\ {{7*7}}",
    "new\nline\r\ttab", "\x1b[31mred\x1b]0;title\x07", "right\u202etfel\u202c \u05d0\u05d1", "byte\udcff\udc80s",
    "x" * 4000, "日本語のファイル名" * 10, "https://example.org/?a=1&b=\"2\"", "<!--", "]]>", "\u2028line\u2029par",
]  # fmt: skip


def hostile_document() -> LineageDocument:
    """Names that want to be markup, code, terminal commands."""
    out = file("/data/</title><b>out.h5", 0)
    bad = program("/home/ada/<i>bad</i>.py")
    one = phase(1, bad, "python3 %3Cscript%3Ealert(1)%3C/script%3E % %FF %1B[31m", "2026-11-20T08:00:00.000000Z",
                "2026-11-20T08:00:02.000000Z")  # fmt: skip
    inputs = [file("/data/" + name, 1) for name in HOSTILE]
    edges = [edge(out, "wasGeneratedBy", one), edge(one, "wasAssociatedWith", bad),
             *(edge(one, "used", each) for each in inputs)]  # fmt: skip
    return document(out, [out, one, bad, *inputs], edges, gaps=[gap(out, "</script><script>window.hurt=1</script>")])


def samples_document(samples: int = 40) -> LineageDocument:
    """The same two steps for each of many samples, the second one into a folder of each; a third gathers them."""
    trim, count, gather = program("/usr/bin/trim"), program("/usr/bin/count"), program("/home/ada/gather.py")
    out = file("/data/all.csv", 0)
    last = phase(1, gather, "python3 gather.py", "2026-11-20T09:00:00.000000Z", "2026-11-20T09:00:09.000000Z")
    nodes: list[Node] = [out, last, trim, count, gather]
    edges = [edge(out, "wasGeneratedBy", last), edge(last, "wasAssociatedWith", gather)]
    for n in range(samples):
        files = [file(f"/data/{name}", 3 - place) for place, name in
                 enumerate((f"raw/s{n:03}.fq", f"trimmed/s{n:03}.fq", f"results/s{n:03}/out.csv"))]  # fmt: skip
        for place, runs in enumerate((trim, count)):
            one = phase(10 + 2 * n + place, runs, f"{runs['label']} s{n:03}", "2026-11-20T08:00:00.000000Z",
                        "2026-11-20T08:00:01.000000Z")  # fmt: skip
            nodes.append(one)
            edges += [edge(one, "used", files[place]), edge(files[place + 1], "wasGeneratedBy", one),
                      edge(one, "wasAssociatedWith", runs)]  # fmt: skip
        nodes += files
        edges.append(edge(last, "used", files[2]))
    return document(out, nodes, edges)


def named_document(*paths: str) -> LineageDocument:
    """A process that read files of these paths."""
    runs, out = program("/usr/bin/join"), file("/data/joined", 0)
    one = phase(1, runs, "join", "2026-11-20T08:00:00.000000Z", "2026-11-20T08:00:01.000000Z")
    inputs = [file(path, 1) for path in paths]
    edges = [edge(out, "wasGeneratedBy", one), *(edge(one, "used", read) for read in inputs)]
    return document(out, [out, one, *inputs], edges)
