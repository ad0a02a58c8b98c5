"""A member of a consumer group that acts by itself (KIP-848): it heartbeats, takes and gives up partitions.

A revoked partition is given up at once, after a commit if it commits by itself; the next heartbeat says so.
"""

from collections.abc import Generator
from typing import Any

from fakebroker.protocol.errors import ErrorCode
from fakebroker.scenarios.playing.member_loop import RETRY_MS, Ask, Life, MemberLoop, Sleep

_JOIN_AGAIN = (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND)


class ConsumerMemberLoop(MemberLoop):
    """One member. Its heartbeat interval is the one that the coordinator gives it; nobody leads."""

    @property
    def _heartbeat_interval_ms(self) -> int:
        membership = self._client.steps.group_membership
        return membership.heartbeat_interval_ms if membership else self._options.heartbeat_interval_ms

    def _join_and_sync(self) -> Generator[Ask | Sleep, Any, bool]:
        """Whether it is a member; partitions may come with later heartbeats."""
        options = self._options
        flow = self._client.steps.join_consumer_group(
            options.group_id,
            options.topics,
            group_instance_id=options.group_instance_id,
            rebalance_timeout_ms=options.rebalance_timeout_ms,
        )
        self.positions.clear()
        joined = yield Ask(flow)
        if not (yield from self._is_good(joined.error_code)):
            return False
        yield from self._add_positions(self._assigned())
        return True

    def _beat(self) -> Generator[Ask | Sleep, Any, bool]:
        """One heartbeat, and another one right after each answer with other partitions, which says what it has now."""
        answer = yield Ask(self._client.steps.consumer_group_heartbeat())
        while (yield from self._is_good(answer.error_code)):
            if answer.assignment is None:
                return True
            yield from self._take_partitions()
            answer = yield Ask(self._client.steps.reconcile())
        return False

    def _take_partitions(self) -> Life:
        """Commit how far it has come, let go of what it no longer has, and begin to read what is new."""
        mine = self._assigned()
        if any(each not in mine for each in self.positions):
            yield from self._commit()
        known = {each: position for each, position in self.positions.items() if each in mine}
        self.positions = known
        yield from self._add_positions([each for each in mine if each not in known])

    def _leave(self) -> Life:
        """Commit, and leave; a static member leaves for a while."""
        yield from self._leaving(self._client.steps.group_membership is not None and self._client.member_epoch > 0)

    def _farewell(self) -> Life:
        is_static = self._options.group_instance_id is not None
        yield Ask(self._client.steps.leave_consumer_group(is_temporary=is_static))

    def _is_good(self, code: int) -> Generator[Ask | Sleep, Any, bool]:
        """Whether there is no error; False: join again. Raises what ends a member, or sends it to another broker."""
        if code in (ErrorCode.NONE, ErrorCode.STALE_MEMBER_EPOCH):  # the next commit has the epoch of the next answer
            return True
        self._check_coordinator(code)
        self._give_up_on(code, (*_JOIN_AGAIN, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
        if code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            yield Sleep(RETRY_MS)
        else:
            self.positions.clear()
        return False
