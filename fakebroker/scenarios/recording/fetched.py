"""Fetch answers by meaning: the records that consumers read, however the answers cut them.

How many records an answer of a long poll carries, and which partitions an incremental one names, depends on when the
broker looked. So records are compared by offset, whichever answers they came in; what only one side has delivered so
far waits here for the other.
"""

from collections.abc import Callable, Container, Generator, Iterator, Mapping
from typing import Any, NamedTuple

from fakebroker.protocol.records.record_content import ReadRecord, bytes_of, records_of
from fakebroker.scenarios.comparison.matching import Around, Matching, content_of
from fakebroker.scenarios.comparison.walk import Difference, short
from fakebroker.testing.recorded_cluster.state import TopicPartition

Json = Any

MAX_WAITING = 200_000  # records, of both sides together; the oldest are forgotten
CUT = "an answer carries what is there when the broker looks; the same records come in other answers"
NAMED = "an incremental answer names a partition only when something changed since the one before"
TRANSACTIONS = "transactions are not played: which of them are open or aborted is not known here"
GOING = "a topic is deleted one partition after another"
MOVING = "a producer wrote meanwhile"


_POSITIONS = (".HighWatermark", ".LastStableOffset")
_OF_TRANSACTIONS = (".AbortedTransactions", ".LastStableOffset")


class Explained(NamedTuple):
    """A difference, and why it is none by meaning; `reason` None if nothing explains it."""

    difference: Difference
    reason: str | None


class Streams:
    """The records of every partition as two runs delivered them."""

    def __init__(
        self,
        matching: Matching,
        name_of_topic: Callable[[Mapping[str, Json]], str | None],
        transactional: Container[TopicPartition] = (),
    ) -> None:
        self._matching = matching
        self._name_of_topic = name_of_topic
        self._transactional = transactional  # partitions with records of transactions
        self.going: dict[str, None] = {}  # topics that somebody has deleted
        self._recorded: dict[
            tuple[TopicPartition, int], int
        ] = {}  # records that only one side delivered: digests by offset
        self._ours: dict[tuple[TopicPartition, int], int] = {}
        self._our_names: dict[str, str] = {}

    def compare(
        self, recorded: Json, ours: Json, around: Around, is_moving: Callable[[TopicPartition], bool]
    ) -> list[Explained]:
        """What differs between two Fetch answers. `is_moving` says whether somebody was writing to a partition."""
        heads = [{name: value for name, value in answer.items() if name != "Responses"} for answer in (recorded, ours)]
        found = [Explained(each, None) for each in self._matching.differences(heads[0], heads[1], around)]
        theirs = dict(self.partitions_of(recorded))
        mine = dict(self.partitions_of(ours, are_ours=True))
        for place in [*theirs, *(place for place in mine if place not in theirs)]:
            found += self._compare_partition(place, theirs.get(place), mine.get(place), around, is_moving(place))
        return found

    def left(self) -> Iterator[tuple[TopicPartition, int]]:
        """Records that the recorded broker delivered and ours did not: where they are. Ask our log about them."""
        yield from list(self._recorded)

    def meet(self, place: TopicPartition, record: ReadRecord) -> None:
        """A record of our log is what the recorded broker delivered, if it is the same."""
        if self._recorded.get((place, record.offset)) == hash(content_of(record)):
            del self._recorded[place, record.offset]

    def partitions_of(self, answer: Json, *, are_ours: bool = False) -> Iterator[tuple[TopicPartition, Json]]:
        """The partitions of a Fetch answer and where they belong."""
        for topic in answer["Responses"]:
            name = topic.get("Topic")
            if not name:
                topic_id = topic["TopicId"]
                if are_ours:
                    topic_id = self._matching.pairs.recorded("topic", topic_id) or topic_id
                name = self._name_of_topic({"TopicId": topic_id}) or topic_id
            for partition in topic["Partitions"]:
                yield (name, partition["PartitionIndex"]), partition

    def _compare_partition(
        self, place: TopicPartition, recorded: Json, ours: Json, around: Around, is_moving: bool
    ) -> Iterator[Explained]:
        path = f".Responses[{place[0]}].Partitions[{place[1]}]"
        if recorded is None or ours is None:
            yield from self._alone(path, place, recorded, ours)
            return
        if place[0] in self.going and recorded["ErrorCode"] != ours["ErrorCode"]:
            yield Explained(Difference(f"{path}.ErrorCode", str(ours["ErrorCode"]), str(recorded["ErrorCode"])), GOING)
            return
        cut = yield from self._compare_records(path, place, recorded, ours)
        other = [{k: v for k, v in each.items() if k != "Records"} for each in (recorded, ours)]
        for each in self._matching.differences(other[0], other[1], around):
            reason = MOVING if each.path in _POSITIONS and (is_moving or cut) else None
            if place in self._transactional and each.path.startswith(_OF_TRANSACTIONS):
                reason = TRANSACTIONS
            yield Explained(each._replace(path=path + each.path), reason)

    def _alone(self, path: str, place: TopicPartition, recorded: Json, ours: Json) -> Iterator[Explained]:
        """Only one of the answers names the partition."""
        there = recorded if ours is None else ours
        for mine, theirs in self._meet(place, _records(recorded), _records(ours)):
            yield Explained(Difference(path, mine, theirs), None)
        texts = ("not named", short(there)) if ours is None else (short(there), "not named")
        reason = GOING if place[0] in self.going else NAMED if there["ErrorCode"] == 0 else None
        yield Explained(Difference(path, *texts), reason)

    def _compare_records(
        self, path: str, place: TopicPartition, recorded: Json, ours: Json
    ) -> Generator[Explained, None, bool]:
        theirs, mine = _records(recorded), _records(ours)
        wrong = list(self._meet(place, theirs, mine))
        yield from (Explained(Difference(f"{path}.Records", *texts), None) for texts in wrong)
        is_cut = [each.offset for each in theirs] != [each.offset for each in mine]
        if is_cut and not wrong:
            yield Explained(Difference(f"{path}.Records", _span(mine), _span(theirs)), CUT)
        return is_cut

    def _meet(
        self, place: TopicPartition, recorded: list[ReadRecord], ours: list[ReadRecord]
    ) -> Iterator[tuple[str, str]]:
        """Bring together what both sides delivered at the same offsets: (ours, recorded) where that differs."""
        for record in recorded:
            yield from self._met(self._recorded, self._ours, (place, record.offset), record)
        for record in ours:
            for other, mine in self._met(self._ours, self._recorded, (place, record.offset), record):
                yield mine, other
        for waiting in (self._recorded, self._ours):
            while len(waiting) > MAX_WAITING:
                del waiting[next(iter(waiting))]

    def _met(
        self,
        own: dict[tuple[TopicPartition, int], int],
        others: dict[tuple[TopicPartition, int], int],
        key: tuple[TopicPartition, int],
        record: ReadRecord,
    ) -> Iterator[tuple[str, str]]:
        digest = hash(content_of(record))
        other = others.pop(key, None)
        if other is None:
            own[key] = digest
        elif other != digest:
            yield f"another record at offset {record.offset}", _shown(record)


def _records(partition: Json) -> list[ReadRecord]:
    return records_of(bytes_of(partition.get("Records")) or b"") if partition else []


def _span(records: list[ReadRecord]) -> str:
    return f"offsets {records[0].offset} to {records[-1].offset}" if records else "no records"


def _shown(record: ReadRecord) -> str:
    return f"{short(record.key, 40)}: {short(record.value, 80)} at offset {record.offset}"
