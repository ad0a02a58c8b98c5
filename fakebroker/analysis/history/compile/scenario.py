"""The scenario of a window: what stands above the timeline, and the timeline."""

from typing import Any, NamedTuple

from fakebroker.analysis.history.compile.anonymise import HashedNames, Names
from fakebroker.analysis.history.compile.happened import Settled, Window
from fakebroker.analysis.history.compile.producers import LONGEST_MS
from fakebroker.analysis.history.compile.retention import Retention, longer, retention_of
from fakebroker.analysis.history.compile.story import Story, window_text
from fakebroker.analysis.history.compile.timeline import ADMIN
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.scenarios.recording.scenario_text import Made, ScenarioText, failures_of, text_of

Json = Any

_LEAST_SESSION, _MAX_SESSION = "group.min.session.timeout.ms", "group.max.session.timeout.ms"
_LEAST_MS, _MAX_MS = 6_000, 1_800_000  # Kafka's defaults
_OF_KIND = {
    False: {"group.initial.rebalance.delay.ms": 0},
    True: {"group.consumer.assignment.interval.ms": 0},
}
"""By whether it is a consumer group: what happens at one moment in the history does so here."""


class Options(NamedTuple):
    """How a scenario is compiled. `config` are broker settings that are known to have been in force."""

    release: str = "4.3"
    config: tuple[tuple[str, str], ...] = ()
    keeps_commits: bool = False


class Compiled(NamedTuple):
    """A scenario's text; what of it does not hold, a sentence each; how many steps it has."""

    text: str
    problems: list[str]
    steps: int


def compiled(window: Window, names: Names, options: Options = Options()) -> Compiled:
    """The window as a scenario, which was played once.

    Where the history does not tell the retention, and offsets that it keeps expire in the play, a longer retention is
    taken. Raises FakebrokerError for a scenario that is too long to be read, and for names that hash alike.
    """
    retention = retention_of(window, dict(options.config))
    found = _scenario_text(window, names, options, retention)
    failed = failures_of(found.text, "incident.yaml")
    is_known = window.retentions_ms or dict(options.config).get("offsets.retention.minutes")
    if failed and not is_known:
        begins_ms = Story(window, names, retention, keeps_commits=True).begins_ms
        other = _scenario_text(window, names, options, longer(retention, window, begins_ms))
        other_failed = failures_of(other.text, "incident.yaml")
        if len(other_failed) < len(failed):
            found, failed = other, other_failed
    problems = [f"line {line}: {problem}" for line, each in failed.items() for problem in each]
    return Compiled(found.text, problems, len(found.steps))


def _scenario_text(window: Window, names: Names, options: Options, retention: Retention) -> ScenarioText:
    story = Story(window, names, retention, keeps_commits=options.keeps_commits, release=options.release)
    story.tell()
    group = names.name("group", window.group_id)
    actors = dict(story.rounds.actors) | dict(story.transactions.actors)
    if story.line.used_admin:
        actors[ADMIN] = {}
    data: dict[str, Json] = {
        "about": f"Group {group} from {window_text(window)}, compiled from its history.".replace("$", ""),
        "release": options.release,
        "profile": "kafka",
        "config": {
            **_OF_KIND[window.is_of_consumer_group],
            **_sessions(window),
            **({"transaction.max.timeout.ms": LONGEST_MS} if story.transactions.actors else {}),
            **dict(options.config),
            **retention.config(),
        },
    }
    if window.partitions:
        data["topics"] = {
            story.line.topic(name): {"partitions": partitions} for name, partitions in window.partitions.items()
        }
    if actors:
        data["actors"] = actors
    data["timeline"] = story.line.steps
    heading = "Compiled from the history of a group. `fakebroker scenario run` plays it."
    found = text_of(Made(data, _remarks(window, names, retention, story)), heading)
    if found.is_too_long:
        less = "without every commit, or " if options.keeps_commits else ""
        raise FakebrokerError(
            f"the scenario has {len(found.steps)} steps and exceeds the size limit: try {less}with a shorter window"
        )
    return found


def _sessions(window: Window) -> dict[str, int]:
    """The limits of session timeouts, where members had others than Kafka's defaults allow."""
    states = [window.settled, *window.events]
    known = [
        member.session_timeout_ms
        for state in states
        if isinstance(state, Settled)
        for member in state.members
        if member.session_timeout_ms
    ]
    found = {}
    if known and min(known) < _LEAST_MS:
        found[_LEAST_SESSION] = min(known)
    if known and max(known) > _MAX_MS:
        found[_MAX_SESSION] = max(known)
    return found


_AT_ITS_END = "A rebalance happens at one moment here, its end; the order in which members joined is unknown."
_ASSIGNED = "The broker assigns the partitions: who has which may differ from the history, and so may group epochs."


def _remarks(window: Window, names: Names, retention: Retention, story: Story) -> list[str]:
    remarks = [
        f"Retention: {retention.why}. Times, offsets, numbers of partitions and members are those of the history.",
        "Left out: leader epochs, heartbeats, the records of topics, unfinished rebalances.",
        _ASSIGNED if window.is_of_consumer_group else _AT_ITS_END,
        "The state before the window is restored by commits at their times, and by members that join at its start.",
    ]
    if window.is_from_log:
        remarks.append("A log does not distinguish members that left from those that timed out: here all leave.")
        remarks.append("It does not name the committing member: here it is the owner of the partition.")
    if window.transactional:
        remarks.append(
            "Offsets of transactions that began before the window are committed without one, when the transaction was."
        )
    if isinstance(names, HashedNames):
        remarks.append("Names of groups, topics, members and clients and the texts beside offsets are hashed.")
    return [*remarks, *story.remarks]
