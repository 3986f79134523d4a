"""The address of the database as people write it: of one server, or of several of which one is written to."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING

# SQLAlchemy is imported where an address is taken apart: most of what a program does before it opens a store, and all
# that it does without one, needs no more than the name of a file.
if TYPE_CHECKING:
    from sqlalchemy.engine import URL

# As SQLAlchemy divides it: a password may hold anything but `@`. Atomic, so that no piece of it is taken for a server.
_SEVERAL = re.compile(
    r"(?P<before>postgres[a-z+]*://(?>(?:[^:/@]*(?::[^@]*)?@)?))(?P<servers>[^/?@]*,[^/?@]*)(?P<after>(?:[/?].*)?)",
    re.DOTALL,
)
_SQLITE = re.compile(r"sqlite:///([^?#%@,]+)")
_SERVER = re.compile(r"(?:\[(?P<ipv6>[0-9A-Fa-f:.%]+)\]|(?P<name>[^\s:\[\]]+))(?::(?P<port>\d+))?")


class WrongAddress(ValueError):
    """No address of a database; why."""


def sqlite_file(written: str) -> str | None:
    """The file of a SQLite store whose address is nothing else; None of every other address."""
    match = _SQLITE.fullmatch(written)
    return match[1] if match and match[1] != ":memory:" else None


def read_address(written: str) -> URL:
    """The parts of a database's address.

    Args:
      written: ``sqlite:///path``, ``postgresql://user:password@host:5432/name``, or several servers in the form of
        libpq (PostgreSQL documentation 34.1.1.3): ``postgresql://user:password@host1:5432,host2:5432/name``.

    Returns:
      The URL; several servers are in its query, as ``host`` and ``port``, which is where SQLAlchemy looks for them.

    Raises:
      WrongAddress: it is no such address.
    """
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    match = _SEVERAL.fullmatch(written)
    if match is None:
        try:
            return make_url(written)
        except ArgumentError as error:
            raise WrongAddress(str(error)) from None
        except ValueError:
            raise WrongAddress("the port is no number") from None
    servers = [_SERVER.fullmatch(server) for server in match["servers"].split(",")]
    found = [server for server in servers if server is not None]
    if len(found) < len(servers):
        raise WrongAddress("expected host:port,host:port")
    query = {"host": ",".join(server["ipv6"] or server["name"] for server in found)}
    if any(server["port"] for server in found):
        query["port"] = ",".join(server["port"] or "" for server in found)
    try:
        return make_url(match["before"] + match["after"]).update_query_dict(query)
    except ArgumentError as error:
        raise WrongAddress(str(error)) from None


def names_several(address: URL) -> bool:
    """Whether it names several servers, in this form or in that of SQLAlchemy (``?host=one:5432&host=two:5432``)."""
    hosts = address.query.get("host", "")
    return len(hosts) > 1 if isinstance(hosts, tuple) else "," in hosts


def show_address(address: URL) -> str:
    """An address as people write it, without its password, and without the driver that we chose."""
    address = address.set(drivername=address.get_backend_name())
    hosts, ports = address.query.get("host", ""), address.query.get("port", "")
    if isinstance(hosts, tuple) or isinstance(ports, tuple) or "," not in hosts:
        return address.render_as_string(hide_password=True)
    named = [f"[{host}]" if ":" in host else host for host in hosts.split(",")]
    pairs = zip_longest(named, ports.split(","), fillvalue="")
    servers = ",".join(f"{host}:{port}" if port else host for host, port in pairs)
    rest = address.difference_update_query(["host", "port"]).set(host="several")
    shown = rest.render_as_string(hide_password=True)
    return re.sub(r"(?<=[/@])several(?=[/?]|$)", lambda _: servers, shown, count=1)
