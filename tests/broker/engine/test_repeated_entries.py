"""Requests that name one thing very many times: it is described once, and all entries of the answer share that."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis import share_states
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.schema.jsonable import from_json, uuid_to_text
from fakebroker.protocol.wire.frame import encode_request
from fakebroker.protocol.wire.registry import api
from tests.support.engine import SimEngine
from tests.support.frames import framed
from tests.support.rights import AUTHORIZER, ask, client_of, rule
from tests.support.work_counter import calls_of

PARTS = 40  # that the thing has
FEW, MANY = 20, 120
TOPIC_ID = uuid_to_text(SimEngine().cluster.topics.create("t").id)  # each engine gives the same


def with_members(lab: SimEngine) -> None:
    for number in range(PARTS):
        ask(
            lab.client(), "ConsumerGroupHeartbeat", 1, GroupId="g", MemberId=f"m{number}", MemberEpoch=0,
            RebalanceTimeoutMs=60_000, SubscribedTopicNames=["t"], TopicPartitions=[],
        )  # fmt: skip


def with_classic_members(lab: SimEngine) -> None:
    for _ in range(PARTS):
        client = lab.client()
        fields = {
            "GroupId": "g", "SessionTimeoutMs": 60_000, "RebalanceTimeoutMs": 60_000, "ProtocolType": "consumer",
            "Protocols": [{"Name": "range", "Metadata": {"hex": ""}}],
        }  # fmt: skip
        request = from_json(api("JoinGroup").request, 3, fields)
        client.socket.send(framed(encode_request(request, 3, 1, "test")))


def with_offsets(lab: SimEngine) -> None:
    for number in range(PARTS):
        lab.cluster.topics.create(f"o{number}")
    topics = [
        {"Name": f"o{number}", "Partitions": [{"PartitionIndex": 0, "CommittedOffset": 1}]} for number in range(PARTS)
    ]
    ask(lab.client(), "OffsetCommit", 2, GroupId="g", GenerationIdOrMemberEpoch=-1, MemberId="", Topics=topics)


def with_producers(lab: SimEngine) -> None:
    topic = lab.cluster.topics.get("t")
    assert topic is not None
    for number in range(PARTS):
        data = build_batch([Record(0, 0, b"k", b"v")], producer_id=number, producer_epoch=0, base_sequence=0)
        topic.partitions[0].log.append(data, lab.network.now)


def with_acls(lab: SimEngine) -> None:
    assert lab.cluster.authorizer is not None
    for number in range(PARTS):
        lab.cluster.authorizer.acls.add(rule("READ", principal=f"User:{number}"))


def with_share_offsets(lab: SimEngine) -> None:
    topic = lab.cluster.topics.create("s", PARTS, 1)
    client = client_of(lab, "root")
    for epoch in (0, -1):
        ask(client, "ShareGroupHeartbeat", 1, GroupId="g", MemberId="m", MemberEpoch=epoch, SubscribedTopicNames=["t"])
    partitions = [{"PartitionIndex": index, "StartOffset": 0} for index in range(PARTS)]
    ask(client, "AlterShareGroupOffsets", 0, GroupId="g", Topics=[{"TopicName": topic.name, "Partitions": partitions}])


def filters(count: int) -> dict[str, Any]:
    all_of_them = {
        "ResourceTypeFilter": 1, "ResourceNameFilter": None, "PatternTypeFilter": 1, "PrincipalFilter": None,
        "HostFilter": None, "Operation": 1, "PermissionType": 1,
    }  # fmt: skip
    return {"Filters": [all_of_them] * count}


def partitions(count: int) -> dict[str, Any]:
    return {"Topics": [{"Name": "t", "PartitionIndexes": [0] * count}]}


def with_states(lab: SimEngine) -> None:
    """A share partition with batches that differ from their neighbours."""
    batches = [
        {"FirstOffset": number, "LastOffset": number, "DeliveryState": number % 2 * 2, "DeliveryCount": 1}
        for number in range(PARTS)
    ]
    initial = {"StateEpoch": 0, "StartOffset": 0}
    written = {**initial, "LeaderEpoch": 0, "StateBatches": batches}
    for name, fields in (("InitializeShareGroupState", initial), ("WriteShareGroupState", written)):
        ask(
            lab.client(),
            name,
            0,
            GroupId="g",
            Topics=[{"TopicId": TOPIC_ID, "Partitions": [{"Partition": 0, **fields}]}],
        )


def states(count: int) -> dict[str, Any]:
    """Each by the leader of a later epoch, which is stored."""
    entries = [{"Partition": 0, "LeaderEpoch": number} for number in range(count)]
    return {"GroupId": "g", "Topics": [{"TopicId": TOPIC_ID, "Partitions": entries}]}


def groups_with_all(count: int) -> dict[str, Any]:
    return {"Groups": [{"GroupId": "g", "Topics": None}] * count}


Case = tuple[str, int, Callable[[SimEngine], None], Callable[[int], dict[str, Any]], int]
CASES: tuple[Case, ...] = (
    ("ConsumerGroupDescribe", 1, with_members, lambda count: {"GroupIds": ["g"] * count}, 400),
    ("DescribeGroups", 5, with_classic_members, lambda count: {"Groups": ["g"] * count}, 90),
    ("OffsetFetch", 9, with_offsets, groups_with_all, 80),
    ("DescribeProducers", 0, with_producers, partitions, 80),
    ("DeleteAcls", 3, with_acls, filters, 60),
    ("DescribeShareGroupOffsets", 1, with_share_offsets, groups_with_all, 100),
    ("ReadShareGroupState", 0, with_states, states, 150),
)


@pytest.mark.parametrize(("name", "version", "fill", "fields", "most_calls"), CASES, ids=[case[0] for case in CASES])
def test_a_thing_is_described_once(
    name: str, version: int, fill: Callable[[SimEngine], None], fields: Callable[[int], dict[str, Any]], most_calls: int
) -> None:
    """What a frame of 1 MB names hundreds of thousands of times takes memory and time once."""

    def handled(count: int) -> int:
        lab = SimEngine(AUTHORIZER if "Acls" in name else None)
        lab.cluster.topics.create("t")
        fill(lab)
        client = client_of(lab, "root")
        request = from_json(api(name).request, version, fields(count))
        data = framed(encode_request(request, version, 1, "test"))
        calls = calls_of(lambda: client.socket.send(data))
        answer = client.answer(name, version)
        rest = calls_of(lambda: answer.encode(version))  # its bytes are repeated, as in Kafka
        return calls - rest

    handled(FEW)
    few, many = handled(FEW), handled(MANY)
    assert many - few < (MANY - FEW) * most_calls, (few, many)


def test_batches_of_states_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A share partition with many batches takes a step for itself."""
    lab = SimEngine()
    lab.cluster.topics.create("t")
    with_states(lab)
    monkeypatch.setattr(share_states, "PARTITIONS_PER_STEP", 1 + PARTS // 20)
    client = lab.client()
    works: list[int] = []
    monkeypatch.setattr(lab.engine, "begin", lambda work: (works.append(1), type(lab.engine).begin(lab.engine, work)))

    [result] = ask(client, "ReadShareGroupState", 0, **states(1)).results

    assert len(result.partitions[0].state_batches) == PARTS
    assert works == [1]
