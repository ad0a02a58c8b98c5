"""CreateTopics: the order of its checks, and what it answers."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.broker.settings.table import TOPIC
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)

Ask = Callable[..., Any]
ZERO = bytes(16)


@pytest.fixture
def cluster() -> Cluster:
    """Two brokers; num.partitions is 4."""
    return Cluster(Settings({"num.partitions": 4}, profile="test"), release(), node_ids=(1, 2))


def topic(name: str = "t", partitions: int = 1, replicas: int = 1, **fields: Any) -> CreatableTopic:
    config = [CreatableTopicConfig(name=key, value=value) for key, value in fields.pop("config", {}).items()]
    return CreatableTopic(name=name, num_partitions=partitions, replication_factor=replicas, configs=config, **fields)


def assigned(*replicas: list[int], first: int = 0) -> dict[str, Any]:
    """The fields of a topic with a manual assignment."""
    entries = [CreatableReplicaAssignment(partition_index=first + i, broker_ids=ids) for i, ids in enumerate(replicas)]
    return {"partitions": -1, "replicas": -1, "assignments": entries}


def create(ask: Ask, cluster: Cluster, *topics: CreatableTopic, version: int = 7, validate_only: bool = False) -> Any:
    return ask(cluster, CreateTopicsRequest(topics=list(topics), validate_only=validate_only), version).topics


def code(ask: Ask, cluster: Cluster, *args: Any, **fields: Any) -> int:
    [answer] = create(ask, cluster, topic(*args, **fields))
    return int(answer.error_code)


@pytest.mark.rules("NT-1", "NT-2", "AD-1")
def test_success_in_v7(ask: Ask, cluster: Cluster) -> None:
    """The answer shows the id, the counts and all configs by name; the topic is there at once."""
    [answer] = create(ask, cluster, topic(partitions=3, replicas=2, config={"retention.ms": "5"}))
    made = cluster.topics.get("t")
    assert made is not None
    assert (answer.error_code, answer.error_message, answer.topic_id) == (0, None, made.id)
    assert (answer.num_partitions, answer.replication_factor) == (3, 2)
    assert [config.name for config in answer.configs] == sorted(TOPIC)
    by_name = {config.name: config for config in answer.configs}
    assert (by_name["retention.ms"].value, by_name["retention.ms"].config_source) == ("5", 1)
    assert (by_name["segment.bytes"].value, by_name["segment.bytes"].config_source) == ("1073741824", 5)
    assert not any(config.read_only or config.is_sensitive for config in answer.configs)


@pytest.mark.rules("NT-1")
@pytest.mark.parametrize("version", range(8))
def test_every_version(ask: Ask, cluster: Cluster, version: int) -> None:
    """Each version makes the topic and says so."""
    [answer] = create(ask, cluster, topic(), version=version)
    assert (answer.name, answer.error_code) == ("t", 0)
    assert "t" in cluster.topics


@pytest.mark.rules("NT-2")
def test_refusal_in_v7(ask: Ask, cluster: Cluster) -> None:
    """An error shows no counts, no configs and the zero id."""
    [answer] = create(ask, cluster, topic(partitions=0))
    assert (answer.num_partitions, answer.replication_factor, answer.configs, answer.topic_id) == (-1, -1, [], ZERO)
    assert answer.error_message


@pytest.mark.rules("NT-3", "AD-2")
def test_a_name_that_comes_twice(ask: Ask, cluster: Cluster) -> None:
    """It is refused once with 42, none is made, and the others go through."""
    answers = create(ask, cluster, topic("a"), topic("b"), topic("a", partitions=2))
    assert {answer.name: answer.error_code for answer in answers} == {"a": ErrorCode.INVALID_REQUEST, "b": 0}
    assert "a" not in cluster.topics


@pytest.mark.rules("NT-3", "NT-4", "NT-8")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("__cluster_metadata", ErrorCode.INVALID_REQUEST),
        ("", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (".", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("..", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("x" * 250, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("the_old-one", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("the.old-one", ErrorCode.TOPIC_ALREADY_EXISTS),
        ("x" * 249, 0),
        ("__consumer_offsets", 0),
    ],
)
def test_names(ask: Ask, cluster: Cluster, name: str, expected: int) -> None:
    """Bad names and names too like another are 17, whatever else is wrong; a topic that exists is 36."""
    cluster.topics.create("the.old-one", 1)
    assert code(ask, cluster, name) == expected
    if expected:
        assert code(ask, cluster, name, 0, 9, config={"no.such": "1"}) == expected


@pytest.mark.rules("NT-4")
def test_alike_in_one_request(ask: Ask, cluster: Cluster) -> None:
    """Names are compared with the topics that exist, so two new ones that are alike can come in one request."""
    assert [answer.error_code for answer in create(ask, cluster, topic("x.y"), topic("x_y"))] == [0, 0]
    assert code(ask, cluster, "x.y") == ErrorCode.TOPIC_ALREADY_EXISTS
    cluster.topics.delete("x.y", Instant(0, 0))
    assert code(ask, cluster, "x.y") == ErrorCode.INVALID_TOPIC_EXCEPTION


@pytest.mark.rules("NT-5")
@pytest.mark.parametrize(
    ("partitions", "replicas", "expected"),
    [
        (0, 1, ErrorCode.INVALID_PARTITIONS),
        (-2, 1, ErrorCode.INVALID_PARTITIONS),
        (1, 0, ErrorCode.INVALID_REPLICATION_FACTOR),
        (1, -2, ErrorCode.INVALID_REPLICATION_FACTOR),
        (1, 3, ErrorCode.INVALID_REPLICATION_FACTOR),
        (0, 0, ErrorCode.INVALID_REPLICATION_FACTOR),
        (-5, -5, ErrorCode.INVALID_REPLICATION_FACTOR),
        (0, 3, ErrorCode.INVALID_PARTITIONS),
        (-1, 3, ErrorCode.INVALID_REPLICATION_FACTOR),
        (-1, -1, 0),
        (1, 2, 0),
    ],
)
def test_counts(ask: Ask, cluster: Cluster, partitions: int, replicas: int, expected: int) -> None:
    """A replication factor that no topic can have comes first, then the partitions, then the number of brokers.

    -1 is the broker's default.
    """
    assert code(ask, cluster, "t", partitions, replicas) == expected
    made = cluster.topics.get("t")
    assert (made is not None) == (expected == 0)
    if made is not None and partitions == -1:
        assert (len(made.partitions), made.replication_factor) == (4, 1)


@pytest.mark.rules("NT-6", "IA-7")
@pytest.mark.parametrize(
    "config",
    [
        {"no.such": "1"},
        {"retention.ms": "abc"},
        {"retention.ms": None},
        {"segment.bytes": "14"},
        {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"},
        {"remote.storage.enable": "true"},
    ],
)
def test_bad_configs(ask: Ask, cluster: Cluster, config: dict[str, str | None]) -> None:
    """Unknown names, bad values, no value, contradictions: 40, also before the counts are looked at."""
    assert code(ask, cluster, config=config) == ErrorCode.INVALID_CONFIG
    assert code(ask, cluster, "t", 0, 0, config=config) == ErrorCode.INVALID_CONFIG


@pytest.mark.rules("NT-7", "CLU-25")
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (assigned([1], [2]), 0),
        (assigned([1, 2], [2, 1]), 0),
        (assigned([1]) | {"partitions": 1}, ErrorCode.INVALID_REQUEST),
        (assigned([1]) | {"replicas": 1}, ErrorCode.INVALID_REQUEST),
        (assigned([1], first=1), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned([]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned([1, 1]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned([3]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned([1], [1, 2]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_manual_assignment(ask: Ask, cluster: Cluster, fields: dict[str, Any], expected: int) -> None:
    """It decides both counts; partitions from 0 without holes, distinct known brokers, equally many for each."""
    assert code(ask, cluster, **fields) == expected


@pytest.mark.rules("NT-7")
def test_manual_assignment_in_any_order(ask: Ask, cluster: Cluster) -> None:
    """The partition numbers count, not the order in which they come; a number may come only once."""
    entries = [CreatableReplicaAssignment(partition_index=i, broker_ids=[ids]) for i, ids in ((1, 2), (0, 1))]
    assert code(ask, cluster, "t", -1, -1, assignments=entries) == 0
    made = cluster.topics.get("t")
    assert made is not None
    assert [partition.replicas for partition in made.partitions] == [[1], [2]]
    assert code(ask, cluster, "u", -1, -1, assignments=[entries[1], entries[1]]) == ErrorCode.INVALID_REPLICA_ASSIGNMENT


@pytest.mark.rules("NT-9")
def test_validate_only(ask: Ask, cluster: Cluster) -> None:
    """Same answer, nothing made, as often as one likes."""
    for _ in range(2):
        [answer] = create(ask, cluster, topic(partitions=2), validate_only=True)
        assert (answer.error_code, answer.num_partitions) == (0, 2)
    [answer] = create(ask, cluster, topic(partitions=0), validate_only=True)
    assert answer.error_code == ErrorCode.INVALID_PARTITIONS
    assert len(cluster.topics) == 0


@pytest.mark.rules("AD-3")
def test_answers_in_request_order(ask: Ask, cluster: Cluster) -> None:
    """Kafka answers in any order, we in the request's."""
    assert [answer.name for answer in create(ask, cluster, topic("c"), topic("a"), topic("b"))] == ["c", "a", "b"]


def test_configs_of_an_older_release(ask: Ask) -> None:
    """3.9 has three topic configs more and allows tiny segments.

    Its source seems to refuse an empty cleanup.policy; a running 3.9.1 (and a 2.1.1) takes it, and so do we.
    """
    old = Cluster(Settings(profile="test"), release("3.9"))
    [answer] = create(ask, old, topic(config={"segment.bytes": "14", "message.downconversion.enable": "false"}))
    assert len(answer.configs) == 36
    assert code(ask, old, "u", config={"cleanup.policy": ""}) == 0


@pytest.mark.parametrize("sizes", [(10_000,), (2**31 - 1,), (6_000, 6_000)])
def test_too_many_partitions_at_once(ask: Ask, cluster: Cluster, sizes: tuple[int, ...]) -> None:
    """Kafka's controller does at most 10,000 things in one step: no topic of the request is made (44)."""
    answers = create(ask, cluster, *(topic(f"t{place}", size) for place, size in enumerate(sizes)))
    assert {answer.error_code for answer in answers} == {ErrorCode.POLICY_VIOLATION}
    assert len(cluster.topics) == 0


EXCESSIVE = "Excessively large number of partitions per request."
TOO_LARGE = "Unable to perform excessively large batch operation."


@pytest.mark.rules("NT-3")
@pytest.mark.parametrize(
    ("asked", "codes", "text"),
    [
        ([("a", 9_999)], [0], None),
        ([("a", 10_000)], [ErrorCode.POLICY_VIOLATION], TOO_LARGE),
        ([("a", 10_001)], [ErrorCode.POLICY_VIOLATION], EXCESSIVE),
        ([("a", 5000), ("b", 4998)], [0, 0], None),
        ([("a", 5000), ("b", 4999)], [ErrorCode.POLICY_VIOLATION] * 2, TOO_LARGE),
        ([("a", 10_000), ("b", -3)], [ErrorCode.POLICY_VIOLATION] * 2, TOO_LARGE),
        ([("a", -20_000), ("b", 20_000)], [ErrorCode.POLICY_VIOLATION] * 2, EXCESSIVE),
        ([("a", -(2**31)), ("b", 2**31 - 1)], [ErrorCode.POLICY_VIOLATION] * 2, EXCESSIVE),
        ([("a", 2**31 - 1), ("b", 2**31 - 1)], [ErrorCode.POLICY_VIOLATION] * 2, EXCESSIVE),
        ([("a", -1_000_000), ("b", 1)], [ErrorCode.INVALID_PARTITIONS, 0], None),
        ([("a", 10_001), ("a b", 1)], [ErrorCode.POLICY_VIOLATION] * 2, EXCESSIVE),
        ([("a", 10_000), ("a", 10_000), ("b", 1)], [ErrorCode.INVALID_REQUEST, 0], None),
        (
            [("a", 6000), ("a", 6000), ("b", 10_000)],
            [ErrorCode.POLICY_VIOLATION] * 3,
            TOO_LARGE,
        ),
    ],
)
def test_partitions_of_one_request(
    ask: Ask, cluster: Cluster, asked: list[tuple[str, int]], codes: list[int], text: str | None
) -> None:
    """As asked of 4.3.1: 10,000 partitions in all, each topic adds one; a negative count makes no room for another."""
    answers = create(ask, cluster, *(topic(name, count) for name, count in asked))
    assert [answer.error_code for answer in answers] == codes
    refused = [answer.error_message for answer in answers if answer.error_code == ErrorCode.POLICY_VIOLATION]
    assert refused == [text] * codes.count(ErrorCode.POLICY_VIOLATION)
    assert len(cluster.topics) == codes.count(0)


@pytest.mark.rules("NT-3", "NT-7")
def test_other_ways_to_ask_for_many_partitions(ask: Ask, cluster: Cluster) -> None:
    """Assignments and the broker's default count alike, configs add one each, and validation refuses as much."""
    [answer] = create(ask, cluster, topic(**assigned(*[[1]] * 10_000)))
    assert (answer.error_code, answer.error_message) == (ErrorCode.POLICY_VIOLATION, TOO_LARGE)
    [answer] = create(ask, cluster, topic(partitions=10_000), validate_only=True)
    assert (answer.error_code, answer.error_message) == (ErrorCode.POLICY_VIOLATION, TOO_LARGE)
    [answer] = create(ask, cluster, topic(partitions=9_999, config={"retention.ms": "5"}))
    assert (answer.error_code, answer.error_message) == (ErrorCode.POLICY_VIOLATION, TOO_LARGE)
    cluster.settings.set_own("num.partitions", 1_000_000_000)
    [answer] = create(ask, cluster, topic(partitions=-1))
    assert (answer.error_code, answer.error_message) == (ErrorCode.POLICY_VIOLATION, EXCESSIVE)


@pytest.mark.rules("NT-3", "NT-5", "NT-8")
def test_counts_in_2_1(ask: Ask) -> None:
    """2.1.1 has no defaults for them: -1 is refused, the partitions first, and configs and counts before the name."""
    old = Cluster(Settings(profile="test"), release("2.1"))

    assert code(ask, old, partitions=-1, replicas=-1) == ErrorCode.INVALID_PARTITIONS
    assert code(ask, old, replicas=-1) == ErrorCode.INVALID_REPLICATION_FACTOR
    assert code(ask, old, "", partitions=0) == ErrorCode.INVALID_PARTITIONS
    assert code(ask, old, "", replicas=2) == ErrorCode.INVALID_REPLICATION_FACTOR
    assert code(ask, old, "", partitions=0, config={"retention.ms": "soon"}) == ErrorCode.INVALID_CONFIG
    assert code(ask, old, "") == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert code(ask, old, "", config={"retention.ms": None}) == ErrorCode.UNKNOWN_SERVER_ERROR
    assert code(ask, old, "", **{**assigned([1]), "partitions": 1}) == ErrorCode.INVALID_REQUEST
    assert code(ask, old, **assigned([1], [1])) == 0
    assert code(ask, old, replicas=-1) == ErrorCode.INVALID_REPLICATION_FACTOR
