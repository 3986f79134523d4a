"""A meter is changed in a market that tells its indexes in messages of their own: what is missing is named once, and
what is right is not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from msgspec import structs

from energycomm.eis.comparison import canonical
from energycomm.kernel.messages import KernelMessage, MeterData, MeterReading
from energycomm.kernel.parts import Register
from energycomm.kernel.vocabulary import Direction, MeterAction, Qualification
from tests.correction.neighbours import at, dutch, gain, with_check_digit
from tests.pipeline.desk import Desk
from tests.pipeline.story import transaction

OLD, NEW = "E0000000000000001", "E0000000000000002"


def told(when: datetime, action: MeterAction, meter: str) -> KernelMessage:
    """What the register says of a meter."""
    reason = {"installed": "MTRINST", "removed": "MTREND", "present": "CONNUPD"}[action]
    return dutch(
        MeterData,
        when,
        "MasterDataUpdateResponse",
        market_reason=reason,
        action=action,
        meter=meter,
        reference=f"{reason} {meter} {when}",
    )


def read(
    when: datetime, meter: str, *indexes: int, side: Qualification = "periodic", ways: Sequence[Direction] = ()
) -> KernelMessage:
    """Indexes of the low and the normal register, or of a register for each way."""
    named = [("T", way) for way in ways] or [("L", "consumption"), ("N", "consumption")]
    registers = tuple(
        Register(grid="distributor", time_class=name, value=value, unit="kWh", digits=6, direction=way)
        for (name, way), value in zip(named, indexes, strict=False)
    )
    return dutch(
        MeterReading,
        when,
        "MeterReadingExchangeResponse",
        market_reason="PERMTR",
        qualification=side,
        nature="read",
        meter=meter,
        registers=registers,
        reference=f"{meter} {when} {side} {len(indexes)}",
        reading_reference=f"{meter} {when} {side}",
    )


CLOSED: Qualification = "before-event"
OPENED: Qualification = "after-event"
BEGUN = [told(at(1), "present", OLD), read(at(1), OLD, 700, 900)]
CHANGED = [told(at(10), "installed", NEW), told(at(10), "removed", OLD)]
STORIES: dict[str, tuple[list[KernelMessage], list[str]]] = {
    "both meters are read": (
        [
            *CHANGED,
            read(at(10), OLD, 750, 950, side=CLOSED),
            read(at(10), NEW, 0, 0, side=OPENED),
            read(at(20), NEW, 9, 9),
        ],
        [],
    ),
    "the reading of the round closes the old meter": (
        [*CHANGED, read(at(10), OLD, 750, 950), read(at(10), NEW, 0, 0, side=OPENED), read(at(20), NEW, 9, 9)],
        [],
    ),
    "both meters are read in the round, the new one first": (
        [*CHANGED, structs.replace(read(at(10), NEW, 0, 0), created=at(10, 9)), read(at(10), OLD, 750, 950)],
        [],
    ),
    "the old meter leaves a day before the new one comes": (
        [
            told(at(9), "removed", OLD),
            told(at(10), "installed", NEW),
            read(at(9), OLD, 750, 950, side=CLOSED),
            read(at(10), NEW, 0, 0, side=OPENED),
        ],
        [],
    ),
    "no index of the new meter": (
        [*CHANGED, read(at(10), OLD, 750, 950, side=CLOSED), read(at(20), NEW, 9, 9), read(at(25), NEW, 12, 12)],
        ["CO-R15 reading of 20", "CO-R15 reading of 20"],
    ),
    "no closing index": (
        [*CHANGED, read(at(10), NEW, 0, 0, side=OPENED), read(at(20), NEW, 9, 9)],
        ["CO-R16 reading of 10", "CO-R16 reading of 10"],
    ),
    "one register of two is closed": (
        [*CHANGED, read(at(10), OLD, 750, side=CLOSED), read(at(10), NEW, 0, 0, side=OPENED)],
        ["CO-R16 reading of 10"],
    ),
    "the new meter has other registers, and no index of its first day": (
        [
            *CHANGED,
            read(at(10), OLD, 750, 950, side=CLOSED),
            read(at(20), NEW, 9, 1, ways=("consumption", "production")),
        ],
        ["CO-R15 reading of 20", "CO-R15 reading of 20"],
    ),
    "a register of feed-in appears on the meter in place": (
        [read(at(20), OLD, 800, 950), read(at(25), OLD, 7, ways=("production",))],
        [],
    ),
    "another meter that no mutation installs": (
        [told(at(10), "present", NEW), read(at(10), OLD, 750, 950), read(at(10), NEW, 0, 0, side=OPENED)],
        ["NL-M05 meter of 10"],
    ),
    "an index that begins again, of the same meter": ([read(at(20), OLD, 3, 4)], ["CO-R05 reading of 20"] * 2),
    "a reading of the old meter after it was changed": (
        [
            *CHANGED,
            read(at(10), OLD, 750, 950, side=CLOSED),
            read(at(10), NEW, 0, 0, side=OPENED),
            read(at(20), OLD, 760, 960),
        ],
        ["NL-R08 reading of 20"],
    ),
}


def test_what_a_change_of_meter_lacks_is_named_once(tmp_path: Path) -> None:
    """Each story at a point of its own, in three orders of arrival."""
    points = {with_check_digit(f"8719999000000{number:04d}"): name for number, name in enumerate(STORIES)}
    messages = [
        structs.replace(message, access_point=point, reference=f"{point[-5:]} {message.reference}")
        for point, name in points.items()
        for message in [gain(at(1)), *BEGUN, *STORIES[name][0]]
    ]
    desks = []
    for number, order in enumerate((messages, messages[::-1], [*messages[1::2], *messages[::2]])):
        desk = Desk(f"sqlite:///{tmp_path}/{number}.db")
        for start in range(0, len(order), 20):
            desk.deliver([transaction([message]) for message in order[start : start + 20]], market="NL")
        desks.append(desk)
    assert all(canonical(one.database, carriers=False) == canonical(desks[0].database, carriers=False) for one in desks)
    sql = (
        "SELECT a.identifier, f.error_code, k.kind, k.effective FROM finding f JOIN kernel_message k "
        "ON k.id = f.message_id JOIN access_point a ON a.id = k.access_point_id "
        "WHERE f.\"current\" AND f.error_code NOT IN ('NL-R10', 'NL-R12', 'NL-R13')"
    )
    found: dict[str, list[str]] = {name: [] for name in STORIES}
    for point, code, kind, when in desks[0].rows(sql):
        of = datetime.fromtimestamp(when / 1e6, at(1).tzinfo).day
        found[points[point]].append(f"{code} {'meter' if kind == 'MeterData' else 'reading'} of {of}")
    assert {name: sorted(codes) for name, codes in found.items()} == {
        name: sorted(codes) for name, (_, codes) in STORIES.items()
    }
