#!/usr/bin/env python3
"""Summarise a fibre recording in two numbers: the speed of the vehicle, and the phase velocity of the ground.

In: the recording (HDF5 with `/DataTimeChannel`, as `tdms2h5.py` writes it), and the stacked cross-correlations of
`xcorr.py` (`/stack`, `/lags`, `/offsets`).
Out: an HDF5 file with two scalars in m/s: `/speed`, from the recording alone, and `/velocity`, from the correlations.

Each channel is loudest when the vehicle passes it. The vehicle's speed is the slope of a line through these times,
negative if it drives towards channel 0. The phase velocity is the one with the largest sum of the correlations (a slant
stack).
"""

import argparse
from pathlib import Path

import h5py
import numpy as np

WINDOW = 0.5  # s
BLOCK_CHANNELS = 16
TRIALS = np.arange(250.0, 800.0, 2.5)  # m/s
NEAREST = 50.0  # m: nearer to the virtual source its own noise is louder


def vehicle_speed(data: h5py.Dataset) -> float:
    """Return the slope, in m/s, of a line through the positions and times at which the channels are loudest."""
    rate, spacing = data.attrs["sampling_rate"], data.attrs["channel_spacing"]
    samples, channels = data.shape
    length = round(WINDOW * rate)
    passing = np.empty(channels)
    for start in range(0, channels, BLOCK_CHANNELS):
        block = data[: samples // length * length, start : start + BLOCK_CHANNELS]
        energy = np.mean(block.reshape(-1, length, block.shape[1]) ** 2, axis=1)
        passing[start : start + BLOCK_CHANNELS] = (np.argmax(energy, axis=0) + 0.5) * length / rate
    speed, _ = np.polyfit(passing, np.arange(channels) * spacing, 1)
    return float(speed)


def phase_velocity(correlations: h5py.File) -> float:
    """Return the velocity, in m/s, with the largest sum of the stack along the lines lag = ± offset / velocity."""
    stack, lags, offsets = (correlations[name][()] for name in ("stack", "lags", "offsets"))
    far = [(x, trace) for x, trace in zip(offsets, stack, strict=True) if x > NEAREST]
    along = [np.sum([np.interp((x / c, -x / c), lags, trace) for x, trace in far]) for c in TRIALS]
    return float(TRIALS[np.argmax(along)])


def write_number(out: h5py.File, name: str, value: float) -> None:
    """Write a scalar with its unit."""
    out.create_dataset(name, data=value).attrs["units"] = "m/s"
    print(f"{out.filename}: {name} {value:.1f} m/s")


def main() -> None:
    """Summarise the files that the command line names."""
    parser = argparse.ArgumentParser(description="Summarise a fibre recording in two numbers.")
    parser.add_argument("recording", type=Path, help="the HDF5 file with the recording")
    parser.add_argument("correlations", type=Path, help="the HDF5 file with the stacked cross-correlations")
    parser.add_argument("output", type=Path, help="the HDF5 file to write")
    arguments = parser.parse_args()
    with h5py.File(arguments.output, "w") as out:
        with h5py.File(arguments.recording, "r") as recording:
            write_number(out, "speed", vehicle_speed(recording["DataTimeChannel"]))
        with h5py.File(arguments.correlations, "r") as correlations:
            write_number(out, "velocity", phase_velocity(correlations))


if __name__ == "__main__":
    main()
