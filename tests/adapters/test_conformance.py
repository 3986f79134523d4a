"""What every market adapter owes the gateway: the suite of `energycomm adapter check` on our markets and the fictive
one, what of them only a person knows, and that the suite finds what is wrong. A new adapter of ours joins by a line in
`tests.adapters.subjects.SUBJECTS`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import IO, Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from msgspec import structs

from adapters.common.conformance import variants
from adapters.common.conformance.findings import Check, Finding, findings
from adapters.common.conformance.subject import Subject as Tried
from adapters.common.conformance.subject import read, sniff
from adapters.common.conformance.suite import CHECKS
from energycomm.kernel.check import explain
from energycomm.kernel.codec import encode
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import Adapter, MemberHead, OutgoingMessage, Sniff, Transaction
from tests.adapters.subjects import SUBJECTS, Repeated

CASES = [(name, path) for name, subject in SUBJECTS.items() for path in subject.members()]
EVERY_CASE = [(name, path) for name, subject in SUBJECTS.items() for path in subject.every_member()]
each_adapter = pytest.mark.parametrize("name", SUBJECTS)
NOT_SHOWN = {
    "be_atrias": {"duplicate", "neighbour", "stream"},
    "dk_energinet": {"duplicate", "neighbour", "header", "stream", "answer"},
    "fr_enedis": {"duplicate", "neighbour", "header", "stream", "request schema"},
    "ruritania": {"answer"},
}
"""Checks that cannot be made on some of a market's fixtures: EDIFACT counts its messages, an answer of a service is one
message, a Danish acknowledgement is one too, no schema of the SGE's requests is in the package, Ruritania and Denmark
have no simulator."""
MEASURED = {"ledger"}
"""Checks that other tests make: tests/adapters/test_coverage.py."""

each_member = pytest.mark.parametrize(("name", "path"), CASES, ids=[f"{name}-{path.name}" for name, path in CASES])
each_member_of_pieces = pytest.mark.parametrize(
    ("name", "path"),
    [case for case in CASES if SUBJECTS[case[0]].first_piece(case[1].read_bytes())],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
each_member_of_any_form = pytest.mark.parametrize(
    ("name", "path"), EVERY_CASE, ids=[f"{name}-{path.name}" for name, path in EVERY_CASE]
)


LONG = {"stream"}
"""Checks that read a million and a half bytes of each fixture."""


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=check.name, marks=[pytest.mark.thorough] if check.name in LONG else [])
        for check in CHECKS
        if check.name not in MEASURED
    ],
)
@each_adapter
def test_the_suite_finds_nothing_wrong(name: str, check: Check) -> None:
    found = list(findings(SUBJECTS[name].tried(), [check]))
    assert [one for one in found if one.outcome == "failed"] == []
    if check.name not in NOT_SHOWN.get(name, ()):
        assert [one for one in found if one.outcome == "not shown"] == []


@each_member
def test_a_second_delivery_has_the_same_identities(name: str, path: Path) -> None:
    subject, content = SUBJECTS[name], path.read_bytes()
    first = [transaction.identity for transaction in read(subject.adapter, content).transactions]
    assert len(set(first)) == len(first)
    for again in (
        content,
        subject.restamp(content),
        variants.rewritten(content),
        variants.rewritten(subject.restamp(content)),
    ):
        assert [transaction.identity for transaction in read(subject.adapter, again).transactions] == first


@each_member
def test_a_member_without_its_header_is_refused(name: str, path: Path) -> None:
    subject, content = SUBJECTS[name], path.read_bytes()
    root = etree.fromstring(content)
    root.remove(next(child for child in root if isinstance(child.tag, str)))
    found = read(subject.adapter, etree.tostring(root))
    assert found.refusal is not None
    assert found.refusal.code == "HEADER_MISSING"
    assert found.transactions == []


@each_member_of_pieces
def test_one_bad_transaction_harms_no_neighbour(name: str, path: Path) -> None:
    """A piece that holds nothing at all stands before the others: they are read as without it."""
    subject, content = SUBJECTS[name], path.read_bytes()
    piece = subject.first_piece(content)
    assert piece is not None
    plain = read(subject.adapter, content)
    opening = content[piece[0] : content.index(b">", piece[0]) + 1]
    tag = opening[1:-1].split()[0]
    hollow = opening + b"<nonsense>1</nonsense></" + tag + b">"
    found = read(subject.adapter, content[: piece[0]] + hollow + content[piece[0] :])
    assert found.transactions[0].refusals
    assert [kept.identity for kept in found.transactions[1:]] == [kept.identity for kept in plain.transactions]
    assert [bool(kept.messages) for kept in found.transactions[1:]] == [
        bool(kept.messages) for kept in plain.transactions
    ]


@each_member_of_any_form
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_damaged_members_never_raise(name: str, path: Path, data: st.DataObject) -> None:
    subject, content = SUBJECTS[name], bytearray(path.read_bytes())
    label = str(subject.adapter.dispatch(sniff(path.name, bytes(content))))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 30))] = data.draw(st.binary(max_size=12) | st.just(b"<x/>"))
    found = read(subject.adapter, bytes(content), label=label)
    assert {code for code in found.codes() if not code.startswith("XML_")} <= subject.codes - {"DIGEST_FAILED"}


@each_member
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_well_formed_nonsense_is_refused_and_never_a_fault_of_the_adapter(
    name: str, path: Path, data: st.DataObject
) -> None:
    """Elements vanish, double, swap or get other texts: the schema and the digesters say what is wrong."""
    subject = SUBJECTS[name]
    root = etree.fromstring(path.read_bytes())
    elements = [element for element in root.iter(etree.Element) if element is not root]
    for _ in range(data.draw(st.integers(1, 3))):
        victim = elements[data.draw(st.integers(0, len(elements) - 1))]
        parent = victim.getparent()
        if parent is None:
            continue
        what = data.draw(st.sampled_from(("remove", "double", "empty", "text")))
        if what == "remove":
            parent.remove(victim)
        elif what == "double":
            parent.append(etree.fromstring(etree.tostring(victim, with_tail=False)))
        elif what == "empty":
            victim.clear()
        else:
            text = st.sampled_from(("0", "-1", "9" * 30, "0001-01-01", "9999-12-31T24:00:00Z", "é", " ", "x" * 500))
            victim.text = data.draw(text)
    content = etree.tostring(root)
    found = read(subject.adapter, content, label=str(subject.adapter.dispatch(sniff(path.name, path.read_bytes()))))
    assert "DIGEST_FAILED" not in found.codes()
    for transaction in found.transactions:
        for message in transaction.messages:
            # A value past the bounds of its field is refused by the Kernel; all else is the digester's work.
            assert {refusal.code for refusal in explain(encode(message))} <= {"KERNEL_XML_VALUE"}


@pytest.mark.thorough
@each_adapter
def test_large_members_stream_in_constant_memory(name: str) -> None:
    """Forty megabytes pass through; neither what is read ahead nor the process grows with them."""
    subject = SUBJECTS[name]
    path = max(subject.members(), key=lambda candidate: candidate.stat().st_size)
    content = path.read_bytes()
    piece = subject.first_piece(content)
    assert piece is not None
    label = str(subject.adapter.dispatch(sniff(path.name, content)))
    times = 40_000_000 // (piece[1] - piece[0])
    stream = Repeated(content, piece, times)
    count, early = 0, 0
    for part in subject.adapter.digest(label, cast("IO[bytes]", stream), path.name):
        assert isinstance(part, MemberHead | Transaction)
        count += isinstance(part, Transaction)
        if count == 1 and not early:
            early = stream.given
        if count == times // 4:
            quarter = _resident()
    assert count >= times
    assert early < 1_000_000
    assert _resident() - quarter < 12_000_000


def _resident() -> int:
    """Bytes of memory that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


# --- the suite finds what is wrong ---


class Faulty:
    """The fictive market's adapter with one fault."""

    def __getattr__(self, name: str) -> Any:
        return getattr(SUBJECTS["ruritania"].adapter, name)

    def digest(self, label: str, content: IO[bytes], name: str) -> Iterator[MemberHead | Transaction | Refusal]:
        yield from SUBJECTS["ruritania"].adapter.digest(label, content, name)


class _TakesAll(Faulty):
    def dispatch(self, sniff: Sniff) -> str | Refusal:
        return "Dispatch"


class _Changing(Faulty):
    """Its transactions are changed by what stands before them."""

    def changed(self, one: Transaction, head: MemberHead, name: str) -> Transaction:
        raise NotImplementedError

    def digest(self, label: str, content: IO[bytes], name: str) -> Iterator[MemberHead | Transaction | Refusal]:
        head = None
        for part in super().digest(label, content, name):
            head = part if isinstance(part, MemberHead) else head
            yield self.changed(part, cast("MemberHead", head), name) if isinstance(part, Transaction) else part


def _mixed(identity: bytes, *more: object) -> bytes:
    return bytes((one + sum(repr(more).encode())) % 256 for one in identity)


class _KnownByPosition(_Changing):
    def changed(self, one: Transaction, head: MemberHead, name: str) -> Transaction:
        return structs.replace(one, identity=_mixed(one.identity, one.position * 7))


class _KnownByTime(_Changing):
    def changed(self, one: Transaction, head: MemberHead, name: str) -> Transaction:
        return structs.replace(one, identity=_mixed(one.identity, head.created))


class _KnownByName(_Changing):
    def changed(self, one: Transaction, head: MemberHead, name: str) -> Transaction:
        return structs.replace(one, identity=_mixed(one.identity, name))


class _KnownByReference(_Changing):
    def changed(self, one: Transaction, head: MemberHead, name: str) -> Transaction:
        return structs.replace(one, identity=one.reference.encode().ljust(16)[:16])


class _OfNobody(_Changing):
    def changed(self, one: Transaction, head: MemberHead, name: str) -> Transaction:
        return structs.replace(one, sender="SOMEBODY")


class _Outgoing(_Changing):
    def changed(self, one: Transaction, head: MemberHead, name: str) -> Transaction:
        refused = tuple(structs.replace(refusal, code="OWN-1") for refusal in one.refusals)
        return structs.replace(one, refusals=refused)


class _Raises(Faulty):
    def digest(self, label: str, content: IO[bytes], name: str) -> Iterator[MemberHead | Transaction | Refusal]:
        held = content.read()
        etree.fromstring(held)
        yield from super().digest(label, BytesIO(held), name)


class _ReadsWhole(Faulty):
    def digest(self, label: str, content: IO[bytes], name: str) -> Iterator[MemberHead | Transaction | Refusal]:
        yield from super().digest(label, BytesIO(content.read()), name)


class _SwallowsTheEnd(Faulty):
    def digest(self, label: str, content: IO[bytes], name: str) -> Iterator[MemberHead | Transaction | Refusal]:
        for part in super().digest(label, content, name):
            if not isinstance(part, Refusal):
                yield part


class _StopsAtTheFirstBadOne(Faulty):
    def digest(self, label: str, content: IO[bytes], name: str) -> Iterator[MemberHead | Transaction | Refusal]:
        for part in super().digest(label, content, name):
            yield part
            if isinstance(part, Transaction) and part.refusals:
                return


class _ExplainsNothing(Faulty):
    def explain(self, label: str, content: IO[bytes], name: str, position: int) -> Sequence[Refusal]:
        return []


class _CrashesOnWhatIsComplete(Faulty):
    def build(self, message: KernelMessage, reference: str) -> OutgoingMessage | Refusal:
        if message.access_point is not None:
            raise KeyError(message.access_point)
        return SUBJECTS["ruritania"].adapter.build(message, reference)


class _WritesWhatTheSchemaRefuses(Faulty):
    def build(self, message: KernelMessage, reference: str) -> OutgoingMessage | Refusal:
        built = SUBJECTS["ruritania"].adapter.build(message, reference)
        if isinstance(built, Refusal):
            return built
        return structs.replace(built, content=built.content.replace(b"<Day>", b"<Tag>").replace(b"</Day>", b"</Tag>"))


class _NeverTheSame(Faulty):
    def __init__(self) -> None:
        self.times = 0

    def build(self, message: KernelMessage, reference: str) -> OutgoingMessage | Refusal:
        built = SUBJECTS["ruritania"].adapter.build(message, reference)
        self.times += 1
        if isinstance(built, Refusal):
            return built
        return structs.replace(built, content=built.content + b" " * self.times)


class _NamesNothing(Faulty):
    zone = "Europe/Strelsau"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("faulty", "failing"),
    [
        (_TakesAll, "stranger"),
        (_TakesAll, "version"),
        (_KnownByPosition, "duplicate"),
        (_KnownByTime, "identity"),
        (_KnownByName, "identity"),
        (_KnownByReference, "other value"),
        (_OfNobody, "message"),
        (_Outgoing, "code"),
        (_Raises, "truncated"),
        (_Raises, "damage"),
        (_ReadsWhole, "stream"),
        (_SwallowsTheEnd, "truncated"),
        (_SwallowsTheEnd, "hostile"),
        (_StopsAtTheFirstBadOne, "neighbour"),
        (_ExplainsNothing, "explain"),
        (_CrashesOnWhatIsComplete, "complete request"),
        (_NeverTheSame, "complete request"),
        (_WritesWhatTheSchemaRefuses, "request schema"),
        (_NamesNothing, "contract"),
    ],
)
def test_the_suite_finds_a_fault(faulty: type[Faulty], failing: str) -> None:
    assert _failed(faulty(), failing), f"{faulty.__name__} passes {failing}"


def _failed(adapter: Faulty, check: str) -> list[Finding]:
    tried = SUBJECTS["ruritania"].tried(cast("Adapter", adapter))
    found = findings(tried, [one for one in CHECKS if one.name == check])
    return [one for one in found if one.outcome == "failed"]


class _Rival(Faulty):
    market = "YY"


def test_two_markets_that_claim_one_document_are_told_by_name() -> None:
    tried = SUBJECTS["ruritania"].tried()
    rivals = Tried(tried.adapter, tried.package, tried.members, tried.requests, [cast("Adapter", _Rival())])
    found = list(findings(rivals, [one for one in CHECKS if one.name == "claim"]))
    assert {one.outcome for one in found} == {"failed"}
    assert found[0].found == "the market YY claims it too, as Dispatch"


def test_what_no_fixture_shows_is_not_shown_and_no_fault() -> None:
    tried = SUBJECTS["ruritania"].tried()
    fewer = Tried(tried.adapter, tried.package, {name: one for name, one in tried.members.items() if "RUR" in name})
    found = {one.of: one.outcome for one in findings(fewer, [one for one in CHECKS if one.name == "type"])}
    assert found == {"Dispatch": "passed", "Plea": "not shown", "Reply": "not shown"}
