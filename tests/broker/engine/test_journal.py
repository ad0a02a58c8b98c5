"""The journal: bounded, cheap, and decoded when asked."""

import pytest

from fakebroker.broker.core.events import Transition
from fakebroker.broker.engine.journal import (
    Connected,
    Disconnected,
    Exchange,
    Journal,
    Peer,
    Recorded,
)
from fakebroker.broker.engine.kept_frames import BIG_BYTES, Frame
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.wire.frame import encode_request
from fakebroker.protocol.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from fakebroker.protocol.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponseTopic,
)
from tests.protocol.wire.responses import encode_response

PEER = Peer(1, "/127.0.0.1", 1)
SENT, ANSWERED = Instant(1000, 10), Instant(1005, 15)


def heartbeat(client_id: str = "c", error: int = 0) -> tuple[bytes, bytes]:
    request = HeartbeatRequest(group_id="g", generation_id=3, member_id="m")
    return encode_request(request, 4, 7, client_id), encode_response(HeartbeatResponse(error_code=error), 4, 7)


def beat(journal: Journal, client_id: str = "c", error: int = 0) -> None:
    journal.exchange(PEER, *heartbeat(client_id, error), SENT, ANSWERED)


def test_an_exchange_is_decoded_when_looked_at() -> None:
    """Header, request, answer, errors and the wait come out of the frames that were kept."""
    journal = Journal()
    beat(journal, error=ErrorCode.REBALANCE_IN_PROGRESS)

    (exchange,) = journal.requests()
    assert (exchange.api, exchange.version, exchange.client_id, exchange.waited_ms) == ("Heartbeat", 4, "c", 5)
    assert exchange.request == HeartbeatRequest(group_id="g", generation_id=3, member_id="m")
    assert exchange.response == HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
    assert exchange.errors == (ErrorCode.REBALANCE_IN_PROGRESS,)
    assert repr(exchange) == "#0 c: Heartbeat v4 -> errors [27] after 5 ms"


def test_errors_are_found_in_rows() -> None:
    """The error codes of bulk rows, which are plain tuples, are found by their column."""
    journal = Journal()
    request = OffsetCommitRequest(
        group_id="g", topics=[OffsetCommitRequestTopic(name="t", partitions=[(0, 5, -1, -1, "")])]
    )
    answer = OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name="t", partitions=[(0, 0), (1, 3)])])
    journal.exchange(PEER, encode_request(request, 8, 1, "c"), encode_response(answer, 8, 1), SENT, ANSWERED)

    assert journal.requests()[0].errors == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,)


def test_requests_are_found_by_api_and_client() -> None:
    """A query names an API or a client, whose name may have wildcards; an API that does not exist is an error."""
    journal = Journal()
    beat(journal, "svc-1")
    beat(journal, "other")

    assert [e.client_id for e in journal.requests(client_id="svc-*")] == ["svc-1"]
    assert len(journal.requests(api="Heartbeat")) == 2
    assert journal.requests(api="JoinGroup") == []
    with pytest.raises(KeyError, match="Hartbeat"):
        journal.requests(api="Hartbeat")


def test_events_and_requests_share_one_order() -> None:
    """Sequence numbers tell what came first, whatever it is."""
    journal = Journal()
    journal.event(Connected(PEER), SENT)
    beat(journal)
    journal.event(Transition("g", "classic", "Empty", "Dead", 1, "nothing left"), ANSWERED)
    journal.event(Disconnected(PEER, "the client closed the connection"), ANSWERED)

    assert [(entry.seq, type(entry)) for entry in journal.entries()] == [
        (0, Recorded),
        (1, Exchange),
        (2, Recorded),
        (3, Recorded),
    ]
    assert [r.event.reason for r in journal.events(Transition)] == ["nothing left"]


def test_the_ring_is_bounded_in_entries() -> None:
    """The oldest entries go; the sequence numbers of the others stay."""
    journal = Journal(max_entries=3)
    for _ in range(5):
        beat(journal)

    assert [exchange.seq for exchange in journal.requests()] == [2, 3, 4]
    assert (len(journal), journal.forgotten) == (3, 2)


def test_the_ring_is_bounded_in_bytes() -> None:
    """However few the entries, they do not hold more bytes than allowed."""
    size_bytes = sum(map(len, heartbeat()))
    journal = Journal(max_bytes=2 * size_bytes)
    for _ in range(5):
        beat(journal)

    assert [exchange.seq for exchange in journal.requests()] == [3, 4]


def test_big_frames_keep_their_beginning() -> None:
    """Of a large request the header and the first bytes stay, and how long it was."""
    journal = Journal(max_bytes=100_000)
    request, answer = heartbeat()
    for _ in range(1000):
        journal.exchange(PEER, request + bytes(BIG_BYTES), answer, SENT, ANSWERED)

    exchange = journal.requests()[-1]
    assert isinstance(exchange.request_frame, Frame)
    assert exchange.request_frame.size_bytes == len(request) + BIG_BYTES
    assert (exchange.client_id, exchange.request) == ("c", None)
    assert 100 < len(journal) < 200


def test_a_cut_header_still_tells_the_api() -> None:
    """A client id longer than what is kept of a large frame costs the name, not the entry."""
    journal = Journal()
    request, answer = heartbeat("x" * 2 * BIG_BYTES)
    journal.exchange(PEER, request, answer, SENT, ANSWERED)

    assert (journal.requests()[0].api, journal.requests()[0].client_id) == ("Heartbeat", None)


def test_a_request_without_an_answer_is_reported() -> None:
    """A request that ended unanswered has no response and no errors."""
    journal = Journal()
    journal.exchange(PEER, heartbeat()[0], None, SENT, ANSWERED)

    (exchange,) = journal.requests()
    assert (exchange.response, exchange.errors) == (None, ())
    assert repr(exchange) == "#0 c: Heartbeat v4 -> no answer after 5 ms"


def test_clearing_forgets_but_keeps_counting() -> None:
    """After clear() nothing is known, and numbers are not used twice."""
    journal = Journal()
    beat(journal)
    journal.clear()
    beat(journal)

    assert [exchange.seq for exchange in journal.requests()] == [1]


def test_who_asked_for_what_without_decoding() -> None:
    """By connection, of one client id: not those whose id begins alike, nor those without one."""
    journal = Journal()
    for number, client_id in enumerate(["a", "ab", None, "", "a"]):
        frame = encode_request(HeartbeatRequest(group_id="g"), 0, 1, client_id)
        journal.exchange(Peer(number, "/127.0.0.1", 1), frame, None, Instant(0, 0), Instant(0, 0))
    assert list(journal.asked_by("a")) == [(0, 12), (4, 12)]
    assert list(journal.asked_by("")) == [(3, 12)]
    assert list(journal.asked_by(None)) == [(2, 12)]
    assert list(journal.asked_by("\ufffd" * 20_000)) == []


def test_many_small_entries_are_forgotten_in_order() -> None:
    """Whatever is added in whichever way, the newest stay, at most as many as allowed, numbered without a gap."""
    journal = Journal(max_entries=1000)
    for number in range(5000):
        if number % 3:
            journal.append((PEER, *heartbeat(), SENT, ANSWERED))
            journal.settle()
        else:
            journal.event(Connected(PEER), SENT)
        assert len(journal) <= 1000 + 62
        assert journal.next_seq == number + 1

    seqs = [entry.seq for entry in journal.entries()]
    assert seqs == list(range(5000 - len(journal), 5000))
    assert len(journal) > 900
    assert [entry.seq for entry in journal.entries(since=4990)] == list(range(4990, 5000))
    assert list(journal.entries(since=5000)) == list(journal.entries(since=9999)) == []
