"""What went wrong in Spark, in a line."""

from typing import TYPE_CHECKING

import pytest

from fakebroker.analysis.pipeline.spark_failures import SparkFailure, as_spark_failure, cause_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JAVA = """An error occurred while calling o1.save.
: org.apache.spark.SparkException: Job aborted.
	at org.apache.spark.sql.Some.run(Some.scala:1)
Caused by: java.io.IOException: No space left on device
	at java.base/java.io.FileOutputStream.writeBytes(Native Method)
"""

PLANNING = 'Failed to plan: Traceback (most recent call last):\n  File "x.py", line 1, in x\n'


@pytest.mark.parametrize(
    ("text", "kind", "cause"),
    [
        (JAVA, "Py4JJavaError", "java.io.IOException: No space left on device"),
        ("x\nCaused by: java.lang.OutOfMemoryError: Java heap space\n at", "", "spark.driver.memory=8g"),
        ("Connection refused", "ConnectionRefusedError", "the Java process of Spark died"),
        ("All masters are unresponsive! Giving up.", "", "the Spark master does not answer: check --master"),
        (": java.lang.X: Cannot call methods on a stopped SparkContext", "", "check --master"),
        (
            f"{PLANNING}fakebroker.some.NoSuchThing: it is not there\n SQLSTATE: 38000",
            "",
            "NoSuchThing: it is not there",
        ),
        ("An error occurred while calling o1.x.\n: java.io.IOException: no host\n\tat a.b(C.java:1)\n", "", "no host"),
        (JAVA.partition("Caused")[0], "Py4JJavaError", "org.apache.spark.SparkException: Job aborted."),
        ("An error.\n: [X] Insufficient driver memory: System memory 209715200", "", "spark.driver.memory=8g"),
        ("[JAVA_GATEWAY_EXITED] Java gateway process exited before", "", "Check --master and --conf"),
        ("", "Py4JError", "Py4JError"),
    ],
)
def test_the_cause_is_reported_without_the_stack(text: str, kind: str, cause: str) -> None:
    """The innermost cause is reported, in a line; memory and lost processes with what to do."""
    assert cause in cause_of(text, kind)
    assert "\n" not in cause_of(text, kind)


@pytest.mark.spark
def test_what_our_own_code_raised_in_a_worker_is_what_is_reported(spark: "SparkSession") -> None:
    """An error of Python inside a task is reported as it was raised; a column that is not there by its name."""

    def broken(_: object) -> object:
        raise ValueError("a.log, byte 7: no batch")

    def run(frame: "DataFrame") -> None:
        with as_spark_failure():
            frame.count()

    with pytest.raises(SparkFailure, match=r"^ValueError: a.log, byte 7: no batch$"):
        run(spark.range(1).mapInArrow(broken, "id LONG"))

    def select() -> None:
        with as_spark_failure():
            spark.range(1).select("nothing")

    with pytest.raises(SparkFailure, match="nothing"):
        select()


@pytest.mark.spark
def test_what_caused_an_exception_is_reported() -> None:
    """An exception of Spark may say no more than where it was."""
    from pyspark.errors import PySparkException

    class Raised(PySparkException):  # type: ignore[misc]
        """What PySpark makes of an exception of Java."""

        def __init__(self, text: str, cause: "Raised | None" = None) -> None:
            super().__init__(text)
            self._cause = cause

    cause = Raised("spark.sql.shuffle.partitions should be int, but was many")
    with pytest.raises(SparkFailure, match=r"^spark.sql.shuffle.partitions should be int, but"), as_spark_failure():
        raise Raised("Error while instantiating 'SessionStateBuilder':", cause)
