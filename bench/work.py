"""Work over sockets: ours, librdkafka's mock and, if one is named, our code of another day take turns."""

import statistics
from pathlib import Path

from bench.cases import Case
from bench.driver import Rate, load, median_and_spread
from bench.rows import line, verdict
from bench.targets import Target, fakebroker, rdkafka_mock

OURS = ("--config", "message.max.bytes=10485760")


def header(before: Path | None) -> list[str]:
    """The table's head."""
    between = ["before/s", "us"] if before else []
    return ["case", "connections x in flight", "ours/s", "us", *between, "mock/s", "us", "ratio (spread)", "goal"]


def measured(case: Case, rounds: int, seconds: float, before: Path | None) -> str:
    """One row: rates and CPU per request, medians of all rounds; our ratio to the mock with its spread; the goal."""
    names = ["ours", *(["before"] if before else []), *(["mock"] if case.against_mock else [])]
    targets: dict[str, Target] = {}
    try:
        for name in names:
            targets[name] = _started(name, case, before)
        requests = {name: case.prepare(target.address) for name, target in targets.items()}
        rates: dict[str, list[Rate]] = {name: [] for name in names}
        for number in range(rounds + 1):
            for name in names if number % 2 else reversed(names):
                rate = load(targets[name], requests[name], case.connections, case.depth, seconds)
                if number:  # the first is to get warm
                    rates[name].append(rate)
    finally:
        for target in targets.values():
            target.stop()
    return _row(case, rates, before)


def _started(name: str, case: Case, before: Path | None) -> Target:
    if name == "mock":
        return rdkafka_mock()
    return fakebroker(*OURS, *case.config, root=before if name == "before" else None)


def _row(case: Case, rates: dict[str, list[Rate]], before: Path | None) -> str:
    cells = [case.name, f"{case.connections} x {case.depth}"]
    for name in ("ours", *(["before"] if before else []), "mock"):
        of_target = rates.get(name)
        cells.append(f"{statistics.median(rate.per_second for rate in of_target):,.0f}" if of_target else "-")
        cells.append(f"{statistics.median(rate.cpu_us for rate in of_target):.1f}" if of_target else "-")
    if "mock" not in rates:
        return line([*cells, "-", "-"])
    pairs = zip(rates["ours"], rates["mock"], strict=True)
    ratio, low, high = median_and_spread([ours.per_second / mock.per_second for ours, mock in pairs])
    goal = "-" if case.goal is None else f"{case.goal} {verdict(ratio >= case.goal)}"
    return line([*cells, f"{ratio:.2f} ({low:.2f} .. {high:.2f})", goal])
