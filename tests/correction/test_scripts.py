"""Each shipped script frees the case that it was written for, and leaves alone what only looks like it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest
from msgspec import structs

from energycomm.correction import campaign
from energycomm.correction.cases import STUCK, stuck_ids
from energycomm.correction.library import load_scripts
from energycomm.correction.planning import Preview, plan, preview
from energycomm.kernel.messages import (
    ContractTerms,
    KernelMessage,
    MeteredVolume,
    MeterReading,
    RequestStatus,
    StartOfSupply,
)
from energycomm.kernel.parts import Volume
from tests.correction.neighbours import (
    BELGIAN,
    DUTCH,
    access,
    address,
    at,
    gain,
    index,
    loss,
    quarters,
    terminated,
    voltage,
)
from tests.pipeline.desk import Desk, shipped_rules
from tests.pipeline.story import day, end, head, reading, start, transaction

PRM = "99000000000017"
SCRIPTS = load_scripts(shipped_rules().rules)

Messages: TypeAlias = Sequence[Sequence[KernelMessage]]
"""CH messages, each of some Kernel messages."""


def begun() -> Messages:
    """A supply that runs, with its data."""
    return [start(PRM, day(0)).messages]


def read(number: int, wh: int, **changes: Any) -> list[KernelMessage]:
    """A reading with something changed."""
    return [structs.replace(reading(PRM, day(number), wh).messages[0], **changes)]


def with_register(number: int, **changes: Any) -> list[KernelMessage]:
    """A reading whose register is changed."""
    (message,) = reading(PRM, day(number), 1_200_000).messages
    assert isinstance(message, MeterReading)
    return [structs.replace(message, registers=(structs.replace(message.registers[0], **changes),))]


def twice(number: int, second: int) -> list[KernelMessage]:
    """A reading that gives its register twice."""
    (message,) = reading(PRM, day(number), 1_200_000).messages
    assert isinstance(message, MeterReading)
    one = message.registers[0]
    return [structs.replace(message, registers=(one, structs.replace(one, value=second, rank=2)))]


def energies(*quantities: int) -> list[KernelMessage]:
    """The energy of a month, as often as there are quantities."""
    common = head(PRM, day(31), "R15", "CYCL", "V31") | {"contract_reference": "123456789"}
    volume = Volume(grid="distributor", time_class="BASE", quantity=Decimal(1), unit="kWh")
    volumes = tuple(structs.replace(volume, quantity=Decimal(quantity)) for quantity in quantities)
    return [MeteredVolume(**common, start=day(0), nature="measured", calendar="DI000001", volumes=volumes)]


def energy_again(kwh: int) -> list[KernelMessage]:
    """The energy of the first month, each time under another reference, with another quantity."""
    (told,) = energies(kwh)
    return [structs.replace(told, reference=f"V{kwh}", created=day(31 + kwh % 7))]


def terms(number: int, **changes: Any) -> list[KernelMessage]:
    """New terms of the running contract."""
    (found,) = [one for one in start(PRM, day(0)).messages if isinstance(one, ContractTerms)]
    own = {"effective": day(number), "created": day(number), "market_reason": "MCT", "reason": "contract-change"}
    return [structs.replace(found, **own | {"reference": f"T{number}", "sequence": 2} | changes)]


def milestone(number: int, minutes: int) -> list[KernelMessage]:
    """A milestone of a request, so many minutes into the tenth day."""
    when = day(10).replace(hour=9 + minutes // 60, minute=minutes % 60)
    return [
        RequestStatus(
            **head(PRM, when, "X12", None, f"M{number} {minutes}"),
            request="S0000001",
            milestone=number,
            state="in-course",
            state_code="DMTR" if number == 1 else "DMREC",
            object_code="AME",
            initiated_by_us=True,
        )
    ]


def elsewhere(messages: Messages, prm: str) -> Messages:
    """The messages of another access point."""
    return [[structs.replace(one, access_point=prm) for one in group] for group in messages]


class Example(NamedTuple):
    """One example of a script.

    Attributes:
      script: its name.
      given: CH messages, in the order in which they arrive.
      frees: how many messages it frees; 0 where it is to leave them alone.
      parameters: of the script.
      market: of the messages.
    """

    script: str
    given: Callable[[], Messages]
    frees: int
    parameters: Mapping[str, str] = {}
    market: str = "FR"


def swapped(number: str) -> str:
    """A number with its eleventh and twelfth figure changed into others, so that the check digit is wrong."""
    return number[:14] + number[15] + number[14] + number[16:]


EXAMPLES: dict[str, Example] = {
    "Wh written for kWh": Example(
        "relabel-unit", lambda: [*begun(), read(31, 1_200_000), with_register(60, value=1_250, unit="Wh")], 1
    ),
    "an index that is simply too low": Example(
        "relabel-unit", lambda: [*begun(), read(31, 1_200_000), with_register(60, value=1_100)], 0
    ),
    "a mark of byte order before a reference": Example(
        "repair-encoding", lambda: [*begun(), read(31, 1_200_000, contract_reference="ï»¿123456789")], 1
    ),
    "a name with an accent that is right": Example(
        "repair-encoding", lambda: [*begun(), read(31, 1_200_000, contract_reference="Âge-1")], 0
    ),
    "a blank that is not to be broken in a postal code": Example(
        "repair-encoding", lambda: [[gain(at(1))], [address(at(1), "1011Â\u00a0AB")]], 1, market="NL"
    ),
    "blanks around a reference": Example(
        "clean-codes", lambda: [*begun(), read(31, 1_200_000, contract_reference="\u200b123456789\u00a0")], 1
    ),
    "letters in a reference": Example(
        "clean-codes", lambda: [*begun(), read(31, 1_200_000, contract_reference="AB-1234")], 0
    ),
    "an unknown calendar": Example(
        "calendar-of-contract", lambda: [*begun(), read(31, 1_200_000, calendar="INCONNU")], 1
    ),
    "terms under a test calendar": Example(
        "calendar-of-contract",
        lambda: [*begun(), read(31, 1_200_000), terms(40, calendar="DN999999")],
        1,
    ),
    "a calendar when nothing is known": Example(
        "calendar-of-contract", lambda: [read(31, 1_200_000, calendar="INCONNU")], 0
    ),
    "terms without tariff": Example("fill-from-history", lambda: [*begun(), terms(40, tariff=None)], 1),
    "terms without power and unit": Example(
        "fill-from-history", lambda: [*begun(), terms(40, subscribed_power=None, power_unit=None)], 1
    ),
    "terms without tariff, another field asked for": Example(
        "fill-from-history", lambda: [*begun(), terms(40, tariff=None)], 0, {"field": "calendar"}
    ),
    "a reading without contract": Example(
        "contract-of-the-day", lambda: [*begun(), read(31, 1_200_000, contract_reference=None)], 1
    ),
    "a reading without contract after the exit": Example(
        "contract-of-the-day",
        lambda: [*begun(), end(PRM, day(90)).messages, read(120, 1_200_000, contract_reference=None)],
        0,
    ),
    "an entry under the reference of the contract before": Example(
        "start-under-new-reference",
        lambda: [
            *begun(),
            end(PRM, day(90)).messages,
            start(PRM, day(100)).messages,
            reading(PRM, day(130), 1_100_000, contract="987654321").messages,
        ],
        5,
    ),
    "an entry under an old reference, nothing waiting": Example(
        "start-under-new-reference", lambda: [*begun(), end(PRM, day(90)).messages, start(PRM, day(100)).messages], 0
    ),
    "two figures swapped": Example(
        "swapped-digits", lambda: [[gain(at(1))], [index(at(5), 100, access_point=swapped(DUTCH))]], 1, market="NL"
    ),
    "two figures swapped of a point that is not ours": Example(
        "swapped-digits", lambda: [[index(at(5), 100, access_point=swapped(DUTCH))]], 0, market="NL"
    ),
    "a gain a second before midnight": Example(
        "to-midnight", lambda: [[gain(at(1, 23, 59, 59))], [index(at(5), 100)]], 2, market="NL"
    ),
    "a gain at noon": Example("to-midnight", lambda: [[gain(at(1, 12))]], 0, market="NL"),
    "an access at midnight in Greenwich": Example("to-midnight", lambda: [[access(at(2, 1))]], 1, market="BE"),
    "intervals numbered from zero": Example(
        "renumber-positions", lambda: [[gain(at(1))], [quarters(at(5), first=2)]], 1, market="NL"
    ),
    "intervals of which some are missing": Example(
        "renumber-positions", lambda: [[gain(at(1))], [quarters(at(5), first=2, count=90)]], 0, market="NL"
    ),
    "a register twice": Example("drop-repeated-register", lambda: [*begun(), twice(31, 1200)], 1),
    "a register twice with two values": Example("drop-repeated-register", lambda: [*begun(), twice(31, 1201)], 0),
    "an energy twice": Example("drop-repeated-register", lambda: [*begun(), energies(100, 100)], 1),
    "a register that began again": Example(
        "register-rollover",
        lambda: [*begun(), with_register(31, value=999_812), with_register(60, value=147)],
        1,
    ),
    "a register that went back": Example(
        "register-rollover",
        lambda: [*begun(), with_register(31, value=500_000), with_register(60, value=147)],
        0,
    ),
    "a wrong copy of the index before": Example(
        "drop-previous-index",
        lambda: [*begun(), read(31, 1_200_000), with_register(60, value=1250, previous_value=9999)],
        1,
    ),
    "a right copy of the index before": Example(
        "drop-previous-index",
        lambda: [*begun(), read(31, 1_200_000), with_register(60, value=1100, previous_value=1200)],
        0,
    ),
    "a reading told again that the next one contradicts": Example(
        "set-aside-contradicted",
        lambda: [*begun(), read(31, 1_100_000), read(60, 1_250_000), read(31, 1_330_000, created=day(61))],
        1,
    ),
    "a reading told again that fits as well": Example(
        "set-aside-contradicted",
        lambda: [*begun(), read(31, 1_100_000), read(60, 1_450_000), read(31, 1_130_000, created=day(61))],
        0,
    ),
    "an energy told again that the indexes contradict": Example(
        "set-aside-contradicted",
        lambda: [*begun(), read(0, 1_000_000), read(31, 1_100_000), energy_again(100), energy_again(131)],
        1,
    ),
    "an energy told again, the indexes unknown": Example(
        "set-aside-contradicted", lambda: [*begun(), energy_again(100), energy_again(131)], 0
    ),
    "milestones whose clocks disagree": Example(
        "milestones-in-order", lambda: [*begun(), milestone(1, 0), milestone(3, 10), milestone(2, 15)], 1
    ),
    "milestones that are days apart": Example(
        "milestones-in-order",
        lambda: [*begun(), milestone(1, 0), milestone(3, 10), milestone(2, 300)],
        0,
    ),
    "a gas reading at an electricity point": Example(
        "energy-of-point",
        lambda: [[gain(at(1))], [index(at(5), 100)], [index(at(6), 101, energy="gas")]],
        1,
        market="NL",
    ),
    "a start that is repeated": Example(
        "set-aside-repeated-supply",
        lambda: [*begun(), [one for one in start(PRM, day(5)).messages if isinstance(one, StartOfSupply)]],
        1,
    ),
    "an end that is repeated": Example(
        "set-aside-repeated-supply", lambda: [*begun(), end(PRM, day(90)).messages, end(PRM, day(91)).messages], 1
    ),
    "a lost exit": Example("create-missing-end", lambda: [*begun(), start(PRM, day(100), "987654321").messages], 4),
    "a lost gain": Example(
        "create-missing-start", lambda: [[address(at(3), "1011AB")], [index(at(5), 100)]], 2, market="NL"
    ),
    "a lost loss": Example(
        "create-missing-end",
        lambda: [[gain(at(1))], [loss(at(3))], [gain(at(4))], [index(at(5), 100)], [gain(at(10))]],
        1,
        market="NL",
    ),
    "a lost start of access": Example(
        "create-missing-start", lambda: [[terminated(at(9))], [voltage(at(5, 12))]], 2, market="BE"
    ),
    "a lost end of access": Example("create-missing-end", lambda: [[access(at(2))], [access(at(9))]], 1, market="BE"),
    "a lost original": Example(
        "correction-as-original",
        lambda: [*begun(), reading(PRM, day(31), 1_200_000, function="replace").messages],
        1,
    ),
}


def tried(desk: Desk, example: Example) -> Preview:
    """A dry run of the example's script."""
    return preview(
        desk.store, desk.writer, plan(desk.database, desk.markets, SCRIPTS[example.script], example.parameters)
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_script_frees_its_own_case_and_no_other(tmp_path: Path, name: str) -> None:
    """In a dry run; what it frees was stuck before."""
    example = EXAMPLES[name]
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    for messages in example.given():
        desk.deliver([transaction(list(messages))], market=example.market)
    stuck = stuck_ids(desk.database)
    assert stuck, desk.states()
    found = tried(desk, example)
    assert found.faults == {}
    assert len(found.freed) == example.frees, ([one.note for one in found.tried], desk.states())
    assert set(found.freed) <= set(stuck)


def test_every_script_has_an_example_of_its_own() -> None:
    """Those of the two that take anything stand in the tests of campaigns and of the loop."""
    elsewhere_tested = {"replay-unchanged", "set-field"}
    assert {example.script for example in EXAMPLES.values()} == set(SCRIPTS) - elsewhere_tested


def test_scripts_that_guess_are_never_automatic() -> None:
    """The loop runs what follows from the history alone."""
    automatic = {name for name, script in SCRIPTS.items() if script.declared.automatic}
    assert automatic == {"create-missing-start", "create-missing-end", "correction-as-original", "replay-unchanged"}


def test_what_was_set_aside_comes_back_when_it_is_undone(database_url: str) -> None:
    """Nothing is stored of it, and nobody has to look at it meanwhile."""
    desk = Desk(database_url)
    example = EXAMPLES["an end that is repeated"]
    for messages in example.given():
        desk.deliver([transaction(list(messages))])
    (number,) = stuck_ids(desk.database)
    script = SCRIPTS[example.script]
    done = campaign.start(desk.store, script, tried(desk, example).useful, by="anna", why="told twice")
    assert campaign.run(desk.store, desk.writer, done).freed == 1
    assert stuck_ids(desk.database) == []
    assert desk.rows(f"SELECT state FROM kernel_message WHERE id = {number}") == [("withdrawn",)]
    campaign.undo(desk.store, desk.writer, done, "ben")
    assert desk.rows(f"SELECT state FROM kernel_message WHERE id = {number}") == [("rejected",)]
    assert stuck_ids(desk.database, STUCK) == [number]


def test_a_message_given_to_another_access_point_counts_there_and_goes_back_when_undone(database_url: str) -> None:
    """The reading is stored at the point that was meant; the undo takes it from there."""
    desk = Desk(database_url)
    example = EXAMPLES["two figures swapped"]
    for messages in example.given():
        desk.deliver([transaction(list(messages))], market="NL")
    script = SCRIPTS[example.script]
    number = campaign.start(desk.store, script, tried(desk, example).useful, by="anna", why="swapped")
    assert campaign.run(desk.store, desk.writer, number).freed == 1
    sql = "SELECT p.identifier FROM reading r JOIN access_point p ON p.id = r.access_point_id"
    assert desk.rows(sql) == [(DUTCH,)]
    campaign.undo(desk.store, desk.writer, number, "ben")
    assert desk.rows(sql) == []
    assert len(stuck_ids(desk.database)) == 1


def test_the_examples_use_both_neighbours() -> None:
    """Scripts of a market are tried with messages of that market."""
    assert {example.market for example in EXAMPLES.values()} == {"FR", "NL", "BE"}
    assert len(BELGIAN) == len(DUTCH) == 18
