"""The package: one top-level name, the shim for this platform, one version, a clear word where a tool is missing."""

import importlib.resources
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packages import ROOT, build, copied

import provio

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ROOMS = ("interceptors", "ontology", "queries")
CONTENT = (".py", ".c", ".h", ".def", ".ttl", ".rq", ".html", ".css", ".js", ".typed")
# A compiler that only makes its output: these tests check the content of packages; the install of a checkout, which the
# tests have behind them, compiles the shim in the same way.
COMPILER = '#!/bin/sh\nwhile [ $# -gt 0 ]; do [ "$1" != -o ] || echo compiled > "$2"; shift; done\n'


def sources() -> list[Path]:
    """Return the files of the repository that belong into the wheel, by their names there."""
    linked = [path for room in ROOMS for path in (ROOT / room).rglob("*")]
    own = [path for path in (ROOT / "provio").rglob("*") if not set(path.parts[len(ROOT.parts) + 1 :]) & set(ROOMS)]
    kept = [path.relative_to(ROOT) for path in linked + own if path.suffix in CONTENT and path.is_file()]
    return sorted(Path("provio", *path.parts[path.parts[0] == "provio" :]) for path in kept)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy to build in."""
    return copied(tmp_path_factory.mktemp("checkout") / "provio")


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> str:
    program = tmp_path_factory.mktemp("compiler") / "cc"
    program.write_text(COMPILER)
    program.chmod(0o755)
    return str(program)


@pytest.fixture(scope="module")
def wheel(checkout: Path, compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a checkout with pip, with only the packages in `build-system.requires`."""
    folder = tmp_path_factory.mktemp("wheel")
    built = build(checkout, folder, CC=compiler)
    assert built.returncode == 0, built.stderr
    return next(folder.glob("*.whl"))


@pytest.mark.slow
def test_the_wheel_installs_one_name_with_everything_in_it(wheel: Path) -> None:
    assert re.fullmatch(rf"provio_lineage-{re.escape(PROJECT['version'])}-py3-none-linux_\w+\.whl", wheel.name)
    content = zipfile.ZipFile(wheel)
    names = content.namelist()
    assert {content.read(f"provio/{name}") for name in ("libprovio.so", "waiter")} == {b"compiled\n"}
    own = f"provio_lineage-{PROJECT['version']}"
    assert {name.split("/")[0] for name in names} == {"provio", f"{own}.dist-info", f"{own}.data"}
    assert [name for name in names if name.startswith(f"{own}.data/")] == [f"{own}.data/scripts/provio"]
    assert {str(path) for path in sources()} | {"provio/libprovio.so", "provio/interceptors/posix/build"} <= set(names)


@pytest.mark.slow
def test_the_source_distribution_builds_the_same_wheel(
    checkout: Path, wheel: Path, compiler: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path, checkout]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "CC": compiler})
    names = [sorted(zipfile.ZipFile(path).namelist()) for path in (wheel, next(tmp_path.glob("*.whl")))]
    assert names[0] == names[1]


@pytest.mark.slow
def test_a_missing_compiler_is_one_clear_line(checkout: Path, tmp_path: Path) -> None:
    built = build(checkout, tmp_path, "--no-build-isolation", CC="no-such-compiler")
    assert built.returncode != 0
    (line,) = re.findall(r"provio: .*", built.stdout + built.stderr)
    assert line == (
        "provio: the C compiler 'no-such-compiler' named by CC does not start (No such file or directory); "
        "on Debian or Ubuntu: apt-get install gcc libc6-dev"
    )


@pytest.mark.integration
@pytest.mark.parametrize(
    ("environment", "said"),
    [
        (
            {"PATH": "/nonexistent"},
            "no C compiler found (cc, gcc, clang); on Debian or Ubuntu: apt-get install gcc libc6-dev",
        ),
        (
            {"CC": "false"},
            "false does not find the C library's headers; on Debian or Ubuntu: apt-get install gcc libc6-dev",
        ),
        ({"CC": "cc"}, None),
    ],
)
def test_requirements_of_make_are_checked_first(environment: dict[str, str], said: str | None) -> None:
    if said is None and not shutil.which("cc"):
        pytest.skip("cc is not installed")
    command = ["/bin/sh", str(ROOT / ".ci" / "tools"), sys.executable]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == ((1, "", f"provio: {said}\n") if said else (0, "", ""))


@pytest.mark.parametrize("room", ROOMS)
def test_the_rooms_lie_inside_the_package(room: str) -> None:
    folder = importlib.resources.files(f"provio.{room}")
    assert folder.joinpath("__init__.py").is_file()
    assert room != "ontology" or folder.joinpath("provio.ttl").is_file()


def test_the_version_is_the_same_everywhere() -> None:
    said = {
        "provio/__init__.py": provio.__version__,
        "CITATION.cff": first(r"^version: (.+)$", "CITATION.cff"),
        "CHANGELOG.md": first(r"^## (\S+)", "CHANGELOG.md"),
        "ontology/provio.ttl": first(r'owl:versionInfo "(.+)"', "ontology/provio.ttl"),
    }
    assert said == dict.fromkeys(said, PROJECT["version"])


def first(pattern: str, name: str) -> str:
    found = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else ""


def test_the_makefile_explains_each_target() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.search(r"^\.PHONY: (.+)$", text, re.MULTILINE)
    assert targets
    assert re.findall(r"^([a-z]+):.*## ", text, re.MULTILINE) == targets[1].split()


def test_no_text_advises_to_install_the_other_project() -> None:
    """The package `provio` of the index is not this one: an advice names a file, a folder or `provio-lineage`."""
    advice = re.compile(r"""\binstall\b[^\n`#]*[\s"'](provio)(?![\w./-])""")
    files = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "container").iterdir(), *(ROOT / "examples").rglob("*.*")]
    files += [ROOT / path for path in sources() if path.suffix == ".py"] + [ROOT / "README.md", ROOT / ".ci/frameworks"]
    found = [line for path in files if path.is_file() for line in path.read_text("utf-8", "replace").splitlines()]
    assert [line for line in found if "pip" in line and advice.search(line)] == []
    assert advice.search('pip install "provio[serve]"') and advice.search("pip install --force-reinstall provio")
