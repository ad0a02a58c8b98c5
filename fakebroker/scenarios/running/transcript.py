"""A played scenario as text: what a person reads and approves. The same happenings give the same text, always.

    empty-group-seven-days: Offsets of a group that became Empty live seven days.
      source KIP-211, KAFKA-4682 | release 4.3, profile test, 1 node, seed 7
      topics orders: {partitions: 2}

                +0.000   8  a: join billing, topics: [orders]
                              a -> JoinGroup v9  group_id: billing, protocols: [range: {topics: [orders]}]
                              group billing: Empty -> PreparingRebalance, generation 0 (member-1 joined)
                              a <- ok  generation_id: 1, ...

At the left stands the time since the timeline began, where it differs from that of the line before, then the line in
the file for each step.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import singledispatchmethod
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

from fakebroker.broker.core.events import (
    AssignmentComputed,
    FaultHit,
    GroupEpochBumped,
    MemberTransition,
    OffsetsExpired,
    TransactionTransition,
    Transition,
)
from fakebroker.broker.engine.journal import NOT_IN_STORY
from fakebroker.broker.engine.printable import printable
from fakebroker.protocol.errors import ScenarioFailed
from fakebroker.scenarios.comparison import Meaning
from fakebroker.scenarios.happenings import (
    BrokerEvent,
    Failed,
    Gave,
    Happening,
    Received,
    Sent,
    Skipped,
    StepBegan,
)
from fakebroker.scenarios.running.message_text import answer_text, flow, request_text, value_text
from fakebroker.scenarios.script import Scenario, SourceLine
from fakebroker.testing.exchanges.redaction import REDACTED, is_secret_setting
from fakebroker.testing.explanations.event_wording import event_text
from fakebroker.testing.virtual_broker import START_WALL_MS

WIDTH = 120
DAY_MS, HOUR_MS, MINUTE_MS = 86_400_000, 3_600_000, 60_000
_SECRET_WORDS = ("pass", "pw", "secret", "token", "credential")
_MAX_LINES = 12  # of one happening: what is longer is no reading for people


def transcript_of(
    scenario: Scenario, happenings: Sequence[Happening], start_wall_ms: int = START_WALL_MS, is_over: bool = True
) -> str:
    """The whole text: a header, the steps with all that came of each, and how it ended. Ends with a newline.

    `start_wall_ms` is the time of day when the timeline began; without `is_over` it is what has happened so far.
    """
    lines = [
        *header_of(scenario),
        "",
        *dialogue_of(scenario, happenings, start_wall_ms),
        "",
        _ending(happenings, is_over),
    ]
    return "\n".join(lines) + "\n"


def header_of(scenario: Scenario) -> list[str]:
    """What is played: name, about, where it is from, and the broker's settings that are not usual."""
    lines = _wrapped(f"{scenario.name}: {scenario.about}", "", "  ")
    if scenario.sources:
        lines += _wrapped(f"source {', '.join(scenario.sources)}", "  ", "    ")
    nodes = f"{scenario.nodes} node{'s' if scenario.nodes != 1 else ''}"
    parts = [f"release {scenario.release}", f"profile {scenario.profile}", nodes, f"seed {scenario.seed}"]
    if scenario.racks:
        parts.append(f"racks {value_text(list(scenario.racks))}")
    lines += _wrapped(", ".join(parts), "  ", "    ")
    config = {name: REDACTED if is_secret_setting(name) else value for name, value in scenario.config.items()}
    shown = {
        "config": config,
        "parameters": shown_parameters(scenario.parameters, scenario.secret_parameters),
        "topics": scenario.topics,
    }
    if scenario.users:
        lines += _wrapped(f"users {', '.join(scenario.users)}", "  ", "    ")
    if scenario.acls is not None:
        lines += _wrapped(f"acls {flow(list(scenario.acls))}", "  ", "    ")
    for name, values in shown.items():
        if values:
            lines += _wrapped(f"{name} {flow(values)}", "  ", "    ")
    return lines


def shown_parameters(parameters: Mapping[str, Any], secret: Collection[str]) -> dict[str, Any]:
    """The parameters; no values of those that are `secret`, or called so."""
    hidden = {name for name in parameters if name in secret or any(word in name.lower() for word in _SECRET_WORDS)}
    return {name: REDACTED if name in hidden else value for name, value in parameters.items()}


def dialogue_of(scenario: Scenario, happenings: Sequence[Happening], start_wall_ms: int = START_WALL_MS) -> list[str]:
    """What happened, without header and ending."""
    return _Writer(scenario, happenings, start_wall_ms).lines()


def tail_of(
    scenario: Scenario, happenings: Sequence[Happening], start_wall_ms: int = START_WALL_MS, max_lines: int = 30
) -> str:
    """The last part of what happened, from the beginning of a step on: what a failure shows."""
    lines = dialogue_of(scenario, happenings, start_wall_ms)
    if len(lines) > max_lines:
        lines = [f"... {len(lines) - max_lines} lines before", *lines[-max_lines:]]
    return "\n".join(lines)


def scenario_failed(
    scenario: Scenario, problems: Sequence[str], happenings: Sequence[Happening], start_wall_ms: int
) -> ScenarioFailed:
    """The error of a play that did not come out as the scenario says: every problem, and what happened last."""
    reasons = "\n".join(problems)
    tail = tail_of(scenario, happenings, start_wall_ms)
    return ScenarioFailed(f"scenario {scenario.name}:\n{reasons}\nwhat happened last:\n{tail}")


def time_text(ms: int) -> str:
    """A time since the beginning: +0.250, +01:10.000, +3d 00:00:10.250."""
    sign, ms = ("-", -ms) if ms < 0 else ("+", ms)
    seconds = f"{ms % MINUTE_MS / 1000:06.3f}"
    if ms >= DAY_MS:
        return f"{sign}{ms // DAY_MS}d {ms % DAY_MS // HOUR_MS:02}:{ms % HOUR_MS // MINUTE_MS:02}:{seconds}"
    return f"{sign}{ms // HOUR_MS:02}:{ms % HOUR_MS // MINUTE_MS:02}:{seconds}"


class _Writer:
    """Makes the lines of one play, in one pass: names of ids are given in the order in which they appear."""

    def __init__(self, scenario: Scenario, happenings: Sequence[Happening], start_wall_ms: int) -> None:
        self._happenings = happenings
        self._file = scenario.path
        self._start_wall_ms = start_wall_ms
        self._meaning = Meaning(start_wall_ms)
        self._time_width = max((len(time_text(each.at_ms)) for each in happenings), default=0)
        places = [_place_text(each.step.place, self._file) for each in happenings if isinstance(each, StepBegan)]
        self._place_width = max(map(len, places), default=0)
        self._shown_ms: int | None = None

    def lines(self) -> list[str]:
        """All lines. Heartbeats that are the same as the one before are counted: members of groups send many."""
        lines: list[str] = []
        quiet: dict[str, _Heartbeats] = {}
        rest = iter([*zip(self._happenings, [*self._happenings[1:], None], strict=False)])
        for happening, following in rest:
            if (beat := _heartbeat(happening, following)) is None:
                lines += self._counted(quiet)
                lines += self._of(happening)
                continue
            next(rest)  # its answer
            if beat.actor in quiet and quiet[beat.actor].says == beat.says:
                quiet[beat.actor] = beat._replace(times=quiet[beat.actor].times + 1)
            else:
                if beat.actor in quiet:
                    lines += self._counted(quiet)
                quiet[beat.actor] = beat
                lines += (*self._of(happening), *self._of(beat.answer))
        return [*lines, *self._counted(quiet)]

    def _counted(self, quiet: "dict[str, _Heartbeats]") -> list[str]:
        """A line for each actor that has sent more of the same; it begins anew."""
        lines: list[str] = []
        for beats in sorted(quiet.values(), key=lambda each: each.answer.at_ms):
            if beats.times > 1:
                more = beats.times - 1
                what = f"{beats.actor} heartbeats {more} more time{'s' if more > 1 else ''}"
                lines += self._tell(beats.answer, what, "ok")
        quiet.clear()
        return lines

    @singledispatchmethod
    def _of(self, happening: Happening) -> Iterator[str]:  # noqa: ARG002
        return iter(())

    @_of.register
    def _(self, happening: StepBegan) -> Iterator[str]:
        step = happening.step
        if step.note:
            indent = " " * (self._time_width + self._place_width + 4)
            yield from ("", *_wrapped(f"# {' '.join(step.note.split())}", indent, f"{indent}# "))
        yield from self._put(happening, step.text, _place_text(step.place, self._file))

    @_of.register
    def _(self, happening: Sent) -> Iterator[str]:
        request = self._meaning.shown(happening.request, self._wall_ms(happening))
        what = f"{happening.actor} -> {happening.api} v{happening.version}"
        yield from self._tell(happening, what, request_text(happening.api, happening.version, request))

    @_of.register
    def _(self, happening: Received) -> Iterator[str]:
        what = f"{happening.actor} <- {happening.api}"
        if happening.waited_ms:
            what += f" after {_waited(happening.waited_ms)}"
        if happening.response is None:
            yield from self._tell(happening, what, f"no answer: {self._meaning.text(happening.why or 'none is sent')}")
            return
        answer = self._meaning.shown(happening.response, self._wall_ms(happening))
        yield from self._tell(happening, what, answer_text(happening.api, happening.version, answer))

    @_of.register
    def _(self, happening: BrokerEvent) -> Iterator[str]:
        event = happening.event
        if isinstance(event, NOT_IN_STORY):
            return
        yield from self._tell(happening, self._meaning.text(_event_text(event)), "")

    @_of.register
    def _(self, happening: Gave) -> Iterator[str]:
        if happening.value is not None:
            value = self._meaning.shown(happening.value, self._wall_ms(happening))
            shown = value_text(self._with_times(value, self._wall_ms(happening)))
            yield from self._tell(happening, "gives", shown, separator=" ")

    @_of.register
    def _(self, happening: Skipped) -> Iterator[str]:
        yield from self._tell(happening, "SKIPPED", happening.why, separator=": ")

    @_of.register
    def _(self, happening: Failed) -> Iterator[str]:
        for problem in happening.problems:
            yield from self._tell(happening, "FAILED", self._meaning.text(problem), separator=": ")

    def _with_times(self, value: Any, now_ms: int) -> Any:
        """Fields of handles that end in _ms are spans or times of day; the latter are shown since the beginning."""
        if isinstance(value, list):
            return [self._with_times(each, now_ms) for each in value]
        if isinstance(value, dict):
            return {
                name: self._meaning.time(each, now_ms)
                if name.endswith("_ms") and type(each) is int and each > START_WALL_MS // 2
                else self._with_times(each, now_ms)
                for name, each in value.items()
            }
        return value

    def _wall_ms(self, happening: Happening) -> int:
        return self._start_wall_ms + happening.at_ms

    def _tell(self, happening: Happening, what: str, text: str, separator: str = "  ") -> Iterator[str]:
        whole = separator.join(part for part in (what, text) if part)
        yield from self._put(happening, "\n".join(f"  {line}" for line in whole.splitlines()), "")

    def _put(self, happening: Happening, text: str, place: str) -> Iterator[str]:
        """Lines with the time at the left, if it is another than that of the line before."""
        is_new = happening.at_ms != self._shown_ms
        self._shown_ms = happening.at_ms
        time = time_text(happening.at_ms) if is_new else ""
        left = f"{time:>{self._time_width}}  {place:>{self._place_width}}  "
        indent = " " * len(left)
        own = len(text) - len(text.lstrip())
        for number, line in enumerate(text.splitlines()):
            first = left if number == 0 else indent
            yield from _wrapped(line, first, f"{indent}{' ' * own}    ")


class _Heartbeats(NamedTuple):
    """Heartbeats of one actor that were answered at once and without an error, each with the same fields."""

    actor: str
    says: tuple[Any, ...]
    answer: Received  # that of the last
    times: int = 1


def _heartbeat(sent: Happening, answer: Happening | None) -> _Heartbeats | None:
    """A heartbeat and its answer, if these are one and all is well."""
    if not (isinstance(sent, Sent) and sent.api == "Heartbeat" and isinstance(answer, Received)):
        return None
    if answer.number != sent.number or answer.waited_ms or answer.response is None or answer.response.get("ErrorCode"):
        return None
    return _Heartbeats(sent.actor, (sent.version, sent.request, answer.response), answer)


def _wrapped(text: str, first: str, other: str) -> list[str]:
    """A text on as many lines as it needs. A word that is longer than a line stays whole."""
    text = printable(text, 100_000)
    if text.strip() and len(first) + len(text) <= WIDTH:  # most lines are short, and wrapping takes time
        return [(first + text).rstrip()]
    own = len(text) - len(text.lstrip())
    lines = wrap(
        text.lstrip(),
        WIDTH,
        initial_indent=first + " " * own,
        subsequent_indent=other,
        break_long_words=False,
        break_on_hyphens=False,
    )
    if len(lines) > _MAX_LINES:
        lines = [*lines[:_MAX_LINES], f"{other}... {len(lines) - _MAX_LINES} more lines"]
    return [line.rstrip() for line in lines]


def _place_text(place: SourceLine, file: str) -> str:
    """The line of a step; of one that was included with the name of its file."""
    return str(place.line) if place.file == file else f"{Path(place.file).stem}:{place.line}"


def _event_text(event: Any) -> str:
    match event:
        case Transition() | OffsetsExpired() | GroupEpochBumped() | AssignmentComputed() | MemberTransition():
            return f"group {event_text(event)}"
        case TransactionTransition():
            return f"transaction {event_text(event)}"
        case FaultHit():
            what = f"{event.api} v{event.version} of {event.client_id or '(no client id)'}"
            return f"fault ({event.description}) hits {what}"
        case _:
            return event_text(event)


def _waited(ms: int) -> str:
    return f"{ms} ms" if ms < 1000 else f"{ms / 1000:g} s"


def _ending(happenings: Sequence[Happening], is_over: bool) -> str:
    """How it ended, so that a text that was cut off is seen as such."""
    steps = sum(isinstance(each, StepBegan) for each in happenings)
    counts: Mapping[str, int] = {
        "step": steps,
        "failed": sum(isinstance(each, Failed) for each in happenings),
        "skipped": sum(isinstance(each, Skipped) for each in happenings),
    }
    more = [f"{count} {name}" for name, count in counts.items() if name != "step" and count]
    took = time_text(happenings[-1].at_ms) if happenings else time_text(0)
    return ", ".join(
        [f"{'ended' if is_over else 'goes on'} at {took} after {steps} step{'' if steps == 1 else 's'}", *more]
    )
