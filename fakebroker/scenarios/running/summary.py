"""What `fakebroker scenario run` prints: a line for each file, what failed and how to repeat it, and the sum."""

from collections.abc import Iterable, Sequence
from textwrap import indent

from fakebroker.scenarios.running.approve import approved_path, diff
from fakebroker.scenarios.running.run import Outcome, Status
from fakebroker.scenarios.running.transcript import time_text

KEEP = "keep the transcript with --approve"
MAX_DIFF_LINES = 40  # unless the run is verbose
MAX_SEEDS = 10  # failed seeds of one file that are listed
_COLOURS = {Status.PASSED: "\033[32m", Status.APPROVED: "\033[33m", Status.NEW: "\033[33m"}
_RED, _PLAIN = "\033[31m", "\033[0m"
_WIDTH = max(len(status.value) for status in Status)


def line_of(outcomes: Sequence[Outcome], width: int, is_coloured: bool = False) -> str:
    """One file on one line; its plays are one, or one for each seed. `width` is that of the longest path."""
    first = next((each for each in outcomes if not each.is_good), outcomes[0])
    word = f"{first.status.value:<{_WIDTH}}"
    if is_coloured:
        word = f"{_COLOURS.get(first.status, _RED)}{word}{_PLAIN}"
    return f"{word}  {first.task.path:<{width}}  {_detail(outcomes, first)}".rstrip()


def _detail(outcomes: Sequence[Outcome], first: Outcome) -> str:
    if first.status is Status.UNREADABLE:
        return first.errors[0] if len(first.errors) == 1 else f"{len(first.errors)} errors"
    if len(outcomes) > 1:
        failed = sum(not each.is_good for each in outcomes)
        return f"{failed} of {len(outcomes)} seeds failed" if failed else f"{len(outcomes)} seeds"
    if first.status is Status.NEW:
        return f"{_steps(first)}; all held; {KEEP}"
    parts = [_steps(first), time_text(first.ended_at_ms)]
    if first.skipped:
        parts.append(f"{len(first.skipped)} skipped")
    if first.status is Status.DIFFERENT:
        parts.append("no approved transcript" if first.approved is None else "not the approved transcript")
    return "  ".join(parts)


def _steps(outcome: Outcome) -> str:
    return f"{outcome.steps:3} step{'s' if outcome.steps != 1 else ' '}"


def failure_text(outcome: Outcome, is_coloured: bool = False) -> str:
    """A play that is not good: what failed and where, what happened last, and how to repeat it."""
    parts = [f"{outcome.status.value} {outcome.task.path}{_seed(outcome)}"]
    if outcome.about:
        parts.append(f"  {outcome.about}")
    for step in outcome.failed:
        parts.append(f"  {step.place}: {step.text}")
        parts += [indent(problem, "      ") for problem in step.problems]
    parts += [indent(error, "  ") for error in outcome.errors]
    if outcome.status is Status.DIFFERENT:
        parts.append(indent(_difference(outcome, is_coloured), "  "))
    if outcome.tail:
        parts += ["  what happened last:", indent(outcome.tail, "    ")]
    if outcome.status is Status.DIFFERENT:
        parts.append(f"  approve: {outcome.repeat} --approve")
    if outcome.status is not Status.UNREADABLE:
        parts.append(f"  repeat: {outcome.repeat}")
    return "\n".join(parts)


def failures_text(outcomes: Sequence[Outcome], is_coloured: bool = False) -> str:
    """All about the plays of one file that are not good: the first, and of further seeds how each is repeated."""
    bad = [each for each in outcomes if not each.is_good]
    parts = [failure_text(each, is_coloured) for each in bad[:1]]
    if len(bad) > 1:
        parts.append(f"  {len(bad) - 1} more seeds failed:")
        parts += [f"    {each.repeat}" for each in bad[1:MAX_SEEDS]]
    if len(bad) > MAX_SEEDS:
        parts.append(f"    ... and {len(bad) - MAX_SEEDS} more")
    return "\n".join(parts)


def total_text(outcomes: Iterable[Outcome], took_s: float | None = None) -> str:
    """The last line: how many plays ended how."""
    outcomes = list(outcomes)
    files = len({each.task.path for each in outcomes})
    parts = []
    for status, word in (
        (Status.PASSED, "passed"),
        (Status.APPROVED, "newly approved"),
        (Status.NEW, "new"),
        (Status.FAILED, "failed"),
        (Status.DIFFERENT, "different from the approved transcript"),
        (Status.UNREADABLE, "with errors in the file"),
    ):
        count = sum(each.status is status for each in outcomes)
        if count:
            parts.append(f"{count} {word}")
    plays = f", {len(outcomes)} plays" if len(outcomes) != files else ""
    took = f" in {took_s:.2f} s" if took_s is not None else ""
    return f"{files} scenario{'s' if files != 1 else ''}{plays}: {', '.join(parts) or 'none'}{took}"


def _seed(outcome: Outcome) -> str:
    return "" if outcome.task.seed is None or outcome.is_unread else f" with seed {outcome.task.seed}"


def _difference(outcome: Outcome, is_coloured: bool) -> str:
    path = approved_path(outcome.task.path)
    if outcome.approved is None:
        return f"{path} does not exist; --verbose prints what was played"
    lines = diff(outcome.approved, outcome.transcript, str(path), is_coloured).splitlines()
    if not outcome.task.keeps_transcript and len(lines) > MAX_DIFF_LINES:
        more = f"... and {len(lines) - MAX_DIFF_LINES:,} more lines; --verbose prints all of them, and the transcript"
        lines = [*lines[:MAX_DIFF_LINES], more]
    return "\n".join(lines)
