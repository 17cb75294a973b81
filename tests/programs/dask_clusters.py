"""Two clusters with the same keys, at once and one after another; data and futures through queues and variables.

Usage: dask_clusters.py FOLDER [--threads]
"""

import os
import sys

from dask.distributed import Client, LocalCluster, Queue, Variable


def load(number):
    with open(f"in{number}.txt") as file:
        return file.read()


def save(text, name):
    with open(name, "w") as file:
        file.write(text)


def touch(name):
    with open(name) as file:
        file.read()


def get_future(name, out):
    save(Queue("futures").get(timeout="20s").result(), out)


def get_data(name, out):
    save("".join(Queue("data").get(timeout="20s")), out)


def get_flag(name, out):
    Variable("flag").get(timeout="20s")
    save("flag", out)


def put_data(name):
    with open(name) as file:
        Queue("data").put([file.read()])


def start(options):
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, **options)
    return cluster, Client(cluster, set_as_default=False)


def at_once(options):
    """The same keys in two clusters, whose tasks read different files."""
    parts = [start(options), start(options)]
    loaded = [parts[n][1].submit(load, n + 1, key="load-1") for n in (0, 1)]
    saved = [parts[n][1].submit(save, loaded[n], f"out{n + 1}", key="save-1") for n in (0, 1)]
    for one in saved:
        one.result()
    for n in (0, 1):
        parts[n][1].close()
        parts[n][0].close()


def after(options):
    """The same key in a cluster that was started after the others."""
    cluster, client = start(options)
    with cluster, client:
        client.submit(save, client.submit(load, 3, key="load-1"), "out3", key="save-1").result()


def through(options):
    cluster, client = start(options)
    with cluster, client:
        client.submit(touch, "none.txt", key="touch").result()  # has no result
        save("done", "done")
        future = client.submit(load, 4, key="load-4")
        Queue("futures", client=client).put(future)
        client.submit(get_future, "futures", "future.out", key="get-future").result()
        client.submit(put_data, "sent.txt", key="put-data").result()
        client.submit(get_data, "data", "data.out", key="get-data").result()
        Variable("flag", client=client).set(True)
        client.submit(get_flag, "flag", "flag.out", key="get-flag").result()


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    options = {"processes": "--threads" not in sys.argv}
    through(options)
    at_once(options)
    after(options)
