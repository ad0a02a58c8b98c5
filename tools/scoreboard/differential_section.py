"""The section "Differential play" of the scoreboard, from tools/differential/played.json and judged.json."""

import re
from collections.abc import Iterable, Sequence

from tools.differential.played import Play, judged, read
from tools.differential.worker import NOT_SERVED

TITLE = "## Differential play"
_VERSION = re.compile(r" \d+\.\d+\.\d+( \w+)?$")  # of fakebroker, with the commit if it is known
_HEAD = """
Random histories of requests, valid and invalid, are played on two running brokers at once, and the answers are compared
by meaning ([how it works](../how-to/differential.md)). A step is a request to both. A difference is a field that the
two answer otherwise, and again when its history is played again; the same field with the same values counts once.
"""
_JUDGED = """
Differences of fakebroker from Kafka that plays have found so far; those of other brokers are in [found.md](found.md).

| difference | what came of it |
|---|---|"""


def section() -> str:
    """The text of the section."""
    plays = read()
    if not plays:
        return f"{TITLE}\n\nNothing was played yet.\n"
    pairs = {_pair(play): [each for each in plays if _pair(each) == _pair(play)] for play in plays}
    parts = [f"{TITLE}\n{_HEAD}", _summary(pairs.values()), "\nSteps by chapter:\n", _chapters(list(pairs.values()))]
    return "\n".join([*parts, _differences(pairs.values())]) + "\n"


def _pair(play: Play) -> tuple[str, str]:
    """The brokers; the version of fakebroker changes with each difference that is mended."""
    return _name(play.reference), _name(play.subject)


def _name(broker: str) -> str:
    return _VERSION.sub("", broker) if broker.startswith("fakebroker") else broker


def _title(plays: Sequence[Play]) -> str:
    return " and ".join(_pair(plays[0]))


def _summary(pairs: Iterable[Sequence[Play]]) -> str:
    lines = [
        "| reference and subject | played on | steps | differences | open |",
        "|---|---|---|---|---|",
    ]
    for plays in pairs:
        chapters = [chapter for play in plays for chapter in play.chapters.values()]
        dates = sorted({play.date for play in plays})
        counts = (
            sum(chapter.steps for chapter in chapters),
            len(_kinds(plays)),
        )
        is_open = str(len(_open(plays))) if _is_ours(plays) else "-"
        cells = [_title(plays), ", ".join(dates), *(f"{count:,}" for count in counts), is_open]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _chapters(pairs: Sequence[Sequence[Play]]) -> str:
    names = list(dict.fromkeys(name for plays in pairs for play in plays for name in play.chapters))
    lines = ["| chapter | " + " | ".join(map(_title, pairs)) + " |", "|---|" + "---|" * len(pairs)]
    for name in names:
        cells = [_steps(plays, name) for plays in pairs]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _steps(plays: Sequence[Play], chapter: str) -> str:
    """The steps of a chapter, or why there are none: a broker does not serve it, or it was not run."""
    played = [play.chapters[chapter] for play in plays if chapter in play.chapters]
    count = sum(each.steps for each in played)
    if count:
        return f"{count:,}"
    return "not served" if any(NOT_SERVED in each.why_not for each in played) else "not run"


def _differences(pairs: Iterable[Sequence[Play]]) -> str:
    """What came of each difference from Kafka."""
    rows = [f"| {each.difference} | {each.outcome} |" for each in judged()]
    named = {kind for each in judged() for kind in each.kinds}
    rows += [f"| {_escaped(kind)} | open |" for plays in pairs for kind in _open(plays) if kind not in named]
    return "\n".join([_JUDGED, *dict.fromkeys(rows)])


def _kinds(plays: Sequence[Play]) -> list[str]:
    return list(dict.fromkeys(kind for play in plays for chapter in play.chapters.values() for kind in chapter.kinds))


def _is_ours(plays: Sequence[Play]) -> bool:
    """Whether fakebroker is the one that is judged."""
    return _pair(plays[0])[1].startswith("fakebroker")


def _open(plays: Sequence[Play]) -> list[str]:
    """The differences of fakebroker from Kafka that are not judged; those of others from fakebroker are theirs."""
    if not _is_ours(plays):
        return []
    known = {kind for each in judged() for kind in each.kinds if not each.outcome.startswith("open")}
    return [kind for kind in _kinds(plays) if kind not in known]


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("[", "\\[").replace("<", "\\<")
