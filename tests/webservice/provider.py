"""An identity provider of the tests, on this machine: it signs ID tokens with a key of its own."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "energycomm", "provider-secret"


class TestProvider:
    """Answers discovery, keys, tokens and userinfo; `claims` and `spoil` say what it lies about.

    Attributes:
      claims: put into the ID token, over those that are right.
      described: put into the description of itself.
      groups_in_userinfo: tell the groups only when asked for.
      issued: codes that were given out, with what they are for.
    """

    __test__ = False

    def __init__(self) -> None:
        self.key = RSAKey.generate_key(2048, {"kid": "one"}, private=True)
        self.claims: dict[str, Any] = {}
        self.described: dict[str, str] = {}
        self.groups_in_userinfo = False
        self.issued: dict[str, dict[str, str]] = {}
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = urlsplit(self.path).path
                self._answer(*provider.get(path))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                form = {name: values[0] for name, values in parse_qs(body).items()}
                self._answer(*provider.token(form, self.headers.get("Authorization", "")))

            def _answer(self, status: int, content: dict[str, Any]) -> None:
                body = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.issuer = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def sign_in(self, address: str) -> tuple[str, str]:
        """What a person does at the provider's page: gives (code, state) for the way back."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256"
        code = f"code-{len(self.issued)}"
        self.issued[code] = query
        return code, query["state"]

    def get(self, path: str) -> tuple[int, dict[str, Any]]:
        """Discovery, keys, userinfo."""
        if path == "/.well-known/openid-configuration":
            return 200, {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
                "userinfo_endpoint": f"{self.issuer}/userinfo",
            } | self.described
        if path == "/keys":
            return 200, {"keys": [self.key.as_dict(private=False)]}
        if path == "/userinfo":
            return 200, {"sub": "17", "groups": ["energy-correction"]}
        return 404, {}

    def token(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        """Exchange a code, once, for an ID token; only with the right secret and verifier."""
        asked = self.issued.pop(form.get("code", ""), None)
        expected = "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if asked is None or authorization != expected or challenge != asked["code_challenge"]:
            return 400, {"error": "invalid_grant"}
        if form["redirect_uri"] != asked["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": "17",
            "iat": now,
            "exp": now + 300,
            "nonce": asked["nonce"],
            "preferred_username": "anna",
        }
        if not self.groups_in_userinfo:
            claims["groups"] = ["energy-correction", "football"]
        claims |= self.claims
        id_token = jwt.encode({"alg": "RS256", "kid": self.key.kid or ""}, claims, self.key)
        return 200, {"access_token": "access", "token_type": "Bearer", "expires_in": 300, "id_token": id_token}
