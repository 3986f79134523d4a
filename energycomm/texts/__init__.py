"""What readers see in their own language: gettext catalogues, one `.po` file a language, and how a text is marked."""

from __future__ import annotations


def wording(text: str) -> str:
    """Marks an English text that is kept under a name and translated only where it is shown, for the extraction.

    Args:
      text: the text, written out.

    Returns:
      The text, unchanged.
    """
    return text


def wordings(one: str, several: str) -> tuple[str, str]:
    """Marks a text that goes with a number, as `wording` does: its forms for one and for several.

    Args:
      one, several: the forms, written out, with `{n}` for the number.

    Returns:
      The forms, unchanged.
    """
    return one, several
