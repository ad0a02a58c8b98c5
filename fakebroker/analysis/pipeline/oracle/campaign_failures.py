"""Failures of a campaign, ranked."""

from collections import Counter, defaultdict
from typing import Any

Row = dict[str, Any]


def campaign_failures(campaign_runs: list[Row]) -> list[Row]:
    """A row for each way in which runs of a scenario failed, the most frequent first."""
    of_runs = Counter(run["scenario"] for run in campaign_runs)
    alike: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for run in campaign_runs:
        if run["outcome"] != "passed":
            alike[run["scenario"], run["signature"]].append(run)
    ranked = sorted(alike.items(), key=lambda each: (-len(each[1]), each[0]))
    return [_failure(rank, runs, of_runs) for rank, (_, runs) in enumerate(ranked, 1)]


def _failure(rank: int, runs: list[Row], of_runs: Counter[str]) -> Row:
    first = min(runs, key=lambda run: (run["seed"], run["settings"]))
    return {
        "rank": rank,
        "scenario": first["scenario"],
        "signature": first["signature"],
        "line": first["line"],
        "runs": len(runs),
        "of_runs": of_runs[first["scenario"]],
        "first_seed": first["seed"],
        "settings": first["settings"],
        "failure": first["failure"],
        "repeat": first["repeat"],
    }
