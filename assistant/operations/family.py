"""The operations: what may be asked of the house, as types. Whoever asks, the grammar or a model, is held to them.

Every operation reads; none writes. A field that does not belong, a word that is none of those allowed and a number out
of its bounds are refused before anything is read.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, ClassVar, Literal, get_args

import msgspec
from msgspec import Meta, Struct

from energycomm.engine.rule import RuleSet
from energycomm.errors import UserError
from energycomm.kernel.verdicts import ErrorClass, Severity

Text = Annotated[str, Meta(min_length=1, max_length=200)]
Code = Annotated[str, Meta(min_length=1, max_length=120)]
Market = Annotated[str, Meta(pattern=r"^([A-Z]{2}|common)$")]
Number = Annotated[int, Meta(ge=1, le=(1 << 63) - 1)]
Limit = Annotated[int, Meta(ge=1, le=1000)]
Rank = Annotated[int, Meta(ge=1, le=1000)]
Few = Annotated[int, Meta(ge=0, le=100_000)]

Field = Literal[
    "rule", "title", "sentence", "condition", "kinds", "markets", "set", "severity", "class", "ebix", "market_code",
    "source",
    "field", "comment", "repair", "validity", "file", "reads", "error_code", "asks",
]  # fmt: skip
FIELDS: tuple[Field, ...] = get_args(Field)

Direction = Literal["in", "out"]
Stage = Literal["validation", "qualification", "rejection"]
Attribute = Literal[
    "market", "kind", "set", "severity", "class", "ebix", "market_code", "error_code", "repair", "file", "source",
    "field", "title",
]  # fmt: skip
ATTRIBUTES: tuple[Attribute, ...] = get_args(Attribute)
"""What a rule has: each can restrict, group and be listed itself."""

Thing = Literal[
    "message", "envelope", "request", "ticket", "notification", "incident", "access_point", "finding", "freed",
    "acknowledgement", "rules_version", "calorific_value", "invoice", "reading", "volume", "series", "meter",
    "supply_period", "contract", "grid_invoice",
]  # fmt: skip
THINGS: tuple[Thing, ...] = get_args(Thing)
How = Literal[
    "count", "list", "first", "last", "top", "bottom", "average", "groups", "count_groups", "exists"
]  # fmt: skip
DayOf = Literal["effective", "due"]
InvoiceValue = Literal["total", "tax", "gross", "due", "charges"]
"""What a grid invoice says: its total without tax, its tax, its total with tax, when it is due, how many line groups
it announces."""
StoreGroup = Literal[
    "code", "market", "type", "kind", "state", "access_point", "class", "rule", "day", "month", "by", "channel",
    "waits_for", "operator", "station", "message",
]  # fmt: skip


class Operation(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="do"):
    """One question to the house."""

    does: ClassVar[str] = ""


class Unlike(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An attribute that is not this."""

    attribute: Attribute
    value: Text


class RuleFilter(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Which rules; what is not given does not restrict.

    Attributes:
      markets: rules of these markets' folders; `common` for those of all markets.
      shared: with the common rules that judge the markets' messages too.
      kinds, every: that judge one of these kinds, or every one of them.
      alone: that judge no other kind.
      wide, narrow: that judge at least, or at most, so many kinds.
      flow: that name this message type of the market in their condition or source: C15.
      direction, stage: of the sets for what comes in or goes out; of validation, qualification or rejection.
      set, severity, error_class: of this rule set, as their findings carry them.
      scripts: with at least so many correction scripts.
      ebix, repair, field: with this ebIX reason, this correction script, pointing at this field.
      file: that stand in a file of this name.
      code: whose error code begins with this: FR-R.
      source: whose source has these words.
      having, missing: that have all of these attributes, or lack all of these.
      unlike: whose attribute is none of these.
      either: whose attribute is one of these.
      same, to: that have the same of this attribute as one of these rules, which are left out.
      on, off: in force, or not in force, on this day.
      since, until: whose validity begins on a day from `since` to before `until`.
      changes: whose validity begins or ends; those that always hold are left out.
      words, language: whose title or sentence has all of these words, in English or in this language.
    """

    markets: tuple[Market, ...] = ()
    shared: bool = False
    kinds: tuple[Text, ...] = ()
    every: bool = False
    alone: bool = False
    wide: Few | None = None
    narrow: Few | None = None
    scripts: Few | None = None
    flow: Text | None = None
    direction: Direction | None = None
    stage: Stage | None = None
    set: RuleSet | None = None
    severity: Severity | None = None
    error_class: ErrorClass | None = None
    ebix: Text | None = None
    repair: Text | None = None
    field: Text | None = None
    file: Text | None = None
    code: Text | None = None
    source: Text | None = None
    having: tuple[Attribute, ...] = ()
    missing: tuple[Attribute, ...] = ()
    unlike: tuple[Unlike, ...] = ()
    either: tuple[Unlike, ...] = ()
    same: Attribute | None = None
    to: tuple[Text, ...] = ()
    on: date | None = None
    off: date | None = None
    since: date | None = None
    until: date | None = None
    changes: bool = False
    words: tuple[Text, ...] = ()
    language: Literal["en", "fr", "nl"] = "en"

    def __post_init__(self) -> None:
        if (self.same is None) != (not self.to):
            raise ValueError("an attribute is the same as that of rules that `to` names by their codes")


class Rules(Operation, tag="rules", frozen=True, kw_only=True):
    """Rules of the catalogue: listed, counted, counted by an attribute, or whether there is one; the values of an
    attribute themselves, how many there are, those with the most or fewest rules, those with at least or at most so
    many, those that none of the rules has; how many more rules one market has than another, or whether it has more."""

    where: RuleFilter = RuleFilter()
    how: Literal[
        "list", "count", "exists", "groups", "count_groups", "top", "bottom", "lacking", "difference", "outnumbers"
    ] = "list"
    by: Attribute | None = None
    at_least: Few | None = None
    at_most: Few | None = None
    ranks: Rank | None = None
    """So many of the most or the fewest; one, with those that have as many, where it is not said."""


class RuleField(Operation, tag="rule_field", frozen=True, kw_only=True):
    """Fields of a rule, found by its code, error code, the market's code or ebIX reason; no fields: all of it."""

    code: Code
    fields: tuple[Field, ...] = ()
    applies: Text | None = None
    """Asks yes or no: whether it judges this kind, market or message type."""
    on: date | None = None
    """Asks yes or no: whether it is in force on this day."""
    equals: Annotated[str, Meta(max_length=200)] | None = None
    """Asks yes or no: whether the first of the fields is this; empty text asks whether it has any."""


class CompareRules(Operation, tag="compare_rules", frozen=True, kw_only=True):
    """What two rules say, side by side; with `same`, whether they have that field in common; with `unlike`, whether
    they differ in it; with `severer`, which of them rejects where the other only warns."""

    one: Code
    other: Code
    same: Field | None = None
    unlike: Field | None = None
    severer: bool = False


class RuleChanges(Operation, tag="rule_changes", frozen=True, kw_only=True):
    """What changed in the rules: between two days, by their validity; or between two versions of the store."""

    since: date | None = None
    until: date | None = None
    old: Annotated[str, Meta(pattern=r"^[0-9a-f]{4,64}$")] | None = None
    new: Annotated[str, Meta(pattern=r"^[0-9a-f]{4,64}$")] | None = None
    markets: tuple[Market, ...] = ()


class OnlyThere(Operation, tag="only_there", frozen=True, kw_only=True):
    """What one market has and another has not, or what they have in common: rules, an attribute of rules, code lists,
    codes of a list. `others` are further markets that have it too; `where` restricts the rules."""

    what: Literal["rule", "list", "code"] | Attribute
    here: Market
    there: Market
    how: Literal["only", "both"] = "only"
    others: tuple[Market, ...] = ()
    list: Text | None = None
    where: RuleFilter = RuleFilter()
    count: bool = False


class CodeLists(Operation, tag="code_lists", frozen=True, kw_only=True):
    """Code lists: which there are, the codes of one, how many, what a code means, since when and until when it is
    valid, whether it is on a day, in which lists it stands; lists or markets by their codes, and those with the most,
    the fewest, or so many of them. `on` is a day on which codes are valid; the validity of others begins on a day from
    `since` to before `until`."""

    how: Literal[
        "lists", "codes", "count", "count_lists", "meaning", "validity", "exists", "where", "groups", "top", "bottom"
    ] = "codes"
    list: Text | None = None
    code: Text | None = None
    markets: tuple[Market, ...] = ()
    on: date | None = None
    since: date | None = None
    until: date | None = None
    dated: bool = False
    words: tuple[Text, ...] = ()
    by: Literal["list", "market"] | None = None
    at_least: Few | None = None
    at_most: Few | None = None


class Stored(Operation, tag="stored", frozen=True, kw_only=True):
    """Things of the store: counted, listed, whether there is one, the first or last of them, the different ones of a
    group and how many, the most frequent or the average of a group; `number` is the one of this number, `at_least` and
    `at_most` restrict a group by how many it has, `code` may be the beginning of codes: FR-R; by `message`, the error
    codes of each message are counted.

    Of an access point the store holds readings, volumes (periods of consumption), series, meters (`present` are those
    in place now), supply periods (`running` or `ended`) and contracts: their days are their own, not those of a
    message. A meter is named by its serial number, a grid invoice by its number."""

    thing: Thing
    how: How = "count"
    by: StoreGroup | None = None
    states: tuple[Text, ...] = ()
    markets: tuple[Market, ...] = ()
    kinds: tuple[Text, ...] = ()
    types: tuple[Text, ...] = ()
    code: Code | None = None
    error_class: ErrorClass | None = None
    severity: Severity | None = None
    access_point: Text | None = None
    envelope: Number | None = None
    since: date | None = None
    until: date | None = None
    lacking: Severity | None = None
    """Messages without a finding of this severity."""
    day_of: DayOf | None = None
    """Which day is meant where it is not that of arrival: on which messages take effect, on which requests are due
    to be answered, on which grid invoices are due."""
    late: bool = False
    """Requests whose answer is overdue; of freed messages those that a late message freed."""
    supplied: bool | None = None
    """Access points that we supply now; or that we supplied once, and no longer do."""
    number: Number | None = None
    meter: Text | None = None
    invoice: Text | None = None
    value: InvoiceValue | None = None
    """Of a grid invoice, what is asked for."""
    at_least: Number | None = None
    at_most: Number | None = None
    ranks: Rank | None = None
    """So many of the most or the fewest groups."""
    limit: Limit = 200


class WhyMessage(Operation, tag="why_message", frozen=True, kw_only=True):
    """Why a message was rejected or waits and until which day, what freed it, what it is: one message by its number."""

    message: Number
    about: Literal["why", "freed", "state", "codes", "point", "history", "facts", "until"] = "why"
    equals: Text | None = None
    """Asks yes or no: whether its state is this; `stuck` is any in which somebody has to act."""
    severity: Severity | None = None
    """Of its codes, those of this severity."""


class RequestLife(Operation, tag="request_life", frozen=True, kw_only=True):
    """What became of a request to the market, by its reference, ours or the market's, or of those at an access point:
    its state, since when, with which code, and every step; of requests of ours at the point only these kinds; or
    which references one has, ours and the market's."""

    about: Literal["life", "references"] = "life"
    reference: Text | None = None
    access_point: Text | None = None
    kinds: tuple[Text, ...] = ()
    equals: Text | None = None
    """Asks yes or no: whether its state is this; `open` is any that is no answer for good."""

    def __post_init__(self) -> None:
        if (self.reference is None) == (self.access_point is None):
            raise ValueError("a request is named by its reference, or by its access point")
        if self.about == "references" and self.reference is None:
            raise ValueError("the references of a request are asked for by one of them")


class PointLife(Operation, tag="point_life", frozen=True, kw_only=True):
    """What happened at an access point, between two days where they are given, `until` the first day after; or
    whether we supply it, on the day `since`."""

    access_point: Text
    about: Literal["life", "supplied"] = "life"
    since: date | None = None
    until: date | None = None
    market: Market | None = None


class Manual(Operation, tag="manual", frozen=True, kw_only=True):
    """The documentation's own structure: a setting, a command or an option of it, a code of the gateway, an alarm, a
    word of the glossary."""

    what: Literal["setting", "command", "code", "word", "exit_code", "field", "alarm", "option"]
    how: Literal["one", "list", "count", "default", "variable", "todo", "find", "find_default"] = "one"
    name: Annotated[str, Meta(max_length=200)] = ""
    section: Annotated[str, Meta(max_length=60)] = ""
    hints: Annotated[str, Meta(max_length=200)] = ""
    """Words that count for an entry that has them and against none."""


class Tables(Operation, tag="tables", frozen=True, kw_only=True):
    """Any table of the documentation, by English words: the row that they name or tell of, with the cell of a head that
    is named; its default where `default` says so; or the rows of the table whose first head they name."""

    words: Text
    spare: Annotated[str, Meta(max_length=200)] = ""
    """Those of the words that ask, and need stand nowhere."""
    how: Literal["row", "list", "count"] = "row"
    default: bool = False
    number: bool = False
    """Whether the default, or what is told, has to be a number: how long, how many."""


class Versions(Operation, tag="versions", frozen=True, kw_only=True):
    """Versions: of the rules that the store was judged by, or of the documents that are indexed; what changed."""

    what: Literal["rules", "documents"]
    document: Text | None = None
    old: Text | None = None
    new: Text | None = None


Plan = (
    Rules
    | RuleField
    | CompareRules
    | RuleChanges
    | OnlyThere
    | CodeLists
    | Stored
    | WhyMessage
    | RequestLife
    | PointLife
    | Manual
    | Tables
    | Versions
)
OPERATIONS: tuple[type[Operation], ...] = get_args(Plan)


def named(plan: Plan) -> str:
    """The name of an operation, as a model calls it."""
    return str(plan.__struct_config__.tag)


def planned(given: Any) -> Plan:
    """A plan from data: what a model called, or what a person wrote.

    Raises:
      UserError: it is none of the operations, or an argument of it is wrong.
    """
    try:
        plan: Plan = msgspec.convert(given, Plan)
    except msgspec.ValidationError as error:
        raise UserError(
            f"This is no question to the house: {error}.", "docs/assistant-operations.md lists them."
        ) from None
    return plan


def tools() -> list[dict[str, Any]]:
    """The operations as tools of a model: name, what it does, and the JSON schema of its arguments."""
    found = []
    for operation in OPERATIONS:
        (schema,), parts = msgspec.json.schema_components([operation], ref_template="#/$defs/{name}")
        shape = {**parts[operation.__name__]} if "$ref" in schema else dict(schema)
        properties = {name: value for name, value in shape.get("properties", {}).items() if name != "do"}
        needed = [name for name in shape.get("required", ()) if name != "do"]
        rest = {name: part for name, part in parts.items() if name != operation.__name__}
        parameters: dict[str, Any] = {
            "type": "object", "properties": properties, "required": needed, "additionalProperties": False
        }  # fmt: skip
        if rest:
            parameters["$defs"] = rest
        found.append(
            {
                "type": "function",
                "function": {
                    "name": str(operation.__struct_config__.tag),
                    "description": (operation.__doc__ or "").strip(),
                    "parameters": parameters,
                },
            }
        )
    return found
