"""What takes long with a topic, in steps between which the broker serves its clients."""

from collections.abc import Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from fakebroker.cli.http.reading_line import LongRecords, line_of_looks
from fakebroker.cli.http.turns import in_turns
from fakebroker.testing.handles.handle import WAIT_S
from fakebroker.testing.handles.topic import StoredRecord, TopicHandle

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.testing.handles.topic_view import BrowsedRecords, FoundByTime, TopicView

Given = Mapping[str, Any]
T = TypeVar("T")


async def records(topic: TopicHandle, given: Given) -> Iterator[StoredRecord | None]:
    """`topic.records`, read while they are written as JSON."""
    cluster, partition = _cluster(topic), given.get("partition")
    is_long = await in_turns(topic._check_records(cluster, partition))
    found = topic._records(cluster, partition)
    return LongRecords(found) if is_long else found


async def awaited(topic: TopicHandle, given: Given) -> Iterator[StoredRecord | None]:
    """`topic.wait`."""
    await topic._wait_for(given["records"], given.get("timeout_s", WAIT_S), lambda _cluster: True)
    return await records(topic, {})


async def view(topic: TopicHandle, _given: Given) -> "TopicView":
    """`topic.view`."""
    return await in_reading_turns(topic._view(_cluster(topic)))


async def browse(topic: TopicHandle, given: Given) -> "BrowsedRecords":
    """`topic.browse`."""
    return await in_reading_turns(topic._browse(_cluster(topic), **given))


async def find_time(topic: TopicHandle, given: Given) -> "list[FoundByTime]":
    """`topic.find_time`."""
    return await in_reading_turns(topic._find_time(_cluster(topic), **given))


async def in_reading_turns(steps: Generator[None, None, T]) -> T:
    """The result of steps that unpack records: those of one reader at a time."""
    async with line_of_looks().turn():
        return await in_turns(steps)


def _cluster(topic: TopicHandle) -> "Cluster":
    return topic._access._engine.cluster
