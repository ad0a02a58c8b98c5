"""How much a ShareFetch gives, and what becomes of records whose answer cannot be sent."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.engine.connection import Connection
from fakebroker.broker.engine.faults.spec import FaultSpec
from fakebroker.protocol.errors import AnswerTooLong, ErrorCode
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from tests.support.share_fetches import ShareGroupLab, listed, ranges
from tests.support.time import T0


@pytest.fixture
def lab() -> ShareGroupLab:
    return ShareGroupLab()


def produce_of_size(lab: ShareGroupLab, *sizes: int, partition: int = 0) -> None:
    """Append batches of one record with a value of so many bytes; a batch is 70 to 72 bytes longer."""
    for size in sizes:
        lab.log(partition).append(build_batch([Record(0, T0, None, b"v" * size)]), lab.sim.network.now)


@pytest.mark.rules("SGF-18")
@pytest.mark.parametrize(
    ("sizes", "max_bytes", "answers"),
    [
        ((1000, 200_000), 99_488, [([0], 99_488), ([1], 200_072)]),
        ((1000, 1000, 1000), 2500, [([0, 1], 2140), ([2], 1070)]),
        ((200_000, 1000), 99_488, [([0], 200_072), ([1], 1070)]),
        ((1000, 2000), 1100, [([0], 1100), ([1], 2070)]),
        ((1000, 2000), 1000, [([0], 1070), ([1], 2070)]),
        ((1000, 2000), 1, [([0], 1070), ([1], 2070)]),
    ],
)
def test_a_batch_that_does_not_fit_is_not_acquired(
    lab: ShareGroupLab, sizes: tuple[int, ...], max_bytes: int, answers: list[tuple[list[int], int]]
) -> None:
    """Offsets that are acquired and bytes that are sent, as Kafka 4.3.1 answered for the same batches."""
    produce_of_size(lab, *sizes)
    member = lab.member("m")
    for offsets, size_bytes in answers:
        answer = member.send(0, max_bytes=max_bytes)
        assert [offset for first, last, _ in ranges(answer) for offset in range(first, last + 1)] == offsets
        assert len(answer.responses[0].partitions[0].records) == size_bytes
    assert member.fetch(0) == []


@pytest.mark.rules("SGF-18")
def test_a_partition_whose_first_batch_does_not_fit_waits_its_turn() -> None:
    """Behind another partition that gives something it gives nothing; when it is the first it gives its batch."""
    lab = ShareGroupLab(2)
    for partition in range(2):
        produce_of_size(lab, 2000, partition=partition)
    member = lab.member("m")
    found = [
        (ranges(answer), ranges(answer, 1)) for answer in (member.send(0, 1, max_bytes=3000, wait=0) for _ in range(2))
    ]
    assert found == [([(0, 0, 1)], []), ([], [(0, 0, 1)])]


@pytest.mark.parametrize("sizes", [(1000,) * 100, (100_000,) * 10, (1_000_000,) * 10])
def test_much_is_answered(lab: ShareGroupLab, sizes: tuple[int, ...]) -> None:
    """Records of any size come in one answer, byte for byte as they are stored."""
    produce_of_size(lab, *sizes)
    answer = lab.member("m").send(0, max_bytes=50 << 20)
    assert ranges(answer) == [(0, len(sizes) - 1, 1)]
    assert answer.responses[0].partitions[0].records == b"".join(lab.log().batches())


@pytest.mark.rules("SGP-7")
def test_what_cannot_be_answered_is_released(lab: ShareGroupLab, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the answer cannot be written its records are available at once, delivered once more; others stay locked."""
    lab.produce(3)
    member = lab.member("m")
    assert member.fetch(0) == [(0, 2, 1)]
    lab.produce(2)
    with monkeypatch.context() as broken:
        broken.setattr("fakebroker.broker.engine.connection.Connection.send", fails_once())
        assert member.send(wait=0).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert set(lab.states().values()) == {("Acquired", 1), ("Available", 1)}
    member.epoch += 1
    assert member.fetch(wait=0) == [(3, 4, 2)]


def fails_once() -> Callable[..., None]:
    """In the place of `Connection.send`: the first answer is too long."""
    send, times = Connection.send, iter([True])

    def failing(*args: Any) -> None:
        if next(times, False):
            raise AnswerTooLong("an answer of 2147483648 bytes")
        send(*args)

    return failing


def test_what_a_client_that_has_gone_was_given_is_released(lab: ShareGroupLab) -> None:
    """A fault holds the answer back, and its client goes: its records are released at once, not with their lock."""
    opener, other = lab.member("m"), lab.member("m")
    opener.send(0, wait=0)
    lab.produce(3)
    lab.sim.engine.faults.add(FaultSpec(api="ShareFetch", delay_s=1, after="applied"))
    assert other.send(epoch=1, wait=0) is None
    assert set(lab.states().values()) == {("Acquired", 1)}
    other.hang_up()
    assert set(lab.states().values()) == {("Available", 1)}


def test_a_corrupted_batch_harms_only_its_partition() -> None:
    """It is an error of its partition; what other partitions gave is answered."""
    lab = ShareGroupLab(2)
    lab.produce(1)
    lab.produce(1, partition=1)
    log = lab.log(1)
    log.materialize_pending()
    segment = log.segments.values()[-1]
    batch = segment.batches[0]
    segment.batches[0] = batch[:16] + b"\x09" + batch[17:]
    answer = lab.member("m").send(0, 1)
    assert ranges(answer) == [(0, 0, 1)]
    assert listed(answer)[1][0] != ErrorCode.NONE
