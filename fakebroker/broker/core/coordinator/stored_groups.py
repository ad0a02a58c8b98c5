"""Classic groups from their records, and what the journal says of a record."""

from typing import TYPE_CHECKING

from fakebroker.broker.core.events import GroupStored
from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup

if TYPE_CHECKING:
    from fakebroker.broker.core.groups.host import GroupHost
    from fakebroker.protocol.instant import Instant
    from fakebroker.protocol.records.offsets_topic import GroupValue


def restored(host: "GroupHost", group_id: str, value: "GroupValue", now: "Instant") -> ClassicGroup:
    """A classic group as its record says."""
    group = ClassicGroup(group_id, host, now)
    group.restore(value, now)
    return group


def stored_group(group: ClassicGroup, value: "GroupValue", how: str) -> GroupStored:
    """What the journal says of a group that is written or loaded as `value`."""
    topics = group.subscribed_topics
    return GroupStored(
        group.group_id,
        how,
        value.generation,
        value.protocol_type,
        value.protocol,
        value.leader,
        len(value.members),
        None if topics is None else tuple(sorted(topics)),
        value.state_ms,
    )
