"""The index: generations of passages with their vectors and tokens, made aside and put in place at once.

    .assistant/index/vectors.db            vectors by text, kept between generations
    .assistant/index/tokens.db             vectors of the tokens of each text, which questions read from there
    .assistant/index/generation-7/         text.db, vectors.npy, bm25/
    .assistant/index/current               "generation-7", replaced in one step

Whoever answers goes on with the generation it opened while another is made. A crash leaves a draft that is never named
by `current`; the next run removes it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from assistant.extras import need
from assistant.knowledge.chunking import ChunkSize, chunk
from assistant.knowledge.concepts import word_list
from assistant.knowledge.documents import Document, Passage, document_key
from assistant.knowledge.embedding import Embedder, token_embedder
from assistant.knowledge.filtering import Dropped, Filter
from assistant.knowledge.lexical import Bm25, tokens
from assistant.knowledge.lexicon import Lexicon
from assistant.knowledge.loaders.contract import Failure, Loader
from assistant.knowledge.releasedvectors import released
from assistant.knowledge.scrubbing import Scrubber
from assistant.knowledge.store import SourceState, Store
from assistant.knowledge.tokenvectors import FILE as TOKENS
from assistant.knowledge.tokenvectors import TokenVectors
from assistant.knowledge.vectorcache import VectorCache
from assistant.knowledge.vectors import VectorIndex
from energycomm.errors import UserError
from energycomm.private_files import private_folder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FORM = "6"
"""Changes when the same documents would give other passages: everything is then chunked anew."""

CURRENT = "current"
GENERATION = "generation-"


class Report(Struct, kw_only=True):
    """What an indexing did.

    Attributes:
      unchanged, added, changed, removed: documents.
      passages: passages that the index holds now.
      embedded: passages whose text was embedded in this run.
      dropped: passages that were left out of the documents that were read anew, by reason.
      scrubbed: personal data and secrets taken out of the same documents, by kind.
      failures: what could not be read.
      unread: documents of kinds that are not read, by the ending of their names.
    """

    unchanged: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    passages: int = 0
    embedded: int = 0
    dropped: dict[str, int] = msgspec.field(default_factory=dict)
    scrubbed: dict[str, int] = msgspec.field(default_factory=dict)
    failures: list[Failure] = msgspec.field(default_factory=list)
    unread: dict[str, int] = msgspec.field(default_factory=dict)
    seconds: float = 0.0


class Index:
    """A generation that is open to be asked.

    Attributes:
      passages: every passage; its place is its number in `vectors` and `bm25`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = Store(folder / "text.db")
        self.passages: list[Passage] = self.store.passages()
        self.vectors = VectorIndex.load(folder)
        self.bm25 = Bm25.load(folder / "bm25", len(self.passages))
        self.lexicon = Lexicon.load(folder / "lexicon.json")
        self.embedder_name = self.store.fact("embedder") or ""
        self.by_id = {passage.id: number for number, passage in enumerate(self.passages)}
        self._tokens = TokenVectors(folder.parent / TOKENS)

    def tokens(self, passages: Sequence[Passage]) -> list[NDArray[np.int8] | None]:
        """The vectors of the tokens of some passages, each of shape (tokens, dimensions); None where none are kept."""
        return self._tokens.rows(self.embedder_name, [text_hash(passage.embedded) for passage in passages])

    def keep_tokens(self, passages: Sequence[Passage], rows: Sequence[NDArray[np.int8]]) -> None:
        """Keep the vectors of the tokens of some passages for the next question, where this process may write them."""
        hashes = [text_hash(passage.embedded) for passage in passages]
        with suppress(OSError, sqlite3.Error):
            self._tokens.keep(self.embedder_name, list(zip(hashes, rows, strict=True)))

    def document(self, key: str) -> Document | None:
        """A document by its key."""
        return self.store.document(key)

    def passage(self, id: str) -> Passage | None:
        """A passage by its id."""
        number = self.by_id.get(id)
        return None if number is None else self.passages[number]

    def one_of_each_source(self) -> list[Document]:
        """A document of each source."""
        return self.store.one_of_each_source()

    def sources(self) -> list[SourceState]:
        """What is known of each version of each source."""
        return self.store.sources()

    def close(self) -> None:
        """Close the files."""
        self.store.close()


def current_generation(root: Path) -> Path | None:
    """The folder of the generation that holds now; None before the first."""
    try:
        name = (root / CURRENT).read_text("utf-8").strip()
    except FileNotFoundError:
        return None
    folder = root / name
    return folder if folder.is_dir() else None


def addresses(root: Path) -> list[str]:
    """The address of one document of each source of the generation that holds now; none before the first."""
    folder = current_generation(root)
    if folder is None:
        return []
    store = Store(folder / "text.db")
    try:
        return [one.metadata.address for one in store.one_of_each_source()]
    finally:
        store.close()


def open_index(root: Path) -> Index:
    """Open the index of a folder.

    Raises:
      UserError: there is none yet.
    """
    need("numpy", "faiss", "bm25s")
    # A generation may be replaced and removed between reading its name and opening it.
    for _ in range(5):
        folder = current_generation(root)
        if folder is None:
            break
        try:
            return Index(folder)
        except (FileNotFoundError, RuntimeError):
            if current_generation(root) == folder:
                raise
    raise UserError("Nothing is indexed yet.", "Type: energycomm assistant index docs rules")


def update(
    root: Path,
    loaders: Sequence[Loader],
    embedder: Embedder,
    *,
    size: ChunkSize | None = None,
    names: Iterable[str] = (),
    told: Callable[[str], None] | None = None,
) -> Report:
    """Bring the index up to date with some sources; other sources stay as they are.

    Args:
      root: folder of the index.
      loaders: the sources, each read in full: documents that are gone are pruned, unchanged ones not touched.
      embedder: the embedder; with another one than before every passage is embedded again.
      size: how long passages are.
      names: names of people that are scrubbed too.
      told: called with what is being done, for people who wait.

    Raises:
      UserError: another process is indexing, or a package is missing.
    """
    need("numpy", "faiss", "bm25s", "snowballstemmer")
    began = datetime.now(UTC)
    size = size or ChunkSize()
    size = msgspec.structs.replace(size, most=min(size.most, embedder.max_tokens))
    report = Report()
    listed = sorted({name.strip() for name in names})
    made = _made(embedder, size, listed)
    with _alone(root):
        if told:
            told(f"reading {', '.join(loader.source for loader in loaders)}")
        readings = _readings(root, loaders, made)
        for loader in loaders:
            for ending, count in getattr(loader, "unread", {}).items():
                report.unread[ending] = report.unread.get(ending, 0) + count
        if current_generation(root) and not any(reading.new or reading.gone for reading in readings):
            _leave(root, readings, report)
            report.seconds = round((datetime.now(UTC) - began).total_seconds(), 2)
            return report
        _renew(root, readings, Scrubber(listed), embedder, size, report, told)
    report.seconds = round((datetime.now(UTC) - began).total_seconds(), 2)
    return report


def _renew(
    root: Path, readings: Sequence[_Reading], scrubber: Scrubber, embedder: Embedder, size: ChunkSize, report: Report,
    told: Callable[[str], None] | None,
) -> None:  # fmt: skip
    """Make a new generation and put it in place."""
    draft = _draft(root)
    store = Store(draft / "text.db", writable=True)
    try:
        store.begin()
        for reading in readings:
            _read(store, reading, scrubber, embedder, size, report)
        hashes = store.number()
        report.scrubbed = dict(scrubber.counts)
        store.set_fact("embedder", embedder.name)
        store.set_fact("indexed_at", datetime.now(UTC).isoformat(timespec="seconds"))
        store.set_fact("chunk", f"{size.most}/{size.overlap}")
        store.set_fact("scrubbed", msgspec.json.encode(store.scrubbed()).decode())
        store.commit()
        report.passages = len(hashes)
        report.embedded = _embed(root, draft, store, embedder, hashes, told)
    except BaseException:
        store.close()
        shutil.rmtree(draft, ignore_errors=True)
        raise
    store.close()
    _put_in_place(root, draft)


def _readings(root: Path, loaders: Sequence[Loader], made: str) -> list[_Reading]:
    """What the sources give, beside what the present generation has of them."""
    present = current_generation(root)
    store = Store(present / "text.db") if present else None
    try:
        return [_Reading(store, loader, made) for loader in loaders]
    finally:
        if store is not None:
            store.close()


def _leave(root: Path, readings: Sequence[_Reading], report: Report) -> None:
    """Report that the present generation says what the sources say: nothing is scrubbed, embedded or written."""
    report.unchanged = sum(len(reading.read) for reading in readings)
    report.failures = [failure for reading in readings for failure in reading.failed]
    present = current_generation(root)
    assert present is not None
    store = Store(present / "text.db")
    report.passages = store.size()
    store.close()


class _Reading:
    """What one source gives now, beside what the store has of it; a document is known by the hash of what was read.

    Attributes:
      read: its documents as they were read, by key; not scrubbed yet.
      hashes: the hash of each.
      known: the hashes of the documents that the store has, of the versions that were read.
      failed: what could not be read.
    """

    def __init__(self, store: Store | None, loader: Loader, made: str) -> None:
        self.source = loader.source
        items = list(loader.load())
        self.failed = [item for item in items if isinstance(item, Failure)]
        documents = [item for item in items if isinstance(item, Document)]
        self.read = {f"{self.source}/{document_key(document)}": document for document in documents}
        self.hashes = {key: _hash(document, made) for key, document in self.read.items()}
        self.versions = {document.metadata.version or "" for document in documents} or {""}
        self.known: dict[str, str] = {}
        if store is not None:
            for version in self.versions:
                self.known.update(store.hashes(self.source, version))

    @property
    def gone(self) -> list[str]:
        """Keys of the documents that are no more; what could not be read this time is not gone."""
        spared = {f"{self.source}/{item.id}" for item in self.failed}
        return sorted(
            key for key in self.known.keys() - self.read.keys()
            if key.partition("@")[0] not in spared and key not in spared
        )  # fmt: skip

    @property
    def new(self) -> list[str]:
        """Keys of the documents that are new or have changed."""
        return [key for key, hash in self.hashes.items() if self.known.get(key) != hash]


def _read(
    store: Store, reading: _Reading, scrubber: Scrubber, embedder: Embedder, size: ChunkSize, report: Report
) -> None:
    report.failures += reading.failed
    new = set(reading.new)
    report.unchanged += len(reading.read) - len(new)
    if not new:
        for key in reading.gone:
            store.remove(key)
        report.removed += len(reading.gone)
        return
    documents: dict[str, Document] = {}
    taken: dict[str, dict[str, int]] = {}
    for key, document in reading.read.items():
        # What has not changed was scrubbed when it was stored.
        stored = store.document(key) if key not in new else None
        if stored is None:
            before = scrubber.counts.copy()
            stored = scrubber.document(document)
            taken[key] = dict(scrubber.counts - before)
        documents[key] = stored
    filter_ = Filter(documents.values())
    for key, document in documents.items():
        if key not in new:
            for passage in store.passages_of(key):
                filter_.know(passage)
            continue
        passages = [msgspec.structs.replace(p, document=key) for p in chunk(document, size, embedder.count_tokens)]
        reasons = [filter_.reason(passage) for passage in passages]
        dropped = [
            Dropped(key, reason, passage.text[:80]) for passage, reason in zip(passages, reasons, strict=True) if reason
        ]
        for item in dropped:
            report.dropped[item.reason] = report.dropped.get(item.reason, 0) + 1
        store.put(key, document, reading.hashes[key], taken[key])
        store.put_passages(
            key,
            [
                (passage, text_hash(passage.embedded), tokens(passage.embedded, passage.metadata.language))
                for passage, reason in zip(passages, reasons, strict=True)
                if reason is None
            ],
            dropped,
        )
        if key in reading.known:
            report.changed += 1
        else:
            report.added += 1
    for key in reading.gone:
        store.remove(key)
        report.removed += 1


def _embed(
    root: Path, draft: Path, store: Store, embedder: Embedder, hashes: list[str], told: Callable[[str], None] | None
) -> int:
    cache = VectorCache(root / "vectors.db")
    try:
        kept = TokenVectors(root / TOKENS) if token_embedder(embedder) else None
        missing = cache.missing(embedder.name, hashes)
        made = released()
        cache.keep(embedder.name, ((hash, made.vector(hash)) for hash in made.known(embedder.name, missing)))
        if kept is not None:
            missing |= kept.missing(embedder.name, hashes)
        missing -= made.known(embedder.name, missing)
        if told and missing:
            told(f"embedding {len(missing)} passages")
        progress = (lambda done: told(f"embedded {done} of {len(missing)}")) if told else None
        done = cache.fill(embedder, store.embedded_texts(missing), progress, kept)
        # One after the other, and none kept by a name: together they would be twice the memory.
        VectorIndex.build(cache.vectors(embedder.name, hashes, embedder.dimensions)).save(draft)
        Bm25.build(store.tokens()).save(draft / "bm25")
        Lexicon.of(store.passages()).save(draft / "lexicon.json")
        cache.prune(embedder.name, hashes)
        if kept is not None:
            kept.prune(embedder.name, hashes)
    finally:
        cache.close()
    return done


def text_hash(text: str) -> str:
    """The hash under which a text's vector is kept."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _made(embedder: Embedder, size: ChunkSize, names: Sequence[str]) -> str:
    """Everything beside a document's words that decides what becomes of it."""
    listed = hashlib.sha256("\n".join([*names, word_list()]).encode()).hexdigest()[:16]
    tokens = "tokens" if token_embedder(embedder) else ""
    return f"{FORM}/{embedder.name}/{tokens}/{size.most}/{size.overlap}/{listed}/"


def _hash(document: Document, made: str) -> str:
    # The day of the last change is no content: a touched file is not another one.
    same = msgspec.structs.replace(document, metadata=msgspec.structs.replace(document.metadata, modified=None))
    return hashlib.sha256(made.encode() + msgspec.msgpack.encode(same)).hexdigest()[:32]


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    from filelock import FileLock, Timeout

    private_folder(root)
    try:
        with FileLock(root / "lock", timeout=0):
            yield
    except Timeout:
        raise UserError("Another process is indexing.", "Wait until it has ended.") from None


def _draft(root: Path) -> Path:
    """A fresh draft, holding a copy of what the present generation knows; drafts of crashed runs are removed."""
    for left in root.glob("draft-*"):
        shutil.rmtree(left, ignore_errors=True)
    draft = root / f"draft-{os.getpid()}"
    private_folder(draft)
    present = current_generation(root)
    if present is not None:
        store = Store(present / "text.db")
        store.copy_to(draft / "text.db")
        store.close()
    return draft


def _put_in_place(root: Path, draft: Path) -> None:
    present = current_generation(root)
    numbers = [int(path.name.removeprefix(GENERATION)) for path in root.glob(f"{GENERATION}*")]
    name = f"{GENERATION}{max(numbers, default=0) + 1}"
    for path in sorted(draft.rglob("*")):
        if path.is_file():
            _sync(path)
    draft.replace(root / name)
    _sync(root)
    pointer = root / f"{CURRENT}.new"
    pointer.write_text(name + "\n", "utf-8")
    _sync(pointer)
    pointer.replace(root / CURRENT)
    _sync(root)
    # The generation before stays for those who have just read its name.
    for path in root.glob(f"{GENERATION}*"):
        if path.name != name and path != present:
            shutil.rmtree(path, ignore_errors=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
