"""The section "Differential play" of the scoreboard, from tools/differential/played.json and judged.json."""

from collections.abc import Iterable, Sequence

from tools.differential.played import Play, judged, read

TITLE = "## Differential play"
_HEAD = """
Random histories of requests, valid and invalid, are played on two running brokers at once, and the answers are compared
by meaning ([how it works](../how-to/differential.md)). A step is a request to both. A difference is a field that the
two answer otherwise, again when its history is played again; the same field with the same values counts once.
"""
_MENDED = "mended"


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
    return broker.rpartition(" ")[0].rpartition(" ")[0] if broker.startswith("fakebroker") else broker


def _title(plays: Sequence[Play]) -> str:
    return " and ".join(_pair(plays[0]))


def _summary(pairs: Iterable[Sequence[Play]]) -> str:
    lines = [
        "| reference and subject | played on | steps | histories | differences | mended | left | open |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for plays in pairs:
        kinds = _kinds(plays)
        mended = sum(judged().get(kind, "").startswith(_MENDED) for kind in kinds)
        is_open = sum(kind not in judged() for kind in kinds)
        dates = sorted({play.date for play in plays})
        histories = sum(chapter.histories for play in plays for chapter in play.chapters.values())
        cells: list[str | int] = [
            _title(plays),
            ", ".join(dates),
            sum(play.steps for play in plays),
            histories,
            len(kinds),
        ]
        cells += [mended, len(kinds) - mended - is_open, is_open]
        lines.append("| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in cells) + " |")
    return "\n".join(lines)


def _chapters(pairs: Sequence[Sequence[Play]]) -> str:
    names = list(dict.fromkeys(name for plays in pairs for play in plays for name in play.chapters))
    lines = ["| chapter | " + " | ".join(map(_title, pairs)) + " |", "|---|" + "---|" * len(pairs)]
    for name in names:
        cells = [_steps(plays, name) for plays in pairs]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _steps(plays: Sequence[Play], chapter: str) -> str:
    """The steps of a chapter; "not run" where none was played."""
    count = sum(play.chapters[chapter].steps for play in plays if chapter in play.chapters)
    return f"{count:,}" if count else "not run"


def _differences(pairs: Iterable[Sequence[Play]]) -> str:
    """What came of each difference of fakebroker from Kafka; those of others are on found.md."""
    rows = [
        f"| {_escaped(kind)} | {judged().get(kind, 'open')} |"
        for plays in pairs
        if _pair(plays[0])[1].startswith("fakebroker")
        for kind in _kinds(plays)
    ]
    if not rows:
        return "\nNo difference was found."
    return "\n".join(["\n| difference | what came of it |", "|---|---|", *dict.fromkeys(rows)])


def _kinds(plays: Sequence[Play]) -> list[str]:
    return list(dict.fromkeys(kind for play in plays for chapter in play.chapters.values() for kind in chapter.kinds))


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("[", "\\[").replace("<", "\\<")
