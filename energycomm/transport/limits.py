"""How much an envelope may unpack to, and the running account of it."""

from __future__ import annotations

from msgspec import Struct

from energycomm.kernel.verdicts import Refusal
from energycomm.transport.codes import refuse


class Limits(Struct, frozen=True, kw_only=True):
    """What an envelope may cost. Every limit is configurable; sizes are bytes.

    Attributes:
      member: largest member, unpacked. Also bounds a plain XML file and each inner zip.
      envelope: largest sum of all members of an envelope, inner zips and their members included. The temporary disk
        space of an envelope has the same bound.
      ratio: largest number of unpacked bytes per packed byte, of a member and of the whole envelope. Deflate reaches
        1032; market XML reaches 20 to 40.
      ratio_floor: the ratio is judged only above this many unpacked bytes.
      members: largest number of entries, folders included, inner zips' entries included.
      depth: largest number of zips inside each other; 1 allows no inner zip.
      name: longest name of a member, in characters, with its folders.
    """

    member: int = 2 << 30
    envelope: int = 4 << 30
    ratio: int = 200
    ratio_floor: int = 10_000_000
    members: int = 10_000
    depth: int = 3
    name: int = 512


class Account:
    """What one envelope has announced so far, over all its zips."""

    __slots__ = ("limits", "members", "packed", "unpacked")

    def __init__(self, limits: Limits, packed: int) -> None:
        self.limits = limits
        self.packed = max(packed, 1)
        self.unpacked = 0
        self.members = 0

    def enter(self, path: str, members: int, unpacked: int) -> Refusal | None:
        """Book a zip's entries before any is read.

        Args:
          path: the zip, for the refusal.
          members: number of its entries.
          unpacked: sum of the sizes they announce; reading never gives more than a member announces.

        Returns:
          The refusal of the whole zip, or None.
        """
        limits = self.limits
        self.members += members
        self.unpacked += unpacked
        if self.members > limits.members:
            return refuse("ENV_BOMB", path, f"{self.members} members", f"at most {limits.members}")
        if self.unpacked > limits.envelope:
            return refuse("ENV_TOO_LARGE", path, f"{self.unpacked} bytes unpacked", f"at most {limits.envelope}")
        return self.check_ratio(path, self.packed, self.unpacked)

    def check_member(self, path: str, packed: int, unpacked: int) -> Refusal | None:
        """Judge one entry by the sizes it announces, in bytes."""
        if unpacked > self.limits.member:
            return refuse("ENV_TOO_LARGE", path, f"{unpacked} bytes", f"at most {self.limits.member}")
        return self.check_ratio(path, packed, unpacked)

    def check_ratio(self, path: str, packed: int, unpacked: int) -> Refusal | None:
        """Judge how many times `packed` bytes grow."""
        limits = self.limits
        if unpacked > limits.ratio_floor and unpacked > limits.ratio * max(packed, 1):
            return refuse("ENV_BOMB", path, f"{packed} bytes unpack to {unpacked}", f"at most {limits.ratio} times")
        return None
