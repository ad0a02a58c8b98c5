"""A batch: the offsets are settled when the query is planned."""

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from fakebroker.analysis.pipeline.kafka_source.columns import arrow_schema
from fakebroker.analysis.pipeline.kafka_source.options import read_options
from fakebroker.analysis.pipeline.kafka_source.planning import batch_ranges, planning_client, split
from fakebroker.analysis.pipeline.kafka_source.task_reader import RangePartition, read_partition


class BatchReader(DataSourceReader):  # type: ignore[misc]
    """Reads what the options say, a task for each range."""

    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        """Raises OptionError."""
        self._options = read_options(given, is_stream=False)
        self._schema = arrow_schema(schema, includes_headers=self._options.includes_headers)

    def partitions(self) -> list[InputPartition]:
        """The ranges; none if there is nothing to read. Raises OptionError, ClusterError."""
        with planning_client(self._options) as cluster:
            ranges = batch_ranges(cluster, self._options)
        return [RangePartition(each) for each in split(ranges, self._options)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The records of one range, as Arrow record batches."""
        return read_partition(self._options, self._schema, partition)
