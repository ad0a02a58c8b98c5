"""A counted case of the cleanup: the life of a group that commits once, and whose offsets expire with many others."""

from collections.abc import Callable

from bench import requests as r
from bench.counted_loop import Case
from bench.scale import DAY_MS, HOUR_MS, World

GROUPS = 400  # with N
TOPICS, PARTITIONS = 5, 2
# So little that most records are encoded, as with a million offsets and the setting's default.
CONFIG = {"fakebroker.unread.writes.max.bytes": 500_000}


def lives(mark: Callable[[], None]) -> int:
    """Groups commit, and expire in one cleanup; returns N."""
    world = World(CONFIG)
    topics = [f"t{number}" for number in range(TOPICS)]
    for topic in topics:
        world.broker.create_topic(topic, partitions=PARTITIONS)
    parts = [
        [r.frame(r.commit(f"group-{groups}-{number}", topics, PARTITIONS), r.COMMIT) for number in range(groups)]
        for groups in (GROUPS // 4, GROUPS, 2 * GROUPS)
    ]
    for commits in parts:
        world.us_per_frame(commits)
        assert world.group_count() == len(commits)
        world.advance(7 * DAY_MS - HOUR_MS)
        world.turns(HOUR_MS)
        assert not world.group_count()
        mark()
    return GROUPS


EXPIRY_CASES = [Case("Life of a group with 10 offsets", lives)]
