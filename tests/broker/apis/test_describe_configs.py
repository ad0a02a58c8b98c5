"""DescribeConfigs: values, sources, synonyms of every kind of resource."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis import describe_configs
from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.config_resources import BrokerResource, ConfigEntry
from fakebroker.broker.engine.engine import Engine
from fakebroker.broker.engine.journal import Journal
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.broker.settings.table import TOPIC
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.listeners import Address, Listener
from fakebroker.protocol.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from fakebroker.serve.listener_options import use_settings
from tests.support.engine import SimEngine
from tests.support.frames import request
from tests.support.turns_of_request import turns

Ask = Callable[..., Any]
TOPICS, BROKERS, LOGGERS, METRICS, GROUPS = 2, 4, 8, 16, 32


@pytest.fixture
def cluster() -> Cluster:
    """Topic `t` with its own retention.ms; the broker's num.partitions is set at start."""
    cluster = Cluster(Settings({"num.partitions": 3, "offsets.topic.replication.factor": 1}), release())
    cluster.topics.create("t", 1, config={"retention.ms": "1234", "cleanup.policy": "compact,delete"})
    return cluster


def describe(
    ask: Ask, cluster: Cluster, kind: int, name: str, *keys: str, version: int = 4, **fields: Any
) -> tuple[int, dict[str, Any]]:
    """The code, and the configs by name."""
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=list(keys) or None)
    [result] = ask(cluster, DescribeConfigsRequest(resources=[resource], **fields), version).results
    assert (result.resource_type, result.resource_name) == (kind, name)
    assert result.error_message is not None
    return result.error_code, {config.name: config for config in result.configs}


def synonyms(config: Any) -> list[tuple[str, str | None, int]]:
    return [(synonym.name, synonym.value, synonym.source) for synonym in config.synonyms]


@pytest.mark.rules("DC-1", "DC-2")
def test_configs_of_a_topic(ask: Ask, cluster: Cluster) -> None:
    """All configs without keys, those that exist with keys; the source is where the value comes from."""
    code, configs = describe(ask, cluster, TOPICS, "t")
    assert (code, set(configs)) == (0, set(TOPIC))
    assert (configs["retention.ms"].value, configs["retention.ms"].config_source) == ("1234", 1)
    assert (configs["cleanup.policy"].value, configs["cleanup.policy"].config_source) == ("compact,delete", 1)
    assert (configs["segment.ms"].value, configs["segment.ms"].config_source) == ("604800000", 5)
    assert configs["min.insync.replicas"].config_source == 3
    assert not any(config.read_only or config.is_sensitive for config in configs.values())
    _, some = describe(ask, cluster, TOPICS, "t", "retention.ms", "no.such")
    assert set(some) == {"retention.ms"}
    request = DescribeConfigsRequest(
        resources=[DescribeConfigsResource(resource_type=TOPICS, resource_name="t", configuration_keys=[])]
    )
    assert len(ask(cluster, request, 4).results[0].configs) == len(TOPIC)


@pytest.mark.rules("DC-2", "DC-4")
@pytest.mark.parametrize("version", range(5))
def test_every_version(ask: Ask, cluster: Cluster, version: int) -> None:
    """v0 says is_default, v1 the source, v3 type and documentation."""
    asks_text = {"include_documentation": True} if version >= 3 else {}
    _, configs = describe(ask, cluster, TOPICS, "t", version=version, **asks_text)
    own, default = configs["retention.ms"], configs["segment.ms"]
    assert (own.is_default, default.is_default) == (False, version == 0)
    assert (own.config_source, default.config_source) == ((-1, -1) if version == 0 else (1, 5))
    assert own.config_type == (5 if version >= 3 else 0)
    if version >= 3:
        assert own.documentation == "age at which records are deleted, -1 for never"
        assert describe(ask, cluster, TOPICS, "t", version=version)[1]["retention.ms"].documentation is None


@pytest.mark.rules("DC-2")
def test_is_default_was_not_always_reported(ask: Ask) -> None:
    """3.9.1 answers v0 with false for every config; 2.1.1 answered correctly."""
    for as_release, described in (("3.9", False), ("2.1", True)):
        older = Cluster(Settings(), release(as_release))
        older.topics.create("t", 1)
        assert describe(ask, older, TOPICS, "t", version=0)[1]["segment.ms"].is_default == described


@pytest.mark.rules("DC-3")
def test_synonyms_of_a_topic(ask: Ask, cluster: Cluster) -> None:
    """The topic's value, then the broker's under their own names; none for retention.ms unless the ms form is set."""
    _, configs = describe(ask, cluster, TOPICS, "t", include_synonyms=True)
    assert synonyms(configs["cleanup.policy"]) == [
        ("cleanup.policy", "compact,delete", 1),
        ("log.cleanup.policy", "delete", 5),
    ]
    assert synonyms(configs["segment.bytes"]) == [("log.segment.bytes", "1073741824", 5)]
    assert synonyms(configs["retention.ms"]) == [("retention.ms", "1234", 1)]
    for name in ("segment.ms", "flush.ms", "remote.storage.enable"):
        assert synonyms(configs[name]) == []
    cluster.settings.replace_dynamic({"log.retention.ms": "5"}, cluster=False)
    _, configs = describe(ask, cluster, TOPICS, "t", "retention.ms", include_synonyms=True)
    assert synonyms(configs["retention.ms"])[:2] == [("retention.ms", "1234", 1), ("log.retention.ms", "5", 2)]
    assert describe(ask, cluster, TOPICS, "t")[1]["retention.ms"].synonyms == []


@pytest.mark.rules("DC-6", "IA-10")
def test_configs_of_the_broker(ask: Ask, cluster: Cluster) -> None:
    """All settings with source and whether they can be altered; those without value are null."""
    cluster.settings.replace_dynamic({"num.io.threads": "9"}, cluster=False)
    code, configs = describe(ask, cluster, BROKERS, "1", include_synonyms=True)
    assert (code, len(configs)) == (0, 340)
    shown = {name: (configs[name].value, configs[name].config_source, configs[name].read_only) for name in configs}
    assert shown["num.partitions"] == ("3", 4, True)
    assert shown["num.io.threads"] == ("9", 2, False)
    assert shown["log.retention.ms"] == (None, 5, False)
    assert shown["log.retention.hours"] == ("168", 5, True)
    assert shown["node.id"] == ("1", 4, True)
    assert synonyms(configs["offsets.topic.replication.factor"]) == [
        ("offsets.topic.replication.factor", "1", 4),
        ("offsets.topic.replication.factor", "3", 5),
    ]
    assert synonyms(configs["num.io.threads"]) == [("num.io.threads", "9", 2), ("num.io.threads", "8", 5)]


@pytest.mark.rules("DC-1")
def test_internal_configs_are_not_listed(ask: Ask, cluster: Cluster) -> None:
    """What Kafka hides, and our own settings, stay out."""
    _, configs = describe(ask, cluster, BROKERS, "1")
    assert not {"fakebroker.expiry.policy", "log.initial.task.delay.ms", "zookeeper.connect"} & set(configs)


@pytest.mark.rules("DC-6")
def test_defaults_of_the_cluster(ask: Ask, cluster: Cluster) -> None:
    """An empty name shows only what was set at run time for all; a new 4.x cluster holds min.insync.replicas."""
    assert set(describe(ask, cluster, BROKERS, "")[1]) == {"min.insync.replicas"}
    cluster.settings.replace_dynamic({"num.io.threads": "9"}, cluster=True)
    _, configs = describe(ask, cluster, BROKERS, "", include_synonyms=True)
    assert synonyms(configs["num.io.threads"]) == [("num.io.threads", "9", 3)]
    older = Cluster(Settings(), release("3.9"))
    assert describe(ask, older, BROKERS, "") == (0, {})


@pytest.mark.rules("DC-4")
def test_secrets(ask: Ask, cluster: Cluster) -> None:
    """The value of a password is null, and so is that of a config nobody knows."""
    cluster.settings.set_own("delegation.token.secret.key", "hidden")
    cluster.settings.replace_dynamic({"plugin.key": "hidden"}, cluster=False)
    _, configs = describe(ask, cluster, BROKERS, "1", include_synonyms=True)
    for name in ("delegation.token.secret.key", "plugin.key"):
        assert (configs[name].value, configs[name].is_sensitive) == (None, True)
        assert [synonym.value for synonym in configs[name].synonyms] == [None]
    assert configs["plugin.key"].read_only


@pytest.mark.rules("DC-5", "CLU-16")
@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        (TOPICS, "nope", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPICS, "bad name", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TOPICS, "", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKERS, "99", ErrorCode.INVALID_REQUEST),
        (BROKERS, "x", ErrorCode.INVALID_REQUEST),
        (LOGGERS, "", ErrorCode.INVALID_REQUEST),
        (LOGGERS, "2", ErrorCode.INVALID_REQUEST),
        (METRICS, "", ErrorCode.INVALID_REQUEST),
        (GROUPS, "", ErrorCode.INVALID_REQUEST),
        (BROKERS, "01", 0),
        (LOGGERS, "1", 0),
    ],
)
def test_resources_that_cannot_be(ask: Ask, cluster: Cluster, kind: int, name: str, expected: int) -> None:
    """Unknown topics 3, bad names 17, other brokers and empty names 42."""
    code, configs = describe(ask, cluster, kind, name)
    assert code == expected
    assert (configs == {}) == (expected != 0)


@pytest.mark.rules("DC-5")
def test_an_unknown_type_spoils_the_request(ask: Ask, cluster: Cluster) -> None:
    """Then every resource of the request is 42."""
    resources = [
        DescribeConfigsResource(resource_type=kind, resource_name="t", configuration_keys=None) for kind in (2, 3)
    ]
    results = ask(cluster, DescribeConfigsRequest(resources=resources), 4).results
    assert [(result.error_code, result.configs) for result in results] == [(ErrorCode.INVALID_REQUEST, [])] * 2


@pytest.mark.rules("DC-7", "CGC-4")
def test_groups_and_client_metrics(ask: Ask, cluster: Cluster) -> None:
    """They exist with defaults for any name; what was set shows as the group's own."""
    _, configs = describe(ask, cluster, GROUPS, "g", include_synonyms=True)
    assert len(configs) == 17
    assert synonyms(configs["consumer.session.timeout.ms"]) == [("group.consumer.session.timeout.ms", "45000", 5)]
    assert synonyms(configs["share.isolation.level"]) == [("share.isolation.level", "read_uncommitted", 5)]
    cluster.group_configs["g"] = {"consumer.session.timeout.ms": "50000"}
    _, configs = describe(ask, cluster, GROUPS, "g", include_synonyms=True)
    assert (configs["consumer.session.timeout.ms"].value, configs["consumer.session.timeout.ms"].config_source) == (
        "50000", 8,
    )  # fmt: skip
    _, configs = describe(ask, cluster, METRICS, "m")
    assert {name: config.value for name, config in configs.items()} == {
        "interval.ms": "300000", "match": "", "metrics": "",
    }  # fmt: skip
    cluster.client_metrics["m"] = {"interval.ms": "1000"}
    assert describe(ask, cluster, METRICS, "m")[1]["interval.ms"].config_source == 7


PLAIN_MAP = "PLAINTEXT:PLAINTEXT,EXTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT"
DEFAULT_MAP = "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT"
# What a Kafka 4.3.1 with these options says: value, read-only, source, sensitive, type, synonyms.
SAID_BY_KAFKA = {
    "listeners": (
        "PLAINTEXT://127.0.0.1:9092,EXTERNAL://0.0.0.0:9094", False, 4, False, 7,
        [("listeners", "PLAINTEXT://127.0.0.1:9092,EXTERNAL://0.0.0.0:9094", 4), ("listeners", "PLAINTEXT://:9092", 5)],
    ),
    "advertised.listeners": (
        "PLAINTEXT://127.0.0.1:9092,EXTERNAL://kafka.example:19094", True, 4, False, 7,
        [("advertised.listeners", "PLAINTEXT://127.0.0.1:9092,EXTERNAL://kafka.example:19094", 4)],
    ),
    "listener.security.protocol.map": (
        PLAIN_MAP, False, 4, False, 2,
        [("listener.security.protocol.map", PLAIN_MAP, 4), ("listener.security.protocol.map", DEFAULT_MAP, 5)],
    ),
    "super.users": (None, True, 4, True, 0, [("super.users", None, 4)]),
    "allow.everyone.if.no.acl.found": (None, True, 4, True, 0, [("allow.everyone.if.no.acl.found", None, 4)]),
    "unstable.api.versions.enable": (
        "true", True, 4, False, 1,
        [("unstable.api.versions.enable", "true", 4), ("unstable.api.versions.enable", "false", 5)],
    ),
    "listener.name.external.max.connections": (
        "10", True, 4, False, 3,
        [("listener.name.external.max.connections", "10", 4), ("max.connections", "2147483647", 5)],
    ),
    "listener.name.external.plain.sasl.jaas.config": (
        None, True, 4, True, 9, [("listener.name.external.plain.sasl.jaas.config", None, 4)],
    ),
    "listener.name.external.sasl.enabled.mechanisms": (
        "PLAIN", True, 4, False, 7,
        [("listener.name.external.sasl.enabled.mechanisms", "PLAIN", 4), ("sasl.enabled.mechanisms", "GSSAPI", 5)],
    ),
}  # fmt: skip
OPTIONS = {
    "listener.security.protocol.map": PLAIN_MAP,
    "super.users": "User:admin",
    "allow.everyone.if.no.acl.found": True,
    "unstable.api.versions.enable": True,
    "listener.name.external.max.connections": 10,
    "listener.name.external.plain.sasl.jaas.config": "org.example.Login required;",
    "listener.name.external.sasl.enabled.mechanisms": "PLAIN",
}


def serving_cluster(config: dict[str, object], *listeners: Listener) -> Cluster:
    """A cluster whose broker has these listeners."""
    settings = Settings(config)
    use_settings(listeners, settings)
    return Engine(Cluster(settings, release()), listeners, Journal()).cluster


def described(config: Any) -> tuple[object, ...]:
    """All fields of a config, but its name and documentation."""
    about = config.value, config.read_only, config.config_source, config.is_sensitive, config.config_type
    return (*about, synonyms(config))


@pytest.mark.rules("DC-1", "DC-2", "DC-3", "DC-4")
def test_what_a_broker_was_started_with(ask: Ask) -> None:
    """Listeners and their addresses, settings that Kafka does not document, those of plug-ins and of one listener."""
    internal = Listener(1, "127.0.0.1", 9092, Address("127.0.0.1", 9092), name="PLAINTEXT")
    external = Listener(1, "0.0.0.0", 9094, Address("kafka.example", 19094), name="EXTERNAL")
    cluster = serving_cluster(OPTIONS, internal, external)
    code, configs = describe(ask, cluster, BROKERS, "1", include_synonyms=True)
    assert code == 0
    assert {name: described(configs[name]) for name in SAID_BY_KAFKA} == SAID_BY_KAFKA
    assert "producer.id.expiration.check.interval.ms" not in configs
    assert not [name for name in configs if name.startswith("fakebroker.")]


@pytest.mark.rules("DC-2")
def test_listeners_that_are_not_advertised(ask: Ask) -> None:
    """advertised.listeners has no value then; names that the map does not have are added to it; others are not."""
    dialect = Listener(1, "127.0.0.1", 9093, dialects=frozenset({"kip-17"}))
    named = Listener(1, "::1", 9092, protocol="PLAINTEXT", name="INSIDE")
    elsewhere = Listener(2, "127.0.0.1", 9095)
    cluster = serving_cluster({"fakebroker.request.time.us": 5}, named, dialect, elsewhere)
    _, configs = describe(ask, cluster, BROKERS, "1")
    assert (configs["listeners"].value, configs["listeners"].config_source) == ("INSIDE://[::1]:9092", 4)
    assert (configs["advertised.listeners"].value, configs["advertised.listeners"].config_source) == (None, 5)
    assert configs["listener.security.protocol.map"].value == f"{DEFAULT_MAP},INSIDE:PLAINTEXT"
    assert configs["fakebroker.request.time.us"].value == "5"  # a recording tells a replay so


def calls_of(monkeypatch: pytest.MonkeyPatch, method: str) -> list[object]:
    """What that method of an answer gives, each time."""
    given: list[object] = []
    original = getattr(describe_configs._Answer, method)

    def noted(*args: object) -> object:
        given.append(original(*args))
        return given[-1]

    monkeypatch.setattr(describe_configs._Answer, method, noted)
    return given


def test_configs_that_are_the_same_are_made_once(ask: Ask, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame of 1 MB names 100,000 groups; with 18 configs and their synonyms of its own each, that took 900 MB."""
    made = calls_of(monkeypatch, "_new")
    cluster.group_configs["g7"] = {"consumer.session.timeout.ms": "50000"}
    names = [f"g{number}" for number in range(100)]
    resources = [DescribeConfigsResource(resource_type=GROUPS, resource_name=name) for name in names]
    results = ask(cluster, DescribeConfigsRequest(resources=resources, include_synonyms=True), 4).results
    others = [each.configs for each in results if each.resource_name != "g7"]
    assert all(each == others[0] for each in others)
    assert [each.value for each in results[7].configs if each not in others[0]] == ["50000"]
    assert len(made) == len(others[0]) + 1


def test_a_resource_that_is_asked_for_again(ask: Ask, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is answered as often, by one result: a frame of 1 MB has room for 200,000 of them."""
    made = calls_of(monkeypatch, "result")

    def asked(*keys: str) -> DescribeConfigsResource:
        return DescribeConfigsResource(resource_type=TOPICS, resource_name="t", configuration_keys=list(keys) or None)

    resources = [asked(), asked("retention.ms"), *[asked() for _ in range(1000)]]
    every, one, *again = ask(cluster, DescribeConfigsRequest(resources=resources), 4).results
    assert [config.name for config in one.configs] == ["retention.ms"]
    assert len(every.configs) > 20
    assert len(again) == 1000
    assert all(each.configs == every.configs for each in again)
    assert len(made) == 2


@pytest.mark.rules("CLU-16")
def test_a_broker_is_read_once(ask: Ask, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """However its id is spelt and whichever configs are asked for; each entry has the name that it asked for."""
    reads = list[None]()
    describe = BrokerResource.describe

    def noted(self: BrokerResource) -> list[ConfigEntry]:
        reads.append(None)
        return describe(self)

    monkeypatch.setattr(BrokerResource, "describe", noted)
    cluster.nodes[1].settings.replace_dynamic({"background.threads": "7"}, cluster=False)
    names = ["1", "01", "+1", "\u0661", "1", "00"]
    asked = [
        DescribeConfigsResource(
            resource_type=BROKERS, resource_name=name, configuration_keys=["background.threads", key]
        )
        for name in names
        for key in ("x", "y")
    ]
    results = ask(cluster, DescribeConfigsRequest(resources=asked), 4).results

    assert [each.resource_name for each in results] == [name for name in names for _ in range(2)]
    assert [[config.value for config in each.configs] for each in results] == [["7"]] * 10 + [[]] * 2
    assert [each.error_code for each in results] == [0] * 10 + [ErrorCode.INVALID_REQUEST] * 2
    assert len(reads) == 1


@pytest.mark.rules("DC-5", "DC-1")
def test_other_types_in_2_1(ask: Ask) -> None:
    """2.1.1 knows topics and brokers: one of another type, which it calls 0, makes all fail."""
    old = Cluster(Settings(), release("2.1"))
    resources = [DescribeConfigsResource(resource_type=kind, resource_name="1") for kind in (4, 8, 9)]

    results = ask(old, DescribeConfigsRequest(resources=resources), 2).results
    assert [(each.resource_type, each.error_code) for each in results] == [
        (kind, ErrorCode.INVALID_REQUEST) for kind in (4, 0, 0)
    ]
    twice = ask(old, DescribeConfigsRequest(resources=resources[:1] * 2), 2).results
    assert [each.error_code for each in twice] == [0], "it is answered once"


@pytest.mark.rules("DC-1")
@pytest.mark.parametrize(("as_release", "shows_all"), [("4.3", True), ("2.1", False)])
def test_an_empty_list_of_keys(ask: Ask, as_release: str, shows_all: bool) -> None:
    """It means all configs; in 2.1.1 none, and only null means all."""
    cluster = Cluster(Settings(), release(as_release))
    cluster.topics.create("t", 1)

    for keys, expected in ((None, True), ([], shows_all)):
        asked = DescribeConfigsResource(resource_type=2, resource_name="t", configuration_keys=keys)
        [result] = ask(cluster, DescribeConfigsRequest(resources=[asked]), 2).results
        assert (result.error_code, bool(result.configs)) == (0, expected)


def test_what_is_written_again_and_again_counts_each_time() -> None:
    """A broker that is named 600 times has 200,000 configs in the answer, which took a second in one turn; with long
    values of its own it was over a GB.
    """
    lab = SimEngine()
    resources = [DescribeConfigsResource(resource_type=BROKERS, resource_name="1") for _ in range(600)]
    found = [*turns(lab, lab.client().socket.connection, request("DescribeConfigs", 4, resources=resources))]
    assert len(found) > 100
    assert max(found[1:]) < sum(found) / 20
