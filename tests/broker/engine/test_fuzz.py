"""Any bytes either parse or close that one connection: mutated frames at the engine.

FAKEBROKER_FUZZ=1 runs a million of them (make fuzz), the default 20,000; FAKEBROKER_SEED makes 100,000 others. A bad
frame is printed as hex.
"""

import logging
from random import Random
from typing import Any

import pytest

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.schema.types import BYTES, RECORDS, STRING, UUID, ArrayOf, FieldSpec, Primitive
from fakebroker.protocol.wire.registry import APIS
from tests.support.chance import IS_FUZZING, IS_SEEDED, SEED
from tests.support.engine import SimEngine
from tests.support.frames import framed, request
from tests.support.fuzzing import BATCH, TRANSACTIONAL_BATCH, broker_to_fuzz

MUTANTS = 1_000_000 if IS_FUZZING else 100_000 if IS_SEEDED else 20_000
PER_BROKER = 500
NUMBERS = (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0\0\0\2", b"\0\2ab")
SHARDS = 8


def valid_frames(random: Random) -> list[bytes]:
    """Two requests of every version of every API that is served, about things that exist or might."""
    apis = list(APIS.values())
    return [
        request(api.name, version, **sample(api.request, version, random))[4:]
        for api in apis
        for version in range(api.min, api.max + 1)
        for _ in range(2)
    ]


def sample(declaration: Any, version: int, random: Random) -> dict[str, Any]:
    """Values for the fields of a version."""
    specs = [spec for spec in declaration.fields if spec.versions.includes(version)]
    return {spec.name: value_of(spec, version, random) for spec in specs}


def value_of(spec: FieldSpec, version: int, random: Random) -> Any:
    if spec.nullable.includes(version) and random.random() < 0.2:
        return None
    if isinstance(spec.type, ArrayOf):
        return [element(spec.type.element, version, random) for _ in range(random.choice((0, 1, 1, 2)))]
    return element(spec.type, version, random)


def element(kind: Any, version: int, random: Random) -> Any:
    if isinstance(kind, Primitive):
        if kind is RECORDS or kind is BYTES:
            return random.choice((BATCH, TRANSACTIONAL_BATCH, b"", b"\0\0"))
        if kind is UUID:
            return bytes(16)
        return random.choice(("ab", "g", "m", "")) if kind is STRING else kind.zero.__class__(random.choice((0, 0, 1)))
    values = sample(kind, version, random)
    if kind.is_row:
        return tuple(values.get(spec.name, spec.fresh_default()) for spec in kind.fields)
    return kind(**values)


def mutated(frame: bytes, random: Random) -> bytes:
    """One to four small damages behind the API key and version, which decide who reads the rest."""
    data = bytearray(frame)
    for _ in range(random.randint(1, 4)):
        place = random.randrange(4, len(data) + 1)
        match random.randrange(5):
            case 0:
                data[place : place + 1] = bytes([random.choice((0, 1, 2, 0x7F, 0x80, 0xFF, random.randrange(256)))])
            case 1:
                data[place:place] = random.randbytes(random.randint(1, 8))
            case 2:
                del data[place : place + random.randint(1, 8)]
            case 3:
                data[place : place + 4] = random.choice(
                    (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0\0\0\2", b"\0\2ab")
                )
            case _:
                data[place:place] = data[random.randrange(len(data)) :][: random.randint(1, 40)]
    return bytes(data)


@pytest.mark.random
@pytest.mark.rules("AV-4")
@pytest.mark.parametrize("shard", range(SHARDS))
def test_mutated_frames_are_answered_or_close_their_connection(shard: int, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing a client sends raises inside the broker, and a bystander on the same broker is served throughout."""
    caplog.set_level(logging.CRITICAL, "fakebroker")
    random = Random(SEED * SHARDS + shard)
    seeds = valid_frames(random)
    for _ in range(MUTANTS // SHARDS // PER_BROKER):
        lab = broker_to_fuzz(seed=shard)
        bystander = lab.client()
        client = lab.client()
        for _ in range(PER_BROKER):
            frame = mutated(random.choice(seeds), random)
            client.socket.send(framed(frame))
            assert not lab.engine.errors, f"{frame.hex()}: {lab.engine.errors[0]!r}"
            if client.socket.is_closed or client.socket.connection.is_parked:
                client.socket.close()
                client = lab.client()
        assert (
            bystander.ask("Heartbeat", 4, group_id="g", generation_id=1, member_id="m").error_code
            == ErrorCode.UNKNOWN_MEMBER_ID
        )


@pytest.mark.random
def test_random_bytes_close_the_connection_or_wait(caplog: pytest.LogCaptureFixture) -> None:
    """Noise on the socket never gets further than the frame length."""
    random = Random(SEED + 1)
    caplog.set_level(logging.CRITICAL, "fakebroker")
    lab = SimEngine()
    for _ in range(2_000):
        client = lab.client()
        client.socket.send(random.randbytes(random.randint(1, 200)))
        client.socket.close()
    assert lab.engine.errors == []
