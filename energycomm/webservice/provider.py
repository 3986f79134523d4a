"""Sign-in with OpenID Connect: authorization code flow with PKCE, by Authlib; ID tokens are checked by joserfc.

Who signs in is named by a claim, and has the roles that the configuration gives to the groups in another claim. Whoever
is in none of these groups is turned away.
"""

from __future__ import annotations

import secrets
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.httpx_client import OAuth2Client
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from msgspec import Struct

from energycomm.transport.credentials import Secret, SecretUnreadableError
from energycomm.web_settings import OidcSettings
from energycomm.webservice.roles import Person, Role
from energycomm.webservice.sessions import Provided
from energycomm.webservice.underway import Seal, Underway

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures of ID tokens that are believed: none that our own secret could make, and none without a key."""

FRESH = 3600.0
"""Seconds for which the provider's description and keys are kept."""
PAUSE = 5.0
"""Seconds for which a provider that could not be reached is not asked again."""
LEEWAY = 60
"""Seconds that the provider's clock and ours may differ."""
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
"""What makes a token one of a sign-out."""
AT_ONCE = 8
"""People for whom the provider is asked at once: one that is slow takes no more of our threads."""


class SignInRefused(Exception):
    """A sign-in was refused; the message is for the user, without secrets."""


class Arrived(Struct, frozen=True):
    """Whom the provider brought.

    Attributes:
      person: who.
      provided: what else it told of them.
    """

    person: Person
    provided: Provided


class ProviderBusy(SignInRefused):
    """The provider was not asked yet: the same sign-in may be tried again."""


class Provider:
    """An identity provider.

    Args:
      settings: how it is reached; `issuer` is set.
      folder: where relative paths of files start.
      clock: seconds since the epoch.
    """

    def __init__(self, settings: OidcSettings, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self.settings, self._clock = settings, clock
        file = folder / settings.secret_file if settings.secret_file else None
        self._secret = Secret("secret at the identity provider", file, settings.secret_env)
        ca_file = folder / settings.ca_file if settings.ca_file else None
        self._verify = ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
        self._lock = threading.Lock()
        self._asking = threading.BoundedSemaphore(AT_ONCE)
        self._described: tuple[float, dict[str, Any]] | None = None
        self._unreachable: tuple[float, str] | None = None
        self._keys: tuple[float, KeySet] | None = None
        self._seal = Seal(self._secret_read, clock)

    def begin(self, redirect_uri: str, then: str) -> tuple[str, str]:
        """The provider's address that the browser is sent to, and the cookie that it keeps meanwhile.

        Args:
          redirect_uri: our address that the provider sends the browser back to.
          then: path of the page to show afterwards.

        Raises:
          SignInRefused: the provider cannot be reached.
        """
        state, nonce, verifier = secrets.token_urlsafe(24), secrets.token_urlsafe(24), secrets.token_urlsafe(48)
        with self._at_once(), self._client(redirect_uri) as client:
            address, _ = client.create_authorization_url(
                self._described_at("authorization_endpoint"), state=state, nonce=nonce, code_verifier=verifier
            )
        return str(address), self._seal.close(state, nonce, verifier, then)

    def underway(self, cookie: str) -> Underway | None:
        """The sign-in that a browser is on; None where it was not begun here, or took too long.

        Raises:
          SignInRefused: our secret at the provider cannot be read.
        """
        return self._seal.open(cookie)

    def finish(self, redirect_uri: str, content: Underway, code: str) -> Arrived:
        """Who signed in.

        Args:
          redirect_uri: the same as at the beginning.
          content: what the browser kept.
          code: what the provider sent along with the browser.

        Raises:
          SignInRefused: the provider refuses the code, what it says cannot be believed, or the person has no role.
        """
        with self._at_once(), self._client(redirect_uri) as client:
            try:
                token = client.fetch_token(
                    self._described_at("token_endpoint"),
                    grant_type="authorization_code",
                    code=code,
                    code_verifier=content.verifier,
                )
            except (AuthlibBaseError, httpx.HTTPError, ValueError) as error:
                raise SignInRefused(f"The identity provider refused the sign-in: {type(error).__name__}.") from None
            id_token = str(token.get("id_token", ""))
            claims = self._believed(id_token, content.nonce)
            if _claim(claims, self.settings.roles_claim) is None:
                claims = self._asked(client) | claims
        return Arrived(self._person(claims), Provided(id_token, str(claims["sub"]), str(claims.get("sid") or "")))

    def farewell(self, redirect_uri: str, id_token: str) -> str | None:
        """The provider's address that ends the session there too (OpenID Connect RP-Initiated Logout 1.0).

        Args:
          redirect_uri: our address that the provider sends the browser back to.
          id_token: what the provider told at the sign-in; it then asks the person nothing.

        Returns:
          The address; None where the provider has none, or cannot be asked: the session here is over all the same.
        """
        try:
            with self._at_once():
                address = self._described_at("end_session_endpoint")
        except SignInRefused:
            return None
        values = {"client_id": str(self.settings.client_id), "post_logout_redirect_uri": redirect_uri}
        if id_token:
            values["id_token_hint"] = id_token
        return f"{address}{'&' if urlsplit(address).query else '?'}{urlencode(values)}"

    def ended(self, logout_token: str) -> tuple[str, str]:
        """What the provider says is over (OpenID Connect Back-Channel Logout 1.0, section 2.6).

        Args:
          logout_token: as it sent it.

        Returns:
          The person's name there and their session there; one of them may be empty.

        Raises:
          SignInRefused: it cannot be believed.
        """
        with self._at_once():
            claims = self._checked(logout_token, {"jti": {"essential": True}, "events": {"essential": True}})
        events = claims["events"]
        if not isinstance(events, dict) or LOGOUT_EVENT not in events or "nonce" in claims:
            raise SignInRefused("This is no logout token.")
        subject, session = str(claims.get("sub") or ""), str(claims.get("sid") or "")
        if not subject and not session:
            raise SignInRefused("The logout token names neither a person nor a session.")
        return subject, session

    @contextmanager
    def _at_once(self) -> Iterator[None]:
        if not self._asking.acquire(blocking=False):
            raise ProviderBusy("Too many people sign in at this moment: load the page again.")
        try:
            yield
        finally:
            self._asking.release()

    def _secret_read(self) -> str:
        try:
            return self._secret.read()
        except SecretUnreadableError as error:
            raise SignInRefused(f"The gateway is not set up for sign-ins: {error}.") from None

    def _client(self, redirect_uri: str) -> Any:
        return OAuth2Client(
            self.settings.client_id,
            self._secret_read(),
            scope=self.settings.scopes,
            redirect_uri=redirect_uri,
            code_challenge_method="S256",
            timeout=self.settings.timeout,
            verify=self._verify,
        )

    def _described_at(self, name: str) -> str:
        """An address of the provider's own description (OpenID Connect Discovery)."""
        with self._lock:
            if self._described is None or self._described[0] < self._clock() - FRESH:
                issuer = str(self.settings.issuer).rstrip("/")
                found = self._discovered(f"{issuer}/.well-known/openid-configuration")
                if str(found.get("issuer", "")).rstrip("/") != issuer:
                    raise SignInRefused("The answer is from another identity provider.")
                self._described = self._clock(), found
            address = str(self._described[1].get(name, ""))
        wanted = urlsplit(str(self.settings.issuer)).scheme
        if urlsplit(address).scheme not in {"https", wanted}:
            raise SignInRefused(f"The identity provider has no safe {name}.")
        return address

    def _discovered(self, address: str) -> dict[str, Any]:
        """The description; who comes right after one who waited for it in vain is told at once."""
        if self._unreachable is not None and abs(self._clock() - self._unreachable[0]) < PAUSE:
            raise SignInRefused(self._unreachable[1])
        try:
            return self._fetched(address)
        except SignInRefused as refused:
            self._unreachable = self._clock(), str(refused)
            raise

    def _fetched(self, address: str) -> dict[str, Any]:
        try:
            answer = httpx.get(address, timeout=self.settings.timeout, verify=self._verify)
            answer.raise_for_status()
            content = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise SignInRefused(f"The identity provider cannot be reached: {type(error).__name__}.") from None
        if not isinstance(content, dict):
            raise SignInRefused("The identity provider answers nothing that is understood.")
        return content

    def _key_set(self, *, anew: bool = False) -> KeySet:
        address = self._described_at("jwks_uri")
        with self._lock:
            if anew or self._keys is None or self._keys[0] < self._clock() - FRESH:
                try:
                    self._keys = self._clock(), KeySet.import_key_set(self._fetched(address))  # type: ignore[arg-type]
                except (JoseError, ValueError, KeyError):
                    raise SignInRefused("The keys of the identity provider cannot be read.") from None
            return self._keys[1]

    def _believed(self, id_token: str, nonce: str) -> dict[str, Any]:
        """The claims of an ID token whose signature, issuer, audience, time and nonce are right."""
        return self._checked(
            id_token, {"sub": {"essential": True}, "nonce": {"essential": True, "value": nonce}}, "ID token"
        )

    def _checked(self, token: str, wanted: dict[str, Any], what: str = "logout token") -> dict[str, Any]:
        """The claims of a token that the provider signed for us, not long ago."""
        try:
            try:
                decoded = jwt.decode(token, self._key_set(), algorithms=list(ALGORITHMS))
            except (JoseError, ValueError):
                # The provider may have changed its keys since.
                decoded = jwt.decode(token, self._key_set(anew=True), algorithms=list(ALGORITHMS))
            claims = decoded.claims
            jwt.JWTClaimsRegistry(
                now=int(self._clock()),
                leeway=LEEWAY,
                iss={"essential": True, "value": str(self.settings.issuer)},
                aud={"essential": True, "value": str(self.settings.client_id)},
                exp={"essential": True},
                iat={"essential": True},
                **wanted,
            ).validate(claims)
        except (JoseError, ValueError) as error:
            raise SignInRefused(f"The {what} of the identity provider is not valid: {type(error).__name__}.") from None
        audience = claims["aud"]
        if isinstance(audience, list) and len(audience) > 1 and claims.get("azp") != self.settings.client_id:
            raise SignInRefused(f"The {what} of the identity provider is for another client.")
        return dict(claims)

    def _asked(self, client: Any) -> dict[str, Any]:
        """The claims of the userinfo endpoint, where the ID token tells no groups."""
        if self._described is None or "userinfo_endpoint" not in self._described[1]:
            return {}
        try:
            answer = client.get(self._described_at("userinfo_endpoint"))
            answer.raise_for_status()
            found = answer.json()
        except (AuthlibBaseError, httpx.HTTPError, ValueError) as error:
            raise SignInRefused(f"The ID token has no name of the user: {type(error).__name__}.") from None
        return found if isinstance(found, dict) else {}

    def _person(self, claims: dict[str, Any]) -> Person:
        named = [_claim(claims, name) for name in (self.settings.name_claim, "email", "sub")]
        name = next(str(value) for value in named if value)
        if not name.isprintable():
            raise SignInRefused("The identity provider names you by characters that no name has.")
        groups = _claim(claims, self.settings.roles_claim)
        mine = {str(group) for group in (groups if isinstance(groups, list) else [groups])}
        roles = frozenset(Role(role) for group, role in self.settings.roles.items() if group in mine)
        if not roles:
            raise SignInRefused("You are in no group that may use EnergyComm: ask an administrator.")
        return Person(name[:120], roles, "session by provider")


def _claim(claims: dict[str, Any], path: str) -> Any:
    """A claim by its name, or by dots through nested ones; None where there is none."""
    if path in claims:
        return claims[path]
    found: Any = claims
    for step in path.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    return found
