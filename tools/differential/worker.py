"""One chapter played for as many steps as asked for: histories, the differences found, each shrunk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import seed as with_seed
from hypothesis import strategies as st
from hypothesis.errors import FlakyFailure

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.listeners import Address
from tools.differential.agreed import is_agreed
from tools.differential.chapters import CHAPTERS, Action
from tools.differential.pair import Asked, Differs, Exchange, Pair
from tools.differential.recording import recording

LONGEST = 40  # actions of a history
MOST_DIFFERENCES = 5  # of a chapter: the next ones are often the same
_CHOICE = st.integers(0, 7)


@dataclass
class Found:
    """A difference: what was answered, and the file with the shortest history that shows it."""

    text: str
    file: str


@dataclass
class Result:
    """What came of a chapter. `not_again` are differences that did not come again when they were played again."""

    chapter: str
    steps: int = 0
    histories: int = 0
    differences: list[Found] = field(default_factory=list)
    not_again: list[str] = field(default_factory=list)
    why_not: str = ""  # why it was not played


class Worker:
    """Plays histories of one chapter on a reference and a subject, each history with names of its own."""

    def __init__(self, chapter: str, reference: Address, subject: Address, seed: int, out: Path) -> None:
        self.result = Result(chapter)
        self._chapter = CHAPTERS[chapter]
        self._brokers = reference, subject
        self._seed, self._out = seed, out
        self._prefix = f"{chapter.replace(' ', '')}-{seed}"
        self._number = 0
        self._has_failed = False
        self._last: tuple[list[str], list[Exchange]] = ([], [])

    def play(self, steps: int) -> Result:
        """Play about so many steps."""
        versions = self._versions()
        missing = [api for api in self._chapter.needs if api not in versions]
        if missing:
            self.result.why_not = f"{', '.join(missing)} not served by both"
            return self.result
        shared = [self._new_topic() for _ in range(2)]
        for round_number in range(1000):
            if self.result.steps >= steps or len(self.result.differences) >= MOST_DIFFERENCES:
                break
            self._round(steps, self._seed * 1000 + round_number, versions, shared)
        return self.result

    def _round(self, steps: int, seed: int, versions: Mapping[str, range], shared: list[str]) -> None:
        """Play until a difference is found and shrunk, or the steps are done."""
        self._has_failed = False

        @with_seed(seed)
        @settings(
            max_examples=60, database=None, deadline=None, phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck), verbosity=Verbosity.quiet, print_blob=False,
            report_multiple_bugs=False,
        )  # fmt: skip
        @given(st.lists(st.tuples(st.sampled_from(self._chapter.actions), _CHOICE, _CHOICE, _CHOICE), max_size=LONGEST))
        def histories(actions: list[Action]) -> None:
            if self._has_failed or self.result.steps < steps:
                self._history(actions, versions, shared)

        try:
            histories()
        except Differs as difference:
            self._write(str(difference))
        except FlakyFailure as error:
            self.result.not_again.append(str(error.exceptions[0])[:2000])

    def _history(self, actions: Sequence[Action], versions: Mapping[str, range], shared: list[str]) -> None:
        self._number += 1
        topics = [self._new_topic()] if self._chapter.own_topics else shared
        chapter = self._chapter(f"{self._prefix}-{self._number}", topics, [], dict(versions))
        pair = Pair(*self._brokers)
        self._last = topics, pair.exchanges
        try:
            for action in actions:
                self._take(pair, chapter, action)
        except Differs as difference:
            if is_agreed(str(difference)):
                return
            self._has_failed = True
            raise
        finally:
            if not self._has_failed:
                self.result.histories += 1
                self.result.steps += len(pair.exchanges)
            pair.close_all()

    def _take(self, pair: Pair, chapter: Any, action: Action) -> None:
        step = chapter.read(action)
        try:
            match step:
                case Asked() if not pair.is_busy(step.connection):
                    ended = pair.ask(step)
                case int():
                    ended = pair.wait(step)
                case str():
                    pair.close(step)
                    return
                case _:
                    return
        except WireError:
            return  # the request does not fit its version: a field that this version cannot leave at another value
        for exchange in ended:
            chapter.note(exchange)

    def _new_topic(self) -> str:
        """A topic of two partitions on both brokers, in order and with leaders."""
        self._number += 1
        name = f"{self._prefix}-t{self._number}"
        topic = {"Name": name, "NumPartitions": 2, "ReplicationFactor": 1, "Assignments": [], "Configs": []}
        row = [{"PartitionIndex": index, "Timestamp": -1} for index in (0, 1)]
        pair = Pair(*self._brokers)
        try:
            pair.ask(Asked("t", "CreateTopics", 4, {"Topics": [topic], "timeoutMs": 10_000}))
            pair.ask(Asked("t", "ListOffsets", 4, {"ReplicaId": -1, "Topics": [{"Name": name, "Partitions": row}]}))
        finally:
            pair.close_all()
        return name

    def _versions(self) -> dict[str, range]:
        """The versions that both brokers serve, by API."""
        return common_versions(*self._brokers)

    def _write(self, text: str) -> None:
        topics, exchanges = self._last
        name = f"{self._prefix}-{len(self.result.differences) + 1}"
        path = self._out / f"{name}.jsonl"
        path.write_text(recording(name, text.partition("\n")[0], "Kafka 4.3.1", topics, exchanges))
        self.result.differences.append(Found(text, str(path)))


def common_versions(*brokers: Address) -> dict[str, range]:
    """The versions of each API that all these brokers serve, and this package speaks."""
    from fakebroker.client.connection import ClientConnection
    from fakebroker.client.scripted.tcp_driver import TcpDriver
    from fakebroker.protocol.wire.messages.api_versions import ApiVersionsRequest
    from fakebroker.protocol.wire.registry import APIS

    served = {key: (spec.min, spec.max) for key, spec in APIS.items()}
    for address in brokers:
        driver, client = TcpDriver(*address), ClientConnection("differential")
        driver.open(client)
        pending = client.send(ApiVersionsRequest(), 0)
        driver.flush(client)
        driver.pass_time(10_000, lambda one=pending: one.is_done)  # type: ignore[misc]
        listed: Any = pending.result()
        driver.close_all()
        theirs = {each.api_key: (each.min_version, each.max_version) for each in listed.api_keys}
        served = {
            key: (max(low, theirs[key][0]), min(high, theirs[key][1]))
            for key, (low, high) in served.items()
            if key in theirs
        }
    return {APIS[key].name: range(low, high + 1) for key, (low, high) in served.items() if low <= high}
