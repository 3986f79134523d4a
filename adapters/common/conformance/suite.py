"""The conformance suite: all checks, in the order in which they are told."""

from __future__ import annotations

from adapters.common.conformance import documents, requests
from adapters.common.conformance.findings import Check

CHECKS: tuple[Check, ...] = (*documents.CHECKS, *requests.CHECKS)
"""Every check."""
