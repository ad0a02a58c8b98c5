"""A scenario as the player takes it: read, checked, with its parameters filled in and its includes in place.

`reading.py` makes it from YAML; nothing here knows files. Values that begin with "$" stand for what an earlier step
saved; a player puts them in when it takes the step.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fakebroker.client.login import Credentials

Json = Any  # what YAML and JSON give: None, bool, int, float, str, list, dict


@dataclass(frozen=True)
class SourceLine:
    """Where something stands: the file as it was named, and the line, counted from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Actor:
    """A scripted client. `node` is the broker that it connects to, None for the first. `credentials`: it logs in."""

    name: str
    client_id: str
    versions: Mapping[str, int]
    node: int | None
    place: SourceLine
    credentials: Credentials | None = None


@dataclass(frozen=True)
class Step:
    """One entry of the timeline. `text` is how a transcript shows it, in one line; `note` is the author's remark."""

    place: SourceLine
    text: str
    note: str = field(default="", kw_only=True)

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


@dataclass(frozen=True)
class ClientStep(Step):
    """An actor sends what `verb` means, with the arguments of that step of the scripted client.

    `expected` is what the answer must be, `save` maps names to paths into the answer ("members.0.member_id").
    `is_later`: the timeline goes on without the answer; `Answered` waits for it.
    """

    actor: str
    verb: str
    arguments: Mapping[str, Json]
    expected: Mapping[str, Json] | None = None
    save: Mapping[str, str] = field(default_factory=dict)
    is_later: bool = False


@dataclass(frozen=True)
class Answered(Step):
    """The oldest outstanding step of an actor is answered within a time; the answer must be as expected."""

    actor: str
    within_ms: int
    expected: Mapping[str, Json] | None = None
    save: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Silent(Step):
    """An actor's outstanding steps must stay unanswered while a time passes."""

    actor: str
    for_ms: int


@dataclass(frozen=True)
class PowerStep(Step):
    """Something is done to the broker: a power of the object model, by its name there ("coordinator.move").

    `identity` are the arguments on the way ({"group_id": "billing"}), `arguments` those of the last call; a property
    that is set has its own name as its argument. `saved_as` names what it gives: a hold, a fault, a snapshot.
    `on` is the name of such a thing when the power is one of its own ("hold.release").
    """

    power: str
    identity: Mapping[str, Json]
    arguments: Mapping[str, Json]
    saved_as: str | None = None
    on: str | None = None
    expected: Json = None


@dataclass(frozen=True)
class Pass(Step):
    """Time passes as it does for everyone, timers included: `min_ms`, or with a seed up to `max_ms`."""

    min_ms: int
    max_ms: int


@dataclass(frozen=True)
class Expect(Step):
    """What something must look like: at once, or within a time.

    `subject` is "group", "topic", "partition", "coordinator", "node", "fault", "hold", "clock", "actor", "records",
    "committed" or "journal"; `identity` says which one; `expected` maps its properties to what they must be.
    """

    subject: str
    identity: Mapping[str, Json]
    expected: Mapping[str, Json]
    within_ms: int | None = None


@dataclass(frozen=True)
class AnyOrder(Step):
    """Steps whose order does not matter: as written, or as a seed shuffles them."""

    steps: Sequence[Step]


@dataclass(frozen=True)
class Repeat(Step):
    """Steps that are taken several times."""

    times: int
    steps: Sequence[Step]


def steps_in(steps: Sequence[Step]) -> Iterator[Step]:
    """All steps that are taken, in their order; those of `AnyOrder` and `Repeat` in place of these, once."""
    for step in steps:
        if isinstance(step, AnyOrder | Repeat):
            yield from steps_in(step.steps)
        else:
            yield step


@dataclass(frozen=True)
class Scenario:
    """One scenario. `topics` are created before the timeline begins: name -> arguments of `create_topic`.

    `users` are passwords by user, `acls` rights (None: there is no authorizer). `jitter_ms` are the least and the most
    time that passes before each step when a seed shuffles. `secret_parameters` are those whose values are not shown.
    """

    name: str
    about: str
    sources: Sequence[str]
    path: str
    release: str
    profile: str
    nodes: int
    racks: Sequence[str | None] | None
    config: Mapping[str, Json]
    seed: int
    jitter_ms: tuple[int, int]
    parameters: Mapping[str, Json]
    topics: Mapping[str, Mapping[str, Json]]
    actors: Mapping[str, Actor]
    timeline: Sequence[Step]
    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    acls: Sequence[Mapping[str, object]] | None = None
    secret_parameters: Collection[str] = ()
