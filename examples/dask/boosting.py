"""A data frame and gradient boosting: predict the duration of trips from parquet files.

The last file is held out. The model is a sum of stumps, each fitted to the residuals of those before it: two graphs for
each round, in which each partition counts its residuals, and one task chooses the stump.

Usage: boosting.py, in the folder of make_data.py. It writes model.json and predictions.csv.
"""

import json
import os

import dask.dataframe as dd
import numpy as np
from dask.distributed import Client, LocalCluster

ROUNDS, RATE, BINS = 15, 0.5, 24
FEATURES = ("hour", "distance", "crowded")


def features(table):
    """Return a table with one more feature: the distance at crowded hours."""
    return table.assign(crowded=table.hour.isin([8, 9, 17, 18, 19]).astype(float) * table.distance)


def apply(model, table):
    """Return the predictions of a model for the rows of a table."""
    result = np.full(len(table), model["start"])
    for name, limit, low, high in model["stumps"]:
        result += RATE * np.where(table[name] < limit, low, high)
    return result


def start(*sums):
    """Return the first model: the mean of the durations."""
    return {"start": sum(total for total, _ in sums) / sum(count for _, count in sums), "stumps": []}


def total(table):
    """Return the sum of the durations, and the number of trips."""
    return float(table.duration.sum()), len(table)


def residuals(table, model):
    """Return the sums and counts of the residuals by feature and bin, with the bins' upper ends."""
    left = table.duration - apply(model, table)
    found = {}
    for name in FEATURES:
        ends = np.linspace(0, 24 if name == "hour" else 30, BINS + 1)[1:]
        bins = np.searchsorted(ends, table[name]).clip(0, BINS - 1)
        found[name] = ends, np.bincount(bins, left, BINS), np.bincount(bins, minlength=BINS)
    return found


def boost(model, *parts):
    """Return the model with one more stump: the split that explains most of the residuals."""
    best = (-1.0, None)
    for name in FEATURES:
        ends = parts[0][name][0]
        sums, counts = (np.cumsum(np.sum([part[name][row] for part in parts], axis=0)) for row in (1, 2))
        for place in np.flatnonzero((counts > 0) & (counts < counts[-1])):
            low, high = sums[place] / counts[place], (sums[-1] - sums[place]) / (counts[-1] - counts[place])
            gain = counts[place] * low**2 + (counts[-1] - counts[place]) * high**2
            best = max(best, (gain, (name, ends[place], low, high)), key=lambda one: one[0])
    return {**model, "stumps": [*model["stumps"], best[1]]}


def save(model, path):
    """Write the model, and return the number of its stumps."""
    with open(path, "w") as file:
        json.dump(model, file, default=float)
    return len(model["stumps"])


def evaluate(table, model, path):
    """Write the predictions for a table; return their error and the spread of the durations (s)."""
    predicted = apply(model, table)
    table.assign(predicted=predicted).to_csv(path, index=False)
    return float(np.sqrt(np.mean((table.duration - predicted) ** 2))), float(table.duration.std())


def main(client):
    """Compute the model on a cluster, and test it."""
    trips = dd.read_parquet("trips", columns=["hour", "distance", "duration"])
    *parts, last = client.compute(trips.map_partitions(features).to_delayed())
    model = client.submit(start, *client.map(total, parts))
    for _ in range(ROUNDS):
        model = client.submit(boost, model, *client.map(residuals, parts, model=model))
    stumps = client.submit(save, model, "model.json").result()
    error, spread = client.submit(evaluate, last, model, "predictions.csv").result()
    print(f"{len(os.listdir('trips'))} files, {stumps} stumps: error {error:.0f} s, spread {spread:.0f} s")


if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        main(client)
