"""Random histories, made with the broker itself: what happened, what it wrote down of it, and how it ended.

    history = make_history(seed=7, steps=80)
    history.rows            lines of the journal, as in files
    history.records         every record that was ever appended to `__consumer_offsets`
    history.groups          the groups in the end, as the broker knows them

The same seed and options give the same history, in every process.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast

from fakebroker.broker.core.topics import CONSUMER_OFFSETS
from fakebroker.protocol.records.batch import parse_header, read_records
from fakebroker.protocol.records.offsets_topic import CommittedOffset
from fakebroker.testing.journal.rows import Row, rows_of
from fakebroker.testing.virtual_broker import VirtualBroker
from fakebroker.types import ReleaseName
from tests.support.history_player import HistoryOptions, HistoryPlayer

RETENTION_MINUTES = 10_080  # the default: a week

# Nothing of the log goes: a history is everything that was ever appended.
KEEPS_ALL: Mapping[str, object] = {
    "log.cleaner.enable": False,
    "fakebroker.unread.writes.max.bytes": 1 << 30,
    "offsets.topic.num.partitions": 4,
}


class LogRecord(NamedTuple):
    """A record of `__consumer_offsets`. Those of control batches (markers of transactions) are there, too."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    producer_id: int  # -1 outside of a transaction
    is_control: bool


class GroupEnd(NamedTuple):
    """A group at the end of a history."""

    state: str
    generation: int
    protocol_type: str | None
    members: list[str]
    offsets: dict[tuple[str, int], CommittedOffset]


class History(NamedTuple):
    """What happened: see the fields."""

    seed: int
    run: str
    release: str
    settings: dict[str, object]  # those that were given
    policy: str  # the expiry policy in force
    retention_ms: int
    rows: list[Row]  # the journal
    records: list[LogRecord]  # of each partition in the order of their offsets
    batches: dict[int, list[bytes]]  # the same as the log has them, by partition
    groups: dict[str, GroupEnd]
    log_ends: dict[tuple[str, int], int]  # of ordinary topics
    end_ms: int  # the broker's time of day at the end

    def of_kind(self, kind: str) -> list[Row]:
        """The lines of the journal of one kind."""
        return [row for row in self.rows if row["kind"] == kind]


def make_history(
    seed: int,
    options: HistoryOptions | None = None,
    *,
    as_release: str = "4.3",
    config: Mapping[str, object] | None = None,
    run: str | None = None,
    **changes: Any,
) -> History:
    """Play a random history of `options`, with `changes` of its fields, and tell of it.

    `config` are settings of the broker beside those that keep the whole log; `run` names the run in the journal.
    """
    played = (options or HistoryOptions())._replace(**changes)
    settings = {**KEEPS_ALL, **(config or {})}
    name = run or f"run-{seed}"
    release = cast(ReleaseName, as_release)
    with VirtualBroker(nodes=played.nodes, seed=seed, as_release=release, config=settings) as broker:
        recorder = _Recorder(broker, name)
        player = HistoryPlayer(broker, seed, played, recorder.take)
        player.play()
        recorder.take()
        return recorder.history(seed, as_release, settings)


class _Recorder:
    """Takes what the journal and the log got since it last did: neither forgets anything in between."""

    def __init__(self, broker: VirtualBroker, run: str) -> None:
        self._broker, self._run = broker, run
        self._rows: list[Row] = []
        self._next_seq = 0
        self._batches: dict[int, list[bytes]] = {}
        self._ends: dict[int, int] = {}

    def take(self) -> None:
        """Take what is new."""
        journal = self._broker.journal
        assert journal.forgotten <= self._next_seq, "the journal lost something"
        for entry in journal.entries(since=self._next_seq):
            self._rows += rows_of(entry, self._run)
        self._next_seq = journal.next_seq
        self._broker._call(self._take_batches)

    def _take_batches(self) -> None:
        cluster = self._broker._engine.cluster
        topic = cluster.topics.get(CONSUMER_OFFSETS)
        for partition in topic.partitions if topic is not None else ():
            if not partition.has_log:
                continue
            log, position = partition.log, self._ends.get(partition.index, 0)
            while position < log.log_end_offset:
                found = log.read(position, 1 << 30, log.log_end_offset)
                self._batches.setdefault(partition.index, []).extend(found)
                position = parse_header(found[-1]).last_offset + 1
            self._ends[partition.index] = position

    def history(self, seed: int, as_release: str, settings: dict[str, object]) -> History:
        """The history up to now."""
        broker = self._broker
        node = broker._engine.cluster.nodes[1]
        cleanup_policy = node.settings.get_str("fakebroker.expiry.policy")
        policy = broker._engine.cluster.behaviours.expiry_policy if cleanup_policy == "release" else cleanup_policy
        return History(
            seed,
            self._run,
            as_release,
            settings,
            policy,
            node.settings.get_int("offsets.retention.minutes") * 60_000,
            self._rows,
            [record for index in sorted(self._batches) for record in records_of(index, self._batches[index])],
            {index: self._batches[index] for index in sorted(self._batches)},
            {group.group_id: _group_end(broker, group.group_id) for group in broker.groups},
            {
                (topic.name, index): end
                for topic in broker.topics
                if topic.name != CONSUMER_OFFSETS
                for index, end in topic.end_offsets.items()
            },
            broker.clock.now_ms,
        )


def records_of(partition: int, batches: Iterable[bytes]) -> list[LogRecord]:
    """The records of these batches, with their partition."""
    found = []
    for batch in batches:
        header = parse_header(batch)
        found += [
            LogRecord(
                partition, each.offset, each.timestamp_ms, each.key, each.value, header.producer_id, header.is_control
            )
            for each in read_records(batch)
        ]
    return found


def _group_end(broker: VirtualBroker, group_id: str) -> GroupEnd:
    group = broker.group(group_id)
    protocol_type = group._ask(lambda known: known.protocol_type, None)
    offsets = {(each.topic, each.partition): each for each in group.committed}
    return GroupEnd(group.state, group.generation, protocol_type, [each.member_id for each in group.members], offsets)
