"""The commands that extend or repair an installation, for each way to install; other programs named `provio`."""

from __future__ import annotations

import importlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from conftest import ROOT, Project
from packages import build, compiler_that_copies, copied

from provio.system import installation

COMMIT = "0123456789abcdef0123456789abcdef01234567"
PIP = f"{sys.executable} -m pip install"
ELF = Path("/bin/true")


def described(folder: Path, name: str, **files: str) -> metadata.Distribution:
    """An installed package of this project with that name, in a folder without the package itself."""
    place = folder / f"{name.replace('-', '_')}-0.1.0.dist-info"
    place.mkdir(parents=True)
    files = {"RECORD": "x,,\n", "METADATA": METADATA.format(name=name, summary=installation.SUMMARY), **files}
    for file, text in files.items():
        (place / file.replace("direct_url", "direct_url.json")).write_text(text)
    importlib.invalidate_caches()  # it notices a change of the folder by its time
    return metadata.Distribution.at(place)


METADATA = """Metadata-Version: 2.4
Name: {name}
Version: 0.1.0
Summary: {summary} for unmodified programs
Provides-Extra: remote
Requires-Dist: click>=8.1
Requires-Dist: requests>=2.31; extra == "remote"
"""


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of packages of an environment, in place of this checkout."""
    monkeypatch.setattr(installation, "HERE", tmp_path / "packages")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return tmp_path / "packages"


def commands() -> list[str]:
    return [installation.install(), installation.install("remote"), installation.install(again=True)]


def test_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder is quoted for a shell."""
    place = tmp_path / "it's mine"
    place.mkdir()
    shutil.copy(ROOT / "pyproject.toml", place)
    monkeypatch.setattr(installation, "HERE", place)
    assert commands() == [
        f"{PIP} -e {shlex.quote(str(place))}",
        f"{PIP} -e {shlex.quote(f'{place}[remote]')}",
        f"{PIP} --force-reinstall --no-deps -e {shlex.quote(str(place))}",
    ]


@pytest.mark.parametrize("name", ["wheel of it.whl", "folder"])
def test_a_file_or_folder(elsewhere: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As long as it exists; afterwards, the name of the distribution."""
    source = elsewhere.parent / name
    source.mkdir()
    found = described(elsewhere, installation.NAME, direct_url=json.dumps({"url": source.as_uri()}))
    monkeypatch.setattr(installation, "distribution", lambda: found)
    assert commands() == [
        f"{PIP} {shlex.quote(str(source))}",
        f"{PIP} {shlex.quote(f'{source}[remote]')}",
        f"{PIP} --force-reinstall --no-deps {shlex.quote(str(source))}",
    ]
    source.rmdir()
    assert commands() == [
        f"{PIP} provio-lineage",
        f"{PIP} 'provio-lineage[remote]'",
        f"{PIP} --force-reinstall --no-deps provio-lineage",
    ]


@pytest.mark.parametrize(
    ("origin", "address"),
    [
        ({"url": "https://a.example/p.whl", "archive_info": {}}, "https://a.example/p.whl"),
        (
            {"url": "https://a.example/p.git", "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
            f"git+https://a.example/p.git@{COMMIT}",
        ),
    ],
)
def test_an_address(elsewhere: Path, monkeypatch: pytest.MonkeyPatch, origin: dict[str, object], address: str) -> None:
    found = described(elsewhere, installation.NAME, direct_url=json.dumps(origin))
    monkeypatch.setattr(installation, "distribution", lambda: found)
    assert commands() == [
        f"{PIP} 'provio-lineage @ {address}'",
        f"{PIP} 'provio-lineage[remote] @ {address}'",
        f"{PIP} --force-reinstall --no-deps 'provio-lineage @ {address}'",
    ]


@pytest.mark.parametrize(
    ("mark", "expected"),
    [
        (
            "pipx_metadata.json",
            [
                "pipx install --force provio-lineage",
                "pipx install --force 'provio-lineage[remote]'",
                "pipx install --force provio-lineage",
            ],
        ),
        (
            "uv-receipt.toml",
            [
                "uv tool install --force provio-lineage",
                "uv tool install --force 'provio-lineage[remote]'",
                "uv tool install --force --reinstall provio-lineage",
            ],
        ),
    ],
)
def test_an_environment_of_its_own(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, mark: str, expected: list[str]
) -> None:
    found = described(elsewhere, installation.NAME)
    monkeypatch.setattr(installation, "distribution", lambda: found)
    (elsewhere.parent / mark).touch()
    assert commands() == expected


def test_conda(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no extras: their packages are named."""
    found = described(elsewhere, installation.NAME, INSTALLER="conda\n")
    monkeypatch.setattr(installation, "distribution", lambda: found)
    conda = f"conda install --prefix {shlex.quote(sys.prefix)}"
    assert commands() == [
        f"{conda} provio-lineage",
        f"{conda} 'requests>=2.31'",
        f"{conda} --force-reinstall provio-lineage",
    ]


def test_an_environment_without_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """uv makes such environments."""
    (tmp_path / "uv").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(installation, "find_spec", lambda _: None)
    assert installation.install("remote") == f"uv pip install --python {sys.executable} -e '{ROOT}[remote]'"


def test_a_python_that_a_distribution_manages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """pip refuses to install there without an option, which was given before."""
    (tmp_path / "EXTERNALLY-MANAGED").touch()
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    assert installation.installer() == [sys.executable, "-m", "pip", "install", "--break-system-packages"]


def test_the_metadata_under_either_name(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An older installation has the former name, and counts as a second one after an update. The other project's
    package never counts as this one."""
    monkeypatch.setattr(sys, "path", [str(elsewhere)])
    assert installation.distribution() is None and installation.second() is None
    described(elsewhere, "provio")
    found = installation.distribution()
    assert found and found.metadata["Name"] == "provio" and installation.second() is None
    described(elsewhere, installation.NAME)
    found, second = installation.distribution(), installation.second()
    assert found and found.metadata["Name"] == "provio-lineage"
    assert second and second.metadata["Name"] == "provio" and installation.is_ours(second)
    monkeypatch.setattr(sys, "path", [str(elsewhere / "others")])
    described(elsewhere / "others", "provio", METADATA=METADATA.format(name="provio", summary="A safety floor"))
    second = installation.second()
    assert installation.distribution() is None and second and not installation.is_ours(second)


def test_the_command_that_a_shell_finds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Another program is recognised; a shell script may call this provio."""
    program = tmp_path / "provio"
    monkeypatch.setenv("PATH", str(tmp_path))
    found = []
    for text in (ELF.read_bytes(), b"#!/usr/bin/env node\n", b"#!/bin/sh\nexec x\n", b"#!/usr/bin/env bash\n", b""):
        program.write_bytes(text)
        program.chmod(0o755)
        found.append((installation.other_command() is not None, installation.shell_call() == "provio"))
    assert found == [(True, False), (True, False), (False, True), (False, True), (True, False)]
    shutil.copy(ROOT / "scripts" / "provio", program)
    assert installation.other_command() is None and installation.shell_call() == "provio"


# ---- real environments


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(tmp_path_factory.mktemp("sources") / "provio")


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiler_that_copies(tmp_path_factory.mktemp("compiler") / "cc")


def environment(folder: Path) -> Path:
    """A new environment, which finds provio's requirements in this one's; return its folder of programs."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    here = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    (site / "requirements.pth").write_text("\n".join(here) + "\n")
    return folder / "bin"


def other_wheel(folder: Path) -> Path:
    """A wheel like the other project's: a program and no Python module."""
    wheel = folder / "provio-0.1.5-py3-none-any.whl"
    info = "provio-0.1.5.dist-info"
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr("provio-0.1.5.data/scripts/provio", ELF.read_bytes())
        made.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.4\nName: provio\nVersion: 0.1.5\nSummary: A safety floor\n"
        )
        made.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: false\nTag: py3-none-any\n")
        made.writestr(f"{info}/RECORD", "")
    return wheel


def inside(programs: Path, *words: str, code: int = 0, **env: str) -> str:
    """Call a program as in the active environment."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    own |= {"PATH": f"{programs}:{os.environ['PATH']}", **env}
    done = subprocess.run(words, env=own, cwd=programs.parent, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_the_other_package_in_the_same_environment(sources: Path, compiler: str, tmp_path: Path) -> None:
    """It replaces the command; `python -m provio doctor` states it, and its remedy restores this one."""
    programs, python = environment(tmp_path / "env"), str(tmp_path / "env/bin/python")
    assert build(sources, tmp_path, "--no-build-isolation", CC=compiler).returncode == 0
    (own,) = tmp_path.glob("provio_lineage-*.whl")
    pip = ["python", "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    inside(programs, *pip, str(own))

    def found(code: int = 0, **env: str) -> tuple[str, str, str]:
        text = inside(programs, python, "-m", "provio", "doctor", "--as", "json", code=code, **env)
        (one,) = [one for one in json.loads(text) if one["about"] == "installation"]
        return one["level"], one["says"], one["remedy"]

    assert found() == ("ok", f"provio 0.1.0 for {python}", "")
    inside(programs, *pip, str(other_wheel(tmp_path)))
    again = f"{python} -m pip install --force-reinstall --no-deps {own}"
    level, says, remedy = found(code=1)
    assert (level, remedy) == ("problem", f"{python} -m pip uninstall provio, then {again}")
    assert says == (
        "another project's package named provio (0.1.5) is installed in this environment and has replaced the command "
        "provio"
    )
    inside(programs, python, "-m", "pip", "uninstall", "--yes", "provio")
    assert found() == ("note", "this environment has no command provio", again)
    inside(programs, *shlex.split(again), PIP_NO_INDEX="1")
    assert inside(programs, "provio", "--version") == "provio 0.1.0\n"
    shutil.copy(ELF, tmp_path / "provio")
    assert found(code=1, PATH=f"{tmp_path}:{os.environ['PATH']}") == (
        "problem",
        f"the command provio is another program: {tmp_path}/provio",
        f'call {programs}/provio, or put its folder first: export PATH={programs}:"$PATH"',
    )


@pytest.mark.integration
@pytest.mark.parametrize("form", ["provio.py", "provio/__init__.py"])
def test_another_module_named_provio(tmp_path: Path, form: str) -> None:
    """The command states which file hides this package."""
    other = tmp_path / form
    other.parent.mkdir(exist_ok=True)
    other.touch()
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "provio", "--version"], env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    place = other if form == "provio.py" else other.parent
    (line,) = done.stderr.splitlines()
    assert done.returncode == 1
    assert line.startswith(f"provio: {place} is another package (No module named 'provio.cli'")
    assert line.endswith("): remove it from PYTHONPATH, or install provio again")


# ---- containers


def placed(recipe: str, root: Path) -> list[str]:
    """Copy the files that a recipe names into the root folder of an image; return its lines."""
    lines = (ROOT / "container" / recipe).read_text(encoding="utf-8").splitlines()
    for line in lines:
        words = line.removeprefix("COPY ").split()
        if line.startswith("COPY ") or (len(words) == 2 and words[1] == "/provio/"):
            *names, target = words
            (root / "provio").mkdir(exist_ok=True)
            for name in names:
                place = (
                    root / target.lstrip("/") / ("" if line.startswith("COPY ") and (ROOT / name).is_dir() else name)
                )
                if (ROOT / name).is_dir():
                    follow = recipe == "provio.def"  # Apptainer copies the targets of links
                    leave = shutil.ignore_patterns("*.so", "__pycache__", "preload")
                    shutil.copytree(ROOT / name, place, symlinks=not follow, ignore=leave)
                else:
                    shutil.copy(ROOT / name, place)
    return lines


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["Containerfile", "provio.def"])
def test_the_pip_step_of_the_containers(compiler: str, project: Project, tmp_path: Path, recipe: str) -> None:
    """The line as it is in the recipe, from the files that the recipe copies: provio then records and answers."""
    programs, root = environment(tmp_path / "env"), tmp_path / "root"
    root.mkdir()
    lines = placed(recipe, root)
    (step,) = [line.removeprefix("RUN ") for line in lines if "pip install --" in line]
    (what,) = [line.removeprefix("ARG WHAT=") for line in lines if line.startswith("ARG WHAT=")] or ["/provio"]
    step = step.replace("$WHAT", what).replace(" /provio", f" {root}/provio")
    assert str(root) in step
    inside(programs, "sh", "-c", step, CC=compiler)
    (project.path / "in").write_text("1\n")
    env = {"PROVIO_HOME": project.env["PROVIO_HOME"]} if "PROVIO_HOME" in project.env else {}
    script = f"cd {shlex.quote(str(project.path))} && provio run --quiet -- cp in out && provio lineage out --as csv"
    assert str(project.path / "in") in inside(programs, "sh", "-c", script, **env)
    where = "import provio; from provio.system import installation as i; print(provio.__file__); print(i.install())"
    assert inside(programs, "python", "-c", where).splitlines() == [
        str(next(programs.parent.glob("lib/python*/site-packages")) / "provio" / "__init__.py"),
        f"{programs}/python -m pip install {root}/provio",
    ]
