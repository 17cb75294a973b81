#!/usr/bin/env python3
"""Low-pass and decimate a fibre recording in time.

In: an HDF5 file with `/DataTimeChannel`, strain rate of shape (samples, channels), as `tdms2h5.py` writes it.
Out: the same dataset, a `factor` shorter, its `sampling_rate` (Hz) divided by the factor, other attributes kept.

The filter is a Chebyshev one of type I, order 8, 0.05 dB ripple, cut at 0.8 of the new Nyquist frequency. It runs
forwards and backwards, so that no phase is shifted: cross-correlation needs the phases.
"""

import argparse
from pathlib import Path

import h5py
import numpy as np
import scipy.signal
from numpy.typing import NDArray

ORDER = 8
RIPPLE = 0.05  # dB
CUT = 0.8  # of the new Nyquist frequency
BLOCK_CHANNELS = 16


def low_pass(data: NDArray[np.float32], factor: int) -> NDArray[np.float32]:
    """Return `data` (samples, channels) filtered below the Nyquist frequency of every `factor`-th sample."""
    filter_sections = scipy.signal.cheby1(ORDER, RIPPLE, CUT / factor, output="sos")
    filtered: NDArray[np.float32] = scipy.signal.sosfiltfilt(filter_sections, data, axis=0)
    return filtered


def decimate(in_path: Path, out_path: Path, factor: int) -> None:
    """Filter and decimate the recording, a block of channels at a time."""
    with h5py.File(in_path, "r") as source, h5py.File(out_path, "w") as out:
        data = source["DataTimeChannel"]
        samples, channels = data.shape
        shape = (-(-samples // factor), channels)
        thinned = out.create_dataset("DataTimeChannel", shape, np.float32)
        thinned.attrs.update(data.attrs)
        thinned.attrs["sampling_rate"] = data.attrs["sampling_rate"] / factor
        for start in range(0, channels, BLOCK_CHANNELS):
            block = slice(start, min(start + BLOCK_CHANNELS, channels))
            thinned[:, block] = low_pass(data[:, block], factor)[::factor]
        print(f"{out_path}: {channels} channels at {thinned.attrs['sampling_rate']:g} Hz")


def main() -> None:
    """Decimate the file that the command line names."""
    parser = argparse.ArgumentParser(description="Low-pass and decimate a fibre recording in time.")
    parser.add_argument("input", type=Path, help="the HDF5 file to read")
    parser.add_argument("output", type=Path, help="the HDF5 file to write")
    parser.add_argument("--factor", type=int, default=4, help="keep one sample in FACTOR (%(default)s)")
    arguments = parser.parse_args()
    if arguments.factor < 2:
        parser.error("--factor must be 2 or more")
    decimate(arguments.input, arguments.output, arguments.factor)


if __name__ == "__main__":
    main()
