"""What models say of messages is kept beside the verdicts, shown with the message, and decides nothing."""

from __future__ import annotations

from datetime import UTC, datetime

from energycomm.eis import tables
from energycomm.eis.messages import show_message
from energycomm.eis.predictions import PredictionRecord, disagreements, predicted_upto, save_predictions
from energycomm.eis.store import Store
from tests.eis.rows import put

AT = datetime(2026, 9, 1, tzinfo=UTC)


def _said(
    message_id: int, probability: float, agrees: bool | None, *codes: str, model: str = "m 1"
) -> PredictionRecord:
    return PredictionRecord(
        message_id=message_id,
        model=model,
        rules="r1",
        codes=codes,
        probability=probability,
        abstained=agrees is None,
        agrees=agrees,
        comment="" if not codes else "The index is below the one before.",
        at=AT,
    )


def _messages(store: Store, number: int) -> list[int]:
    with store.transaction() as tx:
        return put(tx, tables.kernel_message, *[{"market": "FR", "state": "accepted"} for _ in range(number)])


def test_a_message_is_shown_with_what_models_said_of_it(store: Store) -> None:
    first, second = _messages(store, 2)
    with store.transaction() as tx:
        save_predictions(tx, [_said(first, 0.875, False, "CO-R05", "FR-R03"), _said(first, 0.5, None, model="n 1")])
    shown = show_message(store.engine, first)
    other = show_message(store.engine, second)
    assert shown is not None
    assert other is not None
    assert shown.predictions == (_said(first, 0.875, False, "CO-R05", "FR-R03"), _said(first, 0.5, None, model="n 1"))
    assert other.predictions == ()
    assert shown.summary.state == "accepted"


def test_what_the_same_model_says_again_takes_the_place_of_what_it_said(store: Store) -> None:
    (first,) = _messages(store, 1)
    for probability in (0.25, 0.75):
        with store.transaction() as tx:
            save_predictions(tx, [_said(first, probability, True)])
    shown = show_message(store.engine, first)
    assert shown is not None
    assert [one.probability for one in shown.predictions] == [0.75]


def test_disagreements_come_with_the_surest_first_and_without_those_of_which_it_was_not_sure(store: Store) -> None:
    ids = _messages(store, 4)
    with store.transaction() as tx:
        save_predictions(
            tx,
            [
                _said(ids[0], 0.6, False, "CO-R05"),
                _said(ids[1], 0.99, False),
                _said(ids[2], 0.99, True),
                _said(ids[3], 0.3, None, "CO-R05"),
            ],
        )
    assert [one.message_id for one in disagreements(store.engine)] == [ids[1], ids[0]]
    assert [one.message_id for one in disagreements(store.engine, limit=1)] == [ids[1]]
    assert disagreements(store.engine, market="NL") == ()
    assert disagreements(store.engine, model="another") == ()


def test_a_model_goes_on_after_the_last_message_it_saw(store: Store) -> None:
    ids = _messages(store, 2)
    assert predicted_upto(store.engine, "m 1") == 0
    with store.transaction() as tx:
        save_predictions(tx, [_said(ids[1], 0.5, True)])
    assert predicted_upto(store.engine, "m 1") == ids[1]
    assert predicted_upto(store.engine, "m 2") == 0
