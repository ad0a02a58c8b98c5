"""Levels of features: which changes are refused, and what is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.features import SAFE_DOWNGRADE, UNSAFE_DOWNGRADE, UPGRADE, Features
from fakebroker.broker.release import release
from fakebroker.protocol.errors import ErrorCode, KafkaError

NAMES = sorted(release().features)
DOWNGRADES = (SAFE_DOWNGRADE, UNSAFE_DOWNGRADE)


@pytest.fixture
def features() -> Features:
    return Features(release().features)


@pytest.mark.rules("UF-3")
def test_levels_of_a_new_cluster(features: Features) -> None:
    """The highest of everything, but that KRaft is at its first, which is not shown as finalized."""
    assert features.finalized() == {
        "eligible.leader.replicas.version": 1,
        "group.version": 1,
        "metadata.version": 30,
        "share.version": 1,
        "streams.version": 1,
        "transaction.version": 2,
    }
    assert features.level("kraft.version") == features.level("nothing") == 0


@pytest.mark.rules("UF-1")
@pytest.mark.parametrize(
    ("name", "level", "upgrade_type"),
    [
        ("nothing", 1, UPGRADE),
        ("nothing", 0, SAFE_DOWNGRADE),
        ("", 1, UPGRADE),
        ("group.version", 2, UPGRADE),
        ("group.version", -1, UNSAFE_DOWNGRADE),
        ("group.version", 0, UPGRADE),
        ("group.version", 1, 0),
        ("group.version", 1, 4),
        ("group.version", 0, -1),
        ("metadata.version", 6, UNSAFE_DOWNGRADE),
        ("metadata.version", 31, UPGRADE),
        ("kraft.version", 1, SAFE_DOWNGRADE),
        *[("metadata.version", level, upgrade_type) for level in (7, 29) for upgrade_type in (1, 2, 3)],
    ],
)
def test_refused(features: Features, name: str, level: int, upgrade_type: int) -> None:
    """Unknown features and kinds of change, levels that are not supported, the wrong direction; metadata is kept."""
    with pytest.raises(KafkaError) as refusal:
        features.check(name, level, upgrade_type)
    assert refusal.value.code == ErrorCode.INVALID_UPDATE_VERSION
    assert f"{name} cannot be set to level {level}: " in str(refusal.value)


@pytest.mark.rules("UF-1", "UF-4")
@pytest.mark.parametrize("upgrade_type", DOWNGRADES)
def test_kraft_is_never_lowered(features: Features, upgrade_type: int) -> None:
    """Once its level is 1 it stays."""
    features.check("kraft.version", 1, UPGRADE)
    features.change({"kraft.version": 1})
    with pytest.raises(KafkaError):
        features.check("kraft.version", 0, upgrade_type)


@pytest.mark.rules("UF-2", "UF-4")
@pytest.mark.parametrize("upgrade_type", [UPGRADE, *DOWNGRADES])
@pytest.mark.parametrize("name", NAMES)
def test_the_same_level_is_fine(features: Features, name: str, upgrade_type: int) -> None:
    """Whatever kind of change was asked for."""
    features.check(name, features.level(name), upgrade_type)


@pytest.mark.rules("UF-3")
@given(st.lists(st.dictionaries(st.sampled_from(NAMES), st.integers(0, 2), min_size=1), max_size=5))
def test_what_was_changed_comes_back(changes: list[dict[str, int]]) -> None:
    """The state has all levels and the epoch, which grows with each change; level 0 is not finalized."""
    features = Features(release().features)
    expected = {name: features.level(name) for name in NAMES}
    for change in changes:
        before = features.epoch
        features.change(change)
        expected |= change
        assert features.epoch > before

    other = Features(release().features)
    other.restore(features.state())

    assert other.epoch == features.epoch
    assert {name: other.level(name) for name in NAMES} == expected
    assert other.finalized() == {name: level for name, level in expected.items() if level}
