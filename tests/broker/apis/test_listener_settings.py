"""Settings of one listener that are altered at run time, and everything else that a broker's settings may be set to."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings, security
from fakebroker.broker.settings.declare import READ_ONLY, Setting
from fakebroker.broker.settings.table import BROKER
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.alter_configs import AlterableConfig as ReplacedConfig
from fakebroker.protocol.wire.messages.alter_configs import AlterConfigsRequest
from fakebroker.protocol.wire.messages.alter_configs import AlterConfigsResource as ReplacedResource
from fakebroker.protocol.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

Ask = Callable[..., Any]
SET, DELETE = 0, 1
BROKERS = 4
PLAIN_USERS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_root="hacked";'
PREFIX = "listener.name.plaintext."
JWKS = "sasl.oauthbearer.jwks.endpoint.url"
BAD_VALUES = ("", "abc", "-1", "-77", "9" * 12, "9" * 30, "nan", "1e400", ",", ",,a", "true", "x" * 5_000, "\0")


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(Settings(), release())


def alter(ask: Ask, cluster: Cluster, name: str, value: str | None, broker: str = "1", operation: int = SET) -> int:
    """The code that one change of one setting gets."""
    config = AlterableConfig(name=name, config_operation=operation, value=value)
    resource = AlterConfigsResource(resource_type=BROKERS, resource_name=broker, configs=[config])
    code: int = ask(cluster, IncrementalAlterConfigsRequest(resources=[resource]), 1).responses[0].error_code
    return code


def replace(ask: Ask, cluster: Cluster, name: str, value: str) -> int:
    """The code that AlterConfigs gets."""
    resource = ReplacedResource(
        resource_type=BROKERS, resource_name="1", configs=[ReplacedConfig(name=name, value=value)]
    )
    code: int = ask(cluster, AlterConfigsRequest(resources=[resource]), 1).responses[0].error_code
    return code


def of_each_kind() -> Iterator[Setting]:
    """One setting of each type and range."""
    kinds = {(each.type, repr(each.allowed), each.update == READ_ONLY): each for each in BROKER.values()}
    yield from kinds.values()


@pytest.mark.rules("IA-5", "IA-6")
@pytest.mark.parametrize("prefix", ["", PREFIX, f"{PREFIX}plain.", "listener.name.other."])
def test_no_value_leaves_settings_that_cannot_be_read(ask: Ask, cluster: Cluster, prefix: str) -> None:
    """What is not good is refused and not kept: the next alteration is carried out."""
    for setting in of_each_kind():
        name = f"{prefix}{setting.name}"
        for value in BAD_VALUES:
            for broker in ("1", ""):
                code = alter(ask, cluster, name, value, broker)
                assert code in (0, ErrorCode.INVALID_REQUEST), (name, value[:50], broker)
                assert code or not alter(ask, cluster, name, None, broker, DELETE)
            code = replace(ask, cluster, name, value)
            assert code in (0, ErrorCode.INVALID_REQUEST), (name, value[:50])
    assert alter(ask, cluster, "log.retention.ms", "1234567") == 0
    assert cluster.nodes[1].settings.get_int("log.retention.ms") == 1_234_567


@pytest.mark.rules("IA-6")
@pytest.mark.parametrize("name", ["max.connections", "plain.sasl.jaas.config", JWKS, "super.users", "no.such.setting"])
def test_a_setting_of_a_listener_is_one_of_a_broker(ask: Ask, cluster: Cluster, name: str) -> None:
    """It cannot be set for all brokers at once, whether there is such a setting or not."""
    assert alter(ask, cluster, f"{PREFIX}{name}", "1", broker="") == ErrorCode.INVALID_REQUEST
    assert alter(ask, cluster, f"{PREFIX}{name}", "1") == 0


@pytest.mark.rules("IA-6", "IA-10")
def test_what_is_fixed_at_the_start_is_fixed_for_a_listener(ask: Ask, cluster: Cluster) -> None:
    """The setting is kept and has no effect, as in Kafka: no client decides whose keys sign the tokens of logins."""
    settings = cluster.nodes[1].settings
    fixed = [each for each in BROKER.values() if each.update == READ_ONLY and each.type == BROKER[JWKS].type]
    assert BROKER[JWKS] in fixed
    for setting in fixed:
        for name in (f"{PREFIX}{setting.name}", f"{PREFIX}oauthbearer.{setting.name}"):
            before = settings.of_listener("PLAINTEXT", setting.name, "OAUTHBEARER")
            if alter(ask, cluster, name, "http://127.0.0.1:1/keys") == 0:
                assert settings.dynamic(cluster=False)[name] == "http://127.0.0.1:1/keys"
                assert settings.of_listener("PLAINTEXT", setting.name, "OAUTHBEARER") == before, name


@pytest.mark.rules("IA-10")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sasl.jaas.config", PLAIN_USERS),
        ("sasl.enabled.mechanisms", "OAUTHBEARER"),
        ("ssl.client.auth", "requested"),
        ("ssl.enabled.protocols", "TLSv1.2"),
    ],
)
def test_nobody_logs_in_by_what_a_client_has_altered(ask: Ask, cluster: Cluster, name: str, value: str) -> None:
    """Who may alter configs would be any super user: a listener takes these settings when it begins."""
    settings = cluster.nodes[1].settings
    prefixes = [PREFIX, f"{PREFIX}plain.", *([""] if name.startswith("sasl.") else [])]
    for altered in (f"{prefix}{name}" for prefix in prefixes):
        before = settings.of_listener("PLAINTEXT", name, "PLAIN")
        assert alter(ask, cluster, altered, value) == 0
        assert settings.dynamic(cluster=False)[altered] == value
        assert settings.of_listener("PLAINTEXT", name, "PLAIN") == before
        assert not settings.is_given_at_start(altered)


@pytest.mark.rules("IA-10")
def test_of_logins_and_rights_only_keys_and_certificates_may_be_altered() -> None:
    """As in Kafka. Whoever may alter the truststore decides which certificates are believed, and nothing else does."""
    alterable = {each.name for each in security.ROWS if each.has_effect and not each.is_fixed}
    stores = {f"ssl.{store}.{what}" for store in ("keystore", "truststore") for what in ("location", "password")}
    texts = {"ssl.key.password", "ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.truststore.certificates"}
    assert alterable == stores | texts


@pytest.mark.rules("IA-10")
def test_what_is_not_fixed_has_an_effect(ask: Ask, cluster: Cluster) -> None:
    """A limit of connections of one listener."""
    assert alter(ask, cluster, f"{PREFIX}max.connections", "7") == 0
    settings = cluster.nodes[1].settings
    assert settings.of_listener("PLAINTEXT", "max.connections") == 7
    assert settings.get_int("max.connections") != 7
