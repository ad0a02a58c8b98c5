"""The data source "fakebroker" as Spark sees it. What needs more than pyspark is imported when it is used."""

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from fakebroker.analysis.pipeline.kafka_source.columns import record_schema
from fakebroker.protocol.errors import FakebrokerError


class FakebrokerSource(DataSource):  # type: ignore[misc]
    """Records of a Kafka, with the columns and options of Spark's own Kafka source; and a sink."""

    @classmethod
    def name(cls) -> str:
        """What `format` takes."""
        return "fakebroker"

    def schema(self) -> StructType:
        """The columns that a read has: `headers` with the option includeHeaders only."""
        return record_schema(includes_headers=str(self.options.get("includeHeaders", "")).lower() == "true")

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader of a batch. Raises OptionError."""
        from fakebroker.analysis.pipeline.kafka_source.batch_reader import BatchReader

        return BatchReader(self.options, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """The reader of a stream."""
        from fakebroker.analysis.pipeline.kafka_source.stream_reader import StreamReader

        return StreamReader(self.options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """The writer of a batch. Raises OptionError, ColumnError."""
        from fakebroker.analysis.pipeline.kafka_source.sink import BatchWriter, sink_of

        if overwrite:
            raise FakebrokerError('a topic cannot be overwritten: use .mode("append")')
        return BatchWriter(sink_of(self.options, schema))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        """The writer of a stream. Raises OptionError, ColumnError."""
        from fakebroker.analysis.pipeline.kafka_source.sink import StreamWriter, sink_of

        if overwrite:
            raise FakebrokerError('a topic cannot be overwritten: use .outputMode("append")')
        return StreamWriter(sink_of(self.options, schema))
