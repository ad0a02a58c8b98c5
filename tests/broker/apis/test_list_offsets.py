"""Tests of ListOffsets: special timestamps, checks and their order, versions."""

from collections.abc import Callable

import pytest

from fakebroker.broker.apis import fetch, list_offsets
from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import CloseConnection, ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages.fetch import FetchRequest
from fakebroker.protocol.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsTopic
from tests.support.engine import SimEngine
from tests.support.frames import request as framed_request
from tests.support.log_apis import NOW, LogApis
from tests.support.time import T0

Make = Callable[..., Call]
NOT_FOUND = (0, -1, -1, -1)


def asked(timestamp: int, index: int = 0, epoch: int = -1, count: int = 1) -> tuple[int, int, int, int]:
    return index, epoch, timestamp, count


def ask(
    lab: LogApis, version: int, *rows: tuple[int, int, int, int], name: str = "t", replica_id: int = -1,
    isolation: int = 0, node_id: int = 1,
) -> list[tuple[int, int, int, int]]:  # fmt: skip
    """(error, timestamp, offset, leader epoch) for each partition asked."""
    request = ListOffsetsRequest(
        replica_id=replica_id,
        isolation_level=isolation if version >= 2 else 0,
        topics=[ListOffsetsTopic(name=name, partitions=list(rows))],
    )
    response = lab.ask(list_offsets, request, version, node_id)
    return [(row[1], *row[3:]) for topic in response.topics for row in topic.partitions]


def old(lab: LogApis, target: int, count: int = 10, replica_id: int = -1, **fields: int) -> list[int]:
    """The offsets of a v0 answer without error."""
    request = ListOffsetsRequest(
        replica_id=replica_id, topics=[ListOffsetsTopic(name="t", partitions=[asked(target, count=count, **fields)])]
    )
    ((_, error, offsets, *_),) = lab.ask(list_offsets, request, 0).topics[0].partitions
    assert error == 0
    return list(offsets)


@pytest.mark.rules("LO-9", "LO-10")
@pytest.mark.parametrize("version", range(1, 12))
def test_every_version_answers(make_call: Make, version: int) -> None:
    """By time, latest and earliest, with the leader epoch from v4 on."""
    lab = LogApis(make_call)
    lab.append(T0, T0 + 5)
    lab.partition.leader_epoch = 2
    lab.append(T0 + 3)
    first, second = (0, 2) if version >= 4 else (-1, -1)

    assert ask(lab, version, asked(T0 + 4)) == [(0, T0 + 5, 1, first)]
    assert ask(lab, version, asked(-1)) == [(0, -1, 3, second)]
    assert ask(lab, version, asked(-2)) == [(0, -1, 0, first)]
    assert ask(lab, version, asked(T0 + 6)) == [NOT_FOUND]


@pytest.mark.rules("LO-3")
@pytest.mark.parametrize("version", range(1, 12))
def test_special_timestamps_by_version(make_call: Make, version: int) -> None:
    """Each is known from its version on, and 35 before; below -6 there is none."""
    lab = LogApis(make_call)
    lab.append(T0, T0 + 5)
    answers = {-3: (0, T0 + 5, 1, 0), -4: (0, -1, 0, 0), -5: NOT_FOUND, -6: NOT_FOUND}
    since = {-3: 7, -4: 8, -5: 9, -6: 11}
    for target, answer in answers.items():
        assert ask(lab, version, asked(target)) == [
            answer if version >= since[target] else (ErrorCode.UNSUPPORTED_VERSION, -1, -1, -1)
        ]
    assert ask(lab, version, asked(-7)) == [(ErrorCode.UNSUPPORTED_VERSION, -1, -1, -1)]


@pytest.mark.rules("LO-1", "LO-2", "LO-4", "LO-5")
def test_checks_and_their_order(make_call: Make) -> None:
    """Duplicate, special timestamp, partition, leader epoch, leadership: the first fault is answered."""
    lab = LogApis(make_call, nodes=2)
    lab.partition.lead(2, NOW)
    epoch = lab.partition.leader_epoch

    def code(*rows: tuple[int, int, int, int], **fields: object) -> int:
        (answer,) = ask(lab, 7, *rows, **fields)  # type: ignore[arg-type]
        assert answer[1:] == (-1, -1, -1)
        return answer[0]

    assert code(asked(-9, 9), asked(-9, 9)) == ErrorCode.INVALID_REQUEST
    assert code(asked(-9, 9)) == ErrorCode.UNSUPPORTED_VERSION
    assert code(asked(-1, 9)) == code(asked(-1), name="nope") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert code(asked(-1, epoch=epoch - 1)) == code(asked(-1, epoch=-5)) == ErrorCode.FENCED_LEADER_EPOCH
    assert code(asked(-1, epoch=epoch + 1)) == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert code(asked(-1, epoch=epoch)) == code(asked(-1)) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    lab.partition.replicas = [2]
    assert code(asked(-1, epoch=epoch - 1)) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    lab.partition.lead(-1, NOW)
    assert code(asked(-1), node_id=2) == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.rules("LO-10")
@pytest.mark.parametrize("isolation", [-1, 2, 127])
def test_an_unknown_isolation_level_fails_the_request(make_call: Make, isolation: int) -> None:
    """Whatever else is wrong with it."""
    lab = LogApis(make_call)

    for row in (asked(-2), asked(-9), asked(-1, 9)):
        with pytest.raises(KafkaError) as caught:
            ask(lab, 7, row, isolation=isolation)
        assert caught.value.code == ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.rules("LO-6")
def test_a_partition_asked_twice(make_call: Make) -> None:
    """42 in one entry, over topic entries too; others are answered."""
    lab = LogApis(make_call)
    topics = [
        ListOffsetsTopic(name="t", partitions=[asked(-1), asked(-1, 1)]),
        ListOffsetsTopic(name="t", partitions=[asked(-1)]),
    ]
    response = lab.ask(list_offsets, ListOffsetsRequest(replica_id=-1, topics=topics), 5)

    assert [topic.name for topic in response.topics] == ["t"]
    assert sorted((row[0], row[1]) for row in response.topics[0].partitions) == [(0, ErrorCode.INVALID_REQUEST), (1, 0)]
    older = LogApis(make_call, "3.9").ask(list_offsets, ListOffsetsRequest(replica_id=-1, topics=topics), 5)
    rows = [[row[:2] for row in topic.partitions] for topic in older.topics]
    assert rows == [[(0, ErrorCode.INVALID_REQUEST), (1, 0)], [(0, ErrorCode.INVALID_REQUEST)]], (
        "3.9.1 answers each occurrence"
    )


@pytest.mark.rules("LO-8", "LO-10", "LO-13", "LO-23")
def test_who_sees_what(make_call: Make) -> None:
    """Consumers up to the high watermark or the last stable offset, followers and debuggers up to the end."""
    lab = LogApis(make_call, nodes=2)
    lab.append(T0)
    lab.append(T0 + 1, producer_id=5, producer_epoch=0, base_sequence=0, transactional=True)
    lab.append(T0 + 2)
    lab.log.limit_high_watermark(2, NOW)

    assert ask(lab, 7, asked(-1)) == [(0, -1, 2, 0)]
    assert ask(lab, 7, asked(-1), isolation=1) == [(0, -1, 1, 0)]
    for replica_id in (2, -2):
        assert ask(lab, 7, asked(-1), replica_id=replica_id, isolation=1) == [(0, -1, 3, 0)]
        assert ask(lab, 7, asked(T0 + 2), replica_id=replica_id) == [(0, T0 + 2, 2, 0)]
    assert ask(lab, 7, asked(T0 + 1)) == [(0, T0 + 1, 1, 0)]
    assert ask(lab, 7, asked(T0 + 1), isolation=1) == [NOT_FOUND]
    assert ask(lab, 7, asked(T0 + 2)) == [NOT_FOUND]
    assert ask(lab, 7, asked(-3)) == [NOT_FOUND]
    lab.partition.leader = 2
    assert ask(lab, 7, asked(-1), replica_id=-2) == [(0, -1, 3, 0)]
    assert ask(lab, 7, asked(-1), replica_id=2) == [(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, -1, -1)]


@pytest.mark.rules("LO-28")
def test_records_of_transactions_are_found_by_time(make_call: Make) -> None:
    """Once below the last stable offset they count in both isolation levels, however the transaction ended."""
    lab = LogApis(make_call)
    lab.append(T0 + 1, producer_id=5, producer_epoch=0, base_sequence=0, transactional=True)
    lab.log.producers.ended(5, 0, 0, T0)
    lab.append(T0)

    for isolation in (0, 1):
        assert ask(lab, 7, asked(T0 + 1), isolation=isolation) == [(0, T0 + 1, 0, 0)]


@pytest.mark.rules("LO-14")
@pytest.mark.parametrize(
    ("version", "code"),
    [
        (1, ErrorCode.LEADER_NOT_AVAILABLE),
        (4, ErrorCode.LEADER_NOT_AVAILABLE),
        (5, ErrorCode.OFFSET_NOT_AVAILABLE),
        (11, ErrorCode.OFFSET_NOT_AVAILABLE),
    ],
)
def test_while_the_high_watermark_is_behind_the_epoch(make_call: Make, version: int, code: int) -> None:
    """Latest, and whatever would not be found, is not available yet; earliest and what is found still work."""
    lab = LogApis(make_call)
    lab.append(T0)
    lab.append(T0 + 1)
    lab.log.limit_high_watermark(1, NOW)
    lab.partition.leader_epoch = 1
    known = 0 if version >= 4 else -1

    assert ask(lab, version, asked(-1)) == [(code, -1, -1, -1)]
    assert ask(lab, version, asked(T0 + 1)) == [(code, -1, -1, -1)]
    assert ask(lab, version, asked(T0)) == [(0, T0, 0, known)]
    assert ask(lab, version, asked(-2)) == [(0, -1, 0, known)]
    assert ask(lab, version, asked(-1), replica_id=2)[0][0] == 0


@pytest.mark.rules("LO-27")
def test_nothing_asked(make_call: Make) -> None:
    """No topics: no answer; a topic without partitions is left out."""
    lab = LogApis(make_call)

    assert lab.ask(list_offsets, ListOffsetsRequest(replica_id=-1), 7).topics == []
    assert ask(lab, 7) == []
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t")])
    assert lab.ask(list_offsets, request, 7).topics == []
    assert [topic.name for topic in LogApis(make_call, "3.9").ask(list_offsets, request, 7).topics] == ["t"]


@pytest.mark.rules("LO-18", "LO-20")
def test_v0_with_one_segment(make_call: Make) -> None:
    """Log end and log start, by the time of the last write."""
    lab = LogApis(make_call)
    before, now_ms = NOW.wall_ms - 1, NOW.wall_ms
    assert old(lab, -1) == old(lab, -2) == old(lab, now_ms) == [0]
    assert old(lab, before) == []
    lab.append(T0, T0, T0)
    lab.now = Instant(now_ms + 10, 0)

    assert old(lab, -1) == old(lab, now_ms + 10) == [3, 0]
    assert old(lab, -1, 1) == [3]
    assert old(lab, -1, 0) == old(lab, -1, -1) == []
    assert old(lab, -2) == old(lab, now_ms) == old(lab, now_ms + 9) == [0]
    assert old(lab, before) == []
    lab.log.advance_log_start(3, NOW)
    assert old(lab, -1) == [3, 3]


@pytest.mark.rules("LO-18", "LO-30")
def test_v0_with_several_segments(make_call: Make) -> None:
    """From the segment that the target selects backwards, at most as many as asked."""
    lab = LogApis(make_call, segment_ms=1000)
    for n in range(4):
        lab.now = Instant(NOW.wall_ms + 100 * n, 0)
        lab.append(T0 + 5000 * n, T0 + 5000 * n)

    assert old(lab, -1) == [8, 6, 4, 2, 0]
    assert old(lab, NOW.wall_ms + 250) == [4, 2, 0]
    assert old(lab, NOW.wall_ms + 250, 2) == [4, 2]
    lab.log.advance_log_start(3, NOW)
    assert old(lab, -1) == [8, 6, 4, 3, 3]


@pytest.mark.rules("LO-19")
def test_v0_hides_what_is_beyond_the_high_watermark(make_call: Make) -> None:
    """Offsets above it are replaced by one high watermark in front, for consumers."""
    lab = LogApis(make_call, segment_ms=1000)
    for n in range(3):
        lab.append(T0 + 5000 * n, T0 + 5000 * n)
    lab.log.limit_high_watermark(3, NOW)

    assert old(lab, -1) == [3, 2, 0]
    assert old(lab, -1, replica_id=2) == [6, 4, 2, 0]


@pytest.mark.rules("LO-2", "LO-3", "LO-21")
def test_v0_errors_and_doubles(make_call: Make) -> None:
    """Errors have no offsets; a partition asked twice is answered twice, whatever its leader epoch; 2.1.1 merges."""
    lab = LogApis(make_call, "3.9", nodes=2)
    rows = [asked(-3), asked(-1, 9), asked(-1), asked(-1, epoch=7)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=rows)])
    answers = lab.ask(list_offsets, request, 0).topics[0].partitions
    assert [(row[1], row[2]) for row in answers] == [
        (ErrorCode.UNSUPPORTED_VERSION, []),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, []),
        (0, [0]),
        (0, [0]),
    ]
    lab.partition.lead(2, NOW)
    assert [row[1] for row in lab.ask(list_offsets, request, 0).topics[0].partitions] == [
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        *[ErrorCode.NOT_LEADER_OR_FOLLOWER] * 2,
    ]
    answers = LogApis(make_call, "2.1").ask(list_offsets, request, 0).topics[0].partitions
    assert [(row[0], row[2]) for row in answers] == [(0, [0]), (9, [])]


@pytest.mark.rules("LO-22")
def test_released_v1_has_one_offset(make_call: Make) -> None:
    """The seed of KIP-79 still shows MaxNumberOfOffsets and a list; v1 as released has neither."""
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=[asked(T0)])])

    assert len(request.encode(1)) == len(request.encode(0)) - 4
    assert LogApis(make_call).ask(list_offsets, request, 1).topics[0].partitions == [(0, 0, [], -1, -1, -1)]


def test_a_corrupted_batch_is_answered(make_call: Make) -> None:
    """A search inside a batch that a test corrupted gets CORRUPT_MESSAGE."""
    lab = LogApis(make_call)
    lab.append(T0, T0 + 5, codec=1)
    lab.log.corrupt(0)

    assert ask(lab, 7, asked(T0)) == [(2, -1, -1, -1)]


def test_others_are_served_while_a_large_batch_is_searched() -> None:
    """Neither the first request nor a like one after it unpacks the batch in one turn, whatever the log start cuts."""
    lab = SimEngine({"message.max.bytes": 1 << 20})
    topic = lab.cluster.topics.create("t", 1)
    records = [Record(0, T0, b"k", bytes(24 << 20)), Record(1, T0 + 1, b"k", b"v"), Record(2, T0 + 2, b"k", b"v")]
    topic.partitions[0].log.append(build_batch(records, codec=1), NOW)
    client, now = lab.client(), lab.network.now
    for log_start, target, offset in ((0, T0 + 1, 1), (0, T0, 0), (2, T0 + 1, 2)):
        topic.partitions[0].log.advance_log_start(log_start, now)
        wanted = ListOffsetsTopic(name="t", partitions=[asked(target)])
        client.socket.connection.receive(framed_request("ListOffsets", 7, replica_id=-1, topics=[wanted]), now)
        lab.engine.step(now)
        assert lab.engine.works, (log_start, target)
        lab.network.flush()
        (row,) = client.answer("ListOffsets", 7).topics[0].partitions
        assert row[1] == 0
        assert row[4] == offset
    assert lab.engine.errors == []


@pytest.mark.rules("LO-3")
@pytest.mark.parametrize("version", [1, 4])
def test_negative_times_in_2_1(make_call: Make, version: int) -> None:
    """2.1.1 looks for a record after such a time: the first is."""
    lab = LogApis(make_call, "2.1")
    assert ask(lab, version, asked(-4)) == [NOT_FOUND]
    lab.append(T0, T0 + 5)

    assert ask(lab, version, asked(-3)) == ask(lab, version, asked(-99)) == [(0, T0, 0, -1)]
    assert ask(lab, version, asked(-4, index=9)) == [(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1, -1)]
    assert old(lab, -3) == []


@pytest.mark.rules("LO-10", "FT-14")
@pytest.mark.parametrize("level", [-1, 2])
def test_an_unknown_isolation_level_in_2_1(make_call: Make, level: int) -> None:
    """2.1.1 cannot read such a request, and closes the connection."""
    lab = LogApis(make_call, "2.1")

    with pytest.raises(CloseConnection, match=f"isolation level {level}"):
        ask(lab, 4, asked(-1), isolation=level)
    with pytest.raises(CloseConnection, match=f"isolation level {level}"):
        lab.ask(fetch, FetchRequest(isolation_level=level, session_epoch=-1), 10)
