"""The reader by line shapes returns the records of the Turtle parser, or nothing."""

from collections.abc import Iterator
from pathlib import Path

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st

from provio.base.vocab import vocabulary
from provio.trace.fast import line_shapes
from provio.trace.records import records_in

TRACES = Path(__file__).parent.parent / "traces"
PROLOGUE = (
    "@prefix prov: <http://www.w3.org/ns/prov#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "
    "@prefix : <https://w3id.org/provio/ns#> . @base <https://w3id.org/provio/run/0193/vm/47.8.0/1/> . "
)
WHOLE = (
    PROLOGUE
    + """<> a :Thread ; :tid 4713 ; prov:actedOnBehalfOf <../program> .#######
######  ###
 <../o1> a :FileVersion ; :path "/a b;é"    ; :inode 26 ; :flags 0 ; :inherited true . <a1> a :Access ; \
:object <../o1> ; prov:wasAssociatedWith <> ; prov:startedAtTime "2026-11-21T12:38:44.911269Z"^^xsd:dateTime ; \
:operation :Flush ; :readApi "read"; :reads        0000000000000001; :lastRead     0000000000143654 .##
<../o2> a :Socket ; :openedNs 5 ; :localAddress "terminal.0:27.3.5.slave" ; :inherited true . <a3> a :Access ; :object \
<../o2> ; :attempted 2 ; :writes 1 . <e1> a :SetAttribute ; :path "/f" ; :attribute "user.x" ; :api "setxattr" .
#<a2> a :Access ; :object <../o1> .
 <../o1> :closedNs 17 ; :closedSize 6 .
 <a1/read/0> a :Turn ; :last 3 ; :bytes 4 ; :first 5 .
@base <https://w3id.org/provio/run/0193/vm/48.9.v/0/> .
 <../> a :Process ; :pid 48 ; :argv "sh -c x" .
"""
)
# Turtle that the shim does not write, and invalid Turtle.
PIECES = [
    *'"<>;.,:#@\\ \n\r\t-+e5a[](){}^', "\u2028", "\x00", "é", "\ud7ff", "~", "..", "./", "//", "<../../x>", "<o%41>",
    "<#f>", "<?q>", "<a:b>", "<http://x/../y>", "<urn:x>", '"""', "\\u0041", "'x'", "_:b", "[]", "5.", "5.0", "1e3",
    "-5", "+5", "true", "a", " a ", ":a", "prov:x", "xsd:integer", '"x"@en', '"5"^^xsd:integer', ":inode 5 ;",
    ':inode "x" ;', ':path "x" ;', " . ", " ; ", ";;", ". .", "@prefix : <urn:x> .", "@prefix prov: <urn:x> . ",
    "PREFIX : <urn:y>", "@base <urn:z> . ", "@base <https://w3id.org/provio/run/x> . ", "# <c> :pid 5 .\n",
    "0123456789012345678901", ":operation :Read ;", ":operation prov:Read ;", "a :File ; a :Pipe ;", "a prov:Entity ;",
]  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def own_shapes() -> Iterator[None]:
    """Forget the shapes of this module's odd lines: other tests need room for those of the shim."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_shapes, "_shapes", {})
        yield


def by_turtle(data: bytes) -> dict[str, dict[str, str]] | None:
    """Return the records by the parser; None for a syntax error or an invalid number, which are reported elsewhere."""
    try:
        found = records_in(data)
    except (SyntaxError, ValueError):
        return None
    numbers = [record[name] for record in found.values() for name in record.keys() & vocabulary().integers]
    return found if all(len(number) <= 20 and number.lstrip("+-").isdigit() for number in numbers) else None


def agree(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    found = line_shapes.records(data)
    assert found is None or found == by_turtle(data)


def test_the_lines_of_the_shim_have_known_shapes() -> None:
    found = line_shapes.records(WHOLE.encode())
    assert found is not None and found == by_turtle(WHOLE.encode())
    assert found["https://w3id.org/provio/run/0193/vm/47.8.0/o1"]["path"] == "/a b;é"


@pytest.mark.parametrize("path", sorted(TRACES.rglob("*.ttl")), ids=lambda path: str(path.relative_to(TRACES)))
def test_kept_traces(path: Path) -> None:
    agree(path.read_bytes().decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode())


@pytest.mark.integration
@pytest.mark.parametrize("piece", PIECES)
def test_every_piece_at_many_places(piece: str) -> None:
    for place in range(PIECES.index(piece) % 6, len(WHOLE) + 1, 6):
        agree(WHOLE[:place] + piece + WHOLE[place:])
        agree(WHOLE[:place] + piece + WHOLE[place + 1 :])


@given(st.lists(st.tuples(st.integers(0, len(WHOLE)), st.integers(0, 9), st.sampled_from(PIECES)), max_size=4))
def test_several_pieces(edits: list[tuple[int, int, str]]) -> None:
    text = WHOLE
    for place, gone, piece in edits:
        text = text[:place] + piece + text[place + gone :]
    agree(text)


def test_a_damaged_file_is_left_to_the_parser() -> None:
    assert line_shapes.records(WHOLE.encode()[:-40]) is None
    assert line_shapes.records(b"\xff" + WHOLE.encode()) is None
    with pytest.raises(SyntaxError):
        list(pyoxigraph.parse(WHOLE.encode()[:-40], pyoxigraph.RdfFormat.TURTLE))
