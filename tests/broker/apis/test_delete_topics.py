"""DeleteTopics: by name, by id, and entries that contradict each other."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.topics import Topic
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

Ask = Callable[..., Any]
ZERO = bytes(16)


@pytest.fixture
def cluster() -> Cluster:
    """Topics a, b, c."""
    cluster = Cluster(Settings(profile="test"), release())
    for name in "abc":
        cluster.topics.create(name, 1)
    return cluster


def get(cluster: Cluster, name: str) -> Topic:
    topic = cluster.topics.get(name)
    assert topic is not None
    return topic


def delete(ask: Ask, cluster: Cluster, *entries: tuple[str | None, bytes]) -> dict[tuple[str | None, bytes], int]:
    """What v6 answers, by name and id."""
    request = DeleteTopicsRequest(
        timeout_ms=1000, topics=[DeleteTopicState(name=name, topic_id=id_) for name, id_ in entries]
    )
    answers = ask(cluster, request, 6).responses
    for answer in answers:
        assert (answer.error_message is None) == (answer.error_code == 0)
    return {(answer.name, answer.topic_id): answer.error_code for answer in answers}


@pytest.mark.rules("XT-1", "XT-2")
@pytest.mark.parametrize("version", range(6))
def test_by_name(ask: Ask, cluster: Cluster, version: int) -> None:
    """Before v6 topics are named; an unknown one is 3."""
    answers = ask(cluster, DeleteTopicsRequest(timeout_ms=1000, topic_names=["a", "nope"]), version).responses
    assert {answer.name: answer.error_code for answer in answers} == {
        "a": 0,
        "nope": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert [topic.name for topic in cluster.topics] == ["b", "c"]


@pytest.mark.rules("XT-2")
def test_by_name_or_id(ask: Ask, cluster: Cluster) -> None:
    """Success carries name and id; an unknown id is 100 with a null name, an unknown name 3 with the zero id."""
    a, b = get(cluster, "a"), get(cluster, "b")
    answers = delete(ask, cluster, ("a", ZERO), (None, b.id), ("nope", ZERO), (None, b"\x01" * 16))
    assert answers == {
        ("a", a.id): 0,
        ("b", b.id): 0,
        ("nope", ZERO): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        (None, b"\x01" * 16): ErrorCode.UNKNOWN_TOPIC_ID,
    }
    assert [topic.name for topic in cluster.topics] == ["c"]


@pytest.mark.rules("XT-3", "AD-2")
def test_contradictions_delete_nothing(ask: Ask, cluster: Cluster) -> None:
    """42 for doubles, for both or neither of name and id, for a name whose id is there too; each is answered once."""
    a = get(cluster, "a").id
    assert delete(ask, cluster, ("a", ZERO), ("a", ZERO)) == {("a", ZERO): ErrorCode.INVALID_REQUEST}
    assert delete(ask, cluster, (None, a), (None, a)) == {(None, a): ErrorCode.INVALID_REQUEST}
    assert delete(ask, cluster, ("a", a)) == {("a", a): ErrorCode.INVALID_REQUEST}
    assert delete(ask, cluster, (None, ZERO)) == {(None, ZERO): ErrorCode.INVALID_REQUEST}
    assert delete(ask, cluster, ("a", ZERO), (None, a)) == {("a", a): ErrorCode.INVALID_REQUEST}
    assert [topic.name for topic in cluster.topics] == ["a", "b", "c"]
    request = DeleteTopicsRequest(timeout_ms=1000, topic_names=["a", "a", "b"])
    assert {answer.name: answer.error_code for answer in ask(cluster, request, 4).responses} == {
        "a": ErrorCode.INVALID_REQUEST,
        "b": 0,
    }


@pytest.mark.rules("XT-4")
@pytest.mark.parametrize(
    ("version", "code"),
    [
        (1, ErrorCode.INVALID_REQUEST),
        (2, ErrorCode.INVALID_REQUEST),
        (3, ErrorCode.TOPIC_DELETION_DISABLED),
        (6, ErrorCode.TOPIC_DELETION_DISABLED),
    ],
)
def test_deletion_switched_off(ask: Ask, cluster: Cluster, version: int, code: int) -> None:
    """delete.topic.enable=false refuses every topic."""
    cluster.settings.set_own("delete.topic.enable", False)
    by_name = version < 6
    fields: dict[str, Any] = {"topic_names": ["a"]} if by_name else {"topics": [DeleteTopicState(name="a")]}
    request = DeleteTopicsRequest(timeout_ms=1000, **fields)
    assert [answer.error_code for answer in ask(cluster, request, version).responses] == [code]
    assert "a" in cluster.topics


@pytest.mark.rules("XT-5")
def test_others_are_answered(ask: Ask, cluster: Cluster) -> None:
    """Whoever keeps something about a topic hears of its deletion, with the time of the request."""
    heard: list[tuple[str, Instant]] = []
    cluster.topics.on_deleted.append(lambda topic, now: heard.append((topic.name, now)))
    ask(cluster, DeleteTopicsRequest(timeout_ms=1000, topic_names=["b"]), 4, now=Instant(5, 7))
    assert heard == [("b", Instant(5, 7))]


@pytest.mark.rules("XT-6")
def test_made_again(ask: Ask, cluster: Cluster) -> None:
    """A topic made again under its name has another id and starts at offset 0, epoch 0; the old id is 100."""
    old = get(cluster, "a")
    old.partitions[0].leader_epoch = 7
    old.partitions[0].log.append_marker(1, 0, Instant(0, 0), commit=True, coordinator_epoch=0)
    ask(cluster, DeleteTopicsRequest(timeout_ms=1000, topic_names=["a"]), 4)
    new = cluster.topics.create("a", 1)
    assert new.id != old.id
    assert (new.partitions[0].leader_epoch, new.partitions[0].log.log_end_offset) == (0, 0)
    assert delete(ask, cluster, (None, old.id)) == {(None, old.id): ErrorCode.UNKNOWN_TOPIC_ID}
    assert cluster.topics.by_id(old.id) is None
    assert cluster.topics.by_id(new.id) is new


@pytest.mark.rules("XT-3")
def test_a_name_twice_in_2_1(ask: Ask) -> None:
    """2.1.1 deletes it, and answers once."""
    old = Cluster(Settings(profile="test"), release("2.1"))
    old.topics.create("a", 1)
    answers = ask(old, DeleteTopicsRequest(timeout_ms=1000, topic_names=["a", "a", "no", "no"]), 3).responses

    assert [(each.name, each.error_code) for each in answers] == [
        ("a", 0),
        ("no", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert "a" not in old.topics
