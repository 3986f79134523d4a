"""Whose a document is: one market's, the channel's market's, or nobody's; nothing is guessed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from adapters.be_atrias import adapter as belgian
from adapters.common.conformance.subject import sniff
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import Adapter, Series, Sniff
from energycomm.market.dispatch import dispatch, series_of
from energycomm.market.installed import Markets, installed_adapters
from energycomm.pipeline.batch import BatchWriter
from energycomm.pipeline.inbound import Inbound
from energycomm.pipeline.progress import total
from energycomm.transport.keys import KeyRing
from energycomm.transport.limits import Limits
from tests.adapters.subjects import SUBJECTS
from tests.pipeline.desk import Desk

MEMBER = Sniff("a.xml", "xml", "Letter")
NOT_OURS = Refusal(code="TYPE_NOT_OURS")
VERSION_UNKNOWN = Refusal(code="VERSION_UNKNOWN", value="of yesterday")

HUB = {"datahub": "DK"}
"""Channel -> its market: one whose adapter has codes of its own."""
FORMLESS = {
    "empty.json": (b"{}", "TYPE_UNKNOWN"),
    "letter.xml": (b"<Letter/>", "TYPE_UNKNOWN"),
    "broken.xml": (b"<Letter><a></Letter>", "XML_SYNTAX"),
    "cut.xml": (b"<Letter><a>", "XML_TRUNCATED"),
    "broken.json": (b"{nothing", "JSON_SYNTAX"),
}
"""Name -> content that no market can read, and our code of it."""

GERMAN = (
    "UNA:+.? 'UNB+UNOC:3+9900123000003:500+9903456000001:500+260301:0815+R1'"
    "UNH+1+MSCONS:D:04B:UN:2.4c'BGM+7+M1+9'UNT+3+1'UNZ+1+R1'"
)
DANISH = (
    "UNA:+.? 'UNB+UNOC:3+5790000432752:14+5790001330552:14+260301:0815+R1'"
    "UNH+1+UTILMD:D:02B:UN:E5DK02'BGM+E07+U1+9'UNT+3+1'UNZ+1+R1'"
)
BY_PARTY = "UNB+UNOC:3+5419999000031:14+8712345000004:14+260301:0815+R1'UNH+1+CONTRL:D:3:UN'UNT+2+1'UNZ+1+R1'"
BY_GUIDE = "UNB+UNOC:3+8712345000011:14+8712345000004:14+260301:0815+R1'UNH+1+UTILMD:D:02B:UN:E5BE01'UNT+2+1'UNZ+1+R1'"


class Says:
    """An adapter that says one thing of every document."""

    def __init__(self, market: str, answer: str | Refusal) -> None:
        self.market, self.answer = market, answer

    def dispatch(self, sniff: Sniff) -> str | Refusal:
        return self.answer


def of(market: str | None = None, /, **answers: str | Refusal) -> tuple[str, str] | Refusal:
    """Market and label of a document of which the markets say so, or the refusal."""
    adapters = {name: cast("Adapter", Says(name, answer)) for name, answer in answers.items()}
    found = dispatch(adapters, MEMBER, market)
    return found if isinstance(found, Refusal) else (found[0].market, found[1])


def test_the_market_that_knows_a_document_gets_it() -> None:
    assert of(AA=NOT_OURS, BB="Letter") == ("BB", "Letter")
    assert of(AA=VERSION_UNKNOWN, BB="Letter") == ("BB", "Letter")
    assert of("AA", AA=NOT_OURS, BB="Letter") == ("BB", "Letter")


def test_what_no_market_reads_is_refused_by_the_one_it_belongs_to() -> None:
    assert of(AA=NOT_OURS, BB=VERSION_UNKNOWN) == VERSION_UNKNOWN
    refused = of(AA=NOT_OURS, BB=NOT_OURS)
    assert isinstance(refused, Refusal)
    assert refused.code == "TYPE_UNKNOWN"


def test_two_markets_that_claim_one_document_are_a_refusal_with_both_names() -> None:
    refused = of(AA="Letter", BB="Note", CC=NOT_OURS)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.path, refused.value) == ("TYPE_CLAIMED", "a.xml", "AA as Letter, BB as Note")
    assert of("CC", AA="Letter", BB="Note", CC=NOT_OURS) == refused


@pytest.mark.parametrize(("market", "label"), [("AA", "Letter"), ("BB", "Note")])
def test_the_market_of_the_channel_is_asked_first(market: str, label: str) -> None:
    assert of(market, AA="Letter", BB="Note") == (market, label)


@pytest.mark.parametrize("name", SUBJECTS)
def test_every_fixture_is_claimed_by_its_own_market_alone(name: str) -> None:
    adapters = {subject.adapter.market: subject.adapter for subject in SUBJECTS.values()}
    for path in SUBJECTS[name].every_member():
        found = dispatch(adapters, sniff(path.name, path.read_bytes()))
        assert not isinstance(found, Refusal), found
        assert found[0].market == SUBJECTS[name].adapter.market


@pytest.mark.parametrize("text", [GERMAN, DANISH, "UNB", "UNA:+.? '", "UNB+UNOC:3+5419999000031", "UNHAPPY is no tag"])
def test_an_interchange_of_another_country_is_nobodys(text: str) -> None:
    """EDIFACT is not a country's: parties and guide tell whose it is."""
    found = dispatch(installed_adapters(), sniff("a.edi", text.encode()))
    assert isinstance(found, Refusal)
    assert found.code == "TYPE_UNKNOWN"


@pytest.mark.parametrize("text", [BY_PARTY, BY_GUIDE, "UNA:+.? '\r\n" + BY_PARTY])
def test_a_belgian_interchange_is_told_by_a_party_or_by_its_guide(text: str) -> None:
    found = dispatch(installed_adapters(), sniff("a.edi", text.encode()))
    assert not isinstance(found, Refusal)
    assert (found[0].market, found[1]) == ("BE", "EDIFACT")


@pytest.mark.parametrize("channel", ["datahub", "atrias", "folder"])
def test_what_no_adapter_saw_bears_the_code_of_the_market_whose_channel_brought_it(
    channel: str, tmp_path: Path
) -> None:
    """The hub's 00302 (form) in brackets its B2B-005; other channels, and files without one, name no such code."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    writer = BatchWriter(desk.engine, desk.version, 30, desk.markets)
    inbound = Inbound(desk.store, writer, KeyRing(()), Limits(), channels={**HUB, "atrias": "BE"})
    for name, (content, _) in FORMLESS.items():
        (tmp_path / name).write_bytes(content)
    total(inbound.take([tmp_path / name for name in FORMLESS], channel))
    rows = desk.rows(
        "SELECT e.name, i.code, i.advice FROM incident i JOIN envelope e ON e.id = i.envelope_id "
        "WHERE i.severity = 'error'"
    )
    assert {name: code for name, code, _ in rows} == {name: code for name, (_, code) in FORMLESS.items()}
    told = {name: "00302 (B2B-005)" in advice for name, _, advice in rows}
    assert told == dict.fromkeys(FORMLESS, channel == "datahub")


def test_where_one_market_is_installed_its_code_is_named() -> None:
    """Whose a document is that nobody knows is told by a channel, or there is no choice."""
    installed = installed_adapters()
    alone = dispatch({"DK": installed["DK"]}, Sniff("a.json", "json", ""))
    among = dispatch(installed, Sniff("a.json", "json", ""))
    assert isinstance(alone, Refusal)
    assert isinstance(among, Refusal)
    assert ("00302" in alone.advice, "00302" in among.advice) == (True, False)


class Rival:
    """An adapter of another market that takes every Belgian document for its own."""

    market = "ZZ"

    def __getattr__(self, name: str) -> Any:
        return getattr(belgian, name)


@pytest.mark.parametrize(
    ("channel", "outcomes", "incidents"), [("folder", [], ["TYPE_CLAIMED"]), ("atrias", [("BE", "digested")], [])]
)
def test_what_comes_by_a_channel_belongs_to_its_market(
    channel: str, outcomes: list[tuple[str, str]], incidents: list[str], tmp_path: Path
) -> None:
    """A folder that was named by hand tells no market; a channel of the configuration does."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    adapters = Markets({**desk.markets, "ZZ": cast("Adapter", Rival())})
    writer = BatchWriter(desk.engine, desk.version, 30, adapters)
    inbound = Inbound(desk.store, writer, KeyRing(()), Limits(), channels={"atrias": "BE"})
    total(inbound.take([Path(__file__).parents[2] / "fixtures/be/start_by_move.xml"], channel))
    assert desk.rows("SELECT DISTINCT market, outcome FROM ch_message") == outcomes
    assert [code for (code,) in desk.rows("SELECT code FROM incident WHERE severity = 'error'")] == incidents


class Counter:
    """An adapter that finds a number in every name."""

    def __init__(self, market: str) -> None:
        self.market = market

    def series(self, name: str) -> Series:
        return Series(key=f"{self.market} {name}", number=1)


def test_the_series_of_a_name_is_asked_of_the_channels_market_first() -> None:
    """Two markets may number files alike; by whose channel one came is known."""
    adapters = {market: cast("Adapter", Counter(market)) for market in ("AA", "ZZ")}
    found = [series_of(adapters, "17.zip", channel) for channel in (None, "AA", "ZZ")]
    assert [one[0] for one in found if isinstance(one, tuple)] == ["AA", "AA", "ZZ"]
