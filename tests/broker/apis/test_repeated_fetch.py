"""Fetches like the one before: which of them are answered without being decoded, and that nobody can tell."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis import fetch, repeated_fetch
from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.security.principals import ANONYMOUS
from fakebroker.broker.core.topics import Topic
from fakebroker.broker.engine.lanes import MAX_MISSES
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.frame import decode_response, encode_request
from fakebroker.protocol.wire.framing import with_length
from fakebroker.protocol.wire.messages.fetch import FetchRequest, FetchResponse
from tests.support.engine import Client, SimEngine
from tests.support.fetches import At, fetch_request
from tests.support.frames import frames
from tests.support.time import T0

MADE_OF = 2  # the request of a row that a layout is made of
VERSIONS = [10, 11, 12, 13, 18]


class Broker:
    """Topic "t" with four partitions of three small batches each, and one client."""

    def __init__(self, *, uses_layouts: bool) -> None:
        self.sim = SimEngine(seed=1)
        self.sim.engine.uses_layouts = uses_layouts
        self.topic: Topic = self.sim.cluster.topics.create("t", 4)
        for partition in range(4):
            self.produce(partition, 3)
        self.client: Client = self.sim.client()

    def produce(self, partition: int = 0, count: int = 1, size: int = 100) -> None:
        batch = build_batch([Record(0, T0, None, b"v" * (size - 68))])
        for _ in range(count):
            self.topic.partitions[partition].log.append(batch, self.sim.network.now)

    def abort(self, partition: int) -> None:
        log, now = self.topic.partitions[partition].log, self.sim.network.now
        own: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
        log.append(build_batch([Record(0, T0, None, b"v" * 32)], **own), now)
        log.append_marker(7, 0, now, commit=False, coordinator_epoch=0)

    def send(self, request: FetchRequest, version: int) -> list[bytes]:
        """What comes at once."""
        self.client.socket.send(with_length(encode_request(request, version, 1, "test")))
        return self.taken()

    def taken(self) -> list[bytes]:
        return frames(self.client.socket.take())


class Twins:
    """Two brokers to which the same happens; one decodes every request. Their answers must be equal byte by byte.

    `general` counts the requests that the other one decoded.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, version: int = 12) -> None:
        self.general = 0
        self.version = version
        self.session, self.epoch = 0, -1
        handle = fetch.handle

        def counted(call: Call, request: FetchRequest) -> FetchResponse | None:
            self.general += call.cluster is self.quick.sim.cluster
            return handle(call, request)

        monkeypatch.setattr(fetch, "handle", counted)
        self.quick, self.plain = Broker(uses_layouts=True), Broker(uses_layouts=False)

    def both(self, what: Callable[[Broker], Any]) -> None:
        """The same happens to both."""
        for broker in (self.quick, self.plain):
            what(broker)

    def produce(self, partition: int = 0, count: int = 1, size: int = 100) -> None:
        self.both(lambda broker: broker.produce(partition, count, size))

    def abort(self, partition: int) -> None:
        """A transaction of one batch."""
        self.both(lambda broker: broker.abort(partition))

    def open(self, *asked: At, **fields: Any) -> None:
        """Begin a session; the requests from now on are in it."""
        self.session, self.epoch = 0, 0
        self.session, self.epoch = self.ask(*asked, **fields).session_id, 1

    def ask(self, *asked: At, epoch: int | None = None, **fields: Any) -> Any:
        """The answer, None if there is none yet. In a session the epoch goes on by itself unless it is given."""
        number = self.epoch if epoch is None else epoch
        self.epoch += bool(self.session) and epoch is None

        def send(broker: Broker) -> list[bytes]:
            cluster = broker.sim.cluster
            fields_of_it = {"version": self.version, "session": self.session, "epoch": number, **fields}
            return broker.send(fetch_request(cluster, *asked, **fields_of_it), self.version)

        return self._same(send(self.quick), send(self.plain))

    def wait(self, ms: int) -> Any:
        """The answer that comes while time passes."""
        self.both(lambda broker: broker.sim.network.advance(ms))
        return self._same(self.quick.taken(), self.plain.taken())

    def is_general(self, *asked: At, **fields: Any) -> bool:
        """Whether a request is decoded."""
        before = self.general
        self.ask(*asked, **fields)
        return self.general > before

    def _same(self, found: list[bytes], expected: list[bytes]) -> Any:
        assert found == expected
        assert not self.quick.sim.engine.errors
        return decode_response(ApiKey.FETCH, self.version, found[0])[1] if found else None


@pytest.fixture
def twins(monkeypatch: pytest.MonkeyPatch) -> Twins:
    return Twins(monkeypatch)


def listed(answer: Any) -> list[tuple[int, int]]:
    """(partition, bytes of records) in the order of an answer."""
    return [(data.partition_index, len(data.records)) for entry in answer.responses for data in entry.partitions]


def warm(twins: Twins, *asked: At, **fields: Any) -> None:
    """Send a request until the next like it is not decoded."""
    for _ in range(MADE_OF):
        assert twins.is_general(*asked, **fields)
    assert not twins.is_general(*asked, **fields)


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("version", VERSIONS)
def test_without_a_session(monkeypatch: pytest.MonkeyPatch, version: int, committed: bool) -> None:
    """The third of a kind is not decoded, from whatever offsets it reads, one batch or many or none."""
    twins = Twins(monkeypatch, version)
    warm(twins, At(0), At(1), committed=committed)
    for first, second in [(1, 2), (2, 0), (3, 1), (3, 2), (0, 3)]:
        before = twins.general
        answer = twins.ask(At(0, offset=first), At(1, offset=second), committed=committed)
        assert listed(answer) == [(0, 300 - 100 * first), (1, 300 - 100 * second)]
        assert twins.general == before


@pytest.mark.parametrize("version", VERSIONS)
def test_in_a_session(monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    """The same for the requests of a session, each of which moves one partition; those with records go to the end."""
    twins = Twins(monkeypatch, version)
    twins.open(At(0, offset=3), At(1, offset=3), At(2))
    warm(twins, At(1, offset=2))
    before = twins.general
    assert listed(twins.ask(At(1, offset=3))) == [(2, 300)]
    twins.produce(0)
    twins.produce(1)
    assert listed(twins.ask(At(1, offset=3))) == [(0, 100), (1, 100), (2, 300)]
    assert listed(twins.ask(At(1, offset=4))) == [(0, 100), (2, 300)]
    assert twins.general == before


@pytest.mark.rules("FT-15", "FT-7")
@pytest.mark.parametrize("has_session", [False, True])
@pytest.mark.parametrize("version", VERSIONS)
def test_aborted_transactions(monkeypatch: pytest.MonkeyPatch, version: int, has_session: bool) -> None:
    """Lists that are not empty, or null for want of room, are in answers to requests that are not decoded, too."""
    twins = Twins(monkeypatch, version)
    if has_session:
        twins.open(At(0, offset=3), At(1), committed=True)
    for _ in range(MADE_OF):
        twins.ask(At(0, offset=3), At(1), committed=True)
    before = twins.general
    twins.abort(0)
    for offset, aborted in ((3, [(7, 3)]), (4, [(7, 3)]), (5, [])):
        answer = twins.ask(At(0, offset=offset), At(1), committed=True)
        assert answer.session_id == twins.session
        lists = {data.partition_index: data.aborted_transactions for e in answer.responses for data in e.partitions}
        assert [(each.producer_id, each.first_offset) for each in lists.get(0, [])] == aborted
        assert lists[1] == []
    assert twins.general == before
    for max_bytes in (100, 150, 350):
        for _ in range(MADE_OF + 2):
            twins.ask(At(1), At(0, offset=3), committed=True, max_bytes=max_bytes)


def test_a_session_of_unknown_offsets_is_not_touched_by_a_step_back(twins: Twins) -> None:
    """What was tried and not answered leaves positions and what is known of the partitions as they were."""
    twins.open(At(0, offset=3), At(1, offset=3))
    warm(twins, At(0, offset=2))
    assert twins.is_general(At(0, offset=9)), "an error is not for the template"
    assert twins.ask(At(0, offset=3)).error_code == 0
    assert not twins.is_general(At(0, offset=1))


@pytest.mark.parametrize("has_session", [False, True])
def test_what_would_wait_is_decoded(twins: Twins, has_session: bool) -> None:
    """Too little for min_bytes with a wait: it is parked as ever, and answered when there is enough or time is up."""
    if has_session:
        twins.open(At(0), At(1, offset=3))
    warm(twins, At(0), wait=500, min_bytes=200)
    assert not twins.is_general(At(0, offset=1), wait=500, min_bytes=200), "as many bytes as it wants"
    before = twins.general
    assert twins.ask(At(0, offset=2), wait=500, min_bytes=200) is None
    assert twins.general == before + 1
    twins.produce()
    assert listed(twins.wait(1)) == [(0, 200)]
    assert twins.ask(At(0, offset=3), wait=500, min_bytes=200) is None
    assert listed(twins.wait(500)) == [(0, 100)]
    assert not twins.is_general(At(0, offset=1), wait=500, min_bytes=200)


@pytest.mark.parametrize("has_session", [False, True])
def test_without_a_wait_little_is_enough(twins: Twins, has_session: bool) -> None:
    """max_wait_ms of 0 answers at once, whatever min_bytes says."""
    if has_session:
        twins.open(At(0), At(1, offset=3))
    warm(twins, At(0), min_bytes=1000)
    before = twins.general
    assert listed(twins.ask(At(0, offset=2), min_bytes=1000)) == [(0, 100)]
    assert twins.general == before


@pytest.mark.parametrize("has_session", [False, True])
def test_an_error_is_decoded(twins: Twins, has_session: bool) -> None:
    """An offset out of range is answered as ever, and the next good request again without being decoded."""
    if has_session:
        twins.open(At(0), At(1, offset=3))
    warm(twins, At(0))
    before = twins.general
    answer = twins.ask(At(0, offset=9))
    assert answer.responses[0].partitions[0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert twins.general == before + 1
    assert not twins.is_general(At(0))


@pytest.mark.parametrize("has_session", [False, True])
def test_a_leader_that_has_changed(twins: Twins, has_session: bool) -> None:
    """The partition is asked each time whether it may be read here."""
    if has_session:
        twins.open(At(0), At(1, offset=3))
    warm(twins, At(0, epoch=0))
    twins.both(lambda broker: broker.topic.partitions[0].begin_epoch(1))
    answer = twins.ask(At(0, epoch=0))
    assert answer.responses[0].partitions[0].error_code == ErrorCode.FENCED_LEADER_EPOCH


@pytest.mark.parametrize("has_session", [False, True])
def test_topics_that_come_and_go(twins: Twins, has_session: bool) -> None:
    """A topic made again under the name is another; after any change of topics the request is decoded again."""
    if has_session:
        twins.open(At(0), At(1, offset=3))
    warm(twins, At(0))
    twins.both(lambda broker: broker.sim.cluster.topics.create("other", 1))
    assert twins.is_general(At(0))

    def again_made(broker: Broker) -> None:
        topics = broker.sim.cluster.topics
        topics.delete("t", broker.sim.network.now)
        broker.topic = topics.create("t", 4)

    twins.both(again_made)
    assert listed(twins.ask(At(0))) == ([(1, 0), (0, 0)] if has_session else [(0, 0)])


@pytest.mark.parametrize("has_session", [False, True])
def test_settings_that_change(twins: Twins, has_session: bool) -> None:
    """fetch.max.bytes is asked again when a setting has changed."""
    if has_session:
        twins.open(At(0), At(1, offset=3))
    warm(twins, At(0))
    twins.both(lambda broker: broker.sim.cluster.nodes[1].settings.set_own("fetch.max.bytes", "1024"))
    twins.produce(0, size=2000)
    twins.produce(0)
    assert listed(twins.ask(At(0, offset=1))) == [(0, 1024)]


@pytest.mark.parametrize("asked", [(At(0), At(0, offset=1)), (At(7),), (At(0, topic="u"),), (At(0, offset=9),)])
@pytest.mark.parametrize("has_session", [False, True])
def test_no_template_of_errors(twins: Twins, has_session: bool, asked: tuple[At, ...]) -> None:
    """Requests with a partition twice, or with an error, are always decoded."""
    if has_session:
        twins.open(At(1))
    for _ in range(8):
        assert twins.is_general(*asked)


@pytest.mark.parametrize("version", [7, 9])
def test_older_versions_are_decoded(monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    """Before v10 the topic's compression decides, too."""
    twins = Twins(monkeypatch, version)
    for _ in range(8):
        assert twins.is_general(At(0))


def test_a_first_request_is_always_decoded(twins: Twins) -> None:
    """Epoch 0 makes a session each time; a layout made without a session does not take it for one without."""
    warm(twins, At(0))
    made = {twins.ask(At(0), epoch=0).session_id for _ in range(MAX_MISSES - 1)}
    assert len(made) == MAX_MISSES - 1
    assert 0 not in made
    assert not twins.is_general(At(0))


def test_to_forget_is_decoded(twins: Twins) -> None:
    """A request that forgets partitions is never repeated without being decoded."""
    twins.open(At(0), At(1))
    for _ in range(8):
        assert twins.is_general(At(0), forget=[At(3)])


def test_a_wrong_epoch_in_a_session(twins: Twins) -> None:
    """It is answered 71 as ever and changes nothing: the right one is answered without being decoded."""
    twins.open(At(0), At(1))
    warm(twins, At(0))
    answer = twins.ask(At(0), epoch=2)
    assert (answer.error_code, answer.responses) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, [])
    assert not twins.is_general(At(0, offset=1))


def test_a_session_that_was_closed(twins: Twins) -> None:
    """It is not found, also when another request closed it."""
    twins.open(At(0), At(1))
    warm(twins, At(0))
    twins.ask(At(0), epoch=-1)
    assert twins.ask(At(0)).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_partitions_that_a_session_forgot(twins: Twins) -> None:
    """A request that lists a forgotten partition adds it again: that is for the handler."""
    twins.open(At(0), At(1))
    warm(twins, At(0))
    assert listed(twins.ask(forget=[At(0)])) == [(1, 300)]
    assert listed(twins.ask(At(0))) == [(1, 300), (0, 300)]


def test_other_limits_in_between(twins: Twins) -> None:
    """What partitions had to give under other limits is no news to judge by: the request is decoded once more."""
    twins.open(At(0), At(1))
    warm(twins, At(0))
    assert listed(twins.ask(At(0), max_bytes=150)) == [(0, 150)]
    assert twins.is_general(At(0))


def test_a_partition_of_a_session_that_is_not_there(twins: Twins) -> None:
    """As long as one partition of the session cannot be found every request is decoded."""
    twins.open(At(0), At(1, topic="u"))
    for _ in range(8):
        answer = twins.ask(At(0, offset=2))
        assert [data.error_code for entry in answer.responses for data in entry.partitions] == [
            0,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ]
    assert twins.general == 1 + 8


def test_a_session_used_in_order_of_its_last_use(twins: Twins) -> None:
    """A request that is not decoded counts as one when the cache looks for the session unused for longest."""
    twins.open(At(0), At(1))
    warm(twins, At(0))
    first = twins.session
    twins.wait(1000)
    assert not twins.is_general(At(0))
    session = twins.quick.sim.cluster.nodes[1].fetch_sessions.get(first, str(ANONYMOUS))
    assert session is not None
    assert session.used_ms == twins.quick.sim.network.now.mono_ms


def test_templates_of_a_session_are_bounded(twins: Twins, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers that list ever other partitions are made without a template once there are enough."""
    monkeypatch.setattr(repeated_fetch, "MAX_TEMPLATES", 2)
    made = []
    template = repeated_fetch._template
    twins.open(*(At(partition, offset=3) for partition in range(4)))
    warm(twins, At(0, offset=2))
    monkeypatch.setattr(repeated_fetch, "_template", lambda *args: made.append(args) or template(*args))
    before = twins.general
    for partition in (1, 2, 3, 0):
        twins.produce(partition)
        twins.ask(At(0, offset=2))
    assert len(made) == 1, "beside the one that only lists partition 0"
    assert twins.general == before


@pytest.mark.parametrize("has_session", [False, True])
def test_no_template_of_too_many_partitions(twins: Twins, monkeypatch: pytest.MonkeyPatch, has_session: bool) -> None:
    """It would take too much memory; requests are answered all the same without being decoded."""
    monkeypatch.setattr(repeated_fetch, "MAX_LISTED", 1)
    made = []
    template = repeated_fetch._template
    monkeypatch.setattr(repeated_fetch, "_template", lambda *args: made.append(args) or template(*args))
    if has_session:
        twins.open(At(0), At(1))
    asked = [At(0)] if has_session else [At(0), At(1)]
    warm(twins, *asked)
    before = twins.general
    assert {partition for partition, _ in listed(twins.ask(*asked))} == {0, 1}
    assert made == []
    assert twins.general == before


def test_a_session_with_much_to_read_is_decoded(twins: Twins, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read in steps is read in steps again: little is asked for, but much of the session has news."""
    monkeypatch.setattr(repeated_fetch, "TARGETS_PER_STEP", 2)
    twins.open(At(0), *(At(partition, offset=3) for partition in (1, 2, 3)))
    warm(twins, At(0, offset=2))
    twins.produce(1)
    assert not twins.is_general(At(0, offset=2))
    twins.both(lambda broker: [broker.produce(partition) for partition in (1, 2, 3)])
    assert twins.is_general(At(0, offset=2))


def test_without_a_session_much_to_read_is_decoded(twins: Twins, monkeypatch: pytest.MonkeyPatch) -> None:
    """No layout is made of a request that is read in steps."""
    monkeypatch.setattr(fetch, "TARGETS_PER_STEP", 2)
    warm(twins, At(0), At(1))
    assert not twins.is_general(At(0), At(1))
    for _ in range(3):
        assert twins.is_general(At(0), At(1), At(2))


@pytest.mark.parametrize("has_session", [False, True])
def test_a_wait_of_a_millisecond_is_a_wait(twins: Twins, has_session: bool) -> None:
    """Too little is answered when it is over, not at once."""
    if has_session:
        twins.open(At(0), At(1, offset=3))
    warm(twins, At(0), wait=1, min_bytes=200)
    assert twins.ask(At(0, offset=2), wait=1, min_bytes=200) is None
    assert listed(twins.wait(1)) == [(0, 100)]


def test_a_partition_that_is_not_there_joins_a_session(twins: Twins) -> None:
    """Requests that were answered without being decoded are decoded from then on: each has to tell the error."""
    twins.open(At(0), At(1))
    warm(twins, At(0))
    twins.ask(At(0), At(1, topic="u"))
    before = twins.general
    answer = twins.ask(At(0))
    assert [data.error_code for entry in answer.responses for data in entry.partitions] == [
        0,
        0,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert twins.general == before + 1


def test_partitions_of_one_number_in_two_topics(twins: Twins) -> None:
    """An answer that lists one of them is no template for the answer that lists the other."""
    twins.both(lambda broker: broker.sim.cluster.topics.create("u", 1))
    twins.open(At(0, offset=3), At(0, topic="u"), At(1, offset=3))
    warm(twins, At(0, offset=2))
    batch = build_batch([Record(0, T0, None, b"v" * 32)])

    def append(broker: Broker) -> None:
        topic = broker.sim.cluster.topics.get("u")
        assert topic is not None
        topic.partitions[0].log.append(batch, broker.sim.network.now)

    twins.both(append)
    answer = twins.ask(At(0, offset=3))
    assert [entry.topic for entry in answer.responses] == ["u"]
    assert twins.general == 1 + MADE_OF


def test_a_partition_that_was_read_to_its_end_is_read_from_an_earlier_offset(twins: Twins) -> None:
    """That nothing is new there holds for the offset that the reader had."""
    twins.open(At(0, offset=3), At(1))
    warm(twins, At(0, offset=3))
    before = twins.general
    assert (0, 300) in listed(twins.ask(At(0, offset=0)))
    assert twins.general == before


def test_an_answer_without_a_template(twins: Twins, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the same byte by byte, and of the same session."""
    monkeypatch.setattr(repeated_fetch, "MAX_TEMPLATES", 0)
    twins.open(At(0), At(1))
    warm(twins, At(0))
    assert twins.ask(At(0)).session_id == twins.session
    assert twins.general == 1 + MADE_OF
