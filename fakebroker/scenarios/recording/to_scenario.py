"""A recorded session as a scenario that people can read and change, and that passes as it is."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from fakebroker.client.requesting import NEWEST_SPOKEN
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.records.record_content import bytes_of, records_of
from fakebroker.protocol.wire.registry import api
from fakebroker.scenarios.recording.exchanges import Exchange, SessionExchanges, exchanges_of
from fakebroker.scenarios.recording.membership import Members, members_of
from fakebroker.scenarios.recording.scenario_text import Made
from fakebroker.scenarios.recording.step_fields import duration_text, record_step
from fakebroker.scenarios.recording.steps import Step, StepMaker
from fakebroker.scenarios.recording.survey import Survey, survey
from fakebroker.testing.recorded_cluster.first_state import accepted_by, settings_of
from fakebroker.testing.recorded_cluster.state import TopicPartition

MAX_STEPS_AT_ONCE = 8
FEWEST_TIMES = 3
Json = Any

LEAST_PAUSE_MS = 20
_COARSE_FROM_MS = 1_000  # pauses from here on are rounded to a tenth of a second
_COARSE_MS, _FINE_MS = 100, 10
_FILLERS_AT_ONCE = 100
MAX_FILLERS = 100_000
OTHERS = "others"  # the actor that makes what was there, and what others produced meanwhile
_OF_NO_INTEREST = re.compile(r"share\.|transaction\.|.*\.replication\.factor$")
_CREATING = frozenset({"CreateTopics", "Metadata"})
_LISTINGS = frozenset({"Metadata", "ListGroups"})
_BY_VERBS = {"JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "Produce", "Fetch"}


def folded(steps: Sequence[Json]) -> list[Json]:
    """The same steps, with `repeat` where the same few come at least three times in a row."""
    found: list[Json] = []
    at = 0
    while at < len(steps):
        size, times = _longest_run(steps, at)
        if times >= FEWEST_TIMES:
            found.append({"repeat": times, "steps": list(steps[at : at + size])})
            at += size * times
        else:
            found.append(steps[at])
            at += 1
    return found


def _longest_run(steps: Sequence[Json], at: int) -> tuple[int, int]:
    """(steps, times) of what repeats from `at` on and covers most; (1, 1) for nothing."""
    best = (1, 1)
    for size in range(1, MAX_STEPS_AT_ONCE + 1):
        window = steps[at : at + size]
        if len(window) < size or any("save" in step for step in window):
            break
        times = 1
        while steps[at + times * size : at + (times + 1) * size] == window:
            times += 1
        if times >= FEWEST_TIMES and size * times > best[0] * best[1]:
            best = (size, times)
    return best


class _Event(NamedTuple):
    """A request that is sent, or an answer that comes later."""

    at_ms: float
    line: int
    is_answer: bool
    exchange: Exchange


def scenario_of(path: str | os.PathLike[str]) -> Made:
    """The scenario of a session file.

    Raises UnreadableFile for a file that is none, and FakebrokerError for an empty one.
    """
    found = survey(path)
    session = exchanges_of(path, found)
    if not session.exchanges:
        raise FakebrokerError(f"{os.fspath(path)}: no client does anything in it that a scenario could have")
    return _Writer(found, session).written(os.path.basename(os.fspath(path)))


class _Writer:
    """Puts the steps of one session in their order."""

    def __init__(self, found: Survey, session: SessionExchanges) -> None:
        self._survey = found
        self._session = session
        self._members: Members = members_of(session.exchanges)
        self._maker = StepMaker(found, self._members)
        self._steps: list[Step] = []
        self._at_ms = 0.0
        self._waiting: dict[int, Exchange] = {}  # held-up exchanges by the line of the request
        self._remarks: list[str] = []
        self._brokers: dict[str, int | None] = {}  # actor -> the broker that it is connected to
        self._closed: dict[str, None] = {}  # actors whose broker stopped
        self._ends: dict[TopicPartition, int] = {}  # where the logs end
        self._placed_already: dict[str, None] = {}
        self._topics_used, self._groups_used = self._used()

    def written(self, name: str) -> Made:
        """The whole scenario."""
        before = list(self._before())
        if self._session.exchanges:
            self._at_ms = self._session.exchanges[0].sent_ms
        outages = self._outages()
        for event in self._events():
            while outages and outages[0][0] < event.line:
                self._stop_or_start(*outages.pop(0))
            self._take(event)
        data: dict[str, Json] = {
            "about": f"What the clients did in the recorded session {name}.",
            "source": f"recorded from {self._survey.upstream}",
            "release": self._release(),
            "profile": "kafka",
        }
        if len(self._survey.node_ids) > 1:
            data["nodes"] = len(self._survey.node_ids)
        if settings := self._settings():
            data["config"] = settings
        if topics := self._topics():
            data["topics"] = topics
        data["actors"] = self._actors(any(OTHERS in str(step) for step in [*before, *self._steps]))
        data["timeline"] = [*before, *folded(self._steps)]
        left_out = [f"left out: {what} ({count})" for what, count in self._session.left_out.items()]
        cut = [self._session.cut] if self._session.cut else []
        return Made(data, [*cut, *self._remarks, *left_out])

    # -- the timeline ----------------------------------------------------------------------------------------------

    def _events(self) -> list[_Event]:
        events = []
        for one in self._session.exchanges:
            has_answer = one.answered_ms is not None and one.answer_line is not None
            if one.api == "Fetch" and has_answer:  # a long poll: what it gives is there when it is answered
                events.append(_Event(one.answered_ms or 0, one.answer_line or 0, False, one))
                continue
            events.append(_Event(one.sent_ms, one.line, False, one))
            if one.is_held_up and has_answer:
                events.append(_Event(one.answered_ms or 0, one.answer_line or 0, True, one))
        return sorted(events, key=lambda event: event.line)

    def _outages(self) -> list[tuple[int, str, int]]:
        """(line, what to do with it, broker) for each broker that was away for a time."""
        found = self._survey.outages
        stops = [(line, "stop", broker) for line, broker in found.stops.items()]
        return sorted(stops + [(line, "start", broker) for line, broker in found.starts.items()])

    def _stop_or_start(self, line: int, verb: str, broker: int) -> None:
        self._pause(self._survey.outages.times_ms[line])
        self._steps.append({"node": f"{verb} {self._survey.node_ids.index(broker) + 1}"})
        if verb == "stop":
            self._closed |= {actor: None for actor, node_id in self._brokers.items() if node_id in (broker, None)}

    def _take(self, event: _Event) -> None:
        one = event.exchange
        if event.is_answer:
            self._answered(one, event.at_ms)
            return
        steps = self._maker.steps_of(one)
        if not steps:
            return
        self._settle(one)
        self._pause(event.at_ms)
        self._catch_up(one)
        if one.actor in self._closed:
            del self._closed[one.actor]
            self._steps.append({one.actor: "connect"})
        self._brokers[one.actor] = one.broker
        if one.api == "Produce":
            self._note_produced(one)
        is_later = one.is_held_up
        for index, step in enumerate(steps):
            if is_later:
                self._waiting[one.line] = one
                self._steps.append({**step, "later": True})
            elif index < len(steps) - 1 or one.answer is None or "expect" in step:
                self._steps.append(step)
            else:
                self._steps.append({**step, **self._seen(one)})
        if one.api in _CREATING:
            self._steps += self._placed(name for name in self._survey.placements if name not in self._survey.topics)

    def _placed(self, names: Iterable[str]) -> Iterator[Step]:
        """In a cluster of several brokers partitions go to where they were."""
        ids = self._survey.node_ids
        if len(ids) == 1:
            return
        for name in names:
            if name in self._placed_already:
                continue
            self._placed_already[name] = None
            for index, (leader, replicas) in self._survey.placements[name].items():
                if leader in replicas and all(node_id in ids for node_id in replicas):
                    numbers = [ids.index(node_id) + 1 for node_id in replicas]
                    yield {"partition": f"reassign {name}-{index}", "replicas": numbers}
                    yield {"partition": f"move_leader {name}-{index}", "to": ids.index(leader) + 1}

    def _seen(self, one: Exchange) -> Step:
        saved = self._maker.saved(one)
        return {"expect": self._maker.expected(one), **({"save": saved} if saved else {})}

    def _answered(self, one: Exchange, at_ms: float) -> None:
        if self._waiting.pop(one.line, None) is not None:
            self._pause(at_ms)
            self._steps.append({one.actor: "answered", **self._seen(one)})

    def _settle(self, one: Exchange) -> None:
        """A request that names members comes after the answers that gave them their ids."""
        for other in list(self._waiting.values()):
            is_named = one.api == "SyncGroup" and other.request.get("GroupId") == one.request.get("GroupId")
            if other.answered_ms is not None and (is_named and other.api == "JoinGroup" and one.request["Assignments"]):
                self._answered(other, other.answered_ms)

    def _pause(self, until_ms: float) -> None:
        """Time passes as it did, rounded; what is rounded away is made up for later."""
        gap_ms = until_ms - self._at_ms
        unit_ms = _COARSE_MS if gap_ms >= _COARSE_FROM_MS else _FINE_MS
        rounded_ms = int(gap_ms / unit_ms + 0.5) * unit_ms
        if rounded_ms < LEAST_PAUSE_MS:
            return
        self._at_ms += rounded_ms
        self._steps.append({"pass": duration_text(rounded_ms)})

    # -- what stands above the timeline ------------------------------------------------------------------------------

    def _release(self) -> str:
        return ".".join((self._survey.release or "4.3").split(".")[:2])

    def _settings(self) -> dict[str, str]:
        return {name: value for name, value in settings_of(self._survey).items() if not _OF_NO_INTEREST.match(name)}

    def _used(self) -> tuple[dict[str, None], dict[str, None]]:
        """The topics and groups that the session has to do with."""
        texts: dict[str, None] = {}
        exchanges = self._session.exchanges
        inner = [one.request for one in exchanges] + [one.answer for one in exchanges if one.api not in _LISTINGS]
        for each in inner:
            if isinstance(each, dict):
                name = self._survey.topic_name(each)
                texts |= dict.fromkeys([name] if name else [])
                inner += each.values()
            elif isinstance(each, list):
                inner += each
            elif isinstance(each, str):
                texts[each] = None
        groups = {group_id for group_id, _, _ in self._survey.commits}
        topics = {name: None for name in self._survey.topics if name in texts}
        return topics, {name: None for name in texts if name in groups}

    def _topics(self) -> dict[str, Json]:
        topics: dict[str, Json] = {}
        for name, topic in self._survey.topics.items():
            if name not in self._topics_used:
                continue
            topics[name] = {"partitions": topic.partitions}
            if config := accepted_by(settings_of(self._survey), topic.config):
                topics[name]["config"] = config
        return topics

    def _actors(self, has_before: bool) -> dict[str, Json]:
        actors: dict[str, Json] = {OTHERS: {}} if has_before else {}
        for one in self._session.exchanges:
            actor = actors.setdefault(one.actor, {})
            if one.client is not None and one.client != one.actor:
                actor["client_id"] = one.client
            if one.broker is not None and len(self._survey.node_ids) > 1:
                actor.setdefault("node", self._survey.node_ids.index(one.broker) + 1)
            if one.api in _BY_VERBS and (self._members.by_verbs[one.actor] or one.api in ("Produce", "Fetch")):
                version = min(one.version, NEWEST_SPOKEN.get(api(one.api).key, one.version))
                actor.setdefault("versions", {})[one.api] = version
        return actors

    # -- what was there before -----------------------------------------------------------------------------------------

    def _before(self) -> Iterator[Step]:
        if len(self._survey.node_ids) > 1:
            for group_id, node_id in self._survey.coordinators.items():
                yield {"coordinator": f"move {group_id}", "to": self._survey.node_ids.index(node_id) + 1}
        yield from self._placed(self._topics_used)
        for place, log in self._survey.logs.items():
            if place[0] in self._topics_used and log.end:
                yield from self._log_before(place)
        commits: dict[str, dict[str, int]] = {}
        for (group_id, topic, index), commit in self._survey.commits.items():
            if group_id not in self._groups_used or topic not in self._topics_used:
                continue
            commits.setdefault(group_id, {})[f"{topic}-{index}"] = commit.offset
        for group_id, offsets in commits.items():
            yield {OTHERS: "commit", "offsets": offsets, "group_id": group_id, "expect": {"error": "NONE"}}

    def _log_before(self, place: TopicPartition) -> Iterator[Step]:
        """Records up to where the log ended; those that somebody read as they were."""
        log = self._survey.logs[place]
        end = log.end or 0
        if end > MAX_FILLERS:
            self._remarks.append(f"{place[0]}-{place[1]} had {end} records before the session, which are left out")
            return
        yield from self._by_others(place, 0, end, with_fillers=True)
        if log.start:
            yield {"topic": f"advance_log_start {place[0]}", "offset": log.start, "partition": place[1]}

    def _by_others(self, place: TopicPartition, start: int, end: int, *, with_fillers: bool) -> Iterator[Step]:
        """Records of others from `start` to `end`: as they were where somebody read them, others in between."""
        name = f"{place[0]}-{place[1]}"
        batches = self._survey.logs[place].batches
        at = start
        for base_offset in [*sorted(base for base in batches if start <= base < end), end]:
            if base_offset > at:
                if not with_fillers:
                    break
                yield from _fillers(name, base_offset - at)
                at = base_offset
            records = records_of(batches[base_offset]) if base_offset < end else []
            if records:
                step = {OTHERS: f"produce {name}", "records": [record_step(record) for record in records]}
                yield {**step, "note": "the end of a transaction"} if records[0].is_control else step
                at = records[-1].offset + 1
        self._ends[place] = at

    def _catch_up(self, one: Exchange) -> None:
        """Before what somebody produces or reads comes what others had produced until then."""
        bases = self._survey.bases.get(one.line, {}) if one.api == "Produce" else {}
        for place, base_offset in bases.items():
            self._others_until(place, base_offset, with_fillers=True)
        for topic in (one.answer or {}).get("Responses", ()) if one.api == "Fetch" else ():
            name = self._survey.topic_name(topic)
            for each in topic["Partitions"]:
                self._others_until((name or "", each["PartitionIndex"]), each["HighWatermark"], with_fillers=False)

    def _others_until(self, place: TopicPartition, end: int, *, with_fillers: bool) -> None:
        at = self._ends.get(place, 0)
        if at < end and place in self._survey.logs and not (with_fillers and end - at > MAX_FILLERS):
            self._steps += self._by_others(place, at, end, with_fillers=with_fillers)

    def _note_produced(self, one: Exchange) -> None:
        """Where the logs end after a Produce."""
        for topic in one.request["TopicData"]:
            for each in topic["PartitionData"]:
                place = (self._survey.topic_name(topic) or "", each["Index"])
                base_offset = self._survey.bases.get(one.line, {}).get(place, -1)
                if base_offset < 0 and one.request["Acks"] == 0:  # nobody has read it: it went to the end
                    base_offset = self._ends.get(place, 0)
                if base_offset >= 0:
                    self._ends[place] = base_offset + len(records_of(bytes_of(each["Records"]) or b""))


def _fillers(name: str, count: int) -> Iterator[Step]:
    def produce(records: int) -> Step:
        return {OTHERS: f"produce {name}", "records": ["filler"] * records}

    times, rest = divmod(count, _FILLERS_AT_ONCE)
    if times:
        yield {"repeat": times, "steps": [produce(_FILLERS_AT_ONCE)]}
    if rest:
        yield produce(rest)
