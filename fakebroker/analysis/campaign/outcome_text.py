"""What a campaign says in the end: how many runs ended how, and the failures by rank."""

import json
from collections import Counter
from collections.abc import Sequence
from textwrap import indent
from typing import Any, Final, NamedTuple

Row = dict[str, Any]

MAX_SHOWN: Final = 20  # failures, and combinations of settings


class Count(NamedTuple):
    """How many runs of a scenario with some settings (JSON) had an outcome."""

    scenario: str
    settings: str
    outcome: str
    runs: int


def outcome_text(counts: Sequence[Count], failures: Sequence[Row]) -> str:
    """The ranked failures, each with the command that repeats it, how many runs failed with which settings, the sum.

    `failures` are rows of `campaign_failures`.
    """
    shown = sorted(failures, key=lambda each: each["rank"])
    parts = [_failure_text(each) for each in shown[:MAX_SHOWN]]
    if len(shown) > MAX_SHOWN:
        parts.append(f"... and {len(shown) - MAX_SHOWN} more ways to fail, in the table campaign_failures")
    if shown and len({each.settings for each in counts}) > 1:
        parts.append(_by_settings(counts))
    return "\n\n".join([*parts, _sum_text(counts, len(shown))])


def _failure_text(failure: Row) -> str:
    given = "".join(f", {each}" for each in _settings(failure["settings"]))
    where = f"{failure['runs']:,} of {failure['of_runs']:,} runs of {failure['scenario']}"
    lines = [
        f"{failure['rank']}. {where}, first with seed {failure['first_seed']}{given}",
        indent(failure["failure"], "     "),
        f"   repeat: {failure['repeat']}",
    ]
    return "\n".join(lines)


def _by_settings(counts: Sequence[Count]) -> str:
    """A line for each combination of settings, the one with the most failures first."""
    runs: Counter[str] = Counter()
    bad: Counter[str] = Counter()
    for each in counts:
        runs[each.settings] += each.runs
        bad[each.settings] += each.runs if each.outcome != "passed" else 0
    ranked = sorted(runs, key=lambda settings: (-bad[settings] / runs[settings], settings))
    lines = [
        f"   {bad[each]:,} of {runs[each]:,} runs failed with {', '.join(_settings(each)) or 'no settings'}"
        for each in ranked[:MAX_SHOWN]
    ]
    if len(ranked) > MAX_SHOWN:
        lines.append(f"   ... and {len(ranked) - MAX_SHOWN} more combinations of settings")
    return "\n".join(lines)


def _settings(text: str) -> list[str]:
    return [f"{name}={value}" for name, value in json.loads(text).items()]


def _sum_text(counts: Sequence[Count], failures: int) -> str:
    outcomes: Counter[str] = Counter()
    for each in counts:
        outcomes[each.outcome] += each.runs
    scenarios = len({each.scenario for each in counts})
    parts = [f"{outcomes[each]:,} {each}" for each in ("passed", "failed", "broken") if outcomes[each]]
    ways = f" in {failures} different ways" if failures > 1 else ""
    what = f"{outcomes.total():,} run{'' if outcomes.total() == 1 else 's'} of {scenarios} scenario"
    return f"{what}{'' if scenarios == 1 else 's'}: {', '.join(parts) or 'none'}{ways}"
