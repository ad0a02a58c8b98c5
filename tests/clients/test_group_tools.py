"""Kafka's tools for groups of the new protocols print against us what they print against Kafka (4.3.1)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fakebroker import FakeBroker
from tests.clients.group_tools import TRANSCRIPTS, transcript
from tests.clients.java_programs import ROOT, needs_jars

MakeBroker = Callable[..., FakeBroker]

pytestmark = [
    pytest.mark.clients,
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    needs_jars("kafka-streams", "KAFKA'S TOOLS FOR GROUPS"),
]


@pytest.mark.rules("CGL-1", "CGL-4", "CGD-2", "CGD-6", "CGC-4", "SGL-1", "SGL-3", "SGO-2", "STD-1", "STL-2")
@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_the_tools_print_what_they_print_against_kafka(
    fakebroker_factory: MakeBroker, name: str, tmp_path: Path
) -> None:
    """Listing, describing, configuring, resetting and deleting, with members and without: the same words."""
    broker: FakeBroker = fakebroker_factory(config={"group.initial.rebalance.delay.ms": 0})
    expected = (ROOT / "tests" / "data" / "console" / f"{name}.txt").read_text()

    assert transcript(name, broker.bootstrap, tmp_path) == expected
