"""Offsets in the words for requests: what is asked of each partition, and what it is answered with."""

from collections.abc import Iterator
from typing import Any

import pytest

from fakebroker import FakeBroker
from fakebroker.testing.explanations.offset_wording import shortened
from fakebroker.testing.explanations.wording import request_text


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker() as running:
        running.create_topic("orders", partitions=2)
        running.topic("orders").produce("a", "b", partition=0)
        yield running


def sentence(broker: FakeBroker, api: str) -> str:
    """The last request of an API in words, without the wait."""
    return request_text(broker._engine.journal.requests(api)[-1]).split(" after ")[0]


def ask(broker: FakeBroker, api: str, version: int, **fields: Any) -> str:
    broker.client("svc").request(api, version, **fields)
    return sentence(broker, api)


@pytest.mark.parametrize(
    ("timestamp_ms", "text"),
    [
        (-1, "orders-0 latest -> 2"),
        (-2, "orders-0 earliest -> 0"),
        (4_000_000_000_000, "orders-0 from 2096-10-02 07:06:40 -> none"),
    ],
)
def test_list_offsets_say_which_and_what(broker: FakeBroker, timestamp_ms: int, text: str) -> None:
    """Latest and earliest are words, other times dates; an offset that there is not is "none"."""
    topics = [{"name": "orders", "partitions": [(0, -1, timestamp_ms, 1)]}]
    assert ask(broker, "ListOffsets", 7, replica_id=-1, topics=topics) == f"ListOffsets v7, {text}"


def test_commits_and_committed_offsets_have_numbers(broker: FakeBroker) -> None:
    """Each partition with its offset; "none" where nothing was committed."""
    client = broker.client("svc")
    client.commit({("orders", 0): 42, ("orders", 1): 7}, group_id="g")
    assert sentence(broker, "OffsetCommit").endswith("of group g, orders-0=42, orders-1=7 -> ok")
    both = [{"name": "orders", "partition_indexes": [0, 1]}]
    assert ask(broker, "OffsetFetch", 7, group_id="g", topics=both).endswith("-> orders-0 42, orders-1 7")
    one = [{"name": "orders", "partition_indexes": [1]}]
    assert ask(broker, "OffsetFetch", 7, group_id="none", topics=one).endswith("orders-1 -> none")


def test_fetches_say_from_where_and_what_they_got(broker: FakeBroker) -> None:
    """The position, and the number of records."""

    def fetch(offset: int) -> str:
        topics = [{"topic": "orders", "partitions": [(0, -1, offset, -1, -1, 10_000, bytes(16), -1)]}]
        return ask(broker, "Fetch", 12, max_wait_ms=0, min_bytes=1, topics=topics)

    assert fetch(0) == "Fetch v12, orders-0 from 0 -> 2 records"
    assert fetch(2) == "Fetch v12, orders-0 from 2 -> nothing new"


def test_produce_and_delete_records_have_numbers(broker: FakeBroker) -> None:
    """How many records went where, and where the log begins afterwards."""
    broker.client("svc").produce("orders", 0, ["c", "d", "e"])
    assert sentence(broker, "Produce").endswith("orders-0 3 records -> at 2")
    topics = [{"name": "orders", "partitions": [{"partition_index": 0, "offset": 4}]}]
    assert ask(broker, "DeleteRecords", 2, topics=topics).endswith("orders-0 before 4 -> begins at 4")


def test_joins_say_who_and_which_generation(broker: FakeBroker) -> None:
    """A member without an id is new; the leader has so many members."""
    client = broker.client("svc")
    client.join("g", ["orders"])
    assert sentence(broker, "JoinGroup").endswith(f"of group g, as {client.member_id} -> ok, generation 1, leads 1")


def test_long_lists_are_shortened() -> None:
    """The first few, and how many more there are."""
    assert shortened([str(n) for n in range(18)]) == "0, 1, 2, 3, 4, 5 and 12 more"
