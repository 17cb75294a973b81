"""Which shim a program's loader can take, and one clear line where there is none."""

import os
import shutil
import struct
from pathlib import Path

import pytest

from provio.base.errors import ProvioError
from provio.system import shims


def program(path: Path, loader: bytes = b"", machine: int = 62, ident: bytes = b"\x7fELF\2\1\1", at: int = 120) -> Path:
    """An ELF file of one part: the name of its loader."""
    head = ident.ljust(16, b"\0") + struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    part = struct.pack("<IIQQQQQQ", 3 if loader else 6, 4, at, at, at, len(loader) + 1, len(loader) + 1, 1)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((head + part).ljust(at, b"\0") + loader + b"\0")
    path.chmod(0o755)
    return path


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with the shims of three of the four kinds."""
    package = tmp_path / "provio"
    for kind in ("x86_64-glibc", "aarch64-glibc", "aarch64-musl"):
        (package / "preload" / kind).mkdir(parents=True)
        (package / "preload" / kind / "libprovio.so").touch()
    monkeypatch.setattr(shims, "HERE", package)
    return package


@pytest.mark.parametrize(
    ("loader", "machine", "kind"),
    [
        (b"/lib64/ld-linux-x86-64.so.2", 62, "x86_64-glibc"),
        (b"/lib/ld-linux-aarch64.so.1", 183, "aarch64-glibc"),
        (b"/nix/store/x/lib/ld-2.17.so", 62, "x86_64-glibc"),
        (b"/lib/ld-musl-aarch64.so.1", 183, "aarch64-musl"),
    ],
)
@pytest.mark.parametrize("at", [120, 9000])
def test_a_program_gets_the_shim_of_its_loader(
    tmp_path: Path, installed: Path, loader: bytes, machine: int, kind: str, at: int
) -> None:
    file = program(tmp_path / "program", loader, machine, at=at)
    assert shims.for_program(str(file)) == installed / "preload" / kind / "libprovio.so"


@pytest.mark.parametrize(
    ("library", "kind"), [("libc.so.6", "x86_64-glibc"), ("libc.musl-aarch64.so.1", "aarch64-musl")]
)
def test_a_renamed_loader(tmp_path: Path, installed: Path, library: str, kind: str) -> None:
    """As by patchelf: the linked libraries name the C library; a program without a known one is refused."""
    file, machine = tmp_path / "program", 62 if kind.startswith("x86") else 183
    loader, texts = b"/opt/own/loader\0", b"\0" + library.encode() + b"\0"
    dynamic = struct.pack("<qQqQqQ", 1, 1, 5, 64 + 3 * 56, 0, 0)  # NEEDED, STRTAB
    places = {1: (0, 4096), 3: (64 + 3 * 56 + len(texts), len(loader))}
    places[2] = (sum(places[3]), len(dynamic))
    parts = b"".join(struct.pack("<IIQQQQQQ", k, 4, at, at, at, size, size, 1) for k, (at, size) in places.items())
    head = b"\x7fELF\2\1\1".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, 0, 64, 56, 3, 0, 0, 0
    )
    file.write_bytes(head + parts + texts + loader + dynamic)
    file.chmod(0o755)
    assert shims.for_program(str(file)) == installed / "preload" / kind / "libprovio.so"
    file.write_bytes(file.read_bytes().replace(library.encode(), b"x" * len(library)))
    with pytest.raises(ProvioError, match="needs the loader loader"):
        shims.for_program(str(file))


def test_a_script_gets_its_interpreters(tmp_path: Path, installed: Path) -> None:
    """Below another root the interpreter is that root's, and so are the links on the way to it."""
    root = tmp_path / "root"
    program(root / "usr" / "bin" / "busybox", b"/lib/ld-musl-aarch64.so.1", 183)
    (root / "bin").symlink_to("/usr/../usr/bin")
    (root / "usr" / "bin" / "sh").symlink_to("/bin/busybox")
    (root / "run").write_text("#! /bin/sh -e\n")
    (root / "run").chmod(0o755)
    assert shims.for_program("/run", str(root)) == installed / "preload" / "aarch64-musl" / "libprovio.so"


def test_a_name_is_looked_for_along_the_path(tmp_path: Path, installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "root" / "tools" / "solve", b"/lib/ld-linux-aarch64.so.1", 183)
    monkeypatch.setenv("PATH", "/nowhere:/tools")
    found = shims.for_program("solve", str(tmp_path / "root"))
    assert found == installed / "preload" / "aarch64-glibc" / "libprovio.so"


def test_the_shim_that_was_compiled_here_comes_first(shim: Path) -> None:
    if not shutil.which("cc"):
        pytest.skip("cc is not installed")
    assert shims.for_program(os.path.realpath("/bin/sh")) == shims.HERE / "libprovio.so"


@pytest.mark.parametrize(
    ("loader", "machine", "said"),
    [
        (b"/lib/ld-musl-x86_64.so.1", 62, "no shim for x86_64 with musl is installed: install provio from its wheel"),
        (
            b"/lib/ld-linux-riscv64-lp64d.so.1",
            243,
            "is built for another machine, but provio has shims only for x86_64 and aarch64",
        ),
        (
            b"/system/bin/linker64",
            183,
            "needs the loader linker64, but provio has shims only for glibc and musl",
        ),
        (b"", 62, "is statically linked and cannot load a shim: link it dynamically"),
    ],
)
def test_the_missing_part_is_named(tmp_path: Path, installed: Path, loader: bytes, machine: int, said: str) -> None:
    with pytest.raises(ProvioError, match=said) as raised:
        shims.for_program(str(program(tmp_path / "program", loader, machine)))
    assert "\n" not in str(raised.value)


def test_a_file_that_is_no_program_is_named(tmp_path: Path, installed: Path) -> None:
    def said(path: str, root: str = "/") -> str:
        with pytest.raises(ProvioError) as raised:
            shims.for_program(path, root)
        return str(raised.value)

    text, round_and_round, itself = tmp_path / "text", tmp_path / "a", tmp_path / "itself"
    for path, content in ((text, "hello"), (itself, f"#!{itself}\n"), (tmp_path / "bare", "#!\n")):
        path.write_text(content)
        path.chmod(0o755)
    round_and_round.symlink_to("/a")
    assert said(str(text)) == f"{text} is neither an ELF program nor a script that starts with #!: name a program"
    assert said(str(itself)) == f"{itself} is run by a chain of scripts: name the program that runs it"
    assert "names no interpreter" in said(str(tmp_path / "bare"))
    assert said("/a", str(tmp_path)) == f"/a: no such executable program in {tmp_path}"
    assert said("no-such-program") == "no-such-program: no such executable program"
    thirty_two = program(tmp_path / "thirty-two", b"/lib/ld-linux.so.2", 3, b"\x7fELF\1\1\1")
    assert "is built for another machine" in said(str(thirty_two))
