#!/usr/bin/env python3
"""Cross-correlate every channel with one of them, the virtual source.

In: an HDF5 file with `/DataTimeChannel`, strain rate of shape (samples, channels), as `decimate.py` writes it.
Out: `/stack`, float32 of shape (channels, lags): the mean over all windows of the whitened cross-correlation;
`/lags` in s; `/offsets` in m from the virtual source. A wave that passes the source before the channel has a
positive lag.

The record is cut into windows that overlap by half; each is tapered, its spectrum divided by its own amplitude
(whitened) inside the band, correlated with the source channel's, and added to the stack (Bensen et al. 2007,
doi:10.1111/j.1365-246X.2007.03374.x). The correlation of the noise is the wave that would run from the virtual
source to each channel.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import scipy.fft
import scipy.signal
from numpy.typing import NDArray

TAPER = 0.1  # fraction of a window, both ends together
EDGE = 1.0  # Hz, width of the band's flanks


def windows(data: h5py.Dataset, length: int) -> Iterator[NDArray[np.float32]]:
    """Yield windows of `length` samples, (length, channels), each half a window after the last."""
    for start in range(0, data.shape[0] - length + 1, length // 2):
        yield data[start : start + length]


def band_weights(frequencies: NDArray[np.float64], band: tuple[float, float]) -> NDArray[np.float64]:
    """Return 1 inside `band` (Hz), 0 outside, with flanks of `EDGE` Hz in the shape of a cosine."""
    low, high = band
    inside = np.minimum(frequencies - low, high - frequencies) / EDGE
    return 0.5 - 0.5 * np.cos(np.pi * np.clip(inside, 0, 1))


def whitened_spectrum(window: NDArray[np.float32], size: int, weights: NDArray[np.float64]) -> NDArray[np.complex128]:
    """Return the spectra (frequencies, channels) of a window padded to `size`, their amplitudes set to `weights`."""
    taper = scipy.signal.windows.tukey(len(window), TAPER)
    spectrum = scipy.fft.rfft(scipy.signal.detrend(window, axis=0) * taper[:, np.newaxis], size, axis=0)
    amplitude = np.abs(spectrum)
    # A silent channel stays zero: it has no phase to keep.
    whitened: NDArray[np.complex128] = spectrum * weights[:, np.newaxis] / np.maximum(amplitude, np.finfo(float).tiny)
    return whitened


def correlate(
    data: h5py.Dataset, source: int, length: int, max_lag: int, band: tuple[float, float]
) -> NDArray[np.float64]:
    """Return the stack (channels, 2 `max_lag` + 1); lengths and lags in samples, band in Hz."""
    size = scipy.fft.next_fast_len(length + max_lag, real=True)
    weights = band_weights(scipy.fft.rfftfreq(size, 1 / data.attrs["sampling_rate"]), band)
    total = np.zeros((weights.size, data.shape[1]), np.complex128)
    count = 0
    for window in windows(data, length):
        spectrum = whitened_spectrum(window, size, weights)
        total += spectrum * np.conj(spectrum[:, source, np.newaxis])
        count += 1
    correlation = scipy.fft.irfft(total / count, size, axis=0)
    # Negative lags are at the end of the circular correlation.
    stack: NDArray[np.float64] = np.concatenate([correlation[-max_lag:], correlation[: max_lag + 1]]).T
    return stack


def write_stack(path: Path, stack: NDArray[np.float64], rate: float, spacing: float, source: int) -> None:
    """Write the stack with its lags (s) and offsets (m); `rate` in Hz, `spacing` in m."""
    channels, lags = stack.shape
    with h5py.File(path, "w") as out:
        out["stack"] = stack.astype(np.float32)
        out["lags"] = (np.arange(lags) - lags // 2) / rate
        out["offsets"] = (np.arange(channels) - source) * spacing
        out["stack"].attrs["source_channel"] = source
        out["lags"].attrs["units"] = "s"
        out["offsets"].attrs["units"] = "m"


def parse_arguments() -> argparse.Namespace:
    """Return the command line's values, times in s and frequencies in Hz."""
    parser = argparse.ArgumentParser(description="Cross-correlate every channel with a virtual source.")
    parser.add_argument("input", type=Path, help="the HDF5 file to read")
    parser.add_argument("output", type=Path, help="the HDF5 file to write")
    parser.add_argument("--source-channel", type=int, default=0, help="the virtual source (%(default)s)")
    parser.add_argument("--window", type=float, default=10.0, help="length of a window, in s (%(default)s)")
    parser.add_argument("--max-lag", type=float, default=4.0, help="longest lag kept, in s (%(default)s)")
    parser.add_argument(
        "--band", type=float, nargs=2, default=(2.0, 25.0), metavar=("LOW", "HIGH"), help="in Hz (2 25)"
    )
    return parser.parse_args()


def main() -> None:
    """Correlate the channels of the file that the command line names."""
    arguments = parse_arguments()
    with h5py.File(arguments.input, "r") as file:
        data = file["DataTimeChannel"]
        rate, spacing, source = data.attrs["sampling_rate"], data.attrs["channel_spacing"], arguments.source_channel
        length, max_lag = round(arguments.window * rate), round(arguments.max_lag * rate)
        if not 0 <= source < data.shape[1]:
            raise SystemExit(f"{arguments.input}: no channel {source}; it has {data.shape[1]}")
        if not 0 < max_lag < length <= data.shape[0]:
            raise SystemExit(f"{arguments.input}: the window must exceed the lag and fit {data.shape[0] / rate:g} s")
        stack = correlate(data, source, length, max_lag, tuple(arguments.band))
    write_stack(arguments.output, stack, rate, spacing, source)
    print(f"{arguments.output}: {len(stack)} channels against channel {source}, lags to {arguments.max_lag:g} s")


if __name__ == "__main__":
    main()
