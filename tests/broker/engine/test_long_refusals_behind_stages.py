"""A long request that is refused as a whole, behind each stage that answers its error: in steps."""

from collections.abc import Callable
from itertools import islice

import pytest

from fakebroker.broker.core.quotas.client_quotas import REQUEST_PERCENTAGE, make_entity
from fakebroker.broker.engine.faults.spec import FaultSpec
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.create_partitions import CreatePartitionsTopic
from tests.broker.engine.test_memory import collector_off
from tests.broker.engine.test_staged_memory import KEPT
from tests.support.engine import SimEngine
from tests.support.frames import request
from tests.support.turns_of_request import turns

MANY = 20_000
TOPICS = [CreatePartitionsTopic(name=f"{number:x}", count=3) for number in range(MANY)]
REFUSED = request("CreatePartitions", 3, topics=TOPICS, timeout_ms=0)  # so little time is an error of all


def with_quota() -> SimEngine:
    lab = SimEngine()
    lab.cluster.client_quotas.alter(make_entity({"client-id": None}), {REQUEST_PERCENTAGE: 1e6})
    return lab


def throttled() -> SimEngine:
    lab = SimEngine({"fakebroker.request.time.us": 1_000_000})
    lab.cluster.client_quotas.alter(make_entity({"client-id": None}), {REQUEST_PERCENTAGE: 0.1})
    return lab


def faulted_later() -> SimEngine:
    lab = SimEngine()
    lab.engine.faults.add(FaultSpec.of({"api": "CreatePartitions", "throttle_ms": 5}))
    return lab


def with_error() -> SimEngine:
    lab = SimEngine()
    lab.engine.faults.add(FaultSpec.of({"api": "CreatePartitions", "error": "REQUEST_TIMED_OUT"}))
    return lab


behind_each_stage = pytest.mark.parametrize(
    "made", [with_quota, throttled, faulted_later, with_error], ids=lambda each: each.__name__
)
Made = Callable[[], SimEngine]


def longest_turn(lab: SimEngine) -> int:
    """The calls of the longest turn, the errors having come."""
    client = lab.client()
    longest = max(turns(lab, client.socket.connection, REFUSED))
    lab.network.flush()
    answer = client.answer("CreatePartitions", 3)
    assert {each.error_code for each in answer.results} == {ErrorCode.REQUEST_TIMED_OUT}
    assert len(answer.results) == MANY
    assert lab.engine.errors == []
    return longest


@behind_each_stage
def test_it_takes_no_longer_turns(made: Made) -> None:
    """The errors of its entries are made in steps, as without a stage."""
    assert longest_turn(made()) < 1.3 * longest_turn(SimEngine())


@behind_each_stage
def test_a_client_that_leaves_meanwhile_leaves_nothing(made: Made) -> None:
    """Neither work nor its request, at whichever step it leaves."""
    lab = made()
    for steps in (4, 5, 6, 7, 12):
        with collector_off() as found:
            client = lab.client()
            list(islice(turns(lab, client.socket.connection, REFUSED), steps))
            client.socket.close()
            while lab.engine.works:
                lab.engine.step(lab.network.now)
            del client
        assert not KEPT & set(found), (steps, found)
    assert lab.engine.errors == []


@pytest.mark.parametrize("how", ["kill_node", "stop_node"])
def test_a_broker_that_ends_meanwhile_leaves_nothing(how: str) -> None:
    """A fault takes the request apart in steps; the process that received it ends amid them."""
    for steps in (2, 4, 6, 8, 12):
        lab = SimEngine()
        lab.engine.faults.add(FaultSpec.of({"api": "CreatePartitions", "error": "REQUEST_TIMED_OUT", "topic": "*1"}))
        with collector_off() as found:
            client = lab.client()
            list(islice(turns(lab, client.socket.connection, REFUSED), steps))
            getattr(lab.network, how)(1)
            while lab.engine.works:
                lab.engine.step(lab.network.now)
            del client
        assert not KEPT & set(found), (steps, found)
    assert lab.engine.errors == []
