"""The Python data source `fakebroker_history`: a history of `__consumer_offsets` as rows of the table `decoded`.

    spark.dataSource.register(HistoryDataSource)
    spark.read.format("fakebroker_history").option("source", "west").load("/var/lib/kafka/data")
    spark.readStream.format("fakebroker_history").option("bootstrap", "localhost:9092").load()

Options: `path`, or `paths` as a JSON list; or `bootstrap`, HOST:PORT of a running Kafka, with `commandConfig`, the path
of client properties, if it wants TLS or a login; `source`, the name of the log; `parallelism`, for how many tasks at a
time to cut; `maxBytesPerTrigger` for files and `maxOffsetsPerTrigger` for a live log, about how much a micro-batch
reads at most.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql import datasource
from pyspark.sql.streaming import datasource as streaming

from fakebroker.analysis.history.reading import SOURCE, has_scheme
from fakebroker.analysis.pipeline.source_options import Options, wrong
from fakebroker.analysis.pipeline.sources.inputs import Files, Input, Live, Positions
from fakebroker.analysis.pipeline.sources.parts import Part, all_parts, parts_of
from fakebroker.analysis.pipeline.sources.remote_files import remote_files
from fakebroker.analysis.pipeline.sources.remote_history import remote_frame
from fakebroker.analysis.pipeline.tables.decoded import TABLE
from fakebroker.client.cluster.client_properties import security_in_file
from fakebroker.client.security import ClientConfig, Security

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAME: Final = "fakebroker_history"
_OPTIONS: Final = (
    "path", "paths", "bootstrap", "commandConfig", "source", "parallelism", "maxBytesPerTrigger",
    "maxOffsetsPerTrigger",
)  # fmt: skip


class HistoryOptions(NamedTuple):
    """The options of the data source, read."""

    paths: list[str]
    kafka: ClientConfig | None
    source: str
    parallelism: int
    max_bytes: int | None
    max_offsets: int | None

    @property
    def input(self) -> Input:
        """What is to be read."""
        return Live(self.kafka) if self.kafka else Files(self.paths)

    @property
    def security(self) -> Security:
        """That of the running Kafka."""
        return self.kafka.security if self.kafka else Security()


def read_options(given: Mapping[str, str]) -> HistoryOptions:
    """The options of the data source. Raises OptionError."""
    options = Options(given, _OPTIONS)
    path, bootstrap = options.text("path"), options.text("bootstrap")
    paths = options.read("paths", _texts, 'a JSON list of strings, such as ["a", "b"]', [path] if path else [])
    if bool(paths) == bool(bootstrap):
        text = "a history is read from paths or from a bootstrap server: give exactly one of them"
        raise wrong("bootstrap" if bootstrap else "path", bootstrap, text)
    return HistoryOptions(
        paths,
        ClientConfig(bootstrap, _security(options)) if bootstrap else None,
        options.text("source") or SOURCE,
        options.maybe_number("parallelism") or 2,
        options.maybe_number("maxBytesPerTrigger"),
        options.maybe_number("maxOffsetsPerTrigger"),
    )


def _security(options: Options) -> Security:
    """What the file of client properties says, which the driver reads: tasks get what is in it."""
    file = options.text("commandConfig")
    return Security() if file is None else security_in_file(file)


def _texts(value: str) -> list[str]:
    found = json.loads(value)
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError
    return found


class HistoryDataSource(datasource.DataSource):  # type: ignore[misc]
    """What Spark asks for readers."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return NAME

    def schema(self) -> str:
        """The columns of `decoded`."""
        return TABLE.spark_ddl

    def reader(self, schema: Any) -> "HistoryReader":  # noqa: ARG002 - Spark passes it by name
        """For a batch query."""
        return HistoryReader(read_options(self.options))

    def streamReader(self, schema: Any) -> "HistoryStreamReader":  # noqa: ARG002, N802 - Spark's names
        """For a stream."""
        return HistoryStreamReader(read_options(self.options))


class HistoryReader(datasource.DataSourceReader):  # type: ignore[misc]
    """Reads all there is."""

    def __init__(self, options: HistoryOptions) -> None:
        self.options = options

    def partitions(self) -> Sequence[datasource.InputPartition]:
        """Parts of about the same size, a few for each core."""
        asked = self.options
        return _tasks(all_parts(asked.input, asked.source, asked.security, asked.parallelism))

    def read(self, partition: datasource.InputPartition) -> Iterator[Any]:
        """Read and decode a part."""
        return _read(partition)


class HistoryStreamReader(datasource.DataSourceStreamReader, streaming.SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Reads what is new, batch by batch. An offset of Spark is how far every file or partition was read."""

    def __init__(self, options: HistoryOptions) -> None:
        self.options = options
        self._target: Positions | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where reading begins without a checkpoint."""
        return {"read": self.options.input.first()}

    def latestOffset(self, start: dict[str, Any], limit: streaming.ReadLimit) -> dict[str, Any]:  # noqa: N802
        """How far the next batch goes."""
        found = self.options.input
        latest = dict(start["read"]) | (found.latest(is_growing=True) if self._target is None else self._target)
        most = getattr(limit, "max_bytes", None) or getattr(limit, "max_rows", None)
        return {"read": latest if most is None else found.limited(start["read"], latest, most)}

    def getDefaultReadLimit(self) -> streaming.ReadLimit:  # noqa: N802
        """What the options say."""
        if self.options.kafka and self.options.max_offsets:
            return streaming.ReadMaxRows(self.options.max_offsets)
        if not self.options.kafka and self.options.max_bytes:
            return streaming.ReadMaxBytes(self.options.max_bytes)
        return streaming.ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """What comes from now on is for the next run."""
        self._target = self.options.input.latest(is_growing=True)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[datasource.InputPartition]:
        """What to read between two offsets: the same whenever it is asked for the same two."""
        asked = self.options
        splits = asked.input.splits(start["read"], end["read"])
        return _tasks(parts_of(splits, asked.source, asked.security, asked.parallelism))

    def read(self, partition: datasource.InputPartition) -> Iterator[Any]:
        """Read and decode a part."""
        return _read(partition)


def _tasks(parts: Sequence[Part]) -> list[datasource.InputPartition]:
    return [datasource.InputPartition(each) for each in parts]


def _read(partition: datasource.InputPartition) -> Iterator[Any]:
    part: Part = partition.value
    return part.read()


def history_frame(
    session: "SparkSession",
    *,
    paths: Sequence[str | Path] = (),
    kafka: ClientConfig | None = None,
    source: str | None = None,
) -> "DataFrame":
    """The table `decoded` of files, or of a running Kafka, as a DataFrame; each use of it reads anew.

    Paths with a scheme (`s3a://`) are read by Spark, all others by Python.

    Raises HistoryError for files with a scheme that cannot be read.
    """
    urls = [str(path) for path in paths if has_scheme(path)]
    if not urls:
        return _source_frame(session, paths, kafka, source)
    remote = remote_frame(session, remote_files(session, urls), source or SOURCE)
    local = [path for path in paths if not has_scheme(path)]
    return remote.unionByName(_source_frame(session, local, kafka, source)) if local else remote


def _source_frame(
    session: "SparkSession", paths: Sequence[str | Path], kafka: ClientConfig | None, source: str | None
) -> "DataFrame":
    """What the data source reads: files that Python opens, or a running Kafka."""
    session.dataSource.register(HistoryDataSource)
    return session.read.format(NAME).options(**_options(session, paths, kafka, source)).load()


def _options(
    session: "SparkSession", paths: Sequence[str | Path], kafka: ClientConfig | None, source: str | None
) -> dict[str, str]:
    options = {"parallelism": str(session.sparkContext.defaultParallelism)}
    if source is not None:
        options["source"] = source
    if kafka is not None:
        file = {"commandConfig": kafka.file} if kafka.file else {}
        return options | {"bootstrap": kafka.bootstrap} | file
    return options | {"paths": json.dumps([str(Path(path).absolute()) for path in paths])}
