"""The groups of a clone: the latest records of Kafka's internal topics, or what the admin APIs tell."""

import time
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from fakebroker.broker.core.java_hash import partition_of
from fakebroker.broker.core.share_state.states import SharePartition
from fakebroker.broker.core.topics import CONSUMER_OFFSETS, SHARE_GROUP_STATE
from fakebroker.client.cluster.errors import AnsweredError, NoCommonVersion, NoSuchPartition
from fakebroker.client.cluster.topics import Topic
from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.records.share_state_log import ShareStateEntry, share_state_key, share_state_value
from fakebroker.testing.clone.described_groups import DescribedGroups
from fakebroker.testing.clone.disguise import Disguise
from fakebroker.testing.clone.group_entries import GroupEntry, cloned_entry, cloned_share_state
from fakebroker.testing.clone.internal_logs import latest_records, latest_share_states
from fakebroker.testing.clone.source import DENIED, ClusterFacts, ListedGroup, Source
from fakebroker.testing.clone.work_folder import InternalRecord, WorkFolder

Json = Any
OFFSETS, SHARE_STATE = 0, 1
INTERNAL_TOPICS: Final = (CONSUMER_OFFSETS, SHARE_GROUP_STATE)
"""The internal topics whose records are cloned; their places here are those of `InternalRecord.topic`."""
_PARTITION_SETTINGS: Final = ("offsets.topic.num.partitions", "share.coordinator.state.topic.num.partitions")
_DEFAULT_PARTITIONS: Final = "50"


class Counted(NamedTuple):
    """How much was cloned."""

    groups: int
    offsets: int


class ClonedGroups:
    """Clones the groups of a Kafka into a work folder. `partitions` are the numbers of those of INTERNAL_TOPICS."""

    def __init__(
        self,
        source: Source,
        folder: WorkFolder,
        disguise: Disguise,
        topics: Iterable[Topic],
        facts: ClusterFacts,
        tell: Callable[[str, int, int], None],
    ) -> None:
        self._source = source
        self._folder = folder
        self._disguise = disguise
        self._tell = tell
        counts = {each.name: len(each.leaders) for each in topics}
        self._readable = [name for name in INTERNAL_TOPICS if name in counts]
        self.partitions = [
            counts.get(name) or int(facts.static.get(setting, _DEFAULT_PARTITIONS))
            for name, setting in zip(INTERNAL_TOPICS, _PARTITION_SETTINGS, strict=True)
        ]

    def clone(self) -> Counted:
        """Clone them. Raises ClusterError."""
        counted = self._from_log() if CONSUMER_OFFSETS in self._readable else None
        return self._from_answers() if counted is None else counted

    def settings(self) -> dict[str, dict[str, str]]:
        """The settings that groups have of their own. Classic groups have none."""

        def make() -> Json:
            names = [each.group_id for each in self._listed() if each.kind != "classic"]
            found = self._source.group_settings(names) if names else {}
            return {self._disguise.group(group_id): settings for group_id, settings in found.items()}

        settings: dict[str, dict[str, str]] = self._folder.part("group settings", make)
        return settings

    # -- from the logs -------------------------------------------------------------------------------------------

    def _from_log(self) -> Counted | None:
        """None if the topic may not be read."""
        groups = offsets = 0
        for index in range(self.partitions[OFFSETS]):
            partition = TopicPartition(CONSUMER_OFFSETS, index)
            try:
                found = self._folder.part(f"offsets {index}", self._offsets_partition, partition)
            except AnsweredError as error:
                if error.code not in DENIED:
                    raise
                return None
            groups, offsets = groups + found[0], offsets + found[1]
            self._tell("groups", index + 1, self.partitions[OFFSETS])
        if SHARE_GROUP_STATE in self._readable:
            for index in range(self.partitions[SHARE_STATE]):
                partition = TopicPartition(SHARE_GROUP_STATE, index)
                self._folder.part(f"share groups {index}", self._share_partition, partition)
                self._tell("share groups", index + 1, self.partitions[SHARE_STATE])
        return Counted(groups, offsets)

    def _offsets_partition(self, partition: TopicPartition) -> Json:
        groups, offsets, options = set(), 0, self._source.options
        for timestamp_ms, key, value in latest_records(self._source.cluster, partition):
            try:
                entry = cloned_entry(key, value, options, self._disguise)
            except WireError as error:
                self._source.note(f"a record of {partition} is left out: {error}")
                continue
            if entry is not None:
                self._keep_entry(entry, timestamp_ms)
                groups.add(entry.group_id)
                offsets += entry.is_offset
        return [len(groups), offsets]

    def _share_partition(self, partition: TopicPartition) -> Json:
        try:
            found = latest_share_states(self._source.cluster, partition)
        except (AnsweredError, NoSuchPartition, WireError) as error:
            self._source.note(f"the share groups in {partition} are left out: {error}")
            return None
        for timestamp_ms, entry in found:
            self._keep_share_state(entry, timestamp_ms)
        return None

    # -- from answers --------------------------------------------------------------------------------------------

    def _from_answers(self) -> Counted:
        groups, offsets = self._listed(), 0
        note = f"{CONSUMER_OFFSETS} cannot be read: offsets count as committed at the time of the clone"
        self._folder.part("without log", lambda: self._source.note(note) if groups else None)
        cloned = 0
        for number, group in enumerate(groups, 1):
            found = self._folder.part(f"group {group.group_id}", self._described_group, group)
            cloned, offsets = cloned + (found is not None), offsets + (found or 0)
            self._tell("groups", number, len(groups))
        return Counted(cloned, offsets)

    def _described_group(self, group: ListedGroup) -> Json:
        now_ms, offsets = int(time.time() * 1000), 0
        described = DescribedGroups(self._source.cluster, now_ms)
        try:
            records = described.records(group)
            states = described.share_states(group.group_id) if group.kind == "share" else []
        except (AnsweredError, NoCommonVersion) as error:
            self._source.note(f"group {group.group_id!r} is left out: {error}")
            return None
        for key, value in records:
            entry = cloned_entry(key, value, self._source.options, self._disguise)
            if entry is not None:
                self._keep_entry(entry, now_ms)
                offsets += entry.is_offset
        for state in states:
            self._keep_share_state(state, now_ms)
        return offsets

    def _listed(self) -> list[ListedGroup]:
        return [ListedGroup(*each) for each in self._folder.part("listed groups", self._source.groups)]

    # -- keeping -------------------------------------------------------------------------------------------------

    def _keep_entry(self, entry: GroupEntry, timestamp_ms: int) -> None:
        index = partition_of(entry.group_id, self.partitions[OFFSETS])
        self._folder.add_record(InternalRecord(OFFSETS, index, timestamp_ms, entry.key, entry.value))

    def _keep_share_state(self, entry: ShareStateEntry, timestamp_ms: int) -> None:
        cloned = cloned_share_state(entry, self._source.options, self._disguise)
        value = None if cloned is None else share_state_value(cloned)
        if cloned is not None and value is not None:
            index = partition_of(str(SharePartition(*cloned[:3])), self.partitions[SHARE_STATE])
            self._folder.add_record(InternalRecord(SHARE_STATE, index, timestamp_ms, share_state_key(cloned), value))
