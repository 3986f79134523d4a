"""Documents that somebody attached to a conversation: read for it alone, and gone with it.

Their text is kept without personal data and secrets, like all that is indexed. The file itself is never written: that
of a PDF stays in memory, for its pages to be shown, as long as there is room.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath, PureWindowsPath
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from assistant.config import AssistantConfig
from assistant.extras import installed
from assistant.knowledge.apart import Read, read
from assistant.knowledge.chunking import ChunkSize, chunk
from assistant.knowledge.documents import Document, Passage
from assistant.knowledge.embedding import Embedder
from assistant.knowledge.index import Index
from assistant.knowledge.lexical import Bm25, tokens
from assistant.knowledge.lexicon import Lexicon
from assistant.knowledge.loaders.contract import Failure
from assistant.knowledge.loaders.folder import SUFFIXES
from assistant.knowledge.scrubbing import PACKAGES, Scrubber
from assistant.knowledge.vectors import VectorIndex
from assistant.retrieval.search import Search
from energycomm.errors import UserError
from energycomm.private_files import BESIDE, private_file, private_folder
from energycomm.texts import wording

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST = 8 << 20
"""Bytes of a file."""
MOST_PASSAGES = 400
"""Passages of a document: some 120 pages, half a minute on two cores."""
MOST_ATTACHED = 5
"""Documents of a conversation."""
MOST_OF_AUTHOR = 30
"""Documents of all conversations of an author."""
MOST_IN_MEMORY = 64 << 20
"""Bytes of the files of PDFs."""
MOST_OPEN = 16
"""Conversations whose documents are held ready to be searched."""
LONGEST_NAME = 100

SOURCE = "attached"
"""Name of the source of all of them."""

SAYINGS = (
    wording("a name without an ending"), wording("an empty file"), wording("a file without text"),
    wording("a file with text"), wording("{0} bytes"), wording("at most {0} bytes"),
    wording("a file that is no {0} inside"), wording("a second {0}"),
    wording("another name, or the first one removed"), wording("{0} documents"),
    wording("at most {0} in a conversation"), wording("at most {0} in all of one's conversations"),
    wording("a file that can be opened and has text"), wording("{0} passages"),
    wording("at most {0}, some 120 pages"), wording("no readable {0}: {1}"),
    wording("no text in it: scanned pages have to go through text recognition first"),
    wording("it takes more than {0} s or {1} MB to read, or breaks the reader"),
    wording("it takes more than {0} s to read"), wording("it needs more than {0} MB to read"),
)  # fmt: skip
"""What refusals say they found and expected."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS attachment (
    id TEXT PRIMARY KEY, author TEXT NOT NULL, conversation TEXT NOT NULL, at TEXT NOT NULL,
    name TEXT NOT NULL, document BLOB NOT NULL, passages BLOB NOT NULL, embedder TEXT NOT NULL, vectors BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS attachment_of ON attachment (author, conversation);
"""


class Refused(UserError):
    """A file that is not taken.

    Args:
      code: one of docs/assistant.md.
      found: what it is or has.
      expected: what is taken.
    """

    def __init__(self, code: str, found: str, expected: str) -> None:
        super().__init__(f"{code}: found {found}; expected {expected}.", "Attach another file.")
        self.code, self.found, self.expected = code, found, expected


class Attached(Struct, frozen=True, kw_only=True):
    """A document of a conversation."""

    id: str
    name: str
    passages: int


class OwnIndex(Index):
    """An index of a few passages, in memory."""

    def __init__(
        self, passages: Sequence[Passage], vectors: NDArray[np.float32], lexicon: Lexicon, embedder: str
    ) -> None:
        self.passages = list(passages)
        self.vectors = VectorIndex.build(vectors)
        self.bm25 = Bm25.build(tokens(one.embedded, one.metadata.language) for one in passages)
        self.lexicon = lexicon
        self.embedder_name = embedder
        self.by_id = {passage.id: number for number, passage in enumerate(passages)}
        self._kept: dict[str, NDArray[np.int8]] = {}

    def tokens(self, passages: Sequence[Passage]) -> list[NDArray[np.int8] | None]:
        """The vectors of the tokens of some passages."""
        return [self._kept.get(passage.id) for passage in passages]

    def keep_tokens(self, passages: Sequence[Passage], rows: Sequence[NDArray[np.int8]]) -> None:
        """Keep them for the next question."""
        self._kept.update(zip((passage.id for passage in passages), rows, strict=True))


class Attachments:
    """The documents of all conversations.

    Args:
      path: the file; None keeps them in memory, until the service ends.
      embedder: makes the vectors of their passages.
      lexicon: of the index beside which they are searched.
      config: how long passages are, how long they are kept, whose names are scrubbed.
      model: held by whoever uses the embedder.
    """

    def __init__(
        self, path: Path | None, embedder: Embedder, lexicon: Lexicon, config: AssistantConfig, model: threading.Lock
    ) -> None:
        self._embedder, self._lexicon, self._config, self._model = embedder, lexicon, config, model
        self._lock = threading.Lock()
        self._files: OrderedDict[str, bytes] = OrderedDict()
        self._open: OrderedDict[tuple[str, str], tuple[tuple[str, ...], Search]] = OrderedDict()
        """Author and conversation -> its documents, and what finds their passages."""
        if path is not None:
            private_folder(path.parent)
        place = ":memory:" if path is None else str(private_file(path, BESIDE))
        self._db = sqlite3.connect(place, check_same_thread=False, timeout=10)
        self._db.executescript(_SCHEMA)
        self._db.execute("PRAGMA secure_delete = ON")

    def attach(self, name: str, content: bytes, author: str, conversation: str) -> Attached:
        """Read a file for a conversation.

        Args:
          name: as the browser tells it; only its last part counts.
          content: its bytes.
          author: whose conversation it is.
          conversation: its name.

        Raises:
          Refused: it is not taken.
        """
        name = file_name(name)
        self._check(name, content, author, conversation)
        document = read(Read(name=name, content=content, source=SOURCE))
        if isinstance(document, Failure):
            raise Refused("UPLOAD_UNREADABLE", document.why, "a file that can be opened and has text")
        if installed(*PACKAGES):
            document = Scrubber(self._config.listed_names()).document(document)
        id = token_urlsafe(12)
        size = ChunkSize(
            most=min(self._config.chunk_tokens, self._embedder.max_tokens), overlap=self._config.overlap_tokens
        )
        passages = [
            msgspec.structs.replace(passage, document=f"{SOURCE}/{id}")
            for passage in chunk(document, size, self._embedder.count_tokens)
        ]
        if not passages:
            raise Refused("UPLOAD_EMPTY", "a file without text", "a file with text")
        if len(passages) > MOST_PASSAGES:
            raise Refused("UPLOAD_LONG", f"{len(passages)} passages", f"at most {MOST_PASSAGES}, some 120 pages")
        with self._model:
            vectors = self._embedder.embed_passages([passage.embedded for passage in passages])
        row = (
            id, author, conversation, datetime.now(UTC).isoformat(timespec="seconds"), name,
            msgspec.msgpack.encode(document), msgspec.msgpack.encode(passages), self._embedder.name,
            vectors.astype("float32").tobytes(),
        )  # fmt: skip
        with self._lock, self._db:
            self._prune()
            self._db.execute("INSERT INTO attachment VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            self._open.pop((author, conversation), None)
            if PurePosixPath(name).suffix.lower() == ".pdf":
                self._hold(id, content)
        return Attached(id=id, name=name, passages=len(passages))

    def _check(self, name: str, content: bytes, author: str, conversation: str) -> None:
        """Refuse what need not be opened to be refused."""
        suffix = PurePosixPath(name).suffix.lower()
        if suffix not in SUFFIXES:
            raise Refused("UPLOAD_TYPE", suffix or "a name without an ending", ", ".join(sorted(SUFFIXES)))
        if not content:
            raise Refused("UPLOAD_EMPTY", "an empty file", "a file with text")
        if len(content) > LARGEST:
            raise Refused("UPLOAD_SIZE", f"{len(content)} bytes", f"at most {LARGEST} bytes")
        if not _is(suffix, content):
            raise Refused("UPLOAD_TYPE", f"a file that is no {suffix[1:]} inside", f"a {suffix[1:]}")
        there = self.of(author, conversation)
        if any(one.name == name for one in there):
            raise Refused("UPLOAD_TWICE", f"a second {name}", "another name, or the first one removed")
        if len(there) >= MOST_ATTACHED:
            raise Refused("UPLOAD_MANY", f"{len(there)} documents", f"at most {MOST_ATTACHED} in a conversation")
        count = self._rows("SELECT count(*) FROM attachment WHERE author = ?", (author,))[0][0]
        if count >= MOST_OF_AUTHOR:
            raise Refused(
                "UPLOAD_MANY", f"{count} documents", f"at most {MOST_OF_AUTHOR} in all of one's conversations"
            )

    def of(self, author: str, conversation: str) -> list[Attached]:
        """The documents of a conversation, in the order in which they were attached; what is too old goes."""
        with self._lock, self._db:
            self._prune()
        rows = self._rows(
            "SELECT id, name, passages FROM attachment WHERE author = ? AND conversation = ? ORDER BY rowid",
            (author, conversation),
        )
        return [
            Attached(id=id, name=name, passages=len(msgspec.msgpack.decode(passages))) for id, name, passages in rows
        ]

    def remove(self, id: str, author: str, conversation: str) -> bool:
        """Remove a document; False where the conversation of the author has no such one."""
        with self._lock, self._db:
            self._open.pop((author, conversation), None)
            return self._drop("id = ? AND author = ? AND conversation = ?", (id, author, conversation))

    def forget(self, author: str, conversation: str | None = None) -> None:
        """Remove all documents of a conversation, or of all conversations of an author."""
        with self._lock, self._db:
            own = "author = ?" + (" AND conversation = ?" if conversation is not None else "")
            values = (author,) if conversation is None else (author, conversation)
            self._drop(own, values)
            for key in [one for one in self._open if one[0] == author and conversation in (None, one[1])]:
                del self._open[key]

    def search(self, author: str, conversation: str) -> Search | None:
        """Finds passages of the documents of a conversation; None where it has none."""
        with self._lock:
            query = "SELECT id FROM attachment WHERE author = ? AND conversation = ? ORDER BY rowid"
            there = tuple(id for (id,) in self._db.execute(query, (author, conversation)))
            known = self._open.pop((author, conversation), None)
            # Another process may have removed one: of a customer who was erased.
            found = known[1] if known is not None and known[0] == there else self._opened(author, conversation)
            if found is not None:
                self._open[author, conversation] = there, found
                while len(self._open) > MOST_OPEN:
                    self._open.popitem(last=False)
            return found

    def passage(self, id: str, author: str, conversation: str) -> tuple[Passage, Document, bytes | None] | None:
        """A passage of a document of a conversation, the document, and the file of a PDF where it is still held."""
        query = "SELECT id, document, passages FROM attachment WHERE author = ? AND conversation = ?"
        for key, document, passages in self._rows(query, (author, conversation)):
            for passage in msgspec.msgpack.decode(passages, type=list[Passage]):
                if passage.id == id:
                    return passage, msgspec.msgpack.decode(document, type=Document), self._files.get(key)
        return None

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _opened(self, author: str, conversation: str) -> Search | None:
        import numpy as np

        rows = self._db.execute(
            "SELECT passages, vectors FROM attachment WHERE author = ? AND conversation = ? AND embedder = ? "
            "ORDER BY rowid",
            (author, conversation, self._embedder.name),
        ).fetchall()
        if not rows:
            return None
        passages = [one for text, _ in rows for one in msgspec.msgpack.decode(text, type=list[Passage])]
        vectors = np.frombuffer(b"".join(blob for _, blob in rows), dtype=np.float32)
        index = OwnIndex(passages, vectors.reshape(len(passages), -1).copy(), self._lexicon, self._embedder.name)
        return Search(index, self._embedder, None, self._config.interaction)

    def _hold(self, id: str, content: bytes) -> None:
        self._files[id] = content
        while sum(map(len, self._files.values())) > MOST_IN_MEMORY:
            self._files.popitem(last=False)

    def _prune(self) -> None:
        oldest = (datetime.now(UTC) - timedelta(days=self._config.retention_days)).isoformat(timespec="seconds")
        if self._drop("at < ?", (oldest,)):
            self._open.clear()

    def _drop(self, which: str, values: tuple[str, ...]) -> bool:
        """Remove documents with their files; whether there were any."""
        gone = self._db.execute(f"DELETE FROM attachment WHERE {which} RETURNING id", values).fetchall()  # noqa: S608 - conditions of ours
        for (id,) in gone:
            self._files.pop(id, None)
        return bool(gone)

    def _rows(self, query: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._db.execute(query, values).fetchall()


def file_name(told: str) -> str:
    """The last part of a name, as browsers of all systems tell it, without what cannot be read."""
    last = PureWindowsPath(told.replace("/", "\\")).name
    name = "".join(one for one in last if one.isprintable()).strip(" .")
    stem, dot, ending = name.rpartition(".")
    return f"{stem[: LONGEST_NAME - len(ending)]}{dot}{ending}" if dot and len(ending) < 10 else name[:LONGEST_NAME]


def open_attachments(
    config: AssistantConfig, embedder: Embedder, lexicon: Lexicon, model: threading.Lock, *, kept: bool
) -> Attachments:
    """The attachments beside the log.

    Args:
      config: names the folder.
      embedder: of the index.
      lexicon: of the index.
      model: held by whoever uses the embedder.
      kept: whether conversations are logged; else nothing is written.
    """
    return Attachments(config.folder / "attachments.db" if kept else None, embedder, lexicon, config, model)


def _is(suffix: str, content: bytes) -> bool:
    """Whether a file begins as its ending says."""
    if suffix == ".pdf":
        return b"%PDF-" in content[:1024]
    if suffix in (".docx", ".xlsx"):
        return content.startswith(b"PK\x03\x04")
    return content[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" not in content[:65536]
