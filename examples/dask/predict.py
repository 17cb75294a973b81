"""Batch prediction with a trained model, as delayed functions: load, transform, predict. One graph for all photos.

Usage: predict.py, in the folder of make_data.py. It writes labels/N.csv, one file for each ten photos.
"""

import os

import numpy as np
from dask import compute, delayed
from dask.distributed import Client, LocalCluster

BATCH = 10


@delayed
def load(path):
    """Read a photo."""
    return np.load(path).astype(float)


@delayed
def load_model(path):
    """Read the model."""
    with np.load(path) as file:
        return {name: file[name] for name in file}


@delayed
def transform(photo):
    """Return the features of a photo: its mean and its spread."""
    grey = photo.mean(axis=2)
    return np.array([grey.mean(), grey.std()])


@delayed
def predict(model, features):
    """Return the label of a photo."""
    scores = (features - model["mean"]) @ model["weights"]
    return str(model["names"][scores.argmax()])


@delayed
def write(path, names, labels):
    """Write the labels of some photos, and return their number."""
    with open(path, "w") as file:
        file.writelines(f"{name},{label}\n" for name, label in zip(names, labels, strict=True))
    return len(labels)


def main():
    """Label all photos."""
    os.makedirs("labels", exist_ok=True)
    names, model = sorted(os.listdir("photos")), load_model("weights.npz")
    labels = [predict(model, transform(load(f"photos/{name}"))) for name in names]
    done = compute(
        *(
            write(f"labels/{first // BATCH}.csv", names[first : first + BATCH], labels[first : first + BATCH])
            for first in range(0, len(names), BATCH)
        )
    )
    print(f"{sum(done)} labels in {len(done)} files")


if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=":0") as cluster, Client(cluster):
        main()
