"""What freed stuck messages before, and what a stuck message is likely to need."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.config import AssistantConfig
from assistant.explanation.explaining import explain_message
from assistant.repairs.foretelling import Foreteller
from assistant.repairs.records import LATE, TICKET, Repair, Stuck, recorded
from energycomm.commands.process import run
from energycomm.config import Config, load
from energycomm.correction.library import load_scripts
from energycomm.correction.loop import loop
from energycomm.eis.migrations import upgrade
from energycomm.engine.folder import load_catalogue
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.opening import open_store


def stuck(number: int, *codes: str, kind: str = "MeterReading", market: str = "FR") -> Stuck:
    return Stuck(number, number, market, kind, "R15", codes, "registers", "grid_operator")


def done(number: int, what: str, *codes: str, kind: str = "MeterReading") -> Repair:
    return Repair(stuck(number, *codes, kind=kind), what, None, True)


def test_the_repair_of_the_most_messages_with_the_same_codes_comes_first_with_its_numbers() -> None:
    past = [done(n, "relabel-unit", "FR-R01") for n in range(3)] + [done(9, TICKET, "FR-R01")]
    first, second = Foreteller(past).foretell(stuck(10, "FR-R01"))[:2]
    assert (first.what, first.freed, first.alike, first.messages) == ("relabel-unit", 3, 4, (0, 1, 2))
    assert (second.what, second.freed) == (TICKET, 1)
    assert first.share > second.share
    assert first.share + second.share == pytest.approx(1)


def test_messages_of_the_same_kind_count_more_than_others_with_the_same_code() -> None:
    past = [done(n, TICKET, "CO-E03", kind="ContractTerms") for n in range(5)]
    past += [done(n, "to-midnight", "CO-E03") for n in range(5, 8)]
    assert Foreteller(past).foretell(stuck(10, "CO-E03"))[0].what == "to-midnight"


def test_a_code_that_was_never_repaired_gets_what_others_got_and_says_that_there_was_none() -> None:
    first = Foreteller([done(1, LATE, "FR-S01")]).foretell(stuck(2, "FR-X99"))[0]
    assert (first.what, first.freed, first.alike, first.messages) == (LATE, 0, 0, ())
    assert Foreteller([]).foretell(stuck(2, "FR-X99")) == []


def test_a_script_that_says_that_it_is_for_such_messages_comes_before_what_others_got(project_root: Path) -> None:
    scripts = load_scripts(load_catalogue(project_root / "rules").rules, None).values()
    waiting = stuck(2, "waits for EndOfSupply of the running contract", kind="StartOfSupply")
    past = [done(1, TICKET, "FR-S01")]
    assert Foreteller(past).foretell(waiting)[0].what == TICKET
    first = Foreteller(past, scripts).foretell(waiting)[0]
    assert (first.what, first.freed) == ("create-missing-end", 0)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory, project_root: Path) -> Config:
    """A store in which a stuck message was freed by a script, and tickets were made for the rest."""
    folder = tmp_path_factory.mktemp("repairs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENERGYCOMM_DATABASE", f"sqlite:///{folder / 'eis.db'}")
        made = load(folder)
    from energycomm.eis.database import opened

    with opened(made.database_url) as engine:
        upgrade(engine)
    with open_store(made) as store:
        gateway = Gateway(made, store)
        fixtures = project_root / "fixtures" / "fr"
        run(
            gateway,
            [file for pattern in ("c15_*.xml", "r15*.xml") for file in sorted(fixtures.glob(pattern))],
            show=False,
        )
        scripts = load_scripts(gateway.catalogue.rules, made.scripts_folder).values()
        loop(store, gateway.writer, scripts, by="test", why="test")
    return made


def test_the_store_tells_what_became_of_each_stuck_message(config: Config) -> None:
    with open_store(config) as store:
        records = recorded(store.engine)
        with store.engine.connect() as connection:
            scripts = {row[0] for row in connection.exec_driver_sql("SELECT script FROM campaign WHERE freed > 0")}
            tickets = {row[0] for row in connection.exec_driver_sql("SELECT message_id FROM ticket_message")}
    told = {one.stuck.id: one for one in records.repairs}
    assert {one.what for one in told.values() if one.campaign is not None} == scripts
    assert {number for number, one in told.items() if one.what == TICKET} == tickets
    assert all(one.stuck.codes for one in told.values())


def test_the_explanation_of_a_stuck_message_says_what_freed_such_messages(config: Config, tmp_path: Path) -> None:
    with open_store(config) as store:
        tickets = [one for one in recorded(store.engine).repairs if one.what == TICKET]
    for language, title in (("en", "What freed such messages"), ("nl", "Wat zulke berichten heeft vrijgegeven")):
        told = explain_message(config, AssistantConfig(folder=tmp_path), tickets[0].stuck.id, language)
        (part,) = [one for one in told.parts if one.title == title]
        assert part.statements
        assert all("%" in one.text for one in part.statements)
