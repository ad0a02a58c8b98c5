"""Speed, as ratios to something measured in the same run; writes docs/reference/benchmarks.md.

    make bench [ARGS="--only heartbeat --rounds 3"]

It changes to a Python that was optimized by profiles where there is one (bench/pythons.py).
"""

import argparse
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

from bench import (
    clients,
    connections,
    consumer_groups,
    control,
    data_directory,
    free_threading,
    hits,
    journal,
    next_to_kfake,
    offsets_memory,
    scale,
    snapshots,
    start,
    switch_interval,
    work,
)
from bench.cases import CASES
from bench.clients import LEAST_ROUNDS
from bench.joining import ms_to_stable
from bench.page import write_broker_part
from bench.pythons import build, change_to, fast_python
from bench.rows import one_number, section
from bench.targets import fakebroker

ABOUT = """Measured on {date}: {model}, {system}, {cores} cores shared with the load driver, loopback; {python}.
Ours and the mock take turns in one run, {rounds} rounds of {seconds} s each: trust the ratios, not the rates. `us` is
the broker's CPU time per request over all threads, and each number a median. No two requests in a row are equal: ids,
offsets and times go on, and "unlike" batches are of about a size, with records of other sizes, keys and times. A
"bounded log" keeps 5 MB of a partition, as the mock's always does. What a request costs without the machine's part in
it is in `bench/instructions.json` (`make instructions`). `make bench` writes this page."""

IN_PROCESS = """
import time
from fakebroker import FakeBroker
FakeBroker().start().stop()
began = time.perf_counter()
broker = FakeBroker().start()
print((time.perf_counter() - began) * 1000)
broker.stop()
"""


def start_and_memory(rounds: int) -> list[str]:
    """First answers next to a bare interpreter, memory at rest, and the forming of a group."""
    memory = []
    for _ in range(rounds):
        ours = fakebroker()
        memory.append(ours.rss_mb())
        ours.stop()
    in_process = [float(subprocess.check_output([sys.executable, "-c", IN_PROCESS])) for _ in range(rounds)]
    broker = fakebroker()
    forming = [ms_to_stable(broker.address, f"forming-{n}") for n in range(rounds + 2)][2:]
    broker.stop()
    return [
        *start.rows(rounds),
        one_number("`FakeBroker().start()` after import", in_process, 10, "ms"),
        one_number("resident memory at rest", memory, 40, "MB"),
        one_number("50 members, empty to stable, no initial delay", forming, 20, "ms"),
    ]


def set_up_and_snapshots(rounds: int) -> list[str]:
    """What a test pays for a fresh broker, for a snapshot, and for going back to it."""
    return [
        one_number(name, values, snapshots.GOALS_MS[name], "ms") for name, values in snapshots.measured(rounds).items()
    ]


def about(rounds: int, seconds: float) -> str:
    """What a reader must know of the run."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    model = next((text.split(":")[1].strip() for text in lines if "model name" in text), platform.machine())
    system = f"{platform.system()} {platform.release()}"
    return ABOUT.format(
        date=time.strftime("%Y-%m-%d"),
        model=model,
        system=system,
        cores=os.cpu_count(),
        python=build(),
        rounds=rounds,
        seconds=seconds,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="only the cases whose name contains this text; writes no page")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--kafka", help="HOST:PORT of a real Kafka to measure the clients against, too")
    parser.add_argument("--remark", default="", help="what a reader of the page should know about this run")
    parser.add_argument("--kafka-is", default="4.3.1", help="what it is, for the page")
    parser.add_argument("--before", type=Path, help="a checkout of our code of another day, to measure beside this one")
    parser.add_argument("--this-python", action="store_true", help="do not look for a Python optimized by profiles")
    options = parser.parse_args()
    if not options.this_python:
        change_to(fast_python(), "bench")
    wanted = [case for case in CASES if options.only.lower() in case.name.lower()]
    rows = [work.measured(case, options.rounds, options.seconds, options.before) for case in wanted]
    if options.only:
        return
    sections = [
        section("Work, next to librdkafka's mock cluster (C, one thread)", work.header(options.before), rows),
        next_to_kfake.report(options.rounds, options.seconds),
        clients.report(options.kafka, options.kafka_is, options.before),
        consumer_groups.report(options.kafka, options.kafka_is, LEAST_ROUNDS, options.seconds),
        section("Start, memory, forming", ["what", "measured (spread)", "goal"], start_and_memory(options.rounds)),
        start.ABOUT + "\n",
        section(
            "Set-up of a test, snapshots", ["what", "measured (spread)", "goal"], set_up_and_snapshots(options.rounds)
        ),
        data_directory.report(
            min(options.rounds, data_directory.ROUNDS), options.seconds, options.kafka, options.kafka_is
        ),
        section("Control by HTTP", ["what", "measured (spread)", "goal"], control.rows(options.rounds, one_number)),
        hits.report(),
        connections.report(),
        switch_interval.report(),
        free_threading.FOUND,
        scale.report(),
        offsets_memory.report(),
        journal.report(),
    ]
    write_broker_part(
        "\n".join(
            ["# Benchmarks", "", f"{about(options.rounds, options.seconds)} {options.remark}".rstrip(), "", *sections]
        )
    )


if __name__ == "__main__":
    main()
