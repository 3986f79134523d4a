"""A second opinion about Kernel messages: read from the EIS or a file, written out, asked of a model.

It never decides. `shadow` keeps the EIS's table of predictions up to date from another process than the gateway's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from assistant.classifier.comments import Comments, sentences
from assistant.classifier.material import Case, Stored, cases, stored_messages
from assistant.classifier.models import comments_of, open_model
from assistant.classifier.port import LEAST_ACCEPTED, NO_OPINION, Prediction, Predictor, flow_of
from assistant.classifier.serialisation import BUDGET, Serialiser
from assistant.classifier.storage import read_model
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.predictions import PredictionRecord, predicted_upto, save_predictions
from energycomm.eis.store import Store
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.port import RuleEngine
from energycomm.errors import UserError
from energycomm.kernel.codec import decode
from energycomm.kernel.history import NO_HISTORY
from energycomm.kernel.instants import micros
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from energycomm.market.installed import Markets

BATCH = 500
"""Messages that are read and stored together."""

_NEXT = "SELECT id FROM kernel_message WHERE id > ? ORDER BY id LIMIT ?"
# What was accepted as it arrived has no row of that: no opinion is older.
_JUDGED_SINCE = (
    "SELECT DISTINCT p.message_id FROM prediction p JOIN state_change s ON s.message_id = p.message_id "
    "WHERE p.model = ? AND s.at > p.at ORDER BY p.message_id LIMIT ?"
)
_REJECTED = "SELECT id FROM kernel_message WHERE state = 'rejected' ORDER BY id DESC LIMIT ?"


class Opinion(Struct, frozen=True, kw_only=True):
    """What a model says of one message, beside what the rules said.

    Attributes:
      message_id: in the EIS; None for one of a file.
      kind, market: of the message.
      klass, error_code, comment: the answer, the codes as one string; `no opinion` on a flow of which the model saw too
        few accepted messages, with the reason as the comment.
      probability: that these codes and no others hold.
      abstained: it is not sure enough to answer.
      verdict: codes of the rules, `accepted`, or None where there is no verdict.
      agrees: whether both are the same; None where one of them is missing.
      model: name and version.
      text: what the model read.
    """

    message_id: int | None
    kind: str
    market: str
    klass: str
    error_code: str
    comment: str
    probability: float
    abstained: bool
    verdict: str | None
    agrees: bool | None
    model: str
    text: str


class Adviser:
    """Asks a model about messages.

    Args:
      folder: of the model.
      catalogue: the rules of today: they say what is read of a message, and word the comments.
      engine: the same rules.
      markets: the installed ones.
    """

    def __init__(self, folder: Path, catalogue: Catalogue, engine: RuleEngine, markets: Markets) -> None:
        state = read_model(folder)
        self.model: Predictor = open_model(folder)
        self.catalogue, self.engine, self.markets = catalogue, engine, markets
        self.serialiser = Serialiser(catalogue, int(state.get("tokens") or BUDGET))
        self.comments: Comments = comments_of(folder)
        self.flows: dict[str, int] | None = state.get("flows")
        self.rules = ", ".join(state.get("rules_versions") or ())
        self.name = f"{self.model.name} {state.get('version', '')}".strip()

    def opinions(self, store: Store, ids: Sequence[int]) -> list[Opinion]:
        """Opinions about stored messages, in the order of their ids; outgoing ones are left out."""
        found: list[Opinion] = []
        for start in range(0, len(ids), BATCH):
            stored = stored_messages(store, ids[start : start + BATCH])
            found += self.of_cases(list(cases(store, self.engine, self.markets, stored)))
        return sorted(found, key=lambda one: one.message_id or 0)

    def of_cases(self, found: Sequence[Case]) -> list[Opinion]:
        """Opinions about messages with their histories."""
        texts = [self.serialiser.forms(case.message, case.history, case.earlier)[self.model.form] for case in found]
        said = self.model.predict(texts)
        return [self._opinion(*three) for three in zip(found, texts, said, strict=True)]

    def of_file(self, path: Path) -> Opinion:
        """An opinion about the Kernel XML of a file, of whose access point nothing is known.

        Raises:
          UserError: the file is no Kernel message.
        """
        message = read_message(path)
        stored = Stored(0, message.market, type(message).__name__, micros(message.effective), None, (), "", 0, False)
        (opinion,) = self.of_cases([Case(stored, message, NO_HISTORY)])
        return opinion

    def records(self, opinions: Sequence[Opinion], at: datetime) -> list[PredictionRecord]:
        """Opinions as the EIS keeps them."""
        return [
            PredictionRecord(
                message_id=one.message_id,
                model=self.name,
                rules=self.rules[:64],
                codes=tuple(one.error_code.split(", ")) if one.error_code else (),
                probability=one.probability,
                abstained=one.abstained,
                agrees=one.agrees,
                comment=one.comment,
                at=at,
            )
            for one in opinions
            if one.message_id is not None
        ]

    def _opinion(self, case: Case, text: str, said: Prediction) -> Opinion:
        stored = case.stored
        verdict = (", ".join(stored.codes) or "accepted") if stored.judged else None
        known = LEAST_ACCEPTED if self.flows is None else self.flows.get(flow_of(text), 0)
        if known < LEAST_ACCEPTED:
            return Opinion(
                message_id=stored.id or None,
                kind=stored.kind,
                market=stored.market,
                klass=NO_OPINION,
                error_code="",
                comment=f"Only {known} accepted messages of {flow_of(text)} were there to learn from.",
                probability=0.0,
                abstained=True,
                verdict=verdict,
                agrees=None,
                model=self.name,
                text=text,
            )
        told = sentences(self.catalogue, case.message, case.history, said.codes) if said.codes else {}
        comment = " ".join(told[code][0] for code in said.codes if code in told)
        return Opinion(
            message_id=stored.id or None,
            kind=stored.kind,
            market=stored.market,
            klass=said.klass,
            error_code=", ".join(said.codes),
            comment=comment or said.comment or self.comments(said.codes, text),
            probability=round(said.probability, 4),
            abstained=said.abstained,
            verdict=verdict,
            agrees=None if verdict is None or said.abstained else said.codes == stored.codes,
            model=self.name,
            text=text,
        )


def read_message(path: Path) -> KernelMessage:
    """The Kernel message of a file.

    Raises:
      UserError: the file cannot be read, or holds none.
    """
    try:
        content = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UserError(f"{path} cannot be read: {why}.", "Name a file with Kernel XML, or a message's id.") from None
    found: Any = decode(content)
    if isinstance(found, Refusal):
        raise UserError(
            f"{path} is no Kernel message: {found}", "`energycomm message show ID` prints the Kernel XML of a message."
        )
    message: KernelMessage = found
    return message


def rejected_ids(store: Store, limit: int) -> list[int]:
    """The messages that were rejected last."""
    with reading(store.engine) as connection:
        return [row[0] for row in driver_of(connection).rows(_REJECTED, (limit,))]


def shadow(store: Store, adviser: Adviser, *, most: int | None = None) -> Iterator[tuple[int, int]]:
    """Bring the table of predictions up to date: new messages, then those that were judged again since.

    Args:
      store: the EIS. It is read; only the table of predictions is written, a batch a transaction.
      adviser: the model.
      most: messages at most; all when None.

    Yields:
      After each batch: messages that were asked about, and how many of them the model disagrees with.
    """
    left = most if most is not None else 1 << 62
    upto = predicted_upto(store.engine, adviser.name)
    while left > 0:
        with reading(store.engine) as connection:
            ids = [row[0] for row in driver_of(connection).rows(_NEXT, (upto, min(BATCH, left)))]
        if not ids:
            break
        upto = ids[-1]
        left -= len(ids)
        kept = _kept(store, adviser, ids)
        if kept[0]:  # outgoing messages are passed over
            yield kept
    done: set[int] = set()
    while left > 0:
        with reading(store.engine) as connection:
            rows = driver_of(connection).rows(_JUDGED_SINCE, (adviser.name, min(BATCH, left)))
        again = [row[0] for row in rows if row[0] not in done]
        if not again:  # nothing left, or a clock elsewhere runs ahead of ours
            break
        done.update(again)
        left -= len(again)
        yield _kept(store, adviser, again)


def _kept(store: Store, adviser: Adviser, ids: Sequence[int]) -> tuple[int, int]:
    opinions = adviser.opinions(store, ids)
    records = adviser.records(opinions, datetime.now(UTC))
    with store.transaction() as tx:
        save_predictions(tx, records)
    return len(records), sum(record.agrees is False for record in records)
