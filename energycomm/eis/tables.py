"""The tables of the Energy Information Store, the same for SQLite and PostgreSQL.

Chain of custody: `envelope` (raw bytes in `raw`/`raw_chunk`) -> `member` -> `ch_message` -> `kernel_message` ->
`state_change` -> `finding`. Domain tables hold what the accepted messages say of an access point; every row names the
Kernel message that caused it. All business instants are integers: microseconds since 1970-01-01T00:00:00Z, so that both
databases sort and compare them alike.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Sequence,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    event,
    text,
)

from energycomm.eis import changelog, domain, findable, triggers
from energycomm.kernel.declaration import Kept
from energycomm.kernel.family import KINDS

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

Id = BigInteger().with_variant(Integer, "sqlite")
"""SQLite makes an alias of its row id only of INTEGER."""


def _id() -> Column[int]:
    return Column("id", Id, primary_key=True, autoincrement=False)


def _to(table: str, name: str, *, nullable: bool = False) -> Column[int]:
    return Column(name, Id, ForeignKey(f"{table}.id"), nullable=nullable)


ID_BLOCK = 1000
"""Ids that a process takes from a PostgreSQL sequence at a time."""


def sequence_name(table: str) -> str:
    """Name of the PostgreSQL sequence that a table's ids come from."""
    return f"{table}_ids"


id_counter = Table(
    "id_counter",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("next", BigInteger, nullable=False),
    comment="Next id of each table on SQLite; PostgreSQL has sequences.",
)


# --- how it is kept ----------------------------------------------------------------------------------------------

SEALED = {"sealed": True}
"""Marks the columns whose values are compressed, and encrypted where the store has a data key
(`energycomm.eis.sealing`)."""

data_key = Table(
    "data_key",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("label", String(80), nullable=False, comment="Key of the key ring that it is wrapped with."),
    Column("wrapped", LargeBinary, nullable=False, comment="The key, encrypted."),
    Column("made_at", BigInteger, nullable=False),
    Column("wrapped_at", BigInteger, nullable=False),
    comment="Keys that columns are encrypted under; none is ever removed, a backup may need it.",
)

at_rest = Table(
    "at_rest",
    metadata,
    Column("what", String(8), primary_key=True, comment="store"),
    Column("data_key", Integer, ForeignKey("data_key.number"), comment="What new rows are encrypted under."),
    comment="One row. Who stores what is to be encrypted locks it, so that no one writes under a key of before.",
)

name_key = Table(
    "name_key",
    metadata,
    Column("one", SmallInteger, primary_key=True, autoincrement=False, comment="1: there is one row."),
    Column("secret", LargeBinary, nullable=False, info=SEALED, comment="What words of names are hashed under."),
    comment="The key of the index of customers' names; made with the first of them.",
)

store_owner = Table(
    "store_owner",
    metadata,
    Column("one", SmallInteger, primary_key=True, autoincrement=False, comment="1: there is one row, or none."),
    Column("supplier", String(30), nullable=False, comment="Name of the supplier in the configuration."),
    comment="Whose store this is in an installation of several suppliers; none where there is one alone.",
)

name_gap = Table(
    "name_gap",
    metadata,
    Column("one", SmallInteger, primary_key=True, autoincrement=False, comment="1: there is one row, or none."),
    Column("upto", BigInteger, nullable=False, comment="Customers up to this number are in the index."),
    Column("target", BigInteger, nullable=False, comment="The last that was stored before there was an index."),
    comment="How far the names of a store of before are in the index; none when all are.",
)

# --- what arrived ------------------------------------------------------------------------------------------------

raw = Table(
    "raw",
    metadata,
    Column("sha256", LargeBinary(32), primary_key=True),
    Column("size", BigInteger, nullable=False),
    Column("archive_id", BigInteger, comment="The archive that holds its bytes."),
    Column("erased_at", BigInteger, comment="When a customer was taken out: the bytes have another SHA-256 since."),
    comment="Content of an envelope, once per content.",
)

raw_chunk = Table(
    "raw_chunk",
    metadata,
    Column("sha256", LargeBinary(32), ForeignKey("raw.sha256"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("bytes", LargeBinary, nullable=False, info=SEALED),
    Column(
        "envelope_id",
        BigInteger,
        nullable=False,
        server_default="0",
        comment="The envelope that brought it; 0: in a store of before.",
    ),
    comment="The bytes as they arrived, in pieces of at most 1 MiB.",
)

REFUSED = text("outcome = 'refused'")
OPEN_STATES = "state NOT IN ('accepted', 'treated')"
"""States of the few Kernel messages that somebody looks for by their state alone. Queries name this condition beside
their own: SQLite takes an index of some rows only then."""
OPEN = text(OPEN_STATES)
WAITING = text("state IN ('archived', 'processing')")
HELD = text("holder IS NOT NULL")

ORDERED = text("request IS NOT NULL AND duplicate_of IS NULL")
"""Envelopes that came for an order."""

envelope = Table(
    "envelope",
    metadata,
    _id(),
    Column("name", String(400), nullable=False),
    Column("sha256", LargeBinary(32), ForeignKey("raw.sha256"), nullable=False),
    Column("received_at", BigInteger, nullable=False),
    Column("channel", String(40), nullable=False),
    Column("market", String(2)),
    Column("state", String(12), nullable=False, comment="archived, processing, done, failed, duplicate"),
    _to("envelope", "duplicate_of", nullable=True),
    Column("key_label", String(80), comment="Label of the key that opened it."),
    Column("series_key", String(200)),
    Column("series_number", Integer),
    Column("series_stamp", String(20)),
    Column("finished_at", BigInteger),
    Column("attempts", SmallInteger, comment="How often a worker began and did not come to an end."),
    Column("answers", BigInteger, comment="The request (outgoing) on whose call it was received."),
    Column("request", String(64), comment="The market's reference of the request whose result it holds."),
    Column("files", Integer, comment="Files of that result, as a report in it announces them."),
    Column("holder", BigInteger, comment="The worker that has claimed it; its claim ends with its lock."),
    Index(None, "sha256"),
    Index(None, "request"),
    Index("ix_envelope_waiting", "id", postgresql_where=WAITING, sqlite_where=WAITING),
    Index("ix_envelope_holder", "holder", postgresql_where=HELD, sqlite_where=HELD),
    Index(None, "series_key", "received_at"),
    # Lists are sorted by them; the number tells equal ones apart.
    Index(None, "state", "id"),
    Index(None, "name", "id"),
    Index(None, "state", "name", "id"),
    Index(None, "received_at"),
    Index("ix_envelope_ordered", "received_at", postgresql_where=ORDERED, sqlite_where=ORDERED),
)

member = Table(
    "member",
    metadata,
    _id(),
    _to("envelope", "envelope_id"),
    Column("path", String(600), nullable=False, comment="Path inside the envelope: a.zip/b.xml."),
    Column("sha256", LargeBinary(32), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("type", String(40)),
    Column("declared_version", String(40)),
    Column("version", String(40)),
    Column("sender", String(40)),
    Column("receiver", String(40)),
    Column("state", String(12), nullable=False, comment="processing, done, refused, duplicate"),
    _to("member", "duplicate_of", nullable=True),
    Column("committed", Integer, nullable=False, default=0, comment="Transactions that are stored."),
    Column("transactions", Integer, comment="Transactions it held, known at its end."),
    UniqueConstraint("envelope_id", "path"),
    Index(None, "sha256"),
)

incident = Table(
    "incident",
    metadata,
    _id(),
    _to("envelope", "envelope_id", nullable=True),
    _to("member", "member_id", nullable=True),
    _to("ch_message", "ch_message_id", nullable=True),
    Column("code", String(40), nullable=False),
    Column("severity", String(8), nullable=False, comment="error, note"),
    Column("path", String(600), nullable=False, default=""),
    Column("value", Text),
    Column("expected", Text, nullable=False, default=""),
    Column("advice", Text, nullable=False, default=""),
    Column("at", BigInteger, nullable=False),
    Index(None, "envelope_id"),
    Index(None, "ch_message_id"),
    Index(None, "code", "at"),
    comment="Refusals, gaps, and what was noticed and did no harm.",
)

ch_message = Table(
    "ch_message",
    metadata,
    _id(),
    _to("envelope", "envelope_id"),
    _to("member", "member_id"),
    Column("position", Integer, nullable=False),
    Column("market", String(2), nullable=False),
    Column("type", String(40), nullable=False),
    Column("version", String(40)),
    Column("sender", String(40)),
    Column("reference", String(400), nullable=False),
    Column("access_point", String(40)),
    Column(
        "identity", LargeBinary(16), nullable=False, comment="Equal for equal market, sender, reference and content."
    ),
    Column("outcome", String(10), nullable=False, comment="digested, refused, put-aside"),
    UniqueConstraint("identity"),
    Index(None, "envelope_id"),
    # Of an access point those are looked for that have no Kernel messages.
    Index("ix_ch_message_refused", "access_point", postgresql_where=REFUSED, sqlite_where=REFUSED),
)

ch_duplicate = Table(
    "ch_duplicate",
    metadata,
    _id(),
    _to("envelope", "envelope_id"),
    _to("member", "member_id"),
    Column("position", Integer, nullable=False),
    _to("ch_message", "first_id"),
    UniqueConstraint("member_id", "position"),
    Index(None, "first_id"),
    comment="A CH message that had arrived before; nothing else happened.",
)

# --- what the Kernel made of it ----------------------------------------------------------------------------------

access_point = Table(
    "access_point",
    metadata,
    _id(),
    Column("market", String(2), nullable=False),
    Column("identifier", String(40), nullable=False),
    Column("last_at", BigInteger, nullable=False, comment="Effective instant of the last message that was judged."),
    Column("state", LargeBinary, nullable=False, comment="What the next message is judged against."),
    Column("messages", Integer, nullable=False, default=0, comment="Messages judged since the last checkpoint."),
    UniqueConstraint("identifier", "market"),
    # Its next state goes into the same page, and no index has to know.
    postgresql_with={"fillfactor": 50},
)

checkpoint = Table(
    "checkpoint",
    metadata,
    Column("access_point_id", Id, ForeignKey("access_point.id"), primary_key=True),
    Column("upto", BigInteger, primary_key=True, comment="All messages effective before this instant are in it."),
    Column("state", LargeBinary, nullable=False),
    comment="States to judge late messages from.",
)

kernel_message = Table(
    "kernel_message",
    metadata,
    _id(),
    _to("ch_message", "ch_message_id", nullable=True),
    Column("position", SmallInteger, nullable=False),
    # Here it takes no room of its own: PostgreSQL leaves it before a number of eight bytes.
    Column(
        "accepted_under",
        Integer,
        comment="The rules (rules_version) that accepted it as it arrived, without a finding; none of state_change.",
    ),
    _to("access_point", "access_point_id", nullable=True),
    Column("market", String(2), nullable=False),
    Column("market_type", String(64), nullable=False),
    Column("kind", String(40), nullable=False),
    Column("effective", BigInteger, nullable=False),
    Column("state", String(12), nullable=False),
    Column("waits_for", String(200)),
    Column("waits_until", BigInteger, comment="When a quarantined message is given up."),
    Column("received_at", BigInteger, nullable=False),
    Column("xml", Text, nullable=False, info=SEALED),
    Column("version", SmallInteger, nullable=False, default=1, comment="1, and one more for each correction."),
    _to("kernel_message", "corrects", nullable=True),
    Column("injected_by", String(120)),
    Column("erased_at", BigInteger, comment="When what it told of the customer was taken out."),
    Index(None, "ch_message_id"),
    Index(None, "access_point_id", "effective"),
    Index("ix_kernel_message_open", "state", "id", postgresql_where=OPEN, sqlite_where=OPEN),
    Index(None, "received_at", "id"),
    # Lists walk it backwards for each combination there is (message_tally knows them); counts need nothing but it.
    Index("ix_kernel_message_combination", "market", "market_type", "kind", "state", "received_at", "id"),
    # Few messages are versions of others: the index holds only those.
    Index(
        "ix_kernel_message_corrects",
        "corrects",
        postgresql_where=text("corrects IS NOT NULL"),
        sqlite_where=text("corrects IS NOT NULL"),
    ),
)

particular = Table(
    "particular",
    metadata,
    Column("message_id", Id, ForeignKey("kernel_message.id"), primary_key=True, autoincrement=False),
    Column("name", String(120), primary_key=True, comment="The market's name of the value."),
    Column("value", String(400), nullable=False, comment="Numbers without needless zeros, instants in UTC."),
    Index(None, "name", "value", "message_id"),
    comment="Values of the market that no field has a place for, so that messages are found by them.",
)

invoice_message = Table(
    "invoice_message",
    metadata,
    Column("message_id", Id, ForeignKey("kernel_message.id"), primary_key=True, autoincrement=False),
    Column("market", String(2), nullable=False),
    Column("invoice", String(64), nullable=False),
    Index(None, "market", "invoice"),
    comment="The messages that a grid invoice is made of, whatever their verdict.",
)

invoice_check = Table(
    "invoice_check",
    metadata,
    Column("market", String(2), primary_key=True),
    Column("invoice", String(64), primary_key=True),
    Column("last_at", BigInteger, comment="End of the last day that it charges."),
    Column("currency", String(3), nullable=False),
    Column("contested", String(40), nullable=False, comment="Sum of the findings, a decimal number."),
    Column("contradictions", Integer, nullable=False, comment="How many findings there are."),
    Column("complete", Boolean, nullable=False, comment="Its general file is there, and all charges."),
    Column("messages", Integer, nullable=False, comment="How many messages it was made of."),
    Column("checked_at", BigInteger, nullable=False),
    comment="What was found in each grid invoice; made again when what it depends on changes.",
)

invoice_check_head = Table(
    "invoice_check_head",
    metadata,
    Column("one", SmallInteger, primary_key=True, autoincrement=False, comment="1: there is one row."),
    Column("store", String(16), nullable=False, comment="Whose log of changes it is (change_head)."),
    Column("upto", BigInteger, nullable=False, comment="Changes up to this batch were looked at."),
    Column("tables", String(64), nullable=False, comment="SHA-256 of the price lists and rates that were used."),
    comment="Up to where the log of changes was followed by the check of invoices.",
)

message_tally = Table(
    "message_tally",
    metadata,
    Column("hour", BigInteger, primary_key=True, comment="Of arrival, hours since 1970; -1: since the beginning."),
    Column("market", String(2), primary_key=True),
    Column("market_type", String(64), primary_key=True),
    Column("kind", String(40), primary_key=True),
    Column("state", String(12), primary_key=True),
    Column("writer", BigInteger, primary_key=True, comment="0: settled; else the transaction that wrote it."),
    Column("messages", BigInteger, nullable=False),
    comment="How many Kernel messages there are, kept by triggers; rows of one key are to be added up.",
)

finding_tally = Table(
    "finding_tally",
    metadata,
    Column("what", String(4), primary_key=True, comment="code, rule: as errors; codw, rulw: as warnings."),
    Column("name", String(120), primary_key=True),
    Column("writer", BigInteger, primary_key=True, comment="0: settled; else the transaction that wrote it."),
    Column("messages", BigInteger, nullable=False, comment="Messages that it holds for now."),
    Column("occurrences", BigInteger, nullable=False, comment="Findings that hold now."),
    Column("ever", BigInteger, nullable=False, comment="All findings, of former verdicts too."),
    comment="How often a code or a rule was found, kept by triggers; rows of one key are to be added up.",
)

rules_version = Table(
    "rules_version",
    metadata,
    _id(),
    Column("hash", String(64), nullable=False, unique=True),
    Column("engine", String(20), nullable=False),
    Column("first_used_at", BigInteger, nullable=False),
    Column("catalogue", Text, nullable=False, comment="The rule files of the version, as JSON: path -> text."),
)

state_change = Table(
    "state_change",
    metadata,
    Column("id", Id, primary_key=False, nullable=False),
    _to("kernel_message", "message_id"),
    Column("before", String(12)),
    Column("after", String(12), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("by", String(120), nullable=False),
    _to("rules_version", "rules_version_id", nullable=True),
    Column("why", String(400)),
    # Changes are looked for by their message alone; one index serves both.
    PrimaryKeyConstraint("message_id", "id"),
    sqlite_with_rowid=False,
    comment="Every change of state, never overwritten; those of kernel_message.accepted_under have no row.",
)

KERNEL = "kernel"
"""Who changed a state, when the Kernel did."""

ALL_CHANGES = (
    'SELECT id, message_id, "before", after, at, "by", rules_version_id, why FROM state_change '
    "UNION ALL SELECT 0, id, 'received', 'accepted', received_at, 'kernel', accepted_under, NULL "
    "FROM kernel_message WHERE accepted_under IS NOT NULL"
)
"""Every change of state, also of the messages that were accepted as they arrived: most are, and the change that says so
stands in the row of the message itself. It is the first of its message, with the id 0. Queries name their messages by
bound values; SQLite reads all of it where another column names them."""

all_changes = text(ALL_CHANGES).columns(*state_change.columns).subquery("all_changes")
"""The same for SQLAlchemy."""

finding = Table(
    "finding",
    metadata,
    _id(),
    _to("kernel_message", "message_id"),
    Column("change_id", Id, nullable=False),  # its verdict, of state_change
    Column("current", Boolean, nullable=False, comment="Belongs to the verdict that holds now."),
    Column("error_code", String(20), nullable=False),
    Column("rule", String(120), nullable=False),
    Column("severity", String(8), nullable=False),
    Column("error_class", String(24), nullable=False),
    Column("field", String(120), nullable=False),
    Column("value", Text),
    Column("comment", Text, nullable=False),
    Column("comment_fr", Text, nullable=False),
    Index(None, "message_id"),
    Index(None, "error_code", "current", "message_id"),
)

outbox = Table(
    "outbox",
    metadata,
    _id(),
    _to("kernel_message", "message_id"),
    Column("event", String(80), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("state", String(8), nullable=False, comment="pending, sending, sent, dead"),
    Column("attempts", SmallInteger, nullable=False, default=0),
    Column("next_at", BigInteger),
    Column("last_error", Text),
    Index("ix_outbox_state", "state", "id"),
    Index(None, "message_id"),
    comment="What the back office is told, written in the transaction of its cause.",
)

before_image = Table(
    "before_image",
    metadata,
    _id(),
    Column("table_name", String(40), nullable=False),
    Column("row_id", BigInteger, nullable=False),
    _to("access_point", "access_point_id", nullable=True),
    Column("at", BigInteger, nullable=False),
    Column("why", String(400), nullable=False),
    Column("image", Text, nullable=False, info=SEALED, comment="The row as it was, JSON."),
    Index(None, "access_point_id"),
    comment="Every domain row before it was changed or withdrawn.",
)

acknowledgement = Table(
    "acknowledgement",
    metadata,
    Column("sha256", LargeBinary(32), primary_key=True, comment="Of the member that it acknowledges."),
    Column("market", String(2), nullable=False),
    _to("envelope", "envelope_id"),
    Column("type", String(120), nullable=False, comment="The market's message type."),
    Column("reference", String(120), nullable=False, comment="Our reference."),
    Column("content", LargeBinary, nullable=False, comment="Built once: the same bytes on every attempt."),
    Column("content_type", String(80), nullable=False),
    Column("state", String(14), nullable=False, comment="built, sent, dead"),
    Column("created_at", BigInteger, nullable=False),
    Column("attempts", SmallInteger, nullable=False),
    Column("next_at", BigInteger),
    Column("sent_at", BigInteger),
    Column("channel", String(80)),
    Column("last_error", Text),
    Index(None, "envelope_id"),
    Index("ix_acknowledgement_state", "state", "market", "created_at"),
    comment="Acknowledgements of syntax that we owe the senders of members, or sent them.",
)

seen_file = Table(
    "seen_file",
    metadata,
    Column("channel", String(40), primary_key=True),
    Column("key", LargeBinary(32), primary_key=True, comment="SHA-256 of path, size and time."),
    Column("at", BigInteger, nullable=False),
    comment="Files that were taken in and stay where they are: no host takes them again.",
)

purge = Table(
    "purge",
    metadata,
    _id(),
    Column("at", BigInteger, nullable=False),
    Column("what", String(40), nullable=False, comment="raw, notifications"),
    Column("before", BigInteger, nullable=False, comment="What is older was removed."),
    Column("days", Integer, nullable=False, comment="The policy."),
    Column("rows", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("by", String(120), nullable=False),
    Column("first_id", BigInteger, nullable=False, comment="The oldest row that was touched."),
    Column("last_id", BigInteger, nullable=False),
    comment="What retention removed, never removed itself.",
)

archive = Table(
    "archive",
    metadata,
    _id(),
    Column("name", String(40), nullable=False, unique=True),
    Column("before", BigInteger, nullable=False, comment="What arrived before this instant was looked at."),
    Column("folder", String(400), nullable=False, comment="Where its files were written."),
    Column("revision", String(32), nullable=False, comment="Of the tables when it was written."),
    Column("by", String(120), nullable=False),
    Column("made_at", BigInteger, nullable=False),
    Column("upto_point", BigInteger, nullable=False, comment="Access points up to this one were looked at."),
    Column("written_at", BigInteger, comment="When its last file was written; none while it is under way."),
    comment="What left the store for files, month by month.",
)

archive_piece = Table(
    "archive_piece",
    metadata,
    Column("archive_id", Id, ForeignKey("archive.id"), primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("what", String(8), nullable=False, comment="messages, raw"),
    Column("away", Boolean, nullable=False, comment="Its rows are in the files alone."),
    Column("rows", BigInteger, nullable=False, comment="Messages, or envelopes."),
    Column("first_id", BigInteger, nullable=False, comment="The least of them."),
    Column("last_id", BigInteger, nullable=False),
    Column("first_at", BigInteger, nullable=False, comment="The earliest effective instant, or arrival."),
    Column("last_at", BigInteger, nullable=False),
    Column("files", Text, nullable=False, comment="JSON: file -> its table, rows, bytes and SHA-256."),
    comment="The files of one transaction: all of them came to be with its commit, or none counts.",
)

archived_point = Table(
    "archived_point",
    metadata,
    Column("access_point_id", Id, ForeignKey("access_point.id"), primary_key=True, autoincrement=False),
    Column("archive_id", Id, ForeignKey("archive.id"), primary_key=True, autoincrement=False),
    Column("piece", Integer, nullable=False),
    Column("upto", BigInteger, nullable=False, comment="There is a checkpoint at this instant."),
    Index(None, "archive_id", "piece"),
    comment="Access points some of whose messages before an instant are in an archive, or were removed.",
)

# --- what changed, for those who follow -------------------------------------------------------------------------------

change_head = Table(
    "change_head",
    metadata,
    Column("one", SmallInteger, primary_key=True, autoincrement=False, comment="1: there is one row."),
    Column("store", String(16), nullable=False, comment="Whose cursors these are; made by chance."),
    Column("number", BigInteger, nullable=False, comment="The last batch that was numbered."),
    Column("mark", BigInteger, nullable=False, comment="Its mark."),
    Column("floor", BigInteger, nullable=False, comment="What changed up to this batch is no longer known."),
    Column("floor_mark", BigInteger, nullable=False),
    Column("quiet", SmallInteger, nullable=False, server_default="0", comment="1: triggers of SQLite log nothing."),
    comment="Counts the batches; locked by whoever commits one.",
)

change_batch = Table(
    "change_batch",
    metadata,
    _id(),
    Column("number", BigInteger, comment="1, 2, 3, ... in the order of commits; given at the commit."),
    Column("mark", BigInteger, nullable=False, comment="By chance: another history has another one."),
    Column("at", BigInteger, nullable=False),
    Index(None, "number", unique=True),
    comment="The changes of one transaction (SQLite: one change). Kept by triggers.",
)

change_log = Table(
    "change_log",
    metadata,
    Column("batch", BigInteger, primary_key=True, autoincrement=False, comment="change_batch"),
    Column("table_name", String(40), primary_key=True),
    Column("row_id", BigInteger, primary_key=True, autoincrement=False),
    Column("op", String(6), primary_key=True, comment="insert, update, delete"),
    Column("message_id", BigInteger, nullable=False, comment="The cause of the row (kernel_message)."),
    Column("run", Integer, nullable=False, server_default="1", comment="Rows made together, by following ids."),
    comment="Which rows of what is exported were made, changed or taken back. Kept by triggers.",
)

# --- what we ask of the market -----------------------------------------------------------------------------------

outgoing = Table(
    "outgoing",
    metadata,
    _id(),
    _to("kernel_message", "message_id"),
    _to("access_point", "access_point_id", nullable=True),
    Column("market", String(2), nullable=False),
    Column("kind", String(40), nullable=False),
    Column("type", String(120), nullable=False, comment="The market's message type or service."),
    Column("reference", String(120), nullable=False, comment="Our reference, which the market repeats."),
    Column("market_reference", String(120), comment="The market's own reference of the request."),
    Column("content", LargeBinary, nullable=False, info=SEALED, comment="Built once: the same bytes on every attempt."),
    Column("content_type", String(80), nullable=False),
    Column("state", String(14), nullable=False, comment="built, sent, acknowledged, in-course, done, refused, dead"),
    Column("created_at", BigInteger, nullable=False),
    Column("sent_at", BigInteger),
    Column("answer_by", BigInteger, nullable=False, comment="When an answer is overdue."),
    Column("settled_at", BigInteger, comment="When it was done, refused or given up."),
    Column("answer_code", String(64)),
    Column("attempts", SmallInteger, nullable=False, default=0),
    Column("next_at", BigInteger),
    Column("channel", String(80)),
    Column("receipt", String(400)),
    Column("last_error", Text),
    Column("idempotency_key", String(120), unique=True),
    Column("submitted_by", String(120), nullable=False),
    Column("answers", String(400), comment="The market's reference of the request to us that it answers."),
    Column("batch", String(120), comment="Reference of the message in which it went out with others."),
    UniqueConstraint("reference"),
    Index("ix_outgoing_state", "state", "id"),
    Index(None, "market_reference"),
    Index(None, "access_point_id"),
    Index(None, "message_id"),
    # Few requests are answers: the index holds only those.
    Index(
        "ix_outgoing_answers",
        "answers",
        postgresql_where=text("answers IS NOT NULL"),
        sqlite_where=text("answers IS NOT NULL"),
    ),
    # So few go out in batches.
    Index(
        "ix_outgoing_batch",
        "batch",
        postgresql_where=text("batch IS NOT NULL"),
        sqlite_where=text("batch IS NOT NULL"),
    ),
    comment="Requests to the market and what became of them.",
)

outgoing_event = Table(
    "outgoing_event",
    metadata,
    _id(),
    _to("outgoing", "outgoing_id"),
    Column("at", BigInteger, nullable=False),
    Column("state", String(14), nullable=False),
    Column("code", String(64)),
    Column("text", Text),
    _to("kernel_message", "message_id", nullable=True),
    Index(None, "outgoing_id"),
    Index(None, "message_id"),
    comment="Every step of a request's life: attempts, answers, milestones.",
)

# --- what people do about refused messages ----------------------------------------------------------------------------

campaign = Table(
    "campaign",
    metadata,
    _id(),
    Column("script", String(80), nullable=False, comment="Name of the correction script; edit for one by hand."),
    Column("digest", String(64), nullable=False, comment="Hash of the script as it was run."),
    Column("parameters", Text, nullable=False, comment="JSON."),
    Column("state", String(12), nullable=False, comment="planned, running, cancelled, done, undone"),
    Column("by", String(120), nullable=False),
    Column("why", String(400), nullable=False),
    Column("approved_by", String(120), comment="The second pair of eyes."),
    Column("key", String(120), unique=True, comment="Idempotency key: a second click finds the first campaign."),
    Column("created_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger),
    Column("selected", Integer, nullable=False),
    Column("freed", Integer, nullable=False, default=0, comment="Messages that came to be accepted, neighbours too."),
    Index(None, "state"),
    comment="One run of a correction script: who, why, on what, with what result.",
)

campaign_item = Table(
    "campaign_item",
    metadata,
    _id(),
    _to("campaign", "campaign_id"),
    _to("kernel_message", "message_id"),
    _to("access_point", "access_point_id", nullable=True),
    Column("action", String(12), nullable=False, comment="modify, reorder, create, replay"),
    Column("state", String(12), nullable=False, comment="planned, acted, done, undone, skipped"),
    Column(
        "content",
        Text,
        nullable=False,
        info=SEALED,
        comment="Kernel XML of the new version or the new message; else empty.",
    ),
    Column("note", String(400), nullable=False),
    Column("before", String(12), nullable=False, comment="State of the message when the campaign was planned."),
    Column("after", String(12), comment="State of the message when the campaign had replayed it."),
    _to("kernel_message", "result_id", nullable=True),
    UniqueConstraint("campaign_id", "message_id"),
    Index(None, "message_id"),
    Index(None, "result_id"),
    comment="What a campaign does to one message; nothing is done twice.",
)

ticket = Table(
    "ticket",
    metadata,
    _id(),
    Column("title", String(200), nullable=False),
    Column("error_class", String(24), nullable=False),
    Column("codes", String(200), nullable=False),
    Column("market", String(2), nullable=False),
    Column("grid_operator", String(40)),
    Column("evidence", Text, nullable=False, comment="JSON."),
    Column("state", String(12), nullable=False, comment="open, waiting, closed"),
    Column("owner", String(120)),
    Column("due_at", BigInteger),
    Column("by", String(120), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("closed_at", BigInteger),
    Column("link", String(400), comment="The ticket in the tracker it was exported to."),
    Index(None, "state"),
    comment="What no correction frees, for somebody to take up.",
)

ticket_message = Table(
    "ticket_message",
    metadata,
    Column("ticket_id", Id, ForeignKey("ticket.id"), primary_key=True),
    Column("message_id", Id, ForeignKey("kernel_message.id"), primary_key=True),
    Index(None, "message_id"),
)

ticket_export = Table(
    "ticket_export",
    metadata,
    Column("ticket_id", Id, ForeignKey("ticket.id"), primary_key=True),
    Column("tracker", String(60), primary_key=True, comment="Its name in the configuration."),
    Column("remote", String(200), nullable=False, comment="What the tracker calls the ticket."),
    Column("digest", String(64), nullable=False, comment="SHA-256 of what was sent last."),
    Column("exported_at", BigInteger, nullable=False),
    comment="Tickets that other trackers hold: a second export changes them and makes no second one.",
)

note = Table(
    "note",
    metadata,
    _id(),
    _to("kernel_message", "message_id", nullable=True),
    _to("ticket", "ticket_id", nullable=True),
    _to("campaign", "campaign_id", nullable=True),
    Column("at", BigInteger, nullable=False),
    Column("by", String(120), nullable=False),
    Column("assignee", String(120), comment="Colleague that the message was delegated to."),
    Column("text", Text, nullable=False),
    Index(None, "message_id"),
    Index(None, "ticket_id"),
)

# --- who may do what, and who did -------------------------------------------------------------------------------------

api_token = Table(
    "api_token",
    metadata,
    _id(),
    Column("label", String(120), nullable=False, comment="What the token is for, in its owner's words."),
    Column("hash", LargeBinary(32), nullable=False, unique=True, comment="SHA-256 of the token, which is not kept."),
    Column("person", String(120), nullable=False, comment="In whose name it acts."),
    Column("roles", String(200), nullable=False, comment="Separated by spaces."),
    Column("scopes", String(200), nullable=False, comment="Separated by spaces."),
    Column("created_at", BigInteger, nullable=False),
    Column("created_by", String(120), nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger),
    Column("revoked_by", String(120)),
    Column("used_at", BigInteger, comment="Last use, to the minute."),
    Column("made_with", BigInteger, comment="The token (api_token) by whose right it was made; revoked with it."),
    Index(None, "person"),
    Index(None, "made_with"),
    comment="What programs, and people while nothing else is set up, sign in with.",
)

account = Table(
    "account",
    metadata,
    _id(),
    Column("name", String(120), nullable=False, unique=True),
    Column("roles", String(200), nullable=False, comment="Separated by spaces."),
    Column("password", Text, comment="Argon2id of it, as PHC string; none: signs in by the identity provider alone."),
    Column("initial_until", BigInteger, comment="The password is an initial one, to be changed, and ends here."),
    Column("changed_at", BigInteger, comment="When the password was set."),
    Column("created_at", BigInteger, nullable=False),
    Column("created_by", String(120), nullable=False),
    Column("disabled_at", BigInteger),
    Column("disabled_by", String(120)),
    comment="People who sign in by name and password, and people who may not sign in any more.",
)

second_factor = Table(
    "second_factor",
    metadata,
    Column("account_id", Id, ForeignKey("account.id"), primary_key=True, autoincrement=False),
    Column("secret", LargeBinary, nullable=False, info=SEALED, comment="Key of the one-time codes (RFC 6238)."),
    Column("made_at", BigInteger, nullable=False),
    Column("confirmed_at", BigInteger, comment="The first right code; until then it is not in force."),
    Column("last_step", BigInteger, nullable=False, comment="Period of the last code that was used; none goes twice."),
    comment="Devices that show one-time codes.",
)

recovery_code = Table(
    "recovery_code",
    metadata,
    Column("account_id", Id, ForeignKey("account.id"), primary_key=True, autoincrement=False),
    Column("hash", LargeBinary(32), primary_key=True, comment="SHA-256 of the code, which is not kept."),
    Column("used_at", BigInteger),
    comment="Stand in for a second factor that was lost, each once.",
)

sign_in_attempt = Table(
    "sign_in_attempt",
    metadata,
    Column("hash", LargeBinary(32), primary_key=True, comment="SHA-256 of what is counted: a name, an address, both."),
    Column("name", LargeBinary(32), comment="SHA-256 of the name that was tried; none where an address is counted."),
    Column("failures", Integer, nullable=False, comment="Wrong ones in a row."),
    Column("at", BigInteger, nullable=False, comment="The last of them; forgotten a day later."),
    Index(None, "name"),
    Index(None, "at"),
    comment="Wrong passwords and codes: the next one must wait.",
)

web_session = Table(
    "web_session",
    metadata,
    Column("hash", LargeBinary(32), primary_key=True, comment="SHA-256 of the cookie's value."),
    Column("person", String(120), nullable=False),
    Column("content", Text, nullable=False, info=SEALED, comment="JSON: roles, CSRF token, how they came."),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("token", BigInteger, comment="The token (api_token) that it began with, and ends with."),
    Column("account_id", BigInteger, comment="The account (account) that signed in, and whose roles it has."),
    Column("address", String(64), comment="Where it began."),
    Column("device", String(200), comment="What the browser calls itself."),
    Column("seen_at", BigInteger, comment="Last use, to the minute."),
    Index(None, "expires_at"),
    Index(None, "person"),
    comment="Who is signed in to the pages.",
)

saved_view = Table(
    "saved_view",
    metadata,
    Column("person", String(120), primary_key=True),
    Column("list", String(40), primary_key=True, comment="messages, tickets, requests, envelopes"),
    Column("name", String(80), primary_key=True),
    Column("query", Text, nullable=False, comment="Filters and order, as an address has them."),
    Column("created_at", BigInteger, nullable=False),
    comment="Filters and orders of lists that people keep under a name.",
)

idempotency = Table(
    "idempotency",
    metadata,
    Column("hash", LargeBinary(32), primary_key=True, comment="SHA-256 of person, route and key."),
    Column("content", LargeBinary(32), nullable=False, comment="SHA-256 of what was sent with it."),
    Column("at", BigInteger, nullable=False),
    Column("status", SmallInteger, comment="What was answered; none while it is under way."),
    Column("answer", Text),
    Index(None, "at"),
    comment="Changes that bore an idempotency key, so that a second try has no second effect.",
)

audit = Table(
    "audit",
    metadata,
    _id(),
    Column("at", BigInteger, nullable=False),
    Column("person", String(120), nullable=False),
    Column("via", String(140), nullable=False, comment="token and its number, session, command."),
    Column("action", String(10), nullable=False, comment="read, change, refused, sign-in"),
    Column("what", String(200), nullable=False, comment="Method and path of the route, or the command."),
    Column("subject", String(400), nullable=False, comment="Of whom or what: access point, message, filter."),
    Column("status", SmallInteger, nullable=False, comment="HTTP status that was answered; 0: a command."),
    Column("address", String(64), nullable=False),
    Column("position", BigInteger, nullable=False, comment="1, 2, 3, ... in the order of writing."),
    Column("previous", LargeBinary(32), nullable=False, comment="Hash of the line before."),
    Column("hash", LargeBinary(32), nullable=False, comment="SHA-256 of `previous` and the content."),
    Index(None, "at", "id"),
    Index(None, "person", "at"),
    Index(None, "position", unique=True),
    comment="Every read of personal data and every change that a person made; a chain, only ever appended to.",
)

audit_word = Table(
    "audit_word",
    metadata,
    Column("word", String(60), primary_key=True, comment="In small letters: an identifier, or `message 17`."),
    Column("audit_id", Id, primary_key=True, autoincrement=False),
    comment="Of whom or what lines of the audit are: found by it, and no part of the chain.",
)

audit_head = Table(
    "audit_head",
    metadata,
    Column("one", SmallInteger, primary_key=True, autoincrement=False, comment="1: there is one row."),
    Column("position", BigInteger, nullable=False),
    Column("hash", LargeBinary(32), nullable=False),
    comment="The last line of the audit; locked by whoever appends one.",
)

erasure = Table(
    "erasure",
    metadata,
    _id(),
    Column("market", String(2), nullable=False),
    Column("access_point", String(40), nullable=False),
    Column("since", BigInteger, nullable=False, comment="The customer was there from this instant on; 0: ever."),
    Column("until", BigInteger, nullable=False, comment="And not at this instant any more."),
    Column("ordered_at", BigInteger, nullable=False),
    Column("by", String(120), nullable=False),
    Column("reference", String(120), nullable=False, comment="Number of the case in the officer's register."),
    Column("done_at", BigInteger, comment="When nothing was left to be done; none while something is."),
    Column("wiped_at", BigInteger, comment="When the files of the database were written anew after it."),
    Column("counts", Text, nullable=False, comment="JSON: place -> how many values were taken out there."),
    Column("kept", Text, nullable=False, comment="JSON: what stays for a time -> until when, or why."),
    Column("reason", String(30), comment="Why, by the article of the law; a word."),
    Index(None, "access_point"),
    comment="Customers that were erased: standing orders, which hold for what arrives or comes back later. No names.",
)

erasure_evidence = Table(
    "erasure_evidence",
    metadata,
    _id(),
    _to("erasure", "erasure_id"),
    Column("at", BigInteger, nullable=False),
    Column("by", String(120), nullable=False),
    Column("via", String(140), nullable=False, comment="How they came: a session, a token, a command."),
    Column("done", Boolean, nullable=False, comment="Whether nothing was left to be done."),
    Column("counts", Text, nullable=False, comment="JSON: place -> how many values this run took out there."),
    Column("kept", Text, nullable=False, comment="JSON: what stayed, why, by which law, until when."),
    Column("order_hash", LargeBinary(32), nullable=False, comment="SHA-256 of the order, as the evidence shows it."),
    Index(None, "erasure_id"),
    comment="Evidence of erasures: a row for each run that took something out. No names.",
)

# --- the domain: what is known of an access point -------------------------------------------------------------------
# Every row: id, access_point_id (none where its cause names none), at (effective instant of its cause), message_id (its
# cause); then the columns that the fields of its kinds declare (`energycomm.kernel.messages`), and computed ones.


def _effect(name: str, *columns: Column[Any] | Index) -> Table:
    return Table(
        name,
        metadata,
        _id(),
        _to("access_point", "access_point_id", nullable=True),
        Column("at", BigInteger, nullable=False),
        _to("kernel_message", "message_id"),
        *domain.columns(name),
        *columns,
        Index(f"ix_{name}_access_point_id_at", "access_point_id", "at"),
    )


def _alone(name: str, *searched: str) -> Table:
    """A table of what belongs to no access point; an index serves the columns that are searched."""
    return Table(
        name,
        metadata,
        _id(),
        Column("at", BigInteger, nullable=False),
        _to("kernel_message", "message_id"),
        *domain.columns(name),
        Index(None, "message_id"),
        Index(None, *searched),
    )


def _status() -> Column[str]:
    return Column("status", String(10), nullable=False, comment="current, replaced, cancelled")


supply_period = _effect(
    "supply_period",
    Column("reference", String(64)),
    Column("supplier", String(40)),
    Column("reason", String(64)),
    Column("ended_at", BigInteger),
    Column("end_reason", String(64)),
    _to("kernel_message", "end_message_id", nullable=True),
)


_BESIDE: dict[str, list[Column[Any] | Index]] = {
    "customer": [Column("name", String(400))],
    "reading": [_status()],
    "volume": [_status()],
    "series": [_status()],
    "received_request": [Index("ix_received_request_reference", "reference")],
}
"""Table -> columns and indexes that no field declares."""


def _domain_table(kept: Kept) -> Table:
    if kept.searched:
        return _alone(kept.table, *kept.searched)
    return _effect(kept.table, *_BESIDE.get(kept.table, ()))


_KEPT = {cls.kept.table: cls.kept for cls in KINDS.values() if cls.kept is not None}

DOMAIN: dict[str, Table] = {
    supply_period.name: supply_period,
    **{name: _domain_table(kept) for name, kept in _KEPT.items()},
}
"""Every domain table by name: the periods of supply, which are computed, and one of each kind that is kept."""

contract = DOMAIN["contract"]
customer = DOMAIN["customer"]
reading = DOMAIN["reading"]
volume = DOMAIN["volume"]
series = DOMAIN["series"]
request = DOMAIN["request"]
received_request = DOMAIN["received_request"]
calorific_value = DOMAIN["calorific_value"]

# --- how the gateway runs ---------------------------------------------------------------------------------------------

channel_state = Table(
    "channel_state",
    metadata,
    Column("name", String(80), primary_key=True),
    Column("paused_at", BigInteger, comment="Since when nothing is received or sent."),
    Column("paused_by", String(120)),
    Column("why", String(400)),
    Column("asked_at", BigInteger, comment="When a person asked for an attempt at once."),
    Column("worked_at", BigInteger),
    Column("failed_at", BigInteger, comment="None once it worked again."),
    Column("error", Text),
    Column("host", String(255), comment="Who said so."),
    comment="What is known of a channel, and whether it is to rest.",
)

daemon_state = Table(
    "daemon_state",
    metadata,
    Column("name", String(280), primary_key=True),
    Column("begun_at", BigInteger, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
    Column("facts", Text, nullable=False, comment="JSON: workers, alarms."),
    comment="The last sign of life of each daemon.",
)

alarm_state = Table(
    "alarm_state",
    metadata,
    Column("code", String(40), primary_key=True),
    Column("subject", String(200), primary_key=True),
    Column("since", BigInteger, nullable=False),
    Column("detail", Text, nullable=False),
    Column("over", Boolean, nullable=False, comment="Its cause is gone; kept until that was told."),
    Column("told_at", BigInteger, comment="When somebody was last told of it."),
    Column("claimed_at", BigInteger, comment="When a process began to tell of it."),
    comment="Alarms that somebody was told of, or is to be.",
)

# --- what is found ----------------------------------------------------------------------------------------------------

customer_words = Table(
    "customer_words",
    metadata,
    Column("customer_id", Id, primary_key=True, autoincrement=False, comment="customer; triggers delete it with that."),
    Column("words", Text, nullable=False, comment="Keyed hashes of name and contacts, spaces between."),
    comment="The index of customers' names and contacts, which holds none (energycomm.eis.nameindex).",
)

named_meter = Table(
    "named_meter",
    metadata,
    _id(),
    _to("access_point", "access_point_id"),
    Column("serial", String(64), nullable=False),
    UniqueConstraint("access_point_id", "serial"),
    comment="Meters that readings name, whatever became of the readings; by them their points are found.",
)

# --- when measures are to come ----------------------------------------------------------------------------------------

rhythm = Table(
    "rhythm",
    metadata,
    Column("access_point_id", Id, ForeignKey("access_point.id"), primary_key=True, autoincrement=False),
    Column("market", String(2), nullable=False),
    Column("since", BigInteger, nullable=False, comment="When its supply began."),
    Column("latest", BigInteger, comment="The latest instant that measures tell of."),
    Column("every", Integer, nullable=False, comment="Days between its measures; 0 while nothing tells."),
    Column("running", SmallInteger, nullable=False, comment="1: measures are to come; 0: not any more; 2: not yet."),
    Column("place", BigInteger, nullable=False, comment="From when it misses measures; 0: days missed, with a minus."),
    Column("holds_from", BigInteger, nullable=False),
    Column("holds_until", BigInteger, nullable=False, comment="It is to be worked out anew then."),
    Index("ix_rhythm_place", "running", "market", "every", "place", "access_point_id"),
    Index("ix_rhythm_holds_from", "holds_from"),
    Index("ix_rhythm_holds_until", "holds_until"),
    comment="The rhythm of the measures of supplied access points (energycomm.eis.overdue).",
)

rhythm_stale = Table(
    "rhythm_stale",
    metadata,
    Column("access_point_id", BigInteger, primary_key=True, autoincrement=False),
    Column("writer", BigInteger, primary_key=True, autoincrement=False, comment="The transaction; SQLite: 0."),
    comment="Access points whose rhythm is to be worked out anew.",
)

rhythm_head = Table(
    "rhythm_head",
    metadata,
    Column("one", SmallInteger, primary_key=True, autoincrement=False, comment="1: there is one row."),
    Column("notices", Text, nullable=False, comment="Types of messages that tell which services stopped, by market."),
    comment="What rhythms were worked out with; locked by whoever does so.",
)

# --- what models say beside the rules --------------------------------------------------------------------------------

prediction = Table(
    "prediction",
    metadata,
    Column("message_id", Id, ForeignKey("kernel_message.id"), primary_key=True),
    Column("model", String(120), primary_key=True, comment="Name and version."),
    Column("rules", String(64), nullable=False, comment="Version of the rules that it learned from."),
    Column("codes", Text, nullable=False, comment="Error codes it expects, sorted; empty for accepted."),
    Column("probability", Integer, nullable=False, comment="In millionths."),
    Column("abstained", Boolean, nullable=False),
    Column("agrees", Boolean, comment="With the verdict; none where there was none, or it abstained."),
    Column("comment", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Index(None, "agrees", "probability"),
    Index(None, "model", "message_id"),
    comment="A second opinion that decides nothing; another process writes it.",
)

EFFECTS: tuple[Table, ...] = tuple(table for table in DOMAIN.values() if "access_point_id" in table.columns)
"""The domain tables that are withdrawn and written again when a late message makes later ones be judged again."""

MEASURES: tuple[Table, ...] = (reading, volume, series)
"""The domain tables that grow with time: they leave for archives with their messages."""

ALONE: tuple[Table, ...] = tuple(table for table in DOMAIN.values() if table not in EFFECTS)
"""The domain tables of what belongs to no access point."""

MADE_TOGETHER: tuple[tuple[Table, tuple[str, ...]], ...] = (
    (ch_message, ("envelope_id", "member_id")),
    (ch_duplicate, ("envelope_id", "member_id", "first_id")),
    (kernel_message, ("ch_message_id", "access_point_id")),
    (state_change, ("message_id", "rules_version_id")),
    (finding, ("message_id",)),
    (outbox, ("message_id",)),
    (particular, ("message_id",)),
    (invoice_message, ("message_id",)),
    *((table, ("access_point_id", "message_id")) for table in EFFECTS),
    (supply_period, ("end_message_id",)),
    *((table, ("message_id",)) for table in ALONE),
)
"""References that PostgreSQL does not check: the transaction of a batch made what they name itself, or holds it locked,
and what leaves the store leaves with all that names it (`energycomm.pipeline.leaving`). A check asks once for each row,
and locks the row that is named, which is a line of its own in the write-ahead log. SQLite checks them, at a tenth of
that cost."""

for _table, _names in MADE_TOGETHER:
    for _name in _names:
        for _key in _table.columns[_name].foreign_keys:
            assert _key.constraint is not None
            _key.constraint.ddl_if(dialect="sqlite")

SEQUENCES: tuple[Sequence, ...] = tuple(
    Sequence(sequence_name(table.name), increment=ID_BLOCK, metadata=metadata)
    for table in metadata.sorted_tables
    if "id" in table.columns
)
"""Where ids come from on PostgreSQL."""


@event.listens_for(metadata, "after_create")
def _install(_metadata: MetaData, connection: Connection, **_: Any) -> None:
    triggers.install(connection)
    triggers.seal_audit(connection)
    changelog.install(connection)
    findable.install(connection)
    connection.exec_driver_sql("INSERT INTO at_rest (what) VALUES ('store') ON CONFLICT DO NOTHING")
