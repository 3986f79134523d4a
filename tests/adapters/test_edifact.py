"""EDIFACT syntax that no market owns: character sets, separators, segment groups, counters. Facts of ISO 9735."""

from __future__ import annotations

import ast
import io
from pathlib import Path

import pytest

from adapters.common.codes import Unreadable
from adapters.common.edifact import syntax
from adapters.common.edifact.syntax import Interchange, Message, Segment, Trailer, groups, read

GERMAN = (
    "UNA:+.? '\r\nUNB+UNOC:3+9900000000001:500+9900000000002:500+251001:0815+A1++++++1'"
    "UNH+1+UTILMD:D:11A:UN:S1.1'BGM+E01+DOC1'DTM+137:202510010815?+00:303'"
    "NAD+MS+9900000000001::293'IDE+24+V1'LOC+Z16+12345678913'FTX+ACB+++Müller ?'Süd?''"
    "IDE+24+V2'LOC+Z16+12345678921'UNT+10+1'UNZ+1+A1'"
)
"""An interchange as the German market writes it: other qualifiers, an offset whose plus is released."""


def parts(content: bytes) -> list[Interchange | Message | Trailer]:
    return list(read(io.BytesIO(content)))


def test_an_interchange_of_another_market_is_read_without_a_remark() -> None:
    head, message, trailer = parts(GERMAN.encode("latin-1"))
    assert head == Interchange("UNOC", "9900000000001", "9900000000002", "2510010815", "A1", test=True)
    assert isinstance(message, Message)
    assert (message.type, message.association, message.fault) == ("UTILMD", "S1.1", "")
    assert message.segments[1].get(0, 1) == "202510010815+00"
    assert message.segments[5].get(3) == "Müller 'Süd'"
    assert trailer == Trailer("", "")


@pytest.mark.parametrize(
    ("level", "text", "raw"),
    [
        ("UNOA", "MEYER", b"MEYER"),
        ("UNOC", "Müller", b"M\xfcller"),
        ("UNOD", "Łódź", b"\xa3\xf3d\xbc"),
        ("UNOE", "Иван", b"\xb8\xd2\xd0\xdd"),
        ("UNOF", "Νίκος", b"\xcd\xdf\xea\xef\xf2"),
        ("UNOK", "Ağrı", b"A\xf0r\xfd"),
        ("UNOW", "Łódź", "Łódź".encode()),
        ("UNOY", "Müller", b"M\xc3\xbcller"),
    ],
)
def test_a_text_is_read_in_the_character_set_that_the_interchange_names(level: str, text: str, raw: bytes) -> None:
    content = f"UNB+{level}:3+S+R+251001:0815+A1'UNH+1+X:D'FTX+".encode() + raw + b"'UNT+3+1'UNZ+1+A1'"
    _, message, _ = parts(content)
    assert isinstance(message, Message)
    assert message.segments[0].get(0) == text


def test_a_byte_that_the_character_set_does_not_have_is_refused() -> None:
    with pytest.raises(Unreadable) as caught:
        parts("UNB+UNOA:3+S+R+251001:0815+A1'UNH+1+X:D'FTX+Müller'UNT+3+1'UNZ+1+A1'".encode("latin-1"))
    assert (caught.value.refusal.code, caught.value.refusal.path) == ("EDI_SYNTAX", "segment 3")


def test_a_message_is_split_into_its_segment_groups() -> None:
    _, message, _ = parts(GERMAN.encode("latin-1"))
    assert isinstance(message, Message)
    before, found = groups(message.segments, lambda segment: segment.tag == "IDE")
    assert [segment.tag for segment in before] == ["BGM", "DTM", "NAD"]
    assert [[segment.tag for segment in group] for group in found] == [["IDE", "LOC", "FTX"], ["IDE", "LOC"]]
    assert groups(before, lambda segment: segment.tag == "IDE") == (before, [])


def test_a_segment_that_never_ends_is_refused_before_it_fills_the_memory() -> None:
    class Endless:
        """A stream without a terminator; counts what was taken of it."""

        taken = 0

        def read(self, size: int = -1) -> bytes:
            self.taken += size
            return b"UNB+" + b"x" * (size - 4) if self.taken == size else b"x" * size

    stream = Endless()
    with pytest.raises(Unreadable):
        next(read(stream))  # type: ignore[arg-type]
    assert stream.taken < 10 * syntax.MAX_SEGMENT


def test_a_functional_group_is_refused_by_its_tag() -> None:
    with pytest.raises(Unreadable) as caught:
        parts(b"UNB+UNOC:3+S+R+251001:0815+A1'UNG+X'UNE+0+1'UNZ+1+A1'")
    assert caught.value.refusal.value == "UNG"


def test_the_syntax_knows_no_market() -> None:
    tree = ast.parse(Path(syntax.__file__).read_text())
    named = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[1] for name in named if name.startswith("adapters.")} == {"common"}
    assert Segment("DTM", ((),)).get(4, 7) == ""
