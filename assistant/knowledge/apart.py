"""Reading files of unknown origin in a process of its own, with bounds of memory and time.

A hostile file then costs a refusal: neither what it unpacks to, nor a fault in a parser, reaches the service.

    python -m assistant.knowledge.apart <TASK >RESULT        both MessagePack
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import suppress

import msgspec
from msgspec import Struct

from assistant.knowledge.documents import Document
from assistant.knowledge.loaders.contract import Failure
from assistant.knowledge.pdfpages import Page, show

MEMORY = 1 << 30
"""Bytes of address space of the process."""
SECONDS = 20
"""Seconds of processor time of the process; by the clock it has three times as long."""
LARGEST_RESULT = 32 << 20
AT_ONCE = 2
"""Processes at the same time; others wait."""


class Read(Struct, frozen=True, kw_only=True, tag=True):
    """Read a file as a document.

    Attributes:
      name: its name; the ending says the format.
      content: its bytes.
      source: name of the source of the document.
    """

    name: str
    content: bytes
    source: str


class ShowPage(Struct, frozen=True, kw_only=True, tag=True):
    """Make the picture of a page of a PDF.

    Attributes:
      content: bytes of the PDF.
      number: of the page, from 1.
      sentences: to be marked.
      cover: whether personal data and secrets are covered.
      names: names of people that are covered too.
    """

    content: bytes
    number: int
    sentences: tuple[str, ...]
    cover: bool
    names: tuple[str, ...] = ()


class _Of(Struct, frozen=True, kw_only=True):
    """What came of a task: one of the three."""

    document: Document | None = None
    page: Page | None = None
    failure: Failure | None = None


_slots = threading.BoundedSemaphore(AT_ONCE)


def read(task: Read) -> Document | Failure:
    """Read a file as a document; why not, where it cannot be read."""
    found = _outcome(task)
    return found.document or found.failure or _BROKEN


def page(task: ShowPage) -> Page | Failure:
    """The picture of a page of a PDF; why not, where there is none."""
    found = _outcome(task)
    return found.page or found.failure or _BROKEN


_BROKEN = Failure("", f"it takes more than {SECONDS} s or {MEMORY >> 20} MB to read, or breaks the reader")


def _outcome(task: Read | ShowPage) -> _Of:
    with _slots:
        try:
            done = subprocess.run(
                [sys.executable, "-m", "assistant.knowledge.apart"],
                input=msgspec.msgpack.encode(task),
                capture_output=True,
                timeout=3 * SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return _Of(failure=Failure("", f"it takes more than {3 * SECONDS} s to read"))
    if done.returncode or len(done.stdout) > LARGEST_RESULT:
        return _Of(failure=_BROKEN)
    return msgspec.msgpack.decode(done.stdout, type=_Of)


def _done(task: Read | ShowPage) -> _Of:
    from assistant.knowledge.loaders.folder import document_of

    if isinstance(task, ShowPage):
        shown = show(task.content, task.number, task.sentences, cover=task.cover, names=task.names)
        return _Of(page=shown) if isinstance(shown, Page) else _Of(failure=shown)
    found = document_of(task.name, task.content, source=task.source, address=task.name)
    return _Of(document=found) if isinstance(found, Document) else _Of(failure=found)


def _bounded() -> None:
    with suppress(ImportError, OSError, ValueError):  # no such limits on this system
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    """Do the task of the standard input."""
    # What a library prints is no part of the result.
    result = os.dup(1)
    os.dup2(2, 1)
    _bounded()
    task = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Read | ShowPage)
    try:
        found = _done(task)
    except (MemoryError, RecursionError):
        found = _Of(failure=Failure("", f"it needs more than {MEMORY >> 20} MB to read"))
    with os.fdopen(result, "wb") as out:
        out.write(msgspec.msgpack.encode(found))


if __name__ == "__main__":
    main()
