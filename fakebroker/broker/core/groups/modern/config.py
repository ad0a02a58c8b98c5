"""The settings of one group: its own where it has some, else the broker's (CGC-1, SGC-1, STC-1)."""

from typing import Protocol

from fakebroker.broker.settings import Settings
from fakebroker.broker.settings.table import GROUP


class ConfigSource(Protocol):
    """Whoever knows a broker's settings and the groups' own configs."""

    @property
    def settings(self) -> Settings: ...

    @property
    def group_configs(self) -> dict[str, dict[str, str]]:
        """The groups' own configs, by group id; those that were never set are absent."""


def group_config(host: ConfigSource, group_id: str, name: str) -> str:
    """The value in force of a group config, as text, e.g. that of "share.auto.offset.reset".

    It is the group's own, which may be set before the group exists; else that of the broker setting that stands behind
    it, if there is one; else the config's default.
    """
    own = host.group_configs.get(group_id)
    if own is not None and name in own:
        return own[name]
    setting = GROUP[name]
    return str(setting.default if setting.broker_name is None else host.settings.value(setting.broker_name))


def group_config_int(host: ConfigSource, group_id: str, name: str) -> int:
    """The value in force of a group config that is a whole number, e.g. that of "consumer.session.timeout.ms"."""
    return int(group_config(host, group_id, name))
