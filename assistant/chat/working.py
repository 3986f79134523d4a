"""Questions that are worked out before passages are looked for, by the grammar or by a configured model's calls."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import msgspec

from assistant.chat.answer import Answer
from assistant.knowledge.language import detect
from assistant.operations.family import named, planned, tools
from assistant.operations.house import House, as_data
from assistant.operations.vocabulary import matches, tokens_of
from assistant.operations.worked import Reply, Worked
from energycomm.errors import UserError

if TYPE_CHECKING:
    from assistant.chat.generators import Generator

OPERATIONS = "operations"
"""Who worded an answer that was worked out."""

LEANING = frozenset(("tables",))
"""Operations that take the words of a question for a row of our documentation. Where other documents are indexed too,
these may be what is asked about."""

PERSONAL = frozenset(("stored", "why_message", "request_life", "point_life"))
"""Operations whose tables name access points or customers' messages: they are shown, and not logged."""

MOST_TOKENS = 400


def worked_answer(house: House, question: str, markets: tuple[str, ...] = ()) -> Answer | None:
    """The answer that the house works out by its grammar; None where the question is none of its own.

    Args:
      house: its rules, store and documentation.
      question: the question.
      markets: markets that were chosen beside the question.
    """
    began = time.perf_counter()
    reply = house.reply(question, markets)
    return None if reply is None else answer_of(question, reply, time.perf_counter() - began)


def leans(answer: Answer) -> bool:
    """Whether an answer that was worked out rests on a likeness, or found nothing."""
    if answer.worked is None:
        return False
    if answer.worked.sure < 1:
        return True
    pairs = list(zip(answer.worked.plans, answer.worked.answers, strict=False))
    return bool(pairs) and all(
        plan.get("do") in LEANING or (plan.get("do") not in PERSONAL and not any(one.values)) for plan, one in pairs
    )


def called_answer(house: House, generator: Generator, question: str) -> Answer | None:
    """The answer of the operation that a model chooses; None where it chooses none, or none that there is.

    Args:
      house: its rules, store and documentation.
      generator: the configured model; it gets the operations and their types, and none of the house's data.
      question: the question.
    """
    from assistant.chat.prompting import Prompt

    began = time.perf_counter()
    system = (
        "You choose an operation that answers the question. Answer with one JSON object and nothing else: "
        '{"do": NAME, ...arguments} of one of these operations, or {"do": "none"} if none answers it.\n'
        + "\n".join(json.dumps(tool["function"], default=str) for tool in tools())
    )
    written = "".join(generator.stream(Prompt(system=system, user=f"Question: {question}\nJSON:"), MOST_TOKENS))
    language = _language(question)
    try:
        plan = planned(_first_object(written))
        found = house.work_out(plan, language)
    except UserError:
        return None
    if found is None:
        return None
    reply = Reply(language=language, plans=(as_data(plan),), answers=(found,))
    return answer_of(question, reply, time.perf_counter() - began, f"{generator.name}, {named(plan)}")


def _first_object(text: str) -> Any:
    """The first JSON object of a text; an empty one, which is no operation, where there is none."""
    start = text.find("{")
    try:
        return json.JSONDecoder().raw_decode(text[start:])[0] if start >= 0 else {}
    except (ValueError, RecursionError):
        return {}


def answer_of(question: str, reply: Reply, seconds: float, generator: str = OPERATIONS) -> Answer:
    """A reply as an answer: its sentences as the text, the tables and proofs beside it."""
    if reply.asked:
        text = "\n".join((reply.asked, *(f"- {choice}" for choice in reply.choices)))
    else:
        text = "\n".join(line for one in reply.answers for line in (one.sentence, one.note) if line)
    return Answer(
        question=question,
        language=reply.language,
        text=text,
        confidence=0.0 if reply.asked else reply.sure,
        abstained=bool(reply.asked),
        generator=generator,
        seconds={"work out": round(seconds, 3)},
        worked=reply,
    )


def kept(answer: Answer, scrub: Any) -> Answer:
    """An answer as it is logged: what the store was asked is told without what it holds of access points."""
    reply = answer.worked
    if reply is None:
        return answer

    def clean(one: Worked, plan: dict[str, Any]) -> Worked:
        if plan.get("do") not in PERSONAL:
            return one
        proofs = tuple(
            msgspec.structs.replace(proof, text=scrub(proof.text), link="", command="") for proof in one.proofs
        )
        return Worked(sentence=scrub(one.sentence), proofs=proofs, note=scrub(one.note))

    plans = tuple({name: scrub(f"meter {value}" if name == "meter" else value) if isinstance(value, str) else value
                   for name, value in plan.items()}
                  for plan in reply.plans)  # fmt: skip
    answers = tuple(clean(one, plan) for one, plan in zip(reply.answers, reply.plans, strict=True))
    worked = msgspec.structs.replace(reply, plans=plans, answers=answers)
    return msgspec.structs.replace(answer, text=scrub(answer.text), worked=worked)


def markets_in_words(question: str) -> tuple[str, ...]:
    """The markets that a question names in words: passages of others do not answer it."""
    tokens = tokens_of(question[:2000])
    there = dict.fromkeys(one.value for one in matches(tokens) if one.slot == "market" and one.value != "common")
    return tuple(there)


def _language(question: str) -> str:
    spoken = detect(question) or "en"
    return spoken if spoken in ("en", "fr", "nl") else "en"


__all__ = ["OPERATIONS", "answer_of", "called_answer", "kept", "leans", "markets_in_words", "worked_answer"]
