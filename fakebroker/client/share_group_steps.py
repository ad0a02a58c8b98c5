"""What a scripted client does as a member of a share group and as a share consumer (KIP-932).

The group assigns partitions; records come by a share session with the leader of the partitions, which knows nothing of
the group's members. So a client may fetch and acknowledge without having joined: `group_id` says for which group. The
session belongs to the connection: a client that connects again begins a new one.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from fakebroker.client.group_membership import JOINING, LEAVING, GroupMembership, GroupMembershipSteps
from fakebroker.client.requesting import Flow, by_topic
from fakebroker.client.share_acknowledgements import (
    Acknowledgement,
    Acknowledgements,
    AcquiredRecord,
    acquired_records,
    batches,
    by_offset,
)
from fakebroker.protocol.arguments.checks import check_partitions
from fakebroker.protocol.errors import ErrorCode, FakebrokerError, error_name

KIND = "share"
FIRST_EPOCH, FINAL_EPOCH, MAX_EPOCH = 0, -1, 2**31 - 1

AcquireMode = Literal["batch_optimized", "record_limit"]
_MODES: Mapping[str, int] = {"batch_optimized": 0, "record_limit": 1}

Partition = tuple[str, int]


class _Session(NamedTuple):
    """A share session: who it is for, the epoch of its next request, and the partitions in it."""

    group_id: str
    member_id: str
    epoch: int = FIRST_EPOCH
    partitions: Sequence[Partition] = ()

    def after(self, epoch: int, partitions: Sequence[Partition]) -> "_Session":
        """The session after a request with this epoch, which has left it with these partitions."""
        following = 1 if epoch == MAX_EPOCH else epoch + 1
        return self._replace(epoch=following, partitions=tuple(partitions))


class ShareGroupSteps(GroupMembershipSteps):
    """Joining and leaving a share group; fetching and acknowledging records."""

    def __init__(self, client_id: str | None = "consumer", versions: Mapping[str, int] | None = None) -> None:
        super().__init__(client_id, versions)
        self._session: _Session | None = None
        self.acquired: dict[Partition, list[int]] = {}  # the offsets that it has not acknowledged

    def begin_connection(self) -> None:
        """Continue on a new connection; the share session ended with the old one."""
        super().begin_connection()
        self._session = None
        self.acquired.clear()

    # The group

    def join_share_group(
        self, group_id: str, topics: Sequence[str], *, rack_id: str | None = None, member_id: str | None = None
    ) -> Flow[Any]:
        """Join or rejoin a share group: a heartbeat with epoch 0. Partitions come with a later heartbeat.

        The client keeps its member id unless `member_id` is given.
        """
        self._membership_from(KIND, group_id, member_id)
        return self._share_heartbeat(JOINING, topics, rack_id)

    def share_group_heartbeat(
        self, *, topics: Sequence[str] | None = None, rack_id: str | None = None, member_epoch: int | None = None
    ) -> Flow[Any]:
        """Send a heartbeat as the current member. Omitted fields keep their previous values."""
        epoch = self._membership_in(KIND).member_epoch if member_epoch is None else member_epoch
        return self._share_heartbeat(epoch, topics, rack_id)

    def leave_share_group(self) -> Flow[Any]:
        """Leave the group. Acquired records stay acquired until their locks time out or the share session is closed."""
        membership = self._membership_in(KIND)
        answer = yield from self._share_heartbeat(LEAVING)
        if answer.error_code == ErrorCode.NONE:
            membership.end(LEAVING)
        return answer

    # Records

    def share_fetch(
        self,
        partitions: Sequence[Partition] | None = None,
        *,
        group_id: str | None = None,
        max_wait_ms: int = 0,
        min_bytes: int = 1,
        max_bytes: int = 1 << 20,
        max_records: int = 500,
        batch_size: int = 500,
        acquire_mode: AcquireMode = "batch_optimized",
        share_session_epoch: int | None = None,
    ) -> Flow[list[AcquiredRecord]]:
        """Acquire records of these partitions, by default of the assigned ones.

        The first fetch opens a share session, later ones continue it; a `share_session_epoch` of 0 opens a new one.
        Raises InvalidArgument for invalid partitions, FakebrokerError for a missing topic and for an error of the
        broker.
        """
        wanted = self._assigned() if partitions is None else list(partitions)
        check_partitions("partitions", wanted)
        session = self._session_for(group_id, share_session_epoch)
        forgotten = [] if session.epoch == FIRST_EPOCH else [each for each in session.partitions if each not in wanted]
        added = [each for each in wanted if session.epoch == FIRST_EPOCH or each not in session.partitions]
        ids = yield from self._topic_ids_of(topic for topic, _ in (*added, *forgotten))
        answer = yield from self.request(
            "ShareFetch",
            group_id=session.group_id,
            member_id=session.member_id,
            share_session_epoch=session.epoch,
            max_wait_ms=max_wait_ms,
            min_bytes=min_bytes,
            max_bytes=max_bytes,
            max_records=max_records,
            batch_size=batch_size,
            share_acquire_mode=_MODES[acquire_mode],
            topics=_rows(ids, {each: [{"partition_index": each[1]}] for each in added}),
            forgotten_topics_data=_rows(ids, {each: [each[1]] for each in forgotten}),
        )
        self._check(answer.error_code, "share fetch")
        self._session = session.after(session.epoch, wanted)
        return (yield from self._take_records(answer))

    def share_acknowledge(
        self,
        topic: str,
        partition: int,
        acknowledgements: Acknowledgements = "accept",
        *,
        group_id: str | None = None,
        share_session_epoch: int | None = None,
    ) -> Flow[Any]:
        """Acknowledge acquired records (ShareAcknowledge): one word for all of them, or one for each offset.

        "accept": processed; "release": deliver it again; "reject": do not deliver it again; "renew": renew its lock;
        "gap": there is no record. Raises InvalidArgument for other words.
        """
        at = (topic, partition)
        words = by_offset(acknowledgements, self.acquired.get(at, ()))
        answer = yield from self._acknowledge({at: words}, self._session_for(group_id, share_session_epoch))
        if _error_of(answer) == ErrorCode.NONE:
            done = {offset for offset, word in words.items() if word != "renew"}
            self.acquired[at] = [offset for offset in self.acquired.get(at, ()) if offset not in done]
        return answer

    def close_share_session(self, *, group_id: str | None = None) -> Flow[Any]:
        """End the share session: acquired records are released."""
        answer = yield from self._acknowledge({}, self._session_for(group_id, FINAL_EPOCH))
        if answer.error_code == ErrorCode.NONE:
            self._session = None
            self.acquired.clear()
        return answer

    def _acknowledge(self, words: Mapping[Partition, Mapping[int, Acknowledgement]], session: _Session) -> Flow[Any]:
        ids = yield from self._topic_ids_of(topic for topic, _ in words)
        rows = {
            at: [{"partition_index": at[1], "acknowledgement_batches": batches(each)}] for at, each in words.items()
        }
        request: dict[str, Any] = {"is_renew_ack": True} if any("renew" in w.values() for w in words.values()) else {}
        answer = yield from self.request(
            "ShareAcknowledge",
            group_id=session.group_id,
            member_id=session.member_id,
            share_session_epoch=session.epoch,
            topics=_rows(ids, rows),
            **request,
        )
        if answer.error_code == ErrorCode.NONE:
            self._session = session.after(session.epoch, session.partitions)
        return answer

    def _share_heartbeat(
        self, epoch: int, topics: Sequence[str] | None = None, rack_id: str | None = None
    ) -> Flow[Any]:
        membership = self._membership_in(KIND)
        answer = yield from self.request(
            "ShareGroupHeartbeat",
            group_id=membership.group_id,
            member_id=membership.member_id,
            member_epoch=epoch,
            rack_id=rack_id,
            subscribed_topic_names=None if topics is None else list(topics),
        )
        yield from self._take_partitions(membership, answer)
        return answer

    def _assigned(self) -> list[Partition]:
        assignment = self._membership_in(KIND).assignment
        return [(topic, index) for topic, indexes in assignment.items() for index in indexes]

    def _session_for(self, group_id: str | None, epoch: int | None) -> _Session:
        """The session, with the epoch of its next request. Raises FakebrokerError for a client without a group."""
        membership = self.group_membership
        is_member = membership is not None and membership.kind == KIND
        if group_id is None and not is_member and self._session is None:
            raise FakebrokerError("this client has joined no share group: name the group with group_id")
        session = self._session
        if session is None or (group_id is not None and group_id != session.group_id):
            session = _Session(group_id or _group_of(membership), self._share_member_id(membership))
        return session if epoch is None else session._replace(epoch=epoch)

    def _share_member_id(self, membership: GroupMembership | None) -> str:
        return membership.member_id if membership is not None and membership.kind == KIND else self.own_member_id

    def _take_records(self, answer: Any) -> Flow[list[AcquiredRecord]]:
        """The acquired records of all partitions in an answer, which are remembered."""
        names = yield from self._topic_names_of(topic.topic_id for topic in answer.responses)
        found: list[AcquiredRecord] = []
        for topic in answer.responses:
            for data in topic.partitions:
                name = names[topic.topic_id]
                self._check(data.error_code, f"share fetch of {name}-{data.partition_index}")
                records = [*acquired_records(name, data)]
                self.acquired.setdefault((name, data.partition_index), []).extend(each.offset for each in records)
                found += records
        return found

    def _check(self, code: int, what: str) -> None:
        if code != ErrorCode.NONE:
            if code == ErrorCode.UNKNOWN_TOPIC_ID:
                self._forget_topic_ids()
            raise FakebrokerError(f"{what}: {error_name(code)}")


def _rows(ids: Mapping[str, bytes], partitions: Mapping[Partition, list[Any]]) -> list[dict[str, Any]]:
    """A row for each topic with its id, and what stands for each of its partitions."""
    rows = by_topic(dict.fromkeys(partitions, 0))
    return [
        {"topic_id": ids[topic], "partitions": [each for index, _ in found for each in partitions[topic, index]]}
        for topic, found in rows.items()
    ]


def _group_of(membership: GroupMembership | None) -> str:
    return "" if membership is None else membership.group_id


def _error_of(answer: Any) -> int:
    """The first error of an answer to ShareAcknowledge, that of a partition included."""
    codes = [answer.error_code, *(data.error_code for topic in answer.responses for data in topic.partitions)]
    return next((code for code in codes if code), 0)
