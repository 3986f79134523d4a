"""What a licensee chooses (setting `mappings`): the form of requests, and the names of the hub's queue."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct


class _Choices(Struct, forbid_unknown_fields=True):
    form: Literal["xml", "json"] = "xml"
    service: dict[Literal["peek", "dequeue", "post", "identifier", "known"], str] = {}


def choices(path: Path) -> tuple[Literal["xml", "json"], dict[str, str]]:
    """The form of requests, and the names of the queue that differ from the assumed ones.

    Args:
      path: of a file in YAML.

    Raises:
      ValueError: it cannot be read, or has a mistake; the text says which.
    """
    try:
        found = msgspec.yaml.decode(path.read_bytes(), type=_Choices)
    except OSError as fault:
        raise ValueError(f"it cannot be read: {fault.strerror}") from None
    except msgspec.MsgspecError as fault:
        raise ValueError(str(fault)) from None
    return found.form, {str(name): word for name, word in found.service.items()}
