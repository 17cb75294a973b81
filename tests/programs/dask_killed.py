"""A cluster of Dask of which one part is killed while tasks run; each started task is in started.log.

Usage: dask_killed.py worker|nanny|scheduler SECONDS
"""

import contextlib
import os
import signal
import subprocess
import sys
import time

from dask.distributed import Client


def begin(number):
    with open("started.log", "a") as file:
        file.write(f"task-{number} {os.getpid()}\n")
    time.sleep(0.005)
    return number


def start(module, *arguments):
    command = [sys.executable, "-m", f"distributed.cli.{module}", "--scheduler-file", "scheduler.json", *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(one) for one in file.read().split()]


def main(what, seconds):
    scheduler = start("dask_scheduler", "--port", "0", "--no-dashboard")
    nanny = start("dask_worker", "--nthreads", "2", "--no-dashboard", "--death-timeout", "20")
    pids = {}
    with contextlib.suppress(OSError):
        client = Client(scheduler_file="scheduler.json", timeout=30)
        client.wait_for_workers(1, timeout=30)
        worker = client.run(os.getpid)
        futures = [client.submit(begin, number, key=f"task-{number}") for number in range(400)]
        time.sleep(seconds)
        pids = {"worker": next(iter(worker.values())), "nanny": nanny.pid, "scheduler": scheduler.pid}
        os.kill(pids[what], signal.SIGKILL)
        time.sleep(0.3)
        del futures
    for process in (nanny, scheduler):
        for pid in [*(children(process.pid) if process.poll() is None else []), process.pid]:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        process.wait()
    if pids:
        with contextlib.suppress(OSError):
            os.kill(pids["worker"], signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
