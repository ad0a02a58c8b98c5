"""Loads like those of clients' own tests: every record is delivered once, and none is lost."""

import random

import pytest

from fakebroker.protocol.records.batch import build_batch, split_batches
from fakebroker.protocol.records.record_codec import Record
from tests.support.share_fetches import ACCEPT, ShareGroupLab, ranges
from tests.support.time import T0


@pytest.mark.parametrize("max_bytes", [1, 150, 1000, 1 << 20])
@pytest.mark.parametrize("mode", [0, 1])
def test_each_record_once_while_it_is_produced(max_bytes: int, mode: int) -> None:
    """Small batches are produced and consumed at once by two members, 4 partitions, whatever fits into an answer."""
    rng = random.Random(max_bytes)
    lab = ShareGroupLab(4)
    members = [lab.member("a"), lab.member("b")]
    produced = dict.fromkeys(range(4), 0)
    seen: dict[tuple[int, int], int] = {}
    for turn in range(400):
        if turn < 100:
            partition, count = rng.randrange(4), rng.randrange(1, 4)
            batch = build_batch([Record(at, T0, None, b"v" * rng.randrange(200)) for at in range(count)])
            lab.log(partition).append(batch, lab.sim.network.now)
            produced[partition] += count
        member = members[turn % 2]
        answer = member.send(*range(4), wait=0, max_bytes=max_bytes, max_records=5, share_acquire_mode=mode)
        assert answer.error_code == 0
        for topic in answer.responses:
            for data in topic.partitions:
                index = data.partition_index
                assert data.error_code == 0
                acquired = ranges(answer, index)
                assert bool(acquired) == bool(list(split_batches(data.records or b"")))
                for first, last, deliveries in acquired:
                    assert deliveries == 1
                    for offset in range(first, last + 1):
                        seen[index, offset] = seen.get((index, offset), 0) + 1
                    assert member.acknowledge((first, last, ACCEPT), partition=index) == 0
    assert seen == {(index, offset): 1 for index, count in produced.items() for offset in range(count)}
