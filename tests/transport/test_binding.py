"""A signed answer is believed for its request and its time, by a certificate that may sign; else it is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID
from lxml import etree

from energycomm.config import Config
from energycomm.transport.channel import Sent, TechnicalError
from energycomm.transport.https import HttpsServer
from energycomm.transport.settings import SoapSetting
from energycomm.transport.soap import Signatures, SoapOut
from energycomm.transport.ws_security import Signer, Trust, Verifier
from tests.servers.authority import Authority
from tests.servers.https import Reply, Request, https_server
from tests.transport.answers import NOW, OASIS, SOAP, WSA, certificate, envelope, relation, signed, stamp
from tests.transport.arrivals import Message
from tests.transport.test_ws_security import self_signed

OURS = "urn:uuid:00000000-0000-0000-0000-000000000001"
MINUTE = timedelta(minutes=1)


@cache
def key(bits: int = 2048) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, bits)


def usage(*, sign: bool = False, commit: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(sign, commit, not sign, False, False, False, False, False, False)


def believed(folder: Path, answer: bytes, now: datetime = NOW, **trust: Any) -> str | None:
    """Why an answer to our message is not believed."""
    file = folder / "portal.pem"
    if not file.exists():
        certificate(file, key())
    return Verifier(file, Trust(**trust), lambda: now).fault(answer, OURS)


def good(**changes: str) -> bytes:
    parts = {"header": relation(OURS), "times": stamp()} | changes
    return signed(envelope(**parts), key())


def test_an_answer_to_our_request_of_this_minute_is_believed(tmp_path: Path) -> None:
    assert believed(tmp_path, good()) is None
    assert believed(tmp_path, good(header=relation(OURS, f' RelationshipType="{WSA}/reply"'))) is None
    assert believed(tmp_path, good(header=relation(f" {OURS}\n"))) is None


@pytest.mark.parametrize(
    ("answer", "doubt"),
    [
        (
            lambda: good(header=relation("urn:uuid:of-another-request")),
            "answers another request; found: urn:uuid:of-an",
        ),
        (lambda: good(header=relation("")), "answers another request"),
        (lambda: good(header=relation(OURS[:-1] + "<!-- -->2")), "answers another request"),
        (lambda: signed(envelope("", stamp()), key(), "bt"), "does not name one request that it answers; found: 0"),
        (
            lambda: signed(envelope(relation(OURS) + f"<a:RelatesTo>{OURS}</a:RelatesTo>", stamp()), key()),
            "does not name one request that it answers; found: 2",
        ),
        (lambda: good(header=relation(OURS, ' RelationshipType="urn:other"')), "does not name one request"),
        (lambda: signed(envelope(relation(OURS), stamp()), key(), "bt"), "the reference to the request is not signed"),
        (lambda: signed(envelope(relation(OURS), ""), key(), "br"), "does not have one time of creation"),
        (lambda: signed(envelope(relation(OURS), stamp()), key(), "br"), "its time of creation is not signed"),
        (lambda: signed(envelope(relation(OURS), stamp()), key(), "rt"), "does not cover the body; found: RelatesTo"),
        (lambda: good(times=stamp() + "<u:Timestamp/>"), "does not have one time of creation; found: 2"),
        (
            lambda: good(times='<u:Timestamp u:Id="t"><u:Created>2026-06-01T12:00:00</u:Created></u:Timestamp>'),
            "no instant",
        ),
        (
            lambda: good(times='<u:Timestamp u:Id="t"><u:Created>noon</u:Created></u:Timestamp>'),
            "no instant; found: noon",
        ),
        (lambda: good(times='<u:Timestamp u:Id="t"/>'), "no Created"),
        (lambda: good(times=stamp().replace("</u:Created>", "</u:Created><u:Created/>")), "Created is no instant"),
        (lambda: good().replace(b"4210", b"4211"), "was changed"),
        (lambda: good().replace(OURS.encode(), OURS.encode() + b"0"), "was changed"),
    ],
)
def test_an_answer_without_its_binding_or_with_another_one_is_refused(
    tmp_path: Path, answer: Callable[[], bytes], doubt: str
) -> None:
    found = believed(tmp_path, answer())
    assert found is not None
    assert doubt in found
    assert "expected: " in found


@pytest.mark.parametrize(
    ("created", "expires", "trust", "doubt"),
    [
        (NOW - 5 * MINUTE, NOW + MINUTE, {}, None),
        (NOW - 5.9 * MINUTE, NOW - 0.9 * MINUTE, {}, None),
        (NOW - 6.1 * MINUTE, NOW + MINUTE, {}, "too old"),
        (NOW - 6.1 * MINUTE, None, {}, "too old"),
        (NOW - 6.1 * MINUTE, None, {"seconds": 600}, None),
        (NOW - 4 * MINUTE, NOW - 1.1 * MINUTE, {}, "has expired"),
        (NOW - 4 * MINUTE, NOW - 1.1 * MINUTE, {"skew": 120}, None),
        (NOW, NOW - MINUTE, {}, "has expired"),
        (NOW + 0.9 * MINUTE, None, {}, None),
        (NOW + 1.1 * MINUTE, None, {}, "in the future"),
        (NOW + 0.1 * MINUTE, None, {"skew": 0}, "in the future"),
    ],
)
def test_the_time_of_an_answer_has_a_window(
    tmp_path: Path, created: datetime, expires: datetime | None, trust: dict[str, Any], doubt: str | None
) -> None:
    found = believed(tmp_path, good(times=stamp(created, expires)), **trust)
    assert (found is None) is (doubt is None), found
    assert doubt is None or doubt in str(found)


def test_a_channel_may_ask_for_less(tmp_path: Path) -> None:
    other = good(header=relation("urn:uuid:of-another-request"))
    bare = signed(envelope("", ""), key(), "b")
    assert [believed(tmp_path, other, answers=how) is None for how in ("bound", "timed", "signed")] == [
        False,
        True,
        True,
    ]
    assert [believed(tmp_path, bare, answers=how) is None for how in ("bound", "timed", "signed")] == [
        False,
        False,
        True,
    ]


def test_signed_parts_in_other_places_do_not_count(tmp_path: Path) -> None:
    """The signed RelatesTo of this request is wrapped away, and another one put in its place."""
    root = etree.fromstring(good())
    (header,) = root.iterfind(f"{{{SOAP}}}Header")
    (relates,) = header.iterfind(f"{{{WSA}}}RelatesTo")
    wrapper = etree.SubElement(header, "wrapper")
    wrapper.append(relates)
    assert "0 wsa:RelatesTo" in str(believed(tmp_path, etree.tostring(root)))
    other = etree.SubElement(header, f"{{{WSA}}}RelatesTo")
    other.text = OURS
    assert "the reference to the request is not signed" in str(believed(tmp_path, etree.tostring(root)))
    root = etree.fromstring(good())
    (times,) = root.iterfind(f".//{{{OASIS}utility-1.0.xsd}}Timestamp")
    etree.SubElement(root[0], "wrapper").append(times)
    assert "0 wsu:Timestamp" in str(believed(tmp_path, etree.tostring(root)))


UNKNOWN = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\x05\x00")


@pytest.mark.parametrize(
    ("extensions", "doubt"),
    [
        ([], None),
        ([(usage(sign=True), True)], None),
        ([(usage(commit=True), True)], None),
        ([(usage(), True)], "not for signatures"),
        ([(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False)], None),
        ([(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE]), False)], None),
        ([(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), False)], "for another purpose"),
        ([(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.OCSP_SIGNING]), True)], "for another purpose"),
        ([(x509.BasicConstraints(ca=False, path_length=None), True)], None),
        ([(x509.BasicConstraints(ca=True, path_length=None), True)], "an authority's"),
        ([(UNKNOWN, True)], "not known"),
        ([(UNKNOWN, False)], None),
    ],
)
def test_a_certificate_signs_for_what_it_was_made(tmp_path: Path, extensions: list[Any], doubt: str | None) -> None:
    certificate(tmp_path / "portal.pem", key(), extensions)
    found = believed(tmp_path, good())
    assert (found is None) is (doubt is None), found
    assert doubt is None or doubt in str(found)


@pytest.mark.parametrize(
    ("begin", "end", "fine"),
    [
        (NOW - 2 * MINUTE, NOW + MINUTE, True),
        (NOW - 9 * MINUTE, NOW - 2 * MINUTE, False),
        (NOW + 2 * MINUTE, NOW + 9 * MINUTE, False),
        (NOW - 9 * MINUTE, NOW - 0.5 * MINUTE, True),
    ],
)
def test_a_certificate_is_believed_while_it_is_valid(
    tmp_path: Path, begin: datetime, end: datetime, fine: bool
) -> None:
    certificate(tmp_path / "portal.pem", key(), (), begin, end)
    found = believed(tmp_path, good())
    assert (found is None) is fine
    assert fine or "not valid now" in str(found)


def test_a_renewed_certificate_of_the_same_key_beside_the_expired_one_is_believed(tmp_path: Path) -> None:
    old = certificate(tmp_path / "old.pem", key(), (), NOW - 9 * MINUTE, NOW - 2 * MINUTE).read_bytes()
    new = certificate(tmp_path / "new.pem", key()).read_bytes()
    (tmp_path / "portal.pem").write_bytes(old + new)
    assert believed(tmp_path, good()) is None


def test_a_short_key_is_not_believed(tmp_path: Path) -> None:
    certificate(tmp_path / "portal.pem", key(1024))
    found = believed(tmp_path, signed(envelope(relation(OURS), stamp()), key(1024)))
    assert "found: 1024; expected: RSA of at least 2048 bits" in str(found)


def test_a_channel_believes_answers_to_its_requests_and_no_answer_twice(tmp_path: Path) -> None:
    """Against a real server, which repeats what it finds in wsa:MessageID, or hands out an answer that it kept."""
    authority = Authority(tmp_path / "authority")
    (tmp_path / "words").write_text("words\n")
    ours, _ = self_signed(tmp_path, "us", key())
    (tmp_path / "us.key").write_bytes(_unlocked(key()))
    now = datetime.now(UTC)
    portal = certificate(tmp_path / "portal.pem", key(3072), (), now - MINUTE, now + MINUTE)
    kept: list[bytes] = []

    def answer(request: Request) -> Reply:
        found = etree.fromstring(request.content).findtext(f"{{{SOAP}}}Header/{{{WSA}}}MessageID")
        made = signed(envelope(relation(found or ""), stamp(datetime.now(UTC), None)), key(3072))
        kept.append(made)
        return Reply(content=made)

    with https_server(authority.issue("server"), None, answer) as server:
        client = HttpsServer(url=server.url, ca_file=authority.file, timeout=5.0, connect_timeout=5.0)
        signatures = Signatures(lambda _: True, Signer(ours, tmp_path / "us.key"), Verifier(portal))
        line = SoapOut("p4", "NL", client, signatures=signatures, actions={"P4": "urn:ask"})
        assert isinstance(line.send(Message(type="P4", content=b"<a/>")), Sent)
        assert isinstance(line.send(Message(type="P4", content=b"<a/>")), Sent), "the same bytes at each attempt"
        server.replies.append(Reply(content=kept[0]))
        error = line.send(Message(type="P4", content=b"<b/>"))
        line.close()
    first, again, other = (request.content for request in server.requests)
    assert first == again
    assert first != other
    assert isinstance(error, TechnicalError)
    assert (error.code, error.maybe_sent, error.transient) == ("CHANNEL_SIGNATURE", True, False)
    assert "answers another request" in error.detail
    own = Verifier(ours, Trust(answers="signed"))
    assert own.fault(first) is None
    for part in (b"urn:ask", b"urn:uuid:"):
        assert "was changed" in str(own.fault(first.replace(part, b"urn:other:", 1))), "what binds is signed"


def _unlocked(one: rsa.RSAPrivateKey) -> bytes:
    from cryptography.hazmat.primitives import serialization

    form = serialization.PrivateFormat.PKCS8
    return one.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def test_a_channel_that_signs_asks_for_bound_answers_unless_it_is_told_otherwise() -> None:
    channel = {
        "name": "p4", "market": "NL", "kind": "soap", "url": "https://p4.example/", "certificate_file": "a.pem",
        "signed": ["P4*"], "signers_file": "b.pem",
    }  # fmt: skip
    setting = Config.model_validate({"channels": [channel]}).channels[0]
    assert isinstance(setting, SoapSetting)
    assert (setting.answers, setting.answer_seconds, setting.clock_skew) == ("bound", 300, 60)
    assert Trust().answers == "bound"
