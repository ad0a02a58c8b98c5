"""Speed of campaigns: runs a second in one process, in two, and on Spark, in turns within one run.

python -m bench.spark.campaigns [--seeds 20] [--rounds 3]
"""

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from fakebroker.analysis.campaign.on_python import runs_here
from fakebroker.analysis.campaign.on_spark import runs_on_spark, small_batches
from fakebroker.analysis.campaign.plan import Campaign, read_campaign
from fakebroker.analysis.pipeline.session import spark_session

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
WAYS = ("one process", "two processes", "Spark, local[2]")


def measure(seeds: int, rounds: int) -> str:
    """A Markdown table: runs a second of each way, and the median of its ratios to one process with their spread."""
    campaign = read_campaign([str(SCENARIOS)], [], range(seeds))
    session = spark_session("local[2]", {"spark.driver.memory": "1g"})

    def on_spark() -> int:
        with small_batches(session):
            return sum(1 for _ in runs_on_spark(session, campaign).select("transcript_hash").toLocalIterator())

    ways: list[Callable[[], int]] = [
        lambda: _count(campaign, 1),
        lambda: _count(campaign, 2),
        on_spark,
    ]
    for way in ways:
        way()  # starts workers, compiles
    rates = [[_rate(way) for way in ways] for _ in range(rounds)]
    session.stop()
    lines = [f"| {len(campaign):,} runs | runs/s | to one process (spread) |", "|---|--:|---|"]
    for number, name in enumerate(WAYS):
        ratios = [each[number] / each[0] for each in rates]
        median = statistics.median(each[number] for each in rates)
        spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} .. {max(ratios):.2f})"
        lines.append(f"| {name} | {median:,.0f} | {spread} |")
    return "\n".join(lines)


def _count(campaign: Campaign, processes: int) -> int:
    return sum(1 for _ in runs_here(campaign, processes))


def _rate(way: Callable[[], int]) -> float:
    began_s = perf_counter()
    return way() / (perf_counter() - began_s)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print(measure(arguments.seeds, arguments.rounds))
