"""A history as a dialogue: what was asked, and what the reference answered.

`fakebroker dialogue play` plays it against any broker, and `fakebroker conformance --recordings` judges by it. Ids that
the reference made up are saved from its answers and named afterwards, and the prefix of the names is the run's tag.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fakebroker.scenarios.comparison.fields import NO_ID, id_kind
from fakebroker.scenarios.dialogue.batches import read_batches
from fakebroker.testing.exchanges.kinds import SCHEMA_VERSION
from fakebroker.testing.exchanges.writing import line_of
from tools.differential.pair import Exchange, History
from tools.differential.topic import Topic

Json = Any
_BATCH_IDS = ("pid",)  # fields of batches that are ids


class Recording:
    """Writes one history. `prefix` is what its names begin with."""

    def __init__(self, prefix: str, topics: Sequence[Topic]) -> None:
        self._prefix = prefix
        self._names: dict[Json, str] = {topic.topic_id: f"$id:{topic.name}" for topic in topics if topic.topic_id}
        self._numbers: dict[int, int] = {}  # of requests, by the identity of their exchange

    def lines(self, history: History) -> Iterator[Json]:
        """The lines of all events."""
        for kind, what in history.events:
            match kind:
                case "request":
                    yield self._request(what)
                case "answer":
                    yield self._answer(what)
                case "wait":
                    yield {"kind": "wait", "for_ms": what}
                case "close":
                    yield {"kind": "close", "connection": what}
                case "restart":
                    for action in (what.action, "restart"):
                        yield {"kind": "control_node", "action": action, "on": "a"}

    def tagged(self, value: Json) -> Json:
        """A value with "~" where a text has the prefix."""
        if isinstance(value, dict):
            return {self.tagged(key): self.tagged(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.tagged(each) for each in value]
        return value.replace(self._prefix, "d~") if isinstance(value, str) else value

    def _request(self, exchange: Exchange) -> Json:
        asked = exchange.asked
        number = self._numbers[id(exchange)] = len(self._numbers) + 1
        line = {"kind": "request", "id": number, "connection": asked.connection, "api": asked.api}
        line["version"] = asked.version
        if asked.frame is not None:
            return {**line, "hex": asked.frame.hex()}
        line["message"] = self._named("", asked.request)
        if saved := dict(self._saved(exchange)):
            line["save"] = saved
        if _has_records(exchange.answer):
            line["reads_records"] = True
        return line

    def _saved(self, exchange: Exchange) -> Iterator[tuple[str, str]]:
        """Ids that appear in the answer for the first time: a name, and the path to it."""
        asked = json.dumps(exchange.asked.request)
        for path, key, value in _leaves(exchange.answer):
            if id_kind(key) and value not in self._names and value not in NO_ID and json.dumps(value) not in asked:
                self._names[value] = f"$id{len(self._names) + 1}"
                yield self._names[value][1:], path

    def _answer(self, exchange: Exchange) -> Json:
        number = self._numbers[id(exchange)]
        if exchange.is_closed:
            return {"kind": "closed", "id": number}
        if exchange.answer is None:
            return {"kind": "unanswered", "id": number, "for_ms": exchange.waited_ms}
        answer = self._named("", _read(exchange.answer))
        return {"kind": "answer", "id": number, "message": answer, "waited_ms": exchange.waited_ms, "is_untimed": True}

    def _named(self, key: str, value: Json) -> Json:
        if isinstance(value, dict):
            return {name: self._named(name, each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._named(key, each) for each in value]
        if (id_kind(key) or key in _BATCH_IDS) and value in self._names:
            return self._names[value]
        return value


def recording(
    head: Mapping[str, Json], prefix: str, topics: Sequence[Topic], new_topic: Mapping[str, Json], history: History
) -> bytes:
    """The content of the file. `head` is its first line but for the kind, `new_topic` how topics are made."""
    ready = {
        "kind": "ready",
        "new_topics": {topic.name: dict(new_topic) for topic in topics},
        "names_topic_ids": any(topic.topic_id for topic in topics),
        "transactional_id": "",
        "group": prefix,
    }
    written = Recording(prefix, topics)
    first = {"kind": "dialogue", "schema_version": SCHEMA_VERSION, **head}
    beginning: list[Json] = [first, ready]
    if any(kind == "restart" for kind, _ in history.events):
        beginning = [{**first, "nodes": 1}, ready, {"kind": "name_nodes", "group": prefix}]
    lines = [*beginning, *written.lines(history)]
    return b"".join(line_of(written.tagged(line)) for line in lines)


def _read(value: Json, key: str = "") -> Json:
    """An answer with its records as batches."""
    if key == "Records" and isinstance(value, dict):
        return read_batches(bytes.fromhex(value["hex"]), time.time_ns() // 1_000_000)
    if isinstance(value, dict):
        return {name: _read(each, name) for name, each in value.items()}
    return [_read(each, key) for each in value] if isinstance(value, list) else value


def _has_records(value: Json) -> bool:
    if isinstance(value, dict):
        return "Records" in value or any(map(_has_records, value.values()))
    return isinstance(value, list) and any(map(_has_records, value))


def _leaves(value: Json, path: str = "", key: str = "") -> Iterator[tuple[str, str, Json]]:
    """Path, field and value of every plain value."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _leaves(each, f"{path}.{name}".lstrip("."), name)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _leaves(each, f"{path}.{index}", key)
    elif isinstance(value, (str, int)) and not isinstance(value, bool):
        yield path, key, value
