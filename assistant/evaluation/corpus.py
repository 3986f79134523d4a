"""Corpora to search in without an index on disk, and the house's own: its rules and documentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from assistant.evaluation.forms import Relevant, RetrievalSet, TestQuestion
from assistant.evaluation.vector_cache import Keeping
from assistant.knowledge.chunking import ChunkSize, chunk
from assistant.knowledge.documents import Block, Document, Metadata, Passage
from assistant.knowledge.embedding import Embedder
from assistant.knowledge.index import Index, text_hash
from assistant.knowledge.lexical import Bm25, tokens
from assistant.knowledge.lexicon import Lexicon
from assistant.knowledge.loaders.contract import Failure
from assistant.knowledge.loaders.folder import FolderLoader
from assistant.knowledge.loaders.rules import RuleLoader
from assistant.knowledge.tokenvectors import FILE as TOKENS
from assistant.knowledge.tokenvectors import TokenVectors
from assistant.knowledge.vectors import VectorIndex
from energycomm.errors import UserError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ERROR_CODES = "docs/codes.md"
"""The page that lists the sentence of every rule beside its code."""


class MemoryIndex:
    """What `Search` asks of an index, made from passages at hand; nothing is filtered, nothing is written."""

    def __init__(self, passages: Sequence[Passage], embedder: Embedder) -> None:
        self.passages = list(passages)
        self.embedder_name = embedder.name
        self.vectors = VectorIndex.build(embedder.embed_passages([passage.embedded for passage in self.passages]))
        self.bm25 = Bm25.build([tokens(passage.embedded, passage.metadata.language) for passage in self.passages])
        self.lexicon = Lexicon.of(self.passages)
        self.by_id = {passage.id: number for number, passage in enumerate(self.passages)}
        self._documents: dict[str, Document] = {}
        self._tokens = TokenVectors(embedder.folder / TOKENS) if isinstance(embedder, Keeping) else None

    def tokens(self, passages: Sequence[Passage]) -> list[NDArray[np.int8] | None]:
        """The vectors of the tokens of some passages, as far as they are kept."""
        if self._tokens is None:
            return [None] * len(passages)
        return self._tokens.rows(self.embedder_name, [text_hash(passage.embedded) for passage in passages])

    def keep_tokens(self, passages: Sequence[Passage], rows: Sequence[NDArray[np.int8]]) -> None:
        """Keep the vectors of the tokens of some passages beside the other vectors, where these are kept."""
        if self._tokens is not None:
            hashes = [text_hash(passage.embedded) for passage in passages]
            self._tokens.keep(self.embedder_name, list(zip(hashes, rows, strict=True)))

    def document(self, key: str) -> Document | None:
        """A document by its key, where `keep` was given them."""
        return self._documents.get(key)

    def passage(self, id: str) -> Passage | None:
        """A passage by its id."""
        number = self.by_id.get(id)
        return None if number is None else self.passages[number]

    def keep(self, documents: Iterable[Document]) -> MemoryIndex:
        """Keep the documents, so that a highlighted sentence can be looked up in its source."""
        from assistant.knowledge.documents import document_key

        self._documents = {document_key(document): document for document in documents}
        return self

    @property
    def as_index(self) -> Index:
        """The same, for what is declared to take an index."""
        return cast(Index, self)


def passages_of(found: RetrievalSet, embedder: Embedder, most: int | None = None) -> list[Passage]:
    """The passages of a public set; a text that is longer than a passage becomes several."""
    size = ChunkSize(most=min(most or embedder.max_tokens, embedder.max_tokens))
    passages: list[Passage] = []
    for key, text in found.corpus.items():
        metadata = Metadata(source="set", address=key, language=found.corpus_language)
        document = Document(id=key, metadata=metadata, text=text, blocks=(Block(start=0, end=len(text)),))
        passages += chunk(document, size, embedder.count_tokens)
    return passages


def own_documents(root: Path) -> list[Document]:
    """EnergyComm's rules and documentation, as `energycomm assistant index docs rules README.md` reads them.

    Args:
      root: the checkout: the folder with `docs` and `rules`.

    Raises:
      UserError: there is no such folder.
    """
    if not (root / "docs").is_dir() or not (root / "rules").is_dir():
        raise UserError(f"{root.resolve()} holds no docs and rules.", "Run this in the checkout, or name it by --root.")
    loaders = (
        FolderLoader(root / "docs", "docs"),
        FolderLoader(root / "README.md", "docs"),
        FolderLoader(root / "rules" / "README.md", "docs"),
        RuleLoader(root / "rules"),
    )
    documents: dict[str, Document] = {}
    for loader in loaders:
        for document in loader.load():
            if isinstance(document, Failure):
                raise UserError(f"{document.id} cannot be read: {document.why}.", "Repair it.")
            documents.setdefault(f"{document.metadata.address}#{document.id}", document)
    return list(documents.values())


def own_index(root: Path, embedder: Embedder, most: int = 256) -> MemoryIndex:
    """The house's own corpus, searchable."""
    documents = own_documents(root)
    return MemoryIndex(own_passages(documents, embedder, most), embedder).keep(documents)


def own_passages(documents: Iterable[Document], embedder: Embedder, most: int = 256) -> list[Passage]:
    """The passages of documents, each once."""
    size = ChunkSize(most=min(most, embedder.max_tokens))
    return list({p.id: p for document in documents for p in chunk(document, size, embedder.count_tokens)}.values())


def relevant_ids(question: TestQuestion, passages: Iterable[Passage]) -> frozenset[str]:
    """Ids of the passages that a question's author named; those of a rule in each of its languages."""
    return frozenset(
        passage.id for passage in passages if any(_named(relevant, passage) for relevant in question.relevant)
    )


def _named(relevant: Relevant, passage: Passage) -> bool:
    if relevant.rule is not None:
        if relevant.rule in passage.metadata.codes:
            return True
        # The page of codes repeats every rule's sentence: who cites it cites the rule.
        return passage.metadata.address.endswith(ERROR_CODES) and f"| {relevant.rule} |" in _cells(passage.text)
    if not passage.metadata.address.endswith(relevant.document or "\0"):
        return False
    if relevant.contains is not None and relevant.contains.casefold() not in passage.embedded.casefold():
        return False
    headings = iter(passage.headings)
    return all(any(wanted == heading for heading in headings) for wanted in relevant.headings)


def _cells(text: str) -> str:
    """Table rows with one space at each side of the cells' borders, however the loader writes them."""
    return " ".join(text.replace("|", " | ").split())
