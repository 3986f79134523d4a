"""Which language a text is in: English, French, Dutch or German, by its small words and letters."""

from __future__ import annotations

import re
from collections import Counter

LANGUAGES = ("en", "fr", "nl", "de")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SMALL_WORDS: dict[str, frozenset[str]] = {
    "en": _words(
        "the a an of to in is are was were be been not no on for with from by this that these those it its as at or "
        "and which who what when where why how can may must should does do did has have had will would if than then "
        "there their between under per each any all i me my we our us you your he she they them many much about into"
    ),
    "fr": _words(
        "le la les un une des du de et à au aux en est sont était être n ne pas que qui quoi quand où pourquoi comment "
        "pour par sur dans avec sans ce cet cette ces il elle ils se sa son ses leur leurs ou mais si plus d l qu s c "
        "doit peut quel quelle quels quelles lors lorsque entre sous chaque tout tous toute toutes on y a ai ont comme "
        "fait faire faut dont donc car si cela ceci ça aussi même tel telle nos notre nous je j t m vous votre vos "
        "combien puis peuvent doivent dois dit sera soit"
    ),
    "nl": _words(
        "de het een van en in is zijn was waren niet geen op voor met uit door dit dat deze die er als aan of en wat "
        "wie wanneer waar waarom hoe kan mag moet worden wordt heeft hebben zal zou dan naar bij ook tussen elke "
        "welke onder per alle om te hij zij ze wij we ons onze ik mijn jij je u uw men daar hier hoeveel wel nog dus "
        "maar heb ben kunnen moeten mogen krijg doe doet"
    ),
    "de": _words(
        "der die das ein eine einer eines einem einen und in ist sind war nicht kein keine auf für mit aus durch "
        "dies dieser diese dass es als an oder was wer wann wo warum wie kann darf muss werden wird hat haben soll "
        "dann nach bei auch zwischen jede jeder welche welcher unter pro alle um zu von dem den des"
    ),
}
_LETTERS = {"fr": "éèêàçùœîôû", "de": "äöüß", "nl": "ĳ"}
_WORD = re.compile(r"(?<!\w)[^\W\d_]+(?!\w)")
"""The letter of C15 is no word."""


def detect(text: str, default: str | None = None) -> str | None:
    """The language of a text as an ISO 639-1 code.

    Args:
      text: the text; its first 4 000 characters are looked at.
      default: what to say when the text does not tell.
    """
    words = Counter(word.lower() for word in _WORD.findall(text[:4000]))
    total = sum(words.values())
    if not total:
        return default
    scores = {
        language: sum(count for word, count in words.items() if word in small)
        + 0.7 * sum(count for word, count in words.items() if any(c in word for c in _LETTERS.get(language, "")))
        for language, small in SMALL_WORDS.items()
    }
    best, second = sorted(scores.items(), key=lambda item: -item[1])[:2]
    if best[1] == 0 or (best[1] == second[1]):
        return default
    return best[0]


def is_question_word(word: str) -> bool:
    """Whether a word is a small one of any language: it carries no meaning to look for."""
    lowered = word.lower()
    return any(lowered in small for small in SMALL_WORDS.values())
