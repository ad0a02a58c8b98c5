"""Which kind of group a record of `__consumer_offsets` belongs to, and new groups of that kind (LD-1)."""

from importlib import import_module
from typing import TYPE_CHECKING, Final

from fakebroker.broker.core.groups.host import GroupsHost
from fakebroker.broker.core.groups.kinds import GroupKind
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.group_records import GroupRecord

if TYPE_CHECKING:
    from fakebroker.broker.core.groups.group import Group
    from fakebroker.broker.core.groups.modern.modern_group import ModernGroup

_TYPES: Final = {
    GroupKind.CONSUMER: (3, 4, 5, 6, 7, 8, 16),
    GroupKind.SHARE: (10, 11, 12, 13, 14, 15),
    GroupKind.STREAMS: (17, 19, 20, 21, 22, 23),
}
_KINDS: Final = {number: kind for kind, numbers in _TYPES.items() for number in numbers}


def kind_of_record(record: GroupRecord) -> GroupKind:
    """The kind of group that writes records of this type."""
    return _KINDS[record.type]


def new_group(kind: GroupKind, group_id: str, host: GroupsHost, now: Instant) -> "ModernGroup":
    """A group of that kind of which no record has been applied; `kind` is not that of classic groups.

    A kind is imported when its first group is made: most brokers have classic groups only.
    """
    module = import_module(f"fakebroker.broker.core.groups.{kind}.{kind}_group")
    group: ModernGroup = getattr(module, f"{kind.capitalize()}Group")(group_id, host, now)
    return group


def replay_record(group: "Group | None", record: GroupRecord, host: GroupsHost, now: Instant) -> "ModernGroup | None":
    """Apply a record to its group, `group` as it is before (None: there is none).

    Returns the group as it is after the record: a new one if it is the first of its kind for this group id, None if the
    record ends the group or is a tombstone of one that is not there.
    """
    from fakebroker.broker.core.groups.modern.modern_group import ModernGroup

    kind = kind_of_record(record)
    if not isinstance(group, ModernGroup) or group.kind is not kind:
        if record.value is None:
            return None
        group = new_group(kind, record.group_id, host, now)
    return group if group.replay(record, now) else None
