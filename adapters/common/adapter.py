"""What every adapter does with a member whatever its form: an unknown label, a damaged stream, an explanation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import IO, cast

from msgspec import structs

from adapters.common.codes import Unreadable
from energycomm.kernel import safexml
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import Adapter, DocumentType, MemberHead, Series, Transaction


class MarketAdapter:
    """The part of `energycomm.market.contract.Adapter` that does not depend on the market. An adapter says how a
    member is split (`parts`), and where more can be said of a refused message than its digester did (`errors`).

    An object may be used by several threads at once.
    """

    types: Mapping[str, DocumentType]
    """Every document type the adapter digests, by label."""
    refusal: Callable[..., Refusal]
    """Makes a refusal of a code of the adapter's table."""
    answer_within: Mapping[str, timedelta] = {}
    service: Mapping[str, str] = {}
    scripts: Path | None = None
    simulator: str | None = None

    def parts(self, label: str, content: IO[bytes], name: str) -> Iterator[MemberHead | Transaction | Refusal]:
        """The head and the transactions of a member.

        Raises:
          Unreadable, safexml.Unreadable: the header cannot be read, or the member ends badly.
        """
        raise NotImplementedError

    def errors(self, label: str, content: IO[bytes], name: str, position: int) -> Sequence[Refusal]:
        """Every error of one CH message; what `digest` says of it where the adapter knows no more.

        Raises:
          Unreadable, safexml.Unreadable: as `parts`.
        """
        for part in self.digest(label, content, name):
            if isinstance(part, Refusal):
                return [part]
            if isinstance(part, Transaction) and part.position == position:
                return part.refusals
        return []

    def digest(self, label: str, content: IO[bytes], name: str) -> Iterator[MemberHead | Transaction | Refusal]:
        """Split one member into CH messages and digest each. See `energycomm.market.contract.Adapter.digest`.

        A refusal may also come after transactions, where the stream turns out to be damaged in the middle.

        Args:
          label: a label of `types`.
          content: the member; read once.
          name: file name, for messages.
        """
        if label not in self.types:
            yield self.refusal("TYPE_UNKNOWN", path=name, value=label, expected=", ".join(self.types))
            return
        try:
            yield from self.parts(label, content, name)
        except (Unreadable, safexml.Unreadable) as unreadable:
            refused = unreadable.refusal
            yield structs.replace(refused, path=f"{name}: {refused.path}" if refused.path else name)

    def explain(self, label: str, content: IO[bytes], name: str, position: int) -> Sequence[Refusal]:
        """Every error of one CH message, for a person. See `energycomm.market.contract.Adapter.explain`.

        Args:
          label: a label of `types`.
          content: the member; read as far as needed.
          name: file name, for messages.
          position: of the transaction, from 1.

        Returns:
          The errors; empty where the message is good or the member has no such position.
        """
        if label not in self.types:
            return [self.refusal("TYPE_UNKNOWN", path=name, value=label, expected=", ".join(self.types))]
        try:
            return self.errors(label, content, name, position)
        except (Unreadable, safexml.Unreadable) as unreadable:
            return [unreadable.refusal]

    def carriers(self, label: str, field: str) -> frozenset[str]:
        """The leaves that carry a field. See `energycomm.market.contract.Carrying`."""
        from adapters.common.coverage import carriers  # it reads schemas, which nothing else does

        return carriers(cast(Adapter, self), label, field)

    def series(self, name: str) -> Series | Refusal | None:
        """None: the names of this market's files tell no numbered series."""
        return None


def with_explained(explained: Sequence[Refusal], refused: Sequence[Refusal]) -> list[Refusal]:
    """What a schema explains, and what the digester refused beyond it.

    Args:
      explained: errors of the schema.
      refused: refusals of the digester.
    """
    seen = {found.code for found in explained}
    return [*explained, *(found for found in refused if found.code not in seen)]
