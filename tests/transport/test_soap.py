"""SOAP over HTTPS against a real server that asks for client certificates."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from energycomm.transport.channel import Sent, TechnicalError
from energycomm.transport.credentials import Secret
from energycomm.transport.https import HttpsClient, HttpsServer, wish
from energycomm.transport.patience import GuardedOut, SystemClock
from energycomm.transport.settings import ChannelSetting
from energycomm.transport.soap import SoapOut, read_body, wrapped
from tests.servers.authority import Authority
from tests.servers.https import HttpsTestServer, Reply, https_server
from tests.transport.arrivals import Message

SOAP11 = "http://schemas.xmlsoap.org/soap/envelope/"
SOAP12 = "http://www.w3.org/2003/05/soap-envelope"


def soap(body: str, space: str = SOAP11) -> bytes:
    return f'<e:Envelope xmlns:e="{space}"><e:Body>{body}</e:Body></e:Envelope>'.encode()


def fault(code: str = "e:Server", detail: str = "") -> bytes:
    return soap(f"<e:Fault><faultcode>{code}</faultcode><faultstring>words</faultstring>{detail}</e:Fault>")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """The market's authority, with a server's and a client's certificate."""
    made = Authority(tmp_path_factory.mktemp("authority"))
    made.issue("server")
    made.issue("client")
    return made


@pytest.fixture
def service(authority: Authority) -> Iterator[HttpsTestServer]:
    """A service that accepts everything."""
    certificate = authority.folder / "server.pem", authority.folder / "server.key"
    with https_server(certificate, authority.file, lambda request: Reply(content=soap("<ok/>"))) as server:
        yield server


@pytest.fixture
def open_out(service: HttpsTestServer, authority: Authority) -> Iterator[Any]:
    """Open an outgoing channel; settings of the server and of the channel by name."""
    opened: list[SoapOut] = []

    def make(**settings: Any) -> SoapOut:
        of_channel = {name: settings.pop(name) for name in ("version", "actions", "paths") if name in settings}
        of_server = {
            "url": service.url,
            "ca_file": authority.file,
            "certificate_file": authority.folder / "client.pem",
            "key_file": authority.folder / "client.key",
            "timeout": 5.0,
            "connect_timeout": 5.0,
        }
        opened.append(SoapOut("sge", "FR", HttpsServer(**{**of_server, **settings}), **of_channel))
        return opened[-1]

    yield make
    for channel in opened:
        channel.close()


def failed(outcome: Sent | TechnicalError | str) -> TechnicalError:
    assert isinstance(outcome, TechnicalError), outcome
    return outcome


def test_a_request_is_wrapped_sent_and_its_answer_handed_on(open_out: Any, service: HttpsTestServer) -> None:
    """The bytes of the body are those that were built; action and path go by the type."""
    content = b'<?xml version="1.0" encoding="UTF-8"?>\n<r xmlns="urn:x"  a="1"/>'
    channel = open_out(actions={"Search": "urn:x/search"}, paths={"Search": "../search/v1"})
    sent = channel.send(Message(type="Search", content=content))
    assert sent == Sent(reference="r1", receipt="HTTP 200", answer=soap("<ok/>"))
    (request,) = service.requests
    assert request.path == "/search/v1"
    assert request.headers["SOAPAction"] == '"urn:x/search"'
    assert request.headers["Content-Type"] == "text/xml; charset=utf-8"
    assert b'<r xmlns="urn:x"  a="1"/>' in request.content
    assert read_body(request.content) is not None


def test_soap_1_2_says_its_action_in_the_content_type(open_out: Any, service: HttpsTestServer) -> None:
    """And its faults look different."""
    detail = "<e:Detail><reason/></e:Detail>"
    code = f"<e:Code><e:Value>e:Sender</e:Value></e:Code><e:Reason><e:Text>w</e:Text></e:Reason>{detail}"
    service.replies.append(Reply(400, soap(f"<e:Fault>{code}</e:Fault>", SOAP12)))
    sent = open_out(version="1.2", actions={"C15": "go"}).send(Message())
    assert isinstance(sent, Sent)
    assert service.requests[0].headers["Content-Type"] == 'application/soap+xml; charset=utf-8; action="go"'
    assert SOAP12.encode() in service.requests[0].content


def test_content_that_is_a_soap_message_is_sent_as_it_is() -> None:
    """A signed envelope must not change by a byte."""
    content = soap("<r/>", SOAP12)
    assert wrapped(content, "1.1") == content


def test_a_fault_with_reasons_is_the_markets_answer(open_out: Any, service: HttpsTestServer) -> None:
    """SGE refuses with resultat codes, EDSN with SOAPFault: content for the digester, no error of the way."""
    content = fault("e:Client", "<detail><erreur><resultat code='SGT401'/></erreur></detail>")
    service.replies.append(Reply(500, content))
    sent = open_out().send(Message())
    assert isinstance(sent, Sent)
    assert sent.answer == content


@pytest.mark.parametrize(
    ("reply", "code", "maybe_sent"),
    [
        (Reply(500, fault()), "CHANNEL_SERVER", True),
        (Reply(500, fault("e:Client")), "CHANNEL_REFUSED", False),
        (Reply(500, b"oops"), "CHANNEL_SERVER", True),
        (Reply(503, b"", {"Retry-After": "7"}), "CHANNEL_SERVER", False),
        (Reply(502, b""), "CHANNEL_SERVER", True),
        (Reply(429, b""), "CHANNEL_LIMITED", False),
        (Reply(401, b""), "CHANNEL_LOGIN", False),
        (Reply(403, b""), "CHANNEL_DENIED", False),
        (Reply(404, b""), "CHANNEL_REFUSED", False),
        (Reply(301, b"", {"Location": "https://elsewhere.example/"}), "CHANNEL_REFUSED", False),
        (Reply(200, b"<html/>"), "CHANNEL_ANSWER", True),
        (Reply(200, b'<!DOCTYPE x [<!ENTITY a "b">]><x/>'), "CHANNEL_ANSWER", True),
        (Reply(200, b"not packed", {"Content-Encoding": "gzip"}), "CHANNEL_ANSWER", True),
        (Reply(hang_up=True), "CHANNEL_BROKEN", True),
        (Reply(200, b"x" * 3000), "CHANNEL_TOO_LARGE", True),
    ],
)
def test_what_else_may_be_answered(
    open_out: Any, service: HttpsTestServer, reply: Reply, code: str, maybe_sent: bool
) -> None:
    """Each has its code, and says whether the market may have the message."""
    service.replies.append(reply)
    error = failed(open_out(max_answer=2000).send(Message()))
    assert (error.code, error.maybe_sent, error.item) == (code, maybe_sent, "r1")
    if reply.status == 503:
        assert error.retry_after == 7.0


@pytest.mark.parametrize("reply", [Reply(delay=1.5), Reply(content=b"x" * 200, drip=0.05)])
def test_a_slow_server_is_given_up_in_time(open_out: Any, service: HttpsTestServer, reply: Reply) -> None:
    """Silence and drops alike; the message may have arrived."""
    service.replies.append(reply)
    began = time.monotonic()
    error = failed(open_out(timeout=0.3, connect_timeout=0.3).send(Message()))
    assert (error.code, error.maybe_sent) == ("CHANNEL_TIMEOUT", True)
    assert time.monotonic() - began < 5


def test_a_flapping_service_gets_the_same_bytes_until_it_answers(open_out: Any, service: HttpsTestServer) -> None:
    """Hang up, out of order, then fine."""
    service.replies.extend([Reply(hang_up=True), Reply(503)])
    setting = ChannelSetting(name="c", market="XX", direction="out", attempts=4, first_wait=0.01)
    guarded = GuardedOut(open_out(), setting, SystemClock())
    assert isinstance(guarded.send(Message()), Sent)
    assert len({request.content for request in service.requests}) == 1
    assert len(service.requests) == 3


def test_without_our_certificate_the_server_hangs_up(open_out: Any, service: HttpsTestServer) -> None:
    """That is a login that failed, and nothing was sent."""
    error = failed(open_out(certificate_file=None, key_file=None).send(Message()))
    assert (error.code, error.transient) == ("CHANNEL_LOGIN", False)
    assert service.requests == []


def test_an_expired_certificate_of_the_server_is_refused(authority: Authority, open_out: Any) -> None:
    """Nothing is sent, and trying again does not help."""
    with https_server(authority.issue("expired", expired=True), None) as server:
        error = failed(open_out(url=server.url).send(Message()))
        assert (error.code, error.transient, error.maybe_sent) == ("CHANNEL_TLS", False, False)
        assert "expired" in error.detail
        assert server.requests == []


def test_a_certificate_for_another_address_or_of_a_foreign_authority_is_refused(
    authority: Authority, open_out: Any, tmp_path: Path
) -> None:
    """Verification is never switched off."""
    foreign = Authority(tmp_path / "foreign", "Somebody else")
    for certificate in (authority.issue("elsewhere", host="127.0.0.2"), foreign.issue("foreign")):
        with https_server(certificate, None) as server:
            assert failed(open_out(url=server.url).send(Message())).code == "CHANNEL_TLS"


def test_an_expired_certificate_of_ours_is_a_refused_login(authority: Authority, open_out: Any) -> None:
    """The server says so; we say whose certificate it is."""
    certificate, key = authority.issue("old-client", expired=True)
    error = failed(open_out(certificate_file=certificate, key_file=key).send(Message()))
    assert error.code == "CHANNEL_LOGIN"
    assert "certificate" in error.detail


def test_a_wrong_pass_phrase_is_a_mistake_of_the_configuration(authority: Authority, open_out: Any) -> None:
    """It is neither shown nor asked for at the terminal; the right one works."""
    certificate, key = authority.issue("locked", passphrase="sesame")
    for words, good in (("barley", False), ("sesame", True)):
        phrase = Secret("passphrase", variable="W", environ={"W": words})
        outcome = open_out(certificate_file=certificate, key_file=key, passphrase=phrase).send(Message())
        assert isinstance(outcome, Sent) is good
        assert good or (failed(outcome).code == "CHANNEL_CONFIG" and words not in str(outcome))
    missing = failed(open_out(ca_file=authority.folder / "none").send(Message()))
    assert missing.code == "CHANNEL_CONFIG"


def test_a_renewed_certificate_is_used_without_a_restart(
    authority: Authority, open_out: Any, tmp_path: Path, service: HttpsTestServer
) -> None:
    """Files that changed are read again."""
    old, key = authority.issue("renewed", expired=True)
    channel = open_out(certificate_file=old, key_file=key)
    assert failed(channel.send(Message())).code == "CHANNEL_LOGIN"
    authority.issue("renewed")
    assert isinstance(channel.send(Message()), Sent)


def test_nothing_listens_and_no_plain_http(open_out: Any, authority: Authority) -> None:
    """Unreachable; and an address without TLS is refused when the channel is made."""
    assert failed(open_out(url="https://127.0.0.1:1/").send(Message())).code == "CHANNEL_UNREACHABLE"
    with pytest.raises(ValueError, match="https"):
        HttpsClient("x", HttpsServer(url="http://127.0.0.1/"))


def test_a_path_never_leads_to_another_server(open_out: Any, service: HttpsTestServer) -> None:
    """Our certificate is shown to the configured server only."""
    error = failed(open_out(paths={"C15": "https://elsewhere.example/x"}).send(Message()))
    assert error.code == "CHANNEL_CONFIG"


def test_the_check_says_what_it_saw(open_out: Any) -> None:
    """Without sending a message."""
    assert open_out().check() == "the service answers (HTTP status 200 to an empty request)"
    assert failed(open_out(url="https://127.0.0.1:1/").check()).code == "CHANNEL_UNREACHABLE"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("5", 5.0), ("-1", 0.0), ("1e9", 86_400.0), ("nan", None), ("Wed, 1 Jan", None), (None, None)],
)
def test_a_wish_to_wait_is_read_with_care(header: str | None, seconds: float | None) -> None:
    """Numbers only, and not beyond a day."""
    assert wish(header) == seconds
