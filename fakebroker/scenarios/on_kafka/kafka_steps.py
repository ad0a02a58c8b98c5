"""Which steps of a scenario a Kafka can take by its protocol alone, in real time; the others with the reason.

part = kafka_part(scenario)
part.scenario       what can be played: without the steps that cannot be taken, and those that need them
part.left_out       these steps, each with its reason
part.keeps_story    whether they only look at something, so that what happens is still what the scenario tells
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from fakebroker.protocol.wire.registry import APIS
from fakebroker.scenarios.on_kafka.fresh_names import INTERNAL
from fakebroker.scenarios.on_kafka.kafka_powers import MEMBERS
from fakebroker.scenarios.script import AnyOrder, ClientStep, Expect, Pass, PowerStep, Repeat, Scenario, Silent, Step

Json = Any
Versions = Mapping[int, tuple[int, int]]

LONGEST_PASS_MS = 15_000
# Kafka's coordinators answer some requests a moment before others see what they did (ST-15).
SEEN_WITHIN_MS = 2_000

_WHY = {
    "clock": "a real Kafka's clock cannot be changed",
    "coordinator": "a real Kafka moves coordinators only when brokers fail",
    "transaction_coordinator": "a real Kafka moves coordinators only when brokers fail",
    "transaction": "the Kafka protocol has no request for it",
    "group": "the Kafka protocol has no request for it",
    "topic": "the Kafka protocol has no request for it",
    "partition": "a real Kafka reassigns replicas in the background",
    "node": "a real Kafka's brokers cannot be stopped or isolated from here",
    "add_node": "brokers cannot be added to a real Kafka from here",
    "fault": "a real Kafka has no faults",
    "hold": "a real Kafka cannot hold a rebalance",
    "journal": "a real Kafka has no journal",
    "acls": "a real Kafka has its own ACLs",
    "users": "a real Kafka has its own users",
    "broker": "the Kafka protocol has no request for it",
}
_WHY_OTHER = "only fakebroker supports it"
_FIRST_FOR = {"hold_joins": "hold", "hold_syncs": "hold", "holds": "hold", "evict": "group", "rebalance": "group"}
# Powers that look and change nothing: without them the story is the same.
_LOOKS = frozenset({"explain", "explain_policies", "story", "requests", "events", "rows", "transitions", "committed"})
# What may be expected of things that every world has, because the player itself knows them.
_OF_PLAYER = frozenset({"actor"})
_SUBJECTS = {"committed": "group", "records": "topic"}


@dataclass(frozen=True)
class LeftOut:
    """A step, or a part of one, that is not taken, and why."""

    step: Step
    why: str
    is_look: bool

    def __str__(self) -> str:
        return f"line {self.step.place.line}: {self.step.text}: {self.why}"


@dataclass(frozen=True)
class KafkaPart:
    """What of a scenario can be played."""

    scenario: Scenario
    left_out: Sequence[LeftOut]

    @property
    def keeps_story(self) -> bool:
        """Whether all that is left out only looks."""
        return all(each.is_look for each in self.left_out)


def kafka_part(
    scenario: Scenario, versions: Versions | None = None, longest_pass_ms: int = LONGEST_PASS_MS
) -> KafkaPart:
    """What of a scenario a Kafka can play that serves these versions (None: all that we know).

    Args:
        longest_pass_ms: How long a single step may let real time pass.
    """
    sorter = _Sorter(versions, longest_pass_ms)
    timeline = sorter.kept(scenario.timeline)
    return KafkaPart(replace(scenario, timeline=timeline), tuple(sorter.left_out))


def why_not(step: Step, versions: Versions | None = None, longest_pass_ms: int = LONGEST_PASS_MS) -> str | None:
    """Why a Kafka cannot take this step; None if it can."""
    match step:
        case Pass(min_ms=ms) | Silent(for_ms=ms) if ms > longest_pass_ms:
            return f"{ms / 1000:g} s of real time are more than the {longest_pass_ms / 1000:g} s that a step may take"
        case PowerStep():
            return _why_no_power(step)
        case Expect():
            return _why_no_expectation(step)
        case ClientStep(verb="request"):
            return _why_no_request(step, versions)
    return None


class _Sorter:
    """Goes through the steps in their order, and remembers what is no longer there for later ones."""

    def __init__(self, versions: Versions | None, longest_pass_ms: int) -> None:
        self.left_out: list[LeftOut] = []
        self._versions = versions
        self._longest_pass_ms = longest_pass_ms
        self._missing: dict[str, Step] = {}  # what a step that is left out would have saved

    def kept(self, steps: Sequence[Step]) -> list[Step]:
        """The steps that can be taken."""
        return [taken for step in steps if (taken := self._taken(step)) is not None]

    def _taken(self, step: Step) -> Step | None:
        if isinstance(step, AnyOrder | Repeat):
            inner = self.kept(step.steps)
            return replace(step, steps=inner) if inner else None
        why = why_not(step, self._versions, self._longest_pass_ms) or self._why_alone(step)
        if why is not None:
            self._leave_out(step, why)
            return None
        return self._narrowed(step) if isinstance(step, Expect) else step

    def _leave_out(self, step: Step, why: str) -> None:
        self.left_out.append(LeftOut(step, why, _is_look(step)))
        self._missing |= dict.fromkeys(_saved(step), step)

    def _why_alone(self, step: Step) -> str | None:
        """Why it cannot be taken without the steps that are left out."""
        for name in _needed(step):
            if name in self._missing:
                return f"it needs {name}, which line {self._missing[name].place.line} would have given"
        return None

    def _narrowed(self, step: Expect) -> Step:
        """The expectation without what a Kafka does not tell, and with a moment for its views to catch up."""
        if step.subject in _OF_PLAYER:
            return step
        unreported = [key for key in step.expected if key not in _reported_by_kafka(step.subject)]
        if unreported:
            reported = {key: value for key, value in step.expected.items() if key not in unreported}
            why = f"a real Kafka does not report {', '.join(unreported)} of a {step.subject}; the rest is expected"
            self.left_out.append(LeftOut(step, why, is_look=True))
            step = replace(step, expected=reported)
        return replace(step, within_ms=max(step.within_ms or 0, SEEN_WITHIN_MS))


def _is_look(step: Step) -> bool:
    if isinstance(step, PowerStep):
        return step.power.rpartition(".")[2] in _LOOKS and step.saved_as is None
    return isinstance(step, Expect) and step.within_ms is None


def _saved(step: Step) -> Iterator[str]:
    if isinstance(step, PowerStep) and step.saved_as is not None:
        yield step.saved_as
    yield from getattr(step, "save", ())


def _needed(step: Step) -> Iterator[str]:
    """The names of saved things in a step."""
    if isinstance(step, PowerStep) and step.on is not None:
        yield step.on
    for each in fields(step):
        if each.name in ("arguments", "expected", "identity"):
            yield from _references(getattr(step, each.name))


def _references(value: Json) -> Iterator[str]:
    if isinstance(value, str) and value.startswith("$") and not value.startswith("$$"):
        yield value[1:].partition(".")[0]
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _references(key)
            yield from _references(inner)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _references(each)


def _why_no_power(step: PowerStep) -> str | None:
    first, _, verb = step.power.partition(".")
    if first == "topic" and str(step.identity.get("name", "")).startswith(INTERNAL):
        return "clients cannot change internal topics"
    if step.power == "create_topic" or (verb and verb in MEMBERS.get(first, ())):
        return None
    if verb.startswith("partition."):
        return _WHY["partition"]
    return _WHY.get(_FIRST_FOR.get(verb, first), _WHY_OTHER)


def _why_no_expectation(step: Expect) -> str | None:
    if step.subject in _OF_PLAYER:
        return None
    reported = _reported_by_kafka(step.subject)
    if not reported:
        return _WHY.get(step.subject, _WHY_OTHER)
    if step.expected and not any(key in reported for key in step.expected):
        return f"a real Kafka does not report {', '.join(step.expected)} of a {step.subject}"
    return None


def _reported_by_kafka(subject: str) -> frozenset[str]:
    """What can be asked about a subject; empty for one that cannot be asked about."""
    if subject in _SUBJECTS:
        return frozenset({"offsets", "records", "committed", "error", subject})
    return MEMBERS.get(subject, frozenset())


def _why_no_request(step: ClientStep, versions: Versions | None) -> str | None:
    if versions is None:
        return None
    name, version = step.arguments.get("api_name"), step.arguments.get("version")
    keys = [api.key for api in APIS.values() if api.name == name]
    if not keys:
        return None
    if keys[0] not in versions:
        return f"this Kafka does not serve {name}"
    lowest, highest = versions[keys[0]]
    if isinstance(version, int) and not lowest <= version <= highest:
        return f"this Kafka serves {name} v{lowest}-{highest}"
    return None
