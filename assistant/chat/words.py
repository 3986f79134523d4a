"""What the assistant itself says, in the languages it speaks."""

from __future__ import annotations

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "unknown": "I do not know: the sources have no answer.",
        "looked": "I looked at {count} passages. Nearest, without answering it:",
        "nothing": "Nothing is indexed that comes near.",
        "source_in": "source in {named}",
        "missing": "Not answered by the sources: {part}",
        "version": "version {named}",
        "open": "“",
        "close": "”",
        "rule": "Rule",
        "en": "English",
        "fr": "French",
        "nl": "Dutch",
        "de": "German",
        "sources": "Sources",
        "page": "page",
    },
    "fr": {
        "unknown": "Je ne sais pas : les sources ne le disent pas.",
        "looked": "J'ai consulté {count} passages. Les plus proches, qui n'y répondent pas :",
        "nothing": "Rien de proche n'est indexé.",
        "source_in": "source en {named}",
        "missing": "Sans réponse dans les sources : {part}",
        "version": "version {named}",
        "open": "« ",
        "close": " »",
        "rule": "Règle",
        "en": "anglais",
        "fr": "français",
        "nl": "néerlandais",
        "de": "allemand",
        "sources": "Sources",
        "page": "page",
    },
    "nl": {
        "unknown": "Ik weet het niet: de bronnen zeggen het niet.",
        "looked": "Ik heb {count} passages bekeken. Het dichtst erbij, zonder antwoord:",
        "nothing": "Er is niets geïndexeerd dat in de buurt komt.",
        "source_in": "bron in het {named}",
        "missing": "De bronnen geven geen antwoord op: {part}",
        "version": "versie {named}",
        "open": "“",
        "close": "”",
        "rule": "Regel",
        "en": "Engels",
        "fr": "Frans",
        "nl": "Nederlands",
        "de": "Duits",
        "sources": "Bronnen",
        "page": "pagina",
    },
}


def say(language: str, what: str, /, **values: object) -> str:
    """Words in a language; English where it is none of ours."""
    return WORDS.get(language, WORDS["en"])[what].format(**values)


def name_of(language: str | None, within: str) -> str:
    """The name of a language, in another."""
    words = WORDS.get(within, WORDS["en"])
    return words.get(language or "", language or "?")
