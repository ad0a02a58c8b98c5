"""The options of a read: those of Spark's Kafka source, by its names, read and checked."""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from fakebroker.analysis.pipeline.source_options import OptionError, Options, wrong
from fakebroker.client.cluster.asking import TIMEOUT_MS
from fakebroker.client.cluster.cluster_client import (
    EARLIEST,
    FETCH_BYTES,
    LATEST,
    READ_COMMITTED,
    READ_UNCOMMITTED,
)
from fakebroker.client.security import ClientConfig
from fakebroker.protocol.durations import duration_ms
from fakebroker.protocol.records.offsets_topic import TopicPartition


class Subscription(NamedTuple):
    """Which partitions to read: all of some topics, of those that match a pattern, or some by name."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    assigned: tuple[TopicPartition, ...] = ()


class Position(NamedTuple):
    """A place in every partition: LATEST or EARLIEST, one time, or an offset or time of each.

    `text` is how the user said it, for errors.
    """

    everywhere: int | None = None
    time_ms: int | None = None
    offsets: Mapping[TopicPartition, int] | None = None
    times_ms: Mapping[TopicPartition, int] | None = None
    option: str = ""


class ReadOptions(NamedTuple):
    """The options of a read."""

    kafka: ClientConfig
    subscription: Subscription
    starting: Position
    ending: Position
    uses_latest_without_match: bool
    fails_on_data_loss: bool
    includes_headers: bool
    max_offsets_per_trigger: int | None
    min_offsets_per_trigger: int | None
    max_trigger_delay_ms: int
    min_partitions: int | None
    max_records_per_partition: int | None
    isolation: int
    offset_retries: int
    offset_retry_pause_ms: int
    fetch_bytes: int
    timeout_ms: int
    client_id: str


_SUBSCRIPTIONS: Final = ("subscribe", "subscribePattern", "assign")
READ_OPTIONS: Final = (
    *_SUBSCRIPTIONS, "startingOffsets", "startingOffsetsByTimestamp", "startingTimestamp", "endingOffsets",
    "endingOffsetsByTimestamp", "endingTimestamp", "startingOffsetsByTimestampStrategy", "failOnDataLoss",
    "includeHeaders", "maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", "minPartitions",
    "maxRecordsPerPartition", "fetchOffset.numRetries", "fetchOffset.retryIntervalMs", "kafka.bootstrap.servers",
    "kafka.isolation.level", "kafka.max.partition.fetch.bytes", "kafka.request.timeout.ms", "kafka.client.id",
    "kafka.security.protocol",
)  # fmt: skip


def read_options(given: Mapping[str, str], *, is_stream: bool) -> ReadOptions:
    """The options of a batch or of a stream. Raises OptionError."""
    options = Options(given, READ_OPTIONS)
    starting, ending = _position(options, "starting"), _position(options, "ending")
    _check_positions(starting, ending, is_stream)
    found = ReadOptions(
        kafka=options.kafka(),
        subscription=_subscription(options),
        starting=starting or Position(LATEST if is_stream else EARLIEST),
        ending=ending or Position(LATEST),
        uses_latest_without_match=options.choice(
            "startingOffsetsByTimestampStrategy", {"error": False, "latest": True}, False
        ),
        fails_on_data_loss=options.flag("failOnDataLoss", True),
        includes_headers=options.flag("includeHeaders", False),
        max_offsets_per_trigger=options.maybe_number("maxOffsetsPerTrigger"),
        min_offsets_per_trigger=options.maybe_number("minOffsetsPerTrigger"),
        max_trigger_delay_ms=options.read("maxTriggerDelay", _duration_ms, "a time such as 15m, 30s or 500ms", 900_000),
        min_partitions=options.maybe_number("minPartitions"),
        max_records_per_partition=options.maybe_number("maxRecordsPerPartition"),
        isolation=options.choice(
            "kafka.isolation.level",
            {"read_uncommitted": READ_UNCOMMITTED, "read_committed": READ_COMMITTED},
            READ_UNCOMMITTED,
        ),
        offset_retries=options.number("fetchOffset.numRetries", 3),
        offset_retry_pause_ms=options.number("fetchOffset.retryIntervalMs", 1_000),
        fetch_bytes=options.number("kafka.max.partition.fetch.bytes", FETCH_BYTES, 1),
        timeout_ms=options.number("kafka.request.timeout.ms", TIMEOUT_MS, 1),
        client_id=options.text("kafka.client.id") or "fakebroker-spark",
    )
    most, least = found.max_offsets_per_trigger, found.min_offsets_per_trigger
    if most is not None and least is not None and least > most:
        text = f"minOffsetsPerTrigger ({least}) is higher than maxOffsetsPerTrigger ({most})"
        raise wrong("minOffsetsPerTrigger", least, text)
    return found


def _subscription(options: Options) -> Subscription:
    given = [name for name in _SUBSCRIPTIONS if options.text(name) is not None]
    if len(given) != 1:
        what = f"only one of the options {', '.join(given)} may" if given else "one of the options subscribe,"
        text = f"{what} be given" if given else f"{what} subscribePattern and assign must be given"
        raise wrong(given[0] if given else "subscribe", None, text)
    name, value = given[0], (options.text(given[0]) or "").strip()
    if not value:
        raise wrong(name, value, f"the option {name} is empty")
    if name == "subscribePattern":
        return Subscription(pattern=value)
    if name == "subscribe":
        topics = tuple(dict.fromkeys(each.strip() for each in value.split(",") if each.strip()))
        if not topics:
            raise wrong(name, value, f"the option {name} is {value!r}, which has no topic")
        return Subscription(topics=topics)
    return Subscription(assigned=_assigned(value))


def _assigned(value: str) -> tuple[TopicPartition, ...]:
    found = _json("assign", value, '{"orders": [0, 1]}')
    if not all(isinstance(each, list) and all(type(index) is int for index in each) for each in found.values()):
        raise _not_json("assign", value, '{"orders": [0, 1]}')
    partitions = tuple(TopicPartition(topic, index) for topic, indexes in found.items() for index in indexes)
    if not partitions:
        raise wrong("assign", value, f"the option assign is {value!r}, which has no partition")
    return partitions


def _position(options: Options, which: str) -> Position | None:
    """A single time goes before times, and these before offsets, as in Spark's source; None: nothing is said."""
    name = f"{which}Timestamp"
    if options.text(name) is not None:
        return Position(time_ms=options.number(name, 0), option=name)
    name = f"{which}OffsetsByTimestamp"
    if (value := options.text(name)) is not None:
        return Position(times_ms=partition_numbers(name, value, least=0), option=name)
    name = f"{which}Offsets"
    value = options.text(name)
    if value is None:
        return None
    if value.strip().lower() in ("earliest", "latest"):
        return Position(EARLIEST if value.strip().lower() == "earliest" else LATEST, option=name)
    return Position(offsets=partition_numbers(name, value, least=EARLIEST), option=name)


def _check_positions(starting: Position | None, ending: Position | None, is_stream: bool) -> None:
    if is_stream:
        if ending is not None:
            text = f"the option {ending.option} cannot be used with streams, which do not end"
            raise wrong(ending.option, None, text)
        return
    for position, never, text in (
        (starting, LATEST, "the starting offset of a batch cannot be latest"),
        (ending, EARLIEST, "the ending offset of a batch cannot be earliest"),
    ):
        if position is None:
            continue
        if position.everywhere == never or never in (position.offsets or {}).values():
            raise wrong(position.option, None, f"{text} (option {position.option})")


def partition_numbers(name: str, value: str, *, least: int) -> dict[TopicPartition, int]:
    """A number for each partition, from {"orders": {"0": 23, "1": -2}}. Raises OptionError."""
    example = '{"orders": {"0": 23, "1": 45}}'
    found = {}
    for topic, numbers in _json(name, value, f"earliest, latest or {example}").items():
        if not isinstance(numbers, dict):
            raise _not_json(name, value, example)
        for index, number in numbers.items():
            if not index.isascii() or not index.isdigit() or type(number) is not int or number < least:
                raise _not_json(name, value, example)
            found[TopicPartition(topic, int(index))] = number
    return found


def _json(name: str, value: str, example: str) -> dict[str, Any]:
    try:
        found = json.loads(value)
    except ValueError:
        raise _not_json(name, value, example) from None
    if not isinstance(found, dict):
        raise _not_json(name, value, example)
    return found


def _not_json(name: str, value: str, example: str) -> OptionError:
    return wrong(name, value, f"the option {name} is {value!r}; it must be as in {example}")


def _duration_ms(value: str) -> int:
    """A time with its unit, as Spark writes them: also "2 min". Raises ValueError."""
    compact = "".join(value.split())
    return duration_ms(f"{compact.removesuffix('min')}m" if compact.endswith("min") else compact)
