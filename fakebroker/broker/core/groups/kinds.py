"""The kinds of groups, as ListGroups spells them (KIP-848, KIP-932, KIP-1071)."""

from enum import StrEnum


class GroupKind(StrEnum):
    """Which protocol a group speaks. Kafka: `Group.GroupType`."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


def epoch_word(group_type: str) -> str:
    """What the number is called that a group of this kind counts up with: a classic one has generations."""
    return "generation" if group_type == GroupKind.CLASSIC else "epoch"
