"""Brokers with very much of something: no turn of the loop that serves all clients goes over all of it.

Topics, partitions, groups, members, transactions; requests that name all of it, short ones that mean all of it, what
falls due, clients that go away.
"""

from collections.abc import Callable

import pytest

from fakebroker.broker.apis import fetch_request
from fakebroker.broker.core import long_passes
from fakebroker.broker.core.groups.modern import long_target
from fakebroker.broker.core.groups.share import share_group
from fakebroker.broker.core.groups.streams.group_step import MOST_TASKS
from fakebroker.broker.engine import dispatch, engine
from fakebroker.protocol.schema import emit_decode
from fakebroker.protocol.wire.registry import APIS
from tests.support.engine import SimEngine
from tests.support.large_state_stories import OF_OTHERS, OF_PARTITIONS, asks_for_all
from tests.support.large_states import Growth, Naming, Story, growth
from tests.support.small_steps import make_steps_smaller

SERVED = SimEngine().engine.listeners[0].versions
NAMES = [each.name for each in APIS.values() if each.key in SERVED]
SCALE = 100  # there is so much less of everything than in an attack; so there is in a step
FEW, MANY = 200, 600
FEW_OTHERS, MANY_OTHERS = 60, 180
ENTRIES = 50_000  # that there may be
REQUEST_BYTES = 1_000_000
MAX_CALLS = 1_750_000  # of a turn, which takes a third of a second, or one where much memory is taken
MAX_CALLS_OF_HEARTBEAT = 3_500_000  # which is handled in one turn, but for a long target: about half a second
LAYOUTS: dict[str, Callable[[int], int]] = {"one topic": lambda _entries: 1, "many topics": lambda entries: entries}

FEWER: dict[tuple[str, str], tuple[int, str]] = {
    ("TxnOffsetCommit", ""): (17_000, "offsets fit into a batch of the log of groups"),
    ("AlterShareGroupOffsets", "many topics"): (40_000, "topics fit into a record of the log of groups"),
    ("a classic group with many members", ""): (10_000, "members, each of which has a connection"),
    ("Produce, wakes many Fetches", ""): (10_000, "clients wait, each of which has a connection"),
    ("Produce, wakes many ShareFetches", ""): (10_000, "clients wait, each of which has a connection"),
    ("the time of many Fetches is up", ""): (10_000, "clients wait, each of which has a connection"),
    ("the target of many members", ""): (20_000, "targets fit into a batch of the log of groups"),
    ("StreamsGroup", "many topics"): (20_000, "parts may be in a topology"),
    ("tasks and standbys", "many topics"): (20_000, "parts may be in a topology"),
}
"""What there can be fewer of than ENTRIES, and why: by how what is done begins, and in which layout."""


NAMED: dict[str, int] = {"Fetch, of deleted topics": 500_000}
"""What there can be more of, as nothing of it need exist."""


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    make_steps_smaller(monkeypatch, SCALE)
    for module, name in (
        (emit_decode, "BYTES_PER_STEP"),
        (long_passes, "TURN_COST"),
        (long_passes, "STEP_COST"),
        (long_passes, "ACTIONS_COST"),
        (engine, "DUE_PER_TURN"),
        (fetch_request, "TARGETS_PER_STEP"),
        (dispatch, "MANY_PARTITIONS"),
        (share_group, "FEW_TOPICS"),
        (long_target, "PARTITIONS_AT_ONCE"),
        (long_target, "NAMES_AT_ONCE"),
    ):
        monkeypatch.setattr(module, name, getattr(module, name) // SCALE)


def entries_of(label: str, layout: str, grown: Growth) -> float:
    """How many entries there may be when that is done."""
    fewer = [count for (start, where), (count, _) in FEWER.items() if label.startswith(start) and where in ("", layout)]
    most = min(fewer, default=MOST_TASKS if label.startswith("StreamsGroup") else NAMED.get(label, ENTRIES))
    return min(most, REQUEST_BYTES / grown.size_bytes) if grown.size_bytes > 0 else most


def most_calls(label: str) -> int:
    """What a turn may make in which that is done."""
    return MAX_CALLS_OF_HEARTBEAT if "GroupHeartbeat" in label and "many members" not in label else MAX_CALLS


def check(story: Story, few: int, many: int, layout: str, user: str | None) -> None:
    """Fail with the calls that the turns of the story would make which go over all."""
    found = growth(story, few, many, LAYOUTS[layout], user)
    calls = {label: round(grown.calls * entries_of(label, layout, grown)) for label, grown in found.items()}
    assert {label: each for label, each in calls.items() if each > most_calls(label)} == {}


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("story", OF_PARTITIONS, ids=lambda story: story.__name__)
def test_no_turn_goes_over_all_partitions(story: Story, layout: str) -> None:
    """What is done with all partitions of one topic, or with very many topics, is done in turns of a second at most."""
    check(story, FEW, MANY, layout, None)


@pytest.mark.slow
@pytest.mark.parametrize("story", OF_OTHERS, ids=lambda story: story.__name__)
def test_no_turn_goes_over_all_others(story: Story) -> None:
    """The same of groups, members, transactions and producers."""
    check(story, FEW_OTHERS, MANY_OTHERS, "one topic", None)


@pytest.mark.slow
@pytest.mark.parametrize("user", [None, "root"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", NAMES)
def test_no_request_goes_over_all(name: str, layout: str, user: str | None) -> None:
    """Each API, asked for all there is by names and by null, where logs are not made yet."""
    for naming in (Naming.ALL, Naming.NULL):
        check(asks_for_all(name, naming), FEW, MANY, layout, user)
