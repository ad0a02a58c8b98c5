"""Fetch against a plain model: logs are lists of batch sizes; who may wait, and what an answer holds."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakebroker.broker.apis import fetch
from fakebroker.protocol.wire.messages.fetch import FetchRequest, FetchTopic
from tests.support.fetches import At, Fetches, Pending

PARTITIONS = range(3)
SIZE = 100
stateless = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # make_call keeps nothing

produces = st.tuples(st.just("produce"), st.sampled_from(PARTITIONS), st.integers(1, 3))
passes = st.tuples(st.just("pass"), st.integers(1, 400), st.just(0))
hang_ups = st.tuples(st.just("hang up"), st.integers(0, 5), st.just(0))
fetches = st.tuples(
    st.just("fetch"),
    st.lists(st.tuples(st.sampled_from(PARTITIONS), st.integers(0, 4), st.sampled_from([50, 100, 250, 10_000]))),
    st.tuples(st.sampled_from([0, 100, 300]), st.sampled_from([0, 1, 150, 300, 900]), st.sampled_from([50, 250, 9000])),
)


class Waiting:
    """A fetch in the model: what it asked for, and when its time is up."""

    def __init__(self, pending: Pending, asked: list[At], terms: tuple[int, int, int], now_ms: int) -> None:
        self.pending = pending
        self.asked = list({at.partition: at for at in asked}.values())
        self.ends_ms = now_ms + terms[0]
        self.min_bytes = min(terms[1], terms[2])
        self.max_bytes = terms[2]
        self.gone = False

    def is_over(self, counts: list[int], now_ms: int) -> bool:
        """By the rules: time, no partition, an error, or enough bytes (FT-4, FT-5)."""
        if now_ms >= self.ends_ms or not self.asked or any(at.offset > counts[at.partition] for at in self.asked):
            return True
        readable = [min((counts[at.partition] - at.offset) * SIZE, at.max_bytes) for at in self.asked]
        return sum(readable) >= self.min_bytes

    def answer(self, counts: list[int]) -> dict[int, list[int]]:
        """By the rules: whole batches within the limits, but for the very first (FT-6, FT-7)."""
        found: dict[int, list[int]] = {}
        room, first = self.max_bytes, True
        for at in self.asked:
            fitting = min(at.max_bytes, room) // SIZE
            there = max(counts[at.partition] - at.offset, 0)
            number = min(there, max(fitting, 1 if first else 0))
            found[at.partition] = list(range(at.offset, at.offset + number))
            room = max(room - number * SIZE, 0)
            first = first and not number
        return found


@pytest.mark.rules("FT-4", "FT-5", "FT-6", "FT-7", "FT-10", "FT-21")
@stateless
@given(steps=st.lists(st.one_of(produces, passes, hang_ups, fetches), max_size=30))
def test_waits_and_answers_as_the_model(make_call: Any, steps: list[tuple[Any, ...]]) -> None:
    """After every step exactly those fetches are parked that have a reason to be; the others hold what they may."""
    lab = Fetches(make_call)
    counts = [0] * len(PARTITIONS)
    waiting: list[Waiting] = []
    for kind, what, more in steps:
        if kind == "produce":
            lab.produce(more, what)
            counts[what] += more
            check_after_appends(lab, waiting, counts, what, more)
        elif kind == "pass":
            lab.wait(what)
        elif kind == "hang up" and what < len(waiting):
            waiting.pop(what).pending.hang_up()
        elif kind == "fetch":
            asked = [At(*one) for one in what]
            pending = lab.fetch(*asked, wait=more[0], min_bytes=more[1], max_bytes=more[2])
            waiting.append(Waiting(pending, asked, more, lab.now.mono_ms))
        for one in list(waiting):
            assert one.pending.is_parked == (not one.is_over(counts, lab.now.mono_ms))
            if not one.pending.is_parked:
                waiting.remove(one)
                assert one.pending.offsets() == one.answer(counts)
    parked = sum(len(one.asked) for one in waiting)
    assert sum(len(lab.log(partition).waiters) for partition in PARTITIONS) == parked
    assert len(lab.cluster.timers.mono) == len(waiting)


def check_after_appends(lab: Fetches, waiting: list[Waiting], counts: list[int], partition: int, more: int) -> None:
    """Several appends are several steps: a fetch is answered by the one that was enough, not by the last."""
    for before in range(counts[partition] - more + 1, counts[partition]):
        then = [*counts[:partition], before, *counts[partition + 1 :]]
        for one in list(waiting):
            if one.is_over(then, lab.now.mono_ms):
                waiting.remove(one)
                assert one.pending.offsets() == one.answer(then)


numbers = st.one_of(st.integers(-3, 5), st.sampled_from([-(2**31), 2**31 - 1]))
offsets = st.one_of(numbers, st.sampled_from([-(2**63), 2**63 - 1]))
rows = st.tuples(numbers, numbers, offsets, numbers, offsets, numbers, st.just(bytes(16)), offsets)


@pytest.mark.rules("FT-5", "FT-8", "FT-10", "FT-11", "FT-13", "FS-9")
@stateless
@given(st.data())
def test_any_numbers_have_an_answer(make_call: Any, data: st.DataObject) -> None:
    """Whatever stands in the fields, a request is answered or parked, and the answer can be encoded."""
    lab = Fetches(make_call)
    lab.produce(3)
    version = data.draw(st.integers(4, 18))
    request = FetchRequest(
        max_wait_ms=data.draw(numbers),
        min_bytes=data.draw(numbers),
        max_bytes=data.draw(numbers),
        isolation_level=data.draw(st.integers(0, 1)),
        session_id=data.draw(numbers),
        session_epoch=data.draw(numbers),
        replica_id=data.draw(numbers),
        rack_id=data.draw(st.text(max_size=3)),
        topics=[
            FetchTopic(
                topic=name, topic_id=lab.topic.id if name == "t" else bytes(16), partitions=data.draw(st.lists(rows))
            )
            for name in data.draw(st.lists(st.sampled_from(["t", "t", "", "no"])))
        ],
    )
    call = lab.fetch(version=version).call
    pending = Pending(call, fetch.handle(call, request))
    lab.wait(2**31)
    assert pending.response is not None
