"""The bytes of events, which the journal is bounded by."""

from collections.abc import Iterator, Sequence
from typing import Any, get_args, get_type_hints

import pytest

from fakebroker.broker.core.events import (
    CoordinatorRecords,
    GroupsLoaded,
    GroupStored,
    OffsetsDeleted,
    OffsetsExpired,
    Transition,
)
from fakebroker.broker.engine.event_bytes import event_bytes
from fakebroker.broker.engine.journal import Event, Journal
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.consumer_group_schema import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupTargetAssignmentMemberValue,
    TargetPartitions,
)
from fakebroker.protocol.records.group_records import GroupRecord
from fakebroker.protocol.records.offsets_topic import TopicPartition, stored_offset
from fakebroker.protocol.records.streams_group_schema import StreamsGroupTopologyValue, Subtopology
from tests.support.kept_memory import kept_bytes
from tests.support.work_counter import calls_of

LONG = "x" * 1_000
NOW = Instant(0, 0)
NAMES = tuple(f"topic-{n}" for n in range(100_000))


def group_stored(topics: Sequence[str]) -> GroupStored:
    return GroupStored("g", "written", 1, "consumer", "range", "m", 1, tuple(topics), 0)


def texts_of(event_type: Any) -> Iterator[str]:
    """The fields of an event that are a text, or may be one."""
    return (name for name, kind in get_type_hints(event_type).items() if kind is str or str in get_args(kind))


@pytest.mark.parametrize("event_type", get_args(Event))
def test_long_texts_count(event_type: Any) -> None:
    """Clients choose many of them, and some may have 32 KB: each field that may be a text counts."""
    names = list(texts_of(event_type))
    event = event_type(**{name: LONG if name in names else () for name in event_type._fields})
    shown = [name for name in names if event_type is not CoordinatorRecords]  # its one text is a word of ours
    assert event_bytes(event) >= len(shown) * len(LONG)


def rows(count: int) -> list[Any]:
    """Events with so many rows."""
    offsets = [stored_offset("t", n, 0, commit_ms=0, metadata="m" * 100) for n in range(count)]
    key = ConsumerGroupMemberMetadataKey(group_id="g", member_id="m")
    return [
        group_stored(["t"] * count),
        GroupsLoaded([group_stored(["t"])] * count),
        OffsetsDeleted("g", [TopicPartition("t", 0)] * count, ""),
        OffsetsExpired("g", "Empty", 0, None, offsets),  # type: ignore[arg-type]
        CoordinatorRecords("written", [GroupRecord(5, key, None)] * count),
    ]


@pytest.mark.parametrize("index", range(5))
def test_rows_count(index: int) -> None:
    """An event with more of them is longer."""
    assert event_bytes(rows(2_000)[index]) > 1.9 * event_bytes(rows(1_000)[index]) > 0


def test_a_group_whose_topics_nobody_knows() -> None:
    """They are not known if no member says them in a way that can be read."""
    assert event_bytes(group_stored(["t"])._replace(subscribed_topics=None)) < event_bytes(group_stored(["t"]))


def of_one_record(value: Any) -> CoordinatorRecords:
    key = ConsumerGroupMemberMetadataKey(group_id="g", member_id="m")
    return CoordinatorRecords("written", [GroupRecord(5, key, value)])


def assigned(lengths: Sequence[int]) -> CoordinatorRecords:
    """An assignment of topics with so many partitions each."""
    topics = [TargetPartitions(topic_id=bytes(16), partitions=list(range(300, 300 + each))) for each in lengths]
    return of_one_record(ConsumerGroupTargetAssignmentMemberValue(topic_partitions=topics))


EVENTS = {
    "few long rows behind many short ones": assigned([1] * 50 + [9_999] * 8),
    "long rows before short ones": assigned([9_999] * 8 + [1] * 50),
    "many short rows": assigned([1] * 5_000),
    "a topology": of_one_record(
        StreamsGroupTopologyValue(
            subtopologies=[
                Subtopology(subtopology_id=str(n), source_topics=[f"topic-{n}-{m}" for m in range(n // 4)])
                for n in range(200)
            ]
        )
    ),
    "a tag that nobody knows": of_one_record(unknown := ConsumerGroupTargetAssignmentMemberValue()),
}
unknown.unknown_tags = {7: bytes(100_000)}


@pytest.mark.parametrize("name", EVENTS)
def test_what_an_event_keeps_counts(name: str) -> None:
    """All of it, in whatever order: what is kept is not much more than what counts, nor very much less."""
    event = EVENTS[name]
    kept = kept_bytes(event)
    assert kept / 5 < event_bytes(event) < 3 * kept


def test_rows_cost_no_step_each() -> None:
    """An event of 80,000 partitions is counted by as few calls as a short one."""
    few, many = (assigned([1] * count) for count in (100, 1_000))
    assert calls_of(lambda: event_bytes(few)) == calls_of(lambda: event_bytes(many))


def test_the_journal_is_bounded_by_them() -> None:
    """Of events that are longer than the journal together only the last are kept, however few entries they are."""
    journal = Journal()
    for _ in range(50):
        journal.event(group_stored(NAMES), NOW)
    assert len(journal) < 4
    journal.event(Transition("g", "classic", "Empty", "Dead", 1, "why"), NOW)
    assert [type(each.event) for each in journal.events()][-2:] == [GroupStored, Transition]
