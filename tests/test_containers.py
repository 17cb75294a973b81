"""Containers: command lines as runtimes document them, what is refused, and what is inside as what is outside."""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Project, provio_command

from provio import containers, image, recipes, shims
from provio.containers import ADDRESS, FOLDER, NAME, SIF, Start
from provio.errors import ProvioError

ROOT = Path(__file__).parent.parent
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
OTHER = {  # what `run` and `shell` say behind the working directory
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
    module = containers.load(name)
    image, form = IMAGES[name]
    start = Start(module.PROGRAMS[0], mode, image, form, command, options, ("/b",), VARIABLES, "/c")
    words: list[str] = module.command(start)
    return " ".join(words).replace(f"{os.geteuid()}:{os.getegid()}", "ME")


@pytest.mark.parametrize("name", containers.names())
def test_a_command_line_is_as_the_runtime_documents(name: str) -> None:
    """Every word of it, in each of the three modes; one's own working directory stays."""
    assert line(name, "exec", "cat", "x") == EXEC[name]
    begins, begins_shell, ends, ends_shell = OTHER[name]
    ran, shell = line(name, "run", "a"), line(name, "shell")
    assert ran.startswith(begins + " ") and ran.endswith(ends)
    assert shell.startswith(begins_shell + " ") and shell.endswith(ends_shell)
    for option in ("--pwd=/d", "--cd=/d", "--workdir=/d"):
        own = line(name, "exec", "cat", options=(option,))
        assert own.count(option.partition("=")[0]) == 1 or "/c" in own


@pytest.mark.parametrize("name", containers.names())
def test_each_runtime_has_a_paragraph_and_a_test(name: str) -> None:
    """docs/containers.md tells of it, and its command line stands above."""
    assert re.search(rf"(?m)^\*\*{name}\*\*.* \S", PAGE)
    assert name in EXEC and name in OTHER
    assert containers.load(name).PROGRAMS and containers.load(name).TAKES


def test_values_that_a_runtime_would_split_go_another_way() -> None:
    """Apptainer's --env splits at a comma, ch-run expands what begins with a dollar sign."""
    said = {"PROVIO_TRACE": "1;op,stat;/a"}
    start = Start("apptainer", "exec", "x.sif", SIF, ("cat",), (), (), said)
    assert "--env" not in containers.load("apptainer").command(start)
    assert containers.load("apptainer").surroundings(start) == {"APPTAINERENV_PROVIO_TRACE": "1;op,stat;/a"}
    assert containers.load("singularity").surroundings(start) == {"SINGULARITYENV_PROVIO_TRACE": "1;op,stat;/a"}
    start = Start("ch-run", "exec", "/i", FOLDER, ("cat",), (), (), {"A": "1;$x"})
    assert containers.load("charliecloud").command(start)[1] == "--env-no-expand"


def test_which_runtimes_run_here(capsys: pytest.CaptureFixture[str]) -> None:
    """Says which of them the tests below start."""
    here = [name for name in containers.names() if any(map(shutil.which, containers.load(name).PROGRAMS))]
    with capsys.disabled():
        print(f" runtimes here: {', '.join(here) or 'none'} ", end="")
    assert set(here) <= set(EXEC)


# ---- refused, before anything starts


def refused(project: Project, *arguments: str, **variables: str) -> str:
    done = project.provio("container", *arguments, code=125, env={**project.env, **variables})
    assert done.stdout == "" and done.stderr.count("\n") == 1 and "Traceback" not in done.stderr, done.stderr
    assert not list(project.path.glob(".provio/runs/*"))
    return done.stderr


def test_what_is_no_image(project: Project) -> None:
    """Not there, none, of no runtime that is installed: one line, 125, no run."""
    (project.path / "text.sif").write_text("no image")
    (project.path / "folder").mkdir()
    assert "there is no image ./none" in refused(project, "exec", "./none", "--", "true")
    assert "is no image" in refused(project, "exec", "text.sif", "--", "true")
    assert "is known: choose from apptainer" in refused(project, "exec", "--runtime", "lxc", "folder", "--", "true")
    assert "takes no" in refused(project, "exec", "--runtime", "docker", "folder", "--", "true")
    nothing = refused(project, "exec", "folder", "--", "true", PATH=os.path.dirname(provio_command()[0]))
    assert "no container runtime" in nothing and "ch-run" in nothing


@pytest.fixture(scope="session")
def cache() -> Path:
    """A folder that outlives the session: beside the environment that the tests run in."""
    folder = Path(sys.prefix) / "test-images"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def debian(cache: Path) -> Path:
    """A root of Debian, made once for all sessions."""
    if not shutil.which("debootstrap") or os.geteuid() != 0:
        pytest.skip("needs debootstrap, and root to call it")
    root, done = cache / "debian", cache / "debian.done"
    with (cache / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(root, ignore_errors=True)
            call = ["debootstrap", "--variant=minbase", "stable", str(root)]
            made = subprocess.run(call, capture_output=True, text=True, timeout=500, check=False)
            if made.returncode:
                pytest.skip(f"debootstrap made no root: {made.stdout[-200:]}")
            root.chmod(0o777)
            done.touch()
    return root


def as_user() -> list[str]:
    """What makes an ordinary user of root; one who may read where this Python lies, if that is root's own."""
    words = ["setpriv", "--reuid=4242", "--regid=4242", "--clear-groups"]
    if subprocess.run([*words, sys.executable, "-c", ""], capture_output=True, check=False).returncode:
        words += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    return words


class Ordinary(Project):
    """A project of an ordinary user."""

    def provio(self, *arguments: str | bytes, code: int | None = 0, **options: Any) -> subprocess.CompletedProcess[str]:
        """Call `provio` as that user."""
        given: dict[str, Any] = {
            "cwd": self.path,
            "env": self.env,
            "capture_output": True,
            "text": True,
            "timeout": 120,
            **options,
        }
        done: subprocess.CompletedProcess[str] = subprocess.run([*as_user(), *provio_command(), *arguments], **given)
        assert code is None or done.returncode == code, f"{arguments} ended with {done.returncode}\n{done.stderr}"
        return done


@pytest.fixture
def ordinary(project: Project) -> Iterator[Ordinary]:
    """A project of an ordinary user, where one may make containers."""
    if not shutil.which("ch-run") or os.geteuid() != 0:
        pytest.skip("needs ch-run, and root to become an ordinary user")
    if subprocess.run([*as_user(), "unshare", "-Ur", "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs user namespaces for ordinary users")
    with tempfile.TemporaryDirectory(prefix="provio-ordinary-") as place:  # pytest's own folders are shut to others
        folder = Path(place) / "project"
        (folder / ".provio").mkdir(parents=True)
        for path in (Path(place), folder, folder / ".provio"):
            path.chmod(0o755)
            os.chown(path, 4242, 4242)
        yield Ordinary(folder, {**project.env, "USER": "ada", "HOME": place})


@pytest.mark.slow
def test_a_pipeline_of_which_two_steps_run_inside(ordinary: Ordinary, debian: Path) -> None:
    """One exact lineage; the image is what both steps used, and where it ends."""
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
    ordinary.provio("validate", "--strict")


@pytest.mark.slow
def test_what_is_written_inside_is_what_is_there_outside(ordinary: Ordinary, debian: Path) -> None:
    """Names of any bytes, the same output and exit code with provio and without; a kill loses nothing."""
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


@pytest.mark.slow
def test_a_folder_to_bind_at(ordinary: Ordinary, debian: Path) -> None:
    """What the image has not is made in it, where it can be written; else nothing is started."""
    place = ordinary.path.parent
    (place / "tmp").mkdir()
    env = {**ordinary.env, "TMPDIR": str(place / "tmp")}  # which ch-run shows at /tmp, so that nothing else is there
    (place / "tmp").chmod(0o777)
    image = place / "image"
    subprocess.run(["cp", "-al", debian, image], check=True)
    step = ("container", "exec", str(image), "--", "sh", "-c", "echo 1 > one")
    image.chmod(0o755)
    (image / "tmp").chmod(0o755)
    said = ordinary.provio(*step, env=env, code=125).stderr
    assert "to bind at" in said and "mkdir -p" in said and said.count("\n") == 1
    assert not list(ordinary.path.glob(".provio/runs/*")) and not (ordinary.path / "one").exists()


@pytest.mark.slow
def test_programs_that_no_shim_is_for(ordinary: Ordinary, debian: Path) -> None:
    """Not there, of another machine: refused with what is missing."""
    said = ordinary.provio("container", "exec", str(debian), "--", "no-such-program", code=125).stderr
    assert "no such program" in said and said.count("\n") == 1
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
def test_an_image_with_another_c_library(ordinary: Ordinary) -> None:
    """A root with musl's loader and a program for it: two steps inside and one outside, one lineage."""
    libc = Path("/usr/lib/x86_64-linux-musl/libc.so")
    try:
        shims.of("x86_64", "musl")
    except ProvioError as error:
        pytest.skip(f"{error} (or make shims)")
    if not shutil.which("musl-gcc") or not libc.exists():
        pytest.skip("needs musl-gcc")
    image = ordinary.path.parent / "musl"
    for folder in ("bin", "lib", "dev", "proc", "sys", "tmp", "etc"):
        (image / folder).mkdir(parents=True)
    for name in ("passwd", "group", "hosts", "resolv.conf"):
        (image / "etc" / name).touch()
    shutil.copy(libc, image / "lib" / "ld-musl-x86_64.so.1")
    program = image / "bin" / "upper"
    subprocess.run(["musl-gcc", "-o", program, "-xc", "-"], input=UPPER, text=True, check=True)
    (ordinary.path / "in").write_text("a\n")
    step = ("container", "exec", "--quiet", str(image), "--", "/bin/upper")
    ordinary.provio(*step, "in", "upper")
    ordinary.provio("run", "--quiet", "--", "sh", "-c", "tr A B < upper > middle")
    ordinary.provio(*step, "middle", "out")
    assert (ordinary.path / "out").read_text() == "B\n"
    assert ordinary.data("out") == {"middle", "upper", "in"}
    assert [node["path"] for node in ordinary.lineage("out")["nodes"] if node["type"] == "Image"] == [str(image)]


@pytest.mark.slow
@pytest.mark.parametrize("labels", ['{"a": "b"}', "[1]", "1", "{", '{"a": 1}'])
def test_what_an_image_says_leads_nowhere_else(tmp_path: Path, labels: str) -> None:
    """Links to what is outside, pipes and other things than labels say nothing, and nobody waits for them."""
    (tmp_path / "secret").write_text("secret")
    for folder in (".singularity.d", "ch"):
        (tmp_path / "image" / folder).mkdir(parents=True)
    (tmp_path / "image/.singularity.d/Singularity").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "image/ch/Dockerfile")
    (tmp_path / "image/.singularity.d/labels.json").write_text(labels)
    (tmp_path / "image/ch/metadata.json").write_text(labels)
    found = image.of_folder("image", str(tmp_path / "image"))
    assert (found.recipe, found.labels) == ("", ("a=b",) if "b" in labels else ())


def test_dry_run_prints_what_is_started(ordinary: Ordinary, debian: Path) -> None:
    """The words of the command line, and no run."""
    said = ordinary.provio("container", "exec", "--dry-run", str(debian), "--join-ct=1", "--", "cat", "a b").stdout
    words = shlex.split(said)
    assert words[0] == "ch-run" and words[-5:] == ["--join-ct=1", str(debian), "--", "cat", "a b"]
    assert any(word.startswith("--set-env=LD_PRELOAD=/") for word in words)
    assert not list(ordinary.path.glob(".provio/runs/*"))


# ---- recipes


def test_lines_for_ones_own_definition(project: Project) -> None:
    """By the kind that the file is of; what is none is refused."""
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
    assert sorted(names) == sorted({"labels", "post", "runscript", "test", "help"})
    assert recipes.kind_of(ROOT / "container" / "provio.def") == "Apptainer"
