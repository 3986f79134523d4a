"""A simulated market: it accepts and refuses requests, answers late, twice and in the wrong order.

What it says is the market's own matter: a `Clerk` writes the documents of one decision. What becomes of them on the
way is the same in every market and is decided here, by the reference of the request: equal arguments give equal
answers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Literal, NamedTuple, Protocol

from lxml import etree

from energycomm.kernel import safexml
from energycomm.kernel.verdicts import Refusal

SECONDS_BETWEEN = 40
"""Seconds between two documents of one answer."""


class Asked(NamedTuple):
    """A request as the market received it.

    Attributes:
      kind: kind of Kernel message that it was built from.
      content: its bytes.
      reference: our reference, which answers repeat.
      at: when it was received.
    """

    kind: str
    content: bytes
    reference: str
    at: datetime

    @property
    def root(self) -> etree._Element:
        """The request as XML."""
        root = safexml.parse_bytes(self.content)
        if isinstance(root, Refusal):
            raise ValueError(f"request {self.reference} is no document: {root}")
        return root

    def number(self, letter: str) -> str:
        """The number that a market gives what the request opens: a letter or digit, and seven digits."""
        digest = hashlib.sha256(self.reference.encode()).digest()
        return f"{letter}{int.from_bytes(digest[:4], 'big') % 10**7:07d}"


class Document(NamedTuple):
    """One document of an answer: its name without number and ending, its bytes, the ending, and what it is: the answer,
    data that were ordered, or the report that ends the order."""

    name: str
    content: bytes
    suffix: str = ".xml"
    part: Literal["answer", "data", "report"] = "answer"


class Clerk(Protocol):
    """Who answers requests in a market."""

    def accept(self, asked: Asked, at: datetime) -> Sequence[Document]:
        """The documents of a request that is granted, in the order in which the market sends them."""

    def refuse(self, asked: Asked, at: datetime, choice: int) -> Sequence[Document]:
        """The documents of a request that is refused.

        Args:
          asked: the request.
          at: when it is answered.
          choice: which of the market's reasons, any number.
        """


@dataclass(frozen=True, slots=True)
class Manners:
    """How a market behaves: shares of the requests from 0 to 1.

    Attributes:
      refuse: are refused.
      late: are answered days later.
      twice: get every document of their answer twice.
      disorder: get the documents of their answer in the wrong order.
      unreported: of orders of data: the report never comes.
      incomplete: of orders of data: one of the files never comes.
      seed: of all chance.
    """

    refuse: float = 0.0
    late: float = 0.0
    twice: float = 0.0
    disorder: float = 0.0
    unreported: float = 0.0
    incomplete: float = 0.0
    seed: int = 1


class Delivery(NamedTuple):
    """A document to deliver: time of arrival and file name."""

    at: datetime
    reference: str
    document: Document


def answer(clerk: Clerk, requests: Iterable[Asked], manners: Manners | None = None) -> list[Delivery]:
    """All answers of a market to some requests, in the order of arrival.

    Args:
      clerk: of the market.
      requests: in any order.
      manners: how it behaves; nothing goes wrong without.
    """
    manners = manners or Manners()
    found = [delivery for asked in requests for delivery in _answer(clerk, asked, manners)]
    return sorted(found, key=lambda delivery: (delivery.at, delivery.reference, delivery.document.name))


def _lost(documents: list[Document], asked: Asked, manners: Manners) -> list[Document]:
    """The documents without those that never come."""
    rng = Random(f"lost {manners.seed} {asked.reference}")  # noqa: S311 - simulated chance
    unreported, incomplete = (rng.random() for _ in range(2))
    data = [document for document in documents if document.part == "data"]
    gone = [rng.choice(data)] if data and incomplete < manners.incomplete else []
    if unreported < manners.unreported:
        gone += [document for document in documents if document.part == "report"]
    return [document for document in documents if document not in gone]


def _answer(clerk: Clerk, asked: Asked, manners: Manners) -> Iterator[Delivery]:
    rng = Random(f"answers {manners.seed} {asked.reference}")  # noqa: S311 - simulated chance
    refused, late, twice, disorder = (rng.random() for _ in range(4))
    at = asked.at + timedelta(seconds=rng.randint(2, 90))
    if late < manners.late:
        at += timedelta(days=rng.randint(2, 9))
    if refused < manners.refuse:
        documents = list(clerk.refuse(asked, at, rng.randrange(1000)))
    else:
        documents = list(clerk.accept(asked, at))
    documents = _lost(documents, asked, manners)
    if disorder < manners.disorder:
        documents.reverse()
    if twice < manners.twice:
        documents += documents
    for number, document in enumerate(documents):
        yield Delivery(at + timedelta(seconds=number * SECONDS_BETWEEN), asked.reference, document)
