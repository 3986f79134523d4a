"""Development questions on rules and store, with gold that a program of its own computes.

The gold of rules and codes is read from the files as YAML and CSV, that of the store by SQL: nothing of the
operations is used. `python -m assistant.evaluation.worked_development write` writes the questions with their
gold beside the others;
`... measure` asks them and prints what is right by kind, `--database URL` also those of a store.
"""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS = Path(__file__).parent / "questions" / "worked_development.jsonl"
MARKETS = ("common", "fr", "nl", "be")


def rules(*markets: str) -> list[dict[str, Any]]:
    """The rules of folders, as written, each with its set."""
    found = []
    for market in markets or MARKETS:
        for file in sorted((ROOT / "rules" / market).glob("*.yaml")):
            content = yaml.safe_load(file.read_text("utf-8"))
            found += [{"set": content["rule_set"], **rule} for rule in content.get("rules", ())]
    return found


def codes(market: str, name: str | None = None) -> list[dict[str, str]]:
    """The rows of a market's code lists."""
    with (ROOT / "rules" / market / "codes.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if name in (None, row["list"])]


def names(found: Iterable[dict[str, Any]]) -> list[str]:
    """Error codes of rules, each once; the code of those that have none."""
    return sorted({rule.get("error_code") or rule["code"] for rule in found})


def one(code: str, field: str) -> list[Any]:
    """A field of the rule with an error code."""
    return [rule[field] for rule in rules() if rule.get("error_code") == code]


def of_kind(kind: str, *markets: str) -> list[dict[str, Any]]:
    """Rules that judge a kind."""
    return [rule for rule in rules(*markets) if kind in rule["applies_to"]]


def judging(*markets: str) -> list[dict[str, Any]]:
    """Rules of validation."""
    return [rule for rule in rules(*markets) if rule["set"].startswith("validation")]


def warning(*markets: str) -> list[dict[str, Any]]:
    """Rules that only warn."""
    return [rule for rule in rules(*markets) if rule.get("severity") == "warning"]


def by_class(error_class: str, *markets: str) -> list[dict[str, Any]]:
    """Rules of an error class."""
    return [rule for rule in rules(*markets) if rule.get("error_class") == error_class]


def reasons(*markets: str) -> set[str]:
    """ebIX reasons of validation rules."""
    return {rule["ebix"] for rule in judging(*markets) if rule.get("ebix")}


def questions() -> Iterator[tuple[str, str, str, Any]]:
    """Kind, language, question, and gold: values, {"sql": query}, or None where passages have to answer."""
    yield "count", "en", "How many rules does Belgium have for readings?", [len(of_kind("MeterReading", "be"))]
    yield "count", "fr", "Combien de règles la France a-t-elle pour les factures ?", [len(of_kind("GridInvoice", "fr"))]
    yield "count", "nl", "Hoeveel regels heeft Nederland voor meterstanden?", [len(of_kind("MeterReading", "nl"))]
    yield "count", "en", "How many rules are there in total?", [len(rules())]
    yield "count", "fr", "Combien de règles communes y a-t-il ?", [len(rules("common"))]
    yield "count", "nl", "Aantal regels in België", [len(rules("be"))]
    yield "count", "en", "Number of Dutch rules that only warn", [len(warning("nl"))]
    yield "count", "en", "How many rules have the ebIX reason E17?", [sum(r.get("ebix") == "E17" for r in rules())]
    yield "count", "en", "How many error codes are there in the Netherlands?", [len(names(judging("nl")))]
    yield "list", "en", "Which rules only warn in NL?", names(warning("nl"))
    yield "list", "fr", "Quelles règles avertissent seulement en Belgique ?", names(warning("be"))
    yield "list", "nl", "Welke Franse regels waarschuwen alleen?", names(warning("fr"))
    yield "list", "en", "Which codes are the operator's fault in Belgium?", names(by_class("grid_operator", "be"))
    yield "list", "fr", "Quelles erreurs de la France sont la faute du gestionnaire ?", None
    yield (
        "list",
        "nl",
        "Welke codes zijn de fout van de netbeheerder in Nederland?",
        names(by_class("grid_operator", "nl")),
    )
    yield (
        "list",
        "en",
        "List the Belgian rules without an ebIX reason",
        names(r for r in judging("be") if not r.get("ebix")),
    )
    yield "list", "en", "Which rules have the ebIX code D14?", names(r for r in rules() if r.get("ebix") == "D14")
    yield "list", "fr", "Quelles règles ont un script de correction ?", names(r for r in rules() if r.get("repair"))
    yield "list", "en", "Which French rules concern calorific values?", names(of_kind("CalorificValue", "fr"))
    yield "field", "en", "ebIX code of FR-G02", one("FR-G02", "ebix")
    yield "field", "fr", "Quel est le motif ebIX de FR-G02 ?", one("FR-G02", "ebix")
    yield "field", "nl", "Welke ebIX-code heeft FR-G02?", one("FR-G02", "ebix")
    yield "field", "en", "On which Enedis document is FR-R08 based?", one("FR-R08", "source")
    yield "field", "fr", "Sur quel document se fonde la règle FR-R12 ?", one("FR-R12", "source")
    yield "field", "nl", "Op welk document is NL-P05 gebaseerd?", one("NL-P05", "source")
    yield (
        "field",
        "en",
        "Is NL-V10 an error or a warning?",
        [
            one("NL-V10", "severity")[0]
            if "severity" in str([r for r in rules() if r.get("error_code") == "NL-V10"])
            else "error"
        ],
    )
    yield "field", "en", "Whose fault is FR-P01?", one("FR-P01", "error_class")
    yield "field", "nl", "Wat zegt BE-P01?", one("BE-P01", "sentence")
    yield "field", "fr", "Que dit la règle CO-R05 ?", one("CO-R05", "sentence")
    yield "field", "en", "Which field does FR-G01 point at?", one("FR-G01", "field")
    yield "field", "en", "To which kinds of message does CO-R05 apply?", [", ".join(one("CO-R05", "applies_to")[0])]
    yield "yes-no", "en", "Does FR-G02 apply to MeterReading?", [False]
    yield "yes-no", "en", "Is BE-D11 in force on 2025-06-30?", [False]
    yield "yes-no", "fr", "Est-ce que BE-D11 est en vigueur le 1er mars 2026 ?", [True]
    yield "yes-no", "nl", "Is er een regel over de postcode in Frankrijk?", None
    yield (
        "only-there",
        "en",
        "Which ebIX reasons are used in Belgium but not in France?",
        sorted(reasons("be") - reasons("fr")),
    )
    yield (
        "only-there",
        "fr",
        "Quels motifs ebIX existent en France mais pas aux Pays-Bas ?",
        sorted(reasons("fr") - reasons("nl")),
    )
    yield (
        "only-there",
        "nl",
        "Welke codelijsten heeft Frankrijk die België niet heeft?",
        sorted({r["list"] for r in codes("fr")} - {r["list"] for r in codes("be")}),
    )
    yield "codes", "en", "List the event codes of France", [r["code"] for r in codes("fr", "event")]
    yield (
        "codes",
        "en",
        "How many codes does the list rejection have in the Netherlands?",
        [len({r["code"] for r in codes("nl", "rejection")})],
    )
    yield "codes", "fr", "Combien de codes la liste segment compte-t-elle ?", [len(codes("fr", "segment"))]
    count = "SELECT count(*) FROM kernel_message"
    yield "store", "en", "How many messages wait in quarantine?", {"sql": f"{count} WHERE state = 'quarantined'"}
    yield (
        "store",
        "fr",
        "Combien de messages sont rejetés en France ?",
        {"sql": f"{count} WHERE state = 'rejected' AND market = 'FR'"},
    )
    yield (
        "store",
        "nl",
        "Hoeveel berichten uit Nederland zijn aanvaard?",
        {"sql": f"{count} WHERE state = 'accepted' AND market = 'NL'"},
    )
    yield (
        "store",
        "en",
        "How many R15 readings were received?",
        {"sql": f"{count} WHERE market_type = 'R15' AND kind = 'MeterReading'"},
    )
    yield (
        "store",
        "en",
        "How many messages have FR-P01?",
        {"sql": "SELECT count(DISTINCT message_id) FROM finding WHERE error_code = 'FR-P01' AND current"},
    )
    yield (
        "store",
        "fr",
        "Combien de demandes sont terminées ?",
        {"sql": "SELECT count(*) FROM outgoing WHERE state = 'done'"},
    )
    yield "store", "en", "How many envelopes failed?", {"sql": "SELECT count(*) FROM envelope WHERE state = 'failed'"}
    yield "passages", "en", "How long is an error report available?", None
    yield "passages", "en", "How many digits does a French postal code have?", None
    yield "passages", "fr", "Pourquoi un relevé R151 est-il rejeté quand l'index diminue ?", None
    yield "passages", "nl", "Hoe wordt een sleutel vernieuwd?", None
    yield "passages", "en", "Who may sign in to the console?", None
    yield "passages", "fr", "Combien coûte un changement de fournisseur ?", None


def plain(question: str) -> str:
    """A question as sets are compared by."""
    return " ".join(question.casefold().split())


def write() -> None:
    """Write the questions with the gold of today's files; one that the other set has too is left out."""
    other = QUESTIONS.with_name("worked_unseen.jsonl")
    found = other.read_text("utf-8").splitlines() if other.is_file() else []
    unseen = {plain(str(json.loads(line).get("question", ""))) for line in found if line.startswith("{")}
    lines = [
        json.dumps(
            {"id": f"{kind}-{number}", "kind": kind, "language": language, "question": question, "gold": gold},
            ensure_ascii=False,
        )
        for number, (kind, language, question, gold) in enumerate(questions(), start=1)
        if plain(question) not in unseen
    ]
    QUESTIONS.write_text("\n".join(lines) + "\n", "utf-8")


def right(given: tuple[Any, ...] | None, gold: Any) -> bool:
    """Whether values are those of the gold, in any order; None is a question for the passages."""
    if gold is None or given is None:
        return gold is None and given is None
    return Counter(map(str, given)) == Counter(map(str, gold))


def measure(database: str | None) -> list[str]:
    """Ask every question; the lines of the report."""
    from sqlalchemy import create_engine, text

    from assistant.operations.house import House
    from energycomm.config import load

    config = load()
    house = House(
        config if database is None else config.model_copy(update={"database": type(config.database)(database)})
    )
    good: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    lines = []
    for line in QUESTIONS.read_text("utf-8").splitlines():
        item = json.loads(line)
        gold = item["gold"]
        if isinstance(gold, dict):
            if database is None:
                continue
            with create_engine(database).connect() as connection:
                gold = [connection.execute(text(gold["sql"])).scalar_one()]
        reply = house.reply(item["question"])
        given = reply.answers[0].values if reply is not None and reply.answers else None
        asked[item["kind"]] += 1
        if right(given, gold):
            good[item["kind"]] += 1
        else:
            lines.append(f"{item['id']}: {item['question']} gold {str(gold)[:80]} given {str(given)[:80]}")
    total = f"{sum(good.values())} of {sum(asked.values())}"
    return [*lines, *(f"{kind}: {good[kind]} of {number}" for kind, number in asked.items()), total]


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"]:
        write()
    else:
        place = sys.argv[sys.argv.index("--database") + 1] if "--database" in sys.argv else None
        print("\n".join(measure(place)))
