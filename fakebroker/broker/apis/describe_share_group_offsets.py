"""DescribeShareGroupOffsets, key 90, v0-v1: start offsets of share groups, and their lag (KIP-932, SGO-1 to SGO-3).

v1 lag. MOCK: a partition without state is answered at once (SGO-3).
"""

from collections.abc import Collection, Generator, Mapping, Sequence

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.apis.written_entries import WrittenEntries
from fakebroker.broker.core.groups.share.offsets import describe_states
from fakebroker.broker.core.groups.share.share_group import ShareGroup
from fakebroker.broker.core.share_state.states import NO_COUNT, NO_OFFSET, SharePartition, ShareState
from fakebroker.broker.core.topics import Topic
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)

Described = Mapping[SharePartition, tuple[ErrorCode, ShareState]]
_Topic = tuple[str, Topic | None, Collection[int]]  # its name, itself if it exists, and its partitions
PARTITIONS_PER_STEP = 5_000  # and groups and topics, which cost about as much
_NO_TOPIC_ID = bytes(16)
_NO_LAG = -1
_HALF_OF_LONGS = 1 << 63


def handle(call: Call, request: DescribeShareGroupOffsetsRequest) -> DescribeShareGroupOffsetsResponse | None:
    """Describe each group, and answer when the share coordinator has answered with all states."""
    return call.work(_asked(call, request), may_begin_later=True)


def _asked(call: Call, request: DescribeShareGroupOffsetsRequest) -> Steps[DescribeShareGroupOffsetsResponse]:
    """Ask for the states. Returns None: the answer is sent when they are there."""
    pace = call.pace(PARTITIONS_PER_STEP)
    groups, keys = (yield from _groups(call, request, pace)), list[SharePartition]()
    for group in dict.fromkeys(groups):
        keys += yield from group.share_partitions(pace)

    def described(states: Described, _now: Instant) -> None:
        response = call.work(_in_steps(call, groups, states, pace))
        if response is not None:
            call.reply(response)

    describe_states(call.node, keys, described, call.now)
    return None


def _groups(call: Call, request: DescribeShareGroupOffsetsRequest, pace: Pace) -> "Generator[None, None, list[_Group]]":
    """Each group of the request, in steps; one of which all topics are asked for again is the same."""
    groups, with_all = list[_Group](), dict[str, _Group]()
    for each in request.groups:
        group = with_all.get(each.group_id) if each.topics is None else None
        if group is None:
            group = _Group(call, each)
            yield from group.find_topics(call, each, pace)
        if each.topics is None:
            with_all[each.group_id] = group
        groups.append(group)
        if pace.is_over():
            yield
    return groups


def _in_steps(
    call: Call, groups: "Sequence[_Group]", states: Described, pace: Pace
) -> Steps[DescribeShareGroupOffsetsResponse]:
    response, written = DescribeShareGroupOffsetsResponse(), WrittenEntries(call)
    known = dict[_Group, DescribeShareGroupOffsetsResponseGroup]()
    for group in groups:
        described = known.get(group)
        if described is None:
            described = known[group] = yield from group.response(states, pace)
        elif written.is_over(described):
            yield
        response.groups.append(described)
        if pace.is_over():
            yield
    return response


class _Group:
    """One group of the request: the partitions to be described, or an error."""

    def __init__(self, call: Call, request: DescribeShareGroupOffsetsRequestGroup) -> None:
        self.group_id = request.group_id
        self.code = ErrorCode.NONE
        self._group: ShareGroup | None = None
        self.topics: list[_Topic] = []
        try:
            self._group = call.shard(request.group_id).group_of(ShareGroup, request.group_id)
        except KafkaError as error:
            self.code = error.code

    def find_topics(
        self, call: Call, request: DescribeShareGroupOffsetsRequestGroup, pace: Pace
    ) -> Generator[None, None, None]:
        """Look up the topics that the request names, or those of the group."""
        if self.code:
            return
        if request.topics is None:
            self.topics = [] if self._group is None else _initialized(call, self._group)
            return
        for each in request.topics:
            self.topics.append((each.topic_name, call.cluster.topics.get(each.topic_name), each.partitions))
            if pace.is_over():
                yield

    def share_partitions(self, pace: Pace) -> Generator[None, None, list[SharePartition]]:
        """The share partitions whose states are asked for: those that exist."""
        found = list[SharePartition]()
        for _, topic, indexes in self.topics if self._group is not None else ():
            if topic is not None:
                found += [SharePartition(self.group_id, topic.id, i) for i in indexes if topic.partition(i) is not None]
            if pace.is_over(1 + (0 if topic is None else len(indexes))):
                yield
        return found

    def response(self, states: Described, pace: Pace) -> Generator[None, None, DescribeShareGroupOffsetsResponseGroup]:
        """The answer about the group, in steps."""
        response = DescribeShareGroupOffsetsResponseGroup(group_id=self.group_id, error_code=self.code)
        for name, topic, indexes in self.topics:
            topic_id = _NO_TOPIC_ID if topic is None else topic.id
            partitions = list[DescribeShareGroupOffsetsResponsePartition]()
            for index in indexes:
                described = states.get(SharePartition(self.group_id, topic_id, index))
                partitions.append(_partition(topic, index, described))
                if pace.is_over():
                    yield
            response.topics.append(
                DescribeShareGroupOffsetsResponseTopic(topic_name=name, topic_id=topic_id, partitions=partitions)
            )
            if pace.is_over():
                yield
        return response


def _initialized(call: Call, group: ShareGroup) -> list[_Topic]:
    by_id = call.cluster.topics.by_id
    return [
        (each.name, by_id(topic_id), each.partitions) for topic_id, each in group.state_partitions.initialized.items()
    ]


def _partition(
    topic: Topic | None, index: int, described: tuple[ErrorCode, ShareState] | None
) -> DescribeShareGroupOffsetsResponsePartition:
    """One partition; one that does not exist has no start offset, which is no error."""
    if topic is None or described is None:
        return DescribeShareGroupOffsetsResponsePartition(partition_index=index, start_offset=NO_OFFSET)
    code, state = described
    if code:
        return DescribeShareGroupOffsetsResponsePartition(
            partition_index=index, error_code=code, error_message=f"{topic.name}-{index}: {code.name}"
        )
    return DescribeShareGroupOffsetsResponsePartition(
        partition_index=index,
        start_offset=state.start_offset,
        leader_epoch=state.leader_epoch,
        lag=_lag(topic, index, state),
    )


def _lag(topic: Topic, index: int, state: ShareState) -> int:
    """How many records are not done with: those from the start offset on, without those that are (SGO-2)."""
    partition = topic.partition(index)
    if partition is None or state.start_offset == NO_OFFSET or state.delivery_complete_count == NO_COUNT:
        return _NO_LAG
    end_offset = partition.log.high_watermark if partition.has_log else 0
    return _as_long(end_offset - state.start_offset - state.delivery_complete_count)


def _as_long(number: int) -> int:
    """What Java's arithmetic makes of it: a start offset may be any number that somebody has set."""
    return (number + _HALF_OF_LONGS) % (2 * _HALF_OF_LONGS) - _HALF_OF_LONGS
