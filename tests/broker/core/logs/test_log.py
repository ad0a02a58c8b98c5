"""Tests of the log: appending, reading, truncating, moving its start."""

import random

import pytest

from fakebroker.broker.core.logs.appends import AppendError
from fakebroker.broker.core.logs.log import Appended
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import finished
from fakebroker.protocol.records.batch import parse_header, peek, read_records
from tests.support.logs import EVERYTHING, NOW, LogsCluster, Pairs, batch
from tests.support.time import T0


@pytest.mark.rules("RB-5", "PD-2", "PD-9")
def test_a_batch_gets_its_place() -> None:
    """Base offset and leader epoch are set by the broker, the rest stays as it was sent, checksum included."""
    workshop = LogsCluster()
    log = workshop.log()
    assert workshop.append(log, T0, T0 + 1) == Appended(0, -1, 0)
    log.partition.leader_epoch = 3
    assert workshop.append(log, T0) == Appended(2, -1, 0)

    stored = log.read(2, 1000, EVERYTHING)
    assert stored[0][16:] == batch(T0)[16:]
    assert parse_header(stored[0])[:3] == (2, len(stored[0]) - 12, 3)
    assert (log.log_end_offset, log.high_watermark, log.last_stable_offset) == (3, 3, 3)


@pytest.mark.rules("PD-9", "PD-20")
def test_log_append_time_is_answered() -> None:
    """With LogAppendTime the answer carries the broker's time."""
    workshop = LogsCluster()
    log = workshop.log(message_timestamp_type="LogAppendTime")

    assert workshop.append(log, 5).log_append_time_ms == NOW.wall_ms


@pytest.mark.parametrize("sent", [batch(T0, base_offset=1), batch(T0)[:-1] + b"\1", batch(T0, control=True)])
def test_a_refused_batch_leaves_no_trace(sent: bytes) -> None:
    """A batch that is refused changes neither offsets nor bytes nor producers, and wakes nobody."""
    workshop = LogsCluster()
    log = workshop.log()
    workshop.append(log, T0)
    before = (log.log_end_offset, log.size_bytes, list(log.batches()), len(log.producers), log.epochs.entries())
    log.waiters["me"] = lambda _: pytest.fail("nothing has changed")

    with pytest.raises(AppendError):
        log.append(sent, NOW)
    assert (log.log_end_offset, log.size_bytes, list(log.batches()), len(log.producers), log.epochs.entries()) == before


@pytest.mark.rules("FT-6", "FT-9")
def test_reading_ends_at_the_limit() -> None:
    """Batches come from the one that holds the offset; the first is whole, the last may be cut at the limit."""
    workshop = LogsCluster()
    log = workshop.log()
    for _ in range(4):
        workshop.append(log, T0, T0, T0)
    size = len(log.read(0, 1, EVERYTHING)[0])

    assert [parse_header(b).base_offset for b in log.read(4, 2 * size, EVERYTHING)] == [3, 6]
    assert [len(batch) for batch in log.read(4, 2 * size - 1, EVERYTHING)] == [size, size - 1]
    assert [len(batch) for batch in log.read(4, 2 * size + 1, EVERYTHING)] == [size, size, 1]
    assert len(log.read(4, size, EVERYTHING)) == 1
    assert len(log.read(4, 0, EVERYTHING)) == 1
    assert log.read(4, size - 1, EVERYTHING, at_least_one=False) == []
    assert [parse_header(b).base_offset for b in log.read(0, EVERYTHING, 6)] == [0, 3]
    assert log.read(12, EVERYTHING, EVERYTHING) == []


@pytest.mark.rules("SE-2", "FT-16", "FT-4")
def test_reading_ends_with_the_segment() -> None:
    """One read answers from one segment, but the bytes that can be read count over all."""
    workshop = LogsCluster()
    log = workshop.log(segment_ms=1000)
    for time_ms in (T0, T0 + 1000, T0 + 1001, T0 + 2001, T0 + 2002):
        workshop.append(log, time_ms)

    assert [parse_header(b).base_offset for b in log.read(1, EVERYTHING, EVERYTHING)] == [1]
    assert [parse_header(b).base_offset for b in log.read(2, EVERYTHING, EVERYTHING)] == [2, 3]
    assert log.readable_bytes(1, 5) == 4 * len(batch(T0))
    assert log.readable_bytes(1, 4) == 3 * len(batch(T0))
    assert log.readable_bytes(5, 5) == 0


@pytest.mark.rules("SE-1", "LO-30")
def test_when_a_segment_ends() -> None:
    """By size, by record time since its first batch, by the clock for records without time, by a full index."""
    workshop = LogsCluster()
    size = len(batch(T0))
    by_size = workshop.topic("a", segment_bytes=2 * size).partitions[0].log
    for _ in range(5):
        workshop.append(by_size, T0)
    assert list(by_size.segments) == [0, 2, 4]

    by_clock = workshop.topic("b", segment_ms=1000).partitions[0].log
    for after_ms in (0, 1000, 1001):
        by_clock.append(batch(-1), Instant(NOW.wall_ms + after_ms, 0))
    assert list(by_clock.segments) == [0, 2]

    compact = workshop.topic("c", cleanup_policy="compact", max_compaction_lag_ms=10).partitions[0].log
    for time_ms in (T0, T0 + 10, T0 + 11):
        workshop.append(compact, time_ms)
    assert list(compact.segments) == [0, 2]

    indexed = workshop.topic("d", index_interval_bytes=0, segment_index_bytes=48).partitions[0].log
    for _ in range(8):
        workshop.append(indexed, T0)
    assert list(indexed.segments) == [0, 4]


@pytest.mark.rules("SE-1")
def test_old_times_behind_new_ones_do_not_end_a_segment() -> None:
    """Only time that goes on from the segment's first batch counts."""
    workshop = LogsCluster()
    log = workshop.log(segment_ms=1000)
    for time_ms in (T0, T0 - 50_000, -1):
        workshop.append(log, time_ms)

    assert list(log.segments) == [0]


@pytest.mark.rules("DL-1", "DL-2", "DL-3", "FT-20", "LE-3")
def test_the_log_start_moves_forward_only() -> None:
    """Up to the high watermark, also inside a batch, whose bytes are then still delivered whole."""
    workshop = LogsCluster()
    log = workshop.log()
    workshop.append(log, T0, T0, T0)
    workshop.append(log, T0)
    log.advance_log_start(2, NOW)
    log.advance_log_start(1, NOW)

    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (2, 4, 4)
    assert [r.offset for r in log.records()] == [2, 3]
    assert parse_header(log.read(2, 0, EVERYTHING)[0]).base_offset == 0
    assert log.epochs.entries() == [(0, 2)]
    for offset in (5, -2):
        with pytest.raises(KafkaError) as refusal:
            log.advance_log_start(offset, NOW)
        assert refusal.value.code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_the_high_watermark_can_lag() -> None:
    """Held back, it bounds what is readable and deletable; let go, it follows the end."""
    workshop = LogsCluster()
    log = workshop.log()
    workshop.append(log, T0)
    log.limit_high_watermark(1, NOW)
    workshop.append(log, T0)
    assert (log.high_watermark, log.last_stable_offset, log.log_end_offset) == (1, 1, 2)
    with pytest.raises(KafkaError):
        log.advance_log_start(2, NOW)

    log.limit_high_watermark(None, NOW)
    assert log.high_watermark == 2


def test_who_waits_hears_of_every_change() -> None:
    """Waiters are called with the time, once for each change, also when one takes itself out on the way."""
    workshop = LogsCluster()
    log = workshop.log()
    heard: list[Instant] = []
    log.waiters["once"] = lambda _: log.waiters.pop("once", None) and None
    log.waiters["always"] = heard.append

    workshop.append(log, T0)
    log.append_records(Pairs((b"a", b"b")), NOW)
    log.advance_log_start(1, NOW)
    log.truncate(1, NOW)
    assert heard == [NOW] * 4
    assert list(log.waiters) == ["always"]


@pytest.mark.rules("CR-14")
def test_the_coordinators_records_become_bytes_when_somebody_looks() -> None:
    """They take their offsets at once and are bytes, time and leader epoch of their writing included, when read."""
    workshop = LogsCluster()
    log = workshop.log()
    first, second = Pairs((b"a", b"1"), (b"b", None)), Pairs((b"c", b"3"))
    assert log.append_records(first, NOW) == 0
    log.partition.leader_epoch = 4
    assert log.append_records(second, Instant(NOW.wall_ms + 7, 0)) == 2
    assert (log.log_end_offset, log.high_watermark, first.asked, second.asked) == (3, 3, 0, 0)

    batches = log.read(0, EVERYTHING, EVERYTHING)
    assert [(r.offset, r.timestamp_ms, r.key, r.value) for b in batches for r in read_records(b)] == [
        (0, NOW.wall_ms, b"a", b"1"),
        (1, NOW.wall_ms, b"b", None),
        (2, NOW.wall_ms + 7, b"c", b"3"),
    ]
    assert [parse_header(b).leader_epoch for b in batches] == [0, 4]
    assert log.read(0, EVERYTHING, EVERYTHING) == batches
    assert (first.asked, second.asked) == (1, 1)


def test_values_and_bytes_mix_in_order() -> None:
    """A batch that comes as bytes goes behind the values written before it; cutting and searching see all."""
    workshop = LogsCluster()
    log = workshop.log()
    log.append_records(Pairs((b"a", b"1")), NOW)
    workshop.append(log, T0)
    log.append_records(Pairs((b"c", b"3")), NOW)

    assert [(r.offset, r.key) for r in log.records()] == [(0, b"a"), (1, b"k"), (2, b"c")]
    found = finished(log.find_by_timestamp(T0, EVERYTHING))
    assert found is not None
    assert found.offset == 0


def test_segments_of_values_are_cut_as_if_they_had_been_bytes() -> None:
    """Writing values and looking later gives the same segments as looking after every write."""
    logs = []
    for looks in (True, False):
        workshop = LogsCluster()
        log = workshop.log(segment_bytes=400)
        for n in range(20):
            log.append_records(Pairs((b"k%d" % n, b"v" * (n * 7 % 50))), NOW)
            if looks:
                log.materialize_pending()
        logs.append((list(log.batches()), list(log.segments)))

    assert logs[0] == logs[1]
    assert len(logs[0][1]) > 3


@pytest.mark.rules("CR-14", "CO-1")
def test_writes_that_nobody_read_for_long() -> None:
    """Beyond so much memory the oldest writes become bytes, or go if compaction would remove them anyway."""
    log = LogsCluster({"fakebroker.unread.writes.max.bytes": 2_500}).log(cleanup_policy="compact")
    writes = [Pairs((b"k%d" % n, b"v")) for n in range(4)]
    writes[0].superseded = True
    for write in writes:
        log.append_records(write, NOW)

    assert [write.asked for write in writes] == [0, 1, 0, 0]
    assert [r.offset for r in log.records()] == [1, 2, 3]
    assert log.log_end_offset == 4


@pytest.mark.rules("CR-14", "FT-14")
def test_a_transactional_write_of_the_coordinator_opens_a_transaction() -> None:
    """It carries the producer and holds the last stable offset back."""
    workshop = LogsCluster()
    log = workshop.log()
    log.append_records(Pairs((b"a", b"1")), NOW)
    log.append_records(Pairs((b"b", b"2")), NOW, producer=(9, 1))
    log.append_records(Pairs((b"c", b"3")), NOW)

    header = parse_header(log.read(1, 0, EVERYTHING)[0])
    assert (header.producer_id, header.producer_epoch, header.is_transactional) == (9, 1, True)
    assert (log.high_watermark, log.last_stable_offset) == (3, 1)


@pytest.mark.parametrize("offset", range(8))
def test_truncate_cuts_anywhere(offset: int) -> None:
    """Records at and after the offset are gone, those before it stay, also inside a batch and over segments."""
    workshop = LogsCluster()
    log = workshop.log(segment_ms=10)
    for time_ms in (T0, T0 + 5, T0 + 50):
        workshop.append(log, time_ms, time_ms)
    workshop.append(log, T0, producer_id=1, producer_epoch=0, base_sequence=0)
    before = [r for r in log.records() if r.offset < offset]
    log.truncate(offset, NOW)

    assert list(log.records()) == before
    assert log.log_end_offset == log.high_watermark == min(offset, 7)
    assert len(log.producers) == (offset >= 7)
    assert workshop.append(log, T0).base_offset == min(offset, 7)
    assert [r.offset for r in log.records()] == list(range(min(offset, 7) + 1))


def test_truncate_below_the_start_moves_the_start() -> None:
    """A log cut off below its start is empty there."""
    workshop = LogsCluster()
    log = workshop.log()
    workshop.append(log, T0, T0, T0)
    log.advance_log_start(2, NOW)
    log.truncate(1, NOW)

    assert (log.log_start_offset, log.log_end_offset) == (1, 1)


def test_corrupting_a_batch() -> None:
    """Its checksum no longer fits, its neighbours are untouched; a search inside it is answered as Kafka answers."""
    workshop = LogsCluster()
    log = workshop.log()
    for time_ms in (T0, T0 + 1):
        workshop.append(log, time_ms)
    good = list(log.batches())
    log.corrupt(1)

    assert [a == b for a, b in zip(good, log.batches(), strict=True)] == [True, False]
    with pytest.raises(KafkaError) as refusal:
        log.corrupt(2)
    assert refusal.value.code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_corrupted_compressed_batch_cannot_be_searched() -> None:
    """A search by time inside it ends with CORRUPT_MESSAGE, not with a crash."""
    workshop = LogsCluster()
    log = workshop.log()
    workshop.append(log, T0, T0 + 5, codec=1)
    log.corrupt(0)

    with pytest.raises(KafkaError) as refusal:
        finished(log.find_by_timestamp(T0, EVERYTHING))
    assert refusal.value.code == ErrorCode.CORRUPT_MESSAGE


def test_reads_agree_with_a_list() -> None:
    """Whatever was appended, cut and moved: what is read from any offset is what a plain list holds."""
    chance = random.Random(5)
    workshop = LogsCluster()
    log = workshop.log(segment_bytes=600)
    model: list[tuple[int, bytes]] = []
    for step in range(300):
        if step % 40 == 39:
            log.truncate(cut := chance.randint(log.log_start_offset, log.log_end_offset), NOW)
            model = [entry for entry in model if entry[0] < cut]
        elif step % 25 == 24:
            log.advance_log_start(chance.randint(log.log_start_offset, log.log_end_offset), NOW)
        else:
            count, value = chance.randint(1, 4), b"%d" % step
            base = workshop.append(log, *[T0] * count, value=value).base_offset
            model += [(base + n, value) for n in range(count)]
        assert [(r.offset, r.value) for r in log.records()] == [e for e in model if e[0] >= log.log_start_offset]
        if model and (offset := chance.choice(model)[0]) >= log.log_start_offset:
            read = [r for b in log.read(offset, 300, EVERYTHING) if peek(b) for r in read_records(b)]
            assert read
            assert [(r.offset, r.value) for r in read] == [
                e for e in model if read[0].offset <= e[0] <= read[-1].offset
            ]
            assert read[0].offset <= offset <= read[-1].offset
