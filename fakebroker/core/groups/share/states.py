"""The states of a share group (SGH-15)."""

from enum import StrEnum


class ShareGroupState(StrEnum):
    """Spelled as ShareGroupDescribe and ListGroups spell it."""

    EMPTY = "Empty"
    STABLE = "Stable"
