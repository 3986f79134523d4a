"""The client: one method a route, with the types of the server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from energycomm.billing.period import BillingPeriod
from energycomm.client.connection import Connection
from energycomm.correction.analysis import Dimension, Group
from energycomm.correction.campaign import CampaignRecord
from energycomm.correction.editing import Examined
from energycomm.correction.explanation import Explanation
from energycomm.correction.proposals import Proposal
from energycomm.correction.tickets import Ticket
from energycomm.eis.message_parts import Effect
from energycomm.eis.messages import MessageDetail, MessagePage, MessageSummary
from energycomm.eis.overdue import OverduePoint
from energycomm.eis.received_requests import OwedAnswer
from energycomm.eis.requests import RequestDetail, RequestSummary
from energycomm.eis.timeline import Timeline
from energycomm.engine.rulebook import RuleBook
from energycomm.finding import Found
from energycomm.invoicing.gathering import CheckedInvoice, InvoiceSummary
from energycomm.kernel.codec import decode_json, encode_json
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from energycomm.pipeline.injection import Injection
from energycomm.pipeline.messagesearch import MessageSearch
from energycomm.pipeline.outbound import Submission
from energycomm.pipeline.portfolio import Loaded
from energycomm.portfolio.comparison import Comparison
from energycomm.webservice.domain import AccessPointView
from energycomm.webservice.lineage import Kinship
from energycomm.webservice.pages import Counted, Page
from energycomm.webservice.routes.administration import Identity
from energycomm.webservice.routes.campaigns import CampaignDetail
from energycomm.webservice.routes.corrections import PreviewResult, ScriptDescription
from energycomm.webservice.routes.notifications import Pulled


class Client(Connection):
    """The API of one gateway; see `Connection` for its arguments, docs/api.md for the routes."""

    def me(self) -> Identity:
        """The person of the token."""
        return self.ask(Identity, "GET", "/me")

    def find(self, words: str, *, limit: int | None = None) -> Found:
        """What has a name or number like these words, by kind; whole, a part, or with one mistake."""
        return self.ask(Found, "GET", "/find", query={"q": words} | ({} if limit is None else {"limit": limit}))

    # --- messages ---

    def messages(self, *, page: int = 200, **wanted: Any) -> Iterator[MessageSummary]:
        """Messages, the newest first, page by page as they are taken; `wanted` names what `MessageSearch` has.

        Raises:
          ValueError: there is no such filter, or it cannot have that value.
        """
        query = {**MessageSearch(**wanted).model_dump(mode="json", exclude_none=True), "limit": page}
        while True:
            found = self.ask(MessagePage, "GET", "/messages", query=query)
            yield from found.messages
            if found.next is None:
                return
            query["cursor"] = found.next

    def message(self, number: int) -> MessageDetail:
        """One message with all that is known of it."""
        return self.ask(MessageDetail, "GET", f"/messages/{number}")

    def kernel(self, number: int) -> KernelMessage:
        """The content of a message.

        Raises:
          ValueError: it is of a kind that this client does not know.
        """
        found = decode_json(self.raw("GET", f"/messages/{number}/kernel"))
        if isinstance(found, Refusal):
            raise ValueError(str(found))
        return found

    def explanation(self, number: int) -> Explanation:
        """The explanation of a message."""
        return self.ask(Explanation, "GET", f"/messages/{number}/explanation")

    def causes(self, number: int) -> Kinship:
        """Causes and effects of a message."""
        return self.ask(Kinship, "GET", f"/messages/{number}/causes")

    # --- access points ---

    def access_point(self, identifier: str, market: str | None = None) -> list[AccessPointView]:
        """State of an access point, one entry for each market."""
        return self.ask(list[AccessPointView], "GET", f"/access-points/{identifier}", query={"market": market})

    def overdue(
        self, *, market: str | None = None, usual: int = 35, grace: int = 7, limit: int = 10_000
    ) -> list[OverduePoint]:
        """Points that we supply and whose measures stay away, those that are missed longest first.

        Args:
          market: only of this market, by its ISO code.
          usual: days between measures, where the rhythm of a point is unknown.
          grace: days that measures may be late.
          limit: how many at most.

        Raises:
          Refused: there is no such market.
        """
        query = {"market": market, "usual": usual, "grace": grace, "limit": limit}
        return self.ask(list[OverduePoint], "GET", "/access-points/overdue", query=query)

    def timeline(self, identifier: str, *, since: datetime | None = None) -> list[Timeline]:
        """What happened at an access point."""
        return self.ask(list[Timeline], "GET", f"/access-points/{identifier}/timeline", query={"since": since})

    def rows(self, identifier: str, subject: str, *, page: int = 200) -> Iterator[Effect]:
        """Contracts, readings, charges, ... of an access point, the latest first."""
        yield from self._pages(f"/access-points/{identifier}/{subject}", page)

    def market_rows(self, market: str, subject: str, *, page: int = 200) -> Iterator[Effect]:
        """Aggregated series, settlements or price lists of a market, the latest first."""
        yield from self._pages(f"/markets/{market}/{subject}", page)

    def export(self, subject: str, to: Path, *, since: str | None = None, **wanted: Any) -> str:
        """Write an export to a file, and tell the cursor to go on from.

        The file takes its place, and the cursor is told, only when all of it came.

        Args:
          subject: readings, volumes, curves, charges, invoices, supply, contracts or findings.
          to: the file.
          since: cursor of an earlier export: only what changed since.
          wanted: parameters of the route: format, market, access_point, segment (lists), first, last (days).

        Raises:
          Refused: the server refuses it.
          Unreachable: it does not answer, or stopped in the middle.
        """
        return self.download(f"/exports/{subject}", to, "X-Cursor", query={"since": since, **wanted})

    def billing_period(self, contract: str, first: date, last: date) -> BillingPeriod:
        """The billing period of a contract; both days are included."""
        query = {"contract": contract, "first": first, "last": last}
        return self.ask(BillingPeriod, "GET", "/billing-periods", query=query)

    def invoices(self, *, market: str | None = None, page: int = 20) -> Iterator[InvoiceSummary]:
        """Grid invoices and for how much each is contested, the latest first; page by page as they are taken."""
        query: dict[str, Any] = {"market": market, "limit": page}
        while True:
            found = self.ask(Page[InvoiceSummary], "GET", "/invoices", query=query)
            yield from found.items
            if found.next is None:
                return
            query["cursor"] = found.next

    def invoice(self, number: str, market: str | None = None) -> CheckedInvoice:
        """A grid invoice with its findings."""
        return self.ask(CheckedInvoice, "GET", f"/invoices/{quote(number, safe='')}", query={"market": market})

    def disputes(self, number: str, to: Path, market: str | None = None) -> None:
        """Write what a grid invoice is contested for to a file: a workbook where its name ends in .xlsx, else CSV."""
        query = {"market": market, "format": "xlsx" if to.suffix.lower() == ".xlsx" else "csv"}
        self.download(f"/invoices/{quote(number, safe='')}/disputes", to, "Content-Type", query=query)

    def _pages(self, path: str, page: int) -> Iterator[Effect]:
        query: dict[str, Any] = {"limit": page}
        while True:
            found = self.ask(Page[Effect], "GET", path, query=query)
            yield from found.items
            if found.next is None:
                return
            query["cursor"] = found.next

    # --- handing in ---

    def inject(self, messages: Iterable[KernelMessage], *, key: str | None = None) -> Injection:
        """Hand messages straight to the Kernel."""
        body = b"[" + b",".join(encode_json(message) for message in messages) + b"]"
        return self.ask(Injection, "POST", "/injections", body=body, key=key)

    def submit(self, message: KernelMessage, *, key: str | None = None) -> Submission:
        """Ask something of the market."""
        return self.ask(Submission, "POST", "/requests", body=encode_json(message), key=key)

    def load_portfolio(
        self, content: bytes, name: str = "portfolio.csv", *, dry_run: bool = False, key: str | None = None
    ) -> Loaded:
        """Load a portfolio file, or try it."""
        query = {"name": name, "dry_run": str(dry_run).lower()}
        return self.ask(Loaded, "POST", "/portfolio", query=query, body=content, key=key)

    def compare_portfolio(self, content: bytes, name: str = "portfolio.csv", *, on: date | None = None) -> Comparison:
        """Compare a portfolio file, or a list that a market sent, with the store."""
        return self.ask(Comparison, "POST", "/portfolio/comparison", query={"name": name, "on": on}, body=content)

    def request(self, number: int) -> RequestDetail:
        """A request, step by step."""
        return self.ask(RequestDetail, "GET", f"/requests/{number}")

    def requests(self, *, state: str | None = None, limit: int = 50) -> tuple[RequestSummary, ...]:
        """The newest requests."""
        return self.ask(Page[RequestSummary], "GET", "/requests", query={"state": state, "limit": limit}).items

    def owed(self, *, market: str | None = None, late: bool = False, limit: int = 50) -> tuple[OwedAnswer, ...]:
        """What we owe other parties an answer to, the most urgent first."""
        query = {"market": market, "late": str(late).lower(), "limit": limit}
        return self.ask(Page[OwedAnswer], "GET", "/requests/owed", query=query).items

    # --- notifications ---

    def pull(self, limit: int = 50) -> Pulled:
        """Notifications that are due; acknowledge them once they are taken in."""
        return self.ask(Pulled, "POST", "/notifications/pull", query={"limit": limit})

    def acknowledge(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Confirm notifications; those that were not confirmed before."""
        return self.ask(Counted, "POST", "/notifications/acknowledge", body={"ids": list(ids)}).done

    # --- corrections ---

    def groups(self, by: Dimension = "code") -> list[Group]:
        """Stuck messages in groups, the largest first."""
        return self.ask(list[Group], "GET", "/corrections/groups", query={"by": by})

    def proposals(self, by: Dimension = "code", group: str | None = None) -> list[Proposal]:
        """Proposals for the groups, with the results of their dry runs."""
        return self.ask(list[Proposal], "GET", "/corrections/proposals", query={"by": by, "group": group})

    def scripts(self) -> list[ScriptDescription]:
        """The correction scripts."""
        return self.ask(list[ScriptDescription], "GET", "/corrections/scripts")

    def preview(
        self, script: str, *, parameters: Mapping[str, str] | None = None, messages: Sequence[int] | None = None
    ) -> PreviewResult:
        """Try a script out; nothing is stored."""
        body = {"parameters": dict(parameters or {}), "messages": None if messages is None else list(messages)}
        return self.ask(PreviewResult, "POST", f"/corrections/scripts/{script}/preview", body=body)

    def run(
        self,
        script: str,
        why: str,
        *,
        parameters: Mapping[str, str] | None = None,
        messages: Sequence[int] | None = None,
        propose: bool = False,
        key: str | None = None,
    ) -> CampaignRecord:
        """Run a script over messages, in the background: look at `campaign` until it is done."""
        body = {
            "script": script,
            "why": why,
            "parameters": dict(parameters or {}),
            "messages": None if messages is None else list(messages),
            "propose": propose,
        }
        return self.ask(CampaignRecord, "POST", "/corrections/campaigns", body=body, key=key)

    def campaign(self, number: int) -> CampaignDetail:
        """How far a campaign is."""
        return self.ask(CampaignDetail, "GET", f"/corrections/campaigns/{number}")

    def undo(self, number: int) -> CampaignRecord:
        """Take a campaign back."""
        return self.ask(CampaignRecord, "POST", f"/corrections/campaigns/{number}/undo")

    def examine(self, number: int, xml: str) -> Examined:
        """What an edit of a message would come to; nothing is stored."""
        body = {"xml": xml, "why": "dry run", "dry_run": True}
        return self.ask(Examined, "POST", f"/corrections/edits/{number}", body=body)

    def edit(self, number: int, xml: str, why: str, *, key: str | None = None) -> CampaignRecord:
        """Store an edited message as a new version and judge it."""
        body = {"xml": xml, "why": why}
        return self.ask(CampaignRecord, "POST", f"/corrections/edits/{number}", body=body, key=key)

    def tickets(self, state: str | None = None) -> list[Ticket]:
        """Tickets, the newest first."""
        return self.ask(list[Ticket], "GET", "/corrections/tickets", query={"state": state})

    # --- rules ---

    def rules(self, *, market: str | None = None, kind: str | None = None) -> RuleBook:
        """The rules that messages are judged by."""
        return self.ask(RuleBook, "GET", "/rules", query={"market": market, "kind": kind})
