"""The retention what-if on Spark: how long it takes, with groups that are alike and with one hot group.

    python -m bench.spark.whatif 2 1000000:even 10000000:even 10000000:hot

The first number is of cores. Rows of `commits` and `group_states` are made by Spark and stored once; measured is from
there to stored losses, one history after another in one session, so that the first of them also is the warm-up.
"""

import json
import sys
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from bench.spark.measured import took, use_cores
from fakebroker.analysis.pipeline.engines import make
from fakebroker.analysis.pipeline.rows import count_rows
from fakebroker.analysis.pipeline.session import spark_session
from fakebroker.analysis.pipeline.spark_engine import SparkEngine
from fakebroker.analysis.pipeline.tables import table
from fakebroker.analysis.pipeline.tables.retention_losses import DAY_MS, WhatifOptions

CACHE = Path("/tmp/fakebroker-bench")
GROUPS, PARTITIONS = 2_800, 8
DAYS = 30
START_MS = 1_772_000_000_000
OPTIONS = WhatifOptions(tuple(days * DAY_MS for days in (1, 3, 7, 10, 14)))


def main(cores: int, histories: list[str]) -> None:
    """Measure each history once and print a line of JSON for it."""
    use_cores(cores)
    session = spark_session(f"local[{cores}]", {"spark.driver.memory": "4g"})
    for history in histories:
        count, _, shape = history.partition(":")
        folder = CACHE / f"whatif-{shape}-{count}"
        if not (folder / "_complete").exists():
            _make(session, int(count), shape, folder)
        _measure(SparkEngine(session, alone=True), history, folder)
    session.stop()


def _measure(engine: SparkEngine, history: str, folder: Path) -> None:
    """Make losses and their summary of stored tables, and tell how long it took."""
    frames = {name: engine.load(table(name), folder / name) for name in ("commits", "group_states")}
    out = Path(mkdtemp(prefix="whatif-"))

    def work() -> None:
        for name in ("retention_losses", "retention_whatif"):
            engine.store(table(name), make(engine, name, frames, OPTIONS), out / name)
            frames[name] = engine.load(table(name), out / name)

    wall_s, cpu_s = took(work)
    result = {"history": history, "wall_s": wall_s, "cpu_s": cpu_s, "losses": count_rows(out / "retention_losses")}
    sys.stdout.write(json.dumps(result) + "\n")
    sys.stdout.flush()
    rmtree(out)


def _make(session: SparkSession, rows: int, shape: str, folder: Path) -> None:
    """2 % tombstones; of the groups a tenth is simple, the others are Stable and Empty in turns of days."""
    chance = F.rand(seed=7)
    group = (
        F.when(chance < 0.9, F.lit(0)).otherwise(F.floor(F.rand(seed=8) * GROUPS))
        if shape == "hot"
        else F.floor(F.rand(seed=8) * GROUPS)
    )
    at_ms = (F.lit(START_MS) + F.col("id") * F.lit(DAYS * DAY_MS / rows)).cast("long")
    is_gone = F.rand(seed=9) < 0.02
    made = (
        session.range(rows, numPartitions=8)
        .withColumn("group_number", group.cast("int"))
        .withColumn("at", F.timestamp_millis(at_ms))
        .withColumn("is_gone", is_gone)
        .select(
            F.concat(F.lit("consumer-group-"), F.col("group_number")).alias("group_id"),
            F.concat(F.lit("topic-"), F.col("group_number") % 40).alias("topic"),
            F.floor(F.rand(seed=10) * PARTITIONS).cast("int").alias("partition"),
            F.when(~F.col("is_gone"), F.col("id")).alias("committed_offset"),
            F.when(~F.col("is_gone"), F.col("at")).alias("committed_at"),
            F.lit(False).alias("transactional"),
            F.lit("committed").alias("outcome"),
            "at",
            F.col("at").alias("applied_at"),
            F.col("id").alias("applied_log_offset"),
            F.lit("log").alias("source"),
            (F.col("group_number") % 50).alias("log_partition"),
            F.col("id").alias("log_offset"),
        )
    )
    _store(made, "commits", folder)
    turns = session.range(GROUPS * DAYS // 3).withColumn("number", (F.col("id") % GROUPS).cast("int"))
    turn = F.floor(F.col("id") / GROUPS)
    began_ms = F.lit(START_MS) + turn * F.lit(3 * DAY_MS) + F.col("number") * 1000
    place = ((began_ms - F.lit(START_MS)) * F.lit(rows / (DAYS * DAY_MS))).cast("long")
    states = (
        turns.where(F.col("number") % 10 != 0)
        .withColumn("began_at", F.timestamp_millis(began_ms.cast("long")))
        .select(
            F.concat(F.lit("consumer-group-"), F.col("number")).alias("group_id"),
            F.lit("classic").alias("group_type"),
            F.when(turn % 2 == 0, F.lit("Stable")).otherwise(F.lit("Empty")).alias("state"),
            F.lit("consumer").alias("protocol_type"),
            F.array(F.concat(F.lit("topic-"), F.col("number") % 40)).alias("subscribed_topics"),
            F.col("began_at").alias("state_at"),
            "began_at",
            F.lit("log").alias("source"),
            (F.col("number") % 50).alias("log_partition"),
            place.alias("log_offset"),
        )
    )
    _store(states, "group_states", folder)
    (folder / "_complete").touch()


def _store(made: DataFrame, name: str, folder: Path) -> None:
    """Write a table, columns that it does not have as nulls."""
    contract = table(name)
    empty = made.sparkSession.createDataFrame([], contract.spark_ddl)
    whole = empty.unionByName(made, allowMissingColumns=True)
    whole.select(*[F.col(each.name).cast(empty.schema[each.name].dataType) for each in contract.columns]).write.mode(
        "overwrite"
    ).parquet(str(folder / name))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
