"""A number is missing only between two received numbers of one series."""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from energycomm.transport.sequences import Received, audit_series, gap_refusal


def missing(received: list[Received]) -> list[int]:
    return [number for gap in audit_series(received).gaps for number in range(gap.first, gap.last + 1)]


def stamped(*numbers: int) -> list[Received]:
    """Files in the order in which they were made."""
    return [Received(number, f"20260101{place:06d}", f"f{place}") for place, number in enumerate(numbers)]


def plain(*numbers: int) -> list[Received]:
    return [Received(number) for number in numbers]


class TestGaps:
    def test_nothing_received_proves_nothing(self) -> None:
        audit = audit_series([])
        assert (audit.gaps, audit.latest) == ((), None)

    def test_a_number_between_two_received_ones_is_a_gap(self) -> None:
        (gap,) = audit_series(stamped(3, 4, 7)).gaps
        assert (gap.first, gap.last, gap.after.number, gap.before.number) == (5, 6, 4, 7)

    def test_the_first_number_received_proves_nothing_of_the_ones_before(self) -> None:
        assert missing(stamped(17, 18)) == []

    def test_the_latest_number_is_named_and_nothing_is_said_of_the_next(self) -> None:
        latest = audit_series(stamped(1, 2, 3)).latest
        assert latest is not None
        assert latest.number == 3

    def test_files_that_arrive_late_close_the_gap(self) -> None:
        first, second, third = stamped(5, 6, 7)
        assert missing([first, third]) == [6]
        assert missing([first, third, second]) == []
        assert missing(plain(5, 7, 6, 8)) == []

    def test_the_report_names_the_numbers_and_their_neighbours(self) -> None:
        (gap,) = audit_series(stamped(1, 4)).gaps
        refusal = gap_refusal("C15 GRD-F001 D", gap)
        assert (refusal.code, refusal.path) == ("SERIES_GAP", "C15 GRD-F001 D")
        assert (refusal.value, refusal.expected) == ("00002 to 00003 never received", "every number between f0 and f1")


def test_a_long_series_is_judged_in_time_that_grows_with_its_length() -> None:
    files = stamped(*range(1, 99_999, 2))
    began = time.process_time()
    assert len(audit_series(files).gaps) == len(files) - 1
    assert time.process_time() - began < 3


class TestRestarts:
    def test_a_restart_at_one_is_no_gap(self) -> None:
        audit = audit_series(stamped(48, 49, 1, 2))
        assert (audit.gaps, [file.number for file in audit.restarts]) == ((), [1])

    def test_any_number_that_goes_back_is_a_restart(self) -> None:
        audit = audit_series(stamped(48, 49, 3, 4))
        assert (audit.gaps, [file.number for file in audit.restarts]) == ((), [3])

    def test_a_gap_after_a_restart_is_found(self) -> None:
        assert missing(stamped(48, 49, 50, 1, 2, 4)) == [3]

    def test_a_gap_before_a_restart_is_found(self) -> None:
        assert missing(stamped(46, 49, 50, 1, 2)) == [47, 48]

    def test_a_file_sent_again_under_a_new_stamp_does_not_make_a_gap(self) -> None:
        audit = audit_series(stamped(5, 6, 7, 6, 8))
        assert (audit.gaps, audit.restarts) == ((), ())
        assert [file.number for file in audit.duplicates] == [6]


class TestDuplicates:
    def test_the_same_number_again_is_a_duplicate(self) -> None:
        audit = audit_series(stamped(1, 2, 2, 3))
        assert (audit.gaps, [file.name for file in audit.duplicates]) == ((), ["f2"])

    def test_without_stamps_a_number_that_comes_again_is_a_duplicate(self) -> None:
        audit = audit_series(plain(1, 2, 3, 2, 4))
        assert (audit.gaps, audit.restarts, [file.number for file in audit.duplicates]) == ((), (), [2])


@settings(deadline=None)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=4), st.data())
def test_a_complete_series_has_no_gap_whatever_its_restarts_duplicates_and_order_of_arrival(
    lengths: list[int], data: st.DataObject
) -> None:
    files = stamped(*(number for length in lengths for number in range(1, length + 1)))
    again = data.draw(st.lists(st.sampled_from(files), max_size=5))
    assert missing(data.draw(st.permutations(files + again))) == []


@settings(deadline=None)
@given(st.lists(st.integers(1, 30), unique=True, min_size=1).map(sorted), st.data())
def test_exactly_the_lost_numbers_between_received_ones_are_found(numbers: list[int], data: st.DataObject) -> None:
    files = stamped(*numbers)
    again = data.draw(st.lists(st.sampled_from(files), max_size=5))
    expected = sorted(set(range(numbers[0], numbers[-1])) - set(numbers))
    assert missing(data.draw(st.permutations(files + again))) == expected


@settings(deadline=None)
@given(st.lists(st.integers(2, 20), min_size=1, max_size=4), st.data())
def test_what_is_called_missing_was_lost(lengths: list[int], data: st.DataObject) -> None:
    """With restarts, losses may stay unproven, but nothing that was received, or never made, is called missing."""
    files = stamped(*(number for length in lengths for number in range(1, length + 1)))
    lost = data.draw(st.lists(st.sampled_from(files), unique=True))
    received = data.draw(st.permutations([file for file in files if file not in lost]))
    called = sorted(missing(received))
    really = sorted(file.number for file in lost)
    for number in called:
        assert number in really
        really.remove(number)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from([None, "a", "b", "c"])), max_size=12))
def test_any_input_gives_gaps_that_hold_no_received_number_of_their_run(raw: list[tuple[int, str | None]]) -> None:
    audit = audit_series([Received(number, stamp) for number, stamp in raw])
    for gap in audit.gaps:
        assert gap.after.number + 1 == gap.first <= gap.last == gap.before.number - 1
    assert (audit.latest is None) == (not raw)
