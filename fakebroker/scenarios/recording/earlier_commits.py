"""What groups had committed before a session, committed again where it is played."""

from fakebroker.client.connection import ClientConnection
from fakebroker.client.scripted.driver import Driver
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestTopic
from fakebroker.scenarios.recording.survey import CommitBefore, Survey

ANSWER_WITHIN_MS = 30_000
_COMMIT_VERSION = 8
_MAX_AT_ONCE = 1000


def commit_before(survey: Survey, driver: Driver) -> None:
    """Commit what was committed before, as somebody who is no member."""
    groups: dict[str, list[tuple[str, int, CommitBefore]]] = {}
    for (group_id, topic, index), commit in survey.commits.items():
        groups.setdefault(group_id, []).append((topic, index, commit))
    if not groups:
        return
    client = ClientConnection("before-the-recording")
    driver.open(client)
    for group_id, rows in groups.items():
        for at in range(0, len(rows), _MAX_AT_ONCE):
            request = OffsetCommitRequest(
                group_id=group_id,
                topics=[
                    OffsetCommitRequestTopic(
                        name=topic, partitions=[(index, each.offset, each.leader_epoch, -1, each.metadata)]
                    )
                    for topic, index, each in rows[at : at + _MAX_AT_ONCE]
                ],
            )
            pending = client.send(request, _COMMIT_VERSION)
            driver.flush(client)
            if not driver.pass_time(ANSWER_WITHIN_MS, lambda pending=pending: pending.is_done):  # type: ignore[misc]
                raise FakebrokerError(f"the offsets of {group_id} could not be committed before the replay")
    driver.close(client)
