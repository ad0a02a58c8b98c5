"""Deleting what cases made on a broker that others use: topics and groups whose names were not there before."""

import time
from collections.abc import Iterable
from contextlib import suppress

from fakebroker.client.cluster.errors import ClusterError
from fakebroker.protocol.errors import ErrorCode, error_name
from fakebroker.scenarios.conformance.access import Access, BrokerClient
from fakebroker.scenarios.conformance.broker_wide_state import State, remove_new, state
from fakebroker.scenarios.conformance.survey import Survey, groups_of

CLEANING_S = 30  # members of a group leave it when their sessions end
_POLL_S = 0.5
_NEWER_KINDS = ("Consumer", "Share", "Streams")
_LEAVES = -1  # as member epoch


class Cleaner:
    """Deletes what one run made. Nothing that was there before is touched, whatever it is called."""

    def __init__(self, access: Access, before: Survey, run: str) -> None:
        """`run` is in the name of everything that the run makes, but for `fixed` topics; see `clean`."""
        self._wide: State | None = None  # None: not noted
        self._access = access
        self._before = before
        self._run = run

    def note_state(self) -> None:
        """Note the ACLs, quotas and credentials that there are, if the broker tells; `clean` deletes others."""
        with BrokerClient(self._access) as client, suppress(ClusterError):
            self._wide = state(client, self._before.versions)

    def clean(self, fixed_topics: Iterable[str] = (), within_s: float = CLEANING_S) -> list[str]:
        """Delete topics and groups. Returns what is left, in words; empty when all is gone."""
        end_s = time.monotonic() + within_s
        try:
            with BrokerClient(self._access) as client:
                left = self._delete_topics(client, frozenset(fixed_topics))
                if self._wide is not None:
                    left += remove_new(client, self._before.versions, self._wide)
                return left + self._delete_groups(client, end_s)
        except ClusterError as error:
            return [f"what has {self._run} in its name: {error}"]

    def _delete_topics(self, client: BrokerClient, fixed: frozenset[str]) -> list[str]:
        there = {topic.name for topic in client.get("Metadata", 1, topics=None).topics}
        kept = self._before.topics | self._before.internal_topics
        ours = sorted(name for name in there - kept if self._run in name or name in fixed)
        if not ours:
            return []
        if "DeleteTopics" not in self._before.versions:
            return [f"topic {name}: the broker serves no DeleteTopics" for name in ours]
        answer = client.get("DeleteTopics", 3, topic_names=ours, timeout_ms=20_000)
        gone = (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return [
            f"topic {each.name}: {error_name(each.error_code)}"
            for each in answer.responses
            if each.error_code not in gone
        ]

    def _end_members(self, client: BrokerClient, groups: list[str]) -> None:
        """Let members leave, whose clients are gone: their sessions would last for most of a minute."""
        served = self._before.versions.keys()
        for kind in _NEWER_KINDS:
            describe, heartbeat = f"{kind}GroupDescribe", f"{kind}GroupHeartbeat"
            if {describe, heartbeat} <= served:
                for group in client.get(describe, group_ids=groups).groups:
                    for member in group.members:
                        client.get(heartbeat, group_id=group.group_id, member_id=member.member_id, member_epoch=_LEAVES)
        if not {"DescribeGroups", "LeaveGroup"} <= served:
            return
        for group in client.get("DescribeGroups", 5, groups=groups).groups:
            leaving = [{"member_id": member.member_id, "group_instance_id": None} for member in group.members]
            if leaving:
                client.get("LeaveGroup", 4, group_id=group.group_id, members=leaving)

    def _delete_groups(self, client: BrokerClient, end_s: float) -> list[str]:
        if "ListGroups" not in self._before.versions:
            return []
        while True:
            ours = sorted(name for name in groups_of(client) - self._before.groups if self._run in name)
            if not ours:
                return []
            if "DeleteGroups" not in self._before.versions:
                return [f"group {name}: the broker serves no DeleteGroups" for name in ours]
            self._end_members(client, ours)
            answer = client.get("DeleteGroups", groups_names=ours)
            gone = (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND)
            kept = [each for each in answer.results if each.error_code not in gone]
            if not kept:
                return []
            if time.monotonic() > end_s:
                return [f"group {each.group_id}: {error_name(each.error_code)}" for each in kept]
            time.sleep(_POLL_S)
