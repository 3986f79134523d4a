"""What nearly always holds of accepted messages, those that break it, and drafts of the rules that are missing."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from assistant.classifier.material import Case, Stored
from assistant.invariants.drafting import draft
from assistant.invariants.mining import mined
from assistant.invariants.ranking import Group, grouped, ranked
from assistant.invariants.vocabulary import told_of, without
from assistant.invariants.weighing import weighed
from energycomm import cli
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.folder import load_catalogue, read_catalogue
from energycomm.errors import ExitCode
from energycomm.kernel.history import History, RegisterFacts
from energycomm.kernel.messages import MeterReading
from energycomm.kernel.parts import Register

BEGIN = datetime(2025, 1, 6, tzinfo=UTC)


@pytest.fixture(scope="module")
def catalogue(project_root: Path) -> Catalogue:
    return load_catalogue(project_root / "rules")


def reading(
    number: int, unit: str = "kWh", value: int = 0, late: int = 1, codes: tuple[str, ...] = (), before: int = 0
) -> Case:
    """A reading of a point of its own: the register was at `before` a month ago, and rose by 300 unless told."""
    effective = BEGIN + timedelta(days=number % 60)
    message = MeterReading(
        market="FR",
        market_type="R15" if number % 2 else "C15",
        reference=f"reading-{number}",
        created=effective + timedelta(days=late),
        effective=effective,
        access_point=f"{number:014d}",
        qualification="periodic",
        nature="read",
        registers=(
            Register(grid="distributor", time_class="BASE", value=Decimal(value or before + 300), unit=unit),  # type: ignore[arg-type]
        ),
    )
    facts = RegisterFacts(index_wh=before * 1000, unit_wh=1000, at=effective - timedelta(days=30), days=30.0)
    stored = Stored(number, "FR", "MeterReading", 0, number, codes, "", 0)
    return Case(stored, message, History(known=True, registers=(facts,)), access_point=str(number))


def months(count: int = 120) -> list[Case]:
    """Ordinary readings of as many points."""
    return [reading(number, before=1000 + 7 * number, late=1 + number % 4) for number in range(1, count)]


def groups(catalogue: Catalogue, cases: list[Case]) -> list[Group]:
    found = mined(catalogue, "FR", "MeterReading", cases)
    return grouped(found, weighed(found, {case.stored.id: case.stored.codes[0] for case in cases if case.stored.codes}))


def claims_against(found: list[Group], number: int) -> list[str]:
    """What a message breaks, by what was mined."""
    every = {id(group.mined): group.mined for group in found}.values()
    return [
        invariant.holds
        for one in every
        for invariant in one.invariants
        if number in {one.contents.cases[place].stored.id for place in one.contents.messages(invariant.broken)}
    ]


def test_messages_that_are_all_alike_break_nothing(catalogue: Catalogue) -> None:
    alike = [reading(number, before=5000) for number in range(1, 120)]
    assert groups(catalogue, alike) == []


@pytest.mark.parametrize(
    ("odd", "claim"),
    [
        (reading(500, unit="Wh", before=1000), "register.unit == 'kWh'"),
        (reading(500, value=700, before=1000), "wh(register.value, register.unit) >= previous.index_wh"),
        (reading(500, late=-3, before=1000), "created > effective"),
        (reading(500, late=90, before=1000), "days_between(effective, created) <= 8"),
    ],
    ids=["unit", "index that goes back", "written before it holds", "told late"],
)
def test_a_message_that_breaks_what_holds_of_all_others_is_found_with_the_reason(
    catalogue: Catalogue, odd: Case, claim: str
) -> None:
    found = groups(catalogue, [*months(), odd])
    assert set(ranked(found)) == {500}
    assert claim in claims_against(found, 500)
    assert str(found[0].missing.support) in found[0].missing.why


def test_nothing_is_learned_from_what_a_rule_refused(catalogue: Catalogue) -> None:
    refused = [reading(1000 + number, unit="Wh", codes=("FR-R01",), before=1000) for number in range(100)]
    assert ranked(groups(catalogue, months() + refused)) == {}


def test_what_refused_messages_break_weighs_more_than_what_others_break(catalogue: Catalogue) -> None:
    refused = [reading(1000 + number, unit="Wh", codes=(f"FR-R{number:02d}",), before=1000) for number in range(9)]
    usual = [reading(2000 + number, late=90, before=1000) for number in range(2)]
    cases = [*months(300), *refused, *usual, reading(3000, unit="Wh", before=1000)]
    assert next(iter(ranked(groups(catalogue, cases)))) == 3000


def test_a_rule_left_out_takes_its_predicates_and_lists_along(catalogue: Catalogue) -> None:
    (rule,) = [one for one in catalogue.rules if "volumes_distinct(" in f"{one.holds} {one.violated_when}"]
    kept = without(catalogue, frozenset((rule.error_code,)))
    asked = [{one.text for one in told_of(of, "FR", "MeteredVolume", None)} for of in (catalogue, kept)]
    assert asked[0] - asked[1] == {"volumes_distinct(volumes)"}
    assert rule not in kept.rules


@pytest.mark.parametrize(
    "odd",
    [
        reading(500, unit="Wh", before=1000),
        reading(500, value=700, before=1000),
        reading(500, late=-3, before=1000),
        reading(500, late=90, before=1000),
    ],
    ids=["unit", "index", "created", "late"],
)
def test_the_check_of_rules_accepts_a_draft_with_its_examples(
    catalogue: Catalogue, odd: Case, project_root: Path, tmp_path: Path
) -> None:
    written = draft(groups(catalogue, [*months(), odd])[0], catalogue)
    assert "passes" in written
    assert "fails" in written
    shutil.copytree(project_root / "rules", tmp_path / "rules")
    (tmp_path / "rules/fr/draft.yaml").write_text(written, encoding="utf-8")
    read, problems = read_catalogue(tmp_path / "rules")
    assert not problems
    assert len(read.rules) == len(catalogue.rules) + 1


def test_the_command_refuses_what_does_not_exist_and_lists_nothing_of_a_store_with_few_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, project_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", f"sqlite:///{tmp_path}/eis.db")
    cli.main(["process", str(project_root / "fixtures/fr/r15_periodic.xml")])
    capsys.readouterr()
    assert cli.main(["assistant", "rules-missing", "--market", "XX"]) == ExitCode.USAGE
    assert "FR" in capsys.readouterr().err
    assert cli.main(["assistant", "rules-missing", "--kind", "MeterReadings"]) == ExitCode.USAGE
    assert "MeterReading" in capsys.readouterr().err
    assert cli.main(["assistant", "rules-missing", "--json"]) == 0
    assert capsys.readouterr().out.strip() == "[]"
    assert cli.main(["assistant", "rules-missing", "--draft", "1"]) != 0
    assert "0 groups" in capsys.readouterr().err
