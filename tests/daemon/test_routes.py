"""Which requests go out through which channel, where a market has several."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import adapters.be_atrias
from energycomm.config import Config
from energycomm.daemon.channels import open_channels
from energycomm.daemon.sending import Delivering
from energycomm.errors import UserError
from energycomm.kernel.messages import KernelMessage
from energycomm.pipeline.outbound import Outbound
from energycomm.transport.channel import Unseen
from tests.adapters.dutch import FOURTH, GRID, THIRD
from tests.adapters.dutch import request as dutch
from tests.daemon.conftest import Office
from tests.transport.memory import MemoryOut


def routes(*outgoing: dict[str, Any]) -> Config:
    """A configuration with outgoing folders of the Dutch market."""
    head = {"market": "NL", "direction": "out", "kind": "folder"}
    return Config.model_validate({"channels": [{**head, "path": one["name"], **one} for one in outgoing]})


def submitted(office: Office, *messages: KernelMessage) -> None:
    """Hand requests in."""
    gateway = office.gateway
    outbound = Outbound(office.store, gateway.engine, gateway.markets, gateway.rules_version_id)
    for message in messages:
        assert outbound.submit(message, "test").label == "accepted"


def test_each_request_goes_out_through_the_first_channel_that_takes_it(office: Office) -> None:
    config = routes({"name": "p4", "sends": ["P4*", "MasterDataRequest"]}, {"name": "rest"})
    _, found = open_channels(config, threading.Event(), Unseen())
    assert [(route.channel.name, route.share) for route in found] == [
        ("p4", "NL/P4*,MasterDataRequest"),
        ("rest", "NL"),
    ]
    submitted(
        office,
        dutch("SupplierSwitchRequest"),
        dutch("MeteredDataRequest", access_point=THIRD, receiver=GRID, consent=True),
        dutch("MasterDataRequest", access_point=FOURTH, consent=True),
    )
    lines = {}
    for route in found:
        line = lines[route.channel.name] = MemoryOut(route.channel.name, "NL")
        duty = Delivering(office.desk, line, route.takes, route.share)
        assert office.desk.locks.take(duty.key)
        duty.turn()
    kinds = {name: [_kind(office, reference) for reference in line.sent] for name, line in lines.items()}
    assert kinds == {"p4": ["MeteredDataRequest", "MasterDataRequest"], "rest": ["SupplierSwitchRequest"]}
    assert office.rows("SELECT DISTINCT state FROM outgoing") == [("sent",)]


def _kind(office: Office, reference: str) -> str:
    ((kind,),) = office.rows(f"SELECT kind FROM outgoing WHERE reference = '{reference}'")
    return str(kind)


def test_requests_of_a_channel_that_is_down_do_not_hold_up_another_channel(office: Office) -> None:
    config = routes({"name": "p4", "sends": ["MeteredDataRequest"]}, {"name": "rest"})
    _, (_, second) = open_channels(config, threading.Event(), Unseen())
    submitted(
        office, *(dutch("MeteredDataRequest", access_point=THIRD, receiver=GRID, consent=True) for _ in range(25))
    )
    submitted(office, dutch("SupplierSwitchRequest"))
    line = MemoryOut("rest", "NL")
    duty = Delivering(office.desk, line, second.takes, second.share)
    assert office.desk.locks.take(duty.key)
    duty.turn()
    assert len(line.sent) == 1
    assert office.rows("SELECT state, count(*) FROM outgoing GROUP BY 1 ORDER BY 1") == [("built", 25), ("sent", 1)]


def test_a_market_whose_channels_leave_messages_out_or_hide_a_channel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="have no channel"):
        open_channels(routes({"name": "p4", "sends": ["P4*"]}), threading.Event(), Unseen())
    with pytest.raises(UserError, match="both send to NL"):
        open_channels(routes({"name": "all"}, {"name": "p4", "sends": ["P4*"]}), threading.Event(), Unseen())
    with pytest.raises(ValueError, match="direction out"):
        Config.model_validate(
            {
                "channels": [
                    {"name": "in", "market": "NL", "direction": "in", "kind": "folder", "path": "x", "sends": ["A"]}
                ]
            }
        )


def test_a_queue_speaks_the_names_of_its_markets_table_and_those_of_its_settings(tmp_path: Path) -> None:
    """The adapter's table first, a licensee's table in its place, the settings of the channel before both."""
    table = tmp_path / "table.yaml"
    shipped = (Path(adapters.be_atrias.__file__).parent / "mapping.yaml").read_text()
    table.write_text(shipped.replace("send: SendMessageRequest", "send: Deliver"))
    entry = {"name": "q", "market": "BE", "kind": "message-queue", "direction": "in", "url": "https://x.example/"}
    config = Config.model_validate({"channels": [{**entry, "names": {"get": "Fetch"}}], "mappings": {"BE": str(table)}})
    ((channel,), _) = open_channels(config, threading.Event(), Unseen())
    names = channel.channel._service.names  # type: ignore[attr-defined]
    assert (names.send, names.get, names.count) == ("Deliver", "Fetch", "GetMessageCountRequest")
