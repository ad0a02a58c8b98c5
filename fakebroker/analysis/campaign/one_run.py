"""One run of a campaign as a row of `campaign_runs`: the same wherever it is played."""

import json
import re
from hashlib import sha256
from typing import Any, Final

from fakebroker.analysis.campaign.plan import Campaign, loaded
from fakebroker.analysis.campaign.signature import signature_of
from fakebroker.scenarios.running.run import Outcome, Status, play_read

PASSED, FAILED, BROKEN = "passed", "failed", "broken"
LONGEST_FAILURE: Final = 4000  # characters
_OBJECT = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")  # where an object was in memory: other in every process

Row = dict[str, Any]


def play_run(campaign: Campaign, number: int) -> Row:
    """Play the run of that number in virtual time; the result has no trace of the machine or the hour."""
    scenario, task = campaign.run(number)
    outcome = play_read(scenario, task)
    is_good = outcome.is_good
    return {
        "scenario": task.path,
        "seed": task.seed,
        "settings": json.dumps(dict(task.config), sort_keys=True, ensure_ascii=False),
        "outcome": PASSED if is_good else BROKEN if outcome.status is Status.UNREADABLE else FAILED,
        "failure": None if is_good else _failure_of(outcome),
        "signature": None if is_good else _signature_of(outcome),
        "line": _line_of(outcome),
        "steps": outcome.steps,
        "virtual_ms": outcome.virtual_ms,
        "transcript_hash": sha256(outcome.transcript.encode()).hexdigest() if outcome.transcript else None,
        "repeat": None if is_good else outcome.repeat,
    }


def play_numbered(pickled: bytes, number: int) -> Row:
    """The same for a campaign in bytes, as other processes get it."""
    return play_run(loaded(pickled), number)


def _failure_of(outcome: Outcome) -> str:
    """Every step that did not come out as the scenario says, with its place; then what else went wrong."""
    steps = [f"{each.place}: {each.text}: {problem}" for each in outcome.failed for problem in each.problems]
    text = _OBJECT.sub("0x...", "\n".join([*steps, *_errors(outcome)]))
    return text if len(text) <= LONGEST_FAILURE else f"{text[: LONGEST_FAILURE - 3]}..."


def _signature_of(outcome: Outcome) -> str:
    """Of the first step that failed: those after it often fail because of it."""
    if outcome.failed:
        first = outcome.failed[0]
        return signature_of(f"{first.text}: {'; '.join(first.problems)}")
    return signature_of("; ".join(_errors(outcome)) or outcome.status.value)


def _errors(outcome: Outcome) -> list[str]:
    """What is wrong apart from steps. Of a traceback its end: the paths in it differ from machine to machine."""
    return [_end_of(each) if "Traceback (most recent call last)" in each else each for each in outcome.errors]


def _end_of(traceback: str) -> str:
    lines = traceback.rstrip().splitlines()
    first = max((number for number, line in enumerate(lines) if line.startswith(" ")), default=-1) + 1
    return "\n".join(lines[first:])


def _line_of(outcome: Outcome) -> int | None:
    return int(outcome.failed[0].place.rpartition(":")[2]) if outcome.failed else None
