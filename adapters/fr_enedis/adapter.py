"""The French electricity adapter: what Enedis SGE sends to a supplier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import IO

from lxml import etree
from msgspec import structs

from adapters.common.adapter import MarketAdapter, with_explained
from adapters.common.codes import Unreadable
from adapters.common.coverage import Ledger
from adapters.common.outcome import Outcome
from adapters.common.pattern import Pattern
from adapters.common.reading import Fields, read
from adapters.common.runs import Piece, Runs
from adapters.fr_enedis import c68, csvpieces, names, ondemand, reports
from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.header import MARKET, Context, context
from adapters.fr_enedis.outcome import PARTICULARS
from adapters.fr_enedis.r6x import FAMILY, READERS
from adapters.fr_enedis.sge import answers, building
from adapters.fr_enedis.sge.services import KINDS
from adapters.fr_enedis.sge.writing import SOAP
from adapters.fr_enedis.times import ZONE
from adapters.fr_enedis.types import BY_LABEL, BY_ROOT, JSON_KEYS, ROOTS, TYPES, UNREAD_ROOTS, Flux
from energycomm.kernel import safexml
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import (
    Announcement,
    DocumentType,
    MemberHead,
    OutgoingMessage,
    Series,
    Sniff,
    Transaction,
)


class FrEnedis(MarketAdapter):
    """Reads the fluxes of `adapters.fr_enedis.types`. Satisfies `energycomm.market.contract.Adapter`.

    An object may be used by several threads at once.
    """

    refusal = staticmethod(refusal)
    market: str = MARKET
    zone: str = ZONE
    types: Mapping[str, DocumentType] = {
        **TYPES,
        **ondemand.types(FAMILY),
        **c68.types(),
        **reports.types(),
        **answers.TYPES,
    }

    builds: frozenset[str] = KINDS
    answer_within: Mapping[str, timedelta] = {}
    personal = frozenset(
        (
            *("Titulaire_Contrat", "Interlocuteur_Contrat"),  # C15
            "Utilisateur_Reseau",  # C12
            *("Civilite", "Nom", "Prenom"),  # F15
            *("clientFinal", "nomClientFinalOuDenominationSociale"),  # C68, answers of SGE
        )
    )
    establishment_digits = 14
    """Of a SIRET."""
    company_digits = 9
    """Of the SIREN that it begins with."""
    kept_by_law: Mapping[str, str] = {
        "grid invoices": "Code de commerce, article L123-22 : dix ans",
        "requests": "Code civil, article 2224 : prescription de cinq ans",
    }
    entry = Announcement(market_type="C15", event="MES")
    exit = Announcement(market_type="C15", event="RES")
    scripts: Path | None = Path(__file__).parent / "scripts"
    simulator: str | None = "adapters.fr_enedis.simulator:simulator"
    lists = frozenset(("C12",))
    totals = frozenset(("BASE", "P+HP+HC", "IDX_EAS_T", "IDX_EAI_T"))
    notices = frozenset((reports.NOTICE,))
    """The situation of each point of a supplier, which may be sent as a whole (Mode_Generation COMPLET)."""

    def dispatch(self, sniff: Sniff) -> str | Refusal:
        """The label of a member's type, by its root element and namespace; the name only tells what is ours but not
        read.

        Returns:
          A label of `types`, or a refusal: TYPE_UNKNOWN for an Enedis flux that no digester reads, VERSION_UNKNOWN
          for a root we know in a namespace that no known version has, TYPE_NOT_OURS for anything else. Of JSON only its
          header tells the flux: `digest` refuses one that is not read.
        """
        if sniff.form == "xml" and sniff.root in BY_ROOT:
            row = BY_ROOT[sniff.root]
            if sniff.namespace not in (None, "", row.namespace):
                expected = row.namespace or "no namespace"
                return refusal("VERSION_UNKNOWN", path=sniff.name, value=sniff.namespace, expected=expected)
            return row.label
        expected = ROOTS
        if sniff.form == "xml" and sniff.root == answers.ROOT:
            return self._soap(sniff)
        if sniff.form == "xml" and not sniff.namespace and sniff.root in UNREAD_ROOTS:
            return refusal("TYPE_UNKNOWN", path=sniff.name, value=UNREAD_ROOTS[sniff.root], expected=expected)
        if sniff.form in ("json", "other") and (label := _measures(sniff)):
            return label
        if names.is_ours(sniff.name):
            return refusal("TYPE_UNKNOWN", path=sniff.name, value=sniff.root, expected=expected)
        return refusal("TYPE_NOT_OURS", path=sniff.name, value=sniff.root, expected=expected)

    def _soap(self, sniff: Sniff) -> str | Refusal:
        """Of SOAP envelopes, which many markets send, those that declare a namespace of Enedis are ours."""
        if sniff.namespace != SOAP:
            return refusal("VERSION_UNKNOWN", path=sniff.name, value=sniff.namespace, expected=SOAP)
        if answers.is_ours(sniff.namespaces) or answers.is_bare(sniff.name, sniff.namespaces):
            return answers.LABEL
        expected = "a namespace of Enedis in the first kilobytes"
        return refusal("TYPE_NOT_OURS", path=sniff.name, value=answers.ROOT, expected=expected)

    def parts(self, label: str, content: IO[bytes], name: str) -> Iterator[MemberHead | Transaction | Refusal]:
        """The head and the transactions. See `adapters.common.adapter.MarketAdapter.parts`."""
        if label in (ondemand.LABEL, ondemand.TABLE):
            return ondemand.Walk(READERS, name, table=label == ondemand.TABLE).parts(content)
        if label in (c68.FLUX, c68.TABLE):
            return c68.Walk(name, table=label == c68.TABLE).parts(content)
        if label == reports.REPORT:
            return reports.report(content, name)
        if label == reports.NOTICE:
            return reports.Notices(name).parts(content)
        if label == answers.LABEL:
            return answers.digest(content, name)
        return _Member(BY_LABEL[label]).parts(content)

    def errors(self, label: str, content: IO[bytes], name: str, position: int) -> Sequence[Refusal]:
        """Every error of one CH message: schema errors are looked for anew and thoroughly; what the digester refused
        beyond them follows. A milestone of an affaire is explained with its whole affaire."""
        if label not in BY_LABEL:
            return super().errors(label, content, name, position)
        return _Member(BY_LABEL[label]).errors(content, position)

    def series(self, name: str) -> Series | Refusal | None:
        """The place of an envelope's file name in its numbered series. See `adapters.fr_enedis.names`."""
        return names.series(name)

    def ledger(self) -> Ledger:
        """What becomes of each leaf of the fluxes. See `adapters.common.coverage`."""
        from adapters.fr_enedis.ledger import ledger  # it reads the schemas, which nothing else does

        return ledger()

    def build(self, message: KernelMessage, reference: str) -> OutgoingMessage | Refusal:
        """The SOAP request of one outgoing message. See `adapters.fr_enedis.sge.building`."""
        return building.build(message, reference)


class _Member:
    """The walk through one member: its header first, then its pieces."""

    def __init__(self, row: Flux) -> None:
        self.row = row
        self.header: Fields | None = None
        self.facts: dict[str, str] = {}
        self.version: str | None = None
        self.position = 0
        self.found = 0

    def parts(self, content: IO[bytes]) -> Iterator[MemberHead | Transaction]:
        """The head and the transactions; raises `Unreadable` where the member ends badly."""
        head: Context | None = None
        held: Transaction | None = None
        try:
            for element, run in self._pieces(content, _pattern(self.row.label)):
                if head is None:
                    head = self._context(element)
                self.found += 1 if run is None else len(run)
                for outcome in self._outcomes(element, head, run):
                    if self.position == 0:
                        yield self._head(head, outcome)
                    if held is not None:
                        yield held
                    held = self._transaction(outcome, head)
        except safexml.Unreadable:
            if held is not None:
                yield held
            raise
        if head is None:
            head = self._context(None)
        if self.position == 0:
            yield head.member_head(None, self._declared_notes(head, None))
        if held is not None:
            yield self._counted(held)

    def errors(self, content: IO[bytes], position: int) -> list[Refusal]:
        """Every error of the CH message at a position."""
        head: Context | None = None
        passed = 0
        for element, _ in self._pieces(content):
            head = head or self._context(element)
            outcomes = list(self._outcomes(element, head))
            if position <= passed + len(outcomes):
                refused = outcomes[position - passed - 1].refusals
                return with_explained(self.row.schema.explain(element), refused)
            passed += len(outcomes)
        return []

    def _pieces(
        self, content: IO[bytes], pattern: Pattern | None = None
    ) -> Iterator[tuple[etree._Element, list[Piece] | None]]:
        """The elements that hold CH messages, or stand for a run of those that the pattern reads; what stands beside
        the header is taken on the way."""
        row = self.row
        beside = (row.header.element, *row.beside)
        runs = None if pattern is None else Runs(content, pattern)
        for element in safexml.iterate(runs or content, (row.piece, *beside)):
            read_already = None if runs is None or element.tag != row.piece else runs.taken(element)
            if _depth(element) > (2 if row.nested and element.tag != row.header.element else 1):
                continue  # one wanted element inside another: the outer one's schema check refuses it
            if read_already is not None:
                yield element, read_already
            elif element.tag == row.piece:
                yield element, None
            else:
                self._take(element)

    def _outcomes(self, element: etree._Element, head: Context, run: list[Piece] | None = None) -> Iterator[Outcome]:
        digester, schema = self.row.digester, self.row.schema
        if digester is None:
            if self.row.outcomes is not None:
                yield from self.row.outcomes(element, head, schema)
        elif run is None:
            yield digester.outcome(element, head, schema, beside=self._beside)
        else:
            for piece in run:
                outcome = digester.outcome_of(piece.fields, head, self._beside)
                yield outcome or digester.outcome(piece.element(), head, schema, beside=self._beside)

    def _beside(
        self, messages: tuple[KernelMessage, ...], fields: Fields
    ) -> tuple[tuple[KernelMessage, ...], tuple[Refusal, ...]]:
        return PARTICULARS.added(messages, self.row.label, fields)

    def _take(self, element: etree._Element) -> None:
        if element.tag == self.row.header.element:
            self.header = read(element)
            self.facts.update({tag: text for tag, text in self.header.items() if type(text) is str})
        elif not len(element):
            self.facts[str(element.tag)] = (element.text or "").strip()
        else:
            before = f"{element.tag}/" if self.row.nested else ""
            self.facts.update({before + tag: text for tag, text in read(element).items() if type(text) is str})

    def _context(self, element: etree._Element | None) -> Context:
        if element is not None:
            root = element.getroottree().getroot()
            if etree.QName(root).localname != self.row.root:
                raise Unreadable(refusal("ROOT_UNEXPECTED", value=str(root.tag), expected=self.row.root))
        if self.header is None:
            raise Unreadable(refusal("HEADER_MISSING", path=self.row.header.element, expected=self.row.header.element))
        return context(self.header, self.facts, self.row.header, self.row.fluxes, self.row.entering)

    def _head(self, head: Context, first: Outcome) -> MemberHead:
        self.version = first.version
        return head.member_head(first.version, self._declared_notes(head, first.version))

    def _declared_notes(self, head: Context, version: str | None) -> tuple[Refusal, ...]:
        if self.row.header.version is not None and version is not None and version != head.declared:
            path = f"{self.row.header.element}/{self.row.header.version}"
            return self._unknown(head) or (refusal("NOTE_VERSION_DECLARED", path, head.declared, version),)
        return self._unknown(head)

    def _unknown(self, head: Context) -> tuple[Refusal, ...]:
        """That the header declares a version of which nothing is known."""
        if self.row.header.version is None or head.declared in self.row.versions:
            return ()
        path = f"{self.row.header.element}/{self.row.header.version}"
        return (refusal("VERSION_UNKNOWN", path, head.declared, ", ".join(self.row.versions)),)

    def _transaction(self, outcome: Outcome, head: Context) -> Transaction:
        self.position += 1
        version = outcome.version
        if not outcome.refusals and (version == self.version or version is None or self.version is None):
            return outcome.transaction(self.position, head.flux, head.sender, version)
        refusals, notes = outcome.refusals, outcome.notes
        if refusals:
            refusals = (*self._unknown(head), *refusals)
        if version != self.version and version is not None and self.version is not None:
            notes = (*notes, refusal("NOTE_VERSION_DECLARED", value=self.version, expected=version))
        outcome = outcome._replace(refusals=refusals, notes=notes)
        return outcome.transaction(self.position, head.flux, head.sender, version)

    def _counted(self, last: Transaction) -> Transaction:
        """The last transaction, with a note where the header announced another number of pieces."""
        announced = self.facts.get(self.row.counter or "")
        if announced is None or announced == str(self.found):
            return last
        note = refusal("NOTE_COUNT", path=self.row.counter or "", value=announced, expected=str(self.found))
        return structs.replace(last, notes=(*last.notes, note))


def _measures(sniff: Sniff) -> str | None:
    """The label of JSON and CSV: a report by its name, others by their first keys, or the labels of their columns. The
    end of a long first line is not seen."""
    beginning = sniff.root or ""
    if sniff.form == "json":
        keys = {key.strip() for key in beginning.split(",")}
        # What stands behind long measures is not seen: the header may be there.
        if keys >= JSON_KEYS or keys == {"mesures"}:
            return ondemand.LABEL
        if keys >= reports.NOTICE_KEYS:
            return reports.NOTICE
        told = names.tokens(sniff.name).get("flux") == c68.FLUX or "idPrm" in keys
        if keys and keys <= c68.BLOCKS and told:
            return c68.FLUX
        return reports.REPORT if names.is_report(sniff.name) else None
    labels = csvpieces.names(beginning)
    if names.is_report(sniff.name):
        return reports.REPORT
    if any(set(reader.needed[:2]) <= labels for reader in FAMILY):
        return ondemand.TABLE
    is_snapshot = "prm" in labels and len(labels) > 1
    return c68.TABLE if is_snapshot or names.tokens(sniff.name).get("flux") == c68.FLUX else None


@cache
def _pattern(label: str) -> Pattern | None:
    """What reads most CH messages of a row at once; None where each is a file of its own, or is read in another way."""
    row = BY_LABEL[label]
    if row.digester is None or row.digester.read is not read or row.piece == row.root:
        return None
    return Pattern(row.schema.path, row.piece)


def _depth(element: etree._Element) -> int:
    """0 for the root, 1 for its children, 2 for theirs, 3 for anything deeper."""
    depth = 0
    parent = element.getparent()
    while parent is not None and depth < 3:
        depth += 1
        parent = parent.getparent()
    return depth


adapter = FrEnedis()
"""What the entry point ``fr`` of the group ``energycomm.adapters`` names."""
