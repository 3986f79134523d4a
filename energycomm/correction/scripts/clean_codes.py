"""Takes stray blanks, odd dashes and invisible signs out of the fields that rules refuse.

A blank before or after a code, a dash of a word processor for a hyphen, a mark of writing direction: a person does not
see them and a rule refuses them. Only fields that a finding names are touched, so that names and addresses stay as the
market wrote them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

from energycomm.correction.cases import Case
from energycomm.correction.neighbours import change_texts, content_of, rebuilt
from energycomm.correction.script import Modify, Script, Selection

SCRIPT = Script(
    title="Stray blanks and signs in codes",
    selection=Selection(states=("rejected", "ticketed", "delegated")),
)


def correct(case: Case, parameters: Mapping[str, str]) -> Modify | None:
    """The message with the refused fields cleaned."""
    fields = {found.field for found in case.findings if found.severity == "error"}
    content = content_of(case.message)
    if not fields or not change_texts(content, fields, cleaned):
        return None
    return Modify(rebuilt(content), f"stray signs taken out of {', '.join(sorted(fields))}")


def cleaned(text: str) -> str:
    """A code without invisible characters; its dashes become hyphens."""
    plain = unicodedata.normalize("NFKC", text)
    signs = ["-" if unicodedata.category(sign) == "Pd" else sign for sign in plain]
    return "".join(sign for sign in signs if unicodedata.category(sign) not in ("Cf", "Cc")).strip()
