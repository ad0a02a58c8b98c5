"""AlterConfigs replaces all values of a resource."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import CloseConnection, ErrorCode
from fakebroker.protocol.wire.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource

Ask = Callable[..., Any]
Entry = tuple[str, str | None]
TOPICS, BROKERS, LOGGERS = 2, 4, 8


@pytest.fixture
def cluster() -> Cluster:
    """Topic `t` with two values of its own."""
    cluster = Cluster(Settings(), release())
    cluster.topics.create("t", 1, config={"retention.ms": "1111", "segment.ms": "2222"})
    return cluster


def resource(kind: int, name: str, *entries: Entry) -> AlterConfigsResource:
    configs = [AlterableConfig(name=key, value=value) for key, value in entries]
    return AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)


def alter(ask: Ask, cluster: Cluster, *resources: AlterConfigsResource, version: int = 2, **fields: Any) -> list[int]:
    answers = ask(cluster, AlterConfigsRequest(resources=list(resources), **fields), version).responses
    return [answer.error_code for answer in answers]


def own(cluster: Cluster) -> dict[str, str]:
    topic = cluster.topics.get("t")
    assert topic is not None
    return topic.config.own


@pytest.mark.rules("AC-1")
@pytest.mark.parametrize("version", range(3))
def test_replaces(ask: Ask, cluster: Cluster, version: int) -> None:
    """What is not named goes back to its default; an empty list resets all; validate_only changes nothing."""
    new = resource(TOPICS, "t", ("segment.bytes", "1048576"), ("segment.ms", "3333"))
    assert alter(ask, cluster, new, version=version, validate_only=True) == [0]
    assert own(cluster) == {"retention.ms": "1111", "segment.ms": "2222"}
    assert alter(ask, cluster, new, version=version) == [0]
    assert own(cluster) == {"segment.bytes": "1048576", "segment.ms": "3333"}
    assert alter(ask, cluster, resource(TOPICS, "t"), version=version) == [0]
    assert own(cluster) == {}


@pytest.mark.rules("AC-2", "IA-6")
@pytest.mark.parametrize(
    ("kind", "name", "entries", "expected"),
    [
        (TOPICS, "t", [("retention.ms", None)], ErrorCode.INVALID_REQUEST),
        (TOPICS, "t", [("retention.ms", "1"), ("retention.ms", "2")], ErrorCode.INVALID_REQUEST),
        (TOPICS, "t", [("retention.ms", "x")], ErrorCode.INVALID_CONFIG),
        (TOPICS, "t", [("no.such", "1")], ErrorCode.INVALID_CONFIG),
        (TOPICS, "nope", [], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPICS, "", [], ErrorCode.INVALID_REQUEST),
        (LOGGERS, "1", [], ErrorCode.INVALID_REQUEST),
        (7, "x", [], ErrorCode.INVALID_REQUEST),
        (BROKERS, "1", [("node.id", "5")], ErrorCode.INVALID_REQUEST),
        (BROKERS, "", [("num.io.threads", "5")], ErrorCode.INVALID_CONFIG),
        (BROKERS, "1", [("num.io.threads", "5")], 0),
    ],
)
def test_errors(ask: Ask, cluster: Cluster, kind: int, name: str, entries: list[Entry], expected: int) -> None:
    """42 for what cannot be asked, 40 for names and values, 3 for unknown topics."""
    assert alter(ask, cluster, resource(kind, name, *entries)) == [expected]
    assert own(cluster) == {"retention.ms": "1111", "segment.ms": "2222"}


@pytest.mark.rules("AC-3")
def test_a_resource_that_comes_twice(ask: Ask, cluster: Cluster) -> None:
    """Kafka never answers; here both are 42."""
    assert alter(ask, cluster, resource(TOPICS, "t"), resource(TOPICS, "t")) == [ErrorCode.INVALID_REQUEST] * 2
    assert own(cluster) == {"retention.ms": "1111", "segment.ms": "2222"}


@pytest.mark.rules("AC-2")
def test_an_unknown_topic_in_2_1(ask: Ask) -> None:
    """2.1.1 fails with -1 before it looks at values; a name that no topic can have, also an empty one, is 17."""
    old = Cluster(Settings(), release("2.1"))
    unknown, invalid = resource(TOPICS, "none", ("retention.ms", "soon")), resource(TOPICS, "a b")

    assert alter(ask, old, unknown, invalid, resource(TOPICS, ""), version=1) == [
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
    ]


@pytest.mark.rules("AC-2", "AC-3")
def test_values_in_2_1(ask: Ask) -> None:
    """The last entry of a config or resource counts; at a null value 2.1.1 closes the connection."""
    old = Cluster(Settings(), release("2.1"))
    old.topics.create("t", 1)

    assert alter(ask, old, resource(TOPICS, "t", ("retention.ms", "odd"), ("retention.ms", "5")), version=1) == [0]
    assert own(old) == {"retention.ms": "5"}
    entries = [resource(TOPICS, "t", ("retention.ms", value)) for value in ("odd", "6")]
    assert alter(ask, old, *entries, version=1) == [0]
    assert own(old) == {"retention.ms": "6"}
    with pytest.raises(CloseConnection, match="no value"):
        alter(ask, old, resource(TOPICS, "t", ("retention.ms", None)), version=1)
