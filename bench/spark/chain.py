"""A whole history on Spark: from Parquet of a sink to the tables, and from these to five retentions tried.

python -m bench.spark.chain [--records 10000000] [--cores 2]
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

from bench.spark.measured import Took, goal, machine_scaling, took, use_cores
from bench.spark.records import parquet_of
from fakebroker.analysis.pipeline.build import make_tables
from fakebroker.analysis.pipeline.progress import Progress
from fakebroker.analysis.pipeline.publish import Staging, staging
from fakebroker.analysis.pipeline.session import spark_session
from fakebroker.analysis.pipeline.sources.decoded_history import decoded_history
from fakebroker.analysis.pipeline.spark_engine import SparkEngine
from fakebroker.analysis.pipeline.tables.retention_losses import DAY_MS, WhatifOptions

RETENTIONS = tuple(days * DAY_MS for days in (1, 3, 7, 10, 14))
GOAL_S = 45.0  # for 10 million records
LINEAR = 1.1  # times as long as the growth itself
CORES_GOAL = 1.6
_DECODED = ("coordinator_records", "rejects", "commits")
_TRIED = ("retention_losses", "retention_whatif")


def main(records: int, cores: int) -> None:
    """Decode so many records into tables, try the retentions on these; checks not counted. Prints a line of JSON."""
    folder = parquet_of(records)
    use_cores(cores)
    session = spark_session(f"local[{cores}]")
    session.range(10).count()
    out = Path(mkdtemp(prefix="chain-"))
    with staging(SparkEngine(session), out / "out", Progress(sys.stderr)) as stage:
        frames: dict[str, Any] = {}
        decode = took(lambda: _decode(stage, frames, folder))
        whatif = took(lambda: make_tables(stage, _TRIED, frames, WhatifOptions(RETENTIONS)))
    session.stop()
    rmtree(out)
    sys.stdout.write(json.dumps({"decode": decode, "whatif": whatif}) + "\n")


def _decode(stage: Staging, frames: dict[str, Any], folder: Path) -> None:
    frames["decoded"], _, options = decoded_history(stage, [str(folder)], None, "bench", may_repeat=False)
    make_tables(stage, _DECODED, frames, options)
    make_tables(stage, ["group_states"], frames)


def measure(records: int, cores: int) -> tuple[Took, Took]:
    """What decoding took, and the what-if, in a process of its own."""
    command = [sys.executable, "-m", "bench.spark.chain", "--records", str(records), "--cores", str(cores)]
    result = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()[-1]
    found = json.loads(result)
    return Took(*found["decode"]), Took(*found["whatif"])


def report(records: int, most: int) -> str:
    """The section of the page: so many records with one core and with two, and the largest history with two."""
    lines = [
        f"## Decode and what-if of five retentions, {records:,} records of `__consumer_offsets`",
        "",
        "From Parquet of a sink to tables, and from these to losses; without the start of Spark, and without checks.",
        "In brackets: seconds of all processors.",
        "",
        "| records | cores | decode into tables | what-if | both | records/s |",
        "|---|---|---|---|---|---|",
    ]
    found: dict[tuple[int, int], Took] = {}
    machine = []
    for count, cores in ((records, 2), (records, 1), (records, 2), (records, 1), (most, 2)):
        machine.append(machine_scaling())
        decode, whatif = measure(count, cores)
        both = decode + whatif
        found[count, cores] = min(both, found.get((count, cores), both))
        lines.append(f"| {count:,} | {cores} | {decode} | {whatif} | {both} | {count / both.wall_s:,.0f} |")
        print(lines[-1], flush=True)
    limit_s, took_s = GOAL_S * records / 10_000_000, found[records, 2].wall_s
    ratio = found[records, 1].wall_s / took_s
    grown, allowed = found[most, 2].wall_s / took_s, LINEAR * most / records
    scaling = ", ".join(f"{each:.2f}" for each in machine)
    return "\n".join(
        [
            *lines,
            "",
            f"- {records:,} records on two cores: {took_s:.1f} s ({goal(limit_s, took_s <= limit_s)}).",
            f"- {most / records:g} times the records: {grown:.2f} times as long ({goal(allowed, grown <= allowed)}).",
            f"- Two cores are {ratio:.2f} times as fast as one ({goal(CORES_GOAL, ratio >= CORES_GOAL)}).",
            "",
            f"Two processes that do nothing but count did {scaling} times the work of one, asked before each row:",
            "nothing can scale better than that on this machine.",
            "",
        ]
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--cores", type=int, default=2)
    arguments = parser.parse_args()
    main(arguments.records, arguments.cores)
