"""Speed of the data pipeline on Spark, as ratios within one run; writes its part of docs/reference/benchmarks.md.

make bench-spark [ARGS="--records 10000000"]
"""

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable

from bench.page import write_pipeline_part
from bench.spark import campaigns, chain, decode, engines
from bench.spark.measured import Took, goal

ABOUT = """Measured on {date}: {system}, CPython {python}, pyspark {spark}, `local[2]` on two cores. Trust the ratios,
not the rates. One core is one core for all of Spark, its compilers and Python's workers too (`taskset`), as an executor
of its own would have it. `make bench-spark` writes this part of the page, in about an hour."""
HOT_GOAL = 2.0
_CORES = 2


def whatif(*histories: str) -> dict[str, Took]:
    """What the what-if took of each history, in a process of its own; the first is no more than a warm-up."""
    command = [sys.executable, "-m", "bench.spark.whatif", str(_CORES), *histories]
    found = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            if line.startswith("{"):
                result = json.loads(line)
                found[result["history"]] = Took(result["wall_s"], result["cpu_s"])
    assert process.returncode == 0, f"{command} failed"
    return found


def skew(records: int) -> str:
    """The section on one group with nine tenths of the commits."""
    warm_up, even, hot = f"{records // 10}:even", f"{records}:even", f"{records}:hot"
    found = whatif(warm_up, even, hot)
    hotter = found[hot].wall_s / found[even].wall_s
    return "\n".join(
        [
            f"## The what-if with one hot group, {records:,} stored commits of 2,800 groups",
            "",
            "Five retentions over 30 days, groups Stable and Empty in turns of days: the worst that it can be given.",
            "In a session that has done it once. In brackets: seconds of all processors.",
            "",
            "| shape | took |",
            "|---|---|",
            f"| even | {found[even]} |",
            f"| nine tenths of the commits in one group | {found[hot]} |",
            "",
            f"One group with 90 % of them: {hotter:.2f} times the even case ({goal(HOT_GOAL, hotter <= HOT_GOAL)}).",
            "",
        ]
    )


def gold_skew(commits: int) -> str:
    """The section on gold tables with one hot group."""
    command = [sys.executable, "-m", "bench.spark.gold", "--commits", str(commits)]
    output = subprocess.run(command, stdout=subprocess.PIPE, check=False, text=True).stdout
    print(output, flush=True)
    lines = [line for line in output.splitlines() if "goal" in line]
    return "\n".join(
        [f"## Gold tables with one hot group, {commits:,} commits", "", *(f"- {each}" for each in lines), ""]
    )


def main() -> None:
    """Measure everything, one after the other, and write the part of the page."""
    import pyspark

    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--commits", type=int, default=1_000_000, help="of the journal with a hot group")
    parser.add_argument("--most", type=int, default=50_000_000, help="records of the largest history")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--sizes", type=int, nargs="+", default=engines.SIZES, help="of what both engines do")
    options = parser.parse_args()
    about = ABOUT.format(
        date=time.strftime("%Y-%m-%d"),
        system=platform.platform(),
        python=platform.python_version(),
        spark=pyspark.__version__,
    )
    made = [about, ""]
    sections: tuple[Callable[[], str], ...] = (
        lambda: engines.measure(options.sizes),
        lambda: decode.report(options.records, options.rounds),
        lambda: chain.report(options.records, options.most),
        lambda: skew(options.records),
        lambda: gold_skew(options.commits),
        lambda: "## Campaigns\n\n" + campaigns.measure(20, 3) + "\n",
    )
    for section in sections:
        made.append(section())
        print(made[-1], flush=True)  # whatever becomes of the next one
    write_pipeline_part("\n".join(made))


if __name__ == "__main__":
    main()
