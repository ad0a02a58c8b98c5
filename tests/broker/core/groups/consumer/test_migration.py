"""Classic groups become consumer groups, and consumer groups classic ones, while they go on reading."""

import gc
import weakref
from typing import Any

import pytest

from fakebroker.broker.core.groups.classic import group_metadata
from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.core.groups.classic.messages import JoinAnswer, SyncAnswer
from fakebroker.broker.core.groups.classic.states import State
from fakebroker.broker.core.groups.consumer import migration
from fakebroker.broker.core.groups.consumer.consumer_group import ConsumerGroup
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.consumer_protocol import (
    ConsumerProtocolAssignment,
    assigned_partitions,
    encode_assignment,
)
from fakebroker.protocol.records.offsets_topic import GroupEntry
from tests.support.classic_members import ClassicClient
from tests.support.consumer_groups import OneConsumerGroup


def classic_group(lab: OneConsumerGroup, members: int = 1, **fields: Any) -> list[ClassicClient]:
    """A Stable classic group whose first member, the leader, has all partitions of "t"."""
    clients = [ClassicClient(lab, f"k{number}", **fields) for number in range(members)]
    lab.shard.create_group("g", lab.now)
    for count, client in enumerate(clients):
        client.join_first()
        for each in (client, *clients[:count]):
            each.send_join()
    assignments = [(clients[0].member_id, {"t": [0, 1, 2, 3]}), *[(each.member_id, {}) for each in clients[1:]]]
    for client in reversed(clients):
        client.sync(assignments if client is clients[0] else ())
    lab.written()
    lab.events()
    return clients


@pytest.mark.rules("CGM-3", "CGB-6")
def test_a_joining_member_makes_it_a_consumer_group() -> None:
    """Members keep what they have; the group epoch goes on from the generation; then the newcomer counts."""
    lab = OneConsumerGroup()
    (k0,) = classic_group(lab)

    answer = lab.join("c1")

    assert (answer.code, answer.member_epoch, lab.assigned(answer)) == (ErrorCode.NONE, 2, {})
    k = k0.member_id
    assert lab.types() == [["-2", f"5 {k}", "3", f"7 {k}", "6", f"8 {k}", "5 c1", "3", f"7 {k}", "7 c1", "6", "8 c1"]]
    assert lab.has(k) == (1, "STABLE", {"t": [0, 1, 2, 3]}, {})
    member = lab.group.members[k]
    assert member.metadata.topic_names == ("t",)
    assert member.metadata.classic is not None
    assert member.metadata.classic.session_timeout_ms == k0.session_timeout_ms
    assert lab.group.state == "Reconciling"


@pytest.mark.rules("CGM-3")
def test_the_interval_does_not_delay_the_first_target() -> None:
    """The target assignment that came with the classic group has no time."""
    lab = OneConsumerGroup({"group.consumer.assignment.interval.ms": 10_000})
    classic_group(lab)

    assert lab.join("c1").member_epoch == 2


@pytest.mark.rules("CGM-3")
def test_parked_requests_have_to_join_again() -> None:
    """JoinGroups and SyncGroups that wait are answered REBALANCE_IN_PROGRESS, after the group has changed."""
    lab = OneConsumerGroup()
    k0, _ = classic_group(lab, 2)
    assert k0.send_join() is None

    lab.join("c1")

    assert k0.joined is not None
    assert k0.joined.code is ErrorCode.REBALANCE_IN_PROGRESS
    lab = OneConsumerGroup()
    k0, k1 = classic_group(lab, 2)
    k0.send_join()
    k1.send_join()
    assert k1.send_sync() is None
    lab.join("c1")
    assert k1.synced == SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS)


@pytest.mark.rules("CGM-3", "CGT-1")
def test_sessions_begin_anew_with_the_upgrade() -> None:
    """A classic member that says nothing is removed after the session timeout of its JoinGroup."""
    lab = OneConsumerGroup()
    (k0,) = classic_group(lab, session_timeout_ms=10_000)
    lab.wait(5_000)
    lab.join("c1")
    lab.wait(9_999)
    assert k0.member_id in lab.group.members

    lab.wait(1)
    assert list(lab.group.members) == ["c1"]


@pytest.mark.rules("CGM-4")
@pytest.mark.parametrize(
    "settings",
    [
        {"group.consumer.migration.policy": "disabled"},
        {"group.consumer.migration.policy": "DOWNGRADE"},
        {"group.consumer.max.size": 1},
    ],
)
def test_when_it_stays_classic(settings: dict[str, object]) -> None:
    """GROUP_ID_NOT_FOUND with a text, and nothing changes."""
    lab = OneConsumerGroup(settings)
    classic_group(lab, 2)

    answer = lab.join("c1")

    assert (answer.code, bool(answer.message)) == (ErrorCode.GROUP_ID_NOT_FOUND, True)
    classic = lab.shard.group("g")
    assert isinstance(classic, ClassicGroup)
    assert (classic.state, lab.types()) == (State.STABLE, [])


@pytest.mark.parametrize("configs", [{}, {"max.message.bytes": "9000000"}])
def test_what_cannot_be_stored_is_not_read(configs: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Two MB of names would take seconds, in each heartbeat that wants to join, and for each rebalance.

    Nor are they read where they could be stored.
    """
    monkeypatch.setattr(group_metadata, "subscribed_topics", lambda _: pytest.fail("it is read"))
    monkeypatch.setattr(migration, "decode_subscription", lambda _: pytest.fail("it is read"))
    lab = OneConsumerGroup()
    lab.cluster.topics.internal("__consumer_offsets").config.replace(configs)
    classic_group(lab, metadata=bytes(2_000_000))
    classic = lab.shard.group("g")
    assert isinstance(classic, ClassicGroup)
    assert classic.subscribed_topics is None

    assert lab.join("c1").code is ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize(("size", "code"), [(2, ErrorCode.NONE), (1, ErrorCode.GROUP_MAX_SIZE_REACHED)])
def test_the_group_of_one_heartbeat_is_freed_at_once(size: int, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stored or refused: the collector comes rarely, and the members' metadata may be long."""
    made = list[weakref.ref[ConsumerGroup]]()

    class Noted(ConsumerGroup):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            made.append(weakref.ref(self))

    monkeypatch.setattr(migration, "ConsumerGroup", Noted)
    lab = OneConsumerGroup({"group.consumer.max.size": size})
    classic_group(lab)
    gc.collect()
    gc.disable()
    try:
        assert lab.join("c1").code is code
        assert made
        assert not any(each() for each in made)
    finally:
        gc.enable()


@pytest.mark.rules("CGM-4")
def test_other_protocol_types_stay_classic() -> None:
    """What their members tell is no subscription."""
    lab = OneConsumerGroup()
    classic_group(lab, protocol_type="connect")

    assert lab.join("c1").code is ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.rules("CGM-4")
@pytest.mark.parametrize(
    "assignment",
    [
        b"\x00",
        encode_assignment(ConsumerProtocolAssignment(assigned_partitions=[("t", [0])], user_data=b"mine")),
    ],
)
def test_assignments_that_are_not_plain_stay_classic(assignment: bytes) -> None:
    """One that cannot be read, and one with data of an assignor of the client's own."""
    lab = OneConsumerGroup()
    (k0,) = classic_group(lab)
    group = lab.shard.group("g")
    assert isinstance(group, ClassicGroup)
    group.members[k0.member_id].assignment = assignment

    assert lab.join("c1").code is ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.rules("CGM-4")
def test_subscriptions_that_cannot_be_read_stay_classic() -> None:
    """The group goes on as it is."""
    lab = OneConsumerGroup()
    classic_group(lab, metadata=b"\xff\xff")

    assert lab.join("c1").code is ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.rules("CGM-4")
def test_before_the_first_generation() -> None:
    """UNKNOWN_SERVER_ERROR: no protocol is chosen yet. Who waits is told to join again, as in Kafka."""
    lab = OneConsumerGroup({"group.initial.rebalance.delay.ms": 3_000})
    client = ClassicClient(lab, "k")
    client.join_first()
    assert client.send_join() is None

    assert lab.join("c1").code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert client.joined == JoinAnswer(ErrorCode.REBALANCE_IN_PROGRESS, client.member_id)
    classic = lab.shard.group("g")
    assert isinstance(classic, ClassicGroup)
    assert classic.state is State.PREPARING


@pytest.mark.rules("CGM-4")
def test_a_heartbeat_that_is_refused_upgrades_nothing() -> None:
    """A bad pattern leaves the group classic; who waits is told to join again even so."""
    lab = OneConsumerGroup()
    k0, _ = classic_group(lab, 2)
    assert k0.send_join() is None

    assert lab.join("c1", [], pattern="[").code is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert k0.joined == JoinAnswer(ErrorCode.REBALANCE_IN_PROGRESS, k0.member_id)
    assert isinstance(lab.shard.group("g"), ClassicGroup)
    assert lab.types() == []


@pytest.mark.rules("CGM-10", "CGB-6")
def test_the_last_one_that_leaves_makes_it_classic() -> None:
    """The generation is the group epoch, assignments are the targets, and the members rebalance."""
    lab = OneConsumerGroup()
    (k0,) = classic_group(lab)
    lab.join("c1")
    lab.written()

    lab.send("c1", -1)

    k = k0.member_id
    (batch,) = lab.written()
    types = [record.type if not isinstance(record, GroupEntry) else 2 for record in batch]
    assert types == [8, 8, 7, 7, 6, 5, 5, 4, 3, 2]
    classic = lab.shard.group("g")
    assert isinstance(classic, ClassicGroup)
    assert (classic.state, classic.generation, classic.leader) == (State.PREPARING, 2, k)
    assert assigned_partitions(classic.members[k].assignment) == {"t": [0, 1]}
    k0.send_join()
    assert k0.joined is not None
    assert (k0.joined.code, k0.joined.generation, k0.joined.leader) == (ErrorCode.NONE, 3, k)


@pytest.mark.rules("CGM-10")
def test_who_times_out_leaves_too() -> None:
    """The session of the last member of the consumer protocol ends: the group becomes classic."""
    lab = OneConsumerGroup({"group.consumer.session.timeout.ms": 45_000})
    (k0,) = classic_group(lab, session_timeout_ms=60_000)
    lab.join("c1")

    lab.wait(45_000)

    classic = lab.shard.group("g")
    assert isinstance(classic, ClassicGroup)
    assert list(classic.members) == [k0.member_id]


@pytest.mark.rules("CGM-10")
@pytest.mark.parametrize("settings", [{"group.consumer.migration.policy": "upgrade"}, {"group.max.size": 1}])
def test_when_it_stays_a_consumer_group(settings: dict[str, object]) -> None:
    """Another policy, or more members than a classic group may have."""
    lab = OneConsumerGroup({**settings, "group.max.size": 10})
    clients = classic_group(lab, 2)
    lab.join("c1")
    if "group.max.size" in settings:
        lab.cluster.nodes[1].settings.set_own("group.max.size", 1)

    lab.send("c1", -1)

    assert sorted(lab.group.members) == sorted(client.member_id for client in clients)


@pytest.mark.rules("CGM-10")
def test_all_that_members_reported_stays() -> None:
    """A protocol that only the classic group knows again is there, though its record has the chosen one alone."""
    lab = OneConsumerGroup()
    (k0,) = classic_group(lab, protocols=("range", "sticky"))
    lab.join("c1")
    lab.send("c1", -1)

    classic = lab.shard.group("g")
    assert isinstance(classic, ClassicGroup)
    assert [name for name, _ in classic.members[k0.member_id].protocols] == ["range", "sticky"]
    assert (classic.protocol, classic.members.candidates()) == ("range", {"range", "sticky"})


@pytest.mark.rules("CGM-11")
def test_a_classic_static_member_takes_the_place_of_the_last_one() -> None:
    """With a target that is up to date the group is Stable, and the member learns what it has."""
    lab = OneConsumerGroup()
    lab.join("s1", instance="i1")
    lab.written()
    client = ClassicClient(lab, "k", instance_id="i1")

    client.send_join()

    assert client.joined is not None
    member_id = client.joined.member_id
    assert client.joined == JoinAnswer(ErrorCode.NONE, member_id, 2, "consumer", "range")
    assert len(member_id) == 22
    classic = lab.shard.group("g")
    assert isinstance(classic, ClassicGroup)
    assert (classic.state, classic.generation) == (State.STABLE, 2)
    client.send_sync()
    assert client.assigned() == {"t": [0, 1, 2, 3]}
    m = member_id
    assert lab.types() == [
        [
            *("-8 s1", "-7 s1", "-5 s1", f"5 {m}", f"7 {m}", f"8 {m}", f"5 {m}", f"8 {m}"),
            *(f"-8 {m}", f"-7 {m}", "-6", f"-5 {m}", "-4", "-3", "2"),
        ]
    ]


@pytest.mark.rules("CGM-11")
@pytest.mark.parametrize("is_away", [False, True])
def test_the_last_one_may_take_its_own_place(is_away: bool) -> None:
    """A static member that comes back with JoinGroup under its own member id makes the group classic, too."""
    lab = OneConsumerGroup()
    lab.join("s1", instance="i1")
    if is_away:
        lab.send("s1", -2, instance="i1")
    client = ClassicClient(lab, "k", instance_id="i1")
    client.member_id = "s1"

    client.send_join()

    assert client.joined == JoinAnswer(ErrorCode.NONE, "s1", 2, "consumer", "range")
    classic = lab.shard.group("g")
    assert isinstance(classic, ClassicGroup)
    assert (classic.state, list(classic.members)) == (State.STABLE, ["s1"])


@pytest.mark.rules("CGM-11")
def test_with_another_subscription_it_rebalances() -> None:
    """The answer has epoch 0, which the group does not know: the member has to join again."""
    lab = OneConsumerGroup()
    lab.join("s1", instance="i1")
    client = ClassicClient(lab, "k", instance_id="i1", topics=("u",))

    client.send_join()

    assert client.joined is not None
    assert (client.joined.code, client.joined.generation) == (ErrorCode.NONE, 0)
    classic = lab.shard.group("g")
    assert isinstance(classic, ClassicGroup)
    assert (classic.state, classic.generation) == (State.PREPARING, 2)


@pytest.mark.rules("CGO-11", "CGM-1", "CGM-2")
def test_offsets_stay_on_every_way() -> None:
    """Classic, consumer, classic again by the last to leave; Empty ones change by whoever comes."""
    lab = OneConsumerGroup()
    classic_group(lab)
    group = lab.shard.group("g")
    assert group is not None
    offsets = group.offsets
    ways: list[object] = []

    for step in (lambda: lab.join("c1"), lambda: lab.send("c1", -1), lambda: lab.wait(400_000), lambda: lab.join("c2")):
        step()
        group = lab.shard.group("g")
        assert group is not None
        ways.append((group.kind.value, group.offsets is offsets))
    lab.send("c2", -1)
    client = ClassicClient(lab, "k")
    client.join_first()
    client.send_join()
    group = lab.shard.group("g")
    assert group is not None
    ways.append((group.kind.value, group.offsets is offsets))

    assert ways == [("consumer", True), ("classic", True), ("classic", True), ("consumer", True), ("classic", True)]
    assert client.joined is not None
    assert client.joined.generation == 1


@pytest.mark.rules("CGM-3", "CGM-10", "LD-1")
def test_either_way_is_loaded_as_it_was() -> None:
    """What the log says is what there was."""
    lab = OneConsumerGroup()
    (k0,) = classic_group(lab)
    lab.join("c1")
    before = lab.has(k0.member_id), lab.has("c1"), lab.group.group_epoch
    lab.reload()
    assert (lab.has(k0.member_id), lab.has("c1"), lab.group.group_epoch) == before

    lab.send("c1", -1)
    lab.reload_shard()
    classic = lab.shard.group("g")
    assert isinstance(classic, ClassicGroup)
    assert (classic.generation, list(classic.members)) == (2, [k0.member_id])
