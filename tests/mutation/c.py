"""Measure how many subtle changes of the C shim its tests notice.

In: a number of mutants and a seed. Out: each survivor as one changed line, then the score. One line of a source changes
by a regular expression; the shim is built again in a copy of the repository (only the changed file is compiled), and
the tests of `TESTS` run until the first one fails.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import re
import subprocess
import sys
from pathlib import Path

from run import equivalents
from tree import ROOT, copied

HERE = Path(__file__).parent
FILES = "access object descriptors layer live socket opening string read_write_turns copies sizes call_lines".split()
TESTS = [f"tests/interceptors/test_{name}.py" for name in "whole_traces closing posix access record sockets".split()]
TESTS += ["-m", "not slow", "-k"]
TESTS += [
    " and ".join(
        f"not {one}"
        for one in "same clocks disk starts start_a_child passive run_ttl that_race kill carries clients storm".split()
    )
]
CHANGES = [
    (r"(?<![-<>=!&|])<(?![<=])(?= )", "<="), (r"(?<= )<=(?= )", "<"), (r"(?<= )>(?= )", ">="), (r"(?<= )>=(?= )", ">"),
    (r"==", "!="), (r"!=", "=="), (r"&&", "||"), (r"\|\|", "&&"), (r"(?<= )\+(?= )", "-"), (r"(?<= )-(?= )", "+"),
    (r"(?<=[( ])!(?=[a-z(])", ""), (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r"\b1\b", "2"), (r"\b0\b", "1"),
    (r"^(    +)([a-z_]+\(.*\);)$", r"\1;"), (r"^(    +)if \((.*)\) (return|continue|break)", r"\1if (0) \3"),
]  # fmt: skip


def mutants(source: Path) -> list[tuple[Path, int, str]]:
    """Return (file, line number, changed line) of all changes of a source."""
    found = []
    for number, line in enumerate(source.read_text().split("\n")):
        code = line.partition("//")[0].rstrip()
        if not code or code.startswith(("#", "/*", " *")):
            continue
        for pattern, new in CHANGES:
            for place in re.finditer(pattern, code):
                changed = code[: place.start()] + place.expand(new) + code[place.end() :]
                found.append((source, number, changed))
    return found


def compiled(arguments: list[str]) -> int:
    """Act as a C compiler that keeps the objects of unchanged sources."""
    sources = [one for one in arguments if one.endswith(".c")]
    flags = [one for one in arguments if not one.endswith(".c")]
    output = flags.index("-o")
    flags = flags[:output] + flags[output + 2 :]
    headers = sorted(Path(sources[0]).parent.parent.rglob("*.[hd]*"))
    common = repr(flags).encode() + b"".join(path.read_bytes() for path in headers if path.is_file())
    kept, objects = Path(os.environ["MUTATION_OBJECTS"]), []
    for source in sources:
        key = hashlib.sha256(common + source.encode() + Path(source).read_bytes()).hexdigest()
        objects.append(kept / f"{key}.o")
        if not objects[-1].exists():
            whole = [one for one in flags if one != "-shared" and not one.startswith(("-Wl", "-nostart"))]
            code = subprocess.run(["cc", *whole, "-w", "-c", "-o", objects[-1], source], check=False).returncode
            if code:
                return code
    return subprocess.run(["cc", *flags, "-o", arguments[arguments.index("-o") + 1], *objects], check=False).returncode


def built(copy: Path) -> bool:
    """Build the shim of a copy; return whether that was possible."""
    objects = copy.parent / "objects"
    objects.mkdir(exist_ok=True)
    env = {**os.environ, "CC": f"{sys.executable} {Path(__file__)} --compile", "MUTATION_OBJECTS": str(objects)}
    command = [copy / "interceptors/posix/build", copy / "provio/libprovio.so"]
    return subprocess.run(command, env=env, check=False, stderr=subprocess.DEVNULL).returncode == 0


def killed(copy: Path) -> bool:
    """Return whether a test fails with the shim of a copy."""
    env = {**os.environ, "MUTATION": str(HERE)}
    command = [copy / ".venv/bin/python", "-m", "pytest", "-q", "-x", "-n", "0", "-p", "unchanged", *TESTS]
    command.append(f"--basetemp={copy}.tmp")
    try:
        return subprocess.run(command, cwd=copy, env=env, check=False, capture_output=True, timeout=240).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def main() -> None:
    """Run a sample of the mutants."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("/tmp/provio-mutants"))
    options = parser.parse_args()
    copy = copied(options.work / "c")
    sources = [path for name in FILES if (path := copy / "interceptors/posix" / f"{name}.c").exists()]
    every = [one for source in sources for one in mutants(source)]
    assert built(copy)
    assert not killed(copy), "the tests fail without a change"
    count = survived = equivalent = 0
    for source, number, changed in random.Random(options.seed).sample(every, min(options.count, len(every))):
        before = source.read_text()
        lines = before.split("\n")
        if f"{source.relative_to(copy)}: {lines[number].strip()} -> {changed.strip()}" in equivalents():
            equivalent += 1
            continue
        source.write_text("\n".join([*lines[:number], changed, *lines[number + 1 :]]))
        if built(copy):
            count += 1
            if not killed(copy):
                survived += 1
                print(
                    f"survived: {source.relative_to(copy)}:{number + 1}\n  - {lines[number]}\n  + {changed}", flush=True
                )
        source.write_text(before)
    print(
        f"== c: {count} mutants, {survived} survived, {equivalent} more equivalent, "
        f"score {1 - survived / max(1, count):.0%} of {ROOT.name}",
        flush=True,
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--compile"]:
        sys.exit(compiled(sys.argv[2:]))
    main()
