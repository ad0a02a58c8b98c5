"""Plays the client's part of a dialogue and compares what the broker does with the recording.

Steps name their request by an id: it is sent by a `send` step, may have to stay unanswered for a while (`silent`), and
is answered (`recv`) or not (`closed`) many steps later, with requests of other connections in between. So an answer may
arrive long before the step that compares it; it is kept in `_sent` until then.
"""

import struct
from collections.abc import Container
from functools import partial
from typing import NamedTuple

from fakebroker.client.cluster.cluster_client import ClusterClient
from fakebroker.client.connection import ClientConnection, Pending
from fakebroker.client.login import TOKEN_EXTENSION, Credentials, log_in
from fakebroker.client.scripted.driver import Driver
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.schema import Message
from fakebroker.protocol.schema.jsonable import from_json, to_json
from fakebroker.protocol.wire.registry import api, no_api
from fakebroker.scenarios.comparison.names import Names, value_at
from fakebroker.scenarios.comparison.references import differences
from fakebroker.scenarios.dialogue import node_ids
from fakebroker.scenarios.dialogue.batches import build, read_batches
from fakebroker.scenarios.dialogue.cluster_steps import ClusterSteps, marks
from fakebroker.scenarios.dialogue.script import Dialogue
from fakebroker.scenarios.dialogue.setup_step import make_ready
from fakebroker.testing.exchanges.kinds import (
    Close,
    Closed,
    ClusterStep,
    Json,
    MakeTopics,
    MoveLeader,
    NameNodes,
    NodeControl,
    Ready,
    Receive,
    ScramLogin,
    Send,
    Settled,
    Silent,
    Sleep,
    Step,
)

RAW_CORRELATION_ID = 0x7FFFFFFF
CLOSE_WITHIN_MS = 10_000
ANSWER_WITHIN_MS = 10_000  # on top of the recorded wait
READY_TRIES, READY_PAUSE_MS = 300, 100
LATE_MS = 250  # the jitter of a recorded broker: a session or a timer of the dialogue may end early if more is lost
SETUP_CLIENT_ID = "setup"


class StepFailed(FakebrokerError):
    """A step whose outcome makes the following ones meaningless; the dialogue ends there."""


class _SentRequest:
    """A request that was sent and not compared yet: when it was sent, what to save of its answer, how to read it."""

    def __init__(self, title: str, pending: Pending, sent_ms: int, save: dict[str, str], decode_batches: bool) -> None:
        self.title = title
        self.pending = pending
        self.sent_ms = sent_ms
        self.save = save
        self.decode_batches = decode_batches


class _Answer(NamedTuple):
    """An answer to compare: of which request, what Kafka said, what came, and the time that "now" stands for."""

    title: str
    want: Json
    got: Json
    wall_ms: int


class Player:
    """Plays dialogues through a driver.

    `tag` replaces "~" in the names of groups, topics and transactional ids; no earlier play on the same broker may have
    used it, because its groups and topics are still there.

    `was_late`: before anything differed, the steps had together taken LATE_MS longer than recorded. In real time a
    busy machine may be the reason, for the difference too: a session that ran out because a heartbeat was sent late.
    """

    def __init__(
        self,
        driver: Driver,
        tag: str,
        served: Container[str] | None = None,
        node_id: int = node_ids.RECORDED,
    ) -> None:
        """`served` are the names of the APIs that the broker serves, if known; `node_id` is a single broker's id."""
        self._node_id = node_id
        self._driver = driver
        self._served = served
        self._names = Names(tag)
        self._clients: dict[str, ClientConnection] = {}
        self._sent: dict[int, _SentRequest] = {}
        self._late_ms = 0
        self._asking = ClusterClient(
            driver=driver,
            client_id=SETUP_CLIENT_ID,
            timeout_ms=ANSWER_WITHIN_MS,
            retries=READY_TRIES,
            retry_pause_ms=READY_PAUSE_MS,
        )
        self._cluster = ClusterSteps(self.call, self._ask, self._names, driver)
        self._answers: list[_Answer] = []  # not compared yet
        self._compares_at_end = False
        self.was_late = False

    def play(self, dialogue: Dialogue) -> list[str]:
        """Play every step. Returns a line for each difference from the recording; empty if there is none.

        A difference inside an answer does not end the dialogue, a missing answer does. Raises nothing of that kind.
        """
        problems: list[str] = []
        self._compares_at_end = dialogue.nodes > 1
        for line, step in enumerate(dialogue.steps, 2):
            where = f"line {line} {self._title(step)}"
            found, goes_on = self._try_step(step)
            self.was_late = self.was_late or (not problems and bool(found) and self._late_ms > LATE_MS)
            problems += [f"{where}: {problem}" for problem in found]
            if not goes_on:
                break
        problems += [problem for answer in self._answers for problem in self._compared(answer)]
        for client in self._clients.values():
            self._driver.close(client)
        self._asking.close()
        return problems

    def call(self, api_name: str, version: int, **request: Json) -> Json:
        """Send a request on a connection of its own and wait for the answer; both as JSON with Kafka's field names.

        Raises ClusterError when no answer comes within ANSWER_WITHIN_MS.
        """
        return self._call_at(self._cluster.address_of(""), api_name, version, request)

    def _ask(self, address: Address, api_name: str, version: int, **request: Json) -> Json:
        """The same at one broker; None if it does not answer."""
        try:
            return self._call_at(address, api_name, version, request)
        except FakebrokerError:
            return None

    def _call_at(self, address: Address | None, api_name: str, version: int, request: Json) -> Json:
        pending = self._asking.exchange_at(address, _message(api_name, version, request), version, version)
        return to_json(pending.result(), version)

    def _try_step(self, step: Step) -> tuple[list[str], bool]:
        """What was not as recorded, and whether the dialogue can go on; counts how late the step was."""
        usual_ms, began_ms = self._usual_ms(step), self._driver.mono_ms
        try:
            return self._play_step(step), True
        except (FakebrokerError, OSError, LookupError, ValueError, TypeError, AttributeError, struct.error) as error:
            return [_reason(error)], False
        finally:
            if usual_ms is not None:
                self._late_ms += max(0, self._driver.mono_ms - began_ms - usual_ms)

    def _usual_ms(self, step: Step) -> int | None:
        """How long the step took in the recording; None where that was not recorded."""
        match step:
            case Sleep() | Silent():
                return step.for_ms
            case Receive() if step.id in self._sent:
                return max(0, self._sent[step.id].sent_ms + step.waited_ms - self._driver.mono_ms)
            case Send() | Close():
                return 0
        return None

    def _play_step(self, step: Step) -> list[str]:
        match step:
            case Send():
                self._send(step) if step.hex is None else self._send_raw(step, bytes.fromhex(step.hex))
            case Receive():
                return self._receive(step)
            case Silent():
                return self._stay_silent(step)
            case Closed():
                return self._expect_close(step)
            case Sleep():
                self._driver.pass_time(step.for_ms)
            case Close():
                self._driver.close(self._clients.pop(step.connection))
            case ScramLogin():
                return self._log_in(step)
            case Ready():
                self._make_ready(step)
            case NameNodes() | MakeTopics() | NodeControl() | MoveLeader() | Settled():
                self._play_cluster_step(step)
        return []

    def _play_cluster_step(self, step: ClusterStep) -> None:
        if isinstance(step, NodeControl):
            self._asking.close()  # the broker may be one that connections go to
        self._cluster.play(step)

    def _send(self, step: Send) -> None:
        wall_ms = self._driver.wall_ms
        own = node_ids.filled(self._names.fill(step.message, wall_ms), self._node_id)
        request = build(self._cluster.fill(own), wall_ms)
        client = self._client(step.connection)
        pending = client.send(_message(step.api, step.version, request), step.version)
        title = f"{step.id} {step.api} v{step.version}"
        self._sent[step.id] = _SentRequest(title, pending, self._driver.mono_ms, step.save, step.reads_records)
        self._driver.flush(client)

    def _send_raw(self, step: Send, data: bytes) -> None:
        client = self._client(step.connection)
        pending = client.expect(api(step.api).key, step.version, RAW_CORRELATION_ID)
        client.send_bytes(data)
        self._sent[step.id] = _SentRequest(f"{step.id} raw", pending, self._driver.mono_ms, {}, False)
        self._driver.flush(client)

    def _receive(self, step: Receive) -> list[str]:
        request = self._sent.pop(step.id)
        self._await(request.pending, step.waited_ms + ANSWER_WITHIN_MS)
        waited_ms = self._driver.mono_ms - request.sent_ms
        wall_ms = self._driver.wall_ms
        pending = request.pending
        show_records = partial(read_batches, wall_ms=wall_ms) if request.decode_batches else None
        answer = to_json(pending.result(), pending.version, show_records)
        for name, path in request.save.items():
            self._names.save(name, value_at(answer, path))
        compared = _Answer(request.title, step.message, answer, wall_ms)
        problems: list[str] = []
        if self._compares_at_end:
            self._answers.append(compared)
        else:
            problems = self._compared(compared)
        if step.is_untimed:
            return problems
        if abs(waited_ms - step.waited_ms) > self._driver.tolerance_ms(step.waited_ms):
            problems.append(f"answered after {waited_ms} ms, Kafka {step.waited_ms} ms")
        # In virtual time the broker answers at once. Timers (sessions, rebalances) go by the time between requests, so
        # where Kafka took longer, the same time has to pass before the next step.
        if self._driver.keeps_recorded_pace:
            self._driver.pass_time(max(0, step.waited_ms - waited_ms))
        return problems

    def _compared(self, answer: "_Answer") -> list[str]:
        """What differs; saved names may appear in answers before the step that saves them, if there are brokers."""
        got = self._cluster.blank(node_ids.blanked(answer.got, self._node_id))
        found = differences(answer.want, got, self._names, answer.wall_ms)
        problems = [each.text("Kafka") for each in found]
        named, wanted = sorted(marks(got)), sorted(marks(answer.want))
        if named != wanted:
            problems.append(f"brokers {named}, Kafka {wanted}")
        return [f"{answer.title}: {problem}" for problem in problems] if self._compares_at_end else problems

    def _stay_silent(self, step: Silent) -> list[str]:
        request = self._sent[step.id]  # stays there: its answer is still to come
        self._driver.pass_time(step.for_ms)
        if not request.pending.is_done:
            return []
        raise StepFailed(f"must be unanswered for {step.for_ms} ms, but {self._outcome(request)}")

    def _expect_close(self, step: Closed) -> list[str]:
        request = self._sent.pop(step.id)
        self._await(request.pending, CLOSE_WITHIN_MS)
        if request.pending.error is not None:
            return []
        raise StepFailed(f"Kafka closes the connection, but {self._outcome(request)}")

    def _log_in(self, step: ScramLogin) -> list[str]:
        client, wall_ms = self._client(step.connection), self._driver.wall_ms
        user, password = (self._names.fill(text, wall_ms) for text in (step.user, step.password))
        has_token = TOKEN_EXTENSION in step.extensions
        flow = log_in(client, Credentials(user, password, step.mechanism, delegation_token=has_token))
        pending = next(flow)
        try:
            while True:
                self._driver.flush(client)
                self._await(pending, ANSWER_WITHIN_MS)
                pending = flow.send(pending.result())
        except StopIteration as end:
            code = end.value.error_code
        return [] if code == step.error_code else [f"error {code}, Kafka {step.error_code}"]

    def _make_ready(self, step: Ready) -> None:
        if SETUP_CLIENT_ID in self._clients:  # the dialogue has logged in on it
            self._asking.adopt(self._clients[SETUP_CLIENT_ID])
        make_ready(self._asking, self._names, step, self._driver.wall_ms, self._served)

    def _client(self, name: str) -> ClientConnection:
        if name not in self._clients:
            client = ClientConnection(name)
            self._driver.open(client, self._cluster.address_of(name))
            self._clients[name] = client
        return self._clients[name]

    def _await(self, pending: Pending, within_ms: int) -> None:
        if not self._driver.pass_time(within_ms, lambda: pending.is_done):
            raise StepFailed(f"no answer within {within_ms} ms")

    def _outcome(self, request: _SentRequest) -> str:
        if request.pending.error is not None:
            return _reason(request.pending.error)
        return f"it was answered: {to_json(request.pending.result(), request.pending.version)}"

    def _title(self, step: Step) -> str:
        """What a reported difference calls a step: its kind and its request."""
        kind = type(step).__name__.lower()
        if isinstance(step, Send):
            return f"{kind} {step.id} {step.api} v{step.version}"
        if isinstance(step, (Receive, Silent, Closed)):
            request = self._sent.get(step.id)
            return f"{kind} {request.title}" if request else f"{kind} {step.id}"
        return kind


def _message(api_name: str, version: int, data: Json) -> Message:
    try:
        cls = api(api_name).request
    except KeyError:
        raise StepFailed(no_api(api_name)) from None
    return from_json(cls, version, data)


def _reason(error: Exception) -> str:
    text = str(error)[:300]
    return text if isinstance(error, FakebrokerError) else f"{type(error).__name__} {text}"
