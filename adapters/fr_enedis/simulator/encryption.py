"""Encrypted envelopes, in both schemes of Enedis, with keys made for the simulation and for nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.padding import PKCS7

Scheme = Literal["aes-128-fixed-iv", "aes-256-iv-in-file"]
SCHEMES: tuple[Scheme, ...] = ("aes-128-fixed-iv", "aes-256-iv-in-file")


def _bytes(word: str, size: int) -> bytes:
    return hashlib.sha256(word.encode()).digest()[:size]


def _encrypt(key: bytes, iv: bytes, clear: bytes) -> bytes:
    padder = PKCS7(128).padder()
    encryptor = Cipher(AES(key), CBC(iv)).encryptor()
    return encryptor.update(padder.update(clear) + padder.finalize()) + encryptor.finalize()


def envelope_cipher(scheme: str, seed: int, folder: Path) -> Callable[[bytes], bytes]:
    """What encrypts the envelopes of a simulation.

    The key depends on the seed alone, so that equal arguments give equal bytes. It is written into `folder` with
    the lines of configuration that open the envelopes; it protects nothing.

    Args:
      scheme: ``aes-128-fixed-iv``, or ``aes-256-iv-in-file`` (the vector is the first 16 bytes of each envelope).
      seed: of the simulation.
      folder: where ``key.hex`` and ``keys.toml`` are written.

    Returns:
      A function from the bytes of a zip to those of the envelope.
    """
    fixed = scheme == "aes-128-fixed-iv"
    key = _bytes(f"key {scheme} {seed}", 16 if fixed else 32)
    iv = _bytes(f"vector {scheme} {seed}", 16)
    folder.mkdir(parents=True, exist_ok=True)
    folder.joinpath("key.hex").write_text(f"{key.hex()}\n", "ascii")
    lines = ["[[keys]]", 'label = "simulation"', f'scheme = "{scheme}"', 'key_file = "key.hex"']
    folder.joinpath("keys.toml").write_text(
        "\n".join([*lines, *([f'iv = "{iv.hex()}"'] if fixed else []), ""]), "ascii"
    )

    def encrypt(clear: bytes) -> bytes:
        if fixed:
            return _encrypt(key, iv, clear)
        own = _bytes(f"{seed} {hashlib.sha256(clear).hexdigest()}", 16)
        return own + _encrypt(key, own, clear)

    return encrypt
