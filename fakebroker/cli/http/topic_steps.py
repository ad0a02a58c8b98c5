"""What takes long with a topic, in steps between which the broker serves its clients."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fakebroker.cli.http.turns import in_turns
from fakebroker.testing.handles.handle import WAIT_S
from fakebroker.testing.handles.topic import StoredRecord, TopicHandle

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.testing.handles.topic_view import BrowsedRecords, FoundByTime, TopicView

Given = Mapping[str, Any]


async def records(topic: TopicHandle, given: Given) -> Iterator[StoredRecord]:
    """`topic.records`, read while they are written as JSON."""
    cluster, partition = _cluster(topic), given.get("partition")
    await in_turns(topic._check_records(cluster, partition))
    return topic._records(cluster, partition)


async def awaited(topic: TopicHandle, given: Given) -> Iterator[StoredRecord]:
    """`topic.wait`."""
    await topic._wait_for(given["records"], given.get("timeout_s", WAIT_S), lambda _cluster: True)
    return await records(topic, {})


async def view(topic: TopicHandle, _given: Given) -> "TopicView":
    """`topic.view`."""
    return await in_turns(topic._view(_cluster(topic)))


async def browse(topic: TopicHandle, given: Given) -> "BrowsedRecords":
    """`topic.browse`."""
    return await in_turns(topic._browse(_cluster(topic), **given))


async def find_time(topic: TopicHandle, given: Given) -> "list[FoundByTime]":
    """`topic.find_time`."""
    return await in_turns(topic._find_time(_cluster(topic), **given))


def _cluster(topic: TopicHandle) -> "Cluster":
    return topic._access._engine.cluster
