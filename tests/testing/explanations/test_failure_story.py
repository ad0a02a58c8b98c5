"""The story that a failed test tells."""

import re
from collections.abc import Iterator

import pytest

from fakebroker.protocol.wire.messages.fetch import FetchTopic
from fakebroker.testing.broker import FakeBroker
from fakebroker.testing.sweeps.recorder import Recorder


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker() as running:
        running.create_topic("orders", partitions=8)
        yield running


def test_nothing_happened_is_a_story_too(broker: FakeBroker) -> None:
    """Without any request there is a line that says so."""
    assert broker.story() == "nothing happened"


def test_requests_are_reported_per_client_the_last_ones_only(broker: FakeBroker) -> None:
    """Each client has its own list, with errors by name and waits, cut to the last eight."""
    a, b = broker.client("a"), broker.client("b")
    a.join("billing")
    for _ in range(20):
        a.heartbeat()
    b.request("Heartbeat", 4, group_id="billing", member_id="?")
    lines = broker.story().splitlines()

    assert lines[0] == "a: the last 8 of 23 requests"
    assert all(line.endswith("Heartbeat v4 of group billing -> ok") for line in lines[1:9])
    assert lines[9] == "b: the last 1 of 1 requests"
    assert lines[10].endswith("Heartbeat v4 of group billing -> UNKNOWN_MEMBER_ID")
    assert lines[11] == "groups and offsets:"


def test_polls_of_the_same_partitions_in_another_order_share_a_line(broker: FakeBroker) -> None:
    """librdkafka rotates the partitions of its Fetches; what a client did before its polls stays in sight."""
    client = broker.client("a")
    client.join("billing")
    for turn in range(40):
        partitions = [
            (index, -1, 0, -1, -1, 1 << 20, bytes(16), 2**63 - 1)
            for index in (turn % 3, (turn + 1) % 3, (turn + 2) % 3)
        ]
        client.request(
            "Fetch", 11, max_wait_ms=0, min_bytes=1, topics=[FetchTopic(topic="orders", partitions=partitions)]
        )
    story = broker.story()

    assert "JoinGroup" in story
    assert "Fetch v11, orders-0 from 0, orders-1 from 0, orders-2 from 0 -> nothing new (40 times)" in story


def test_a_request_that_was_never_answered_is_reported(broker: FakeBroker) -> None:
    """A parked request is listed with how long it has been waiting, and one whose client went as unanswered."""
    a, b = broker.client("a"), broker.client("b", versions={"JoinGroup": 3})
    a.join("billing")
    a.sync()
    b.start(b.steps.join("billing"))
    broker.group("billing").wait(state="PreparingRebalance")

    assert broker.story().splitlines()[-2] == "unanswered:"
    assert broker.story().splitlines()[-1].startswith("  b: JoinGroup v3, for ")


def test_expired_offsets_are_reported_with_their_rule(broker: FakeBroker) -> None:
    """What the cleanup took is part of the story, the first few one by one."""
    broker.client("c").commit({("orders", index): 7 for index in range(8)}, group_id="simple")
    broker.clock.advance(days=8)

    sentence = next(line for line in broker.story().splitlines() if "expired" in line)
    due = r"orders-\d at 7, kept 7 d since its commit, due \d{4}-\d\d-\d\d [\d:]+ \(EX-3\)"
    assert re.search(f"simple: offsets expired: {due}, {due}", sentence)
    assert sentence.endswith("and 3 more")


def test_an_empty_group_counts_from_then(broker: FakeBroker) -> None:
    """Its expired offsets say since when, not only by which rule."""
    client = broker.client("c")
    client.join("billing", ["orders"])
    client.sync({client.member_id: {"orders": [0]}})
    client.commit({("orders", 0): 42})
    client.leave()
    broker.clock.advance(days=8)

    assert "orders-0 at 42, kept 7 d since Empty, due 20" in broker.story()


def test_polls_that_find_nothing_share_a_line(broker: FakeBroker) -> None:
    """So that what a client did before is not lost among them."""
    client = broker.client("a")
    client.join("billing")
    for _ in range(20):
        client.fetch("orders", 0, 0, max_wait_ms=0)
    lines = broker.story().splitlines()

    assert lines[0] == "a: the last 23 of 23 requests"
    assert lines[4].endswith("orders-0 from 0 -> nothing new (20 times)")


def test_faults_that_go_on_are_reported(broker: FakeBroker) -> None:
    """With their hits; one that has hit all it is for is not among them."""
    broker.fault(api="Heartbeat", error="NOT_COORDINATOR")
    broker.fault(api="Heartbeat", client_id="a", error="NOT_COORDINATOR", times=1)
    broker.client("a").request("Heartbeat", 4, group_id="billing", member_id="?")
    story = broker.story()

    assert "fault 1 (Heartbeat: error NOT_COORDINATOR) is still set, 1 hit" in story
    assert "fault 2 (Heartbeat of a: error NOT_COORDINATOR" not in story.splitlines()[-1]


def begin(broker: FakeBroker, when: int, offset: int) -> str:
    """A consumer without committed offsets that asks where to begin, and fetches from there; the story's last line."""
    client = broker.client("c1")
    asked = [{"name": "orders", "partition_indexes": [0]}]
    client.request("OffsetFetch", 7, group_id="g", topics=asked)
    listed = [{"name": "orders", "partitions": [(0, -1, when, 1)]}]
    client.request("ListOffsets", 7, replica_id=-1, topics=listed)
    client.fetch("orders", 0, offset, max_wait_ms=0)
    return broker.story().splitlines()[-1]


def test_a_forgotten_auto_offset_reset_is_visible(broker: FakeBroker) -> None:
    """No committed offset, the latest one, a fetch from there, records before it: the story says what that means."""
    broker.topic("orders").produce("early", partition=0)
    hint = begin(broker, -1, 1)

    assert hint.startswith("hint: c1 had no committed offset and reads orders-0 from 1, the end at that moment.")


@pytest.mark.parametrize(("records", "when", "offset"), [(0, -1, 0), (1, -2, 0), (2, -1, 0)])
def test_a_hint_is_for_what_is_certain(broker: FakeBroker, records: int, when: int, offset: int) -> None:
    """Not for an empty partition, a client that asks for the earliest offset, or one that fetches from elsewhere."""
    if records:
        broker.topic("orders").produce(*("early" for _ in range(records)), partition=0)

    assert "hint" not in begin(broker, when, offset)


def test_transactions_are_distinguished_and_open_ones_again(broker: FakeBroker) -> None:
    """Their changes of state have a list of their own; those that are open, and until when, come after it."""
    a, b = broker.client("a"), broker.client("b")
    for client, transactional_id in ((a, "tx-1"), (b, "tx-2")):
        client.find_coordinator(transactional_id, key_type="transaction")
        client.init_producer_id(transactional_id)
        client.produce("orders", 3, ["x"], transactional=True)
    a.abort_transaction()
    broker.transaction("tx-1").wait("CompleteAbort")
    lines = broker.story().splitlines()
    done, still_open = lines.index("transactions:"), lines.index("open transactions:")

    assert lines[done + 1].endswith(
        "tx-1: Empty -> Empty, producer 0 epoch 0, 0 partitions (InitProducerId returned epoch 0)"
    )
    assert lines[still_open - 1].endswith(
        "tx-1: PrepareAbort -> CompleteAbort, producer 0 epoch 1, 0 partitions (all markers were written)"
    )
    assert lines[still_open + 1].startswith("  tx-2: Ongoing, orders-3, overdue from 20")
    assert lines[still_open + 2 :] == []


def test_moves_of_transaction_coordinators_are_reported_with_transactions(broker: FakeBroker) -> None:
    """They explain what happens to transactions, and are no news of groups."""
    client = broker.client("a")
    client.find_coordinator("tx-1", key_type="transaction")
    client.init_producer_id("tx-1")
    broker.transaction_coordinator("tx-1").load()
    lines = broker.story().splitlines()
    transactions = lines.index("transactions:")

    moves = [number for number, line in enumerate(lines) if "__transaction_state" in line]
    assert moves
    assert min(moves) > transactions


def test_what_only_observes_is_no_fault_of_the_test(broker: FakeBroker) -> None:
    """The first run of a sweep sees requests by a fault that never hits; its story does not speak of it."""
    Recorder(broker, ["Fetch"])

    assert len(broker.faults) == 1
    assert broker.story() == "nothing happened"
