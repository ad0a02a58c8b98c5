"""Share sessions by themselves: epochs, order, what is answered."""

import pytest

from fakebroker.broker.core.share_partitions.sessions import ShareSession, ShareSessions
from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import ErrorCode, KafkaError

A, B, C = [(b"t" * 16, index) for index in range(3)]


@pytest.fixture
def session() -> ShareSession:
    return ShareSession("g", "m", 1, [A, B, C])


@pytest.mark.rules("SGF-5")
def test_each_request_begins_with_another_partition(session: ShareSession) -> None:
    """Its epoch says with which; those that gave records go to the end."""
    assert session.served(0) == [A, B, C]
    assert session.served(1) == [B, C, A]
    assert session.served(5) == [C, A, B]
    session.answered(A, has_records=True, has_error=False)
    assert session.served(0) == [B, C, A]
    assert ShareSession("g", "m", 1, []).served(7) == []


@pytest.mark.rules("SGF-15")
def test_what_has_to_be_answered(session: ShareSession) -> None:
    """A partition that was added, once; records and errors always; and once more after an error."""
    added = (b"u" * 16, 0)
    session.update([added, A], [B])
    assert list(session.partitions) == [A, C, added]

    def is_answered(partition: tuple[bytes, int], *, records: bool = False, error: bool = False) -> bool:
        found = session.is_answered(partition, has_records=records, has_error=error)
        if found:
            session.answered(partition, has_records=records, has_error=error)
        return found

    assert [is_answered(added), is_answered(added)] == [True, False]
    assert [is_answered(A), is_answered(A, records=True), is_answered(A)] == [False, True, False]
    assert [is_answered(C, error=True), is_answered(C), is_answered(C)] == [True, True, False]
    assert [is_answered(B), is_answered(B, error=True)] == [False, True]


@pytest.mark.rules("SGF-2", "SGF-3")
def test_epochs() -> None:
    """The next one is known; -1 is always right; an error changes nothing."""
    sessions = ShareSessions(Settings({}, profile="kafka"))
    session = sessions.open("g", "m", 1, [A])
    with pytest.raises(KafkaError) as error:
        sessions.resume("g", "m", 2)
    assert error.value.code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert sessions.resume("g", "m", 1) is session
    assert session.epoch == 2
    assert sessions.resume("g", "m", -1) is session
    assert session.epoch == 2
    with pytest.raises(KafkaError) as error:
        sessions.resume("other", "m", 1)
    assert error.value.code == ErrorCode.SHARE_SESSION_NOT_FOUND


@pytest.mark.rules("SGF-1")
def test_a_session_that_was_replaced_closes_nothing() -> None:
    """Closing the old session of a member leaves the new one."""
    sessions = ShareSessions(Settings({}, profile="kafka"))
    old = sessions.open("g", "m", 1, [A])
    new = sessions.open("g", "m", 2, [A])
    sessions.close(old)
    assert sessions.get("g", "m") is new
    assert (sessions.of_connection(1), sessions.of_connection(2)) == ([], [new])
    sessions.close(new)
    assert (len(sessions), sessions.has_group("g")) == (0, False)
