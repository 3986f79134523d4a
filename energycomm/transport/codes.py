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
        "A file or folder given to read does not exist, or vanished before it was read.",
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
        "check what was dropped into the folder; a damaged transfer looks like this too",
    ),
    Code(
        "ENV_NO_KEY",
        "The content looks encrypted and no configured key opens it.",
        "add the key of that period to the key ring, then process the file again",
    ),
    Code(
        "ENV_ZIP_BROKEN",
        "The zip is cut, damaged or contradicts itself.",
        "fetch the file again; if it stays broken, ask the market to send it again",
    ),
    Code(
        "ENV_CRC",
        "A member's content does not have the checksum or the size that the zip announces.",
        "fetch the file again; if it stays wrong, ask the market to send it again",
    ),
    Code(
        "ENV_TOO_LARGE",
        "The envelope or a member of it is, or says it is, larger than the configured limit.",
        "if the file is genuine, raise the limit in the configuration",
    ),
    Code(
        "ENV_BOMB",
        "The zip unpacks to far more than its size explains, has too many members, or members that share bytes.",
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
        "ENV_PUT_ASIDE",
        "The program broke on the envelope or a member of it, runs ended in the middle of it again and again, or "
        "somebody put it aside.",
        "look at the log; `energycomm envelope retry` processes it again once the cause is removed",
    ),
    Code(
        "HEAD_VALUE",
        "A field of a member's header is longer than any market writes it, or holds a character that is none.",
        "ask the sender for a correct file",
    ),
    Code(
        "NOTE_EMPTY",
        "A member is well formed and holds no message: nothing was lost, and nothing was learned.",
        "nothing, where the market sends such files; else ask what was to be told",
    ),
    Code("JSON_SYNTAX", "The member begins like JSON but is not JSON.", "ask the market to send it again"),
    Code(
        "KEY_CONFIG",
        "A key of the key ring is not usable as configured.",
        "correct the entry; keys are hexadecimal and come from a file or an environment variable",
    ),
    Code(
        "CHANNEL_ANSWER",
        "The other side answered what its protocol does not allow: no SOAP, or no message where one was promised.",
        "it is tried again; if it stays, compare the address and the names of the channel's settings with the market's",
    ),
    Code(
        "CHANNEL_BROKEN",
        "The connection was lost in the middle.",
        "it is tried again, and a file is fetched on from where it stopped; if it stays, look at the network",
    ),
    Code(
        "CHANNEL_BUSY",
        "Another process polls this channel.",
        "nothing to do where a daemon runs; else find who holds the file `.lock` of the channel's folder",
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
        "The other side knows us and does not let us do this.",
        "ask the market for the right to this folder, service or message",
    ),
    Code(
        "CHANNEL_HOST_KEY",
        "The SFTP server shows a key that is not the one in the known hosts file, or none is known for it.",
        "ask the market for its host key by another way before changing the file: somebody may stand in between",
    ),
    Code(
        "CHANNEL_LIMITED",
        "The other side asks us to send less.",
        "it is tried again when it said; lower the channel's rate if it stays",
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
        "The channel failed several times in a row and is left alone for a while.",
        "nothing: it is tried again by itself; the errors before this one say why",
    ),
    Code(
        "CHANNEL_REFUSED",
        "The other side does not take the message as it is, without a reason of its own market rules.",
        "the same bytes will be refused again: compare them and the channel's settings with the market's guide",
    ),
    Code(
        "CHANNEL_SERVER",
        "The other side says that it is out of order.",
        "it is tried again; if it stays, look at the market's announcements",
    ),
    Code(
        "CHANNEL_SIGNATURE",
        "The signature of the answer is not believed: by whom, when, for which request, or how it was made.",
        "nothing of it was taken in; compare `signers_file`, `answers` and the clocks with what the market says, and "
        "ask it by another way: somebody may stand in between",
    ),
    Code("CHANNEL_TIMEOUT", "The other side did not answer in time.", "it is tried again; if it stays, raise the time"),
    Code(
        "CHANNEL_TLS",
        "The server's certificate is not valid: expired, for another name, or of an authority that is not ours.",
        "ask the market; a new authority is added to the channel's `ca_file`, verification is never switched off",
    ),
    Code(
        "CHANNEL_TOO_LARGE",
        "A file, message or answer is larger than the channel's limit.",
        "if it is genuine, raise the channel's `max_bytes`",
    ),
    Code(
        "CHANNEL_UNREACHABLE",
        "The other side cannot be reached: no such name, no route, nothing listens.",
        "it is tried again; if it stays, check address, firewall and the market's list of allowed addresses",
    ),
    Code(
        "SERIES_GAP",
        "Numbers between two received numbers of one series were never received.",
        "fetch the missing files from the market's server, or ask for them",
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
