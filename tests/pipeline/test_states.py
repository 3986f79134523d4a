"""The state of an access point between two batches: kept by this process, and right whatever happened meanwhile."""

from __future__ import annotations

from energycomm.kernel.history import stated_facts
from energycomm.pipeline.state import AccessPointState, KnownStates, Period, dump_state, load_state


def supplied_since(start: int) -> AccessPointState:
    """The state of an access point with one supply period."""
    return AccessPointState(at=start, known=True, periods=[Period(start=start, message=1, reference="RSC-1", row=7)])


def kept(states: KnownStates, state: AccessPointState) -> bytes:
    """What a state is stored as, after it was kept."""
    stored = dump_state(state)
    states.keep(stored, state)
    return stored


def test_a_state_that_was_kept_is_the_one_that_the_store_holds() -> None:
    states, state = KnownStates(), supplied_since(5)
    stored = kept(states, state)
    assert states.look(stored) is state
    assert states.take(memoryview(stored)) is state
    assert state == load_state(stored)


def test_who_takes_a_state_may_change_it_and_nobody_else_sees_that() -> None:
    states = KnownStates()
    stored = kept(states, supplied_since(5))
    states.take(stored).periods[0].end = 9  # a transaction that is undone afterwards
    assert states.take(stored).periods[0].end is None


def test_what_another_process_stored_is_read() -> None:
    states, state = KnownStates(), supplied_since(5)
    kept(states, state)
    assert states.take(dump_state(supplied_since(6))).periods[0].start == 6
    assert states.take(b"") == AccessPointState()


def test_no_more_states_are_kept_than_there_is_room_for() -> None:
    state = supplied_since(5)
    room = 3 * len(dump_state(state))
    states = KnownStates(room)
    stored = [kept(states, supplied_since(5 + number)) for number in range(50)]
    found = [states.look(one) for one in stored]
    assert found == [load_state(one) for one in stored]
    assert sum(map(len, states._known)) == states._held <= room


def test_no_fact_of_a_state_reads_otherwise_after_it_was_stored() -> None:
    """An instant would: it is stored in UTC, and rules may ask for the civil day by the offset that it was written
    with. Such a fact must be kept in UTC from the beginning."""
    assert {fact.scalar.name for fact in stated_facts()} <= {"text", "word", "integer", "decimal", "truth", "day"}
