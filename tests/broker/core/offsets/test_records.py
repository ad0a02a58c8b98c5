"""Writes of groups that nobody has read yet: what they keep in memory is what the broker counts."""

from collections.abc import Iterator
from typing import Any

from fakebroker.broker.core.groups.consumer import records
from fakebroker.broker.core.logs.pending_batches import DeferredRecords
from fakebroker.broker.core.offsets.records import ClassicGroupRecord, GroupRecords
from fakebroker.broker.core.topics import CONSUMER_OFFSETS
from fakebroker.protocol.records.consumer_group_schema import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
)
from fakebroker.protocol.records.group_records import GroupRecord
from fakebroker.protocol.records.offsets_codec import Format
from fakebroker.protocol.records.offsets_topic import GroupEntry, GroupValue, MemberValue
from tests.support.engine import SimEngine
from tests.support.frames import request
from tests.support.kept_memory import kept_bytes

FORMAT = Format(3, 3)
LONG = 20_000
TOPIC_ID = bytes(15) + b"\1"


def classic(client_id: str = "c", subscription: bytes = b"s" * 30) -> GroupValue:
    member = MemberValue(f"{client_id}-{'m' * 36}", None, client_id, "/127.0.0.1", 1000, 1000, subscription, b"a" * 30)
    return GroupValue("consumer", 1, "range", member.member_id, 0, (member,))


def subscribed(*names: str, client_id: str = "c") -> GroupRecord:
    value = ConsumerGroupMemberMetadataValue(client_id=client_id, client_host="/h", subscribed_topic_names=list(names))
    return GroupRecord(5, ConsumerGroupMemberMetadataKey(group_id="g", member_id="m" * 22), value)


def writes() -> Iterator[tuple[str, DeferredRecords, Any]]:
    """Writes of all kinds, with what they refer to that is the broker's."""
    latest: dict[str, int] = {}
    for name, value in {
        "classic": classic(),
        "classic, long client id": classic("c" * LONG),
        "classic, long subscription": classic(subscription=b"s" * LONG),
    }.items():
        yield name, ClassicGroupRecord("g", value, FORMAT, 7, latest), (FORMAT, latest)
        yield f"{name}, upgraded", GroupRecords([GroupEntry("g", value), subscribed("t")], FORMAT), FORMAT
    for name, record in {
        "short": records.epoch_record("g", 1, 0),
        "a tombstone": records.pattern_record("g", "p", None),
        "a member": subscribed("t", "u"),
        "a member with a long client id": subscribed("t", client_id="c" * LONG),
        "many names": subscribed(*(f"topic-{number}" for number in range(LONG))),
        "an assignment": records.target_record("g", "m", {TOPIC_ID: list(range(LONG))}),
        "of many topics": records.target_record("g", "m", {number.to_bytes(16): [0] for number in range(LONG)}),
    }.items():
        yield name, GroupRecords([record], FORMAT), FORMAT


def test_a_write_counts_what_it_keeps() -> None:
    """Long and short ones: the bound on all of them is one on memory."""
    wrong = dict[str, tuple[int, int]]()
    for name, write, shared in writes():
        kept, counted = kept_bytes(write, shared) - kept_bytes(shared), write.memory_bytes()
        if not 0.5 * counted - 500 < kept < 1.5 * counted:
            wrong[name] = kept, counted
    assert wrong == {}


def test_joins_of_groups_with_many_partitions_are_bounded() -> None:
    """A member that joins and leaves leaves its assignments in the log: a request of 70 bytes may make many of them."""
    bound = 2_000_000
    lab = SimEngine({"fakebroker.unread.writes.max.bytes": bound})
    lab.cluster.topics.create("t", 2_000)
    client = lab.client()
    for number in range(100):
        member: dict[str, Any] = {
            "group_id": f"g{number}",
            "member_id": f"AAAAAAAAAAAAAAAAAAAA{number:02}",
            "rebalance_timeout_ms": 1000,
        }
        fields: dict[str, Any] = {"member_epoch": 0, "subscribed_topic_names": ["t"], "topic_partitions": []}
        client.socket.send(request("ConsumerGroupHeartbeat", 1, **member, **fields))
        assert client.answer("ConsumerGroupHeartbeat", 1).error_code == 0
    topic = lab.cluster.topics.get(CONSUMER_OFFSETS)
    assert topic is not None
    pending = [batch[1] for each in topic.partitions for batch in each.log._pending.batches]
    assert lab.cluster.pending_batch_memory.memory_bytes <= bound
    assert kept_bytes(pending, FORMAT) - kept_bytes(FORMAT) < 1.5 * bound
