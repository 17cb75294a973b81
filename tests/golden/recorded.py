"""The runs in `runs/` by the names that they were given, and the files that they read and wrote."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent
PROJECT = "/golden/project/"
IDS = sorted(path.name.removesuffix(".tar.xz") for path in (HERE / "runs").glob("*.tar.xz"))
NAMES = """
    prepare count make-hdf5 stack threads slow calibrate prepare2 count2 copied fast long failing killed reader writer
    ranks calls names tidy static
""".split()
RUN = dict(zip(NAMES, IDS, strict=True))
FILES = [
    *"""
    raw/west.csv stations.csv west.csv backup.csv kept.csv joined.csv scratch log.txt counts.json summary.dat survey.h5
    stack.h5 stack.txt copy.h5 part0.txt part2.txt offsets.bin whole.txt train.toml train.py models/64-1.txt
    models/128-0.txt models/256-2.txt report.txt copied.json upper.json rest.csv partial.csv joint read.txt rank0.txt
    rank1.txt blocks.bin archive/saved.csv archive/linked.csv archive/symbolic.csv shelf/read.csv archive/read.csv
    sorted.csv libraries.txt
    """.split(),
    *("names/two words.csv", "names/line\nend.csv", "names/=1+1.csv", 'names/été <b>&"#?%41.txt'),
]
INSIDE = """
    survey.h5#/day1 survey.h5#/day1/east survey.h5#/day1/east@units survey.h5#/day1/west survey.h5#/day1/growing
    survey.h5#/day1/grown survey.h5#/scale survey.h5#/@title stack.h5#/stack stack.h5#/stack@units copy.h5#/first
    copy.h5#/first/west
""".split()
EARLIER = [("joined.csv", "prepare"), ("survey.h5", "make-hdf5"), ("report.txt", "slow"), ("counts.json", "count"),
           ("stations.csv", "prepare"), ("west.csv", "prepare")]  # fmt: skip
