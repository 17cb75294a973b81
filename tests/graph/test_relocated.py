"""The present folders in a graph: of paths, command lines and reasons; IRIs and other paths stay."""

from __future__ import annotations

import pytest

from provio.base import turtle
from provio.base.vocab import NS
from provio.graph.relocated import Renamed, relocated
from provio.lineage.identity import BASE

OLD, NEW = b"/data/old", b"/home/ada/new place"
S = "<https://w3id.org/provio/run/r>"


def line(name: str, text: str) -> str:
    """Return a line of a graph with a literal."""
    return f"{S} <{NS}{name}> {turtle.literal(text)} .\n"


def renamed(text: str, *pairs: tuple[bytes, bytes]) -> str:
    """Return a graph with the present folders."""
    return "".join(relocated([text], [Renamed(*pair) for pair in pairs or [(OLD, NEW)]]))


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("path", "/data/old/raw.csv", "/home/ada/new place/raw.csv"),
        ("path", "/data/old", "/home/ada/new place"),
        ("path", '/data/old/a"b\\c\nd', '/home/ada/new place/a"b\\c\nd'),
        ("path", "/data/old/x.h5#/group@name", "/home/ada/new place/x.h5#/group@name"),
        ("path", "/data/older/raw.csv", "/data/older/raw.csv"),
        ("path", "/mnt/data/old/raw.csv", "/mnt/data/old/raw.csv"),
        ("cwd", "/data/old", "/home/ada/new place"),
        ("argv", "python3 /data/old/x.py -I/data/old/include a=/data/old", "python3 /home/ada/new%20place/x.py "
         "-I/home/ada/new%20place/include a=/home/ada/new%20place"),
        ("argv", "sh -c cat%20/data/old/a%20>%20'/data/old/b'", "sh -c cat%20/home/ada/new%20place/a%20>%20'/home/ada/"
         "new%20place/b'"),
        ("argv", "scp host:/data/old/a /mnt/data/old /data/old.bak", "scp host:/data/old/a /mnt/data/old "
         "/data/old.bak"),
        ("commandLine", "cat file:///data/old/a", "cat file:///home/ada/new%20place/a"),
        ("redirections", ">> /data/old/log", ">> /home/ada/new%20place/log"),
        ("reason", "the content of /data/old/a is not known", "the content of /home/ada/new place/a is not known"),
        ("target", "/data/old/a", "/home/ada/new place/a"),
        ("target", "../a", "../a"),
        ("value", "/data/old", "/data/old"),
        ("name", "the run in /data/old", "the run in /data/old"),
        ("metadata", "source=/data/old/a", "source=/data/old/a"),
        ("sourceText", "open('/data/old/a')", "open('/data/old/a')"),
    ],
)  # fmt: skip
def test_literals(name: str, before: str, after: str) -> None:
    """The folder is renamed where it is one, and nowhere else."""
    assert renamed(line(name, before)) == line(name, after)


def test_names_in_iris() -> None:
    """Files and Programs are names, in their file system; versions, numbers, comments and other folders stay."""
    stays = (
        f"# own\n<file://host/data/older/a> <{NS}sameContentAs> <{BASE}version/host/1.2.3.4> .\n"
        f'{S} <{NS}size> "5"^^<http://www.w3.org/2001/XMLSchema#integer> .\n#version <{BASE}version/data/old/1> 7\n'
    )
    assert renamed(stays) == stays
    names = f"<file://host/data/old/a> <{NS}x> <{BASE}program/host/data/old/a> .\n"
    assert renamed(names) == names.replace("/data/old", "/home/ada/new%20place")
    there = f"<file://host/old/a> <{NS}x> <file://host/data/old/a> .\n{line('path', '/data/old/a')}"
    mounts = Renamed(OLD, NEW, (b"/old", b"/ada/new place"))
    assert "".join(relocated([there], [mounts])) == (
        f"<file://host/ada/new%20place/a> <{NS}x> <file://host/data/old/a> .\n{line('path', '/home/ada/new place/a')}"
    )


def test_bytes_that_are_no_text() -> None:
    """A folder whose name is not UTF-8 has the property of encoded paths, before or after."""
    encoded = f'{S} <{NS}pathEncoded> "/data/old/%FF" .\n'
    assert renamed(encoded) == f'{S} <{NS}pathEncoded> "/home/ada/new%20place/%FF" .\n'
    there = renamed(line("path", "/data/old/é"), (OLD, b"/\xff"))
    assert there == f'{S} <{NS}pathEncoded> "/%FF/%C3%A9" .\n'
    assert renamed(there, (b"/\xff", OLD)) == line("path", "/data/old/é")


def test_several_moves() -> None:
    """Moves apply one after the other: there and back is unchanged, and the root is a place too."""
    text = line("path", "/data/old/a") + line("argv", "cat /data/old/a")
    assert renamed(text, (OLD, NEW), (NEW, OLD)) == text
    assert renamed(text, (OLD, b"/")) == line("path", "/a") + line("argv", "cat /a")
