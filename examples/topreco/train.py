#!/usr/bin/env python3
"""Train a graph network to find the jets of a top quark.

In: an `.ini` file with `[preselection]` and `[hyperparameters]`, and events as `synthesise.py` writes them.
Out: the weights (`.npz`), and on the terminal the share of jets of held-out events that are classified correctly.

The jets of an event are the nodes of a graph; an edge's weight falls with the distance of two jets in rapidity and
azimuth. A layer of the network gives each node a vector out of its own and the sum of its neighbours'. (The model is
small; it is configured and measured like the real one.)
"""

import argparse
import ast
import configparser
import itertools

import numpy as np
from numpy.typing import NDArray

import provio

Array = NDArray[np.float64]


def settings_of(path: str) -> dict[str, dict[str, float]]:
    """Return the sections of an `.ini` file, numbers as numbers."""
    parser = configparser.ConfigParser()
    with open(path, encoding="utf-8") as file:
        parser.read_file(file)
    return {name: {key: ast.literal_eval(text) for key, text in parser[name].items()} for name in parser.sections()}


def graphs(events: Array, least_momentum: float, most_rapidity: float, radius: float) -> tuple[Array, Array, Array]:
    """Return nodes (events, jets, 5), weights of edges (events, jets, jets) and labels (events, jets)."""
    momentum, rapidity, azimuth, b_like, truth = np.moveaxis(events.astype(float), -1, 0)
    kept = (momentum > least_momentum) & (np.abs(rapidity) < most_rapidity)
    nodes = np.stack([np.log(momentum / 50), rapidity, np.cos(azimuth), np.sin(azimuth), b_like], -1)
    across = np.abs(azimuth[:, :, None] - azimuth[:, None, :])
    across = np.minimum(across, 2 * np.pi - across)
    edges = np.exp(-(across**2 + (rapidity[:, :, None] - rapidity[:, None, :]) ** 2) / radius**2)
    edges *= kept[:, :, None] & kept[:, None, :] & ~np.eye(events.shape[1], dtype=bool)
    return np.concatenate([nodes, edges.sum(-1, keepdims=True)], -1), edges, truth


class Network:
    """Layers of `own`, `others` and `bias`, and one that makes a single number of each node's vector."""

    def __init__(self, inputs: int, hidden: int, layers: int, seed: int) -> None:
        drawn = np.random.default_rng(seed)
        sizes = [inputs] + [hidden] * layers
        self.weights: dict[str, Array] = {"last": drawn.normal(0, hidden**-0.5, (hidden, 1)), "last_bias": np.zeros(1)}
        for number, (before, after) in enumerate(itertools.pairwise(sizes)):
            for part in ("own", "others"):
                self.weights[f"{part}{number}"] = drawn.normal(0, before**-0.5, (before, after))
            self.weights[f"bias{number}"] = np.zeros(after)
        self.layers = layers
        self.moments = {name: (np.zeros_like(of), np.zeros_like(of)) for name, of in self.weights.items()}
        self.steps = 0

    def forward(self, nodes: Array, edges: Array) -> tuple[Array, list[tuple[Array, Array]]]:
        """Return the probability that each node belongs to the top quark, and the input of each layer."""
        given = []
        for number in range(self.layers):
            others = edges @ nodes
            given.append((nodes, others))
            own = nodes @ self.weights[f"own{number}"] + others @ self.weights[f"others{number}"]
            nodes = np.maximum(own + self.weights[f"bias{number}"], 0)
        given.append((nodes, nodes))
        told = (nodes @ self.weights["last"])[..., 0] + self.weights["last_bias"]
        return 1 / (1 + np.exp(-told)), given

    def learn(self, nodes: Array, edges: Array, truth: Array, rate: float) -> float:
        """Take one step against the gradient (Adam); return the loss before it."""
        likely, given = self.forward(nodes, edges)
        slope = (likely - truth)[..., None] / truth.size
        slopes = {"last": np.tensordot(given[-1][0], slope, ((0, 1), (0, 1))), "last_bias": slope.sum((0, 1))}
        slope = slope @ self.weights["last"].T
        for number in reversed(range(self.layers)):
            before, others = given[number]
            slope = slope * (given[number + 1][0] > 0)
            slopes[f"own{number}"] = np.tensordot(before, slope, ((0, 1), (0, 1)))
            slopes[f"others{number}"] = np.tensordot(others, slope, ((0, 1), (0, 1)))
            slopes[f"bias{number}"] = slope.sum((0, 1))
            own, back = self.weights[f"own{number}"].T, self.weights[f"others{number}"].T
            slope = slope @ own + edges.swapaxes(1, 2) @ slope @ back
        self._step(slopes, rate)
        right = np.where(truth > 0.5, likely, 1 - likely)
        return float(-np.log(np.maximum(right, 1e-12)).mean())

    def _step(self, slopes: dict[str, Array], rate: float) -> None:
        self.steps += 1
        for name, slope in slopes.items():
            first, second = self.moments[name]
            first += 0.1 * (slope - first)
            second += 0.001 * (slope**2 - second)
            grown = (1 - 0.999**self.steps) ** 0.5 / (1 - 0.9**self.steps)
            self.weights[name] -= rate * grown * first / (np.sqrt(second) + 1e-8)


def train(settings: dict[str, float], nodes: Array, edges: Array, truth: Array) -> tuple[Network, float]:
    """Return the trained network and its accuracy on the last quarter of the events."""
    network = Network(nodes.shape[-1], int(settings["hidden"]), int(settings["layers"]), int(settings["seed"]))
    held, batch, accuracy = len(nodes) * 3 // 4, int(settings["batch"]), 0.0
    for epoch in range(int(settings["epochs"])):
        parts = [slice(at, min(at + batch, held)) for at in range(0, held, batch)]
        losses = [network.learn(nodes[at], edges[at], truth[at], settings["learning_rate"]) for at in parts]
        likely, _ = network.forward(nodes[held:], edges[held:])
        accuracy = float(((likely > 0.5) == (truth[held:] > 0.5)).mean())
        provio.metric("loss", float(np.mean(losses)), step=epoch, kind="Loss")
        provio.metric("accuracy", accuracy, step=epoch, kind="Accuracy")
    return network, accuracy


def main() -> None:
    """Train with the settings."""
    parser = argparse.ArgumentParser(description="Train a graph network to find top quarks.")
    parser.add_argument("settings")
    parser.add_argument("events")
    parser.add_argument("output")
    options = parser.parse_args()
    settings = settings_of(options.settings)
    provio.configuration(settings["preselection"], kind="Preselection", name="preselection")
    provio.configuration(settings["hyperparameters"], kind="Hyperparameter", name="hyperparameters")
    chosen = settings["hyperparameters"]
    with provio.activity("train"):
        found = graphs(np.load(options.events), **settings["preselection"], radius=chosen["radius"])
        network, accuracy = train(chosen, *found)
        np.savez(options.output, **network.weights)
    print(f"{options.output}: {accuracy:.3f} of the jets are classified correctly")


if __name__ == "__main__":
    main()
