"""A rule that breaks is a fault of the program: the message is neither accepted nor rejected."""

from __future__ import annotations

from pathlib import Path

from energycomm.engine.parallel import ParallelEngine
from energycomm.engine.port import EngineFault, Judgement
from energycomm.kernel.history import History
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Action
from tests.pipeline.desk import Desk, shipped_rules
from tests.pipeline.story import day, reading, start

PRM = "99000000000017"


class Breaking(ParallelEngine):
    """The shipped rules, and one that breaks on meter readings while `broken` is set."""

    broken = True

    def validate(self, message: KernelMessage, history: History) -> Judgement:
        """Break on a reading."""
        judged = super().validate(message, history)
        if self.broken and type(message).__name__ == "MeterReading":
            return Judgement(judged.findings, "rule fr-broken raised ZeroDivisionError: division by zero")
        return judged


def test_a_message_whose_rule_breaks_is_in_state_engine_error_and_does_nothing(database_url: str) -> None:
    """It is not accepted, not rejected, writes nothing and tells the back office nothing."""
    desk = Desk(database_url, Breaking(shipped_rules()))
    desk.deliver([start(PRM, day(0)), reading(PRM, day(31), 1_000_000)])
    states = {kind.split()[0]: state for kind, state in desk.states().items()}
    assert states["MeterReading"] == "engine_error"
    assert states["StartOfSupply"] == "accepted"
    assert desk.rows("SELECT count(*) FROM reading") == [(0,)]
    ((why,),) = desk.rows("SELECT why FROM state_change WHERE after = 'engine_error'")
    assert "ZeroDivisionError" in why
    told = "SELECT o.event FROM outbox o JOIN kernel_message k ON k.id = o.message_id WHERE k.kind = 'MeterReading'"
    assert desk.rows(told) == []


def test_the_message_is_judged_when_the_rule_is_mended_and_its_access_point_comes_up_again(tmp_path: Path) -> None:
    """A late message of the access point makes it be judged again; it is not stuck."""
    engine = Breaking(shipped_rules())
    desk = Desk(f"sqlite:///{tmp_path}/eis.db", engine)
    desk.deliver([start(PRM, day(0)), reading(PRM, day(31), 1_000_000)])
    engine.broken = False
    desk.deliver([reading(PRM, day(20), 900_000)])
    assert set(desk.states().values()) == {"accepted"}


class Deciding(ParallelEngine):
    """Rules of qualification that break."""

    def qualify(self, message: KernelMessage, history: History) -> tuple[Action, ...]:
        """Break."""
        raise EngineFault("rule fr-actions raised KeyError: 'x'")


def test_a_broken_action_rule_is_a_fault_too(tmp_path: Path) -> None:
    """Nothing is done with a message whose actions are not known."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db", Deciding(shipped_rules()))
    desk.deliver([start(PRM, day(0))])
    assert set(desk.states().values()) == {"engine_error"}
    assert desk.rows("SELECT count(*) FROM supply_period") == [(0,)]
