"""What is wrong with a scenario file, problem by problem."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fakebroker.protocol.errors import FakebrokerError, spelt_alike
from fakebroker.scenarios.script import SourceLine

MAX_PROBLEMS = 20  # reported of one file
MAX_ACTORS = 12  # listed in a message


def no_actor(name: str, actors: Iterable[str]) -> str:
    """The message about an actor that the file does not declare, with those that it does."""
    there = [repr(each) for each in actors]
    if not there:
        return f"no actor {name!r} here; the file has none: add `actors: [{name}]`"
    listed = there if len(there) <= MAX_ACTORS else [*there[:MAX_ACTORS], "others"]
    all_of_them = f"there is only {there[0]}" if len(there) == 1 else f"there are {_listed(listed)}"
    return f"no actor {name!r} here; {spelt_alike(name, actors) or all_of_them}"


def _listed(texts: Sequence[str]) -> str:
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


class Problem(NamedTuple):
    """One thing that is wrong: where, at which key ("" for the file itself), and what."""

    place: SourceLine
    key: str
    message: str

    def __str__(self) -> str:
        return ": ".join(part for part in (str(self.place), self.key, self.message) if part)


class ScenarioError(FakebrokerError):
    """A scenario that cannot be read. Its text has one line for each of its `problems`."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = list(problems)


class Problems:
    """Collects problems, the first MAX_PROBLEMS of them, each once."""

    def __init__(self) -> None:
        self._found: dict[Problem, None] = {}

    @property
    def is_full(self) -> bool:
        """Whether nothing more is kept."""
        return len(self._found) >= MAX_PROBLEMS

    def add(self, place: SourceLine, key: str, message: str) -> None:
        """Keep a problem."""
        if not self.is_full:
            self._found.setdefault(Problem(place, key, message))

    def raise_if_any(self) -> None:
        """Raise ScenarioError if there is one, in the order of files and lines."""
        if self._found:
            files = list(dict.fromkeys(problem.place.file for problem in self._found))
            raise ScenarioError(sorted(self._found, key=lambda p: (files.index(p.place.file), p.place.line)))
