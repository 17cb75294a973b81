#!/usr/bin/env python3
"""Convert a raw fibre recording to HDF5.

In: a binary file as the interrogator writes it: `HEADER`, then one int16 count for each channel,
sample after sample (channels vary fastest). Little-endian throughout.
Out: an HDF5 file with the dataset `/DataTimeChannel`, float32 strain rate in nanostrain/s of shape
(samples, channels), and the header's facts as attributes of the dataset.
"""

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import h5py
import numpy as np

MAGIC = b"DASRAW01"
HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("channels", "<u4"),
        ("samples", "<u8"),
        ("sampling_rate", "<f8"),  # Hz
        ("channel_spacing", "<f8"),  # m
        ("start_time", "<f8"),  # s since 1970-01-01, UTC
        ("scale", "<f8"),  # nanostrain/s per count
    ]
)
COUNT = np.dtype("<i2")
BLOCK_SAMPLES = 4096
CHUNK_CHANNELS = 16


def read_header(raw: BinaryIO, path: Path) -> dict[str, Any]:
    """Return the header's fields by name; exit with a message if the file is incomplete."""
    data = raw.read(HEADER.itemsize)
    if len(data) < HEADER.itemsize or not data.startswith(MAGIC):
        raise SystemExit(f"{path}: not a raw fibre recording (it does not begin with {MAGIC.decode()})")
    fields = np.frombuffer(data, HEADER)[0]
    header = {name: fields[name].item() for name in HEADER.names or ()}
    expected = HEADER.itemsize + header["samples"] * header["channels"] * COUNT.itemsize
    if path.stat().st_size != expected:
        raise SystemExit(f"{path}: {path.stat().st_size} bytes, but its header promises {expected}")
    return header


def create_dataset(out: h5py.File, header: dict[str, Any]) -> h5py.Dataset:
    """Make the empty `/DataTimeChannel` with its attributes; rates in Hz, lengths in m."""
    shape = (header["samples"], header["channels"])
    chunks = (min(BLOCK_SAMPLES, shape[0]), min(CHUNK_CHANNELS, shape[1]))
    data = out.create_dataset("DataTimeChannel", shape, np.float32, chunks=chunks)
    data.attrs["units"] = "nanostrain/s"
    data.attrs["sampling_rate"] = header["sampling_rate"]
    data.attrs["channel_spacing"] = header["channel_spacing"]
    data.attrs["start_time"] = datetime.fromtimestamp(header["start_time"], UTC).isoformat()
    return data


def convert(raw_path: Path, out_path: Path) -> None:
    """Copy every channel of `raw_path` to `out_path`, counts turned into nanostrain/s."""
    with raw_path.open("rb") as raw:
        header = read_header(raw, raw_path)
        samples, channels = header["samples"], header["channels"]
        with h5py.File(out_path, "w") as out:
            data = create_dataset(out, header)
            for start in range(0, samples, BLOCK_SAMPLES):
                stop = min(start + BLOCK_SAMPLES, samples)
                counts = np.fromfile(raw, COUNT, (stop - start) * channels)
                data[start:stop] = counts.reshape(-1, channels) * np.float32(header["scale"])
    print(f"{out_path}: {channels} channels, {samples / header['sampling_rate']:g} s")


def main() -> None:
    """Convert the file that the command line names."""
    parser = argparse.ArgumentParser(description="Convert a raw fibre recording to HDF5.")
    parser.add_argument("raw", type=Path, help="the interrogator's binary file")
    parser.add_argument("out", type=Path, help="the HDF5 file to write")
    arguments = parser.parse_args()
    convert(arguments.raw, arguments.out)


if __name__ == "__main__":
    main()
