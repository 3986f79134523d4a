"""The mapping table: exact names go in without touching code, and a mistake in it is told with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

from adapters.be_atrias import adapter, schema
from adapters.be_atrias.mapping import FILE, every, read_table, table
from adapters.be_atrias.requests import build
from adapters.common.table import TableFault
from energycomm.config import load
from energycomm.errors import UserError
from energycomm.kernel.messages import StartOfSupply
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import OutgoingMessage, Sniff, Transaction
from energycomm.market.installed import installed_adapters
from tests.adapters.belgian import FOLDER, POINT, REFERENCE, content, read_back, request, stream


def changed(folder: Path, *changes: tuple[str, str]) -> Path:
    """A copy of the table with other texts."""
    text = FILE.read_text()
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    path = folder / "mapping.yaml"
    path.write_text(text)
    return path


RENAMED = (
    ("MeteringPointDomainLocation/Identification", "HeadpointReference/Ean"),
    ("un:unece:260:data:EEM-BE_NotifyStartOfAccess:v1", "urn:licensed:start:6"),
    ("BE_NotifyStartOfAccess", "StartAccessNotification"),
    ("    E65: move-in\n", "    MOZA: move-in\n"),
    ("MoveInRequest: E65", "MoveInRequest: MOZA"),
)


def test_other_names_and_codes_are_read_by_the_same_code(tmp_path: Path) -> None:
    theirs = adapter.mapped(changed(tmp_path, *RENAMED))
    root = etree.fromstring(content("start_by_move.xml").replace(b"EEM-BE_NotifyStartOfAccess", b"X"))
    text = etree.tostring(root).replace(b"un:unece:260:data:X:v1", b"urn:licensed:start:6")
    text = text.replace(b"BE_NotifyStartOfAccess", b"StartAccessNotification").replace(b">E65<", b">MOZA<")
    text = text.replace(b"<MeteringPointDomainLocation>", b"<HeadpointReference>")
    text = text.replace(b"</MeteringPointDomainLocation>", b"</HeadpointReference>")
    ours = b'<Identification schemeAgencyIdentifier="9">541449000000001031</Identification>'
    text = text.replace(ours, b"<Ean>541449000000001031</Ean>")
    found = list(theirs.digest("StartOfAccess", stream(text), "start.xml"))[1]
    assert isinstance(found, Transaction)
    assert found.refusals == ()
    start = found.messages[0]
    assert isinstance(start, StartOfSupply)
    assert (start.access_point, start.reason, start.market_reason) == ("541449000000001031", "move-in", "MOZA")


def test_other_names_and_codes_are_written_by_the_same_code(tmp_path: Path) -> None:
    theirs = read_table(changed(tmp_path, *RENAMED))
    built = build(theirs, request("MoveInRequest"), REFERENCE)
    assert isinstance(built, OutgoingMessage)
    root = etree.fromstring(built.content)
    assert root.findtext(".//{*}HeadpointReference/{*}Ean") == POINT
    assert root.findtext(".//{*}EnergyBusinessProcess") == "MOZA"


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("instant, needed]", "moment, needed]", "type 'moment'"),
        ('"code:reason"', '"code:motive"', "no code list 'motive'"),
        ("E65: move-in", "E65: moving", "'moving' is none of"),
        ("MeteringPointDomainLocation/Identification: [access_point, point, needed]",
         "MeteringPointDomainLocation/Identification: [access_point, point]", "access_point"),
        ("ConsumerInvolvedCustomerParty/FamilyName: [surname, text]",
         "ConsumerInvolvedCustomerParty/GivenName: [surname, text]", "stands twice"),
        ("key: {longest: 64}", "key: {longest: 640}", "types/key/longest"),
        ("MoveInRequest: E65", "MoveIntoRequest: E65", "MoveIntoRequest"),
        ("payload: base64", "payload: zip", "service/payload"),
        ("documents:\n", "papers:\n", "papers"),
        ("zone:", "zone", "mapping.yaml"),
        ("zone: Europe/Brussels", "zone: Europe/Paris", "Europe/Brussels"),
        ("service:\n", "services:\n", "services"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_table_is_told(tmp_path: Path, before: str, after: str, told: str) -> None:
    with pytest.raises(TableFault, match=told.replace("[", r"\[")):
        read_table(changed(tmp_path, (before, after)))


def test_a_table_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(TableFault, match=r"nothing\.yaml"):
        read_table(tmp_path / "nothing.yaml")


def test_the_setting_puts_a_licensees_table_in_place_of_ours(tmp_path: Path) -> None:
    own = changed(tmp_path, ("EEM-BE_NotifyStartOfAccess:v1", "EEM-BE_NotifyStartOfAccess:v9"))
    config = load(tmp_path, {})
    assert config.mapping_files == ()
    (tmp_path / "energycomm.toml").write_text(f'[mappings]\nBE = "{own.name}"\n', "utf-8")
    adapters = installed_adapters(load(tmp_path, {}).mapping_files)
    sniff = Sniff("a.xml", "xml", "BE_NotifyStartOfAccess", "un:unece:260:data:EEM-BE_NotifyStartOfAccess:v9")
    assert adapters["BE"].dispatch(sniff) == "StartOfAccess"
    assert not isinstance(installed_adapters()["BE"].dispatch(sniff), str)


def test_the_setting_may_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENERGYCOMM_MAPPINGS__BE", "atrias.yaml")
    assert load(tmp_path).mapping_files == (("BE", Path.cwd() / "atrias.yaml"),)


@pytest.mark.parametrize(
    ("market", "text", "told"),
    [("FR", "", "has no table"), ("XX", "", "has no table"), ("BE", "version: 1", "is wrong")],
)
def test_a_setting_that_cannot_be_followed_is_a_users_mistake(
    tmp_path: Path, market: str, text: str, told: str
) -> None:
    (tmp_path / "own.yaml").write_text(text, "utf-8")
    with pytest.raises(UserError, match=told):
        installed_adapters(((market, tmp_path / "own.yaml"),))


@pytest.mark.parametrize("label", every(table()))
def test_the_schema_files_say_what_the_table_says(label: str) -> None:
    written = (schema.FOLDER / f"{label}.xsd").read_bytes()
    assert written == schema.schema_of(table(), every(table())[label]), "python -m adapters.be_atrias.schema"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("[!m]*.xml")), ids=lambda path: str(path.name))
def test_good_fixtures_are_valid(path: Path) -> None:
    request_read = read_back(path.read_bytes())
    assert request_read.refusals == []
    assert schema.check(table(), request_read.document, etree.parse(str(path)).getroot()) == []


def test_a_schema_of_the_market_has_its_say_where_the_table_names_one(tmp_path: Path) -> None:
    theirs = tmp_path / "strict.xsd"
    written = schema.schema_of(table(), table().sent["RequestStartOfAccess"]).decode()
    assert '<xs:element name="CustomerMandate" minOccurs="0" type="be:flag"/>' in written
    theirs.write_text(written.replace('<xs:element name="CustomerMandate" minOccurs="0" type="be:flag"/>', ""))
    strict = read_table(
        changed(
            tmp_path, ("root: BE_RequestStartOfAccess\n", "root: BE_RequestStartOfAccess\n    schema: strict.xsd\n")
        )
    )
    refused = build(strict, request("MoveInRequest"), REFERENCE)
    assert isinstance(refused, Refusal)
    assert refused.code == "BUILD_SCHEMA"
    assert "CustomerMandate" in refused.expected
    assert isinstance(build(strict, request("MoveInRequest", consent=None), REFERENCE), OutgoingMessage)
