"""What a data directory keeps, and what a broker on it has after a kill or a stop."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakebroker import VirtualBroker
from tests.support.data_directories import STEPS, Life, Step, kept

steps = st.lists(st.tuples(st.sampled_from(list(STEPS)), st.integers(0, 20)), max_size=25)


@pytest.mark.random
@settings(max_examples=10, deadline=None)
@given(steps)
def test_nothing_acknowledged_is_lost_by_a_kill(history: list[Step]) -> None:
    """After any steps a broker on a copy of the directory has the same metadata and the same logs."""
    with TemporaryDirectory() as folder:
        life = Life(Path(folder) / "data")
        for step in history:
            life.take(step)
        with life.after_kill() as after:
            assert kept(after) == kept(life.broker)
        life.broker.stop()


@pytest.mark.random
@settings(max_examples=10, deadline=None)
@given(steps, steps)
def test_a_stop_keeps_everything(before: list[Step], after: list[Step]) -> None:
    """A broker goes on where one before it was stopped, also after a second life."""
    with TemporaryDirectory() as folder:
        life = Life(Path(folder) / "data")
        for history in (before, after):
            for step in history:
                life.take(step)
            expected = kept(life.broker)
            life.broker.stop()
            life.broker = VirtualBroker(data=life.path, **life.options)
            life.client = life.broker.client("client")
            assert kept(life.broker) == expected
        life.broker.stop()
