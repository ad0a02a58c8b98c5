"""Work that goes on a millisecond after each step: the next steps are due already where one takes longer than that."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.groups.consumer import patterns
from fakebroker.broker.core.logs import cleaner
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from tests.support.engine import SimEngine
from tests.support.frames import request
from tests.support.time import T0

RECORDS = 50
STEP_MS = 20  # as long as a step takes here


def begin_cleaning(lab: SimEngine) -> Callable[[], bool]:
    """A compacted log that is due; whether it was cleaned."""
    config = {"cleanup.policy": "compact", "segment.ms": "1", "min.cleanable.dirty.ratio": "0"}
    log = lab.cluster.topics.create("t", 1, config=config).partitions[0].log
    for _ in range(RECORDS):
        log.append(build_batch([Record(0, T0 + 10 * log.log_end_offset, b"k", b"")]), lab.network.now)
    return lambda: len(list(log.records())) < RECORDS


def begin_resolution(lab: SimEngine) -> Callable[[], bool]:
    """A group with a pattern and very many topics; whether it is resolved."""
    for number in range(RECORDS):
        lab.cluster.topics.create(f"t{number}", 1)
    fields: dict[str, Any] = {
        "group_id": "g",
        "member_id": "m",
        "member_epoch": 0,
        "rebalance_timeout_ms": 1000,
        "subscribed_topic_names": None,
        "subscribed_topic_regex": "|".join(f".*{number}.*" for number in range(RECORDS)),
        "topic_partitions": [],
    }
    connection = lab.bare_connection()
    connection.receive(request("ConsumerGroupHeartbeat", 1, **fields), lab.network.now)
    group = lab.cluster.nodes[1].coordinator.shard("g", lab.network.now).group("g")
    return lambda: bool(getattr(group, "patterns"))  # noqa: B009


@pytest.mark.parametrize("begin", [begin_cleaning, begin_resolution])
def test_a_turn_has_one_step(begin: Callable[[SimEngine], Callable[[], bool]], monkeypatch: pytest.MonkeyPatch) -> None:
    """However late the next ones are, clients are served before each of them; a clock that is moved waits for all."""
    steps: list[int] = []
    monkeypatch.setattr(cleaner, "RECORDS_PER_STEP", 1)
    monkeypatch.setattr(patterns, "STATES_PER_STEP", 1)
    for is_moved in (False, True):
        lab = SimEngine()
        is_done = begin(lab)
        now, turns = lab.network.now.plus(15_000), 0
        while not is_done():
            turns += 1
            if is_moved:
                lab.engine.advance_to(now)
                break
            lab.engine.tick(now)
            while lab.engine.works:
                turns += 1
                lab.engine.step(now)
            now = now.plus(STEP_MS)
        lab.engine.advance_to(now.plus(1_000))
        assert is_done()
        assert lab.engine.errors == []
        steps.append(turns)
    assert steps[0] > RECORDS // 2
    assert steps[1] == 1
