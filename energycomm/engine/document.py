"""The KernelRules document of a market: every rule the Kernel applies, readable for a consultant."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from datetime import date
from typing import Any

from energycomm.engine.blocks import Block, Facts, Heading, Paragraph, Table, to_html, to_markdown, with_contents
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.codes import COMMON
from energycomm.engine.predicates import BUILT_IN
from energycomm.engine.rule import RULE_SETS, Example, Rule, RuleSet
from energycomm.engine.wording import condition_in_words, item_in_words
from energycomm.kernel.history import History, RegisterFacts

SET_TITLES: dict[RuleSet, tuple[str, str]] = {
    "validation_in": (
        "Validation of incoming messages",
        "Every rule judges every message of its kinds; a message collects all its errors.",
    ),
    "qualification_in": (
        "Qualification of incoming messages",
        "What is done with a message that no validation rule rejects.",
    ),
    "rejection_in": (
        "Rejection of incoming messages",
        "What is done with a message that a validation rule rejects.",
    ),
    "validation_out": (
        "Validation of outgoing messages",
        "Every rule judges every request before it is sent to the market.",
    ),
    "qualification_out": (
        "Qualification of outgoing messages",
        "What is done with a request that no validation rule rejects.",
    ),
    "rejection_out": (
        "Rejection of outgoing messages",
        "What is done with a request that a validation rule rejects.",
    ),
}

ERROR_CLASSES = {
    "grid_operator": "mistake of the grid operator",
    "ordering": "message in the wrong order",
    "missing": "message or value missing",
    "product": "mistake of the product",
}

_UNKNOWN = (
    "A condition that needs a value which the message or the history does not have is unknown, and an unknown "
    "condition never rejects a message. Of conditions joined by “and”, one that is not met decides; by “or”, one that "
    "is met."
)


def kernel_rules(catalogue: Catalogue, market: str) -> list[Block]:
    """The document of a market as blocks.

    Args:
      catalogue: the catalogue.
      market: the market, upper case.
    """
    rules = catalogue.of_market(market)
    body: list[Block] = []
    for rule_set in RULE_SETS:
        own = sorted(
            (rule for rule in rules if rule.rule_set == rule_set), key=lambda rule: (rule.error_code, rule.code)
        )
        if own:
            body += _rule_set(rule_set, own, catalogue, market)
    body += _facts() + _predicates(catalogue, rules) + _code_lists(catalogue, market)
    judging = [rule for rule in rules if rule.judges]
    intro: list[Block] = [
        Paragraph(
            f"Version `{catalogue.version}`: {len(judging)} validation rules and {len(rules) - len(judging)} rules of "
            f"action for the market {market}. Each verdict names the version it was reached with."
        ),
        Paragraph(_UNKNOWN),
    ]
    changes = ", ".join(day.isoformat() for day in catalogue.dates())
    if changes:
        intro.append(Paragraph(f"The rules in force change on: {changes}."))
    return with_contents(f"KernelRules {market}", intro, body)


def as_markdown(catalogue: Catalogue, market: str) -> str:
    """The document of a market in Markdown."""
    return to_markdown(kernel_rules(catalogue, market))


def as_html(catalogue: Catalogue, market: str) -> str:
    """The document of a market as one HTML page."""
    return to_html(kernel_rules(catalogue, market), f"KernelRules {market}")


def anchor(rule: Rule) -> str:
    """The anchor of a rule in the document."""
    return f"rule-{rule.code}" + (f"-{rule.since}" if rule.since else "")


def _rule_set(rule_set: RuleSet, rules: list[Rule], catalogue: Catalogue, market: str) -> list[Block]:
    title, about = SET_TITLES[rule_set]
    blocks: list[Block] = [Heading(2, title, rule_set.replace("_", "-")), Paragraph(about)]
    if rule_set.startswith("validation"):
        head: tuple[str, ...] = ("Error code", "Rule", "Applies to", "Severity")
        rows: list[tuple[str, ...]] = [(r.error_code, r.title, ", ".join(r.applies_to), r.severity) for r in rules]
    else:
        head = ("Rule", "Asks for", "Applies to")
        rows = [(r.title, asked(r), ", ".join(r.applies_to)) for r in rules]
    blocks.append(Table(head, tuple(rows), tuple(anchor(rule) for rule in rules)))
    for rule in rules:
        blocks += _rule(rule)
    return blocks


def asked(rule: Rule) -> str:
    """What an action rule asks for, in words."""
    parts = [verb.replace("-", " ") for verb in rule.do]
    if rule.notify:
        parts.append(f"notify the back office: {rule.notify}")
    if rule.wait:
        parts.append(f"wait for {rule.wait}")
    return "; ".join(parts)


def validity(rule: Rule) -> str:
    """The days on which a rule is in force, in words."""
    if rule.since is None and rule.until is None:
        return "always"
    begin = f"from {rule.since}" if rule.since else ""
    end = f"until {rule.until} inclusive" if rule.until else ""
    return f"{begin} {end}".strip()


def rule_facts(rule: Rule) -> Facts:
    """The facts of a rule, except its title and sentence."""
    rows: list[tuple[str, str]] = [("Rule", f"`{rule.code}`")]
    if rule.judges:
        rows.append(("Error code", f"`{rule.error_code}`" + (f" (ebIX reason {rule.ebix})" if rule.ebix else "")))
        if rule.market_code:
            rows.append(("Market's own code", f"`{rule.market_code}`"))
    else:
        rows.append(("Asks for", asked(rule)))
    judged = f", each {item_in_words(rule)}" if rule.each else ""
    rows += [
        ("Applies to", ", ".join(rule.applies_to) + judged),
        ("Markets", ", ".join(rule.markets) or "all"),
        ("In force", validity(rule)),
        ("Demands" if rule.judges else "When", condition_in_words(rule)),
    ]
    for label, text in (("when", rule.when), ("holds", rule.holds), ("violated_when", rule.violated_when)):
        if text:
            rows.append((label, text))
    if rule.judges:
        rows += [
            ("Points at", f"`{rule.field}`"),
            ("Comment (en)", rule.comment["en"].text),
            ("Comment (fr)", rule.comment["fr"].text),
            ("Severity", rule.severity),
            ("Error class", ERROR_CLASSES[rule.error_class]),
        ]
    if rule.repair:
        rows.append(("Correction script", ", ".join(f"`{name}`" for name in rule.repair)))
    rows.append(("Source", rule.source))
    for example in rule.examples:
        rows.append((_judged(rule, example), example_words(example)))
    return Facts(tuple(rows), frozenset({"when", "holds", "violated_when"}))


def _judged(rule: Rule, example: Example) -> str:
    if rule.judges:
        return "Good example" if example.judged == "passes" else "Bad example"
    return "Does not apply" if example.judged == "passes" else "Applies"


def example_words(example: Example) -> str:
    """An example in readable form: the fields it states, then the history."""
    content = dict(example.content)
    history = content.pop("history", None)
    content.pop("kind", None)
    text = f"{type(example.message).__name__}" + (f" with {_pairs(content)}" if content else "")
    return text + (f"; history: {_pairs(history)}" if history else "")


def _pairs(content: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {_shown(value)}" for name, value in content.items())


def _shown(value: Any) -> str:
    if value is None:
        return "absent"
    if isinstance(value, Mapping):
        return f"({_pairs(value)})"
    if isinstance(value, list):
        return "[" + "; ".join(_shown(item).removeprefix("(").removesuffix(")") for item in value) + "]"
    return str(value)


def _rule(rule: Rule) -> list[Block]:
    title = f"{rule.error_code}: {rule.title}" if rule.error_code else rule.title
    return [Heading(3, title, anchor(rule)), Paragraph(rule.sentence), rule_facts(rule)]


def _facts() -> list[Block]:
    blocks: list[Block] = [
        Heading(2, "Annex: facts of the history", "facts"),
        Paragraph("What a rule may know of an access point, as of the business time of the message."),
    ]
    for title, prefix, struct in (
        ("Of the access point", "history", History),
        ("Of one register, before the reading", "previous", RegisterFacts),
    ):
        hints = typing.get_type_hints(struct, include_extras=True)
        rows = tuple(
            (f"`{prefix}.{name}`", _description(hints[name]))
            for name in struct.__struct_fields__
            if name != "registers"
        )
        blocks += [Heading(3, title, f"facts-{prefix}"), Table(("Fact", "Meaning"), rows)]
    return blocks


def _description(annotation: Any) -> str:
    for extra in getattr(annotation, "__metadata__", ()):
        if getattr(extra, "description", None):
            return str(extra.description)
    return ""


def _predicates(catalogue: Catalogue, rules: tuple[Rule, ...]) -> list[Block]:
    called: dict[str, list[str]] = {}
    for rule in rules:
        for name in rule.calls():
            called.setdefault(name, []).append(rule.error_code or rule.code)
    rows = [(f"`{name}`", text.partition(": ")[2] or text, "") for name, text in BUILT_IN.items()]
    for name, predicate in sorted(catalogue.predicates.items()):
        if name in called:
            summary = " ".join(predicate.description.split(">>>")[0].split())
            rows.append((f"`{predicate.signature}`", summary, ", ".join(sorted(set(called[name])))))
    return [
        Heading(2, "Annex: predicates", "predicates"),
        Paragraph("Named, tested functions that conditions call."),
        Table(("Predicate", "Meaning", "Used by"), tuple(rows)),
    ]


def _code_lists(catalogue: Catalogue, market: str) -> list[Block]:
    blocks: list[Block] = [Heading(2, "Annex: code lists", "code-lists")]
    for owner in (market, COMMON):
        for name in catalogue.codes.names(owner):
            entries = [entry for periods in catalogue.codes.codes(owner, name).values() for entry in periods]
            head: tuple[str, ...] = ("Code", "English", "French")
            rows: list[tuple[str, ...]] = [
                (f"`{entry.code}`", entry.labels.get("en", ""), entry.labels.get("fr", "")) for entry in entries
            ]
            if any(entry.since or entry.until for entry in entries):
                head = (*head, "Since", "Until")
                rows = [(*row, _day(entry.since), _day(entry.until)) for row, entry in zip(rows, entries, strict=True)]
            blocks += [Heading(3, name, f"list-{owner}-{name}"), Table(head, tuple(rows))]
    if len(blocks) == 1:
        blocks.append(Paragraph("The market has no code list."))
    return blocks


def _day(day: date | None) -> str:
    return day.isoformat() if day else ""
