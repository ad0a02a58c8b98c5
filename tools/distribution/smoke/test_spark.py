"""Spark, with the Java that the extra brings, reads a topic by the data source of the package."""

from fakebroker import FakeBroker
from fakebroker.analysis.pipeline.session import spark_session


def test_spark_reads_a_topic():
    spark = spark_session("local[1]")
    try:
        with FakeBroker() as broker:
            broker.create_topic("orders").produce("a", "b")
            options = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": "orders"}
            frame = spark.read.format("fakebroker").options(**options).load()
            rows = frame.selectExpr("CAST(value AS STRING) AS value").collect()
    finally:
        spark.stop()
    assert sorted(row.value for row in rows) == ["a", "b"]
