"""A morning at the supplier: indexes in the wrong unit, one that nobody can explain, one that waits for its start."""

from __future__ import annotations

import re
from typing import Any

from msgspec import structs
from starlette.testclient import TestClient

from energycomm.kernel.instants import now_micros
from energycomm.kernel.messages import MeterReading
from energycomm.market.contract import Transaction
from energycomm.webservice.roles import Role, Scope
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, reading, start, transaction
from tests.webservice.conftest import Site

CODE = "CO-R07"
"""An index in another unit than the one before it."""

WRONG = ("99000000000017", "99000000001019", "99000000002011")
"""Access points whose index is written in Wh and meant in kWh: a script puts that right."""

ODD = "99000000003013"
"""An index in Wh that would be above the one after it in kWh: no unit fits."""

WAITING = "99000000004015"
"""Readings whose start of supply has not arrived."""

MESSAGES = 6 * 4 + 1 + 1
FAILING = len(WRONG) + 1


def in_wh(prm: str, number: int, value: int) -> Transaction:
    """A reading whose index bears the unit Wh."""
    (message,) = reading(prm, day(number), value * 1000).messages
    assert isinstance(message, MeterReading)
    registers = tuple(structs.replace(one, value=value, unit="Wh") for one in message.registers)
    return transaction([structs.replace(message, registers=registers)])


def morning(url: str, at: int | None = None) -> Desk:
    """The store after the morning's arrivals; the desk's connections are closed.

    Args:
      url: an empty store.
      at: when they came, microseconds since the epoch; now by default.
    """
    desk = Desk(url)
    now = at or now_micros()
    for prm in (*WRONG, ODD):
        later = [reading(prm, day(90), 1_210_000)] if prm == ODD else []
        desk.deliver([start(prm, day(0)), reading(prm, day(31), 1_200_000), in_wh(prm, 60, 1_250), *later], now)
    desk.deliver([reading(WAITING, day(31), 900_000)], now)
    desk.database.dispose()
    Desk.open.remove(desk)
    return desk


class Visitor:
    """Somebody with a browser, as far as a page without scripts goes.

    Args:
      site: the web services.
      roles: what they are.
      person: their name.
      scopes: of the token that they sign in with.
    """

    def __init__(
        self, site: Site, *roles: Role, person: str = "anna", scopes: frozenset[Scope] = frozenset(Scope)
    ) -> None:
        self.client = TestClient(site.app, base_url="http://gateway.test", follow_redirects=True)
        token = site.token(*roles, person=person, scopes=scopes)
        assert self.client.post("/login", data={"token": token, "then": "/"}).status_code == 200

    def get(self, path: str, **headers: str) -> Any:
        """A page."""
        return self.client.get(path, headers=headers)

    def send(self, path: str, **fields: str) -> Any:
        """A form, with the CSRF token of the front page."""
        found = re.search(r'name="csrf" value="([^"]+)"', self.client.get("/").text)
        assert found
        return self.client.post(path, data={"csrf": found.group(1), **fields})
