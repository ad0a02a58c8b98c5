"""Changes that the controller makes, with a timeout of 0 ms or less: nothing changes, and every entry has timed out."""

from typing import Any

import pytest

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.alter_partition_reassignments import ReassignablePartition, ReassignableTopic
from fakebroker.protocol.wire.messages.create_partitions import CreatePartitionsTopic
from fakebroker.protocol.wire.messages.create_topics import CreatableTopic
from fakebroker.protocol.wire.messages.delete_topics import DeleteTopicState
from fakebroker.protocol.wire.messages.elect_leaders import TopicPartitions
from tests.support.engine import SimEngine

TIMED_OUT, INVALID = ErrorCode.REQUEST_TIMED_OUT, ErrorCode.INVALID_REQUEST
TIMEOUTS_MS = [0, -1, -(2**31)]


def codes(answer: Any, entries: str = "responses") -> list[tuple[int, str | None]]:
    """The error of each entry and its text."""
    return [(entry.error_code, entry.error_message) for entry in getattr(answer, entries)]


@pytest.fixture
def lab() -> SimEngine:
    """A topic "t" of one partition."""
    lab = SimEngine()
    lab.cluster.topics.create("t", 1)
    return lab


def created(name: str) -> CreatableTopic:
    return CreatableTopic(name=name, num_partitions=1, replication_factor=1)


@pytest.mark.rules("AD-5")
@pytest.mark.parametrize("timeout_ms", TIMEOUTS_MS)
@pytest.mark.parametrize("validate_only", [False, True])
def test_create_topics(lab: SimEngine, timeout_ms: int, validate_only: bool) -> None:
    """Names that are invalid, or come twice, time out as well, unless there is nothing else."""

    def create(*names: str) -> list[tuple[int, str | None]]:
        topics = [created(name) for name in names]
        fields = {"timeout_ms": timeout_ms, "validate_only": validate_only}
        return codes(lab.client().ask("CreateTopics", 7, topics=topics, **fields), "topics")

    assert create("new", "a b", "t") == [(TIMED_OUT, None)] * 3
    assert create("new", "twice", "twice") == [(TIMED_OUT, None)] * 3
    assert [code for code, _ in create("twice", "twice")] == [INVALID]
    assert create() == []
    assert [topic.name for topic in lab.cluster.topics] == ["t"]


@pytest.mark.rules("AD-5")
@pytest.mark.parametrize("timeout_ms", TIMEOUTS_MS)
def test_create_partitions(lab: SimEngine, timeout_ms: int) -> None:
    """Topics that do not exist time out as well."""

    def grow(*names: str) -> list[tuple[int, str | None]]:
        topics = [CreatePartitionsTopic(name=name, count=3, assignments=None) for name in names]
        return codes(lab.client().ask("CreatePartitions", 3, topics=topics, timeout_ms=timeout_ms), "results")

    assert grow("t", "nope") == [(TIMED_OUT, None)] * 2
    assert grow("t", "twice", "twice") == [(TIMED_OUT, None)] * 3
    assert [code for code, _ in grow("t", "t")] == [INVALID]
    assert grow() == []
    assert [len(topic.partitions) for topic in lab.cluster.topics] == [1]


@pytest.mark.rules("AD-5")
@pytest.mark.parametrize("timeout_ms", TIMEOUTS_MS)
def test_delete_topics(lab: SimEngine, timeout_ms: int) -> None:
    """By name and by id; entries that are invalid by themselves say so if there are no others."""
    (topic,) = lab.cluster.topics

    def delete(*entries: tuple[str | None, bytes]) -> list[tuple[int, str | None]]:
        topics = [DeleteTopicState(name=name, topic_id=topic_id) for name, topic_id in entries]
        return codes(lab.client().ask("DeleteTopics", 6, topics=topics, timeout_ms=timeout_ms))

    assert delete(("t", bytes(16)), (None, topic.id), ("nope", bytes(16)), (None, bytes(16))) == [(TIMED_OUT, None)] * 4
    assert [code for code, _ in delete((None, bytes(16)))] == [INVALID]
    assert delete() == []
    assert (
        lab.client().ask("DeleteTopics", 3, topic_names=["t"], timeout_ms=timeout_ms).responses[0].error_code
        == TIMED_OUT
    )
    assert list(lab.cluster.topics) == [topic]


@pytest.mark.rules("AD-5")
@pytest.mark.parametrize("timeout_ms", TIMEOUTS_MS)
def test_elections_and_reassignments(lab: SimEngine, timeout_ms: int) -> None:
    """The answer as a whole has timed out, too, and with all partitions it has no entries."""
    client = lab.client()
    named = [TopicPartitions(topic="t", partitions=[0])]
    for topics, entries in ((named, [TIMED_OUT]), (None, []), ([], [])):
        elected = client.ask("ElectLeaders", 2, topic_partitions=topics, timeout_ms=timeout_ms)
        assert elected.error_code == (0 if topics == [] else TIMED_OUT)
        assert [each.error_code for topic in elected.replica_election_results for each in topic.partition_result] == (
            entries
        )
    moved = ReassignableTopic(name="t", partitions=[ReassignablePartition(partition_index=0, replicas=[1])])
    for targets, code in (([moved], TIMED_OUT), ([], 0)):
        answer = client.ask("AlterPartitionReassignments", 0, topics=targets, timeout_ms=timeout_ms)
        assert answer.error_code == code
        assert [each.error_code for topic in answer.responses for each in topic.partitions] == [code] * len(targets)
