"""Making a broker ready before its first case.

Real brokers make their internal topics when a coordinator is first asked for, and answer NOT_COORDINATOR until those
are loaded. The recorded brokers had them.
"""

import time
from collections.abc import Iterable

from fakebroker.protocol.errors import ErrorCode, FakebrokerError
from fakebroker.scenarios.conformance.access import Access
from fakebroker.scenarios.conformance.cases import Case
from fakebroker.scenarios.conformance.needs import needs_of
from fakebroker.scenarios.conformance.survey import Asking, Survey

WARMING_S = 30
_POLL_S = 0.1
_GROUP, _TRANSACTION = 0, 1
_NOT_YET = frozenset(
    {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR}
)
_TRANSACTION_APIS = frozenset({"InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn"})
_OF_GROUPS = frozenset({"JoinGroup", "OffsetCommit", "OffsetFetch", "TxnOffsetCommit", "ConsumerGroupHeartbeat"})


def warm(access: Access, found: Survey, cases: Iterable[Case], key: str) -> None:
    """Wait until the coordinators that the cases need are there, for WARMING_S at most.

    `key` is a group and a transactional id that does not exist. What does not come is found by the cases.
    """
    apis = frozenset(api for case in cases for api in needs_of(case).apis)
    asking = Asking(access, WARMING_S + 10)
    try:
        if apis & _OF_GROUPS:
            _await(asking, found, key, _GROUP, "DescribeGroups")
        if apis & _TRANSACTION_APIS:
            _await(asking, found, key, _TRANSACTION, "DescribeTransactions")
    except (FakebrokerError, OSError):
        pass
    finally:
        asking.close()


def _await(asking: Asking, found: Survey, key: str, key_type: int, looking: str) -> None:
    if "FindCoordinator" not in found.versions:
        return
    end_s = time.monotonic() + WARMING_S
    while time.monotonic() < end_s:
        code = asking.get("FindCoordinator", 1, key=key, key_type=key_type).error_code
        if code not in _NOT_YET and looking in found.versions:
            code = _looked(asking, key, looking)
        if code not in _NOT_YET:
            return
        time.sleep(_POLL_S)


def _looked(asking: Asking, key: str, looking: str) -> int:
    """The error with which the coordinator describes what does not exist."""
    if looking == "DescribeGroups":
        return int(asking.get(looking, groups=[key]).groups[0].error_code)
    return int(asking.get(looking, transactional_ids=[key]).transaction_states[0].error_code)
