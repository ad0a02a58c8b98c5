"""Tests of compaction."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.logs import cleaner, jobs
from fakebroker.broker.core.logs.config import LogConfig
from fakebroker.broker.core.logs.jobs import LogJobs
from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import finished
from fakebroker.protocol.records.batch import parse_header, read_records
from tests.support.logs import DAY_MS, EVERYTHING, NOW, LogsCluster, Pairs, keyed, partition_of
from tests.support.time import T0
from tests.support.work_counter import calls_of

BACKOFF_MS = 15_000
HOUR_MS = 3_600_000


def compacted(workshop: LogsCluster, **config: object) -> PartitionLog:
    """A log whose batches each get a segment of their own, when their times are an hour apart."""
    own = {
        "segment_ms": HOUR_MS - 1,
        "cleanup_policy": "compact",
        "retention_ms": -1,
        "min_cleanable_dirty_ratio": 0.001,
    }
    return workshop.log(**{**own, **config})


def write(workshop: LogsCluster, log: PartitionLog, *batches: Mapping[str, str | None], **fields: int) -> None:
    """One batch per dict, each an hour of record time after the one before it."""
    for pairs in batches:
        time_ms = T0 + log.log_end_offset * HOUR_MS
        log.append(keyed(*pairs.items(), time_ms=time_ms, **fields), workshop.now)


def contents(log: PartitionLog) -> list[tuple[int, str, str | None]]:
    return [(r.offset, (r.key or b"").decode(), None if r.value is None else r.value.decode()) for r in log.records()]


@pytest.mark.rules("CO-1", "CO-4")
def test_the_latest_record_of_each_key_survives() -> None:
    """In closed segments; the active one is left alone. The log start does not move, gaps are read over."""
    workshop = LogsCluster()
    log = compacted(workshop)
    write(workshop, log, {"a": "1", "b": "1"}, {"a": "2"}, {"c": "1"}, {"a": "3"}, {"c": "2"})
    workshop.wait(BACKOFF_MS)

    assert contents(log) == [(1, "b", "1"), (3, "c", "1"), (4, "a", "3"), (5, "c", "2")]
    assert (log.log_start_offset, log.log_end_offset) == (0, 6)
    assert list(log.segments) == [0, 5]
    assert parse_header(log.read(2, 0, EVERYTHING)[0]).base_offset == 3


@pytest.mark.rules("CO-3", "RC-2", "LO-31")
def test_what_stays_of_a_batch() -> None:
    """Base offset, last offset and times stay, the count shrinks; by time survivors are found, the log start stays."""
    workshop = LogsCluster()
    log = compacted(workshop)
    write(workshop, log, {"a": "1", "b": "1", "c": "1"}, {"a": "2", "c": "2"}, {"z": "1"})
    before = parse_header(log.read(0, 0, EVERYTHING)[0])
    workshop.wait(BACKOFF_MS)
    batch = log.read(0, 0, EVERYTHING)[0]
    after = parse_header(batch)

    assert (after.base_offset, after.last_offset_delta, after.records_count) == (0, 2, 1)
    assert (after.base_timestamp_ms, after.max_timestamp_ms) == (before.base_timestamp_ms, before.max_timestamp_ms)
    assert [(r.offset, r.key) for r in read_records(batch)] == [(1, b"b")]
    found = finished(log.find_by_timestamp(T0, EVERYTHING))
    assert found is not None
    assert found.offset == 1
    assert log.log_start_offset == 0


@pytest.mark.rules("CO-5", "RC-1")
def test_tombstones_go_after_their_time() -> None:
    """The first pass sets the delete horizon, a later pass behind it removes them; their times stay readable."""
    workshop = LogsCluster()
    log = compacted(workshop, delete_retention_ms=HOUR_MS)
    write(workshop, log, {"a": "1"}, {"a": None, "b": "1"}, {"z": "1"})
    workshop.wait(BACKOFF_MS)
    header = parse_header(log.read(0, 0, EVERYTHING)[0])
    assert contents(log) == [(1, "a", None), (2, "b", "1"), (3, "z", "1")]
    assert header.has_delete_horizon
    assert NOW.wall_ms + HOUR_MS <= header.base_timestamp_ms <= workshop.now.wall_ms + HOUR_MS
    assert [r.timestamp_ms for r in log.records()][:2] == [T0 + HOUR_MS] * 2

    write(workshop, log, {"y": "1"})
    workshop.wait(BACKOFF_MS)
    assert contents(log)[0] == (1, "a", None)
    workshop.wait(HOUR_MS)
    write(workshop, log, {"x": "1"})
    workshop.wait(BACKOFF_MS)
    assert contents(log) == [(2, "b", "1"), (3, "z", "1"), (4, "y", "1"), (5, "x", "1")]


@pytest.mark.rules("CO-5", "RB-4")
@pytest.mark.parametrize(("time_ms", "delete_retention_ms"), [(NOW.wall_ms - (2**63 - 1), DAY_MS), (T0, 2**63 - 1)])
def test_times_that_are_far_from_the_delete_horizon_are_readable(time_ms: int, delete_retention_ms: int) -> None:
    """Their difference does not fit into a long: it is wrong by 2^64, as in Java, and right again when it is read."""
    workshop = LogsCluster()
    log = compacted(workshop, delete_retention_ms=delete_retention_ms)
    write(workshop, log, {"b": "1"})
    log.append(keyed(("a", None), time_ms=time_ms), workshop.now)
    write(workshop, log, {"c": "1"}, {"d": "1"})
    workshop.wait(BACKOFF_MS)

    assert parse_header(log.read(1, 0, EVERYTHING)[0]).has_delete_horizon
    assert [each.timestamp_ms for each in log.records()][1] == time_ms


@pytest.mark.rules("CO-1")
def test_a_log_that_cannot_be_cleaned_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Kafka's cleaner, it leaves such a partition alone; it tries again when that has another segment."""
    workshop, errors = LogsCluster(), list[Exception]()
    workshop.cluster.timers.passes.on_error = errors.append
    bad, good = compacted(workshop), compacted(workshop, name="good")
    clean = cleaner.clean

    def failing(log: PartitionLog, *args: Any) -> Any:
        if log is bad:
            raise ValueError("a batch that nobody has thought of")
        return clean(log, *args)

    monkeypatch.setattr(cleaner, "clean", failing)
    for value in ("1", "2", "3"):
        for log in (bad, good):
            write(workshop, log, {"a": value}, {"a": value})
        workshop.wait(BACKOFF_MS)
    assert [str(each) for each in errors] == ["a batch that nobody has thought of"] * 3
    assert (len(contents(bad)), len(contents(good))) == (6, 2)
    monkeypatch.undo()
    write(workshop, bad, {"a": "4"})
    workshop.wait(BACKOFF_MS)
    assert len(contents(bad)) == 2


def test_a_job_that_fails_runs_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes wrong beside the logs: at its next tick it begins anew."""
    workshop, errors = LogsCluster(), list[Exception]()
    workshop.cluster.timers.passes.on_error = errors.append
    log = compacted(workshop)
    retain_those, failures = LogJobs._retain_those, [ValueError("once")]

    def failing_once(jobs: LogJobs, *, compact: bool) -> Any:
        if failures:
            raise failures.pop()
        return retain_those(jobs, compact=compact)

    monkeypatch.setattr(LogJobs, "_retain_those", failing_once)
    for value in ("1", "2"):
        write(workshop, log, {"a": value}, {"a": value})
        workshop.wait(BACKOFF_MS)
    assert [str(each) for each in errors] == ["once"]
    assert len(contents(log)) == 2


@pytest.mark.rules("CO-5")
@pytest.mark.parametrize(("early_ms", "stays"), [(1, True), (0, False)])
def test_tombstones_go_at_the_delete_horizon(early_ms: int, stays: bool) -> None:
    """A pass at the very millisecond removes them, one before it does not."""
    workshop = LogsCluster()
    log = compacted(workshop, delete_retention_ms=HOUR_MS)
    write(workshop, log, {"a": None}, {"z": "1"})
    workshop.wait(BACKOFF_MS)
    horizon_ms = parse_header(log.read(0, 0, EVERYTHING)[0]).base_timestamp_ms
    write(workshop, log, {"y": "1"})
    at = Instant(wall_ms=horizon_ms - early_ms, mono_ms=0)
    assert finished(cleaner.clean(log, cleaner.measure(log, at.wall_ms), at.wall_ms)).put_into(log, at)

    assert ((0, "a", None) in contents(log)) == stays


@pytest.mark.rules("CO-6")
def test_what_stays_although_empty() -> None:
    """The last batch of a producer that is still known, and the last of the cleaned range."""
    workshop = LogsCluster()
    log = compacted(workshop)
    write(workshop, log, {"a": "1"}, producer_id=5, producer_epoch=0, base_sequence=0)
    write(workshop, log, {"a": "2"}, producer_id=5, producer_epoch=0, base_sequence=1)
    write(workshop, log, {"a": "3"}, {"z": "1"})
    workshop.wait(BACKOFF_MS)
    first = parse_header(log.read(0, 0, EVERYTHING)[0])
    assert (first.base_offset, first.producer_id, first.base_sequence) == (1, 5, 1)
    assert (first.records_count, first.base_timestamp_ms, first.max_timestamp_ms) == (0, -1, T0 + HOUR_MS)
    assert finished(log.find_by_timestamp(T0, EVERYTHING)) == (T0 + 2 * HOUR_MS, 2, 0)

    write(workshop, log, {"a": "4"}, {"y": "1"})
    workshop.wait(BACKOFF_MS)
    assert [parse_header(b).base_offset for b in log.batches()] == [1, 3, 4, 5]
    workshop.wait(2 * DAY_MS)
    write(workshop, log, {"a": "5"}, {"x": "1"})
    workshop.wait(BACKOFF_MS)
    assert [parse_header(b).base_offset for b in log.batches()] == [3, 5, 6, 7]


@pytest.mark.rules("CO-6")
def test_the_end_of_the_cleaned_part_stays_until_the_next_pass() -> None:
    """The last batch below the active segment is kept empty if none of its records survives."""
    workshop = LogsCluster()
    log = compacted(workshop)
    write(workshop, log, {"a": "1"}, {"a": None})
    write(workshop, log, {"z": "1"})
    workshop.wait(BACKOFF_MS)
    workshop.wait(2 * DAY_MS)
    log.cleaned_until = 0
    cleanable = cleaner.measure(log, workshop.now.wall_ms)
    assert finished(cleaner.clean(log, cleanable, workshop.now.wall_ms)).put_into(log, workshop.now)

    assert [(parse_header(b).base_offset, parse_header(b).records_count) for b in log.batches()] == [(1, 0), (2, 1)]


@pytest.mark.rules("CO-8")
def test_records_without_key_are_dropped() -> None:
    """What was written before the topic was compacted and has no key goes."""
    workshop = LogsCluster()
    topic = workshop.topic(segment_ms=1, retention_ms=-1)
    log = topic.partitions[0].log
    log.append(keyed((None, "old"), ("a", "1"), time_ms=T0), NOW)
    log.append(keyed(("b", "1"), time_ms=T0 + HOUR_MS), NOW)
    topic.config.replace({"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0"})
    workshop.cluster.log_jobs.settings_changed(NOW)
    workshop.wait(BACKOFF_MS)

    assert contents(log) == [(1, "a", "1"), (2, "b", "1")]


@pytest.mark.rules("CO-7", "CO-1")
def test_an_open_transaction_is_not_cleaned() -> None:
    """Cleaning stops at the segment that holds the last stable offset."""
    workshop = LogsCluster()
    log = compacted(workshop)
    write(workshop, log, {"a": "1"}, {"a": "2"})
    write(workshop, log, {"a": "3"}, producer_id=5, producer_epoch=0, base_sequence=0, transactional=True)
    write(workshop, log, {"a": "4"}, {"a": "5"})
    workshop.wait(BACKOFF_MS)

    assert [offset for offset, *_ in contents(log)] == [1, 2, 3, 4]


@pytest.mark.rules("CO-2")
def test_when_a_log_is_cleaned() -> None:
    """When more than min.cleanable.dirty.ratio of what can be cleaned is dirty, or a dirty record is overdue."""
    workshop = LogsCluster()
    log = compacted(workshop, min_cleanable_dirty_ratio=0.5)
    write(workshop, log, {"a": "1"}, {"a": "2"}, {"b": "1"})
    workshop.wait(BACKOFF_MS)
    assert [offset for offset, *_ in contents(log)] == [1, 2]
    write(workshop, log, {"b": "2"})
    workshop.wait(BACKOFF_MS)
    assert [offset for offset, *_ in contents(log)] == [1, 2, 3], "one of two segments is dirty: not more than half"
    write(workshop, log, {"c": "1"})
    workshop.wait(BACKOFF_MS)
    assert [offset for offset, *_ in contents(log)] == [1, 3, 4]


@pytest.mark.rules("CO-2")
def test_overdue_records_are_cleaned_whatever_the_ratio() -> None:
    """A record older than max.compaction.lag.ms is cleaned at the next pass."""
    workshop = LogsCluster()
    log = compacted(workshop, min_cleanable_dirty_ratio=1, max_compaction_lag_ms=40 * HOUR_MS)
    write(workshop, log, {"a": "1"}, {"a": "2"}, {"b": "1"})
    overdue_ms = T0 + 40 * HOUR_MS
    workshop.wait(overdue_ms - NOW.wall_ms)
    assert len(contents(log)) == 3
    workshop.wait(BACKOFF_MS)
    assert [offset for offset, *_ in contents(log)] == [1, 2]


@pytest.mark.rules("CO-1")
def test_young_segments_are_not_cleaned() -> None:
    """Cleaning stops at the first segment with a record younger than min.compaction.lag.ms, and goes on in time."""
    workshop = LogsCluster()
    log = compacted(workshop, min_compaction_lag_ms=2 * HOUR_MS)
    write(workshop, log, {"a": "1"}, {"a": "2"}, {"a": "3"}, {"a": "4"})
    workshop.wait(BACKOFF_MS)
    assert [offset for offset, *_ in contents(log)] == [0, 1, 2, 3]
    workshop.wait(3 * HOUR_MS)
    assert [offset for offset, *_ in contents(log)] == [1, 2, 3]
    workshop.wait(DAY_MS)
    assert [offset for offset, *_ in contents(log)] == [2, 3]


@pytest.mark.rules("RT-1", "CO-2")
def test_compact_and_delete() -> None:
    """With both policies the cleaner also enforces the retention."""
    workshop = LogsCluster()
    log = compacted(workshop, cleanup_policy="compact,delete", retention_ms=10 * HOUR_MS)
    write(workshop, log, {"a": "1"}, {"a": "2"}, {"b": "1"})
    workshop.wait(BACKOFF_MS)
    assert (log.log_start_offset, contents(log)) == (0, [(1, "a", "2"), (2, "b", "1")])
    workshop.wait(DAY_MS)
    assert (log.log_start_offset, contents(log)) == (3, [])


def test_cleaning_can_be_switched_off() -> None:
    """With log.cleaner.enable=false nothing is compacted."""
    workshop = LogsCluster({"log.cleaner.enable": False})
    log = compacted(workshop)
    write(workshop, log, {"a": "1"}, {"a": "2"}, {"a": "3"})
    workshop.wait(DAY_MS)

    assert len(contents(log)) == 3


@pytest.mark.rules("CO-4")
def test_segments_are_merged_by_size() -> None:
    """Neighbours become one as long as they fit into segment.bytes by their old sizes."""
    workshop = LogsCluster()
    size = len(keyed(("a", "1")))
    log = compacted(workshop, segment_bytes=2 * size)
    write(workshop, log, *({f"k{n}": "1"} for n in range(6)))
    workshop.wait(BACKOFF_MS)

    assert list(log.segments) in ([0, 2, 4, 5], [0, 1, 2, 3, 4, 5])


pairs = st.tuples(st.sampled_from("abc"), st.sampled_from(["1", None]))


def test_values_stay_values() -> None:
    """The jobs make no bytes of what a coordinator wrote to a compacted log; closed segments are cleaned."""
    workshop = LogsCluster()
    log = compacted(workshop)
    write(workshop, log, {"a": "1"}, {"a": "2"}, {"b": "1"})
    pending = Pairs((b"b", b"2"))
    log.append_records(pending, workshop.now)
    workshop.wait(DAY_MS)

    assert pending.asked == 0
    assert [offset for offset, *_ in contents(log)] == [1, 2, 3]


passes = st.lists(st.lists(st.lists(pairs, min_size=1, max_size=3), max_size=4), min_size=1, max_size=4)


@pytest.mark.rules("CO-1", "CO-3", "CO-5")
@given(passes, st.sampled_from([0, 1, 4]))
def test_compaction_agrees_with_a_list(rounds: list[list[list[tuple[str, str | None]]]], codec: int) -> None:
    """After any number of passes each key's latest record is there, in closed segments no other, in order."""
    workshop = LogsCluster()
    log = compacted(workshop, min_cleanable_dirty_ratio=0)
    model: list[tuple[int, str, str | None]] = []
    for batches in rounds:
        for written in batches:
            time_ms = T0 + (len(model) + 1) * HOUR_MS
            base = log.append(keyed(*written, time_ms=time_ms, codec=codec), workshop.now).base_offset
            model += [(base + n, key, value) for n, (key, value) in enumerate(written)]
        workshop.wait(BACKOFF_MS)
        active = log.active_segment.base_offset
        latest = {key: offset for offset, key, _ in model if offset < active}
        survivors = [r for r in model if r[0] >= active or r[0] == latest[r[1]]]
        assert contents(log) == survivors
        assert log.log_end_offset == len(model)
    for batch in log.batches():
        header = parse_header(batch)
        assert all(header.base_offset <= r.offset <= header.last_offset for r in read_records(batch))


def test_log_config_defaults_are_kafkas() -> None:
    """The plain attributes have the defaults of the settings they are read from."""
    config = LogsCluster(as_release="4.3").topic().config

    assert config.log == LogConfig()


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of the cleaner reads two records."""
    monkeypatch.setattr(cleaner, "RECORDS_PER_STEP", 1)


def begin_in_steps(workshop: LogsCluster, **config: object) -> PartitionLog:
    """A log with eight records in closed segments; the cleaner has done what one turn may do."""
    log = compacted(workshop, **config)
    write(workshop, log, {"a": "1", "b": "1"}, {"a": "2", "c": "1"}, {"b": "2", "d": "1"}, {"a": "3", "d": "2"})
    write(workshop, log, {"e": "1"})
    passes = workshop.cluster.timers.passes
    passes.limit()
    workshop.wait(1)
    assert len(contents(log)) == 9
    assert passes
    return log


def take_turns(workshop: LogsCluster) -> int:
    """What was put off is done; returns in how many turns."""
    passes, turns = workshop.cluster.timers.passes, 0
    while rest := passes.take():
        passes.limit()
        rest(workshop.now)
        turns += 1
    passes.lift_limit()
    return turns


def test_logs_that_are_not_compacted_are_passed_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """That costs little for each, but there may be 50,000 whose configs are to be made again."""
    monkeypatch.setattr(jobs, "LOGS_PER_STEP", 5)
    workshop = LogsCluster()
    for number in range(30):
        write(workshop, workshop.log(name=f"t{number}"), {"a": "1"})
    steps = workshop.cluster.log_jobs._clean(workshop.now)
    costs = [calls_of(lambda: next(steps, None)) for _ in range(12)]

    assert next(steps, None) is None
    assert max(costs) < sum(costs) / 6


CLEANED = [(3, "c", "1"), (4, "b", "2"), (6, "a", "3"), (7, "d", "2"), (8, "e", "1")]


@pytest.mark.usefixtures("small_steps")
@pytest.mark.rules("CO-1")
def test_a_large_log_is_cleaned_in_turns() -> None:
    """Clients are served between them; the log changes with the last one."""
    workshop = LogsCluster()
    log = begin_in_steps(workshop)
    assert take_turns(workshop) >= 2
    assert contents(log) == CLEANED


@pytest.mark.rules("CO-1")
def test_a_batch_of_many_records_is_cleaned_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients are served while its records are read, while it is judged which stay, and while these are encoded."""
    monkeypatch.setattr(cleaner, "RECORDS_PER_STEP", 10)
    workshop = LogsCluster()
    log = compacted(workshop)
    write(workshop, log, {str(n): "1" for n in range(100)}, {"0": "2"}, {"0": "3"})
    cleaning = cleaner.clean(log, cleaner.measure(log, workshop.now.wall_ms), workshop.now.wall_ms)
    assert sum(1 for _ in cleaning) >= 3 * 100 // 11


@pytest.mark.usefixtures("small_steps")
@pytest.mark.rules("CO-1", "CO-2")
def test_what_is_written_meanwhile_is_cleaned_next_time() -> None:
    """It stays behind what is cleaned, and waits for the next interval of the cleaner."""
    workshop = LogsCluster()
    log = begin_in_steps(workshop)
    write(workshop, log, {"e": "2"}, {"f": "1"})
    take_turns(workshop)
    assert contents(log) == [*CLEANED, (9, "e", "2"), (10, "f", "1")]
    workshop.wait(BACKOFF_MS)
    assert contents(log) == [*CLEANED[:-1], (9, "e", "2"), (10, "f", "1")]


@pytest.mark.usefixtures("small_steps")
@pytest.mark.rules("CO-1")
def test_a_log_that_loses_its_beginning_meanwhile_is_cleaned_next_time() -> None:
    """Segments that were deleted do not come back."""
    workshop = LogsCluster()
    log = begin_in_steps(workshop)
    log.advance_log_start(4, workshop.now)
    del log.segments[0]
    take_turns(workshop)
    assert len(contents(log)) == 5
    workshop.wait(BACKOFF_MS)
    assert contents(log) == CLEANED[1:]


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("end", ["delete", "configure"])
def test_a_log_that_is_no_longer_compacted_is_left_alone(end: str) -> None:
    """Its topic was deleted, or has another policy by now."""
    workshop = LogsCluster()
    log = begin_in_steps(workshop)
    if end == "delete":
        workshop.cluster.topics.delete("t", workshop.now)
    else:
        partition_of(log).topic.config.replace({"cleanup.policy": "delete"})
    take_turns(workshop)
    assert len(log.segments) > 2
