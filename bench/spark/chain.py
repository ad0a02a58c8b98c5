"""A whole history on Spark: from Parquet of a sink to the tables, and from these to five retentions tried.

python -m bench.spark.chain [--records 10000000]
"""

import argparse
import io
import time
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from bench.spark.records import parquet_of
from fakebroker.history.decode_on_spark import decoded_on_spark
from fakebroker.pipeline.build import make_tables
from fakebroker.pipeline.engines import SparkEngine
from fakebroker.pipeline.progress import Progress
from fakebroker.pipeline.publish import staging
from fakebroker.pipeline.session import spark_session
from fakebroker.pipeline.tables.retention_losses import DAY_MS, WhatifOptions

RETENTIONS = tuple(days * DAY_MS for days in (1, 3, 7, 10, 14))
GOAL_S = 60.0  # for 10 million records
_DECODED = ("coordinator_records", "commits")


def measure(records: int, cores: int = 2) -> tuple[float, float]:
    """Seconds to decode so many records into tables, and to try the retentions on these; checks not counted."""
    folder = parquet_of(records)
    session = spark_session(f"local[{cores}]")
    session.range(10).count()
    try:
        with staging(SparkEngine(session), Path(mkdtemp()) / "out", Progress(io.StringIO())) as stage:
            began_s = time.perf_counter()
            frames: dict[str, Any] = {}
            frames["decoded"], _, options = decoded_on_spark(stage, [str(folder)], None, "bench", may_repeat=False)
            make_tables(stage, _DECODED, frames, options)
            make_tables(stage, ["group_states"], frames)
            decoded_s = time.perf_counter()
            make_tables(stage, ["retention_losses", "retention_whatif"], frames, WhatifOptions(RETENTIONS))
            return decoded_s - began_s, time.perf_counter() - decoded_s
    finally:
        session.stop()


def report(records: int) -> str:
    """The section of the page."""
    lines = [
        f"## Decode and what-if of five retentions, {records:,} records of `__consumer_offsets`",
        "",
        "| cores | decode into tables | what-if | both | records/s | goal |",
        "|---|---|---|---|---|---|",
    ]
    both = {}
    for cores in (2, 1):
        decode_s, whatif_s = measure(records, cores)
        both[cores] = decode_s + whatif_s
        limit_s = GOAL_S * records / 10_000_000
        goal = f"{limit_s:g} s {'met' if both[2] <= limit_s else 'MISSED'}" if cores == 2 else "-"
        rate = records / both[cores]
        lines.append(f"| {cores} | {decode_s:.1f} s | {whatif_s:.1f} s | {both[cores]:.1f} s | {rate:,.0f} | {goal} |")
        print(lines[-1], flush=True)
    ratio = both[1] / both[2]
    lines += ["", f"Two cores are {ratio:.2f} times as fast as one (goal 1.6: {'met' if ratio >= 1.6 else 'MISSED'})."]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=10_000_000)
    print(report(parser.parse_args().records))
