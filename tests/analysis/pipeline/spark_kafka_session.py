"""Spark's own format("kafka") against a broker: a program of its own, because its jars are named before Spark starts.

    python -m tests.analysis.pipeline.spark_kafka_session JAR,JAR,...

It takes one step after the other, and writes a JSON object: what each step found, and every (api, version) that the
broker was asked.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from fakebroker import FakeBroker
from fakebroker.analysis.pipeline.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FAST_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_DEPRECATED = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"


class Steps:
    """What is tried, with `orders`, whose 300 records of partition p have the times 1000 p, 1000 p + 1, ..."""

    def __init__(self, spark: "SparkSession", broker: FakeBroker) -> None:
        self._spark = spark
        self._broker = broker
        self._servers = {"kafka.bootstrap.servers": broker.bootstrap}
        topic = broker.create_topic("orders", partitions=3, config={"retention.ms": -1})  # its times are long ago
        for partition in range(3):
            for number in range(100):
                topic.produce(f"{number}", partition=partition, timestamp_ms=1_000 * partition + number)
        broker.create_topic("written", partitions=2)
        broker.create_topic("copies", partitions=2)

    def batch(self) -> Any:
        """By topic, by pattern, by partition."""
        options: list[dict[str, str]] = [
            {"subscribe": "orders"},
            {"subscribePattern": "ord.*"},
            {"assign": '{"orders": [1]}'},
        ]
        return [self._read(**each).count() for each in options]

    def by_time(self) -> Any:
        """By a time and by times of each partition: where records begin, and how many there are."""
        first = self._read(subscribe="orders", startingTimestamp="50")
        start, end = {"0": 90, "1": 1_020, "2": 0}, {"0": 95, "1": 99_999, "2": 2_001}
        times = self._read(
            subscribe="orders",
            startingOffsetsByTimestamp=json.dumps({"orders": start}),
            endingOffsetsByTimestamp=json.dumps({"orders": end}),
        )
        return [
            sorted(tuple(row) for row in frame.groupBy("partition").agg({"offset": "min", "*": "count"}).collect())
            for frame in (first, times)
        ]

    def by_time_without_match(self) -> Any:
        """After the last record: an error, or nothing to read."""
        options = {"assign": '{"orders": [0]}', "startingTimestamp": "5000"}
        try:
            said = str(self._read(**options).count())
        except Exception as error:
            said = "No offset matched" if "No offset matched" in str(error) else str(error)
        return [said, self._read(**options, startingOffsetsByTimestampStrategy="latest").count()]

    def sink(self) -> Any:
        """Keys, values, headers and partitions written, and read with headers."""
        rows = self._spark.range(20).selectExpr(
            "CAST(id AS STRING) AS key",
            "CAST(id AS STRING) AS value",
            "CAST(id % 2 AS INT) AS partition",
            "array(struct('h' AS key, X'01' AS value)) AS headers",
        )
        rows.write.format("kafka").options(**self._servers, topic="written", includeHeaders="true").save()
        found = self._read(subscribe="written", includeHeaders="true").collect()
        stored = self._broker.topic("written").end_offsets
        return [sorted(stored.values()), {row.headers[0].key for row in found} == {"h"}, len(found)]

    def stream(self) -> Any:
        """AvailableNow in micro-batches with a checkpoint, from Kafka to Kafka, and again after more has come."""
        with tempfile.TemporaryDirectory() as folder:
            first = self._copy(folder)
            self._broker.topic("orders").produce(*["more"] * 50, partition=1)
            second = self._copy(folder)
        values = [record.value for index in (0, 1) for record in self._broker.topic("copies").records(index)]
        return [first > 1, second, len(values), values.count(b"more")]

    def deprecated(self) -> Any:
        """A batch and a stream whose driver is a member of a group."""
        self._spark.conf.set(_DEPRECATED, "true")
        with tempfile.TemporaryDirectory() as folder:
            before = sum(self._broker.topic("copies").end_offsets.values())
            found = [self._read(subscribe="orders").count(), self._copy(folder) > 0]
        self._spark.conf.set(_DEPRECATED, "false")
        return [*found, sum(self._broker.topic("copies").end_offsets.values()) - before]

    def _read(self, **options: str) -> "DataFrame":
        return self._spark.read.format("kafka").options(**self._servers, **options).load()

    def _copy(self, checkpoint: str) -> int:
        """Copy what is new in orders; how many micro-batches it took."""
        stream = self._spark.readStream.format("kafka").options(
            **self._servers, subscribe="orders", startingOffsets="earliest", maxOffsetsPerTrigger="200"
        )
        query = (
            stream.load()
            .select("key", "value")
            .writeStream.format("kafka")
            .options(**self._servers, topic="copies", checkpointLocation=checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return len(query.recentProgress)


def asked(broker: FakeBroker) -> Iterator[tuple[str, int]]:
    """Every API with its version that the broker was asked."""
    for each in broker.journal.requests():
        yield each.api, each.version


def main(jars: str) -> None:
    """Take all the steps."""
    conf = {"spark.jars": jars, "spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2"}
    spark = spark_session("local[2]", {**conf, "spark.driver.extraJavaOptions": _FAST_JVM})
    found: dict[str, Any] = {}
    with FakeBroker(nodes=2) as broker:
        steps = Steps(spark, broker)
        names = ("batch", "by_time", "by_time_without_match", "sink", "stream", "deprecated")
        before: set[tuple[str, int]] = set()
        for name in names:
            step: Callable[[], Any] = getattr(steps, name)
            if name == "deprecated":
                before = set(asked(broker))
            found[name] = step()
        found["asked"] = sorted(before)
        found["asked by members"] = sorted(set(asked(broker)) - before)
    spark.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
