#!/usr/bin/env python3
"""Synthesise a raw fibre recording with known physics.

Out: a binary file as `tdms2h5.py` reads it. By default 256 channels every 4 m, 120 s at 500 Hz: 31 MB.
The strain rate of a channel at x metres along the fibre is a sum of

- **ambient field**: two independent noises of 2-25 Hz, 40 nanostrain/s rms each, which run along the
  fibre in opposite directions at the phase velocity c (default 400 m/s) and fade as exp(-pi f x / Q c);
- **a vehicle** on a road 10 m from the fibre, at constant speed v (default 25 m/s), which passes the fibre's
  middle in the middle of the record. It radiates noise of 5-45 Hz at the same c. A wave that arrives at time t left
  it at t - r/c, where r is the distance at that earlier time; this includes the Doppler shift. Its amplitude, 300
  nanostrain/s rms at 10 m, falls as 1/sqrt(r) (a surface wave spreads on a circle) and as exp(-pi f (r - 10 m) / Q c),
  where f is the middle of its band;
- **hum** at 180 Hz, 30 nanostrain/s, in phase on all channels; a decimation without a filter aliases it into the band;
- **sensor noise**, white, 20 nanostrain/s rms, independent on each channel.

The directivity of the fibre is left out. The same parameters and seed give the same bytes.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.fft
from numpy.typing import NDArray
from tdms2h5 import COUNT, HEADER, MAGIC

AMBIENT_BAND = (2.0, 25.0)  # Hz
AMBIENT_RMS = 40.0  # nanostrain/s
VEHICLE_BAND = (5.0, 45.0)  # Hz
VEHICLE_RMS = 300.0  # nanostrain/s at ROAD_OFFSET
ROAD_OFFSET = 10.0  # m from the fibre
HUM_FREQUENCY = 180.0  # Hz
HUM_AMPLITUDE = 30.0  # nanostrain/s
SENSOR_NOISE_RMS = 20.0  # nanostrain/s
QUALITY = 60.0  # Q of the ground: energy over loss in a cycle
SCALE = 0.1  # nanostrain/s per count
START_TIME = 1_501_200_000.0  # s since 1970: 2017-07-28T00:00:00Z
OVERSAMPLING = 4  # of the vehicle's signal, which is interpolated linearly
BLOCK_CHANNELS = 16

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """The fibre, the ground and the road: lengths in m, times in s, rates in Hz, velocities in m/s."""

    channels: int
    spacing: float
    duration: float
    rate: float
    velocity: float
    speed: float
    seed: int

    @property
    def samples(self) -> int:
        """The number of samples of each channel."""
        return round(self.duration * self.rate)

    @property
    def positions(self) -> Floats:
        """The positions of the channels, in m along the fibre."""
        return np.arange(self.channels, dtype=np.float64) * self.spacing

    @property
    def times(self) -> Floats:
        """The times of the samples, in s since the start."""
        return np.arange(self.samples, dtype=np.float64) / self.rate


def band_spectrum(
    rng: np.random.Generator, samples: int, rate: float, band: tuple[float, float], rms: float
) -> tuple[NDArray[np.complex128], Floats, slice]:
    """Draw noise confined to `band` (Hz) that has the given rms over `samples` at `rate` (Hz).

    Returns the spectrum inside the band, its frequencies, and their place in the whole real-input spectrum.
    """
    frequencies = scipy.fft.rfftfreq(samples, 1 / rate)
    inside = slice(*np.searchsorted(frequencies, band))
    kept = frequencies[inside]
    spectrum = rng.standard_normal(kept.size) + 1j * rng.standard_normal(kept.size)
    # Parseval: the mean square of the signal is 2 sum |X|^2 / samples^2.
    return spectrum * rms * samples / np.sqrt(2 * np.sum(np.abs(spectrum) ** 2)), kept, inside


def ambient_field(setting: Setting, rng: np.random.Generator) -> Iterator[Floats]:
    """Yield the strain rate of the two plane waves, (channels of a block, samples), block after block."""
    samples, positions = setting.samples, setting.positions
    forward, frequencies, inside = band_spectrum(rng, samples, setting.rate, AMBIENT_BAND, AMBIENT_RMS)
    backward, _, _ = band_spectrum(rng, samples, setting.rate, AMBIENT_BAND, AMBIENT_RMS)
    # exp(-(i + 1/2Q) 2 pi f x / c) delays by x / c and attenuates by exp(-pi f x / Q c).
    delay = -(1j + 0.5 / QUALITY) * 2 * np.pi * frequencies / setting.velocity
    for start in range(0, setting.channels, BLOCK_CHANNELS):
        x = positions[start : start + BLOCK_CHANNELS, np.newaxis]
        spectrum = np.zeros((len(x), samples // 2 + 1), np.complex128)
        spectrum[:, inside] = forward * np.exp(delay * x) + backward * np.exp(delay * (positions[-1] - x))
        yield scipy.fft.irfft(spectrum, samples)


def travel_time(ahead: Floats, speed: float, velocity: float) -> Floats:
    """Return the travel time (s) of the present wave from a source that moves at `speed` (m/s).

    `ahead` is the present distance (m) of the channel ahead of the source. It solves
    (c tau)^2 = (ahead + v tau)^2 + ROAD_OFFSET^2 for tau > 0, given v < c.
    """
    gap = velocity**2 - speed**2
    root = np.sqrt((ahead * speed) ** 2 + gap * (ahead**2 + ROAD_OFFSET**2))
    return (ahead * speed + root) / gap


def vehicle_waves(setting: Setting, rng: np.random.Generator) -> Iterator[Floats]:
    """Yield the strain rate of the vehicle's waves, (channels of a block, samples), block after block."""
    times, positions, c, v = setting.times, setting.positions, setting.velocity, setting.speed
    source = positions[-1] / 2 + v * (times - setting.duration / 2)
    farthest = (positions[-1] + abs(v) * setting.duration) / 2 + ROAD_OFFSET
    lead = farthest / (c - abs(v))  # s: no wave in the record left earlier than this before its start
    count = round((setting.duration + lead) * setting.rate)
    drawn, _, inside = band_spectrum(rng, count, setting.rate, VEHICLE_BAND, VEHICLE_RMS)
    spectrum = np.zeros(count // 2 + 1, np.complex128)
    spectrum[inside] = drawn * OVERSAMPLING
    signal = scipy.fft.irfft(spectrum, count * OVERSAMPLING)
    emitted = np.arange(signal.size) / (setting.rate * OVERSAMPLING) - lead
    decay = np.pi * np.mean(VEHICLE_BAND) / (QUALITY * c)  # 1/m
    for start in range(0, setting.channels, BLOCK_CHANNELS):
        tau = travel_time(positions[start : start + BLOCK_CHANNELS, np.newaxis] - source, v, c)
        distance = c * tau
        fading = np.sqrt(ROAD_OFFSET / distance) * np.exp(-decay * (distance - ROAD_OFFSET))
        yield fading * np.interp(times - tau, emitted, signal)


def synthesise(setting: Setting) -> NDArray[np.int16]:
    """Return the recording in counts of `SCALE` nanostrain/s, of shape (samples, channels)."""
    rng = np.random.default_rng(setting.seed)
    recording = SENSOR_NOISE_RMS * rng.standard_normal((setting.samples, setting.channels), np.float32)
    recording += HUM_AMPLITUDE * np.sin(2 * np.pi * HUM_FREQUENCY * setting.times).astype(np.float32)[:, np.newaxis]
    for waves in (ambient_field(setting, rng), vehicle_waves(setting, rng)):
        for block, strain_rate in enumerate(waves):
            first = block * BLOCK_CHANNELS
            recording[:, first : first + BLOCK_CHANNELS] += strain_rate.T
    limits = np.iinfo(COUNT)
    counts: NDArray[np.int16] = np.clip(np.rint(recording / SCALE), limits.min, limits.max).astype(COUNT)
    return counts


def write_raw(path: Path, setting: Setting, counts: NDArray[np.int16]) -> None:
    """Write the header and the counts."""
    facts = (MAGIC, setting.channels, setting.samples, setting.rate, setting.spacing, START_TIME, SCALE)
    with path.open("wb") as raw:
        np.array(facts, HEADER).tofile(raw)
        counts.tofile(raw)


def parse_arguments() -> argparse.Namespace:
    """Return the command line's values: the fields of a `Setting`, and the path `raw`."""
    parser = argparse.ArgumentParser(description="Synthesise a raw fibre recording with known physics.")
    parser.add_argument("raw", type=Path, help="the binary file to write")
    parser.add_argument("--channels", type=int, default=256)
    parser.add_argument("--spacing", type=float, default=4.0, help="of the channels, in m (%(default)s)")
    parser.add_argument("--duration", type=float, default=120.0, help="in s (%(default)s)")
    parser.add_argument("--rate", type=float, default=500.0, help="of sampling, in Hz (%(default)s)")
    parser.add_argument("--velocity", type=float, default=400.0, help="of phase, in m/s (%(default)s)")
    parser.add_argument("--speed", type=float, default=25.0, help="of the vehicle, in m/s (%(default)s)")
    parser.add_argument("--seed", type=int, default=2017)
    arguments = parser.parse_args()
    if not abs(arguments.speed) < arguments.velocity:
        parser.error("the vehicle must be slower than the waves")
    if arguments.rate <= 2 * HUM_FREQUENCY:
        parser.error(f"the rate must exceed {2 * HUM_FREQUENCY:g} Hz, twice the hum's")
    return arguments


def main() -> None:
    """Write the recording with the parameters of the command line."""
    arguments = vars(parse_arguments())
    path = arguments.pop("raw")
    setting = Setting(**arguments)
    write_raw(path, setting, synthesise(setting))
    print(f"{path}: {setting.channels} channels, {setting.duration:g} s, {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
