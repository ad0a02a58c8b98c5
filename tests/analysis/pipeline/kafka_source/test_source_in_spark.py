"""The data source in Spark itself: what is produced is read, in batches and streams, and written again."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fakebroker import FakeBroker
from fakebroker.analysis.pipeline.spark_failures import SparkFailure, as_spark_failure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker(nodes=2) as broker:
        broker.create_topic("orders", partitions=2)
        broker.create_topic("copies", partitions=1)
        yield broker


def read(spark: "SparkSession", broker: FakeBroker, **options: Any) -> "DataFrame":
    servers = {"kafka.bootstrap.servers": broker.bootstrap}
    return spark.read.format("fakebroker").options(**servers, **options).load()


def test_a_batch_is_what_was_produced(spark: "SparkSession", broker: FakeBroker) -> None:
    """Every column of rows that were written by the sink, and read without any registration of the source."""
    rows = spark.range(50).selectExpr(
        "CAST(id AS STRING) AS key",
        "encode(CAST(id * id AS STRING), 'UTF-8') AS value",
        "CAST(id % 2 AS INT) AS partition",
        "IF(id = 7, array(struct('h' AS key, X'00FF' AS value)), NULL) AS headers",
    )
    servers = {"kafka.bootstrap.servers": broker.bootstrap, "topic": "orders"}
    rows.write.format("fakebroker").mode("append").options(**servers).save()
    found = read(spark, broker, subscribe="orders", includeHeaders="true").collect()
    stored = [(record, index) for index in (0, 1) for record in broker.topic("orders").records(index)]

    assert len(found) == 50
    assert sorted((row.key, row.value, row.partition, row.offset, row.timestampType) for row in found) == sorted(
        (record.key, record.value, index, record.offset, 0) for record, index in stored
    )
    assert {int(row.key): row.value for row in found} == {n: b"%d" % (n * n) for n in range(50)}
    assert [(row.key, [tuple(each) for each in row.headers]) for row in found if row.headers] == [
        (b"7", [("h", bytearray(b"\x00\xff"))])
    ]


def test_a_stream_goes_on_from_its_checkpoint_exactly_once(
    spark: "SparkSession", broker: FakeBroker, tmp_path: Path
) -> None:
    """AvailableNow in micro-batches of limited size; started again, it reads what came meanwhile, nothing twice."""

    def run() -> None:
        stream = spark.readStream.format("fakebroker").options(
            **{"kafka.bootstrap.servers": broker.bootstrap, "subscribe": "orders"},
            startingOffsets="earliest",
            maxOffsetsPerTrigger=30,
        )
        query = (
            stream.load()
            .select("key", "value")
            .writeStream.format("fakebroker")
            .options(**{"kafka.bootstrap.servers": broker.bootstrap, "topic": "copies"})
            .option("checkpointLocation", str(tmp_path))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    broker.topic("orders").produce(*[f"{n}" for n in range(40)], partition=0)
    run()
    broker.topic("orders").produce(*[f"{n}" for n in range(40, 50)], partition=1)
    run()

    copies = [int(record.value or b"-1") for record in broker.topic("copies").records(0)]
    assert sorted(copies) == list(range(50))


def test_errors_are_reported_in_a_line(spark: "SparkSession", broker: FakeBroker) -> None:
    """What the source raises is the message: a wrong option, a broker that is not there."""
    with (
        pytest.raises(SparkFailure, match="there is no option 'subscribes'; did you mean 'subscribe'"),
        as_spark_failure(),
    ):
        read(spark, broker, subscribes="orders").count()
    with pytest.raises(SparkFailure, match="there is no topic or partition nothing at"), as_spark_failure():
        read(spark, broker, subscribe="nothing").count()
