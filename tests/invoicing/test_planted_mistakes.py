"""The euros found on simulated invoices: all that were planted, and none on a right invoice.

What is right is the simulator's own arithmetic and its own copy of the published prices; what is planted is counted
here.
"""

from __future__ import annotations

import random
import zipfile
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest
from lxml import etree

from adapters.fr_enedis.simulator import simulator
from energycomm.config import Config
from energycomm.eis.database import connect
from energycomm.eis.store import Store
from energycomm.invoicing.gathering import CheckedInvoice, InvoiceCheck
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.progress import total
from energycomm.simulation.faults import FaultRates
from energycomm.simulation.scenario import Scenario
from tests.stores import make_store

CENT = Decimal("0.01")
RULES = Path(__file__).parents[2] / "rules"


@pytest.fixture(scope="module")
def year(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The envelopes of a year across two changes of the price list, without a fault."""
    folder = tmp_path_factory.mktemp("invoices")
    simulator.simulate(Scenario(16, 12, 5, date(2025, 1, 1), daily_share=0.1, faults=FaultRates({})), folder)
    return folder / "envelopes"


@pytest.fixture(scope="module")
def summer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The envelopes of June to September: the invoice of August is to be spoilt."""
    folder = tmp_path_factory.mktemp("invoices")
    simulator.simulate(Scenario(16, 4, 10, date(2025, 6, 1), daily_share=0.0, faults=FaultRates({})), folder)
    return folder / "envelopes"


def checked(envelopes: Path, url: str, seed: int | None = None) -> dict[str, CheckedInvoice]:
    """Every invoice of some envelopes, taken in the market's order or in any other."""
    engine = connect(make_store(url))
    store = Store(engine)
    gateway = Gateway(Config.model_validate({"database": url}), store)
    files = gateway.inbound.in_order(sorted(envelopes.iterdir()))
    if seed is not None:
        random.Random(seed).shuffle(files)
    total(gateway.inbound.take(files, "test"))
    checker = InvoiceCheck(store, RULES, installed_adapters().zones)
    found = {number: checker.checked(market, number) for market, number in checker.numbers()}
    engine.dispose()
    return found


@pytest.mark.thorough
def test_nothing_is_found_on_right_invoices(year: Path, tmp_path: Path) -> None:
    found = checked(year, f"sqlite:///{tmp_path / 'eis.db'}", seed=5)
    assert len(found) == 11
    assert {one.invoice: one.findings for one in found.values() if one.findings} == {}
    assert sum(one.charges for one in found.values()) > 100


class Planter:
    """Plants mistakes in the detail and general file of one invoice, each in a charge of its own, and counts them."""

    def __init__(self, general: etree._Element, detail: etree._Element) -> None:
        self.general, self.detail = general, detail
        self.planted: Counter[str] = Counter()
        self.left = list(detail.iterfind("Donnees_Valorisation"))

    def lines(self, code: str) -> Iterator[etree._Element]:
        """The next charge's line with a code; the charge is used up."""
        for charge in list(self.left):
            for line in charge.iter("Element_Valorise"):
                if line.findtext("Id_EV", "").startswith(code):
                    yield line
                    break

    def take(self, line: etree._Element) -> None:
        charge = next(line.iterancestors("Donnees_Valorisation"))
        self.left.remove(charge)

    def change(self, check: str, line: etree._Element, **values: object) -> None:
        """Change a line, and its amount with it; the difference is what is planted."""
        before = Decimal(line.findtext("Montant_HT", ""))
        for tag, value in values.items():
            line.find(tag).text = str(value)  # type: ignore[union-attr]
        price, quantity = Decimal(line.findtext("Prix_Unitaire", "")), Decimal(line.findtext("Quantite", ""))
        amount = (price * quantity).quantize(CENT, ROUND_HALF_UP)
        line.find("Montant_HT").text = str(amount)  # type: ignore[union-attr]
        self.planted[check] += amount - before  # type: ignore[assignment]
        self.take(line)

    def add_up(self) -> None:
        """Make the totals those of the changed lines."""
        net, bases = Decimal(0), Counter[str]()
        for charge in self.detail.iterfind("Donnees_Valorisation"):
            amounts = Decimal(0)
            for line in charge.iter("Element_Valorise"):
                amount = Decimal(line.findtext("Montant_HT", ""))
                amounts += amount
                bases[line.findtext("Taux_TVA_Applicable", "")] += amount  # type: ignore[assignment]
            charge.find("Total_Valorise_HT").text = str(amounts)  # type: ignore[union-attr]
            for tag in ("Total_Valorise_TVA", "Total_Valorise_TTC"):
                charge.remove(charge.find(tag))  # type: ignore[arg-type]
            net += amounts
        tax = sum(((Decimal(base) * Decimal(rate) / 100).quantize(CENT, ROUND_HALF_UP) for rate, base in bases.items()))
        totals = self.general.find("Fin_Message")
        assert totals is not None
        for each in totals.findall("Detail_TVA"):
            totals.remove(each)
        for tag, value in (("HT", net), ("TVA", tax), ("TTC", net + tax)):
            totals.find(f"Montant_Total_{tag}").text = str(value)  # type: ignore[union-attr]


def rewritten(envelope: Path, to: Path) -> Planter:
    """Write an invoice with planted mistakes."""
    with zipfile.ZipFile(envelope) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    roots = {name: etree.fromstring(content) for name, content in files.items()}
    general = next(root for root in roots.values() if root.tag == "F15_Donnees_Generales")
    (detail,) = (root for root in roots.values() if root.tag == "F15_Detail_Facturation")
    planter = Planter(general, detail)
    plant(planter)
    with zipfile.ZipFile(to, "w") as archive:
        for name, root in roots.items():
            archive.writestr(name, etree.tostring(root, xml_declaration=True, encoding="UTF-8"))
    return planter


def plant(planter: Planter) -> None:
    """One mistake of each kind."""

    def moved(line: etree._Element, days: int) -> dict[str, object]:
        start = date.fromisoformat(line.findtext("Date_Debut", ""))
        more = Decimal(line.findtext("Quantite", "")) + days
        return {"Date_Debut": start - timedelta(days=days), "Quantite": more}

    month = planter.general.findtext("En_Tete_Message/Date_Facture", "")[:7]
    entering = next(line for line in planter.lines("ASGBT") if line.findtext("Date_Debut", "")[-2:] != "01")
    planter.change("supply", entering, **moved(entering, 3))
    energy = next(line for line in planter.lines("ASSV"))
    planter.change("consumption", energy, Quantite=Decimal(energy.findtext("Quantite", "")) + 100)
    again = next(line for line in planter.lines("ASGBT") if line.findtext("Date_Debut", "").endswith("-01"))
    planter.change("twice", again, **moved(again, 2))
    power = next(line for line in planter.lines("ASSF"))
    had, days = Decimal(power.findtext("Puissance_Souscrite", "")), Decimal(power.findtext("Quantite", ""))
    planter.change("power", power, Puissance_Souscrite=had + 3, Quantite=days / had * (had + 3))
    dear = next(line for line in planter.lines("ASGBT"))
    planter.change("price", dear, Prix_Unitaire=Decimal(dear.findtext("Prix_Unitaire", "")) + Decimal("0.01"))
    longer = next(line for line in planter.lines("ASCLBT"))
    planter.change("quantity", longer, Quantite=Decimal(longer.findtext("Quantite", "")) + 5)
    taxed = next(line for line in planter.lines("ASSF"))
    taxed.find("Taux_TVA_Applicable").text = "5.50"  # type: ignore[union-attr]
    base = Decimal(taxed.findtext("Montant_HT", ""))
    planter.planted["tax"] += (base * Decimal("-0.145")).quantize(CENT, ROUND_HALF_UP)  # type: ignore[assignment]
    planter.add_up()
    totals = planter.general.find("Fin_Message")
    assert totals is not None
    assert month == "2025-09"
    for tag in ("Montant_Total_HT", "Montant_Total_TTC"):
        totals.find(tag).text = str(Decimal(totals.findtext(tag, "")) + 100)  # type: ignore[union-attr]
    planter.planted["net"] += 100


@pytest.mark.parametrize(("database", "seed"), [("sqlite", None), ("postgresql", 7)])
def test_every_planted_euro_is_found(
    summer: Path, tmp_path: Path, database: str, seed: int | None, request: pytest.FixtureRequest
) -> None:
    """Whichever order the files come in."""
    url = f"sqlite:///{tmp_path / 'eis.db'}" if database == "sqlite" else request.getfixturevalue("postgres_url")
    folder = tmp_path / "envelopes"
    folder.mkdir()
    planter = None
    for envelope in sorted(summer.iterdir()):
        if "_F15_" in envelope.name and envelope.stem[-14:-8] == "202509":
            planter = rewritten(envelope, folder / envelope.name)
        else:
            (folder / envelope.name).symlink_to(envelope)
    assert planter is not None
    found = checked(folder, url, seed)
    contested = {one.invoice: one for one in found.values() if one.findings}
    (invoice,) = contested.values()
    euros: Counter[str] = Counter()
    for one in invoice.findings:
        euros[one.check] += one.euros  # type: ignore[assignment]
    assert euros.keys() == planter.planted.keys()
    assert {check: abs(euros[check] - planted) <= CENT for check, planted in planter.planted.items()} == dict.fromkeys(
        planter.planted, True
    ), (euros, planter.planted)
    assert all(one.charged != one.expected for one in invoice.findings)
