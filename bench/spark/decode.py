"""Decoding `__consumer_offsets` on Spark, next to a plain Python UDF in the same run.

make bench-spark ARGS="decode --records 10000000"
"""

import argparse
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bench.spark.records import parquet_of
from fakebroker.analysis.pipeline.session import spark_session
from fakebroker.analysis.pipeline.sources.history import history_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RECORDS = 10_000_000
GOAL = 3.0  # times the plain UDF
COLUMNS = ("group_id", "topic", "partition", "committed_offset", "leader_epoch", "metadata", "commit_ms", "expire_ms")
_UDF_TYPE = (
    "group_id STRING, topic STRING, `partition` INT, committed_offset BIGINT, leader_epoch INT, metadata STRING,"
    " commit_ms BIGINT, expire_ms BIGINT"
)


class Measured(NamedTuple):
    """A way of decoding: its check sum, and records per second; the best of the rounds."""

    name: str
    per_second: float
    check_sum: int


def decode_plainly(key: bytes | None, value: bytes | None) -> tuple[Any, ...] | None:
    """What somebody writes first: one commit at a time, with struct."""
    if key is None or len(key) < 10 or struct.unpack_from(">h", key)[0] > 1:
        return None
    group_id, at = _text(key, 2)
    topic, at = _text(key, at)
    (partition,) = struct.unpack_from(">i", key, at)
    if value is None:
        return group_id, topic, partition, None, None, None, None, None
    version, offset = struct.unpack_from(">hq", value)
    epoch, at = (*struct.unpack_from(">i", value, 10), 14) if version >= 3 else (-1, 10)
    metadata, at = _compact_text(value, at) if version == 4 else _text(value, at)
    (commit_ms,) = struct.unpack_from(">q", value, at)
    expire_ms = struct.unpack_from(">q", value, at + 8)[0] if version == 1 else None
    return group_id, topic, partition, offset, epoch, metadata, commit_ms, expire_ms


def _text(data: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from(">h", data, at)
    return data[at + 2 : at + 2 + length].decode(), at + 2 + length


def _compact_text(data: bytes, at: int) -> tuple[str, int]:
    length, shift = 0, 0
    while True:
        byte = data[at]
        at += 1
        length |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return data[at : at + length - 1].decode(), at + length - 1


def with_udf(session: "SparkSession", folder: Path, *, uses_arrow: bool) -> "DataFrame":
    """Commits by a plain UDF."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    decode = F.udf(decode_plainly, _UDF_TYPE, useArrow=uses_arrow)
    frame = session.read.parquet(str(folder)).select(decode("key", "value").alias("commit"))
    return frame.where("commit IS NOT NULL").select("commit.*")


def ours(session: "SparkSession", folder: Path) -> "DataFrame":
    """Commits by our data source."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    frame = history_frame(session, paths=[folder], source="bench").where(F.col("what") == "commit")
    times = {"commit_ms": F.unix_millis("committed_at"), "expire_ms": F.unix_millis("expires_at")}
    return frame.withColumns(times).select(*COLUMNS)


WAYS: dict[str, Callable[["SparkSession", Path], "DataFrame"]] = {
    "plain Python UDF, pickled": lambda session, folder: with_udf(session, folder, uses_arrow=False),
    "plain Python UDF, by Arrow (the default)": lambda session, folder: with_udf(session, folder, uses_arrow=True),
    "our data source": ours,
}


def measure(records: int, rounds: int) -> list[Measured]:
    """Every way on two cores."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    folder = parquet_of(records)
    session = spark_session("local[2]")
    session.read.parquet(str(folder)).limit(1).count()
    measured = []
    for name in WAYS:
        seconds = []
        for _ in range(rounds):
            began_s = time.perf_counter()
            frame = WAYS[name](session, folder).select(F.bit_xor(F.xxhash64(*COLUMNS)).alias("sum"))
            check_sum = frame.collect()[0]["sum"]
            seconds.append(time.perf_counter() - began_s)
        measured.append(Measured(name, records / min(seconds), check_sum))
        print(f"{name}: {records / min(seconds):,.0f} records/s", flush=True)
    session.stop()
    return measured


def report(records: int, rounds: int) -> str:
    """The section of the page: what was measured, ratios first. Raises AssertionError if the ways do not agree."""
    measured = measure(records, rounds)
    assert len({each.check_sum for each in measured}) == 1, "the ways decode different things"
    best = measured[-1].per_second
    lines = [
        f"## Decode of `__consumer_offsets` on Spark, {records:,} records",
        "",
        "To a check sum of all commits, on two cores.",
        "",
        "| way | records/s | ours is so many times as fast | goal |",
        "|---|---|---|---|",
    ]
    for each in measured[:-1]:
        ratio = best / each.per_second
        lines.append(
            f"| {each.name} | {each.per_second:,.0f} | {ratio:.2f} | {GOAL:g} {'met' if ratio >= GOAL else 'MISSED'} |"
        )
    return "\n".join([*lines, f"| {measured[-1].name} | {best:,.0f} | - | - |", ""])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    print(report(options.records, options.rounds))


if __name__ == "__main__":
    main()
