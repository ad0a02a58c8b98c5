"""The Spark session: plain Spark configuration, with what our code needs to run on the driver and on executors."""

import os
import re
import zipfile
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Final

import fakebroker
from fakebroker.analysis.pipeline.extras import need_extra
from fakebroker.analysis.pipeline.java import java_home
from fakebroker.analysis.pipeline.spark_home import fast_home
from fakebroker.analysis.pipeline.workers_python import check_workers_python, is_submitted, use_this_python
from fakebroker.protocol.errors import InvalidArgument

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_MASTER: Final = "local[*]"
_LOG_SETTINGS = Path(__file__).parent / "log4j2.properties"

# What a user may replace by --conf.
_DEFAULTS: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # the default is read as nanoseconds: 1677 to 2262
    "spark.sql.shuffle.partitions": "16",
    # Spark's 128 MB of our compressed tables are seconds of work: with a task more than cores the other cores wait.
    "spark.sql.files.maxPartitionBytes": "24m",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "4g",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
# A query of ours runs once, and its plans are long. Java compiles quickly what runs often, and has a second, slow
# compiler for the best code: left alone, that one takes a third of the processors' time for code that is then used a
# few times. So it is asked for what ran thirty times as often as usual; loops over a whole history do in a second.
_COMPILE_LATER: Final = {
    "CompileThresholdScaling": 2,
    "Tier4InvocationThreshold": 15 * 5_000,
    "Tier4MinInvocationThreshold": 15 * 600,
    "Tier4CompileThreshold": 15 * 15_000,
    "Tier4BackEdgeThreshold": 15 * 40_000,
}
_COLLECT_IN_PAUSES: Final = "-XX:+UseParallelGC"  # nobody waits for an answer within milliseconds
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
# A driver on this machine alone: without these it binds the first network interface and warns.
_LOOPBACK: Final = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def spark_session(
    master: str = DEFAULT_MASTER, conf: Mapping[str, str] | None = None, app_name: str = "fakebroker"
) -> "SparkSession":
    """A session on `master` with `conf` over our defaults, or those of spark-submit; the running one if there is one.

    Executors get this package as a zip; pyarrow and numpy, and what the core install brings, must be in their Python.
    Raises MissingExtra without the libraries, NoJava without a Java, OtherPython for a running session whose workers
    do not have this package, InvalidArgument naming `master` for Spark Connect.
    """
    _refuse_connect(master)
    need_extra("spark")
    submitted = _submitted()
    if not submitted:
        os.environ["JAVA_HOME"] = java_home()
    use_this_python()
    from pyspark.sql import SparkSession

    if master == DEFAULT_MASTER:
        master = submitted.get("spark.master", master)
    is_local = master.startswith("local")
    builder = SparkSession.builder.master(master).appName(app_name)
    settings = {**_DEFAULTS, **(_LOOPBACK if is_local else {}), **submitted, **(conf or {})}
    settings[_JAVA_OPTIONS] = _java_options(settings.get(_JAVA_OPTIONS, ""))
    for key, value in settings.items():
        builder = builder.config(key, value)
    with fast_home() if is_local and not submitted else nullcontext():
        session: SparkSession = builder.getOrCreate()
    check_workers_python()  # of a session that ran before
    if not is_local:
        session.sparkContext.addPyFile(str(_package_zip()))
    return session


def _refuse_connect(master: str) -> None:
    """Raise InvalidArgument naming `master` for Spark Connect, also if the environment asks for it."""
    if master.startswith("sc://") or "SPARK_REMOTE" in os.environ:
        problem = (
            "Spark Connect (sc://) has no RDDs, accumulators and Java classes, which this needs; "
            "give a master such as spark://HOST:7077"
        )
        raise InvalidArgument("master", master, problem)


def _submitted() -> dict[str, str]:
    """The settings that spark-submit has; none if it does not run this program."""
    if not is_submitted():
        return {}
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()  # a SparkConf knows Java's settings from then on
    return {name: value for name, value in SparkConf().getAll() if name != "spark.app.name"}


def _java_options(asked: str) -> str:
    """What Java is started with: the options that were asked for, after ours. It takes one garbage collector only."""
    collector = "" if re.search(r"-XX:\+Use\w+GC\b", asked) else _COLLECT_IN_PAUSES
    quiet = f"-Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()}"
    compiler = " ".join(f"-XX:{name}={value}" for name, value in _COMPILE_LATER.items())
    return " ".join(filter(None, (quiet, "-XX:+IgnoreUnrecognizedVMOptions", compiler, collector, asked)))


def _package_zip() -> Path:
    """This package as a zip, for executors: functions reach them as references into it."""
    root = Path(fakebroker.__file__).parent
    path = Path(mkdtemp(prefix="fakebroker-")) / "fakebroker.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for each in sorted(root.rglob("*")):
            if each.is_file() and "__pycache__" not in each.parts:
                archive.write(each, each.relative_to(root.parent))
    return path
