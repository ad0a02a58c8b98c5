"""Very many Fetches whose waits end at the same moment are answered in several turns; what an answer copies."""

from collections.abc import Iterable
from typing import Any

import pytest

from fakebroker.broker.core import long_passes
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.frame import encode_request
from fakebroker.protocol.wire.framing import LARGE_BYTES
from fakebroker.protocol.wire.messages.share_fetch import FetchPartition, FetchTopic
from tests.support.engine import SimEngine
from tests.support.fetches import At, fetch_request
from tests.support.frames import framed, long_poll, request
from tests.support.share_fetches import ShareGroupLab
from tests.support.time import T0

WAITS = 9
AT_ONCE = 4  # Fetches of one partition
WAIT_MS = 1_000
PARTITIONS = 20
OVERHEAD_BYTES = PARTITIONS * 200  # of an answer, beside records


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> SimEngine:
    """A broker with an empty topic "t" that answers few waiting Fetches in a turn."""
    monkeypatch.setattr(long_passes, "ACTIONS_COST", AT_ONCE)
    lab = SimEngine()
    lab.cluster.topics.create("t", 1)
    return lab


def waiting(lab: SimEngine) -> list[Any]:
    """Connections of clients that wait for a record."""
    connections = [lab.bare_connection() for _ in range(WAITS)]
    for connection in connections:
        connection.receive(long_poll(WAIT_MS), lab.engine.now)
        assert not connection.data_to_send()
    return connections


def append(lab: SimEngine, partitions: Iterable[int] = (0,), sizes: Iterable[int] = (10,)) -> None:
    """Append a batch of each size to each of the partitions of "t"."""
    topic = lab.cluster.topics.get("t")
    assert topic is not None
    for partition in partitions:
        for size in sizes:
            batch = build_batch([Record(0, T0, None, b"v" * size)])
            topic.partitions[partition].log.append(batch, lab.engine.now)


def answered_in_turns(lab: SimEngine, connections: list[Any]) -> list[int]:
    """How many were answered at once, and in each of the turns that follow."""
    turns = [sum(bool(each.data_to_send()) for each in connections)]
    while lab.engine.works:
        lab.engine.step(lab.engine.now)
        turns.append(sum(bool(each.data_to_send()) for each in connections))
    assert lab.engine.errors == []
    return turns


@pytest.mark.rules("FT-4")
def test_one_record_answers_them_in_turns(lab: SimEngine) -> None:
    """As many as a turn may at once, and each of the others in a later turn: none is forgotten or answered twice."""
    connections = waiting(lab)
    append(lab)
    assert answered_in_turns(lab, connections) == [AT_ONCE, *[1] * (WAITS - AT_ONCE)]


@pytest.mark.rules("FT-4")
def test_a_moment_later_there_is_room_again(lab: SimEngine) -> None:
    """The bound is for one moment: the next record answers as many at once."""
    connections = [lab.bare_connection() for _ in range(AT_ONCE)]
    for end_offset in range(2):
        for connection in connections:
            connection.receive(long_poll(WAIT_MS, end_offset), lab.engine.now)
        append(lab)
        assert answered_in_turns(lab, connections) == [AT_ONCE]
        lab.engine.tick(lab.engine.now.plus(1))


@pytest.mark.rules("FT-4")
def test_a_client_that_leaves_meanwhile(lab: SimEngine) -> None:
    """A client that goes away before its turn is not answered, and the others are."""
    connections = waiting(lab)
    append(lab)
    connections[-1].closed(lab.engine.now)
    assert sum(answered_in_turns(lab, connections)) == WAITS - 1


@pytest.mark.rules("FT-5")
def test_times_that_are_up_together(lab: SimEngine) -> None:
    """The same when nothing comes and the time of all is up."""
    connections = waiting(lab)
    lab.engine.tick(lab.engine.now.plus(WAIT_MS))
    assert sum(answered_in_turns(lab, connections)) == WAITS


@pytest.mark.rules("FT-5")
def test_a_clock_that_moves_answers_all(lab: SimEngine) -> None:
    """A test that moves the clock finds all of them answered."""
    connections = waiting(lab)
    lab.engine.advance_to(lab.engine.now.plus(WAIT_MS))
    assert [bool(each.data_to_send()) for each in connections] == [True] * WAITS


def copied_bytes(lab: SimEngine, pieces: list[Any]) -> int:
    """How much of an answer is neither a stored batch nor a view of one."""
    topic = lab.cluster.topics.get("t")
    assert topic is not None
    logs = [partition.log for partition in topic.partitions]
    stored = {id(batch) for log in logs for segment in log.segments.values() for batch in segment.batches}
    owners = [(piece, piece.obj if isinstance(piece, memoryview) else piece) for piece in pieces]
    return sum(len(piece) for piece, owner in owners if id(owner) not in stored)


@pytest.mark.rules("FT-6", "FT-9")
@pytest.mark.parametrize("version", [4, 12, 18])
@pytest.mark.parametrize("repeats", [1, 4])
def test_an_answer_copies_little(version: int, repeats: int) -> None:
    """Many partitions with small batches and a cut large one: what waits for a slow reader are the stored batches.

    An answer to a request like those before is made another way, and copies no more.
    """
    lab = SimEngine()
    lab.cluster.topics.create("t", PARTITIONS)
    append(lab, range(PARTITIONS), (10_000, 10_000, 200_000))
    connection = lab.bare_connection()
    asked = [At(partition, max_bytes=100_000) for partition in range(PARTITIONS)]
    data = framed(encode_request(fetch_request(lab.cluster, *asked, version=version), version, 1, "test"))
    for _ in range(repeats):
        connection.receive(data, lab.engine.now)
        pieces = connection.data_to_send()
    assert sum(map(len, pieces)) > PARTITIONS * 100_000
    assert copied_bytes(lab, pieces) < LARGE_BYTES + OVERHEAD_BYTES


@pytest.mark.rules("SGF-10")
def test_a_share_answer_copies_little() -> None:
    """The same of a ShareFetch of many partitions with small batches."""
    share = ShareGroupLab(PARTITIONS)
    append(share.sim, range(PARTITIONS), (10_000, 10_000))
    connection = share.sim.bare_connection()
    rows = [FetchPartition(partition_index=index) for index in range(PARTITIONS)]
    data = request(
        "ShareFetch", 2, group_id="g", member_id="m", share_session_epoch=0, max_wait_ms=0, min_bytes=1,
        max_bytes=1 << 20, max_records=500, batch_size=500,
        topics=[FetchTopic(topic_id=share.topic.id, partitions=rows)],
    )  # fmt: skip
    connection.receive(data, share.sim.engine.now)
    pieces = connection.data_to_send()
    assert sum(map(len, pieces)) > PARTITIONS * 20_000
    assert copied_bytes(share.sim, pieces) < LARGE_BYTES + OVERHEAD_BYTES
