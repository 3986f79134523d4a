"""An HTTPS endpoint that markets push to: POST /channels/NAME/messages, answered only when the bytes are safe.

`create_app` makes an ASGI application that hands bytes to a callback; `PushIn` is the channel whose callback lays them
into a spool, from which the daemon polls them. The application does no TLS itself: uvicorn or a proxy before it does.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Final

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from energycomm.logs import Log
from energycomm.private_files import private_folder
from energycomm.transport.allowances import Guesses
from energycomm.transport.channel import Arrival, Direction, TechnicalError
from energycomm.transport.credentials import Secret, SecretUnreadableError
from energycomm.transport.folder_lock import alone, safe_name
from energycomm.transport.spool import Spool

log = Log()

REMEMBERED: Final = 10_000
"""Idempotency keys that are remembered, the newest."""
IN_MEMORY: Final = 1 << 20
"""Bytes of a message that are held in memory; larger ones lie in a temporary file until they are handed over."""
LONGEST_SHOWN: Final = 80
"""Characters of a wrong name that are told back."""
KEY_FORM: Final = re.compile(r"[\x21-\x7e]{1,128}")
NAME_FORM: Final = re.compile(r"\w([\w .+-]{0,198}[\w+-])?")
"""No folder, no hidden file, none that a file system shortens: `..`, `.a.xml` and `a.` are no names."""
GUESSES_PER_MINUTE: Final = 30
TOO_MANY: Final = 429


class Push(Struct, frozen=True, kw_only=True):
    """What somebody pushed.

    Attributes:
      channel: name of the channel.
      key: its idempotency key; the hash of its content where none was given.
      name: file name, of the query's `name`, or the key.
      content: the bytes, to be read once.
      size: how many.
      sha256: their hash in hexadecimal.
    """

    channel: str
    key: str
    name: str
    content: IO[bytes]
    size: int
    sha256: str


Receive = Callable[[Push], bool]
"""Makes a push safe; True when it was known before. It runs in a thread. An OSError is answered with 503."""


class PushEndpoint(Struct, frozen=True, kw_only=True):
    """One channel behind the endpoint.

    Attributes:
      channel: its name, part of the address.
      token: where the tokens are, one a line; whoever shows one may push.
      receive: what is done with a push.
      max_bytes: largest message.
      timeout: seconds that a message may take to arrive.
    """

    channel: str
    token: Secret
    receive: Receive
    max_bytes: int = 64 << 20
    timeout: float = 60.0


class _Refused(Exception):
    """A push that is not taken.

    Attributes:
      status: HTTP status.
      words: why.
      headers: further headers of the answer.
    """

    def __init__(self, status: int, words: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(words)
        self.status, self.words, self.headers = status, words, headers


class Keys:
    """Idempotency keys of this process: which content came under which, so that another under one is refused."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str], str] = OrderedDict()

    def find(self, channel: str, key: str) -> str | None:
        """Hash of what came under a key; None where it is not known."""
        with self._lock:
            return self._known.get((channel, key))

    def remember(self, channel: str, key: str, digest: str) -> None:
        """Remember what came under a key."""
        with self._lock:
            self._known[channel, key] = digest
            self._known.move_to_end((channel, key))
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)


def create_app(endpoints: Sequence[PushEndpoint], guesses_per_minute: int = GUESSES_PER_MINUTE) -> FastAPI:
    """The ASGI application of some channels.

    Args:
      endpoints: the channels.
      guesses_per_minute: wrong tokens from one address, or for one channel; right ones are never held up.

    Answers: 202 taken (``duplicate`` says whether it was known), 400 a wrong header or name, 401 no such channel or
    no token of it, 408 too slow, 413 too large, 415 packed, 422 other content under a known key, 429 one more wrong
    token of many, 503 it cannot be made safe now.
    """
    app = FastAPI(title="EnergyComm push endpoint", docs_url=None, redoc_url=None, openapi_url=None)
    by_name = {endpoint.channel: endpoint for endpoint in endpoints}
    keys, guesses = Keys(), Guesses(guesses_per_minute)

    @app.post("/channels/{channel}/messages")
    async def push(channel: str, request: Request) -> JSONResponse:
        try:
            endpoint = await _allowed(by_name.get(channel), guesses, request)
            return await _answer(endpoint, keys, request)
        except _Refused as refused:
            if refused.status != TOO_MANY:  # who guesses fills no log
                log.warning("push.refused", channel=channel[:40], status=refused.status, reason=refused.words)
            return JSONResponse({"error": refused.words}, refused.status, refused.headers)

    return app


async def _answer(endpoint: PushEndpoint, keys: Keys, request: Request) -> JSONResponse:
    key = request.headers.get("idempotency-key")
    if key is not None and not KEY_FORM.fullmatch(key):
        raise _Refused(400, "Idempotency-Key needs 1 to 128 printable characters without spaces")
    name = request.query_params.get("name")
    if name is not None and not NAME_FORM.fullmatch(name):
        raise _Refused(
            400,
            f"name: found {name[:LONGEST_SHOWN]!r}, expected 1 to 200 letters, digits, spaces and . _ + -, "
            "with a letter, a digit or _ first and no dot or space last; send it under such a name",
        )
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise _Refused(415, "the message is sent as it is, without Content-Encoding", {"Connection": "close"})
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as content:
        size, digest = await _take(endpoint, request, content)
        key = key or digest
        known = keys.find(endpoint.channel, key)
        if known is not None and known != digest:
            raise _Refused(422, "other content came under this Idempotency-Key")
        duplicate = known is not None
        if not duplicate:
            content.seek(0)
            pushed = Push(
                channel=endpoint.channel,
                key=key,
                name=name or safe_name(key),
                content=content,
                size=size,
                sha256=digest,
            )
            duplicate = await _hand_over(endpoint, pushed)
            keys.remember(endpoint.channel, key, digest)
    return JSONResponse({"key": key, "sha256": digest, "duplicate": duplicate}, 202)


async def _allowed(endpoint: PushEndpoint | None, guesses: Guesses, request: Request) -> PushEndpoint:
    """The endpoint, where whoever asks shows a token of it. Without one nobody learns which channels there are."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    challenge = {"WWW-Authenticate": "Bearer"}
    if scheme.lower() != "bearer" or not token.strip():
        raise _Refused(401, "a token is needed: Authorization: Bearer TOKEN", challenge)
    if endpoint is not None and await _accepts(endpoint, token.strip()):
        return endpoint
    # A right token was let in above, however many wrong ones came from the same place.
    place = request.client.host if request.client else ""
    wait = guesses.wrong(place, endpoint.channel if endpoint is not None else "")
    if wait:
        raise _Refused(TOO_MANY, "too many wrong tokens", {"Retry-After": str(max(1, round(wait + 0.5)))})
    raise _Refused(401, "this token is not known", challenge)


async def _accepts(endpoint: PushEndpoint, token: str) -> bool:
    try:
        return await run_in_threadpool(endpoint.token.accepts, token)
    except SecretUnreadableError as fault:
        log.error("push.token", channel=endpoint.channel, reason=str(fault))
        raise _Refused(503, "the endpoint is not set up", {"Retry-After": "60"}) from None


async def _take(endpoint: PushEndpoint, request: Request, content: IO[bytes]) -> tuple[int, str]:
    """Read the body; its size and hash."""
    announced = request.headers.get("content-length", "0")
    if not announced.isdecimal() or int(announced) > endpoint.max_bytes:
        raise _Refused(413, f"at most {endpoint.max_bytes} bytes", {"Connection": "close"})
    size, digest = 0, sha256()
    try:
        async with asyncio.timeout(endpoint.timeout):
            async for chunk in request.stream():
                size += len(chunk)
                if size > endpoint.max_bytes:
                    raise _Refused(413, f"at most {endpoint.max_bytes} bytes", {"Connection": "close"})
                if size <= IN_MEMORY:
                    _add(content, digest, chunk)
                else:
                    await run_in_threadpool(_add, content, digest, chunk)
    except TimeoutError:
        raise _Refused(408, f"the message took longer than {endpoint.timeout:g} seconds") from None
    except ClientDisconnect:
        raise _Refused(400, "the message was broken off") from None
    if size == 0:
        raise _Refused(400, "the message is empty")
    return size, digest.hexdigest()


def _add(content: IO[bytes], digest: Any, chunk: bytes) -> None:
    digest.update(chunk)
    content.write(chunk)


async def _hand_over(endpoint: PushEndpoint, pushed: Push) -> bool:
    try:
        return await run_in_threadpool(endpoint.receive, pushed)
    except FileExistsError:
        raise _Refused(422, "other content came under this Idempotency-Key") from None
    except OSError as fault:
        log.error("push.not_taken", channel=endpoint.channel, reason=fault.strerror)
        raise _Refused(503, "the message cannot be taken now; send it again", {"Retry-After": "30"}) from None


class PushIn:
    """The channel of an endpoint: what was pushed lies in the spool and is polled from there.

    Args:
      name: name of the channel.
      market: ISO code of the market.
      spool: folder of ours where messages lie until the store has them.
      token: where the tokens are.
      max_bytes: largest message.
      max_waiting: messages that may lie in the spool; more are refused until some are taken in.
    """

    direction: Direction = "in"

    def __init__(
        self,
        name: str,
        market: str,
        spool: Path,
        token: Secret,
        *,
        max_bytes: int = 64 << 20,
        max_waiting: int = 10_000,
    ) -> None:
        self.name, self.market = name, market
        self._token, self._max_bytes, self._max_waiting = token, max_bytes, max_waiting
        self._spool = Spool(name, spool)

    @property
    def endpoint(self) -> PushEndpoint:
        """The channel's part of the endpoint, for `create_app`; it may run in another process."""
        return PushEndpoint(channel=self.name, token=self._token, receive=self.receive, max_bytes=self._max_bytes)

    def receive(self, pushed: Push) -> bool:
        """Lay a push into the spool; True when it lies there already.

        Raises:
          FileExistsError: other content lies there under its key.
          OSError: the disk or the spool is full.
        """
        private_folder(self._spool.folder, ours=True)
        # Two senders of one key, in whatever threads and processes, do not pass the question together.
        with alone(self._spool.folder / ".push"):
            known = self._spool.find(pushed.key)
            if known is not None:
                if known.sha256 != pushed.sha256:
                    raise FileExistsError(pushed.key)
                return True
            if self._spool.count() >= self._max_waiting:
                raise OSError(None, f"{self._max_waiting} messages wait in the spool")
            self._spool.put(pushed.key, pushed.name, pushed.content, reference=pushed.key)
        return False

    def check(self) -> str | TechnicalError:
        """See whether the token can be read and the spool be used."""
        try:
            self._token.read()
        except SecretUnreadableError as fault:
            return TechnicalError(code="CHANNEL_CONFIG", channel=self.name, detail=str(fault))
        return f"{self._spool.count()} pushed messages wait"

    def close(self) -> None:
        """Let others poll."""
        self._spool.close()

    def poll(self) -> Iterator[Arrival | TechnicalError]:
        """What was pushed, the oldest first."""
        error = self._spool.open_for_polling()
        if error is not None:
            yield error
            return
        self._spool.retell(lambda entry: None)
        yield from self._spool.arrivals()
