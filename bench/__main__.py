"""Speed, as ratios to something measured in the same run; writes docs/benchmarks.md.

make bench [ARGS="--only heartbeat --rounds 3"]
"""

import argparse
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

from bench import clients, control, journal, scale, snapshots
from bench.cases import CASES, Case
from bench.driver import Rate, load, median_and_spread
from bench.joining import ms_to_stable
from bench.page import write_broker_part
from bench.targets import bare_asyncio, fakebroker, rdkafka_mock

OURS = ("--config", "message.max.bytes=10485760")

ABOUT = """Measured on {date}: {model}, {system}, CPython {python}, 2 cores shared with the load driver, loopback.
Ours, the mock and the driver take turns in one run: trust the ratios, not the rates. `us` is the broker's CPU time per
request over all threads. `make bench` writes this page."""

IN_PROCESS = """
import time
from fakebroker import FakeBroker
FakeBroker().start().stop()
began = time.perf_counter()
broker = FakeBroker().start()
print((time.perf_counter() - began) * 1000)
broker.stop()
"""


def measure(case: Case, rounds: int, seconds: float) -> str:
    """One row: our rate and CPU per request, the mock's, the ratio with its spread, and the goal."""
    targets = [fakebroker(*OURS), *([rdkafka_mock()] if case.against_mock else [])]
    try:
        loads = [(t, case.prepare(t.address)) for t in targets]
        for target, request in loads:
            load(target, request, case.connections, case.depth, seconds / 2)
        rates = [
            [load(target, request, case.connections, case.depth, seconds) for target, request in loads]
            for _ in range(rounds)
        ]
    finally:
        for target in targets:
            target.stop()
    return row(case, rates)


def row(case: Case, rates: list[list[Rate]]) -> str:
    cells = [case.name, f"{case.connections} x {case.depth}"]
    for n in range(len(rates[0])):
        cells.append(f"{statistics.median(r[n].per_second for r in rates):,.0f}")
        cells.append(f"{statistics.median(r[n].cpu_us for r in rates):.1f}")
    if not case.against_mock:
        return line([*cells, "-", "-", "-", "-"])
    ratio, low, high = median_and_spread([ours.per_second / mock.per_second for ours, mock in rates])
    goal = "-" if case.goal is None else f"{case.goal} {verdict(ratio >= case.goal)}"
    return line([*cells, f"{ratio:.2f} ({low:.2f} .. {high:.2f})", goal])


def verdict(good: bool) -> str:
    return "met" if good else "MISSED"


def line(cells: list[str]) -> str:
    text = "| " + " | ".join(cells) + " |"
    print(text, flush=True)
    return text


def one_number(what: str, values: list[float], goal: float, unit: str) -> str:
    """One row about a number that should be small."""
    middle, low, high = median_and_spread(values)
    return line([what, f"{middle:.1f} {unit} ({low:.1f} .. {high:.1f})", f"{goal} {unit} {verdict(middle <= goal)}"])


def start_and_memory(rounds: int) -> list[str]:
    """Start to first accept next to a bare asyncio listener, memory at rest, and the forming of a group."""
    ratios, memory = [], []
    for _ in range(rounds):
        ours, bare = fakebroker(), bare_asyncio()
        ratios.append(ours.accepted_ms / bare.accepted_ms)
        memory.append(ours.rss_mb())
        ours.stop()
        bare.stop()
    in_process = [float(subprocess.check_output([sys.executable, "-c", IN_PROCESS])) for _ in range(rounds)]
    broker = fakebroker()
    forming = [ms_to_stable(broker.address, f"forming-{n}") for n in range(rounds + 2)][2:]
    broker.stop()
    return [
        one_number("`fakebroker serve`, start to first accept", ratios, 1.5, "x a bare asyncio listener"),
        one_number("`FakeBroker().start()` after import", in_process, 10, "ms"),
        one_number("resident memory at rest", memory, 40, "MB"),
        one_number("50 members, empty to stable, no initial delay", forming, 20, "ms"),
    ]


def set_up_and_snapshots(rounds: int) -> list[str]:
    """What a test pays for a fresh broker, for a snapshot, and for going back to it."""
    return [
        one_number(name, values, snapshots.GOALS_MS[name], "ms") for name, values in snapshots.measured(rounds).items()
    ]


def section(title: str, header: list[str], rows: list[str]) -> str:
    return "\n".join([f"## {title}", "", "| " + " | ".join(header) + " |", "|" + "---|" * len(header), *rows, ""])


def about() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    model = next((text.split(":")[1].strip() for text in lines if "model name" in text), platform.machine())
    system = f"{platform.system()} {platform.release()}"
    return ABOUT.format(date=time.strftime("%Y-%m-%d"), model=model, system=system, python=platform.python_version())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="only the cases whose name contains this text; writes no page")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--kafka", help="HOST:PORT of a real Kafka to measure the clients against, too")
    parser.add_argument("--remark", default="", help="what a reader of the page should know about this run")
    parser.add_argument("--kafka-is", default="4.3.1", help="what it is, for the page")
    options = parser.parse_args()
    wanted = [case for case in CASES if options.only.lower() in case.name.lower()]
    rows = [measure(case, options.rounds, options.seconds) for case in wanted]
    if options.only:
        return
    real = ["what", "fakebroker", "librdkafka's mock", f"Kafka ({options.kafka_is})" if options.kafka else "Kafka"]
    work = ["case", "connections x in flight", "ours/s", "us", "mock/s", "us", "ratio (spread)", "goal"]
    sections = [
        section("Work, next to librdkafka's mock cluster (C, one thread)", work, rows),
        section("Real clients, 1 KiB records", real, clients.report(options.kafka, line)),
        section("Start, memory, forming", ["what", "measured (spread)", "goal"], start_and_memory(options.rounds)),
        section(
            "Set-up of a test, snapshots", ["what", "measured (spread)", "goal"], set_up_and_snapshots(options.rounds)
        ),
        section("Control by HTTP", ["what", "measured (spread)", "goal"], control.rows(options.rounds, one_number)),
        scale.report(),
        journal.report(),
    ]
    write_broker_part("\n".join(["# Benchmarks", "", f"{about()} {options.remark}".rstrip(), "", *sections]))


if __name__ == "__main__":
    main()
