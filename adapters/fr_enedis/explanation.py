"""Explains one refused CH message to a person: every schema error, found by `xmlschema`.

The check on the way in uses libxml2 and stops looking where a parent's content is broken; this one is some hundred
times slower, reads the same schema files and goes on.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from lxml import etree

from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.syntax import FOLDER, Schema, in_words
from energycomm.kernel.verdicts import Refusal

if TYPE_CHECKING:
    import xmlschema


@cache
def _thorough(name: str) -> xmlschema.XMLSchema:
    # Imported only when a person asks: it takes longer than digesting a whole file.
    import xmlschema

    return xmlschema.XMLSchema(str(FOLDER / name), allow="local", defuse="always")


def explain(schema: Schema, element: etree._Element) -> list[Refusal]:
    """Every schema error of an element, in the order of the document.

    Args:
      schema: our schema of the element.
      element: a CH message.
    """
    found: dict[tuple[str, str], Refusal] = {}
    for error in _thorough(schema.name).iter_errors(element):
        explained = _explained(error, element, schema.known())
        kind = "value" if explained.code in ("SYN_VALUE", "SYN_CODE") else explained.code
        # A value that breaks two facets of its type is one mistake; two elements too many are two.
        found.setdefault((explained.path, kind + ("" if kind == "value" else explained.value or "")), explained)
    return list(found.values())


def _explained(error: xmlschema.XMLSchemaValidationError, element: etree._Element, known: frozenset[str]) -> Refusal:
    path = error.path or f"/{element.tag}"
    reason = (error.reason or error.message or "").strip().splitlines()[0]
    invalid = getattr(error, "invalid_tag", None)
    expected = getattr(error, "expected", None)
    if invalid is not None:
        code = "SYN_UNEXPECTED" if invalid in known else "NOTE_ELEMENT_UNKNOWN"
        return refusal(code, path=f"{path}/{invalid}", value=str(invalid), expected=_names(expected) or reason)
    if expected is not None:
        return refusal("SYN_MISSING", path=path, expected=_names(expected) or reason)
    obj = error.obj
    value = obj if isinstance(obj, str) else getattr(error.elem, "text", None)
    if "attribute" in reason:
        return refusal("SYN_MISSING" if "missing" in reason else "NOTE_ELEMENT_UNKNOWN", path=path, expected=reason)
    enumeration = getattr(error.validator, "enumeration", None)
    if enumeration:
        return refusal("SYN_CODE", path=path, value=value, expected="one of " + ", ".join(map(str, enumeration)))
    name = getattr(error.validator, "prefixed_name", None) or getattr(error.validator, "local_name", None)
    return refusal("SYN_VALUE", path=path, value=value, expected=in_words(name) or reason)


def _names(expected: object) -> str:
    if expected is None or isinstance(expected, str):
        return expected or ""
    names = []
    for particle in expected if isinstance(expected, list | tuple) else [expected]:
        name = getattr(particle, "local_name", None) or getattr(particle, "name", None)
        names.append(str(name or particle))
    return ", ".join(names)
