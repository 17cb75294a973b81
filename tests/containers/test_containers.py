"""Containers: command lines as runtimes document them, refused calls, and the same records as outside."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from conftest import Project, provio_command
from container_roots import Ordinary, as_user, bootstrapped, musl
from container_roots import cache as cache
from container_roots import debian as debian
from container_roots import ordinary as ordinary
from portable_shims import as_installed, made_shims

from provio.containers import image, recipes, runtimes
from provio.containers.runtimes import ADDRESS, FOLDER, NAME, SIF, Start

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "containers.md").read_text(encoding="utf-8")
VARIABLES = {"T": "1;op", "L": "/p"}
IMAGES = {"apptainer": ("x.sif", SIF), "singularity": ("docker://debian", ADDRESS), "charliecloud": ("/i", FOLDER),
          "podman": ("docker://debian", ADDRESS), "docker": ("docker://debian:12", ADDRESS),
          "sarus": ("debian:12", NAME), "shifter": ("docker://debian:12", ADDRESS)}  # fmt: skip

# Options as each runtime's own documentation has them (apptainer-exec(1), ch-run(1), podman-run(1), docker run,
# Sarus' user guide, shifter.c).
EXEC = {
    "apptainer": "apptainer exec --bind /b:/b --env T=1;op --env L=/p --pwd /c --nv x.sif cat x",
    "singularity": "singularity exec --bind /b:/b --env T=1;op --env L=/p --pwd /c --nv docker://debian cat x",
    "charliecloud": "ch-run --bind=/b:/b --set-env=T=1;op --set-env=L=/p --cd=/c --nv /i -- cat x",
    "podman": "podman run --rm --interactive --volume /b:/b --env T=1;op --env L=/p --workdir /c --security-opt"
    " label=disable --entrypoint cat --nv docker://debian x",
    "docker": "docker run --rm --interactive --volume /b:/b --env T=1;op --env L=/p --workdir /c --user ME"
    " --entrypoint cat --nv debian:12 x",
    "sarus": "sarus run --mount=type=bind,source=/b,destination=/b --env T=1;op --env L=/p --workdir=/c --entrypoint "
    " --nv debian:12 cat x",
    "shifter": "shifter --image=docker:debian:12 --volume=/b:/b -e T=1;op -e L=/p --workdir=/c --nv cat x",
}  # fmt: skip
OTHER = {  # the words of `run` and `shell` after the working directory
    "apptainer": ("apptainer run", "apptainer shell", "--nv x.sif a", "--nv x.sif"),
    "singularity": ("singularity run", "singularity shell", "--nv docker://debian a", "--nv docker://debian"),
    "charliecloud": ("ch-run", "ch-run", "--nv /i -- a", "--nv /i -- /bin/sh"),
    "podman": (
        "podman run", "podman run", "label=disable --nv docker://debian a", "--entrypoint /bin/sh --nv docker://debian",
    ),
    "docker": ("docker run", "docker run", "--user ME --nv debian:12 a", "--entrypoint /bin/sh --nv debian:12"),
    "sarus": ("sarus run", "sarus run", "--workdir=/c --nv debian:12 a", "--entrypoint  --nv debian:12 /bin/sh"),
    "shifter": ("shifter", "shifter", "--workdir=/c --entrypoint --nv a", "--workdir=/c --nv /bin/sh"),
}  # fmt: skip


def line(name: str, mode: str, *command: str, options: tuple[str, ...] = ("--nv",)) -> str:
    module = runtimes.load(name)
    image, form = IMAGES[name]
    start = Start(module.PROGRAMS[0], mode, image, form, command, options, ("/b",), VARIABLES, "/c")
    words: list[str] = module.command(start)
    return " ".join(words).replace(f"{os.geteuid()}:{os.getegid()}", "ME")


@pytest.mark.parametrize("name", runtimes.names())
def test_a_command_line_is_as_the_runtime_documents(name: str) -> None:
    """Every word, in each of the three modes; a working directory of the user stays."""
    assert line(name, "exec", "cat", "x") == EXEC[name]
    begins, begins_shell, ends, ends_shell = OTHER[name]
    ran, shell = line(name, "run", "a"), line(name, "shell")
    assert ran.startswith(begins + " ") and ran.endswith(ends)
    assert shell.startswith(begins_shell + " ") and shell.endswith(ends_shell)
    for option in ("--pwd=/d", "--cd=/d", "--workdir=/d"):
        own = line(name, "exec", "cat", options=(option,))
        assert own.count(option.partition("=")[0]) == 1 or "/c" in own


@pytest.mark.parametrize("name", runtimes.names())
def test_each_runtime_has_a_paragraph_and_a_test(name: str) -> None:
    """docs/containers.md describes it, and its command line is tested above."""
    assert re.search(rf"(?m)^\*\*{name}\*\*.* \S", PAGE)
    assert name in EXEC and name in OTHER
    assert runtimes.load(name).PROGRAMS and runtimes.load(name).TAKES


def test_values_that_a_runtime_would_split_are_passed_differently() -> None:
    """Apptainer's --env splits at a comma, ch-run expands words that start with a dollar sign."""
    said = {"PROVIO_TRACE": "1;op,stat;/a"}
    start = Start("apptainer", "exec", "x.sif", SIF, ("cat",), (), (), said)
    assert "--env" not in runtimes.load("apptainer").command(start)
    assert runtimes.load("apptainer").extra_environment(start) == {"APPTAINERENV_PROVIO_TRACE": "1;op,stat;/a"}
    assert runtimes.load("singularity").extra_environment(start) == {"SINGULARITYENV_PROVIO_TRACE": "1;op,stat;/a"}
    start = Start("ch-run", "exec", "/i", FOLDER, ("cat",), (), (), {"A": "1;$x"})
    assert runtimes.load("charliecloud").command(start)[1] == "--env-no-expand"


# ---- refused before the start


def refused(project: Project, *arguments: str, **variables: str) -> str:
    done = project.provio("container", *arguments, code=125, env={**project.env, **variables})
    assert done.stdout == "" and done.stderr.count("\n") == 1 and "Traceback" not in done.stderr, done.stderr
    assert not list(project.path.glob(".provio/runs/*"))
    return done.stderr


@pytest.mark.integration
def test_an_invalid_image(project: Project) -> None:
    """Missing, invalid, or for a runtime that is not installed: one line, 125, no run."""
    (project.path / "text.sif").write_text("no image")
    (project.path / "folder").mkdir()
    assert "there is no image ./none" in refused(project, "exec", "./none", "--", "true")
    assert "is neither an image" in refused(project, "exec", "text.sif", "--", "true")
    assert "is known: choose from apptainer" in refused(project, "exec", "--runtime", "lxc", "folder", "--", "true")
    assert "docker accepts no folder" in refused(project, "exec", "--runtime", "docker", "folder", "--", "true")
    os.mkfifo(project.path / "fifo")
    assert "is neither an image" in refused(project, "exec", "fifo", "--", "true")
    nothing = refused(project, "exec", "folder", "--", "true", PATH=os.path.dirname(provio_command()[0]))
    assert "no container runtime" in nothing and "ch-run" in nothing


@pytest.mark.integration
def test_an_empty_name_is_no_image(project: Project) -> None:
    """As from an unset variable: refused in each form of the call; nothing is started outside of a container."""
    said = "provio: the name of the image is empty: give a file, a folder, docker://NAME or a name\n"
    assert refused(project, "exec", "", "--", "touch", "made") == said
    for options in (("--container", ""), ("--container=",)):
        assert project.provio("run", *options, "--", "touch", "made", code=125).stderr == said
    assert not list(project.path.glob("made"))


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (("exec", "--no-such", "i"), "--help"), (("run",), "--help"),
        (("shell", "--detail", "much", "i"), "(known: file, op, call)"),
    ],
)  # fmt: skip
def test_a_wrong_call_starts_nothing(project: Project, arguments: tuple[str, ...], remedy: str) -> None:
    """125, as for `provio run`: 2 may be the command's exit code."""
    assert remedy in refused(project, *arguments)


def test_a_name_goes_to_a_runtime_that_has_it(project: Project, tmp_path: Path) -> None:
    """Charliecloud's storage is searched for the name; if no runtime has it, it is refused in one line."""
    for program in ("ch-run", "podman"):
        (tmp_path / program).write_text("#!/bin/sh\n")
        (tmp_path / program).chmod(0o755)
    paths = {"PATH": f"{tmp_path}:{os.path.dirname(provio_command()[0])}", "CH_IMAGE_STORAGE": str(tmp_path)}
    call = ("container", "exec", "--dry-run", "none:1", "--", "true")
    assert project.provio(*call, env=project.env | paths).stdout.startswith("podman run ")
    (tmp_path / "podman").unlink()
    assert refused(project, "exec", "none:1", "--", "true", **paths).startswith("provio: ch-run has no image none:1: ")
    (tmp_path / "img" / "none+1").mkdir(parents=True)
    assert "no such executable program" in refused(project, "exec", "none:1", "--", "true", **paths)


@pytest.mark.integration
def test_a_root_is_skipped_only_without_a_mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any other failure of debootstrap fails the tests of containers."""
    if not shutil.which("debootstrap") or os.geteuid() != 0:
        pytest.skip("needs debootstrap (apt-get install debootstrap), and root to call it")
    with pytest.raises(pytest.skip.Exception, match="no mirror of Debian responds"):
        bootstrapped(tmp_path / "root", "http://127.0.0.1:9/debian")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as wrong:  # a server that has no Debian
        threading.Thread(target=wrong.serve_forever, daemon=True).start()
        with pytest.raises(pytest.fail.Exception, match="Failed getting release file"):
            bootstrapped(tmp_path / "root", f"http://127.0.0.1:{wrong.server_port}/debian")
        wrong.shutdown()
    program = tmp_path / "bin" / "debootstrap"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho I: Retrieving Packages; echo E: Failure while unpacking mknod; exit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    with pytest.raises(pytest.fail.Exception, match="Failure while unpacking"):
        bootstrapped(tmp_path / "root")


@pytest.mark.slow
def test_a_pipeline_with_two_steps_inside(ordinary: Ordinary, debian: Path) -> None:
    """One exact lineage; both steps used the image, where it ends."""
    (ordinary.path / "in").write_text("c\na\nb\n")
    os.chown(ordinary.path / "in", 4242, 4242)
    step = ("container", "exec", "--quiet", str(debian), "--", "sh", "-c")
    ordinary.provio(*step, "sort in > sorted")
    ordinary.provio("run", "--quiet", "--", "sh", "-c", "tr a-z A-Z < sorted > upper")
    ordinary.provio("run", "--quiet", "--container", str(debian), "--", "sh", "-c", "head -n 1 upper > first")
    assert (ordinary.path / "first").read_text() == "A\n"
    assert ordinary.data("first") == {"in", "sorted", "upper"}
    document = ordinary.lineage("first")
    (image,) = [node for node in document["nodes"] if node["type"] == "Image"]
    assert image["path"] == str(debian)
    users = {edge["subject"] for edge in document["edges"] if edge["object"] == image["iri"]}
    phases = {node["iri"]: node["argv"] for node in document["nodes"] if node["type"] == "Phase"}
    assert {phases[iri].split()[0] for iri in users} == {"sort", "head"}
    assert ordinary.rows(f"SELECT ?m {{ <{image['iri']}> prov:hadMember ?m }}")
    assert document["gaps"] == []
    for name in ("last", "first"):
        rows = json.loads(ordinary.provio("packages", name, "--as", "json").stdout)
        assert [(row["purl"], row["files"]) for row in rows if row["type"] == "container"] == [
            (f"pkg:generic/{debian.name}", [{"path": str(debian)}])
        ]
    ordinary.provio("validate", "--strict")


@pytest.mark.integration
def test_files_written_inside_are_the_same_outside(ordinary: Ordinary, debian: Path) -> None:
    """Names with any bytes, the same output and exit code as without provio; a kill loses nothing."""
    names = ["a b", "é", "new\nline", 'qu"ote', "per%cent", "\udcff", "-dash", "$dollar", "semi;colon"]
    script = 'i=0; for name; do echo $((i=i+1)) > "./$name"; done; echo out; echo err >&2; kill -9 $$'
    bare = subprocess.run(
        [*as_user(), "ch-run", f"--cd={ordinary.path}", debian, "--", "sh", "-c", script, "sh", *names],
        env=ordinary.env, capture_output=True, text=True, cwd=ordinary.path, check=False,
    )  # fmt: skip
    files = {name: (ordinary.path / name).read_bytes() for name in names}
    done = ordinary.provio(
        "container", "exec", "--quiet", str(debian), "--", "sh", "-c", script, "sh", *names, code=None
    )
    assert (done.returncode, done.stdout, done.stderr) == (bare.returncode, bare.stdout, bare.stderr)
    assert {name: (ordinary.path / name).read_bytes() for name in names} == files
    for name in names:
        document = ordinary.lineage("./" + name)
        made = [node for node in document["nodes"] if node["type"] == "Phase"]
        assert len(made) == 1, name


@pytest.mark.integration
def test_a_folder_to_bind_at(ordinary: Ordinary, debian: Path) -> None:
    """A missing folder is created in the image if it is writable; else nothing is started."""
    place = ordinary.path.parent
    (place / "tmp").mkdir()
    env = {**ordinary.env, "TMPDIR": str(place / "tmp")}  # ch-run mounts it at /tmp and hides everything else there
    (place / "tmp").chmod(0o777)
    image = place / "image"
    subprocess.run(["cp", "-al", debian, image], check=True)
    step = ("container", "exec", str(image), "--", "sh", "-c", "echo 1 > one")
    image.chmod(0o755)
    (image / "tmp").chmod(0o755)
    said = ordinary.provio(*step, env=env, code=125).stderr
    assert "to bind at" in said and "mkdir -p" in said and said.count("\n") == 1
    assert not list(ordinary.path.glob(".provio/runs/*")) and not (ordinary.path / "one").exists()


@pytest.mark.integration
def test_programs_without_a_shim(ordinary: Ordinary, debian: Path) -> None:
    """Missing, or for another machine: refused with the reason."""
    said = ordinary.provio("container", "exec", str(debian), "--", "no-such-program", code=125).stderr
    assert "no such executable program" in said and said.count("\n") == 1
    assert not list(ordinary.path.glob(".provio/runs/*"))
    (ordinary.path / ".provio" / "runs").mkdir(parents=True, exist_ok=True)
    os.chmod(ordinary.path / ".provio", 0o555)
    os.chown(ordinary.path / ".provio", 0, 0)
    said = ordinary.provio("container", "exec", str(debian), "--", "true", code=125).stderr
    assert said.count("\n") == 1


UPPER = """#include <stdio.h>
#include <ctype.h>
int main(int count, char **names) {
    FILE *in = fopen(names[1], "r"), *out = fopen(names[2], "w");
    for (int c; count == 3 && (c = fgetc(in)) != EOF;) fputc(toupper(c), out);
    fclose(in);
    return fclose(out);
}
"""


@pytest.mark.slow
def test_an_image_with_another_c_library(ordinary: Ordinary, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A root with musl's loader and a program for it: two steps inside and one outside, one lineage."""
    image = musl(ordinary.path.parent / "musl", {"upper": UPPER})
    place = as_installed(made_shims(tmp_path_factory), ordinary.path.parent / "installed")
    ordinary.env["PYTHONPATH"] = place
    (ordinary.path / "in").write_text("a\n")
    step = ("container", "exec", "--quiet", str(image), "--", "/bin/upper")
    ordinary.provio(*step, "in", "upper")
    ordinary.provio("run", "--quiet", "--", "sh", "-c", "tr A B < upper > middle")
    ordinary.provio(*step, "middle", "out")
    assert (ordinary.path / "out").read_text() == "B\n"
    assert ordinary.data("out") == {"middle", "upper", "in"}
    assert [node["path"] for node in ordinary.lineage("out")["nodes"] if node["type"] == "Image"] == [str(image)]


@pytest.mark.integration
@pytest.mark.parametrize("labels", ['{"a": "b"}', "[1]", "1", "{", '{"a": 1}'])
def test_the_content_of_an_image_leads_nowhere_else(tmp_path: Path, labels: str) -> None:
    """Links to files outside, pipes and other things than labels are ignored, and block nothing."""
    (tmp_path / "secret").write_text("secret")
    for folder in (".singularity.d", "ch"):
        (tmp_path / "image" / folder).mkdir(parents=True)
    (tmp_path / "image/.singularity.d/Singularity").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "image/ch/Dockerfile")
    (tmp_path / "image/.singularity.d/labels.json").write_text(labels)
    (tmp_path / "image/ch/metadata.json").write_text(labels)
    found = image.of_folder("image", str(tmp_path / "image"))
    assert (found.recipe, found.labels) == ("", ("a=b",) if "b" in labels else ())


def test_dry_run_prints_the_command_line(ordinary: Ordinary) -> None:
    """Without a run."""
    image = ordinary.path.parent / "image"
    (image / "bin").mkdir(parents=True)
    shutil.copy("/bin/cat", image / "bin")
    said = ordinary.provio("container", "exec", "--dry-run", str(image), "--join-ct=1", "--", "cat", "a b").stdout
    words = shlex.split(said)
    assert words[0] == "ch-run" and words[-5:] == ["--join-ct=1", str(image), "--", "cat", "a b"]
    assert any(word.startswith("--set-env=LD_PRELOAD=/") for word in words)
    assert not list(ordinary.path.glob(".provio/runs/*"))


# ---- recipes


def test_lines_for_the_user_s_definition(project: Project) -> None:
    """By the kind of the file; any other file is refused."""
    both = project.provio("container", "wrap").stdout
    assert "RUN mkdir -p" in both and "%post" in both
    one = project.provio("container", "wrap", str(ROOT / "container" / "provio.def")).stdout
    assert "%post" in one and "RUN" not in one
    assert "RUN mkdir -p" in project.provio("container", "wrap", str(ROOT / "container" / "Containerfile")).stdout
    (project.path / "text").write_text("hello")
    assert "is neither" in project.provio("container", "wrap", "text", code=1).stderr


def test_the_definition_of_apptainer_is_one() -> None:
    """A header, and sections that Apptainer knows, each once."""
    text = (ROOT / "container" / "provio.def").read_text(encoding="utf-8")
    head, *sections = re.split(r"(?m)^%", text)
    assert dict(line.split(": ") for line in head.split("\n") if line) == {
        "Bootstrap": "docker",
        "From": "python:3.12-slim-bookworm",
    }
    names = [section.split()[0] for section in sections]
    assert sorted(names) == sorted({"labels", "files", "post", "runscript", "test", "help"})
    assert recipes.kind_of(ROOT / "container" / "provio.def") == "Apptainer"
