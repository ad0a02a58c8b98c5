"""Ids, epochs and times by meaning, until `fakebroker/meaning.py` is there; with its interface."""

import re
from typing import Any

Json = Any
_MEMBER = re.compile(r"[\w.~-]*?-?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_KINDS = {"topic": "topic", "cluster": "cluster", "producer": "producer"}


class Meaning:
    """Names for ids in order of first appearance."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def shown(self, api: str, version: int, message: Json, now_ms: int) -> Json:
        """The message with names for ids."""
        if isinstance(message, dict):
            return {key: self._field(key, each, now_ms) for key, each in message.items()}
        if isinstance(message, list):
            return [self.shown(api, version, each, now_ms) for each in message]
        return self.text(message) if isinstance(message, str) else message

    def text(self, text: str) -> str:
        """The text with names for the ids in it."""
        return _MEMBER.sub(lambda found: self._name("member", found[0]), text)

    def _field(self, key: str, value: Json, now_ms: int) -> Json:
        if isinstance(value, str) and value and key in ("TopicId", "ClusterId", "topicId", "clusterId"):
            return self._name(key[:-2].lower(), value)
        if isinstance(value, int) and "imestamp" in key and abs(value - now_ms) < 10 * 365 * 86_400_000:
            return f"{(value - now_ms) / 1000:+g}s"
        return self.shown("", 0, value, now_ms)

    def _name(self, kind: str, value: str) -> str:
        if value not in self._names:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._names[value] = f"{kind}-{self._counts[kind]}"
        return self._names[value]
