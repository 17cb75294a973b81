"""How this provio was installed: the commands that extend or repair the installation, and other programs of its name.

In: the metadata that installers leave, this Python, `PATH`. Out: command lines for a shell, and paths. The package
index has another project with the name `provio`, so no advice may name that: this project's distribution has a name of
its own.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

from provio.base.errors import ProvioError

NAME = "provio-lineage"
OTHER = "provio"  # the name of the other project, and the former name of this one
SUMMARY = "I/O provenance"  # the first words of this project's summary, under both names
HERE = Path(__file__).resolve().parents[2]  # contains the package: a checkout, or a folder of installed packages
OWN_SCRIPT = b"provio.cli.main"  # a text in the command `provio` that any installer leaves


def install(extra: str = "", *, again: bool = False) -> str:
    """Return the command that installs provio as it was installed: with an extra, or `again` over damaged files."""
    found = distribution()
    source = [*_source(found, f"[{extra}]" if extra else "")]
    if found and (found.read_text("INSTALLER") or "").strip() == "conda":
        packages = _required(found, extra) if extra else [NAME]
        return shlex.join(["conda", "install", "--prefix", sys.prefix, *["--force-reinstall"][:again], *packages])
    if os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json")):
        return shlex.join(["pipx", "install", "--force", *source])
    if os.path.exists(os.path.join(sys.prefix, "uv-receipt.toml")):
        return shlex.join(["uv", "tool", "install", "--force", *["--reinstall"][:again], *source])
    return shlex.join([*installer(), *(["--force-reinstall", "--no-deps"] if again else []), *source])


def installer(verb: str = "install") -> list[str]:
    """Return the words that install packages into the environment of this Python, or do something else to them."""
    if find_spec("pip") is None and shutil.which("uv"):
        return ["uv", "pip", verb, "--python", sys.executable]
    managed = sys.prefix == sys.base_prefix and os.path.exists(
        os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
    )
    return [sys.executable, "-m", "pip", verb, *(["--break-system-packages"] if managed else [])]


def missing(package: str, need: str) -> ProvioError:
    """Return the error that `need` (a subject and a verb) requires a Python package that is absent."""
    return ProvioError(f"{need} {package}, which is not installed: {shlex.join([*installer(), package])}")


def _source(found: metadata.Distribution | None, extra: str) -> Iterator[str]:
    """Yield the words that name the source: a checkout, a folder or file, an address, or the name."""
    if _is_checkout(HERE):
        yield "-e"
        yield f"{HERE}{extra}"
        return
    origin = json.loads((found and found.read_text("direct_url.json")) or "{}")
    url = str(origin.get("url", ""))
    path = unquote(urlsplit(url).path) if url.startswith("file:") else ""
    if path and os.path.exists(path):
        yield f"{path}{extra}"
    elif url and not path:
        version = origin.get("vcs_info", {})
        address = f"{version['vcs']}+{url}@{version['commit_id']}" if version else url
        yield f"{NAME}{extra} @ {address}"
    else:
        yield f"{NAME}{extra}"


def _is_checkout(folder: Path) -> bool:
    try:
        return f'name = "{NAME}"' in (folder / "pyproject.toml").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False


def _required(found: metadata.Distribution, extra: str) -> list[str]:
    """Return the requirements of an extra: conda knows no extras."""
    wanted = f'extra == "{extra}"'
    return [line.partition(";")[0].strip() for line in found.requires or () if wanted in line.replace("'", '"')]


def distribution() -> metadata.Distribution | None:
    """Return the metadata of this project in this environment; None for a checkout that is not installed."""
    return next((one for name in (NAME, OTHER) for one in metadata.distributions(name=name) if is_ours(one)), None)


def is_ours(one: metadata.Distribution) -> bool:
    """Return whether a distribution is this project, under its present or its former name."""
    return str(one.metadata["Summary"]).startswith(SUMMARY)


def second() -> metadata.Distribution | None:
    """Return a distribution named `provio` that is in this environment besides this installation, or None."""
    named = [[one for one in metadata.distributions(name=name) if one.read_text("RECORD")] for name in (NAME, OTHER)]
    return next((one for one in named[1] if named[0] or not is_ours(one)), None)


def command() -> str | None:
    """Return the path of the command `provio` of this installation; None if there is none, or another program's."""
    folders = [os.path.dirname(sys.executable), sysconfig.get_path("scripts")]
    folders.append(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")))
    return next((path for path in (os.path.join(one, "provio") for one in folders) if is_own_command(path)), None)


def call() -> list[str]:
    """Return the words that call this provio from anywhere."""
    path = command()
    return [path] if path else [sys.executable, "-P", "-m", "provio"]


def shell_call() -> str:
    """Return the text that calls this provio in a shell script: its name, if the shell finds it by that."""
    by_name = shutil.which("provio") and not other_command()
    return "provio" if by_name else shlex.join(call())


def is_own_command(path: str) -> bool:
    """Return whether a program is the command of this project, of whichever installation."""
    return OWN_SCRIPT in _beginning(path)


def other_command() -> str | None:
    """Return the path of another program that the shell finds as `provio`. A shell script may be a wrapper."""
    path = shutil.which("provio")
    if not path or is_own_command(path):
        return None
    first = _beginning(path).partition(b"\n")[0]
    return None if first.startswith(b"#!") and first.endswith(b"sh") else path


def _beginning(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(4096)
    except OSError:
        return b""
