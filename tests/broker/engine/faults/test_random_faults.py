"""Any faults over any requests: no internal error, nobody hangs who is not meant to, nobody else is harmed."""

from random import Random
from typing import Any

import pytest

from fakebroker.broker.engine.connection_state import BUFFERED, ENDED, READING
from fakebroker.broker.engine.faults.actions import ACTIONS
from fakebroker.broker.engine.faults.spec import FaultSpec
from fakebroker.protocol.errors import ErrorCode, InvalidArgument
from fakebroker.protocol.wire.frame import encode_request
from fakebroker.protocol.wire.registry import APIS
from tests.broker.engine.test_fuzz import sample
from tests.support.chance import IS_FUZZING, SEED
from tests.support.engine import Client, SimEngine
from tests.support.frames import framed
from tests.support.fuzzing import broker_to_fuzz

ROUNDS = 4000 if IS_FUZZING else 150
REQUESTS = 12
LONGEST_MS = 400_000  # more than any delay, rebalance or long poll of these takes

MATCHES: dict[str, tuple[Any, ...]] = {
    "version": ("0-3", "4+", 2),
    "topic": ("ab", "a*"),
    "partition": (0, 1),
    "group": ("g", "*"),
    "nth": (1, 3),
    "every": (2,),
    "times": (1, 2),
    "probability": (0.5,),
}
DONE: dict[str, tuple[Any, ...]] = {
    "error": ("NOT_COORDINATOR", "NOT_LEADER_OR_FOLLOWER", 1),
    "action": tuple(ACTIONS),
    "after": ("received", "applied"),
    "delay_s": (0, 0.5, 3),
    "jitter_s": (1,),
    "throttle_ms": (9,),
    "bytes": (0, 5, 11, 1000),
    "offset": (0, 20),
    "for_s": (0, 2),
    "bytes_per_s": (100, 1000),
    "run": (lambda _request: None,),
}


def random_fault(random: Random, apis: list[str]) -> FaultSpec:
    """A fault of the victim that can be; most tries cannot."""
    while True:
        fields: dict[str, Any] = {"client_id": "victim"}
        if random.random() < 0.7:
            fields["api"] = random.choice(apis)
        for name, values in (*MATCHES.items(), *DONE.items()):
            if random.random() < 0.2:
                fields[name] = random.choice(values)
        try:
            return FaultSpec.of(fields)
        except InvalidArgument:
            continue


def set_faults(sim: SimEngine, random: Random, apis: list[str]) -> None:
    for _ in range(random.randint(1, 4)):
        try:
            sim.engine.faults.add(random_fault(random, apis))
        except InvalidArgument:  # no such version here, or nothing that could match
            continue


def is_dropped(sim: SimEngine) -> bool:
    return any(one.spec.fields.get("action") == "drop-answer" and one.hits for one in sim.engine.faults)


def ask_of_the_bystander(bystander: Client) -> None:
    assert bystander.ask("Heartbeat", 3, group_id="other").error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.random
@pytest.mark.parametrize("shard", range(4))
def test_random_faults_harm_only_whom_they_mean(shard: int) -> None:
    """After enough time the victim is served again, closed, or waits for an answer that a fault dropped."""
    random = Random(f"faults {SEED} {shard}")
    hits = 0
    for _ in range(ROUNDS // 4):
        sim = broker_to_fuzz(seed=random.randrange(1000))
        bystander, victim = sim.client(), sim.client()
        versions = sim.engine.listeners[0].versions
        served = [APIS[key] for key in sorted(versions)]
        set_faults(sim, random, [api.name for api in served])
        for number in range(REQUESTS):
            wanted = random.choice(served)
            version = random.randint(*versions[wanted.key])
            asked = wanted.request(**sample(wanted.request, version, random))
            victim.socket.send(framed(encode_request(asked, version, number, "victim")))
            ask_of_the_bystander(bystander)
            match random.randrange(8):
                case 0:
                    sim.network.advance(random.choice((1, 400, 5000)))
                case 1:
                    sim.network.advance(LONGEST_MS)
                    connection = victim.socket.connection
                    is_well = connection.state in (READING, BUFFERED, *ENDED)
                    assert is_well or is_dropped(sim), (connection.state, list(map(str, sim.engine.faults)))
                    assert not connection.is_stalled or connection.state in ENDED or is_dropped(sim)
                case 2:
                    victim.socket.close()
                case 3:
                    set_faults(sim, random, ["Heartbeat", "Fetch"])
            if victim.socket.is_closed or is_dropped(sim):
                victim = sim.client()
                hits += sum(one.hits for one in sim.engine.faults)
                sim.engine.faults.clear()
                set_faults(sim, random, [api.name for api in served])
        sim.network.advance(LONGEST_MS)
        ask_of_the_bystander(bystander)
        assert sim.engine.errors == []
        hits += sum(one.hits for one in sim.engine.faults)
    assert hits > ROUNDS // 4
