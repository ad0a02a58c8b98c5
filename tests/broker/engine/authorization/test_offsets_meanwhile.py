"""Topics that are made or deleted between two steps of an OffsetFetch: nobody sees offsets of those it may not see."""

from typing import Any

import pytest

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic
from fakebroker.protocol.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from tests.support.engine import SimEngine
from tests.support.frames import request
from tests.support.rights import allow, client_of, guarded_lab

SECRET, ELSE = "secret", "t"
GROUPS = [f"g{number}" for number in range(6)]


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fakebroker.broker.apis.offset_fetch.ROWS_PER_STEP", 1)


def lab_with_groups() -> SimEngine:
    """Alice may describe the groups and topic t."""
    lab = guarded_lab()
    allow(lab, "DESCRIBE", "TOPIC", ELSE)
    for group in GROUPS:
        allow(lab, "DESCRIBE", "GROUP", group)
        commit(lab, group, ELSE)
    return lab


def commit(lab: SimEngine, group: str, topic: str) -> None:
    topics = [OffsetCommitRequestTopic(name=topic, partitions=[(0, 4711, -1, -1, "the password is 42")])]
    client_of(lab, "root").ask("OffsetCommit", 7, group_id=group, generation_id_or_member_epoch=-1, topics=topics)


def make_secret(lab: SimEngine) -> bytes:
    topic_id = lab.cluster.topics.create(SECRET).id
    for group in GROUPS:
        commit(lab, group, SECRET)
    return topic_id


def answers(lab: SimEngine, asked: list[OffsetFetchRequestGroup], change: Any, after: int) -> Any:
    """The answer if something changes after so many steps; None if there are fewer."""
    client = client_of(lab, "alice")
    client.socket.connection.receive(request("OffsetFetch", 10, groups=asked), lab.network.now)
    for _ in range(after):
        if not lab.engine.works:
            return None
        lab.engine.step(lab.network.now)
    change()
    lab.network.flush()
    assert lab.engine.errors == []
    return client.answer("OffsetFetch", 10)


def test_a_topic_that_is_deleted_stays_hidden() -> None:
    """Among all topics of a group; its id is unknown when the answer is looked at."""
    asked, after = [OffsetFetchRequestGroup(group_id=group, topics=None) for group in GROUPS], 0
    while True:
        lab = lab_with_groups()
        make_secret(lab)
        answer = answers(lab, asked, lambda lab=lab: lab.cluster.topics.delete(SECRET, lab.network.now), after)
        if answer is None:
            break
        after += 1
        assert [len(group.topics) for group in answer.groups] == [1] * len(GROUPS)
    assert after > len(GROUPS)


def test_a_topic_that_is_made_stays_unknown() -> None:
    """To a client that has guessed its id; once it is there when its rights are looked at, they are missing."""
    topic_id = make_secret(lab_with_groups())
    topics = [OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=[0])]
    asked, after = [OffsetFetchRequestGroup(group_id=group, topics=topics) for group in GROUPS], 0
    while True:
        lab = lab_with_groups()
        answer = answers(lab, asked, lambda lab=lab: make_secret(lab), after)
        if answer is None:
            break
        after += 1
        for group in answer.groups:
            for topic in group.topics:
                ((_, offset, _, metadata, code),) = topic.partitions
                assert (offset, metadata) == (-1, "")
                assert code in (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert after > len(GROUPS)
