"""IncrementalAlterConfigs: operations, errors, all or nothing."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from fakebroker.broker.apis import alter_configs, incremental_alter_configs
from fakebroker.broker.apis.call import Call
from fakebroker.broker.core import config_resources
from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.config_changes import Change, apply
from fakebroker.broker.core.config_resources import resource
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.wire.messages import alter_configs as messages
from fakebroker.protocol.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

Ask = Callable[..., Any]
Entry = tuple[str, int, str | None]
SET, DELETE, APPEND, SUBTRACT = range(4)
TOPICS, BROKERS, LOGGERS, METRICS, GROUPS = 2, 4, 8, 16, 32


@pytest.fixture
def cluster() -> Cluster:
    """Topics `t` (with a retention.ms of its own) and `u`."""
    cluster = Cluster(Settings(), release())
    cluster.topics.create("t", 1, config={"retention.ms": "1111"})
    cluster.topics.create("u", 1)
    return cluster


def request(kind: int, name: str, *entries: Entry) -> AlterConfigsResource:
    configs = [AlterableConfig(name=key, config_operation=operation, value=value) for key, operation, value in entries]
    return AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)


def alter(ask: Ask, cluster: Cluster, *resources: AlterConfigsResource, version: int = 1, **fields: Any) -> list[int]:
    answers = ask(cluster, IncrementalAlterConfigsRequest(resources=list(resources), **fields), version).responses
    assert [(answer.resource_type, answer.resource_name) for answer in answers] == [
        (resource.resource_type, resource.resource_name) for resource in resources
    ]
    for answer in answers:
        assert (answer.error_message is None) == (answer.error_code == 0)
    return [answer.error_code for answer in answers]


def change(ask: Ask, cluster: Cluster, *entries: Entry) -> int:
    """Alter topic `t`."""
    [code] = alter(ask, cluster, request(TOPICS, "t", *entries))
    return code


def own(cluster: Cluster, name: str = "t") -> dict[str, str]:
    topic = cluster.topics.get(name)
    assert topic is not None
    return topic.config.own


@pytest.mark.parametrize("name", ["1", ""])
def test_a_broker_keeps_so_many_names_that_kafka_does_not_know(
    ask: Ask, cluster: Cluster, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each description of it names them all; what a request has too many of, it keeps none of."""
    before = resource(cluster.nodes[1], BROKERS, name).own
    monkeypatch.setattr(config_resources, "MAX_BROKER_CONFIGS", len(before) + 3)
    odd = [(f"odd.{n}", SET, "x") for n in range(4)]
    assert alter(ask, cluster, request(BROKERS, name, *odd[:3])) == [0]
    assert alter(ask, cluster, request(BROKERS, name, *odd)) == [ErrorCode.INVALID_CONFIG]
    assert alter(ask, cluster, request(BROKERS, name, ("odd.0", DELETE, None), odd[3])) == [0]
    assert resource(cluster.nodes[1], BROKERS, name).own.keys() - before.keys() == {"odd.1", "odd.2", "odd.3"}
    longest = [(f"listener.name.x{n}.metric.reporters", SET, "a," * 16_000 + "a") for n in range(33)]
    monkeypatch.setattr(config_resources, "MAX_BROKER_CONFIGS", 10_000)
    assert alter(ask, cluster, request(BROKERS, name, *longest)) == [ErrorCode.INVALID_CONFIG]


@pytest.mark.rules("IA-1", "IA-3", "IA-11")
@pytest.mark.parametrize("version", range(2))
def test_set_and_delete(ask: Ask, cluster: Cluster, version: int) -> None:
    """SET and DELETE touch their keys only; deleting what is not set, even under an unknown name, is fine."""
    entries = (("segment.bytes", SET, "1048576"), ("no.such", DELETE, None), ("segment.ms", DELETE, "ignored"))
    assert alter(ask, cluster, request(TOPICS, "t", *entries), version=version) == [0]
    assert own(cluster) == {"retention.ms": "1111", "segment.bytes": "1048576"}
    assert change(ask, cluster, ("retention.ms", DELETE, None)) == 0
    assert own(cluster) == {"segment.bytes": "1048576"}


@pytest.mark.rules("IA-2")
def test_append_and_subtract(ask: Ask, cluster: Cluster) -> None:
    """They begin with the value in force, add nothing twice, take what is there; the result is the topic's own."""
    assert change(ask, cluster, ("cleanup.policy", APPEND, "compact")) == 0
    assert own(cluster)["cleanup.policy"] == "delete,compact"
    assert change(ask, cluster, ("cleanup.policy", SUBTRACT, "delete,absent")) == 0
    assert own(cluster)["cleanup.policy"] == "compact"
    throttled = "leader.replication.throttled.replicas"
    assert change(ask, cluster, (throttled, APPEND, "0:1,1:1")) == 0
    assert change(ask, cluster, (throttled, APPEND, "0:1")) == 0
    assert own(cluster)[throttled] == "0:1,1:1"


@pytest.mark.rules("IA-2")
def test_append_to_the_default_of_the_cluster(ask: Ask, cluster: Cluster) -> None:
    """What all brokers get begins with what they have."""
    assert alter(ask, cluster, request(BROKERS, "", ("log.cleanup.policy", APPEND, "compact"))) == [0]
    assert cluster.settings.get_list("log.cleanup.policy") == ("delete", "compact")


@pytest.mark.rules("IA-4")
def test_validate_only(ask: Ask, cluster: Cluster) -> None:
    """It checks and changes nothing."""
    assert alter(ask, cluster, request(TOPICS, "t", ("retention.ms", SET, "7")), validate_only=True) == [0]
    assert alter(ask, cluster, request(TOPICS, "t", ("retention.ms", SET, "x")), validate_only=True) == [
        ErrorCode.INVALID_CONFIG
    ]
    assert own(cluster) == {"retention.ms": "1111"}


@pytest.mark.rules("IA-5", "AD-2")
def test_all_or_nothing_per_resource(ask: Ask, cluster: Cluster) -> None:
    """One bad key spoils its resource, and only that."""
    good = request(TOPICS, "u", ("retention.ms", SET, "5"))
    bad = request(TOPICS, "t", ("segment.ms", SET, "5"), ("no.such", SET, "1"))
    assert alter(ask, cluster, good, bad) == [0, ErrorCode.INVALID_CONFIG]
    assert own(cluster) == {"retention.ms": "1111"}
    assert own(cluster, "u") == {"retention.ms": "5"}


@pytest.mark.rules("IA-2", "IA-6", "IA-7", "IA-8")
@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([("no.such", SET, "1")], ErrorCode.INVALID_CONFIG),
        ([("retention.ms", SET, "abc")], ErrorCode.INVALID_CONFIG),
        ([("retention.ms", SET, "-2")], ErrorCode.INVALID_CONFIG),
        ([("retention.ms", APPEND, "1")], ErrorCode.INVALID_CONFIG),
        ([("no.such", APPEND, "1")], ErrorCode.INVALID_CONFIG),
        ([("cleanup.policy", SET, "delete,bogus")], ErrorCode.INVALID_CONFIG),
        ([("message.timestamp.type", SET, "createtime")], ErrorCode.INVALID_CONFIG),
        ([("retention.ms", SET, None)], ErrorCode.INVALID_REQUEST),
        ([("cleanup.policy", APPEND, None)], ErrorCode.INVALID_REQUEST),
        ([("retention.ms", SET, "1"), ("retention.ms", SET, "2")], ErrorCode.INVALID_REQUEST),
        ([("retention.ms", 7, "1")], ErrorCode.UNKNOWN_SERVER_ERROR),
        ([("cleanup.policy", SET, "")], 0),
        ([("preallocate", SET, "TRUE")], 0),
        ([("retention.ms", SET, " 77 ")], 0),
    ],
)
def test_entries_of_a_topic(ask: Ask, cluster: Cluster, entries: list[Entry], expected: int) -> None:
    """40 for names and values, 42 for null and repeated entries, -1 for an unknown operation."""
    assert change(ask, cluster, *entries) == expected


@pytest.mark.rules("IA-6")
@pytest.mark.parametrize(
    ("kind", "name", "entry", "expected"),
    [
        (TOPICS, "nope", ("retention.ms", SET, "1"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPICS, "nope", ("retention.ms", SET, "x"), ErrorCode.INVALID_CONFIG),
        (TOPICS, "", ("retention.ms", SET, "1"), ErrorCode.INVALID_REQUEST),
        (TOPICS, "bad name", ("retention.ms", SET, "1"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKERS, "99", ("num.io.threads", SET, "4"), ErrorCode.INVALID_REQUEST),
        (BROKERS, "x", ("num.io.threads", SET, "4"), ErrorCode.INVALID_REQUEST),
        (BROKERS, "1", ("node.id", SET, "4"), ErrorCode.INVALID_REQUEST),
        (BROKERS, "1", ("num.io.threads", SET, "x"), ErrorCode.INVALID_REQUEST),
        (BROKERS, "1", ("num.io.threads", SET, "0"), ErrorCode.INVALID_REQUEST),
        (BROKERS, "1", ("num.io.threads", APPEND, "1"), ErrorCode.INVALID_CONFIG),
        (BROKERS, "", ("listeners", SET, "PLAINTEXT://:1"), ErrorCode.INVALID_REQUEST),
        (BROKERS, "1", ("min.insync.replicas", SET, "1"), ErrorCode.INVALID_CONFIG),
        (BROKERS, "", ("min.insync.replicas", DELETE, None), ErrorCode.INVALID_CONFIG),
        (BROKERS, "1", ("plugin.setting", SET, "1"), 0),
        (LOGGERS, "1", ("root", SET, "INFO"), ErrorCode.INVALID_CONFIG),
        (METRICS, "", ("interval.ms", SET, "1000"), ErrorCode.INVALID_REQUEST),
        (GROUPS, "", ("a", SET, "4"), ErrorCode.INVALID_REQUEST),
        (GROUPS, "g", ("a", SET, "4"), ErrorCode.INVALID_CONFIG),
        (GROUPS, "g", ("consumer.session.timeout.ms", SET, "1"), ErrorCode.INVALID_CONFIG),
        (GROUPS, "g", ("consumer.session.timeout.ms", SET, "60001"), ErrorCode.INVALID_CONFIG),
        (GROUPS, "g", ("consumer.session.timeout.ms", SET, "x"), ErrorCode.INVALID_CONFIG),
        (GROUPS, "g", ("consumer.session.timeout.ms", SET, "50000"), 0),
        (GROUPS, "g", ("consumer.session.timeout.ms", SET, "\x0150000\0"), 0),
        (GROUPS, "g", ("consumer.session.timeout.ms", SET, "\x0160001\0"), ErrorCode.INVALID_CONFIG),
        (GROUPS, "g", ("share.auto.offset.reset", SET, "by_duration:PT3600,5S"), 0),
        (GROUPS, "g", ("share.auto.offset.reset", SET, "by_duration:P+1D"), 0),
        (GROUPS, "g", ("share.auto.offset.reset", SET, "by_duration:-PT1S"), ErrorCode.INVALID_CONFIG),
        (GROUPS, "g", ("share.auto.offset.reset", SET, f"by_duration:P{'9' * 400}D"), ErrorCode.INVALID_CONFIG),
        (METRICS, "m", ("interval.ms", SET, "5000\0"), 0),
        (METRICS, "m", ("match", SET, "client_id = a"), 0),
        (METRICS, "m", ("match", SET, "client_id=a=b"), ErrorCode.INVALID_CONFIG),
        (METRICS, "m", ("metrics", SET, "a,b"), 0),
        (METRICS, "m", ("metrics", APPEND, "a"), ErrorCode.INVALID_CONFIG),
        (METRICS, "m", ("match", SUBTRACT, "client_id=a"), ErrorCode.INVALID_CONFIG),
        (7, "x", ("a", SET, "4"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_resources(ask: Ask, cluster: Cluster, kind: int, name: str, entry: Entry, expected: int) -> None:
    """Each kind of resource has its own codes; an unknown topic is found last."""
    assert alter(ask, cluster, request(kind, name, entry)) == [expected]


@pytest.mark.rules("IA-6", "TE-6")
@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (("interval.ms", SET, "99"), ErrorCode.INVALID_REQUEST),
        (("interval.ms", SET, "100"), 0),
        (("interval.ms", SET, "3600001"), ErrorCode.INVALID_REQUEST),
        (("no", SET, "1"), ErrorCode.INVALID_REQUEST),
        (("metrics", SET, "org.apache.kafka.consumer."), 0),
        (("match", SET, "x"), ErrorCode.INVALID_CONFIG),
        (("match", SET, "rack=a"), ErrorCode.INVALID_CONFIG),
        (("match", SET, "client_id=a.*,client_source_port=1.*"), 0),
    ],
)
def test_client_metrics(ask: Ask, cluster: Cluster, entry: Entry, expected: int) -> None:
    """What is no such config, or out of bounds, is 42; a selector that does not exist is 40."""
    assert alter(ask, cluster, request(METRICS, "m", entry)) == [expected]


@pytest.mark.rules("IA-6")
def test_a_resource_that_comes_twice(ask: Ask, cluster: Cluster) -> None:
    """Both entries are refused with 42, others go through."""
    one, two = request(TOPICS, "t", ("retention.ms", SET, "1")), request(TOPICS, "t", ("segment.ms", SET, "1"))
    assert alter(ask, cluster, one, request(TOPICS, "u", ("retention.ms", SET, "5")), two) == [
        ErrorCode.INVALID_REQUEST,
        0,
        ErrorCode.INVALID_REQUEST,
    ]
    assert own(cluster) == {"retention.ms": "1111"}


@pytest.mark.rules("CGC-2", "CGC-3")
@pytest.mark.rules("CLU-16")
@pytest.mark.parametrize("name", ["01", "+1", "\u0661"])
def test_an_id_that_is_spelt_otherwise(ask: Ask, cluster: Cluster, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes are checked and answered, and nothing changes, as on 4.3.1; nothing is read of what the broker has."""
    cluster.nodes[1].settings.replace_dynamic({"background.threads": "7"}, cluster=False)
    before = cluster.nodes[1].settings.dynamic(cluster=False)
    monkeypatch.delattr(Settings, "with_dynamic")

    def asked(entry: Entry) -> list[int]:
        return alter(ask, cluster, request(BROKERS, name, entry))

    assert asked(("background.threads", SET, "9")) == [0]
    assert asked(("background.threads", DELETE, None)) == [0]
    assert asked(("log.cleanup.policy", APPEND, "compact")) == [0]
    assert asked(("background.threads", SET, "x")) == [ErrorCode.INVALID_REQUEST]
    assert asked(("log.cleanup.policy", APPEND, "nonsense")) == [ErrorCode.INVALID_REQUEST]
    assert asked(("node.id", SET, "7")) == [ErrorCode.INVALID_REQUEST]
    assert asked(("min.insync.replicas", SET, "1")) == [ErrorCode.INVALID_CONFIG]
    assert replace(ask, cluster, name, "background.threads", "9") == 0
    assert replace(ask, cluster, name, "background.threads", "x") == ErrorCode.INVALID_REQUEST
    assert cluster.nodes[1].settings.dynamic(cluster=False) == before


def replace(ask: Ask, cluster: Cluster, broker: str, name: str, value: str) -> int:
    """Let this be all that a broker has, by AlterConfigs."""
    configs = [messages.AlterableConfig(name=name, value=value)]
    resource = messages.AlterConfigsResource(resource_type=BROKERS, resource_name=broker, configs=configs)
    [answer] = ask(cluster, messages.AlterConfigsRequest(resources=[resource]), 2).responses
    return int(answer.error_code)


def test_values_of_a_group_are_checked_together() -> None:
    """The session timeout must be above the heartbeat interval, whichever of them was given."""
    settings = Settings({"group.consumer.min.session.timeout.ms": 1000})
    cluster = Cluster(settings, release())
    group = resource(cluster.nodes[1], GROUPS, "g")
    with pytest.raises(KafkaError, match="must be greater than"):
        apply(group, [Change("consumer.session.timeout.ms", SET, "5000")], validate_only=False, replace=False)
    assert cluster.group_configs == {}


@pytest.mark.rules("CGC-2", "STC-1")
def test_standby_tasks_of_a_group_are_bounded() -> None:
    """No group is given more standby tasks than group.streams.max.standby.replicas, 2 unless it was set."""
    cluster = Cluster(Settings({}), release())
    group = resource(cluster.nodes[1], GROUPS, "g")
    with pytest.raises(KafkaError, match=r"3 exceeds the limit group\.streams\.max\.standby\.replicas, 2"):
        apply(group, [Change("streams.num.standby.replicas", SET, "3")], validate_only=False, replace=False)
    apply(group, [Change("streams.num.standby.replicas", SET, "2")], validate_only=False, replace=False)
    assert cluster.group_configs == {"g": {"streams.num.standby.replicas": "2"}}


@pytest.mark.rules("IA-9", "IA-10")
def test_changes_count_at_once(ask: Ask, cluster: Cluster) -> None:
    """A topic's and a broker's new values are in force for the next request; topics follow the broker."""
    topic = cluster.topics.get("u")
    assert topic is not None
    assert change(ask, cluster, ("max.message.bytes", SET, "150")) == 0
    assert alter(ask, cluster, request(BROKERS, "", ("message.max.bytes", SET, "99"))) == [0]
    assert topic.config.get_int("max.message.bytes") == 99
    assert alter(ask, cluster, request(BROKERS, "1", ("message.max.bytes", SET, "77"))) == [0]
    assert topic.config.get_int("max.message.bytes") == 77
    assert topic.config.log.max_message_bytes == 77
    other = cluster.topics.get("t")
    assert other is not None
    assert other.config.get_int("max.message.bytes") == 150


@pytest.mark.rules("IA-7")
def test_values_are_kept_as_they_are_shown(ask: Ask, cluster: Cluster) -> None:
    """Blanks, case and doubles go before a value is stored."""
    entries = (("preallocate", SET, " TRUE "), ("cleanup.policy", SET, " delete , compact,delete"))
    assert change(ask, cluster, *entries) == 0
    assert own(cluster) == {"retention.ms": "1111", "preallocate": "true", "cleanup.policy": "delete,compact"}


@pytest.mark.parametrize("module", [alter_configs, incremental_alter_configs])
def test_each_client_metrics_resource_is_a_step(
    make_call: Callable[..., Call], cluster: Cluster, module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their patterns are compiled; 200 topics are a step."""
    monkeypatch.setattr(module, "_response", lambda *_: iter(()))
    for kind, names, steps in ((METRICS, 5, 5), (TOPICS, 400, 1)):
        whole = IncrementalAlterConfigsRequest(resources=[request(kind, str(number)) for number in range(names)])
        arguments = [make_call(cluster), whole, *([whole.resources] if module is alter_configs else [])]
        monkeypatch.setattr(module, "AlterConfigsResponse", dict, raising=False)
        monkeypatch.setattr(module, "IncrementalAlterConfigsResponse", dict, raising=False)
        assert sum(1 for _ in module._in_steps(*arguments)) == steps
