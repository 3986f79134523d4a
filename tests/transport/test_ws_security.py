"""Signed SOAP messages: the same each time, and believed only where the body that is used is the one that is signed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID
from lxml import etree

from energycomm.transport.binding import WSU
from energycomm.transport.channel import Sent, TechnicalError
from energycomm.transport.credentials import Secret, SecretUnreadableError
from energycomm.transport.https import HttpsServer
from energycomm.transport.soap import Signatures, SoapOut
from energycomm.transport.ws_security import DS, Signer, Trust, Verifier
from tests.servers.authority import Authority
from tests.servers.https import HttpsTestServer, Reply, https_server
from tests.transport.arrivals import Message

FOLDER = Path(__file__).parent / "signed"
BODY = '<p:Query xmlns:p="urn:p"><p:EAN> 871999900000000011 </p:EAN></p:Query>'
SPACE = "http://schemas.xmlsoap.org/soap/envelope/"
ENVELOPE = f'<s:Envelope xmlns:s="{SPACE}"><s:Body>{BODY}</s:Body></s:Envelope>'.encode()


def self_signed(folder: Path, name: str, key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> tuple[Path, Path]:
    """A certificate and its key, in PEM."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    begin = datetime.now(UTC) - timedelta(days=1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=9))
        .sign(key, hashes.SHA256())
    )
    files = folder / f"{name}.pem", folder / f"{name}.key"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    lock = serialization.BestAvailableEncryption(b"words")
    files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock))
    return files


def verifier(file: Path, algorithm: Any = "rsa-sha256") -> Verifier:
    """Asks for a signature and no more."""
    return Verifier(file, Trust(answers="signed", algorithm=algorithm))


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with our key, that of the portal, and one that cannot sign."""
    folder = tmp_path_factory.mktemp("keys")
    (folder / "words").write_text("words\n")
    for name in ("us", "portal"):
        self_signed(folder, name, rsa.generate_private_key(65537, 2048))
    self_signed(folder, "curve", ec.generate_private_key(ec.SECP256R1()))
    return folder


def signer(keys: Path, name: str = "us", key: str | None = None) -> Signer:
    """Signs with a key of the folder."""
    return Signer(keys / f"{name}.pem", keys / f"{key or name}.key", Secret("pass phrase", keys / "words"))


def test_the_same_message_gives_the_same_signed_bytes_and_keeps_its_body(keys: Path) -> None:
    signed = signer(keys).sign(ENVELOPE)
    assert signed == signer(keys).sign(ENVELOPE)
    assert BODY.encode() in signed
    assert verifier(keys / "us.pem").fault(signed) is None


def test_a_signature_of_another_program_is_understood() -> None:
    """It has comments in its body, other prefixes, and no certificate with it."""
    text = (FOLDER / "by_another_program.xml").read_bytes()
    assert verifier(FOLDER / "another_program.pem").fault(text) is None
    changed = text.replace(b"4210", b"4211")
    assert str(verifier(FOLDER / "another_program.pem").fault(changed)).startswith(
        "the signed content was changed; found: "
    )


def moved(signed: bytes) -> bytes:
    """The signed body moved into the header, and another one put in its place."""
    root = etree.fromstring(signed)
    header, body = root
    other = etree.SubElement(root, f"{{{SPACE}}}Body")
    etree.SubElement(other, "{urn:p}Query").text = "of somebody else"
    etree.SubElement(header, "wrapper").append(body)
    return bytes(etree.tostring(root))


def doubled(signed: bytes) -> bytes:
    """Another element with the identifier of the body."""
    root = etree.fromstring(signed)
    etree.SubElement(root[0], "{urn:p}Query").set("Id", str(root[1].get(f"{{{WSU}}}Id")))
    return bytes(etree.tostring(root))


def without_transform(signed: bytes) -> bytes:
    return signed.replace(b'"http://www.w3.org/2001/10/xml-exc-c14n#"/></ds:Transforms>', b'"urn:x"/></ds:Transforms>')


@pytest.mark.parametrize(
    ("change", "doubt"),
    [
        (lambda signed: signed.replace(b"871999900000000011", b"871999900000000028"), "was changed"),
        (lambda signed: ENVELOPE, "no signature"),
        (lambda signed: b"<a/>", "no SOAP message"),
        (moved, "does not cover the body"),
        (doubled, "no element, or to several"),
        (without_transform, "transforms"),
        (lambda signed: signed.replace(b"#rsa-sha256", b"#rsa-md5"), "not allowed"),
        (lambda signed: signed.replace(f'"{DS}"'.encode(), b'"urn:other"'), "no signature"),
        (
            lambda signed: signed.replace(b"<ds:SignatureValue>", b"<ds:SignatureValue>AAAA"),
            "not signed by a certificate",
        ),
    ],
)
def test_what_is_not_the_signed_body_is_not_believed(keys: Path, change: Callable[[bytes], bytes], doubt: str) -> None:
    found = verifier(keys / "us.pem").fault(change(signer(keys).sign(ENVELOPE)))
    assert found is not None
    assert doubt in found


def test_another_certificate_or_an_old_hash_is_not_believed(keys: Path) -> None:
    assert "not signed by a certificate" in str(verifier(keys / "portal.pem").fault(signer(keys).sign(ENVELOPE)))
    old = signer(keys)
    old.algorithm = "rsa-sha1"
    signed = old.sign(ENVELOPE)
    assert verifier(keys / "us.pem", "rsa-sha1").fault(signed) is None
    assert "not allowed" in str(verifier(keys / "us.pem").fault(signed))


@pytest.mark.parametrize(("name", "key"), [("us", "portal"), ("curve", "curve"), ("us", "none"), ("words", "us")])
def test_a_key_that_cannot_sign_is_named_and_never_shown(keys: Path, name: str, key: str) -> None:
    with pytest.raises(SecretUnreadableError) as told:
        signer(keys, name, key).sign(ENVELOPE)
    assert "PRIVATE" not in str(told.value)


@pytest.fixture
def portal(tmp_path: Path, keys: Path) -> Iterator[tuple[HttpsTestServer, Callable[..., SoapOut]]]:
    """A portal that asks for signed messages, and channels to it."""
    authority = Authority(tmp_path / "authority")
    authority.issue("server")
    folder = authority.folder
    with https_server((folder / "server.pem", folder / "server.key"), None, lambda _: Reply()) as server:
        client = HttpsServer(url=server.url, ca_file=authority.file, timeout=5.0, connect_timeout=5.0)

        def channel(ours: Signer | None = None, answers: Any = "signed") -> SoapOut:
            believed = Verifier(keys / "portal.pem", Trust(answers=answers))
            signatures = Signatures(lambda kind: kind == "P4", ours or signer(keys), believed)
            return SoapOut("p4", "NL", client, signatures=signatures)

        yield server, channel


def test_a_channel_signs_what_it_is_told_to_and_believes_signed_answers(
    portal: tuple[HttpsTestServer, Callable[..., SoapOut]], keys: Path
) -> None:
    server, channel = portal
    server.replies += [Reply(content=signer(keys, "portal").sign(ENVELOPE)), Reply(content=ENVELOPE)]
    line = channel()
    assert isinstance(line.send(Message(type="P4", content=BODY.encode())), Sent)
    assert isinstance(line.send(Message(type="Other", content=BODY.encode())), Sent)
    signed, plain = (request.content for request in server.requests)
    assert verifier(keys / "us.pem").fault(signed) is None
    assert b"Signature" not in plain
    line.close()


def test_an_answer_that_is_not_signed_by_the_portal_is_an_error_and_no_content(
    portal: tuple[HttpsTestServer, Callable[..., SoapOut]], keys: Path
) -> None:
    server, channel = portal
    server.replies += [Reply(content=signer(keys).sign(ENVELOPE)), Reply(content=ENVELOPE)]
    line = channel()
    for _ in range(2):
        error = line.send(Message(type="P4", content=BODY.encode()))
        assert isinstance(error, TechnicalError)
        assert (error.code, error.maybe_sent) == ("CHANNEL_SIGNATURE", True)
        assert "not accepted" in error.detail
    line.close()


def test_a_message_that_cannot_be_signed_is_not_sent(
    portal: tuple[HttpsTestServer, Callable[..., SoapOut]], keys: Path
) -> None:
    server, channel = portal
    line = channel(signer(keys, "us", "portal"))
    error = line.send(Message(type="P4", content=BODY.encode()))
    assert isinstance(error, TechnicalError)
    assert (error.code, error.maybe_sent) == ("CHANNEL_LOCAL", False)
    assert server.requests == []
    line.close()
