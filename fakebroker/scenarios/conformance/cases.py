"""The cases that a broker is judged by: recorded dialogues with their chapter and their rules."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from importlib import import_module
from pathlib import Path

from fakebroker.protocol.errors import InvalidArgument
from fakebroker.protocol.extras import missing_extra
from fakebroker.scenarios.conformance.chapters import Chapter, chapter_of
from fakebroker.scenarios.dialogue.script import Dialogue, find_dialogues, read_dialogue
from fakebroker.testing.exchanges.kinds import Receive, Silent, Sleep
from fakebroker.testing.explanations.rule_texts import RuleText, rule_text

EXTRA = "conformance"
PACKAGE = "fakebroker_recordings"
_IN_CHECKOUT = Path(__file__).resolve().parents[3] / "recordings" / PACKAGE
_RULES = re.compile(r"\b([A-Z]{2,3})-(\d+)(?: to (?:[A-Z]{2,3}-)?(\d+))?")


@dataclass(frozen=True)
class Case:
    """A dialogue to play. `name` is "groups/jg_initial_delay"."""

    name: str
    chapter: Chapter
    dialogue: Dialogue

    @cached_property
    def rules(self) -> list[RuleText]:
        """The rules that it shows, as its "about" line names them."""
        return [RuleText(rule_id, text) for rule_id in rule_ids(self.dialogue.about) if (text := rule_text(rule_id))]

    @cached_property
    def usual_ms(self) -> int:
        """How long it takes at most, from the waits that were recorded."""
        waits = 0
        for step in self.dialogue.steps:
            match step:
                case Receive():
                    waits += step.waited_ms
                case Silent() | Sleep():
                    waits += step.for_ms
        return waits


def rule_ids(about: str) -> list[str]:
    """What looks like ids of rules in a text, in their order: "IA-5 to IA-8" is four."""
    found: dict[str, None] = {}
    for letters, first, last in _RULES.findall(about):
        for number in range(int(first), int(last or first) + 1):
            found[f"{letters}-{number}"] = None
    return list(found)


def recordings_folder(folder: Path | None) -> Path:
    """The folder with recordings: the one that is named, that of the installed package, or that of a checkout.

    Raises MissingExtra when there is none.
    """
    if folder is not None:
        return folder
    try:
        found: Path = import_module(PACKAGE).FOLDER
    except ImportError:
        if not _IN_CHECKOUT.is_dir():
            raise missing_extra(EXTRA, "the recordings are a package of their own, which is not installed") from None
        found = _IN_CHECKOUT
    return found


def read_cases(folder: Path) -> list[Case]:
    """Every recording below a folder. Raises UnreadableFile for a file, DialogueError if there is none."""
    found = []
    for path in find_dialogues([folder]):
        dialogue = read_dialogue(path)
        below = path.parent.name
        found.append(Case(f"{below}/{path.stem}", chapter_of(below, path.stem), dialogue))
    return found


def select(
    cases: Sequence[Case], release: str, chapters: Iterable[str] = (), patterns: Iterable[str] = ()
) -> list[Case]:
    """The cases recorded from a release, of these chapters, whose names match one of these patterns; none means all.

    A pattern is part of a name, or one with * and ?. Raises InvalidArgument when nothing is left.
    """
    releases = sorted({case.dialogue.release for case in cases}, key=_number)
    of_release = [case for case in cases if case.dialogue.release == release]
    if not of_release:
        text = f"release: no recordings of Kafka {release}; there are those of {', '.join(releases)}"
        raise InvalidArgument("release", release, text)
    wanted, names = set(chapters), tuple(patterns)
    found = [case for case in of_release if (not wanted or case.chapter.name in wanted) and _matches(case.name, names)]
    if not found:
        raise InvalidArgument("only", names, f"no case of Kafka {release} matches {', '.join([*wanted, *names])}")
    return found


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(pattern in name or fnmatchcase(name, pattern) for pattern in patterns)


def _number(release: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", release)]
