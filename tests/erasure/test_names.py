"""Names in parts, numbers in numbers: how a customer is found by less than all, and nothing of the name is left."""

from __future__ import annotations

import pytest

from energycomm.erasure.erasing import carry_out
from energycomm.erasure.finding import find
from energycomm.erasure.persons import person_at
from energycomm.erasure.traces import Traces
from energycomm.kernel.messages import CustomerData
from energycomm.kernel.personal import PersonalValue
from energycomm.market.installed import installed_adapters
from tests.erasure.left import PRM, means, mine
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, end, head, start, transaction

SIRET, SIREN = "73282932000074", "732829320"


@pytest.mark.parametrize("words", ["quinq", "engrog", "ALDEG quinqu", "aldegonde@exam", "canar", "Âldégonde quinq"])
def test_a_customer_is_found_by_parts_of_words(desk: Desk, words: str) -> None:
    assert PRM in {one.access_point for one in find(desk.store, words)}


@pytest.mark.parametrize("words", ["qu", "zz", "quinq zzz", "quinq xy"])
def test_a_part_that_is_not_there_or_too_short_finds_nobody(desk: Desk, words: str) -> None:
    assert find(desk.store, words) == []


@pytest.mark.parametrize(
    ("name", "text", "left"),
    [
        ("Camille Morel", "Camille MOREL asked", "*** asked"),
        ("Camille Morel", "Morel, Camille", "***, ***"),
        ("Camille Morel", "Mme Morel asked", "Mme *** asked"),
        ("Boulangerie Morel SARL", "of the boulangerie, and of Morel", "of the ***, and of ***"),
        ("Jean de la Tour", "Tour de la mairie, by Jean", "*** de la mairie, by ***"),
        ("Morel", "Morelle stays", "Morelle stays"),
    ],
)
def test_nothing_of_a_name_is_left_in_what_was_written_of_the_customer(name: str, text: str, left: str) -> None:
    assert Traces([PersonalValue("company", "name", name)]).scrub_wholly(text) == left


def test_who_is_a_business_alone_is_found_and_erased_by_the_number_of_the_company_too(database_url: str) -> None:
    """A SIRET begins with the SIREN of the company: a text that has the SIREN alone leads to the same person."""
    desk = Desk(database_url)
    common = head(PRM, day(1), "C15", "MES", "C15:1") | {"contract_reference": "123456789"}
    firm = CustomerData(**common, category="professional", company="Boulangerie Morel", company_id=SIRET)
    desk.deliver([start(PRM, day(0)), transaction([firm]), end(PRM, day(100))])
    with desk.store.transaction() as tx:
        tx.driver.run("UPDATE envelope SET state = 'done'", ())
        text = "RCS Lyon 732 829 320, boulangerie of Morel"
        tx.driver.run("UPDATE outbox SET last_error = ?", (text,))
        tx.driver.run("UPDATE state_change SET why = ?", (f"SIREN {SIREN}, SIRET 732 829 320 00074",))
    assert [one.access_point for one in find(desk.store, SIREN)] == [PRM]
    with desk.store.reading() as reader:
        person = person_at(reader, installed_adapters(), "FR", PRM, 0, 1 << 62)
    assert person.companies == {SIRET: SIREN}
    carry_out(means(desk), mine(desk))
    rows = desk.rows("SELECT last_error FROM outbox UNION SELECT why FROM state_change")
    told = " ".join(str(row[0]) for row in rows)
    assert [word for word in ("732", "Morel", "oulangerie", "00074") if word in told] == []
    assert "SIREN ***, SIRET ***" in told
