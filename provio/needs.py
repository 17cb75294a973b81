"""What an ELF program says it needs: a path in, the names of its shared libraries out; nothing for other files."""

from __future__ import annotations

import struct
from pathlib import Path

PT_LOAD, PT_DYNAMIC = 1, 2
DT_NEEDED, DT_STRTAB = 1, 5


def needed(path: Path) -> list[str]:
    """Return the names of the libraries that a 64-bit little-endian ELF file needs, in its order."""
    try:
        with path.open("rb") as file:
            data = file.read(64)
            if data[:6] != b"\x7fELF\x02\x01":
                return []
            offset, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
            file.seek(offset)
            headers = [struct.unpack_from("<IIQQQQ", file.read(size)) for _ in range(count)]
            loads = [(at, start, length) for kind, _, at, start, _, length in headers if kind == PT_LOAD]
            pairs: list[tuple[int, int]] = []
            for kind, _, at, _, _, length in headers:
                if kind == PT_DYNAMIC:
                    file.seek(at)
                    pairs += struct.iter_unpack("<qQ", file.read(length // 16 * 16))
            address = next((value for tag, value in pairs if tag == DT_STRTAB), 0)
            names = next((at + address - start for at, start, length in loads if start <= address < start + length), 0)
            return [_string(file.seek(names + value) and file.read(256)) for tag, value in pairs if tag == DT_NEEDED]
    except (OSError, struct.error):
        return []


def _string(data: bytes | int) -> str:
    return data.split(b"\0")[0].decode("utf-8", "replace") if isinstance(data, bytes) else ""
