"""Connections: frames in whatever pieces, order, turns, parked requests, and what closes them."""

from struct import pack
from typing import Any

import pytest

from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.engine.connection import REQUESTS_PER_TURN, Connection
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import STEP_S
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic
from tests.support.engine import SimEngine
from tests.support.frames import JOIN, OffsetRow, correlation_ids, framed, frames, long_poll, request
from tests.support.time import START

KAFKA_DELAY_MS = 3000


def heartbeats(count: int, first: int = 0) -> bytes:
    return b"".join(
        request("Heartbeat", 4, first + n, group_id="g", generation_id=1, member_id="m") for n in range(count)
    )


def asked_for_versions(count: int) -> bytes:
    return b"".join(request("ApiVersions", 2, n) for n in range(count))


@pytest.mark.rules("AV-1", "AV-11")
def test_a_request_byte_by_byte_is_answered_as_in_one_piece() -> None:
    """How the bytes are cut on their way makes no difference, and nothing is answered before a frame is whole."""
    lab = SimEngine()
    data = heartbeats(3)
    whole, bytewise = lab.client(), lab.client()
    whole.socket.send(data)
    for place in range(len(data) - 1):
        bytewise.socket.send(data[place : place + 1])
    before_last = bytewise.socket.take()
    bytewise.socket.send(data[-1:])

    assert correlation_ids(before_last) == [0, 1]
    assert before_last + bytewise.socket.take() == whole.socket.take()


@pytest.mark.rules("AV-2")
def test_many_requests_in_one_piece_are_answered_in_order() -> None:
    """Answers carry the correlation ids of the requests, in the order of the requests."""
    client = SimEngine().client()
    client.socket.send(heartbeats(200))
    assert correlation_ids(client.socket.take()) == list(range(200))


def test_a_turn_takes_up_at_most_64_requests() -> None:
    """The rest waits for the next turn, so that other connections get theirs."""
    connection = SimEngine().bare_connection()
    connection.receive(heartbeats(150), START)

    taken = []
    for _ in range(3):
        taken.append(len(correlation_ids(b"".join(connection.data_to_send()))))
        connection.resume(START)
    assert taken == [REQUESTS_PER_TURN, REQUESTS_PER_TURN, 150 - 2 * REQUESTS_PER_TURN]
    assert not connection.wants_turn


@pytest.mark.rules("AV-2")
@pytest.mark.parametrize("uses_layouts", [False, True])
@pytest.mark.parametrize("request_s", [0.02, 5.0])
def test_a_turn_in_which_requests_take_long_ends_early(request_s: float, uses_layouts: bool) -> None:
    """Requests that come together and take long by the driver's stopwatch do not keep other connections waiting,
    whether they are decoded or like those before them.
    """
    lab, passed = SimEngine(), [0.0]
    lab.engine.uses_layouts = uses_layouts
    lab.cluster.timers.passes.stopwatch = lambda: passed[0]
    connection = lab.bare_connection()
    connection.receive(asked_for_versions(6), START)
    assert any(lane.layout for lane in connection._lanes.values()) is uses_layouts
    connection.data_to_send()
    send = connection.send

    def slow(*answer: Any) -> None:
        send(*answer)
        passed[0] += request_s

    connection.send = slow
    connection.receive(asked_for_versions(20), START)
    turns = [correlation_ids(b"".join(connection.data_to_send()))]
    while connection.wants_turn:
        connection.resume(START)
        turns.append(correlation_ids(b"".join(connection.data_to_send())))
    assert max(map(len, turns)) <= max(2, STEP_S / request_s + 2)
    assert [each for turn in turns for each in turn] == list(range(20))


def test_more_bytes_between_turns_change_nothing() -> None:
    """What arrives while a turn is wanted is answered after what came before."""
    connection = SimEngine().bare_connection()
    connection.receive(heartbeats(100), START)
    connection.receive(heartbeats(1, first=100), START)
    answered = b"".join(connection.data_to_send())
    while connection.wants_turn:
        connection.resume(START)
        answered += b"".join(connection.data_to_send())
    assert correlation_ids(answered) == list(range(101))


@pytest.mark.parametrize("cut", [5, 20])
def test_only_the_frame_that_was_cut_is_joined(cut: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a read ends inside a frame, what follows that frame in the next read is taken up where it is, uncopied."""
    lab = SimEngine()
    connection = lab.bare_connection()
    buffers: list[bytes] = []
    turn = Connection._turn

    def note(self: Connection, buffer: bytes, position: int, now: Instant) -> None:
        buffers.append(buffer)
        turn(self, buffer, position, now)

    monkeypatch.setattr(Connection, "_turn", note)
    stream = heartbeats(10)
    size = len(stream) // 10
    first, second = stream[: size + cut], stream[size + cut :]
    connection.receive(first, lab.engine.now)
    connection.receive(second, lab.engine.now)
    assert [len(buffer) for buffer in buffers] == [len(first), size, len(second)]
    assert buffers[2] is second
    assert correlation_ids(b"".join(connection.data_to_send())) == list(range(10))


def test_what_follows_a_cut_frame_waits_behind_it() -> None:
    """When the frame that was cut parks, what came behind it in the same read is kept, and served after its answer."""
    lab = SimEngine()
    lab.cluster.topics.create("t", 1, 1, {})
    connection = lab.bare_connection()
    stream = long_poll(100, correlation_id=7) + heartbeats(3)
    connection.receive(stream[:20], lab.engine.now)
    connection.receive(stream[20:], lab.engine.now)
    assert connection.is_parked
    assert connection.waiting_bytes == len(heartbeats(3))
    lab.engine.advance_to(lab.engine.now.plus(100))
    connection.resume(lab.engine.now)
    assert correlation_ids(b"".join(connection.data_to_send())) == [7, 0, 1, 2]


def test_large_answers_end_the_turn() -> None:
    """A megabyte of answers has to leave before more is made, so a slow reader costs little memory."""
    lab = SimEngine({"offset.metadata.max.bytes": 30_000})
    lab.cluster.topics.create("t", 10)
    rows: list[OffsetRow] = [(partition, 5, -1, -1, "x" * 30_000) for partition in range(10)]
    topic = OffsetCommitRequestTopic(name="t", partitions=rows)
    lab.client().ask("OffsetCommit", 8, group_id="g", member_id="", topics=[topic])
    connection = lab.bare_connection()
    connection.receive(request("OffsetFetch", 2, group_id="g", topics=None) * 20, START)

    assert len(frames(b"".join(connection.data_to_send()))) == 4
    assert connection.wants_turn


@pytest.mark.rules("AV-2")
def test_a_parked_request_mutes_its_connection_only() -> None:
    """What is pipelined behind a parked JoinGroup waits for its answer; other connections do not."""
    lab = SimEngine(profile="kafka")
    client, other = lab.client(), lab.client()
    assert client.join() is None
    client.socket.send(heartbeats(2, first=7))
    other.socket.send(heartbeats(1))

    assert correlation_ids(other.socket.take()) == [0]
    assert client.socket.take() == b""
    lab.network.advance(KAFKA_DELAY_MS)
    assert correlation_ids(client.socket.take()) == [1, 7, 8]


@pytest.mark.rules("AV-2")
def test_a_request_behind_a_parked_one_meets_the_state_after_its_answer() -> None:
    """A SyncGroup pipelined behind its JoinGroup is one of the generation that the join leads to."""
    lab = SimEngine(profile="kafka")
    member = lab.client()
    first = member.join(version=5)
    member.join(version=5, member_id=first.member_id)
    member.socket.send(request("SyncGroup", 3, 2, group_id="g", generation_id=1, member_id=first.member_id))
    lab.network.advance(KAFKA_DELAY_MS)
    _, sync = frames(member.socket.take())
    assert sync == pack(">iih", 2, 0, 0) + pack(">i", 0)


@pytest.mark.parametrize("size", [-1, -(2**31), 101, 2**31 - 1])
@pytest.mark.rules("AV-3")
def test_a_frame_length_that_cannot_be_closes_the_connection(size: int) -> None:
    """Negative and above socket.request.max.bytes: closed without an answer, the log says why, others go on."""
    lab = SimEngine({"socket.request.max.bytes": 100})
    client, other = lab.client(), lab.client()
    client.socket.send(heartbeats(1) + pack(">i", size) + b"rest")
    other.socket.send(heartbeats(1))

    assert f"a frame of {size} bytes" in client.close_reason
    assert correlation_ids(client.socket.take()) == [0], "what was whole before is answered"
    assert correlation_ids(other.socket.take()) == [0]


@pytest.mark.rules("AV-3")
@pytest.mark.parametrize("first_bytes", [0, 4, 20])
def test_a_frame_of_exactly_the_largest_size_is_fine(first_bytes: int) -> None:
    """socket.request.max.bytes itself is allowed; one more is not, even if all of it is here already."""
    frame = heartbeats(1)
    for limit, is_closed in ((len(frame) - 4, False), (len(frame) - 5, True)):
        client = SimEngine({"socket.request.max.bytes": limit}).client()
        for piece in (frame[:first_bytes], frame[first_bytes:]):
            if piece and not client.socket.is_closed:
                client.socket.send(piece)
        assert client.socket.is_closed is is_closed


@pytest.mark.parametrize("size", range(10))
@pytest.mark.rules("AV-4")
def test_a_frame_without_room_for_a_header_closes_the_connection(size: int) -> None:
    """Key, version, correlation id and the length of the client id need ten bytes."""
    client = SimEngine().client()
    client.socket.send(framed(b"\0" * size))
    assert f"a frame of {size} bytes is too short for a request header" in client.close_reason


@pytest.mark.parametrize(
    ("key", "version", "why"),
    [
        (999, 0, "API key 999 is not supported"),
        (-1, 0, "API key -1 is not supported"),
        (12, 5, "Heartbeat v5 is not supported; this broker supports v0 to v4"),
        (12, -1, "Heartbeat v-1 is not supported"),
        (1, 3, "Fetch v3 is not supported; this broker supports v4 to v18"),
        (4, 0, "LeaderAndIsr (4) is not supported: only brokers and controllers use it"),
    ],
)
@pytest.mark.rules("AV-4")
def test_what_is_not_served_closes_the_connection(key: int, version: int, why: str) -> None:
    """Unknown keys and versions: closed without an answer."""
    client = SimEngine().client()
    client.socket.send(framed(pack(">hhih", key, version, 1, -1)))
    assert why in client.close_reason
    assert client.socket.take() == b""


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "the input is truncated"),
        (b"\x03g", "the input is truncated"),
        (b"\x02g\0\0\0\1\x02m\0\xff\xff\xff\xff\x7f", "a varint"),
        (b"\0\0\0\0\1\x02m\0\0", "GroupId"),
    ],
)
@pytest.mark.rules("AV-4")
def test_a_body_that_does_not_parse_closes_the_connection(body: bytes, why: str) -> None:
    """Too short, tags beyond the frame, null is not allowed: the reason names API, version and field."""
    client = SimEngine().client()
    client.socket.send(framed(pack(">hhih", 12, 4, 1, -1) + b"\0" + body) + heartbeats(1))
    assert client.close_reason.startswith("HeartbeatRequest v4")
    assert why in client.close_reason
    assert client.socket.take() == b""


def test_a_client_id_beyond_the_frame_closes_the_connection() -> None:
    """The header is checked like the body, and a frame is never read past its end into the next one."""
    client = SimEngine().client()
    client.socket.send(framed(pack(">hhih", 12, 4, 1, 500) + b"abc") + heartbeats(20))
    assert "a client id of 500 bytes" in client.close_reason


def test_a_body_is_not_read_past_its_frame() -> None:
    """The bytes of the next frame do not complete this one."""
    client = SimEngine().client()
    whole = heartbeats(1)[4:]
    client.socket.send(framed(whole[:-3]) + heartbeats(1))
    assert "is truncated" in client.close_reason


@pytest.mark.rules("AV-11")
def test_bytes_behind_a_body_are_ignored() -> None:
    """A newer client may append what we do not know."""
    client = SimEngine().client()
    client.socket.send(framed(heartbeats(1)[4:] + b"more") + heartbeats(1, first=1))
    assert correlation_ids(client.socket.take()) == [0, 1]


@pytest.mark.rules("AV-11", "AV-1")
def test_unknown_tagged_fields_in_the_header_are_skipped() -> None:
    """Header v2 may carry tags that nobody knows."""
    body = b"\x02g\0\0\0\1\x02m\0\0"
    client = SimEngine().client()
    client.socket.send(framed(pack(">hhih", 12, 4, 77, 2) + b"id" + b"\x01\x09\x03abc" + body))
    assert correlation_ids(client.socket.take()) == [77]


@pytest.mark.rules("AV-11")
def test_half_a_frame_is_waited_for() -> None:
    """Silence in the middle of a frame costs nothing but the bytes that came, for however long."""
    lab = SimEngine()
    client = lab.client()
    data = heartbeats(1)
    client.socket.send(data[:20])
    lab.network.advance(86_400_000)
    assert not client.socket.is_closed
    client.socket.send(data[20:])
    assert correlation_ids(client.socket.take()) == [0]


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"r" * 32, "TLS handshake"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP"),
        (b"POST /topics/a HTTP/1.1\r\n\r\n", "HTTP"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "text: 'SSH-2.0-"),
    ],
)
def test_other_protocols_are_named(data: bytes, hint: str) -> None:
    """Whoever speaks TLS or HTTP to the port finds that in the reason."""
    client = SimEngine().client()
    client.socket.send(data)
    assert hint in client.close_reason


def test_the_reason_goes_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """One log line says whose connection was closed, and why."""
    client = SimEngine().client()
    client.socket.send(framed(pack(">hhih", 999, 0, 1, -1)))
    assert caplog.messages == [
        "closing the connection from 127.0.0.1: API key 999 is not supported: Kafka 4.3 has no such API"
    ]


def test_the_log_names_the_client_and_its_api(caplog: pytest.LogCaptureFixture) -> None:
    """A client that has said nothing before is known by the request that is not served."""
    client = SimEngine().client()
    client.socket.send(framed(pack(">hhih", 58, 0, 1, 5) + b"svc-1" + b"\0"))
    (message,) = caplog.messages
    who, what, why = message.removeprefix("closing the connection from ").split(": ")
    assert who == 'client "svc-1" (127.0.0.1)'
    assert what == "Envelope (58) is not supported"
    assert why == "only brokers and controllers use it"


def test_names_in_the_log_stay_on_their_line(caplog: pytest.LogCaptureFixture) -> None:
    """Who calls himself by control characters, or by a novel, forges no log line."""
    for name in (b"a\nERROR forged", b"\x1b[31mred", b"x" * 30_000):
        SimEngine().client().socket.send(framed(pack(">hhih", 26, 0, 1, len(name)) + name))
    assert [
        message.partition(" (127")[0].removeprefix("closing the connection from ") for message in caplog.messages
    ] == [
        r'client "a\nERROR forged"',
        r'client "\x1b[31mred"',
        f'client "{"x" * 200}... (30,000 characters)"',
    ]


def test_nothing_is_taken_up_after_the_reason_to_close() -> None:
    """A connection that is to be closed reads no more, and answers nothing behind the fault."""
    connection = SimEngine().bare_connection()
    connection.receive(heartbeats(1) + pack(">i", -5) + heartbeats(1), START)
    connection.receive(heartbeats(1), START)
    connection.resume(START)
    assert correlation_ids(b"".join(connection.data_to_send())) == [0]
    assert connection.waiting_bytes == 0


def test_a_client_may_leave_while_its_request_is_parked() -> None:
    """Its member stays until the timers decide, the late answer goes nowhere, and nothing breaks."""
    lab = SimEngine(profile="kafka")
    client = lab.client()
    client.join()
    client.socket.close()
    lab.network.advance(KAFKA_DELAY_MS + 60_000)
    assert client.socket.take() == b""
    assert lab.engine.errors == []
    assert lab.engine.connections == {}


def test_bytes_behind_a_parked_request_are_counted() -> None:
    """The driver can see how much waits, and stop reading."""
    connection = SimEngine(profile="kafka").bare_connection()
    connection.receive(request("JoinGroup", 3, **JOIN), START)
    assert (connection.is_parked, connection.waiting_bytes) == (True, 0)
    connection.receive(heartbeats(10), START)
    assert connection.waiting_bytes == len(heartbeats(10))


def test_the_client_id_may_change_and_may_be_null() -> None:
    """Each request says who it is from; the journal knows."""
    lab = SimEngine()
    client = lab.client()
    for client_id in ("a", None, "", "b"):
        client.ask("Heartbeat", 4, client_id=client_id, group_id="g", generation_id=1, member_id="m")
    assert [exchange.client_id for exchange in lab.journal.requests()] == ["a", None, "", "b"]


def test_due_timers_run_before_requests_of_the_same_moment() -> None:
    """What falls due at the moment of a request has happened when the request is looked at."""
    lab = SimEngine()
    client = lab.client()
    order: list[str] = []
    lab.cluster.timers.mono.arm(Deadline(lambda _now: order.append("timer")), START.mono_ms + 10)
    client.socket.connection.receive(heartbeats(1), Instant(START.wall_ms, START.mono_ms + 10))
    order.append("answered" if client.socket.connection.data_to_send() else "silent")
    assert order == ["timer", "answered"]
