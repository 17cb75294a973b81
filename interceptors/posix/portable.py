"""Builds the shims for wheels, for every machine and C library: `portable.py FOLDER [KIND…]`.

A kind is `<machine>-<C library>`; its shim is written to `FOLDER/<kind>/libprovio.so`. Without a kind, all are built,
and a waiter next to each. The compiler is that of the package `ziglang`, which contains the headers and the symbols of
the oldest supported version of each C library. The build is reproducible: the output contains no path and no time.
"""

import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

TARGETS = {
    "x86_64-glibc": "x86_64-linux-gnu.2.17",
    "aarch64-glibc": "aarch64-linux-gnu.2.17",
    "x86_64-musl": "x86_64-linux-musl",
    "aarch64-musl": "aarch64-linux-musl",
}
HERE = Path(__file__).resolve().parent
LINK = "-Wl,-Bsymbolic -Wl,-z,now -Wl,--build-id=none"
# Without sanitizers and stack guards, which zig adds and which need functions of the C library.
FLAGS = "-g0 -s -fno-sanitize=all -fno-stack-protector -Wno-sign-compare -Wno-unneeded-internal-declaration"
PT_DYNAMIC = 2
DT_NULL, DT_NEEDED, DT_DEBUG, DT_FLAGS_1 = 0, 1, 21, 0x6FFFFFFB
DF_1_INITFIRST = 0x20


def build(kind: str, folder: Path) -> None:
    """Compile the shim of one kind."""
    folder.mkdir(parents=True, exist_ok=True)
    shim = folder / "libprovio.so"
    compile_for(TARGETS[kind], "posix", shim, LINK)
    shim.write_bytes(finish(shim.read_bytes(), "musl" in kind))


def build_waiter(kind: str, folder: Path) -> None:
    """Compile the waiter for the machine of a kind, statically linked with musl, which zig compiles first."""
    compile_for(TARGETS[kind.partition("-")[0] + "-musl"], "waiter", folder / "waiter", "")


def compile_for(target: str, sources: str, output: Path, link: str) -> None:
    """Run the build script of a source folder, with zig as its compiler."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {
            **os.environ,
            "CC": f"{sys.executable} -m ziglang cc -target {target}",
            "CFLAGS": f"{FLAGS} -ffile-prefix-map={HERE.parent}=.",
            "LINK": link,
            "LC_ALL": "C",  # the sources have the same order everywhere
            "ZIG_LOCAL_CACHE_DIR": cache,
        }
        command = [f"./{sources}/build", str(output.resolve())]
        subprocess.run(command, cwd=HERE.parent, env=environment, check=True)


def finish(library: bytes, musl: bool) -> bytes:
    """Return the library with the flag DF_1_INITFIRST, which zig's linker lacks; and without the name of musl's C
    library, which differs between distributions and which is always loaded."""
    data = bytearray(library)
    start, size, count = struct.unpack_from("<Q14xHH", data, 32)
    heads = [struct.unpack_from("<I4xQ16xQ", data, start + each * size) for each in range(count)]
    (place, length) = next((offset, length) for kind, offset, length in heads if kind == PT_DYNAMIC)
    for at in range(place, place + length, 16):
        tag, value = struct.unpack_from("<QQ", data, at)
        if tag == DT_FLAGS_1:
            struct.pack_into("<QQ", data, at, tag, value | DF_1_INITFIRST)
        elif tag == DT_NEEDED and musl:
            struct.pack_into("<QQ", data, at, DT_DEBUG, 0)
    return bytes(data)


def main(arguments: list[str]) -> None:
    """Build the given kinds, or all."""
    folder, *kinds = arguments
    for kind in kinds or TARGETS:
        build(kind, Path(folder) / kind)
        if not kinds:
            build_waiter(kind, Path(folder) / kind)
        print(f"built {kind}")


if __name__ == "__main__":
    main(sys.argv[1:])
