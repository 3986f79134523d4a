"""One stuck message edited by a person: checked against kernel.xsd and the rules before anything of it is stored.

The edit is a campaign of one item: it has an author and a reason, may need a second person, and can be undone. What the
market sent is never overwritten.
"""

from __future__ import annotations

import difflib

from msgspec import Struct, structs

from energycomm.correction import campaign
from energycomm.correction.acting import NotDone, act, compared, judge_again, sorted_places, states_at
from energycomm.correction.cases import APPLIED, STUCK, Case, Found, read_cases
from energycomm.correction.planning import Planned, spread
from energycomm.correction.script import Modify
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading, rehearsal
from energycomm.eis.store import Store
from energycomm.errors import UserError
from energycomm.kernel.check import KernelChecker, explain
from energycomm.kernel.codec import decode, encode
from energycomm.kernel.counting import counted
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from energycomm.market.installed import Markets
from energycomm.pipeline.batch import BatchWriter


class Examined(Struct, frozen=True, kw_only=True):
    """What an edited message would come to; nothing is stored.

    Attributes:
      message_id: the message that is edited.
      refusals: why the text is no Kernel message that may take its place; empty when it is one.
      difference: what is changed, line by line; empty when nothing is.
      state: what the Kernel says of the edited message in its place; None while there are refusals.
      waits_for: what it would wait for.
      findings: what rules find in it, warnings too.
      freed: ids of messages that it frees, its own original among them.
      lost: ids of messages that would lose their acceptance by it.
    """

    message_id: int
    refusals: tuple[Refusal, ...]
    difference: str
    state: str | None = None
    waits_for: str | None = None
    findings: tuple[Found, ...] = ()
    freed: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()

    @property
    def fit(self) -> bool:
        """Whether it may be stored: a Kernel message, changed, that no rule refuses and that takes nothing away."""
        good = self.state in APPLIED or self.state == "quarantined"
        return not self.refusals and bool(self.difference) and good and not self.lost

    @property
    def words(self) -> str:
        """What it comes to, for a person."""
        if self.refusals:
            return "\n".join(str(refusal) for refusal in self.refusals)
        if not self.difference:
            return "nothing is changed"
        codes = sorted({found.code for found in self.findings if found.severity == "error"})
        told = " ".join([str(self.state), *codes, *([f"(waits for {self.waits_for})"] if self.waits_for else [])])
        lost = f"; {counted(len(self.lost), 'message')} would lose their acceptance" if self.lost else ""
        return f"{told}; frees {len(self.freed)} message{'' if len(self.freed) == 1 else 's'}{lost}"


class Unfit(UserError):
    """An edit that is not fit to be stored.

    Attributes:
      seen: what it would come to.
    """

    def __init__(self, message_id: int, seen: Examined) -> None:
        message = f"The edit of message {message_id} is not stored.\n{seen.words}"
        super().__init__(message)
        self.seen = seen


def editable(store: Store, markets: Markets, message_id: int) -> str:
    """The Kernel XML of a stuck message, one attribute a line, to be edited.

    Raises:
      UserError: there is no such message, it is not stuck, or a corrected version took its place.
    """
    return spread(encode(_case(store, markets, message_id).message)) + "\n"


def _case(store: Store, markets: Markets, message_id: int) -> Case:
    found = list(read_cases(store.engine, markets, [message_id]))
    if not found:
        raise UserError(f"There is no Kernel message {message_id}.", "`energycomm message list` lists them.")
    case = found[0]
    with reading(store.engine) as connection:
        sql = "SELECT max(id) FROM kernel_message WHERE corrects = ? AND state <> 'withdrawn'"
        ((version,),) = driver_of(connection).rows(sql, (message_id,))
    stuck = case.state in STUCK
    if version is not None:
        advice = "Edit that one." if stuck else "Look at that one."
        raise UserError(f"Message {message_id} was corrected before, by message {version}.", advice)
    if not stuck:
        raise UserError(
            f"Message {message_id} is not stuck: only a stuck message is edited.",
            f"`energycomm message show {message_id}` tells what became of it.",
        )
    return case


def examine(store: Store, writer: BatchWriter, message_id: int, xml: str) -> Examined:
    """Check an edited message and try it out; the store is as before.

    Args:
      store: the EIS.
      writer: the rules.
      message_id: the stuck message.
      xml: the Kernel XML that is to take its place.

    Raises:
      UserError: the message cannot be edited.
    """
    return _examined(store, writer, _case(store, writer.markets, message_id), xml)[0]


def _examined(store: Store, writer: BatchWriter, case: Case, xml: str) -> tuple[Examined, Planned | None]:
    message, refusals = _read(case, xml)
    if message is None:
        return Examined(message_id=case.id, refusals=refusals, difference=""), None
    difference = _difference(case.message, message)
    item = Planned(case, Modify(message, "edited by hand"))
    if not difference:
        return Examined(message_id=case.id, refusals=(), difference=""), item
    places = sorted_places(item.places)
    before = states_at(store, places, [case.id])
    with rehearsal(store.engine):
        try:
            with store.transaction() as tx:
                number = act(tx, case.id, item.action, "dry run", "edit") or case.id
        except NotDone as reason:
            raise UserError(f"Message {case.id} cannot be corrected: {reason}.") from None
        for market, identifier in places:
            judge_again(store, writer, market, identifier)
        (tried,) = read_cases(store.engine, writer.markets, [number])
        outcome = compared(before, states_at(store, places, list(before)))
    seen = Examined(
        message_id=case.id,
        refusals=(),
        difference=difference,
        state=tried.state,
        waits_for=tried.waits_for,
        findings=tried.findings,
        freed=outcome.freed,
        lost=outcome.lost,
    )
    return seen, item


def _read(case: Case, xml: str) -> tuple[KernelMessage | None, tuple[Refusal, ...]]:
    """The edited message, or why it may not take the place of the stored one."""
    refusals = explain(xml)
    if refusals:
        # Nobody sent it: a person typed it, and can only type it again.
        return None, tuple(structs.replace(one, advice="") for one in refusals)
    message = decode(xml)
    if isinstance(message, Refusal):
        return None, (message,)
    kept = (("kind", case.kind, type(message).__name__), ("market", case.message.market, message.market))
    for name, old, new in kept:
        if old != new:
            advice = "A message of another kind or market is another message: inject it."
            return None, (Refusal(code="EDIT_OTHER", path=f"/@{name}", value=new, expected=old, advice=advice),)
    (refusal,) = KernelChecker().check_batch([encode(message)])
    return (message, ()) if refusal is None else (None, (refusal,))


def _difference(old: KernelMessage, new: KernelMessage) -> str:
    before, after = spread(encode(old)).splitlines(), spread(encode(new)).splitlines()
    return "\n".join(difflib.unified_diff(before, after, "stored", "edited", lineterm="", n=1))


def edit(
    store: Store,
    writer: BatchWriter,
    message_id: int,
    xml: str,
    *,
    by: str,
    why: str,
    key: str | None = None,
    four_eyes: bool = False,
) -> campaign.CampaignRecord:
    """Store an edited message as a new version and replay it.

    Args:
      store: the EIS.
      writer: the rules.
      message_id: the stuck message.
      xml: the Kernel XML that takes its place.
      by: who edits.
      why: words for the record.
      key: idempotency key: a second edit with it does nothing, and its campaign is the answer.
      four_eyes: only record it; somebody else approves the campaign before it is run.

    Returns:
      The campaign; `planned` when a second person has to agree.

    Raises:
      UserError: no reason is given, the message cannot be edited, or the edit is not fit to be stored.
    """
    if not why.strip():
        raise UserError("Give a reason; it is recorded with the edit.")
    if key is not None and (known := campaign.by_key(store, key)) is not None:
        return campaign.show(store, known)
    seen, item = _examined(store, writer, _case(store, writer.markets, message_id), xml)
    if not seen.fit or item is None:
        raise Unfit(message_id, seen)
    number = campaign.start(store, None, [item], by=by, why=why, key=key)
    if four_eyes:
        return campaign.show(store, number)
    return campaign.run(store, writer, number)
