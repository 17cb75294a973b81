"""Reduce the frames of a simulation to a few numbers each, with Dask.

In: /temperature of an HDF5 file. Out: /features, for each frame the mean, the spread and the roughness. Each frame is
divided into `--parts` bands of rows; the sums of the bands are added in their order.

Usage: reduce.py heat.h5 features.h5 [--parts N] [--workers N]
"""

import argparse

import h5py
import numpy as np
from dask.distributed import Client, LocalCluster


def sums(path, frames, part, parts):
    """Return the sums over one band of rows of some frames: of the values, their squares and their steps."""
    with h5py.File(path) as file:
        height = file["temperature"].shape[1]
        band = file["temperature"][frames[0] : frames[1], part * height // parts : (part + 1) * height // parts]
    steps = np.diff(band, axis=2)
    return np.stack([band.sum((1, 2)), (band * band).sum((1, 2)), (steps * steps).sum((1, 2))], axis=1)


def features(bands, count):
    """Return the mean, the spread and the roughness of some frames from the sums of their bands."""
    total, squares, rough = sum(bands[1:], bands[0]).T / np.float32(count)
    return np.stack([total, np.sqrt(np.maximum(squares - total * total, 0)), np.sqrt(rough)], axis=1)


def parsed():
    """Return the arguments."""
    parser = argparse.ArgumentParser(prog="reduce")
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--workers", type=int, default=2)
    return parser.parse_args()


def main(client, given):
    """Compute the features on a cluster, and write them."""
    with h5py.File(given.source) as file:
        count, height, width = file["temperature"].shape
    rows = []
    for start in range(0, count, 12):
        frames = start, min(start + 12, count)
        bands = [client.submit(sums, given.source, frames, part, given.parts) for part in range(given.parts)]
        rows.append(client.submit(features, bands, height * width))
    with h5py.File(given.target, "w") as file:
        file["features"] = np.concatenate(client.gather(rows))
    print(f"reduce: {count} frames, {given.parts} parts each")


if __name__ == "__main__":
    given = parsed()
    cluster = LocalCluster(n_workers=given.workers, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        main(client, given)
