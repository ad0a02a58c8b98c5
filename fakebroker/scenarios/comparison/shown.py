"""Ids, epochs and times of one run as names, so that two runs of the same story read the same."""

import re
from typing import Any

from fakebroker.protocol.records.record_content import ReadRecord, bytes_of, records_of
from fakebroker.protocol.schema.jsonable import bytes_to_json
from fakebroker.scenarios.comparison import fields
from fakebroker.scenarios.comparison.topic_scopes import TopicScopes

Json = Any

NEAR_MS = 400 * 24 * 3600 * 1000  # times of day this far from the story's are shown relative to its beginning
_RANDOM_END = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OF_IDS = frozenset("_.:/-")  # what the prefix of an id has beside letters and digits
_MS_OF = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1))


class Meaning:
    """Names for what a run makes up, in order of first appearance: "member-1", "topic-1", "producer-1", "+3s".

    Times of day are shown relative to `start_ms`, the first time that was given unless set here.
    """

    def __init__(self, start_ms: int | None = None) -> None:
        self._start_ms = start_ms
        self._scopes = TopicScopes()
        self._names: dict[tuple[str, Json], str] = {}
        self._counts: dict[str, int] = {}
        self._first_epochs: dict[tuple[Json, ...], int] = {}

    def shown(self, data: Json, now_ms: int) -> Json:
        """A copy of a message, or of other data, in which ids, epochs and times are names.

        Keys are Kafka's names of fields, or in snake_case. `now_ms` is the broker's time of day when it was sent.
        Records are shown as what they hold.
        """
        if self._start_ms is None:
            self._start_ms = now_ms
        return self._value("", data, (), now_ms)

    def text(self, text: str) -> str:
        """`text` with every known id in it, and every id made of a prefix and a random UUID, replaced by its name."""
        known = sorted(
            ((key, name) for (kind, key), name in self._names.items() if _is_telling(kind, key)), key=_longest
        )
        for key, name in known:
            text = text.replace(key, name)
        pieces, end = [], 0
        for found in _RANDOM_END.finditer(text):
            start = _start_of_id(text, end, found.start())
            pieces += [text[end:start], self.name("member", text[start : found.end()])]
            end = found.end()
        return "".join([*pieces, text[end:]])

    def name(self, kind: str, value: Json) -> Json:
        """The name of an id of some kind ("member", "topic", "producer", ...), given now if it has none."""
        if value is None or (value in fields.NO_ID and not (kind == "producer" and value == 0)):
            return value
        if kind == "member" and fields.SCRIPTED_MEMBER_ID.fullmatch(value):
            return value
        if (kind, value) not in self._names:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._names[kind, value] = f"{kind}-{self._counts[kind]}"
        return self._names[kind, value]

    def time(self, time_ms: int, now_ms: int) -> int | str:
        """A time of day relative to the story's beginning: "+3s", "-7d"; unchanged when it is far from the story."""
        start_ms = now_ms if self._start_ms is None else self._start_ms
        if time_ms <= 0 or not min(start_ms, now_ms) - NEAR_MS <= time_ms <= max(start_ms, now_ms) + NEAR_MS:
            return time_ms
        return relative(time_ms - start_ms)

    def _value(self, key: str, value: Json, where: tuple[Json, ...], now_ms: int) -> Json:
        if isinstance(value, dict):
            return self._records(value, where, now_ms) if key == "Records" else self._struct(value, where, now_ms)
        if isinstance(value, list):
            return [self._value(key, each, where, now_ms) for each in value]
        kind, entity = fields.id_kind(key), fields.entity_of(key)
        if kind is not None:
            return self.name(kind, value)
        if entity == "leaderEpoch" and type(value) is int:
            return self._epoch(("partition", *where), value)
        if entity == "timestamp" and type(value) is int:
            return self.time(value, now_ms)
        if entity in ("host", "port"):
            return self.name(key.lower(), value)
        return self.text(value) if isinstance(value, str) and "-" in value else value

    def _struct(self, data: dict[str, Json], where: tuple[Json, ...], now_ms: int) -> Json:
        inside = self._scopes.inside(data, where)
        return {self._key(key): self._value(camel(key), value, inside, now_ms) for key, value in data.items()}

    def _key(self, key: str) -> str:
        return self.text(key) if "-" in key else key

    def _epoch(self, owner: tuple[Json, ...], value: int) -> int:
        if value < 0:
            return value
        return value - self._first_epochs.setdefault(owner, value)

    def _records(self, value: dict[str, Json], where: tuple[Json, ...], now_ms: int) -> Json:
        data = bytes_of(value)
        if data is None:
            return self._struct(value, where, now_ms)
        return [self._record(record, now_ms) for record in records_of(data)]

    def _record(self, record: ReadRecord, now_ms: int) -> Json:
        shown: dict[str, Json] = {
            "offset": record.offset,
            "key": bytes_to_json(record.key),
            "value": bytes_to_json(record.value),
        }
        if record.timestamp_ms != -1:
            shown["timestamp"] = self.time(record.timestamp_ms, now_ms)
        if record.headers:
            shown["headers"] = [[bytes_to_json(name), bytes_to_json(value)] for name, value in record.headers]
        if record.producer_id != fields.NO_PRODUCER:
            shown["producer"] = self.name("producer", record.producer_id)
            shown["sequence"] = record.sequence
        if record.is_control:
            shown["control"] = True
        return shown


def camel(key: str) -> str:
    """Kafka's spelling of a field in snake_case; other names as they are."""
    return "".join(word[:1].upper() + word[1:] for word in key.split("_")) if key.islower() else key


def relative(ms: int) -> str:
    """A time relative to another as people write it: "+0ms", "+1m30s", "-7d"."""
    parts, left = "", abs(ms)
    for unit, unit_ms in _MS_OF:
        if left >= unit_ms:
            parts += f"{left // unit_ms}{unit}"
            left %= unit_ms
    return ("-" if ms < 0 else "+") + (parts or "0ms")


def _is_telling(kind: str, key: Json) -> bool:
    """Whether an id can be recognized inside a text: short ones and addresses would be found by accident."""
    return isinstance(key, str) and len(key) >= 16 and kind not in ("host", "port")


def _longest(known: tuple[str, str]) -> tuple[int, str]:
    return -len(known[0]), known[0]


def _start_of_id(text: str, earliest: int, end: int) -> int:
    """Where the prefix begins that ends at `end`: as far to the left as there is what a prefix may have.

    Not a regular expression: one that begins with a repetition looks to the end of a word from each of its characters.
    """
    start = end
    while start > earliest and (text[start - 1].isalnum() or text[start - 1] in _OF_IDS):
        start -= 1
    return start
