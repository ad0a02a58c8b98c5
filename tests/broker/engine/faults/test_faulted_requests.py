"""What a fault makes of a request and its answer: seen by clients that speak frames, in virtual time."""

from typing import Any

import pytest

from fakebroker.broker.core.events import FaultHit
from fakebroker.broker.engine.connection_state import PARKED
from fakebroker.broker.engine.faults.fault import Fault
from fakebroker.broker.engine.faults.incoming import IncomingRequest
from fakebroker.broker.engine.faults.spec import FaultSpec
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.fetch import FetchTopic
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic, OffsetCommitResponse
from fakebroker.protocol.wire.messages.produce import PartitionProduceData, TopicProduceData
from tests.support.engine import Client, SimEngine
from tests.support.frames import OffsetRow, frames, long_poll, request
from tests.support.log_apis import batch

NOT_COORDINATOR = int(ErrorCode.NOT_COORDINATOR)
COMMIT = {"group_id": "g", "generation_id_or_member_epoch": -1}


def fault(sim: SimEngine, **fields: Any) -> Fault:
    return sim.engine.faults.add(FaultSpec.of(fields))


def started() -> SimEngine:
    """An engine with a topic "t" of three partitions."""
    sim = SimEngine()
    sim.cluster.topics.create("t", 3)
    return sim


def commit_fields(*partitions: int, offset: int = 5, topic: str = "t") -> dict[str, Any]:
    rows: list[OffsetRow] = [(index, offset, -1, -1, "") for index in partitions]
    return COMMIT | {"topics": [OffsetCommitRequestTopic(name=topic, partitions=rows)]}


def commit(client: Client, *partitions: int, offset: int = 5) -> Any:
    """The error codes by partition; None when there is no answer yet."""
    answer = client.ask("OffsetCommit", 7, **commit_fields(*partitions, offset=offset))
    return None if answer is None else {row[0]: row[1] for topic in answer.topics for row in topic.partitions}


def committed(sim: SimEngine, *partitions: int) -> list[int]:
    """The offset of each partition, -1 without one."""
    from fakebroker.protocol.wire.messages.offset_fetch import OffsetFetchRequestTopic

    asked = [OffsetFetchRequestTopic(name="t", partition_indexes=list(partitions))]
    answer = sim.client().ask("OffsetFetch", 5, group_id="g", topics=asked)
    return [row[1] for row in answer.topics[0].partitions]


def no_errors(sim: SimEngine) -> bool:
    return sim.engine.errors == []


# -- errors ------------------------------------------------------------------------------------------------------------


def test_an_error_is_answered_and_the_request_is_not_applied() -> None:
    """Every partition of a faulted commit has the code, nothing is committed, and the hit is counted."""
    sim = started()
    one = fault(sim, api="OffsetCommit", group="g", error="NOT_COORDINATOR", times=1)
    client = sim.client()

    assert commit(client, 0, 1) == {0: NOT_COORDINATOR, 1: NOT_COORDINATOR}
    assert committed(sim, 0) == [-1]
    assert commit(client, 0, 1) == {0: 0, 1: 0}
    assert (one.hits, one.matched, committed(sim, 0)) == (1, 2, [5])


def test_an_error_after_the_request_was_applied_hides_that_it_was() -> None:
    """The client reads the error, the offset is committed."""
    sim = started()
    fault(sim, api="OffsetCommit", error="REQUEST_TIMED_OUT", after="applied")

    assert commit(sim.client(), 0) == {0: int(ErrorCode.REQUEST_TIMED_OUT)}
    assert committed(sim, 0) == [5]


@pytest.mark.parametrize(("after", "stored"), [("received", [5, -1, 5]), ("applied", [5, 5, 5])])
def test_an_error_of_a_partition_is_of_that_partition_only(after: str, stored: list[int]) -> None:
    """The entry that matches has the code, in the place where it is expected; the others are applied."""
    sim = started()
    fault(sim, topic="t", partition=1, error="NOT_COORDINATOR", after=after, api="OffsetCommit")

    assert commit(sim.client(), 0, 1, 2) == {0: 0, 1: NOT_COORDINATOR, 2: 0}
    assert committed(sim, 0, 1, 2) == stored


def test_an_error_of_all_partitions_that_a_request_has_leaves_nothing_to_apply() -> None:
    """A request of which nothing is left does not reach its handler."""
    sim = started()
    fault(sim, partition=1, error="NOT_COORDINATOR", api="OffsetCommit")

    assert commit(sim.client(), 1) == {1: NOT_COORDINATOR}
    assert commit(sim.client(), 0) == {0: 0}
    assert committed(sim, 0, 1) == [5, -1]


def test_a_produce_is_refused_for_one_partition() -> None:
    """The batch of the other partition is appended."""
    sim = started()
    fault(sim, api="Produce", partition=1, error="NOT_LEADER_OR_FOLLOWER")
    data = [PartitionProduceData(index=index, records=batch(1)) for index in (0, 1)]
    answer = sim.client().ask(
        "Produce", 9, acks=1, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=data)]
    )

    codes = {one.index: one.error_code for topic in answer.responses for one in topic.partition_responses}
    assert codes == {0: 0, 1: int(ErrorCode.NOT_LEADER_OR_FOLLOWER)}
    assert [one.log.log_end_offset for one in sim.cluster.topics.get("t").partitions] == [1, 0, 0]  # type: ignore[union-attr]


def test_a_producer_that_wants_no_answer_learns_of_an_error_by_a_close() -> None:
    """acks 0: Kafka closes the connection, too (PD-5)."""
    sim = started()
    fault(sim, api="Produce", error="NOT_LEADER_OR_FOLLOWER")
    client = sim.client()
    data = TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=batch(1))])
    client.ask("Produce", 9, acks=0, timeout_ms=1000, topic_data=[data])

    assert client.socket.is_closed
    assert sim.cluster.topics.get("t").partitions[0].log.log_end_offset == 0  # type: ignore[union-attr]


@pytest.mark.parametrize("action", ["answer-twice", "truncate", "corrupt", "slow", "stall-reading"])
def test_what_has_no_answer_has_none_that_could_be_changed(action: str) -> None:
    """acks 0 and an action on the answer: the batch is appended and the connection goes on."""
    sim = started()
    own = {"truncate": {"bytes": 1}, "slow": {"bytes_per_s": 1}, "stall-reading": {"for_s": 1}}.get(action, {})
    fault(sim, api="Produce", action=action, **own)
    client = sim.client()
    data = TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=batch(1))])

    assert client.ask("Produce", 9, acks=0, timeout_ms=1000, topic_data=[data]) is None
    assert client.ask("ApiVersions", 0).error_code == 0
    assert no_errors(sim)


def test_a_fetch_tells_of_the_error_at_once_and_has_the_records_of_the_others() -> None:
    """A long poll does not wait when one of its partitions has an error."""
    sim = started()
    fault(sim, api="Fetch", partition=1, error="NOT_LEADER_OR_FOLLOWER")
    rows = [(index, -1, 0, -1, -1, 1000, bytes(16), 2**63 - 1) for index in (0, 1)]
    fields = {"max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1000, "topics": [FetchTopic(topic="t", partitions=rows)]}
    answer = sim.client().ask("Fetch", 11, **fields)

    codes = {one.partition_index: one.error_code for topic in answer.responses for one in topic.partitions}
    assert codes == {0: 0, 1: int(ErrorCode.NOT_LEADER_OR_FOLLOWER)}


def test_a_fetch_of_a_session_matches_by_what_the_session_has() -> None:
    """An incremental Fetch names nothing: its session does."""
    sim = started()
    one = fault(sim, api="Fetch", topic="t", partition=2, error="NOT_LEADER_OR_FOLLOWER", nth=2)
    client = sim.client()
    row = (2, -1, 0, -1, -1, 1000, bytes(16), 2**63 - 1)
    fields = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1000}
    first = client.ask("Fetch", 11, session_epoch=0, topics=[FetchTopic(topic="t", partitions=[row])], **fields)
    assert first.session_id
    second = client.ask("Fetch", 11, session_id=first.session_id, session_epoch=1, **fields)

    assert second.responses[0].partitions[0].error_code == int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert (one.hits, one.matched) == (1, 2)


def test_a_group_of_several_has_the_error() -> None:
    """DescribeGroups: the entry of the group that matches."""
    sim = started()
    fault(sim, group="bad*", error="COORDINATOR_NOT_AVAILABLE", api="DescribeGroups")
    answer = sim.client().ask("DescribeGroups", 3, groups=["good", "bad1"])

    assert {one.group_id: one.error_code for one in answer.groups} == {
        "good": 0,
        "bad1": ErrorCode.COORDINATOR_NOT_AVAILABLE,
    }


# -- time --------------------------------------------------------------------------------------------------------------


def test_a_delayed_request_is_applied_when_its_time_has_come() -> None:
    """Delays of two faults add up; other connections are served meanwhile, and this one's next request waits."""
    sim = started()
    fault(sim, api="OffsetCommit", delay_s=1)
    fault(sim, api="OffsetCommit", delay_s=0.5)
    client = sim.client()

    assert commit(client, 0) is None
    assert client.ask("ApiVersions", 0) is None
    assert committed(sim, 0) == [-1]
    sim.network.advance(1499)
    assert client.socket.take() == b""
    sim.network.advance(1)
    assert len(frames(client.socket.take())) == 2
    assert committed(sim, 0) == [5]


def test_an_answer_is_delayed_after_the_request_was_applied() -> None:
    """It is committed at once."""
    sim = started()
    fault(sim, api="OffsetCommit", delay_s=2, after="applied")
    client = sim.client()

    assert commit(client, 0) is None
    assert committed(sim, 0) == [5]
    sim.network.advance(2000)
    assert client.answer("OffsetCommit", 7).topics[0].partitions == [(0, 0)]


def test_a_delayed_request_is_applied_although_its_client_has_left() -> None:
    """As in Kafka, where it was in the queue already."""
    sim = started()
    fault(sim, api="OffsetCommit", delay_s=1)
    client = sim.client()
    commit(client, 0)
    client.socket.close()
    sim.network.advance(1000)

    assert committed(sim, 0) == [5]
    assert no_errors(sim)


@pytest.mark.parametrize("ending", ["stop_node", "kill_node"])
def test_what_waits_to_be_applied_ends_with_the_process_that_received_it(ending: str) -> None:
    """The node that is started again has never heard of it."""
    sim = started()
    fault(sim, api="OffsetCommit", delay_s=1)
    commit(sim.client(), 0)
    getattr(sim.network, ending)(1)
    sim.network.start_node(1)
    sim.network.advance(1000)

    assert committed(sim, 0) == [-1]
    assert no_errors(sim)


def test_a_delay_on_a_frozen_node_ends_when_it_is_thawed() -> None:
    """Nothing is applied while the process stands still."""
    sim = started()
    fault(sim, api="OffsetCommit", delay_s=1)
    client = sim.client()
    commit(client, 0)
    sim.network.freeze_node(1)
    sim.network.advance(1500)
    shard = sim.cluster.nodes[1].coordinator.shard("g", sim.network.now)
    assert shard.group("g") is None
    sim.network.thaw_node(1)
    sim.network.advance(1)

    assert committed(sim, 0) == [5]
    assert client.answer("OffsetCommit", 7).topics[0].partitions == [(0, 0)]


def test_jitter_and_probability_follow_the_seed() -> None:
    """The same requests have the same delays and hits in every run, and not all the same."""

    def run(seed: int) -> tuple[list[int], int]:
        sim = SimEngine(seed=seed)
        unsure = fault(sim, api="Heartbeat", probability=0.3, throttle_ms=1)
        fault(sim, api="Heartbeat", jitter_s=1)
        waits = []
        for _ in range(40):
            client = sim.client()
            client.ask("Heartbeat", 3, group_id="g")
            start = sim.engine.now.mono_ms
            sim.network.run_until(lambda client=client: not client.socket.connection.is_parked, 2000)  # type: ignore[misc]
            waits.append(sim.engine.now.mono_ms - start)
        return waits, unsure.hits

    waits, hits = run(1)
    assert (waits, hits) == run(1)
    assert (waits, hits) != run(2)
    assert len(dict.fromkeys(waits)) > 30
    assert max(waits) <= 1000
    assert 0 < hits < 40


def test_the_answer_names_a_throttle_time() -> None:
    """The longest of several counts."""
    sim = started()
    fault(sim, api="Heartbeat|OffsetCommit", throttle_ms=250)
    fault(sim, throttle_ms=100)

    assert sim.client().ask("Heartbeat", 3, group_id="g").throttle_time_ms == 250
    assert sim.client().ask("Metadata", 5, topics=None).throttle_time_ms == 100


# -- the connection ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("after", "stored"), [("received", -1), ("applied", 5), (None, -1)])
def test_a_disconnect_is_in_place_of_the_answer(after: str | None, stored: int) -> None:
    """Before the request is applied unless it is said to be after that."""
    sim = started()
    one = fault(sim, api="OffsetCommit", action="disconnect", times=1, **({"after": after} if after else {}))
    client = sim.client()

    assert commit(client, 0) is None
    assert client.socket.is_closed
    assert "disconnect" in client.close_reason
    assert (committed(sim, 0), one.hits) == ([stored], 1)


@pytest.mark.parametrize(("after", "stored"), [("received", -1), ("applied", 5), (None, 5)])
def test_an_answer_that_is_dropped_leaves_the_client_waiting(after: str | None, stored: int) -> None:
    """The connection stays open and serves nothing more; another serves as ever."""
    sim = started()
    fault(sim, api="OffsetCommit", action="drop-answer", times=1, **({"after": after} if after else {}))
    client = sim.client()

    assert commit(client, 0) is None
    assert client.ask("ApiVersions", 0) is None
    sim.network.advance(10**6)
    assert client.socket.take() == b""
    assert not client.socket.is_closed
    assert committed(sim, 0) == [stored]
    client.socket.close()
    assert commit(sim.client(), 0) == {0: 0}


def answer_bytes(sim: SimEngine) -> bytes:
    """The answer to a Heartbeat without a fault."""
    client = sim.client()
    client.socket.send(request("Heartbeat", 3, 7, group_id="g"))
    return client.socket.take()


def ask_raw(sim: SimEngine) -> Client:
    client = sim.client()
    client.socket.send(request("Heartbeat", 3, 7, group_id="g"))
    return client


def test_an_answer_comes_twice() -> None:
    """The very same bytes; the next request is served."""
    sim = started()
    whole = answer_bytes(sim)
    fault(sim, api="Heartbeat", action="answer-twice", times=1)
    client = ask_raw(sim)

    assert client.socket.take() == whole + whole
    assert client.ask("Heartbeat", 3, group_id="g").error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("size", [0, 3, 11, 10_000])
def test_an_answer_is_cut_and_the_connection_reset(size: int) -> None:
    """The first bytes come, the length among them, then nothing more."""
    sim = started()
    whole = answer_bytes(sim)
    fault(sim, api="Heartbeat", action="truncate", bytes=size)
    client = ask_raw(sim)

    assert client.socket.take() == whole[:size]
    assert client.socket.connection.is_to_reset
    assert client.socket.is_closed


@pytest.mark.parametrize("offset", [0, 9, 10_000])
def test_a_byte_of_an_answer_is_corrupted(offset: int) -> None:
    """That at the offset; the last if there is none so far."""
    sim = started()
    whole = answer_bytes(sim)
    fault(sim, api="Heartbeat", action="corrupt", offset=offset)
    place = min(offset, len(whole) - 1)

    assert ask_raw(sim).socket.take() == whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]


def test_a_byte_is_corrupted_by_chance_behind_the_correlation_id() -> None:
    """The client still knows which request is answered; which byte it is follows the seed."""
    sim = started()
    whole = answer_bytes(sim)
    fault(sim, api="Heartbeat", action="corrupt")
    got = [ask_raw(sim).socket.take() for _ in range(20)]

    assert all(one[:8] == whole[:8] and sum(a != b for a, b in zip(one, whole, strict=True)) == 1 for one in got)
    assert len(dict.fromkeys(got)) > 1


def test_an_answer_comes_slowly() -> None:
    """At so many bytes per second; then the next request is served."""
    sim = started()
    whole = answer_bytes(sim)
    fault(sim, api="Heartbeat", action="slow", bytes_per_s=4)
    client = ask_raw(sim)
    got = client.socket.take()
    for _ in range(len(whole) - 1):
        assert len(got) < len(whole)
        sim.network.advance(250)
        got += client.socket.take()

    assert got == whole
    assert client.socket.connection.is_parked
    sim.network.advance(250)
    assert not client.socket.connection.is_parked


@pytest.mark.parametrize("after", ["received", "applied"])
def test_a_connection_is_not_read_for_a_time(after: str) -> None:
    """After the answer, or before the request is served."""
    sim = started()
    fault(sim, api="OffsetCommit", action="stall-reading", for_s=3, after=after, times=1)
    client = sim.client()

    assert commit(client, 0) == ({0: 0} if after == "applied" else None)
    assert client.socket.connection.is_stalled
    assert client.ask("ApiVersions", 0) is None
    sim.network.advance(3000)
    assert not client.socket.connection.is_stalled
    assert len(frames(client.socket.take())) == (1 if after == "applied" else 2)


def test_an_error_may_be_sent_in_a_bad_way() -> None:
    """`error` says what is answered, `action` how."""
    sim = started()
    fault(sim, api="OffsetCommit", error="NOT_COORDINATOR", action="answer-twice")
    client = sim.client()
    client.socket.send(request("OffsetCommit", 7, **commit_fields(0)))
    codes = [OffsetCommitResponse.decode(frame, 7, 4)[0] for frame in frames(client.socket.take())]

    assert [one.topics[0].partitions for one in codes] == [[(0, NOT_COORDINATOR)]] * 2
    assert committed(sim, 0) == [-1]


# -- requests that wait ------------------------------------------------------------------------------------------------


def test_the_answer_to_a_request_that_waited_is_faulted_when_it_comes() -> None:
    """A Fetch waits for records as ever; then its answer is delayed."""
    sim = started()
    fault(sim, api="Fetch", delay_s=1, after="applied")
    client = sim.client()
    client.socket.send(long_poll(500))
    sim.network.advance(500)
    assert client.socket.take() == b""
    sim.network.advance(1000)
    assert len(frames(client.socket.take())) == 1


def test_a_join_that_waits_is_forgotten_when_its_client_leaves() -> None:
    """What the group registered for that runs, although the fault stands between."""
    sim = SimEngine({"group.initial.rebalance.delay.ms": 3000})
    fault(sim, api="JoinGroup", delay_s=1)
    client = sim.client()
    assert client.join() is None
    sim.network.advance(1000)
    assert client.socket.connection.state is PARKED
    client.socket.close()
    sim.network.advance(60_000)

    assert sim.client().ask("DescribeGroups", 3, groups=["g"]).groups[0].group_state in ("Dead", "Empty")
    assert no_errors(sim)


def test_a_join_is_disconnected_when_it_would_be_answered() -> None:
    """After "applied" of a request that waits is when its answer is made."""
    sim = SimEngine({"group.initial.rebalance.delay.ms": 3000})
    fault(sim, api="JoinGroup", action="disconnect", after="applied")
    client = sim.client()
    client.join()
    sim.network.advance(2999)
    assert not client.socket.is_closed
    sim.network.advance(1)
    assert client.socket.is_closed


def test_long_work_is_faulted_at_its_end() -> None:
    """A Metadata of many topics takes steps; so does a request in a long frame."""
    sim = SimEngine()
    for number in range(3000):
        sim.cluster.topics.create(f"t{number}", 1)
    fault(sim, api="Metadata", throttle_ms=7, delay_s=1, after="applied")
    client = sim.client()
    assert client.ask("Metadata", 5, topics=None) is None
    sim.network.advance(1000)
    answer = client.answer("Metadata", 5)
    assert (answer.throttle_time_ms, len(answer.topics)) == (7, 3000)


def test_a_long_frame_is_faulted() -> None:
    """A request that is read in steps has an error as any other, for one partition of many."""
    sim = started()
    fault(sim, api="OffsetCommit", partition=1, error="NOT_COORDINATOR")
    rows: list[OffsetRow] = [(index % 3, 5, -1, -1, "m" * 3000) for index in range(400)]
    fields = COMMIT | {"topics": [OffsetCommitRequestTopic(name="t", partitions=rows)]}
    answer = sim.client().ask("OffsetCommit", 7, **fields)

    assert dict(answer.topics[0].partitions) == {0: 0, 1: NOT_COORDINATOR, 2: 0}


# -- order, counting, functions ----------------------------------------------------------------------------------------


def test_the_first_fault_that_is_due_decides() -> None:
    """The others are passed over, and keep their hits; every fault counts each request that matches."""
    sim = started()
    first = fault(sim, api="Heartbeat", error="NOT_COORDINATOR", times=1)
    second = fault(sim, api="Heartbeat", error="REBALANCE_IN_PROGRESS", times=1)
    third = fault(sim, api="Heartbeat", error="ILLEGAL_GENERATION", nth=3)
    client = sim.client()

    codes = [client.ask("Heartbeat", 3, group_id="g").error_code for _ in range(4)]
    assert codes == [
        NOT_COORDINATOR,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert [(one.hits, one.matched) for one in (first, second, third)] == [(1, 4), (1, 4), (1, 4)]


def test_each_n_th_request_is_hit() -> None:
    """`every` and `times` go together."""
    sim = started()
    fault(sim, api="Heartbeat", error="NOT_COORDINATOR", every=2, times=2)
    client = sim.client()

    codes = [client.ask("Heartbeat", 3, group_id="g").error_code for _ in range(8)]
    assert codes == [
        ErrorCode.UNKNOWN_MEMBER_ID,
        NOT_COORDINATOR,
        ErrorCode.UNKNOWN_MEMBER_ID,
        NOT_COORDINATOR,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]


def test_the_n_th_request_of_a_client_is_hit() -> None:
    """Requests of other clients, APIs and versions do not count."""
    sim = started()
    one = fault(sim, api="Heartbeat", client_id="b*", version="3+", nth=2, error="NOT_COORDINATOR")

    def ask(client_id: str, version: int = 3) -> int:
        client = sim.client()
        client.socket.send(request("Heartbeat", version, client_id=client_id, group_id="g"))
        code: int = client.answer("Heartbeat", version).error_code
        return code

    assert [ask("a"), ask("b"), ask("b", 2), ask("a"), ask("bb"), ask("b")] == [
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        NOT_COORDINATOR,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert one.matched == 3


def test_a_function_says_which_requests_are_meant() -> None:
    """It is given the request; one that raises means none, and its error is kept for the test once, with a count."""
    sim = started()
    seen: list[IncomingRequest] = []

    def is_meant(asked: IncomingRequest) -> bool:
        seen.append(asked)
        return bool(asked.message.generation_id == 7)

    fault(sim, api="Heartbeat", when=is_meant, error="NOT_COORDINATOR")
    broken = fault(sim, api="Heartbeat", when=lambda _asked: 1 // 0, error="NOT_COORDINATOR")
    client = sim.client()

    assert client.ask("Heartbeat", 3, group_id="g", generation_id=7).error_code == NOT_COORDINATOR
    assert client.ask("Heartbeat", 3, group_id="g", generation_id=8).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert (seen[0].api, seen[0].version, seen[0].client_id, seen[0].node_id) == ("Heartbeat", 3, "test", 1)
    assert broken.matched == 0
    client.ask("Heartbeat", 3, group_id="g", generation_id=9)
    (error,) = sim.engine.errors
    assert isinstance(error, ZeroDivisionError)
    assert "1 // 0" in error.__notes__[0]
    assert error.__notes__[1:] == ["and 2 more of this kind"]


@pytest.mark.parametrize(("after", "seen"), [("received", [-1]), ("applied", [5])])
def test_a_function_is_run_before_or_after_the_request_is_applied(after: str, seen: list[int]) -> None:
    """It may do to the broker what it likes, and the request goes on."""
    sim = started()
    found: list[int] = []
    fault(sim, api="OffsetCommit", run=lambda _asked: found.extend(committed(sim, 0)), after=after)

    assert commit(sim.client(), 0) == {0: 0}
    assert found == seen


def test_a_function_may_move_the_clock() -> None:
    """The request is applied at the new time."""
    sim = started()
    before = sim.engine.now.wall_ms
    fault(sim, api="OffsetCommit", nth=1, run=lambda _asked: sim.engine.advance_to(sim.engine.now.plus(86_400_000)))

    assert commit(sim.client(), 0) == {0: 0}
    assert sim.engine.now.wall_ms - before == 86_400_000


def test_a_function_that_raises_is_the_tests_error() -> None:
    """The request is served; the error is kept."""
    sim = started()
    fault(sim, api="OffsetCommit", run=lambda _asked: 1 // 0)

    assert commit(sim.client(), 0) == {0: 0}
    assert [type(error) for error in sim.engine.errors] == [ZeroDivisionError]


# -- the rest ----------------------------------------------------------------------------------------------------------


def test_the_journal_has_the_hit_and_what_the_client_got() -> None:
    """An event names fault and request; the exchange has the answer that was sent, or none."""
    sim = started()
    one = fault(sim, api="Heartbeat", error="NOT_COORDINATOR", nth=1)
    fault(sim, api="Heartbeat", action="disconnect", nth=2)
    client = sim.client()
    client.ask("Heartbeat", 3, group_id="g")
    client.ask("Heartbeat", 3, group_id="g")
    hits = [each.event for each in sim.journal.events(FaultHit)]

    assert hits[0] == FaultHit(
        one.fault_id, "Heartbeat: error NOT_COORDINATOR, nth 1", 1, client.socket.connection.peer.connection_id, "test",
        "Heartbeat", 3, 1,
    )  # fmt: skip
    assert [(one.errors, one.response_frame is None) for one in sim.journal.requests("Heartbeat")] == [
        ((NOT_COORDINATOR,), False),
        ((), True),
    ]


def test_without_faults_the_routes_are_the_ordinary_ones() -> None:
    """A fault alters the routes of the APIs that it concerns only, and none after it was removed."""
    sim = started()
    dispatcher = sim.engine.dispatchers[0]
    client = sim.client()

    def routes() -> list[Any]:
        client.ask("Heartbeat", 3, group_id="g")
        client.ask("ApiVersions", 0)
        return list(dispatcher.routes.values())

    before = routes()
    one = fault(sim, api="Heartbeat", throttle_ms=1)
    heartbeat, api_versions = routes()
    assert heartbeat is not before[0]
    assert api_versions is before[1]
    sim.engine.faults.remove(one)
    assert routes() == before


def test_a_fault_that_is_removed_while_a_request_waits_keeps_that_request() -> None:
    """What was hit stays so."""
    sim = started()
    one = fault(sim, api="OffsetCommit", delay_s=1)
    client = sim.client()
    commit(client, 0)
    sim.engine.faults.remove(one)
    sim.network.advance(999)
    assert client.socket.take() == b""
    sim.network.advance(1)
    assert len(frames(client.socket.take())) == 1


def test_a_request_whose_node_was_stopped_while_it_waited_is_not_applied() -> None:
    """Its connection is closed, and nothing happens when its time comes."""
    sim = started()
    fault(sim, api="OffsetCommit", delay_s=1)
    client = sim.client()
    commit(client, 0)
    sim.network.stop_node(1)
    sim.network.advance(1000)
    sim.network.start_node(1)

    assert client.socket.is_closed
    assert committed(sim, 0) == [-1]
    assert no_errors(sim)
