"""Where the store keeps what tells of customers: every table, and how its rows of one customer are found.

A test compares the two lists with the tables that there are: a new one is in one of them, or the test fails.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Place(NamedTuple):
    """Rows of a table that may tell of a customer.

    Attributes:
      table: its name.
      by: column -> whose numbers it holds: `messages`, `points`, `requests`, `tickets`, `campaigns`, `ch_messages`,
        `members`, `envelopes`, of the customer. Rows found by one of them are the customer's: every word is taken out.
      everywhere: all other rows are read too, and lose what is the customer's beyond doubt.
    """

    table: str
    by: dict[str, str]
    everywhere: bool = False


PLACES: Final = (
    Place("incident", {"ch_message_id": "ch_messages", "member_id": "members"}, everywhere=True),
    Place("prediction", {"message_id": "messages"}),
    Place("outbox", {"message_id": "messages"}),
    Place("outgoing_event", {"outgoing_id": "requests", "message_id": "messages"}),
    Place("outgoing", {"id": "requests"}),
    Place("acknowledgement", {"envelope_id": "envelopes"}),
    Place("ticket", {"id": "tickets"}, everywhere=True),
    Place("note", {"message_id": "messages", "ticket_id": "tickets", "campaign_id": "campaigns"}, everywhere=True),
    Place("campaign", {"id": "campaigns"}, everywhere=True),
    Place("campaign_item", {"message_id": "messages", "result_id": "messages"}),
    Place("saved_view", {}, everywhere=True),
    Place("idempotency", {}, everywhere=True),
    Place("channel_state", {}, everywhere=True),
    Place("alarm_state", {}, everywhere=True),
    Place("daemon_state", {}, everywhere=True),
    Place("envelope", {"id": "envelopes"}),
    Place("member", {"id": "members"}),
    Place("ch_message", {"id": "ch_messages"}),
    Place("before_image", {"access_point_id": "points"}),
    Place("state_change", {"message_id": "messages"}),
    Place("finding", {"message_id": "messages"}),
)
"""Tables whose texts are searched, in the order in which it is done."""

BY_THEMSELVES: Final = {
    "raw": "the size of the bytes, when they were changed",
    "raw_chunk": "the bytes, file by file",
    "kernel_message": "message by message, at the end",
    "particular": "with the message",
    "customer_words": "with the row of the customer, by triggers",
    "archive_piece": "the files of archives",
    "erasure": "the orders themselves",
    "erasure_evidence": "what their runs did: numbers, and who did it",
}
"""Tables that are done in their own way, with it. Domain rows are made anew from their message."""

NOTHING: Final = {
    **dict.fromkeys(
        ("id_counter", "data_key", "at_rest", "name_key", "name_gap", "store_owner"),
        "how the store is kept, and whose it is",
    ),
    **dict.fromkeys(
        ("message_tally", "finding_tally", "invoice_check", "invoice_check_head", "invoice_message"),
        "numbers, invoices",
    ),
    **dict.fromkeys(("rules_version", "seen_file", "purge", "archive", "archived_point"), "of no customer"),
    **dict.fromkeys(("change_head", "change_batch", "change_log"), "numbers of rows"),
    **dict.fromkeys(
        ("access_point", "named_meter", "checkpoint", "rhythm", "rhythm_stale", "rhythm_head"),
        "the point and its measures, which go on; facts that are no persons",
    ),
    **dict.fromkeys(("ch_duplicate", "ticket_message", "ticket_export"), "numbers of rows"),
    **dict.fromkeys(
        ("api_token", "account", "second_factor", "recovery_code", "sign_in_attempt", "web_session"),
        "people who use the program",
    ),
    **dict.fromkeys(("audit", "audit_word", "audit_head"), "lines name numbers and access points, never a person"),
}
"""Tables that tell of no customer, with the reason."""
