"""A connection is always in one state, and that is the one that what came in and what was answered make it."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from fakebroker.broker.engine.connection import REQUESTS_PER_TURN, Connection
from fakebroker.broker.engine.connection_state import (
    BUFFERED,
    CLOSING,
    ENDED,
    GONE,
    PARKED,
    READING,
    SERVING,
    TRANSITIONS,
    ConnectionState,
)
from fakebroker.protocol.listeners import Address
from fakebroker.serve.net import client_connection
from tests.support.engine import SimEngine
from tests.support.frames import correlation_ids, framed, long_poll, request

WAIT_MS = 1_000


def reachable(table: dict[ConnectionState, dict[ConnectionState, str]], start: ConnectionState) -> set[ConnectionState]:
    found, ahead = set(), [start]
    while ahead:
        state = ahead.pop()
        if state not in found:
            found.add(state)
            ahead += table[state]
    return found


def test_every_state_leads_to_the_end_and_none_out_of_it() -> None:
    """Each state has a row and is reached from the first; the connection may be closed in each; GONE is the end."""
    assert set(TRANSITIONS) == set(ConnectionState) == reachable(TRANSITIONS, READING)
    assert all(GONE in TRANSITIONS[state] for state in ConnectionState if state is not GONE)
    assert all(CLOSING in TRANSITIONS[state] for state in ConnectionState if state not in ENDED)
    assert not TRANSITIONS[GONE]


def test_requests_are_only_served_in_a_turn() -> None:
    """A request parks in a turn and nowhere else, and while one is parked there is no turn (AV-2)."""
    assert [state for state in ConnectionState if PARKED in TRANSITIONS[state]] == [SERVING]
    assert SERVING not in TRANSITIONS[PARKED]


def test_the_clients_table_leads_to_the_end() -> None:
    """The same of sockets: every state has a row, may close, and nothing comes after that."""
    table = client_connection.TRANSITIONS
    assert set(table) == set(client_connection.ClientState)
    assert all(client_connection.CLOSED in table[state] for state in table if state is not client_connection.CLOSED)
    assert table[client_connection.CLOSED] == ()


class Taker:
    """A driver that only takes what is made; turns are taken by the rules."""

    def __init__(self, connection: Connection) -> None:
        self.taken = b""
        self._connection = connection

    def flush(self) -> None:
        self.taken += b"".join(self._connection.data_to_send())


class Model:
    """What has come in and what must have become of it, by counting."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, int, int]] = []  # kind, correlation id, where it ends in the stream
        self.arrived_bytes = 0
        self.served = 0  # of `sent`
        self.answered: list[int] = []
        self.parked: int | None = None
        self.state = READING

    @property
    def _served_bytes(self) -> int:
        return self.sent[self.served - 1][2] if self.served else 0

    def receive(self, size: int) -> None:
        if self.state in ENDED:
            return
        kept_bytes = self.arrived_bytes - self._served_bytes
        self.arrived_bytes += size
        if self.state is BUFFERED and self._is_cut(kept_bytes) and self.sent[self.served][2] < self.arrived_bytes:
            self.turn(1)
        if self.state not in (PARKED, *ENDED):
            self.turn()

    def _is_cut(self, kept_bytes: int) -> bool:
        """Whether what is kept is the beginning of a frame, with its length. The rest of it is taken up by itself."""
        kind, _, end_bytes = self.sent[self.served]
        return kind != "bad length" and 4 <= kept_bytes < end_bytes - self._served_bytes

    def turn(self, most: int = REQUESTS_PER_TURN) -> None:
        """What arrived is served, 64 requests at most; then the length of the next frame is looked at."""
        for _ in range(most):
            if self.served == len(self.sent) or self.sent[self.served][2] > self.arrived_bytes:
                break
            kind, number, _ = self.sent[self.served]
            if kind == "bad length":
                break
            self.served += 1
            if kind == "unserved":
                self.state = CLOSING
                return
            if kind == "wait":
                self.parked, self.state = number, PARKED
                return
            self.answered.append(number)
        rest_bytes = self.arrived_bytes - self._served_bytes
        if rest_bytes >= 4 and self.sent[self.served][0] == "bad length":
            self.state = CLOSING
        else:
            self.state = BUFFERED if rest_bytes else READING

    def answer(self) -> None:
        if self.parked is not None and self.state is PARKED:
            self.answered.append(self.parked)
            self.state = BUFFERED if self.arrived_bytes > self._served_bytes else READING
        self.parked = None


class ConnectionMachine(RuleBasedStateMachine):
    """Frames of any kind come in pieces of any size; turns, answers and the end come at any moment."""

    @initialize()
    def connect(self) -> None:
        self.lab = SimEngine()
        self.lab.cluster.topics.create("t", 1, 1)
        engine = self.lab.engine
        self.connection = engine.connect(engine.listeners[0], "/127.0.0.1", Address("127.0.0.1", 9092), engine.now)
        self.connection.driver = self.driver = Taker(self.connection)
        self.model = Model()
        self.stream = b""
        self.number = 0

    @rule(kind=st.sampled_from(["ask", "ask", "ask", "wait", "bad length", "unserved"]), many=st.booleans())
    def send(self, kind: str, many: bool) -> None:
        for _ in range(50 if many and kind == "ask" else 1):
            self.number += 1
            frame = self._frame(kind)
            self.stream += frame
            before = self.model.sent[-1][2] if self.model.sent else 0
            self.model.sent.append((kind, self.number, before + len(frame)))

    def _frame(self, kind: str) -> bytes:
        if kind == "wait":
            return long_poll(WAIT_MS, correlation_id=self.number)
        if kind == "bad length":
            return framed(b"abc")
        if kind == "unserved":
            return framed(b"\x7f\xff" + bytes(12))
        return request("Heartbeat", 4, self.number, group_id="g", generation_id=1, member_id="m")

    @rule(share=st.floats(0, 1))
    def deliver(self, share: float) -> None:
        data, self.stream = self._cut(int(len(self.stream) * share))
        if data:
            self.connection.receive(data, self.lab.engine.now)
            self.model.receive(len(data))

    def _cut(self, size: int) -> tuple[bytes, bytes]:
        return self.stream[:size], self.stream[size:]

    @rule()
    def take_a_turn(self) -> None:
        if self.connection.wants_turn:
            self.connection.resume(self.lab.engine.now)
            self.model.turn()

    @rule()
    def answer_what_is_parked(self) -> None:
        self.lab.engine.advance_to(self.lab.engine.now.plus(WAIT_MS))
        self.model.answer()

    @rule()
    def close(self) -> None:
        self.connection.closed(self.lab.engine.now)
        self.model.state = GONE

    @invariant()
    def all_is_as_the_model_says(self) -> None:
        self.lab.engine.flush()
        assert self.connection.state is self.model.state
        assert correlation_ids(self.driver.taken) == self.model.answered
        assert (self.connection.close_reason is not None) == (self.model.state in ENDED)
        assert (self.connection.parked_call is not None) == (self.model.state is PARKED)
        assert not self.connection.wants_turn or self.model.state is BUFFERED
        assert self.lab.engine.errors == []


TestConnectionMachine = pytest.mark.rules("AV-1", "AV-2", "AV-3", "AV-11")(ConnectionMachine.TestCase)
