# reads: text binary
# writes: text binary raw copied tree-copy/a/one
# also: run
# also: call
"""Every way of the standard library to reach a file: io, os, shutil, tempfile, pathlib, zipfile, gzip, sqlite3, mmap, fcntl, errors with their numbers."""
import array
import bz2
import errno
import fcntl
import fileinput
import gzip
import io
import lzma
import mmap
import os
import pathlib
import pickle
import shelve
import shutil
import sqlite3
import tarfile
import tempfile
import zipfile

os.umask(0o022)
with open("text", "w", encoding="utf-8") as file:
    file.write("é\nzwei\n")
    file.seek(0, os.SEEK_END)
    print(file.tell(), file.fileno() > 2)
with open("text", "r+", encoding="utf-8") as file:
    print(file.readline(), file.read())
with open("binary", "wb", buffering=0) as file:
    print(file.write(bytes(range(256)) * 100))
with open("binary", "rb") as file:
    buffer = bytearray(300)
    print(file.readinto(buffer), file.peek(1)[:1], file.read1(10), len(file.read()))
with open("binary", "rb") as file:
    numbers = array.array("H")
    numbers.fromfile(file, 100)
    print(numbers[1])
descriptor = os.open("raw", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
print(os.write(descriptor, b"0123456789"), os.pwrite(descriptor, b"AB", 4), os.pread(descriptor, 4, 3))
print(os.writev(descriptor, [b"x" * 10, b"y"]), os.preadv(descriptor, [bytearray(3), bytearray(5)], 0))
os.posix_fallocate(descriptor, 0, 1000)
print(os.lseek(descriptor, 0, os.SEEK_END), os.fstat(descriptor).st_size)
fcntl.flock(descriptor, fcntl.LOCK_EX)
print(fcntl.fcntl(descriptor, fcntl.F_GETFD), os.get_inheritable(descriptor))
double = os.dup(descriptor)
os.close(descriptor)
os.ftruncate(double, 500)
os.fsync(double)
os.close(double)
source, target = os.open("raw", os.O_RDONLY), os.open("copied", os.O_WRONLY | os.O_CREAT, 0o644)
print(os.copy_file_range(source, target, 100), os.sendfile(target, source, None, 50))
os.close(source)
os.close(target)
os.makedirs("tree/a/b")
pathlib.Path("tree/a/one").write_text("one")
os.symlink("one", "tree/a/link")
os.utime("tree/a/one", ns=(10**18, 10**18))
shutil.copytree("tree", "tree-copy", symlinks=True)
shutil.move("tree-copy/a/b", "moved")
shutil.copy2("tree/a/one", "kept")
shutil.make_archive("archive", "zip", "tree-copy") and os.unlink("archive.zip")
with tempfile.TemporaryFile(dir=".") as file:
    file.write(b"none")
    print(os.fstat(file.fileno()).st_nlink)
with tempfile.NamedTemporaryFile(dir=".") as file:
    print(os.path.exists(file.name))
with tempfile.TemporaryDirectory(dir=".") as folder:
    pathlib.Path(folder, "x").touch()
with tempfile.SpooledTemporaryFile(max_size=10, dir=".") as file:
    file.write(b"x" * 20)
for opener, name in ((gzip.open, "z.gz"), (bz2.open, "z.bz2"), (lzma.open, "z.xz")):
    if name == "z.gz":
        with open(name, "wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
            file.write(b"z" * 1000)
    else:
        with opener(name, "wb") as file:
            file.write(b"z" * 1000)
    with opener(name) as file:
        print(len(file.read()))
with zipfile.ZipFile("zip.zip", "w") as archive:
    archive.writestr(zipfile.ZipInfo("inside"), "text")
with zipfile.ZipFile("zip.zip") as archive:
    print(archive.read("inside"))
with tarfile.open("tar.tar", "w") as archive:
    archive.addfile(tarfile.TarInfo("empty"))
with sqlite3.connect("base.db") as base:
    base.execute("create table t(a)")
    base.executemany("insert into t values (?)", [(n,) for n in range(100)])
base.close()
with shelve.open("shelf") as shelf:
    shelf["key"] = [1, 2]
with open("pickled", "wb") as file:
    pickle.dump({"a": 1}, file)
with fileinput.input("text", inplace=True, encoding="utf-8") as lines:
    for line in lines:
        print(line.upper(), end="")
with open("binary", "r+b") as file, mmap.mmap(file.fileno(), 0) as view:
    view[0] = 255
    print(view.find(b"\x10"))
with open("binary", "rb") as file, mmap.mmap(file.fileno(), 100, prot=mmap.PROT_READ, offset=4096) as view:
    print(view[0])
os.mkfifo("fifo")
os.link("text", "linked")
os.rename("linked", "renamed")
os.replace("renamed", "text-2")
os.setxattr("text", "user.note", b"x") if hasattr(os, "setxattr") else None
print(sorted(os.listdir(".")), sum(entry.is_file() for entry in os.scandir(".")))
folder = os.open("tree", os.O_RDONLY)
descriptor = os.open("a/at", os.O_WRONLY | os.O_CREAT, 0o640, dir_fd=folder)
os.write(descriptor, b"at")
os.rename("a/at", "a/there", src_dir_fd=folder, dst_dir_fd=folder)
os.unlink("a/there", dir_fd=folder)
os.fchdir(folder)
print(open("a/one").read())
os.chdir("..")
for call in (
    lambda: open("nothing"),
    lambda: open("tree", "w"),
    lambda: os.mkdir("tree"),
    lambda: os.rmdir("tree"),
    lambda: os.read(999, 1),
    lambda: os.open("text/x", os.O_RDONLY),
    lambda: os.open("raw", os.O_CREAT | os.O_EXCL),
    lambda: os.link("nothing", "x"),
    lambda: os.readlink("text"),
    lambda: os.open("x" * 300, os.O_RDONLY),
    lambda: os.write(os.open("text", os.O_RDONLY), b"x"),
    lambda: os.pread(os.pipe()[0], 1, 0),
    lambda: os.truncate("text", -1),
    lambda: os.dup2(998, 3),
    lambda: os.close(997),
):
    try:
        call()
    except OSError as error:
        print(errno.errorcode[error.errno], error)
print(io.open("text", encoding="utf-8").read())
