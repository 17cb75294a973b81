#!/usr/bin/env python3
"""Synthesise collisions in which a top quark decays. The program stands for the detector and is not recorded.

Out: a NumPy array of shape (events, jets, 5): momentum (GeV), rapidity, azimuth, similarity to the jet of a b quark (0
to 1), and whether the jet belongs to the top quark. Three jets of each event do: they are near each other, and one is
a b.
"""

import argparse

import numpy as np

JETS = 7
SPREAD = 0.5  # of a top quark's jets around it


def main() -> None:
    """Write the events."""
    parser = argparse.ArgumentParser(description="Synthesise events with a top quark.")
    parser.add_argument("output")
    parser.add_argument("--events", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    drawn = np.random.default_rng(options.seed)
    shape = options.events, JETS
    events = np.empty((*shape, 5), np.float32)
    events[..., 0] = 25 + drawn.exponential(40, shape)
    events[..., 1] = drawn.normal(0, 1.2, shape)
    events[..., 2] = drawn.uniform(-np.pi, np.pi, shape)
    events[..., 3] = drawn.beta(1, 4, shape)
    events[..., 4] = 0
    middle = drawn.normal(0, 0.8, options.events), drawn.uniform(-np.pi, np.pi, options.events)
    for jet in range(3):
        events[:, jet, 0] += 25
        for axis in (0, 1):
            events[:, jet, 1 + axis] = middle[axis] + drawn.normal(0, SPREAD, options.events)
        events[:, jet, 4] = 1
    events[:, 0, 3] = drawn.beta(4, 1, options.events)
    order = drawn.permuted(np.tile(np.arange(JETS), (options.events, 1)), axis=1)
    np.save(options.output, np.take_along_axis(events, order[..., None], axis=1))
    print(f"{options.output}: {options.events} events of {JETS} jets")


if __name__ == "__main__":
    main()
