"""A history as a recording of what the reference answered: `fakebroker dialogue play` plays it against any broker."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from fakebroker.scenarios.comparison.fields import id_kind
from fakebroker.testing.exchanges.kinds import SCHEMA_VERSION
from fakebroker.testing.exchanges.writing import line_of
from tools.differential.pair import Exchange

Json = Any


def recording(name: str, about: str, broker: str, topics: Sequence[str], exchanges: Sequence[Exchange]) -> str:
    """The text of the file: ids that the reference made up are saved from its answers and named afterwards."""
    names: dict[Json, str] = {}
    head = {"kind": "dialogue", "schema_version": SCHEMA_VERSION, "name": name, "about": about, "broker": broker}
    ready = {"kind": "ready", "new_topics": {topic: {"partitions": 2} for topic in topics}, "transactional_id": ""}
    lines: list[Json] = [head, ready]
    for number, exchange in enumerate(exchanges, 1):
        asked = exchange.asked
        request = _named(asked.request, names)
        saved = {}
        for path, key, value in _leaves(exchange.answer):
            if (
                id_kind(key)
                and value not in names
                and not _is_none(value)
                and json.dumps(value) not in json.dumps(asked.request)
            ):
                names[value] = f"$id{len(names) + 1}"
                saved[names[value][1:]] = path
        sent = {"kind": "request", "id": number, "connection": asked.connection}
        lines.append({**sent, "api": asked.api, "version": asked.version, "message": request, "save": saved})
        if exchange.is_closed:
            lines.append({"kind": "closed", "id": number})
        elif exchange.answer is not None:
            answer = _named(exchange.answer, names)
            lines.append({"kind": "answer", "id": number, "message": answer, "waited_ms": exchange.waited_ms})
    return b"".join(map(line_of, lines)).decode()


def _named(value: Json, names: dict[Json, str]) -> Json:
    if isinstance(value, dict):
        return {key: _named(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [_named(each, names) for each in value]
    return names.get(value, value) if isinstance(value, (str, int)) and not isinstance(value, bool) else value


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


def _is_none(value: Json) -> bool:
    return value in ("", -1, 0) or (isinstance(value, str) and set(value) <= set("0-A"))
