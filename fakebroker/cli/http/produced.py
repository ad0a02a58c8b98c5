"""What HTTP answers to records that were produced: an object, which can grow, where Python returns the offset."""

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from fakebroker.testing.handles.topic import TopicHandle


class ProducedRecords(NamedTuple):
    """Records that were appended: their partition, the offset of the first, how many, and the time of the first."""

    partition: int
    offset: int
    records: int
    timestamp_ms: int


def produced(
    topic: "TopicHandle", first_offset: int, values: tuple[Any, ...], given: dict[str, Any]
) -> ProducedRecords:
    """The answer for what `produce(*values, **given)` has appended."""
    partition = given.get("partition", 0)
    (first,) = topic.browse(partition, first_offset, 1).records
    return ProducedRecords(partition, first_offset, len(values), first.timestamp_ms)
