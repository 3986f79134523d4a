"""Orders of files (M023) that the simulated market answers: R63 to R67 and C68, and the report that ends each."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from lxml import etree

from adapters.common.conformance.subject import read
from adapters.fr_enedis import adapter
from adapters.fr_enedis.simulator.answers import FrenchClerk
from energycomm.daemon.survey import SECOND, Survey, survey
from energycomm.eis.database import opened
from energycomm.kernel.messages import AccessPointData, KernelMessage, MeasureSeries, MeteredVolume, MeterReading
from energycomm.kernel.parts import OrderedPoint
from energycomm.kernel.requests import MasterDataRequest, MeteredDataRequest
from energycomm.market.contract import OutgoingMessage
from energycomm.simulation.answering import Asked, Delivery, Document, Manners, answer
from tests.end_to_end.conftest import Place, place

__all__ = ["place"]

AT = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
POINTS = ("99000000000505", "99000000000606", "99000000000707", "99000000000808")
NOTHING = "99000000000404"
"""The market has no data of this one: its number leaves 6 when divided by 7."""
SCHEMAS = {
    "R63": "0510.Flux.R63_v1.2.0",
    "R64": "0511.Flux.R64_v1.2.1",
    "R65": "0512.Flux.R65_v1.2.0",
    "R66": "0513.Flux.R66_v1.2.0",
    "R67": "0515.Flux.R67_v1.3.0",
    "C68": "0514.Flux.C68_v1.2.0",
}
MEASURES: dict[str, Any] = {"R63": "curve", "R64": "index", "R65": "energy", "R66": "maximum-power", "R67": "invoicing"}


def order(flux: str, number: int = 1) -> Asked:
    """An order as the adapter builds it: of March, in which a day has 23 hours."""
    head: dict[str, Any] = {
        "market": "FR",
        "market_type": "SGE",
        "reference": f"LUM-{flux}-{number}",
        "created": AT,
        "effective": AT,
        "sender_role": "supplier",
        "receiver_role": "grid-operator",
        "access_point": POINTS[0],
        "points": tuple(OrderedPoint(access_point=one) for one in (*POINTS[1:], NOTHING)),
        "requester_login": "eau.douce@lumine.example",
        "contract": "90000101",
        "consent": True,
    }
    period: dict[str, Any] = {"start": date(2026, 3, 20), "end": date(2026, 4, 10)}
    if flux == "C68":
        message: KernelMessage = MasterDataRequest(**head)
    else:
        message = MeteredDataRequest(**head, **period, measure=MEASURES[flux])
    built = adapter.build(message, f"1b4e28ba-2fa1-11d2-883f-{number:012d}")
    assert isinstance(built, OutgoingMessage), built
    return Asked(type(message).__name__, built.content, built.reference, AT)


def files_of(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """The files in a zip, and in the zips within it."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for member in archive.namelist():
            inner = archive.read(member)
            yield from files_of(member, inner) if member.endswith(".zip") else [(member, inner)]


def data(documents: list[Document]) -> list[tuple[str, bytes]]:
    """The files of the data among the documents of an answer."""
    return [
        one for document in documents if document.part == "data" for one in files_of(document.name, document.content)
    ]


def messages(flux: str) -> list[Any]:
    """What the adapter reads out of the data of an order."""
    found: list[Any] = []
    for name, content in data(list(FrenchClerk().accept(order(flux), AT))):
        result = read(adapter, content, name)
        assert result.refusal is None
        for transaction in result.transactions:
            assert (transaction.refusals, transaction.notes) == ((), ())
            found += transaction.messages
    return found


@pytest.mark.parametrize("flux", SCHEMAS)
def test_the_files_of_an_order_are_valid_and_as_many_as_the_report_tells(flux: str, shared: Path) -> None:
    first, *documents = FrenchClerk().accept(order(flux), AT)
    number = etree.fromstring(first.content).findtext(".//{*}affaireId")
    assert number is not None
    assert (number[0], len(number)) == ("M", 8)
    zips, report = documents[:-1], json.loads(documents[-1].content)
    assert report["nbFichiers"] == len(zips) == (1 if flux == "C68" else 2)
    assert [one.name.split("_")[1:6] for one in zips] == [
        [flux, "P", zips[0].name.split("_")[3], number, f"{place:05d}"] for place in range(1, len(zips) + 1)
    ]
    assert [one["idPrm"] for one in report["points"] if one["statut"] != "OK"] == [NOTHING]
    schema = json.loads(
        (shared / f"markets/fr/json_schemas/Enedis.SGE.JSON.{SCHEMAS[flux]}.json").read_text(encoding="utf-8-sig")
    )
    told = []
    for _, content in data(documents):
        document = json.loads(content)
        jsonschema_rs.Draft4Validator(schema).validate(document)
        told += [one["idPrm"] for one in (document if flux == "C68" else document["mesures"])]
    assert told == list(POINTS)


def test_all_measures_of_a_point_agree() -> None:
    """The energy of the period by indexes, curve, energies of days and invoices, in Wh: what the day of 23 hours does
    not add up, one of them would have wrong."""
    energies: dict[str, dict[str, float]] = {flux: dict.fromkeys(POINTS, 0) for flux in ("R63", "R64", "R65", "R67")}
    for series in messages("R63"):
        assert isinstance(series, MeasureSeries)
        assert (series.resolution, series.unit) == (30, "W")
        energies["R63"][series.access_point or ""] += sum(float(one.value or 0) for one in series.positions) / 2
    indexes: dict[str, list[float]] = {point: [] for point in POINTS}
    for reading in messages("R64"):
        assert isinstance(reading, MeterReading)
        indexes[reading.access_point or ""] += [float(one.value) for one in reading.registers]
    energies["R64"] = {point: max(told) - min(told) for point, told in indexes.items()}
    for flux in ("R65", "R67"):
        for volume in messages(flux):
            assert isinstance(volume, MeteredVolume)
            energies[flux][volume.access_point or ""] += sum(float(one.quantity) for one in volume.volumes)
    hours = 21 * 24 - 1
    for point in POINTS:
        assert len({energies[flux][point] for flux in energies}) == 1
        assert energies["R63"][point] % hours == 0
        assert energies["R63"][point] > 0


def test_contract_data_name_their_points() -> None:
    assert [one.access_point for one in messages("C68") if isinstance(one, AccessPointData)] == list(POINTS)


def delivered(here: Place, deliveries: list[Delivery]) -> None:
    """Take what the market delivered."""
    folder = here.folder / "answers"
    for number, one in enumerate(deliveries):
        path = folder / f"{number:03d}" / f"{one.document.name}{one.document.suffix}"
        path.parent.mkdir(parents=True)
        path.write_bytes(one.document.content)
    assert here.process(folder).json["error_codes"] == {}


def look(here: Place, hours: float) -> Survey:
    """What alarms so many hours from now."""
    with opened(here.url) as engine:
        return survey(engine, int(datetime.now(UTC).timestamp() + hours * 3600) * SECOND, 24)


def test_a_report_that_never_comes_and_files_that_are_missing_are_told(place: Callable[..., Place]) -> None:
    here = place()
    whole, silent, short = (order(flux, number) for number, flux in enumerate(("R64", "R65", "R66"), 1))
    clerk = FrenchClerk()
    deliveries = answer(clerk, [whole], Manners(twice=1, disorder=1))
    deliveries += answer(clerk, [silent], Manners(unreported=1)) + answer(clerk, [short], Manners(incomplete=1))
    delivered(here, deliveries)
    found = look(here, 71)
    assert (found.unreported, found.incomplete) == ([], {short.number("M"): (1, 2)})
    found = look(here, 73)
    assert (found.unreported, found.incomplete) == ([silent.number("M")], {short.number("M"): (1, 2)})


def test_an_order_is_followed_to_its_report(place: Callable[..., Place]) -> None:
    here = place()
    asked = {
        "kind": "MeteredDataRequest",
        "market": "FR",
        "market_type": "SGE",
        "access_point": POINTS[0],
        "points": [{"access_point": POINTS[1]}],
        "requester_login": "eau.douce@lumine.example",
        "contract": "90000101",
        "measure": "curve",
        "start": "2026-03-20",
        "end": "2026-03-22",
        "consent": True,
    }
    (here.folder / "order.json").write_text(json.dumps(asked))
    submitted = here("request", "submit", here.folder / "order.json")
    assert submitted.code == 0, submitted
    answers = here.folder / "answers"
    assert here("simulate-answers", answers, "--disorder", "1").code == 0
    assert here.process(answers).json["error_codes"] == {}
    assert here.rows("SELECT state FROM outgoing") == [("done",)]
