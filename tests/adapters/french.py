"""Helpers of the French tests: the fixtures, edited copies of them, and short ways to what came of them."""

from __future__ import annotations

from typing import TypeVar

from adapters.common.conformance.subject import Read, read
from adapters.fr_enedis import adapter
from energycomm.kernel.messages import KernelMessage
from energycomm.market.contract import Transaction
from tests.adapters.subjects import FIXTURES

Kind = TypeVar("Kind", bound=KernelMessage)


def content(name: str, *edits: tuple[str, str]) -> bytes:
    """A French fixture with edits; each must find its text.

    Args:
      name: file name in fixtures/fr.
      edits: pairs (text, instead), the first occurrence of each.
    """
    text = (FIXTURES / "fr" / name).read_text(encoding="utf-8")
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text.encode()


def digest(name: str, *edits: tuple[str, str]) -> Read:
    """What comes of a fixture with edits."""
    return read(adapter, content(name, *edits), name)


def only(transaction: Transaction, kind: type[Kind]) -> list[Kind]:
    """The transaction's messages of a kind; it must not have been refused."""
    assert not transaction.refusals, transaction.refusals
    return [message for message in transaction.messages if isinstance(message, kind)]


def kinds(transaction: Transaction) -> list[str]:
    """Names of the kinds of a transaction's messages, in order."""
    assert not transaction.refusals, transaction.refusals
    return [type(message).__name__ for message in transaction.messages]


def codes(transaction: Transaction) -> list[str]:
    """Codes of a transaction's refusals and notes."""
    return [refused.code for refused in (*transaction.refusals, *transaction.notes)]
