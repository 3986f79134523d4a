"""The bytes of the file inside an envelope that held a CH message, decrypted and unpacked, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator

from energycomm.config import Config
from energycomm.eis.archive import open_raw
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.message_parts import Origin
from energycomm.eis.store import Store
from energycomm.errors import Absent
from energycomm.kernel.verdicts import Refusal
from energycomm.pipeline.gateway import open_keys
from energycomm.pipeline.injection import CHANNEL
from energycomm.transport.envelopes import open_envelope
from energycomm.transport.members import BrokenMember
from energycomm.webservice.problems import Problem, mistake_of

PIECE = 1 << 16


def open_member(config: Config, store: Store, origin: Origin) -> Iterator[bytes]:
    """The member's bytes in pieces.

    Args:
      config: the configuration: its keys open encrypted envelopes.
      store: the EIS.
      origin: where a message came from.

    Raises:
      Problem: the bytes were removed (retention), or cannot be opened any more; raised with the first piece.
    """
    try:
        raw = open_raw(store.engine, bytes.fromhex(origin.sha256))
    except FileNotFoundError:
        raise _gone(f"The bytes of envelope {origin.envelope_id} were removed.") from None
    except Absent as error:
        raise _gone(f"Envelope {origin.envelope_id}: {error.message}", error.advice) from None
    if not _kept(store, origin):
        raw.close()
        raise _gone(f"The bytes of envelope {origin.envelope_id} were removed: they were older than is kept.")
    with raw:
        if origin.channel == CHANNEL:
            while piece := raw.read(PIECE):
                yield piece
            return
        with open_envelope(raw, origin.envelope, open_keys(config), config.limits) as opened:
            for member in opened:
                if isinstance(member, Refusal):
                    raise Problem("API_REFUSED", "The envelope cannot be opened now.", errors=[mistake_of(member)])
                if member.path != origin.member:
                    continue
                try:
                    with member.open() as content:
                        while piece := content.read(PIECE):
                            yield piece
                except BrokenMember as broken:
                    raise Problem("API_REFUSED", "It cannot be read.", errors=[mistake_of(broken.refusal)]) from None
                return
    raise _gone(f"Envelope {origin.envelope_id} does not hold {origin.member} any more.")


def _kept(store: Store, origin: Origin) -> bool:
    """Retention leaves the row of the bytes and removes the bytes."""
    with reading(store.engine) as connection:
        sql = "SELECT 1 FROM raw_chunk WHERE sha256 = ?"
        return bool(driver_of(connection).rows(sql + " LIMIT 1", (bytes.fromhex(origin.sha256),)))


def _gone(words: str, advice: str = "Its Kernel XML is all there is.") -> Problem:
    return Problem("API_NOT_FOUND", words, target="number", advice=advice)
