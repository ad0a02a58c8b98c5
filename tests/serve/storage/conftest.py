"""A broker on a data directory."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.data_directories import SETTINGS, Life


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    """One with a topic, "orders", whose segments are small."""
    life = Life(tmp_path / "data")
    life.broker.create_topic("orders", config=SETTINGS)
    yield life
    life.broker.stop()
