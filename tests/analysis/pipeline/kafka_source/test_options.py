"""Options by the names of Spark's Kafka source: what they mean, and what is said of wrong ones."""

import pytest

from fakebroker.analysis.pipeline.kafka_source.options import Position, Subscription, read_options
from fakebroker.analysis.pipeline.source_options import OptionError
from fakebroker.client.cluster.cluster_client import EARLIEST, LATEST, READ_COMMITTED
from fakebroker.protocol.records.offsets_topic import TopicPartition

GIVEN = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "orders"}
FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


def test_defaults_are_those_of_sparks_source() -> None:
    """A batch reads everything, a stream what comes from now on; data loss is an error."""
    batch, stream = read_options(GIVEN, is_stream=False), read_options(GIVEN, is_stream=True)

    assert (batch.starting.everywhere, batch.ending.everywhere) == (EARLIEST, LATEST)
    assert stream.starting.everywhere == LATEST
    assert batch.subscription == Subscription(topics=("orders",))
    assert batch.fails_on_data_loss
    assert not batch.includes_headers
    assert (batch.offset_retries, batch.offset_retry_pause_ms, batch.max_trigger_delay_ms) == (3, 1_000, 900_000)


@pytest.mark.parametrize(
    ("name", "value", "field", "expected"),
    [
        ("SUBSCRIBE", " a , b,a", "subscription", Subscription(topics=("a", "b"))),
        ("startingOffsets", "Latest", "starting", Position(LATEST, option="startingOffsets")),
        (
            "startingOffsets",
            '{"orders": {"0": 23, "1": -2}}',
            "starting",
            Position(offsets={FIRST: 23, SECOND: -2}, option="startingOffsets"),
        ),
        ("startingTimestamp", "1700000000000", "starting", Position(time_ms=1700000000000, option="startingTimestamp")),
        (
            "startingOffsetsByTimestamp",
            '{"orders": {"0": 5}}',
            "starting",
            Position(times_ms={FIRST: 5}, option="startingOffsetsByTimestamp"),
        ),
        ("startingOffsetsByTimestampStrategy", "latest", "uses_latest_without_match", True),
        ("failondataloss", "FALSE", "fails_on_data_loss", False),
        ("includeHeaders", "true", "includes_headers", True),
        ("maxOffsetsPerTrigger", "10", "max_offsets_per_trigger", 10),
        ("maxTriggerDelay", "2 min", "max_trigger_delay_ms", 120_000),
        ("minPartitions", "7", "min_partitions", 7),
        ("kafka.isolation.level", "read_committed", "isolation", READ_COMMITTED),
        ("fetchOffset.numRetries", "0", "offset_retries", 0),
        ("kafka.security.protocol", "plaintext", "client_id", "fakebroker-spark"),
        ("checkpointLocation", "/tmp/x", "client_id", "fakebroker-spark"),
    ],
)
@pytest.mark.filterwarnings("ignore:the options? .* not used by fakebroker")
def test_an_option_means_what_it_means_for_spark(name: str, value: str, field: str, expected: object) -> None:
    """Names in any case, values as Spark writes them."""
    given = {key: one for key, one in GIVEN.items() if key.lower() != name.lower()}
    assert getattr(read_options({**given, name: value}, is_stream=True), field) == expected


def test_partitions_are_assigned_or_matched() -> None:
    """`assign` names partitions, `subscribePattern` is a regular expression."""
    servers = {"kafka.bootstrap.servers": "localhost:9092"}
    assigned = read_options({**servers, "assign": '{"orders": [1, 0]}'}, is_stream=False)
    matched = read_options({**servers, "subscribePattern": "ord.*"}, is_stream=False)

    assert assigned.subscription == Subscription(assigned=(SECOND, FIRST))
    assert matched.subscription == Subscription(pattern="ord.*")


def test_a_single_time_goes_before_times_and_these_before_offsets() -> None:
    """The order in which Spark looks at them."""
    given = {**GIVEN, "endingOffsets": "latest", "endingOffsetsByTimestamp": '{"orders": {"0": 5}}'}

    assert read_options(given, is_stream=False).ending.times_ms == {FIRST: 5}
    assert read_options({**given, "endingTimestamp": "7"}, is_stream=False).ending.time_ms == 7


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"subscribes": "orders"}, "there is no option 'subscribes'; did you mean 'subscribe'"),
        ({"kafka.bootstrap.servers": ""}, "kafka.bootstrap.servers is missing"),
        ({"subscribe": None}, "one of the options subscribe, subscribePattern and assign must be given"),
        ({"assign": '{"a": [0]}'}, "only one of the options subscribe, assign may be given"),
        ({"subscribe": " , "}, "which has no topic"),
        ({"subscribe": None, "assign": '{"a": 0}'}, "assign is '{\"a\": 0}'; it must be as in"),
        ({"startingOffsets": "erliest"}, "startingOffsets is 'erliest'; it must be as in earliest, latest or"),
        ({"startingOffsets": '{"orders": {"0": -3}}'}, "startingOffsets is"),
        ({"startingOffsets": "latest"}, "the starting offset of a batch cannot be latest"),
        ({"startingOffsets": '{"orders": {"0": -1}}'}, "the starting offset of a batch cannot be latest"),
        ({"endingOffsets": "earliest"}, "the ending offset of a batch cannot be earliest"),
        ({"startingTimestamp": "yesterday"}, "startingTimestamp is 'yesterday'; it must be a whole number"),
        ({"failOnDataLoss": "maybe"}, "it must be true or false"),
        ({"minPartitions": "0"}, "it must be a whole number, 1 or more"),
        ({"maxTriggerDelay": "soon"}, "it must be a time such as 15m"),
        ({"minOffsetsPerTrigger": "5", "maxOffsetsPerTrigger": "4"}, "is higher than maxOffsetsPerTrigger"),
        ({"kafka.auto.offset.reset": "earliest"}, "not supported: use the option startingOffsets"),
        ({"kafka.security.protocol": "SASL_SSL"}, "the options kafka.*: sasl.mechanism is missing; it must be PLAIN"),
        ({"kafka.sasl.mechanisn": "PLAIN"}, "sasl.mechanisn is not supported; did you mean 'sasl.mechanism'"),
    ],
)
def test_a_wrong_option_is_reported_with_what_is_right(changes: dict[str, str | None], said: str) -> None:
    """The name, the value, and what it must be or which name is nearest."""
    given = {key: value for key, value in {**GIVEN, **changes}.items() if value is not None}

    with pytest.raises(OptionError) as raised:
        read_options(given, is_stream=False)
    assert said in str(raised.value)


def test_a_stream_has_no_end() -> None:
    """Ending offsets are refused for streams."""
    with pytest.raises(OptionError, match="endingOffsets cannot be used with streams"):
        read_options({**GIVEN, "endingOffsets": "latest"}, is_stream=True)


def test_settings_of_a_java_client_are_passed_over_with_one_warning() -> None:
    """They change nothing that a reader would see; which they are is said once."""
    given = {**GIVEN, "kafka.max.poll.records": "10", "kafka.group.id": "g"}

    with pytest.warns(
        UserWarning, match=r"the options kafka.group.id, kafka.max.poll.records are not used by fakebroker$"
    ) as warned:
        read_options(given, is_stream=False)
    assert len(warned) == 1
