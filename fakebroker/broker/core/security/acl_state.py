"""An entry of the access control lists as plain values; by itself, so that snapshots need not load the lists."""

from typing import NamedTuple


class AclState(NamedTuple):
    """An entry; the numbers are those of the wire (AU)."""

    resource_type: int
    name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int
