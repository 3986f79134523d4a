"""Words of Enedis as they are compared: guides and exports differ in accents, case, blanks and encoding."""

from __future__ import annotations

import unicodedata
from functools import lru_cache


@lru_cache(maxsize=4096)
def plain(text: str) -> str:
    """A word without accents, in lower case, with single blanks; one that was encoded in UTF-8 twice is repaired.

    >>> plain("  Étape  MÃ©tier ")
    'etape metier'
    """
    for encoding in ("cp1252", "latin-1"):
        try:
            text = text.encode(encoding).decode("utf-8")
            break
        except UnicodeError:
            continue
    letters = unicodedata.normalize("NFKD", text.replace("’", "'").replace("_", " "))
    return " ".join("".join(one for one in letters if not unicodedata.combining(one)).lower().split())
