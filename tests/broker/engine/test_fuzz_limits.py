"""Numbers at their limits: no request takes memory or time out of proportion, whatever its numbers say.

Each number in each version of each API is set to the ends of its range; where an array holds the same field twice, one
entry gets -N and the other N, so that a sum of both hides them. FAKEBROKER_FUZZ=1 takes more samples
(make fuzz), FAKEBROKER_SEED other ones.
"""

import logging
import os
import resource
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

from fakebroker.protocol.schema.types import BYTES, RECORDS, STRING, UUID, ArrayOf, FieldSpec, Primitive
from fakebroker.protocol.wire.registry import APIS, Api
from tests.support.chance import IS_FUZZING, SEED
from tests.support.frames import request
from tests.support.fuzzing import BATCH, TRANSACTIONAL_BATCH, broker_to_fuzz

ROUNDS = 40 if IS_FUZZING else 1
FRAMES_PER_BROKER = 100
MAX_BYTES = 32 << 20  # a topic of 9,999 partitions takes 3 MiB
BYTES_PER_SENT = 100
MAX_CPU_S = 3  # a frame takes some 0.2 ms; a broker that believes a number takes minutes, or all memory
ADDRESS_SPACE_BYTES = 2 << 30
WIDTHS = {"b": 8, "h": 16, "i": 32, "q": 64}
CANCELLING = (20_000, 300_000, 2**31 - 1)
YEAR_MS = 365 * 86_400_000

Number = tuple[int, FieldSpec]  # its width in bits, and the field


class Sampler:
    """Makes requests of one seed alike but for the numbers that `special` gives, by their place in the request.

    Those of seed 0 are plain, so that nothing else is wrong with them: new names, ones, no lists within lists.
    """

    def __init__(self, seed: int, special: dict[int, int]) -> None:
        self.numbers: list[Number] = []
        self._is_plain = seed == 0
        self._random = Random(seed)
        self._special = special
        self._depth = 0

    def fields(self, declaration: Any, version: int) -> dict[str, Any]:
        """Values for the fields of a version."""
        specs = [spec for spec in declaration.fields if spec.versions.includes(version)]
        return {spec.name: self.value(spec, version) for spec in specs}

    def value(self, spec: FieldSpec, version: int) -> Any:
        if spec.nullable.includes(version) and not self._is_plain and self._random.random() < 0.2:
            return None
        if not isinstance(spec.type, ArrayOf):
            return self.element(spec.type, spec, version)
        count = 2 if not self._depth else 0 if self._is_plain else self._random.choice((0, 0, 2))
        self._depth += 1
        values = [self.element(spec.type.element, spec, version) for _ in range(count)]
        self._depth -= 1
        return values

    def element(self, kind: Any, spec: FieldSpec, version: int) -> Any:
        if not isinstance(kind, Primitive):
            values = self.fields(kind, version)
            if kind.is_row:
                return tuple(values.get(part.name, part.fresh_default()) for part in kind.fields)
            return kind(**values)
        if kind.char in WIDTHS:
            return self.number(WIDTHS[kind.char], spec)
        if kind is RECORDS or kind is BYTES:
            return self._random.choice((BATCH, TRANSACTIONAL_BATCH, b""))
        if kind is UUID:
            return bytes(16)
        if kind is STRING:
            new = f"n{self._random.random()}"
            return new if self._is_plain else self._random.choice(("ab", "g", "", new, new))
        return kind.zero

    def number(self, width: int, spec: FieldSpec) -> int:
        place = len(self.numbers)
        self.numbers.append((width, spec))
        usual = 1 if self._is_plain else self._random.choice((1, 1, 1, -1, 0))
        return max(-(1 << width - 1), min(self._special.get(place, usual), (1 << width - 1) - 1))


def requests(api: Api, version: int, seed: int) -> Iterator[bytes]:
    """One request after the other, each with one number, or two that cancel each other, at a limit."""
    first = Sampler(seed, {})
    first.fields(api.request, version)
    for place, (width, spec) in enumerate(first.numbers):
        for value in (0, -1, 1, -(1 << width - 1), (1 << width - 1) - 1):
            yield made(api, version, seed, {place: value})
        for other, (_, its_spec) in enumerate(first.numbers[place + 1 :], place + 1):
            if its_spec is spec:
                for value in CANCELLING:
                    yield made(api, version, seed, {place: -value, other: value})
                break


def made(api: Api, version: int, seed: int, special: dict[int, int]) -> bytes:
    return request(api.name, version, **Sampler(seed, special).fields(api.request, version))


@contextmanager
def limited_memory() -> Iterator[None]:
    """A broker that believes a huge number fails with MemoryError before the machine does."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as statm:
        used_bytes = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used_bytes + ADDRESS_SPACE_BYTES, before[1]))
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()
        resource.setrlimit(resource.RLIMIT_AS, before)


class Judge:
    """Sends requests to brokers, and measures what each takes."""

    def __init__(self) -> None:
        self.sent = 0
        self.lab = broker_to_fuzz()

    def send(self, frame: bytes) -> None:
        if self.sent % FRAMES_PER_BROKER == 0:
            self.renew()
        self.sent += 1
        client = self.lab.client()
        before_bytes, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        begin_s = time.process_time()
        client.socket.send(frame)
        cpu_s = time.process_time() - begin_s
        peak_bytes = tracemalloc.get_traced_memory()[1] - before_bytes
        assert not self.lab.engine.errors, f"{frame.hex()}: {self.lab.engine.errors[0]!r}"
        assert peak_bytes < MAX_BYTES + BYTES_PER_SENT * len(frame), f"{frame.hex()}: {peak_bytes} bytes"
        assert cpu_s < MAX_CPU_S, f"{frame.hex()}: {cpu_s} s"

    def renew(self) -> None:
        """Let what was asked for fall due, then begin with another broker."""
        self.lab.engine.advance_to(self.lab.network.now.plus(YEAR_MS))
        self.lab.network.flush()
        assert not self.lab.engine.errors
        self.lab = broker_to_fuzz()


@pytest.mark.random
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="counts its memory as Linux does")
@pytest.mark.parametrize("shard", range(4))
def test_no_number_takes_more_than_it_should(shard: int, caplog: pytest.LogCaptureFixture) -> None:
    """Memory stays in proportion to what was sent, time is short, and nothing raises inside the broker."""
    caplog.set_level(logging.CRITICAL, "fakebroker")
    served = [(APIS[key], version) for key in sorted(APIS) for version in range(APIS[key].min, APIS[key].max + 1)]
    judge = Judge()
    with limited_memory():
        for seed in (0, *range(SEED + 1, SEED + ROUNDS)):
            for api, version in served[shard::4]:
                for frame in requests(api, version, seed):
                    judge.send(frame)
        judge.renew()
    assert judge.sent > 100
