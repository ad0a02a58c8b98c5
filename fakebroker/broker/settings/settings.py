"""Every setting once: broker, topic and group settings under their Kafka names.

    settings = Settings({"num.partitions": 3}, profile="test")
    settings.get_int("num.partitions")      # 3; likewise get_str, get_bool, get_float, get_list (a tuple of str)
    settings.is_null("broker.rack")         # settings without default, not set; their getters raise SettingError

A value comes from the first of these that has it: dynamic value of this broker, dynamic value of the whole cluster,
the static values (the constructor's, then the profile's), the default of the release, Kafka's default.
Units are those of the name (`.ms`, `.bytes`). Unknown names and bad values raise SettingError naming the nearest.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fakebroker.broker.settings.declare import PASSWORD, PER_BROKER, READ_ONLY, Setting, Value, parse, render, to_text
from fakebroker.broker.settings.table import BROKER, BROKER_REMOVED_IN_4, FALLBACKS, GROUP, TOPIC
from fakebroker.broker.settings.topics_of_releases import topic_settings
from fakebroker.protocol.errors import SettingError, spelt_alike, wrong_name
from fakebroker.protocol.java_text import trimmed

__all__ = ["PROFILES", "Reader", "SettingError", "Settings", "Source", "Synonym", "find", "find_group", "find_topic"]

LISTENER = "listener.name."  # begins the name of a setting for one listener
EMPTY: Mapping[str, str] = {}
PROFILES: dict[str, dict[str, str]] = {
    "kafka": {},
    "test": {
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "1",
        "fakebroker.fetch.max.wait.ms": "50",  # librdkafka's FindCoordinator waits behind its parked Fetch
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.min.isr": "1",
    },
}


class Source:
    """Where a value comes from: the numbers of DescribeConfigs' config_source (DC)."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT = 3
    STATIC = 4
    DEFAULT = 5
    LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


class Synonym(NamedTuple):
    """A value that a setting has on one level, and that level (`Source`)."""

    name: str
    value: str | None
    source: int


class Reader:
    """Typed getters over a dict of values; what Settings and TopicConfig have in common."""

    __slots__ = ("_values",)
    _values: Mapping[str, Value]

    def value(self, name: str) -> Value:
        """The value in force, None when the setting has none. Raises SettingError for an unknown name."""
        try:
            return self._values[name]
        except KeyError:
            raise SettingError(f"there is no setting {name!r}{_nearest(name, self._values)}") from None

    def is_null(self, name: str) -> bool:
        """Whether the setting has no value (no default, and it was not set)."""
        return self.value(name) is None

    def get_float(self, name: str) -> float:
        """The value of a setting of type double."""
        value = self.value(name)
        if value.__class__ is not float:
            raise _wrong(name, value, "a double")
        return value

    def get_list(self, name: str) -> tuple[str, ...]:
        """The elements of a setting of type list."""
        value = self.value(name)
        if value.__class__ is not tuple:
            raise _wrong(name, value, "a list")
        return value

    def get_bool(self, name: str) -> bool:
        """The value of a setting of type boolean."""
        value = self.value(name)
        if value.__class__ is not bool:
            raise _wrong(name, value, "a boolean")
        return value

    def get_str(self, name: str) -> str:
        """The value of a setting of type string, class or password."""
        value = self.value(name)
        if value.__class__ is not str:
            raise _wrong(name, value, "a string")
        return value

    def get_int(self, name: str) -> int:
        """The value of a setting of type int, short or long, in the unit of its name."""
        value = self.value(name)
        if value.__class__ is not int:
            raise _wrong(name, value, "a whole number")
        return value


class Settings(Reader):
    """The broker settings in force, and where each value comes from. Made per broker; see `for_broker`."""

    __slots__ = ("_defaults", "_dynamic", "_of_topics", "_own", "_shared", "_static", "generation", "topic_table")
    _of_topics: Mapping[str, Value] | None

    def __init__(self, values: Mapping[str, object] | None = None, *, profile: str = "kafka") -> None:
        if profile not in PROFILES:
            error = SettingError(wrong_name("profile", profile, PROFILES))
            error.field, error.value = "profile", profile
            raise error
        self._defaults: dict[str, str] = {}
        self._static: dict[str, str] = dict(PROFILES[profile])
        self._own: dict[str, str] = {}
        self._dynamic: dict[str, str] = {}
        self._shared = _Shared({}, [self])
        self.topic_table: Mapping[str, Setting] = TOPIC  # the topic settings that the release knows
        self.generation = 0  # grows with every change; lets others keep what they derived from the values
        for name, value in (values or {}).items():
            self._static[name] = _static_text(name, value)
        self._compute()

    def for_broker(self) -> "Settings":
        """Settings for one more broker of the cluster: same static values and cluster defaults, own dynamic values."""
        other = Settings()
        other._defaults, other._static, other._shared = self._defaults, self._static, self._shared
        other.topic_table = self.topic_table
        other._shared.members.append(other)
        other._compute()
        return other

    def with_dynamic(self, values: Mapping[str, str]) -> "Settings":
        """What would be in force if these were all values set at run time for this broker."""
        other = Settings()
        other._defaults, other._static, other._own = self._defaults, self._static, self._own
        other._shared, other._dynamic, other.topic_table = self._shared, dict(values), self.topic_table
        other._compute()
        return other

    def use_release(self, defaults: Mapping[str, str], line: tuple[int, int]) -> None:
        """Take the defaults of a release where they differ from the newest, and its topic settings.

        `line` is the release's first two numbers, such as (2, 1).
        """
        self._defaults.update(defaults)
        for member in self._shared.members:
            member.topic_table = topic_settings(line)
        self._shared.compute()

    def set_own(self, name: str, value: object) -> None:
        """Set a static value for this broker alone, such as node.id and listeners."""
        parse(find(name), to_text(value))
        self._own[name] = trimmed(to_text(value))
        self._compute()

    def own(self) -> dict[str, str]:
        """The static values of this broker alone (a copy)."""
        return dict(self._own)

    def given(self) -> dict[str, str]:
        """The values that the maker of the cluster or its profile gave, by name; without secrets (a copy)."""
        return {name: text for name, text in sorted(self._static.items()) if not is_secret(name)}

    def dynamic(self, cluster: bool) -> dict[str, str]:
        """The values set at run time for this broker, or for the whole cluster (a copy)."""
        return dict(self._shared.dynamic if cluster else self._dynamic)

    def check_dynamic(self, name: str, text: str, cluster: bool) -> None:
        """Raises SettingError unless `name` may be set to that at run time, for one broker or for all (IA-6).

        Names that no setting has may be. So may settings of one listener that are fixed when the broker starts, which
        then have no effect.
        """
        if name.startswith(LISTENER) and cluster:
            raise SettingError(f"{name} can only be set for a single broker, not as a cluster default")
        setting = lookup(name)
        if setting is None:
            return
        parse(setting, text)
        if name.startswith(LISTENER):
            return
        if setting.update == READ_ONLY:
            raise SettingError(f"{name} is fixed when the broker starts")
        if setting.update == PER_BROKER and cluster:
            raise SettingError(f"{name} can only be set for a single broker, not as a cluster default")
        if name.startswith("ssl."):
            raise SettingError(f"{name} can only be set for a listener: listener.name.<listener>.{name}")

    def replace_dynamic(self, values: Mapping[str, str], cluster: bool) -> None:
        """Replace all values set at run time, for this broker or for the whole cluster (IA-10).

        Names that no setting has are kept and have no effect, as in Kafka.
        """
        target = self._shared.dynamic if cluster else self._dynamic
        target.clear()
        target.update(values)
        if cluster:
            self._shared.compute()
        else:
            self._compute()

    def synonyms(self, name: str, listeners: Mapping[str, str] = EMPTY) -> "list[Synonym]":
        """Every value given for `name`, the one in force first (DC-3). Passwords show no value.

        Where Kafka has several settings for one thing, all are listed once the first is set. `listeners` are the static
        values that follow from where the broker listens.
        """
        layers = (
            (Source.DYNAMIC_BROKER, self._dynamic),
            (Source.DYNAMIC_DEFAULT, self._shared.dynamic),
            (Source.STATIC, {**self._static, **self._own, **listeners}),
        )
        names = [name]
        if any(name in layer for _, layer in layers):
            names += [other for other, _ in FALLBACKS.get(name, ())]
            names += _base_of_listener(name)
        found = [
            Synonym(each, None if is_hidden(each) else layer[each], source)
            for source, layer in layers
            for each in names
            if each in layer
        ]
        defaults = ((each, self._default(each)) for each in names)
        return found + [Synonym(each, text, Source.DEFAULT) for each, text in defaults if text is not None]

    def of_topics(self) -> Mapping[str, Value]:
        """The values in force for a topic that sets nothing itself, by topic setting.

        All topics share this one mapping until a setting changes: with a copy each, 100,000 topics would take seconds
        to make and 100 MB to keep.
        """
        if self._of_topics is None:
            known = {**TOPIC, **self.topic_table}  # those that came later have their defaults
            self._of_topics = {name: self._of_topic(setting) for name, setting in known.items()}
        return self._of_topics

    def _of_topic(self, setting: Setting) -> Value:
        value = None if setting.broker_name is None else self.value(setting.broker_name)
        return setting.default if value is None else value

    def of_listener(self, listener: str, name: str, mechanism: str = "") -> Value:
        """The value of a setting for one listener and mechanism of SASL, if there is one; else for all."""
        prefix = f"listener.name.{listener.lower()}"
        for own in (f"{prefix}.{mechanism.lower()}.{name}", f"{prefix}.{name}"):
            if own in self._values:
                return self._values[own]
        return self.value(name)

    def is_given_at_start(self, name: str) -> bool:
        """Whether the broker began with a value of its own: not Kafka's, and not what a client has altered."""
        return name in self._own or name in self._static

    def names(self) -> Iterator[str]:
        """The names of all settings that DescribeConfigs lists: the documented ones, and others that are set."""
        hidden = BROKER_REMOVED_IN_4 if self.topic_table is TOPIC else ()
        for name, setting in BROKER.items():
            if name not in hidden and (not setting.internal or self._is_shown(name)):
                yield name
        yield from (name for name in {**self._static, **self._own} if name.startswith(LISTENER))

    def _is_shown(self, name: str) -> bool:
        """Whether a setting that Kafka does not document is listed: those that were given, as Kafka does."""
        return name in self._static

    def _default(self, name: str) -> str | None:
        setting = BROKER.get(name)
        if setting is None or setting.of_plugin:
            return None
        return self._defaults.get(name, render(setting.default))

    def _compute(self) -> None:
        values: dict[str, Value] = {name: setting.default for name, setting in BROKER.items()}
        for layer in (self._defaults, self._static, self._own, self._shared.dynamic, self._dynamic):
            is_dynamic = layer is self._shared.dynamic or layer is self._dynamic
            for name, text in layer.items():
                setting = lookup(name)
                if setting is not None and not (is_dynamic and setting.is_fixed):
                    values[name] = parse(setting, text)
        for name, others in FALLBACKS.items():
            if values[name] is None:
                values[name] = _first_set(values, others)
        self._values = values
        self._of_topics = None
        self.generation += 1


class _Shared(NamedTuple):
    """What all brokers' settings have in common: the dynamic cluster defaults."""

    dynamic: dict[str, str]
    members: list[Settings]

    def compute(self) -> None:
        for member in self.members:
            member._compute()


def lookup(name: str) -> Setting | None:
    """The declaration of a broker setting, or None. `listener.name.<listener>.<setting>` is that of the setting."""
    return BROKER.get(name) or (_of_listener(name) if name.startswith(LISTENER) else None)


def is_hidden(name: str) -> bool:
    """Whether DescribeConfigs shows no value: a secret, or a setting that Kafka itself does not define (DC-4)."""
    setting = BROKER.get(name)
    return is_secret(name) if setting is None else setting.of_plugin or setting.type == PASSWORD


def is_secret(name: str) -> bool:
    """Whether the value of a broker setting is never shown: a password, or a name we know nothing of (DC-4)."""
    setting = lookup(name)
    return setting is None or setting.type == PASSWORD


def _static_text(name: str, value: object) -> str:
    """The text of a value that a broker starts with. Raises SettingError."""
    try:
        if value is None:
            raise SettingError(f"{name} has no value")
        text = to_text(value)
        parse(find(name), text)
    except SettingError as error:
        has_secret = name in BROKER and is_secret(name)  # the error for an unknown name shows its value
        error.value = {name: "(password)" if has_secret else value}
        raise
    return trimmed(text)


def find(name: str) -> Setting:
    """The declaration of a broker setting. Raises SettingError naming the nearest."""
    setting = lookup(name)
    if setting is not None:
        return setting
    topic = TOPIC.get(name)
    if topic is not None:
        hint = f"; the broker's default for topics is {topic.broker_name!r}" if topic.broker_name else ""
        raise SettingError(f"{name!r} is a topic setting{hint}")
    raise SettingError(f"there is no setting {name!r}{_nearest(name, BROKER)}")


def find_topic(name: str, table: Mapping[str, Setting] = TOPIC) -> Setting:
    """The declaration of a topic setting. Raises SettingError naming the nearest."""
    setting = table.get(name)
    if setting is None:
        raise SettingError(f"there is no topic setting {name!r}{_nearest(name, table)}")
    return setting


def find_group(name: str) -> Setting:
    """The declaration of a setting of single groups. Raises SettingError naming the nearest."""
    setting = GROUP.get(name)
    if setting is None:
        raise SettingError(f"there is no group setting {name!r}{_nearest(name, GROUP)}")
    return setting


def _base_of_listener(name: str) -> list[str]:
    """The setting of all listeners that `listener.name.<listener>.<setting>` is one of, if it is one."""
    base = name.split(".", 3)[-1]
    return [base] if name.startswith(LISTENER) and base in BROKER else []


def _of_listener(name: str) -> Setting | None:
    """`listener.name.<listener>.[<mechanism>.]<setting>` is the setting for one listener."""
    words = name.split(".")[3:]
    for start in (0, 1):
        base = BROKER.get(".".join(words[start:]))
        if base is not None:
            return base._replace(name=name)
    return None


def _nearest(name: str, names: Mapping[str, object]) -> str:
    close = spelt_alike(name, names, most=1)
    return f"; {close}" if close else ""


def _wrong(name: str, value: Value, wanted: str) -> SettingError:
    return SettingError(f"{name} is {value!r}, not {wanted}")


def _first_set(values: Mapping[str, Value], names: tuple[tuple[str, int], ...]) -> Value:
    for name, factor in names:
        value = values[name]
        if isinstance(value, int):
            return value * factor
        if value is not None:
            return value
    return None
