"""Train a small network that predicts the features of the next frame from those of three frames.

In: /features of an HDF5 file. Out: the model (PyTorch), and metrics.json with its error on the last frames.

Usage: train.py features.h5 model.pt [--epochs N] [--rate X] [--seed N]
"""

import argparse
import json

import h5py
import torch
from torch import nn

BEFORE, HELD_OUT = 3, 9


def parsed():
    """Return the arguments."""
    parser = argparse.ArgumentParser(prog="train")
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--rate", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def windows(path):
    """Return the inputs and the wanted outputs, each scaled to mean 0 and spread 1 by the frames of the training."""
    with h5py.File(path) as file:
        series = torch.from_numpy(file["features"][:])
    known = series[:-HELD_OUT]
    series = (series - known.mean(0)) / known.std(0)
    given = torch.stack([series[place : place + BEFORE].flatten() for place in range(len(series) - BEFORE)])
    return given, series[BEFORE:]


def main(given):
    """Train, test and save the model."""
    torch.manual_seed(given.seed)
    torch.use_deterministic_algorithms(True)
    inputs, wanted = windows(given.source)
    model = nn.Sequential(nn.Linear(inputs.shape[1], 16), nn.Tanh(), nn.Linear(16, wanted.shape[1]))
    optimizer = torch.optim.Adam(model.parameters(), lr=given.rate)
    for _ in range(given.epochs):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs[:-HELD_OUT]), wanted[:-HELD_OUT])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        error = nn.functional.mse_loss(model(inputs[-HELD_OUT:]), wanted[-HELD_OUT:])
    torch.save(model.state_dict(), given.target)
    with open("metrics.json", "w") as file:
        json.dump({"loss": loss.item(), "error": error.item()}, file)
    print(f"train: loss {loss.item():.6f}, error of the last frames {error.item():.6f}")


if __name__ == "__main__":
    main(parsed())
