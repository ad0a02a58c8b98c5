"""What one task reads: the records of a range of offsets."""

import warnings
from collections.abc import Iterator
from typing import Any

from pyspark.sql.datasource import InputPartition

from fakebroker.analysis.pipeline.kafka_source.arrow_records import record_batches
from fakebroker.analysis.pipeline.kafka_source.options import ReadOptions
from fakebroker.analysis.pipeline.kafka_source.planning import DataLoss, Range, earliest
from fakebroker.analysis.pipeline.kafka_source.record_columns import columns_of
from fakebroker.client.cluster.cluster_client import ClusterClient, Fetch
from fakebroker.client.cluster.errors import NoSuchPartition, OffsetOutOfRange
from fakebroker.client.cluster.offset_ranges import EndsEarly, read_range


class RangePartition(InputPartition):  # type: ignore[misc]
    """A range of offsets as Spark hands it to a task."""

    def __init__(self, range_: Range) -> None:
        super().__init__(tuple(range_))
        self.range = range_


def read_partition(options: ReadOptions, schema: Any, partition: InputPartition) -> Iterator[Any]:
    """The records of a range as Arrow record batches.

    Raises DataLoss if they are not all there and that is an error for the user; else they are left out.
    """
    if isinstance(partition, RangePartition):  # a read without any range has one task with a partition of Spark's
        with ClusterClient(
            options.kafka.bootstrap,
            security=options.kafka.security,
            client_id=options.client_id,
            timeout_ms=options.timeout_ms,
        ) as cluster:
            yield from _read(cluster, options, schema, partition.range)


def _read(cluster: ClusterClient, options: ReadOptions, schema: Any, wanted: Range) -> Iterator[Any]:
    partition, at, end = wanted
    while at < end:
        first = Fetch(partition, at, options.fetch_bytes, isolation=options.isolation)
        try:
            for chunk in read_range(cluster, first, end):
                for columns in columns_of(chunk.fetched):
                    yield from record_batches(schema, partition, columns, at, end)
                at = chunk.next_offset
        except OffsetOutOfRange as error:
            begin = earliest(cluster, options, [partition])[partition]
            if begin <= at:  # the log ends before
                lost(options, str(error))
                return
            lost(options, f"{partition}: offsets {at} to {min(begin, end) - 1} are gone, the log begins at {begin}")
            at = begin
        except (NoSuchPartition, EndsEarly) as error:
            lost(options, str(error))
            return


def lost(options: ReadOptions, reason: str) -> None:
    """Records that were to be read are not there. Raises DataLoss if that is an error for the user, else warns."""
    if options.fails_on_data_loss:
        raise DataLoss(reason)
    warnings.warn(f"records may have been lost, and failOnDataLoss is false: {reason}", stacklevel=2)
