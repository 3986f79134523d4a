"""Passages follow the structure, are never longer than the embedder reads, and keep their ids."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.knowledge.chunking import ChunkSize, chunk
from assistant.knowledge.documents import Document, Metadata
from assistant.knowledge.loaders.folder import document_of
from assistant.knowledge.writing import Writer


def count(text: str) -> int:
    return len(text.split()) + 2


def document(text: str, name: str = "page.md") -> Document:
    made = document_of(name, text.encode(), source="docs", address=name)
    assert isinstance(made, Document)
    return made


TABLE = "# Codes\n\n## Reasons\n\n| code | meaning |\n| --- | --- |\n" + "\n".join(
    f"| E{n} | reason {n} |" for n in range(40)
)


def test_a_table_row_carries_its_header_along() -> None:
    """A row can be read alone: its header is in the context of its passage, as are the titles."""
    passages = chunk(document(TABLE), ChunkSize(most=48, overlap=8), count)
    assert len(passages) > 2
    for passage in passages:
        assert "code | meaning" in passage.context
        assert "Reasons" in passage.context
        assert all(re.fullmatch(r"E\d+ \| reason \d+", line) for line in passage.text.split("\n"))


def test_passages_of_two_sections_are_apart() -> None:
    """No passage mixes what stands below different titles."""
    passages = chunk(document("# A\n\nalpha one.\n\n# B\n\nbeta two."), ChunkSize(most=64), count)
    assert [(passage.headings, passage.text) for passage in passages] == [(("A",), "alpha one."), (("B",), "beta two.")]


def test_an_edit_changes_the_ids_of_its_own_passages_only() -> None:
    """Ids are made of what a passage says and where: the rest of the page keeps its own."""
    before = {p.id: p.text for p in chunk(document("# A\n\nalpha one.\n\n# B\n\nbeta two."), ChunkSize(most=64), count)}
    after = {
        p.id: p.text for p in chunk(document("# A\n\nalpha one.\n\n# B\n\nbeta three."), ChunkSize(most=64), count)
    }
    assert [before[id] for id in before.keys() & after.keys()] == ["alpha one."]
    assert all(re.fullmatch(r"[0-9a-z]{8}", id) for id in before)


def test_two_versions_of_a_page_have_different_ids() -> None:
    """The same words in another version are another passage."""
    ids = set()
    for version in ("2025-08", "2026-09"):
        writer = Writer()
        writer.paragraph("The same words.")
        facts = Metadata(source="docs", address="a.md", version=version)
        ids |= {
            p.id
            for p in chunk(
                Document(id="a.md", metadata=facts, text=writer.text, blocks=writer.blocks), ChunkSize(), count
            )
        }
    assert len(ids) == 2


words = st.text(alphabet="abc", min_size=1, max_size=6)
paragraphs = st.lists(words, min_size=1, max_size=120).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), paragraphs), min_size=1, max_size=8), st.integers(40, 90), st.integers(0, 20))
def test_every_passage_is_a_span_of_its_document_and_fits(
    pieces: list[tuple[bool, str]], most: int, overlap: int
) -> None:
    """Whatever is written: word for word, within the embedder's length, and nothing is lost."""
    writer = Writer()
    for title, text in pieces:
        if title:
            writer.heading(2, text[:30])
        else:
            writer.paragraph(text)
    made = Document(id="x", metadata=Metadata(source="s", address="x"), text=writer.text, blocks=writer.blocks)
    passages = chunk(made, ChunkSize(most=most, overlap=overlap), count)
    covered: set[int] = set()
    for passage in passages:
        assert made.text[passage.start : passage.end] == passage.text
        assert count(passage.embedded) <= most
        covered.update(range(passage.start, passage.end))
    body = [block for block in made.blocks if block.kind != "heading"] or made.blocks
    for block in body:
        missing = [at for at in range(block.start, block.end) if at not in covered]
        assert all(made.text[at].isspace() for at in missing)
    assert len({passage.id for passage in passages}) == len(passages)


def test_a_word_longer_than_a_passage_is_cut() -> None:
    """No text, however odd, makes a passage longer than the embedder reads."""
    passages = chunk(document("x" * 5_000), ChunkSize(most=64), len)
    assert "".join(passage.text for passage in passages) == "x" * 5_000
    assert all(len(passage.embedded) <= 64 for passage in passages)


def test_passages_without_room_are_refused() -> None:
    """A size that leaves no room for text is a mistake of the caller."""
    with pytest.raises(ValueError, match="no room"):
        chunk(document("text"), ChunkSize(most=10), count)
