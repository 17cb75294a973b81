"""All ways to run tasks with Dask, each reading and writing files of its own; oracles of Dask itself as JSON.

Usage: dask_kinds.py FOLDER [--threads]
"""

import asyncio
import json
import os
import sys

import dask
import dask.array
import dask.bag
import dask.dataframe
from dask.distributed import Client, LocalCluster, get_client, secede


def read(name):
    with open(name) as file:
        return int(file.read())


def write(name, *values):
    with open(name, "w") as file:
        file.write(f"{sum(map(int, values))}\n")
    return name


def add(*values):
    return sum(values)


class Counter:
    def __init__(self):
        self.n = 0

    def add(self, name):
        self.n += read(name)
        return self.n

    def save(self, name):
        write(name, self.n)


async def read_later(name):
    await asyncio.sleep(0.01)
    return read(name)


def outer(name, out):
    client = get_client()
    inner = client.submit(read, name, pure=False)
    secede()
    value = inner.result()
    return write(out, value)


def fail(name):
    raise ValueError(f"cannot use {read(name)}")


def once(name, flag):
    """Fail at the first attempt."""
    value = read(name)
    if not os.path.exists(flag):
        open(flag, "x").close()
        raise OSError("the first attempt fails")
    return value


def rows(part, name):
    part.to_csv(name, index=False)
    return len(part)


def cube(block):
    return block**3 + read("in-array.txt")


def oracle(dask_scheduler):
    """The dependencies and transitions as the scheduler states them."""
    return {
        "dependencies": {str(k): sorted(str(d.key) for d in t.dependencies) for k, t in dask_scheduler.tasks.items()},
        "transitions": [[str(t[0]), t[1], t[2], t[4], t[5]] for t in dask_scheduler.transition_log],
    }


def transfers(dask_worker):
    """The transfers as each worker states them."""
    return [
        [one["who"], one["start"], one["stop"], one["total"], {str(k): n for k, n in one["keys"].items()}]
        for one in dask_worker.transfer_incoming_log
    ]


def scheduler_log(dask_scheduler):
    return dask_scheduler.transition_log


def worker_logs(dask_worker):
    return [dask_worker.state.log, dask_worker.transfer_incoming_log]


def sent_logs(client):
    """The types of the logs that Dask sends to a client."""
    logs = [client.run_on_scheduler(scheduler_log), *(log for logs in client.run(worker_logs).values() for log in logs)]
    return sorted({f"{type(one).__module__}.{type(one).__qualname__}" for one in logs})


def stories(dask_worker):
    return [[str(e[0]), e[1], e[2], e[3], e[5], e[6]] for e in dask_worker.state.log if len(e) == 7]


def main(client):
    made = []
    made.append(client.submit(write, "futures.out", client.submit(read, "in-futures.txt")))
    lazy = dask.delayed(write)("delayed.out", dask.delayed(add)(dask.delayed(read)("in-delayed.txt"), 1))
    made.append(client.compute(lazy))
    bag = dask.bag.from_sequence(["in-bag1.txt", "in-bag2.txt"], npartitions=2).map(read).sum()
    made.append(client.submit(write, "bag.out", client.compute(bag)))
    array = dask.array.ones((4,), chunks=2).map_blocks(cube, dtype=float).sum()
    made.append(client.submit(write, "array.out", client.compute(array)))
    frame = dask.dataframe.read_csv("in-frame.csv")
    made.append(client.submit(write, "frame.out", client.compute(frame.x.sum())))
    sent = client.scatter(read("in-scatter.txt"))
    made.append(client.submit(write, "scatter.out", sent))
    counter = client.submit(Counter, actor=True).result()
    counter.add("in-actor.txt").result()
    counter.save("actor.out").result()
    made.append(client.submit(write, "coroutine.out", client.submit(read_later, "in-coroutine.txt")))
    made.append(client.submit(outer, "in-nested.txt", "nested.out"))
    made.append(client.submit(write, "retry.out", client.submit(once, "in-retry.txt", "flag", retries=2)))
    failed = client.submit(fail, "in-failed.txt")
    here, there = (
        client.submit(add, read(f"in-{n}.txt"), workers=[w], pure=False)
        for n, w in zip(("a", "b"), names(client), strict=True)
    )
    made.append(client.submit(write, "moved.out", here, there))
    for one in made:
        one.result()
    failed.exception()
    return client.run_on_scheduler(oracle), client.run(transfers), client.run(stories), sent_logs(client)


def names(client):
    return list(client.scheduler_info()["workers"])[:2]


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=2, dashboard_address=None, processes="--threads" not in sys.argv
    )
    with cluster, Client(cluster) as client:
        scheduler, moved, logs, sent = main(client)
    with open("oracle.json", "w") as file:
        facts = {"scheduler": scheduler, "transfers": moved, "stories": logs, "sent": sent}
        json.dump({**facts, "version": dask.__version__}, file)
