"""Personal data and secrets are taken out before anything is stored or embedded; only their number is kept.

E-mail addresses and names by patterns, telephone numbers by phonenumbers, IBANs by python-stdnum (check digits hold),
keys and tokens by the detectors of detect-secrets; access points by their length. Each is replaced by its kind in
brackets, so that a reader sees that something was there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

import msgspec

from assistant.extras import installed
from assistant.knowledge.documents import Block, Document

REGIONS = ("FR", "BE", "NL", "DE", "GB")
"""Countries whose telephone numbers are known without their prefix."""

PACKAGES = ("phonenumbers", "stdnum")
"""Modules without which personal data are not known, so that nothing may be written."""

Span = tuple[int, int]

_DIALLED = re.compile(r"(?:[+\uff0b]|0)(?:\W{0,4}\d){5}")
"""How every number begins that is taken for a telephone's; looking for numbers costs a hundred times more."""

_KEYED = re.compile(
    r"(?i:aws|xox[a-z]-|hooks\.slack\.com)|A3T|ABIA|ACCA|AKIA|ASIA|AccountKey=|://\S+@|gh[a-z]_|eyJ|"
    r"PRIVATE KEY|PuTTY-User-Key|SG\.|k_live_"
)
"""What stands in every key or token that is found; the package that finds them takes longer to import than an answer
to log."""

_EMAIL = re.compile(r"[\w.+%-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]{2,4}){3,8}\b")
_ACCESS_POINT = re.compile(r"(?<![\w.,/-])(?:\d{14}|\d{18}|\d{2}[ ]\d{3}[ ]\d{3}[ ]\d{3}[ ]\d{3})(?![\w/-]|[.,]\d)")
NUMBER_WORDS = r"(?:number|no\.?|nr\.?|n°|nº|num[ée]ro(?:\s+de\s+s[ée]rie)?|nummer|serial(?:\s+number)?|serienummer)"
"""What stands between a thing and its number."""
METER = re.compile(
    rf"(?i)\b(meter|compteur|serial\s+number|num[ée]ro\s+de\s+s[ée]rie|serienummer|meternummer)\s+"
    rf"(?:(?:with|bearing|avec|portant|met)\s+)?(?:(?:the|le|la|het|de)\s+)?(?:{NUMBER_WORDS}\s*)?"
    r"(?P<value>(?!\d{4}-\d\d|\d{1,2}[/-]\d{1,2}[/-]\d)(?=[\w-]*\d{3})[A-Z0-9][\w-]{4,}[A-Z0-9])(?![\w-])"
)
"""A meter with its serial number, which is no day; questions are taken apart by it, too."""
_PASSWORD = re.compile(
    r"(?i)\b(?:password|passwd|pwd|mot de passe|mdp|wachtwoord|secret|api[_ -]?key|access[_ -]?key|token)\b"
    r"[\"']?\s*(?:[:=]|est|is)\s*[\"']?(?P<value>[^\s\"'<>{}\[\]|]{6,})"
)
_STRONG = re.compile(r"(?=.*[A-Za-z])(?=.*[\d!@#$%^&*_+=])")
_TITLED = re.compile(
    r"\b(?:M\.|Mr\.?|Mrs\.?|Ms\.?|Mme|Mlle|Monsieur|Madame|Dhr\.?|Mevr\.?|Herr|Frau)\s+"
    r"(?P<value>[A-ZÀ-Ý][\w'’-]+(?:\s+[A-ZÀ-Ý][\w'’-]+){0,2})"
)
_FIELD = re.compile(
    r"(?i:\b(?:nom(?: du client| de famille)?|prénom|client|titulaire|interlocuteur|customer(?: name)?|"
    r"contact(?: name)?|"
    r"surname|first name|last name|naam|klant|contactpersoon|kunde|nachname|assignee|reporter))\s*[:=]\s*"
    r"(?P<value>[A-ZÀ-Ý][a-zà-ÿ'’-]+(?:\s+(?:de |van |der |von |le )?[A-ZÀ-Ý][\w'’-]+){1,3}|"
    r"[A-ZÀ-Ý]{2,}\s+[A-ZÀ-Ý][a-zà-ÿ'’-]+)"
)


class Scrubber:
    """Replaces personal data and secrets.

    Attributes:
      counts: kind -> how many were replaced so far; never the values.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.counts: Counter[str] = Counter()
        listed = sorted({name.strip() for name in names if len(name.strip()) > 2}, key=len, reverse=True)
        self._names = re.compile(r"\b(?:" + "|".join(map(re.escape, listed)) + r")\b") if listed else None

    def scrub(self, text: str) -> str:
        """A text without personal data and secrets."""
        if not text:
            return text
        for kind, find in self._detectors():
            spans = sorted(set(find(text)))
            if spans:
                text = self._replaced(text, spans, kind)
        return text

    def spans(self, text: str) -> list[Span]:
        """Where personal data and secrets stand in a text."""
        return sorted({span for _, find in self._detectors() for span in find(text)}) if text else []

    def document(self, document: Document) -> Document:
        """A document without personal data and secrets: text, titles, contexts; the author becomes unknown."""
        parts: list[str] = []
        blocks: list[Block] = []
        length = 0
        end = 0
        for block in document.blocks:
            gap = document.text[end : block.start]
            words = self.scrub(document.text[block.start : block.end])
            start = length + len(gap)
            blocks.append(
                msgspec.structs.replace(
                    block,
                    start=start,
                    end=start + len(words),
                    headings=tuple(self._quiet(title) for title in block.headings),
                    context=self._quiet(block.context),
                )
            )
            parts += [gap, words]
            length = start + len(words)
            end = block.end
        text = "".join(parts) if document.blocks else self.scrub(document.text)
        metadata = document.metadata
        if metadata.author:
            self.counts["author"] += 1
        metadata = msgspec.structs.replace(metadata, author=None, title=self._quiet(metadata.title))
        return msgspec.structs.replace(document, text=text, blocks=tuple(blocks), metadata=metadata)

    def _quiet(self, text: str) -> str:
        """Scrub without counting what was counted in the text already."""
        counts = self.counts.copy()
        words = self.scrub(text)
        self.counts = counts
        return words

    def _detectors(self) -> Iterator[tuple[str, Callable[[str], Iterable[Span]]]]:
        yield "secret", _secrets
        yield "email", lambda text: (match.span() for match in _EMAIL.finditer(text))
        yield "iban", _ibans
        yield "access point", lambda text: (match.span() for match in _ACCESS_POINT.finditer(text))
        yield "meter", lambda text: (match.span("value") for match in METER.finditer(text))
        yield "telephone", _telephones
        yield "name", self._people

    def _people(self, text: str) -> Iterator[Span]:
        for pattern in (_TITLED, _FIELD):
            for match in pattern.finditer(text):
                yield match.span("value")
        if self._names:
            for match in self._names.finditer(text):
                yield match.span()

    def _replaced(self, text: str, spans: list[Span], kind: str) -> str:
        parts: list[str] = []
        at = 0
        for start, end in spans:
            if start < at:
                continue
            parts += [text[at:start], f"[{kind}]"]
            self.counts[kind] += 1
            at = end
        return "".join(parts) + text[at:]


def _ibans(text: str) -> Iterator[Span]:
    from stdnum import iban

    for match in _IBAN.finditer(text):
        # What follows an IBAN may look like more of it: the longest beginning that is valid counts.
        words = match.group().split(" ")
        for count in range(len(words), 0, -1):
            candidate = " ".join(words[:count])
            if iban.is_valid(candidate):
                yield match.start(), match.start() + len(candidate)
                break


def _telephones(text: str) -> Iterator[Span]:
    if not _DIALLED.search(text) or sum(character.isdigit() for character in text) < 8:
        return
    import phonenumbers

    for region in REGIONS:
        for match in phonenumbers.PhoneNumberMatcher(text, region, leniency=phonenumbers.Leniency.VALID):
            written = match.raw_string
            # A bare run of digits is an amount, a reference or a date rather than a number to call.
            if written.startswith(("+", "00")) or re.fullmatch(r"0\d([ .-]?\d{2}){4}|\(?0\d+\)?[ /.-].+", written):
                yield match.start, match.end


def _secrets(text: str) -> Iterator[Span]:
    for match in _PASSWORD.finditer(text):
        if _STRONG.match(match.group("value")):
            yield match.span("value")
    if not _KEYED.search(text) or not installed("detect_secrets"):
        return
    for line in text.split("\n"):
        for detector in _secret_detectors():
            for secret in detector.analyze_string(line):
                at = text.find(secret) if secret else -1
                while at >= 0:
                    yield at, at + len(secret)
                    at = text.find(secret, at + len(secret))


@lru_cache(maxsize=1)
def _secret_detectors() -> tuple[Any, ...]:
    from detect_secrets.plugins.aws import AWSKeyDetector
    from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
    from detect_secrets.plugins.basic_auth import BasicAuthDetector
    from detect_secrets.plugins.github_token import GitHubTokenDetector
    from detect_secrets.plugins.jwt import JwtTokenDetector
    from detect_secrets.plugins.private_key import PrivateKeyDetector
    from detect_secrets.plugins.sendgrid import SendGridDetector
    from detect_secrets.plugins.slack import SlackDetector
    from detect_secrets.plugins.stripe import StripeDetector

    return (
        AWSKeyDetector(),
        AzureStorageKeyDetector(),
        BasicAuthDetector(),
        GitHubTokenDetector(),
        JwtTokenDetector(),
        PrivateKeyDetector(),
        SendGridDetector(),
        SlackDetector(),
        StripeDetector(),
    )
