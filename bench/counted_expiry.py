"""A counted case of the cleanup: groups whose offsets are all due. Counted is a group, not a request."""

from collections.abc import Callable

from bench import requests as r
from bench.counted_loop import Case
from bench.scale import DAY_MS, HOUR_MS, World

GROUPS = 400  # with N
TOPICS, PARTITIONS = 5, 2
# So little that what is written is encoded meanwhile, as it is with a million offsets and the setting's default.
CONFIG = {"fakebroker.unread.writes.max.bytes": 500_000}


def expiry(mark: Callable[[], None]) -> int:
    """Groups of three hours expire, each hour's in one cleanup; returns N."""
    world = World(CONFIG)
    topics = [f"t{number}" for number in range(TOPICS)]
    for topic in topics:
        world.broker.create_topic(topic, partitions=PARTITIONS)
    for hour, groups in enumerate((GROUPS // 4, GROUPS, 2 * GROUPS)):
        names = [f"group-{hour}-{number}" for number in range(groups)]
        world.us_per_frame([r.frame(r.commit(name, topics, PARTITIONS), r.COMMIT) for name in names])
        world.advance(HOUR_MS)
    world.advance(7 * DAY_MS - 4 * HOUR_MS)
    assert world.group_count() == GROUPS // 4 + 3 * GROUPS
    for _ in range(3):
        world.turns(HOUR_MS)
        mark()
    assert not world.group_count()
    return GROUPS


EXPIRY_CASES = [Case("Expiry of a group with 10 offsets", expiry)]
