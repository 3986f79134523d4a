"""The index follows its sources: only what changed is embedded, what is gone vanishes, a crash harms nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assistant.knowledge.documents import Document
from assistant.knowledge.index import current_generation, open_index, update
from assistant.knowledge.loaders.folder import Facts, FolderLoader
from assistant.knowledge.scrubbing import Scrubber
from assistant.retrieval.query import Filters, Query
from assistant.retrieval.search import Search
from energycomm.errors import UserError
from tests.assistant.conftest import WordEmbedder


def test_an_edited_page_has_only_its_own_changed_passages_embedded_again(
    indexed: Path, documents: Path, embedder: WordEmbedder
) -> None:
    """One sentence changed, one passage embedded."""
    page = documents / "readings.md"
    page.write_text(page.read_text("utf-8").replace("five working days", "six working days"), "utf-8")
    before = {p.id for p in open_index(indexed).passages}
    embedder.embedded.clear()
    report = update(indexed, [FolderLoader(documents)], embedder)
    after = {p.id for p in open_index(indexed).passages}
    assert (report.changed, report.unchanged, report.added, report.removed, report.embedded) == (1, 2, 0, 0, 1)
    assert len(embedder.embedded) == 1
    assert "six working days" in embedder.embedded[0]
    assert len(before - after) == len(after - before) == 1


def test_a_run_without_changes_scrubs_nothing_and_leaves_the_generation(
    indexed: Path, documents: Path, embedder: WordEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hash of what was read is enough; other names to be scrubbed make everything be read anew."""
    before = current_generation(indexed)
    scrubbed: list[str] = []
    real = Scrubber.document

    def counted(self: Scrubber, document: Document) -> Document:
        scrubbed.append(document.id)
        return real(self, document)

    monkeypatch.setattr(Scrubber, "document", counted)
    report = update(indexed, [FolderLoader(documents)], embedder)
    assert (report.unchanged, report.changed, report.embedded, scrubbed) == (3, 0, 0, [])
    assert report.passages == len(open_index(indexed).passages)
    assert current_generation(indexed) == before
    assert update(indexed, [FolderLoader(documents)], embedder, names=["Jeanne Exemple"]).changed == 3
    assert len(scrubbed) == 3


def test_what_was_scrubbed_is_counted_over_all_runs(indexed: Path, documents: Path, embedder: WordEmbedder) -> None:
    """Also of the documents that a run leaves alone."""
    (documents / "mail.md").write_text("# Mail\n\nWrite to support.desk@example.org about rejected readings.\n")
    update(indexed, [FolderLoader(documents)], embedder)
    (documents / "more.md").write_text("# More\n\nThe desk answers questions about indexes on the same day.\n")
    update(indexed, [FolderLoader(documents)], embedder)
    assert open_index(indexed).store.scrubbed()["email"] == 1


def test_a_page_that_is_gone_vanishes(indexed: Path, documents: Path, embedder: WordEmbedder) -> None:
    """Its passages are found no more; nothing is embedded."""
    (documents / "supplier.md").unlink()
    report = update(indexed, [FolderLoader(documents)], embedder)
    assert (report.removed, report.embedded) == (1, 0)
    assert all("switch request" not in passage.text for passage in open_index(indexed).passages)


def test_a_page_that_cannot_be_read_this_time_stays(
    indexed: Path, documents: Path, embedder: WordEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that fails for a moment does not forget the documentation."""
    real = Path.read_bytes

    def failing(path: Path) -> bytes:
        if path.name == "supplier.md":
            raise OSError(5, "Input/output error")
        return real(path)

    monkeypatch.setattr(Path, "read_bytes", failing)
    report = update(indexed, [FolderLoader(documents)], embedder)
    assert len(report.failures) == 1
    assert report.removed == 0
    assert any("switch request" in passage.text for passage in open_index(indexed).passages)


def test_two_versions_of_a_document_stand_side_by_side(tmp_path: Path, embedder: WordEmbedder) -> None:
    """The same question has another answer in each, and indexing one leaves the other alone."""
    root = tmp_path / "index"
    for version, days in (("2025-08", "three"), ("2026-09", "five")):
        folder = tmp_path / version
        folder.mkdir()
        (folder / "a.md").write_text(f"# Limits\n\nThe operator answers within {days} days.\n")
        update(root, [FolderLoader(folder, "handbook", Facts(version=version))], embedder)
    opened = open_index(root)
    assert [(s.version, s.passages) for s in opened.sources()] == [("2025-08", 1), ("2026-09", 1)]
    search = Search(opened, embedder)
    for version, days in (("2025-08", "three"), ("2026-09", "five")):
        found = search.search(Query(text="How many days to answer?", filters=Filters(versions=(version,))))
        assert [days in item.passage.text for item in found] == [True]


def test_what_two_versions_say_alike_takes_the_place_of_one(tmp_path: Path, embedder: WordEmbedder) -> None:
    """A question reads as many different texts as without the second version; the repeated one comes along."""
    root = tmp_path / "index"
    for version, days in (("2025-08", "three"), ("2026-09", "five")):
        folder = tmp_path / version
        folder.mkdir()
        (folder / "a.md").write_text(
            "# Limits\n\n## Operator\n\nThe operator answers within ten working days.\n\n"
            f"## Supplier\n\nThe supplier answers within {days} working days.\n"
        )
        update(root, [FolderLoader(folder, "handbook", Facts(version=version))], embedder)
    found = Search(open_index(root), embedder).search(Query(text="operator answers within ten working days", limit=2))
    told = [(item.passage.text.split()[1], item.passage.metadata.version) for item in found]
    assert sorted(told[:2]) == [("operator", "2025-08"), ("operator", "2026-09")]
    assert [who for who, _ in told[2:]] == ["supplier"]


def test_whoever_answers_goes_on_with_the_generation_that_was_opened(
    indexed: Path, documents: Path, embedder: WordEmbedder
) -> None:
    """Indexing twice under an open index harms no question."""
    opened = open_index(indexed)
    for text in ("one more page", "and one more"):
        (documents / "new.md").write_text(f"# New\n\nThis is {text} of the handbook.\n")
        update(indexed, [FolderLoader(documents)], embedder)
    found = Search(opened, embedder).search(Query(text="switch request answered"))
    assert "switch request" in found[0].passage.text
    assert opened.document(found[0].passage.document) is not None


@pytest.mark.parametrize("step", ["_embed", "_put_in_place"])
def test_a_crash_leaves_the_index_as_it_was(
    step: str, indexed: Path, documents: Path, embedder: WordEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it happens while embedding or before the swap; the next run takes everything in."""
    before = [passage.id for passage in open_index(indexed).passages]
    (documents / "new.md").write_text("# New\n\nA page that crashes the indexing.\n")

    def crash(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(f"assistant.knowledge.index.{step}", crash)
        with pytest.raises(KeyboardInterrupt):
            update(indexed, [FolderLoader(documents)], embedder)
    assert [passage.id for passage in open_index(indexed).passages] == before
    embedder.embedded.clear()
    report = update(indexed, [FolderLoader(documents)], embedder)
    assert report.added == 1
    assert [path.name for path in indexed.glob("draft-*")] == []


def test_two_processes_do_not_index_at_once(indexed: Path, documents: Path, embedder: WordEmbedder) -> None:
    """The second is told to wait."""
    from filelock import FileLock

    with FileLock(indexed / "lock"), pytest.raises(UserError, match="Another process"):
        update(indexed, [FolderLoader(documents)], embedder)


def test_asking_before_indexing_says_what_to_type(tmp_path: Path) -> None:
    """No traceback for a user's mistake."""
    with pytest.raises(UserError, match="Nothing is indexed"):
        open_index(tmp_path)
    assert current_generation(tmp_path) is None
