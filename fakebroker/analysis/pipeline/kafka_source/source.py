"""The data source "fakebroker" as Spark sees it. What needs more than pyspark is imported when it is used."""

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import datasource
from pyspark.sql.types import StructType

from fakebroker.analysis.pipeline.kafka_source.columns import arrow_schema, record_schema
from fakebroker.analysis.pipeline.kafka_source.options import read_options
from fakebroker.analysis.pipeline.kafka_source.planning import batch_ranges, planning_client, split
from fakebroker.analysis.pipeline.kafka_source.task_reader import RangePartition, read_partition
from fakebroker.protocol.errors import FakebrokerError


class BatchReader(datasource.DataSourceReader):  # type: ignore[misc]
    """Reads what the options say, a task for each range."""

    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        """Raises OptionError."""
        self._options = read_options(given, is_stream=False)
        self._schema = arrow_schema(schema, includes_headers=self._options.includes_headers)

    def partitions(self) -> list[datasource.InputPartition]:
        """The ranges; none if there is nothing to read. Raises OptionError, ClusterError."""
        with planning_client(self._options) as cluster:
            ranges = batch_ranges(cluster, self._options)
        return [RangePartition(each) for each in split(ranges, self._options)]

    def read(self, partition: datasource.InputPartition) -> Iterator[Any]:
        """The records of one range, as Arrow record batches."""
        return read_partition(self._options, self._schema, partition)


class FakebrokerSource(datasource.DataSource):  # type: ignore[misc]
    """Records of a Kafka, with the columns and options of Spark's own Kafka source; and a sink."""

    @classmethod
    def name(cls) -> str:
        """What `format` takes."""
        return "fakebroker"

    def schema(self) -> StructType:
        """The columns that a read has: `headers` with the option includeHeaders only."""
        return record_schema(includes_headers=str(self.options.get("includeHeaders", "")).lower() == "true")

    def reader(self, schema: StructType) -> datasource.DataSourceReader:
        """The reader of a batch. Raises OptionError."""

        return BatchReader(self.options, schema)

    def streamReader(self, schema: StructType) -> datasource.DataSourceStreamReader:  # noqa: N802 - Spark's name
        """The reader of a stream."""
        from fakebroker.analysis.pipeline.kafka_source.stream_reader import StreamReader

        return StreamReader(self.options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> datasource.DataSourceWriter:
        """The writer of a batch. Raises OptionError, ColumnError."""
        from fakebroker.analysis.pipeline.kafka_source.sink import BatchWriter, sink_of

        if overwrite:
            raise FakebrokerError('a topic cannot be overwritten: use .mode("append")')
        return BatchWriter(sink_of(self.options, schema))

    def streamWriter(self, schema: StructType, overwrite: bool) -> datasource.DataSourceStreamWriter:  # noqa: N802
        """The writer of a stream. Raises OptionError, ColumnError."""
        from fakebroker.analysis.pipeline.kafka_source.sink import StreamWriter, sink_of

        if overwrite:
            raise FakebrokerError('a topic cannot be overwritten: use .outputMode("append")')
        return StreamWriter(sink_of(self.options, schema))
