"""What happens while a scenario is played, in the order in which it happens: transcripts and reports are made of it.

`at_ms` is the time since the timeline began: the time of day as the broker has it, which the steps of a scenario move.
"""

from dataclasses import dataclass
from typing import Any

from fakebroker.scenarios.script import Step

Json = Any


@dataclass(frozen=True)
class Happening:
    """Something that happened."""

    at_ms: int


@dataclass(frozen=True)
class StepBegan(Happening):
    """The player takes a step."""

    step: Step


@dataclass(frozen=True)
class Sent(Happening):
    """An actor sent a request: `request` is the message as data, with Kafka's field names."""

    actor: str
    api: str
    version: int
    request: Json
    number: int  # counts the requests of the scenario


@dataclass(frozen=True)
class Received(Happening):
    """The answer to request `number` came, or none will: then `response` is None and `why` says why."""

    actor: str
    api: str
    version: int
    response: Json
    number: int
    waited_ms: int
    why: str | None = None


@dataclass(frozen=True)
class BrokerEvent(Happening):
    """The broker's journal has a new event: a transition of a group, a move of the clock, a fault that hit."""

    event: Any


@dataclass(frozen=True)
class Gave(Happening):
    """What a power of the object model gave, where it gave something."""

    step: Step
    value: Json


@dataclass(frozen=True)
class Skipped(Happening):
    """A step that could not be taken here, and why."""

    step: Step
    why: str

    def __str__(self) -> str:
        return f"{self.step}: {self.why}"


@dataclass(frozen=True)
class Failed(Happening):
    """A step did not come out as the scenario says: each problem is one sentence that tells what was seen."""

    step: Step
    problems: tuple[str, ...]

    @property
    def sentences(self) -> list[str]:
        """The problems, each with the place and the text of the step."""
        return [f"{self.step}: {problem}" for problem in self.problems]
