"""Both engines side by side: commands as users run them, from their start to published tables.

python -m bench.spark.engines [--sizes 10000 1000000]
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import NamedTuple

from bench.spark.journals import journals_of
from bench.spark.measured import processes
from bench.spark.records import CACHE, parquet_of
from fakebroker.analysis.pipeline.engine_choice import (
    MAX_JOURNAL_MB,
    MAX_LOG_MB,
    MAX_WHATIF_ROWS,
    choose,
    work_on_files,
    work_on_tables,
)

SIZES = (10_000, 1_000_000, 10_000_000)
ENGINES = ("embedded", "spark")
RETENTIONS = "1d,3d,7d,10d,14d"
_MB = 1_000_000
LOOK_S = 0.1


class Run(NamedTuple):
    """What a command took: seconds by the clock and of all processors, and the memory of all its processes."""

    wall_s: float
    cpu_s: float
    peak_mb: float

    def __str__(self) -> str:
        return f"{self.wall_s:.1f} s ({self.cpu_s:.0f}), {self.peak_mb:,.0f} MB"


def run(arguments: Sequence[str]) -> Run:
    """Run `fakebroker` with these arguments, and look at its processes all the time."""
    began_s, cpu_s, peak_bytes = time.perf_counter(), 0.0, 0
    command = [sys.executable, "-m", "fakebroker", *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            used = processes(process.pid).values()
            cpu_s = max(cpu_s, sum(each.cpu_s for each in used))
            peak_bytes = max(peak_bytes, sum(each.memory_bytes for each in used))
            time.sleep(LOOK_S)
    assert process.returncode == 0, f"{command} failed"
    return Run(time.perf_counter() - began_s, cpu_s, peak_bytes / _MB)


def measure(sizes: Sequence[int] = SIZES) -> str:
    """The section of the page."""
    lines = [
        "## Both engines side by side",
        "",
        "Commands as users run them, from their start to published and checked tables: the start of Spark is in them.",
        f"`history whatif` tries {RETENTIONS}. In brackets: seconds of all processors; then the most memory.",
        "",
        "| command | input | embedded | Spark | `--engine auto` takes |",
        "|---|---|---|---|---|",
    ]
    for row in _rows(sizes):
        lines.append(row)
        print(row, flush=True)
    return "\n".join([*lines, ""])


def _rows(sizes: Sequence[int]) -> Iterator[str]:
    out = Path(mkdtemp(prefix="engines-", dir=CACHE))
    for size in sizes:
        journals = str(journals_of(size))
        chosen = choose(work_on_files([journals], MAX_JOURNAL_MB)).engine
        report = str(out / "report.html")
        yield _row("pipeline run", f"{size:,} lines", chosen, ["pipeline", "run", journals, "--report", report], out)
        rmtree(out)
        out.mkdir()
    for size in sizes:
        records = str(parquet_of(size))
        chosen = choose(work_on_files([records], MAX_LOG_MB)).engine
        yield _row("history decode", f"{size:,} records", chosen, ["history", "decode", records], out)
        chosen = choose(work_on_tables(out / "embedded", ("commits", "group_states"), MAX_WHATIF_ROWS)).engine
        yield _row("history whatif", f"{size:,} records", chosen, ["history", "whatif", "--retention", RETENTIONS], out)
        rmtree(out)
        out.mkdir()
    rmtree(out)


def _row(name: str, size: str, chosen: str, command: Sequence[str], out: Path) -> str:
    """The command with each engine, which has a folder of tables of its own."""
    took = [run([*command, "--engine", engine, "--tables", str(out / engine)]) for engine in ENGINES]
    return f"| `{name}` | {size} | {took[0]} | {took[1]} | {chosen} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    print(measure(parser.parse_args().sizes))
