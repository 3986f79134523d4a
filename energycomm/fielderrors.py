"""What is wrong with a value of a command, a parameter or a setting, in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Pydantic's own sentences are for programmers.
WORDS = {
    "missing": "it is missing",
    "extra_forbidden": "there is no such field",
    "int_parsing": "a whole number was expected, such as 10",
    "int_type": "a whole number was expected, such as 10",
    "int_from_float": "a whole number was expected, such as 10",
    "float_parsing": "a number was expected, such as 0.5",
    "float_type": "a number was expected, such as 0.5",
    "decimal_parsing": "a number was expected, such as 0.5",
    "decimal_type": "a number was expected, such as 0.5",
    "bool_parsing": "true or false was expected",
    "bool_type": "true or false was expected",
    "string_type": "a text was expected",
    "list_type": "a list was expected",
    "tuple_type": "a list was expected",
    "dict_type": "a table of names and values was expected",
    "model_attributes_type": "an object of names and values was expected",
    "model_type": "a table of names and values was expected",
    "date_parsing": "a day was expected, as 2025-01-31",
    "date_from_datetime_parsing": "a day was expected, as 2025-01-31",
    "date_from_datetime_inexact": "a day was expected, as 2025-01-31",
    "datetime_parsing": "a day or an instant was expected, as 2025-01-31 or 2025-01-31T12:00:00+01:00",
    "datetime_from_date_parsing": "a day or an instant was expected, as 2025-01-31 or 2025-01-31T12:00:00+01:00",
    "datetime_object_invalid": "a day or an instant was expected, as 2025-01-31 or 2025-01-31T12:00:00+01:00",
    "greater_than_equal": "at least {ge} was expected",
    "greater_than": "more than {gt} was expected",
    "less_than_equal": "at most {le} was expected",
    "less_than": "less than {lt} was expected",
    "string_too_long": "at most {max_length} characters are allowed",
    "string_too_short": "at least {min_length} characters are needed",
    "too_long": "at most {max_length} items are allowed",
    "too_short": "at least {min_length} items are needed",
    "string_pattern_mismatch": "it has not the form {pattern}",
    "literal_error": "one of {expected} was expected",
    "enum": "one of {expected} was expected",
    "union_tag_invalid": "{discriminator} is '{tag}', one of {expected_tags} was expected",
}
"""Kind of mistake of pydantic -> words, with the names of its context."""


def in_words(mistake: Mapping[str, Any]) -> str:
    """What is wrong with a value, one clause that ends with a full stop.

    Args:
      mistake: one of the errors of pydantic's `ValidationError`.
    """
    words = WORDS.get(str(mistake["type"]))
    if words is None:
        words = str(mistake["msg"]).removeprefix("Value error, ")
    else:
        words = words.format_map(mistake.get("ctx", {}))
    return words if words.endswith((".", "?")) else f"{words}."
