"""The settings in force for one topic: its own values, then the broker's, then the defaults."""

from collections.abc import Mapping

from fakebroker.broker.core.logs.config import LogConfig
from fakebroker.broker.settings import Reader, SettingError, Settings, Source, Synonym, find_topic
from fakebroker.broker.settings.declare import Setting, Value, parse, render
from fakebroker.protocol.errors import ErrorCode, KafkaError


class TopicConfig(Reader):
    """Typed getters as Settings has them, under the names of topic settings."""

    __slots__ = ("_generation", "_log", "_settings", "own")
    _log: LogConfig | None

    def __init__(self, settings: Settings, own: Mapping[str, str] | None = None) -> None:
        self._settings = settings
        self.own: dict[str, str] = {}
        self.replace(own or {})

    def value(self, name: str) -> Value:
        """The value in force now; broker settings altered at run time count at once (IA-10)."""
        if self._generation != self._settings.generation:
            self._compute(self._of_itself())
        return super().value(name)

    @property
    def log(self) -> LogConfig:
        """The settings in force that the topic's logs live by."""
        if self._generation != self._settings.generation:
            self._compute(self._of_itself())
        if self._log is None:
            self._log = LogConfig.read(self._values.get)
        return self._log

    def replace(self, own: Mapping[str, str]) -> None:
        """Put these in the place of the topic's own values. They must have passed `check_config`."""
        self.own = dict(own)
        self._compute({name: parse(self.table[name], text) for name, text in own.items()})

    @property
    def table(self) -> Mapping[str, Setting]:
        """The settings that a topic can have in this release."""
        return self._settings.topic_table

    def synonyms(self, name: str) -> list[Synonym]:
        """Every place that has a value for `name`, the one in force first (DC-3)."""
        found = [Synonym(name, self.own[name], Source.TOPIC)] if name in self.own else []
        broker_name = self.table[name].broker_name
        return found if broker_name is None else found + self._settings.synonyms(broker_name)

    def source(self, name: str) -> int:
        """Where the value in force comes from (DC-2)."""
        synonyms = self.synonyms(name)
        return synonyms[0].source if synonyms else Source.DEFAULT

    def text(self, name: str) -> str:
        """The value in force as Kafka writes it."""
        return render(self.value(name)) or ""

    def _of_itself(self) -> dict[str, Value]:
        """Its own values, which altered settings of the broker do not change: to parse a long list takes 8 ms."""
        return {name: self._values[name] for name in self.own}

    def _compute(self, own: dict[str, Value]) -> None:
        self._generation = self._settings.generation
        self._log = None
        self._values = {**self._settings.of_topics(), **own} if own else self._settings.of_topics()


def check_config(settings: Settings, values: Mapping[str, str]) -> None:
    """Check the own values of a topic, each alone and together (NT-6). Raises KafkaError(INVALID_CONFIG)."""
    try:
        parsed = {name: parse(find_topic(name, settings.topic_table), text) for name, text in values.items()}
    except SettingError as error:
        raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from None
    if parsed.get("remote.storage.enable"):
        raise KafkaError(ErrorCode.INVALID_CONFIG, "remote.storage.enable: this broker has no tiered storage")
    config = TopicConfig(settings, values)
    low_ms, high_ms = config.get_int("min.compaction.lag.ms"), config.get_int("max.compaction.lag.ms")
    if low_ms > high_ms:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG, f"min.compaction.lag.ms {low_ms} is above max.compaction.lag.ms {high_ms}"
        )
