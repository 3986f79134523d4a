"""How a field of a Kernel message is declared: once, with all that is known of it.

kernel.xsd, the codec, the types of rule expressions, the facts of the history, the domain tables and their rows, the
view of the API, the labels of the console and docs/fields.md are made from it.
"""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

from msgspec import Meta

DECLARED = "declared"
"""Where a declaration stands in the `extra` of its annotation."""


Personal = Literal["name", "contact", "trait"]
"""What a field tells of a customer: `name`, the words that people call one by; `contact`, what leads to one; `trait`,
what says something of one and finds nobody. Names and contacts are looked for in every text of the store, traits are
known by their field alone (`energycomm.kernel.personal`)."""


class Declared(NamedTuple):
    """The declaration of a field, besides its name and type.

    Attributes:
      english, french: what it is.
      unit: unit of its values; the name of another field where that tells it.
      kept: column of the domain table of its kind that keeps it.
      known_as: fact of the history that holds the value that was stated last.
      item: of a field that holds several parts, what one is called: the element of Kernel XML and the word of rules.
      personal: what it tells of a customer, of a field of a message; of a part, what it tells where the field that
        holds the part is personal.
    """

    english: str = ""
    french: str = ""
    unit: str | None = None
    kept: str | None = None
    known_as: str | None = None
    item: str = ""
    personal: Personal | None = None

    def label(self, language: str) -> str:
        """Short description in a language: fr, else English."""
        words = self.french if language == "fr" else self.english
        return re.split(r"\s*(?:[,;:(]|\.$)", words, maxsplit=1)[0]


class Kept(NamedTuple):
    """Where accepted messages of a kind are kept.

    Attributes:
      table: the domain table; with blanks, its English name.
      french: its French name.
      subject: word of the address under which the API shows them; None: it shows them in another way.
      searched: columns that an index serves, of a kind that belongs to no access point.
      head: column -> field of the head that it keeps.
      whole: a column `content` keeps all fields of the kind, as JSON.
    """

    table: str
    french: str
    subject: str | None = None
    searched: tuple[str, ...] = ()
    head: dict[str, str] = {}  # noqa: RUF012 - never changed
    whole: bool = False


def field(
    english: str,
    french: str,
    *,
    unit: str | None = None,
    kept: str | None = None,
    known_as: str | None = None,
    item: str = "",
    personal: Personal | None = None,
    longest: int | None = None,
    pattern: str | None = None,
) -> Meta:
    """The declaration of a field, for its annotation.

    Args:
      english, french: what it is, in a sentence; up to its first comma or colon it is the label of people's pages.
      unit: unit of its values; the name of another field where that tells it.
      kept: column of the domain table of its kind (`Kept`) that keeps it.
      known_as: fact of the history that holds the value that was stated last.
      item: of a field that holds several parts, what one is called, in the singular.
      personal: what it tells of a customer.
      longest: how many characters or parts it may hold, where its type does not say.
      pattern: regular expression of its text.
    """
    declared = Declared(english, french, unit, kept, known_as, item, personal)
    return Meta(description=english, extra={DECLARED: declared}, max_length=longest, pattern=pattern)


def declared_in(extra: dict[str, Any]) -> Declared:
    """The declaration in the `extra` of an annotation, which loses it."""
    found: Declared = extra.pop(DECLARED, Declared())
    return found
