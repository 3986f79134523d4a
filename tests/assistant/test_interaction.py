"""Late interaction: what the single tokens of a question find in the tokens of a passage."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assistant.knowledge.documents import Metadata, Passage
from assistant.knowledge.embedding import Concatenated, token_embedder
from assistant.knowledge.index import open_index, text_hash, update
from assistant.knowledge.loaders.folder import FolderLoader
from assistant.knowledge.models import Remembering
from assistant.knowledge.projection import Projection
from assistant.knowledge.tokenvectors import FILE, TokenVectors
from assistant.retrieval.interaction import compared, interaction
from assistant.retrieval.query import Found, Query
from assistant.retrieval.search import Search
from tests.assistant.conftest import WordEmbedder


class TokenTeller(WordEmbedder):
    """Tells of each word of a text, as a vector of its own."""

    def embed_tokens(self, texts: Sequence[str], *, question: bool = False) -> Any:
        vectors = self.embed_queries(texts) if question else self.embed_passages(texts)
        rows = [np.rint(127 * self._embed(text.split() or [""])).astype(np.int8) for text in texts]
        return vectors, rows


PAGES = {
    "long.md": "# Gateway\n\nThe turbine stands still on Sunday while crews paint doors and sweep floors.\n",
    "near.md": "# Gateway\n\nTurbine crews meet other turbine crews over tea; turbine crews talk to turbine crews.\n",
    "other.md": "# Gateway\n\nNobody has ever seen such a heap of invoices that were all paid twice and came back.\n",
}


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    folder = tmp_path / "pages"
    folder.mkdir()
    for name, text in PAGES.items():
        (folder / name).write_text(text, "utf-8")
    return folder


def found(score: float, name: str, *, by_code: bool = False) -> Found:
    passage = Passage(
        id=name, document=name, start=0, end=1, text=name, context="", headings=(),
        metadata=Metadata(source="docs", address=name),
    )  # fmt: skip
    return Found(passage=passage, score=score, by_code=by_code)


def test_each_word_of_the_question_looks_for_the_nearest_in_the_passage() -> None:
    """What else a passage says takes nothing from it."""
    asked = np.array([[127, 0, 0], [0, 127, 0]], dtype=np.int8)
    short = np.array([[127, 0, 0]], dtype=np.int8)
    long = np.array([[0, 0, 127], [127, 0, 0], [0, 0, 127], [0, 127, 0]], dtype=np.int8)
    assert interaction(asked, [short, long]).tolist() == pytest.approx([0.5, 1.0])


def test_a_passage_of_which_no_tokens_are_kept_is_neither_gained_nor_lost() -> None:
    """It gets the mean of the others; with nothing known of any, nothing changes."""
    asked, same = np.array([[127, 0]], dtype=np.int8), np.array([[127, 0]], dtype=np.int8)
    other = np.array([[0, 127]], dtype=np.int8)
    assert interaction(asked, [same, None, other]).tolist() == pytest.approx([1.0, 0.5, 0.0])
    assert interaction(asked, [None, None]).tolist() == [0.0, 0.0]


def test_what_a_code_named_stays_in_front_and_what_was_not_compared_behind() -> None:
    """Scores of one search stay comparable."""
    before = [found(0.9, "named", by_code=True), found(0.8, "first"), found(0.7, "second"), found(0.6, "behind")]
    after = compared(before, np.array([0.0, 0.1, 0.9], dtype=np.float32), 0.5)
    assert [item.passage.id for item in after] == ["named", "second", "first", "behind"]
    assert after[-1].score < min(item.score for item in after[:-1])


def test_tokens_are_kept_small_and_told_apart() -> None:
    """A byte for each axis; what was equal is equal, what differs most stays apart; also when read from its file."""
    rows = np.random.default_rng(3).normal(size=(500, 24)).astype(np.float32) * np.linspace(
        3, 0.1, 24, dtype=np.float32
    )
    projection = Projection.fit(rows, 8)
    small = projection.small(rows[:50])
    assert (small.dtype, small.shape) == (np.dtype(np.int8), (50, 8))
    nearest = (small.astype(np.float32) @ small.astype(np.float32).T).argmax(axis=1)
    assert nearest.tolist() == list(range(50))


def test_a_projection_is_the_same_when_read_again(tmp_path: Path) -> None:
    rows = np.random.default_rng(4).normal(size=(300, 12)).astype(np.float32)
    made = Projection.fit(rows, 4)
    made.save(tmp_path / "axes.npz")
    read = Projection.load(tmp_path / "axes.npz")
    assert np.abs(read.small(rows).astype(int) - made.small(rows).astype(int)).max() <= 1
    assert Projection.load().small(np.ones((2, 384), dtype=np.float32)).shape == (2, 128)


def test_an_index_keeps_the_tokens_of_its_passages_and_forgets_those_of_removed_ones(
    pages: Path, tmp_path: Path
) -> None:
    """A page that is edited is read again alone, and its old tokens go."""
    root, embedder = tmp_path / "index", TokenTeller()
    update(root, [FolderLoader(pages)], embedder)
    before = open_index(root)
    kept = before.tokens(before.passages)
    assert [len(rows) for rows in kept if rows is not None] == [len(p.embedded.split()) for p in before.passages]
    (pages / "other.md").write_text("# Gateway\n\nInvoices are kept for ten years and then thrown away by the clerk.\n")
    embedder.embedded.clear()
    report = update(root, [FolderLoader(pages)], embedder)
    assert report.embedded == len(embedder.embedded) == 1
    after = open_index(root)
    assert all(rows is not None for rows in after.tokens(after.passages))
    assert before.tokens([p for p in before.passages if "heap" in p.text]) == [None]


def test_a_passage_that_names_every_word_of_the_question_comes_first(pages: Path, tmp_path: Path) -> None:
    """By its one vector, which is the mean of all it says, it came behind; tokens that are not kept are read anew."""
    root, embedder = tmp_path / "index", TokenTeller()
    update(root, [FolderLoader(pages)], embedder)
    asked = Query(text="turbine crews Sunday", method="dense")
    first = [
        Search(open_index(root), embedder, interaction_weight=weight).search(asked)[0].passage.metadata.address
        for weight in (0.0, 1.0)
    ]
    assert [address.rpartition("/")[2] for address in first] == ["near.md", "long.md"]
    before = Search(open_index(root), embedder).search(asked)
    (root / FILE).unlink()
    anew = Search(open_index(root), embedder).search(asked)
    assert [item.passage.id for item in anew] == [item.passage.id for item in before]


def test_what_was_indexed_without_tokens_is_read_again_for_them(pages: Path, tmp_path: Path) -> None:
    """Also where no document has changed since."""
    root = tmp_path / "index"
    update(root, [FolderLoader(pages)], WordEmbedder())
    assert not (root / FILE).exists()
    update(root, [FolderLoader(pages)], TokenTeller())
    opened = open_index(root)
    assert all(rows is not None for rows in opened.tokens(opened.passages))
    assert update(root, [FolderLoader(pages)], TokenTeller()).embedded == 0


def test_tokens_of_one_model_are_not_those_of_another(tmp_path: Path) -> None:
    """And nothing is there before the file is."""
    kept = TokenVectors(tmp_path / FILE)
    rows = np.array([[1, 2], [3, 4]], dtype=np.int8)
    assert kept.rows("a", ["x"]) == [None]
    assert kept.missing("a", ["x"]) == {"x"}
    kept.keep("a", [("x", rows), (text_hash("y"), rows[:1])])
    assert kept.missing("a", ["x", "z"]) == {"z"}
    assert kept.missing("b", ["x"]) == {"x"}
    (read,) = kept.rows("a", ["x"])
    assert read is not None
    assert read.tolist() == rows.tolist()
    assert kept.prune("a", ["x"]) == 1


def test_who_tells_of_tokens_is_found_behind_a_memory_and_not_among_several() -> None:
    """Several models as one have no tokens in common."""
    teller = TokenTeller()
    assert token_embedder(teller) is teller
    assert token_embedder(Remembering(teller)) is teller
    assert token_embedder(WordEmbedder()) is None
    assert token_embedder(Concatenated([teller, teller])) is None
