"""Requests at random that have the shape of their API and version, with fields that are good, stale, odd or hostile.

Unlike mutated frames they get past the decoder: what a field holds is chosen by its name, and ids and epochs that
values in answers are used again, so that a session, a group or a transaction goes on for a while.
"""

from collections import deque
from collections.abc import Sequence
from random import Random
from typing import Any

from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.message_set import build_message_set
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.schema.types import BOOL, BYTES, FLOAT64, RECORDS, STRING, UUID, ArrayOf, FieldSpec, Primitive

TOPICS = ("t", "u", "compacted", "made", "", "__consumer_offsets", "no such!", "..", "x" * 249, "x" * 250, "ä")
GROUPS = ("classic", "consumer", "share", "streams", "any", "", "ä")
USERS = ("alice", "User:alice", "", "User:*")
TEXTS = ("", "a", "range", "uniform", "consumer", "0", "-1", "x" * 300, "ä\U0001f600", "*", "Stable", "PLAIN")
CONFIGS = (
    "cleanup.policy",
    "retention.ms",
    "segment.bytes",
    "segment.ms",
    "max.message.bytes",
    "compression.type",
    "message.format.version",
    "message.timestamp.type",
    "min.insync.replicas",
    "share.auto.offset.reset",
    "consumer.session.timeout.ms",
    "streams.num.standby.replicas",
    "log.retention.ms",
    "num.partitions",
    "no.such.config",
    "",
)
VALUES = ("compact", "delete", "1", "0", "-1", "1048576", "9" * 20, "zstd", "0.9.0", "", "1e400", "earliest", "2", None)
INT_BITS = {"int8": 8, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32, "int64": 64}
CODECS = (0, 0, 0, 1, 2, 3, 4)
NOW_MS = 1_700_000_000_000
# Field names, by a part of them, and what numbers they usually hold; the first that fits counts.
NUMBERS: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("num_partitions", (-1, 1, 2, 3, 0, 100_000)),
    ("count", (1, 2, 4, 0, -1)),
    ("replication_factor", (-1, 1, 2, 3, 0, 9)),
    ("partition", (0, 0, 0, 1, 2, -1)),
    ("index", (0, 0, 0, 1, 2, -1)),
    ("resource_type", (2, 2, 4, 8, 16, 32, 0)),
    ("session_timeout_ms", (10_000, 6_000, 30_000, 1, -1)),
    ("timeout_ms", (1_000, 30_000, 0, -1)),
    ("max_wait_ms", (0, 0, 500, 10_000, -1)),
    ("timestamp", (-1, -2, -3, 0, NOW_MS, NOW_MS + 10**9)),
    ("acks", (-1, 0, 1, 2)),
    ("epoch", (0, 0, -1, 1, 2, -2, 5)),
    ("acknowledge_types", (0, 1, 2, 3, 4)),
    ("offset", (0, 0, 1, 5, -1, 100)),
    ("bytes", (1 << 20, 1, 0, 1 << 26)),
    ("broker", (1, 2, 3, 0, 9)),
    ("replica", (-1, 1, 2, 3)),
    ("key_type", (0, 1, 2)),
    ("level", (0, 1, 9)),
)
LEARNED = frozenset(
    (
        "member_id",
        "member_epoch",
        "generation_id",
        "generation_id_or_member_epoch",
        "topic_id",
        "producer_id",
        "producer_epoch",
        "session_id",
        "session_epoch",
        "share_session_epoch",
        "epoch",
        "leader_epoch",
        "base_offset",
        "hmac",
        "committed_offset",
        "first_offset",
        "last_offset",
        "group_instance_id",
    )
)
KEPT = 12
DEEPEST = 4


class HostileRequests:
    """Makes the fields of requests; `learn` takes in what answers contained."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self._known: dict[str, deque[Any]] = {}

    def fields(self, declaration: Any, version: int, depth: int = 0) -> dict[str, Any]:
        """Values for the fields that a version has; now and then one is left at its default."""
        specs = [spec for spec in declaration.fields if spec.versions.includes(version)]
        return {spec.name: self._value(spec, version, depth) for spec in specs if self.random.random() > 0.03}

    def learn(self, answer: Any, depth: int = 0) -> None:
        """Remember ids and epochs of an answer, to send them in later requests."""
        for spec in getattr(type(answer), "fields", ()):
            value = getattr(answer, spec.name, None)
            if isinstance(value, list):
                for each in value[:3]:
                    self.learn(each, depth + 1)
            elif spec.name in LEARNED and value not in (None, "", -1):
                self._known.setdefault(spec.name, deque(maxlen=KEPT)).append(value)
            elif depth < DEEPEST:
                self.learn(value, depth + 1)

    def learn_topic(self, topic_id: bytes) -> None:
        """Use this topic id in requests."""
        self._known.setdefault("topic_id", deque(maxlen=KEPT)).append(topic_id)

    def _value(self, spec: FieldSpec, version: int, depth: int) -> Any:
        random = self.random
        if spec.nullable.includes(version) and random.random() < 0.15:
            return None
        if isinstance(spec.type, ArrayOf):
            most = 3 if depth < 2 else 2
            length = random.choice((0, 1, 1, 1, 2, most))
            return [self._element(spec, spec.type.element, version, depth) for _ in range(length)]
        return self._element(spec, spec.type, version, depth)

    def _element(self, spec: FieldSpec, kind: Any, version: int, depth: int) -> Any:
        if isinstance(kind, Primitive):
            return self._primitive(spec.name, kind)
        values = self.fields(kind, version, depth + 1)
        if kind.is_row:
            return tuple(values.get(each.name, each.fresh_default()) for each in kind.fields)
        return kind(**values)

    def _primitive(self, name: str, kind: Primitive) -> Any:
        random = self.random
        known = self._known.get(name)
        if known and random.random() < 0.6:
            value = random.choice(known)
            if isinstance(value, type(kind.zero)) and kind is not BOOL:
                return self._near(value, kind) if isinstance(value, int) else value
        if kind is STRING:
            return self._text(name)
        if kind is UUID:
            return random.choice((bytes(16), random.randbytes(16)))
        if kind is RECORDS:
            return self._records()
        if kind is BYTES:
            return random.choice((b"", b"\0\1", b"\xff" * 20, b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff", b"\0alice\0secret"))
        if kind is BOOL:
            return random.random() < 0.5
        if kind is FLOAT64:
            return random.choice((0.0, 1.0, 1e9, -1.0, float("nan"), float("inf")))
        return self._number(name, kind)

    def _near(self, value: int, kind: Primitive) -> int:
        """A number that an answer contained, or one beside it."""
        low, high = bounds(kind)
        return max(low, min(high, value + self.random.choice((0, 0, 0, 0, 1, 1, -1))))

    def _number(self, name: str, kind: Primitive) -> int:
        low, high = bounds(kind)
        if self.random.random() < 0.1:
            return self.random.choice((low, high, low + 1, high - 1, -1 if low < 0 else 0))
        usual = next((values for part, values in NUMBERS if part in name), (0, 0, 1, 2, 3, -1))
        return max(low, min(high, self.random.choice(usual)))

    def _text(self, name: str) -> str:
        random = self.random
        if "topic" in name or name == "name":
            return random.choice((*TOPICS[:4] * 4, *TOPICS, *CONFIGS))
        if "group" in name and "instance" not in name:
            return random.choice((*GROUPS[:5] * 3, *GROUPS))
        if "config" in name:
            return random.choice(CONFIGS)
        if name == "value":
            return random.choice([each for each in VALUES if each is not None])
        if name in ("key", "coordinator_keys", "resource_name"):
            return random.choice((*GROUPS, *TOPICS[:3], "1", "2"))
        if "principal" in name or "user" in name:
            return random.choice(USERS)
        if name == "member_id":
            return random.choice(("m1", "m2", "c5f6a5a0-0000-4000-8000-000000000001", ""))
        return random.choice(TEXTS)

    def _records(self) -> bytes:
        """A batch, a message set or rubbish."""
        random = self.random
        times = (NOW_MS, NOW_MS + 1, -1, 0, 2**62)
        keys, values = (None, b"k", b"key"), (None, b"v", b"v" * 200)
        records = [
            Record(n, random.choice(times), random.choice(keys), random.choice(values), [])
            for n in range(random.choice((1, 1, 2, 5, 40)))
        ]
        if random.random() < 0.15:
            data = build_message_set(records, random.choice((0, 1)), codec=random.choice((0, 0, 1)))
        else:
            data = self._batch(records)
        match random.randrange(20):
            case 0:
                return data[: random.randrange(len(data))]
            case 1:
                return data + data
            case 2:
                changed = bytearray(data)
                changed[random.randrange(len(data))] = random.randrange(256)
                return bytes(changed)
            case _:
                return data

    def _batch(self, records: Sequence[Record]) -> bytes:
        random = self.random
        if random.random() < 0.5:
            return build_batch(records, codec=random.choice(CODECS))
        producer_id = random.choice(self._known.get("producer_id") or (0, 1, 2**40))
        return build_batch(
            records,
            codec=random.choice(CODECS),
            producer_id=producer_id,
            producer_epoch=random.choice((0, 0, 1, 5)),
            base_sequence=random.choice((0, 0, 1, 5, 2**31 - 1)),
            transactional=random.random() < 0.5,
        )


def bounds(kind: Primitive) -> tuple[int, int]:
    """The least and largest number of a kind."""
    bits = INT_BITS[kind.name]
    return (0, 2**bits - 1) if kind.name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
