"""Tasks of Dask whose files are known: at the same time on one worker, with a child process and a thread, killed.

Usage: dask_planted.py; each task marks its start and its end for strace by opening a file that does not exist.
"""

import contextlib
import os
import signal
import subprocess
import threading
import time

import dask
from dask.distributed import Client, LocalCluster, WorkerPlugin, get_worker


def mark(what, name):
    with contextlib.suppress(OSError):
        os.open(f"/{what}/{name}", os.O_RDONLY)


def read(name):
    with open(name) as file:
        return file.read()


def write(name, text):
    with open(name, "w") as file:
        file.write(text)


def together(own, other):
    """Read, wait until the other task has read, write."""
    mark("BEGIN", f"together-{own}")
    text = read(f"in-{own}.txt")
    write(f"here-{own}", "")
    while not os.path.exists(f"here-{other}"):
        time.sleep(0.01)
    write(f"{own}.out", text)
    mark("END", f"together-{own}")


def starter(name):
    """Copy a file by a child process, and another one by a thread."""
    mark("BEGIN", f"starter-{name}")
    subprocess.run(["cp", f"in-{name}.txt", f"child-{name}.out"], check=True)
    thread = threading.Thread(target=lambda: write(f"thread-{name}.out", read(f"in-thread-{name}.txt")))
    thread.start()
    thread.join()
    mark("END", f"starter-{name}")


def killed(name):
    """Kill the worker at the first attempt."""
    text = read(f"in-{name}.txt")
    if not os.path.exists("was-killed"):
        write("was-killed", "")
        os.kill(os.getpid(), signal.SIGKILL)
    write(f"{name}.out", text)


class Model(WorkerPlugin):
    """Reads a model when the worker starts."""

    def setup(self, worker):
        worker.model = read("model.txt")


def predict(name):
    mark("BEGIN", f"predict-{name}")
    write(f"{name}.out", get_worker().model)
    mark("END", f"predict-{name}")


def main(client):
    client.gather([client.submit(together, a, b, key=f"together-{a}") for a, b in (("x", "y"), ("y", "x"))])
    client.submit(starter, "z", key="starter-z").result()
    client.register_plugin(Model())
    client.submit(predict, "p", key="predict-p").result()
    client.submit(killed, "k", key="killed-k").result()


if __name__ == "__main__":
    dask.config.set({"distributed.scheduler.allowed-failures": 3})
    with LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None) as cluster, Client(cluster) as client:
        main(client)
