"""What one group wrote and reported, for tests of groups whose state comes from records."""

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.coordinator.shard import Shard
from fakebroker.broker.core.events import CoreEvent, MemberTransition, Transition
from fakebroker.protocol.records.batch import read_records
from fakebroker.protocol.records.group_records import GroupRecord
from fakebroker.protocol.records.offsets_codec import read_entry
from fakebroker.protocol.records.offsets_topic import GroupEntry


class GroupLog:
    """The records of a shard's partition, and the events of its cluster, each given once."""

    cluster: Cluster
    _read = 0  # the offset of the first record that was not reported yet

    @property
    def shard(self) -> Shard:
        """The shard of the group."""
        raise NotImplementedError

    def written(self) -> list[list[GroupRecord | GroupEntry]]:
        """The batches of group records written since the last call."""
        batches, end = [], self._read
        for batch in self.shard.partition.log.batches():
            found: list[GroupRecord | GroupEntry] = []
            for record in read_records(batch):
                if record.offset >= self._read:
                    end = record.offset + 1
                    entry = read_entry(record.key, record.value)
                    assert isinstance(entry, GroupRecord | GroupEntry)
                    found.append(entry)
            if found:
                batches.append(found)
        self._read = end
        return batches

    def types(self) -> list[list[str]]:
        """The same, each record as its type and member, a tombstone with a minus: "5 m1", "-8 m1"."""
        return [[_short(record) for record in batch] for batch in self.written()]

    def events(self) -> list[CoreEvent]:
        """What happened since the last call."""
        events, self.cluster.outbox[:] = list(self.cluster.outbox), []
        return events

    def transitions(self) -> list[tuple[str, str]]:
        """The changes of the group's state since the last call."""
        return [(event.before, event.after) for event in self.events() if isinstance(event, Transition)]

    def member_transitions(self) -> list[tuple[str, str, str, int]]:
        """The changes of members since the last call: member, state before and after, epoch."""
        return [
            (event.member_id, event.before, event.after, event.epoch)
            for event in self.events()
            if isinstance(event, MemberTransition)
        ]


def _short(record: GroupRecord | GroupEntry) -> str:
    sign = "-" if record.value is None else ""
    if isinstance(record, GroupEntry):
        return f"{sign}2"
    about = getattr(record.key, "member_id", getattr(record.key, "regular_expression", None))
    return f"{sign}{record.type}" + (f" {about}" if about is not None else "")
