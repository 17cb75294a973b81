"""Random synthetic runs that read, write and change the same few files at the same time: a seed in, run folders out."""

from __future__ import annotations

import random

from synthetic_traces import STEP, File, Plain, Run

from provio.settings.home import Home

FILES, ACTS = 3, 60
INODE = 900  # of the first file: the same in each process that makes the runs


def runs(home: Home, seed: int) -> None:
    """Some runs with one or two processes each; some changes are not observed."""
    chance = random.Random(seed)
    files = [File(f"/data/{number}", INODE + number) for number in range(FILES)]
    begun: list[Run] = []
    open_: list[tuple[Run, Plain]] = []
    now = Run(home, 1).start
    for _ in range(ACTS):
        now += chance.choice((STEP, STEP, 30 * STEP, 400 * STEP))
        act = chance.random()
        if len(begun) < 2 or (act < 0.1 and len(begun) < 7):
            run = Run(home, len(begun) + 1, f"./step {len(begun)}")
            run.start = run.now = now
            run.process("work", str(len(begun)))
            begun.append(run)
        elif act < 0.17:
            file = chance.choice(files)
            file.mtime, file.size = now, file.size + 1
        elif act < 0.2:
            chance.choice(begun).process("more")
        elif act < 0.5 or not open_:
            run = _at(chance.choice(begun), now)
            plain = chance.choice(run.processes).plain(chance.choice(files), chance.choice(("r", "r", "r+", "w")))
            open_.append((run, plain))
        else:
            run, plain = chance.choice(open_)
            _at(run, now)
            if act < 0.8:
                plain.write() if plain.mode != "r" else plain.read()
            else:
                plain.close()
                open_.remove((run, plain))
        now = max([now, *(run.now for run in begun)])
    for run in begun:
        if chance.random() < 0.3:  # it goes on after the others
            _at(run, now)
        run.write()
        now = max(now, run.now) + STEP


def _at(run: Run, now: int) -> Run:
    """Set the clock of a run forward to a time."""
    run.now = max(run.now, now)
    return run
