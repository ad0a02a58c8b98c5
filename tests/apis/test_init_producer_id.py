"""InitProducerId: ids for idempotent producers, and what is refused without a coordinator."""

from collections.abc import Callable

import pytest

from fakebroker.apis import init_producer_id
from fakebroker.apis.call import Call
from fakebroker.wire.messages.init_producer_id import InitProducerIdRequest
from tests.support.log_apis import LogApis

Make = Callable[..., Call]


def initialize(lab: LogApis, version: int = 4, name: str | None = None, **fields: int) -> tuple[int, int, int]:
    """(error, producer id, epoch)."""
    request = InitProducerIdRequest(transactional_id=name, **{"transaction_timeout_ms": 1000, **fields})
    response = lab.ask(init_producer_id, request, version)
    return response.error_code, response.producer_id, response.producer_epoch


@pytest.mark.rules("PI-1", "PI-2")
@pytest.mark.parametrize("version", range(6))
def test_idempotent_producers_get_fresh_ids(make_call: Make, version: int) -> None:
    """They count up by one, at epoch 0, whatever the timeout says."""
    lab = LogApis(make_call)
    code, first, epoch = initialize(lab, version)

    assert (code, epoch) == (0, 0)
    assert initialize(lab, version, transaction_timeout_ms=-5) == (0, first + 1, 0)
    if version >= 3:
        assert initialize(lab, version, producer_id=3, producer_epoch=9) == (0, first + 2, 0)


@pytest.mark.rules("PI-3", "PI-4", "PI-5")
def test_what_no_coordinator_is_needed_for(make_call: Make) -> None:
    """Half a producer 42, before all else; an empty transactional id 42; a timeout out of range 50; then 15."""
    lab = LogApis(make_call)

    assert initialize(lab, producer_id=3) == initialize(lab, producer_epoch=3) == (42, -1, -1)
    assert initialize(lab, name="x", producer_id=3, transaction_timeout_ms=0) == (42, -1, -1)
    assert initialize(lab, name="", transaction_timeout_ms=0) == (42, -1, -1)
    for timeout_ms in (0, -1, 900_001):
        assert initialize(lab, name="x", transaction_timeout_ms=timeout_ms) == (50, -1, -1)
    assert initialize(lab, name="x") == (15, -1, -1)
