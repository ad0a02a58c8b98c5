"""Deleting what cases made on a broker that others use: topics and groups whose names were not there before."""

import time
from collections.abc import Iterable

from fakebroker.protocol.errors import ErrorCode, FakebrokerError, error_name
from fakebroker.scenarios.conformance.access import Access
from fakebroker.scenarios.conformance.broker_wide_state import State, remove_new, state
from fakebroker.scenarios.conformance.survey import Asking, Survey, groups_of

CLEANING_S = 30  # members of a group leave it when their sessions end
_POLL_S = 0.5
_NEWER_KINDS = ("Consumer", "Share", "Streams")
_LEAVES = -1  # as member epoch


class Cleaner:
    """Deletes what one run made. Nothing that was there before is touched, whatever it is called."""

    def __init__(self, access: Access, before: Survey, run: str) -> None:
        """`run` is in the name of everything that the run makes, but for `fixed` topics; see `clean`."""
        self._wide: State | None = None
        self._access = access
        self._before = before
        self._run = run

    def note_state(self) -> None:
        """Note the ACLs, quotas and credentials that there are; others are deleted by `clean`."""
        asking = Asking(self._access)
        try:
            self._wide = state(asking, self._before.versions)
        except (FakebrokerError, OSError):
            self._wide = None  # the broker does not tell: the cases that make some will find that
        finally:
            asking.close()

    def clean(self, fixed_topics: Iterable[str] = (), within_s: float = CLEANING_S) -> list[str]:
        """Delete topics and groups. Returns what is left, in words; empty when all is gone."""
        end_s = time.monotonic() + within_s
        asking = Asking(self._access, within_s + 10)
        try:
            left = self._delete_topics(asking, frozenset(fixed_topics))
            if self._wide is not None:
                left += remove_new(asking, self._before.versions, self._wide)
            return left + self._delete_groups(asking, end_s)
        except (FakebrokerError, OSError) as error:
            return [f"what has {self._run} in its name: {error}"]
        finally:
            asking.close()

    def _delete_topics(self, asking: Asking, fixed: frozenset[str]) -> list[str]:
        there = {topic.name for topic in asking.get("Metadata", 1, topics=None).topics}
        kept = self._before.topics | self._before.internal_topics
        ours = sorted(name for name in there - kept if self._run in name or name in fixed)
        if not ours:
            return []
        if "DeleteTopics" not in self._before.versions:
            return [f"topic {name}: the broker serves no DeleteTopics" for name in ours]
        answer = asking.get("DeleteTopics", 3, topic_names=ours, timeout_ms=20_000)
        gone = (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return [
            f"topic {each.name}: {error_name(each.error_code)}"
            for each in answer.responses
            if each.error_code not in gone
        ]

    def _end_members(self, asking: Asking, groups: list[str]) -> None:
        """Let members leave, whose clients are gone: their sessions would last for most of a minute."""
        served = self._before.versions.keys()
        for kind in _NEWER_KINDS:
            describe, heartbeat = f"{kind}GroupDescribe", f"{kind}GroupHeartbeat"
            if {describe, heartbeat} <= served:
                for group in asking.get(describe, group_ids=groups).groups:
                    for member in group.members:
                        asking.get(heartbeat, group_id=group.group_id, member_id=member.member_id, member_epoch=_LEAVES)
        if not {"DescribeGroups", "LeaveGroup"} <= served:
            return
        for group in asking.get("DescribeGroups", 5, groups=groups).groups:
            leaving = [{"member_id": member.member_id, "group_instance_id": None} for member in group.members]
            if leaving:
                asking.get("LeaveGroup", 4, group_id=group.group_id, members=leaving)

    def _delete_groups(self, asking: Asking, end_s: float) -> list[str]:
        if "ListGroups" not in self._before.versions:
            return []
        while True:
            ours = sorted(name for name in groups_of(asking) - self._before.groups if self._run in name)
            if not ours:
                return []
            if "DeleteGroups" not in self._before.versions:
                return [f"group {name}: the broker serves no DeleteGroups" for name in ours]
            self._end_members(asking, ours)
            answer = asking.get("DeleteGroups", groups_names=ours)
            gone = (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND)
            kept = [each for each in answer.results if each.error_code not in gone]
            if not kept:
                return []
            if time.monotonic() > end_s:
                return [f"group {each.group_id}: {error_name(each.error_code)}" for each in kept]
            time.sleep(_POLL_S)
