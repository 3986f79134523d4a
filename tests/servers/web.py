"""An ASGI application served by uvicorn over TLS on loopback, in a thread."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn


@contextmanager
def web_server(app: Any, certificate: tuple[Path, Path]) -> Iterator[str]:
    """Serve an application; its address."""
    listening = socket.create_server(("127.0.0.1", 0))
    settings = uvicorn.Config(
        app,
        ssl_certfile=certificate[0],
        ssl_keyfile=certificate[1],
        log_config=None,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(settings)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield f"https://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()
