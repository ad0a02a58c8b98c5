"""Requests and events in words: steps of an ordinary life are shown as steps, errors as errors."""

from typing import Any, NamedTuple

import pytest

from fakebroker.broker.core.events import CoordinatorMoved, GroupStored, NodeChanged, Transition
from fakebroker.broker.engine.journal import (
    BrokerStarted,
    Connected,
    Disconnected,
    Exchange,
    InternalError,
    Journal,
    Peer,
)
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.wire.messages.add_partitions_to_txn import AddPartitionsToTxnTopic
from fakebroker.protocol.wire.messages.fetch import FetchTopic
from fakebroker.protocol.wire.messages.heartbeat import HeartbeatResponse
from fakebroker.protocol.wire.messages.metadata import MetadataRequestTopic
from fakebroker.protocol.wire.messages.offset_commit import (
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponseTopic,
)
from fakebroker.protocol.wire.registry import APIS, api
from fakebroker.testing.explanations.event_wording import event_text
from fakebroker.testing.explanations.wording import STEPS, asked_text, request_text, topics_text
from fakebroker.testing.journal.request_log import line_of
from tests.protocol.wire.responses import encode_response
from tests.support.frames import request

PEER = Peer(4, "/127.0.0.1", 2, client_port=5000)


def exchange(name: str, version: int, answer: Any, waited_ms: int = 0, **fields: Any) -> Exchange:
    journal = Journal()
    frame = request(name, version, 9, client_id="svc-1", **fields)[4:]
    response = None if answer is None else encode_response(answer, version, 9)
    journal.exchange(PEER, frame, response, Instant(0, 0), Instant(0, waited_ms))
    return journal.requests()[0]


def heartbeat(error: ErrorCode, waited_ms: int = 0) -> Exchange:
    return exchange("Heartbeat", 4, HeartbeatResponse(error_code=error), waited_ms, group_id="billing", member_id="m")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ErrorCode.NONE, "ok"),
        (ErrorCode.UNKNOWN_MEMBER_ID, "UNKNOWN_MEMBER_ID"),
        (
            ErrorCode.REBALANCE_IN_PROGRESS,
            "told to rejoin, a rebalance is in progress (REBALANCE_IN_PROGRESS)",
        ),
        (
            ErrorCode.NOT_COORDINATOR,
            "told to look up the coordinator again, it has moved (NOT_COORDINATOR)",
        ),
    ],
)
def test_a_step_is_described_as_a_step_and_an_error_by_its_name(error: ErrorCode, text: str) -> None:
    """What every client meets is no fault; its name is there for whoever looks for it."""
    assert request_text(heartbeat(error)) == f"Heartbeat v4 of group billing -> {text}"


def test_a_line_says_who_asked_whom_and_how_long_it_took() -> None:
    """Client, address, node, and the wait if there was one."""
    assert line_of(heartbeat(ErrorCode.NONE, 30)) == (
        "svc-1 (127.0.0.1:5000) to node 2: Heartbeat v4 of group billing -> ok after 30 ms"
    )


def test_topics_are_shortened() -> None:
    """The first few of many topics and partitions, and how many there are."""
    assert topics_text({"a": [0, 1], "b": []}) == "a-0,1 b"
    assert topics_text({"a": list(range(10))}) == "a-0,1,2,3,4,5,... (10 partitions)"
    assert topics_text({str(n): [0] for n in range(5)}) == "0-0 1-0 2-0 and 2 more topics"


def test_an_error_of_some_partitions_names_them() -> None:
    """The first few of many."""
    asked = [OffsetCommitRequestTopic(name="t", partitions=[(p, 5, -1, -1, "") for p in range(6)])]
    refused = [OffsetCommitResponseTopic(name="t", partitions=[(0, 0), *((p, 3) for p in range(1, 6))])]
    text = request_text(exchange("OffsetCommit", 8, OffsetCommitResponse(topics=refused), group_id="g", topics=asked))

    assert text == (
        "OffsetCommit v8 of group g, t-0=5, t-1=5, t-2=5, t-3=5, t-4=5, t-5=5 -> "
        "UNKNOWN_TOPIC_OR_PARTITION for t-1 t-2 t-3 and 2 more"
    )


def test_what_was_not_answered_says_so() -> None:
    """A parked request whose client left, and a Produce with acks=0."""
    assert request_text(exchange("Heartbeat", 4, None, group_id="g")) == "Heartbeat v4 of group g -> not answered"
    assert request_text(exchange("Produce", 9, None, acks=0)).endswith("-> not answered (acks=0, or the client left)")


def test_a_poll_that_found_nothing_says_so() -> None:
    """A Fetch without records is no riddle."""
    topics = [FetchTopic(topic="t", partitions=[(0, -1, 0, -1, -1, 1000, bytes(16), -1)])]
    answer = api("Fetch").response()
    assert request_text(exchange("Fetch", 12, answer, 500, topics=topics)) == (
        "Fetch v12, t-0 from 0 -> nothing new after 500 ms"
    )


def test_names_from_clients_stay_on_their_line() -> None:
    """Whatever a topic or group is called."""
    topics = [MetadataRequestTopic(name="a\nERROR forged")]
    assert "\n" not in line_of(exchange("Metadata", 9, api("Metadata").response(), topics=topics))


def test_steps_name_apis_and_errors_that_exist() -> None:
    """A misspelt step would never be reported."""
    assert {name for name, _ in STEPS} - {""} <= {each.name for each in APIS.values()}
    assert {error for _, error in STEPS} <= {code.name for code in ErrorCode}


class Seen(NamedTuple):
    """An event without words of its own."""

    node_id: int
    what: str
    peer: Peer
    reason: str = ""


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (Connected(PEER), "127.0.0.1:5000 connected to node 2"),
        (Disconnected(PEER, "it left"), "127.0.0.1:5000 disconnected from node 2: it left"),
        (Transition("g", "classic", "Empty", "Dead", 1, "why"), "g: Empty -> Dead, generation 1 (why)"),
        (Transition("g", "share", "Empty", "Dead", 1, "why"), "g: Empty -> Dead, epoch 1 (why)"),
        (
            GroupStored("g", "written", 3, "consumer", "range", "m", 1, ("t",), 1_767_225_600_000),
            "g: written: consumer group of generation 3, 1 member, in this state since 2026-01-01 00:00",
        ),
        (
            GroupStored("g", "loaded", 0, "", None, None, 0, None, -1),
            "g: found in the log: simple group of generation 0, 0 members",
        ),
        (BrokerStarted("4.3", {"b": "2", "a": "1"}), "the broker started as release 4.3, with a=1, b=2"),
        (BrokerStarted("4.3", {}), "the broker started as release 4.3, with default settings"),
        (CoordinatorMoved(3, 2, "failed", "bad log"), "__consumer_offsets-3: failed by node 2: bad log"),
        (NodeChanged(2, "stopped"), "node 2: stopped"),
        (InternalError("KeyError", "'x'"), "internal error of the broker: KeyError: 'x'"),
        (Seen(2, "a thing", PEER), "seen: node 2, what a thing, peer 127.0.0.1:5000"),
    ],
)
def test_events_are_reported_in_words(event: Any, text: str) -> None:
    """No class of ours is named; an event without words is reported by its fields."""
    assert event_text(event) == text


def test_requests_of_a_transaction_are_reported_with_its_id() -> None:
    """Whatever field the version has it in; an EndTxn says which end is meant."""
    end = exchange("EndTxn", 5, None, transactional_id="tx-1", committed=False)
    added = [AddPartitionsToTxnTopic(name="orders", partitions=[0, 1])]
    add = exchange("AddPartitionsToTxn", 3, None, v3_and_below_transactional_id="tx-1", v3_and_below_topics=added)
    described = exchange("DescribeTransactions", 0, None, transactional_ids=["a", "b", "c", "d"])

    assert asked_text(end) == "EndTxn v5 of transaction tx-1 (abort)"
    assert asked_text(add) == "AddPartitionsToTxn v3 of transaction tx-1, orders-0,1"
    assert asked_text(described) == "DescribeTransactions v0 of transactions a, b, c and 1 more"
