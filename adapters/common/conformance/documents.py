"""The checks of what an adapter reads: its types, and each of its fixtures, as it is and varied."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from importlib import import_module
from itertools import pairwise
from typing import IO, Any, cast
from zoneinfo import ZoneInfo

from adapters.common.conformance import variants
from adapters.common.conformance.findings import Check, Faults, NotShown, all_of_it, each_member, each_type
from adapters.common.conformance.subject import Read, Subject, Undigested, read, sniff, told
from adapters.common.coverage import LedgerFault, ledgered
from adapters.common.coverage import faults as ledger_faults
from adapters.common.schemaleaves import SchemaFault
from energycomm.kernel.check import explain
from energycomm.kernel.codec import encode
from energycomm.kernel.family import FUNCTION_RANK, RANK, is_incoming, kind_of
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import DIGEST_FAILED, LONGEST_NAME, MemberHead, Series, Sniff, Transaction

DAMAGES = 25
"""Damaged variants of one fixture, and as many of well-formed nonsense."""
MOST_LEAVES = 400
"""Leaves of one fixture that get another value."""
FIRST_WITHIN = 500_000
"""Bytes within which the first CH message has to come."""
STREAMED = 1_500_000
"""Bytes of a member that is read as a stream."""
_OF_HEADER = ("created", "receiver", "schema_version", "grid_operator", "status_code")
"""Fields that a header may say of itself, without a message being another for it."""


def _label(subject: Subject, name: str) -> str:
    label = subject.adapter.dispatch(sniff(name, subject.members[name]))
    if isinstance(label, Refusal):
        raise NotShown(f"dispatch refuses it: {told(label)}")
    return label


def _whole(subject: Subject, name: str) -> tuple[str, bytes, Read]:
    """A fixture that is digested: its label, its content, and what it gave."""
    label, content = _label(subject, name), subject.members[name]
    found = read(subject.adapter, content, name, label)
    if found.refusal is not None:
        raise NotShown(f"it is not digested: {told(found.refusal)}")
    return label, content, found


def _piece(
    subject: Subject, name: str, find: Callable[..., variants.Piece | None] = variants.piece_of
) -> tuple[str, bytes, Read, variants.Piece]:
    label, content, found = _whole(subject, name)

    def count(document: bytes) -> int:
        try:
            seen = read(subject.adapter, document, name, label)
        except Undigested:
            return -1
        return len(seen.transactions) if seen.refusal is None else -1

    key = (find, name)
    if key not in subject.kept:
        subject.kept[key] = find(content, count)
    piece: variants.Piece | None = subject.kept[key]
    if piece is None:
        raise NotShown("no element of it is a CH message that could stand twice")
    return label, content, found, piece


# --- the adapter and its types ---


def _contract(subject: Subject, _: None) -> Faults:
    adapter = subject.adapter
    if not (len(adapter.market) == 2 and adapter.market.isupper()):
        yield f"market is {adapter.market!r}, two capitals are expected"
    ZoneInfo(adapter.zone)
    for label, kind in adapter.types.items():
        if len(label) > LONGEST_NAME:
            yield f"the label {label} has more than {LONGEST_NAME} characters"
        if kind.label != label or not kind.versions or not kind.about:
            yield f"the type {label} has no label, versions or description of its own: {kind}"
    if strange := set(adapter.answer_within) - adapter.builds:
        yield f"answer_within names kinds that are not built: {', '.join(sorted(strange))}"
    if adapter.scripts is not None and not adapter.scripts.is_dir():
        yield f"there is no folder {adapter.scripts}"
    return f"{len(adapter.types)} types, {len(adapter.builds)} kinds of requests"


def _shown(subject: Subject, label: str) -> Faults:
    reached, refused = [], ""
    for name in subject.members:
        try:
            if _label(subject, name) != label:
                continue
            reached.append(name)
            found = read(subject.adapter, subject.members[name], name, label)
        except (NotShown, Undigested):
            continue
        if any(transaction.messages for transaction in found.transactions):
            return f"{len(reached)} fixtures"
        first = next((one for part in found.transactions for one in part.refusals), found.refusal)
        refused = told(first) if first is not None else ""
    kind = subject.adapter.types[label]
    twin = next((one for one in subject.adapter.types.values() if one.label != label and _alike(one, kind)), None)
    if twin is not None and not reached:
        yield f"{twin.label} has the same form, root and versions, and no fixture is told to be {label}"
    raise NotShown(f"no fixture of it gives a Kernel message; {refused}" if reached else "no fixture is of this type")


def _alike(one: Any, other: Any) -> bool:
    return bool(one.form == other.form and one.root == other.root and set(one.versions) & set(other.versions))


def _strangers(subject: Subject, _: None) -> Faults:
    strangers = (
        Sniff("letter.xml", "xml", "Letter", None),
        Sniff("letter.xml", "xml", "Letter", "urn:nobody"),
        Sniff("notes.json", "json", "a,b", None),
        Sniff("photo.jpg", "other"),
        Sniff("", "other"),
    )
    for stranger in strangers:
        answer = subject.adapter.dispatch(stranger)
        if not isinstance(answer, Refusal) or answer.code != "TYPE_NOT_OURS":
            yield f"{stranger} is answered with {answer}, TYPE_NOT_OURS is expected"
    found = read(subject.adapter, b"<x/>", label="no such label").refusal
    if found is None or found.code != "TYPE_UNKNOWN":
        yield f"digest of an unknown label gives {found}, TYPE_UNKNOWN is expected"
    return f"{len(strangers)} documents of nobody"


def _versions(subject: Subject, label: str) -> Faults:
    kind = subject.adapter.types[label]
    answer = subject.adapter.dispatch(Sniff("new.xml", "xml", kind.root, "urn:of:tomorrow:9"))
    if not isinstance(answer, Refusal) or answer.code != "VERSION_UNKNOWN":
        yield f"{kind.root} in an unknown namespace is answered with {answer}"
    return ""


def _codes(subject: Subject, _: None) -> Faults:
    try:
        table = import_module(f"{subject.package}.codes").CODES
    except (ImportError, AttributeError):
        yield f"there is no table CODES in {subject.package}.codes"
        return ""
    documented = {row.code for row in table}
    seen: set[str] = set()
    for name, content in subject.members.items():
        label = subject.adapter.dispatch(sniff(name, content))
        if isinstance(label, Refusal):
            seen.add(label.code)
            continue
        for one in (content, *variants.nonsense(content, 10)):
            seen |= read(subject.adapter, one, name, label).codes()
    for code in sorted(seen - documented):
        if not code.startswith("XML_"):
            yield f"{code} is in no row of {subject.package}.codes.CODES"
    return f"{len(seen)} codes seen"


def _ledger(subject: Subject, _: None) -> Faults:
    try:
        ledger = ledgered(subject.adapter)
        if ledger is None:
            raise NotShown("the adapter keeps no ledger")
        yield from ledger_faults(subject.adapter, ledger)
    except (LedgerFault, SchemaFault) as fault:
        yield str(fault)
        return ""
    if ledger.unknown:
        raise NotShown(f"no schema is known of {', '.join(ledger.unknown)}")
    return f"{len(ledger.documents)} documents"


# --- fixtures as they are ---


def _claimed(subject: Subject, name: str) -> Faults:
    seen = sniff(name, subject.members[name])
    label = subject.adapter.dispatch(seen)
    if isinstance(label, Refusal):
        yield f"dispatch refuses it: {told(label)}"
    elif label not in subject.adapter.types:
        yield f"dispatch says {label!r}, which is no label of the types"
    for other in subject.others:
        claim = other.dispatch(seen)
        if isinstance(claim, str):
            yield f"the market {other.market} claims it too, as {claim}"
    return str(label)


def _digested(subject: Subject, name: str) -> Faults:
    label = _label(subject, name)
    found = read(subject.adapter, subject.members[name], name, label)
    if found.refusal is not None:
        yield f"the member is refused: {told(found.refusal)}"
        return ""
    for field in ("type", "declared_version", "version", "sender", "receiver"):
        if len(getattr(found.head, field) or "") > LONGEST_NAME:
            yield f"{field} of its header has more than {LONGEST_NAME} characters: it cannot be stored"
    if not found.transactions:
        yield "there is no CH message in it"
    if [one.position for one in found.transactions] != list(range(1, len(found.transactions) + 1)):
        yield "the positions of its transactions do not count from 1"
    for one in found.transactions:
        if bool(one.messages) == bool(one.refusals):
            yield f"transaction {one.position} has to have either messages or refusals"
        if not one.reference or len(one.identity) != 16:
            yield f"transaction {one.position} has no reference, or an identity that is not 16 bytes"
        if any(not refused.path for refused in one.refusals):
            yield f"transaction {one.position} is refused without a path"
    messages = sum(len(one.messages) for one in found.transactions)
    refused = [one.refusals[0] for one in found.transactions if one.refusals]
    seen = f"{len(found.transactions)} CH messages, {messages} Kernel messages, {len(refused)} refused"
    return f"{seen}: {told(refused[0])}" if refused else seen


def _messages(subject: Subject, name: str) -> Faults:
    _, _, found = _whole(subject, name)
    kinds: set[str] = set()
    for one in found.transactions:
        for message in one.messages:
            kind = kind_of(message)
            kinds.add(kind)
            yield from (f"{kind}: {told(refused)}" for refused in explain(encode(message)))
            if not is_incoming(kind):
                yield f"{kind} is a kind that we send"
            for field, value in (
                ("market", subject.adapter.market), ("reference", one.reference),
                ("access_point", one.access_point), ("sender", one.sender),
            ):  # fmt: skip
                if getattr(message, field) != value:
                    yield f"{kind}.{field} is {getattr(message, field)!r}, that of its transaction {value!r}"
        for earlier, later in pairwise(one.messages):
            if _order(earlier) > _order(later):
                yield f"{kind_of(later)} comes after {kind_of(earlier)}, which business order puts later"
    return ", ".join(sorted(kinds))


def _order(message: KernelMessage) -> tuple[datetime, int, int]:
    return message.effective, RANK.get(kind_of(message), 99), FUNCTION_RANK[message.function]


def _identities(subject: Subject, name: str) -> Faults:
    label, content, found = _whole(subject, name)
    first = found.identities()
    by_identity: dict[bytes, tuple[KernelMessage, ...]] = {}
    for one in found.transactions:
        if by_identity.setdefault(one.identity, one.messages) != one.messages:
            yield f"transaction {one.position} has the identity of another one with other messages"
    copies = [("read again", content), ("with other white space", variants.rewritten(content))]
    later = variants.written_later(content, found.head.created if found.head else None)
    if later is not None:
        copies.append(("written at another time", later))
    for what, copy in copies:
        again = read(subject.adapter, copy, name, label)
        if again.identities() != first and again.refusal is None:
            yield f"{what} it has other identities"
    renamed = read(subject.adapter, content, f"again-{name}", label).transactions
    for one, other in zip(found.transactions, renamed, strict=False):
        if one.identity != other.identity and one.messages == other.messages:
            yield "under another name it has the same messages and other identities"
    return ", ".join(what for what, _ in copies)


def _other_values(subject: Subject, name: str) -> Faults:
    label, content, found = _whole(subject, name)
    seen = {one.identity: one.messages for one in found.transactions}
    tried = 0
    for leaf, changed in variants.other_values(content):
        tried += 1
        if tried > MOST_LEAVES:
            break
        for one in read(subject.adapter, changed, name, label).transactions:
            known = seen.get(one.identity)
            if known is not None and one.messages and _told_by(known) != _told_by(one.messages):
                yield f"{leaf} changes a message and not the identity"
    return f"{tried} values changed"


def _told_by(messages: Sequence[KernelMessage]) -> list[str]:
    """Messages without what the member's header says of itself."""
    told_fields = [
        {field: getattr(one, field) for field in one.__struct_fields__ if field not in _OF_HEADER} for one in messages
    ]
    return [repr(fields) for fields in told_fields]


def _explained(subject: Subject, name: str) -> Faults:
    label, content, found = _whole(subject, name)
    for one in found.transactions:
        answer = subject.adapter.explain(label, io.BytesIO(content), name, one.position)
        errors = [refused for refused in answer if not refused.code.startswith("NOTE_")]
        if bool(errors) != bool(one.refusals):
            yield f"transaction {one.position} has {len(one.refusals)} refusals, explain tells {len(errors)}"
    return f"{len(found.transactions)} CH messages"


def _series(subject: Subject, name: str) -> Faults:
    answer = subject.adapter.series(name)
    if answer != subject.adapter.series(name):
        yield "its name tells another series when it is asked again"
    return f"{answer.key} {answer.number}" if isinstance(answer, Series) else ""


def _refused(subject: Subject, name: str) -> Faults:
    content = subject.refused[name]
    label = subject.adapter.dispatch(sniff(name, content))
    if isinstance(label, Refusal):
        return told(label)
    found = read(subject.adapter, content, name, label)
    if found.refusal is None:
        yield "it is read, though it stands among those that have to be refused"
        return ""
    if any(one.messages for one in found.transactions):
        yield "Kernel messages came of it before it was refused"
    return told(found.refusal)


# --- fixtures varied ---


def _twice(subject: Subject, name: str) -> Faults:
    label, _, found, piece = _piece(subject, name)
    doubled = read(subject.adapter, piece.document(piece.content, piece.content), name, label).identities()
    rest = list(doubled)
    for identity in found.identities():
        if identity in rest:
            rest.remove(identity)
    if len(rest) != 1 or doubled.count(rest[0]) < 2:
        yield "of two equal CH messages in one member each has an identity of its own"
    return ""


def _neighbours(subject: Subject, name: str) -> Faults:
    label, _, found, piece = _piece(subject, name)
    beside = read(subject.adapter, piece.document(piece.hollow, piece.content), name, label)
    if beside.refusal is not None:
        yield f"a CH message that holds nothing known ends the member: {told(beside.refusal)}"
        return ""
    kept = [(one.identity, bool(one.messages)) for one in beside.transactions]
    for one in found.transactions:
        if (one.identity, bool(one.messages)) not in kept:
            yield f"transaction {one.position} is not what it is without a bad one beside it"
    if len(kept) not in (len(found.transactions), len(found.transactions) + 1):
        yield f"with one more beside it {len(found.transactions)} CH messages become {len(kept)}"
    return "" if any(one.refusals for one in beside.transactions) else "an empty CH message is taken"


def _truncated(subject: Subject, name: str) -> Faults:
    label, content, found = _whole(subject, name)
    form = variants.form(content)
    whole, content = found.identities(), content.rstrip()
    for length in (0, 1, len(content) // 3, len(content) // 2, len(content) * 9 // 10, len(content) - 1):
        cut = read(subject.adapter, content[:length], name, label)
        if form != "other" and cut.refusal is None:
            yield f"cut to {length} of {len(content)} bytes it is not refused"
        elif form == "xml" and cut.refusal is not None and not cut.refusal.code.startswith("XML_"):
            yield f"cut to {length} bytes it is refused with {cut.refusal.code}, a code XML_ is expected"
        if form != "other" and cut.identities() != whole[: len(cut.transactions)]:
            yield f"cut to {length} bytes its first transactions are others"
    return form


def _wrong_root(subject: Subject, name: str) -> Faults:
    label, content, _ = _whole(subject, name)
    form = variants.form(content)
    for letter in (b"<Letter/>", b"<Letter><a>1</a></Letter>") if form == "xml" else (b"{}", b'{"Letter": {}}', b"[]"):
        found = read(subject.adapter, letter, name, label)
        if found.refusal is None or found.transactions:
            yield f"{letter.decode()} is not refused"
    return ""


def _headless(subject: Subject, name: str) -> Faults:
    label, _, found, piece = _piece(subject, name)
    bare = variants.beside_removed(piece)
    answer = read(subject.adapter, bare, name, label)
    if answer.refusal is not None:
        if answer.transactions:
            yield "it is refused after transactions came"
        return told(answer.refusal)
    first = [message for one in found.transactions[:1] for message in one.messages]
    for message, without in zip(first, [one for part in answer.transactions for one in part.messages], strict=False):
        for field in ("sender", "receiver", "created"):
            if getattr(message, field) != getattr(without, field):
                yield f"without what stands beside the CH message, {field} is another, and nothing is refused"
    return "nothing of the header is needed"


def _hostile(subject: Subject, name: str) -> Faults:
    label, content, _ = _whole(subject, name)
    tried = 0
    for what, document in variants.hostile(content):
        tried += 1
        found = read(subject.adapter, document, name, label)
        if found.refusal is None:
            yield f"{what}: it is not refused"
    return f"{tried} documents"


def _damaged(subject: Subject, name: str) -> Faults:
    label, content, _ = _whole(subject, name)
    for broken in variants.damaged(content, DAMAGES):
        if DIGEST_FAILED in read(subject.adapter, broken, name, label).codes():
            yield "the digester fails on damaged bytes (DIGEST_FAILED)"
    for broken in variants.nonsense(content, DAMAGES):
        found = read(subject.adapter, broken, name, label)
        for one in found.transactions:
            failed = next((refused for refused in one.refusals if refused.code == DIGEST_FAILED), None)
            if failed is not None:
                yield f"the digester fails on well-formed nonsense: {told(failed)}"
            for message in one.messages:
                wrong = [refused for refused in explain(encode(message)) if refused.code != "KERNEL_XML_VALUE"]
                yield from (f"of well-formed nonsense comes no {kind_of(message)}: {told(one)}" for one in wrong)
    return f"{2 * DAMAGES} variants"


class _Counted(io.RawIOBase):
    """A stream that is made while it is read, and counts what it gave."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts, self._left, self.given, self.whole = parts, b"", 0, False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        self.whole = self.whole or size < 0
        while size < 0 or len(self._left) < size:
            part = next(self._parts, b"")
            if not part:
                break
            self._left += part
        given, self._left = (self._left, b"") if size < 0 else (self._left[:size], self._left[size:])
        self.given += len(given)
        return given


def _digestible(subject: Subject) -> Iterator[tuple[str, str]]:
    """The fixtures that are not refused as wholes: those are told by the checks `claim` and `digest`."""
    for name in subject.members:
        # What else the adapter raises is told by the check that is made.
        refused = False
        with suppress(Exception):
            refused = _is_refused(subject, name)
        if not refused:
            yield name, name


def _is_refused(subject: Subject, name: str) -> bool:
    try:
        _whole(subject, name)
    except (NotShown, Undigested):
        return True
    return False


def _refused_ones(subject: Subject) -> Iterator[tuple[str, str]]:
    yield from ((name, name) for name in subject.refused)


def _xml_types(subject: Subject) -> Iterator[tuple[str, str]]:
    yield from ((label, label) for label, kind in subject.adapter.types.items() if kind.form == "xml")


def _xml(subject: Subject) -> Iterator[tuple[str, str]]:
    yield from ((name, of) for name, of in _digestible(subject) if variants.form(subject.members[name]) == "xml")


def _xml_and_json(subject: Subject) -> Iterator[tuple[str, str]]:
    yield from ((name, of) for name, of in _digestible(subject) if variants.form(subject.members[name]) != "other")


def _largest(subject: Subject) -> Iterator[tuple[str, str]]:
    """The largest fixture of each type."""
    found: dict[str, str] = {}
    for name, _ in sorted(_digestible(subject), key=lambda item: len(subject.members[item[0]])):
        found[_label(subject, name)] = name
    yield from ((name, name) for name in found.values())


def _streamed(subject: Subject, name: str) -> Faults:
    label, _, _, piece = _piece(subject, name, variants.repeatable)
    times = max(2, STREAMED // len(piece.content))
    stream = _Counted(piece.times(times))
    early = count = 0
    for part in subject.adapter.digest(label, cast("IO[bytes]", stream), name):
        if isinstance(part, Refusal):
            yield f"{times} CH messages in one member are refused: {told(part)}"
        count += isinstance(part, Transaction)
        if count == 1 and not early:
            early = stream.given
        assert isinstance(part, MemberHead | Transaction | Refusal)
    if stream.whole or early > max(FIRST_WITHIN, 3 * len(piece.content)):
        yield f"the first CH message comes after {early} bytes of {stream.given} were read"
    if count < times:
        yield f"of {times} CH messages {count} come out"
    return f"{count} CH messages"


MOVE = "what has to be refused as a whole goes to the folder `refused`."
SEE = "See the contract in docs/adapters.md"

CHECKS: tuple[Check, ...] = (
    Check("contract", "The adapter says what the contract wants of it.", f"{SEE}: attributes.", all_of_it, _contract),
    Check("type", "A type is shown by a fixture that gives a Kernel message.",
          "Add a fixture of it.", each_type, _shown),
    Check("stranger", "What is of no type is refused.", "Answer TYPE_NOT_OURS, TYPE_UNKNOWN.", all_of_it, _strangers),
    Check("version", "A known root in an unknown namespace is an unknown version.",
          "Answer VERSION_UNKNOWN.", _xml_types, _versions),
    Check("claim", "A fixture is of a type of this market, and of no other market.",
          f"Recognise it by root, namespace, parties or guide; {MOVE}", each_member, _claimed),
    Check("digest", "A fixture is split into CH messages, each digested or refused with the place.",
          f"Correct the table or the digester; {MOVE}", each_member, _digested),
    Check("refused", "A document in the folder `refused` is refused as a whole.",
          "Say which leaves of the header are needed; check root and version.", _refused_ones, _refused),
    Check("message", "Kernel messages are valid, incoming, of their transaction, and in business order.",
          f"{SEE}: properties 5 and 6.", _digestible, _messages),
    Check("identity", "White space, name and time of writing change no identity.",
          f"{SEE}: property 2. Leave what changes with a delivery out of the identity.", _digestible, _identities),
    Check("other value", "What changes a Kernel message changes the identity.",
          f"{SEE}: property 2. Take all that reaches a message into the identity.", _digestible, _other_values),
    Check("duplicate", "Of two equal CH messages in one member both have the one identity.",
          f"{SEE}: property 2. Leave position and neighbours out of the identity.", _digestible, _twice),
    Check("neighbour", "One bad CH message affects no other.", f"{SEE}: property 1.", _digestible, _neighbours),
    Check("explain", "explain tells errors of refused CH messages, and none of good ones.",
          "Let explain look at what digest looks at.", _digestible, _explained),
    Check("series", "The name of a file tells the same series each time.", f"{SEE}: series.", each_member, _series),
    Check("truncated", "A document that was cut ends in a refusal, after CH messages that were whole.",
          "Read to the end of the stream; raise Unreadable.", _digestible, _truncated),
    Check("wrong root", "A document of another root is refused.", "Look at the root.", _xml_and_json, _wrong_root),
    Check("header", "Without what stands beside the CH messages a member is refused, or nothing of it was needed.",
          "Say which leaves of the header are needed.", _xml, _headless),
    Check("hostile", "A document made to do harm is refused.",
          "Read by energycomm.kernel.safexml, or by adapters.common.jsonform.", _xml_and_json, _hostile),
    Check("damage", "Damaged documents and well-formed nonsense are refused; nothing fails.",
          "Check what is read before it is used.", _digestible, _damaged),
    Check("stream", "CH messages come while the stream is read, in constant memory.",
          "Split by energycomm.kernel.safexml.iterate or adapters.common.jsonform.", _largest, _streamed),
    Check("code", "Every code of a refusal is in the adapter's table.", "Add a row to CODES.", all_of_it, _codes),
    Check("ledger", "Every leaf of the schemas is carried, kept as a particular, or left out with a reason.",
          "`energycomm adapter coverage --leaves` shows them; docs/adapters.md says how to place them.",
          all_of_it, _ledger),
)  # fmt: skip
"""What is checked of the reading of documents."""
