"""A stream: offsets are settled for every micro-batch, and Spark's checkpoint has them before anything is read."""

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming import datasource as streaming
from pyspark.sql.types import StructType

from fakebroker.analysis.pipeline.kafka_source import planning
from fakebroker.analysis.pipeline.kafka_source.columns import arrow_schema
from fakebroker.analysis.pipeline.kafka_source.options import ReadOptions, read_options
from fakebroker.analysis.pipeline.kafka_source.task_reader import RangePartition, lost, read_partition
from fakebroker.client.cluster.cluster_client import ClusterClient


class StreamReader(DataSourceStreamReader, streaming.SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Reads what was appended since the offsets of the checkpoint; partitions that are new from their beginning."""

    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        self._given = dict(given)
        self._spark_schema = schema
        self._client: ClusterClient | None = None  # of the process that plans; tasks have their own
        self._goal: planning.Offsets | None = None  # with the trigger AvailableNow
        self._latest: planning.Offsets | None = None
        self._waits_since_ms: int | None = None  # for minOffsetsPerTrigger

    def initialOffset(self) -> planning.OffsetsJson:  # noqa: N802 - Spark's name
        """Where a query begins that has no checkpoint yet. Raises OptionError, ClusterError."""
        options, cluster = self._options, self._cluster
        partitions = planning.all_partitions(cluster, options)
        return planning.to_json(planning.resolved(cluster, options, options.starting, partitions, is_start=True))

    def getDefaultReadLimit(self) -> streaming.ReadLimit:  # noqa: N802
        """What a micro-batch takes at most, or else at least."""
        if self._options.max_offsets_per_trigger is not None:
            return streaming.ReadMaxRows(self._options.max_offsets_per_trigger)
        if self._options.min_offsets_per_trigger is not None:
            return streaming.ReadMinRows(self._options.min_offsets_per_trigger)
        return streaming.ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Note what there is: the query ends there, whatever is appended later."""
        self._goal = self._ends({})

    def latestOffset(self, start: planning.OffsetsJson, limit: streaming.ReadLimit) -> planning.OffsetsJson:  # noqa: N802
        """The end of the next micro-batch; `start` again while there is nothing, or too little, to read."""
        starts = planning.from_json(start)
        ends = self._latest = self._goal if self._goal is not None else self._ends(starts)
        if isinstance(limit, streaming.ReadAllAvailable):
            return planning.to_json(ends)
        begins = {
            **planning.earliest(self._cluster, self._options, [each for each in ends if each not in starts]),
            **starts,
        }
        if self._goal is None and not self._is_enough(begins, ends):
            return start
        return planning.to_json(
            planning.limited(begins, ends, limit.max_rows) if isinstance(limit, streaming.ReadMaxRows) else ends
        )

    def reportLatestOffset(self) -> planning.OffsetsJson | None:  # noqa: N802
        """What there was to read when last looked, for the query's progress."""
        return None if self._latest is None else planning.to_json(self._latest)

    def partitions(self, start: planning.OffsetsJson, end: planning.OffsetsJson) -> Sequence[InputPartition]:
        """The ranges of a micro-batch. Raises DataLoss for partitions that are gone or were made anew."""
        starts, ends = planning.from_json(start), planning.from_json(end)
        new = [each for each in ends if each not in starts]
        begins = planning.earliest(self._cluster, self._options, new)
        for partition, begin in begins.items():
            if begin > 0:
                lost(self._options, f"the new partition {partition} begins at offset {begin} instead of 0")
        if gone := sorted(each for each in starts if each not in ends):
            lost(self._options, f"{', '.join(map(str, gone))} was deleted")
        ranges = []
        for partition, stop in ends.items():
            begin = starts.get(partition, begins.get(partition, 0))
            if stop < begin:
                lost(self._options, f"{partition} ended at offset {begin} before and now ends at {stop}")
            if stop > begin:
                ranges.append(planning.Range(partition, begin, stop))
        return [RangePartition(each) for each in planning.split(ranges, self._options)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The records of one range, as Arrow record batches."""
        return read_partition(self._options, self._schema, partition)

    def stop(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None

    # Options are read when first needed: an error that is raised before Spark has its reader is shown as another one.

    @cached_property
    def _options(self) -> ReadOptions:
        return read_options(self._given, is_stream=True)

    @cached_property
    def _schema(self) -> Any:
        return arrow_schema(self._spark_schema, includes_headers=self._options.includes_headers)

    @property
    def _cluster(self) -> ClusterClient:
        if self._client is None:
            self._client = planning.planning_client(self._options)
        return self._client

    def _ends(self, starts: planning.Offsets) -> planning.Offsets:
        """The end of every partition that exists, asked again a few times if one seems to have gone back."""
        for tries_left in range(self._options.offset_retries, -1, -1):
            ends = planning.latest(
                self._cluster, self._options, planning.found_partitions(self._cluster, self._options)
            )
            if not tries_left or all(end >= starts.get(partition, 0) for partition, end in ends.items()):
                break
            time.sleep(self._options.offset_retry_pause_ms / 1_000)
        return ends

    def _is_enough(self, begins: planning.Offsets, ends: planning.Offsets) -> bool:
        """Whether there is as much as minOffsetsPerTrigger says, or it was waited for as long as maxTriggerDelay."""
        least = self._options.min_offsets_per_trigger
        now_ms = time.monotonic_ns() // 1_000_000
        if self._waits_since_ms is None:
            self._waits_since_ms = now_ms
        has_waited = now_ms - self._waits_since_ms >= self._options.max_trigger_delay_ms
        if least is None or has_waited or sum(max(0, end - begins[each]) for each, end in ends.items()) >= least:
            self._waits_since_ms = now_ms
            return True
        return False
