"""Results of the Kernel for a message: findings of rules, refusals of unreadable content, and the verdict."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Severity = Literal["error", "warning"]
ErrorClass = Literal["grid_operator", "ordering", "missing", "product"]
Label = Literal["accepted", "rejected", "quarantined", "engine_error"]


class Finding(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One rule that a message violates."""

    error_code: str
    rule: str
    field: str
    value: str | None = None
    comment: str
    """The rule's comment in English, with the values read."""
    comment_fr: str
    """The same in French."""
    severity: Severity = "error"
    error_class: ErrorClass = "grid_operator"


class Refusal(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Content that could not be read: an envelope, a member, a CH message, a Kernel XML document.

    Attributes:
      code: stable code of the refusal, documented in docs/codes.md.
      path: where: a member of the envelope, an element path, a field.
      value: the value found, shortened.
      expected: what was expected there.
      advice: what to do.
    """

    code: str
    path: str = ""
    value: str | None = None
    expected: str = ""
    advice: str = ""

    def __str__(self) -> str:
        where = f" at {self.path}" if self.path else ""
        found = f": found {self.value!r}" if self.value is not None else ""
        wanted = f", expected {self.expected}" if self.expected else ""
        return f"{self.code}{where}{found}{wanted}" + (f" ({self.advice})" if self.advice else "")


class Action(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The action of a qualification or rejection rule.

    Attributes:
      verb: one of `VERBS`.
      argument: the notification's event name, or what a quarantined message waits for.
      rule: code of the rule that asks.
    """

    verb: str
    argument: str | None = None
    rule: str


VERBS: tuple[str, ...] = (
    "open-supply",
    "close-supply",
    "store",
    "store-customer",
    "store-meter",
    "store-reading",
    "store-volume",
    "store-series",
    "store-charge",
    "follow-request",
    "notify",
    "wait",
)
"""Every verb of an action. `wait` sends the message to quarantine; its argument says what it waits for."""


class Verdict(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The Kernel's judgement of one message with one version of the rules.

    Attributes:
      label: accepted, rejected, quarantined, or engine_error when a rule itself broke.
      findings: every violated rule, in the order of their codes; empty exactly when no rule is violated.
      actions: what qualification or rejection asks for.
      waits_for: what a quarantined message waits for.
      fault: what broke, for engine_error.
    """

    label: Label
    findings: tuple[Finding, ...] = ()
    actions: tuple[Action, ...] = ()
    waits_for: str | None = None
    fault: str | None = None
