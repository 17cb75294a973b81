"""The shared libraries of a process are those that the kernel maps into it, whenever and however they were loaded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Project

SETS = "?a provio:loaded ?set . ?set prov:hadMember ?v . ?v prov:specializationOf ?f . ?f provio:path ?path"

# Prints the libraries that the kernel has mapped: the judge.
MAPPED = """import sys
def mapped():
    lines = [line.split(maxsplit=5) for line in open('/proc/self/maps')]
    return {line[5].strip() for line in lines if len(line) > 5 and 'x' in line[1] and '.so' in line[5]}
"""

LIBRARY = "int {name}(void) {{ return {value}; }}\n"
PROGRAM = """#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int linked(void);
int main(int count, char **arguments) {
    const char *how = arguments[1];
    if (strcmp(how, "fork") == 0) {
        if (fork() != 0) return wait(NULL) < 0;
    }
    void *plugin = strcmp(how, "linked") == 0 ? NULL : dlopen(arguments[2], RTLD_NOW);
    if (strcmp(how, "unload") == 0) dlclose(plugin);
    if (strcmp(how, "folder") == 0 && chdir("elsewhere") != 0) return 2;
    FILE *file = fopen("made", "w");
    fprintf(file, "%d\\n", linked());
    fclose(file);
    if (strcmp(how, "kill") == 0) kill(getpid(), 9);
    if (strcmp(how, "exit") == 0) _exit(0);
    return 0;
}
"""


@pytest.fixture
def programs(project: Project) -> Project:
    """A project with a program, a library that it is linked with, and one that it loads; libraries are recorded."""
    project.env["PROVIO_RECORD_PACKAGES"] = "true"
    for name, value in (("linked", 1), ("plugin", 2)):
        (project.path / f"{name}.c").write_text(LIBRARY.format(name=name, value=value))
        command = ["cc", "-shared", "-fPIC", "-o", f"lib{name}.so", f"{name}.c"]
        subprocess.run(command, cwd=project.path, check=True, timeout=60)
    (project.path / "program.c").write_text(PROGRAM)
    command = ["cc", "-o", "program", "program.c", "-L.", "-llinked", "-Wl,-rpath,$ORIGIN", "-ldl"]
    subprocess.run(command, cwd=project.path, check=True, timeout=60)
    return project


def loaded(project: Project, activity: str = "") -> set[str]:
    """The real paths of the libraries that the processes had loaded."""
    return {row["path"] for row in project.rows(f"SELECT DISTINCT ?path {{ {activity} {SETS} }}")}


def makers(project: Project, name: str) -> set[str]:
    """The libraries of the process that made a file."""
    made = (
        "?made prov:wasGeneratedBy/provio:partOf ?p . ?a provio:partOf ?p . ?made prov:specializationOf/provio:path ?n"
    )
    return loaded(project, f'{made} FILTER(STRENDS(?n, "/{name}"))')


def test_they_are_those_that_the_kernel_mapped(project: Project) -> None:
    """A Python with extension modules: the loader maps their libraries while the program runs."""
    project.env["PROVIO_RECORD_PACKAGES"] = "true"
    script = MAPPED + "import numpy, sqlite3, ssl\nopen('made', 'w').write('\\n'.join(mapped()))\n"
    (project.path / "use.py").write_text(script)
    project.watch(sys.executable, "use.py")
    mapped = set((project.path / "made").read_text().splitlines())
    mapped = {path for path in mapped if not path.endswith("/libprovio.so")}
    assert any("/_multiarray_umath." in path for path in mapped)
    assert loaded(project) == mapped
    found = json.loads(project.answer("packages", "made", "--as", "json"))
    assert {one["path"] for row in found for one in row["files"]} >= mapped


@pytest.mark.parametrize("how", ["linked", "plugin", "unload", "fork", "kill", "exit"])
def test_however_the_process_starts_and_ends(programs: Project, how: str) -> None:
    """Linked or loaded later, unloaded again, in the child of a fork, killed or ended without its destructors."""
    end = -signal.SIGKILL if how == "kill" else 0
    programs.watch("./program", how, str(programs.path / "libplugin.so"), code=None if end else 0)
    names = {os.path.basename(path) for path in makers(programs, "made")}
    assert {"liblinked.so", "libc.so.6"} <= names
    assert ("libplugin.so" in names) == (how != "linked")
    assert "libprovio.so" not in names


def test_they_are_those_that_ldd_names(programs: Project) -> None:
    """A relative path and a symbolic link are recorded under the real path."""
    (programs.path / "other").symlink_to("libplugin.so")
    programs.watch("./program", "plugin", "./other")
    named = subprocess.run(
        ["ldd", "program"], cwd=programs.path, capture_output=True, text=True, check=True, timeout=60
    )
    words = [word for line in named.stdout.splitlines() for word in line.split() if word.startswith("/")]
    expected = {os.path.realpath(word) for word in words} | {str(programs.path / "libplugin.so")}
    assert makers(programs, "made") == expected


def test_a_relative_name_before_another_folder(programs: Project) -> None:
    """The process leaves the folder in which it loaded a library for one with another file of that name."""
    (programs.path / "elsewhere").mkdir()
    (programs.path / "elsewhere/libplugin.so").write_text("another file")
    programs.watch("./program", "folder", "./libplugin.so")
    plugins = {path for path in makers(programs, "made") if path.endswith("/libplugin.so")}
    assert plugins == {str(programs.path / "libplugin.so")}


def test_a_set_is_written_once(programs: Project) -> None:
    """Many processes of one program share the description of their libraries."""
    programs.run("for i in 1 2 3 4 5 6 7 8; do ./program linked & done; wait")
    files = list((programs.path / ".provio/runs").glob("*/*/0.shared-libraries.*.ttl"))
    assert sum("liblinked.so" in file.read_text() for file in files) == 1
    assert programs.count("?a provio:loaded ?set . ?set prov:hadMember/prov:specializationOf/provio:path ?p "
                          'FILTER(STRENDS(?p, "liblinked.so"))') == 8  # fmt: skip


def test_a_left_out_library_is_not_named(programs: Project) -> None:
    plugin = str(programs.path / "libplugin.so")
    programs.provio("run", "--quiet", "--exclude", plugin, "--", "./program", "plugin", plugin)
    assert any(path.endswith("/liblinked.so") for path in loaded(programs))
    assert plugin not in loaded(programs)
    traces = "".join(file.read_text() for file in programs.trace_files())
    assert f'path "{plugin}"' not in traces


@pytest.mark.parametrize("variable", ["PROVIO_RECORD_PACKAGES", "PROVIO_RECORD"])
def test_they_are_not_recorded_on_request(programs: Project, variable: str) -> None:
    programs.env[variable] = {"PROVIO_RECORD_PACKAGES": "false", "PROVIO_RECORD": "-program"}[variable]
    programs.watch("./program", "linked")
    assert not loaded(programs)
    assert not list((programs.path / ".provio/runs").glob("*/*/0.shared-libraries.*"))


def test_a_result_depends_on_a_library_that_a_run_made(project: Project) -> None:
    """`impact` of the library's source names the result; `lineage --code` names the library, but none of the
    system's."""
    project.env["PROVIO_RECORD_PACKAGES"] = "true"
    (project.path / "linked.c").write_text(LIBRARY.format(name="linked", value=1))
    (project.path / "program.c").write_text(PROGRAM)
    project.watch("cc", "-shared", "-fPIC", "-o", "liblinked.so", "linked.c")
    project.watch("cc", "-o", "program", "program.c", "-L.", "-llinked", "-Wl,-rpath,$ORIGIN", "-ldl")
    project.watch("./program", "linked")
    made = [line for line in project.answer("impact", "linked.c").splitlines() if "     makes " in line]
    assert {"liblinked.so", "program", "made"} == {name for line in made for name in line.split()[1:]}
    code = {node.get("path", "") for node in project.lineage("made", "--code")["nodes"]}
    assert {str(project.path / name) for name in ("liblinked.so", "linked.c", "program")} <= code
    assert not any(path.startswith("/usr/lib") and ".so" in path for path in code)


def test_a_changed_library_is_named_before_a_rerun(programs: Project) -> None:
    outside = programs.path.parent / "outside"
    outside.mkdir()
    (programs.path / "liblinked.so").rename(outside / "liblinked.so")
    programs.env["LD_LIBRARY_PATH"] = str(outside)
    programs.hashed("./program", "linked")
    done = programs.provio("rerun", "made", "--dry-run")
    assert "liblinked.so" not in done.stderr
    command = ["cc", "-shared", "-fPIC", "-o", str(outside / "liblinked.so"), "linked.c", "-DOTHER", "-g"]
    subprocess.run(command, cwd=programs.path, check=True, timeout=60)
    done = programs.provio("rerun", "made", "--dry-run")
    assert f"program or library {outside}/liblinked.so has changed" in done.stdout + done.stderr


def test_processes_in_other_mounts(programs: Project, needs: Callable[..., None]) -> None:
    """The library of a process in another mount namespace is named by its path outside."""
    needs("unshare")
    inside = programs.path / "inside"
    inside.mkdir()
    probe = subprocess.run(["unshare", "-rm", "true"], capture_output=True, timeout=60)
    if probe.returncode:
        pytest.skip("no mount namespaces here")
    script = f"mount --bind . {inside} && cd {inside} && ./program linked"
    programs.watch("unshare", "-rm", "bash", "-c", script)
    assert str(programs.path / "liblinked.so") in makers(programs, "made")
    assert not any(path.startswith(str(inside)) for path in loaded(programs))


def test_runs_are_found_by_the_package_of_a_library(project: Project, needs: Callable[..., None]) -> None:
    """dpkg is the judge of the package of the C library."""
    needs("dpkg-query")
    project.env["PROVIO_RECORD_PACKAGES"] = "true"
    project.hashed("cp", "/etc/hostname", "copy")
    own = subprocess.run(["dpkg-query", "-W", "-f=${Version}", "libc6"], capture_output=True, text=True, timeout=60)
    found = json.loads(project.answer("find", "--package", f"libc6=={own.stdout}", "--as", "json"))
    assert [one["how"] for one in found] == [f"libc6 {own.stdout}"]
    project.provio("find", "--package", "libc6==0", code=3)


def test_a_library_that_the_c_library_loads_itself(project: Project) -> None:
    """The conversion of a character set is in a library that iconv(3) loads, not the program."""
    project.env["PROVIO_RECORD_PACKAGES"] = "true"
    (project.path / "in").write_text("a\n")
    project.provio("run", "--quiet", "--", "bash", "-c", "iconv -f utf-8 -t iso-8859-15 in > out", code=None)
    if "ISO8859-15.so" not in "".join(map(str, Path("/usr/lib").rglob("gconv/ISO8859-15.so"))):
        pytest.skip("this C library has no modules of iconv")
    assert any(path.endswith("/gconv/ISO8859-15.so") for path in loaded(project))
