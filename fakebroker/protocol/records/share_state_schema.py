"""Layouts of the keys and values in `__share_group_state` (SGB-2, SGB-3): types 0 and 1.

A key begins with its type as int16 and a value with its version as int16, which are not part of these.
"""

from fakebroker.protocol.schema import Int8, Int16, Int32, Int64, Message, Str, Struct, Uuid, field


class StateBatch(Struct, names="lowerCamel"):
    """Records in a row whose delivery state is the same."""

    first_offset: Int64 = field("0+")
    last_offset: Int64 = field("0+")
    delivery_state: Int8 = field("0+")
    delivery_count: Int16 = field("0+")


class ShareSnapshotKey(Message, versions="0", names="lowerCamel"):
    """Type 0: which share partition."""

    group_id: Str = field("0")
    topic_id: Uuid = field("0")
    partition: Int32 = field("0")


class ShareSnapshotValue(Message, versions="0", flexible="0+", names="lowerCamel"):
    """All that is known of a share partition."""

    snapshot_epoch: Int32 = field("0+")
    state_epoch: Int32 = field("0+")
    leader_epoch: Int32 = field("0+")
    start_offset: Int64 = field("0+")
    delivery_complete_count: Int32 = field("0+", tag=0, default=-1)
    create_timestamp: Int64 = field("0+")
    write_timestamp: Int64 = field("0+")
    state_batches: list[StateBatch] = field("0+")


class ShareUpdateKey(Message, versions="0", names="lowerCamel"):
    """Type 1: which share partition."""

    group_id: Str = field("0")
    topic_id: Uuid = field("0")
    partition: Int32 = field("0")


class ShareUpdateValue(Message, versions="0", flexible="0+", names="lowerCamel"):
    """What has changed since the record before: of the batches only those that are written anew."""

    snapshot_epoch: Int32 = field("0+")
    leader_epoch: Int32 = field("0+")
    start_offset: Int64 = field("0+")
    delivery_complete_count: Int32 = field("0+", tag=0, default=-1)
    state_batches: list[StateBatch] = field("0+")
