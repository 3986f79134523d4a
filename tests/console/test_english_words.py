"""What French and Dutch readers see has no English words: pages, refusals of the API, conditions of rules, alarms.

The words that are looked for join an English sentence together, and are neither French nor Dutch.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from energycomm.config import Config
from energycomm.correction.library import read_scripts
from energycomm.daemon.alarming import subject_of, text_of, told
from energycomm.daemon.alarms import BY_CODE
from energycomm.daemon.clock import ClockWatch
from energycomm.daemon.watching import HOUR, watch_host
from energycomm.eis.alarm_states import Known
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.wording import condition_in_words
from energycomm.kernel.instants import now_micros
from energycomm.texts.catalogues import translate, translate_sentence
from energycomm.transport.channel import TechnicalError
from energycomm.transport.codes import ADVICE
from energycomm.webservice.problems import PROBLEMS, Problem
from energycomm.webservice.roles import Role
from tests.console.scene import Visitor
from tests.console.test_languages import VOID, pages
from tests.servers.authority import Authority
from tests.webservice.conftest import Site

JOINING = re.compile(
    r"\b(the|not|and|which|that|from|are|has|have|were|its|this|to|by|with|than|does|cannot|only|already|it|they|when|"
    r"where|there|nothing|another|must|should|would)\b",
    re.IGNORECASE,
)
"""Words that no French or Dutch sentence has."""

CODE = re.compile(r"^\w+: |(?:Connus :|Bekend zijn:) .*|`[^`]*`|'[^']*'|“[^”]*”|\"[^\"]*\"|\S*[_@/=.:-]\w\S*")
"""What is quoted, and identifiers: the names that there are, `where` of SQL, a name of a script, an address."""


def english(text: str) -> list[str]:
    """The English words of a text."""
    return JOINING.findall(CODE.sub(" ", text.replace("’", "'").replace("d'", "").replace("l'", "")))


class Reader(HTMLParser):
    """What a reader sees of a page, each text by itself; code and data that are said to be such are left out.

    `lang="en"` is no excuse.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._open: list[tuple[str, bool]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        silent = tag in ("script", "style", "code", "pre", "kbd", "textarea") or named.get("translate") == "no"
        if tag not in VOID:
            self._open.append((tag, silent or any(one for _, one in self._open)))
        if not silent:
            self.texts += [
                str(named[name]) for name in ("aria-label", "title", "placeholder", "alt") if named.get(name)
            ]

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not any(silent for _, silent in self._open):
            self.texts.append(data)


def lines_with_english(visitor: Visitor, market_texts: frozenset[str] = frozenset()) -> tuple[dict[str, str], int]:
    """Text -> page, of everything English that a walk through the console meets; and how many pages it saw."""
    found: dict[str, str] = {}
    seen = 0
    for path, html in pages(visitor):
        seen += 1
        for text in Reader(html).texts:
            plain = " ".join(text.split())
            if english(plain) and plain not in market_texts:
                found.setdefault(plain, path)
    return found, seen


def every_state(file: Path) -> None:
    """Stuck messages of the store in each state that there is, each way of waiting among them."""
    with sqlite3.connect(file) as connection:
        numbers = [number for (number,) in connection.execute("SELECT id FROM kernel_message ORDER BY id")]
        states = (
            "engine_error",
            "ticketed",
            "delegated",
            "to_replay",
            "withdrawn",
            "treated",
            "quarantined",
            "rejected",
        )
        waits = ("original reading", "StartOfSupply of the contract", "EndOfSupply of the running contract")
        for number, state in zip(numbers[::-1], states, strict=False):
            waiting = waits[number % len(waits)] if state == "quarantined" else None
            connection.execute(
                "UPDATE kernel_message SET state = ?, waits_for = ? WHERE id = ?", (state, waiting, number)
            )
    connection.close()


def foreign_rules(catalogue: Catalogue, language: str) -> frozenset[str]:
    """Titles, sentences and comments of a market that does not speak the language: they are read in English."""
    told = (
        text
        for rule in catalogue.rules
        for text in (rule.title, rule.sentence, rule.comment["en"].text if rule.comment else "")
        if translate(text, language, FOLDERS) == text
    )
    return frozenset(" ".join(text.split()) for text in told)


ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (ROOT / "rules" / "texts",)


@pytest.mark.thorough
@pytest.mark.parametrize("language", ["fr", "nl"])
def test_no_page_has_an_english_sentence(lite: Site, language: str, tmp_path: Path) -> None:
    every_state(tmp_path / "eis.db")
    visitor = Visitor(lite, *Role)
    visitor.client.headers["accept-language"] = language
    catalogue = lite.app.state.services.gateway.catalogue
    found, seen = lines_with_english(visitor, foreign_rules(catalogue, language))
    assert found == {}, "\n".join(f"{path}: {text}" for text, path in found.items())
    assert seen > 40


@pytest.mark.thorough
def test_the_walk_finds_one_english_sentence(lite: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """One text of the front page is shown as it stands in the program."""
    from energycomm.console import view
    from energycomm.texts.catalogues import translate as real

    def forgetful(text: str, language: str, folders: tuple[Path, ...] = ()) -> str:
        return (
            "This is not the text that was meant." if text == "Skip to the content" else real(text, language, folders)
        )

    monkeypatch.setattr(view, "translate", forgetful)
    visitor = Visitor(lite, *Role)
    visitor.client.headers["accept-language"] = "fr"
    found, _ = lines_with_english(visitor)
    assert "This is not the text that was meant." in found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Le message 7 attend la fin du contrat.", []),
        ("De meterstand is niet van deze aansluiting, en de netbeheerder is op de hoogte.", []),
        ("`energycomm eis verify` montre 'the row'", []),
        ("Le message is not the last", ["not", "the"]),
        ("Het bericht waits and is refused by a rule", ["and", "by"]),
    ],
)
def test_english_is_told_from_french_and_dutch(text: str, words: list[str]) -> None:
    assert english(text) == words


@pytest.mark.thorough
@pytest.mark.parametrize("language", ["fr", "nl"])
def test_a_refusal_of_the_api_is_in_the_language_that_is_asked_for(lite: Site, language: str) -> None:
    """Every route, with objects that do not exist, parameters that it does not have, and values that are none."""
    client = TestClient(lite.app, base_url="http://gateway.test")
    client.headers["accept-language"] = f"{language}, en;q=0.5"
    refusals = [client.get("/api/v1/messages")]
    client.headers["authorization"] = f"Bearer {lite.token(*Role)}"
    for path, query in asked(lite.app.openapi()):
        refusals.append(client.get(f"{path}?{query}"))
    refusals.append(
        client.post("/api/v1/corrections/campaigns", content=b"{", headers={"content-type": "application/json"})
    )
    refusals.append(client.post("/api/v1/corrections/campaigns", json={"script": 7, "odd": True}))
    refusals.append(client.post("/api/v1/corrections/campaigns", content=b"a", headers={"content-type": "text/plain"}))
    refusals.append(client.delete("/api/v1/messages"))
    met: set[str] = set()
    left: dict[str, str] = {}
    for one in refusals:
        if not one.headers.get("content-type", "").startswith("application/problem+json"):
            continue
        problem = one.json()
        met.add(problem["code"])
        assert one.headers["content-language"] == language
        assert problem["title"] == translate(PROBLEMS[problem["code"]][1], language) != PROBLEMS[problem["code"]][1]
        told = [problem["title"], problem["detail"], problem.get("advice", "")]
        told += [words for mistake in problem.get("errors", ()) for words in spoken(mistake)]
        left |= {text: str(one.request.url) for text in told if english(text)}
    assert left == {}, "\n".join(f"{url}: {text}" for text, url in left.items())
    assert met >= {"API_NOT_FOUND", "API_INVALID", "API_NOT_SIGNED_IN", "API_METHOD"}


def spoken(mistake: dict[str, str]) -> Iterator[str]:
    yield from (mistake.get(name, "") for name in ("detail", "expected", "advice"))


def asked(document: dict[str, object]) -> Iterator[tuple[str, str]]:
    """Addresses of the API that name nothing, and queries that nobody understands."""
    paths: dict[str, dict[str, dict[str, list[dict[str, str]]]]] = json.loads(json.dumps(document["paths"]))
    for path, methods in paths.items():
        if "get" not in methods or "/events" in path:
            continue
        place = re.sub(r"{\w+}", "999999", path)
        yield place, "no-such=1"
        if place != path:
            yield place, ""
        for parameter in methods["get"].get("parameters", []):
            if parameter["in"] == "query":
                yield place, f"{parameter['name']}=nonsense"


@pytest.mark.parametrize("language", ["fr", "nl"])
@pytest.mark.parametrize("code", PROBLEMS)
def test_every_code_has_its_words(code: str, language: str) -> None:
    details = Problem(code).details("/api/v1/messages", lambda text: translate_sentence(text, language))
    title = PROBLEMS[code][1]
    assert details.title == details.detail != title
    assert english(title) or translate_sentence(title, language) != title
    assert english(details.title) == []


@pytest.mark.parametrize("language", ["fr", "nl"])
def test_the_condition_of_every_rule_is_told_in_the_readers_words(lite: Site, language: str) -> None:
    catalogue = lite.app.state.services.gateway.catalogue
    told = {rule.code: condition_in_words(rule, language) for rule in catalogue.rules}
    assert {code: words for code, words in told.items() if english(words)} == {}
    assert len(told) > 500


@pytest.mark.parametrize("language", ["fr", "nl"])
def test_what_a_script_says_of_itself_is_translated(lite: Site, language: str) -> None:
    folders = lite.app.state.services.texts
    scripts = read_scripts().values()
    texts = [text for one in scripts for text in (one.declared.title, *one.told)]
    texts += [parameter.help for one in scripts for parameter in one.declared.parameters]
    assert [text for text in texts if translate(text, language, folders) == text] == []
    assert len(scripts) > 20


@pytest.mark.parametrize(
    ("sentence", "french", "dutch"),
    [
        (
            "start of contract K1 deduced from 2 waiting messages",
            "début du contrat K1 déduit de 2 messages en attente",
            "begin van contract K1 afgeleid uit 2 wachtende berichten",
        ),
        (
            "XML_TRUNCATED: expected the document to its end",
            "XML_TRUNCATED : attendu le document jusqu'à sa fin",
            "XML_TRUNCATED: verwacht het document tot het eind",
        ),
        (
            "TURPE 7, from 2025-08-01 to 2026-07-31; TURPE 8, from 2026-08-01",
            "TURPE 7, du 2025-08-01 au 2026-07-31; TURPE 8, à partir du 2026-08-01",
            "TURPE 7, van 2025-08-01 tot 2026-07-31; TURPE 8, vanaf 2026-08-01",
        ),
        (
            "BASE (DI000001) of the distributor's grid has no reading on 2026-01-10: 45278 kWh is interpolated from "
            "2026-01-05 and 2026-02-03.",
            "BASE (DI000001) de la grille du distributeur : aucun relevé au 2026-01-10 ; 45278 kWh interpolés entre le "
            "2026-01-05 et le 2026-02-03.",
            "BASE (DI000001) van het rooster van de netbeheerder heeft geen meterstand op 2026-01-10: 45278 kWh is "
            "geïnterpoleerd uit 2026-01-05 en 2026-02-03.",
        ),
        ("one of supplier, XYZ", "un de : supplier, XYZ", "een van supplier, XYZ"),
        (
            "'x' is no state of a ticket. Known are: open, closed.",
            "'x' n'est pas un état de ticket. Connus : open, closed.",
            "'x' is geen status van een ticket. Bekend zijn: open, closed.",
        ),
    ],
)
def test_a_value_of_a_sentence_is_told_as_well(sentence: str, french: str, dutch: str) -> None:
    """A sentence in a sentence, what is counted, the items of a list."""
    assert translate_sentence(sentence, "fr") == french
    assert translate_sentence(sentence, "nl") == dutch


@pytest.mark.parametrize(
    ("language", "subject", "says"),
    [
        ("en", "EnergyComm: DISK_LOW /srv", "Do: "),
        ("fr", "EnergyComm: DISK_LOW /srv", "À faire : "),
        ("nl", "EnergyComm: DISK_LOW /srv", "Te doen: "),
    ],
)
def test_an_alarm_is_mailed_in_the_language_of_those_who_are_told(language: str, subject: str, says: str) -> None:
    known = Known(since=0, detail="4.2 % of /srv are free, 12 MB")
    alarm = told(("DISK_LOW", "/srv"), "on", known, language)
    assert subject_of([alarm], language) == subject
    text = text_of([alarm], language)
    assert says in text
    assert (english(text) == []) == (language != "en")


@pytest.mark.parametrize("language", ["fr", "nl"])
def test_what_alarms_is_told_in_the_language_of_those_who_are_told(language: str, tmp_path: Path) -> None:
    """The parts that this program says; those of the system (`Connection refused`) are its own."""
    authority = Authority(tmp_path)
    files = [authority.issue("soon"), authority.issue("ended", expired=True)]
    channels = [
        {"name": f"c{number}", "market": "NL", "kind": "soap", "url": "https://x.example/"}
        | {"certificate_file": str(certificate), "key_file": str(key)}
        for number, (certificate, key) in enumerate(files)
    ]
    config = Config.model_validate({"database": f"sqlite:///{tmp_path}/x.db", "channels": channels})
    certificates = {
        words for (code, _), words in watch_host(config, now_micros()).items() if code == "CERTIFICATE_ENDS"
    }
    assert len(certificates) == 2
    watch = ClockWatch(wall=iter((0, 7 * HOUR)).__next__, even=lambda: 0.0)
    back = ClockWatch(wall=iter((7 * HOUR, 0)).__next__, even=lambda: 0.0)
    errors = (str(TechnicalError(code=code, channel="enedis", detail="[Errno 111]")) for code in ADVICE)
    details = [*certificates, *errors, watch.trouble(0) or "", back.trouble(0) or ""]
    words = [told(("DISK_LOW", "x"), "on", Known(since=0, detail=detail), language).detail for detail in details]
    assert [(before, after) for before, after in zip(details, words, strict=True) if after == before] == []
    assert [after for after in words if english(after)] == []


@pytest.mark.parametrize("language", ["fr", "nl"])
def test_every_alarm_has_its_meaning_and_advice(language: str) -> None:
    known = Known(since=0, detail="")
    alarms = [told((code, "x"), "over", known, language) for code in BY_CODE]
    assert [one.code for one in alarms if english(one.meaning) or english(one.advice)] == []
