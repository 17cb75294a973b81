"""The image of `container/Containerfile`, built by an ordinary user, and provio in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from container_roots import USER, Ordinary
from container_roots import cache as cache
from container_roots import debian as debian
from container_roots import ordinary as ordinary
from packages import build, compiler_that_copies, copied

ROOT = Path(__file__).parent.parent.parent
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64", "linux_x86_64", "any")
LEFT_OUT = ["./dev/*"]  # and files that no program here reads: ch-image copies the root twice
LEFT_OUT += [f"./usr/share/{name}/*" for name in ("doc", "locale", "man", "perl5", "zoneinfo")]
LEFT_OUT += [f"./usr/lib/*/{name}/*" for name in ("perl-base", "gconv")]
LEFT_OUT += [f"./var/{name}/*" for name in ("cache/apt", "lib/apt", "lib/dpkg/info")]


def wheels(folder: Path, python: str, shim: Path) -> None:
    """provio's wheel and its requirements, for a Python version."""
    assert shim.exists()
    made = build(copied(folder / "sources"), folder, "--no-build-isolation", CC=compiler_that_copies(folder / "cc"))
    assert made.returncode == 0, made.stderr
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--python-version", python]
    command += [word for platform in PLATFORMS for word in ("--platform", platform)]
    own = next(folder.glob("provio_lineage-*.whl"))
    done = subprocess.run([*command, "--dest", folder, own], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no wheels for Python {python} to be had: {done.stderr.strip()[-200:]}")


def ch_image(ordinary: Ordinary, *words: str) -> str:
    """Call ch-image as that user, with the system's Python."""
    env = {**ordinary.env, "PATH": "/usr/bin:/bin", "CH_IMAGE_STORAGE": f"{ordinary.path.parent}/storage"}
    env["WHAT"] = "--no-index --find-links=/mnt provio-lineage"  # an argument of the build, which must not contain =
    called = subprocess.run(
        ordinary.user("ch-image", "--no-cache", *words), cwd=ordinary.path, env=env, capture_output=True, text=True,
        timeout=500, check=False,
    )  # fmt: skip
    if "Permission denied" in called.stderr and "import" in words:
        pytest.skip(f"ch-image makes nothing here: {called.stderr[-200:]}")
    assert called.returncode == 0, called.stdout[-2000:] + called.stderr[-2000:]
    return called.stdout


@pytest.mark.slow
def test_provio_in_its_own_image(ordinary: Ordinary, debian: Path, shim: Path) -> None:
    """From a root of Debian: complete pipelines inside, and queries of the same `.provio` outside."""
    if not shutil.which("ch-image"):
        pytest.skip("not installed: ch-image (apt-get install charliecloud)")
    place = ordinary.path.parent
    (place / "wheels").mkdir()
    wheels(place / "wheels", os.readlink(debian / "usr/bin/python3").removeprefix("python"), shim)
    base = place / "base.tar"
    subprocess.run(["tar", "-C", debian, *(f"--exclude={what}" for what in LEFT_OUT), "-cf", base, "."], check=True)
    base.chmod(0o644)
    ch_image(ordinary, "import", str(base), "base")
    recipe = shutil.copy(ROOT / "container" / "Containerfile", place)
    options = ("--bind", f"{place}/wheels:/mnt", "--build-arg", "BASE=base", "--build-arg", "WHAT")
    ch_image(ordinary, "build", *options, "-t", "provio", "-f", str(recipe), f"{place}/wheels/sources")
    (ordinary.path / "in").write_text("b\na\n")
    os.chown(ordinary.path / "in", USER, USER)
    script = "provio run --quiet -- sh -c 'sort in > out' && provio lineage out && provio validate --strict"
    inside = subprocess.run(
        ordinary.user("ch-run", f"--cd={ordinary.path}", f"{place}/storage/img/provio", "--", "sh", "-c", script),
        env={**ordinary.env, "PATH": "/usr/local/bin:/usr/bin:/bin"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert inside.returncode == 0, inside.stderr
    assert "sort" in inside.stdout and "in  4 B" in inside.stdout, inside.stdout
    assert (ordinary.path / "out").read_text() == "a\nb\n"
    assert ordinary.data("out") == {"in"}
