"""Members of the classic protocol in a consumer group: JoinGroup, SyncGroup, Heartbeat and LeaveGroup."""

from typing import Any

import pytest

from fakebroker.broker.core.groups.classic.messages import JoinAnswer, Leaver, SyncAnswer
from fakebroker.broker.core.groups.consumer import classic_members
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.consumer_protocol import ConsumerProtocolAssignment, encode_assignment, version_of
from tests.support.classic_members import ClassicClient
from tests.support.consumer_groups import OneConsumerGroup

LONG_MS = 3_600_000  # as a rebalance timeout: nobody is removed for what he keeps


def lab_with_member() -> OneConsumerGroup:
    """A lab whose group has the member m1 of the consumer protocol, with all partitions of "t"."""
    lab = OneConsumerGroup()
    lab.join("m1", rebalance=LONG_MS)
    lab.written()
    return lab


def joined(lab: OneConsumerGroup, **fields: Any) -> ClassicClient:
    """A client that has joined and synced, and waits for what m1 is to give up."""
    client = ClassicClient(lab, "k", **fields)
    client.join_first()
    client.join_again()
    client.sync()
    return client


def shared(lab: OneConsumerGroup, **fields: Any) -> ClassicClient:
    """The same, and partitions 2 and 3 or 0 and 1 have become its own."""
    client = joined(lab, **fields)
    kept = lab.names(lab.group.target_of("m1"))
    lab.send("m1", 2, kept)
    lab.send("m1", lab.has("m1")[0], kept)
    client.join_again()
    client.sync()
    lab.written()
    return client


@pytest.mark.rules("CGM-5")
def test_a_member_id_is_given_first() -> None:
    """22 characters without the client's name, and nothing is stored for it."""
    lab = lab_with_member()
    client = ClassicClient(lab, "k")

    client.join_first()

    assert (len(client.member_id), lab.types()) == (22, [])
    assert client.send_join(member_id="", needs_member_id=False) is not None
    assert len(lab.group.members) == 2


@pytest.mark.rules("CGM-5")
@pytest.mark.parametrize("member_id", ["known-to-nobody", "m1"])
def test_any_member_id_is_welcome(member_id: str) -> None:
    """One that the group never gave, and that of a member of the consumer protocol, which then is a classic one."""
    lab = lab_with_member()
    client = ClassicClient(lab, "k")

    answer = client.send_join(member_id=member_id)

    assert answer is not None
    assert (answer.code, answer.member_id) == (ErrorCode.NONE, member_id)
    assert lab.group.members[member_id].is_classic


@pytest.mark.rules("CGM-6")
def test_the_answer_comes_at_once() -> None:
    """The member epoch is the generation, nobody leads, the protocol is the first one; the subscription is read."""
    lab = lab_with_member()
    client = ClassicClient(lab, "k", protocols=("a", "b"))
    client.join_first()

    answer = client.join_again()

    k = client.member_id
    assert answer == JoinAnswer(ErrorCode.NONE, k, 3, "consumer", "a")
    assert lab.types() == [[f"5 {k}", "3", "7 m1", f"7 {k}", "6", f"8 {k}"]]
    assert lab.group.members[k].metadata.topic_names == ("t",)


@pytest.mark.rules("CGM-5")
@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": ()}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": (("other", b""),)}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": (("range", b"\x00"),)}, ErrorCode.UNKNOWN_SERVER_ERROR),
        ({"instance_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"instance_id": "i1"}, ErrorCode.FENCED_INSTANCE_ID),
    ],
)
def test_who_is_refused(changes: dict[str, Any], code: ErrorCode) -> None:
    """What does not fit the classic members that are there, what cannot be read, and instance ids of others."""
    lab = lab_with_member()
    lab.join("s1", instance="i1", rebalance=LONG_MS)
    client = joined(lab)
    lab.written()

    answer = client.send_join(**changes)

    assert answer == JoinAnswer(code, "")
    assert lab.types() == []


def test_what_cannot_be_stored_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two MB of names would take seconds; the member is refused as it would be for its record."""
    lab = lab_with_member()
    client = joined(lab)
    monkeypatch.setattr(classic_members, "decode_subscription", lambda _: pytest.fail("it is read"))

    answer = client.send_join(protocols=(("range", bytes(2_000_000)),))

    assert answer == JoinAnswer(ErrorCode.UNKNOWN_SERVER_ERROR, "")


@pytest.mark.rules("CGM-5")
def test_a_full_group() -> None:
    """GROUP_MAX_SIZE_REACHED before a member id is given."""
    lab = OneConsumerGroup({"group.consumer.max.size": 1})
    lab.join("m1")

    assert ClassicClient(lab, "k").send_join() == JoinAnswer(ErrorCode.GROUP_MAX_SIZE_REACHED, "")


@pytest.mark.rules("CGM-4")
def test_the_policy_may_forbid_it() -> None:
    """Under the policy disabled a group with members takes no classic ones."""
    lab = OneConsumerGroup({"group.consumer.migration.policy": "Disabled"})
    lab.join("m1")

    assert ClassicClient(lab, "k").send_join() == JoinAnswer(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")


@pytest.mark.rules("CGM-2")
def test_an_empty_group_becomes_classic() -> None:
    """Its tombstones and the new group are one batch; a member id that the new one did not give is unknown."""
    lab = lab_with_member()
    lab.send("m1", -1)
    lab.written()
    client = ClassicClient(lab, "k")
    assert client.send_join(member_id="old") == JoinAnswer(ErrorCode.UNKNOWN_MEMBER_ID, "old")
    assert lab.types() == []

    client.join_first()
    assert lab.types() == [["-6", "-4", "-3", "2"]]
    assert client.join_again().generation == 1


@pytest.mark.rules("CGM-7", "CGM-8", "CGR-1")
def test_partitions_change_hands() -> None:
    """The classic member waits without a word, gets 27 when they are free, and gets them with its next join."""
    lab = lab_with_member()
    client = joined(lab)
    assert (client.assigned(), client.heartbeat()) == ({}, ErrorCode.NONE)

    kept = lab.names(lab.group.target_of("m1"))
    lab.send("m1", 2)
    lab.send("m1", 2, kept)
    assert client.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert client.join_again().generation == 3
    client.sync()
    assert client.assigned() == lab.names(lab.group.target_of(client.member_id))
    assert client.heartbeat() is ErrorCode.NONE


@pytest.mark.rules("CGM-6", "CGM-7", "CGM-8")
def test_a_classic_member_gives_up_in_two_joins() -> None:
    """It joins with what it owns and learns what to keep, at the same epoch; then with that, and has the new one."""
    lab = lab_with_member()
    client = shared(lab)
    owned = client.assigned()
    lab.join("m2", rebalance=LONG_MS)
    assert client.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert client.send_sync() == SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS)

    assert client.join_again(owned).generation == 3
    assert client.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    client.sync()
    kept = client.assigned()
    assert len(kept["t"]) == 1
    assert client.join_again(kept).generation == 4
    assert client.heartbeat() is ErrorCode.NONE


@pytest.mark.rules("CGM-7")
def test_sync_answers_in_the_version_of_the_subscription() -> None:
    """And ignores what is sent along."""
    lab = lab_with_member()
    client = shared(lab, subscription_version=0)

    client.send_sync([(client.member_id, {"u": [0]})])

    assert client.synced is not None
    assert version_of(client.synced.assignment) == 0
    assert client.assigned() == lab.names(lab.group.target_of(client.member_id))


@pytest.mark.rules("CGM-7")
def test_topics_that_are_gone_are_left_out() -> None:
    """A deleted topic has no name any more."""
    lab = lab_with_member()
    client = shared(lab)
    lab.cluster.topics.delete("t", lab.now)

    client.sync()

    assert client.synced is not None
    assert client.synced.assignment == encode_assignment(ConsumerProtocolAssignment(), 1)


@pytest.mark.rules("CGM-7", "CGM-8")
@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"generation": 2}, ErrorCode.ILLEGAL_GENERATION),
        ({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "m1"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"instance_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"instance_id": "i1"}, ErrorCode.FENCED_INSTANCE_ID),
    ],
)
def test_whose_sync_and_heartbeat_are_refused(changes: dict[str, Any], code: ErrorCode) -> None:
    """Another generation, strangers, and members of the consumer protocol."""
    lab = lab_with_member()
    client = shared(lab)
    lab.join("s1", ["u"], instance="i1")
    client.join_again(client.assigned())

    assert client.send_sync(**changes) == SyncAnswer(code)
    assert client.heartbeat(**changes) is code


@pytest.mark.rules("CGM-7")
@pytest.mark.parametrize("changes", [{"protocol_type": "connect"}, {"protocol": "other"}])
def test_sync_with_another_protocol(changes: dict[str, Any]) -> None:
    """INCONSISTENT_GROUP_PROTOCOL; what was not sent is not compared."""
    lab = lab_with_member()
    client = shared(lab)

    assert client.send_sync(**changes) == SyncAnswer(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    answer = client.send_sync(protocol_type=None, protocol=None)
    assert answer is not None
    assert (answer.code, answer.protocol_type, answer.protocol) == (ErrorCode.NONE, None, None)


@pytest.mark.rules("CGM-8")
def test_who_does_not_sync_is_removed() -> None:
    """After the rebalance timeout of its JoinGroup, however alive it is."""
    lab = lab_with_member()
    client = ClassicClient(lab, "k", session_timeout_ms=60_000, rebalance_timeout_ms=20_000)
    client.join_first()
    client.join_again()
    lab.wait(15_000)
    assert client.heartbeat() is ErrorCode.NONE

    lab.wait(5_000)
    assert list(lab.group.members) == ["m1"]


@pytest.mark.rules("CGM-8")
def test_who_does_not_join_again_is_removed() -> None:
    """After its rebalance timeout, from the first 27 on."""
    lab = lab_with_member()
    client = shared(lab, session_timeout_ms=60_000, rebalance_timeout_ms=20_000)
    lab.join("m2", rebalance=LONG_MS)
    client.heartbeat()
    lab.wait(10_000)
    client.heartbeat()
    lab.wait(9_999)
    assert client.member_id in lab.group.members

    lab.wait(1)
    assert client.member_id not in lab.group.members


@pytest.mark.rules("CGT-1", "CGM-8")
def test_a_classic_session() -> None:
    """As long as JoinGroup said, begun anew by heartbeats; the removal bumps the group epoch."""
    lab = lab_with_member()
    client = shared(lab, session_timeout_ms=10_000)
    epoch = lab.group.group_epoch
    lab.wait(9_000)
    client.heartbeat()
    lab.wait(9_999)
    assert client.member_id in lab.group.members

    lab.wait(1)
    assert (list(lab.group.members), lab.group.group_epoch) == (["m1"], epoch + 1)


@pytest.mark.rules("CGM-9")
def test_members_of_both_protocols_leave() -> None:
    """Each entry has its code; the epoch moves once; an instance id is enough."""
    lab = lab_with_member()
    client = joined(lab)
    lab.join("s1", instance="i1", rebalance=LONG_MS)
    lab.join("m2", rebalance=LONG_MS)
    epoch = lab.group.group_epoch
    leavers = [
        Leaver("m1"),
        Leaver(client.member_id),
        Leaver("", "i1"),
        Leaver("m2", "i1"),
        Leaver("", "nobody"),
        Leaver("nobody"),
    ]

    codes = lab.group.leave(leavers, lab.now)

    assert codes == [0, 0, 0, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID]
    assert (list(lab.group.members), lab.group.group_epoch) == (["m2"], epoch + 1)


@pytest.mark.rules("CGM-9")
def test_who_leaves_in_vain_changes_nothing() -> None:
    """Nothing is stored for entries with an error."""
    lab = lab_with_member()

    assert lab.group.leave([Leaver("nobody")], lab.now) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert lab.types() == []


@pytest.mark.rules("CGM-12")
def test_a_classic_member_changes_its_protocol() -> None:
    """A heartbeat with its id makes it one of the consumer protocol, which keeps epoch and partitions."""
    lab = lab_with_member()
    client = shared(lab)
    before = lab.has(client.member_id)
    lab.written()

    answer = lab.send(client.member_id, 0, {}, topics=["t"], rebalance=LONG_MS)

    assert (answer.member_epoch, lab.has(client.member_id)) == (before[0], before)
    assert not lab.group.members[client.member_id].is_classic
    assert lab.types() == [[f"5 {client.member_id}"]]


@pytest.mark.rules("CGO-2")
def test_commits_of_classic_members() -> None:
    """Their generation is checked, in every version, with ILLEGAL_GENERATION."""
    lab = lab_with_member()
    client = shared(lab)
    epoch = lab.has(client.member_id)[0]

    codes = [lab.group.error_for_commit(client.member_id, None, each, 2) for each in (epoch - 1, epoch, epoch + 1)]

    assert codes == [ErrorCode.ILLEGAL_GENERATION, ErrorCode.NONE, ErrorCode.ILLEGAL_GENERATION]
