"""What one market has and another has not, and what markets have in common."""

from __future__ import annotations

from urllib.parse import urlencode

from msgspec.structs import replace

from assistant.operations.attributes import Texts, values
from assistant.operations.catalogue import MOST_PROOFS, code_place, matching, rule_proof, rule_table
from assistant.operations.family import ATTRIBUTES, OnlyThere
from assistant.operations.wording import market_name, say
from assistant.operations.worked import MOST_ROWS, Proof, Table, Worked
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.rule import Rule


def only_answer(catalogue: Catalogue, plan: OnlyThere, language: str, texts: Texts | None = None) -> Worked:
    """What one market has and another has not, or what they have in common."""
    both = plan.how == "both"
    note = ""
    if plan.what == "rule":
        here, there = (_judging(catalogue, plan, market, texts) for market in (plan.here, plan.there))
        left = [rule for rule in here if rule.ebix and any(_alike(rule, other) for other in there) == both]
        note = say(language, "counterpart", n=sum(not rule.ebix for rule in here))
        table = rule_table(left)
        found: tuple[str, ...] = tuple(rule.error_code for rule in left)
        proofs = tuple(rule_proof(rule) for rule in left[: MOST_PROOFS - 1])
    else:
        others = [_had(catalogue, plan, market, texts) for market in (plan.there, *plan.others)]
        rows = [
            (name, place)
            for name, place in sorted(_had(catalogue, plan, plan.here, texts).items())
            if (all(name in other for other in others) if both else not any(name in other for other in others))
        ]
        table = Table(columns=("name", "file"), rows=tuple(rows[:MOST_ROWS]))
        found = tuple(row[0] for row in rows)
        proofs = tuple(Proof(text=row[1]) for row in rows[: MOST_PROOFS - 1])
    names = [market_name(market, language) for market in (plan.here, plan.there, *plan.others)]
    query = f"{plan.what} of {plan.here} and {'' if both else 'not '}of {' and '.join((plan.there, *plan.others))}"
    return Worked(
        sentence=say(
            language, plan.how, n=len(found), what=say(language, f"what_{plan.what}"), here=names[0],
            there=", ".join(names[1:]),
        ),
        table=table if found else None,
        proofs=(Proof(text=query, link="/rules?" + urlencode({"market": plan.here, "rule_set": "all"})), *proofs),
        values=(len(found),) if plan.count else found,
        note=note,
    )  # fmt: skip


def _had(catalogue: Catalogue, plan: OnlyThere, market: str, texts: Texts | None) -> dict[str, str]:
    """What a market has of what is compared -> the file and line where it has it first."""
    found: dict[str, str] = {}
    for attribute in ATTRIBUTES:
        if attribute == plan.what:
            for rule in _judging(catalogue, plan, market, texts):
                for value in values(rule, attribute):
                    # Each market has a folder of its own: its files are compared by their names.
                    name = value.rpartition("/")[2] if attribute == "file" else value
                    found.setdefault(name, f"rules/{rule.file}:{rule.line}")
    if plan.what in ("list", "code"):
        for entry in catalogue.codes.entries:
            if entry.market == market and plan.list in (None, entry.list):
                found.setdefault(entry.list if plan.what == "list" else entry.code, code_place(entry))
    return found


def _judging(catalogue: Catalogue, plan: OnlyThere, market: str, texts: Texts | None) -> list[Rule]:
    return [rule for rule in matching(catalogue, replace(plan.where, markets=(market,)), texts) if rule.judges]


def _alike(rule: Rule, other: Rule) -> bool:
    return rule.ebix == other.ebix and bool(set(rule.applies_to) & set(other.applies_to))
