"""What content is, is seen from its first bytes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from energycomm.kernel.verdicts import Refusal
from energycomm.transport.codes import CODES, refuse
from energycomm.transport.forms import HEAD, form_of, json_root, may_be_encrypted

TEXT = st.text('ab1 {}[]:,"\\/\n\té😀', max_size=6)
JSON = st.recursive(
    st.sampled_from([None, True, False, 0, -17, 2.5, 1e300]) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
PLAIN_KEY = st.text("abcdefgh_", min_size=1, max_size=8)


@settings(deadline=None)
@given(st.binary(max_size=HEAD))
def test_any_bytes_have_a_form(head: bytes) -> None:
    assert form_of(head) in ("empty", "zip", "xml", "json", "other", "binary")


def test_a_character_cut_at_the_end_of_the_head_does_not_make_it_binary() -> None:
    assert form_of(("<a>" + "é" * 600).encode()[:HEAD]) == "xml"


def test_a_file_of_equal_bytes_is_not_taken_for_encrypted() -> None:
    assert not may_be_encrypted(bytes(1024), 1024)
    assert not may_be_encrypted(bytes(range(256)), 257)
    assert may_be_encrypted(bytes(range(256)), 256)


@settings(deadline=None)
@given(st.dictionaries(PLAIN_KEY, JSON, max_size=4), st.sampled_from([None, 1]), st.integers(1, HEAD))
def test_the_keys_of_an_object_are_read_as_far_as_they_are_seen(
    document: dict[str, object], indent: int | None, cut: int
) -> None:
    text = json.dumps(document, indent=indent)
    assert json_root(text.encode()) == ",".join(document)
    wide = text[:-1] + " " * HEAD + "}"
    seen = json_root(wide.encode()[:HEAD])
    assert isinstance(seen, str)
    assert (",".join(document) + ",").startswith(seen)


def test_of_an_array_the_first_object_speaks() -> None:
    assert json_root(b'[ {"a": [1, {"x": "]"}], "b": {}}, {"c": 1}]') == "a,b"
    assert json_root(b"[1, 2]") == ""


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, ]', "{a: 1}", '{"a" 1}', '{"a": }', '{"a": 1 "b": 2}', '{"a": [}', '{"a": 1,, "b": 2}', '{"a": &'],
)
def test_what_is_not_json_is_refused(text: str) -> None:
    found = json_root(text.encode(), "x.json")
    assert isinstance(found, Refusal)
    assert (found.code, found.path) == ("JSON_SYNTAX", "x.json")


class TestCodes:
    def test_every_code_is_emitted_and_every_emitted_code_is_documented(self, project_root: Path) -> None:
        folder = project_root / "energycomm" / "transport"
        text = "".join(path.read_text() for path in folder.glob("*.py") if path.name != "codes.py")
        emitted = set(re.findall(r'"((?:CHANNEL|ENV|KEY|SERIES|JSON)_[A-Z_]+)"', text))
        elsewhere = {"ENV_OTHER_SUPPLIER", "ENV_PUT_ASIDE", "HEAD_VALUE", "NOTE_EMPTY"}  # by the pipeline
        assert emitted == {code.code for code in CODES} - elsewhere

    def test_codes_are_unique_and_say_what_to_do(self) -> None:
        assert len({code.code for code in CODES}) == len(CODES)
        assert all(code.meaning.endswith(".") and code.advice for code in CODES)

    def test_long_values_are_shortened(self) -> None:
        assert len(refuse("ENV_PATH", "p", "x" * 1000).value or "") == 120
