"""The result as JSON, for machines: the broker, the counts by chapter, every case."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fakebroker.scenarios.conformance.score import Score, by_chapter, total
from fakebroker.scenarios.conformance.verdicts import Result


def write(path: str, results: Sequence[Result], about: Mapping[str, Any]) -> None:
    """Write the file, and the folder for it. Raises OSError."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps(as_data(results, about), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def as_data(results: Sequence[Result], about: Mapping[str, Any]) -> dict[str, Any]:
    """`about` (what was judged, when and by what), then `total`, `chapters` and `cases`."""
    return {
        **about,
        "total": _counts(total(results)),
        "chapters": {chapter.name: _counts(score) for chapter, score in by_chapter(results)},
        "cases": [_case(result) for result in sorted(results, key=lambda result: result.case.name)],
    }


def _counts(score: Score) -> dict[str, int]:
    return {verdict.value: count for verdict, count in score.counts.items()}


def _case(result: Result) -> dict[str, Any]:
    case = result.case
    found: dict[str, Any] = {"name": case.name, "chapter": case.chapter.name, "verdict": result.verdict.value}
    if result.reason:
        found["reason"] = result.reason
    if result.problems:
        found["about"] = case.dialogue.about
        found["problems"] = result.problems
        found["rules"] = {rule.id: rule.text for rule in case.rules}
    if result.plays:
        found |= {"took_ms": result.took_ms, "plays": result.plays}
    return found
