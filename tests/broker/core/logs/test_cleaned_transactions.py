"""Tests of compaction where there are transactions: what was aborted goes, and markers go after their data."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.logs import cleaner
from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.protocol.pace import finished
from fakebroker.protocol.records.batch import parse_header, read_records
from tests.support.logs import EVERYTHING, LogsCluster, keyed

RETENTION_MS = 100_000  # delete.retention.ms


class Compacted:
    """A compacted log whose batches each get a segment of their own; time passes with each step."""

    def __init__(self) -> None:
        self.lab = LogsCluster()
        own = {"cleanup_policy": "compact", "delete_retention_ms": RETENTION_MS, "segment_ms": 1, "retention_ms": -1}
        self.log: PartitionLog = self.lab.log(**own, min_cleanable_dirty_ratio=0.999)

    def write(self, producer_id: int, key: str, value: str | None) -> None:
        """One record, in the producer's transaction unless it is -1."""
        self.lab.ms += 5
        fields: dict[str, int | bool] = {}
        if producer_id >= 0:
            state = self.log.producers.get(producer_id)
            sequence = 0 if state is None else state.last_sequence + 1
            fields = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": sequence, "transactional": True}
        self.log.append(keyed((key, value), time_ms=self.lab.now.wall_ms, **fields), self.lab.now)

    def end(self, producer_id: int, *, commit: bool) -> None:
        self.lab.ms += 5
        self.log.append_marker(producer_id, 0, self.lab.now, commit=commit, coordinator_epoch=0)

    def clean(self, after_ms: int = 0) -> None:
        """One pass over everything, however little is dirty."""
        self.lab.ms += after_ms
        self.write(-1, "end", "x")
        self.log.cleaned_until = 0
        now = self.lab.now
        cleaned = finished(cleaner.clean(self.log, cleaner.measure(self.log, now.wall_ms), now.wall_ms))
        assert cleaned.put_into(self.log, now)

    def shape(self) -> list[tuple[int, int, int]]:
        """Of each batch below the active segment its base offset, attributes and number of records."""
        headers = [parse_header(each) for each in self.log.batches()]
        return [(h.base_offset, h.attributes, h.records_count) for h in headers if h.base_offset < self.last]

    @property
    def last(self) -> int:
        active: int = self.log.segments.keys()[-1]
        return active

    def committed(self) -> dict[str, str | None]:
        """The latest value of each key, as a reader with read_committed has it in the end."""
        end, values = self.log.last_stable_offset, {}
        aborted = {offset for each in self.log.aborted.entries for offset in self._data(*each[:3])}
        for batch in self.log.read(0, EVERYTHING, end) if len(self.log.segments) == 1 else self.log.batches():
            header = parse_header(batch)
            if header.is_control or header.base_offset >= end:
                continue
            for record in read_records(batch):
                if record.offset not in aborted and record.key is not None:
                    values[record.key.decode()] = None if record.value is None else record.value.decode()
        return {key: value for key, value in values.items() if value is not None and key != "end"}

    def _data(self, producer_id: int, first: int, marker: int) -> list[int]:
        headers = [parse_header(each) for each in self.log.batches()]
        return [
            offset
            for h in headers
            if h.producer_id == producer_id and first <= h.base_offset < marker
            for offset in range(h.base_offset, h.last_offset + 1)
        ]


@pytest.mark.rules("CO-7")
def test_aborted_records_go_and_replace_nothing() -> None:
    """The value before them stays; what was committed replaces it."""
    log = Compacted()
    log.write(-1, "a", "old")
    log.write(7, "a", "aborted")
    log.write(7, "b", "aborted")
    log.end(7, commit=False)
    log.write(7, "c", "committed")
    log.end(7, commit=True)
    log.clean()

    assert log.shape() == [(0, 0, 1), (3, 48, 1), (4, 16, 1), (5, 48, 1)]
    assert log.committed() == {"a": "old", "c": "committed"}
    assert [tuple(each) for each in log.log.aborted.entries] == [(7, 1, 3, 4)]


@pytest.mark.rules("CO-5", "CO-7")
def test_a_marker_goes_after_its_data() -> None:
    """The pass that finds no data sets its delete horizon and forgets the entry; a pass after it removes the marker."""
    log = Compacted()
    log.write(7, "a", "aborted")
    log.end(7, commit=False)
    log.write(7, "b", "committed")
    log.end(7, commit=True)
    log.clean()
    assert log.shape()[0] == (1, 48, 1)
    log.clean()
    assert log.shape()[0] == (1, 112, 1)
    assert log.log.aborted.entries == []
    log.clean(RETENTION_MS - 20)
    assert log.shape()[0] == (1, 112, 1)
    log.clean(20)

    assert [base for base, _, _ in log.shape()][:2] == [2, 3]


@pytest.mark.rules("CO-5")
def test_a_commit_marker_goes_after_what_it_committed() -> None:
    """Its records are replaced first."""
    log = Compacted()
    log.write(7, "a", "1")
    log.end(7, commit=True)
    log.write(7, "a", "2")
    log.end(7, commit=True)
    log.clean()
    assert log.shape()[0] == (1, 48, 1)
    log.clean()
    log.clean(RETENTION_MS)

    assert log.shape()[0][0] == 2


@pytest.mark.rules("CO-6")
def test_the_last_of_a_producer_stays() -> None:
    """Its last data batch, empty; or its last marker, empty, if it has no data of that epoch."""
    log = Compacted()
    log.write(7, "a", "aborted")
    log.end(7, commit=False)
    log.end(8, commit=True)
    log.write(-1, "z", "x")
    for _ in range(3):
        log.clean(RETENTION_MS)

    assert log.shape()[:3] == [(0, 16, 0), (1, 48, 1), (2, 48, 0)], "the first marker is held by the empty batch"
    producers = [(each.producer_id, each.epoch, each.last_sequence) for each in log.log.producers]
    log.log.truncate(log.log.log_end_offset - 1, log.lab.now)
    assert [(each.producer_id, each.epoch, each.last_sequence) for each in log.log.producers] == producers[:1]


@pytest.mark.rules("CO-7", "CO-1")
def test_an_open_transaction_stops_the_pass() -> None:
    """Nothing from its first record on is touched, be it aborted or not."""
    log = Compacted()
    log.write(7, "a", "open")
    log.write(8, "b", "aborted")
    log.end(8, commit=False)
    log.clean()

    assert log.shape() == [(0, 16, 1), (1, 16, 1), (2, 48, 1)]


_steps = st.tuples(
    st.integers(-1, 2), st.sampled_from("ab"), st.sampled_from(["write", "write", "delete", "commit", "abort", "clean"])
)


@pytest.mark.rules("CO-1", "CO-5", "CO-7")
@given(st.lists(_steps, max_size=25))
def test_readers_see_the_same_before_and_after(steps: list[tuple[int, str, str]]) -> None:
    """Whenever compaction runs, the latest committed value of each key is the same."""
    log = Compacted()
    for number, (producer_id, key, step) in enumerate(steps):
        if step in ("write", "delete"):
            if producer_id >= 0 or step == "write":
                log.write(producer_id, key, str(number) if step == "write" else None)
        elif step == "clean":
            before = log.committed()
            log.clean(RETENTION_MS // 2)
            assert log.committed() == before
        elif producer_id >= 0:
            log.end(producer_id, commit=step == "commit")
