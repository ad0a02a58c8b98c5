"""The things that have configs, as the config APIs see them: topics, brokers, loggers, client metrics, groups (DC, IA).

A resource is asked what it has (`own`, `describe`), whether new values would do (`check`), and takes them (`store`).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from fakebroker.broker.core.metadata_parts import MetadataEntry, MetadataPart
from fakebroker.broker.core.topic_config import check_config
from fakebroker.broker.core.topic_rules import check_name
from fakebroker.broker.settings import Source, Synonym, find_group
from fakebroker.broker.settings.declare import PASSWORD, READ_ONLY, Setting, parse, render
from fakebroker.broker.settings.settings import lookup
from fakebroker.broker.settings.table import BROKER, CLIENT_METRICS, GROUP
from fakebroker.protocol.errors import ErrorCode, KafkaError, SettingError, shown
from fakebroker.protocol.java_text import trimmed

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.core.node import Node

TOPIC_RESOURCE, BROKER_RESOURCE, LOGGER_RESOURCE, METRICS_RESOURCE, GROUP_RESOURCE = 2, 4, 8, 16, 32
RESOURCE_TYPES = (TOPIC_RESOURCE, BROKER_RESOURCE, LOGGER_RESOURCE, METRICS_RESOURCE, GROUP_RESOURCE)
MIN_ISR = "min.insync.replicas"
MAX_BROKER_CONFIGS = 10_000
"""MOCK: dynamic configs of a broker, or of all brokers. Kafka keeps any number of names that it does not know; here one
client's 300,000 names made each DescribeConfigs of the broker hold all clients for four seconds.
"""
MAX_BROKER_CONFIGS_CHARACTERS = 1 << 20
"""MOCK: of these, with their names. They are read at each alteration: 18 MB of lists took four seconds."""
ROOT_LOGGER = "root"
_ROOT_LEVEL = Setting(ROOT_LOGGER, 0, "INFO", None, READ_ONLY, "")


class ConfigEntry(NamedTuple):
    """One config of a resource. `synonyms` are all places that have a value, the one in force first (DC-3)."""

    setting: Setting
    value: str | None
    source: int
    synonyms: list[Synonym]
    is_read_only: bool = False
    is_sensitive: bool = False


class ConfigResource:
    """One resource. Making one raises KafkaError for the wrong broker (DC-5, IA-6).

    `checks_changes_first` says that unknown operations, and those on lists alone, are refused before its name (IA-6);
    `adds_to_lists` that its lists take APPEND and SUBTRACT (IA-2).
    """

    table: Mapping[str, Setting]  # the configs that it can have
    own: Mapping[str, str]  # what was set on it
    checks_changes_first: ClassVar[bool] = True
    adds_to_lists: ClassVar[bool] = True

    def check_name(self) -> None:
        """Raises KafkaError for a name that no resource of its type can have."""

    def check(self, values: Mapping[str, str]) -> None:
        """Raises KafkaError unless `values` could be all its own values."""
        raise NotImplementedError

    def store(self, values: Mapping[str, str]) -> None:
        """Let these be its own values, from now on."""
        raise NotImplementedError

    def describe(self) -> list[ConfigEntry]:
        """All its configs (DC)."""
        raise NotImplementedError

    def effective(self, name: str) -> str:
        """The value in force, "" for none; what APPEND and SUBTRACT begin with (IA-2)."""
        return next((each.value or "" for each in self.describe() if each.setting.name == name), "")


class TopicResource(ConfigResource):
    """A topic; one that does not exist has no configs, which is found out last (IA-6)."""

    def __init__(self, cluster: "Cluster", name: str) -> None:
        self._cluster = cluster
        self._name = name
        self.table = cluster.settings.topic_table
        self.topic = cluster.topics.get(name)
        self.own = self.topic.config.own if self.topic is not None else {}

    def check_name(self) -> None:
        check_name(self._name)

    def check(self, values: Mapping[str, str]) -> None:
        if self.topic is None and self._cluster.behaviours.altered_topics_are_found_first:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"the topic {shown(self._name)} does not exist")
        try:
            check_config(self._cluster.settings, values)
        except KafkaError as error:
            is_of_value = values.keys() <= self.table.keys()
            code = self._cluster.behaviours.altered_value_error if is_of_value else error.code
            raise KafkaError(code, error.message) from None
        if self.topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "the topic does not exist")

    def effective(self, name: str) -> str:
        return "" if self.topic is None else super().effective(name)

    def store(self, values: Mapping[str, str]) -> None:
        assert self.topic is not None
        self.topic.config.replace(values)
        self._cluster.metadata_changed(self.topic)

    def describe(self) -> list[ConfigEntry]:
        if self.topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        config = self.topic.config
        return [
            ConfigEntry(setting, config.text(name), config.source(name), config.synonyms(name))
            for name, setting in self.table.items()
        ]


class BrokerResource(ConfigResource):
    """One broker, or with an empty name the defaults of all (DC-6, IA-10).

    Its id may be spelt in other ways, such as "01": then changes are checked, answered and not made, as on 4.3.1.
    """

    table = BROKER
    checks_changes_first = False

    def __init__(self, node: "Node", name: str) -> None:
        self._node = node
        self._is_default = not name
        if name:
            check_broker_id(node, name)
        self._is_spelt_otherwise = plain_name(node, BROKER_RESOURCE, name) != name
        self.own = {} if self._is_spelt_otherwise else node.settings.dynamic(cluster=self._is_default)

    def check(self, values: Mapping[str, str]) -> None:
        """Names that Kafka does not know are kept, like those of plug-ins, but not very many."""
        characters = sum(len(name) + len(text) for name, text in values.items())
        if len(values) > MAX_BROKER_CONFIGS or characters > MAX_BROKER_CONFIGS_CHARACTERS:
            raise KafkaError(
                ErrorCode.INVALID_CONFIG,
                f"{len(values):,} dynamic configs of {characters:,} characters are too many for a broker: at most "
                f"{MAX_BROKER_CONFIGS:,} of {MAX_BROKER_CONFIGS_CHARACTERS:,} are served",
            )
        altered = [name for name in {**self.own, **values} if values.get(name) != self.own.get(name)]
        try:
            for name in altered:
                if name in values:
                    self._node.settings.check_dynamic(name, values[name], self._is_default)
            if altered and not self._is_spelt_otherwise:  # there are many spellings, and all values are read for each
                settings = self._node.settings.with_dynamic(values)
                self._node.cluster.check_listeners(self._node.id, settings, altered)
        except SettingError as error:
            raise KafkaError(ErrorCode.INVALID_REQUEST, str(error)) from None
        if self._node.cluster.behaviours.min_isr_is_cluster_default:
            if self._is_default and MIN_ISR not in values:
                raise KafkaError(ErrorCode.INVALID_CONFIG, f"the cluster's default of {MIN_ISR} cannot be removed")
            if not self._is_default and MIN_ISR in values:
                raise KafkaError(ErrorCode.INVALID_CONFIG, f"{MIN_ISR} can be set for the whole cluster only")

    def store(self, values: Mapping[str, str]) -> None:
        if self._is_spelt_otherwise:
            return
        self._node.settings.replace_dynamic(values, cluster=self._is_default)
        _config_changed(self._node.cluster, BROKER_RESOURCE, "" if self._is_default else str(self._node.id))

    def describe(self) -> list[ConfigEntry]:
        settings = self._node.settings
        own = settings.dynamic(cluster=self._is_default)
        names = own if self._is_default else dict.fromkeys([*settings.names(), *own])
        listeners = self._node.cluster.listener_settings(self._node.id)
        return [self._entry(name, settings.synonyms(name, listeners)) for name in names]

    def effective(self, name: str) -> str:
        hidden = Source.DYNAMIC_BROKER if self._is_default else None
        listeners = self._node.cluster.listener_settings(self._node.id)
        synonyms = self._node.settings.synonyms(name, listeners)
        return next((each.value or "" for each in synonyms if each.source != hidden), "")

    def _entry(self, name: str, synonyms: list[Synonym]) -> ConfigEntry:
        setting = BROKER.get(name)
        if setting is None and (of_listener := lookup(name)) is not None:
            setting = of_listener._replace(update=READ_ONLY)
        if setting is None or setting.of_plugin:  # might be a secret
            setting = Setting(name, 0, None, None, READ_ONLY, "")
        if self._is_default:
            synonyms = [each for each in synonyms if each.source == Source.DYNAMIC_DEFAULT]
        return ConfigEntry(
            setting,
            synonyms[0].value if synonyms else None,
            synonyms[0].source if synonyms else Source.DEFAULT,
            synonyms,
            is_read_only=setting.update == READ_ONLY,
            is_sensitive=setting.type in (0, PASSWORD),
        )


class LoggerResource(ConfigResource):
    """The loggers of a broker. MOCK: there is the root logger, at INFO, and it stays there."""

    table: Mapping[str, Setting] = {}
    own: Mapping[str, str] = {}

    def __init__(self, node: "Node", name: str) -> None:
        check_broker_id(node, name)

    def check(self, values: Mapping[str, str]) -> None:
        for name in values:
            raise KafkaError(
                ErrorCode.INVALID_CONFIG, f"the level of logger {name!r} cannot be changed: loggers are not supported"
            )

    def store(self, values: Mapping[str, str]) -> None:
        """Nothing can be stored."""

    def describe(self) -> list[ConfigEntry]:
        return [ConfigEntry(_ROOT_LEVEL, "INFO", Source.LOGGER, [])]


class GroupResource(ConfigResource):
    """A group: it need not exist (DC-7, CGC-4)."""

    table = GROUP

    def __init__(self, node: "Node", name: str) -> None:
        self._node = node
        self._name = name
        self.own = node.cluster.group_configs.get(name, {})

    def check_name(self) -> None:
        if not self._name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "a group's name cannot be empty")

    def check(self, values: Mapping[str, str]) -> None:
        """All values together, against the broker's bounds (CGC-2, CGC-3)."""
        try:
            for name, text in values.items():
                parse(find_group(name), text)
            self._check_bounds(_trimmed(values))
        except SettingError as error:
            raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from None

    def _check_bounds(self, values: Mapping[str, str]) -> None:
        settings = self._node.settings
        for name, text in values.items():
            kind, rest = name.split(".", 1)
            rest = rest.removeprefix("num.")  # streams.num.standby.replicas: group.streams.max.standby.replicas
            for bound, sign in (("min", 1), ("max", -1)):
                limit = f"group.{kind}.{bound}.{rest}"
                if limit in BROKER and sign * int(text) < sign * settings.get_int(limit):
                    raise SettingError(f"{name}: {text} exceeds the limit {limit}, {settings.get_int(limit)}")
        for kind in sorted({name.split(".")[0] for name in values}):  # the first bad one is what the client reads
            heartbeat, session = f"{kind}.heartbeat.interval.ms", f"{kind}.session.timeout.ms"
            if self._number(values, heartbeat) >= self._number(values, session):
                raise SettingError(f"{session} must be greater than {heartbeat}")

    def _number(self, values: Mapping[str, str], name: str) -> int:
        text = values.get(name)
        return self._node.settings.get_int(f"group.{name}") if text is None else int(text)

    def store(self, values: Mapping[str, str]) -> None:
        _store_or_drop(self._node.cluster.group_configs, self._name, values)
        _config_changed(self._node.cluster, GROUP_RESOURCE, self._name)

    def describe(self) -> list[ConfigEntry]:
        return [self._entry(setting) for setting in GROUP.values()]

    def _entry(self, setting: Setting) -> ConfigEntry:
        synonyms = [Synonym(setting.name, self.own[setting.name], Source.GROUP)] if setting.name in self.own else []
        if setting.broker_name is not None:
            synonyms += self._node.settings.synonyms(setting.broker_name)
        else:
            synonyms.append(Synonym(setting.name, render(setting.default), Source.DEFAULT))
        return ConfigEntry(setting, synonyms[0].value, synonyms[0].source, synonyms)


class MetricsResource(ConfigResource):
    """A subscription to client metrics: which clients are to push which metrics, and how often (KIP-714, TE-6)."""

    table = CLIENT_METRICS
    adds_to_lists = False

    def __init__(self, cluster: "Cluster", name: str) -> None:
        self._cluster = cluster
        self._name = name
        self.own = cluster.client_metrics.get(name, {})

    def check_name(self) -> None:
        if not self._name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "a client metrics subscription's name cannot be empty")

    def check(self, values: Mapping[str, str]) -> None:
        for name, text in values.items():
            setting = CLIENT_METRICS.get(name)
            if setting is None:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"unknown config of client metrics: {name!r}")
            try:
                value = parse(setting, text)
            except SettingError as error:
                code = ErrorCode.INVALID_CONFIG if name == "match" else ErrorCode.INVALID_REQUEST
                raise KafkaError(code, str(error)) from None
            if name == "match" and isinstance(value, tuple):
                _check_match(value)

    def store(self, values: Mapping[str, str]) -> None:
        _store_or_drop(self._cluster.client_metrics, self._name, values)
        self._cluster.client_metrics_changes += 1
        _config_changed(self._cluster, METRICS_RESOURCE, self._name)

    def describe(self) -> list[ConfigEntry]:
        return [
            ConfigEntry(
                setting,
                self.own[name],
                Source.CLIENT_METRICS,
                [Synonym(setting.name, self.own[name], Source.CLIENT_METRICS)],
            )
            if name in self.own
            else ConfigEntry(setting, render(setting.default), Source.DEFAULT, [])
            for name, setting in CLIENT_METRICS.items()
        ]


def resource(node: "Node", resource_type: int, name: str) -> ConfigResource:
    """The resource of that type and name; its name is not checked yet. Raises KafkaError for an unknown type (IA-6)."""
    if resource_type == TOPIC_RESOURCE:
        return TopicResource(node.cluster, name)
    if resource_type == BROKER_RESOURCE:
        return BrokerResource(node, name)
    if resource_type == LOGGER_RESOURCE:
        return LoggerResource(node, name)
    if resource_type == METRICS_RESOURCE:
        return MetricsResource(node.cluster, name)
    if resource_type == GROUP_RESOURCE:
        return GroupResource(node, name)
    raise KafkaError(ErrorCode.INVALID_REQUEST, f"unknown resource type {resource_type}")


def _check_match(selectors: tuple[str, ...]) -> None:
    """Raises KafkaError(INVALID_CONFIG) for a pattern that cannot be read (TE-6)."""
    from fakebroker.broker.core.telemetry.subscriptions import InvalidPattern, check_selectors

    try:
        check_selectors(selectors)
    except InvalidPattern as error:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Illegal client matching pattern: {error}") from None


_LONGEST_ID = 10  # digits


def check_broker_id(node: "Node", name: str) -> None:
    """Raises KafkaError(INVALID_REQUEST) unless `name` is the id of this very broker (CLU-16).

    A sign and any number of leading zeros are read as Java reads them.
    """
    unsigned = name[1:] if name[:1] in ("+", "-") else name
    digits = unsigned.lstrip("0") or "0"
    is_number = unsigned.isdecimal() and len(digits) <= _LONGEST_ID
    if not is_number or int(digits) != node.id or (name.startswith("-") and node.id):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"this is broker {node.id}, not {name!r}")


def plain_name(node: "Node", resource_type: int, name: str) -> str:
    """The name of a resource: of the broker asked its id in plain digits, however it is spelt."""
    if resource_type not in (BROKER_RESOURCE, LOGGER_RESOURCE) or not name:
        return name
    try:
        check_broker_id(node, name)
    except KafkaError:
        return name
    return str(node.id)


def _config_changed(cluster: "Cluster", resource_type: int, name: str) -> None:
    cluster.metadata_changed(MetadataEntry(MetadataPart.CONFIGS, (resource_type, name)))


def _trimmed(values: Mapping[str, str]) -> dict[str, str]:
    """As Kafka reads them: without blanks and control characters around."""
    return {name: trimmed(text) for name, text in values.items()}


def _store_or_drop(store: dict[str, dict[str, str]], name: str, values: Mapping[str, str]) -> None:
    if values:
        store[name] = _trimmed(values)
    else:
        store.pop(name, None)
