"""What groups had committed before a session, committed again where it is played."""

from fakebroker.client.cluster.asking import GROUP, Asking, Coordinator
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestTopic
from fakebroker.protocol.wire.registry import newest_by_name
from fakebroker.scenarios.recording.survey import CommitBefore, Survey

_MAX_AT_ONCE = 1000


def commit_before(survey: Survey, cluster: Asking) -> None:
    """Commit what was committed before, as somebody who is no member. Raises ClusterError."""
    groups: dict[str, list[tuple[str, int, CommitBefore]]] = {}
    for (group_id, topic, index), commit in survey.commits.items():
        groups.setdefault(group_id, []).append((topic, index, commit))
    for group_id, rows in groups.items():
        for at in range(0, len(rows), _MAX_AT_ONCE):
            topics = [
                OffsetCommitRequestTopic(
                    name=topic, partitions=[(index, each.offset, each.leader_epoch, -1, each.metadata)]
                )
                for topic, index, each in rows[at : at + _MAX_AT_ONCE]
            ]
            request = OffsetCommitRequest(group_id=group_id, topics=topics)
            cluster.ask(request, Coordinator(GROUP, group_id), newest_by_name(ApiKey.OFFSET_COMMIT))
