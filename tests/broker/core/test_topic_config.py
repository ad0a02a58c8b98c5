"""The settings in force for one topic."""

import pytest

from fakebroker.broker.core import topic_config
from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.topic_config import TopicConfig, check_config
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings, Source, Synonym
from fakebroker.protocol.errors import ErrorCode, KafkaError


@pytest.mark.rules("IA-10", "DC-3")
def test_chain() -> None:
    """The topic's value, else the broker's, else the default."""
    settings = Settings({"log.segment.bytes": 2097152})
    config = TopicConfig(settings, {"retention.ms": "5"})
    assert config.get_int("retention.ms") == 5
    assert config.get_int("segment.bytes") == 2097152
    assert config.get_int("segment.ms") == 604_800_000
    assert config.get_list("cleanup.policy") == ("delete",)
    assert config.get_bool("remote.storage.enable") is False
    assert [config.source(name) for name in ("retention.ms", "segment.bytes", "segment.ms")] == [1, 4, 5]


@pytest.mark.parametrize(
    ("given", "retention_ms", "roll_ms", "flush_ms"),
    [
        ({"log.retention.hours": 1, "log.roll.hours": 2}, 3_600_000, 7_200_000, 2**63 - 1),
        ({"log.retention.minutes": 1, "log.flush.scheduler.interval.ms": 9}, 60_000, 604_800_000, 9),
    ],
)
def test_other_units_of_the_broker(given: dict[str, int], retention_ms: int, roll_ms: int, flush_ms: int) -> None:
    """The broker's hours and minutes reach the topic as milliseconds, without a synonym (DC-3)."""
    config = TopicConfig(Settings(given))
    names = ("retention.ms", "segment.ms", "flush.ms")
    assert [config.get_int(name) for name in names] == [retention_ms, roll_ms, flush_ms]
    assert [config.synonyms(name) for name in names] == [[], [], []]


@pytest.mark.rules("IA-9", "IA-10")
def test_changes_are_seen_at_once() -> None:
    """New values of the topic and of the broker are in force for the next look, also for the log."""
    settings = Settings()
    config = TopicConfig(settings)
    assert config.log.max_message_bytes == 1048588
    settings.replace_dynamic({"message.max.bytes": "77"}, cluster=True)
    assert (config.get_int("max.message.bytes"), config.log.max_message_bytes) == (77, 77)
    config.replace({"max.message.bytes": "99"})
    assert (config.get_int("max.message.bytes"), config.log.max_message_bytes) == (99, 99)
    config.replace({})
    assert config.get_int("max.message.bytes") == 77


def test_a_topic_s_own_values_are_parsed_when_they_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not whenever a setting of the broker has changed: a list may have 32 KB, and there may be 10,000 topics."""
    settings = Settings()
    config = TopicConfig(settings)
    config.replace({"leader.replication.throttled.replicas": "0:1,1:1", "max.message.bytes": "99"})
    with monkeypatch.context() as patch:
        patch.delattr(topic_config, "parse")
        settings.replace_dynamic({"message.max.bytes": "77", "log.segment.bytes": "2097152"}, cluster=True)
        assert config.log.max_message_bytes == 99
        assert config.get_int("segment.bytes") == 2097152
        assert config.get_list("leader.replication.throttled.replicas") == ("0:1", "1:1")
    config.replace({})
    assert config.get_int("max.message.bytes") == 77


def test_texts_and_synonyms() -> None:
    """Values are shown as Kafka writes them, synonyms under the broker's names."""
    config = TopicConfig(Settings(), {"cleanup.policy": "compact,delete"})
    assert (config.text("cleanup.policy"), config.text("preallocate")) == ("compact,delete", "false")
    assert config.synonyms("cleanup.policy") == [
        Synonym("cleanup.policy", "compact,delete", Source.TOPIC),
        Synonym("log.cleanup.policy", "delete", Source.DEFAULT),
    ]


@pytest.mark.rules("NT-6", "IA-6")
@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"retention.m": "1"}, r"did you mean 'retention\.ms'"),
        ({"retention.ms": "-2"}, r"retention\.ms: -2 is not allowed"),
        ({"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"}, "above"),
        ({"remote.storage.enable": "true"}, "no tiered storage"),
    ],
)
def test_refused_values(values: dict[str, str], reason: str) -> None:
    """40 with a text that names the setting."""
    with pytest.raises(KafkaError, match=reason) as error:
        check_config(Settings(), values)
    assert error.value.code == ErrorCode.INVALID_CONFIG


@pytest.mark.rules("IA-7")
def test_long_values() -> None:
    """32767 bytes are the limit."""
    check_config(Settings(), {"leader.replication.throttled.replicas": "1:" + "1" * 32_765})
    with pytest.raises(KafkaError, match="32768 bytes") as error:
        check_config(Settings(), {"leader.replication.throttled.replicas": "1:" + "1" * 32_766})
    assert error.value.code == ErrorCode.INVALID_CONFIG


@pytest.mark.rules("IA-8", "RT-5")
@pytest.mark.parametrize("as_release", ["3.9", "4.3"])
def test_no_cleanup_policy(as_release: str) -> None:
    """An empty list is legal in every release (seen on 3.9.1 and 4.3.1): nothing is deleted or compacted."""
    topic = Cluster(Settings(), release(as_release)).topics.create("t", config={"cleanup.policy": ""})

    assert (topic.config.log.delete, topic.config.log.compact) == (False, False)


@pytest.mark.rules("NT-6")
def test_lags_are_compared_with_the_brokers() -> None:
    """A topic's own minimum must not be above the broker's maximum either."""
    check_config(Settings(), {"min.compaction.lag.ms": "10"})
    with pytest.raises(KafkaError):
        check_config(Settings({"log.cleaner.max.compaction.lag.ms": 5}), {"min.compaction.lag.ms": "10"})
