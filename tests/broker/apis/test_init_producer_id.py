"""InitProducerId: ids for idempotent producers, what any broker refuses, what a coordinator says in each version."""

from collections.abc import Callable

import pytest

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from tests.support.group_apis import GroupApis
from tests.support.transactional import elsewhere

Make = Callable[..., Call]


def initialize(lab: GroupApis, version: int = 4, name: str | None = None, **fields: int) -> tuple[int, int, int]:
    """(error, producer id, epoch)."""
    asked = {"transactional_id": name, "transaction_timeout_ms": 1000, **fields}
    response = lab.ask("InitProducerId", version, **asked)
    return response.error_code, response.producer_id, response.producer_epoch


@pytest.mark.rules("PI-1", "PI-2")
@pytest.mark.parametrize("version", range(6))
def test_idempotent_producers_get_fresh_ids(make_call: Make, version: int) -> None:
    """They count up by one, at epoch 0, whatever the timeout says."""
    lab = GroupApis(make_call)
    code, first, epoch = initialize(lab, version)

    assert (code, epoch) == (0, 0)
    assert initialize(lab, version, transaction_timeout_ms=-5) == (0, first + 1, 0)
    if version >= 3:
        assert initialize(lab, version, producer_id=3, producer_epoch=9) == (0, first + 2, 0)


@pytest.mark.rules("PI-3", "PI-5", "CLU-13")
def test_what_no_coordinator_is_needed_for(make_call: Make) -> None:
    """Half a producer 42, before all else; an empty transactional id 42; a timeout out of range 50; only then 16."""
    lab = GroupApis(make_call, node_ids=(1, 2))
    name = elsewhere(lab)

    assert initialize(lab, producer_id=3) == initialize(lab, producer_epoch=3) == (ErrorCode.INVALID_REQUEST, -1, -1)
    assert initialize(lab, name=name, producer_id=3, transaction_timeout_ms=0) == (ErrorCode.INVALID_REQUEST, -1, -1)
    assert initialize(lab, name="", transaction_timeout_ms=0) == (ErrorCode.INVALID_REQUEST, -1, -1)
    for timeout_ms in (0, -1, 900_001):
        assert initialize(lab, name=name, transaction_timeout_ms=timeout_ms) == (
            ErrorCode.INVALID_TRANSACTION_TIMEOUT,
            -1,
            -1,
        )
    assert initialize(lab, name=name) == (ErrorCode.NOT_COORDINATOR, -1, -1)


@pytest.mark.rules("PI-7")
@pytest.mark.parametrize("version", range(6))
def test_a_transactional_id_keeps_its_producer_id(make_call: Make, version: int) -> None:
    """Every InitProducerId raises the epoch by one. Nobody needs to have asked for the coordinator (PI-4)."""
    lab = GroupApis(make_call)
    code, producer_id, epoch = initialize(lab, version, "t")

    assert (code, epoch) == (0, 0)
    assert initialize(lab, version, "t") == (0, producer_id, 1)
    assert initialize(lab, version, "u") == (0, producer_id + 1, 0)


@pytest.mark.rules("PI-8", "PI-9")
@pytest.mark.parametrize(
    ("version", "fenced"),
    [(3, ErrorCode.INVALID_PRODUCER_EPOCH), (4, ErrorCode.PRODUCER_FENCED), (5, ErrorCode.PRODUCER_FENCED)],
)
def test_the_own_producer_is_compared(make_call: Make, version: int, fenced: int) -> None:
    """The current epoch is raised, the last one is a retry, others are fenced, which v3 calls another name."""
    lab = GroupApis(make_call)
    _, producer_id, _ = initialize(lab, version, "t")

    assert initialize(lab, version, "t", producer_id=producer_id, producer_epoch=0) == (0, producer_id, 1)
    assert initialize(lab, version, "t", producer_id=producer_id, producer_epoch=0) == (0, producer_id, 1)
    assert initialize(lab, version, "t", producer_id=producer_id, producer_epoch=7) == (fenced, -1, -1)
    assert initialize(lab, version, "t", producer_id=producer_id + 5, producer_epoch=1) == (fenced, -1, -1)
    assert initialize(lab, version, "new", producer_id=999, producer_epoch=3) == (0, producer_id + 1, 0)
