"""The story that a failed test tells."""

from collections.abc import Iterator

import pytest

from fakebroker.broker import FakeBroker


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker() as running:
        running.create_topic("orders", partitions=8)
        yield running


def test_nothing_happened_is_a_story_too(broker: FakeBroker) -> None:
    """Without any request there is a line that says so."""
    assert broker.story() == "nothing happened"


def test_requests_are_told_per_client_the_last_ones_only(broker: FakeBroker) -> None:
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


def test_a_request_that_was_never_answered_is_told(broker: FakeBroker) -> None:
    """A parked request is listed with how long it has been waiting, and one whose client went as unanswered."""
    a, b = broker.client("a"), broker.client("b", versions={"JoinGroup": 3})
    a.join("billing")
    a.sync()
    b.start(b.steps.join("billing"))
    broker.group("billing").wait(state="PreparingRebalance")

    assert broker.story().splitlines()[-2] == "unanswered:"
    assert broker.story().splitlines()[-1].startswith("  b: JoinGroup v3, for ")


def test_expired_offsets_are_told_with_their_rule(broker: FakeBroker) -> None:
    """What the cleanup took is part of the story, the first few one by one."""
    broker.client("c").commit({("orders", index): 7 for index in range(8)}, group_id="simple")
    broker.clock.advance(days=8)

    told = next(line for line in broker.story().splitlines() if "expired" in line)
    assert "simple: offsets expired: orders-0 at 7 (EX-3), orders-1 at 7 (EX-3)" in told
    assert told.endswith("and 3 more")


def test_transactions_are_told_apart_and_open_ones_again(broker: FakeBroker) -> None:
    """Their changes of state have a list of their own; those that are open, and until when, come after it."""
    a, b = broker.client("a"), broker.client("b")
    for client, transactional_id in ((a, "tx-1"), (b, "tx-2")):
        client.find_coordinator(transactional_id, key_type="transaction")
        client.init_producer_id(transactional_id)
        client.produce("orders", 3, ["x"], transactional=True)
    a.abort_transaction()
    broker.transaction("tx-1").wait("CompleteAbort")
    lines = broker.story().splitlines()
    told, still_open = lines.index("transactions:"), lines.index("open transactions:")

    assert lines[told + 1].endswith(
        "tx-1: Empty -> Empty, producer 0 epoch 0, 0 partitions (InitProducerId gave epoch 0)"
    )
    assert lines[still_open - 1].endswith(
        "tx-1: PrepareAbort -> CompleteAbort, producer 0 epoch 1, 0 partitions (all markers are written)"
    )
    assert lines[still_open + 1].startswith("  tx-2: Ongoing, orders-3, overdue from 20")
    assert lines[still_open + 2 :] == []


def test_moves_of_transaction_coordinators_are_told_with_transactions(broker: FakeBroker) -> None:
    """They explain what happens to transactions, and are no news of groups."""
    client = broker.client("a")
    client.find_coordinator("tx-1", key_type="transaction")
    client.init_producer_id("tx-1")
    broker.transaction_coordinator("tx-1").load()
    lines = broker.story().splitlines()
    told = lines.index("transactions:")

    moves = [number for number, line in enumerate(lines) if "__transaction_state" in line]
    assert moves
    assert min(moves) > told
