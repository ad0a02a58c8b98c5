"""What a campaign says in the end: how many runs ended how, and the failures by rank."""

import json
from collections import Counter
from collections.abc import Sequence
from textwrap import indent
from typing import Any, Final

Row = dict[str, Any]

MOST_SHOWN: Final = 20


def told(outcomes: Counter[str], scenarios: int, failures: Sequence[Row]) -> str:
    """The ranked failures, each with the command that repeats it, and a line with the sum.

    `outcomes` counts runs by their outcome, `failures` are rows of `campaign_failures`.
    """
    shown = sorted(failures, key=lambda each: each["rank"])
    parts = [_failure_text(each) for each in shown[:MOST_SHOWN]]
    if len(shown) > MOST_SHOWN:
        parts.append(f"... and {len(shown) - MOST_SHOWN} more ways to fail, in the table campaign_failures")
    return "\n\n".join([*parts, _sum_text(outcomes, scenarios, len(shown))])


def _failure_text(failure: Row) -> str:
    settings = json.loads(failure["settings"])
    given = "".join(f", {name}={value}" for name, value in settings.items())
    where = f"{failure['runs']:,} of {failure['of_runs']:,} runs of {failure['scenario']}"
    lines = [
        f"{failure['rank']}. {where}, first with seed {failure['first_seed']}{given}",
        indent(failure["failure"], "     "),
        f"   repeat: {failure['repeat']}",
    ]
    return "\n".join(lines)


def _sum_text(outcomes: Counter[str], scenarios: int, failures: int) -> str:
    parts = [f"{outcomes[each]:,} {each}" for each in ("passed", "failed", "broken") if outcomes[each]]
    ways = f" in {failures} different ways" if failures > 1 else ""
    what = f"{outcomes.total():,} run{'' if outcomes.total() == 1 else 's'} of {scenarios} scenario"
    return f"{what}{'' if scenarios == 1 else 's'}: {', '.join(parts) or 'none'}{ways}"
