"""Requests like the one before them are answered without being decoded, and nobody can tell."""

import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from fakebroker.broker.apis import heartbeat, offset_commit
from fakebroker.broker.apis.call import Call, Repeat
from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.engine.faults.spec import FaultSpec
from fakebroker.broker.engine.lanes import FIRST_PAUSE, LONGEST_PAUSE, MAX_LANES, MAX_LAYOUT_BYTES, MAX_MISSES
from fakebroker.protocol.errors import CloseConnection, ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic
from tests.support.engine import Client, SimEngine
from tests.support.frames import JOIN, OffsetRow, correlation_ids, request

MADE_OF = 2  # the request of a row that a layout is made of


class Lab:
    """A broker whose heartbeats are counted if they go the general way."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, uses_layouts: bool = True) -> None:
        self.sim = SimEngine()
        self.sim.engine.uses_layouts = uses_layouts
        self.general: list[tuple[str | None, int]] = []  # client id and generation of each
        handle = heartbeat.handle

        def counted(call: Call, request: HeartbeatRequest) -> HeartbeatResponse | None:
            self.general.append((call.client_id, request.generation_id))
            return handle(call, request)

        monkeypatch.setattr(heartbeat, "handle", counted)

    def member(self, group_id: str = "g", version: int = 3) -> tuple[Client, Callable[..., int]]:
        """The only member of a stable group, and what sends heartbeats of it and returns the code of the last one."""
        client = self.sim.client()
        joined = client.ask("JoinGroup", 3, **{**JOIN, "group_id": group_id})
        member = {"group_id": group_id, "generation_id": joined.generation_id, "member_id": joined.member_id}
        client.ask("SyncGroup", 2, **member, assignments=[])

        def beat(times: int = 1, **changes: Any) -> int:
            codes = [client.ask("Heartbeat", version, **member | changes).error_code for _ in range(times)]
            return int(codes[-1])

        return client, beat

    def general_of(self, beat: Callable[..., int], times: int, **changes: Any) -> int:
        """How many of so many heartbeats go the general way."""
        before = len(self.general)
        beat(times, **changes)
        return len(self.general) - before


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Lab:
    return Lab(monkeypatch)


def fields_of_member(lab: Lab) -> dict[str, Any]:
    """The only member of group g, as its requests name it."""
    group = lab.sim.cluster.nodes[1].coordinator.shard("g", lab.sim.engine.now).groups["g"]
    assert isinstance(group, ClassicGroup)
    return {"group_id": "g", "generation_id": group.generation, "member_id": next(iter(group.members))}


@pytest.mark.parametrize("version", range(5))
def test_the_third_of_a_kind_is_not_decoded(lab: Lab, version: int) -> None:
    """A layout is made of the second request that is alike, and answers all that follow."""
    _, beat = lab.member(version=version)

    assert lab.general_of(beat, 20) == MADE_OF
    assert beat() == 0


def test_without_layouts_all_go_the_general_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's switch turns layouts off."""
    lab = Lab(monkeypatch, uses_layouts=False)
    _, beat = lab.member()

    assert lab.general_of(beat, 20) == 20


def test_correlation_ids_in_one_read(lab: Lab) -> None:
    """Each answer has the correlation id of its request, in the order of the requests."""
    client, _ = lab.member()
    fields = fields_of_member(lab)

    ids = [7, 5, 2**31 - 1, -3, 5, 0]
    client.socket.send(b"".join(request("Heartbeat", 3, each, **fields) for each in ids))

    assert correlation_ids(client.socket.take()) == ids
    assert len(lab.general) == MADE_OF


def test_something_else_now_and_then(lab: Lab) -> None:
    """A request of another kind in between does not end the row: fewer than `MAX_MISSES` of them are passed over."""
    _, beat = lab.member()
    beat(5)
    for _ in range(10):
        assert lab.general_of(beat, MAX_MISSES - 1, generation_id=-7) == MAX_MISSES - 1
        assert lab.general_of(beat, 1) == 0


def test_a_new_generation(lab: Lab) -> None:
    """What changes for good after a layout was worth its cost gets a new one soon."""
    client, beat = lab.member()
    beat(FIRST_PAUSE + MADE_OF)
    joined = client.join(member_id=fields_of_member(lab)["member_id"])
    changes = {"generation_id": joined.generation_id, "member_id": joined.member_id}
    client.ask("SyncGroup", 2, group_id="g", assignments=[], **changes)

    assert joined.generation_id == 2
    assert lab.general_of(beat, 50, **changes) == MAX_MISSES + 1


def test_the_group_is_asked_each_time(lab: Lab) -> None:
    """A rebalance, the end of the session and another coordinator are seen by the next heartbeat; each heartbeat
    restarts the session.
    """
    _, beat = lab.member()
    for _ in range(10):
        lab.sim.network.advance(20_000)
        assert beat() == 0
    assert len(lab.general) == MADE_OF
    other = lab.sim.client()
    other.join()
    assert beat() == ErrorCode.REBALANCE_IN_PROGRESS
    assert len(lab.general) == MADE_OF

    lab.sim.network.advance(40_000)
    assert beat() == ErrorCode.UNKNOWN_MEMBER_ID
    assert len(lab.general) == MADE_OF
    coordinator = lab.sim.cluster.nodes[1].coordinator

    def load(index: int, now: Instant) -> None:
        coordinator.load(index, now, 1000)

    for index in list(coordinator.shards):
        lab.sim.engine.run(partial(load, index), lab.sim.engine.now)
    assert beat() == 0  # HB-1
    assert len(lab.general) == MADE_OF + 1


def test_another_client_id(monkeypatch: pytest.MonkeyPatch, lab: Lab) -> None:
    """One connection may speak by several names: the handler of a request gets the right one."""
    names: list[str | None] = []

    def repeat(*_: Any) -> Repeat:
        def answer(call: Call, _values: tuple[Any, ...]) -> bytes:
            names.append(call.client_id)
            return HeartbeatResponse().encode(call.version)

        return answer

    monkeypatch.setattr(heartbeat, "repeat", repeat)
    client, beat = lab.member()
    beat(5)
    for name in ("other", None):
        client.socket.send(request("ApiVersions", 0, client_id=name))
        client.socket.take()
        beat(5)

    served = names + [name for name, _ in lab.general]
    assert served == ["test"] * 15
    assert len(names) >= 9


def test_a_fault_hits_what_a_layout_would_answer(lab: Lab) -> None:
    """While there are faults every request goes by them; afterwards the layout serves again."""
    _, beat = lab.member()
    beat(5)
    lab.sim.engine.faults.add(FaultSpec(api="Heartbeat", error="NOT_COORDINATOR", times=2))

    assert [beat() for _ in range(3)] == [ErrorCode.NOT_COORDINATOR] * 2 + [0]
    lab.sim.engine.faults.clear()
    assert lab.general_of(beat, 5) == 0


# -- how often a layout is tried -------------------------------------------------------------------------------------


def asked_at(monkeypatch: pytest.MonkeyPatch, lab: Lab, give: Repeat | None, requests: int) -> list[int]:
    """At which requests, from 1 on, `repeat` was asked; it gives `give`."""
    _, beat = lab.member()
    found: list[int] = []
    number = 0

    def repeat(*_: Any) -> Repeat | None:
        found.append(number)
        return give

    monkeypatch.setattr(heartbeat, "repeat", repeat)
    while (number := number + 1) <= requests:
        assert beat() == 0
    return found


def test_an_api_that_does_not_want_is_asked_less_and_less(monkeypatch: pytest.MonkeyPatch, lab: Lab) -> None:
    """After 8, 16, 32 ... more requests, and never less than each 128 or so."""
    found = asked_at(monkeypatch, lab, None, 600)

    gaps = [late - early for early, late in pairwise(found)]
    assert found[0] == MADE_OF
    assert gaps[:5] == [FIRST_PAUSE + 1, 17, 33, 65, LONGEST_PAUSE + 1]
    assert set(gaps[5:]) == {LONGEST_PAUSE + 1}


def test_a_layout_that_does_not_serve_is_made_less_and_less(monkeypatch: pytest.MonkeyPatch, lab: Lab) -> None:
    """So it is when a `Repeat` never answers."""
    found = asked_at(monkeypatch, lab, lambda _call, _values: None, 300)

    assert len(lab.general) == 300
    gaps = [late - early for early, late in pairwise(found)]
    assert gaps[:4] == [each + MAX_MISSES for each in (8, 16, 32, 64)]


def test_requests_of_changing_size_make_no_layouts(monkeypatch: pytest.MonkeyPatch, lab: Lab) -> None:
    """A layout is worth making where a request is as long as the one before."""
    _, beat = lab.member()
    asked: list[Any] = []
    monkeypatch.setattr(heartbeat, "repeat", lambda *request: asked.append(request))
    for number in range(50):
        beat(member_id="m" * number)

    assert asked == []


# -- what goes wrong ---------------------------------------------------------------------------------------------------


def test_a_repeat_that_raises(monkeypatch: pytest.MonkeyPatch, lab: Lab) -> None:
    """A bug in `repeat` is kept for the test; the request was answered, and the next ones are."""

    def repeat(*_: Any) -> Repeat:
        raise ZeroDivisionError

    monkeypatch.setattr(heartbeat, "repeat", repeat)
    client, beat = lab.member()

    assert [beat() for _ in range(5)] == [0] * 5
    assert [type(each) for each in lab.sim.engine.errors] == [ZeroDivisionError]
    assert not client.socket.is_closed


def raising(error: Exception) -> Callable[..., Repeat]:
    def answer(_call: Call, _values: tuple[Any, ...]) -> bytes:
        raise error

    return lambda *_: answer


@pytest.mark.rules("AV-10")
@pytest.mark.parametrize(
    ("error", "code", "errors"),
    [
        (ZeroDivisionError(), ErrorCode.UNKNOWN_SERVER_ERROR, 1),
        (KafkaError(ErrorCode.NOT_COORDINATOR), ErrorCode.NOT_COORDINATOR, 0),
    ],
    ids=["a bug", "an error of Kafka"],
)
def test_an_answer_raises(monkeypatch: pytest.MonkeyPatch, lab: Lab, error: Exception, code: int, errors: int) -> None:
    """What a `Repeat` raises becomes of the request what it would if the handler had raised it."""
    monkeypatch.setattr(heartbeat, "repeat", raising(error))
    _, beat = lab.member()
    beat(MADE_OF)

    assert [beat(), beat()] == [code, 0]
    assert len(lab.sim.engine.errors) == errors


def test_an_answer_closes(monkeypatch: pytest.MonkeyPatch, lab: Lab) -> None:
    """CloseConnection in the place of an answer closes."""
    monkeypatch.setattr(heartbeat, "repeat", raising(CloseConnection("enough")))
    client, beat = lab.member()
    beat(MADE_OF)
    client.socket.send(request("Heartbeat", 3, **fields_of_member(lab)))

    assert "enough" in client.close_reason


# -- memory ------------------------------------------------------------------------------------------------------------


def commit(client: Client, partitions: int, version: int = 7, metadata: str = "") -> None:
    rows: list[OffsetRow] = [(index, 5, -1, -1, metadata) for index in range(partitions)]
    client.ask("OffsetCommit", version, group_id="g", topics=[OffsetCommitRequestTopic(name="t", partitions=rows)])


def layouts_of(client: Client) -> list[Any]:
    return [lane.layout for lane in client.socket.connection._lanes.values() if lane.layout is not None]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many kinds of large requests a client sends, its layouts take no more than `MAX_LAYOUT_BYTES`."""
    monkeypatch.setattr(offset_commit, "repeat", lambda *_: lambda _call, _values: None, raising=False)
    sim = SimEngine(as_release="3.9")
    sim.cluster.topics.create("t", 1000, 1)
    client = sim.client()
    most = 0
    for version in range(2, 10):
        for _ in range(MADE_OF):
            commit(client, 1000, version)
        most = max(most, len(layouts_of(client)))
        assert sum(layout.memory_bytes for layout in layouts_of(client)) <= MAX_LAYOUT_BYTES
    assert 2 <= most < 8
    assert len(client.socket.connection._lanes) <= MAX_LANES
    for _ in range(MADE_OF):
        commit(client, 1000, 3, "m" * 4000)
    assert sum(layout.memory_bytes for layout in layouts_of(client)) <= MAX_LAYOUT_BYTES


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="counts what CPython allocates")
@pytest.mark.parametrize("partitions", [1, 100, 1000])
def test_memory_is_what_a_layout_says(monkeypatch: pytest.MonkeyPatch, partitions: int) -> None:
    """The estimate that the bound is made of is not less than half of what a layout takes."""
    monkeypatch.setattr(offset_commit, "repeat", lambda *_: lambda _call, _values: None, raising=False)
    sim = SimEngine()
    sim.cluster.topics.create("t", 1000, 1)
    first, second = sim.client(), sim.client()
    for _ in range(MADE_OF):
        commit(first, partitions)
    commit(second, partitions)
    (said,) = [layout.memory_bytes for layout in layouts_of(first)]
    tracemalloc.start()
    try:
        lane = next(iter(second.socket.connection._lanes.values()))
        before = tracemalloc.take_snapshot()
        commit(second, partitions)
        layout = lane.layout
        stats = tracemalloc.take_snapshot().compare_to(before, "filename")
    finally:
        tracemalloc.stop()

    assert layout is not None
    taken = sum(each.size_diff for each in stats if each.traceback[0].filename.endswith("protocol/wire/layout.py"))
    assert said / 3 < taken < said * 2, (said, taken)


def test_what_a_connection_had_is_gone_with_it(lab: Lab) -> None:
    """A closed connection has no lanes, whatever `repeat` has made."""
    client, beat = lab.member()
    beat(5)
    connection = client.socket.connection
    assert len(connection._lanes) == 1
    client.socket.close()

    assert not connection._lanes
