"""The requests that a supplier sends to EDSN, one builder a kind of Kernel message."""

from __future__ import annotations

from adapters.nl_edsn.requests.building import ANSWER_WITHIN, BUILDERS, build, repeated
from adapters.nl_edsn.requests.polls import POLLS, poll
from adapters.nl_edsn.requests.services import SERVICES, Service

__all__ = ["ANSWER_WITHIN", "BUILDERS", "POLLS", "SERVICES", "Service", "build", "poll", "repeated"]
