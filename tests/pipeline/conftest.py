"""One Spark session for all tests that need Spark."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A JVM that starts fast and compiles little: small data does not repay more.
FAST_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    """The session, on two cores."""
    from fakebroker.pipeline.session import spark_session

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
