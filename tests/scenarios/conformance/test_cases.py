"""Which recordings are cases, what they are called, and what they need."""

from pathlib import Path

import pytest

from fakebroker.protocol.errors import InvalidArgument
from fakebroker.protocol.extras import MissingExtra
from fakebroker.scenarios.conformance import cases
from fakebroker.scenarios.conformance.cases import Case, read_cases, recordings_folder, rule_ids, select
from fakebroker.scenarios.conformance.chapters import CHAPTERS, OTHER
from fakebroker.scenarios.conformance.needs import broker_wide, needs_of
from fakebroker.testing.exchanges.kinds import Send
from tests.conformance.recordings import RECORDINGS

ALL = read_cases(RECORDINGS)


def named(name: str) -> Case:
    return next(case for case in ALL if case.name == name)


def test_every_recording_has_a_chapter() -> None:
    """Every folder of the recordings belongs to a chapter, and every chapter has recordings."""
    found = {case.chapter for case in ALL}

    assert found == set(CHAPTERS) - {OTHER}
    assert named("admin/acl_patterns").chapter.name == "security"
    assert named("admin/quotas").chapter.name == "admin"


def test_rules_are_those_that_the_recording_names() -> None:
    """Ids and ranges of ids in the "about" line are rules, each with its sentence."""
    assert rule_ids("IA-5 to IA-8. Also JG-1 and CLU-6.") == ["IA-5", "IA-6", "IA-7", "IA-8", "JG-1", "CLU-6"]
    assert [rule.id for rule in named("groups/jg_initial_delay").rules] == ["JG-30"]
    assert all(rule.text for case in ALL for rule in case.rules)


def test_cases_are_selected_by_release_chapter_and_name() -> None:
    """A selection keeps the order; what matches nothing is an error that says what there is."""
    delays = select(ALL, "4.3", ["groups"], ["jg_initial", "groups/hb_*"])

    assert "groups/jg_initial_delay" in [case.name for case in delays]
    assert {case.dialogue.release for case in select(ALL, "3.9")} == {"3.9"}
    with pytest.raises(InvalidArgument, match=r"no recordings of Kafka 1\.0; there are those of 2\.0, 2\.1"):
        select(ALL, "1.0")
    with pytest.raises(InvalidArgument, match=r"no case of Kafka 4\.3 matches nonsense"):
        select(ALL, "4.3", patterns=["nonsense"])


def test_without_recordings_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the package and outside of a checkout, one sentence says how to get the recordings."""
    monkeypatch.setattr(cases, "PACKAGE", "no_such_package")
    monkeypatch.setattr(cases, "_IN_CHECKOUT", tmp_path / "none")

    with pytest.raises(MissingExtra, match=r"not installed: pip install '.*\[conformance\]'"):
        recordings_folder(None)
    assert recordings_folder(tmp_path) == tmp_path


def test_what_changes_nothing_is_read_only() -> None:
    """Reading APIs alone are read-only; Metadata that makes topics is not, nor is what makes topics first."""
    reading = {case.name for case in ALL if needs_of(case).is_reading}

    assert "groups/md_longest_name" in reading
    assert "groups/md_auto_creation" not in reading
    assert not any(case.chapter.name in ("transactions", "offsets", "cluster") for case in map(named, reading))


@pytest.mark.parametrize(
    ("api", "request_", "why"),
    [
        ("CreateAcls", {}, "changes ACLs"),
        ("ListGroups", {}, "lists all groups"),
        ("ListTransactions", {"ProducerIdFilters": ["$pid"]}, None),
        ("ListTransactions", {}, "lists all transactions"),
        ("Metadata", {"Topics": None}, "lists all topics"),
        ("Metadata", {"Topics": [{"Name": "t~"}]}, None),
        ("IncrementalAlterConfigs", {"Resources": [{"ResourceType": 4}]}, "changes configs of brokers"),
        ("IncrementalAlterConfigs", {"Resources": [{"ResourceType": 2}]}, None),
        ("Produce", {"TopicData": [{"Name": "__consumer_offsets"}]}, "writes to internal topics"),
        ("Heartbeat", {"GroupId": "fixed"}, "uses the group fixed, whose name is the same in every run"),
        ("Heartbeat", {"GroupId": "g~"}, None),
    ],
)
def test_what_is_about_the_whole_broker(api: str, request_: dict[str, object], why: str | None) -> None:
    """A request that others on the broker would notice, or that would show them, needs the broker for itself."""
    assert broker_wide(Send(1, "a", api, 1, request_)) == why


def test_needed_versions_are_those_that_are_answered() -> None:
    """A version that the recorded broker refused, or closed the connection for, need not be served."""
    needs = needs_of(named("groups/av_unsupported_version_old_header"))

    assert all(version < 90 for _, version in needs.versions)
    assert ("JoinGroup", 9) in needs_of(named("groups/jg_initial_delay")).versions


def test_settings_count_where_their_apis_are_used() -> None:
    """A recording's setting of the initial delay is needed only where a member joins."""
    assert "group.initial.rebalance.delay.ms" in needs_of(named("groups/jg_initial_delay")).settings
    assert needs_of(named("groups/av_unknown_key")).settings == {}
