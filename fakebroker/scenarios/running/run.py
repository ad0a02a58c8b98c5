"""One scenario file played, and what came of it: for `fakebroker scenario run`, in this process or in another.

What `play` gives is plain data: it crosses from the processes that play side by side.
"""

import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from time import perf_counter
from traceback import format_exception
from typing import Any

from fakebroker.protocol.errors import FakebrokerError
from fakebroker.scenarios.errors import ScenarioError
from fakebroker.scenarios.happenings import Failed, Skipped, StepBegan
from fakebroker.scenarios.language.reading import read_scenario
from fakebroker.scenarios.playing.player import Played, Player
from fakebroker.scenarios.playing.worlds import VirtualWorld
from fakebroker.scenarios.running.approve import Approval, approve, approved_path, approved_text, compare
from fakebroker.scenarios.running.transcript import shown_parameters, tail_of, transcript_of
from fakebroker.scenarios.script import Scenario
from fakebroker.testing.exchanges.redaction import REDACTED, is_secret_setting

COMMAND = "fakebroker scenario run"


class Status(Enum):
    """How a play ended."""

    PASSED = "ok"
    APPROVED = "approved"  # passed, and its transcript was written
    NEW = "new"  # every expectation held, and there is no approved transcript yet
    FAILED = "FAILED"  # an expectation did not hold
    DIFFERENT = "DIFFERENT"  # every expectation held, but the transcript is not the approved one
    UNREADABLE = "ERROR"  # the file is no scenario, or cannot be read


@dataclass(frozen=True)
class Task:
    """What is to be played, and how. Without a seed the steps are taken as they are written.

    `config` are broker settings that go before those of the scenario. With `is_strict` a missing transcript counts as
    another one than that which was played.
    """

    path: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    seed: int | None = None
    approves: bool = False
    keeps_transcript: bool = False
    config: Mapping[str, str] = field(default_factory=dict)
    is_strict: bool = False

    @property
    def compares(self) -> bool:
        """Whether the transcript must be the approved one, which is that of the file as it is written."""
        return self.seed is None and not self.parameters and not self.config


@dataclass(frozen=True)
class FailedStep:
    """A step that did not come out as the scenario says: where it stands, how it is written, what was seen."""

    place: str
    text: str
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """What came of a task. `errors` are those of the file; `tail` is the last part of a failed play."""

    task: Task
    status: Status
    name: str = ""
    about: str = ""
    steps: int = 0
    failed: tuple[FailedStep, ...] = ()
    skipped: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    tail: str = ""
    transcript: str = ""
    approved: str | None = None
    ended_at_ms: int = 0  # of the time since the timeline began
    virtual_ms: int = 0  # that passed for timers
    took_ms: float = 0.0
    secret_parameters: Collection[str] = ()

    @property
    def repeat(self) -> str:
        """The command that plays this again; without what is secret, which its user knows."""
        task = self.task
        config = {name: REDACTED if is_secret_setting(name) else value for name, value in task.config.items()}
        options = {"--set": shown_parameters(task.parameters, self.secret_parameters), "--config": config}
        parts = [COMMAND, shlex.quote(task.path)]
        for option, given in options.items():
            parts += [f"{option} {shlex.quote(f'{name}={value}')}" for name, value in given.items()]
        return " ".join(parts if task.seed is None else [*parts, f"--seed {task.seed}"])

    @property
    def is_unread(self) -> bool:
        """Whether the file is no scenario that could be played."""
        return self.status is Status.UNREADABLE and not self.name

    @property
    def is_good(self) -> bool:
        """Whether there is nothing to complain of."""
        return self.status in (Status.PASSED, Status.APPROVED, Status.NEW)


def play(task: Task) -> Outcome:
    """Read a scenario and play it in virtual time. Raises nothing for what may be wrong with the file or the play."""
    try:
        scenario = read_scenario(task.path, dict(task.parameters))
    except ScenarioError as error:
        return Outcome(task, Status.UNREADABLE, errors=tuple(str(problem) for problem in error.problems))
    except OSError as error:
        return Outcome(task, Status.UNREADABLE, errors=(f"{task.path}: {error.strerror or error}",))
    return play_read(scenario, task)


def play_read(scenario: Scenario, task: Task) -> Outcome:
    """Play a scenario that was read already, as the task says, in virtual time. It may be played again and again."""
    began_s = perf_counter()
    if task.config:
        scenario = with_config(scenario, task.config)
    try:
        played = Player(VirtualWorld(scenario), scenario, task.seed).play()
    except FakebrokerError as error:  # the broker cannot be made as the scenario wants it
        return Outcome(task, Status.UNREADABLE, scenario.name, scenario.about, errors=(f"{task.path}: {error}",))
    except Exception as error:  # a bug of ours, which must not end the plays of other files
        fields = "".join(format_exception(error))
        return Outcome(task, Status.UNREADABLE, scenario.name, scenario.about, errors=("internal error", fields))
    return _judged(task, scenario, played, (perf_counter() - began_s) * 1000)


def with_config(scenario: Scenario, config: Mapping[str, str]) -> Scenario:
    """The scenario with broker settings that go before its own."""
    return replace(scenario, config={**scenario.config, **config})


def _judged(task: Task, scenario: Scenario, played: Played, took_ms: float) -> Outcome:
    happenings = played.happenings
    failures = [each for each in happenings if isinstance(each, Failed)]
    failed = tuple(FailedStep(str(each.step.place), each.step.text, each.problems) for each in failures)
    fields: dict[str, Any] = {
        "name": scenario.name,
        "about": scenario.about,
        "steps": sum(isinstance(each, StepBegan) for each in happenings),
        "skipped": tuple(str(each) for each in happenings if isinstance(each, Skipped)),
        "ended_at_ms": happenings[-1].at_ms if happenings else 0,
        "virtual_ms": played.virtual_ms,
        "took_ms": took_ms,
        "secret_parameters": scenario.secret_parameters,
    }
    if not played.is_good:
        of_steps = [sentence for each in failures for sentence in each.sentences]
        fields["errors"] = tuple(problem for problem in played.problems if problem not in of_steps)
        transcript = transcript_of(scenario, happenings) if task.keeps_transcript else ""
        tail = tail_of(scenario, happenings)
        return Outcome(task, Status.FAILED, failed=failed, tail=tail, transcript=transcript, **fields)
    if not task.compares and not task.keeps_transcript:
        return Outcome(task, Status.PASSED, **fields)
    return _approved(task, transcript_of(scenario, happenings), fields)


def _approved(task: Task, transcript: str, fields: dict[str, Any]) -> Outcome:
    """The outcome of a play whose expectations held: compared with the approved transcript, or made the approved one.

    A play with a seed or other parameters is another than the approved one.
    """
    path = approved_path(task.path)
    kept = transcript if task.keeps_transcript else ""
    if not task.compares:
        return Outcome(task, Status.PASSED, transcript=kept, **fields)
    try:
        if task.approves:
            status = Status.APPROVED if approve(path, transcript) else Status.PASSED
            return Outcome(task, status, transcript=kept, **fields)
        before = approved_text(path)
    except (OSError, UnicodeDecodeError) as error:
        return Outcome(task, Status.UNREADABLE, errors=(f"{path}: {error}",), **fields)
    if compare(before, transcript) is Approval.SAME:
        return Outcome(task, Status.PASSED, transcript=kept, **fields)
    if before is None and not task.is_strict:
        return Outcome(task, Status.NEW, transcript=kept, **fields)
    return Outcome(task, Status.DIFFERENT, transcript=transcript, approved=before, **fields)
