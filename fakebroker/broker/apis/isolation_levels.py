"""The isolation level of requests that read: 0 read_uncommitted, 1 read_committed (KIP-98)."""

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import CloseConnection, ErrorCode, KafkaError

READ_COMMITTED = 1


def check_isolation_level(call: Call, level: int, *, is_used: bool = True) -> None:
    """Refuse a level that does not exist (LO-10, FT-14); `is_used` says whether there is something to read with it.

    Raises KafkaError(UNKNOWN_SERVER_ERROR), or CloseConnection where Kafka could not even read such a request.
    """
    if level in (0, READ_COMMITTED):
        return
    text = f"unknown isolation level {level}"
    if call.cluster.behaviours.unreadable_requests_close:
        raise CloseConnection(text)
    if is_used:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, text)
