"""The Spark session: plain Spark configuration, with what our code needs to run on the driver and on executors."""

import os
import sys
import zipfile
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Final

import fakebroker
from fakebroker.pipeline.extras import need_extra
from fakebroker.pipeline.java import java_home
from fakebroker.pipeline.spark_home import fast_home

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
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "4g",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
# A query of ours runs once, and its plans are long: without this half of the processors' time goes into compiling code
# to its best form that is used a few times.
_COMPILE_LATER: Final = "-XX:CompileThresholdScaling=5"
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
# A driver on this machine alone: without these it binds the first network interface and warns.
_LOOPBACK: Final = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def spark_session(
    master: str = DEFAULT_MASTER, conf: Mapping[str, str] | None = None, app_name: str = "fakebroker"
) -> "SparkSession":
    """A session on `master` with `conf` over our defaults; the running one if there is one.

    Executors get this package as a zip; pyarrow and numpy, and what the core install brings, must be in their Python.
    Raises MissingExtra without the libraries, NoJava without a Java.
    """
    need_extra("spark")
    os.environ["JAVA_HOME"] = java_home()
    # Spark starts workers with `python3` from the PATH otherwise, which is not that of a venv that is not activated.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    is_local = master.startswith("local")
    builder = SparkSession.builder.master(master).appName(app_name)
    settings = {**_DEFAULTS, **(_LOOPBACK if is_local else {}), **(conf or {})}
    quiet = f"-Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()}"
    settings[_JAVA_OPTIONS] = f"{quiet} {_COMPILE_LATER} {settings.get(_JAVA_OPTIONS, '')}".strip()
    for key, value in settings.items():
        builder = builder.config(key, value)
    with fast_home() if is_local else nullcontext():
        session: SparkSession = builder.getOrCreate()
    if not is_local:
        session.sparkContext.addPyFile(str(_package_zip()))
    return session


def _package_zip() -> Path:
    """This package as a zip, for executors: functions reach them as references into it."""
    root = Path(fakebroker.__file__).parent
    path = Path(mkdtemp(prefix="fakebroker-")) / "fakebroker.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for each in sorted(root.rglob("*")):
            if each.is_file() and "__pycache__" not in each.parts:
                archive.write(each, each.relative_to(root.parent))
    return path
