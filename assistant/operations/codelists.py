"""Operations on code lists: which there are, their codes, what a code means, where it stands, which have the most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from assistant.operations.catalogue import MOST_PROOFS, code_place
from assistant.operations.family import CodeLists
from assistant.operations.plaintext import contains
from assistant.operations.wording import market_name, say
from assistant.operations.worked import MOST_ROWS, Proof, Table, Worked
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.codes import COMMON, CodeEntry


def codes_answer(catalogue: Catalogue, plan: CodeLists, language: str) -> Worked:
    """Code lists, their codes and what they mean."""
    entries = [entry for entry in catalogue.codes.entries if _wanted(entry, plan)]
    proofs = (
        Proof(text=f"codes.csv: {_in_words(plan)}"),
        *(Proof(text=code_place(entry)) for entry in entries[: MOST_PROOFS - 1]),
    )
    names = ", ".join(market_name(market, language) for market in plan.markets)
    of = say(language, "of", market=names) if names else ""
    if plan.by is not None or plan.how in ("groups", "top", "bottom"):
        return _groups_answer(entries, plan, language, proofs, of)
    if plan.how in ("lists", "count_lists", "where"):
        return _lists_answer(entries, plan, language, proofs, of)
    if plan.how in ("exists", "meaning", "validity"):
        found = _meaning_answer(entries, plan, language, proofs, of)
        if plan.how == "meaning" and plan.list and not entries:  # a list that was named beside it is not its own
            other = codes_answer(catalogue, replace(plan, list=None), language)
            found = replace(other, sentence=f"{found.sentence} {other.sentence}") if other.values else found
        return found
    table = _table(entries, language)
    number = len({(entry.market, entry.list, entry.code) for entry in entries})
    codes = tuple(dict.fromkeys(entry.code for entry in entries))
    key = "list" if plan.list else "codes_found"
    return Worked(
        sentence=say(language, key, list=plan.list or "", of=of, n=number, where=_in_words(plan)),
        table=table,
        proofs=proofs,
        values=(number,) if plan.how == "count" else codes,
    )


def _wanted(entry: CodeEntry, plan: CodeLists) -> bool:
    return (
        (not plan.markets or entry.market in plan.markets)
        and (plan.list is None or entry.list == plan.list)
        and (plan.code is None or entry.code.upper() == plan.code.upper())
        and (plan.on is None or entry.valid_on(plan.on))
        and (plan.since is None or (entry.since is not None and entry.since >= plan.since))
        and (plan.until is None or (entry.since is not None and entry.since < plan.until))
        and (not plan.dated or bool(_days(entry)))
        and (not plan.words or _tells(entry, plan.words))
    )


SHORTEST_BEGINNING = 3
"""Letters of the beginning of a code that codes are looked for by."""


def _tells(entry: CodeEntry, words: Sequence[str]) -> bool:
    """Whether a code means something in these words, or begins with one of them: the options BTINF."""
    low = entry.code.lower()
    rest = [one for one in words if not (len(one) >= SHORTEST_BEGINNING and low.startswith(one.lower()))]
    return not rest or any(contains(label, rest) for label in entry.labels.values())


def _in_words(plan: CodeLists) -> str:
    pairs = (
        ("list", plan.list), ("code", plan.code), ("markets", " ".join(plan.markets)), ("on", plan.on),
        ("valid since", plan.since), ("valid since a day before", plan.until),
        ("words", " ".join(plan.words)), ("begins or ends", "on a day" if plan.dated else None), ("by", plan.by),
        ("at least", plan.at_least), ("at most", plan.at_most),
    )  # fmt: skip
    return "; ".join(f"{name} {value}" for name, value in pairs if value) or "all"


def _groups_answer(
    entries: Sequence[CodeEntry], plan: CodeLists, language: str, proofs: tuple[Proof, ...], of: str
) -> Worked:
    """Lists or markets by their codes, and those with the most, the fewest, or so many."""
    by = plan.by or "list"
    counts = Counter(entry.list if by == "list" else entry.market for entry in entries)
    if by == "market":
        counts.pop(COMMON.upper(), None)
    least, most = plan.at_least or 0, plan.at_most
    kept = [(one, n) for one, n in counts.most_common() if n >= least and (most is None or n <= most)]
    if plan.how == "bottom":
        kept.reverse()
    best = [one for one, n in kept if n == kept[0][1]]
    if plan.how in ("top", "bottom") and kept:
        what = say(language, "what_code")
        sentence = say(language, "top", name=", ".join(best), n=kept[0][1], thing=what, where=_in_words(plan))
    else:
        sentence = say(language, "groups", n=len(kept), by=by, where=_in_words(plan))
    return Worked(
        sentence=sentence,
        table=Table(columns=(by, "codes"), rows=tuple((one, str(n)) for one, n in kept)) if kept else None,
        proofs=proofs,
        values=(*best, kept[0][1]) if plan.how in ("top", "bottom") and kept else tuple(kept),
    )


def _lists_answer(
    entries: Sequence[CodeEntry], plan: CodeLists, language: str, proofs: tuple[Proof, ...], of: str
) -> Worked:
    """The lists with the number of their codes in each market."""
    counts = Counter((entry.list, entry.market) for entry in entries)
    rows = tuple((name, market, str(number)) for (name, market), number in sorted(counts.items()))
    names = tuple(dict.fromkeys(row[0] for row in rows))
    return Worked(
        sentence=say(language, "lists", n=len(names), of=of),
        table=Table(columns=("list", "market", "codes"), rows=rows),
        proofs=proofs,
        values=(len(names),) if plan.how == "count_lists" else names,
    )


def _meaning_answer(
    entries: Sequence[CodeEntry], plan: CodeLists, language: str, proofs: tuple[Proof, ...], of: str
) -> Worked:
    """What a code means, when it is valid, or whether it is in a list."""
    if plan.how == "exists":
        text = say(language, "in_list" if entries else "not_in_list", code=plan.code, list=plan.list, of=of)
        label = f" {_label(entries[0], language)}." if entries else ""
        return Worked(sentence=text + label, proofs=proofs, values=(bool(entries),))
    if not entries:
        text = say(language, "not_in_list", code=plan.code, list=plan.list or "-", of=of)
        return Worked(sentence=text, proofs=proofs)
    if plan.how == "validity":
        dated = [entry for entry in entries if _days(entry)]
        told = "; ".join(f"{_days(entry)} ({entry.market})" for entry in dated)
        text = say(language, "valid_in" if dated else "always_valid", code=plan.code, days=told)
        days = tuple(str(day) for entry in dated for day in (entry.since, entry.until) if day)
        return Worked(sentence=text, table=_table(entries, language), proofs=proofs, values=days)
    if len(entries) == 1:
        (entry,) = entries
        label = _label(entry, language)
        text = say(language, "meaning", code=entry.code, label=label, list=entry.list, market=entry.market)
        return Worked(sentence=text, proofs=proofs, values=(label,))
    text = say(language, "meanings", code=plan.code, n=len(entries))
    labels = tuple(_label(entry, language) for entry in entries)
    return Worked(sentence=text, table=_table(entries, language), proofs=proofs, values=labels)


def _table(entries: Sequence[CodeEntry], language: str) -> Table | None:
    rows = tuple(
        (entry.code, _label(entry, language), entry.list, entry.market, _days(entry), code_place(entry))
        for entry in entries[:MOST_ROWS]
    )
    return Table(columns=("code", "meaning", "list", "market", "valid", "file"), rows=rows) if rows else None


def _label(entry: CodeEntry, language: str) -> str:
    return entry.labels.get(language) or entry.labels.get("en", "")


def label_of(catalogue: Catalogue, code: str, market: str, language: str) -> str:
    """What a code of a market means where every list that has it says the same; empty where it is none."""
    found = {_label(one, language) for one in catalogue.codes.entries if (one.code, one.market) == (code, market)}
    return found.pop() if len(found) == 1 else ""


def _days(entry: CodeEntry) -> str:
    return f"{entry.since or ''}..{entry.until or ''}" if entry.since or entry.until else ""
