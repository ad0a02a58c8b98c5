"""Tests of retention: by time, by size, below the log start."""

import random

import pytest

from fakebroker.broker.core.logs import retention
from fakebroker.broker.core.logs.log import PartitionLog
from tests.support.logs import DAY_MS, NOW, LogsCluster, batch
from tests.support.time import T0

INTERVAL_MS = 300_000
FIRST_MS = 30_000


def segments_of(log: PartitionLog) -> list[int]:
    return list(log.segments)


@pytest.mark.rules("RT-1", "RT-2")
def test_by_time() -> None:
    """A segment goes when its newest record is older than retention.ms, at a check; the last one too, rolled before."""
    workshop = LogsCluster()
    now_ms = NOW.wall_ms
    log = workshop.log(retention_ms=10_000_000, segment_ms=1000)
    for time_ms in (now_ms, now_ms + 500, now_ms + 250_000):
        workshop.append(log, time_ms)
    first_check_after = NOW.wall_ms + FIRST_MS
    due_ms = now_ms + 500 + 10_000_000 + 1
    checks = -(-(due_ms - first_check_after) // INTERVAL_MS)
    tick_ms = first_check_after + checks * INTERVAL_MS

    workshop.wait(tick_ms - 1 - workshop.now.wall_ms)
    assert (log.log_start_offset, segments_of(log)) == (0, [0, 2])
    workshop.wait(1)
    assert (log.log_start_offset, segments_of(log)) == (2, [2])
    workshop.wait(INTERVAL_MS)
    assert (log.log_start_offset, log.log_end_offset, segments_of(log)) == (3, 3, [3])
    assert list(log.records()) == []
    assert workshop.append(log, now_ms).base_offset == 3


@pytest.mark.rules("RT-1")
def test_exactly_retention_ms_is_not_too_old() -> None:
    """Due is what is older than retention.ms, not what is as old; -1 is never."""
    workshop = LogsCluster()
    log = workshop.log(retention_ms=1000)
    workshop.append(log, NOW.wall_ms)
    workshop.wait(1000)
    retention.retain(log, workshop.now)
    assert log.log_start_offset == 0
    workshop.wait(1)
    retention.retain(log, workshop.now)
    assert log.log_start_offset == 1
    forever = workshop.topic("u", retention_ms=-1).partitions[0].log
    workshop.append(forever, 0)
    workshop.wait(1000 * DAY_MS)
    assert forever.log_start_offset == 0


@pytest.mark.rules("RT-1")
def test_the_oldest_that_is_not_due_keeps_the_ones_behind_it() -> None:
    """A record with a time in the future keeps its segment, and all behind it; records without time have the file's."""
    workshop = LogsCluster()
    now_ms = NOW.wall_ms
    log = workshop.log(retention_ms=1000, segment_ms=1)
    for times_ms in ((now_ms - 9000,), (now_ms + 3_000_000,), (now_ms - 9000,), (now_ms - 8000,)):
        workshop.append(log, *times_ms)
    timeless = workshop.topic("u", retention_ms=400_000).partitions[0].log
    workshop.append(timeless, -1)

    workshop.wait(FIRST_MS)
    assert log.log_start_offset == 1
    assert timeless.log_start_offset == 0
    workshop.wait(2 * INTERVAL_MS)
    assert (log.log_start_offset, timeless.log_start_offset) == (1, 1)
    workshop.wait(11 * INTERVAL_MS)
    assert log.log_start_offset == 4


@pytest.mark.rules("RT-3")
def test_by_size() -> None:
    """Oldest segments go while what stays is at least retention.bytes; 0 deletes everything."""
    workshop = LogsCluster()
    size = len(batch(T0))
    log = workshop.log(retention_ms=-1, retention_bytes=3 * size, segment_bytes=2 * size)
    for _ in range(7):
        workshop.append(log, T0)
    workshop.wait(FIRST_MS)
    assert segments_of(log) == [4, 6]
    workshop.append(log, T0)
    workshop.append(log, T0)
    workshop.wait(INTERVAL_MS)
    assert segments_of(log) == [6, 8], "of five batches two go, three are exactly retention.bytes"

    nothing = workshop.topic("u", retention_bytes=0).partitions[0].log
    workshop.append(nothing, T0)
    workshop.wait(INTERVAL_MS)
    assert (nothing.log_start_offset, segments_of(nothing)) == (1, [1])
    workshop.append(nothing, T0)
    workshop.wait(INTERVAL_MS)
    assert nothing.log_start_offset == 2


@pytest.mark.rules("RT-4", "RT-5")
@pytest.mark.parametrize("policy", ["delete", "compact", ""])
def test_segments_below_the_log_start(policy: str) -> None:
    """They go at the next check under every policy, also under none, and hold the data until then."""
    workshop = LogsCluster(as_release="4.3" if policy == "" else "3.9")
    log = workshop.log(cleanup_policy=policy, segment_ms=1, retention_ms=-1, min_cleanable_dirty_ratio=1)
    for n in range(4):
        workshop.append(log, T0 + 10 * n, T0 + 10 * n)
    workshop.wait(FIRST_MS + 10 * INTERVAL_MS)
    log.advance_log_start(5, workshop.now)
    assert segments_of(log) == [0, 2, 4, 6]

    workshop.wait(INTERVAL_MS)
    assert (segments_of(log), log.log_start_offset) == ([4, 6], 5)


@pytest.mark.rules("RT-4")
def test_only_below_the_high_watermark() -> None:
    """What followers do not have yet is not deleted."""
    workshop = LogsCluster()
    log = workshop.log(retention_ms=0, segment_ms=1)
    for n in range(3):
        workshop.append(log, T0 + 10 * n)
    log.limit_high_watermark(2, NOW)
    workshop.wait(FIRST_MS)
    assert segments_of(log) == [2]

    log.limit_high_watermark(None, NOW)
    workshop.wait(INTERVAL_MS)
    assert segments_of(log) == [3]


@pytest.mark.rules("RT-5")
def test_no_policy_keeps_everything() -> None:
    """With an empty cleanup.policy neither time nor size deletes."""
    workshop = LogsCluster(as_release="4.3")
    log = workshop.log(cleanup_policy="", retention_ms=1, retention_bytes=0)
    workshop.append(log, T0)
    workshop.wait(DAY_MS)

    assert log.log_start_offset == 0


def test_a_jump_over_days_does_not_run_every_check() -> None:
    """A check at which nothing can be due does not run."""
    workshop = LogsCluster()
    log = workshop.log(retention_ms=7 * DAY_MS)
    workshop.append(log, NOW.wall_ms)

    assert workshop.wait(6 * DAY_MS) <= 2
    assert log.log_start_offset == 0
    assert workshop.wait(2 * DAY_MS) <= 2
    assert log.log_start_offset == 1
    assert workshop.wait(100 * DAY_MS) <= 1


def test_a_deleted_topic_is_forgotten() -> None:
    """Its logs are not looked at any more."""
    workshop = LogsCluster()
    log = workshop.log(retention_ms=1)
    workshop.append(log, T0)
    workshop.cluster.topics.delete("t", NOW)
    workshop.wait(DAY_MS)

    assert log.log_start_offset == 0


def test_an_altered_setting_counts_at_the_next_check() -> None:
    """The jobs look again when they learn that settings changed."""
    workshop = LogsCluster()
    topic = workshop.topic(retention_ms=30 * DAY_MS)
    log = topic.partitions[0].log
    workshop.append(log, NOW.wall_ms)
    workshop.wait(DAY_MS)
    topic.config.replace({"retention.ms": "1000"})
    workshop.cluster.log_jobs.settings_changed(workshop.now)
    workshop.wait(INTERVAL_MS)

    assert log.log_start_offset == 1


def test_retention_agrees_with_a_list() -> None:
    """Random appends and checks: what is left is what a list of segments by the same rules has."""
    for seed in range(25):
        chance = random.Random(seed)
        workshop = LogsCluster()
        size = len(batch(T0))
        limit_ms, limit_bytes = chance.choice([-1, 5000, 400_000]), chance.choice([-1, 0, 3 * size])
        log = workshop.log(retention_ms=limit_ms, retention_bytes=limit_bytes, segment_bytes=2 * size)
        for _ in range(40):
            workshop.append(log, workshop.now.wall_ms - chance.randint(-3000, 500_000))
            if chance.random() < 0.2:
                workshop.wait(INTERVAL_MS)
                segments = list(log.segments.values())
                total = sum(s.size_bytes for s in segments)
                first = segments[0]
                if first.batches:
                    assert limit_bytes < 0 or total - first.size_bytes < limit_bytes
                    tick_ms = workshop.now.wall_ms - (workshop.now.wall_ms - NOW.wall_ms - FIRST_MS) % INTERVAL_MS
                    assert limit_ms < 0 or tick_ms - first.times.largest() <= limit_ms
                assert log.log_start_offset == first.base_offset
