"""Throttle times next to those of a real Kafka: the same requests, in virtual time at the moments of their answers.

When Kafka counts a request, nobody knows but within the time that it had it: by so much, and as much as its first
requests took, the times may differ. A byte rate of 1,000 makes 1 ms of a byte.
"""

from collections.abc import Callable, Mapping

import pytest

from tests.support.engine import SimEngine
from tests.support.real_kafka import RealKafka, needs_real_kafka, start_kafka
from tests.support.throttled import (
    InVirtualTime,
    OverTcp,
    Play,
    create_topic,
    delete_topic,
    fetch,
    produce,
    set_quotas,
)

pytestmark = [*needs_real_kafka, pytest.mark.slow]

__all__ = ["start_kafka"]

NEAR_MS = 40
CLEAR_MS = 300  # after a throttle time, so that both sides find that it is over

StartKafka = Callable[[Mapping[str, object]], RealKafka]
Story = Callable[[Play], None]


def produce_bytes(play: Play) -> None:
    """Batches of many sizes, at once and with pauses, for longer than the window of eleven seconds."""
    asker = play.asker
    create_topic(asker)
    produce(asker, "warm", 10)
    set_quotas(asker, [("client-id", "p")], producer_byte_rate=1000)
    asker.wait(400)
    for size, pause_ms in ((5000, 0), (3000, 300), (1900, 300), (300, 0), (900, 600), (2000, 0), (100, 0), (3000, 0)):
        play.keep(produce, "p", size)
        asker.wait(pause_ms)


def fetch_bytes(play: Play) -> None:
    """One batch, again and again, without a session and in one."""
    asker = play.asker
    create_topic(asker, "one")
    produce(asker, "warm", 4000, topic="one")
    fetch(asker, "warm", 10_000, topic="one")
    set_quotas(asker, [("user", None), ("client-id", "f")], consumer_byte_rate=1000)
    asker.wait(400)
    for _ in range(5):
        play.keep(fetch, "f", 10_000, topic="one")
    session = play.keep(fetch, "f", 10_000, topic="one", session_epoch=0)
    while not session.session_id:
        session = play.keep(fetch, "f", 10_000, topic="one", session_epoch=0)
    for epoch in (1, 2, 3):
        play.keep(fetch, "f", 10_000, topic="one", session_epoch=epoch, session_id=session.session_id)


def mutate(play: Play) -> None:
    """Topics made and deleted in versions that are refused and in those that are only throttled."""
    asker = play.asker
    create_topic(asker, "warm")
    set_quotas(asker, [("client-id", "m")], controller_mutation_rate=2)
    asker.wait(400)
    play.keep(create_topic, "a", 5, client_id="m", validate_only=True)
    play.keep(create_topic, "a", 12, client_id="m")
    play.keep(create_topic, "b", 9, client_id="m")
    play.keep(create_topic, "c", 3, client_id="m")
    play.keep(create_topic, "d", 3, client_id="m", version=5)
    owing = play.keep(create_topic, "e", 4, client_id="m", version=5)
    asker.wait(owing.throttle_time_ms + CLEAR_MS)
    play.keep(delete_topic, "a", "m")
    play.keep(delete_topic, "b", "m")
    owing = play.keep(delete_topic, "e", "m", version=4)
    asker.wait(owing.throttle_time_ms + CLEAR_MS)
    play.keep(create_topic, "f", 1, client_id="m")


@pytest.mark.rules("QU-7", "QU-8", "QU-11", "PD-28", "FT-19")
@pytest.mark.parametrize("story", [produce_bytes, fetch_bytes, mutate])
def test_throttle_times_are_those_of_kafka(start_kafka: StartKafka, story: Story) -> None:
    """Request by request, the same errors and nearly the same time, and some of it."""
    kafka = start_kafka({})
    over_tcp = OverTcp(kafka.host, kafka.port)
    theirs = Play(over_tcp)
    story(theirs)
    over_tcp.close()
    ours = Play(InVirtualTime(SimEngine()), [each.at_ms for each in theirs.throttled])
    story(ours)

    pairs = list(zip(theirs.throttled, ours.throttled, strict=True))
    print(*pairs, sep="\n")
    unknown_ms = 0
    for their, our in pairs:
        unknown_ms = max(unknown_ms, their.took_ms)
        assert abs(their.throttle_ms - our.throttle_ms) <= NEAR_MS + their.took_ms + unknown_ms
    assert [their.errors for their, _ in pairs] == [our.errors for _, our in pairs]
    assert max(their.throttle_ms for their, _ in pairs) > 5 * (NEAR_MS + unknown_ms)
