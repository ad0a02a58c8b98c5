"""The kinds of groups, as ListGroups spells them (KIP-848, KIP-932, KIP-1071)."""

from enum import StrEnum


class GroupKind(StrEnum):
    """Which protocol a group speaks. Kafka: `Group.GroupType`."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"
