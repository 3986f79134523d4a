"""The EIS: what was rejected, why, and how it ended, so that a consultant finds how a like case was solved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from assistant.knowledge.documents import Document, Metadata
from assistant.knowledge.loaders.contract import Failure
from assistant.knowledge.writing import Writer
from energycomm.config import Config
from energycomm.eis.messages import MessageDetail, MessageFilter, list_messages, show_message
from energycomm.pipeline.opening import open_store

MOST_CASES = 5_000
"""Cases that are read, the newest first."""

STATES = ("rejected", "ticketed", "delegated", "treated", "engine_error")


class EisLoader:
    """The cases of the store: messages that were refused once, each a document.

    The identifiers of access points and the values of messages are left out or scrubbed: a case teaches by its error,
    its course and the words that people wrote of it.
    """

    def __init__(self, config: Config, source: str = "eis") -> None:
        self.source = source
        self._config = config

    def ids(self) -> Iterable[str]:
        """Numbers of the messages."""
        return [f"message-{number}" for number in self._numbers(None)]

    def load(self, ids: Iterable[str] | None = None) -> Iterator[Document | Failure]:
        """The cases as documents."""
        wanted = None if ids is None else {int(id.rpartition("-")[2]) for id in ids}
        numbers = self._numbers(None)
        with open_store(self._config) as store:
            for number in numbers:
                if wanted is None or number in wanted:
                    detail = show_message(store.engine, number)
                    if detail is not None and detail.findings:
                        yield case_document(detail, self.source)

    def poll(self, since: datetime) -> Iterable[str]:
        """Messages received since, and all that were refused before: their course may have gone on."""
        return self.ids()

    def _numbers(self, since: datetime | None) -> list[int]:
        found: list[int] = []
        with open_store(self._config) as store:
            for state in STATES:
                cursor = None
                while len(found) < MOST_CASES:
                    page = list_messages(
                        store.engine, MessageFilter(state=state, since=since), limit=500, cursor=cursor
                    )
                    found += [message.id for message in page.messages]
                    cursor = page.next
                    if cursor is None:
                        break
        return sorted(found)


def case_document(detail: MessageDetail, source: str) -> Document:
    """A case: the errors with their comments, each change of state with its reason, and how it ended."""
    summary = detail.summary
    writer = Writer()
    codes = tuple(dict.fromkeys(finding.error_code for finding in detail.findings))
    writer.heading(1, f"Case {summary.id}: {summary.kind} ({summary.type}) with {', '.join(codes)}")
    day = f"effective {summary.effective:%Y-%m-%d}" if summary.effective else "which bears no time"
    writer.paragraph(f"A {summary.kind} of the flow {summary.type}, {day}, is {summary.state}.")
    for finding in detail.findings:
        writer.paragraph(f"{finding.error_code} ({finding.rule}): {finding.comment}")
    if detail.changes:
        writer.heading(2, "What happened")
    for change in detail.changes:
        why = f": {change.why}" if change.why else ""
        writer.paragraph(
            f"{change.at:%Y-%m-%d}: {change.before or 'new'} to {change.after} by {change.by}{why}.", "item"
        )
    if detail.corrects is not None:
        writer.paragraph(f"It corrects the message {detail.corrects}.")
    return Document(
        id=f"message-{summary.id}",
        metadata=Metadata(
            source=source,
            address=f"energycomm message show {summary.id}",
            title=f"Case {summary.id}: {', '.join(codes)}",
            modified=(detail.changes[-1].at if detail.changes else summary.received_at).date(),
            market=summary.market,
            language="en",
        ),
        text=writer.text,
        blocks=writer.blocks,
    )
