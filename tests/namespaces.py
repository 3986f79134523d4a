"""Hosts of their own on one machine: network namespaces on one bridge, each of which can be cut off.

This machine, as far as it is in no namespace, is one more host on the bridge, with the servers that the others use. A
cut takes the host's cable out of the bridge: what is sent vanishes, and nobody is told, as when a switch dies.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator


class Host:
    """One host.

    Args:
      name: of the host and its namespace.
      address: its address.
      cable: end of its cable at the bridge.
      bridge: the bridge.

    Attributes:
      is_cut, cuts: whether it is cut off, and how often it was.
    """

    def __init__(self, name: str, address: str, cable: str, bridge: str) -> None:
        self.name, self.address, self._cable, self._bridge = name, address, cable, bridge
        self.is_cut, self.cuts = False, 0

    def command(self, *words: str) -> list[str]:
        """A command line that runs on the host, under its name, in the process that starts it."""
        line = 'hostname "$0" && exec "$@"'
        return ["ip", "netns", "exec", self.name, "unshare", "--uts", "sh", "-c", line, self.name, *words]

    def cut(self) -> None:
        """Let everything vanish that it sends and is sent."""
        _ip("link", "set", self._cable, "nomaster")
        self.is_cut = True
        self.cuts += 1

    def mend(self) -> None:
        """Let it come back."""
        _ip("link", "set", self._cable, "master", self._bridge)
        self.is_cut = False


class Network:
    """Some hosts and this machine.

    Attributes:
      address: of this machine.
      hosts: the others.
    """

    def __init__(self, address: str, hosts: list[Host]) -> None:
        self.address, self.hosts = address, hosts


def why_not() -> str | None:
    """Why there can be no such hosts here; None where there can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    missing = [name for name in ("ip", "unshare", "hostname") if shutil.which(name) is None]
    if missing:
        return f"these programs are missing: {', '.join(missing)}"
    try:
        with network(1) as made:
            subprocess.run(made.hosts[0].command("true"), check=True, capture_output=True)
    except subprocess.CalledProcessError as error:
        return f"network namespaces cannot be made: {error.stderr.decode().strip()}"
    return None


@contextlib.contextmanager
def network(number: int) -> Iterator[Network]:
    """So many hosts, gone afterwards with all that runs in them.

    Raises:
      CalledProcessError: the system does not let us.
    """
    pid = os.getpid()
    bridge, net = f"ecb{pid}", f"10.{190 + pid // 250 % 60}.{pid % 250}"
    hosts = [Host(f"ec{pid}-{n}", f"{net}.{10 + n}", f"ecv{pid}-{n}", bridge) for n in range(1, number + 1)]
    with contextlib.ExitStack() as stack:
        _ip("link", "add", bridge, "type", "bridge")
        stack.callback(_ip, "link", "delete", bridge)
        _ip("address", "add", f"{net}.1/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        for n, host in enumerate(hosts, 1):
            _ip("netns", "add", host.name)
            stack.callback(_ip, "netns", "delete", host.name)
            _ip("link", "add", f"ecv{pid}-{n}", "type", "veth", "peer", "name", "eth0", "netns", host.name)
            host.mend()
            _ip("link", "set", f"ecv{pid}-{n}", "up")
            for words in (f"address add {host.address}/24 dev eth0", "link set eth0 up", "link set lo up"):
                _ip("-n", host.name, *words.split())
        yield Network(f"{net}.1", hosts)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
