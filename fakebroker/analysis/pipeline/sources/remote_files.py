"""Files of a history on file systems that Spark can read (`s3a://`, `hdfs://`, `file://`): which ones URLs name.

Hadoop's file systems are asked, on the driver, and not Spark's listing: that leaves out names that begin with `_`, as
`__consumer_offsets-3` does. What a folder stands for is what it stands for on this machine.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from glob import has_magic
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fakebroker.analysis.history import file_kinds
from fakebroker.analysis.history.reading import HistoryError
from fakebroker.analysis.history.sink_rows import TOPIC
from fakebroker.analysis.pipeline.spark_failures import cause_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Which package of Hadoop has the file system of a scheme.
_PACKAGES: Final = {
    "s3a": "hadoop-aws",
    "gs": "hadoop-gcp",
    "abfs": "hadoop-azure",
    "abfss": "hadoop-azure",
    "wasb": "hadoop-azure",
    "wasbs": "hadoop-azure",
    "oss": "hadoop-aliyun",
    "cosn": "hadoop-cos",
    "obs": "hadoop-huaweicloud",
}
_FORMER_S3: Final = ("s3", "s3n")
_NO_FILE_SYSTEM: Final = r"No FileSystem for scheme|ClassNotFoundException: Class [\w.$]+ not found"


class RemoteFile(NamedTuple):
    """A file of a history that Spark reads: `url` as Hadoop writes it, a local one is `file:/folder/name`.

    `log_partition` is the partition that its folder or name tells; None if the rows tell it.
    """

    url: str
    kind: file_kinds.Kind
    log_partition: int | None
    size_bytes: int


def remote_files(session: "SparkSession", urls: Iterable[str]) -> list[RemoteFile]:
    """The files that URLs of files, folders and patterns name, each once. Raises HistoryError naming the URL."""
    found: dict[str, RemoteFile] = {}
    for url in urls:
        with _java_errors_reported(session, url):
            files = list(_Store(session, url).files())
        if not files:
            raise HistoryError(f"{url}: no log segments of {TOPIC}, JSON lines or Parquet found")
        found.update((file.url, file) for file in files)
    return list(found.values())


class _Store:
    """A file system of Hadoop, and a URL on it."""

    def __init__(self, session: Any, url: str) -> None:
        self._url = url
        self._path = session._jvm.org.apache.hadoop.fs.Path(url)
        self._system = self._path.getFileSystem(session._jsc.hadoopConfiguration())

    def files(self) -> Iterator[RemoteFile]:
        """The files of a history there. Raises HistoryError if there is nothing of that name."""
        is_pattern = has_magic(self._url) and not self._system.exists(self._path)
        found = self._system.globStatus(self._path) if is_pattern else [self._status()]
        if not found:
            raise HistoryError(f"{self._url}: no file matches")
        for status in found:
            if status.isDirectory():
                inside = self._files_in(status.getPath())
                yield from sorted(
                    inside, key=lambda file: file_kinds.reading_order(file.url, file.kind, file.log_partition)
                )
            elif file := self._known(status):
                yield file

    def _status(self) -> Any:
        if not self._system.exists(self._path):
            raise HistoryError(f"{self._url}: no such file or folder")
        return self._system.getFileStatus(self._path)

    def _files_in(self, folder: Any) -> Iterator[RemoteFile]:
        """The files in a folder and those in it: of a data directory only the partitions of `__consumer_offsets`."""
        children = [(status.getPath().getName(), status) for status in self._system.listStatus(folder)]
        partitions = [
            (name, status) for name, status in children if file_kinds.is_log_folder(name) and status.isDirectory()
        ]
        for name, status in partitions or children:
            if file_kinds.is_hidden(name):
                continue
            if status.isDirectory():
                yield from self._files_in(status.getPath())
            elif file_kinds.kind_by_name(name) and (file := self._known(status)):
                yield file

    def _known(self, status: Any) -> RemoteFile | None:
        """The file with its kind; None if it is of no kind that is read."""
        url = str(status.getPath().toString())
        partition = file_kinds.partition_in(url)
        kind = file_kinds.kind_by_name(url.rpartition("/")[2]) or file_kinds.kind_by_front(
            self._front(status.getPath())
        )
        if kind is None or (kind == "segment" and partition is None):
            return None
        return RemoteFile(url, kind, partition, int(status.getLen()))

    def _front(self, path: Any) -> bytes:
        stream = self._system.open(path)
        try:
            return bytes(stream.readNBytes(file_kinds.FRONT_BYTES))
        finally:
            stream.close()


@contextmanager
def _java_errors_reported(session: Any, url: str) -> Iterator[None]:
    """Turn what Java raises for a URL into a HistoryError."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        text = str(error)
        if re.search(_NO_FILE_SYSTEM, text):
            version = session._jvm.org.apache.hadoop.util.VersionInfo.getVersion()
            raise HistoryError(f"{url}: {_missing(url.partition('://')[0], version)}") from error
        raise HistoryError(f"{url}: {cause_of(text, type(error).__name__)}") from error


def _missing(scheme: str, hadoop_version: str) -> str:
    """What to say where Spark has no file system for a scheme."""
    none = f"Spark has no file system for {scheme}://"
    package = _PACKAGES.get("s3a" if scheme in _FORMER_S3 else scheme)
    if package is None:
        return f"{none}; add a package with --conf spark.jars.packages=GROUP:NAME:VERSION"
    setting = f"--conf spark.jars.packages=org.apache.hadoop:{package}:{hadoop_version}"
    return f"{none}: write s3a://, with {setting}" if scheme in _FORMER_S3 else f"{none} here: add {setting}"
