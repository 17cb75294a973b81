"""The fibre example, run as its reader runs it but smaller, gives back the physics that was put in."""

import os
import runpy
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

h5py = pytest.importorskip("h5py")
np = pytest.importorskip("numpy")
pytest.importorskip("scipy")

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "dassa"
HUM = 180.0  # Hz
FACTOR = 4


def run(program: str, *arguments: object) -> None:
    """Run one of the example's programs with a command line, in this process: SciPy takes a second to import."""
    with (
        mock.patch.object(sys, "argv", [program, *map(str, arguments)]),
        mock.patch.object(sys, "path", [str(EXAMPLE), *sys.path]),
    ):
        runpy.run_path(str(EXAMPLE / program), run_name="__main__")


def synthesise(path: Path, **options: float) -> None:
    """Write a small recording; options are those of `synthesise.py`."""
    small = {"channels": 96, "spacing": 8, "duration": 60, "rate": 400} | options
    run("synthesise.py", path, *(f"--{name}={value}" for name, value in small.items()))


@dataclass(frozen=True)
class Case:
    """A small recording's folder, with the phase velocity and the vehicle's speed in m/s."""

    folder: Path
    velocity: float
    speed: float

    def read(self, name: str, dataset: str) -> Any:
        with h5py.File(self.folder / name) as file:
            return file[dataset][()]


@pytest.fixture(scope="module", params=[(400.0, 25.0), (550.0, -18.0)], ids=lambda pair: f"c={pair[0]:g},v={pair[1]:g}")
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """The whole pipeline, for two grounds and two vehicles, the second one driving the other way."""
    velocity, speed = request.param
    folder = tmp_path_factory.mktemp("dassa")
    synthesise(folder / "WestSac.bin", velocity=velocity, speed=speed)
    run("tdms2h5.py", folder / "WestSac.bin", folder / "WestSac.h5")
    run("decimate.py", folder / "WestSac.h5", folder / "decimate.h5", "--factor", FACTOR)
    run("xcorr.py", folder / "decimate.h5", folder / "xcorr.h5", "--window", 8, "--max-lag", 3)
    return Case(folder, velocity, speed)


@pytest.mark.integration
def test_conversion_keeps_every_count(case: Case) -> None:
    """The HDF5 file holds the counts of the raw file times its scale, and the header's facts."""
    raw = (case.folder / "WestSac.bin").read_bytes()
    magic, channels, samples, rate, spacing, _, scale = struct.unpack_from("<8sIQdddd", raw)
    counts = np.frombuffer(raw, "<i2", offset=52).reshape(samples, channels)
    assert (magic, channels, samples, rate, spacing) == (b"DASRAW01", 96, 24000, 400.0, 8.0)
    np.testing.assert_array_equal(case.read("WestSac.h5", "DataTimeChannel"), counts * np.float32(scale))
    with h5py.File(case.folder / "WestSac.h5") as file:
        assert dict(file["DataTimeChannel"].attrs) == {
            "units": "nanostrain/s",
            "sampling_rate": 400.0,
            "channel_spacing": 8.0,
            "start_time": "2017-07-28T00:00:00+00:00",
        }


def test_vehicle_moves_at_its_speed(case: Case) -> None:
    """The loudest half second of each channel moves along the fibre at the vehicle's speed."""
    data = case.read("WestSac.h5", "DataTimeChannel")
    energy = np.mean(data.reshape(120, 200, 96) ** 2, axis=1)
    passing = (np.argmax(energy, axis=0) + 0.5) * 0.5
    speed, _ = np.polyfit(passing, np.arange(96) * 8.0, 1)
    assert speed == pytest.approx(case.speed, rel=0.03)


def test_decimation_removes_aliases(case: Case) -> None:
    """The hum above the new Nyquist frequency leaves no line where bare thinning folds it to."""
    raw, thinned = case.read("WestSac.h5", "DataTimeChannel"), case.read("decimate.h5", "DataTimeChannel")
    rate = 400 / FACTOR
    assert thinned.shape == (24000 // FACTOR, 96)

    def line(data: Any) -> float:
        """The power at the folded frequency over that of its neighbourhood, on the average channel."""
        from scipy import signal  # takes a second

        frequencies, power = signal.welch(data, rate, nperseg=1000, axis=0)
        folded = np.argmin(np.abs(frequencies - abs(HUM - 2 * rate)))
        mean = power.mean(axis=1)
        return float(mean[folded] / np.median(mean[folded - 20 : folded + 20]))

    assert line(raw[::FACTOR]) > 5
    assert line(thinned) < 1.5


def test_low_pass_stops_above_and_keeps_phase_below() -> None:
    """Above the new Nyquist frequency at most a millionth of the energy is left; far below, each sample stays."""
    low_pass = runpy.run_path(str(EXAMPLE / "decimate.py"))["low_pass"]
    times = np.arange(8000) / 400
    tones = np.sin(2 * np.pi * np.outer(times, [55.0, 120.0, HUM, 10.0])).astype(np.float32)
    filtered = low_pass(tones, FACTOR)[1000:-1000]
    kept = np.sum(filtered**2, axis=0) / np.sum(tones[1000:-1000] ** 2, axis=0)
    assert np.all(kept[:3] < 1e-6)
    np.testing.assert_allclose(filtered[:, 3], tones[1000:-1000, 3], atol=0.02)


def slant_stack(case: Case, direction: int) -> float:
    """Return the velocity (m/s) along which the correlations sum to the most; direction 1 or -1 is the lag's sign."""
    stack, lags, offsets = (case.read("xcorr.h5", name) for name in ("stack", "lags", "offsets"))
    trials = np.arange(250.0, 800.0, 2.5)
    along = [
        np.mean([np.interp(direction * x / c, lags, trace) for x, trace in zip(offsets, stack, strict=True) if x > 50])
        for c in trials
    ]
    return float(trials[np.argmax(along)])


@pytest.mark.parametrize("direction", [1, -1], ids=["away", "towards"])
def test_correlation_gives_phase_velocity(case: Case, direction: int) -> None:
    """Waves that run away from the virtual source and towards it both show the ground's phase velocity."""
    assert slant_stack(case, direction) == pytest.approx(case.velocity, rel=0.02)


def test_the_summary_equals_the_parameters(case: Case) -> None:
    """The vehicle's speed and the ground's phase velocity."""
    run("summarise.py", case.folder / "WestSac.h5", case.folder / "xcorr.h5", case.folder / "summary.h5")
    assert case.read("summary.h5", "speed") == pytest.approx(case.speed, rel=0.03)
    assert case.read("summary.h5", "velocity") == pytest.approx(case.velocity, rel=0.02)


def test_virtual_source_may_be_any_channel(case: Case) -> None:
    """A source in the middle has offset 0 and correlates with itself best, at lag 0."""
    run("xcorr.py", case.folder / "decimate.h5", case.folder / "middle.h5", "--source-channel", 48, "--window", 8)
    stack, lags, offsets = (case.read("middle.h5", name) for name in ("stack", "lags", "offsets"))
    channel, lag = np.unravel_index(np.argmax(stack), stack.shape)
    assert (channel, lags[lag], offsets[48], offsets[0]) == (48, 0.0, 0.0, -384.0)


def test_same_seed_gives_same_bytes(tmp_path: Path) -> None:
    """The recording is a function of its parameters and seed."""
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        synthesise(tmp_path / name, channels=8, duration=4, seed=seed)
    first, again, other = ((tmp_path / name).read_bytes() for name in "abc")
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "not a raw fibre recording"), (b"RIFF" * 20, "not a raw fibre recording"), (None, "its header promises")],
    ids=["empty", "foreign", "cut short"],
)
def test_bad_raw_file_is_named(tmp_path: Path, content: bytes | None, message: str) -> None:
    """A file that is no whole recording is refused in one line, and nothing is written."""
    raw = tmp_path / "raw.bin"
    facts = struct.pack("<8sIQdddd", b"DASRAW01", 4, 100, 400.0, 8.0, 0.0, 0.1)
    raw.write_bytes(facts if content is None else content)
    with pytest.raises(SystemExit) as refusal:
        run("tdms2h5.py", raw, tmp_path / "out.h5")
    assert str(refusal.value).startswith(f"{raw}: ")
    assert message in str(refusal.value)
    assert not (tmp_path / "out.h5").exists()


def demo(folder: Path, body: str) -> subprocess.CompletedProcess[str]:
    """Run `demo.sh` in `folder/run` on a tiny recording, with a shell script in the place of provio."""
    (folder / "run").mkdir()
    synthesise(folder / "run" / "WestSac.bin", channels=4, duration=16)
    stand_in = folder / "stand-in"
    stand_in.write_text(f'#!/bin/sh\necho "$1" >> "$PROVIO_HOME.calls"\n{body}\n')
    stand_in.chmod(0o755)
    variables = os.environ | {"PROVIO": str(stand_in), "PYTHON": sys.executable, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [str(EXAMPLE / "demo.sh"), str(folder / "run")]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_demo_makes_every_product(tmp_path: Path) -> None:
    """The demo records four steps, makes six queries, and draws once."""
    body = 'case $1 in run) shift 2; exec "$@" ;; view) echo page > "$4" ;; esac'
    done = demo(tmp_path, body)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / ".provio.calls").read_text().split() == (
        ["run"] * 4 + ["lineage"] * 5 + ["query", "view"]
    )
    products = {path.name for path in (tmp_path / "run").iterdir()} - {".provio.calls"}
    assert products == {"WestSac.bin", "WestSac.h5", "decimate.h5", "xcorr.h5", "summary.h5", "lineage.html"}


def test_demo_fails_with_its_step(tmp_path: Path) -> None:
    """The first step that fails ends the demo."""
    done = demo(tmp_path, "exit 3")
    assert done.returncode == 3
    assert (tmp_path / "run" / ".provio.calls").read_text().split() == ["run"]
