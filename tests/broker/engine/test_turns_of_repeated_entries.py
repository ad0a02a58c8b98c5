"""Short requests that name one thing again and again, which has many parts: no turn writes all of the answer."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.security.acls import Acl, Operation, PatternType, Permission, ResourcePattern, ResourceType
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.schema.jsonable import from_json
from fakebroker.protocol.schema.types import ArrayOf
from fakebroker.protocol.wire.frame import encode_request
from fakebroker.protocol.wire.registry import APIS, api
from tests.support.engine import Client, SimEngine
from tests.support.frames import framed, request
from tests.support.long_lists import NAME, Path, list_paths, with_many
from tests.support.rights import AUTHORIZER, ask, client_of, rule
from tests.support.small_steps import make_steps_smaller
from tests.support.turns_of_request import turns

PARTS = 60  # that the thing has
FEW_PARTS = 15  # fewer than names are judged in one step
FEW, MANY = 100, 400
MOST_CALLS = PARTS  # of an entry in one turn: fewer than to write each of its parts
SCALE = 100  # requests and parts are so much fewer than in an attack; so are those of a step
NAMED = ("transactional_id", "member_id", "group_instance_id")  # null would be no name
THING = NAME.format(0)  # topic, group, transactional id: what all entries name


def topic_with_producers(lab: SimEngine) -> None:
    topic = lab.cluster.topics.create(THING, PARTS, 1)
    for number in range(PARTS):
        data = build_batch([Record(0, 0, b"k", b"v")], producer_id=number, producer_epoch=0, base_sequence=0)
        topic.partitions[0].log.append(data, lab.network.now)


def offsets(client: Client) -> None:
    partitions = [{"PartitionIndex": number, "CommittedOffset": 1, "CommittedMetadata": "m"} for number in range(PARTS)]
    topics = [{"Name": THING, "Partitions": partitions}]
    ask(client, "OffsetCommit", 2, GroupId=THING, GenerationIdOrMemberEpoch=-1, MemberId="", Topics=topics)


def classic_group(lab: SimEngine) -> None:
    """With offsets and members."""
    offsets(client_of(lab, "root"))
    for _ in range(PARTS):
        fields = {
            "GroupId": THING, "SessionTimeoutMs": 60_000, "RebalanceTimeoutMs": 60_000, "ProtocolType": "consumer",
            "Protocols": [{"Name": "range", "Metadata": {"hex": "00"}}],
        }  # fmt: skip
        data = encode_request(from_json(api("JoinGroup").request, 3, fields), 3, 1, "test")
        client_of(lab, "root").socket.send(framed(data))


def group_of_offsets(lab: SimEngine) -> None:
    """Without members."""
    offsets(client_of(lab, "root"))


def consumer_group(lab: SimEngine) -> None:
    for number in range(PARTS):
        ask(
            client_of(lab, "root"), "ConsumerGroupHeartbeat", 1, GroupId=THING, MemberId=f"m{number}", MemberEpoch=0,
            RebalanceTimeoutMs=60_000, SubscribedTopicNames=[THING], TopicPartitions=[],
        )  # fmt: skip


def share_group(lab: SimEngine) -> None:
    """Without members, since none may be there when its offsets are set."""
    topic = {"TopicName": THING, "Partitions": [{"PartitionIndex": n, "StartOffset": 0} for n in range(PARTS)]}
    lab.cluster.topics.create("other")
    client = client_of(lab, "root")
    ask(client, "ShareGroupHeartbeat", 1, GroupId=THING, MemberId="m", MemberEpoch=0, SubscribedTopicNames=["other"])
    ask(client, "ShareGroupHeartbeat", 1, GroupId=THING, MemberId="m", MemberEpoch=-1)
    answer = ask(client, "AlterShareGroupOffsets", 0, GroupId=THING, Topics=[topic])
    assert answer.error_code == 0


def acls(lab: SimEngine) -> None:
    assert lab.cluster.authorizer is not None
    for number in range(PARTS):
        lab.cluster.authorizer.acls.add(rule("READ", name=THING, principal=f"User:{number}"))


def transaction(lab: SimEngine) -> None:
    """With many topics."""
    client, topics = client_of(lab, "root"), [f"{THING}-{number}" for number in range(PARTS)]
    for name in topics:
        lab.cluster.topics.create(name)
    producer = ask(client, "InitProducerId", 4, TransactionalId=THING, TransactionTimeoutMs=60_000)
    added = [{"Name": name, "Partitions": [0]} for name in topics]
    ask(
        client, "AddPartitionsToTxn", 3, V3AndBelowTransactionalId=THING, V3AndBelowProducerId=producer.producer_id,
        V3AndBelowProducerEpoch=producer.producer_epoch, V3AndBelowTopics=added,
    )  # fmt: skip


def rights_of_alice(lab: SimEngine) -> None:
    """All of them, with what is named so."""
    assert lab.cluster.authorizer is not None
    for kind in (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID):
        pattern = ResourcePattern(kind, THING, PatternType.PREFIXED)
        lab.cluster.authorizer.acls.add(Acl(pattern, "User:alice", "*", Operation.ALL, Permission.ALLOW))


Fill = Callable[[SimEngine], None]
KINDS: tuple[Fill, ...] = (classic_group, group_of_offsets, consumer_group, share_group)


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    make_steps_smaller(monkeypatch, SCALE)
    monkeypatch.setattr("fakebroker.broker.apis.offset_fetch.ROWS_PER_STEP", 5_000 // SCALE)


def all_of_each(value: Any, version: int, target: Path) -> Any:
    """The same request asking for as much as it can: null, which stands for all, where no list of `target` is."""
    for spec in type(value).fields:
        if not spec.versions.includes(version):
            continue
        is_on_the_way = bool(target) and spec.name == target[0]
        if spec.name == "pattern_type_filter":
            value.pattern_type_filter = PatternType.ANY
        elif spec.nullable.includes(version) and not is_on_the_way and spec.name not in NAMED:
            setattr(value, spec.name, None)
        elif isinstance(spec.type, ArrayOf) and isinstance(spec.type.element, type) and not spec.type.element.is_row:
            for entry in getattr(value, spec.name):
                all_of_each(entry, version, target[1:] if is_on_the_way else ())
    return value


def dearest_turn(name: str, version: int, target: Path, count: int, fill: Fill, user: str = "root") -> int:
    """What the dearest turn costs in calls, while one thing is named so often."""
    lab = SimEngine(AUTHORIZER if "Acls" in name or user != "root" else None)
    rights = [rights_of_alice] if user != "root" else []
    for make in (topic_with_producers, fill, *([acls] if "Acls" in name else []), *rights):
        make(lab)
    fields = with_many(api(name).request, version, target, count, same=True)
    message = all_of_each(api(name).request(**fields), version, target)
    data = request(name, version, **{field.name: getattr(message, field.name) for field in message.fields})
    client = client_of(lab, user)
    found = max(turns(lab, client.socket.connection, data))
    lab.network.flush()
    assert lab.engine.errors == []
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", [each.name for each in APIS.values()])
def test_no_turn_writes_all(name: str) -> None:
    """What is named often costs less in one turn than to write its parts as often, in any list of any request."""
    version = SimEngine().engine.listeners[0].versions[api(name).key][1]
    kinds = KINDS if "Group" in name or "Offset" in name else KINDS[:1]
    for target in list_paths(api(name).request, version):
        for fill in kinds:
            dearest_turn(name, version, target, FEW, fill)  # the first may load and compile things
            few, many = (dearest_turn(name, version, target, count, fill) for count in (FEW, MANY))
            assert many - few < (MANY - FEW) * MOST_CALLS, (target, fill.__name__, few, many)


@pytest.mark.parametrize(
    ("name", "target", "fill"),
    [
        ("DescribeTransactions", ("transactional_ids",), transaction),
        ("DescribeShareGroupOffsets", ("groups",), share_group),
        ("OffsetFetch", ("groups",), group_of_offsets),
    ],
)
def test_no_turn_judges_all_again(name: str, target: Path, fill: Fill, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the client may see the parts is asked once for a thing that it names often, also if they are few."""
    monkeypatch.setattr("tests.broker.engine.test_turns_of_repeated_entries.PARTS", FEW_PARTS)
    version = SimEngine().engine.listeners[0].versions[api(name).key][1]
    dearest_turn(name, version, target, FEW, fill, "alice")
    few, many = (dearest_turn(name, version, target, count, fill, "alice") for count in (FEW, MANY))
    assert many - few < (MANY - FEW) * FEW_PARTS, (few, many)
