"""What any Kafka tells of a group by its kind: ListGroups knows the kind, one describing API for each kind the rest."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from fakebroker.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from fakebroker.scenarios.on_kafka.kafka_powers import Asker

_DESCRIBED_BY: Mapping[str, tuple[str, int]] = {
    "consumer": ("ConsumerGroupDescribe", 0),
    "share": ("ShareGroupDescribe", 1),
    "streams": ("StreamsGroupDescribe", 0),
}
_WITH_TYPES = 5  # the first version of ListGroups that tells them


class KindOfGroup(NamedTuple):
    """What ListGroups tells of a group; a group that is not there is Dead and of no kind."""

    kind: str | None
    state: str


def kind_of_group(asker: "Asker", group_id: str) -> KindOfGroup:
    """Which kind of group it is, and its state. A Kafka that knows one kind only tells nothing of kinds."""
    version = min(_WITH_TYPES, asker.newest("ListGroups"))
    for each in asker.until("ListGroups", version, _top)["Groups"]:
        if each["GroupId"] == group_id:
            return KindOfGroup(each.get("GroupType", "classic").lower(), each.get("GroupState", ""))
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


def described(asker: "Asker", group_id: str, kind: str | None) -> DescribedGroup:
    """The epochs of a group and of its members; those of a classic group, which has none, are -1."""
    if kind is None or kind not in _DESCRIBED_BY:
        return DescribedGroup()
    api, version = _DESCRIBED_BY[kind]
    (group,) = asker.until(api, version, _first, group_ids=[group_id])["Groups"]
    if group["ErrorCode"] != ErrorCode.NONE:
        return DescribedGroup()
    epochs = tuple(member["MemberEpoch"] for member in group["Members"])
    return DescribedGroup(group["GroupEpoch"], group["AssignmentEpoch"], epochs)


def _top(answer: Any) -> int:
    return int(answer["ErrorCode"])


def _first(answer: Any) -> int:
    return int(answer["Groups"][0]["ErrorCode"])
