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
from fakebroker.analysis.pipeline.distinct_records import DecodedOptions
from fakebroker.analysis.pipeline.source_options import Options, wrong
from fakebroker.analysis.pipeline.sources.inputs import Files, Input, Live, Positions
from fakebroker.analysis.pipeline.sources.remote_files import remote_files
from fakebroker.analysis.pipeline.sources.remote_history import remote_frame
from fakebroker.analysis.pipeline.sources.repeats import known_of_paths
from fakebroker.analysis.pipeline.sources.split_reading import read_split
from fakebroker.analysis.pipeline.sources.splits import SPLIT_BYTES, Split, balanced
from fakebroker.analysis.pipeline.sources.stored_history import Folders, store_history
from fakebroker.analysis.pipeline.tables.decoded import TABLE
from fakebroker.client.cluster.client_properties import security_in_file
from fakebroker.client.security import ClientConfig, Security

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from fakebroker.analysis.pipeline.publish import Staging

NAME: Final = "fakebroker_history"
PARTS_PER_CORE: Final = 4
SMALLEST_SPLIT_BYTES: Final = 1024 * 1024
_OPTIONS: Final = (
    "path", "paths", "bootstrap", "commandConfig", "source", "parallelism", "maxBytesPerTrigger",
    "maxOffsetsPerTrigger",
)  # fmt: skip


class Part(datasource.InputPartition):  # type: ignore[misc]
    """What one task reads."""

    def __init__(self, splits: list[Split], source: str, security: Security = Security()) -> None:
        self.splits = splits
        self.source = source
        self.security = security

    def read(self) -> Iterator[Any]:
        """The RecordBatches of the splits, one after another."""
        for split in self.splits:
            yield from read_split(Split._make(split), self.source, self.security)


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

    def parts(self, splits: Sequence[Split]) -> list[Part]:
        """Splits shared out among tasks."""
        most = max(PARTS_PER_CORE * self.parallelism, sum(each.size_bytes for each in splits) // SPLIT_BYTES)
        security = self.kafka.security if self.kafka else Security()
        return [Part(each, self.source, security) for each in balanced(splits, most)]


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

    def partitions(self) -> Sequence[Part]:
        """Parts of about the same size, a few for each core."""
        found = self.options.input
        start, end = found.first(), found.latest(is_growing=False)
        size_bytes = sum(each.size_bytes for each in found.splits(start, end))
        aim = size_bytes // (PARTS_PER_CORE * self.options.parallelism)
        splits = found.splits(start, end, min(SPLIT_BYTES, max(SMALLEST_SPLIT_BYTES, aim)))
        return self.options.parts(splits)

    def read(self, partition: Part) -> Iterator[Any]:
        """Read and decode a part."""
        return partition.read()


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

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[Part]:
        """What to read between two offsets: the same whenever it is asked for the same two."""
        return self.options.parts(self.options.input.splits(start["read"], end["read"]))

    def read(self, partition: Part) -> Iterator[Any]:
        """Read and decode a part."""
        return partition.read()


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


def history_parts(
    session: "SparkSession", paths: Sequence[str | Path], kafka: ClientConfig | None, source: str | None
) -> Sequence[Part]:
    """What the tasks of the session are to read of files that Python opens, or of a running Kafka; some for each core.

    Raises FakebrokerError for what cannot be read.
    """
    return HistoryReader(read_options(_options(session, paths, kafka, source))).partitions()


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


def decoded_on_spark(
    stage: "Staging", paths: Sequence[str], kafka: ClientConfig | None, source: str | None, *, may_repeat: bool
) -> tuple[Any, int, DecodedOptions]:
    """The rows of `decoded` that are left to Spark, how many rows there are at all, and what is known of them.

    Where no record can stand twice, commits outside of transactions are rows of `commits` already, and records of
    groups rows of `coordinator_records`, which `stage` adds when it stores these tables. With `may_repeat` records are
    compared, whatever the names of files say.

    Raises FakebrokerError for what cannot be read.
    """
    assert stage.engine.name == "spark"
    session = stage.engine.session
    options = DecodedOptions(may_repeat=False) if kafka else known_of_paths(paths)
    options = options._replace(may_repeat=options.may_repeat or may_repeat)
    if options.may_repeat:
        frame = history_frame(session, paths=paths, kafka=kafka, source=source)
        kept, rows_in = stage.keep("decoded", frame)
    else:
        parts = history_parts(session, paths, kafka, source)
        kept, rows_in = stage.write_ahead(
            "decoded",
            ("commits", "coordinator_records"),
            lambda *folders: store_history(session, parts, Folders(*folders)),
        )
    return kept, rows_in, options
