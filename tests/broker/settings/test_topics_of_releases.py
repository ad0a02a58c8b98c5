"""The topic settings of each release."""

import json

import pytest

from fakebroker.broker.settings import Settings
from fakebroker.broker.settings.table import TOPIC, TOPIC_BEFORE_4
from fakebroker.broker.settings.topics_of_releases import topic_settings
from tests.conformance.recordings import RECORDINGS


@pytest.mark.rules("DC-1")
def test_those_of_2_1_are_what_it_described() -> None:
    """A running 2.1.1 described 25 configs of a topic; these are ours under its release."""
    lines = (RECORDINGS / "formats-2.1.1" / "format_versions.jsonl").read_text().splitlines()
    described = json.loads(lines[-1])["message"]["Results"][0]["Configs"]
    assert len(described) == 25
    assert set(topic_settings((2, 1))) == {config["Name"] for config in described}


def test_other_releases() -> None:
    """From release to release there are more, until 4.0 removed some."""
    counts = [len(topic_settings(line)) for line in ((1, 0), (2, 0), (2, 4), (3, 6), (3, 9))]
    assert counts == [24, 25, 26, 31, 36]
    assert topic_settings((3, 9)).keys() == TOPIC_BEFORE_4.keys()
    assert topic_settings((4, 3)) is TOPIC


def test_what_a_release_does_not_know_has_its_default() -> None:
    """Logs find a value for every setting they live by."""
    settings = Settings()
    settings.use_release({}, line=(2, 1))
    assert settings.of_topics()["message.timestamp.before.max.ms"] == 2**63 - 1
    assert "message.timestamp.before.max.ms" not in settings.topic_table
