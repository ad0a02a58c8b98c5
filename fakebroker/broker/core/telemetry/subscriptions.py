"""Which metrics of a client somebody wants, by the client metrics resources that match it (KIP-714, TE-2, TE-6)."""

from collections.abc import Generator, Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from fakebroker.broker.core.re2.pattern import InvalidPattern, Pattern, compile_pattern
from fakebroker.broker.core.re2.program import MAX_STATES
from fakebroker.broker.core.re2.syntax import Fault
from fakebroker.broker.settings.declare import parse
from fakebroker.broker.settings.table import CLIENT_METRICS
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.records.batch import crc32c

DEFAULT_INTERVAL_MS = 300_000
EVERYTHING = "*"
STATES_PER_STEP = 5_000  # of the patterns' machines that one step looks at
STATES_PER_RESOURCE = 50  # what the configs of one cost, pattern and metrics aside
CHARACTERS_PER_STATE = 16  # of a list of metrics, which may have 32 KB


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


def wanted_of(
    resources: Iterable[Mapping[str, str]], identity: ClientIdentity, pace: Pace
) -> Generator[None, None, Wanted]:
    """What all matching resources together want: all of their metrics, at the shortest interval.

    In steps of `STATES_PER_STEP`: there may be many resources, and a client id of 32 KB is matched with patterns of
    thousands of states.
    """
    metrics: dict[str, None] = {}
    interval_ms = DEFAULT_INTERVAL_MS
    for own in resources:
        if pace.is_over(STATES_PER_RESOURCE + len(own.get("metrics", "")) // CHARACTERS_PER_STATE):
            yield
        if (yield from is_match(_list(own, "match"), identity, pace)):
            metrics.update(dict.fromkeys(_list(own, "metrics")))
            interval_ms = min(interval_ms, int(own.get("interval.ms", DEFAULT_INTERVAL_MS)))
    return Wanted((EVERYTHING,) if EVERYTHING in metrics else tuple(metrics), interval_ms)


def is_match(selectors: tuple[str, ...], identity: ClientIdentity, pace: Pace) -> Generator[None, None, bool]:
    """Whether each selector's pattern matches the whole of what it looks at; no selectors match every client."""
    names = identity._asdict()
    for selector in selectors:
        name, _, text = selector.partition("=")
        pattern = _compiled(text.strip())
        if pace.is_over(pattern.states_count):  # what it takes to compile it
            yield
        if not (yield from pattern.fullmatch(names[name.strip()], pace)):
            return False
    return True


def check_selectors(selectors: tuple[str, ...]) -> None:
    """Raises InvalidPattern for a pattern that cannot be read, and for patterns that are too large together.

    MOCK: patterns are read as RE2 reads them, which takes the same time for any of them; Kafka takes Java's, which have
    lookaheads and references to groups besides. All patterns of a resource may have as many states as RE2 gives one.
    """
    states = 0
    for selector in selectors:
        states += _compiled(selector.partition("=")[2].strip()).states_count
        if states > MAX_STATES:
            raise InvalidPattern(Fault.TOO_LARGE)


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
