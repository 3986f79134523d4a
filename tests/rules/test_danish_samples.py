"""The Danish hub's own test messages, judged: each is accepted or refused by rules alone, none waits for another."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

from adapters.common.conformance.subject import read, sniff
from adapters.dk_energinet import adapter
from energycomm.engine.parallel import ParallelEngine
from energycomm.kernel.history import NO_HISTORY

SUPPLIED = structs.replace(NO_HISTORY, supplied=True, supply_start=datetime(2020, 1, 1, tzinfo=UTC))
"""The past of a point that a portfolio was loaded with."""

MONTH, NUMBER, WHOLE, STEP, OURS = "DK-A13", "DK-V29", "DK-A14", "DK-A24", "DK-A22"
COUNT, REGISTERED = "CO-V05", "DK-V17"
WHOLESALE = {WHOLE, NUMBER}
BY_MINUTE = {WHOLE, NUMBER, STEP}
FOUND: dict[str, list[set[str]]] = {
    "ValidMeteredDataForMeteringPoint.xml": [{COUNT, REGISTERED}],
    "ValidMeteredDataForMeteringPoint.json": [{COUNT, REGISTERED}],
    "ValidMeteredDataForMeteringPointWithTwoTransactions.xml": [{COUNT, REGISTERED}] * 2,
    "ValidMeteredDataForMeteringPointWithTwoTransactions.json": [{COUNT, REGISTERED}] * 2,
    "RequestAggregatedMeasureData.xml": [{MONTH, NUMBER}],
    "RequestAggregatedMeasureData.json": [{MONTH, NUMBER}],
    "TwoSeriesRequestAggregatedMeasureData.xml": [{MONTH, NUMBER}],
    "RequestWholesaleSettlement.xml": [WHOLESALE],
    "RequestWholesaleSettlement.json": [WHOLESALE],
    "RequestWholesaleSettlementTwoSeries.xml": [WHOLESALE],
    "RequestWholesaleSettlement2ChargeTypes.xml": [BY_MINUTE],
    "RequestWholesaleSettlement2ChargeTypes.json": [BY_MINUTE],
    "RequestWholesaleSettlementOneSmallOneBigSeries.xml": [BY_MINUTE, {OURS}],
    "RequestWholesaleSettlementOneSmallOneBigSeries.json": [BY_MINUTE, {OURS}],
}
"""Message of CIM -> codes that its transactions deserve. Its form is right, and it breaks rules that the hub checks
later: six values for a day (E87), thirty-five days (E17), a fixing that is no whole month (E17), the number of a
correction without a correction (E86), no supplier (E16)."""


def test_a_message_of_the_hub_is_judged_by_rules_alone(engine: ParallelEngine, shared: Path) -> None:
    found: dict[str, list[set[str]]] = {}
    labels = set()
    for path in sorted((shared / "markets" / "dk" / "samples").rglob("*.*")):
        content = path.read_bytes()
        label = adapter.dispatch(sniff(path.name, content))
        if not isinstance(label, str):
            continue
        messages = [one for part in read(adapter, content, path.name, label).transactions for one in part.messages]
        verdicts = [engine.judge(message, SUPPLIED) for message in messages]
        labels |= {verdict.label for verdict in verdicts}
        codes = [{finding.error_code for finding in verdict.findings} for verdict in verdicts]
        if label.startswith("DK_"):
            assert codes == [set()] * len(messages), path.name
        elif messages:
            found[path.name] = codes
    assert labels == {"accepted", "rejected"}
    assert found == FOUND


def test_the_hubs_own_codes_stand_beside_ours(engine: ParallelEngine) -> None:
    codes = {rule.error_code: rule.market_code for rule in engine.catalogue.rules if rule.judges}
    assert [codes[one] for one in (MONTH, NUMBER, WHOLE, STEP, OURS)] == ["E17", "E86", "E17", "D23", "E16"]
