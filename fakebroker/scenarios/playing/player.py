"""Plays a scenario in a world: takes its steps one after the other, and tells all that happens.

An expectation that is not met is a problem of its step, and the timeline goes on. A step that could not be taken (no
answer in time, a connection lost that nobody expected lost, a power that raised) ends it: the steps after it were
written for what did not happen. Nothing waits for ever: every step has a time limit.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.protocol.errors import FakebrokerError, InvalidArgument, KafkaError, UnknownThing, nearest
from fakebroker.scenarios.comparison.names import value_at
from fakebroker.scenarios.errors import no_actor
from fakebroker.scenarios.happenings import Failed, Gave, Happening, Skipped, StepBegan
from fakebroker.scenarios.playing.actors import OWN_VERBS, ActorClient, Outstanding
from fakebroker.scenarios.playing.answer_views import NONE
from fakebroker.scenarios.playing.expectations import Expectations
from fakebroker.scenarios.playing.happening_log import HappeningLog
from fakebroker.scenarios.playing.matching import mismatches, shown
from fakebroker.scenarios.playing.power_steps import exert
from fakebroker.scenarios.playing.saved_values import SavedValues
from fakebroker.scenarios.playing.shuffle import Shuffle
from fakebroker.scenarios.playing.timing import Timing
from fakebroker.scenarios.playing.value_views import is_data, value_view
from fakebroker.scenarios.script import (
    Answered,
    AnyOrder,
    ClientStep,
    Expect,
    Pass,
    PowerStep,
    Repeat,
    Scenario,
    Silent,
    Step,
)

if TYPE_CHECKING:
    from fakebroker.scenarios.playing.worlds import World

Json = Any
ANSWER_WITHIN_MS = 30_000  # of a step that is not `later`
MAX_HAPPENINGS = 200_000  # in virtual time: most of a minute, and a third of a gigabyte
_WRONG = (FakebrokerError, OSError, LookupError, ValueError, TypeError)  # what a step can raise without a bug of ours
_NAMES_MEMBERS = ("order", "leader", "member")  # arguments of powers that name members, which actors are


class StepFailed(FakebrokerError):
    """A step could not be taken; what comes after it makes no sense."""


@dataclass(frozen=True)
class Played:
    """What came of a play: nothing in `problems` means that all was as expected.

    `took_ms` is real time, `virtual_ms` the time that passed for timers in the world. `start_wall_ms` is the broker's
    time of day when the timeline began.
    """

    problems: list[str]
    happenings: list[Happening]
    skipped: list[Skipped]
    took_ms: int
    virtual_ms: int
    start_wall_ms: int

    @property
    def is_good(self) -> bool:
        """Whether everything was as expected."""
        return not self.problems


class Player:
    """Plays one scenario once. Without a seed the order is as written, and nothing is drawn."""

    def __init__(
        self,
        world: "World",
        scenario: Scenario,
        seed: int | None = None,
        on_happening: Callable[[Happening], None] | None = None,
    ) -> None:
        self._world = world
        self._scenario = scenario
        self._shuffle = Shuffle(seed)
        self._log = HappeningLog(world, on_happening)
        self._timing = Timing(world, self._shuffle, self._check_amount)
        self._saved = SavedValues(self._of_actor)
        self._things: dict[str, Any] = {}  # holds, faults, snapshots by the names of `as`
        clients = ScriptedClients(world.driver)
        self._actors = {
            name: ActorClient(spec, world, clients, self._log.watch(name)) for name, spec in scenario.actors.items()
        }
        self._expectations = Expectations(world, self._actors, self._things)
        self._problems: list[str] = []
        self._skipped: list[Skipped] = []

    def play(self) -> Played:
        """Play every step; connections are closed at the end. Raises nothing of what may go wrong in a scenario."""
        began_ns = time.monotonic_ns()
        try:
            for name, arguments in self._scenario.topics.items():
                self._world.create_topic(name, arguments)
            self._log.begin()
            self._expectations.since_seq = self._log.first_seq
            self._play_all(self._scenario.timeline)
            self._check_outstanding()
        except StepFailed:
            pass
        except FakebrokerError as error:
            self._problems.append(f"{self._scenario.path}: {error}")
        self._log.take_events()
        virtual_ms = self._log.passed_ms
        self._timing.active.clear()
        for actor in self._actors.values():
            actor.be_quiet()
        self._world.close()
        self._problems += [f"internal error: {error!r}" for error in self._world.errors]
        took_ms = (time.monotonic_ns() - began_ns) // 1_000_000
        return Played(self._problems, self._log.happenings, self._skipped, took_ms, virtual_ms, self._log.start_wall_ms)

    # The timeline

    def _play_all(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if isinstance(step, AnyOrder):
                self._play_all(self._shuffle.order(step.steps))
            elif isinstance(step, Repeat):
                for _ in range(step.times):
                    self._play_all(step.steps)
            else:
                self._play(step)

    def _play(self, step: Step) -> None:
        """Raises StepFailed when the timeline cannot go on."""
        pause_ms = self._shuffle.pause_ms(*self._scenario.jitter_ms)
        if pause_ms:
            self._timing.pass_time(pause_ms)
        self._log.add(StepBegan(self._log.at_ms, step))
        why_not = self._world.why_not(step)
        if why_not is not None:
            self._skipped.append(Skipped(self._log.at_ms, step, why_not))
            self._log.add(self._skipped[-1])
            return
        try:
            self._fail(step, self._take(step))
        except _WRONG as error:
            self._fail(step, [_reason(error)])
            raise StepFailed(str(error)) from error

    def _fail(self, step: Step, problems: Sequence[str]) -> None:
        if problems:
            failed = Failed(self._log.at_ms, step, tuple(problems))
            self._log.add(failed)
            self._problems += failed.sentences

    def _take(self, step: Step) -> list[str]:
        """What was not as expected. Raises what makes the rest of the timeline meaningless."""
        match step:
            case ClientStep() if step.verb in OWN_VERBS:
                return self._own_verb(step)
            case ClientStep():
                return self._client_step(step)
            case Answered():
                return self._answered(step)
            case Silent():
                return self._silent(step)
            case PowerStep():
                return self._power(step)
            case Pass():
                self._timing.pass_time(self._shuffle.between(step.min_ms, step.max_ms))
            case Expect():
                return self._expect(step)
            case _:
                raise StepFailed(f"{type(step).__name__} is no step that can be played")
        return []

    # Actors

    def _client_step(self, step: ClientStep) -> list[str]:
        actor = self._actor(step.actor)
        arguments = self._saved.filled(step.arguments)
        if step.verb == "sync" and isinstance(arguments.get("assignments"), Mapping):
            assignments = arguments["assignments"]
            arguments["assignments"] = {self._member_id(name): each for name, each in assignments.items()}
        taken = actor.begin(step, arguments, self._timing.mono_ms)
        self._timing.active.append(taken)
        self._timing.settle()
        if not step.is_later:
            return self._answer(actor, taken, ANSWER_WITHIN_MS)
        if taken.is_done:
            taken.view()  # raises what was wrong with the step itself
        return []

    def _answered(self, step: Answered) -> list[str]:
        actor = self._actor(step.actor)
        if not actor.outstanding:
            raise StepFailed(f"{actor.name} has no pending step")
        return self._answer(actor, actor.outstanding[0], step.within_ms, step)

    def _answer(
        self, actor: ActorClient, taken: Outstanding, within_ms: int, asking: Answered | None = None
    ) -> list[str]:
        """Wait for an answer, and compare it with what its step expects, and the step that asks for it."""
        if not self._timing.pass_time(within_ms, lambda: taken.is_done):
            what = f"{actor.name}: expected an answer to {taken.step.verb}, but saw none within {within_ms} ms"
            hint = "" if taken.step.is_later else "; with `later: true` the timeline goes on without the answer"
            raise StepFailed(what + hint)
        self._forget(actor, taken)
        view = taken.view()
        asked = [each for each in (taken.step, asking) if each is not None]
        lost = _lost(taken, view, *(each.expected for each in asked))
        if lost:
            raise StepFailed(lost)
        problems: list[str] = []
        for each in asked:
            problems += self._compare(each.expected, view)
            problems += self._save(each.save, view)
        return problems

    def _silent(self, step: Silent) -> list[str]:
        actor = self._actor(step.actor)
        waiting = [each for each in actor.outstanding if not each.is_done]
        if not waiting:
            raise StepFailed(f"expected {actor.name} to wait for an answer, but saw no pending step")
        if not self._timing.pass_time(step.for_ms, lambda: any(each.is_done for each in waiting)):
            return []
        found = next(each for each in waiting if each.is_done)
        waited_ms = self._timing.mono_ms - found.began_ms
        seen = {name: value for name, value in found.view().items() if name in ("error", "why")}
        what = f"{found.step.verb} answered after {waited_ms} ms: {shown(seen)}"
        return [f"expected no answer for {step.for_ms} ms, but saw {what}"]

    def _check_outstanding(self) -> None:
        """At the end: steps whose answers no step has asked for, but that expect something."""
        for actor in self._actors.values():
            for taken in list(actor.outstanding):
                if taken.is_done:
                    self._forget(actor, taken)
                    self._fail(taken.step, self._problems_at_end(taken))
                elif taken.step.expected is not None:
                    what = shown(self._saved.filled(taken.step.expected))
                    self._fail(taken.step, [f"expected {what}, but saw no answer until the end"])

    def _problems_at_end(self, taken: Outstanding) -> list[str]:
        expected = taken.step.expected
        try:
            view = taken.view()
            lost = _lost(taken, view, expected) if expected is not None else None
            return [lost] if lost else self._compare(expected, view)
        except _WRONG as error:
            return [_reason(error)]

    def _forget(self, actor: ActorClient, taken: Outstanding) -> None:
        actor.outstanding.remove(taken)
        self._timing.active.remove(taken)

    def _own_verb(self, step: ClientStep) -> list[str]:
        actor = self._actor(step.actor)
        arguments = self._saved.filled(step.arguments)
        match step.verb:
            case "consume":
                self._timing.active.append(
                    actor.consume(lambda: self._timing.mono_ms, self._scenario.nodes, **arguments)
                )
            case "pause":
                actor.consuming().pause()
            case "resume":
                actor.consuming().resume()
            case "stop":
                self._stop(actor)
            case _:
                getattr(actor, step.verb)(**arguments)
        self._timing.settle()
        return []

    def _stop(self, actor: ActorClient) -> None:
        """Let a member leave, and wait until it has left."""
        loop = actor.consuming()
        loop.stop()
        if not self._timing.pass_time(ANSWER_WITHIN_MS, lambda: loop.is_over):
            raise StepFailed(f"expected {actor.name} to leave, but saw it wait for {ANSWER_WITHIN_MS} ms")
        self._timing.active.remove(loop)

    # The broker

    def _power(self, step: PowerStep) -> list[str]:
        expected = self._saved.filled(step.expected)
        target, power = self._world.powers, step.power
        if step.on is not None:
            target, power = self._thing(step.on), step.power.rpartition(".")[2]
        try:
            value = exert(target, power, self._saved.filled(step.identity), self._power_arguments(step))
        except KafkaError as error:
            self._timing.settle()
            if not isinstance(expected, Mapping) or "error" not in expected:
                raise
            return mismatches(expected, {"error": error.code.name})
        self._timing.settle()
        view = value_view(value) if is_data(value) else None
        if step.saved_as is not None:
            self._things[step.saved_as] = value
            self._saved.save(step.saved_as, view if is_data(value) else value)
        elif view is not None:
            self._log.add(Gave(self._log.at_ms, step, view))
        if expected is None:
            return []
        if view is None:
            view = {}
        return mismatches(expected, {"error": NONE, **view} if isinstance(view, Mapping) else view)

    def _power_arguments(self, step: PowerStep) -> dict[str, Json]:
        """The arguments of a power; members may be named by their actors."""
        arguments: dict[str, Json] = self._saved.filled(step.arguments)
        for name in _NAMES_MEMBERS:
            if isinstance(value := arguments.get(name), str):
                arguments[name] = self._member_named(value)
            elif isinstance(value, list):
                arguments[name] = [self._member_named(each) for each in value]
        return arguments

    def _member_named(self, name: Json) -> Json:
        """What the broker calls the member that an actor is: its member id, else its client id."""
        actor = self._actors.get(name) if isinstance(name, str) else None
        return name if actor is None else actor.member_id or actor.spec.client_id

    def _expect(self, step: Expect) -> list[str]:
        identity = self._saved.filled(step.identity)
        expected = self._saved.filled(step.expected)
        problems: list[str] = []

        def is_met() -> bool:
            problems[:] = self._expectations.problems(step.subject, identity, expected)
            return not problems

        if step.within_ms is None:
            is_met()
        elif not self._timing.pass_time(step.within_ms, is_met):
            return [f"{problem} after {step.within_ms} ms" for problem in problems]
        return problems

    # What steps share

    def _check_amount(self) -> None:
        """Virtual time can be too much of it: a member that polls for a month would keep us for days."""
        if self._world.poll_ms is None and len(self._log.happenings) > MAX_HAPPENINGS:
            what = f"more than {MAX_HAPPENINGS} requests, answers and events, the limit of one play"
            raise StepFailed(f"{what}; `clock: advance` moves the time of day without running timers")

    def _compare(self, expected: Mapping[str, Json] | None, view: Mapping[str, Json]) -> list[str]:
        return [] if expected is None else mismatches(self._saved.filled(expected), view)

    def _save(self, save: Mapping[str, str], view: Mapping[str, Json]) -> list[str]:
        for name, path in save.items():
            try:
                self._saved.save(name, value_at(view, path))
            except UnknownThing as error:
                return [f"save {name}: expected the answer to have {path}, but saw that {error}"]
        return []

    def _actor(self, name: str) -> ActorClient:
        if name not in self._actors:
            raise UnknownThing("actor", name, no_actor(name, self._actors))
        return self._actors[name]

    def _of_actor(self, name: str) -> Json:
        return self._actors[name].shown() if name in self._actors else None

    def _member_id(self, name: str) -> str:
        """The member id of the actor of that name; what is no actor's name is a member id already."""
        if name not in self._actors:
            return name
        if not self._actors[name].member_id:
            raise InvalidArgument("assignments", name, f"assignments: {name} has no member id yet; let it join first")
        return self._actors[name].member_id

    def _thing(self, name: str) -> Any:
        if name not in self._things:
            raise UnknownThing("as", name, f"no step has defined {name!r}; {nearest(name, self._things)}")
        return self._things[name]


def _lost(taken: Outstanding, view: Mapping[str, Json], *expected: Mapping[str, Json] | None) -> str | None:
    """What is said of a connection that was lost, unless that is what was expected."""
    given = [each for each in expected if each is not None]
    if not view.get("closed") or any("closed" in each or "why" in each for each in given):
        return None
    what = shown(given[0]) if given else "an answer"
    hint = f"; it was lost before this step: {{{taken.step.actor}: connect}} opens another one"
    return f"expected {what}, but saw the connection lost: {view['why']}{'' if taken.had_connection else hint}"


def _reason(error: Exception) -> str:
    text = str(error)
    return text if isinstance(error, FakebrokerError) else f"{type(error).__name__}: {text}"
