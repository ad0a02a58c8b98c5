"""Which metrics of a client somebody wants, by the client metrics resources that match it (KIP-714, TE-2, TE-6)."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from fakebroker.broker.core.re2.pattern import InvalidPattern, Pattern, compile_pattern
from fakebroker.broker.settings.declare import parse
from fakebroker.broker.settings.table import CLIENT_METRICS
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.records.batch import crc32c

DEFAULT_INTERVAL_MS = 300_000
EVERYTHING = "*"
_AT_ONCE = 1 << 62  # states that are looked at before a pause: texts to match are short


class ClientIdentity(NamedTuple):
    """What the selectors of a `match` look at, under their names."""

    client_instance_id: str
    client_id: str
    client_software_name: str
    client_software_version: str
    client_source_address: str
    client_source_port: str


class Wanted(NamedTuple):
    """What a client is asked for: prefixes of metrics, all if one is "*", and how often."""

    metrics: tuple[str, ...]
    interval_ms: int


def wanted_of(resources: Mapping[str, Mapping[str, str]], identity: ClientIdentity) -> Wanted:
    """What all matching resources together want: all of their metrics, at the shortest interval."""
    metrics: dict[str, None] = {}
    interval_ms = DEFAULT_INTERVAL_MS
    for own in resources.values():
        if is_match(_list(own, "match"), identity):
            metrics.update(dict.fromkeys(_list(own, "metrics")))
            interval_ms = min(interval_ms, int(own.get("interval.ms", DEFAULT_INTERVAL_MS)))
    return Wanted((EVERYTHING,) if EVERYTHING in metrics else tuple(metrics), interval_ms)


def is_match(selectors: tuple[str, ...], identity: ClientIdentity) -> bool:
    """Whether each selector's pattern matches the whole of what it looks at; no selectors match everybody."""
    names = identity._asdict()
    for selector in selectors:
        name, _, text = selector.partition("=")
        if not _matches(text.strip(), names[name.strip()]):
            return False
    return True


def check_selectors(selectors: tuple[str, ...]) -> None:
    """Raises InvalidPattern for a pattern that nobody can read.

    MOCK: patterns are read as RE2 reads them, which takes the same time for any of them; Kafka takes Java's, which have
    lookaheads and references to groups besides.
    """
    for selector in selectors:
        _compiled(selector.partition("=")[2].strip())


def subscription_id(wanted: Wanted, instance_id: bytes) -> int:
    """A number that is the same as long as a client is asked for the same (TE-5)."""
    text = f"[{', '.join(wanted.metrics)}]{wanted.interval_ms}"
    high, low = int.from_bytes(instance_id[:8], "big"), int.from_bytes(instance_id[8:], "big")
    mixed = high ^ low
    number = crc32c(text.encode()) ^ (mixed >> 32 ^ mixed) & 0xFFFFFFFF
    return number - (1 << 32) if number >= 1 << 31 else number


def _list(own: Mapping[str, str], name: str) -> tuple[str, ...]:
    value = parse(CLIENT_METRICS[name], own.get(name, ""))
    assert isinstance(value, tuple)
    return value


def _matches(pattern: str, text: str) -> bool:
    steps = _compiled(pattern).fullmatch(text, Pace(_AT_ONCE))
    try:
        while True:
            next(steps)
    except StopIteration as end:
        return bool(end.value)


@lru_cache(maxsize=100)
def _compiled(text: str) -> Pattern:
    return compile_pattern(text)


__all__ = [
    "ClientIdentity",
    "InvalidPattern",
    "Wanted",
    "check_selectors",
    "is_match",
    "subscription_id",
    "wanted_of",
]
