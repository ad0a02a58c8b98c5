"""What a cluster says of its topics: partitions, leaders, ids."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fakebroker.client.cluster.errors import AnsweredError
from fakebroker.client.cluster.links import Endpoint
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.schema import ZERO_UUID
from fakebroker.protocol.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

OLDEST_METADATA = 4  # the first version that can be asked to create no topics


class Leader(NamedTuple):
    """Who leads a partition: its node and the epoch, -1 where the broker's versions do not tell it."""

    node_id: int
    epoch: int


@dataclass
class Topic:
    """One topic. `topic_id` is zero where the broker's versions know no ids; a leader is None while there is none.

    `replicas` and `in_sync` are the node ids of each partition's replicas, and of those in sync.
    """

    name: str
    topic_id: bytes
    is_internal: bool
    leaders: dict[int, Leader | None]
    replicas: dict[int, tuple[int, ...]] = field(default_factory=dict)
    in_sync: dict[int, tuple[int, ...]] = field(default_factory=dict)

    @property
    def partitions(self) -> list[TopicPartition]:
        """Its partitions in order."""
        return [TopicPartition(self.name, index) for index in sorted(self.leaders)]


class View:
    """What is known of a cluster: brokers by node, topics by name. It grows with every answer.

    `brokers` are the endpoints where they are reached, `advertised` what they say themselves.
    """

    def __init__(self) -> None:
        self.brokers: dict[int, Endpoint] = {}
        self.advertised: dict[int, Address] = {}
        self.controller_id = -1
        self.topics: dict[str, Topic] = {}

    def take(self, answer: Any, endpoint: Endpoint, *, all_topics: bool) -> dict[str, Topic]:
        """Take in a Metadata answer from `endpoint`; the topics in it that exist, by name.

        An only broker is reached where it has answered: it may advertise another address, for clients outside of its
        container for example. Raises AnsweredError for other errors.
        """
        self.advertised = {each.node_id: Address(each.host, each.port) for each in answer.brokers}
        is_only = len(self.advertised) == 1
        self.brokers = dict.fromkeys(self.advertised, endpoint) if is_only else dict(self.advertised)
        self.controller_id = answer.controller_id
        if all_topics:
            self.topics.clear()
        found = {}
        for each in answer.topics:
            self.topics.pop(each.name, None)
            if each.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                continue
            # With this error come a topic whose leaders are not all there yet, with all it has, and one that is just
            # being created, with nothing.
            is_without_leaders = each.error_code == ErrorCode.LEADER_NOT_AVAILABLE and each.partitions
            if each.error_code != ErrorCode.NONE and not is_without_leaders:
                raise AnsweredError(f"topic {each.name!r}", each.error_code)
            found[each.name] = _topic(each)
        self.topics.update(found)
        return found


def metadata_request(names: Sequence[str] | None, *, creates: bool = False) -> MetadataRequest:
    """A request about these topics, all if None; whether it `creates` those that do not exist."""
    topics = None if names is None else [MetadataRequestTopic(name=name) for name in names]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=creates)


def _topic(row: Any) -> Topic:
    leaders = {
        each.partition_index: Leader(each.leader_id, each.leader_epoch) if each.leader_id >= 0 else None
        for each in row.partitions
    }
    replicas = {each.partition_index: tuple(each.replica_nodes) for each in row.partitions}
    in_sync = {each.partition_index: tuple(each.isr_nodes) for each in row.partitions}
    return Topic(row.name, row.topic_id or ZERO_UUID, row.is_internal, leaders, replicas, in_sync)
