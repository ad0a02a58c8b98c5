"""Producers that are not in a session: what they wrote is appended as soon as the session shows that it was there."""

from fakebroker.broker.core.topics import Partition
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.batch import build_batch, parse_header, peek, plain_records, with_base_offset
from fakebroker.protocol.records.markers import ControlRecordType, control_record_type, coordinator_epoch_of
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.records.record_content import records_of
from fakebroker.serve.sim.network import SimNetwork
from fakebroker.testing.recorded_cluster.state import RecordedState, TopicPartition

_MAGIC = 2


class UnrecordedProducers:
    """Appends to the logs of a broker what others produced meanwhile."""

    def __init__(self, state: RecordedState, network: SimNetwork) -> None:
        self._state = state
        self._network = network

    def catch_up(self, place: TopicPartition, end: int, *, with_fillers: bool) -> None:
        """Append what others wrote before `end`.

        Offsets that were never read are filled with other records, if wanted at all.
        """
        partition = self._network.engine.cluster.topics.partition(*place)
        before = self._state.logs.get(place)
        if partition is None or before is None or partition.log.log_end_offset >= end:
            return
        log = partition.log
        while log.log_end_offset < end:
            at = log.log_end_offset
            batch = before.batches.get(at)
            if batch is not None:
                self._append(partition, batch)
            elif with_fillers:
                until = min([end, *(base for base in before.batches if base > at)])
                fillers = plain_records([(None, b"filler")] * min(until - at, 1000), self._network.now.wall_ms)
                log.append(build_batch(fillers, leader_epoch=-1), self._network.now)
            if log.log_end_offset == at:
                break
        self._network.flush()

    def _append(self, partition: Partition, batch: bytes) -> None:
        entry = peek(batch)
        if entry is not None and entry[1] >= _MAGIC and parse_header(batch).is_control:
            self._append_marker(partition, batch)
            return
        try:
            if entry is not None and entry[1] >= _MAGIC:
                partition.log.append(with_base_offset(batch, 0, -1), self._network.now)
                return
        except FakebrokerError:  # of a producer whose earlier records nobody read, for example
            pass
        found = records_of(batch)
        records = [Record(n, each.timestamp_ms, each.key, each.value, each.headers) for n, each in enumerate(found)]
        if records:
            partition.log.append(build_batch(records, leader_epoch=-1), self._network.now)

    def _append_marker(self, partition: Partition, batch: bytes) -> None:
        """The end of a transaction, as it was written there."""
        for marker in records_of(batch):
            partition.log.append_marker(
                marker.producer_id,
                marker.producer_epoch,
                Instant(marker.timestamp_ms, self._network.now.mono_ms),
                commit=control_record_type(marker.key) == ControlRecordType.COMMIT,
                coordinator_epoch=coordinator_epoch_of(marker.value),
            )
