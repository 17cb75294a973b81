"""Builds of real sources: each program comes from the files that gcc -MD lists for it, and from no others.

The sources are downloaded once, from Debian, and kept next to the environment of the tests.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import build_tree
import pytest
from compiled_cache import copy_made
from conftest import Project, in_memory

tmp_path = in_memory
PACKAGES = ("lua5.4", "zlib")

MESON = """project('app', 'c')
python = find_program('python3')
version = custom_target('version', input: ['tools/version.py', 'VERSION'], output: 'version.h',
                        command: [python, '@INPUT@', '@OUTPUT@'])
table = custom_target('table', input: ['tools/table.py', 'data/table.csv'], output: 'table.c',
                      command: [python, '@INPUT@', '@OUTPUT@'])
include = include_directories('include')
parts = static_library('parts', SOURCES, table, include_directories: include)
executable('app', 'src/main.c', version, link_whole: parts, include_directories: include)
executable('tool', 'tool/tool.c', include_directories: include)
"""


def download(folder: Path) -> None:
    """Download the sources with lists of packages in this folder alone; skip the test if that is not possible."""
    release = Path("/etc/os-release").read_text() if Path("/etc/os-release").exists() else ""
    if "\nID=debian" not in release or not shutil.which("apt-get"):
        pytest.skip("the sources are those of Debian")
    for name in ("state/lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    codename = re.findall(r"VERSION_CODENAME=(\w+)", release)[0]
    key = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (folder / "sources.list").write_text(f"deb-src [signed-by={key}] http://deb.debian.org/debian {codename} main\n")
    places = {"Etc::sourcelist": folder / "sources.list", "Etc::sourceparts": "/dev/null"}
    places |= {"State": folder / "state", "Cache": folder / "cache"}
    options = [f"-oDir::{name}={place}" for name, place in places.items()] + ["-oAPT::Sandbox::User=root"]
    for words in (["update"], ["source", "--download-only", *PACKAGES]):
        command = ["apt-get", "-qq", *options, *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200)
        if done.returncode:
            pytest.skip(f"the sources cannot be downloaded: {done.stderr.strip()[-200:]}")
    shutil.rmtree(folder / "state")
    shutil.rmtree(folder / "cache")


@pytest.fixture
def unpack(tmp_path_factory: pytest.TempPathFactory, project: Project) -> Callable[[str], None]:
    """A function that unpacks the sources of a package into the project."""
    folder = tmp_path_factory.mktemp("sources")
    copy_made("debian-sources", folder, PACKAGES, [], download)

    def into(package: str) -> None:
        (archive,) = folder.glob(f"{package}_*.orig.tar.*")
        project.sh(f"tar xf {archive} --strip-components=1")

    return into


def below(names: set[str], *suffixes: str) -> set[str]:
    """Return the files of the project with these suffixes."""
    return {name for name in names if not name.startswith("..") and name.endswith(suffixes)}


def ninja_lists(project: Project) -> dict[str, set[str]]:
    """Return the files that each object in the folder `made` was compiled from, by Ninja."""
    lists: dict[str, set[str]] = {}
    for block in project.sh("ninja -C made -t deps").split("\n\n"):
        target, _, names = block.partition("\n")
        if ".o:" in target:
            paths = [os.path.relpath(project.path / "made" / name, project.path) for name in names.split()]
            lists[target.partition(":")[0]] = set(paths)
    return lists


@pytest.mark.slow
def test_lua_built_by_make(project: Project, unpack: Callable[[str], None], needs: Callable[..., None]) -> None:
    """The interpreter and its objects come from the files in the lists of gcc -MD, with and without a header that
    changed; the output of a script comes from the data that it read."""
    needs("make", "gcc", "ar")
    unpack("lua5.4")
    make = ("make", "-sj2", "-C", "src", "lua", "MYCFLAGS=-MD -O0 -DLUA_USE_LINUX", "MYLIBS=-Wl,-E -ldl")
    for header in ("", "lvm.h"):
        if header:
            with (project.path / "src" / header).open("a") as opened:
                opened.write("/* changed */\n")
            project.sh("cd src && touch lvm.c ldo.c && rm -f lua lvm.o ldo.o")
        project.watch(*make)
        lists = {path.stem: build_tree.dependencies(path) for path in (project.path / "src").glob("*.d")}
        own = {stem: {f"src/{name}" for name in names if "/" not in name} for stem, names in lists.items()}
        assert len(own) > 30
        for target, expected in (("lua", set().union(*own.values())), ("lvm.o", own["lvm"]), ("lapi.o", own["lapi"])):
            found = project.ancestors(f"src/{target}")
            assert below(found["data"], ".c", ".h") == expected, target
            assert found["carried"] == set()
    (project.path / "n.lua").write_text("io.output('out'):write(io.open('data'):read('a'))\n")
    (project.path / "data").write_text("1\n")
    project.watch("src/lua", "n.lua")
    assert project.ancestors("out")["data"] == {"data"}


@pytest.mark.slow
def test_zlib_built_by_cmake(project: Project, unpack: Callable[[str], None], needs: Callable[..., None]) -> None:
    """Each library and program comes from the files in Ninja's lists of dependencies."""
    needs("cmake", "ninja", "gcc", "ar")
    unpack("zlib")
    project.sh("mkdir -p win32; touch win32/zlib1.rc")  # Debian removes it, and only Windows compiles it
    project.watch("cmake", "-G", "Ninja", "-S", ".", "-B", "made")
    project.watch("ninja", "-C", "made")
    lists = ninja_lists(project)
    for target, part in (("libz.a", "zlibstatic.dir"), ("example", "example.dir")):
        own = set().union(*(names for name, names in lists.items() if part in name))
        if target == "example":
            own |= set().union(*(names for name, names in lists.items() if "zlib.dir" in name))
        assert len(own) > 15
        found = project.ancestors(f"made/{target}")
        assert below(found["data"], ".c", ".h") == below(own, ".c", ".h"), target
        assert project.lineage(f"made/{target}")["gaps"] == []


@pytest.mark.slow
def test_a_build_by_meson(project: Project, needs: Callable[..., None]) -> None:
    """Ninja's own lists of dependencies have the same sources and headers as the lineage of each program."""
    needs("meson", "ninja", "gcc", "ar")
    build_tree.write(project.path)
    files = sorted(str(path.relative_to(project.path)) for path in project.path.glob("src/*/*.c"))
    (project.path / "meson.build").write_text(MESON.replace("SOURCES", str(files)))
    project.watch("meson", "setup", "made")
    project.watch("ninja", "-C", "made")
    lists = ninja_lists(project)
    for program in ("app", "tool"):
        used = {
            name
            for target, names in lists.items()
            if target.startswith("tool.p") == (program == "tool")
            for name in names
        }
        found = project.ancestors(f"made/{program}")
        assert below(found["data"], ".c", ".h") == below(used, ".c", ".h")
        assert project.lineage(f"made/{program}")["gaps"] == []
    assert len(lists) > 33
