"""HDF5 linked into an executable is not intercepted: files keep their lineage, and a gap states the reason."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Project

from provio.system.elf import hdf5_inside, is_hdf5

CLIENTS = Path(__file__).parent.parent / "clients"
UNINTERCEPTED = "HDF5 was called without its interceptors: datasets that it wrote are not seen (see docs/hdf5.md)"


@pytest.fixture
def static(project: Project) -> Path:
    """A program with HDF5 linked statically, as Debian's `h5cc` does by default."""
    return linked(project.path.parent / "derive", "derive.c", "-noshlib")


@pytest.fixture
def input_file(project: Project) -> Path:
    """A small HDF5 file without a recorded writer."""
    made = project.path / "in.h5"
    subprocess.run([linked(project.path.parent / "make", "make.c", "-shlib"), made], check=True)
    return made


def linked(target: Path, source: str, how: str) -> Path:
    if shutil.which("h5cc") is None:
        pytest.skip("not installed: h5cc (make test installs it where it may)")
    command = ["h5cc", how, "-o", target, CLIENTS / source]
    subprocess.run(command, check=True, capture_output=True, cwd=target.parent)
    return target


def gaps(project: Project, target: str) -> list[str]:
    return [gap["reason"] for gap in project.lineage(target)["gaps"]]


@pytest.mark.integration
def test_hdf5_in_the_executable_is_a_gap_of_its_output(project: Project, static: Path, input_file: Path) -> None:
    """The output's lineage by file is complete; its gap names the program, even without symbols."""
    subprocess.run(["strip", static], check=True)
    assert hdf5_inside(bytes(static))
    project.watch(str(static), input_file.name, "out.h5")
    assert project.data("out.h5") == {"in.h5"}
    inside = f"HDF5 is inside the executable {static}: datasets that it wrote are not seen"
    assert gaps(project, "out.h5") == [inside + " (see docs/hdf5.md)"]


@pytest.mark.integration
def test_a_shared_library_is_no_gap(project: Project, input_file: Path) -> None:
    """The same program with HDF5 as a shared library, and a system program that only copies the file."""
    shared = linked(project.path.parent / "shared", "derive.c", "-shlib")
    assert not hdf5_inside(bytes(shared))
    project.watch(str(shared), input_file.name, "out.h5")
    project.watch("cp", "out.h5", "copy.h5")
    assert gaps(project, "out.h5") == gaps(project, "copy.h5") == []


@pytest.mark.integration
def test_only_its_hdf5_files_have_the_gap(project: Project, static: Path, input_file: Path) -> None:
    """Files of the shell, a sibling or the launcher have none, nor has the input."""
    project.run(f"{static} in.h5 out.h5 && wc -c < out.h5 > length && gzip -k out.h5")
    assert len(gaps(project, "out.h5")) == 1
    assert gaps(project, "in.h5") == []
    reasons = project.rows("SELECT ?about { ?gap a provio:Gap ; provio:about ?about }")
    assert [row["about"] for row in reasons] == [project.lineage("out.h5")["target"]]


@pytest.mark.integration
def test_a_replaced_program_is_not_inspected(project: Project, static: Path, input_file: Path) -> None:
    """After the run, its path may lead to another program: it is not named."""
    other = static.with_name("other")
    shutil.copy(static, other)
    project.run(f"{static} in.h5 out.h5; mv {other} {static}")
    assert gaps(project, "out.h5") == [UNINTERCEPTED]


def test_the_signature_may_follow_a_user_block(project: Project, input_file: Path) -> None:
    """As `h5jam` writes it: at 512, 1024, 2048 … bytes."""
    own = project.path / "own"
    own.write_bytes(b"x" * 1000)
    whole = project.path / "whole.h5"
    subprocess.run(["h5jam", "-u", own, "-i", input_file, "-o", whole], check=True, capture_output=True)
    assert is_hdf5(bytes(whole))
    assert not is_hdf5(bytes(own))


@pytest.mark.integration
def test_hdf5_that_was_called_by_its_addresses_is_a_gap(project: Project) -> None:
    """Such calls are not intercepted; with HDF5 switched off, there is no gap."""
    h5py = pytest.importorskip("h5py")
    library = next(Path(h5py.__file__).parent.with_name("h5py.libs").glob("libhdf5-*"), None)
    if library is None:
        pytest.skip("h5py has no HDF5 of its own")
    direct = [sys.executable, str(CLIENTS / "direct.py"), str(library)]
    project.watch(*direct, "out.h5")
    assert gaps(project, "out.h5") == [UNINTERCEPTED]
    project.watch("cp", "out.h5", "copy.h5")
    project.watch(sys.executable, "-c", "import shutil; shutil.copy('out.h5', 'other.h5')")
    assert gaps(project, "other.h5")[1:] == gaps(project, "copy.h5")[1:] == []
    off = Project(project.path, {**project.env, "PROVIO_HDF5": "off"})
    off.watch(*direct, "unsaid.h5")
    assert gaps(off, "unsaid.h5") == []
    project.provio("merge", "--rebuild")  # the setting of the run counts, not the present one
    assert gaps(project, "unsaid.h5") == []
    assert gaps(project, "out.h5") == [UNINTERCEPTED]


@pytest.mark.integration
def test_files_of_other_drivers_are_no_gaps(project: Project) -> None:
    """Files written from memory at the close, and files in several parts, have records under another name."""
    pytest.importorskip("h5py")
    program = "import h5py; h5py.File('core.h5', 'w', driver='core')['x'] = [1]"
    family = "import h5py; h5py.File('part%d.h5', 'w', driver='family', memb_size=4096)['x'] = list(range(2000))"
    project.watch(sys.executable, "-c", program)
    project.watch(sys.executable, "-c", family)
    assert gaps(project, "core.h5") == gaps(project, "part0.h5") == []
