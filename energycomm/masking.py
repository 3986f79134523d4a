"""Secrets are masked in every text that people or other programs read: output, errors, logs, alarms, stored reasons.

Two ways, both in `mask`: by their place (the password of an address, the value of a parameter whose name says that it
is secret, a bearer token), and by their value, once a secret was read from the configuration, a file or the environment
(`conceal`). What is printed or logged passes through here a second time at the end, so that no place can forget it.
"""

from __future__ import annotations

import html
import json
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import PurePath
from typing import Any, Final, TextIO, TypeVar
from urllib.parse import quote, quote_plus, unquote, unquote_plus

MASK: Final = "***"

ENDINGS: Final = (
    "password", "passwd", "passwort", "pwd", "passphrase", "passcode", "passfile", "secret", "token", "apikey",
    "accesskey", "secretkey", "privatekey", "sharedkey", "accountkey", "clientkey", "serverkey",
    "sslkey", "signature", "credential", "credentials", "authorization", "cookie", "sessionid", "assertion",
    "verifier", "csrf",
)  # fmt: skip
"""A parameter is secret when the letters of its name end so: password, sslpassword, client_secret, X-Amz-Signature."""

SHORT_NAMES: Final = frozenset(("pass", "pw", "sig", "key", "auth", "code", "jwt", "sas", "pin"))
"""Names that are secret in the query of an address only; elsewhere they are ordinary words."""

LEAST: Final = 4
"""Shorter secrets are masked by their place only: as values they would be found in ordinary words."""

SURE: Final = 8
"""Secrets of so many characters are masked inside of words too."""

ORDINARY: Final = frozenset(
    ("energycomm", "postgres", "postgresql", "sqlite", "localhost", "password", "secret", "token", "true", "false")
)
"""Words that say nothing; as secrets they are masked by their place only."""

WORKING_FOLDERS: Final = frozenset(("PWD", "OLDPWD"))
"""Variables of every shell whose names end like a password's."""

# Most texts hold no secret: that none of these words is there is found out much faster than the rest.
_HINTS: Final = (
    "pass", "pwd", "secret", "token", "key", "signature", "credential", "authorization", "cookie", "session",
    "assertion", "verifier", "csrf", *(f"{sign}{name}=" for name in sorted(SHORT_NAMES) for sign in "?&;"),
)  # fmt: skip
_HEADERS: Final = ("authorization", "cookie", "private-token", "x-")

# Texts come from strangers too: each expression reads a text once, whatever it holds.
_WORD: Final = re.compile(r'[^\s"<>]++')
_USER: Final = re.compile(r"(?<![\w+.-])([A-Za-z][\w+.-]*+://)([^\s:/@]*+):")
_WEB_TOKEN: Final = re.compile(r"(?i)((?:https?|wss?)://)([^\s/?#\"'<>@:]++)@")
_WEB: Final = ("http:", "https:", "sftp:", "ws:", "wss:")
_PORT: Final = re.compile(r"\d{1,5}[/?#]")
_NAME: Final = re.compile(r"""(?<![\w%.+-])([A-Za-z_%][\w%.+-]*+)(["']?\s{0,3}=\s{0,3}|["']\s{0,3}:\s{0,3})""")
_VALUE: Final = re.compile(
    r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|['"]?(?:(?![&;](?:amp;)?[\w%.+-]{1,80}=)[^\s"'<>])++"""
)
_HEADER: Final = re.compile(
    r"(?im)(?<![\w-])((?:proxy-)?authorization|(?:set-)?cookie|private-token|x-[a-z-]*(?:token|key|secret|signature))"
    r"(\s{0,3}:\s{0,3})(?!\s)([^\r\n\"']+)"
)
_BEARER: Final = re.compile(r"(?i)\b(bearer\s{1,3})[A-Za-z0-9._~+/=-]{8,}")
_API_TOKEN: Final = re.compile(r"\bec_[A-Za-z0-9_-]{30,}")
_RANDOM: Final = re.compile(r"(?=[^/]*\d)(?=[^/]*[A-Za-z])[\w.~:@=-]{16,}")

T = TypeVar("T")


@lru_cache(maxsize=4096)
def is_secret_name(name: str, *, in_query: bool = False) -> bool:
    """Whether the value under a name is secret.

    Args:
      name: of a parameter, setting, header or variable; percent-encoded or not.
      in_query: whether it stands in the query of an address.
    """
    if name in WORKING_FOLDERS:
        return False
    letters = re.sub(r"[^a-z]", "", unquote_plus(name).lower())
    return letters.endswith(ENDINGS) or (in_query and letters in SHORT_NAMES)


class _Known:
    """The secrets of this process, by their values."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.values: frozenset[str] = frozenset()
        self._pattern: re.Pattern[str] | None = None

    def add(self, values: set[str]) -> None:
        with self._lock:
            if values <= self.values:
                return
            self.values |= values
            longest_first = sorted(self.values, key=len, reverse=True)
            self._pattern = re.compile("|".join(_as_pattern(value) for value in longest_first))

    def mask(self, text: str) -> str:
        # Most texts hold none, which is found out much faster than which one.
        if self._pattern is None or not any(value in text for value in self.values):
            return text
        return self._pattern.sub(MASK, text)

    def clear(self) -> None:
        with self._lock:
            self.values, self._pattern = frozenset(), None


def _as_pattern(value: str) -> str:
    return re.escape(value) if len(value) >= SURE else rf"(?<![A-Za-z0-9]){re.escape(value)}(?![A-Za-z0-9])"


_known = _Known()


def conceal(secret: str) -> str:
    """Mask a secret from now on wherever it appears, in any usual encoding; gives it back.

    Args:
      secret: its text; several lines are a secret each too.
    """
    found: set[str] = set()
    for text in {secret, secret.strip(), *secret.splitlines()}:
        if len(text) >= LEAST and text.lower() not in ORDINARY:
            found |= written(text)
    _known.add(found)
    return secret


def written(text: str) -> set[str]:
    """A text in the forms in which libraries write it; short ones are left out."""
    forms = {text, unquote(text), unquote_plus(text)}
    for plain in tuple(forms):
        forms |= {quote(plain, safe=""), quote(plain), quote_plus(plain), html.escape(plain)}
        forms |= {json.dumps(plain)[1:-1], json.dumps(plain, ensure_ascii=False)[1:-1], repr(plain)[1:-1]}
        forms.add(plain.replace("\\", "\\\\").replace("'", "\\'"))
    forms |= {re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), form) for form in forms}
    return {form for form in forms if len(form) >= LEAST}


def conceal_address(address: str, *, path: bool = False) -> str:
    """Mask from now on the secrets that an address, or a list of `name=value`, holds; gives it back.

    Args:
      address: of a database, server, proxy or webhook, in any form.
      path: whether long random words of its path are secrets, as in the addresses of webhooks.
    """
    found: set[str] = set()
    for pattern in (r"://[^:/]*:([^@]*)@", r"://[^\s:/@]*:(\S*)@", r"(?i)(?:https?|wss?)://([^\s/?#@]+)@"):
        found |= {match[1] for match in re.finditer(pattern, address)}
    pairs = [part.partition("=")[::2] for part in address.partition("?")[2].split("&")]
    found |= {value for name, value in pairs if is_secret_name(name, in_query=True)}
    found |= {address[first:last].strip("'\"") for first, last in _values(address)}
    if path:
        found |= set(_RANDOM.findall(address.partition("://")[2].partition("/")[2].partition("?")[0]))
    for secret in found:
        # A password that is the name of the user or the database too is no secret as a word.
        if secret not in re.split(r"[:/@?&=\s]+", address.replace(secret, "", 1)):
            conceal(secret)
    return address


def conceal_environment(environ: Mapping[str, str] | None = None) -> None:
    """Mask from now on the secrets of the environment: PGPASSWORD, API tokens, passwords of proxies."""
    for name, value in (os.environ if environ is None else environ).items():
        if is_secret_name(name):
            conceal(value)
        elif "://" in value or "=" in value:
            conceal_address(value)


def forget_secrets() -> None:
    """Mask no value any more; for tests, which are many processes in one."""
    _known.clear()


def mask(text: str) -> str:
    """A text without its secrets.

    Args:
      text: anything that is shown, logged or stored as a reason.

    Returns:
      The text with `MASK` in place of each secret.
    """
    text = _known.mask(text)
    lowered = text.lower()
    if "@" in text and "://" in text:
        text = _WEB_TOKEN.sub(rf"\1{MASK}@", _WORD.sub(_without_password, text))
    if any(hint in lowered for hint in _HINTS) or ("%" in text and "=" in text):
        text = _without_values(text)
    if any(hint in lowered for hint in _HEADERS):
        text = _HEADER.sub(rf"\1\2{MASK}", text)
    if "bearer" in lowered:
        text = _BEARER.sub(rf"\1{MASK}", text)
    return _API_TOKEN.sub(MASK, text) if "ec_" in text else text


def _without_password(match: re.Match[str]) -> str:
    """A run of signs without the password before its last at sign."""
    word, sign, server = match[0].rpartition("@")
    if not sign or "://" not in word:
        return match[0]
    for user in _USER.finditer(word):
        web = user[1].lower().startswith(_WEB)
        rest = word[user.end() :]
        if rest and not (web and _PORT.match(rest)):
            named = "" if web and not user[1].lower().startswith("sftp") else f"{user[2]}:"
            return f"{word[: user.start()]}{user[1]}{named}{MASK}@{server}"
    return match[0]


def _values(text: str) -> Iterator[tuple[int, int]]:
    """Where the values of secret parameters stand: first sign, and the one behind the last."""
    done = 0
    for match in _NAME.finditer(text):
        in_query = text[match.start() - 1 : match.start()] in ("?", "&", ";")
        if match.start() >= done and is_secret_name(match[1], in_query=in_query):
            value = _VALUE.match(text, match.end())
            if value is not None:
                done = value.end()
                yield value.span()


def _without_values(text: str) -> str:
    parts, done = [], 0
    for first, last in _values(text):
        # A quote belongs to the sentence around the secret.
        before = text[first] if text[first] in "'\"" else ""
        after = text[last - 1] if last - first > 1 and text[last - 1] in "'\"" else ""
        if text[first:last].strip("'\""):
            parts += [text[done:first], before, MASK, after]
            done = last
    return "".join((*parts, text[done:]))


def masked(content: Any, name: str = "") -> Any:
    """Values of any depth with masked secrets, for logs and JSON.

    Args:
      content: text, number, list or mapping; anything else is taken by its representation.
      name: what it is called, which may say that it is secret.
    """
    if content is None or isinstance(content, bool | int | float):
        return content
    if isinstance(content, Mapping):
        return {masked(key): masked(value, str(key)) for key, value in content.items()}
    if isinstance(content, list | tuple | set | frozenset):
        return [masked(value, name) for value in content]
    if name and is_secret_name(name):
        return MASK
    return mask(
        content if isinstance(content, str) else str(content) if isinstance(content, PurePath) else repr(content)
    )


class MaskedStream:
    """A text stream that masks everything written to it; all else is delegated to the stream.

    Args:
      stream: where it is written.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text without its secrets."""
        self._stream.write(text if _disclosing.get() else mask(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write texts without their secrets."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Disclosing(threading.local):
    on = False

    def get(self) -> bool:
        return self.on


_disclosing = _Disclosing()


@contextmanager
def disclosing() -> Iterator[None]:
    """A block in which this thread prints without masking: a new token, shown once to its user."""
    _disclosing.on = True
    try:
        yield
    finally:
        _disclosing.on = False


@contextmanager
def masked_output() -> Iterator[None]:
    """Within, nothing secret passes through standard output and standard error."""
    conceal_environment()
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _wrapped(sys.stdout), _wrapped(sys.stderr)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def mask_output() -> None:
    """From now on nothing secret passes through standard output and standard error of this process."""
    conceal_environment()
    sys.stdout, sys.stderr = _wrapped(sys.stdout), _wrapped(sys.stderr)


def _wrapped(stream: T) -> T:
    return stream if stream is None or isinstance(stream, MaskedStream) else MaskedStream(stream)  # type: ignore[return-value,arg-type]
