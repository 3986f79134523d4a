"""The monthly file of calorific values, in all the ways in which it was published."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from adapters.be_atrias import adapter
from adapters.be_atrias.calorific import LABEL
from adapters.common.conformance.subject import sniff
from adapters.common.coverage import measured
from energycomm.kernel.messages import CalorificValue
from tests.adapters.belgian import digested

STATION = "541450000000000016"
USUAL = f'GCVMonth,ARSName,ARSEanGSRN,GCVValue\r\n2026-03,NORD,{STATION},"11,4187600000"\r\n'
VARIANTS = {
    "usual": USUAL,
    "byte-order mark": "\ufeff" + USUAL,
    "misspelt": USUAL.replace("GCVMonth", "SGCVMonth"),
    "nearly": USUAL.replace("ARSEanGSRN", "ARSEanGRSN"),
    "preamble": "Gross calorific values\r\n\r\n" + USUAL,
    "other order": f"ARSName,ARSEanGSRN,GCVMonth,GCVValue\nNORD,{STATION},2026-03,11.41876\n",
    "no quotes": USUAL.replace('"', ""),
    "semicolons": f"GCVMonth;ARSName;ARSEanGSRN;GCVValue\n2026-03;NORD;{STATION};11,41876\n",
    "month of another form": USUAL.replace("2026-03", "03/2026"),
    "no line end": USUAL.strip(),
    "blank lines": USUAL + "\r\n\r\n",
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_tells_the_same(variant: str) -> None:
    text = VARIANTS[variant].encode()
    assert adapter.dispatch(sniff("gcv.csv", text)) == LABEL
    found = digested(text)
    assert found.refusal is None
    (transaction,) = found.transactions
    (message,) = transaction.messages
    assert isinstance(message, CalorificValue)
    assert (message.station, message.station_name, message.month) == (STATION, "NORD", "2026-03")
    assert message.value == Decimal("11.41876")
    assert message.energy == "gas"
    assert transaction.identity == digested(USUAL.encode()).transactions[0].identity


def test_zero_and_nothing_are_two_things() -> None:
    zero = digested(USUAL.replace("11,4187600000", "0,0000000000").encode()).transactions[0]
    empty = digested(USUAL.replace('"11,4187600000"', "").encode()).transactions[0]
    assert [message.value for message in zero.messages if isinstance(message, CalorificValue)] == [Decimal(0)]
    assert [message.value for message in empty.messages if isinstance(message, CalorificValue)] == [None]
    assert [zero.notes[0].code, empty.notes[0].code] == ["NOTE_VALUE_ZERO", "NOTE_VALUE_EMPTY"]
    assert zero.identity != empty.identity


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        ("11,4187600000", "n/a", "SYN_VALUE"),
        ("11,4187600000", "1.114,18", "SYN_VALUE"),
        ("2026-03", "2026-13", "SYN_VALUE"),
        (STATION, "", "SYN_MISSING"),
    ],
)
def test_a_bad_line_harms_no_other(before: str, after: str, code: str) -> None:
    text = USUAL.replace(before, after, 1) + USUAL.splitlines()[1] + "\r\n"
    first, second = digested(text.encode(), LABEL).transactions
    assert [one.code for one in first.refusals] == [code]
    assert second.messages


def test_a_file_without_columns_or_with_endless_lines_is_refused() -> None:
    nameless = digested(b"2026-03,NORD,541450000000000016,11\n" * 3, LABEL)
    assert nameless.refusal is not None
    assert nameless.refusal.code == "CSV_HEADER"
    endless = digested(USUAL.encode() + b"x" * 10_000, LABEL)
    assert endless.refusal is not None
    assert endless.refusal.code == "CSV_LIMIT"


def test_every_published_column_is_in_the_ledger(shared: Path) -> None:
    """Names are compared as the files have them; two of them misspell one."""
    document = next(one for one in adapter.ledger().documents if one.type == LABEL)
    known = {leaf[-1] for leaf, fields in measured(adapter, document).items() if fields}
    lines = [
        line.strip().replace("SGCVMonth", "GCVMonth")
        for path in (shared / "markets" / "be" / "atrias_gcv").glob("*.csv")
        for line in path.read_text("utf-8-sig").splitlines()
        if "GCV" in line
    ]
    assert len(lines) == 3
    assert {column for line in lines for column in line.split(",")} == known


def test_the_published_variants_are_read(shared: Path) -> None:
    for path in (shared / "markets" / "be" / "atrias_gcv").glob("*.csv"):
        text = path.read_bytes()
        assert adapter.dispatch(sniff(path.name, text)) == LABEL, path.name
        found = digested(text)
        assert found.refusal is None
        assert found.transactions
        assert all(transaction.messages for transaction in found.transactions), path.name
