"""The result as text: each difference with its rules, then a table of chapters."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence

from fakebroker.scenarios.conformance.score import Score, by_chapter, total
from fakebroker.scenarios.conformance.verdicts import Gone, Result, Verdict

SHOWN_PROBLEMS, SHOWN_REASONS = 4, 12
_WIDTH = 118
_COLUMNS = (
    Verdict.SAME,
    Verdict.DIFFERS,
    Verdict.NOT_SERVED,
    Verdict.NEEDS_SETTINGS,
    Verdict.NEEDS_MORE,
    Verdict.NOT_RUN,
)


def difference(result: Result, shows_all: bool = False) -> str:
    """A case that differs: what was different, and the rules that the case shows."""
    lines = [f"differs  {result.case.name}: {result.case.dialogue.about}"]
    if shows_all:
        lines.append(f"    recording: {result.case.dialogue.path}")
    shown = result.problems if shows_all else result.problems[:SHOWN_PROBLEMS]
    lines += [f"    {problem}" for problem in shown]
    if len(shown) < len(result.problems):
        lines.append(f"    and {len(result.problems) - len(shown)} more (--verbose)")
    for rule in result.case.rules:
        lines += textwrap.wrap(f"{rule.id}: {rule.text}", _WIDTH, initial_indent="    ", subsequent_indent="      ")
    return "\n".join(lines)


def not_judged(result: Result) -> str:
    """A case that was not judged, and why."""
    return f"{result.verdict.value:<15}{result.case.name}: {result.reason}"


def table(results: Sequence[Result]) -> str:
    """A line for each chapter, and one for all."""
    rows = [score for _, score in by_chapter(results)]
    columns = [column for column in _COLUMNS if column in _COLUMNS[:2] or any(row.counts[column] for row in rows)]
    title = max(len("chapter"), *(len(row.title) for row in rows)) if rows else len("chapter")
    head = f"{'chapter':<{title}}  cases  " + "  ".join(column.value for column in columns) + "    score"
    return "\n".join([head, *(_row(row, title, columns) for row in [*rows, total(results)])])


def reasons(results: Iterable[Result]) -> list[str]:
    """Why cases were not judged, the most frequent reasons first."""
    found = Counter((result.verdict, result.reason) for result in results if result.reason)
    lines = [f"{verdict.value}: {reason} ({count})" for (verdict, reason), count in found.most_common(SHOWN_REASONS)]
    more = len(found) - SHOWN_REASONS
    return lines + ([f"and {more} other reasons (--verbose)"] if more > 0 else [])


def under_way(results: Iterable[Result]) -> list[str]:
    """The cases that were played when the broker stopped answering, in a line: one of them may be the cause."""
    names = sorted(result.case.name for result in results if result.gone is Gone.DURING)
    if not names:
        return []
    return [f"played when the broker stopped answering: {', '.join(names)}; play one of them with --only CASE"]


def _row(score: Score, title: int, columns: Sequence[Verdict]) -> str:
    counts = "  ".join(f"{score.counts[column]:>{len(column.value)}}" for column in columns)
    return f"{score.title:<{title}}  {score.cases:>5}  {counts}  {score.percent:>7}"
