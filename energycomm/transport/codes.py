"""The refusal codes of transport, as data: what each means and what to do.

``docs/codes.md`` is written from this table.
"""

from __future__ import annotations

from typing import NamedTuple

from energycomm.kernel.verdicts import Refusal


class Code(NamedTuple):
    """One refusal code: its meaning and the advice that goes with it."""

    code: str
    meaning: str
    advice: str


CODES: tuple[Code, ...] = (
    Code(
        "ENV_MISSING",
        "A named file or folder does not exist, or disappeared before it was read.",
        "check the path; if another process moved the file, run again",
    ),
    Code(
        "ENV_UNREADABLE",
        "The file exists but cannot be read: no permission, not a regular file, or a device error.",
        "check the permissions of the file and its folder",
    ),
    Code("ENV_EMPTY", "The envelope, or a member of it, has no content.", "ask the market to send it again"),
    Code(
        "ENV_UNKNOWN_FORM",
        "The content is neither a zip, an encrypted zip, XML, JSON nor text.",
        "check the file in the folder; it may also be a damaged transfer",
    ),
    Code(
        "ENV_NO_KEY",
        "The content looks encrypted, and no configured key decrypts it.",
        "add the key of that period to the key ring, then process the file again",
    ),
    Code(
        "ENV_ZIP_BROKEN",
        "The zip is truncated, damaged or inconsistent.",
        "fetch the file again; if it stays broken, ask the market to send it again",
    ),
    Code(
        "ENV_CRC",
        "A member's content does not have the checksum or the size that the zip announces.",
        "fetch the file again; if it stays wrong, ask the market to send it again",
    ),
    Code(
        "ENV_TOO_LARGE",
        "The size of the envelope or of a member, actual or declared, is above the configured limit.",
        "if the file is genuine, raise the limit in the configuration",
    ),
    Code(
        "ENV_BOMB",
        "The zip unpacks to far more than its size allows, has too many members, or members that share bytes.",
        "do not unpack it by hand; if the sender vouches for it, raise the limit in the configuration",
    ),
    Code("ENV_DEPTH", "Zips are nested deeper than the configured limit.", "ask the sender why; or raise the limit"),
    Code(
        "ENV_PATH",
        "A member's name is absolute, leaves its folder, is not printable, occurs twice, or is a link.",
        "ask the market to send the member under a plain name",
    ),
    Code(
        "ENV_ZIP_PASSWORD",
        "A member is protected by a zip password, which no market scheme uses.",
        "ask the market to send it without a password",
    ),
    Code(
        "ENV_COMPRESSION",
        "A member is packed with a method other than stored or deflated.",
        "ask the market to send it as an ordinary zip",
    ),
    Code(
        "ENV_OTHER_SUPPLIER",
        "The file name or the header of a member names another supplier of this installation as the addressee. Nothing "
        "of the envelope was stored.",
        "hand the file to that supplier, and ask the sender why it came here",
    ),
    Code(
        "ENV_PUT_ASIDE",
        "The program failed on the envelope or a member of it, runs ended in the middle of it repeatedly, or a user "
        "put it aside.",
        "look at the log; `energycomm envelope retry` processes it again once the cause is removed",
    ),
    Code(
        "HEAD_VALUE",
        "A header field of a member is longer than the market allows, or contains an invalid character.",
        "ask the sender for a correct file",
    ),
    Code(
        "NOTE_EMPTY",
        "A member is well formed and contains no message.",
        "none if the market sends such files; otherwise ask the sender what is missing",
    ),
    Code("JSON_SYNTAX", "The member begins like JSON but is not JSON.", "ask the market to send it again"),
    Code(
        "KEY_CONFIG",
        "A key of the key ring is not usable as configured.",
        "correct the entry; keys are hexadecimal and come from a file or an environment variable",
    ),
    Code(
        "CHANNEL_ANSWER",
        "The answer of the other side violates its protocol: no SOAP, or an announced message is missing.",
        "it is retried; if the error persists, compare the address and the names in the channel's settings with the "
        "market's",
    ),
    Code(
        "CHANNEL_BROKEN",
        "The connection was lost during a transfer.",
        "it is retried, and a file continues where it stopped; if the error persists, check the network",
    ),
    Code(
        "CHANNEL_BUSY",
        "Another process polls this channel.",
        "none if a daemon runs; otherwise find the process that holds the file `.lock` in the channel's folder",
    ),
    Code(
        "CHANNEL_CONFIG",
        "The channel cannot be used as it is configured: a secret, key, certificate or folder cannot be read.",
        "correct the entry of [[channels]], then `energycomm channel check NAME`",
    ),
    Code(
        "CHANNEL_CONFLICT",
        "Other content was sent before under the same reference.",
        "do not send it again: two messages have one reference; find out which one the market has",
    ),
    Code(
        "CHANNEL_DENIED",
        "The login succeeded, but the other side does not allow this action.",
        "ask the market for the right to this folder, service or message",
    ),
    Code(
        "CHANNEL_HOST_KEY",
        "The SFTP server shows a key that is not the one in the known hosts file, or none is known for it.",
        "confirm the host key with the market by another way before you change the file: the connection may be "
        "intercepted",
    ),
    Code(
        "CHANNEL_LIMITED",
        "The other side limits the rate of requests.",
        "it is retried at the time given; lower the channel's rate if the error persists",
    ),
    Code(
        "CHANNEL_LOCAL",
        "A file of the channel cannot be written or moved on our own disk.",
        "check space and permissions of the channel's folders",
    ),
    Code(
        "CHANNEL_LOGIN",
        "The other side does not accept our user, key, password, token or client certificate.",
        "check that the secret is the current one and the certificate is registered with the market and not expired",
    ),
    Code(
        "CHANNEL_OPEN",
        "The channel failed several times in a row and is paused.",
        "none: it is retried automatically; the preceding errors have the cause",
    ),
    Code(
        "CHANNEL_REFUSED",
        "The other side rejects the message for a technical reason, not by a market rule.",
        "the same bytes will be refused again: compare them and the channel's settings with the market's guide",
    ),
    Code(
        "CHANNEL_SERVER",
        "The other side reports that its service is out of order.",
        "it is retried; if the error persists, look at the market's announcements",
    ),
    Code(
        "CHANNEL_SIGNATURE",
        "The signature of the answer is not accepted: its signer, time, request or method is wrong.",
        "nothing of the answer was processed; check `signers_file`, `answers` and the clocks, and contact the "
        "market by another way: the connection may be intercepted",
    ),
    Code(
        "CHANNEL_TIMEOUT",
        "The other side did not answer in time.",
        "it is retried; if the error persists, raise the time limit",
    ),
    Code(
        "CHANNEL_TLS",
        "The server's certificate is not valid: expired, for another name, or of an unknown authority.",
        "ask the market; a new authority is added to the channel's `ca_file`, verification is never switched off",
    ),
    Code(
        "CHANNEL_TOO_LARGE",
        "A file, message or answer is larger than the channel's limit.",
        "if it is genuine, raise the channel's `max_bytes`",
    ),
    Code(
        "CHANNEL_UNREACHABLE",
        "The other side cannot be reached: unknown name, no route, or no service at the port.",
        "it is retried; if the error persists, check address, firewall and the market's list of allowed addresses",
    ),
    Code(
        "SERIES_GAP",
        "Numbers between two received numbers of one series were never received.",
        "fetch the missing files from the market's server, or request them",
    ),
)
"""Every code that `energycomm.transport` emits."""

ADVICE = {code.code: code.advice for code in CODES}
"""Code -> what to do."""
_LONGEST_VALUE = 120


def refuse(code: str, path: str = "", value: object = None, expected: str = "") -> Refusal:
    """A refusal with one of `CODES`, its value shortened and its advice filled in from the table.

    Raises:
      KeyError: the code is not in the table; a mistake of the programmer.
    """
    shown = None if value is None else str(value)
    if shown is not None and len(shown) > _LONGEST_VALUE:
        shown = shown[: _LONGEST_VALUE - 1] + "…"
    return Refusal(code=code, path=path, value=shown, expected=expected, advice=ADVICE[code])
