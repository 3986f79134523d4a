"""What every market adapter owes the gateway. A new adapter joins by a line in `tests.adapters.subjects.SUBJECTS`."""

from __future__ import annotations

from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import IO, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from energycomm.engine.examples import example_message
from energycomm.kernel.check import explain
from energycomm.kernel.codec import encode
from energycomm.kernel.family import FUNCTION_RANK, RANK, is_incoming, kind_of
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.requests import OUTGOING
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import MemberHead, Sniff, Transaction
from tests.adapters.subjects import SUBJECTS, Repeated, read, reindented, sniff

CASES = [(name, path) for name, subject in SUBJECTS.items() for path in subject.members()]
EVERY_CASE = [(name, path) for name, subject in SUBJECTS.items() for path in subject.every_member()]
each_adapter = pytest.mark.parametrize("name", SUBJECTS)
each_member = pytest.mark.parametrize(("name", "path"), CASES, ids=[f"{name}-{path.name}" for name, path in CASES])
each_member_of_pieces = pytest.mark.parametrize(
    ("name", "path"),
    [case for case in CASES if SUBJECTS[case[0]].first_piece(case[1].read_bytes())],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
each_member_of_any_form = pytest.mark.parametrize(
    ("name", "path"), EVERY_CASE, ids=[f"{name}-{path.name}" for name, path in EVERY_CASE]
)


def _order(message: KernelMessage) -> tuple[object, ...]:
    return message.effective, RANK.get(kind_of(message), 99), FUNCTION_RANK[message.function]


@each_adapter
def test_every_adapter_has_fixtures_and_describes_its_types(name: str) -> None:
    subject = SUBJECTS[name]
    assert subject.members()
    for label, kind in subject.adapter.types.items():
        assert kind.label == label
        assert kind.versions
        assert kind.about


@each_member_of_any_form
def test_a_member_is_dispatched_to_a_type_of_the_table(name: str, path: Path) -> None:
    adapter = SUBJECTS[name].adapter
    assert adapter.dispatch(sniff(path.name, path.read_bytes())) in adapter.types


@each_adapter
def test_every_type_of_the_table_has_a_fixture(name: str) -> None:
    subject = SUBJECTS[name]
    seen = {subject.adapter.dispatch(sniff(path.name, path.read_bytes())) for path in subject.every_member()}
    assert seen == set(subject.adapter.types)


@each_member_of_any_form
def test_transactions_are_numbered_and_either_digested_or_refused(name: str, path: Path) -> None:
    found = read(SUBJECTS[name].adapter, path.read_bytes())
    assert found.refusal is None
    assert found.transactions
    assert [transaction.position for transaction in found.transactions] == list(range(1, len(found.transactions) + 1))
    for transaction in found.transactions:
        assert bool(transaction.messages) != bool(transaction.refusals)
        assert transaction.reference
        assert len(transaction.identity) == 16


@each_member_of_any_form
def test_every_kernel_message_is_valid_incoming_and_in_business_order(name: str, path: Path) -> None:
    subject = SUBJECTS[name]
    for transaction in read(subject.adapter, path.read_bytes()).transactions:
        for message in transaction.messages:
            assert explain(encode(message)) == []
            assert is_incoming(kind_of(message))
            assert message.market == subject.adapter.market
            assert message.reference == transaction.reference
            assert message.access_point == transaction.access_point
            assert message.sender == transaction.sender
        for earlier, later in pairwise(transaction.messages):
            assert _order(earlier) <= _order(later)


@each_member
def test_a_second_delivery_has_the_same_identities(name: str, path: Path) -> None:
    subject, content = SUBJECTS[name], path.read_bytes()
    first = [transaction.identity for transaction in read(subject.adapter, content).transactions]
    assert len(set(first)) == len(first)
    for again in (content, subject.restamp(content), reindented(content), reindented(subject.restamp(content))):
        assert [transaction.identity for transaction in read(subject.adapter, again).transactions] == first


@each_member_of_any_form
def test_a_copy_has_the_same_identities(name: str, path: Path) -> None:
    adapter, content = SUBJECTS[name].adapter, path.read_bytes()
    first = [transaction.identity for transaction in read(adapter, content).transactions]
    assert len(set(first)) == len(first)
    assert [transaction.identity for transaction in read(adapter, content, "renamed").transactions] == first


@each_member
def test_another_value_gives_another_identity(name: str, path: Path) -> None:
    """Every digit of the content that reaches a Kernel message reaches the identity too."""
    subject, content = SUBJECTS[name], path.read_bytes()
    plain = read(subject.adapter, content).transactions
    seen = {transaction.identity: transaction.messages for transaction in plain}
    root = etree.fromstring(content)
    for leaf in [
        element for element in root.iter(etree.Element) if not len(element) and (element.text or "").isdigit()
    ]:
        kept = leaf.text
        leaf.text = "7" if kept != "7" else "8"
        for transaction in read(subject.adapter, etree.tostring(root)).transactions:
            known = seen.get(transaction.identity)
            if known is not None and transaction.messages:
                assert [_without_head(message) for message in known] == [
                    _without_head(message) for message in transaction.messages
                ], leaf.tag
        leaf.text = kept


def _without_head(message: KernelMessage) -> str:
    """The message without what the member's header says of itself."""
    fields = {field: getattr(message, field) for field in message.__struct_fields__}
    for field in ("created", "receiver", "schema_version", "grid_operator", "status_code"):
        fields.pop(field, None)
    return repr(fields)


@each_adapter
def test_what_is_of_no_type_is_refused_with_a_documented_code(name: str) -> None:
    subject = SUBJECTS[name]
    strangers = (
        Sniff("letter.xml", "xml", "Letter", None),
        Sniff("letter.xml", "xml", "Letter", "urn:nobody"),
        Sniff("notes.json", "json", "a,b", None),
        Sniff("photo.jpg", "other"),
        Sniff("", "other"),
    )
    for stranger in strangers:
        refused = subject.adapter.dispatch(stranger)
        assert isinstance(refused, Refusal)
        assert refused.code == "TYPE_NOT_OURS"


@each_adapter
def test_a_known_root_in_an_unknown_namespace_is_an_unknown_version(name: str) -> None:
    subject = SUBJECTS[name]
    for kind in subject.adapter.types.values():
        if kind.form == "xml":
            refused = subject.adapter.dispatch(Sniff("new.xml", "xml", kind.root, "urn:of:tomorrow:9"))
            assert isinstance(refused, Refusal)
            assert refused.code == "VERSION_UNKNOWN"


@each_adapter
def test_an_unknown_label_is_refused(name: str) -> None:
    found = read(SUBJECTS[name].adapter, b"<x/>", label="no such label")
    assert found.refusal is not None
    assert found.refusal.code == "TYPE_UNKNOWN"


@each_member
def test_a_truncated_member_ends_in_a_refusal_after_its_whole_transactions(name: str, path: Path) -> None:
    subject, content = SUBJECTS[name], path.read_bytes().rstrip()
    label = str(subject.adapter.dispatch(sniff(path.name, content)))
    whole = [transaction.identity for transaction in read(subject.adapter, content).transactions]
    for length in (0, 1, len(content) // 3, len(content) // 2, len(content) * 9 // 10, len(content) - 1):
        found = read(subject.adapter, content[:length], label=label)
        assert found.refusal is not None
        assert found.refusal.code.startswith("XML_")
        identities = [transaction.identity for transaction in found.transactions]
        assert identities == whole[: len(identities)]


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


@each_member
def test_a_person_gets_an_explanation_of_refused_messages_and_none_of_good_ones(name: str, path: Path) -> None:
    subject, content = SUBJECTS[name], path.read_bytes()
    label = str(subject.adapter.dispatch(sniff(path.name, content)))
    for transaction in read(subject.adapter, content).transactions:
        explained = subject.adapter.explain(label, BytesIO(content), path.name, transaction.position)
        errors = [refused for refused in explained if not refused.code.startswith("NOTE_")]
        assert bool(errors) == bool(transaction.refusals)


@each_adapter
def test_every_code_is_documented_and_of_use(name: str) -> None:
    subject = SUBJECTS[name]
    seen: set[str] = set()
    for path in subject.every_member():
        seen |= read(subject.adapter, path.read_bytes()).codes()
    assert seen
    assert {code for code in seen if not code.startswith("XML_")} <= subject.codes


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


@each_adapter
def test_every_outgoing_kind_is_built_the_same_twice_or_refused_with_a_documented_code(name: str) -> None:
    """A message with nothing in it but what every message has: what is missing is told, and nothing is made up."""
    subject = SUBJECTS[name]
    assert subject.adapter.builds
    for kind in OUTGOING:
        stated = {
            "market_type": kind.__name__,
            "reference": "R-1",
            "created": "2026-02-01T10:00:00+01:00",
            "effective": "2026-03-01T00:00:00+01:00",
        }
        message = example_message(stated, kind.__name__, subject.adapter.market, None, None)
        built = subject.adapter.build(message, "1b4e28ba-2fa1-11d2-883f-0016d3cca427")
        assert built == subject.adapter.build(message, "1b4e28ba-2fa1-11d2-883f-0016d3cca427")
        if kind.__name__ not in subject.adapter.builds:
            assert isinstance(built, Refusal), kind
        if isinstance(built, Refusal):
            assert built.code.startswith("BUILD_")
            assert built.code in subject.codes
        else:
            assert built.reference == "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
            assert built.content


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
