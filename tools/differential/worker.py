"""One chapter played for as many steps as asked for: histories, the differences found, each shrunk."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import seed as with_seed
from hypothesis import strategies as st
from hypothesis.errors import FlakyFailure

from fakebroker.client.cluster.cluster_client import ClusterClient
from fakebroker.protocol.errors import WireError
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.wire.registry import APIS
from tools.differential.agreed import is_agreed
from tools.differential.chapters import CHAPTERS, Action, Chapter
from tools.differential.chapters.chapter import BITS
from tools.differential.pair import Asked, Differs, Exchange, History, Pair
from tools.differential.recording import recording
from tools.differential.topic import Topic

HISTORIES_A_ROUND = 40
SHRINK_S = 45
MOST_DIFFERENCES = 8  # of a part
_NUMBER = st.integers(0, (1 << BITS) - 1)


@dataclass(frozen=True)
class Part:
    """What one process plays: a chapter with a seed of its own, which is a part of its names."""

    chapter: str
    tag: str  # makes names that the brokers have not seen
    seed: int
    steps: int
    reference: Address
    subject: Address
    broker: str  # the name of the reference, with its release
    config: tuple[tuple[str, str], ...]  # its settings
    out: Path


@dataclass
class Found:
    """A difference: its kind, what was answered, and the file with the shortest history that shows it."""

    kind: str
    text: str
    file: str


@dataclass
class Result:
    """What came of a part.

    Attributes:
        once: Differences that did not come again when their history was played again.
        agreed: How many histories ended with a difference that is meant.
        why_not: Why it was not played.
    """

    chapter: str
    steps: int = 0
    histories: int = 0
    differences: list[Found] = field(default_factory=list)
    once: list[Found] = field(default_factory=list)
    agreed: int = 0
    why_not: str = ""


class Worker:
    """Plays histories of one chapter on a reference and a subject, each history with names of its own."""

    def __init__(self, part: Part) -> None:
        self.result = Result(part.chapter)
        self._part = part
        self._chapter = CHAPTERS[part.chapter]
        self._prefix = f"{part.chapter.replace(' ', '')}-{part.tag}{part.seed}"
        self._number = 0
        self._found: Differs | None = None  # in this round: from then on histories are shrunk, and no longer counted
        self._known: set[str] = set()  # kinds of differences
        self._shrink_until_s = 0.0
        self._shortest: list[Action] = []  # the last history that showed the difference
        self._last: tuple[Sequence[Topic], History] = ([], History())
        self._first = self._last  # the history that was to be shrunk
        self._versions: Mapping[str, range] = {}
        self._shared: list[Topic] = []

    def play(self) -> Result:
        """Play about so many steps."""
        part = self._part
        self._versions = common_versions(part.reference, part.subject)
        missing = [api for api in self._chapter.needs if api not in self._versions]
        if missing:
            self.result.why_not = f"{', '.join(missing)} not served by both"
            return self.result
        for number in range(part.steps):
            if self.result.steps >= part.steps or len(self.result.differences) >= MOST_DIFFERENCES:
                break
            self._round(part.seed * 1000 + number)
        return self.result

    def _round(self, seed: int) -> None:
        """Play until a difference is found and shrunk, or the histories of a round are done."""
        self._found = None
        self._shared = [] if self._chapter.own_topics else self._new_topics()
        longest = self._chapter.longest
        actions = [name for name, times in self._chapter.actions.items() for _ in range(times)]

        @with_seed(seed)
        @settings(
            max_examples=HISTORIES_A_ROUND, database=None, deadline=None, phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck), verbosity=Verbosity.quiet, print_blob=False,
            report_multiple_bugs=False,
        )  # fmt: skip
        @given(
            st.lists(
                st.tuples(st.sampled_from(["nothing", *actions]), _NUMBER, _NUMBER),
                min_size=longest // 2,
                max_size=longest,
            )
        )
        def histories(history: list[Action]) -> None:
            if self._found is None and self.result.steps >= self._part.steps:
                return
            if self._found is None or time.monotonic() < self._shrink_until_s or history == self._shortest:
                self._history(history)

        try:
            histories()
        except Differs as difference:
            self._known.add(difference.kind)
            self.result.differences.append(self._written(difference, len(self.result.differences) + 1, self._last))
        except FlakyFailure:
            assert self._found is not None
            self.result.once.append(self._written(self._found, f"once-{len(self.result.once) + 1}", self._first))

    def _history(self, actions: Sequence[Action]) -> None:
        self._number += 1
        topics = self._new_topics() if self._chapter.own_topics else self._shared
        chapter = self._chapter(f"{self._prefix}-{self._number}", topics, self._versions)
        pair = self._pair(topics)
        before, self._last = self._last, (topics, pair.history)
        try:
            for asked in chapter.first():
                self._note(chapter, pair.ask(asked))
            for action in actions:
                self._take(pair, chapter, action)
        except Differs as difference:
            if is_agreed(str(difference)):
                self.result.agreed += self._found is None
            elif difference.kind not in self._known:
                if self._found is None or self._found.kind == difference.kind:
                    if self._found is None:
                        self._shrink_until_s = time.monotonic() + SHRINK_S
                        self._first = self._last
                    self._found, self._shortest = difference, list(actions)
                    raise
                self._last = before
        finally:
            if self._found is None:
                self.result.histories += 1
                self.result.steps += pair.history.steps
            pair.close_all()

    def _take(self, pair: Pair, chapter: Chapter, action: Action) -> None:
        step = chapter.read(action)
        match step:
            case Asked() if not pair.is_busy(step.connection):
                try:
                    self._note(chapter, pair.ask(step))
                except WireError:
                    return  # the request does not fit its version: this version has no such value
            case int():
                self._note(chapter, pair.wait(step))
            case str():
                pair.close(step)

    @staticmethod
    def _note(chapter: Chapter, ended: Sequence[Exchange]) -> None:
        for exchange in ended:
            chapter.note(exchange)

    def _pair(self, topics: Sequence[Topic]) -> Pair:
        pair = Pair(self._part.reference, self._part.subject)
        for topic in topics:
            if topic.topic_id:
                pair.know_topic(topic.topic_id, topic.subject_id)
        return pair

    def _new_topics(self) -> list[Topic]:
        """Topics on both brokers, in order and with leaders."""
        if not self._chapter.topic_count:
            return []
        self._number += 1
        names = [f"{self._prefix}-{self._number}t{number}" for number in range(self._chapter.topic_count)]
        count = self._chapter.partitions
        configs = [{"Name": name, "Value": value} for name, value in self._chapter.topic_configs.items()]
        new = [
            {"Name": name, "NumPartitions": count, "ReplicationFactor": 1, "Assignments": [], "Configs": configs}
            for name in names
        ]
        rows = [{"PartitionIndex": index, "Timestamp": -1} for index in range(count)]
        listed = [{"Name": name, "Partitions": rows} for name in names]
        pair = Pair(self._part.reference, self._part.subject)
        try:
            pair.ask(
                Asked("t", "CreateTopics", min(7, self._newest("CreateTopics")), {"Topics": new, "timeoutMs": 9_000})
            )
            pair.ask(
                Asked("t", "ListOffsets", min(4, self._newest("ListOffsets")), {"ReplicaId": -1, "Topics": listed})
            )
            asked = Asked("t", "Metadata", self._newest("Metadata"), {"Topics": [{"Name": name} for name in names]})
            (exchange,) = pair.ask(asked)
            ids = {each["Name"]: each.get("TopicId", "") for each in exchange.answer["Topics"]}
            return [Topic(name, ids[name], pair.subject_topic_id(ids[name])) for name in names]
        finally:
            pair.close_all()

    def _newest(self, api: str) -> int:
        return self._versions[api][-1]

    def _written(self, difference: Differs, number: int | str, what: tuple[Sequence[Topic], History]) -> Found:
        """Write a history as a dialogue."""
        topics, history = what
        name = f"{self._prefix}-{number}"
        path = self._part.out / f"{name}.jsonl"
        head: dict[str, Any] = {"name": name, "about": str(difference).replace("\n", " "), "broker": self._part.broker}
        head["config"] = dict(self._part.config)
        new_topic = {"partitions": self._chapter.partitions, "config": dict(self._chapter.topic_configs)}
        path.write_bytes(recording(head, self._prefix, topics, new_topic, history))
        return Found(difference.kind, str(difference), str(path))


def common_versions(*brokers: Address) -> dict[str, range]:
    """The versions of each API that all these brokers serve, and this package speaks."""
    served = {key: (spec.min, spec.max) for key, spec in APIS.items()}
    for address in brokers:
        with ClusterClient(str(address), retries=0) as cluster:
            theirs = cluster.versions()
        served = {
            key: (max(low, theirs[key][0]), min(high, theirs[key][1]))
            for key, (low, high) in served.items()
            if key in theirs
        }
    return {APIS[key].name: range(low, high + 1) for key, (low, high) in served.items() if low <= high}
