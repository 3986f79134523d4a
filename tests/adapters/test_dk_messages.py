"""Messages made of the hub's own schemas: what is valid by them is digested whole, what they forbid is refused with a
code of the hub beside ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.common.conformance.subject import read, sniff
from adapters.dk_energinet import adapter
from adapters.dk_energinet.codes import hub_code
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from tests.adapters.danish import LABELS, PERIODS, Schema, Wanted, message, schemas, spoiled

WANTED = (
    Wanted(),
    *(Wanted(full=True, pieces=number, resolution=step, turn=number) for number, step in enumerate(PERIODS, start=1)),
    *(Wanted(full=True, turn=turn) for turn in range(5, 40)),
)
"""The smallest message, those of several transactions and of every resolution, and with every code of the lists."""
OF_ONE = ("Acknowledgement", "DK_Acknowledgement")
"""Documents that are one CH message."""
NO_ID, LONG_ID, NO_PIECE_ID, LONG_PIECE_ID = "00201", "00305", "00202", "00205"
RECEIVER, VERSION, TYPE, SCHEMA, TWIN = "00303", "00301", "00401", "00302", "00102"
each_document = pytest.mark.parametrize("label", LABELS)


def _digested(content: bytes, name: str) -> tuple[list[Refusal], list[KernelMessage], list[str]]:
    """Refusals, messages, and codes of notes."""
    label = adapter.dispatch(sniff(name, content))
    if isinstance(label, Refusal):
        return [label], [], []
    found = read(adapter, content, name, label)
    refusals = [found.refusal] if found.refusal else []
    for one in found.transactions:
        refusals += one.refusals
    messages = [one for transaction in found.transactions for one in transaction.messages]
    return refusals, messages, [note.code for one in found.transactions for note in one.notes]


def _made(schema: Schema, wanted: Wanted) -> bytes:
    made = message(schema.declared, wanted)
    return made.xml() if schema.form == "xml" else made.json()


def _valid(schema: Schema, content: bytes) -> bool:
    try:
        schema.check(content)
    except Exception:
        return False
    return True


@each_document
def test_what_is_valid_by_the_hubs_schema_is_digested(label: str, shared: Path) -> None:
    for schema in schemas(shared, label):
        for wanted in WANTED:
            content = _made(schema, wanted)
            schema.check(content)
            refusals, messages, notes = _digested(content, f"message.{schema.form}")
            assert refusals == [], wanted
            assert len(messages) >= (1 if label in OF_ONE else wanted.pieces)
            assert set(notes) <= {"NOTE_CODE_UNKNOWN"}


@each_document
def test_what_the_hubs_schema_forbids_is_refused(label: str, shared: Path) -> None:
    """Elements that the schema does not know are noted: a newer version may have them."""
    for schema in schemas(shared, label):
        content = _made(schema, Wanted(full=True, resolution="P1M"))
        taken = []
        for what, wrong in spoiled(content):
            if _valid(schema, wrong):
                continue
            refusals, _, notes = _digested(wrong, f"message.{schema.form}")
            # An optional part of the header that stands behind the transactions is not read.
            behind = what.endswith("behind the others") and f"{schema.declared.root.name}<" in what
            if not refusals and "NOTE_ELEMENT_UNKNOWN" not in notes and not behind:
                taken.append(what)
            assert all(hub_code(one) for one in refusals), (what, refusals)
        assert taken == []
