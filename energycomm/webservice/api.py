"""The API, version 1: the routes of every subject under /api/v1.

Within a version nothing is taken away and nothing changes its meaning; fields and routes are added.
"""

from __future__ import annotations

from fastapi import APIRouter, Depends

from energycomm.webservice.identity import identify
from energycomm.webservice.routes import (
    access_points,
    administration,
    campaigns,
    corrections,
    customers,
    exports,
    finding,
    injections,
    invoices,
    markets,
    messages,
    notifications,
    operation,
    portfolio,
    requests,
    rules,
    tickets,
)

PREFIX = "/api/v1"

SUBJECTS = (
    finding,
    messages,
    access_points,
    markets,
    exports,
    invoices,
    injections,
    portfolio,
    requests,
    notifications,
    campaigns,
    tickets,
    corrections,
    rules,
    operation,
    customers,
    administration,
)
"""Modules of routes, in the order of the documentation."""

router = APIRouter(prefix=PREFIX, dependencies=[Depends(identify)])
for _subject in SUBJECTS:
    router.include_router(_subject.router)
