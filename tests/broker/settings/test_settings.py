"""The broker settings in force, and where each value comes from."""

import json

import pytest

from fakebroker.broker.settings import PROFILES, Settings, Source, Synonym, find, find_group, find_topic
from fakebroker.protocol.errors import SettingError
from tests.conformance.recordings import PATHS


def test_typed_getters() -> None:
    """Each getter gives its type; a value given in Python or as text is the same."""
    settings = Settings(
        {"num.partitions": 3, "auto.create.topics.enable": False, "log.cleanup.policy": ["compact", "delete"]}
    )
    assert settings.get_int("num.partitions") == 3
    assert settings.get_bool("auto.create.topics.enable") is False
    assert settings.get_list("log.cleanup.policy") == ("compact", "delete")
    assert settings.get_str("compression.type") == "producer"
    assert settings.get_float("log.cleaner.min.cleanable.ratio") == 0.5
    assert Settings({"num.partitions": "3"}).get_int("num.partitions") == 3


def test_a_getter_of_the_wrong_type_is_an_error() -> None:
    """Asking for a number where there is a text, or for a value nobody set, is said."""
    settings = Settings()
    with pytest.raises(SettingError, match="not a whole number"):
        settings.get_int("compression.type")
    with pytest.raises(SettingError, match="not a string"):
        settings.get_str("broker.rack")
    with pytest.raises(SettingError, match="not a list"):
        settings.get_list("num.partitions")
    with pytest.raises(SettingError, match="not a boolean"):
        settings.get_bool("num.partitions")
    with pytest.raises(SettingError, match="not a double"):
        settings.get_float("num.partitions")
    assert settings.is_null("broker.rack")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("num.partitons", "did you mean 'num.partitions'"),
        ("retention.ms", "'log.retention.ms'"),
        ("remote.storage.enable", "is a topic setting"),
        ("complete nonsense", "there is no setting"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(name: str, hint: str) -> None:
    """An unknown setting is an error that names the nearest; a topic setting names the broker's."""
    with pytest.raises(SettingError, match=hint):
        Settings({name: "1"})


def test_bad_values_are_refused_at_once() -> None:
    """A value of the wrong type or out of bounds does not wait until somebody reads it."""
    with pytest.raises(SettingError, match=r"num\.partitions"):
        Settings({"num.partitions": 0})
    with pytest.raises(SettingError, match=r"broker\.rack has no value"):
        Settings({"broker.rack": None})
    with pytest.raises(SettingError, match="profile: there is no 'production'; there are kafka, test"):
        Settings(profile="production")


def test_unknown_topic_and_group_settings() -> None:
    """They, too, name the nearest."""
    with pytest.raises(SettingError, match=r"did you mean 'retention\.ms'"):
        find_topic("retention.m")
    with pytest.raises(SettingError, match=r"did you mean 'consumer\.session\.timeout\.ms'"):
        find_group("consumer.session.timeout")


def test_profiles() -> None:
    """`kafka` is Kafka's defaults; `test` is those but for a few."""
    kafka, test = Settings(), Settings(profile="test")
    changed = {name for name in kafka.names() if kafka.value(name) != test.value(name)}
    assert changed | {"fakebroker.fetch.max.wait.ms"} == set(PROFILES["test"])
    assert kafka.get_int("fakebroker.fetch.max.wait.ms") == 2**31 - 1
    assert test.get_int("fakebroker.fetch.max.wait.ms") == 50
    assert test.get_int("group.initial.rebalance.delay.ms") == 0
    assert test.get_int("group.min.session.timeout.ms") == 1
    assert Settings({"group.min.session.timeout.ms": 5}, profile="test").get_int("group.min.session.timeout.ms") == 5


@pytest.mark.rules("IA-10")
def test_layers() -> None:
    """A dynamic value of the broker beats one of the cluster, that beats a static one, that beats the default."""
    settings = Settings({"num.io.threads": 5})
    assert settings.get_int("num.io.threads") == 5
    settings.replace_dynamic({"num.io.threads": "10"}, cluster=True)
    assert settings.get_int("num.io.threads") == 10
    settings.replace_dynamic({"num.io.threads": "9"}, cluster=False)
    assert settings.get_int("num.io.threads") == 9
    sources = [(each.value, each.source) for each in settings.synonyms("num.io.threads")]
    assert sources == [("9", 2), ("10", 3), ("5", 4), ("8", 5)]
    settings.replace_dynamic({}, cluster=False)
    settings.replace_dynamic({}, cluster=True)
    assert settings.get_int("num.io.threads") == 5


def test_every_change_is_a_new_generation() -> None:
    """Who keeps something derived from the values can see that they changed."""
    settings = Settings()
    before = settings.generation
    settings.replace_dynamic({"num.io.threads": "9"}, cluster=True)
    assert settings.generation > before


def test_brokers_share_all_but_their_own() -> None:
    """Another broker has the static values and the cluster's defaults, not what was altered for one alone."""
    one = Settings({"num.partitions": 3})
    two = one.for_broker()
    one.set_own("node.id", 1)
    two.set_own("node.id", 2)
    two.replace_dynamic({"num.io.threads": "10"}, cluster=True)
    one.replace_dynamic({"num.io.threads": "9"}, cluster=False)
    assert (one.get_int("num.partitions"), two.get_int("num.partitions")) == (3, 3)
    assert (one.get_int("node.id"), two.get_int("node.id")) == (1, 2)
    assert (one.get_int("num.io.threads"), two.get_int("num.io.threads")) == (9, 10)
    assert one.dynamic(cluster=True) == two.dynamic(cluster=True) == {"num.io.threads": "10"}


@pytest.mark.parametrize(
    ("given", "retention_ms"),
    [
        ({}, 604_800_000),
        ({"log.retention.hours": 1}, 3_600_000),
        ({"log.retention.hours": 1, "log.retention.minutes": 2}, 120_000),
        ({"log.retention.hours": 1, "log.retention.minutes": 2, "log.retention.ms": 3}, 3),
    ],
)
def test_the_finest_unit_that_is_set_counts(given: dict[str, int], retention_ms: int) -> None:
    """log.retention.ms beats minutes beats hours."""
    assert Settings(given).get_int("log.retention.ms") == retention_ms


@pytest.mark.rules("DC-3")
def test_synonyms_of_several_settings_for_one_thing() -> None:
    """log.retention.ms has no synonyms until it is set itself; then the others follow, layer by layer."""
    settings = Settings({"log.retention.hours": 100})
    assert settings.synonyms("log.retention.ms") == []
    settings.replace_dynamic({"log.retention.ms": "5"}, cluster=True)
    assert settings.synonyms("log.retention.ms") == [
        Synonym("log.retention.ms", "5", Source.DYNAMIC_DEFAULT),
        Synonym("log.retention.hours", "100", Source.STATIC),
        Synonym("log.retention.hours", "168", Source.DEFAULT),
    ]


@pytest.mark.rules("DC-4")
def test_secrets_are_not_shown() -> None:
    """The value of a password, and of a setting nobody knows, is null."""
    settings = Settings({"delegation.token.secret.key": "hidden"})
    settings.replace_dynamic({"plugin.password": "hidden"}, cluster=False)
    assert [each.value for each in settings.synonyms("delegation.token.secret.key")] == [None]
    assert [each.value for each in settings.synonyms("plugin.password")] == [None]


def test_settings_of_one_listener() -> None:
    """`listener.name.<listener>.[<mechanism>.]<setting>` is known where the setting is."""
    name = "listener.name.sasl_plaintext.plain.sasl.jaas.config"
    assert find(name).type == find("sasl.jaas.config").type
    assert Settings({name: "users"}).get_str(name) == "users"
    with pytest.raises(SettingError):
        find("listener.name.internal.no.such")


@pytest.mark.rules("IA-6")
@pytest.mark.parametrize(
    ("name", "value", "cluster", "reason"),
    [
        ("node.id", "4", True, "fixed when the broker starts"),
        ("listeners", "PLAINTEXT://:1", True, "for a single broker"),
        ("ssl.keystore.location", "/x", False, "only be set for a listener"),
        ("num.io.threads", "x", False, "not a number"),
    ],
)
def test_what_cannot_be_altered_at_run_time(name: str, value: str, cluster: bool, reason: str) -> None:
    """Settings that are read at start, or belong to one broker or listener, say so."""
    with pytest.raises(SettingError, match=reason):
        Settings().check_dynamic(name, value, cluster)


def test_defaults_of_a_release() -> None:
    """A release's own defaults count where nothing was set, and are shown as defaults."""
    settings = Settings({"num.partitions": 2})
    settings.use_release({"num.partitions": "7", "num.io.threads": "1"}, line=(3, 9))
    assert settings.get_int("num.partitions") == 2
    assert settings.get_int("num.io.threads") == 1
    assert settings.synonyms("num.io.threads") == [Synonym("num.io.threads", "1", Source.DEFAULT)]
    assert "message.format.version" in settings.topic_table
    assert "log.message.format.version" in set(settings.names())
    assert "log.message.format.version" not in set(Settings().names())


def recorded_settings() -> list[dict[str, str]]:
    """The settings that the heads of recorded dialogues name."""
    heads = [json.loads(path.read_text().partition("\n")[0]) for path in PATHS]
    return [head["config"] for head in heads if head.get("config")]


def test_settings_of_recorded_dialogues_are_known() -> None:
    """Every broker setting that a recorded dialogue names is known and takes the value it names."""
    configs = recorded_settings()
    assert configs
    for config in configs:
        settings = Settings(config)
        assert not any(settings.is_null(name) for name in config)
