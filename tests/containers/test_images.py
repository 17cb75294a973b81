"""The facts of images, and images that are refused before the start."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Project, new_project, provio_command
from container_roots import Ordinary, small
from container_roots import ordinary as ordinary
from test_mount_tables import namespaces

from provio.containers import image
from provio.merge import archive_runs
from provio.settings import load
from provio.settings.home import Home
from provio.system import statx

RECIPE, LABELS = "Bootstrap: docker\nFrom: debian\n", '{"org.label-schema.version": "1", "é": "ü"}'
DEFINITION, LABELLING, PARTITION = 0x4001, 0x4003, 0x4004  # of descriptors, as in sylabs/sif
ELF = struct.Struct("<16sHHIQQQIHHHHHH")


def test_the_used_image_is_recorded_even_if_it_is_replaced(tmp_path: Path) -> None:
    """An image's folder is kept open: one that replaces it before its inspection is not taken for it."""
    first = tmp_path / "image"
    first.mkdir()
    facts, held = statx.facts(os.fsencode(first)), image.Known("image", str(first)).held()
    first.rename(tmp_path / "before")
    first.mkdir()
    found = held()
    assert found and (found.inode, found.birth) == (facts.inode, facts.birth)
    assert found == held() and found.inode != statx.facts(os.fsencode(first)).inode
    assert image.Known("image").held()() is None and image.Known("image", str(first / "none")).held()() is None


def sif(path: Path, machine: bytes = b"02\0", system: bytes = b"hsqs") -> Path:
    """Write an image in the public layout of SIF: a header, descriptors, and their data."""
    parts = [(DEFINITION, RECIPE.encode()), (LABELLING, LABELS.encode()), (PARTITION, system)]
    head, size = 128, 585
    at, descriptors, data = 32768, b"", b""
    for number, (kind, content) in enumerate(parts, 1):
        place = at + len(data)
        descriptors += struct.pack(
            "<iBIII7q128s384s", kind, 1, number, 1, 0, place, len(content), len(content), 1, 1, 0, 0, b"", b""
        )
        data += content
    counts = (1, 1, 45, 48, head, size * 48, at, len(data))
    launch = b"#!/usr/bin/env run-singularity\n"
    header = struct.pack("<32s10s3s3s16s8q", launch, b"SIF_MAGIC", b"01", machine, b"u" * 16, *counts)
    path.write_bytes((header + descriptors).ljust(at, b"\0") + data)
    return path


def test_the_facts_of_a_sif(tmp_path: Path) -> None:
    """Its machine, recipe and labels; its digest is that of the file, cached until the file changes."""
    path = sif(tmp_path / "x.sif")
    known = image.of_file(str(path))
    assert (known.machine, known.recipe, known.path) == ("x86_64", RECIPE, str(path))
    assert known.labels == ("org.label-schema.version=1", "é=ü")
    digest = "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
    assert image.digest_of(str(path), tmp_path / "kept") == digest
    (note,) = (tmp_path / "kept").iterdir()
    note.write_text("sha256:kept")
    assert image.digest_of(str(path), tmp_path / "kept") == "sha256:kept"
    sif(path, b"04\0")
    assert image.of_file(str(path)).machine == "aarch64"
    assert image.digest_of(str(path), tmp_path / "kept") not in (digest, "sha256:kept")


def test_the_facts_of_a_truncated_sif(tmp_path: Path) -> None:
    """At any length, and for any counts and offsets."""
    path = sif(tmp_path / "x.sif")
    whole = path.read_bytes()
    for size in (*range(0, 2000, 13), 32768, 32772, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert image.of_file(str(path)).recipe in ("", RECIPE[: max(0, size - 32768)])
        assert image.of_file(str(path)).machine == ("x86_64" if size >= 128 else "")
    for place in range(64, 128, 8):
        for value in (-1, 1 << 62):
            path.write_bytes(whole[:place] + struct.pack("<q", value) + whole[place + 8 :])
            image.of_file(str(path))


def test_the_output_of_inspect() -> None:
    """The output of Podman and Docker, and missing parts of it."""
    said = [{"Digest": "sha256:1", "Architecture": "arm64", "Config": {"Labels": {"a": "b"}}}]
    known = image.of_inspection("x", json.dumps(said))
    assert (known.digest, known.machine, known.labels) == ("sha256:1", "aarch64", ("a=b",))
    for text in ("", "[]", "[1]", "1", '"x"', "{", '{"a": 1}', '["x"]'):
        assert image.of_inspection("x", text) == image.Known("x")


# ---- images in a file


def squashed(folder: Path, beyond: int = 0) -> Path:
    """Make an image in a file, followed by a number of bytes."""
    for program in ("ch-run", "mksquashfs"):
        if not shutil.which(program):
            pytest.skip(f"not installed: {program}")
    path, root = folder / "x.sqfs", small(folder / "root", "cat", "sh")
    (root / folder.relative_to("/")).mkdir(parents=True, exist_ok=True)
    subprocess.run(["mksquashfs", root, path, "-quiet", "-no-progress"], check=True, stdout=subprocess.DEVNULL)
    os.truncate(path, path.stat().st_size + beyond)
    started = subprocess.run(["ch-run", path, "--", "/bin/sh", "-c", ":"], capture_output=True, text=True, check=False,
                             env={**os.environ, "USER": "root"})  # fmt: skip
    if started.returncode:
        pytest.skip(f"ch-run mounts no SquashFS here: {started.stderr.strip()[-200:]}")
    return path


def image_of(project: Project, target: str) -> dict[str, str]:
    (found,) = [node for node in project.lineage(target)["nodes"] if node["type"] == "Image"]
    return {name: value for name, value in found.items() if isinstance(value, str)}


@pytest.mark.integration
def test_an_image_file_has_its_digest(project: Project) -> None:
    """The digest is computed once; both runs used one image, and its programs belong to it."""
    path = squashed(project.path)
    digest = "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
    (project.path / "in").write_text("1\n")
    for command in ("read x < in; echo $x > middle", "read x < middle; echo $x > out"):
        project.provio("container", "exec", "--quiet", "x.sqfs", "--", "/bin/sh", "-c", command)
    waited_for(project, "out", digest)
    assert project.data("out") == {"in", "middle"}
    assert image_of(project, "middle") == image_of(project, "out")
    assert len(list((project.path / ".provio" / "images").iterdir())) == 1


def waited_for(project: Project, target: str, digest: str) -> None:
    for _ in range(300):
        if digest in image_of(project, target)["iri"].replace("%3A", ":"):
            return
        time.sleep(0.2)
    raise AssertionError(image_of(project, target))


def test_one_process_at_a_time_computes_a_digest(tmp_path: Path) -> None:
    """For ranks that start together in containers; the others leave it to the end of their runs."""
    home, path = Home(tmp_path), tmp_path / "image"
    path.write_bytes(b"1")
    kept = tmp_path / image.KEPT
    kept.mkdir()
    held = os.open(kept, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    with pytest.raises(BlockingIOError):
        image.digest_of(str(path), kept)
    assert image.Digesting(home, str(path)).stopped() == ""
    os.close(held)
    digest = image.digest_of(str(path), kept, wait=True)
    assert digest == "sha256:" + hashlib.sha256(b"1").hexdigest()
    assert image.digest_of(str(path), kept) == digest


@pytest.mark.slow
def test_a_command_does_not_wait_for_its_images_digest(project: Project) -> None:
    """The digest of a large image is added later, by a detached process, and the run is merged again."""
    path = squashed(project.path, beyond=1 << 30)
    project.provio("container", "exec", "--quiet", "x.sqfs", "--", "/bin/sh", "-c", "echo 1 > out")
    waited_for(project, "out", "sha256:" + hashlib.file_digest(path.open("rb"), "sha256").hexdigest())
    project.provio("validate", "--strict")


@pytest.mark.integration
def test_a_run_without_its_images_digest_is_not_archived(project: Project, tmp_path: Path) -> None:
    """A file that was replaced gets no digest; after a kill, the next process computes it."""
    home, path = Home(project.path / ".provio"), project.path / "x.sif"
    for text in ("first", "second"):
        path.write_text(text)
        project.run(f"echo {text} > {text}")
        run, key = max(folder.name for folder in home.run_folders()), image.key_of(statx.facts(bytes(path)))
        with (home.runs / run / "run.ttl").open("a") as head:
            head.write(f'<{image.iri(run)}> a :Image ; :name "x" .\n')
        image.request_digest(home, run, str(path), key)
    project.provio("merge")
    assert archive_runs.archive(home, load.load([project.path]), home.run_folders()) == 0
    assert {note.read_text() for note in (home.path / "unpacked").iterdir()} == {"the digest of its image is pending\n"}
    head = home.runs / run / "run.ttl"
    ended = head.read_text()
    head.write_text(re.sub(r" ; :endedNs \d+", "", ended))  # as it is until the command has written its end
    stating = [sys.executable, "-m", "provio.containers.image", str(home.path)]
    subprocess.run(stating, check=True, env=project.env)
    assert image.pending(home) == [run] and "sha256:" not in head.read_text()
    head.write_text(ended)
    subprocess.run(stating, check=True, env=project.env)
    assert image.pending(home) == []
    digests = [row["d"] for row in project.rows("SELECT ?d { ?i a provio:Image ; provio:digest ?d }")]
    assert digests == ["sha256:" + hashlib.sha256(b"second").hexdigest()]


@pytest.mark.integration
def test_image_inspect_does_not_read_the_commands_input(project: Project, tmp_path: Path) -> None:
    """Standard input is for the command only."""
    program = tmp_path / "podman"
    program.write_text("#!/bin/sh\n[ $1 = image ] && exec cat\nexec cat > got\n")
    program.chmod(0o755)
    env = {**project.env, "PATH": f"{tmp_path}:{project.env['PATH']}"}
    project.provio("container", "exec", "--quiet", "--runtime", "podman", "x", "--", "cat", input="told\n", env=env)
    assert (project.path / "got").read_text() == "told\n"


@pytest.fixture
def elsewhere(project: Project) -> Iterator[Project]:
    """A project in a folder that no runtime mounts by default, as ch-run does with /tmp."""
    if not shutil.which("ch-run"):
        pytest.skip("not installed: ch-run")
    with tempfile.TemporaryDirectory(prefix="provio-", dir="/var/tmp") as place:
        yield new_project(Path(place))


@pytest.mark.integration
def test_a_program_that_cannot_load_the_shim(elsewhere: Project) -> None:
    """It is started, a line and a gap state that it is not watched, and it may be the writer of new files."""
    root = small(elsewhere.path / "image", "cat")
    source = '#include <stdio.h>\nint main(void) { FILE *f = fopen("x", "w"); return fputs("1", f) < 0 || fclose(f); }'
    command = ["gcc", "-static", "-o", root / "bin" / "fixed", "-xc", "-"]
    subprocess.run(command, input=source, text=True, check=True)
    said = elsewhere.provio("container", "exec", "image", "--", "/bin/fixed").stderr
    reason = f"{root}/bin/fixed is statically linked: its reads and writes are not recorded"
    assert said.split("\n")[0] == f"provio: {reason}"
    assert [row["r"] for row in elsewhere.rows("SELECT ?r { ?g a provio:Gap ; provio:reason ?r }")] == [reason]
    elsewhere.run("cat x > y")
    assert [gap for gap in elsewhere.lineage("y")["gaps"] if "something that was not seen" in gap["reason"]]


@pytest.mark.integration
def test_an_image_without_a_folder_for_the_shim(elsewhere: Project) -> None:
    """In an image file no folder can be created: a copy in `.provio` is loaded; the working folder must exist."""
    path, folder = squashed(elsewhere.path), elsewhere.path / ".provio" / "shims"
    for command in ("echo 1 > middle", "read x < middle; echo $x > out"):
        elsewhere.provio("container", "exec", "--quiet", "x.sqfs", "-t", "--", "/bin/sh", "-c", command)
    (kept,) = folder.iterdir()
    assert kept.stat().st_mode & 0o077 == 0 and (kept / "interceptors" / "recognising.py").exists()
    assert elsewhere.data("out") == {"middle"}
    kept.chmod(0o755)
    refusal = elsewhere.provio("container", "exec", "x.sqfs", "-t", "--", "/bin/sh", "-c", ":", code=125).stderr
    assert refusal == f"provio: {kept} is not private to you: remove it\n"
    with tempfile.TemporaryDirectory(prefix="provio-", dir="/var/tmp") as other:
        there = new_project(Path(other))
        assert f"has no {there.path} to bind at" in refused(there, str(path), "--", "/bin/sh", "-c", ":")
        shown = ("--bind=/var/tmp", "--", "/bin/sh", "-c", "echo 1 > out")
        there.provio("container", "exec", "--quiet", str(path), *shown)
        assert [node["path"] for node in there.lineage("out")["nodes"] if node["type"] == "FileVersion"]


@pytest.mark.integration
def test_node_local_capture_in_a_container(elsewhere: Project) -> None:
    """Files are on the node's own disk until the end, in a mounted folder, the same for each run; not afterwards."""
    root, node = small(elsewhere.path / "image", "cat", "ls", "sh"), elsewhere.path.parent / "node"
    node.mkdir()
    (elsewhere.path / "in").write_text("1\n")
    env = {**elsewhere.env, "PROVIO_CAPTURE_DIR": str(node)}
    script = f"cat in > out; ls {node}/*/*/*"
    for _ in range(2):
        seen = elsewhere.provio("container", "exec", "--quiet", "image", "--", "/bin/sh", "-c", script, env=env).stdout
        assert ".0.0.ttl" in seen
        assert not [path for path in node.rglob("*") if path.is_file()]
    assert elsewhere.data("out") == {"in"}
    assert not list((root / str(node)[1:]).iterdir())
    refused_at = elsewhere.path.parent / "a,b"
    refused_at.mkdir()
    env["PROVIO_CAPTURE_DIR"] = str(refused_at)
    elsewhere.provio("container", "exec", "image", "--", "/bin/sh", code=125, env=env)
    assert not list((elsewhere.path / ".provio" / "captured").glob("*/*")) and not list(refused_at.glob("*/*"))


# ---- refused


def refused(project: Project, *arguments: str, **options: object) -> str:
    """Return the one line of a refused call: nothing is started, and no run is left."""
    done = project.provio("container", "exec", *arguments, code=125, **options)
    assert done.stdout == "" and done.stderr.count("\n") == 1 and "Traceback" not in done.stderr, done.stderr
    assert not list(project.path.glob(".provio/runs/*"))
    return done.stderr


def program(path: Path, machine: int, loader: bytes = b"") -> Path:
    """Write an ELF header, with the loader that it requires."""
    parts = 1 if loader else 0
    head = ELF.pack(b"\x7fELF\2\1\1", 2, machine, 1, 0, 64, 0, 0, 64, 56, parts, 0, 0, 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(head + struct.pack("<IIQQQQQQ", 3, 4, 120, 0, 0, len(loader), len(loader), 1) + loader)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("machine", "loader", "said"),
    [(243, b"/lib/ld-linux-riscv64-lp64d.so.1", "built for another machine"),
     (62, b"/lib/ld64-uClibc.so.0", "provio has shims only for glibc and musl")],
    ids=["machine", "C library"],
)  # fmt: skip
def test_programs_without_a_shim(project: Project, machine: int, loader: bytes, said: str, needs: object) -> None:
    """For another machine, for another C library."""
    assert callable(needs)
    needs("ch-run")
    program(project.path / "image" / "bin" / "x", machine, loader + b"\0")
    assert said in refused(project, "image", "--", "/bin/x")


@pytest.mark.parametrize("machine", [b"01\0", b"03\0", b"\xff\0\0"])
def test_a_sif_of_another_machine(project: Project, tmp_path: Path, machine: bytes) -> None:
    """The runtime is not even called."""
    sif(project.path / "x.sif", machine)
    runtime = tmp_path / "apptainer"
    runtime.write_text(f"#!/bin/sh\necho called > {tmp_path}/called\n")
    runtime.chmod(0o755)
    env = {**project.env, "PATH": f"{tmp_path}:{project.env['PATH']}"}
    assert "no shim for another machine" in refused(project, "x.sif", "--", "true", env=env)
    assert not (tmp_path / "called").exists()


@pytest.mark.integration
def test_an_image_that_cannot_be_read(ordinary: Ordinary) -> None:
    """A file, a folder: the message names the owner."""
    (ordinary.path / "folder").mkdir()
    sif(ordinary.path / "x.sif")
    for name in ("folder", "x.sif"):
        (ordinary.path / name).chmod(0)
        if subprocess.run(ordinary.user("test", "-r", name), cwd=ordinary.path, check=False).returncode == 0:
            pytest.skip("the ordinary user may read everything here: this Python lies where only root may read")
        assert "cannot be read" in refused(ordinary, name, "--", "true")


@pytest.mark.parametrize("name", ["a,b", "a:b"])
def test_a_folder_that_no_runtime_can_bind(elsewhere: Project, name: str) -> None:
    """Its name has a separator of their options."""
    small(elsewhere.path / "image", "cat")
    there = Project(elsewhere.path / name, elsewhere.env)
    (there.path / ".provio").mkdir(parents=True)
    said = refused(there, "../image", "--", "cat")
    assert "at which runtimes split binds" in said


def test_a_link_out_of_an_image(elsewhere: Project, tmp_path: Path) -> None:
    """No folder is created at its target."""
    root = small(elsewhere.path / "image", "cat")
    (root / "var").symlink_to(tmp_path)
    before = list(tmp_path.iterdir())
    assert "leads out of it" in refused(elsewhere, "image", "--", "cat")
    assert list(tmp_path.iterdir()) == before


@pytest.mark.integration
@pytest.mark.parametrize("options", ["ro", "size=64k"])
def test_a_provio_folder_that_cannot_be_written(project: Project, options: str, needs: object) -> None:
    """Read-only, or full: nothing is started."""
    assert callable(needs)
    needs("ch-run")
    namespaces()
    small(project.path / "image", "cat", "sh")
    script = (
        'mount -t tmpfs -o size=64k,mode=755 none .provio && mkdir .provio/runs && echo "*" > .provio/.gitignore && '
        '{ dd if=/dev/zero of=.provio/full bs=4k 2>/dev/null; [ "$1" != ro ] || mount -o remount,ro .provio; } && '
        'shift && "$@"; code=$?; ls .provio/runs; exit $code'
    )
    command = [*provio_command(), "container", "exec", "image", "--", "/bin/sh", "-c", "echo 1 > started"]
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", options, *command],
        cwd=project.path, env=project.env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 125 and done.stdout == "" and done.stderr.count("\n") == 1, done.stderr
    assert "cannot write" in done.stderr and "set PROVIO_HOME" in done.stderr
    assert not (project.path / "started").exists()


def test_a_folder_that_is_hidden(project: Project, elsewhere: Project) -> None:
    """ch-run mounts another folder at /tmp, which does not contain the one to bind."""
    small(project.path / "image", "cat")
    if not project.path.is_relative_to("/tmp"):
        pytest.skip(f"the tests run in {project.path}, which is not below /tmp")
    said = refused(project, "image", "--", "cat", env={**project.env, "TMPDIR": str(elsewhere.path)})
    assert f"mkdir -p {elsewhere.path}/" in said and "or unset TMPDIR" in said


def test_a_folder_is_created_if_that_is_allowed(elsewhere: Project) -> None:
    """The image does not have the folder to bind at: it is created, empty, and nothing else; also without $USER."""
    root = small(elsewhere.path / "image", "cat", "sh")
    env = {name: value for name, value in elsewhere.env.items() if name != "USER"}
    before = {path.relative_to(root) for path in root.rglob("*")}
    step = ("container", "exec", "--no-merge", "image", "--", "/bin/sh", "-c", "echo 1 > started")
    elsewhere.provio(*step, env=env)
    assert (elsewhere.path / "started").read_text() == "1\n"
    made = {path.relative_to(root) for path in root.rglob("*")} - before
    assert elsewhere.path.relative_to("/") in made
    assert all((root / path).is_dir() for path in made)
