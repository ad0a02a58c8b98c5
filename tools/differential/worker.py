"""One chapter played for as many steps as asked for: histories, the differences found, each shrunk."""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import seed as with_seed
from hypothesis import strategies as st

from fakebroker.client.cluster.cluster_client import ClusterClient
from fakebroker.protocol.errors import Unavailable, WireError
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.wire.registry import APIS
from tools.differential.agreed import is_agreed
from tools.differential.brokers import Running, running
from tools.differential.chapters import CHAPTERS, Action, Chapter
from tools.differential.chapters.chapter import BITS
from tools.differential.pair import Asked, Differs, Exchange, History, Pair, Restart
from tools.differential.recording import recording
from tools.differential.shrinking import shrunk
from tools.differential.topic import NewTopics, Topic
from tools.differential.warming import warm

NOT_SERVED = "not served by both"
HISTORIES_A_ROUND = 40
SHRINK_S = 45
SHRINK_RESTARTS_S = 240
NODE = 1  # which is restarted
TRIES = 2  # before a difference counts as one that does not come again
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
    names: tuple[str, str]  # of both, as they were asked for
    broker: str  # the name of the reference, with its release; "" if that is not known
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


@dataclass
class _Played:
    """A history that was played."""

    actions: Sequence[Action]
    topics: Sequence[Topic]
    history: History
    difference: Differs | None = None


class Worker:
    """Plays histories of one chapter on a reference and a subject, each history with names of its own."""

    def __init__(self, part: Part) -> None:
        self.result = Result(part.chapter)
        self._part = part
        self._chapter = CHAPTERS[part.chapter]
        self._prefix = f"{part.chapter.replace(' ', '')}-{part.tag}{part.seed}"
        self._number = 0
        self._known: set[str] = set()  # kinds of differences
        self._versions: Mapping[str, range] = {}
        self._brokers: dict[Address, dict[str, range]] = {}  # what each serves
        self._shared: list[Topic] = []
        self._own: list[Running] = []  # brokers of a part that restarts them

    def play(self) -> Result:
        """Play about so many steps; a broker that is gone ends it."""
        try:
            with ExitStack() as stack:
                if self._chapter.restarts:
                    self._use_own_brokers(stack)
                self._play()
        except (OSError, Unavailable) as error:
            self.result.why_not = f"not to its end: {error}"
        return self.result

    def _use_own_brokers(self, stack: ExitStack) -> None:
        """Start a pair for this part: the others would lose their connections."""
        reference, subject = (stack.enter_context(running(name, is_restarted=True)) for name in self._part.names)
        self._part = replace(self._part, reference=reference.address, subject=subject.address)
        self._own = [reference, subject]
        self._warm()

    def _warm(self) -> None:
        for broker in self._own:
            warm(broker.address, common_versions(broker.address))

    def _restart(self, how: Restart) -> None:
        for broker in self._own:
            assert broker.control is not None
            broker.control(how.action, NODE)
            broker.control("restart", NODE)
        self._warm()

    def _play(self) -> None:
        part = self._part
        self._brokers = {address: common_versions(address) for address in (part.reference, part.subject)}
        self._versions = common_versions(part.reference, part.subject)
        missing = [api for api in self._chapter.needs if api not in self._versions]
        if missing:
            self.result.why_not = f"{', '.join(missing)} {NOT_SERVED}"
            return
        for number in range(part.steps):
            if self.result.steps >= part.steps or len(self.result.differences) >= MOST_DIFFERENCES:
                break
            self._round(part.seed * 1000 + number)

    def _round(self, seed: int) -> None:
        """Play until a difference is found, or the histories of a round are done; then shrink what was found."""
        self._shared = [] if self._chapter.own_topics else self._new_topics()
        longest = self._chapter.longest
        names = [name for name, times in self._chapter.actions.items() for _ in range(times)]
        found: list[_Played] = []

        @with_seed(seed)
        @settings(
            max_examples=HISTORIES_A_ROUND, database=None, deadline=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck), verbosity=Verbosity.quiet,
        )  # fmt: skip
        @given(st.lists(st.tuples(st.sampled_from(names), _NUMBER, _NUMBER), min_size=longest // 2, max_size=longest))
        def histories(actions: list[Action]) -> None:
            if not found and self.result.steps < self._part.steps:
                played = self._counted(actions)
                if played.difference is not None:
                    found.append(played)

        histories()
        for each in found:
            self._shrink(each)

    def _counted(self, actions: Sequence[Action]) -> "_Played":
        """Play a history that counts. A difference that is known or meant is none."""
        played = self._played(actions)
        self.result.histories += 1
        self.result.steps += played.history.steps
        if played.difference is not None and is_agreed(str(played.difference)):
            self.result.agreed += 1
            played.difference = None
        elif played.difference is not None and played.difference.kind in self._known:
            played.difference = None
        return played

    def _shrink(self, first: "_Played") -> None:
        """Find a short history with the same difference, and write it; of one that does not come again, the first."""
        assert first.difference is not None
        kind, last = first.difference.kind, first
        end_s = time.monotonic() + (SHRINK_RESTARTS_S if self._chapter.restarts else SHRINK_S)

        def shows(actions: list[Action]) -> bool:
            nonlocal last
            played = self._played(actions)
            if played.difference is None or played.difference.kind != kind:
                return False
            last = played
            return True

        if any(shows(list(first.actions)) for _ in range(TRIES)):
            shrunk(first.actions, shows, lambda: time.monotonic() > end_s)
            self._known.add(kind)
            self.result.differences.append(self._written(last, len(self.result.differences) + 1))
        else:
            self.result.once.append(self._written(first, f"once-{len(self.result.once) + 1}"))

    def _played(self, actions: Sequence[Action]) -> "_Played":
        """Play a history, with names of its own."""
        self._number += 1
        topics = self._new_topics() if self._chapter.own_topics else self._shared
        chapter = self._chapter(f"{self._prefix}-{self._number}", topics, self._versions)
        pair = self._pair(topics)
        played = _Played(actions, topics, pair.history)
        try:
            for asked in chapter.first():
                self._note(chapter, pair.ask(asked))
            for action in actions:
                self._take(pair, chapter, action)
        except Differs as difference:
            played.difference = difference
        finally:
            pair.close_all()
        return played

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
            case Restart():
                pair.restart(step)

    @staticmethod
    def _note(chapter: Chapter, ended: Sequence[Exchange]) -> None:
        for exchange in ended:
            chapter.note(exchange)

    def _pair(self, topics: Sequence[Topic]) -> Pair:
        pair = Pair(self._part.reference, self._part.subject, self._restart)
        for topic in topics:
            if topic.topic_id:
                pair.know_topic(topic.topic_id, topic.subject_id)
        return pair

    def _new_topics(self) -> list[Topic]:
        """Topics on both brokers."""
        chapter = self._chapter
        if not chapter.topic_count:
            return []
        self._number += 1
        names = [f"{self._prefix}-{self._number}t{number}" for number in range(chapter.topic_count)]
        new = NewTopics(names, chapter.partitions, chapter.topic_configs)
        ids = (new.make(address, served) for address, served in self._brokers.items())
        return [Topic(*each) for each in zip(names, *ids, strict=True)]

    def _written(self, played: "_Played", number: int | str) -> Found:
        """Write a history with a difference as a dialogue."""
        difference, name = played.difference, f"{self._prefix}-{number}"
        assert difference is not None
        path = self._part.out / f"{name}.jsonl"
        head: dict[str, Any] = {"name": name, "about": str(difference).replace("\n", " ")}
        if self._part.broker:
            head |= {"broker": self._part.broker, "config": dict(self._part.config)}
        new_topic = {"partitions": self._chapter.partitions, "config": dict(self._chapter.topic_configs)}
        path.write_bytes(recording(head, self._prefix, played.topics, new_topic, played.history))
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
