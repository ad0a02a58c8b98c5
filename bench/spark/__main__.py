"""Speed of the data pipeline on Spark, as ratios within one run; writes its part of docs/benchmarks.md.

make bench-spark [ARGS="--records 10000000"]
"""

import argparse
import json
import platform
import subprocess
import sys
import time

from bench.page import write_pipeline_part
from bench.spark import campaigns, chain, decode

ABOUT = """Measured on {date}: {system}, CPython {python}, pyspark {spark}, `local[2]` on two cores. Trust the ratios,
not the rates. `make bench-spark` writes this part of the page."""
HOT_GOAL = 2.0


def met(is_met: bool) -> str:
    """How a table says it."""
    return "met" if is_met else "MISSED"


def whatif(rows: int, shape: str, cores: int) -> float:
    """Seconds of the what-if over so many commits, in a process of its own: the better of two runs."""
    command = [sys.executable, "-m", "bench.spark.whatif", str(rows), shape, str(cores)]
    told = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()[-1]
    print(told, flush=True)
    measured = json.loads(told)
    return float(min(measured["first_s"], measured["again_s"]))


def growth_and_skew(records: int) -> str:
    """The section on how the what-if grows, and on one group with nine tenths of the commits."""
    rows = [
        "## The what-if: growth, one hot group, cores",
        "",
        "Five retentions over commits that are stored as a table.",
        "",
        "| commits | groups | cores | seconds | commits/s |",
        "|---|---|---|---|---|",
    ]
    took_s = {}
    for count, shape, cores in (
        (records // 10, "even", 2),
        (records, "even", 2),
        (records, "hot", 2),
        (records, "even", 1),
    ):
        took_s[count, shape, cores] = seconds = whatif(count, shape, cores)
        rows.append(f"| {count:,} | {shape} | {cores} | {seconds:.1f} | {count / seconds:,.0f} |")
    hot = took_s[records, "hot", 2] / took_s[records, "even", 2]
    one = took_s[records, "even", 1] / took_s[records, "even", 2]
    rows += [
        "",
        f"- One group with 90 % of them: {hot:.2f} times the even case (goal {HOT_GOAL:g}: {met(hot <= HOT_GOAL)}).",
        f"- Two cores are {one:.2f} times as fast as one (goal 1.6: {met(one >= 1.6)}).",
        "",
    ]
    return "\n".join(rows)


def gold_skew(commits: int) -> str:
    """The section on gold tables with one hot group."""
    command = [sys.executable, "-m", "bench.spark.gold", "--commits", str(commits)]
    told = subprocess.run(command, stdout=subprocess.PIPE, check=False, text=True).stdout
    print(told, flush=True)
    lines = [line for line in told.splitlines() if "goal" in line]
    return "\n".join(
        [f"## Gold tables with one hot group, {commits:,} commits", "", *(f"- {each}" for each in lines), ""]
    )


def main() -> None:
    """Measure everything, one after the other, and write the part of the page."""
    import pyspark

    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--commits", type=int, default=1_000_000, help="of the journal with a hot group")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    about = ABOUT.format(
        date=time.strftime("%Y-%m-%d"),
        system=platform.platform(),
        python=platform.python_version(),
        spark=pyspark.__version__,
    )
    sections = [
        decode.report(options.records, options.rounds),
        chain.report(options.records),
        growth_and_skew(options.records),
        gold_skew(options.commits),
        "## Campaigns\n\n" + campaigns.measure(20, 3) + "\n",
    ]
    write_pipeline_part("\n".join([about, "", *sections]))


if __name__ == "__main__":
    main()
