"""What else that arrives tells the right content of a faulty message is said of faults that stop a message."""

from __future__ import annotations

from types import ModuleType

import pytest

from adapters.be_atrias.simulator import mistakes as belgian
from adapters.dk_energinet.simulator import mistakes as danish
from adapters.fr_enedis.simulator import mistakes as french
from adapters.nl_edsn.simulator import mistakes as dutch

MARKETS = {"be": belgian, "dk": danish, "fr": french, "nl": dutch}


@pytest.mark.parametrize("market", MARKETS)
def test_it_is_said_of_mistakes_that_have_messages_rejected(market: str) -> None:
    module: ModuleType = MARKETS[market]
    rows = module.MISTAKES.values()
    rejecting = {row.name for row in rows if row.errors}
    told = {row.name for row in rows if row.told_by}
    assert told == set(module.TOLD_BY)
    assert told < rejecting
