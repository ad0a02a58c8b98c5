"""One Spark session for all tests that need Spark, and both engines for tests that must hold for each."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from fakebroker.analysis.pipeline.engines import Engine

# What `make test` does not set up: these modules, whose tests are all left to `make rest`, import it.
_IMPORTED_BY = {
    "pyspark": (
        "test_on_a_cluster.py",
        "kafka_source/test_readers.py",
        "kafka_source/test_readers_on_kafka.py",
        "kafka_source/test_record_columns.py",
        "kafka_source/test_sink.py",
        "kafka_source/test_spark_page.py",
        "sources/test_history_source.py",
        "sources/test_remote_history.py",
        "sources/test_stored_history.py",
    ),
    "grpc": ("kafka_source/test_over_connect.py",),
    "deltalake": ("export/test_delta.py",),
    "pyiceberg": ("export/test_iceberg.py",),
    "moto": ("export/test_on_s3.py",),
}
collect_ignore = [each for name, modules in _IMPORTED_BY.items() if not find_spec(name) for each in modules]

# A JVM that starts fast and compiles little: small data does not repay more.
FAST_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    """The session, on two cores."""
    from fakebroker.analysis.pipeline.session import spark_session

    session = spark_session(
        "local[2]",
        {
            "spark.driver.extraJavaOptions": FAST_JVM,
            "spark.driver.memory": "1g",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.codegen.wholeStage": "false",
        },
    )
    yield session
    session.stop()


@pytest.fixture(params=["embedded", pytest.param("spark", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> "Iterator[Engine]":
    """Each engine."""
    from fakebroker.analysis.pipeline.duckdb_engine import DuckEngine
    from fakebroker.analysis.pipeline.spark_engine import SparkEngine

    if request.param == "embedded":
        yield DuckEngine()
    else:
        session: SparkSession = request.getfixturevalue("spark")
        yield SparkEngine(session)
