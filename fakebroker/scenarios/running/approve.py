"""The approved transcript beside a scenario: NAME.transcript for NAME.yaml. A play must give the same text.

A person approves by reading: `--approve` writes what was played, and the diff of the commit is what is reviewed. In
which lines of the file the steps stand is not part of what is approved: a remark may be added above them.
"""

import os
import re
from difflib import SequenceMatcher, unified_diff
from enum import Enum
from pathlib import Path

SUFFIX = ".transcript"
CONTEXT = 3  # lines around a difference
# The beginning of a step: its time, if that is another than before, and its place, "12" or "group:12".
_PLACE = re.compile(r"(?:\s*+([+-]\S++(?: \d\d:\d\d:\d\d\.\d{3})?))?\s++(?:[^\s:]++:)?\d++  (?=\S)")
_GREEN, _RED, _CYAN, _PLAIN = "\033[32m", "\033[31m", "\033[36m", "\033[0m"


class Approval(Enum):
    """How the text that was played compares with the approved one."""

    SAME = "same"
    MISSING = "missing"
    DIFFERENT = "different"


def approved_path(scenario_path: str | os.PathLike[str]) -> Path:
    """Where the approved transcript of a scenario stands."""
    return Path(scenario_path).with_suffix(SUFFIX)


def approved_text(path: Path) -> str | None:
    """The approved transcript, None if there is none. Raises OSError for one that cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def compare(approved: str | None, played: str) -> Approval:
    """Whether a play gave the approved text, wherever in the file its steps stand now."""
    if approved is None:
        return Approval.MISSING
    is_same = approved == played or _words(approved) == _words(played)
    return Approval.SAME if is_same else Approval.DIFFERENT


def _words(text: str) -> list[str]:
    """What a transcript says, without the places of steps and the width of their column."""
    return [word for line in text.splitlines() for word in _line(line).split()]


def _line(line: str) -> str:
    """A line without the place of its step, if one begins there."""
    step = _PLACE.match(line)
    text = line if step is None else f"{step[1] or ''} {line[step.end() :]}"
    return " ".join(text.split())


def approve(path: Path, played: str) -> bool:
    """Write the text as the approved one; whether that changed anything. Raises OSError.

    The file is replaced as a whole: whoever reads it meanwhile sees the old or the new one.
    """
    if approved_text(path) == played:
        return False
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        new.write_text(played, encoding="utf-8")
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
    return True


def diff(approved: str, played: str, path: str, is_coloured: bool = False) -> str:
    """A unified diff from what was approved to what was played, with CONTEXT lines around each difference.

    Lines in which only the place of the step is another one are no difference.
    """
    before, after = approved.splitlines(), played.splitlines()
    same = SequenceMatcher(None, [_line(each) for each in before], [_line(each) for each in after], autojunk=False)
    for was, now, count in same.get_matching_blocks():
        before[was : was + count] = after[now : now + count]
    lines = unified_diff(
        before,
        after,
        f"{path} (approved)",
        f"{path} (played)",
        n=CONTEXT,
        lineterm="",
    )
    return "\n".join(_coloured(line) if is_coloured else line for line in lines)


def _coloured(line: str) -> str:
    """A line of a diff in the colours that everybody knows; file names and places stand out."""
    if line.startswith(("---", "+++", "@@")):
        return f"{_CYAN}{line}{_PLAIN}"
    colour = {"+": _GREEN, "-": _RED}.get(line[:1])
    return f"{colour}{line}{_PLAIN}" if colour else line
