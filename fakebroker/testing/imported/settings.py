"""Which settings of another Kafka a broker here takes over."""

from collections.abc import Mapping
from typing import Final

from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import FakebrokerError

# Of the other machine, its network and its security: the broker here has its own.
_OF_ITS_PLACE: Final = (
    "advertised.",
    "authorizer.",
    "broker.",
    "client.quota.callback",
    "connections.",
    "control",
    "delegation.token",
    "early.start.listeners",
    "inter.broker",
    "kafka.metrics",
    "listener",
    "log.dir",
    "max.connection",
    "metadata.log",
    "metric.",
    "metrics.",
    "node.id",
    "password.",
    "principal.",
    "process.roles",
    "reserved.broker",
    "sasl.",
    "security.",
    "socket.",
    "ssl.",
    "super.users",
    "zookeeper.",
)


def usable_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings that fakebroker knows, that differ from Kafka's defaults, and are about no machine or network."""
    usual = Settings(profile="kafka")
    found = {}
    for name, value in settings.items():
        if name.startswith(_OF_ITS_PLACE) or ".ssl." in name or ".sasl." in name:
            continue
        try:
            if Settings({name: value}, profile="kafka").value(name) != usual.value(name):
                found[name] = value
        except FakebrokerError:  # a setting of other releases, or of what is not served
            continue
    return found
