"""Encodings of every version of every message, made by an independent codec (tools/make_vectors.py)."""

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.registry import APIS

VECTORS = Path(__file__).resolve().parents[2] / "data" / "vectors"
MESSAGES: list[type[Message]] = [message for api in APIS.values() for message in (api.request, api.response)]


class Vector(NamedTuple):
    """One value: as data and as bytes."""

    message: str
    version: int
    case: str
    data: bytes
    json: dict[str, Any]


@cache
def vectors_of(file: str) -> tuple[Vector, ...]:
    """All vectors of an API (request and response) or of another message."""
    lines = gzip.decompress((VECTORS / f"{file}.jsonl.gz").read_bytes()).decode().splitlines()
    rows = [json.loads(line) for line in lines]
    return tuple(Vector(r["message"], r["version"], r["case"], bytes.fromhex(r["hex"]), r["json"]) for r in rows)


def vectors(message: type[Message]) -> Iterator[Vector]:
    """The vectors of one message, in all its versions."""
    name = message.kafka_name
    yield from (v for v in vectors_of(name.removesuffix("Request").removesuffix("Response")) if v.message == name)
