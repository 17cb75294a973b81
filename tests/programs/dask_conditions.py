"""Tasks with priorities, restrictions, retries and annotations; the scheduler's own statements as oracle.json.

Usage: dask_conditions.py FOLDER
"""

import json
import os
import sys

import dask
from dask.distributed import Client, LocalCluster, get_client


def inc(x):
    return x + 1


def outer():
    return get_client().submit(inc, 100, key="inner").result()


def oracle(dask_scheduler):
    return {
        str(key): {
            "priority": list(one.priority),
            "workers": sorted(one.worker_restrictions or ()),
            "hosts": sorted(one.host_restrictions or ()),
            "resources": one.resource_restrictions or {},
            "allow_other_workers": bool(one.loose_restrictions),
            "retries": one.retries,
        }
        for key, one in dask_scheduler.tasks.items()
    }


def main(client):
    workers = sorted(client.scheduler_info()["workers"])
    made = [
        client.submit(inc, 1, key="plain"),
        client.submit(inc, 2, key="urgent", priority=5.5),
        client.submit(inc, 3, key="worker", workers=workers[:1], allow_other_workers=True),
        client.submit(inc, 4, key="host", workers=["127.0.0.1"]),
        client.submit(inc, 5, key="gpu", resources={"GPU": 1}, retries=2),
        client.submit(inc, 6, key=("many", 0), workers=[f"127.0.0.1:{port}" for port in range(2000, 2040)] + workers),
        client.submit(outer, key="outer"),
    ]
    with dask.annotate(workers=workers, priority=-3, team="ice", password="hunter2secret", url="https://a:zebra91@b/"):
        annotated = dask.delayed(inc)(7, dask_key_name="annotated")
    made.append(client.compute(dask.delayed(inc)(annotated, dask_key_name="after"), optimize_graph=False))
    made += client.map(inc, range(10), key="map")
    client.gather(made)
    return client.run_on_scheduler(oracle)


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    options = {"n_workers": 2, "threads_per_worker": 2, "dashboard_address": None, "resources": {"GPU": 2}}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        facts = main(client)
    with open("oracle.json", "w") as file:
        json.dump(facts, file)
