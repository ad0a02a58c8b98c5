"""FindCoordinator, key 10, v0-v6: the broker that coordinates a group, a transactional id or a share partition (FC).

v0 groups only; v1 key types (KIP-98) and the error's message; v3 flexible; v4 many keys at once (KIP-699); v5 the error
code TRANSACTION_ABORTABLE (KIP-890); v6 share groups as a key type (KIP-932).

MOCK: the internal topic is created by the first request, which is answered with NONE at once (FC-5).
"""

import re
from typing import NamedTuple

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.topics import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from fakebroker.protocol.errors import CloseConnection, ErrorCode
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

GROUP, TRANSACTION, SHARE = range(3)
KEYS_PER_STEP = 5_000
_TOPICS = {GROUP: CONSUMER_OFFSETS, TRANSACTION: TRANSACTION_STATE, SHARE: SHARE_GROUP_STATE}
_SHARE_KEY = re.compile(r".+:[A-Za-z0-9_-]{22}:[0-9]+", re.DOTALL)
_FIRST_BATCH, _FIRST_SHARE = 4, 6


class _Found(NamedTuple):
    code: ErrorCode
    message: str = ""
    node_id: int = -1  # FC-6
    address: Address = Address("", -1)


def handle(call: Call, request: FindCoordinatorRequest) -> FindCoordinatorResponse | None:
    """The coordinators of one key (v0-v3) or of many, in request order (FC-1, FC-9)."""
    if request.key_type not in (GROUP, TRANSACTION) and call.cluster.behaviours.unreadable_requests_close:
        raise CloseConnection(f"key type {request.key_type}: there are 0 (group) and 1 (transaction)")
    if call.version >= _FIRST_BATCH:
        return call.work(_in_steps(call, request))
    found = _find(call, request.key_type, request.key)
    return FindCoordinatorResponse(
        error_code=found.code,
        error_message=found.message or found.code.name,  # FC-7: "NONE" on success
        node_id=found.node_id,
        host=found.address.host,
        port=found.address.port,
    )


def _in_steps(call: Call, request: FindCoordinatorRequest) -> Steps[FindCoordinatorResponse]:
    """A frame of 1 MB may ask for 300,000 keys."""
    response, pace = FindCoordinatorResponse(), call.pace(KEYS_PER_STEP)
    for key in request.coordinator_keys:
        response.coordinators.append(_entry(key, _find(call, request.key_type, key)))
        if pace.is_over():
            yield
    return response


def _entry(key: str, found: _Found) -> Coordinator:
    return Coordinator(
        key=key,
        node_id=found.node_id,
        host=found.address.host,
        port=found.address.port,
        error_code=found.code,
        error_message=found.message,
    )


def _find(call: Call, key_type: int, key: str) -> _Found:
    """The coordinator of one key, or the error: INVALID_REQUEST, COORDINATOR_NOT_AVAILABLE (FC-4, FC-8)."""
    if key_type not in _TOPICS:
        return _Found(
            ErrorCode.INVALID_REQUEST,
            f"unknown key type {key_type}; key types are 0 (group), 1 (transaction) and 2 (share)",
        )
    if key_type == SHARE and (call.version < _FIRST_SHARE or not _SHARE_KEY.fullmatch(key)):
        early = call.version < _FIRST_SHARE
        return _Found(ErrorCode.INVALID_REQUEST if early else call.cluster.behaviours.share_key_error)
    leader = call.cluster.coordinator_partition(_TOPICS[key_type], key).seen_by(call.node.id).leader
    address = call.address_of(leader) if leader >= 0 else None
    if address is None:
        return _Found(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if key_type == GROUP:
        call.looked_up(key)
    return _Found(ErrorCode.NONE, "", leader, address)
