"""What waits at a market is fetched; a question that is asked again there has another message id, and one life."""

from __future__ import annotations

import re
import threading
from collections import deque
from typing import Any

import pytest

from adapters.nl_edsn import adapter
from energycomm.config import Config
from energycomm.daemon.asking import Asking, asking_duties
from energycomm.daemon.channels import open_places
from energycomm.daemon.sending import Delivering
from energycomm.errors import UserError
from energycomm.pipeline.delivery import repetition
from energycomm.pipeline.outbound import Outbound
from energycomm.pipeline.progress import total
from energycomm.transport.channel import Direction, Outgoing, Sent, TechnicalError
from energycomm.transport.settings import SoapSetting
from tests.adapters.dutch import GRID, THIRD, US, fixture, request
from tests.daemon.conftest import Office


class Line:
    """A SOAP channel that answers as it is told."""

    direction: Direction = "out"
    name, market = "edsn", "NL"

    def __init__(self, *outcomes: bytes | str) -> None:
        self.outcomes, self.sent = deque(outcomes), list[Outgoing]()

    def check(self) -> str:
        return "there"

    def close(self) -> None:
        """Nothing is held open."""

    def send(self, message: Outgoing) -> Sent | TechnicalError:
        """One attempt: the next outcome is an answer, or the code of an error."""
        self.sent.append(message)
        outcome = self.outcomes.popleft()
        if isinstance(outcome, str):
            return TechnicalError(code=outcome, channel=self.name, detail="no answer", maybe_sent=True)
        return Sent(reference=message.reference, receipt="HTTP 200", answer=outcome)


def setting(**fields: Any) -> SoapSetting:
    """A channel that asks."""
    whole = {"name": "edsn", "market": "NL", "kind": "soap", "url": "https://edsn.example/", "party": US, **fields}
    return SoapSetting.model_validate(whole)


def asked(office: Office, line: Line, *polls: str) -> None:
    """One round of questions, and what is answered processed."""
    duty = Asking(office.desk, line, adapter, setting(polls=polls))
    assert office.desk.locks.take(duty.key)
    duty.turn()
    office.desk.locks.release(duty.key)
    total(office.gateway.inbound.resume())


def message_ids(line: Line) -> list[str]:
    """MessageID of everything that was sent."""
    return [re.findall(r"MessageID>([^<]+)<", message.content.decode())[0] for message in line.sent]


def test_what_waits_is_asked_for_list_by_list_and_taken_in(office: Office) -> None:
    line = Line(fixture("gains.xml"), "CHANNEL_TIMEOUT", fixture("losses.xml"))
    asked(office, line, "GainResultRequest", "MasterDataUpdateRequest", "LossResultRequest")
    assert [message.type for message in line.sent] == [
        "GainResultRequest",
        "MasterDataUpdateRequest",
        "LossResultRequest",
    ]
    assert len(set(message_ids(line))) == 3
    assert f">{US}<".encode() in line.sent[0].content
    types = office.rows("SELECT DISTINCT type FROM member ORDER BY type")
    assert types == [("GainResultResponse",), ("LossResultResponse",)]
    assert office.notes.counted("energycomm_channel_errors") == {("edsn", "CHANNEL_TIMEOUT"): 1}


def test_an_alarm_is_for_what_goes_on_or_needs_a_person(office: Office) -> None:
    names = ["GainResultRequest"] * 3
    asked(office, Line("CHANNEL_TIMEOUT", "CHANNEL_TIMEOUT", fixture("gains.xml")), *names)
    assert ("CHANNEL_FAILING", True) not in office.notes.alarms()
    asked(office, Line("CHANNEL_LOGIN", "CHANNEL_LOGIN", "CHANNEL_LOGIN"), *names)
    assert ("CHANNEL_FAILING", True) in office.notes.alarms()


def test_a_list_that_is_given_twice_is_known(office: Office) -> None:
    """Whether reading empties a list is not known; the answer bears another MessageID each time."""
    gains = fixture("gains.xml")
    again = re.sub(rb"(MessageID>)[^<]+", rb"\g<1>3d9c7b6e-0000-4000-8000-000000000099", gains)
    asked(office, Line(gains, again), "GainResultRequest", "GainResultRequest")
    ((first,),) = office.rows("SELECT count(*) FROM ch_message")
    assert office.rows("SELECT count(*) FROM ch_duplicate") == [(first,)]


def test_a_query_that_was_repeated_is_one_request_whatever_the_portal_answers(office: Office) -> None:
    """The second attempt has a new MessageID, which the portal's answer repeats; both attempts bring results."""
    gateway = office.gateway
    outbound = Outbound(office.store, gateway.engine, gateway.markets, gateway.rules_version_id)
    handed = outbound.submit(request("MeteredDataRequest", access_point=THIRD, receiver=GRID, consent=True), "test")
    assert handed.reference is not None
    line = Line("CHANNEL_TIMEOUT")
    duty = Delivering(office.desk, line, again=repetition(gateway.markets))
    assert office.desk.locks.take(duty.key)
    duty.turn()
    with office.store.transaction() as tx:
        tx.driver.run("UPDATE outgoing SET next_at = NULL", ())
    with office.store.transaction() as tx:
        tx.driver.run("UPDATE outgoing SET attempts = 0", ())  # as when a person took it up: no id is used again
    line.outcomes.append(fixture("p4_taken.xml"))  # its CorrelationID is that of an attempt, which nobody remembers
    duty.turn()
    first, second = message_ids(line)
    assert first == handed.reference != second
    assert line.sent[1].content == line.sent[0].content.replace(first.encode(), second.encode(), 1)
    total(gateway.inbound.resume())
    assert office.rows("SELECT state FROM outgoing") == [("acknowledged",)]
    result = fixture("p4_day.xml").decode()
    for number in (1, 2):
        told = re.sub(r"<ExternalReference>[^<]+", f"<ExternalReference>{handed.reference}", result)
        told = re.sub(r"(<[^>]*MessageID>)[^<]+", rf"\g<1>3d9c7b6e-0000-4000-8000-00000000000{number}", told, count=1)
        asked(office, Line(told.encode()), "P4CollectedDataBatchResultRequest")
    assert office.rows("SELECT state FROM outgoing") == [("done",)]
    ((messages,),) = office.rows("SELECT count(*) FROM ch_message WHERE type = 'P4CollectedDataBatchResultResponse'")
    assert office.rows("SELECT count(*) FROM ch_duplicate") == [(messages,)]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"polls": ["Nonsense"]}, "cannot ask for Nonsense"),
        ({"polls": ["GainResultRequest"], "party": "12"}, "cannot ask for"),
        ({"market": "FR", "polls": ["GainResultRequest"]}, "has no lists"),
    ],
)
def test_a_channel_that_cannot_ask_is_told_when_the_daemon_starts(
    office: Office, fields: dict[str, Any], told: str
) -> None:
    config = Config.model_validate({"channels": [setting(**fields).model_dump()]})
    with pytest.raises(UserError, match=told):
        asking_duties(office.desk, config, office.gateway.markets, open_places(config), threading.Event())


def test_a_channel_that_is_set_to_ask_has_its_duty(office: Office) -> None:
    config = Config.model_validate({"channels": [setting(polls=["GainResultRequest"], poll_seconds=60).model_dump()]})
    duties = asking_duties(office.desk, config, office.gateway.markets, open_places(config), threading.Event())
    assert [(duty.key, duty.every) for duty in duties] == [("ask/edsn", 60.0)]
