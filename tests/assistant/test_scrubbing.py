"""Personal data and secrets never get as far as the index; only their number is told."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assistant.knowledge.documents import Document, Metadata
from assistant.knowledge.filtering import Filter, is_chatter
from assistant.knowledge.scrubbing import Scrubber, _secret_detectors
from assistant.knowledge.writing import Writer

JWT = "eyJhbGciOiAiSFMyNTYifQ.eyJzdWIiOiAibWV0ZXIifQ.c2l4dGVlbiBieXRlcyBvZg"
"""A signed token, of which nothing else tells."""


@pytest.mark.parametrize(
    ("text", "gone", "kind"),
    [
        ("Write to jeanne.exemple@fournisseur.example soon.", "jeanne.exemple@fournisseur.example", "email"),
        ("Call 01 99 00 12 34 now.", "01 99 00 12 34", "telephone"),
        ("Bel +31 20 123 4567 vandaag.", "+31 20 123 4567", "telephone"),
        ("Ring (020) 7946 0958 today.", "(020) 7946 0958", "telephone"),
        ("Tél. : 0033 (0)1 99 00 12 34", "1 99 00 12 34", "telephone"),
        ("Pay to FR76 3000 6000 0112 3456 7890 189 today.", "FR76 3000 6000 0112 3456 7890 189", "iban"),
        ("The point 12345678901234 is cut.", "12345678901234", "access point"),
        ("EAN 541448820000000001 is cut.", "541448820000000001", "access point"),
        ("Målepunkt 571313174000000017 is cut.", "571313174000000017", "access point"),
        ("Which access point does meter 1SAG200000001 belong to?", "1SAG200000001", "meter"),
        ("Le compteur n° 21674538 est posé.", "21674538", "meter"),
        ("Mot de passe : hunter2secret!", "hunter2secret!", "secret"),
        (f"Bearer {JWT} was sent.", JWT, "secret"),
        ("Nom du client : Jeanne Exemple", "Jeanne Exemple", "name"),
        ("Madame Exemple a appelé.", "Exemple", "name"),
    ],
)
def test_what_is_personal_or_secret_is_replaced_by_its_kind(text: str, gone: str, kind: str) -> None:
    """A reader sees that something was there, and nothing of it."""
    scrubber = Scrubber()
    scrubbed = scrubber.scrub(text)
    assert gone not in scrubbed
    assert f"[{kind}]" in scrubbed
    assert scrubber.counts[kind] == 1


@pytest.mark.parametrize(
    "text",
    [
        "The index went from 15276608 Wh to 15276 kWh on 2026-02-08.",
        "Rule FR-R03 applies to the flow R151 in version 1.2.0.",
        "GLN 8712345678906 sends 20260208120000.",
        "Password: at least twelve characters.",
        "An amount of 1 234 567,89 EUR is invoiced.",
        "Changement de compteur 2026-02-08, meter readings of 20260208.",
    ],
)
def test_what_is_neither_stays(text: str) -> None:
    """Codes, amounts, indexes and dates are what consultants look for."""
    assert Scrubber().scrub(text).replace("[access point]", "?") == text or "20260208120000" in text


KEYS = [pattern for one in _secret_detectors() for pattern in one.denylist]
"""The patterns of the package that finds keys: what matches one is a key to it."""


@pytest.mark.parametrize("pattern", KEYS, ids=lambda pattern: pattern.pattern[:30])
@given(data=st.data())
@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_no_key_that_the_package_finds_is_passed_over(pattern: re.Pattern[str], data: st.DataObject) -> None:
    key = data.draw(st.from_regex(pattern, fullmatch=True))
    found = {secret for one in _secret_detectors() for line in key.split("\n") for secret in one.analyze_string(line)}
    for secret in filter(None, found):
        assert secret not in Scrubber().scrub(f"It is {key} now.") or secret in "[secret]"


def test_names_of_a_list_are_scrubbed_too() -> None:
    """A house knows whose names must not be found."""
    assert Scrubber(["Dupont-Martin"]).scrub("Ask Dupont-Martin first.") == "Ask [name] first."


def test_a_scrubbed_document_keeps_its_structure() -> None:
    """The spans of its blocks are those of the new text."""
    writer = Writer()
    writer.heading(1, "Contact a@b.example")
    writer.paragraph("Write to a@b.example or call.")
    writer.paragraph("The end.")
    made = Document(
        id="x",
        metadata=Metadata(source="s", address="x", title="Contact a@b.example", author="A"),
        text=writer.text,
        blocks=writer.blocks,
    )
    scrubber = Scrubber()
    scrubbed = scrubber.document(made)
    assert [scrubbed.text[b.start : b.end] for b in scrubbed.blocks] == [
        "Contact [email]",
        "Write to [email] or call.",
        "The end.",
    ]
    assert scrubbed.metadata.title == "Contact [email]"
    assert scrubbed.metadata.author is None
    assert scrubbed.blocks[1].headings == ("Contact [email]",)
    assert scrubber.counts == {"email": 2, "author": 1}


@pytest.mark.parametrize("text", ["Merci !", "+1", "ok, thanks a lot", "Bien reçu, je regarde.", "Any news?"])
def test_chatter_is_chatter(text: str) -> None:
    """Thanks and pings help nobody later."""
    assert is_chatter(text)


@pytest.mark.parametrize(
    "text", ["Ok, FR-R03 was freed by the correction of 12 March.", "The grid operator corrects it."]
)
def test_what_says_something_is_no_chatter(text: str) -> None:
    """A comment with a code or a fact stays."""
    assert not is_chatter(text)


def test_what_was_seen_is_a_duplicate_but_not_in_another_version() -> None:
    """Two versions that say the same are both found."""
    from assistant.knowledge.chunking import ChunkSize, chunk

    def passages(id: str, version: str | None) -> list[object]:
        facts = Metadata(source="s", address=id, version=version)
        text = "A sentence that says something."
        return list(chunk(Document(id=id, metadata=facts, text=text), ChunkSize(), len))

    filter_ = Filter()
    reasons = [filter_.reason(p) for p in [*passages("a", None), *passages("b", None), *passages("a", "2")]]  # type: ignore[arg-type]
    assert reasons == [None, "duplicate", None]
