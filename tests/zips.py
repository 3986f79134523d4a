"""Zips and encrypted zips made byte by byte, so that they can lie."""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC


class Entry(NamedTuple):
    """One entry of a zip; whatever is None is told truthfully."""

    name: str | bytes
    data: bytes = b"<a/>"
    deflated: bool = True
    says_size: int | None = None
    says_crc: int | None = None
    says_method: int | None = None
    flags: int = 0
    mode: int = 0
    packed: bytes | None = None


def make_zip(*entries: Entry | tuple[str, bytes], comment: bytes = b"") -> bytes:
    """A zip of these entries, in this order, lies included."""
    body = bytearray()
    directory = bytearray()
    made = [entry if isinstance(entry, Entry) else Entry(*entry) for entry in entries]
    for entry in made:
        name = entry.name if isinstance(entry.name, bytes) else entry.name.encode()
        packed = entry.packed if entry.packed is not None else _pack(entry.data, entry.deflated)
        crc = zlib.crc32(entry.data) if entry.says_crc is None else entry.says_crc
        size = len(entry.data) if entry.says_size is None else entry.says_size
        method = (8 if entry.deflated else 0) if entry.says_method is None else entry.says_method
        flags = entry.flags | 0x800
        common = struct.pack("<4H3L2H", flags, method, 0, 0x21, crc, len(packed), size, len(name), 0)
        offset = len(body)
        body += struct.pack("<4sH", b"PK\x03\x04", 20) + common + name + packed
        directory += struct.pack("<4s2H", b"PK\x01\x02", 0x0314, 20) + common
        directory += struct.pack("<3H2L", 0, 0, 0, entry.mode << 16, offset) + name
    count = min(len(made), 0xFFFF)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, len(directory), len(body), len(comment))
    return bytes(body + directory) + end + comment


def _pack(data: bytes, deflated: bool) -> bytes:
    if not deflated:
        return data
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def encrypt(clear: bytes, key: bytes, iv: bytes, *, iv_in_file: bool = False) -> bytes:
    """AES-CBC with PKCS7 padding; the vector goes first when it is to be in the file."""
    padding = 16 - len(clear) % 16
    encryptor = Cipher(AES(key), CBC(iv)).encryptor()
    cipher_text = encryptor.update(clear + bytes((padding,)) * padding) + encryptor.finalize()
    return iv + cipher_text if iv_in_file else cipher_text


def decrypt(cipher_text: bytes, key: bytes, iv: bytes) -> bytes:
    """The inverse without looking at the padding."""
    decryptor = Cipher(AES(key), CBC(iv)).decryptor()
    return decryptor.update(cipher_text) + decryptor.finalize()
