"""Which cases a broker is judged by, and what the others lack."""

from dataclasses import replace
from typing import Any

import pytest

from fakebroker.protocol.wire.registry import APIS
from fakebroker.scenarios.conformance.selection import Conditions, why_not
from fakebroker.scenarios.conformance.survey import Survey
from fakebroker.scenarios.conformance.verdicts import Verdict
from tests.scenarios.conformance.test_cases import named

EVERYTHING = {api.name: (0, 99) for api in APIS.values()}
SURVEY = Survey(EVERYTHING, nodes=(1,))
GROUP = {"group.initial.rebalance.delay.ms": "500", "group.min.session.timeout.ms": "100"}


def verdict(name: str, survey: Survey = SURVEY, **conditions: Any) -> tuple[Verdict, str] | None:
    result = why_not(named(name), Conditions(survey, **conditions))
    return None if result is None else (result.verdict, result.reason)


def test_a_broker_with_what_is_needed_is_judged() -> None:
    """A case is played where the versions are served and the settings are shown to be in force."""
    assert verdict("listoffsets/equal_timestamps") is None
    assert verdict("groups/hb_every_version", replace(SURVEY, settings=GROUP)) is None


def test_versions_that_are_not_announced_are_not_served() -> None:
    """A version outside of what ApiVersions lists is named, whatever else is missing."""
    older = replace(SURVEY, versions={**EVERYTHING, "Heartbeat": (0, 2)})

    found = verdict("groups/hb_every_version", older)

    assert found is not None
    assert found[0] is Verdict.NOT_SERVED
    assert "Heartbeat v3" in found[1]


@pytest.mark.parametrize("settings", [{}, {**GROUP, "group.initial.rebalance.delay.ms": "0"}])
def test_settings_that_are_not_shown_are_needed(settings: dict[str, str]) -> None:
    """Settings of the recording that the broker does not show, or shows with another value, are named."""
    found = verdict("groups/hb_every_version", replace(SURVEY, settings=settings))

    assert found is not None
    assert found[0] is Verdict.NEEDS_SETTINGS
    assert "group.initial.rebalance.delay.ms=500" in found[1]


def test_another_default_is_a_setting_that_is_needed() -> None:
    """A case recorded with Kafka's defaults is not played on a broker that shows others."""
    shown = replace(SURVEY, settings={"offset.metadata.max.bytes": "5"})

    assert verdict("offsets/txn_commit", shown) == (
        Verdict.NEEDS_SETTINGS,
        "offset.metadata.max.bytes=4096 (it is 5)",
    )


def test_settings_of_the_start_are_believed_unless_others_are_shown() -> None:
    """A broker that was started with the settings need not show them; if it shows others, those count."""
    given = frozenset(GROUP.items())

    assert verdict("groups/hb_every_version", settings=given) is None
    shown = replace(SURVEY, settings={"group.min.session.timeout.ms": "6000"})
    assert verdict("groups/hb_every_version", shown, settings=given) == (
        Verdict.NEEDS_SETTINGS,
        "group.min.session.timeout.ms=100 (it is 6000)",
    )


def test_more_than_a_broker_is_needed() -> None:
    """Several brokers, a login, and the broker for itself are named as what a case needs more."""
    assert verdict("cluster/move_stable") == (Verdict.NEEDS_MORE, "3 brokers")
    assert verdict("admin/sasl_plain", is_own=True) == (
        Verdict.NEEDS_MORE,
        "a listener with the logins of the recording",
    )
    assert verdict("admin/quotas") == (
        Verdict.NEEDS_MORE,
        "a broker of its own, or --exclusive: it changes quotas",
    )
    assert verdict("admin/quotas", is_own=True) is None
    assert verdict("listoffsets/equal_timestamps", replace(SURVEY, nodes=(1, 2, 3))) == (
        Verdict.NEEDS_MORE,
        "a single broker",
    )


def test_a_topic_of_somebody_else_is_left_alone() -> None:
    """A case whose topic has the same name in every run is not played where that topic is already there."""
    taken = replace(SURVEY, topics=frozenset({"dlg-sub-a"}), settings={"group.initial.rebalance.delay.ms": "0"})

    assert verdict("offsets/delete_group_removes_offsets", taken) == (
        Verdict.NEEDS_MORE,
        "that the topic dlg-sub-a is not there: it is not ours",
    )
