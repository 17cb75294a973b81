"""Build the C shim and the waiter into the package. In: `interceptors/`. Out: `provio/libprovio.so`, `provio/waiter`.

With PROVIO_WHEEL=<machine>-<C library> nothing is compiled: the wheel is for all such systems, also old ones, and
contains the shims of all kinds from `provio/preload` (see `make shims`). Its bytes are reproducible. The requirements
are here because they depend on the C library. All other properties of the package are in `pyproject.toml`.
"""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
POSIX, WAITER = Path("interceptors") / "posix", Path("interceptors") / "waiter"
SOURCES = sorted(str(path) for path in Path("interceptors").glob("*/*.c") if path.parent != WAITER)
WAITING = sorted(str(path) for path in WAITER.glob("*.c"))
PRELOAD = Path("provio") / "preload"
PORTABLE = os.environ.get("PROVIO_WHEEL", "")
TAGS = {
    "x86_64-glibc": "manylinux_2_17_x86_64.manylinux2014_x86_64",
    "aarch64-glibc": "manylinux_2_17_aarch64.manylinux2014_aarch64",
    "x86_64-musl": "musllinux_1_2_x86_64",
    "aarch64-musl": "musllinux_1_2_aarch64",
}
OLDEST = "315532800"  # the time of all files of such a wheel: 1980, the earliest time in a zip file
REQUIREMENTS = """
click>=8.1
h5py>=3.9
networkx>=3.1
pyoxigraph>=0.5.2
pyvis>=0.3.2
rdflib>=7.0
tomlkit>=0.12
waitress>=3
"""
SERVER = "oxigraph>=0.5.13"  # of `provio serve`; it has no wheels for musl, where it would be compiled with Rust
REMEDY = "on Debian or Ubuntu: apt-get install gcc libc6-dev"


def compiler() -> str:
    """Return the command of a working C compiler: `$CC`, else the first of cc, gcc, clang."""
    named = os.environ.get("CC")
    command = named or next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
    if command is None:
        sys.exit(f"provio: no C compiler found (cc, gcc, clang); {REMEDY}")
    try:
        headers = "#include <stdio.h>\n#include <linux/stat.h>\n"
        probe = [*command.split(), "-E", "-o", os.devnull, "-x", "c", "-"]
        found = subprocess.run(probe, input=headers, capture_output=True, text=True, check=False).returncode == 0
    except OSError as error:
        sys.exit(f"provio: the C compiler {command!r} named by CC does not start ({error.strerror}); {REMEDY}")
    if not found:
        sys.exit(f"provio: the C compiler {command!r} does not find the C library's headers; {REMEDY}")
    return command


def is_musl() -> bool:
    """Return whether the package is for musl."""
    try:
        return PORTABLE.endswith("-musl") if PORTABLE else not os.confstr("CS_GNU_LIBC_VERSION")
    except ValueError:
        return True


class BuildShim(build_ext):
    """Compiles the shim with its own `build` script, as all other builds do."""

    def get_ext_filename(self, fullname: str) -> str:
        """Return the file name: without a Python version, as the shim is preloaded and not imported; the waiter is a
        program."""
        path = Path(*fullname.split("."))
        return str(path if path.name == WAITER.name else path.with_suffix(".so"))

    def build_extension(self, ext: Extension) -> None:
        """Run `build OUTPUT` in the folder of the sources."""
        output = Path(self.get_ext_fullpath(ext.name)).resolve()
        output.parent.mkdir(parents=True, exist_ok=True)
        if PORTABLE:
            self.take_portable(output)
            return
        folder = WAITER if ext.name.endswith(f".{WAITER.name}") else POSIX
        script = [str(ROOT / folder / "build"), str(output)]
        if subprocess.run(script, env={**os.environ, "CC": compiler()}, check=False).returncode:
            sys.exit("provio: the C shim did not compile; see the compiler's messages above")

    def take_portable(self, output: Path) -> None:
        """Copy compiled files: the shim or waiter of this kind, and, with the shim, the shims of all kinds."""
        missing = [
            kind for kind in (*TAGS, PORTABLE) if kind not in TAGS or not (PRELOAD / kind / output.name).exists()
        ]
        if missing:
            sys.exit(f"provio: PROVIO_WHEEL: no {output.name} for {missing[0]} in {PRELOAD}: run make shims")
        shutil.copy(PRELOAD / PORTABLE / output.name, output)
        for kind in TAGS if output.suffix else ():
            (output.parent / "preload" / kind).mkdir(parents=True, exist_ok=True)
            shutil.copy(PRELOAD / kind / output.name, output.parent / "preload" / kind)


class ShimWheel(bdist_wheel):
    """A wheel for any Python 3 on this platform: the shim needs a C library, but no Python."""

    def get_tag(self) -> tuple[str, str, str]:
        """Return (python, ABI, platform)."""
        return "py3", "none", TAGS.get(PORTABLE) or super().get_tag()[2]

    def write_wheelfile(self, folder: str) -> None:  # type: ignore[override]
        """Write the metadata, and give the files the same permissions on every machine."""
        super().write_wheelfile(folder)
        for file in Path(self.bdist_dir).rglob("*"):
            executable = file.is_dir() or file.stat().st_mode & stat.S_IXUSR
            file.chmod(0o755 if executable else 0o644)


if PORTABLE:
    os.environ.setdefault("SOURCE_DATE_EPOCH", OLDEST)

setup(
    install_requires=REQUIREMENTS.split() + ([] if is_musl() else [SERVER]),
    ext_modules=[Extension("provio.libprovio", sources=SOURCES), Extension("provio.waiter", sources=WAITING)],
    cmdclass={"build_ext": BuildShim, "bdist_wheel": ShimWheel},
)
