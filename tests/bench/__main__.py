"""Speed, as ratios to something measured in the same run; writes docs/benchmarks.md.   make bench [ARGS="--only heartbeat --rounds 3"]"""

import argparse
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.bench import scale
from tests.bench.cases import CASES, Case
from tests.bench.driver import load, median_and_spread
from tests.bench.joining import ms_to_stable
from tests.bench.targets import Target, bare_asyncio, fakebroker, rdkafka_mock

REPORT = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
OURS = ("--config", "message.max.bytes=10485760")


def measure(case: Case, rounds: int, seconds: float) -> str:
    """One row: our rate and CPU per request, the mock's, the ratio with its spread, and the goal."""
    targets = [fakebroker(*OURS), *([rdkafka_mock()] if case.against_mock else [])]
    try:
        loads = [(t, case.prepare(t.address)) for t in targets]
        for target, request in loads:
            load(target, request, case.connections, case.depth, seconds / 2)
        rates = [[load(t, request, case.connections, case.depth, seconds) for t, request in loads] for _ in range(rounds)]
    finally:
        for target in targets:
            target.stop()
    return row(case, rates)


def row(case: Case, rates: list[list]) -> str:
    ours = [r[0] for r in rates]
    cells = [case.name, f"{case.connections} x {case.depth}", f"{statistics.median(r.per_second for r in ours):,.0f}"]
    cells.append(f"{statistics.median(r.cpu_us for r in ours):.1f}")
    if not case.against_mock:
        return table_row([*cells, "-", "-", "-", "-"])
    mock = [r[1] for r in rates]
    ratio, low, high = median_and_spread([a.per_second / b.per_second for a, b in zip(ours, mock, strict=True)])
    goal = "-" if case.goal is None else f"{case.goal} {'met' if ratio >= case.goal else 'MISSED'}"
    cells += [f"{statistics.median(r.per_second for r in mock):,.0f}", f"{statistics.median(r.cpu_us for r in mock):.1f}"]
    return table_row([*cells, f"{ratio:.2f} ({low:.2f} .. {high:.2f})", goal])


def table_row(cells: list[str]) -> str:
    line = "| " + " | ".join(cells) + " |"
    print(line, flush=True)
    return line


def start_and_memory(rounds: int) -> list[str]:
    """Start to first accept next to a bare asyncio listener, and resident memory at rest."""
    pairs = []
    for _ in range(rounds):
        ours, bare = fakebroker(), bare_asyncio()
        pairs.append((ours.started_ms, bare.started_ms, ours.rss_mb()))
        ours.stop()
        bare.stop()
    ratio, low, high = median_and_spread([a / b for a, b, _ in pairs])
    ms, bare_ms, rss = (statistics.median(p[i] for p in pairs) for i in range(3))
    return [
        table_row(["`fakebroker serve`, start to first accept", f"{ms:.0f} ms", f"bare asyncio listener {bare_ms:.0f} ms",
                   f"{ratio:.2f} ({low:.2f} .. {high:.2f})", f"1.5 {'met' if ratio <= 1.5 else 'MISSED'}"]),
        table_row(["resident memory at rest", f"{rss:.1f} MB", "-", "-", f"40 MB {'met' if rss < 40 else 'MISSED'}"]),
    ]  # fmt: skip


def in_process_start() -> str:
    """`FakeBroker()` after its import."""
    code = "import time, fakebroker; B = fakebroker.FakeBroker; B().start().stop(); t = time.perf_counter(); b = B().start(); print((time.perf_counter() - t) * 1000); b.stop()"
    times = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(7)]
    ms, low, high = median_and_spread(times)
    return table_row(["in-process start, after import", f"{ms:.1f} ms ({low:.1f} .. {high:.1f})", "-", "-", f"10 ms {'met' if ms <= 10 else 'MISSED'}"])


def forming(rounds: int) -> str:
    """50 members from empty to stable."""
    ours = fakebroker()
    times = [ms_to_stable(ours.address, f"forming-{n}") for n in range(rounds + 2)][2:]
    ours.stop()
    ms, low, high = median_and_spread(times)
    return table_row(["50 members, empty to stable, no initial delay", f"{ms:.1f} ms ({low:.1f} .. {high:.1f})", "-", "-", f"20 ms {'met' if ms <= 20 else 'MISSED'}"])


def section(title: str, header: list[str], rows: list[str]) -> str:
    return "\n".join([f"## {title}", "", "| " + " | ".join(header) + " |", "|" + "---|" * len(header), *rows, ""])


def about_the_machine() -> str:
    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line), "?")
    return (
        f"Measured {time.strftime('%Y-%m-%d')} on {model}, {platform.system()} {platform.release()}, CPython {platform.python_version()}, "
        "2 cores shared with the load driver, loopback. Broker, mock and driver take turns in one run; trust the ratios, not the rates.\n"
        "`us` is the broker's CPU time per request over all threads. `make bench` writes this page."
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="cases whose name contains this text")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--no-write", action="store_true")
    options = parser.parse_args()
    wanted: Callable[[str], bool] = lambda name: options.only.lower() in name.lower()  # noqa: E731
    rows = [measure(case, options.rounds, options.seconds) for case in CASES if wanted(case.name)]
    if options.only:
        return
    others = [*start_and_memory(options.rounds), in_process_start(), forming(options.rounds)]
    page = [
        "# Benchmarks", "", about_the_machine(), "",
        section("Work, next to librdkafka's mock cluster (C, one thread)",
                ["case", "connections x in flight", "ours/s", "us", "mock/s", "us", "ratio (spread)", "goal"], rows),
        section("Start and memory", ["what", "ours", "next to", "ratio (spread)", "goal"], others),
        scale.report(),
    ]  # fmt: skip
    if not options.no_write:
        REPORT.write_text("\n".join(page))


if __name__ == "__main__":
    main()
