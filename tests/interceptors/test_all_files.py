"""Files that other tracers miss: each test runs a real program; all its files have their names and their bytes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections import Counter
from pathlib import Path

import pytest
from posix_trace import Facts, Trace, counts, name_of, of_class
from test_inventory import unknown
from test_table import libc_names, rows

FILES = 6_000
PYTHON = sys.executable


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of 6,000 small files in nested folders."""
    folder = tmp_path_factory.mktemp("tree") / "dir"
    for number in range(FILES):
        path = folder / f"d{number % 11}" / f"e {number % 13}" / f"file-{number}"
        if number < 11 * 13:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number} x\n")
    return folder


def names_of(tree: Path) -> set[bytes]:
    return {os.fsencode(path) for path in tree.rglob("file-*")}


def bytes_of(facts: dict[str, Facts]) -> tuple[Counter[bytes], Counter[bytes]]:
    """The bytes read from and written to each file, by calls and by copies in the kernel."""
    read, written = Counter[bytes](), Counter[bytes]()
    for count in counts(facts):
        if count.side in "RW":
            (read if count.side == "R" else written)[count.path] += count.size
    for copy in of_class(facts, "Copy").values():
        if "bytes" in copy:
            read[name_of(facts[copy["source"]])] += int(copy["bytes"])
            written[name_of(facts[copy["object"]])] += int(copy["bytes"])
    return read, written


def normal(name: bytes) -> bool:
    return name.startswith(b"/") and not re.search(rb"//|/\.\.?(/|$)", name)


@pytest.mark.integration
@pytest.mark.parametrize(
    "command", [["tar", "cf", "-", "dir"], ["grep", "-r", "x", "dir"], ["cp", "-r", "dir", "copy"]]
)
def test_a_tree_of_6000_files(trace: Trace, tree: Path, command: list[str]) -> None:
    """tar (`openat(dirfd)`), grep -r and cp -r record each file's name, absolute and normal, and its bytes."""
    shutil.rmtree(tree.parent / "copy", ignore_errors=True)
    done = trace.run(*command, cwd=tree.parent, check=True)
    facts = trace.facts()
    read, written = bytes_of(facts)
    names = names_of(tree)
    assert len(names) == FILES
    assert all(normal(name_of(one)) for one in of_class(facts, "FileVersion", "Directory").values())
    assert {name: read[name] for name in names} == {name: os.path.getsize(name) for name in names}
    if command[0] == "cp":
        copies = names_of(tree.parent / "copy")
        assert {name: written[name] for name in copies} == {name: os.path.getsize(name) for name in copies}
        assert len(copies) == FILES
    if command[0] != "cp":
        assert written[b""] == len(done.stdout)  # the pipe that this test reads


def test_redirections_of_a_shell(trace: Trace, work: Path) -> None:
    """`cat <f >g` in a shell names f and g for cat, and not only for the shell."""
    (work / "f").write_text("some text\n")
    trace.run("sh", "-c", "cat <f >g; true", cwd=work, check=True)
    facts = trace.facts()
    (cat,) = [iri for iri, one in of_class(facts, "Process").items() if one["argv"] == "cat"]
    inherited = {name_of(one) for iri, one in facts.items() if iri.startswith(cat) and one.get("inherited") == "true"}
    assert inherited == {os.fsencode(work / "f"), os.fsencode(work / "g")}
    read, written = bytes_of({iri: one for iri, one in facts.items() if iri.startswith(cat)})
    assert read[os.fsencode(work / "f")] == written[os.fsencode(work / "g")] == 10


def test_descriptors_inherited_by_a_forked_child(trace: Trace, work: Path) -> None:
    """Reads and writes of a forked child through its parent's descriptors belong to the child, with the files'
    names."""
    code = """
import os
(a, b) = (os.open(n, os.O_RDWR | os.O_CREAT, 0o644) for n in 'ab')
os.write(a, b'parent'); os.lseek(a, 0, 0)
if os.fork() == 0: os.write(b, os.read(a, 100) + b' and child'); os._exit(0)
os.wait()
"""
    trace.run(PYTHON, "-c", code, cwd=work, check=True)
    facts = trace.facts()
    (child,) = [iri for iri, one in of_class(facts, "Process").items() if one["image"] == "fork"]
    read, written = bytes_of({iri: one for iri, one in facts.items() if iri.startswith(child)})
    assert (read[os.fsencode(work / "a")], written[os.fsencode(work / "b")]) == (6, 16)


def test_doubled_descriptors(trace: Trace, work: Path) -> None:
    """Writes through dup, dup2, dup3 and F_DUPFD belong to the same file; descriptor number + 1,024 is another file."""
    code = """
import fcntl, os
a = os.open('a', os.O_WRONLY | os.O_CREAT, 0o644)
os.write(os.dup(a), b'1'); os.write(os.dup2(a, 50), b'22'); os.write(os.dup2(a, 51, inheritable=False), b'333')
os.write(fcntl.fcntl(a, fcntl.F_DUPFD, 60), b'4444'); os.write(fcntl.fcntl(a, fcntl.F_DUPFD_CLOEXEC, 70), b'55555')
b = os.open('b', os.O_WRONLY | os.O_CREAT, 0o644)
os.dup2(b, a + 1024); os.write(a + 1024, b'666666'); os.write(a, b'7777777')
os.close(a); os.write(50, b'88888888')
"""
    command = ["sh", "-c", 'ulimit -n 4096 && exec "$@"', "sh", PYTHON, "-c", code]
    trace.run(*command, cwd=work, check=True)
    _, written = bytes_of(trace.facts())
    sizes = {name: (work / name).stat().st_size for name in "ab"}
    assert {name: written[os.fsencode(work / name)] for name in "ab"} == sizes == {"a": 30, "b": 6}


def imports(path: Path) -> set[str]:
    """The names that a program or library imports."""
    listed = subprocess.run(["nm", "-D", "--undefined-only", path], check=True, capture_output=True, text=True)
    return {line.split()[-1].split("@")[0] for line in listed.stdout.splitlines()}


FORTIFIED = "__read_chk __pread_chk __fread_chk __fgets_chk __fprintf_chk __open_2 __openat_2".split()


def test_fortified_programs(trace: Trace, work: Path) -> None:
    """A program built with _FORTIFY_SOURCE calls other function names, and each call is recorded."""
    source = work / "fortified.c"
    source.write_text("""
        #include <fcntl.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        int main(int count, char **arguments) {
            char data[64]; size_t size = count * 10; int flags = count - 1;
            int a = open("a", flags), b = openat(AT_FDCWD, "b", flags);
            long got = read(a, data, size) + pread(b, data, size, 5);
            FILE *c = fopen("c", "r"), *d = fopen("d", "w");
            got += fread(data, 1, size, c);
            if (fgets(data, (int)size, c) == NULL) return 2;
            fprintf(d, "%ld %s\\n", got, data);
            return fclose(d);
        }""")
    command = ["cc", "-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-w", "-o", work / "fortified", source]
    subprocess.run(command, check=True)
    assert imports(work / "fortified").issuperset(FORTIFIED)
    for name in "abc":
        (work / name).write_text("0123456789abcdefghij\n")
    trace.run(work / "fortified", cwd=work, check=True)
    facts = trace.facts()
    found = {(count.api, count.path.decode()[-1], count.size) for count in counts(facts)}
    reads = {("__read_chk", "a", 10), ("__pread_chk", "b", 10), ("__fread_chk", "c", 10), ("__fgets_chk", "c", 9)}
    assert found == reads | {("__fprintf_chk", "d", (work / "d").stat().st_size)}
    assert {one["openApi"] for one in facts.values() if "openApi" in one} == {"__open_2", "__openat_2", "fopen"}


def test_paths_relative_to_folders(trace: Trace, work: Path) -> None:
    """`openat(AT_FDCWD, relative)` and `openat(dirfd)` name the file, not the folder, for any working
    directory."""
    code = """
import ctypes, os
c, AT_FDCWD = ctypes.CDLL(None), -100
os.makedirs('s/t')
c.openat(AT_FDCWD, b's/a', os.O_CREAT | os.O_WRONLY, 0o644)
d = c.openat(AT_FDCWD, b's', os.O_RDONLY)
c.openat64(d, b't/b', os.O_CREAT | os.O_WRONLY, 0o644)
os.chdir('s')
c.openat(AT_FDCWD, b'./t//c', os.O_CREAT | os.O_WRONLY, 0o644)
os.rename('../s', '../r')
c.openat64(os.dup(d), b'd', os.O_CREAT | os.O_WRONLY, 0o644)
"""
    trace.run(PYTHON, "-c", code, cwd=work, check=True)
    names = {name_of(one) for one in of_class(trace.facts(), "FileVersion").values()}
    assert {os.fsencode(work / name) for name in ("s/a", "s/t/b", "s/t/c")} <= names
    assert names & {os.fsencode(work / name) for name in ("s/d", "r/d")}


def test_copies_inside_the_kernel(trace: Trace, work: Path) -> None:
    """sendfile, copy_file_range and splice have their source, their target and their bytes."""
    code = """
import os
a, b = os.open('a', os.O_RDONLY), os.open('b', os.O_WRONLY | os.O_CREAT, 0o644)
os.sendfile(b, a, 0, 1000); os.copy_file_range(a, b, 2000, 0)
r, w = os.pipe()
os.splice(a, w, 3000, offset_src=0); os.splice(r, b, 3000)
"""
    (work / "a").write_bytes(b"x" * 5000)
    trace.run(PYTHON, "-c", code, cwd=work, check=True)
    facts = trace.facts()
    found = {
        (one["api"].removesuffix("64"), name_of(facts[one["source"]]), name_of(facts[one["object"]]), int(one["bytes"]))
        for one in of_class(facts, "Copy").values()
    }
    a, b = os.fsencode(work / "a"), os.fsencode(work / "b")
    assert found == {
        ("sendfile", a, b, 1000),
        ("copy_file_range", a, b, 2000),
        ("splice", a, b"", 3000),
        ("splice", b"", b, 3000),
    }
    read, written = bytes_of(facts)
    assert (read[a], written[b]) == (6000, (work / "b").stat().st_size)


def test_files_that_are_mapped(trace: Trace, work: Path) -> None:
    """A program that maps its input and its output, and calls neither read nor write, has both."""
    (work / "in").write_text("é" * 1000)
    code = """
import mmap, os
with open('in', 'rb', 0) as f: data = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)[:]
fd = os.open('out', os.O_RDWR | os.O_CREAT, 0o644); os.ftruncate(fd, len(data))
m = mmap.mmap(fd, 0); os.close(fd); m[:] = data; m.close()
"""
    trace.run(PYTHON, "-c", code, cwd=work, check=True)
    facts = trace.facts()
    found = {(name_of(facts[one["object"]]), one["shared"]) for one in of_class(facts, "Map").values()}
    assert {(os.fsencode(work / "in"), "true"), (os.fsencode(work / "out"), "true")} <= found
    assert [one for one in of_class(facts, "Unmap").values() if facts[one["map"]]["protection"] == "3"]


def test_a_program_that_maps_its_input(trace: Trace, work: Path) -> None:
    """iconv reads only through a map: its input is recorded too."""
    (work / "in").write_text("é" * 1000)
    trace.run("iconv", "-f", "utf8", "-t", "latin1", "-o", "out", "in", cwd=work, check=True)
    facts = trace.facts()
    assert os.fsencode(work / "in") in {name_of(facts[one["object"]]) for one in of_class(facts, "Map").values()}
    assert bytes_of(facts)[1][os.fsencode(work / "out")] == 1000


# ---- stdio: getline getdelim fread_unlocked getc_unlocked fputs_unlocked __uflow __overflow

# Programs that read all of `f` once and write `g`, each in its own way.
THROUGH = """
cat f >g
cat <f >g
sort f >g
sort -o g f
uniq f g
cut -c1-3 f >g
cut -d' ' -f2 <f >g
nl f >g
tac f >g
rev f >g
column f >g
wc f >g
sum f >g
md5sum f >g
b2sum f >g
od f >g
fmt f >g
expand f >g
unexpand -a f >g
pr f >g
ptx f >g
base64 f >g
numfmt --field=2 --to=none <f >g
xargs -n 100 echo <f >g
tr a-z A-Z <f >g
fold -w 7 f >g
tee g <f >/dev/null
head -n 100000 f >g
head -c 100000000 f >g
tail -n +1 f >g
tsort <f >g
factor <f >g
split -b 1000000 f g
dd if=f of=g bs=100 status=none
cp f g
cp --reflink=never --sparse=always f g
install f g
sed s/1/2/ f >g
sed -u s/1/2/ <f >g
sed -n 'w g' f
awk '{print $2}' f >g
awk '{print > "g"}' f
grep -v nothing f >g
grep -c x <f >g
gzip -c f >g
xz -c f >g
perl -ne print f >g
perl -pe 's/1/2/' <f >g
python3 -c 'open("g","w").write(open("f").read())'
python3 -c 'import shutil; shutil.copyfile("f","g")'
python3 -c 'import sys; sys.stdout.writelines(sys.stdin)' <f >g
tar cf g f
bash -c 'mapfile a; printf %s "${a[@]}"' <f >g
dash -c 'while read -r l; do echo "$l"; done' <f >g
""".strip().splitlines()


@pytest.mark.parametrize("command", THROUGH)
def test_bytes_of_everyday_programs(trace: Trace, work: Path, command: str) -> None:
    """Bytes that a program reads and writes are counted exactly, for all calls of the C library."""
    (work / "f").write_text("".join(f"x{number:06d} {number * 7}\n" for number in range(5_000)))
    trace.run("sh", "-c", f"exec {command}", cwd=work)
    read, written = bytes_of(trace.facts())
    sizes = {name: next(work.glob(f"{name}*")).stat().st_size for name in "fg"}
    assert read[os.fsencode(work / "f")] == sizes["f"]
    assert sum(size for name, size in written.items() if name.startswith(os.fsencode(work / "g"))) == sizes["g"] > 0


def test_bytes_that_the_compiler_put_inline(trace: Trace, work: Path) -> None:
    """Bytes that a program stores into a stream's buffer itself are counted once: before a call, a flush, a close, the
    end."""
    (work / "inline.c").write_text("""
        #include <stdio.h>
        static void put(FILE *stream, int count) { while (count-- > 0) putc_unlocked('x', stream); }
        int main(void) {
            FILE *file = fopen("mixed", "w"), *plain = fopen("plain", "w");
            for (int i = 0; i < 3000; i++) {
                put(file, i % 7); fputs("text", file); fprintf(file, "%d", i); fputc('y', file);
            }
            put(file, 10); fflush(file); put(file, 20);
            fseek(file, 1000000, SEEK_SET); put(file, 30); rewind(file); put(file, 40);
            fclose(file);
            for (int i = 0; i < 20000; i++) fputc('z', plain);
            fputs("end", plain);
            fclose(plain);
            printf("%d", 1); put(stdout, 50);
            return 0;
        }""")
    subprocess.run(["cc", "-O2", "-w", "-o", work / "inline", work / "inline.c"], check=True)
    with (work / "out").open("wb") as out:
        trace.run(work / "inline", cwd=work, check=True, capture_output=False, stdout=out)
    _, written = bytes_of(trace.facts())
    mixed = sum(i % 7 + len(f"text{i}y") for i in range(3000)) + 10 + 20 + 30 + 40
    found = {name: written[os.fsencode(work / name)] for name in ("mixed", "plain", "out")}
    assert found == {"mixed": mixed, "plain": 20003, "out": 51}


# ---- queries of metadata, if they are recorded


def test_both_generations_of_stat(trace: Trace, work: Path) -> None:
    """`stat` of new programs and `__xstat` of old ones are both recorded in one process, with their own names."""
    code = """
import ctypes, os
c, data = ctypes.CDLL(None), ctypes.create_string_buffer(4096)
os.stat('a'); os.lstat('b'); d = os.open('s', os.O_RDONLY); os.stat('c', dir_fd=d); os.fstat(os.open('e', os.O_RDONLY))
c.__xstat(1, b'f', data); c.__lxstat64(1, b'g', data); c.__fxstat64(1, os.open('h', os.O_RDONLY), data)
c.__fxstatat(1, d, b'i', data, 0); c.statx(-100, b'j', 0, 0x7ff, data)
"""
    names = ["a", "b", "s/c", "e", "f", "g", "h", "s/i", "j"]
    (work / "s").mkdir()
    for name in names:
        (work / name).touch()
    trace.detail = "op,stat"
    trace.run(PYTHON, "-c", code, cwd=work, check=True)
    queries = {(one["api"].rstrip("64"), name_of(one)) for one in of_class(trace.facts(), "Stat").values()}
    apis = ["stat", "lstat", "fstatat", "fstat", "__xstat", "__lxstat", "__fxstat", "__fxstatat", "statx"]
    assert queries >= {(api, os.fsencode(work / name)) for api, name in zip(apis, names, strict=True)}


# ---- the names that common programs import

COREUTILS = """
    basename cat chmod chown cp csplit cut date dd df du env expand head install join ln ls md5sum mkdir mkfifo mv nl od
    paste rm shuf sort split stat stty tac tail tee touch tr truncate tsort uniq wc
""".split()
OTHERS = "tar grep gzip bash dash find xargs sed awk xz perl git rsync make sqlite3 diff node java".split()

IMPORTED = {
    "coreutils, tar, grep, gzip, bash": """
        __openat_2 __open_2 __getdelim __uflow __overflow __fprintf_chk __vfprintf_chk __printf_chk fread_unlocked
        fwrite_unlocked fputs_unlocked fputc_unlocked fflush_unlocked copy_file_range splice renameat2 linkat unlinkat
        mkdirat fdopendir""",
    "libpython": """
        open64 openat64 fstat64 stat64 lstat64 fstatat64 pread64 pwrite64 preadv64v2 pwritev64v2 lseek64 ftruncate64
        truncate64 mmap64 sendfile64 copy_file_range splice memfd_create close_range dup2 dup3 pipe2 posix_spawn
        posix_spawnp fork vfork _exit fopen64 fdopen syscall""",
    "libhdf5": """
        open64 pread64 pwrite64 __fxstat64 __lxstat64 __xstat64 lseek64 ftruncate64 flock fopen64 freopen64 fseeko64
        read write""",
}


@pytest.mark.parametrize("program", sorted(IMPORTED))
def test_names_that_other_tracers_lack(program: str) -> None:
    """Each name that a common program imports and that a tracer lacks is in the table."""
    assert set(IMPORTED[program].split()) - rows().keys() == set()


def libraries() -> list[Path]:
    """libpython, its extensions, and the libraries in the wheels of h5py and numpy."""
    import h5py
    import numpy

    own = [
        Path(sysconfig.get_config_var("LIBDIR")) / str(sysconfig.get_config_var("LDLIBRARY")),
        Path(PYTHON).resolve(),
    ]
    extensions = Path(str(sysconfig.get_config_var("DESTSHARED"))).glob("*.so")
    wheels = [Path(module.__file__).parent.with_suffix(".libs") for module in (h5py, numpy)]
    found = [*own, *extensions, *(path for wheel in wheels for path in wheel.glob("*.so*"))]
    return [path for path in found if path.exists() and path.suffix != ".a"]


@pytest.mark.slow
def test_every_name_that_programs_import_is_known() -> None:
    """Each function that tools, libpython and HDF5 import from the C library is a row, or transfers no content of a
    file."""
    commands = [path for name in COREUTILS + OTHERS if (path := shutil.which(name))]
    binaries = [path for command in commands if (path := Path(command).resolve()).read_bytes()[:4] == b"\x7fELF"]
    assert len(binaries) > 30
    wanted = {name for path in [*binaries, *libraries()] for name in imports(path)} & libc_names()
    assert {"openat64", "fwrite_unlocked", "pread64", "mmap64"} <= wanted
    assert unknown(wanted) == set()
