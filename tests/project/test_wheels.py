"""The wheels of `make wheels`: names, content, reproducible bytes, and that an installed one works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from conftest import Project
from packages import ROOT, build, copied
from portable_shims import made_shims, needed

from provio.system import shims

pytestmark = pytest.mark.slow
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
PLATFORMS = {
    "x86_64-glibc": "manylinux_2_17_x86_64.manylinux2014_x86_64",
    "aarch64-glibc": "manylinux_2_17_aarch64.manylinux2014_aarch64",
    "x86_64-musl": "musllinux_1_2_x86_64",
    "aarch64-musl": "musllinux_1_2_aarch64",
}

TURN = """
#include <stdio.h>
int main(int count, char **names) {
    FILE *in = fopen(names[1], "r"), *out = fopen(names[2], "w");
    for (int byte; count == 3 && (byte = fgetc(in)) != EOF;) fputc(byte + 1, out);
    return fclose(in) || fclose(out);
}
"""


@pytest.fixture(scope="module")
def preload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the shims and waiters of all kinds."""
    return made_shims(tmp_path_factory)


@pytest.fixture(scope="module")
def wheels(preload: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheels, by kind."""
    checkout, folder = copied(tmp_path_factory.mktemp("sources") / "provio"), tmp_path_factory.mktemp("wheels")
    shutil.copytree(preload, checkout / "provio" / "preload")
    for kind in PLATFORMS:
        done = build(checkout, folder, "--no-build-isolation", PROVIO_WHEEL=kind)
        assert done.returncode == 0, done.stderr
    assert len(list(folder.iterdir())) == len(PLATFORMS)
    return {kind: folder / f"provio_lineage-{VERSION}-py3-none-{platform}.whl" for kind, platform in PLATFORMS.items()}


@pytest.mark.parametrize("kind", PLATFORMS)
def test_the_content_of_a_wheel(preload: Path, wheels: dict[str, Path], kind: str) -> None:
    """The shims of all kinds, its own once more, the waiter of its own machine, all else that provio needs."""
    held = zipfile.ZipFile(wheels[kind])
    for each in PLATFORMS:
        name = f"preload/{each}/libprovio.so"
        assert held.read(f"provio/{name}") == (preload.parent / name).read_bytes()
    assert held.read("provio/libprovio.so") == held.read(f"provio/preload/{kind}/libprovio.so")
    waiter = held.read("provio/waiter")
    assert waiter[:4] == b"\x7fELF" and f"{shims.MACHINES[waiter[18]]}-" in kind
    assert held.getinfo("provio/waiter").external_attr >> 16 & 0o777 == 0o755
    script = held.getinfo(
        f"provio_lineage-{VERSION}.data/scripts/provio"
    )  # installers put their Python there for `#!python`
    assert held.read(script).startswith(b"#!python\n") and script.external_attr >> 16 & 0o777 == 0o755
    names = set(held.namelist())
    for room in ("interceptors", "ontology", "queries"):
        mine = [path for path in (ROOT / room).rglob("*") if path.suffix in (".py", ".c", ".h", ".def", ".ttl", ".rq")]
        assert {f"provio/{path.relative_to(ROOT)}" for path in mine} <= names
    needed = held.read(f"provio_lineage-{VERSION}.dist-info/METADATA").decode()
    assert ("Requires-Dist: oxigraph" in needed) == kind.endswith("glibc")  # it has no wheels for musl
    said = held.read(f"provio_lineage-{VERSION}.dist-info/WHEEL").decode()
    assert set(re.findall("^Tag: (.*)$", said, re.M)) == {f"py3-none-{tag}" for tag in PLATFORMS[kind].split(".")}


def test_a_wheel_has_the_same_bytes_twice(preload: Path, wheels: dict[str, Path], tmp_path: Path) -> None:
    """Build from another copy, with other file times and permissions."""
    checkout = copied(tmp_path / "other" / "provio")
    shutil.copytree(preload, checkout / "provio" / "preload")
    for path in checkout.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.chmod(path.stat().st_mode & 0o700)
            os.utime(path, (1_500_000_000, 1_500_000_000))
    done = build(checkout, tmp_path, "--no-build-isolation", PROVIO_WHEEL="aarch64-musl")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / wheels["aarch64-musl"].name).read_bytes() == wheels["aarch64-musl"].read_bytes()


@pytest.fixture(scope="module")
def installed(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command `provio` of an environment with the wheel, which finds provio's requirements in this one's."""
    needed("x86_64-glibc")
    folder = tmp_path_factory.mktemp("empty")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "-qq", "--python", python, "install", "--no-deps", "--no-index"]
    subprocess.run([*pip, wheels["x86_64-glibc"]], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    here = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    (site / "requirements.pth").write_text("\n".join(here) + "\n")
    return folder / "bin" / "provio"


@pytest.mark.parametrize("compiler", ["cc", "musl-gcc"])
def test_an_installed_wheel_records(installed: Path, project: Project, compiler: str) -> None:
    """Away from the sources, a program of either C library: a run, and its lineage."""
    needed("x86_64-glibc" if compiler == "cc" else "x86_64-musl")
    subprocess.run([compiler, "-o", project.path / "turn", "-xc", "-"], input=TURN, text=True, check=True)
    (project.path / "in").write_text("1\n")
    env = {name: value for name, value in project.env.items() if name != "PYTHONPATH"}

    def provio(*words: str) -> str:
        command = [installed, *words]
        done = subprocess.run(command, cwd=project.path, env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = "import provio, provio.interceptors as i; print(provio.__file__, i.__path__[0])"
    command = [installed.with_name("python"), "-c", where]
    told = subprocess.run(command, cwd=project.path, env=env, capture_output=True, text=True)
    assert all(path.startswith(str(installed.parents[1])) for path in told.stdout.split()) and told.stdout
    provio("run", "--quiet", "--", "sh", "-c", "./turn in middle; tr 2 3 < middle > out")
    lines = provio("lineage", "out", "--as", "csv")
    assert {"in", "middle"} <= {os.path.basename(word) for line in lines.splitlines() for word in line.split(",")}
