"""What a schema demands where it refused something, in words of ours, which are translated.

libxml2 and xmlschema say which facet of a type (W3C XML Schema part 2, section 4.3) or which content model was broken,
and its value. That is read out of what they say; what else they say belongs to the details of a refusal.
"""

from __future__ import annotations

import re
from typing import Final

OTHERWISE: Final = "what the schema says of this place"
"""Where a parser says something that is not here."""

_SIGNS = re.compile(r"Decimal\(|\{[^}]*[:/][^}]*\}|['\")]")
"""What parsers write around a value: quotes, namespaces, types of Python."""
_LONGEST = 150
"""Characters of what somebody may read; some patterns are longer."""

DEMANDS: Final = (
    (r"not accepted by the pattern '(.*)'", "text that fits the pattern {0}"),
    (r"doesn't match any pattern of \['(.*)'\]", "text that fits the pattern {0}"),
    (r"is not an element of the set \{(.*)\}", "one of {0}"),
    (r"allowed minimum length of '(\d+)'", "a length of at least {0}"),
    (r"length cannot be lesser than (\d+)", "a length of at least {0}"),
    (r"allowed maximum length of '(\d+)'", "a length of at most {0}"),
    (r"length cannot be greater than (\d+)", "a length of at most {0}"),
    (r"differs from the allowed length of '(\d+)'", "a length of {0}"),
    (r"length has to be (\d+)", "a length of {0}"),
    (r"fractional digits than are allowed \('(\d+)'\)", "no more digits after the decimal point than {0}"),
    (r"number of fraction digits .* (\d+)", "no more digits after the decimal point than {0}"),
    (r"more digits than are allowed \('(\d+)'\)", "no more digits than {0}"),
    (r"number of digits .* (\d+)", "no more digits than {0}"),
    (r"less than the minimum value allowed \('(.*)'\)", "a value of at least {0}"),
    (r"has to be greater or equal than (.+)", "a value of at least {0}"),
    (r"greater than the maximum value allowed \('(.*)'\)", "a value of at most {0}"),
    (r"has to be less than or equal than (.+)", "a value of at most {0}"),
    (r"(?:must|has to) be greater than (.+)", "a value above {0}"),
    (r"(?:must|has to) be less(?:er)? than (.+)", "a value below {0}"),
    (r"[Cc]haracter (?:content|data)", "no text between elements"),
    (r"Element content is not allowed|can't have child elements", "a value and no elements"),
    (r"missing required attribute '([^']+)'|attribute '([^']+)' is required", "the attribute {0}"),
    (r"attribute '[^']+' is not allowed|^'[^']+' attribute not allowed", "no such attribute here"),
    (r"Tags? (.+?) (?:are )?expected|Expected is (?:one of )?\( (.*) \)", "the element {0}"),
    (r"element is not expected|Unexpected child", "no further element here"),
    (r"not a valid value of the [a-z ]*type '(?:\{[^}]*\})?([^']+)'", "a value of type {0}"),
)
"""What a parser says -> what is demanded."""


def demanded(said: str) -> str:
    """What a schema demands at a place that it refused.

    Args:
      said: the sentence of the parser.

    >>> demanded("[facet 'maxLength'] The value has a length of '9'; this exceeds the allowed maximum length of '4'.")
    'a length of at most 4'
    """
    for pattern, words in DEMANDS:
        found = re.search(pattern, said.strip().rstrip("."))
        if found is not None and len(found[0]) <= _LONGEST:
            return words.format(*(_SIGNS.sub("", one) for one in found.groups() if one is not None))
    return OTHERWISE
