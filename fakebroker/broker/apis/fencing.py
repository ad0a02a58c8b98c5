"""The error of a fenced producer, as each version of the APIs of transactions sends it (KIP-588)."""

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode


def as_sent(call: Call, code: ErrorCode, first_fenced_version: int) -> ErrorCode:
    """`code`, but INVALID_PRODUCER_EPOCH in place of PRODUCER_FENCED for a version that does not know that yet.

    `first_fenced_version` is the first version of the API that knows it (PI-9, TX-9, TX-22, TO-8).
    """
    if code is ErrorCode.PRODUCER_FENCED and call.version < first_fenced_version:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code
