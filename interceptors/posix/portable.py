"""Builds the shims that wheels hold, for every machine and C library: `portable.py FOLDER [KIND…]`.

A kind is `<machine>-<C library>`; its shim comes to lie in `FOLDER/<kind>/libprovio.so`. The compiler is that of the
package `ziglang`, which brings the headers and the symbols of each C library in its oldest version. The same sources
give the same bytes, wherever they lie: what is written holds no path and no time.
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
LINK = "-Wl,-Bsymbolic -Wl,-z,now -Wl,-s -Wl,--build-id=none"
# No code of a sanitizer or a stack's guard, which zig adds and the C library would be asked for.
FLAGS = "-g0 -fno-sanitize=all -fno-stack-protector -Wno-sign-compare -Wno-unneeded-internal-declaration"
PT_DYNAMIC = 2
DT_NULL, DT_NEEDED, DT_DEBUG, DT_FLAGS_1 = 0, 1, 21, 0x6FFFFFFB
DF_1_INITFIRST = 0x20


def build(kind: str, output: Path) -> None:
    """Compile the shim of one kind."""
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as cache:
        environment = {
            **os.environ,
            "CC": f"{sys.executable} -m ziglang cc -target {TARGETS[kind]}",
            "CFLAGS": f"{FLAGS} -ffile-prefix-map={HERE.parent}=.",
            "LINK": LINK,
            "ZIG_LOCAL_CACHE_DIR": cache,
        }
        # Sources are listed in the order of bytes, by a name that is the same everywhere.
        subprocess.run(
            ["./posix/build", str(output.resolve())], cwd=HERE.parent, env={**environment, "LC_ALL": "C"}, check=True
        )
    output.write_bytes(finished(output.read_bytes(), "musl" in kind))


def finished(library: bytes, musl: bool) -> bytes:
    """Return the library so that its constructor comes first, which zig's linker cannot be told; and without the name
    of musl's C library, which each distribution has another name for, and which is always loaded."""
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
    """Build the named kinds, or all."""
    folder, *kinds = arguments
    for kind in kinds or TARGETS:
        build(kind, Path(folder) / kind / "libprovio.so")
        print(f"built {kind}")


if __name__ == "__main__":
    main(sys.argv[1:])
