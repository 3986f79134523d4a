"""Questions on the documentation's own structure and on versions of documents, as operations."""

from __future__ import annotations

import re

from assistant.operations.family import Manual, Versions
from assistant.operations.slots import Asking, Read, Slots

_DOCUMENT = re.compile(
    r"(?i)\bversions?\s+([\w.-]+)\s+(?:and|to|et|[àa]|en|naar)\s+(?:(?:de\s+)?(?:la\s+)?version\s+|versie\s+)?([\w.-]+)"
    r"\s+(?:of|de|du|van)\s+(?:the\s+|la\s+|le\s+|de\s+|het\s+|l['’])?([\w .-]{2,80}?)\s*\??$"
)


def documents(slots: Slots) -> Read:
    """What changed between two versions of a document."""
    named = _DOCUMENT.search(slots.asked.text.replace("versie", "version"))
    if named is None or not slots.has("intent", "changed", "compare") or slots.has("subject", "rule"):
        return None
    slots.used |= set(range(len(slots.asked.tokens)))
    return (Versions(what="documents", document=named[3], old=named[1], new=named[2]),)


def codes(slots: Slots) -> Read:
    """An exit code or a code of the gateway, and what to do about it."""
    exit_code = slots.one("exit_code")
    gateway = slots.one("gateway")
    slots.take("field", "sentence"), slots.take("intent", "list"), slots.take("subject", "code")
    slots.take("group", "code"), slots.take("field", "error_code")
    if exit_code is not None:
        return (Manual(what="exit_code", name=exit_code),)
    if gateway is not None and not slots.has("thing"):
        return (Manual(what="code", how="todo" if slots.take("todo") else "one", name=gateway),)
    if slots.take("subject", "exit"):
        number = slots.one("number")
        if number:
            return (Manual(what="exit_code", name=number),)
        return (Manual(what="exit_code", how="count" if slots.take("intent", "count") else "list"),)
    return None


def setting(slots: Slots) -> Read:
    """A setting, its default, its environment variable; how many there are."""
    about = bool(slots.take("subject", "setting"))
    default = bool(slots.take("intent", "default"))
    variable = bool(slots.take("subject", "variable"))
    use = bool(slots.take("intent", "use"))
    meant = bool(slots.take("field", "sentence"))
    slots.take("intent", "list"), slots.take("filler")
    names = slots.of("setting")
    sure = [one for one in names if "_" in one.value]
    lone = [] if sure else [one for one in names if about or default or variable]
    if sure or lone:
        scopes = slots.of("scope")
        places = {one.start for one in scopes}
        name = next((one for one in (*sure, *lone) if one.start not in places), (sure or lone)[0])
        scopes = [one for one in scopes if one.start != name.start]
        slots.mark([name, *scopes[:1]])
        how = "default" if default else "variable" if variable else "one"
        section = scopes[0].value if scopes else ""
        return (Manual(what="setting", how=how, name=name.value, section=section),)  # type: ignore[arg-type]
    if slots.has("unknown_name") and (about or default or variable or use or meant):
        return Asking("no_setting", (), slots.take("unknown_name")[0])
    if about and slots.take("intent", "count"):
        return (Manual(what="setting", how="count"),)
    return (Manual(what="setting", how="list"),) if about and not default and not slots.left() else None


def command(slots: Slots) -> Read:
    """A command of the command line; how many there are."""
    about = bool(slots.take("subject", "command"))
    program = "energycomm" in slots.asked.tokens
    if not (about or program):
        return None
    slots.used |= {place for place, token in enumerate(slots.asked.tokens) if token == "energycomm"}  # noqa: S105
    slots.take("intent", "list", "use"), slots.take("field", "sentence")
    count = bool(slots.take("intent", "count"))
    name = slots.one("command")
    if name is not None and not count:
        return (Manual(what="command", name=name),)
    return (Manual(what="command", how="count" if count else "list"),) if about else None


def word(slots: Slots) -> Read:
    """A word of the glossary."""
    about = bool(slots.take("subject", "glossary"))
    meant = bool(slots.take("field", "sentence"))
    names = slots.of("word")
    inside = any(slots.asked.tokens[one.start - 1] in ("in", "en") for one in names if one.start)
    if names and (about or (meant and not inside)):
        longest = max(names, key=lambda one: one.end - one.start)
        slots.mark([longest])
        slots.take("intent", "list")
        return (Manual(what="word", name=longest.value),)
    if about and not names:
        slots.take("intent", "list")
        return (Manual(what="word", how="count" if slots.take("intent", "count") else "list"),)
    return None
