"""Gold tables of a journal in which one group has nearly all rows, next to one in which all groups have as many.

make bench-spark ARGS="gold --commits 1000000"
"""

import argparse
import time
from typing import TYPE_CHECKING, Final

from fakebroker.analysis.pipeline.engines import make
from fakebroker.analysis.pipeline.session import spark_session
from fakebroker.analysis.pipeline.spark_engine import SparkEngine
from fakebroker.analysis.pipeline.tables import table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

COMMITS: Final = 1_000_000
GROUPS: Final = 100
HOT_SHARE: Final = 0.9
GOAL: Final = 2.0  # times the even journal
_STATES: Final = ("Stable", "PreparingRebalance", "CompletingRebalance")


def group_of(is_hot: bool) -> "Column":
    """The group of a row by its number `id`: group 0 has nine tenths of them, or all have as many."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    even = F.col("id") % GROUPS
    number = F.when(F.col("id") % 10 < round(HOT_SHARE * 10), F.lit(0)).otherwise(even) if is_hot else even
    return F.concat(F.lit("group-"), number)


def skewed_tables(spark: "SparkSession", commits: int, *, is_hot: bool) -> "dict[str, DataFrame]":
    """Silver tables of a journal with so many commits, a second between two, and as many spans of states."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    at = F.timestamp_millis(F.lit(1_767_225_600_000) + F.col("id") * 1000)
    common = {"source": F.lit("run"), "seq": F.col("id"), "part": F.lit(0), "topic": F.lit("orders")}
    rows = spark.range(commits).withColumns({**common, "group_id": group_of(is_hot), "partition": F.lit(0)})
    made = {
        "commits": rows.withColumns(
            {"committed_offset": F.col("id"), "outcome": F.lit("committed"), "applied_at": at, "at": at}
        ),
        "log_ends": rows.withColumns({"log_end_offset": F.col("id") + 10, "at": at}),
        "group_states": rows.withColumns(
            {
                "state": F.element_at(F.array(*map(F.lit, _STATES)), (F.hash("id") % 3 + 3) % 3 + 1),
                "reason": F.lit("member a joined"),
                "generation": F.lit(1),
                "began_at": at,
            }
        ),
    }
    empty = {name: spark.createDataFrame([], table(name).spark_ddl) for name in ("expiries", "events")}
    return {name: _whole(name, frame) for name, frame in made.items()} | empty


def _whole(name: str, frame: "DataFrame") -> "DataFrame":
    """The columns of the table; those that are not there are null."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    there = set(frame.columns)
    types = dict(part.rsplit(" ", 1) for part in table(name).spark_ddl.replace("`", "").split(", "))
    return frame.select(
        *((F.col(each) if each in there else F.lit(None)).cast(kind).alias(each) for each, kind in types.items())
    )


def seconds(frame: "DataFrame") -> float:
    """How long it takes to make all rows of a table."""
    began_s = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began_s


def main(arguments: list[str] | None = None) -> int:
    """Make both journals' tables, the even one first and once before that, and print the ratios; status 1 over GOAL."""
    parser = argparse.ArgumentParser(prog="bench.spark.gold", description=__doc__)
    parser.add_argument("--commits", type=int, default=COMMITS)
    parser.add_argument("--master", default="local[2]")
    options = parser.parse_args(arguments)
    spark = spark_session(options.master, {"spark.sql.shuffle.partitions": "8"})
    is_too_slow = False
    try:
        even, hot = (skewed_tables(spark, options.commits, is_hot=is_hot) for is_hot in (False, True))
        for name in ("lag_minute", "rebalances"):
            took_s = {}
            for kind, tables in (("warm-up", even), ("even", even), ("hot", hot)):
                took_s[kind] = seconds(make(SparkEngine(spark, alone=True), name, tables))
            ratio = took_s["hot"] / took_s["even"]
            is_too_slow |= ratio > GOAL
            print(f"{name}: even {took_s['even']:.1f} s, hot {took_s['hot']:.1f} s: {ratio:.2f} times (goal {GOAL:g})")
    finally:
        spark.stop()
    return int(is_too_slow)


if __name__ == "__main__":
    raise SystemExit(main())
