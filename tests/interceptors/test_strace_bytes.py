"""An oracle of content: the bytes that programs read from and wrote to files, by strace, are those in the trace."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from posix_trace import Trace, counts, of_class

READS = ("read", "pread64", "readv", "preadv", "preadv2")
WRITES = ("write", "pwrite64", "writev", "pwritev", "pwritev2")
COPIES = ("copy_file_range", "sendfile", "splice")
CALL = re.compile(rb"^(\w+)\((.*)\) = (\d+)$", re.DOTALL)
DESCRIPTOR = re.compile(rb"(?:^|, )\d+<((?:[^<>\\]|\\.)*)>")
Sums = Counter[tuple[str, bytes]]


def transferred(folder: Path, root: Path) -> Sums:
    """Return the bytes read and written of each file below a folder, by strace."""
    sums: Sums = Counter()
    for line in (line for path in folder.iterdir() for line in path.read_bytes().split(b"\n")):
        match = CALL.match(line)
        if not match or not int(match[3]):
            continue
        name, size = match[1].decode(), int(match[3])
        files = [ast.literal_eval(f'b"{one.decode()}"') for one in DESCRIPTOR.findall(match[2])]
        if name in COPIES:
            pair = files if name != "sendfile" else files[::-1]
            sums["R", pair[0]] += size
            sums["W", pair[1]] += size
        elif name in READS or name in WRITES:
            sums["R" if name in READS else "W", files[0]] += size
    return below(sums, root)


def below(sums: Sums, root: Path) -> Sums:
    """Return the sums of the files below a folder, other than those of the record."""
    kept: Sums = Counter()
    for (side, name), size in sums.items():
        path = os.path.normpath(name.removesuffix(b" (deleted)").removesuffix(b"(deleted)"))
        if size and path.startswith(os.fsencode(root) + b"/") and b"/.provio/" not in path:
            kept[side, path] += size
    return kept


def recorded(trace: Trace, root: Path) -> Sums:
    """Return the same sums by the trace."""
    facts = trace.facts()
    sums: Sums = Counter()
    for one in counts(facts):
        if one.side in "RW":
            sums[one.side, one.path] += one.size
    for copy in of_class(facts, "Copy").values():
        for side, key in (("R", "source"), ("W", "object")):
            sums[side, facts[copy[key]].get("path", "").encode()] += int(copy["bytes"])
    return below(sums, root)


PROGRAMS = {
    "tar": ["tar", "cf", "archive", "tree"],
    "tar czf": ["tar", "czf", "archive", "tree"],
    "tar x": ["sh", "-c", "tar cf archive tree; mkdir out; tar xf archive -C out"],
    "gzip": ["sh", "-c", "gzip -k long; gzip -dc long.gz > again"],
    "xz": ["sh", "-c", "xz -k long; xz -dc long.xz > again"],
    "bzip2": ["sh", "-c", "bzip2 -k long; bzip2 -dc long.bz2 > again"],
    "zstd": ["zstd", "-q", "long"],
    "zip": ["zip", "-qr", "archive.zip", "tree"],
    "unzip": ["sh", "-c", "zip -qr archive.zip tree; unzip -q archive.zip -d out"],
    "cpio": ["sh", "-c", "find tree | cpio -o > archive"],
    "sort": ["sort", "-o", "sorted", "long"],
    "sort, small": ["sort", "-S", "64k", "-T", ".", "-o", "sorted", "long"],
    "sed -i": ["sed", "-i", "s/1/one/", "long"],
    "grep -r": ["sh", "-c", "grep -r 1 tree > found"],
    "find": ["sh", "-c", "find tree -type f -exec cat {} + > all"],
    "mawk": ["sh", "-c", "mawk '{ n += $1; print n }' long > sums"],
    "perl": ["perl", "-pi", "-e", "s/1/one/", "long"],
    "python3": [sys.executable, "-c", "open('copy', 'w').write(open('long').read())"],
    "python3, shutil": [sys.executable, "-c", "import shutil; shutil.copytree('tree', 'copy')"],
    "git": ["sh", "-c", "git init -q && git add tree && git -c user.name=a -c user.email=b commit -qm x"],
    "sqlite3": ["sqlite3", "base", "create table t(a)", ".import long t", "select count(*) from t"],
    "rsync": ["rsync", "-a", "tree/", "copy"],
    "cp -a": ["cp", "-a", "tree", "copy"],
    "dd": ["dd", "if=long", "of=copy", "bs=777"],
    "split": ["split", "-l", "1000", "long", "part."],
    "patch": ["sh", "-c", "sed s/1/one/ long > new; diff -u long new > difference; patch -s long difference"],
    "join": ["sh", "-c", "sort long > sorted; join sorted sorted > both; comm sorted long > all 2> /dev/null; true"],
    "jq": ["sh", "-c", "jq -s add long > sum"],
    "m4": ["sh", "-c", "m4 long > copy"],
    "bison": ["sh", "-c", "printf '%%%%\\ns: ;\\n' > g.y; bison g.y"],
    "gcc": ["sh", "-c", "echo 'int main(void) { return 0; }' > one.c; gcc -c one.c"],
    "ld": ["sh", "-c", "echo 'int main(void) { return 0; }' > one.c; gcc one.c -o one"],
    "make -j2": ["sh", "-c", "printf 'x: a b\\n\tcat a b > x\\na b:\\n\tcat long > $@\\n' > Makefile; make -sj2"],
    "curl": ["sh", "-c", "curl -s -o copy file://$PWD/long"],
    "openssl": ["openssl", "base64", "-in", "long", "-out", "copy"],
    "node": ["node", "-e", "fs.writeFileSync('copy', fs.readFileSync('long'))"],
    "bash": ["bash", "-c", "while read -r one; do echo $one; done < tree/d0/file5 > copy; mapfile -t all < long"],
}
# These read again from the buffer of a stream (ungetc, fseek), or fill it without reading from it: of the files that
# they read and did not write, only the names are compared.
BUFFERED = ("bzip2", "gcc", "ld", "m4", "patch")


@pytest.mark.parametrize("program", sorted(PROGRAMS))
@pytest.mark.integration
def test_the_same_bytes_as_strace(program: str, trace: Trace, work: Path, tmp_path: Path, needs: Any) -> None:
    """Each file of the user that a program read or wrote is in the trace, with the same number of bytes."""
    command = PROGRAMS[program]
    needs("strace", command[0], program.split()[0].rstrip(","), *(["zip"] if program == "unzip" else []))
    for number in range(20):
        path = work / "tree" / f"d{number % 5}" / f"file{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"word {number}\n" * (number + 1))
    (work / "long").write_text("".join(f"{number * 7919 % 60013}\n" for number in range(9_000)))
    seen = tmp_path / "strace"
    seen.mkdir()
    ours = trace.environment()
    given = [f"-E{name}={ours[name]}" for name in ("LD_PRELOAD", "PROVIO_TRACE")]
    calls = ",".join([*READS, *WRITES, *COPIES])
    strace = ["strace", "-ff", "-qq", "-z", "-y", "-s0", "-o", str(seen / "of"), f"-etrace={calls}", *given]
    subprocess.run([*strace, *command], cwd=work, check=True, capture_output=True, timeout=120)
    expected, found = transferred(seen, work), recorded(trace, work)
    assert expected
    if program in BUFFERED:
        written = {name for side, name in expected if side == "W"}
        for sums in (expected, found):
            for key in [key for key in sums if key[0] == "R"]:
                sums[key] = key[1] not in written
    assert +found == +expected
