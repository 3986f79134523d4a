"""How much an envelope may unpack to, and the running account of it."""

from __future__ import annotations

from pydantic import Field

from energycomm.kernel.verdicts import Refusal
from energycomm.transport.codes import refuse
from energycomm.transport.settings import Settings


class Limits(Settings):
    """How much an envelope may unpack to. A plain XML file counts as a member, and so does each inner zip."""

    member: int = Field(default=2 << 30, gt=0, description="Largest member, unpacked, in bytes.")
    envelope: int = Field(default=4 << 30, gt=0, description="Largest sum of all members of an envelope, in bytes.")
    # Deflate reaches 1032; market XML reaches 20 to 40.
    ratio: int = Field(default=200, gt=0, description="Largest number of unpacked bytes per packed byte.")
    ratio_floor: int = Field(
        default=10_000_000, ge=0, description="The ratio is checked only above this many unpacked bytes."
    )
    members: int = Field(default=10_000, gt=0, description="Largest number of members of an envelope.")
    depth: int = Field(default=3, gt=0, description="Largest depth of nested zips.")
    name: int = Field(default=512, gt=0, description="Longest name of a member, in characters.")


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
