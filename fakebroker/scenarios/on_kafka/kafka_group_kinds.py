"""What any Kafka tells of a group by its kind: ListGroups knows the kind, one describing API for each kind the rest."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from fakebroker.client.cluster.asking import GROUP, Asking, Coordinator
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from fakebroker.protocol.wire.messages.list_groups import ListGroupsRequest
from fakebroker.protocol.wire.messages.share_group_describe import ShareGroupDescribeRequest
from fakebroker.protocol.wire.messages.streams_group_describe import StreamsGroupDescribeRequest

_DESCRIBED_BY: Mapping[str, Any] = {
    "consumer": ConsumerGroupDescribeRequest,
    "share": ShareGroupDescribeRequest,
    "streams": StreamsGroupDescribeRequest,
}


class KindOfGroup(NamedTuple):
    """What ListGroups tells of a group; a group that is not there is Dead and of no kind."""

    kind: str | None
    state: str


def kind_of_group(cluster: Asking, group_id: str) -> KindOfGroup:
    """Which kind of group it is, and its state. A Kafka that knows one kind only tells nothing of kinds."""
    for each in cluster.ask(ListGroupsRequest(), Coordinator(GROUP, group_id)).groups:
        if each.group_id == group_id:
            return KindOfGroup(each.group_type.lower() or "classic", each.group_state)
    return KindOfGroup(None, "Dead")


class DescribedGroup(NamedTuple):
    """A group with epochs, as its describing API shows it; without the group all are -1."""

    epoch: int = -1
    assignment_epoch: int = -1
    member_epochs: tuple[int, ...] = ()

    @property
    def is_reconciled(self) -> bool:
        """Whether the assignment is that of the group epoch, and every member is there."""
        epochs = {self.epoch, self.assignment_epoch, *self.member_epochs}
        return bool(self.member_epochs) and epochs == {self.epoch}


def described(cluster: Asking, group_id: str, kind: str | None) -> DescribedGroup:
    """The epochs of a group and of its members; those of a classic group, which has none, are -1."""
    if kind is None or kind not in _DESCRIBED_BY:
        return DescribedGroup()
    request = _DESCRIBED_BY[kind](group_ids=[group_id])
    (group,) = cluster.ask(request, Coordinator(GROUP, group_id)).groups
    if group.error_code != ErrorCode.NONE:
        return DescribedGroup()
    return DescribedGroup(group.group_epoch, group.assignment_epoch, tuple(each.member_epoch for each in group.members))
