"""A key is right only when what it gives is a zip that opens; keys are dated, rotate, and are never shown."""

from __future__ import annotations

import contextlib
import copy
import os
import pickle
import random
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from energycomm.kernel.verdicts import Refusal
from energycomm.transport.envelopes import Member, open_envelope
from energycomm.transport.keys import Key, KeyRing, StorageKey, read_keys
from energycomm.transport.windows import Spool, Window
from tests.zips import Entry, decrypt, encrypt, make_zip

IV = b"fixed vector 16b"
CLEAR = make_zip(("a.xml", b"<a/>"))


def key_128(label: str, key: bytes, iv: bytes = IV) -> Key:
    return Key(label, "aes-128-fixed-iv", key, iv)


@contextlib.contextmanager
def window(data: bytes) -> Iterator[Window]:
    spool = Spool(1 << 20)
    try:
        yield spool.write([data], "test")
    finally:
        spool.close()


def padding_is_valid(key: Key, data: bytes) -> bool:
    with window(data) as content:
        return key.clear_size(content) is not None


def only(data: bytes, *keys: Key) -> Member | Refusal:
    with open_envelope(data, "x.zip", KeyRing(keys)) as envelope:
        (part,) = envelope
        return part


class TestTrial:
    @settings(deadline=None)
    @given(st.integers(0, 5), st.booleans())
    def test_the_right_key_is_found_wherever_it_stands(self, place: int, fixed: bool) -> None:
        wrong = [key_128(f"wrong {n}", bytes((n,)) * 16) for n in range(5)]
        if fixed:
            right, data = key_128("right", b"r" * 16), encrypt(CLEAR, b"r" * 16, IV)
        else:
            right = Key("right", "aes-256-iv-in-file", b"R" * 32)
            data = encrypt(CLEAR, b"R" * 32, os.urandom(16), iv_in_file=True)
        keys = [*wrong[:place], right, *wrong[place:]]
        with open_envelope(data, "x.zip", KeyRing(keys)) as envelope:
            (member,) = envelope
            assert isinstance(member, Member)
            assert envelope.key_label == "right"

    def test_a_file_that_no_key_opens_says_which_keys_were_tried(self) -> None:
        refusal = only(encrypt(CLEAR, os.urandom(16), IV), key_128("spring", b"s" * 16), key_128("autumn", b"a" * 16))
        assert isinstance(refusal, Refusal)
        assert refusal.code == "ENV_NO_KEY"
        assert refusal.value == "2 keys tried: spring, autumn"

    def test_without_keys_an_encrypted_file_says_so(self) -> None:
        refusal = only(encrypt(CLEAR, b"k" * 16, IV))
        assert isinstance(refusal, Refusal)
        assert (refusal.code, refusal.value) == ("ENV_NO_KEY", "0 keys tried: none configured")

    def test_a_wrong_key_whose_padding_is_valid_by_chance_is_not_accepted(self) -> None:
        """One wrong key in 256 gives valid padding: search such keys, and see every one refused."""
        data = encrypt(CLEAR, b"k" * 16, IV)
        dice = random.Random(4)
        lucky: list[Key] = []
        while len(lucky) < 5:
            key = key_128(f"lucky {len(lucky)}", dice.randbytes(16))
            if padding_is_valid(key, data):
                lucky.append(key)
        refusal = only(data, *lucky)
        assert isinstance(refusal, Refusal)
        assert refusal.code == "ENV_NO_KEY"
        assert isinstance(only(data, *lucky, key_128("right", b"k" * 16)), Member)

    def test_a_wrong_key_that_gives_padding_and_the_zip_mark_is_not_accepted(self) -> None:
        """The worst case: the vector makes the wrong key's clear text begin with PK 3 4, and the padding is valid."""
        data = encrypt(CLEAR, b"k" * 16, IV)
        dice = random.Random(8)
        while True:
            wrong = dice.randbytes(16)
            raw = decrypt(data[:16], wrong, bytes(16))
            iv = bytes(a ^ b for a, b in zip(raw, b"PK\x03\x04" + bytes(12), strict=True))
            key = key_128("worst", wrong, iv)
            if padding_is_valid(key, data):
                break
        assert key.opens_beginning(data[:64])
        refusal = only(data, key)
        assert isinstance(refusal, Refusal)
        assert refusal.code == "ENV_ZIP_BROKEN"
        assert isinstance(only(data, key, key_128("right", b"k" * 16)), Member)

    @pytest.mark.parametrize("cut", [1, 15, 16, 32])
    def test_a_cut_file_is_told_from_a_missing_key(self, cut: int) -> None:
        data = encrypt(make_zip(Entry("a.xml", b"<a>" + os.urandom(500).hex().encode())), b"k" * 16, IV)[:-cut]
        refusal = only(data, key_128("right", b"k" * 16))
        assert isinstance(refusal, Refusal)
        assert refusal.code == "ENV_ZIP_BROKEN"
        assert "'right'" in (refusal.value or "")

    @settings(deadline=None)
    @given(st.binary(max_size=400))
    def test_the_padding_gives_the_size_of_the_clear_text(self, clear: bytes) -> None:
        key = key_128("k", b"k" * 16)
        with window(encrypt(clear, b"k" * 16, IV)) as content:
            assert key.clear_size(content) == len(clear)
            assert b"".join(key.decrypt(content, len(clear))) == clear


class TestOrder:
    def test_keys_in_use_that_day_come_first_and_all_the_others_after(self) -> None:
        night = date(2026, 6, 9)
        old = Key("old", "aes-128-fixed-iv", b"o" * 16, IV, None, date(2026, 6, 8))
        new = Key("new", "aes-256-iv-in-file", b"n" * 32, None, night)
        ring = KeyRing([old, new])
        assert [key.label for key in ring.in_order(date(2026, 6, 8))] == ["old", "new"]
        assert [key.label for key in ring.in_order(night)] == ["new", "old"]
        assert [key.label for key in ring.in_order()] == ["new", "old"]

    def test_a_key_out_of_its_dates_still_opens(self) -> None:
        key = Key("old", "aes-128-fixed-iv", b"o" * 16, IV, date(2020, 1, 1), date(2021, 1, 1))
        with open_envelope(encrypt(CLEAR, b"o" * 16, IV), "x", KeyRing([key]), day=date(2026, 1, 1)) as envelope:
            assert isinstance(next(envelope), Member)


class TestConfiguration:
    def test_keys_come_from_files_and_from_the_environment(self, tmp_path: Path) -> None:
        (tmp_path / "june.hex").write_text("6b" * 32 + "\n")
        ring, refusals = read_keys(
            [
                {"label": "june", "scheme": "aes-256-iv-in-file", "key_file": "june.hex", "since": "2026-06-09"},
                {"label": "may", "scheme": "aes-128-fixed-iv", "key_env": "MAY", "iv": IV.hex(), "until": "2026-06-08"},
            ],
            {"MAY": "6B" * 16},
            tmp_path,
        )
        assert refusals == ()
        assert ring.labels == ("june", "may")
        for data in (encrypt(CLEAR, b"k" * 32, IV, iv_in_file=True), encrypt(CLEAR, b"k" * 16, IV)):
            with open_envelope(data, "x", ring) as envelope:
                assert isinstance(next(envelope), Member)

    SECRET = "5ec2e7" * 5 + "5e"

    @pytest.mark.parametrize(
        "change",
        [
            {"key_env": "SHORT"},
            {"key_env": "NOT_HEX"},
            {"key_env": "UNSET"},
            {"key_env": None},
            {"key_env": None, "key_file": "missing.hex"},
            {"key_env": None, "key_file": "binary.hex"},
            {"key_file": "binary.hex"},
            {"iv": None},
            {"iv": SECRET + "00"},
            {"iv": "xyz" + SECRET},
            {"scheme": "aes-512"},
            {"scheme": "aes-256-iv-in-file"},
            {"since": "2026-02-30"},
            {"since": "2026-02-03", "until": "2026-02-02"},
            {"key": SECRET},
            {SECRET: "key"},
            {"scheme": SECRET},
            {"key_env": SECRET},
            {"key_env": None, "key_file": SECRET},
            {"label": 7},
        ],
    )
    def test_a_wrong_entry_is_refused_without_a_word_of_the_secret(
        self, change: dict[str, object], tmp_path: Path
    ) -> None:
        (tmp_path / "binary.hex").write_bytes(b"\xff\xfe" + self.SECRET.encode())
        environ = {"GOOD": self.SECRET, "SHORT": self.SECRET[:20], "NOT_HEX": self.SECRET[:-1] + "z"}
        entry = {"label": "one", "scheme": "aes-128-fixed-iv", "key_env": "GOOD", "iv": IV.hex(), **change}
        entry = {name: value for name, value in entry.items() if value is not None}
        good = {"label": "two", "scheme": "aes-128-fixed-iv", "key_env": "GOOD", "iv": IV.hex()}
        ring, (refusal,) = read_keys([entry, good], environ, tmp_path)
        assert refusal.code == "KEY_CONFIG"
        assert ring.labels == ("two",)
        assert self.SECRET[:6] not in str(refusal)

    def test_a_label_is_used_once(self) -> None:
        entry = {"label": "one", "scheme": "aes-128-fixed-iv", "key_env": "K", "iv": IV.hex()}
        ring, refusals = read_keys([entry, entry], {"K": "00" * 16})
        assert (len(ring), [refusal.code for refusal in refusals]) == (1, ["KEY_CONFIG"])


class TestSecrecy:
    def test_no_representation_shows_the_key(self) -> None:
        secret = bytes(range(65, 81))
        key = key_128("k", secret)
        for text in (repr(key), str(key), repr(KeyRing([key])), repr([key]), f"{key!r}", repr(vars(KeyRing([key])))):
            for form in (secret.hex(), secret.decode(), repr(secret), IV.hex(), IV.decode()):
                assert form not in text

    def test_a_key_is_not_copied_or_serialised(self) -> None:
        key = key_128("k", b"k" * 16)
        for copier in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="not serialised"):
                copier(key)


class TestKeysOfTheStore:
    def entry(self, **fields: object) -> dict[str, object]:
        return {"label": "s", "scheme": "aes-256-gcm", "key_env": "S"} | fields

    def test_they_open_no_envelope(self) -> None:
        ring, refusals = read_keys([self.entry()], {"S": "5e" * 32})
        assert refusals == ()
        assert [key.label for key in ring.storage] == ["s"]
        assert (len(ring), ring.in_order()) == (0, ())

    @pytest.mark.parametrize(
        ("fields", "secret"),
        [({}, "5e" * 16), ({}, "5e" * 33), ({"iv": "5e" * 16}, "5e" * 32), ({}, "5e" * 31 + "x")],
    )
    def test_what_is_no_such_key_is_refused_without_showing_it(self, fields: dict[str, object], secret: str) -> None:
        ring, (refusal,) = read_keys([self.entry(**fields)], {"S": secret})
        assert ring.storage == ()
        assert refusal.code == "KEY_CONFIG"
        assert "5e5e" not in str(refusal)

    def test_one_label_is_one_key_of_either_kind(self) -> None:
        other: dict[str, object] = {"label": "s", "scheme": "aes-256-iv-in-file", "key_env": "S"}
        for entries in ([self.entry(), other], [other, self.entry()], [self.entry(), self.entry()]):
            _, (refusal,) = read_keys(entries, {"S": "5e" * 32})
            assert "used twice" in str(refusal)

    def test_what_one_wrapped_opens_with_it_and_its_context_only(self) -> None:
        key, other = StorageKey("s", b"1" * 32), StorageKey("s", b"2" * 32)
        wrapped = key.wrap(b"secret", b"here")
        assert key.unwrap(wrapped, b"here") == b"secret"
        assert key.wrap(b"secret", b"here") != wrapped
        spoilt = [bytes(byte ^ (n == place) for n, byte in enumerate(wrapped)) for place in range(len(wrapped))]
        for taken, where, by in [(wrapped, b"there", key), (wrapped, b"here", other), (b"", b"here", key)]:
            assert by.unwrap(taken, where) is None
        assert {key.unwrap(one, b"here") for one in spoilt} == {None}
