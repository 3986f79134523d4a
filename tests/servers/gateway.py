"""`energycomm serve` in a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from energycomm import cli

START = "import sys; from energycomm.cli import main; sys.exit(main())"


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def gateway_server(place: Path, **environment: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The address of a running server, and its process.

    Args:
      place: its working directory.
      environment: further variables.
    """
    port = free_port()
    known = os.environ | {"PYTHONPATH": str(Path(cli.__file__).parents[1])} | environment
    command = [sys.executable, "-c", START, "serve", "--port", str(port)]
    process = subprocess.Popen(command, cwd=place, env=known, stderr=subprocess.PIPE)
    address = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + 60
    while True:
        try:
            if httpx.get(f"{address}/health", timeout=5).status_code == 200:
                break
        except httpx.HTTPError:
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                pytest.fail(f"the server does not come up: {process.communicate()[1].decode()}")
            time.sleep(0.1)
    try:
        yield address, process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
