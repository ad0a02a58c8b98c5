"""Brokers with very much of something: what was made of it goes when it is done, not when the collector comes by.

`fakebroker serve` runs full collections seldom. A request of 25 bytes whose answer left a cycle with something for each
of 50,000 partitions would make the process grow by hundreds of megabytes meanwhile.
"""

import gc
from collections.abc import Callable, Iterator

import pytest

from fakebroker.broker.core.groups.modern import long_target
from tests.broker.engine.test_turns_of_large_states import LAYOUTS, NAMES
from tests.support import large_states
from tests.support.large_state_stories import OF_OTHERS, OF_PARTITIONS, asks_for_all
from tests.support.large_states import Naming, Story, growth

FEW, MANY = 20, 60


def cyclic_objects_of(work: Callable[[], object]) -> int:
    """How many objects something leaves to the collector."""
    gc.disable()
    work()
    return gc.collect()


@pytest.fixture(autouse=True)
def _counts_cycles(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(large_states, "calls_of", cyclic_objects_of)
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
    gc.enable()


def check(story: Story, layout: str) -> None:
    """Fail with what leaves an object or more for each entry."""
    found = growth(story, FEW, MANY, LAYOUTS[layout], None)
    assert {label: grown.calls for label, grown in found.items() if grown.calls >= 1} == {}


@pytest.mark.slow
@pytest.mark.parametrize("partitions_at_once", [0, 1_000], ids=["in steps", "at once"])
@pytest.mark.parametrize("story", [*OF_PARTITIONS, *OF_OTHERS], ids=lambda story: story.__name__)
def test_what_is_done_leaves_no_cycles(story: Story, partitions_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is done with all partitions, groups, members or transactions."""
    monkeypatch.setattr(long_target, "PARTITIONS_AT_ONCE", partitions_at_once)
    check(story, "one topic")


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", NAMES)
def test_a_request_leaves_no_cycles(name: str, layout: str) -> None:
    """Each API, asked for all there is by names and by null."""
    for naming in (Naming.ALL, Naming.NULL):
        check(asks_for_all(name, naming), layout)
