"""Accounts: people who sign in by name and password, with a second factor or without, and people who may not any more.

A person of the identity provider has an account only where they were disabled here. An initial password is for one
sign-in within three days: the person then chooses their own. Whatever changes the rights or credentials of a person
ends their sessions; who made the change in a page gets a new one.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Collection, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection, delete, func, insert, select, update

from energycomm.eis import tables
from energycomm.eis.database import Conflict, reading
from energycomm.eis.datakeys import vault_of
from energycomm.eis.store import Store, StoreTransaction
from energycomm.eis.structures import filled
from energycomm.errors import UserError
from energycomm.kernel.instants import now_micros
from energycomm.webservice import attempts, passwords, secondfactor, tokens
from energycomm.webservice.roles import Role, words_of

INITIAL_DAYS: Final = 3
DAY: Final = 86_400_000_000
LONGEST_NAME: Final = 120


class Step(StrEnum):
    """What a person who gave the right password has still to do."""

    CODE = "code"
    """Give a one-time code."""
    PASSWORD = "password"  # noqa: S105 - a word
    """Choose a password of their own."""
    ENROL = "enrol"
    """Set up a second factor: their role demands one."""


class Account(Struct, frozen=True, kw_only=True):
    """An account as it may be shown.

    Attributes:
      id: its number.
      name: of the person.
      roles: what they may do.
      state: initial, where the password is to be changed; valid, expired (an initial password that nobody used), none
        (without a password), disabled.
      second_factor: whether they need a one-time code to sign in.
      initial_until: when the initial password ends.
      changed_at: when the password was set.
    """

    id: int
    name: str
    roles: tuple[str, ...]
    state: str
    second_factor: bool
    initial_until: datetime | None
    changed_at: datetime | None
    created_at: datetime
    created_by: str
    disabled_at: datetime | None
    disabled_by: str | None


class SignedOut(Struct, frozen=True, kw_only=True):
    """What ended with a change.

    Attributes:
      sessions: how many sessions.
      tokens: numbers of the tokens that were revoked.
    """

    sessions: int
    tokens: tuple[int, ...] = ()


def find(store: Store, name: str) -> Account | None:
    """The account of a name."""
    return next(iter(_found(store, tables.account.c.name == name)), None)


def list_accounts(store: Store) -> list[Account]:
    """All accounts, by name."""
    return _found(store)


def any_password(store: Store) -> bool:
    """Whether anybody has a password to sign in with."""
    t = tables.account
    with reading(store.engine) as connection:
        return connection.execute(select(t.c.id).where(t.c.password.is_not(None)).limit(1)).first() is not None


def _found(store: Store, *conditions: Any) -> list[Account]:
    t, f, now = tables.account, tables.second_factor, now_micros()
    query = (
        select(t, f.c.confirmed_at)
        .outerjoin(f, (f.c.account_id == t.c.id) & f.c.confirmed_at.is_not(None))
        .where(*conditions)
        .order_by(t.c.name)
    )
    with reading(store.engine) as connection:
        rows = connection.execute(query).mappings().all()
    return [
        filled(
            Account,
            row,
            roles=tuple(row["roles"].split()),
            state=_state(row, now),
            second_factor=row["confirmed_at"] is not None,
        )
        for row in rows
    ]


def _state(row: Mapping[Any, Any], now: int) -> str:
    if row["disabled_at"] is not None:
        return "disabled"
    if row["password"] is None:
        return "none"
    if row["initial_until"] is None:
        return "valid"
    return "initial" if row["initial_until"] > now else "expired"


# --- what administrators do -------------------------------------------------------------------------------------------


def add(store: Store, name: str, roles: frozenset[Role], by: str) -> str:
    """Make an account.

    Args:
      store: the EIS.
      name: of the person; names that differ in capitals only are one name.
      roles: what they may do.
      by: who makes it.

    Returns:
      The initial password, which is shown once and kept nowhere.

    Raises:
      UserError: there is one of that name, or no store can hold the name.
    """
    if not name.isprintable() or not name.strip() or name != name.strip() or len(name) > LONGEST_NAME:
        raise UserError(
            f"The name {name[:LONGEST_NAME]!r} cannot be stored.",
            f"Choose 1 to {LONGEST_NAME} printable characters, without spaces around them.",
        )
    password, now, t = passwords.initial(), now_micros(), tables.account
    kept = passwords.hashed(password)
    try:
        with store.transaction() as tx:
            known = tx.connection.execute(select(t.c.name).where(func.lower(t.c.name) == name.lower())).scalar()
            if known is not None:
                raise _known(known)
            (number,) = tx.reserve(t, 1)
            row = {
                "id": number,
                "name": name,
                "roles": words_of(roles),
                "password": kept,
                "initial_until": now + INITIAL_DAYS * DAY,
                "changed_at": now,
                "created_at": now,
                "created_by": by,
            }
            tx.insert(t, [row])
    except Conflict:
        raise _known(name) from None
    return password


def _known(name: str) -> UserError:
    return UserError(f"There is an account of {name}.", f"`energycomm user password {name}` gives it a new password.")


def reset_password(store: Store, name: str) -> tuple[str, SignedOut]:
    """Give a person a new initial password, and end their sessions.

    Returns:
      The password, which is shown once and kept nowhere, and what ended.

    Raises:
      UserError: there is no such account.
    """
    password, now = passwords.initial(), now_micros()
    kept = passwords.hashed(password)
    with store.transaction() as tx:
        number = _number(tx, name)
        values = {"password": kept, "initial_until": now + INITIAL_DAYS * DAY, "changed_at": now}
        tx.connection.execute(update(tables.account).where(tables.account.c.id == number).values(values))
        ended = _end_sessions(tx.connection, name)
    attempts.forget(store, name)
    return password, SignedOut(sessions=ended)


def set_roles(store: Store, name: str, roles: frozenset[Role]) -> SignedOut:
    """Give a person other roles, and end their sessions.

    Raises:
      UserError: there is no such account.
    """
    with store.transaction() as tx:
        number = _number(tx, name)
        t = tables.account
        tx.connection.execute(update(t).where(t.c.id == number).values(roles=words_of(roles)))
        return SignedOut(sessions=_end_sessions(tx.connection, name))


def unlock(store: Store, name: str) -> int:
    """Forget the wrong passwords and codes of a person; how many counts that were.

    Raises:
      UserError: there is no such account.
    """
    with store.transaction() as tx:
        _number(tx, name)
    return attempts.forget(store, name)


def disable(store: Store, name: str, by: str) -> SignedOut:
    """Let a person sign in no more, by password or provider; their sessions and tokens end at once.

    Args:
      store: the EIS.
      name: of the person, whether or not they have an account.
      by: who does it.

    Raises:
      UserError: nobody of that name is known, or no store can hold the name.
    """
    t, s, k, now = tables.account, tables.web_session, tables.api_token, now_micros()
    with store.transaction() as tx:
        known = tx.connection.execute(select(t.c.id).where(t.c.name == name)).scalar()
        if known is None:
            a = tables.audit
            if not any(
                tx.connection.execute(select(one.c.person).where(one.c.person == name).limit(1)).first()
                for one in (s, k, a)
            ):
                raise _unknown(name)
            (known,) = tx.reserve(t, 1)
            made = {"id": known, "name": name, "roles": "", "created_at": now, "created_by": by}
            tx.insert(t, [made])
        tx.connection.execute(
            update(t).where(t.c.id == known, t.c.disabled_at.is_(None)).values(disabled_at=now, disabled_by=by)
        )
        ended = _end_sessions(tx.connection, name)
    mine = [one.id for one in tokens.list_tokens(store) if one.person == name]
    revoked = {one for number in mine for one in tokens.revoke(store, number, by)}
    return SignedOut(sessions=ended, tokens=tuple(sorted(revoked)))


def enable(store: Store, name: str) -> None:
    """Let a person sign in again.

    Raises:
      UserError: they are not disabled.
    """
    t = tables.account
    with store.transaction() as tx:
        number = _number(tx, name)
        done = tx.connection.execute(
            update(t).where(t.c.id == number, t.c.disabled_at.is_not(None)).values(disabled_at=None, disabled_by=None)
        )
        if not done.rowcount:
            raise UserError(f"{name} is not disabled.")


def is_disabled(store: Store, name: str) -> bool:
    """Whether a person may not sign in any more."""
    t = tables.account
    with reading(store.engine) as connection:
        query = select(t.c.id).where(t.c.name == name, t.c.disabled_at.is_not(None))
        return connection.execute(query).first() is not None


def remove_factor(store: Store, name: str) -> SignedOut:
    """Take the second factor of a person away, for who lost device and recovery codes; end their sessions.

    Raises:
      UserError: there is no such account, or it has none.
    """
    with store.transaction() as tx:
        number = _number(tx, name)
        if not _drop_factor(tx.connection, number):
            raise UserError(f"{name} has no second factor.")
        ended = _end_sessions(tx.connection, name)
    attempts.forget(store, name)
    return SignedOut(sessions=ended)


def _number(tx: StoreTransaction, name: str) -> int:
    found = tx.connection.execute(select(tables.account.c.id).where(tables.account.c.name == name)).scalar()
    if found is None:
        raise _unknown(name)
    return int(found)


def _unknown(name: str) -> UserError:
    return UserError(f"There is no account of {name}.", "`energycomm user list` lists them.")


def _end_sessions(connection: Connection, name: str) -> int:
    s = tables.web_session
    return connection.execute(delete(s).where(s.c.person == name)).rowcount


# --- signing in -------------------------------------------------------------------------------------------------------


def right_password(store: Store, name: str, password: str) -> Account | None:
    """The account of a name and its password; None where they do not go together, alike for every reason.

    Args:
      store: the EIS.
      name: as it was typed.
      password: as it was typed.

    Raises:
      Busy: too many passwords are being checked (`energycomm.webservice.passwords`).
    """
    t = tables.account
    with reading(store.engine) as connection:
        kept = connection.execute(select(t.c.password).where(t.c.name == name, t.c.disabled_at.is_(None))).scalar()
    right = passwords.fits(password, kept)
    if not right or kept is None:
        return None
    if passwords.grown(kept):
        again = passwords.hashed(password)
        with store.transaction() as tx:
            tx.connection.execute(update(t).where(t.c.name == name, t.c.password == kept).values(password=again))
    account = find(store, name)
    return None if account is None or account.state not in ("valid", "initial", "expired") else account


def next_step(account: Account, done: Collection[str], demanded: Collection[str]) -> Step | None:
    """What a person who signs in has to do next; None where they are in.

    Args:
      account: who.
      done: steps that they did.
      demanded: roles that need a second factor.
    """
    if account.second_factor and Step.CODE not in done:
        return Step.CODE
    if account.state == "initial":
        return Step.PASSWORD
    if not account.second_factor and set(account.roles) & set(demanded):
        return Step.ENROL
    return None


def take_code(store: Store, account: Account, code: str) -> bool:
    """Whether a one-time code or a recovery code is right; it is used up by that."""
    f, r = tables.second_factor, tables.recovery_code
    with store.transaction() as tx:
        row = tx.connection.execute(select(f).where(f.c.account_id == account.id)).mappings().first()
        if row is None or row["confirmed_at"] is None:
            return False
        step = secondfactor.step_of(_opened(store, row), code, time.time(), row["last_step"])
        if step is not None:
            # Of two that come with the same code at once one finds it used.
            used = update(f).where(f.c.account_id == account.id, f.c.last_step < step).values(last_step=step)
            return bool(tx.connection.execute(used).rowcount)
        spent = (
            update(r)
            .where(r.c.account_id == account.id, r.c.hash == secondfactor.recovery_hash(code), r.c.used_at.is_(None))
            .values(used_at=now_micros())
        )
        return bool(tx.connection.execute(spent).rowcount)


def codes_left(store: Store, account: Account) -> int:
    """How many recovery codes a person has left."""
    r = tables.recovery_code
    with reading(store.engine) as connection:
        query = select(func.count()).where(r.c.account_id == account.id, r.c.used_at.is_(None))
        return int(connection.execute(query).scalar_one())


# --- what people do themselves ----------------------------------------------------------------------------------------


def trouble_of(store: Store, account: Account, new: str, repeated: str, least: int) -> str:
    """What is wrong with a new password, one of `passwords.TROUBLES`; empty where nothing is."""
    if new != repeated:
        return "differs"
    t = tables.account
    with reading(store.engine) as connection:
        kept = connection.execute(select(t.c.password).where(t.c.id == account.id)).scalar()
    return passwords.trouble(new, account.name, least) or ("same" if passwords.fits(new, kept) else "")


def change_password(store: Store, account: Account, new: str) -> None:
    """Keep the password that a person chose, and end all their sessions."""
    kept, t = passwords.hashed(new), tables.account
    values = {"password": kept, "initial_until": None, "changed_at": now_micros()}
    with store.transaction() as tx:
        tx.connection.execute(update(t).where(t.c.id == account.id).values(values))
        _end_sessions(tx.connection, account.name)


def factor_underway(store: Store, account: Account) -> bytes:
    """The key of a second factor that a person sets up: the one they began with, until it is confirmed."""
    f = tables.second_factor
    with store.transaction() as tx:
        row = tx.connection.execute(select(f).where(f.c.account_id == account.id)).mappings().first()
        if row is not None and row["confirmed_at"] is None:
            return _opened(store, row)
        if row is not None:
            raise UserError("There is a second factor already.", "Remove it first.")
        secret = secondfactor.new_secret()
        tx.insert(f, [{"account_id": account.id, "secret": secret, "made_at": now_micros(), "last_step": 0}])
        return secret


def confirm_factor(store: Store, account: Account, code: str) -> list[str] | None:
    """Put a second factor into force by its first code, and end all sessions of the person.

    Returns:
      The recovery codes, which are shown once and kept nowhere; None where the code is wrong.
    """
    f = tables.second_factor
    with store.transaction() as tx:
        row = tx.connection.execute(select(f).where(f.c.account_id == account.id)).mappings().first()
        if row is None or row["confirmed_at"] is not None:
            return None
        step = secondfactor.step_of(_opened(store, row), code, time.time(), row["last_step"])
        if step is None:
            return None
        values = {"confirmed_at": now_micros(), "last_step": step}
        tx.connection.execute(update(f).where(f.c.account_id == account.id).values(values))
        codes = _new_codes(tx.connection, account.id)
        _end_sessions(tx.connection, account.name)
        return codes


def renew_codes(store: Store, account: Account) -> list[str]:
    """New recovery codes, which are shown once and kept nowhere, instead of the former ones."""
    with store.transaction() as tx:
        return _new_codes(tx.connection, account.id)


def drop_factor(store: Store, account: Account) -> None:
    """Take a person's own second factor away, and end all their sessions."""
    with store.transaction() as tx:
        _drop_factor(tx.connection, account.id)
        _end_sessions(tx.connection, account.name)


def _new_codes(connection: Connection, number: int) -> list[str]:
    r = tables.recovery_code
    connection.execute(delete(r).where(r.c.account_id == number))
    codes = secondfactor.new_recovery_codes()
    connection.execute(insert(r), [{"account_id": number, "hash": secondfactor.recovery_hash(one)} for one in codes])
    return codes


def _drop_factor(connection: Connection, number: int) -> bool:
    f, r = tables.second_factor, tables.recovery_code
    connection.execute(delete(r).where(r.c.account_id == number))
    return bool(connection.execute(delete(f).where(f.c.account_id == number)).rowcount)


def _opened(store: Store, row: Mapping[Any, Any]) -> bytes:
    return vault_of(store.engine).content("second_factor", (row["account_id"],), bytes(row["secret"]))


# --- browsers that a person signed in with before ---------------------------------------------------------------------


def device_mark(store: Store, account: Account) -> str:
    """What a browser keeps, so that guesses of others do not lock this person out of it; over with the password."""
    mark = secrets.token_urlsafe(12)
    return f"{mark}.{_signed(store, account.name, mark)}"


def known_device(store: Store, name: str, offered: str | None) -> str | None:
    """The mark of a browser that the person signed in with before; None where it is no such browser."""
    mark, _, signature = (offered or "").partition(".")
    # Asked for in any case: whether there is such a name shows in nothing.
    right = _signed(store, name, mark)
    return mark if mark and hmac.compare_digest(right.encode(), signature.encode("utf-8", "replace")) else None


def _signed(store: Store, name: str, mark: str) -> str:
    t = tables.account
    with reading(store.engine) as connection:
        kept = connection.execute(select(t.c.password).where(t.c.name == name)).scalar()
    key = kept.encode() if kept is not None else secrets.token_bytes(32)
    return hmac.digest(key, f"energycomm: known browser {mark} {name}".encode("utf-8", "replace"), hashlib.sha256).hex()
