"""The requests that a supplier sends to EDSN, one builder a kind of Kernel message."""

from __future__ import annotations

from adapters.nl_edsn.requests.building import ANSWER_WITHIN, BUILDERS, batch, batches, build, repeated
from adapters.nl_edsn.requests.polls import POLLS, poll

__all__ = ["ANSWER_WITHIN", "BUILDERS", "POLLS", "batch", "batches", "build", "poll", "repeated"]
