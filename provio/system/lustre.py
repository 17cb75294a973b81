"""The layout of new files in a folder of Lustre. In: a folder, or the text that `lfs getstripe` prints. Out: a text."""

from __future__ import annotations

import re
from pathlib import Path

from provio.base.sizes import size
from provio.system import statx

CALL = 2.0  # seconds for the program
FIELD = re.compile(r"(?:lmm_|lcme_extent\.)?(stripe_count|stripe_size|pattern|pool|e_start|e_end):[ \t]*(\S+)")


def layout(folder: str, program: str) -> str | None:
    """Return the layout of new files in a folder; None if it is not in Lustre, or the program prints none."""
    if not _is_in_lustre(folder):
        return None
    import subprocess  # slow to import, and rarely needed

    try:
        done = subprocess.run(
            [program, "getstripe", "-d", folder],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=CALL,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return parsed(done.stdout.decode("utf-8", "replace")) or None


def parsed(text: str) -> str:
    """Return the layout in the text of `lfs getstripe -d` or `-y`; its components (extents of a file) one by one."""
    components: list[dict[str, str]] = []
    for name, value in FIELD.findall(text):
        start = name == "e_start" or (name == "stripe_count" and "stripe_count" in (components or [{name: ""}])[-1])
        if start or not components:
            components.append({})
        components[-1][name] = value
    return "; ".join(filter(None, map(_component, components)))


def _component(fields: dict[str, str]) -> str:
    count = fields.get("stripe_count", "")
    if not count:
        return ""
    number = "all stripes" if count == "-1" else "1 stripe" if count == "1" else f"{count} stripes"
    found = f"{number} of {_size(fields.get('stripe_size', ''))}"
    found += f", {fields['pattern']}" if "pattern" in fields else ""
    found += f", pool {fields['pool']}" if "pool" in fields else ""
    if "e_start" not in fields:
        return found
    end = "" if fields.get("e_end", "EOF") in ("EOF", "-1") else f" to {_size(fields['e_end'])}"
    return f"from {_size(fields['e_start'])}{end}: {found}"


def _size(text: str) -> str:
    return size(int(text)) if text.isdigit() else text or "unknown size"


def _is_in_lustre(folder: str) -> bool:
    """Return whether the mount of a folder is one of Lustre."""
    mount = statx.nearest(statx.parsed(Path("/proc/self/mountinfo").read_bytes()), folder)
    return mount is not None and mount.file_system == "lustre"
