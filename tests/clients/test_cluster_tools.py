"""Kafka's tools for features, the quorum, API versions and ACLs print against us what they print against Kafka."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fakebroker import FakeBroker
from tests.clients.cluster_tools import transcript
from tests.clients.java_programs import ROOT, needs_jars

MakeBroker = Callable[..., FakeBroker]

pytestmark = [
    pytest.mark.clients,
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    needs_jars("kafka-tools", "KAFKA'S TOOLS FOR THE CLUSTER"),
]


@pytest.mark.rules("AU-1", "DQ-1", "UF-1", "UF-2", "UF-3", "UF-4")
def test_the_tools_print_what_they_print_against_kafka(fakebroker_factory: MakeBroker, tmp_path: Path) -> None:
    """Levels shown, raised and lowered, refused changes, the quorum, versions of APIs, ACLs refused: the same words."""
    broker: FakeBroker = fakebroker_factory()
    expected = (ROOT / "tests" / "data" / "console" / "cluster.txt").read_text()

    assert transcript(broker.bootstrap, tmp_path) == expected
