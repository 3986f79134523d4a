"""A customer erased: every place of the store in turn, whatever ends a run.

What names the customer is read from the Kernel messages, so these are done last: until then a run that ended early is
gone on with, and finds the same words. Each step looks at what is there and changes what is left; a step that was done
finds nothing. So an order holds for good: it is done again for what arrives later, and for what a restore brings back.
"""

# ruff: noqa: S608 - statements are put together from names of our own tables and columns, never from values

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, LargeBinary, String, Table, text

from energycomm.archive.archiving import Changed, rewrite
from energycomm.archive.files import File, read_rows
from energycomm.config import Config
from energycomm.eis import auditchain, tables
from energycomm.eis.archive import CHUNK, open_raw
from energycomm.eis.away import Archive, archives
from energycomm.eis.bulk import Row, column_names, quoted
from energycomm.eis.database import is_sqlite, reading
from energycomm.eis.domain import row_of
from energycomm.eis.erasures import (
    Evidence,
    Kept,
    Order,
    add_evidence,
    count,
    end,
    erasures,
    evidence,
    missing,
    numbered,
    place_order,
)
from energycomm.eis.particulars import replace_particulars
from energycomm.eis.partitions import Partitions
from energycomm.eis.sealing import Vault, sealed_column
from energycomm.eis.store import Store, StoreReader, StoreTransaction
from energycomm.erasure.files import files_in, folders_of, replace, sha256_of
from energycomm.erasure.persons import Person, Said, person_at
from energycomm.erasure.places import PLACES, Place
from energycomm.erasure.redaction import Whose, opened_out, readable, redacted
from energycomm.errors import Absent, DamagedRow, UserError
from energycomm.kernel.codec import decode, encode
from energycomm.kernel.instants import instant, now_micros
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.personal import ERASED, personal_fields, personal_values, without_person
from energycomm.kernel.requests import OUTGOING
from energycomm.logs import Log
from energycomm.market.installed import Markets, installed_adapters
from energycomm.pipeline.gateway import open_keys
from energycomm.transport.keys import KeyRing

log = Log()

DAY = 86_400_000_000
PIECE = 500
"""Rows that are read at a time."""

_FILES = msgspec.json.Decoder(list[File])

UNSETTLED = ("built", "sent", "acknowledged", "in-course")
"""States of requests that the market has not decided."""

_ENVELOPE = "envelope "
_FILE = "file "

REQUESTS = "requests"
"""What stays for a time: requests to the market with the customer's name."""

_ANONYMOUS = "GDPR, recital 26: nothing leads from it to a person"

STAYING = (
    (
        "measures, contracts, market identifiers",
        "of the access point, for settlement and the next customer",
        _ANONYMOUS,
    ),
    (
        "grid invoices",
        "evidence of accounts; they name the access point, no customer",
        "GDPR, article 17(3)(b): a law obliges us to keep it",
    ),
    ("address of the installation", "of the access point", _ANONYMOUS),
    (
        "audit",
        "who saw what; it names access points and numbers, no customer",
        "GDPR, article 5(2): we must be able to prove what we did",
    ),
)
"""What stays, whoever is erased; why; by which law."""

EVIDENCE = (
    "evidence of what the customer ordered",
    "GDPR, article 17(3)(e): for the defence of legal claims",
)
"""Why requests stay for a time, and by which law."""

COPIES = (
    "copies of before: backups, archived logs of the database, logs, exports, files left on servers",
    "they cannot be written anew; a restore erases again by itself",
    "GDPR, article 32: nobody reads them but to restore",
)
"""What is told, as it is out of reach; why; by which law."""

HINDRANCES = (
    "the supply goes on",
    "request {0} is {1}",
    "the partition {0} is detached",
    "the files of archive {0} are not in {1}",
    "the reference names the customer, and is kept: give the number of the case alone",
)
"""Why a customer cannot be erased now."""

WAITS = (
    *("envelope {0}", "its key is in the key ring again", "it is processed"),
    *("file {0}", "it cannot be written: {0}", REQUESTS),
)
"""What an erasure waits for."""

SKIPPED = frozenset(
    (
        *("state", "kind", "market", "type", "code", "severity", "content_type", "key", "digest", "reference"),
        *("by", "person", "owner", "assignee", "submitted_by", "approved_by", "injected_by", "host", "channel"),
        *("market_type", "table_name", "script", "error_code", "rule", "error_class", "event", "model", "rules"),
        *("idempotency_key", "batch", "version", "declared_version", "sender", "receiver", "tracker", "list"),
    )
)
"""Columns of closed lists, of our own references, and of people who use the program."""


GROUP = "energycomm.erasure"
"""Entry points of packages that keep what people typed outside of the store: functions that make a `Keeper` for a
configuration."""

Keeper: TypeAlias = Callable[[Callable[[str], bool], bool], Mapping[str, int]]
"""Deletes what it keeps that names a customer, or counts it: whether a text surely names the customer, whether to count
only -> place -> how much. Raises OSError, with the file, where it cannot now."""


class Means(Struct, frozen=True):
    """What an erasure is done with.

    Attributes:
      store: the EIS, unlocked.
      markets: the installed markets.
      keys: open encrypted envelopes.
      evidence_days: how long after the end of a supply requests keep the customer's name; None for not at all.
      now: the present, microseconds since the epoch.
      by: who does it, how they came, from where: for the audit.
      watch: told of each place that is begun.
      folders: where channels keep files that they are done with.
      copies_days: how long copies are kept that cannot be written anew; None where nobody said.
      keepers: what other packages keep outside of the store.
    """

    store: Store
    markets: Markets
    keys: KeyRing
    evidence_days: int | None
    now: int
    by: tuple[str, str, str] = ("energycomm", "standing order", "")
    watch: Callable[[str], object] = lambda _place: None
    folders: tuple[Path, ...] = ()
    copies_days: int | None = None
    keepers: tuple[Keeper, ...] = ()


def means_of(config: Config, store: Store, by: tuple[str, str, str] = ("energycomm", "standing order", "")) -> Means:
    """What an erasure is done with, from the configuration, at present.

    Args:
      config: the configuration.
      store: the EIS, unlocked.
      by: who does it, how they came, from where: for the audit.
    """
    markets = installed_adapters(config.mapping_files)
    return Means(
        store,
        markets,
        open_keys(config),
        config.retention.evidence_days,
        now_micros(),
        by,
        folders=folders_of(config),
        copies_days=config.retention.copies_days,
        keepers=tuple(entry.load()(config) for entry in sorted(entry_points(group=GROUP), key=lambda one: one.name)),
    )


class Plan(Struct, frozen=True, kw_only=True):
    """What an erasure would do.

    Attributes:
      order: what is to be erased.
      names: what the customer is called.
      goes: place -> values that are taken out.
      stays: what stays, why, by which law, and until when.
      hindered: why it cannot be done now.
    """

    order: Order
    names: tuple[str, ...]
    goes: dict[str, int]
    stays: tuple[Kept, ...]
    hindered: tuple[str, ...]


def plan(means: Means, order: Order) -> Plan:
    """What an order would do; nothing is changed."""
    found: list[str] = []
    with means.store.reading() as reader:
        person = person_at(reader, means.markets, order.market, order.access_point, order.since, order.until)
        found += _hindrances(means, reader, person)
        found += _naming(person, order)
        kept = _kept(means, person)
    return Plan(
        order=order,
        names=person.stay.names,
        goes=_Run(means, order, dry=True).all(),
        stays=_stays(means, order.market, kept),
        hindered=tuple(found),
    )


def place(means: Means, order: Order) -> int:
    """Order an erasure: from now on it is done, by `do` or by the daemon.

    Returns:
      The number of the order.

    Raises:
      UserError: the supply goes on, a request is under way, an archive's files are absent, the reference names the
        customer: nothing is changed.
    """
    with means.store.reading() as reader:
        person = person_at(reader, means.markets, order.market, order.access_point, order.since, order.until)
        hindered = [*_hindrances(means, reader, person), *_naming(person, order)]
    if hindered:
        raise UserError(f"The customer cannot be erased now: {'; '.join(hindered)}.", "Try again when that is over.")
    with means.store.transaction() as tx:
        return place_order(tx, order)


def carry_out(means: Means, order: Order) -> int:
    """Order an erasure and do it.

    Returns:
      The number of the order.

    Raises:
      UserError: it cannot be done now: nothing is changed; or the store was lost: the next run goes on.
    """
    number = place(means, order)
    do(means, number, order)
    return number


def do(means: Means, number: int, order: Order) -> Counter[str]:
    """Do an order, or do it again: what is left of it, and what came since.

    Returns:
      Place -> values that were taken out.
    """
    run = _Run(means, order, number)
    taken = run.all()
    with means.store.transaction() as tx:
        counts = _prove(tx, means, number, run.waits)
    if counts:
        _certify(means, number, order, counts, run.waits)
    return taken


def _prove(tx: StoreTransaction, means: Means, number: int, waits: dict[str, str]) -> Counter[str]:
    """Store that a run came to its end, and the evidence: of all that no evidence tells yet, as a run before it may
    have been killed.

    Returns:
      Place -> values that the evidence tells.
    """
    before = numbered(tx.connection, number)
    end(tx, number, means.now, waits)
    told: Counter[str] = Counter()
    for one in evidence(tx.connection, number):
        told.update(one.counts)
    counts = Counter(before.counts) - told
    if not counts and (before.done_at is not None or waits):
        return counts
    person, via, _ = means.by
    found = Evidence(
        id=0,
        erasure=number,
        at=means.now,
        by=person,
        via=via,
        done=not waits,
        counts=counts,
        kept=_stays(means, before.order.market, {name: day for name, day in waits.items() if name == REQUESTS}),
        order_sha256=before.order.digest.hex(),
    )
    add_evidence(tx, found)
    return counts


def _certify(means: Means, number: int, order: Order, counts: Counter[str], waits: Mapping[str, str]) -> None:
    """The certificate: a line of the audit with what was taken out, and no personal data."""
    person, via, address = means.by
    taken = " ".join(f"{place}={values}" for place, values in sorted(counts.items()))
    ended = f"kept until later: {', '.join(waits)}" if waits else "done"
    subject = f"erasure {number} access point {order.access_point} {ended} {taken}"
    line = (means.now, person[:120], via[:140], "change", "customer erase", subject[:400], 0, address[:64])
    auditchain.append(means.store, line)


def again(means: Means, orders: Sequence[Order] = (), since: int = 0) -> Counter[str]:
    """Do every order of the store again, and others that it does not know.

    Args:
      means: what it is done with.
      orders: from elsewhere: of newer backups.
      since: when it was done the last time, microseconds since the epoch: of those that were done then, only access
        points to which something came since are looked at.

    Returns:
      Place -> values that were taken out.
    """
    total: Counter[str] = Counter()
    with reading(means.store.engine) as connection:
        new = missing(connection, orders)
    if new:
        with means.store.transaction() as tx:
            for one in new:
                place_order(tx, one)
    with reading(means.store.engine) as connection:
        known = erasures(connection)
    for erasure in known:
        if since and erasure.done_at is not None and not _came(means.store, erasure.order, since):
            continue
        counts = do(means, erasure.id, erasure.order)
        if counts and erasure.done_at is not None:
            log.warning("erasure.again", erasure=erasure.id, values=counts.total())
        total.update(counts)
    return total


def _came(store: Store, order: Order, since: int) -> bool:
    """Whether a message of an access point, or a repetition of one, arrived from an instant on."""
    point = (order.market, order.access_point, since)
    with store.reading() as reader:
        return bool(reader.driver.rows(_NEW_MESSAGE, point) or reader.driver.rows(_REPEATED, point))


def _hindrances(means: Means, reader: StoreReader, person: Person) -> Iterator[str]:
    if person.stay.supplied:
        yield HINDRANCES[0]
    ids = [one.row.id for one in person.said]
    rows = reader.driver.matching("SELECT id, state FROM outgoing WHERE true", ids, "message_id")
    yield from (HINDRANCES[1].format(number, state) for number, state in rows if state in UNSETTLED)
    if not is_sqlite(means.store.engine):
        away = [one.name for one in Partitions(means.store.engine).known() if not one.attached]
        yield from (HINDRANCES[2].format(name) for name in away)
    with reading(means.store.engine) as connection:
        for archive in archives(connection):
            yield from _absent(connection, archive)


def _kept(means: Means, person: Person) -> dict[str, str]:
    """What stays for a time, because it is evidence -> until when."""
    if means.evidence_days is None or person.stay.ended_at is None:
        return {}
    until = person.stay.ended_at + means.evidence_days * DAY
    if until <= means.now or not any(_is_evidence(one) for one in person.said):
        return {}
    zone = means.markets.zone(person.stay.market)
    return {REQUESTS: instant(until).astimezone(zone).date().isoformat()}


def _is_evidence(one: Said) -> bool:
    return type(one.message) in OUTGOING and any(True for _ in personal_values(one.message))


def _naming(person: Person, order: Order) -> Iterator[str]:
    """What of an order would keep the customer's name."""
    if person.traces.in_text(order.reference):
        yield HINDRANCES[4]


def _stays(means: Means, market: str, until: Mapping[str, str]) -> tuple[Kept, ...]:
    """What stays whatever is erased, and what stays for a time.

    Args:
      means: knows the markets.
      market: of the access point.
      until: what stays for a time -> its last day.
    """
    national = means.markets.kept_by_law(market)
    found = [Kept(what=what, because=because, law=law, national=national.get(what)) for what, because, law in STAYING]
    for what, day in until.items():
        because, law = EVIDENCE
        found.append(Kept(what=what, because=because, law=law, national=national.get(what), until=day))
    what, because, law = COPIES
    last = None
    if means.copies_days is not None:
        last = instant(means.now + means.copies_days * DAY).astimezone(means.markets.zone(market)).date().isoformat()
    return (*found, Kept(what=what, because=because, law=law, until=last))


class _Run:
    """One run over all places.

    Args:
      means: what it is done with.
      order: what is to be erased.
      number: of the order, to count what was done.
      dry: change nothing.
    """

    def __init__(self, means: Means, order: Order, number: int | None = None, *, dry: bool = False) -> None:
        self.means, self.order, self.number, self.dry = means, order, number, dry
        self.counts: Counter[str] = Counter()
        self.waits: dict[str, str] = {}

    def all(self) -> Counter[str]:
        """Go through every place."""
        with self.means.store.reading() as reader:
            if not reader.driver.rows(_POINT, (self.order.market, self.order.access_point)):
                return self.counts
            order = self.order
            person = person_at(reader, self.means.markets, order.market, order.access_point, order.since, order.until)
            self.waits = _kept(self.means, person)
            held = {one.row.id for one in person.said if _is_evidence(one)} if self.waits else set()
            numbers = _numbers(reader, person, held)
        self.person, self.held, self.numbers = person, held, numbers
        if person.values:
            self._envelopes(0)
            self._files(0)
            self._archives()
            self._kept_elsewhere()
            for place in PLACES:
                self.means.watch(place.table)
                self._texts(place)
        else:
            # A repetition makes no message: what came since is cleaned by the elements that are a customer's.
            self._envelopes(order.ordered_at)
            self._files(order.ordered_at)
        if not any(what.startswith((_ENVELOPE, _FILE)) for what in self.waits):
            self.means.watch("messages")
            self._messages()
        return self.counts

    def count(self, tx: StoreTransaction, place: str, values: int) -> None:
        """Count what was taken out, in the transaction that does it."""
        if not values:
            return
        self.counts[place] += values
        if self.number is not None:
            count(tx, self.number, place, values)

    # --- bytes -------------------------------------------------------------------------------------------------------

    def whose(self, envelope: int) -> Whose:
        with self.means.store.reading() as reader:
            rows = reader.driver.rows(_POINTS_OF, (envelope, envelope))
        own = self.person.stay.access_point
        others = frozenset(row[0] for row in rows if row[0]) - {own}
        in_time = envelope in self.numbers["envelopes"]
        elements = self.person.own if in_time else frozenset[str]()
        return Whose(self.person.traces, frozenset((own,)), others, elements, None if in_time else self._known)

    def _envelopes(self, since: int) -> None:
        """Raw bytes; only of what arrived from an instant on. Where some cannot be done, messages are left as they are:
        without them nobody knew what to look for."""
        for envelope, sha256, state in self._contents(since):
            self.means.watch(f"{_ENVELOPE}{envelope}")
            try:
                with open_raw(self.means.store.engine, sha256) as raw:
                    before = raw.read()
            except (Absent, FileNotFoundError, DamagedRow):
                continue  # in an archive, which is looked at too; or removed
            if envelope in self.numbers["all_envelopes"] and not readable(before, self.means.keys):
                self.waits[f"{_ENVELOPE}{envelope}"] = "its key is in the key ring again"
                continue
            after = redacted(before, self.whose(envelope), self.means.keys)
            if after == before:
                continue
            if state in ("archived", "processing"):
                self.waits[f"{_ENVELOPE}{envelope}"] = "it is processed"
            elif self.dry:
                self.counts["envelopes"] += 1
            else:
                self._replace(sha256, after)

    def _contents(self, since: int) -> list[tuple[int, bytes, str]]:
        """The envelopes that may tell of the customer: those of the access point, and those of
        which something was refused."""
        with self.means.store.reading() as reader:
            ids = sorted(self.numbers["all_envelopes"])
            sql = "SELECT id, sha256, state FROM envelope WHERE received_at >= ?"
            rows = reader.driver.matching(sql, ids, "id", head=(since,))
            rows += reader.driver.rows(_UNREADABLE) if self.person.values else []
        first: dict[bytes, tuple[int, bytes, str]] = {}
        for number, sha256, state in sorted(rows):
            kept = first.setdefault(bytes(sha256), (number, bytes(sha256), state))
            if state in ("archived", "processing"):
                first[bytes(sha256)] = (kept[0], bytes(sha256), state)
        return list(first.values())

    def _replace(self, sha256: bytes, content: bytes) -> None:
        with self.means.store.transaction() as tx:
            ((envelope,),) = tx.driver.rows("SELECT min(envelope_id) FROM raw_chunk WHERE sha256 = ?", (sha256,))
            tx.driver.run("DELETE FROM raw_chunk WHERE sha256 = ?", (sha256,))
            pieces = [content[start : start + CHUNK] for start in range(0, len(content), CHUNK)]
            rows = [
                {"sha256": sha256, "number": number, "bytes": piece, "envelope_id": envelope}
                for number, piece in enumerate(pieces)
            ]
            tx.insert(tables.raw_chunk, rows)
            values = (len(content), self.means.now, sha256)
            tx.driver.run("UPDATE raw SET size = ?, erased_at = ? WHERE sha256 = ?", values)
            self.count(tx, "envelopes", 1)

    def _files(self, since: int) -> None:
        """What channels keep of envelopes, and the reasons beside them. A file that cannot be written is waited for, as
        an envelope is."""
        for path in files_in(self.means.folders, since):
            self.means.watch(f"{_FILE}{path.name}")
            try:
                before = path.read_bytes()
            except OSError:
                continue  # somebody took it away
            after = redacted(before, self._whose_file(before), self.means.keys)
            if after == before:
                continue
            if self.dry:
                self.counts["files"] += 1
                continue
            try:
                replace(path, after)
            except OSError as fault:
                self.waits[f"{_FILE}{path}"] = f"it cannot be written: {fault.strerror}"
                continue
            with self.means.store.transaction() as tx:
                self.count(tx, "files", 1)

    def _whose_file(self, content: bytes) -> Whose:
        """Whose a file is: as its envelope, where the store has it by its bytes."""
        with self.means.store.reading() as reader:
            rows = reader.driver.rows("SELECT min(id) FROM envelope WHERE sha256 = ?", (sha256_of(content),))
        if rows and rows[0][0] is not None:
            return self.whose(rows[0][0])
        # Changed since it came, or never taken in: what it says of others is told by the access points that we know.
        own = frozenset((self.person.stay.access_point,))
        return Whose(self.person.traces, own, elements=self.person.own, known=self._known)

    def _known(self, words: Collection[str]) -> frozenset[str]:
        """Those words that are access points, or look like the customer's and are no number of the customer's."""
        own = self.person.stay.access_point
        like = {word for word in words if len(word) == len(own) and word.isdigit() and own.isdigit()}
        with self.means.store.reading() as reader:
            rows = reader.driver.matching("SELECT identifier FROM access_point WHERE true", sorted(words), "identifier")
        return frozenset(row[0] for row in rows) | {word for word in like if not self.person.traces.in_text(word)}

    def _archives(self) -> None:
        with reading(self.means.store.engine) as connection:
            known = archives(connection)
        for archive in known:
            self.means.watch(f"archive {archive.name}")
            cleaning = Cleaning(self)
            if self.dry:
                cleaning.look(archive)
            else:
                rewrite(self.means.store, archive, cleaning)

    def _kept_elsewhere(self) -> None:
        """What people typed or attached, in files of other packages. It belongs to nobody's messages: what names the
        customer beyond doubt goes."""
        for keeper in self.means.keepers:
            try:
                found = keeper(self.person.traces.surely_in, self.dry)
            except OSError as fault:
                self.waits[f"{_FILE}{fault.filename}"] = f"it cannot be written: {fault.strerror}"
                continue
            if self.dry:
                self.counts.update(found)
                continue
            with self.means.store.transaction() as tx:
                for place, values in found.items():
                    self.count(tx, place, values)

    # --- texts -------------------------------------------------------------------------------------------------------

    def _texts(self, place: Place) -> None:
        table = tables.metadata.tables[place.table]
        names = column_names(table)
        done: set[Row] = set()
        keys = [column.name for column in table.primary_key.columns]

        def clean(sql: str, values: Sequence[Any], column: str | None, *, sure: bool) -> None:
            with self.means.store.reading() as reader:
                if column is None:
                    rows = reader.driver.rows(sql)
                else:
                    rows = reader.driver.matching(sql, sorted(values), column)
                opened = [opened_row(reader.driver.vault, table, dict(zip(names, row, strict=True))) for row in rows]
            changes = []
            for row in opened:
                key = tuple(row[name] for name in keys)
                if key in done or (place.table == "outgoing" and row["message_id"] in self.held):
                    continue
                done.add(key)
                if changed := self.changes(table, row, sure=sure):
                    changes.append((row, changed))
            self._store(table, keys, changes)

        select = f"SELECT {quoted(names)} FROM {table.name}"
        for column, what in place.by.items():
            clean(f"{select} WHERE true", list(self.numbers[what]), f'"{column}"', sure=False)
        if place.everywhere:
            clean(select, (), None, sure=place.table not in ("saved_view", "idempotency"))

    def changes(self, table: Table, row: Mapping[str, Any], *, sure: bool) -> dict[str, Any]:
        """Column -> what it is to hold, of those that tell of the customer."""
        traces = self.person.traces
        scrub = traces.scrub_surely if sure else traces.scrub_wholly
        tells = traces.surely_in if sure else traces.in_text
        found: dict[str, Any] = {}
        for column in table.columns:
            value, name = row[column.name], column.name
            if value is None or name in SKIPPED or column.foreign_keys:
                continue
            if isinstance(column.type, String) and isinstance(value, str):
                clean: Any = self._kernel_xml(value) if _holds_kernel(table, name) else None
                clean = opened_out(scrub(value), tells) if clean is None else clean
            elif isinstance(column.type, LargeBinary) and name == "content":
                point = frozenset((self.person.stay.access_point,))
                clean = redacted(bytes(value), Whose(self.person.traces, point))
            else:
                continue
            if clean != value:
                found[name] = clean
        if table is tables.finding:
            found |= self._of_finding(row, found)
        if table is tables.before_image:
            found |= self._of_image(row)
        return found

    def _of_finding(self, row: Mapping[str, Any], found: dict[str, Any]) -> dict[str, Any]:
        """The value of a personal field that a rule objected to, in its comments too."""
        kind = next((type(one.message).__name__ for one in self._mine() if one.row.id == row["message_id"]), "")
        if row["field"] not in personal_fields(kind) or row["value"] in (None, "", ERASED):
            return {}
        comments = {
            name: found.get(name, row[name]).replace(row["value"], ERASED) for name in ("comment", "comment_fr")
        }
        return {"value": ERASED, **comments}

    def _of_image(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The image of a row of a customer; that of another customer of the access point stays."""
        if row["table_name"] != tables.customer.name:
            return {}
        try:
            image = json.loads(row["image"])
        except ValueError:
            return {}
        if not isinstance(image, dict) or image.get("message_id") not in self.numbers["messages"]:
            return {}
        known = {name: image[name] for name in image if name not in ("name", "content")}
        clean = json.dumps({**known, "name": ERASED, "content": "{}"})
        return {} if clean == row["image"] else {"image": clean}

    def _kernel_xml(self, xml: str) -> str | None:
        message = decode(xml) if xml else None
        if not isinstance(message, KernelMessage):
            return None
        clean = self._without(message)
        return xml if clean == message else encode(clean)

    def _store(self, table: Table, keys: list[str], changes: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
        if self.dry:
            if changes:
                self.counts[table.name] += sum(len(changed) for _, changed in changes)
            return
        for start in range(0, len(changes), PIECE):
            with self.means.store.transaction() as tx:
                values = 0
                for row, changed in changes[start : start + PIECE]:
                    self._update(tx, table, keys, row, changed)
                    values += len(changed)
                self.count(tx, table.name, values)

    def _update(
        self, tx: StoreTransaction, table: Table, keys: list[str], row: dict[str, Any], changed: dict[str, Any]
    ) -> None:
        if keys == ["id"]:
            tx.driver.update(table, tuple(changed), [(row["id"], *changed.values())])
            return
        names = ", ".join(f'"{name}" = ?' for name in changed)
        where = " AND ".join(f'"{name}" = ?' for name in keys)
        sql = f"UPDATE {table.name} SET {names} WHERE {where}"
        tx.driver.run(sql, (*changed.values(), *(row[name] for name in keys)))

    # --- messages ----------------------------------------------------------------------------------------------------

    def _mine(self) -> list[Said]:
        return [one for one in (*self.person.said, *self.person.beside) if one.row.id not in self.held]

    def _without(self, message: KernelMessage) -> KernelMessage:
        person = self.person
        return without_person(message, person.traces.scrub, person.own, person.stay.access_point)

    def _messages(self) -> None:
        """Kernel messages with their particulars and domain rows. They are what tells who the customer is."""
        changes = []
        for one in self._mine():
            clean = self._without(one.message)
            if clean != one.message:
                changes.append((one, clean))
        if self.dry:
            with self.means.store.reading() as reader:
                for one, clean in changes:
                    self.counts["kernel_message"] += 1
                    if ids := self._domain_rows(reader, one, clean):
                        self.counts[str(type(clean).kept.table)] += len(ids)  # type: ignore[union-attr]
            return
        for start in range(0, len(changes), PIECE):
            with self.means.store.transaction() as tx:
                for one, clean in changes[start : start + PIECE]:
                    self._rewrite(tx, one, clean)
                self.count(tx, "kernel_message", len(changes[start : start + PIECE]))

    def _rewrite(self, tx: StoreTransaction, one: Said, clean: KernelMessage) -> None:
        number = one.row.id
        tx.driver.update(tables.kernel_message, ("xml", "erased_at"), [(number, encode(clean), self.means.now)])
        replace_particulars(tx, [(number, clean)])
        ids = self._domain_rows(tx, one, clean)
        kept = type(clean).kept
        if kept is None or not ids:
            return
        table = tables.DOMAIN[kept.table]
        row: dict[str, Any] = row_of(clean)
        if table is tables.customer:
            row["name"] = ERASED if any(one.personal == "name" for one in personal_values(clean)) else None
        texts = {name: value for name, value in row.items() if isinstance(table.columns[name].type, String)}
        tx.driver.update(table, tuple(texts), [(number, *texts.values()) for number in ids])
        self.count(tx, table.name, len(ids))

    def _domain_rows(self, reader: StoreReader, one: Said, clean: KernelMessage) -> list[int]:
        """The rows that a message made and that change with it."""
        kept = type(clean).kept
        if kept is None or row_of(clean) == row_of(one.message):
            return []
        table, number = tables.DOMAIN[kept.table], one.row.id
        if "access_point_id" in table.columns:
            where = "access_point_id = ? AND message_id = ?"
            rows = reader.driver.rows(f"SELECT id FROM {table.name} WHERE {where}", (self.person.stay.point_id, number))
        else:
            rows = reader.driver.rows(f"SELECT id FROM {table.name} WHERE message_id = ?", (number,))
        return [int(row[0]) for row in rows]


class Cleaning:
    """What of the files of archives tells of a customer.

    Args:
      run: the erasure.
    """

    def __init__(self, run: _Run) -> None:
        self.run, self.messages = run, set[int]()
        with run.means.store.reading() as reader:
            ids = sorted(run.numbers["all_envelopes"])
            rows = reader.driver.matching("SELECT sha256, id FROM envelope WHERE true", ids, "id")
            self.vault = reader.driver.vault
        with run.means.store.transaction() as tx:
            self.key = self.vault.writes_under(tx.driver)
        self.contents = {bytes(sha256): number for sha256, number in rows}

    def __call__(self, table: Table, rows: Callable[[], Iterator[list[Row]]]) -> Changed | None:
        """The rows of a file without the customer; None where they tell of nobody."""
        found, sizes = self._bytes(rows) if table is tables.raw_chunk else (self._texts(table, rows), {})
        if not found:
            return None
        now, run = self.run.means.now, self.run

        def also(tx: StoreTransaction) -> None:
            resized = [(size, now, sha256) for sha256, size in sizes.items()]
            tx.driver.many("UPDATE raw SET size = ?, erased_at = ? WHERE sha256 = ?", resized)
            run.count(tx, "archives", len(sizes) or len(found))

        return Changed(_replaced(table, rows(), found), also)

    def look(self, archive: Archive) -> None:
        """Count what would be taken out of an archive."""
        place = Path(archive.folder)
        with self.run.means.store.reading() as reader:
            pieces = reader.driver.rows("SELECT files FROM archive_piece WHERE archive_id = ?", (archive.id,))
        for (stored,) in pieces:
            for file in sorted(_FILES.decode(stored), key=lambda one: one.table != "kernel_message"):
                if (place / file.name).exists():
                    table = tables.metadata.tables[file.table]
                    rows = partial(read_rows, place, file, table)
                    if table is tables.raw_chunk:
                        self.run.counts["archives"] += len(self._bytes(rows)[1])
                    else:
                        self.run.counts["archives"] += len(self._texts(table, rows))

    def _bytes(self, rows: Callable[[], Iterator[list[Row]]]) -> tuple[dict[Row, list[Row]], dict[bytes, int]]:
        """Pieces of contents -> what stands in their place, and the new sizes."""
        names = column_names(tables.raw_chunk)
        column = sealed_column(tables.raw_chunk)
        assert column is not None
        held: dict[bytes, list[dict[str, Any]]] = {}
        for some in rows():
            for row in some:
                named = dict(zip(names, row, strict=True))
                if bytes(named["sha256"]) in self.contents:
                    held.setdefault(bytes(named["sha256"]), []).append(named)
        found: dict[Row, list[Row]] = {}
        sizes: dict[bytes, int] = {}
        for sha256, pieces in held.items():
            pieces.sort(key=lambda one: one["number"])
            before = b"".join(self.vault.value(column, (sha256, one["number"]), one["bytes"]) for one in pieces)
            after = redacted(before, self.run.whose(self.contents[sha256]), self.run.means.keys)
            if after == before:
                continue
            sizes[sha256] = len(after)
            for one in pieces:
                found[(sha256, one["number"])] = []
            for number, start in enumerate(range(0, len(after), CHUNK)):
                sealed = self.vault.sealed(column, (sha256, number), after[start : start + CHUNK], self.key)
                piece = {**pieces[0], "number": number, "bytes": sealed}
                found[(sha256, pieces[0]["number"])].append(tuple(piece[name] for name in names))
        return found, sizes

    def _texts(self, table: Table, rows: Callable[[], Iterator[list[Row]]]) -> dict[Row, list[Row]]:
        """Rows of the access point that have the customer's words -> the rows without them."""
        names, column, point = column_names(table), sealed_column(table), self.run.person.stay.point_id
        keys = [one.name for one in table.primary_key.columns]
        found: dict[Row, list[Row]] = {}
        for some in rows():
            for row in some:
                named = dict(zip(names, row, strict=True))
                if table is tables.kernel_message:
                    if named["access_point_id"] != point:
                        continue
                    self.messages.add(named["id"])
                elif named.get("message_id") not in self.messages:
                    continue
                changed = self.run.changes(table, opened_row(self.vault, table, dict(named)), sure=False)
                if not changed:
                    continue
                key = tuple(named[name] for name in keys)
                if column is not None and column.column in changed:
                    sealed = self.vault.sealed(column, key, changed[column.column], self.key)
                    changed = {**changed, column.column: sealed}
                found[key] = [tuple({**named, **changed}[name] for name in names)]
        return found


def _replaced(table: Table, rows: Iterator[list[Row]], found: Mapping[Row, list[Row]]) -> Iterator[list[Row]]:
    names = column_names(table)
    places = [names.index(column.name) for column in table.primary_key.columns]
    for some in rows:
        clean: list[Row] = []
        for row in some:
            key = tuple(bytes(row[place]) if isinstance(row[place], bytes) else row[place] for place in places)
            clean += found.get(key, [row])
        yield clean


def opened_row(vault: Vault, table: Table, row: dict[str, Any]) -> dict[str, Any]:
    """A row with its sealed column in clear."""
    column = sealed_column(table)
    if column is not None and row.get(column.column) is not None:
        row[column.column] = vault.value(column, tuple(row[name] for name in column.keys), row[column.column])
    return row


def _absent(connection: Connection, archive: Archive) -> Iterator[str]:
    """Files of an archive that hold what is away, and are not where they were written."""
    sql = text("SELECT files FROM archive_piece WHERE archive_id = :id AND away")
    for (stored,) in connection.execute(sql, {"id": archive.id}):
        for file in _FILES.decode(stored):
            if not (Path(archive.folder) / file.name).exists():
                yield HINDRANCES[3].format(archive.name, archive.folder)
                return


def _holds_kernel(table: Table, column: str) -> bool:
    return (table.name, column) in (("campaign_item", "content"), ("kernel_message", "xml"))


def _numbers(reader: StoreReader, person: Person, held: set[int]) -> dict[str, set[int]]:
    """The customer's rows by what they are; see `Place.by`."""
    driver, point = reader.driver, person.stay.point_id
    said = [one.row for one in (*person.said, *person.beside)]
    messages = {row.id for row in said}
    requests = {row[0] for row in driver.matching("SELECT id FROM outgoing WHERE true", sorted(messages), "message_id")}
    refused = {row[0] for row in driver.rows(_REFUSED, (person.stay.access_point,))}
    refused |= {row[0] for row in driver.rows(_PUT_ASIDE, (person.stay.access_point,))}
    own = {row.ch_message_id for row in said if row.ch_message_id is not None} | refused
    everything = own | {row[0] for row in driver.rows(_ALL_OF, (point,))}
    answered = driver.matching("SELECT id FROM envelope WHERE true", sorted(requests), "answers")
    return {
        "messages": messages - held,
        "points": {point},
        "requests": requests,
        "tickets": _ids(
            driver.matching("SELECT ticket_id FROM ticket_message WHERE true", sorted(messages), "message_id")
        ),
        "campaigns": _ids(
            driver.matching("SELECT campaign_id FROM campaign_item WHERE true", sorted(messages), "message_id")
        ),
        "ch_messages": own,
        "members": _arrivals(reader, own, "member_id"),
        "envelopes": _arrivals(reader, own, "envelope_id") | _ids(answered),
        "all_envelopes": _arrivals(reader, everything, "envelope_id") | _ids(answered),
    }


def _arrivals(reader: StoreReader, ch_messages: set[int], column: str) -> set[int]:
    """Where CH messages came from, the repetitions too."""
    ids = sorted(ch_messages)
    rows = reader.driver.matching(f"SELECT DISTINCT {column} FROM ch_message WHERE true", ids, "id")
    rows += reader.driver.matching(f"SELECT DISTINCT {column} FROM ch_duplicate WHERE true", ids, "first_id")
    return _ids(rows)


def _ids(rows: Sequence[Row]) -> set[int]:
    return {int(row[0]) for row in rows}


_POINT = "SELECT 1 FROM access_point WHERE market = ? AND identifier = ?"
_NEW_MESSAGE = (
    "SELECT 1 FROM access_point p JOIN kernel_message k ON k.access_point_id = p.id "
    "WHERE p.market = ? AND p.identifier = ? AND k.received_at >= ? LIMIT 1"
)
_REPEATED = (
    "SELECT 1 FROM access_point p JOIN kernel_message k ON k.access_point_id = p.id "
    "JOIN ch_duplicate d ON d.first_id = k.ch_message_id JOIN envelope e ON e.id = d.envelope_id "
    "WHERE p.market = ? AND p.identifier = ? AND e.received_at >= ? LIMIT 1"
)
_REFUSED = "SELECT id FROM ch_message WHERE access_point = ? AND outcome = 'refused'"
_PUT_ASIDE = (
    "SELECT c.id FROM incident i JOIN ch_message c ON c.id = i.ch_message_id "
    "WHERE c.outcome = 'put-aside' AND c.access_point = ?"
)
_ALL_OF = "SELECT DISTINCT ch_message_id FROM kernel_message WHERE access_point_id = ? AND ch_message_id IS NOT NULL"
_UNREADABLE = (
    "SELECT id, sha256, state FROM envelope WHERE state = 'failed' UNION "
    "SELECT e.id, e.sha256, e.state FROM ch_message c JOIN envelope e ON e.id = c.envelope_id "
    "WHERE c.outcome = 'refused' UNION "
    "SELECT e.id, e.sha256, e.state FROM incident i JOIN ch_message c ON c.id = i.ch_message_id "
    "JOIN envelope e ON e.id = c.envelope_id WHERE c.outcome = 'put-aside' UNION "
    "SELECT e.id, e.sha256, e.state FROM member m JOIN envelope e ON e.id = m.envelope_id WHERE m.state = 'refused'"
)
_POINTS_OF = (
    "SELECT access_point FROM ch_message WHERE envelope_id = ? UNION "
    "SELECT c.access_point FROM ch_duplicate d JOIN ch_message c ON c.id = d.first_id WHERE d.envelope_id = ?"
)
